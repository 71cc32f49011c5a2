"""Talk comes in from other programs; a space goes out and comes back whole."""

import json
import os
import re
import sqlite3
import zipfile
from collections.abc import Mapping
from contextlib import closing, suppress
from dataclasses import replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import yaml
from sqlalchemy import event
from uuid6 import uuid7

from attacks import ATTACKS
from conftest import FakeClock, Opener
from hippocampe import Hippocampe, Scope
from hippocampe.engine import generations
from hippocampe.engine.vocabulary import text_words
from hippocampe.errors import InvalidInput, StoreError, UnreadableFile
from hippocampe.hippocampe import preview_import
from hippocampe.ingest import archive, imported_turns, message_import, problems
from hippocampe.ingest.formats.registry import read_file
from hippocampe.store import embeddings
from hippocampe.types import Memory, printable

AT = "2025-06-01T18:00:00+02:00"


def lines(*messages: Any) -> str:
    return "\n".join(each if isinstance(each, str) else json.dumps(each) for each in messages)


def claude() -> str:
    def said(id: str, sender: str, text: str, minute: int) -> dict[str, Any]:
        at = f"2025-06-01T16:{minute:02}:00.000000Z"
        content = [{"type": "text", "text": text}]
        return {"uuid": id, "sender": sender, "text": text, "content": content, "created_at": at}

    talk = [
        said("a1", "human", "Où poussent les myrtilles ?", 0),
        said("a2", "assistant", "Dans les sous-bois.", 1),
    ]
    head = {"uuid": "c1", "name": "Myrtilles", "created_at": "2025-06-01T16:00:00.000000Z"}
    return json.dumps([head | {"chat_messages": talk}])


def chatgpt() -> str:
    def node(id: str, parent: str | None, role: str, text: str, at: float) -> dict[str, Any]:
        message = {
            "id": id,
            "author": {"role": role},
            "create_time": at,
            "content": {"content_type": "text", "parts": [text]},
        }
        return {"id": id, "parent": parent, "children": [], "message": message}

    start = datetime(2025, 6, 1, 16, tzinfo=UTC).timestamp()
    question = node("a1", None, "user", "Où poussent les myrtilles ?", start)
    question["children"] = ["a2"]
    answer = node("a2", "a1", "assistant", "Dans les sous-bois.", start + 60)
    conversation = {
        "id": "c1",
        "conversation_id": "c1",
        "title": "Myrtilles",
        "create_time": start,
        "current_node": "a2",
        "mapping": {"a1": question, "a2": answer},
    }
    return json.dumps([conversation])


def telegram() -> str:
    def said(id: int, who: str, text: str) -> dict[str, Any]:
        at = datetime(2025, 6, 1, 16, tzinfo=UTC)
        return {
            "id": id,
            "type": "message",
            "date": "2025-06-01T18:00:00",
            "date_unixtime": str(int(at.timestamp()) + 60 * (id - 1)),
            "from": who,
            "from_id": f"user{who}",
            "text": text,
            "text_entities": [{"type": "plain", "text": text}],
        }

    talk = [
        said(1, "Camille", "Où poussent les myrtilles ?"),
        said(2, "Owen", "Dans les sous-bois."),
    ]
    return json.dumps({"name": "Forêt", "type": "private_group", "id": 7, "messages": talk})


SAMPLES = {
    "jsonl": lines(
        {"author": "dev", "role": "user", "content": "Où poussent les myrtilles ?", "at": AT},
        {"author": "eko", "role": "assistant", "content": "Dans les sous-bois.", "at": AT},
    ),
    "whatsapp": "01/06/2025, 18:00 - Camille: Où poussent les myrtilles ?\n"
    "01/06/2025, 18:01 - Owen: Dans les sous-bois.\n"
    "13/06/2025, 09:00 - Owen: Bonjour\n",
    "claude": claude(),
    "chatgpt": chatgpt(),
    "telegram": telegram(),
}


@pytest.mark.parametrize("format", SAMPLES)
def test_talk_comes_in_once_with_its_times(
    hippo: Hippocampe, scope: Scope, tmp_path: Path, format: str
) -> None:
    path = tmp_path / ("talk.txt" if format == "whatsapp" else "talk.json")
    path.write_text(SAMPLES[format], encoding="utf-8")
    done = hippo.import_from(path, scope=scope)
    assert (done.known, done.problems) == (0, ())
    assert done.added == done.read >= 2
    found = hippo.recall("myrtilles", scope=scope, collections=["turn"], mode="text")
    assert found[0].content.startswith("Où poussent les myrtilles ?")
    assert found[0].at == datetime(2025, 6, 1, 16, tzinfo=UTC)
    assert found[0].external_ids
    if format in ("jsonl", "claude", "chatgpt"):
        assert done.turns == 1
        assert "sous-bois" in found[0].content
    again = hippo.import_from(path, scope=scope, format=format)
    assert (again.read, again.added, again.known, again.turns) == (done.read, 0, done.read, 0)
    assert hippo.stats(scope=scope).messages == done.added
    assert hippo.verify().ok


def test_a_preview_masks_secrets_as_the_import_does(
    hippo: Hippocampe, scope: Scope, tmp_path: Path
) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text(lines({"content": "mon code est 4821", "author": "Ana", "at": AT}))
    [shown] = preview_import(path).first
    hippo.import_from(path, scope=scope)
    [stored] = hippo.recall("code", scope=scope, collections=["turn"], mode="text")
    assert shown.content == stored.content == "mon code est [secret: password]"


@pytest.mark.parametrize("first", [1, 2], ids=["a part of it", "the same file"])
def test_what_another_import_stores_meanwhile_is_known(
    hippo: Hippocampe, scope: Scope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, first: int
) -> None:
    talk = [
        {"author": "dev", "role": "user", "content": "Où poussent les myrtilles ?", "at": AT},
        {"author": "eko", "role": "assistant", "content": "Dans les sous-bois.", "at": AT},
    ]
    talk = [each | {"external_id": f"e{number}"} for number, each in enumerate(talk)]
    path, other = tmp_path / "talk.jsonl", tmp_path / "other.jsonl"
    path.write_text(lines(*talk), encoding="utf-8")
    other.write_text(lines(*talk[:first]), encoding="utf-8")
    embed = message_import.embed_turns

    def embed_late(*arguments: Any) -> Any:
        monkeypatch.setattr(message_import, "embed_turns", embed)
        assert hippo.import_from(other, scope=scope).added == first
        return embed(*arguments)

    monkeypatch.setattr(message_import, "embed_turns", embed_late)
    done = hippo.import_from(path, scope=scope)
    left = len(talk) - first
    assert (done.read, done.added, done.known, done.turns) == (2, left, first, left)
    assert {each.content for each in hippo.messages(scope=scope)} == {
        each["content"] for each in talk
    }
    found = hippo.recall("sous-bois", scope=scope, collections=["turn"], mode="text")
    assert "sous-bois" in found[0].content
    assert hippo.verify().ok


def test_what_cannot_be_read_is_reported_and_the_rest_comes_in(
    hippo: Hippocampe, scope: Scope, tmp_path: Path
) -> None:
    path = tmp_path / "talk.jsonl"
    good = {"author": "dev", "content": "Où poussent les myrtilles ?"}
    path.write_text(lines(good, "{broken", good | {"content": ""}, good | {"content": "Merci"}))
    done = hippo.import_from(path, scope=scope)
    assert (done.read, done.added) == (2, 2)
    assert [line for line, _ in done.problems] == [2, 3]
    assert [message.content for message in hippo.messages(scope=scope)] == [
        "Où poussent les myrtilles ?",
        "Merci",
    ]


def test_pairs_are_made_by_channel_across_batches(
    hashed: None, open_hippo: Opener, scope: Scope, tmp_path: Path
) -> None:
    """One message more than a batch comes first, so that every pair straddles two of them."""
    hippo = open_hippo(embedder="hashed:32")
    talk: list[dict[str, Any]] = [{"author": "dev", "content": "seul", "channel": "z"}]
    for number in range(600):
        common = {"channel": "ab"[number % 2], "external_id": f"{number}"}
        talk.append(common | {"author": "dev", "role": "user", "content": f"question {number}"})
        if number % 3:
            reply = {"author": "eko", "role": "assistant", "content": f"réponse {number}"}
            talk.append(common | reply | {"external_id": f"r{number}"})
    talk.append(talk[1])
    path = tmp_path / "talk.jsonl"
    path.write_text(lines(*talk))
    done = hippo.import_from(path, scope=scope)
    assert (done.read, done.added, done.known) == (1_002, 1_001, 1)
    assert done.turns == hippo.stats(scope=scope).turns == 601
    for number in (0, 1, 254, 255, 256, 257, 599):
        (turn,) = hippo.recall(
            f"question {number}", scope=scope, mode="text", collections=["turn"], limit=1
        )
        reply = f"\neko: réponse {number}" if number % 3 else ""
        assert turn.content == f"question {number}{reply}"
    assert hippo.verify().ok


def test_a_line_may_name_its_space_and_channel(
    hippo: Hippocampe, scope: Scope, tmp_path: Path
) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text(
        lines(
            {"author": "a", "content": "un", "space": "ailleurs", "channel": "c"},
            {"author": "a", "content": "deux"},
        )
    )
    hippo.import_from(path, scope=scope)
    assert [m.content for m in hippo.messages(scope=Scope(space="ailleurs", channel="c"))] == ["un"]
    assert [m.content for m in hippo.messages(scope=scope)] == ["deux"]


def test_a_refused_message_is_reported_with_its_line(
    hippo: Hippocampe, scope: Scope, tmp_path: Path
) -> None:
    path = tmp_path / "talk.jsonl"
    said = {"author": "a", "content": "un"}
    path.write_text(lines(said, "", "{broken", said | {"space": "ailleurs"}))
    done = hippo.import_from(path, scope=scope, one_space=True)
    assert [line for line, _ in done.problems] == [3, 4]


@pytest.mark.parametrize("format", SAMPLES)
def test_each_message_has_its_line(tmp_path: Path, format: str) -> None:
    path = tmp_path / "talk"
    path.write_text(SAMPLES[format])
    assert all(each.line for each in read_file(path, format=format))


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such files")
def test_what_has_no_end_is_refused(hippo: Hippocampe, scope: Scope, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero")):
        for take in (preview_import, partial(hippo.import_from, scope=scope)):
            with pytest.raises(InvalidInput, match="is a device or a pipe"):
                take(path)


@pytest.mark.parametrize("content", ["", "bonjour", '{"a": 1}', "\x00\x01"])
def test_what_is_no_talk_is_refused(
    hippo: Hippocampe, scope: Scope, tmp_path: Path, content: str
) -> None:
    path = tmp_path / "talk"
    path.write_text(content)
    with pytest.raises((InvalidInput, UnreadableFile)):
        hippo.import_from(path, scope=scope)
    with pytest.raises(UnreadableFile):
        hippo.import_from(path, scope=scope, format="hippocampe")
    with pytest.raises(UnreadableFile):
        hippo.import_from(tmp_path / "nowhere", scope=scope)
    with pytest.raises(InvalidInput, match="unknown"):
        hippo.import_from(path, scope=scope, format="excel")
    assert hippo.stats(scope=scope).messages == 0


# Export


def tell(hippo: Hippocampe, scope: Scope, clock: FakeClock) -> None:
    hippo.remember("David habite à Ordizan", scope=scope, subjects=["david"])
    clock.advance(days=1)
    hippo.remember("David a déménagé à Toulouse", scope=scope, evidence=["m1"])
    gone = hippo.remember("Owen chante faux", scope=scope).memory
    hippo.delete(gone.id, scope=scope, reason="pas gentil")
    hippo.set_fact("boisson", "thé", scope=scope)
    hippo.remember("dev = Mickael", scope=scope, ttl="30d")
    hippo.remember("Eko sait lire", scope=scope, collection="self", category="capability")
    one, two = (
        hippo.remember(each, scope=scope).memory for each in ("Il neige", "Le col est fermé")
    )
    hippo.associate(two.id, one.id, "caused_by", scope=scope, reason="trop de neige")
    hippo.after_turn("Le col est ouvert ?", "Non.", scope=scope, tool_results=["col : fermé"])
    asked = hippo.messages(scope=scope)[0]
    hippo.remember("Max demande où aller", scope=scope, evidence=[asked.id])
    clock.advance(minutes=3)
    hippo.after_turn("Dommage", None, scope=scope)
    hippo.observe("on part demain", scope=scope, external_id="w1")


def whole(hippo: Hippocampe, scope: Scope) -> Any:
    """Everything a reader can see of a space, whatever the ids."""
    memories = hippo.recent(100, scope=scope)
    histories = [hippo.history(memory.id, scope=scope) for memory in memories]
    names = {v.id: v.content for h in histories for v in h.versions}
    names |= {message.id: message.content for message in hippo.messages(scope=scope)}

    def quoted(memory: Memory) -> tuple[str, ...]:
        return tuple(names.get(each, each) for each in memory.evidence)

    return {
        "facts": {key: memory.content for key, memory in hippo.facts(scope=scope).items()},
        "memories": [
            replace(memory, id="", space="", evidence=quoted(memory)) for memory in memories
        ],
        "versions": [
            [
                replace(
                    v,
                    id="",
                    space="",
                    superseded_by=names.get(v.superseded_by or ""),
                    evidence=quoted(v),
                )
                for v in h.versions
            ]
            for h in histories
        ],
        "edges": sorted(
            (
                names.get(e.source_id, "?"),
                names.get(e.target_id, "?"),
                e.kind,
                e.reason,
                e.created_at,
            )
            for h in histories
            for e in h.associations
        ),
        "messages": [
            replace(m, id="", space="", turn_id=None)
            for m in hippo.messages(scope=replace(scope, channel=None))
        ],
        "found": {
            query: [
                item.content
                for item in hippo.recall(query, scope=scope, mode=mode, collections=all)
            ]
            for query in ("Toulouse", "thé", "le col", "dev", "Eko lire")
            for mode in ("text",)
            for all in (["memory", "self", "turn", "live"],)
        },
        "stats": replace(hippo.stats(scope=scope), indexed={}, pending=0),
    }


ODD = {
    "mark": "\ufeff\u2028\x85\x7f\uffff",
    "lines": 'one\ntwo\r\n---\nthree: "x" \\ {a: [b]}',
    "one": 1,
    "text": "1",
    "none": None,
    "true": True,
    "small": 1e-7,
    "nfd": "e\u0301",
}


def test_a_space_comes_back_whole_from_markdown(
    hippo: Hippocampe, open_hippo: Opener, scope: Scope, tmp_path: Path, clock: FakeClock
) -> None:
    tell(hippo, scope, clock)
    for number, content in enumerate(
        (
            "---\nid: 1\n---\nUne note qui ressemble à une note",
            'Deux\r\nlignes\u2028et e\u0301 : "guillemets" [[lien]] #étiquette',
            "Un titre très long " * 30,
            "12345",
            "../../etc/passwd",
        )
    ):
        hippo.remember(
            content,
            scope=replace(scope, user="Zoé: «x»"),
            subjects=["e\u0301té chaud", "#2"],
            importance=1e-7,
            ttl="900d",
            metadata=ODD,
            key=f"clé {number}",
        )
    hippo.observe("salut", scope=replace(scope, channel="a/b"), external_id="w2")
    # Beyond the dates of a zip.
    hippo.after_turn("See you in a century", None, scope=scope, at="2150-01-01T00:00:00Z")
    stored = {each.id: each for each in hippo.recent(100, scope=scope)}
    path = tmp_path / "space.zip"
    files = hippo.export_to(path, scope=scope, format="okf")
    with zipfile.ZipFile(path) as archive:
        names = archive.namelist()
        pages = {name: archive.read(name).decode() for name in names if name.endswith(".md")}
        archive.extractall(tmp_path / "vault")
    assert len(names) == len(set(names)) == files
    assert_conformant(pages)
    for source, folder in ((path, "zip"), (tmp_path / "vault", "folder")):
        fresh = open_hippo(tmp_path / folder)
        done = fresh.import_from(source, scope=scope)
        assert (done.added, done.known, done.problems) == (done.read, 0, ())
        assert {each.id: each for each in fresh.recent(100, scope=scope)} == stored
        assert whole(fresh, scope) == whole(hippo, scope)
        assert fresh.verify().ok
        again = fresh.import_from(source, scope=scope)
        assert (again.added, again.known) == (0, done.read)


def test_hostile_texts_name_files_and_lines_of_their_own_only(
    hippo: Hippocampe, scope: Scope, tmp_path: Path
) -> None:
    named = [
        *ATTACKS,
        "../../etc/passwd",
        "C:\\x",
        "aux.txt",
        "Nul",
        "com1 .x",
        "😀" * 58,
        "é" * 300,
    ]
    for number, text in enumerate(named):
        with suppress(InvalidInput):
            hippo.remember(text, scope=scope)
        with suppress(InvalidInput):
            hippo.observe(f"salut {number}", scope=replace(scope, channel=text))
    hippo.after_turn("d'accord\n\n**ana** 10:00: je paie", "```\nfin", scope=scope)
    hippo.export_to(tmp_path / "space.zip", scope=scope, format="okf")
    with zipfile.ZipFile(tmp_path / "space.zip") as archive:
        names = archive.namelist()
        pages = [archive.read(name).decode() for name in names if name.startswith("talk/")]
    parts = {part for name in names for part in name.split("/")}
    stored = hippo.stats(scope=scope)
    assert len(parts) > stored.memories["memory"] + stored.superseded > len(named) / 2
    for part in parts:
        assert part.strip(" .") == part != "", part
        assert len(part.encode()) <= 255, part
        assert printable(part) == part, part
        assert not set(part).intersection('\\:*?"<>|'), part
        device = part.partition(".")[0].strip().lower()
        assert device not in ("con", "prn", "aux", "nul", "com1", "lpt1"), part
    page = next(each for each in pages if "je paie" in each)
    assert "\n> **ana** 10:00: je paie\n" in page
    assert "\n**ana** 10:00" not in page


def assert_conformant(pages: Mapping[str, str]) -> None:
    """Check the rules of Open Knowledge Format 0.2, and that links lead somewhere."""
    assert 'okf_version: "0.2"' in pages["index.md"]
    for name, page in pages.items():
        if name.endswith("/index.md"):
            for link in re.findall(r"\(<(.*?)>\)", page):
                assert f"{name.removesuffix('index.md')}{link}" in pages
        elif name != "index.md":
            _, head, _ = page.split("---\n", 2)
            fields = yaml.safe_load(head)
            assert fields["type"]
            for link in re.findall(r"\[\[((?:memories|history)/.*?)\]\]", head):
                assert f"{link}.md" in pages
            for source in fields.get("sources", ()):
                assert source["resource"].removeprefix("/") in pages


def test_the_evidence_of_a_markdown_export_is_looked_up_in_parts(tmp_path: Path) -> None:
    scope, evidence = Scope(), [str(uuid7()) for _ in range(5_000)]

    def limit(connection: sqlite3.Connection, *_: object) -> None:
        connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 2_000)

    with Hippocampe.open(tmp_path / "data") as hippo:
        event.listen(hippo._context.corpus.store.engine, "checkout", limit)
        hippo.remember("Camille a peint le phare", scope=scope, evidence=evidence)
        assert hippo.export_to(tmp_path / "space.zip", scope=scope, format="okf") == 4


def test_an_edited_bundle_brings_the_edits(
    hippo: Hippocampe, open_hippo: Opener, scope: Scope, tmp_path: Path
) -> None:
    kept = hippo.remember("Owen a un vélo", scope=scope, metadata={"n": 1}).memory
    hippo.export_to(tmp_path / "space.zip", scope=scope, format="okf")
    with zipfile.ZipFile(tmp_path / "space.zip") as archive:
        archive.extractall(tmp_path / "vault")
    (page,) = (tmp_path / "vault" / "memories").glob("Owen*.md")
    text = page.read_text(encoding="utf-8").replace("vélo\n", "vélo rouge\n\n")
    # As Obsidian writes properties.
    text = text.replace('type: "fact"', "type: fact").replace("forgotten_at: null\n", "")
    page.write_text(text.replace("importance: 0.6", "importance: 0.75\nkey:"), encoding="utf-8")
    (page.parent / "Nouvelle.md").write_text("Une note sans propriétés", encoding="utf-8")
    fresh = open_hippo(tmp_path / "fresh")
    done = fresh.import_from(tmp_path / "vault", scope=scope)
    (found,) = fresh.recent(scope=scope)
    assert found == replace(kept, content="Owen a un vélo rouge", importance=0.75)
    ((_, reason),) = done.problems
    assert "not a row" in reason


@pytest.mark.parametrize("root", ["", "Coffre/"])
def test_a_bundle_that_was_packed_again_comes_back_with_its_ids(
    hippo: Hippocampe, open_hippo: Opener, scope: Scope, tmp_path: Path, root: str
) -> None:
    kept = hippo.remember("Owen a un vélo bleu", scope=scope).memory.id
    hippo.after_turn("Où poussent les myrtilles ?", "Dans les sous-bois.", scope=scope)
    path, packed = tmp_path / "space.zip", tmp_path / "again.zip"
    hippo.export_to(path, scope=scope, format="okf")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(packed, "w") as new:
        new.writestr(f"__MACOSX/{root}._hippocampe.jsonl", "")
        for name in reversed(old.namelist()):
            new.writestr(root + name, old.read(name))
    assert preview_import(packed).format == "hippocampe"
    fresh = open_hippo(tmp_path / "fresh")
    assert fresh.import_from(packed, scope=scope).problems == ()
    assert fresh.get(kept, scope=scope).content == "Owen a un vélo bleu"
    assert len(fresh.messages(scope=scope)) == 2


@pytest.mark.parametrize("at", [0, 8])
def test_a_damaged_bundle_is_refused(
    hippo: Hippocampe, open_hippo: Opener, scope: Scope, tmp_path: Path, at: int
) -> None:
    """The first bytes of a compressed page are damaged, or its middle."""
    hippo.remember("Owen a un vélo bleu, qu'il range au grenier", scope=scope)
    path = tmp_path / "space.zip"
    hippo.export_to(path, scope=scope, format="okf")
    with zipfile.ZipFile(path) as archive:
        (page,) = (each for each in archive.infolist() if each.filename.startswith("memories/Owen"))
    content = bytearray(path.read_bytes())
    begins = page.header_offset + 30 + len(page.filename.encode()) + at
    content[begins : begins + 40] = b"\xff" * 40
    path.write_bytes(content)
    with pytest.raises(UnreadableFile, match=r"space\.zip"):
        open_hippo(tmp_path / "fresh").import_from(path, scope=scope)


def test_a_space_comes_back_whole(
    hippo: Hippocampe, open_hippo: Opener, scope: Scope, tmp_path: Path, clock: FakeClock
) -> None:
    tell(hippo, scope, clock)
    hippo.remember("Nora est ailleurs", scope=Scope(space="ailleurs"))
    written = hippo.export_to(tmp_path / "space.jsonl", scope=scope)
    text = (tmp_path / "space.jsonl").read_text(encoding="utf-8")
    assert len(text.splitlines()) == written + 1
    assert "Nora" not in text
    fresh = open_hippo(tmp_path / "fresh")
    done = fresh.import_from(tmp_path / "space.jsonl", scope=scope)
    assert (done.read, done.added, done.known, done.problems) == (written, written, 0, ())
    assert whole(fresh, scope) == whole(hippo, scope)
    assert fresh.verify().ok
    assert fresh.remember("Mickael est dev", scope=scope).action == "inserted"
    again = fresh.import_from(tmp_path / "space.jsonl", scope=scope)
    assert (again.added, again.known) == (0, written)


def test_what_was_hidden_comes_back_hidden_and_can_be_restored(
    hippo: Hippocampe, open_hippo: Opener, scope: Scope, tmp_path: Path, clock: FakeClock
) -> None:
    gone = hippo.remember("Owen chante faux", scope=scope).memory
    hippo.delete(gone.id, scope=scope, reason="pas gentil")
    hippo.export_to(tmp_path / "space.jsonl", scope=scope)
    fresh = open_hippo(tmp_path / "fresh")
    fresh.import_from(tmp_path / "space.jsonl", scope=scope)
    assert fresh.recall("Owen", scope=scope) == []
    fresh.restore(gone.id, scope=scope)
    assert [item.content for item in fresh.recall("Owen", scope=scope)] == ["Owen chante faux"]
    assert fresh.verify().ok


def test_a_space_is_copied_within_a_database(
    hippo: Hippocampe, scope: Scope, tmp_path: Path, clock: FakeClock
) -> None:
    tell(hippo, scope, clock)
    before = whole(hippo, scope)
    written = hippo.export_to(tmp_path / "space.jsonl", scope=scope)
    copy = replace(scope, space="copie")
    for added in (written, 0):
        assert hippo.import_from(tmp_path / "space.jsonl", scope=copy).added == added
    assert whole(hippo, scope) == before
    assert whole(hippo, copy) == before
    hippo.erase(scope=copy, whole_space=True)
    assert whole(hippo, scope) == before
    assert hippo.verify().ok


@pytest.mark.usefixtures("hashed")
def test_a_space_is_copied_whole_after_the_original_lost_a_part(
    open_hippo: Opener, scope: Scope, tmp_path: Path
) -> None:
    hippo = open_hippo(embedder="hashed:32")
    told = ["Owen chante faux", "Nora vit à Lyon", "Camille a deux chats"]
    first, *_ = [hippo.remember(each, scope=scope).memory for each in told]
    path = tmp_path / "space.jsonl"
    hippo.export_to(path, scope=scope)
    hippo.erase(scope=scope, id=first.id)
    copy = replace(scope, space="copie")
    done = hippo.import_from(path, scope=copy)
    assert (done.read, done.added, done.known) == (3, 3, 0)
    assert {memory.content for memory in hippo.recent(9, scope=copy)} == set(told)
    assert hippo.import_from(path, scope=copy).added == 0


@pytest.mark.usefixtures("hashed")
def test_a_copied_space_is_known_after_the_original_is_gone(
    open_hippo: Opener, scope: Scope, tmp_path: Path
) -> None:
    hippo = open_hippo(embedder="hashed:32")
    hippo.remember("Owen chante faux", scope=scope)
    hippo.after_turn("Nora vit à Lyon", "Noté.", scope=scope)
    path = tmp_path / "space.jsonl"
    written = hippo.export_to(path, scope=scope)
    copy = replace(scope, space="copie")
    assert hippo.import_from(path, scope=copy).added == written
    hippo.erase(scope=scope, whole_space=True)
    again = hippo.import_from(path, scope=copy)
    assert (again.added, again.known, again.problems) == (0, written, ())
    assert len(hippo.recent(9, scope=copy)) == 1
    assert len(hippo.messages(scope=copy)) == 2
    assert hippo.import_from(path, scope=scope).added == written


def test_a_broken_line_of_an_export_is_reported(
    hippo: Hippocampe, open_hippo: Opener, scope: Scope, tmp_path: Path, clock: FakeClock
) -> None:
    tell(hippo, scope, clock)
    path = tmp_path / "space.jsonl"
    written = hippo.export_to(path, scope=scope)
    text = path.read_text(encoding="utf-8")
    path.write_text(text + '{"record": "attic"}\n{"record": "memory"}\nbroken\n', encoding="utf-8")
    done = open_hippo(tmp_path / "fresh").import_from(path, scope=scope)
    assert done.added == written
    assert [line for line, _ in done.problems] == [written + 2, written + 3, written + 4]


@pytest.mark.parametrize("format", ["hippocampe", "okf"])
def test_an_export_of_a_user_has_what_they_said_and_nothing_of_others(
    open_hippo: Opener, tmp_path: Path, format: str
) -> None:
    hippo = open_hippo(tmp_path / "two")
    ann, bob = (Scope(user=name, channel="lobby") for name in ("ann", "bob"))
    told = hippo.remember("Le phare de Camille ouvre à midi", scope=ann)
    corrected = hippo.remember("Le phare ferme le lundi", scope=bob, replaces=[told.memory.id])
    hippo.associate(told.memory.id, corrected.memory.id, "related_to", scope=ann)
    hippo.after_turn("Je range la yole", "La yole est au hangar.", scope=ann)
    hippo.after_turn("Je repeins la barque", "Bonne peinture.", scope=bob)
    hippo.update_settings(scope=ann, companion_names=["zoran"])

    path = tmp_path / "ann"
    hippo.export_to(path, scope=bob, format=format, user="ann")
    text = path.read_text("utf-8") if format == "hippocampe" else unpacked(path)
    for mine in ("phare de Camille", "range la yole", "est au hangar"):
        assert mine in text
    for of_others in ("lundi", "barque", "peinture", "bob", "zoran"):
        assert of_others not in text
    done = open_hippo(tmp_path / "fresh").import_from(path, scope=Scope())
    assert (done.added, done.turns, list(done.problems)) == (4, 1, [])


def unpacked(path: Path) -> str:
    with zipfile.ZipFile(path) as bundle:
        return "\n".join(name + bundle.read(name).decode() for name in bundle.namelist())


def test_an_export_replaces_a_file_only_when_told_to_and_when_it_is_whole(
    hippo: Hippocampe, scope: Scope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "out" / "space.jsonl"
    with pytest.raises(StoreError):
        hippo.export_to(path, scope=scope)
    path.parent.mkdir()
    with pytest.raises(InvalidInput, match="not a file"):
        hippo.export_to(path.parent, scope=scope, overwrite=True)
    hippo.export_to(path, scope=scope)
    before = path.read_bytes()
    hippo.remember("Owen a un voilier", scope=scope)
    with pytest.raises(InvalidInput, match="the file exists"):
        hippo.export_to(path, scope=scope)

    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt):
        patched.setattr(archive, "lines_of", interrupt)
        hippo.export_to(path, scope=scope, overwrite=True)
    assert path.read_bytes() == before
    hippo.export_to(path, scope=scope, overwrite=True)
    assert "voilier" in path.read_text(encoding="utf-8")
    assert [each.name for each in path.parent.iterdir()] == ["space.jsonl"]


def test_a_line_with_an_unusable_value_is_reported_and_the_rest_goes_in(
    open_hippo: Opener, scope: Scope, tmp_path: Path
) -> None:
    hippo = open_hippo()
    for content in ("Camille élève des abeilles", "Sacha répare des vélos"):
        hippo.remember(content, scope=scope)
    path = tmp_path / "export.jsonl"
    hippo.export_to(path, scope=scope)
    lines = path.read_text(encoding="utf-8").splitlines()
    at = next(n for n, line in enumerate(lines) if "Camille" in line and '"memory"' in line)
    row = json.loads(lines[at])
    for number, (name, value) in enumerate(
        (("importance", "high"), ("created_at", "yesterday"), ("content", 7), ("type", None))
    ):
        broken = tmp_path / f"broken{number}.jsonl"
        lines[at] = json.dumps(row | {name: value})
        broken.write_text("\n".join(lines), encoding="utf-8")
        other = Scope(space=f"other{number}")
        done = hippo.import_from(broken, scope=other)
        assert done.problems == ((at + 1, f"a row with an unusable {name}"),)
        assert [memory.content for memory in hippo.recent(scope=other)] == [
            "Sacha répare des vélos"
        ]


SECRET = "le mot de passe du wifi est hunter2-Tulipe"


def exported(hippo: Hippocampe, scope: Scope, path: Path, clock: FakeClock) -> list[dict[str, Any]]:
    tell(hippo, scope, clock)
    hippo.export_to(path, scope=scope)
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


@pytest.mark.usefixtures("hashed")
@pytest.mark.parametrize(
    ("record", "column", "value", "reason"),
    [
        ("memory", "id", "not-a-uuid", "no UUID"),
        ("memory", "id", "0190F3A4-7B0A-7CCC-8DDD-1234567890AB", "no UUID in lower case"),
        ("memory", "superseded_by", "elsewhere", "no UUID"),
        ("memory", "type", "rumour", "unknown type"),
        ("memory", "collection", "attic", "unknown collection"),
        ("memory", "category", "capability", "no category"),
        ("memory", "importance", 99, "importance must be"),
        ("memory", "importance", float("nan"), "importance must be"),
        ("memory", "access_count", 10**30, "out of range"),
        ("memory", "access_count", 1.5, "unusable access_count"),
        ("memory", "created_at", 1_768_000_000, "unusable created_at"),
        ("memory", "content", " \n", "content is empty"),
        ("memory", "content", "\ud800", "UTF-8"),
        ("memory", "subjects", 5, "subjects must be a list"),
        ("memory", "subjects", ["ski", 5], "subjects must be a list"),
        ("memory", "evidence", {"a": 1}, "evidence must be a list"),
        ("memory", "user", "a\nb", "user"),
        ("turn", "session", "s1", "no UUID"),
        ("turn", "content", "", "content is empty"),
        ("message", "role", "root", "unknown role"),
        ("message", "live", 1, "unusable live"),
        ("message", "turn_id", "0190f3a4-7b0a-7ccc-8ddd-1234567890ab", "its turn is not"),
        ("association", "kind", "hates", "unknown association"),
        ("association", "target_id", "0190f3a4-7b0a-7ccc-8ddd-1234567890ab", "not in the space"),
        ("setting", "value", 5_000, "recent_hours must be"),
        ("setting", "name", "colour", "no setting 'colour'"),
    ],
)
def test_a_row_of_an_export_is_checked_like_any_other_input(
    open_hippo: Opener,
    scope: Scope,
    tmp_path: Path,
    clock: FakeClock,
    record: str,
    column: str,
    value: object,
    reason: str,
) -> None:
    hippo = open_hippo(embedder="hashed:32")
    hippo.update_settings(scope=scope, recent_hours=12)
    rows = exported(hippo, scope, tmp_path / "space.jsonl", clock)
    # The last of its kind, on which no other row depends.
    at = max(number for number, row in enumerate(rows) if row.get("record") == record)
    if record == "memory":
        rows.insert(at + 1, rows[at] | {"id": str(uuid7()), "key": None, "superseded_by": None})
        at += 1
    rows[at] = rows[at] | {column: value}
    path = tmp_path / "broken.jsonl"
    path.write_text(lines(*rows), encoding="utf-8")
    fresh = open_hippo(tmp_path / "fresh", embedder="hashed:32")
    done = fresh.import_from(path, scope=scope)
    broken = [problem for line, problem in done.problems if line == at + 1]
    assert len(broken) == 1
    assert reason in broken[0]
    # The messages of a turn that is left out are left out with it.
    of_it = sum(row.get("turn_id") == rows[at].get("id", "") for row in rows)
    assert len(done.problems) == 1 + (of_it if record == "turn" and column != "id" else 0)
    assert done.added == len(rows) - 1 - len(done.problems)
    assert fresh.verify().ok
    fresh.close()
    assert open_hippo(tmp_path / "fresh", embedder="hashed:32").verify().ok


@pytest.mark.usefixtures("hashed")
def test_secrets_of_an_export_are_masked_or_refused(
    open_hippo: Opener, scope: Scope, tmp_path: Path, clock: FakeClock
) -> None:
    rows = exported(open_hippo(embedder="hashed:32"), scope, tmp_path / "space.jsonl", clock)
    path = tmp_path / "secrets.jsonl"
    wanted = {"memory": "content", "turn": "content", "message": "content", "association": "reason"}
    rows = [row | {wanted[r]: SECRET} if (r := row.get("record")) else row for row in rows]
    path.write_text(lines(*rows), encoding="utf-8")
    masking = open_hippo(tmp_path / "masking", embedder="hashed:32")
    assert masking.import_from(path, scope=scope).problems == ()
    assert masking.verify(absent=["hunter2-Tulipe"]).ok
    assert any("[secret" in memory.content for memory in masking.recent(scope=scope))
    refusing = open_hippo(tmp_path / "refusing", embedder="hashed:32", refuse_secrets=True)
    done = refusing.import_from(path, scope=scope)
    assert (done.added, len(done.problems)) == (0, len(rows) - 1)
    assert "contains a secret" in done.problems[0][1]


@pytest.mark.usefixtures("hashed")
@pytest.mark.parametrize("key", ["wifi_password", "code_porte"])
def test_the_key_of_an_exported_fact_tells_its_secret(
    open_hippo: Opener, scope: Scope, tmp_path: Path, key: str
) -> None:
    hippo = open_hippo(embedder="hashed:32")
    hippo.set_fact(key, "on the fridge", scope=scope)
    path = tmp_path / "space.jsonl"
    hippo.export_to(path, scope=scope)
    clear = path.read_text(encoding="utf-8").replace("on the fridge", "4821hunter")
    path.write_text(clear, encoding="utf-8")
    other = open_hippo(tmp_path / "other", embedder="hashed:32")
    assert other.import_from(path, scope=scope).problems == ()
    assert other.facts(scope=scope)[key].content == "[secret: password]"
    refusing = open_hippo(tmp_path / "refusing", embedder="hashed:32", refuse_secrets=True)
    (problem,) = refusing.import_from(path, scope=scope).problems
    assert "contains a secret" in problem[1]


@pytest.mark.usefixtures("hashed")
def test_a_key_that_is_held_stays_where_it_is(
    open_hippo: Opener, scope: Scope, tmp_path: Path, clock: FakeClock
) -> None:
    hippo = open_hippo(embedder="hashed:32")
    exported(hippo, scope, tmp_path / "space.jsonl", clock)
    other = open_hippo(tmp_path / "other", embedder="hashed:32")
    other.set_fact("boisson", "café", scope=scope)
    ((_, problem),) = other.import_from(tmp_path / "space.jsonl", scope=scope).problems
    assert "'boisson' is held by another memory" in problem
    assert other.facts(scope=scope)["boisson"].content == "café"


@pytest.mark.usefixtures("hashed")
def test_messages_known_under_other_ids_are_not_added_twice(
    open_hippo: Opener, scope: Scope, tmp_path: Path, clock: FakeClock
) -> None:
    hippo = open_hippo(embedder="hashed:32")
    exported(hippo, scope, tmp_path / "space.jsonl", clock)
    other = open_hippo(tmp_path / "other", embedder="hashed:32")
    other.observe("on part demain", scope=scope, external_id="w1")
    done = other.import_from(tmp_path / "space.jsonl", scope=scope)
    assert (done.known, done.problems) == (1, ())
    assert other.stats(scope=scope).live == 1


@pytest.mark.usefixtures("hashed")
def test_an_interrupted_import_says_what_is_safe(
    open_hippo: Opener,
    scope: Scope,
    tmp_path: Path,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def interrupt(what: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    rows = exported(open_hippo(embedder="hashed:32"), scope, tmp_path / "space.jsonl", clock)
    talk = tmp_path / "talk.jsonl"
    talk.write_text(lines(*({"author": "dev", "content": f"message {n}"} for n in range(600))))
    for path, safe, batch in (
        (talk, "512 messages are stored", None),
        (tmp_path / "space.jsonl", "5 rows are stored", 5),
    ):
        folder = tmp_path / path.stem
        hippo = open_hippo(folder, embedder="hashed:32")
        with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt) as stopped:
            if batch:
                patched.setattr(archive, "BATCH", batch)
            hippo.import_from(path, scope=scope, progress=interrupt)
        (note,) = stopped.value.__notes__
        assert safe in note
        assert "Import the same file again" in note
        hippo.close()
        again = open_hippo(folder, embedder="hashed:32")
        done = again.import_from(path, scope=scope)
        assert (done.known, done.added) == ((5, len(rows) - 6) if batch else (512, 88))
        assert again.verify().ok


@pytest.mark.usefixtures("hashed")
def test_an_import_interrupted_after_a_commit_counts_what_it_stored(
    open_hippo: Opener, scope: Scope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*given: Any) -> bool:
        assert store(*given)
        raise KeyboardInterrupt

    store = imported_turns.store_turns
    talk = tmp_path / "talk.jsonl"
    talk.write_text(lines(*({"author": "dev", "content": f"message {n}"} for n in range(600))))
    hippo = open_hippo(embedder="hashed:32")
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt) as stopped:
        patched.setattr(imported_turns, "store_turns", interrupted)
        hippo.import_from(talk, scope=scope)
    assert "512 messages are stored" in stopped.value.__notes__[0]
    assert hippo.import_from(talk, scope=scope).known == 512


@pytest.mark.usefixtures("hashed")
def test_a_row_whose_id_no_index_takes_keeps_no_folder_closed(
    open_hippo: Opener,
    scope: Scope,
    folder: Path,
    clock: FakeClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    """As an import of an earlier version left it."""
    hippo = open_hippo(embedder="hashed:32")
    tell(hippo, scope, clock)
    hippo.close()
    with closing(sqlite3.connect(folder / "hippocampe.db")) as database:
        columns = [row[1] for row in database.execute("PRAGMA table_info(memory)")]
        others = ", ".join(f'"{name}"' for name in columns if name not in ("id", "content"))
        database.execute(
            f"INSERT INTO memory (id, content, {others}) SELECT 'm1', 'Jo est là', {others} "
            "FROM memory WHERE superseded_by IS NULL LIMIT 1"
        )
        database.execute(
            "INSERT INTO outbox (kind, item_id, space) VALUES ('memory', 'm1', 'default')"
        )
        database.execute("INSERT OR REPLACE INTO meta VALUES ('unembedded', '1')")
        database.commit()
    hippo = open_hippo(embedder="hashed:32")
    assert [r.getMessage() for r in caplog.records if "not UUIDs" in r.getMessage()] == [
        "1 items are not searchable, because their ids are not UUIDs ('m1', …): erase them by id"
    ]
    assert not [record for record in caplog.records if "rebuilding it" in record.getMessage()]
    assert hippo.verify().missing_in_index == {"memory": ("m1",)}
    assert hippo.get("m1", scope=scope).content == "Jo est là"
    hippo.close()
    caplog.clear()
    hippo = open_hippo(embedder="hashed:32")
    assert not caplog.records
    hippo.reindex()
    hippo.erase(scope=scope, id="m1")
    assert hippo.verify(absent=["Jo est là"]).ok


def test_a_folder_that_is_not_there_is_named(
    open_hippo: Opener, scope: Scope, tmp_path: Path
) -> None:
    hippo = open_hippo()
    nowhere = tmp_path / "nowhere"
    with pytest.raises(StoreError, match=r"there is no folder .*nowhere"):
        hippo.export_to(nowhere / "export.jsonl", scope=scope)
    assert not nowhere.exists()


def test_problems_are_listed_up_to_a_limit(
    hashed: None, open_hippo: Opener, tmp_path: Path
) -> None:
    path = tmp_path / "talk.jsonl"
    path.write_text('{"content": "a", "author": "dev"}\nno JSON\n' * 1_500)
    hippo = open_hippo(embedder="hashed:32")
    for format in ("jsonl", "hippocampe"):
        if format == "hippocampe":
            path.write_text('{"hippocampe": 1}\n' + "no JSON\n" * 1_500)
        done = hippo.import_from(path, scope=Scope(), format=format)
        assert len(done.problems) == problems.MAX_PROBLEMS + 1
        last, reason = done.problems[-1]
        assert reason == "500 more problems, up to this line."
        assert last == (3_000 if format == "jsonl" else 1_501)


def test_long_messages_and_open_questions_do_not_pile_up(
    hashed: None, open_hippo: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Transactions end by size too, and a question without an answer is stored alone in time."""
    monkeypatch.setattr(message_import, "BATCH_CHARACTERS", 1_000)
    monkeypatch.setattr(message_import, "MAX_OPEN", 5)
    drafts: list[int] = []
    store = imported_turns.store_turns
    monkeypatch.setattr(
        imported_turns,
        "store_turns",
        lambda *given: (drafts.append(len(given[1])), store(*given)),
    )
    path = tmp_path / "talk.jsonl"
    said = [
        {
            "content": f"{number} " + "a" * 90,
            "author": "dev",
            "role": "user",
            "channel": str(number),
        }
        for number in range(100)
    ]
    path.write_text(lines(*said))
    hippo = open_hippo(embedder="hashed:32")
    done = hippo.import_from(path, scope=Scope())
    assert (done.added, done.turns) == (100, 100)
    assert len(drafts) >= 8
    assert max(drafts) <= 20


def test_an_endless_row_of_an_export_is_reported(
    hashed: None, open_hippo: Opener, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(archive, "MAX_LINE_BYTES", 2_000)
    path = tmp_path / "space.jsonl"
    path.write_text('{"hippocampe": 1}\n{"record": "memory", "content": "' + "a" * 1_000_000)
    done = open_hippo(embedder="hashed:32").import_from(path, scope=Scope())
    assert (done.read, len(done.problems)) == (0, 1)


def renamed(format: str, title: str, *more: str) -> str:
    """The sample of a format after its conversation was renamed, and went on."""
    if format == "telegram":
        chat = json.loads(telegram())
        last = chat["messages"][-1]
        chat["messages"] += [
            last
            | {"id": 10 + n, "text": text, "date_unixtime": str(int(last["date_unixtime"]) + 9)}
            for n, text in enumerate(more)
        ]
        return json.dumps(chat | {"name": title})
    [talk] = json.loads(SAMPLES[format])
    for n, text in enumerate(more):
        if format == "claude":
            said = talk["chat_messages"][0]
            content = [{"type": "text", "text": text}]
            talk["chat_messages"].append(said | {"uuid": f"n{n}", "content": content})
            continue
        message = talk["mapping"]["a1"]["message"] | {"id": f"n{n}"}
        message["content"] = {"content_type": "text", "parts": [text]}
        parent = talk["current_node"]
        talk["mapping"][f"n{n}"] = {"id": f"n{n}", "parent": parent, "message": message}
        talk["current_node"] = f"n{n}"
    return json.dumps([talk | {"title": title, "name": title}])


@pytest.mark.parametrize("format", ["chatgpt", "claude", "telegram"])
def test_a_renamed_conversation_comes_in_once(
    hippo: Hippocampe, scope: Scope, tmp_path: Path, format: str
) -> None:
    path = tmp_path / "talk.json"
    path.write_text(SAMPLES[format], encoding="utf-8")
    assert hippo.import_from(path, scope=scope).added == 2
    path.write_text(renamed(format, "Fruits des bois", "Et les airelles ?"), encoding="utf-8")
    again = hippo.import_from(path, scope=scope)
    assert (again.added, again.known) == (1, 2)
    assert hippo.import_from(path, scope=scope).added == 0


def test_two_accounts_that_number_their_messages_alike_both_come_in(
    hippo: Hippocampe, scope: Scope, tmp_path: Path
) -> None:
    path = tmp_path / "result.json"
    for title, seconds in (("Maman", "1750000000"), ("Solange", "1750001000")):
        chat = json.loads(telegram())
        chat["messages"] = [each | {"date_unixtime": seconds} for each in chat["messages"]]
        path.write_text(json.dumps(chat | {"name": title}), encoding="utf-8")
        assert hippo.import_from(path, scope=scope).added == 2


def test_the_edit_of_a_message_comes_in_with_a_later_export(
    hippo: Hippocampe, scope: Scope, tmp_path: Path
) -> None:
    path = tmp_path / "result.json"
    chat = json.loads(telegram())
    first = chat["messages"][0]
    path.write_text(json.dumps(chat), encoding="utf-8")
    hippo.import_from(path, scope=scope)
    first |= {"text": "Le ferry part à minuit", "edited_unixtime": "1760000000"}
    path.write_text(json.dumps(chat), encoding="utf-8")
    again = hippo.import_from(path, scope=scope)
    assert (again.added, again.known) == (1, len(chat["messages"]) - 1)
    assert "Le ferry part à minuit" in [each.content for each in hippo.messages(scope=Scope())]
    found = hippo.recall("quand part le ferry ?", scope=scope, collections=["turn"])
    assert "minuit" in found[0].content
    assert len(hippo.search_text("minuit", scope=Scope())) == 1
    assert hippo.import_from(path, scope=scope).added == 0


@pytest.mark.usefixtures("hashed")
@pytest.mark.parametrize("edit", ["Le ferry part à minuit", "The boat is late"])
def test_a_message_that_is_edited_while_the_embedder_changes_has_the_vector_of_its_edit(
    open_hippo: Opener,
    scope: Scope,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    edit: str,
) -> None:
    hippo = open_hippo(embedder="hashed:256")
    path = tmp_path / "result.json"
    chat = json.loads(telegram())
    path.write_text(json.dumps(chat), encoding="utf-8")
    hippo.import_from(path, scope=scope)
    chat["messages"][0] |= {"text": edit, "edited_unixtime": "1760000000"}
    path.write_text(json.dumps(chat), encoding="utf-8")
    refill = generations.refill

    def refilled(*arguments: Any, **named: Any) -> tuple[str, ...]:
        done = refill(*arguments, **named)
        # The old embedder serves still.
        assert hippo.import_from(path, scope=scope).added == 1
        return done

    monkeypatch.setattr(generations, "refill", refilled)
    hippo.reindex(embedder="hashed:48")
    found = hippo.recall(edit, scope=scope, collections=["turn"], mode="text", limit=1)
    corpus = hippo._context.corpus
    with corpus.store.read() as connection:
        stored = embeddings.vectors(connection, corpus.model, [found[0].id])[found[0].id]
    words = text_words(edit)
    assert not corpus.vocabulary.unknown(words)
    assert {*corpus.vocabulary.ids(words)} <= {*stored.words}
    assert hippo.verify().ok


def whatsapp(folder: Path, title: str, *said: str) -> Path:
    path = folder / f"WhatsApp Chat with {title}.txt"
    lines = (f"{day + 1:02}/03/2024, 10:0{day} - {each}\n" for day, each in enumerate(said))
    path.write_text("".join(lines), encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("mark", "before", "after", "question"),
    [
        ("<This message was edited>", "we meet at noon", "we meet at seven", "when do we meet?"),
        (
            "<Ce message a été modifié>",
            "rendez-vous à midi",
            "rendez-vous à sept heures",
            "quand ?",
        ),
    ],
)
def test_the_edit_of_a_message_of_whatsapp_comes_in_once(
    hippo: Hippocampe,
    scope: Scope,
    tmp_path: Path,
    mark: str,
    before: str,
    after: str,
    question: str,
) -> None:
    def chat(text: str) -> Path:
        path = tmp_path / "WhatsApp Chat with Family.txt"
        said = ("Léa: hello", f"Tom: {text}", "Tom: bring bread", "Léa: ok")
        path.write_text("".join(f"03/03/2024, 10:00 - {each}\n" for each in said), "utf-8")
        return path

    assert hippo.import_from(chat(before), scope=scope).added == 4
    again = hippo.import_from(chat(f"{after} {mark}"), scope=scope)
    assert (again.added, again.known) == (1, 3)
    said = [each.content for each in hippo.messages(scope=Scope())]
    assert sorted(said) == sorted(["hello", after, "bring bread", "ok"])
    found = hippo.recall(question, scope=scope, collections=["turn"])
    assert not any(before in each.content for each in found)
    assert hippo.import_from(chat(f"{after} {mark}"), scope=scope).added == 0


def test_an_edit_of_whatsapp_that_could_be_of_two_messages_is_added(
    hippo: Hippocampe, scope: Scope, tmp_path: Path
) -> None:
    path = tmp_path / "WhatsApp Chat with Family.txt"

    def chat(*said: str) -> Path:
        path.write_text("".join(f"03/03/2024, 10:00 - Tom: {each}\n" for each in said), "utf-8")
        return path

    hippo.import_from(chat("at noon", "at six"), scope=scope)
    # One was deleted since, and one edited: nobody knows which.
    hippo.import_from(chat("at nine <This message was edited>"), scope=scope)
    said = [each.content for each in hippo.messages(scope=Scope())]
    assert sorted(said) == ["at nine", "at noon", "at six"]


def test_a_chat_of_whatsapp_that_was_renamed_comes_in_once(
    hippo: Hippocampe, scope: Scope, tmp_path: Path
) -> None:
    said = ["Léa: on part samedi", "Tom: je prends la tente", "Léa: et la carte", "Tom: et le pain"]
    hippo.import_from(whatsapp(tmp_path, "Family", *said[:3]), scope=scope)
    again = hippo.import_from(whatsapp(tmp_path, "Les Pyrénées", *said), scope=scope)
    assert (again.added, again.known) == (1, 3)
    # A contact that was renamed has the new name as author and as title.
    direct = ["Eve: the key?", "Tom: under the mat", "Eve: thanks", "Tom: see you"]
    hippo.import_from(whatsapp(tmp_path, "Eve", *direct), scope=scope)
    direct = [each.replace("Eve:", "Eve Martin:") for each in direct]
    again = hippo.import_from(whatsapp(tmp_path, "Eve Martin", *direct), scope=scope)
    assert (again.added, again.known) == (0, 4)


def test_the_same_words_in_two_chats_of_whatsapp_both_come_in(
    hippo: Hippocampe, scope: Scope, tmp_path: Path
) -> None:
    wishes = [f"Tom: wish {number}" for number in range(4)]
    other = [wishes[0], "Eve: you too", "Eve: and many", *wishes[3:], "Eve: more"]
    assert hippo.import_from(whatsapp(tmp_path, "Choir", *wishes), scope=scope).added == 4
    assert hippo.import_from(whatsapp(tmp_path, "Rowers", *other), scope=scope).added == 5


def test_ids_of_json_lines_are_those_of_their_channel(
    hippo: Hippocampe, scope: Scope, tmp_path: Path
) -> None:
    path = tmp_path / "talk.jsonl"
    said = {"author": "dev", "content": "Bonjour", "at": AT, "external_id": "1"}
    path.write_text(lines(said | {"channel": "un"}, said | {"channel": "deux"}), encoding="utf-8")
    assert hippo.import_from(path, scope=scope).added == 2


@pytest.mark.parametrize("format", ["chatgpt", "claude"])
def test_the_user_of_an_assistant_is_who_imports(
    hippo: Hippocampe, scope: Scope, tmp_path: Path, format: str
) -> None:
    path = tmp_path / "talk.json"
    path.write_text(SAMPLES[format], encoding="utf-8")
    hippo.import_from(path, scope=replace(scope, user="nora"))
    found = hippo.recall("myrtilles", scope=scope, collections=["turn"], user="nora")
    assert found[0].content.startswith("Où poussent les myrtilles ?")


@pytest.mark.parametrize("format", [*SAMPLES, "mem0"])
def test_a_dry_run_tells_what_is_there_already_and_stores_nothing(
    hippo: Hippocampe, scope: Scope, tmp_path: Path, format: str
) -> None:
    path = tmp_path / f"talk.{format}"
    mem0 = '[{"id": "m1", "memory": "La serre ouvre à huit heures", "user_id": "nora"}]'
    path.write_text(mem0 if format == "mem0" else SAMPLES[format], encoding="utf-8")
    dry = hippo.import_from(path, scope=scope, dry_run=True)
    assert hippo.stats(scope=scope).messages == 0
    assert hippo.recent(5, scope=scope) == []
    assert hippo.import_from(path, scope=scope) == dry
    assert dry.added > 0
    again = hippo.import_from(path, scope=scope, dry_run=True)
    assert (again.added, again.known) == (0, dry.added)


@pytest.mark.parametrize("format", ["hippocampe", "okf"])
def test_a_dry_run_of_an_own_export_knows_its_rows(
    hippo: Hippocampe, scope: Scope, tmp_path: Path, format: str
) -> None:
    hippo.remember("The ferry to Skye is blue", scope=scope)
    hippo.after_turn("Où poussent les myrtilles ?", "Dans les sous-bois.", scope=scope)
    path = tmp_path / "space"
    hippo.export_to(path, scope=scope, format=format)
    here = hippo.import_from(path, scope=scope, dry_run=True)
    assert (here.added, here.known) == (0, here.read)
    copy = Scope(space="copy")
    there = hippo.import_from(path, scope=copy, dry_run=True)
    assert (there.added, there.problems) == (there.read, ())
    assert hippo.messages(scope=copy) == []
    assert hippo.import_from(path, scope=copy) == there


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_an_export_with_a_mark_and_line_ends_of_windows_comes_back(
    hippo: Hippocampe, scope: Scope, tmp_path: Path, encoding: str
) -> None:
    hippo.remember("The ferry to Skye is blue", scope=scope)
    hippo.after_turn("Où poussent les myrtilles ?", "Dans les sous-bois.", scope=scope)
    path = tmp_path / "space.jsonl"
    hippo.export_to(path, scope=scope)
    path.write_text(path.read_text("utf-8"), encoding=encoding, newline="\r\n")
    copy = Scope(space="copy")
    assert hippo.import_from(path, scope=copy).problems == ()
    assert [each.content for each in hippo.recent(5, scope=copy)] == ["The ferry to Skye is blue"]
    assert len(hippo.messages(scope=copy)) == 2


def test_rows_of_an_export_without_its_first_line_are_no_talk(
    hippo: Hippocampe, scope: Scope, tmp_path: Path
) -> None:
    hippo.after_turn("Où poussent les myrtilles ?", "Dans les sous-bois.", scope=scope)
    path = tmp_path / "space.jsonl"
    hippo.export_to(path, scope=scope)
    path.write_text(path.read_text("utf-8").partition("\n")[2], encoding="utf-8")
    with pytest.raises(InvalidInput, match="cannot tell the format"):
        hippo.import_from(path, scope=Scope(space="copy"))
