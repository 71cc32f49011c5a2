"""Moving in from other memories: what each of them exports, and how its statements come in."""

import json
import shutil
import zipfile
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from conftest import FakeClock, Opener
from hippocampe import Hippocampe, Memory, Scope
from hippocampe.errors import UnreadableFile
from hippocampe.ingest import statement_import
from hippocampe.ingest.formats.record import Problem, Statement, TalkMessage
from hippocampe.ingest.formats.registry import open_file, read_file
from hippocampe.ingest.importer import preview

ALICE = "alice"


def detect_format(path: Path) -> str:
    return open_file(path)[0][0]


def mem0_item(id: str, text: str, at: str, **more: object) -> dict[str, object]:
    """As `Memory.get_all` of mem0ai 2.2 gives it."""
    return {
        "id": id,
        "memory": text,
        "hash": "d3b07384d113edec49eaa6238ad5ff00",
        "created_at": at,
        "updated_at": at,
        "user_id": ALICE,
        **more,
    }


MEM0 = {
    "results": [
        mem0_item("m2", "Moved to Toulouse", "2025-02-05T10:00:00-08:00"),
        mem0_item(
            "m1",
            "Lives in Paris",
            "2024-01-05T10:00:00-08:00",
            metadata={"topic": "home", "nested": {"a": 1}},
            categories=["places"],
        ),
        mem0_item("m3", "Has a parking pass", "2025-03-01T00:00:00Z", expiration_date="2025-04-01"),
    ]
}
ZEP = {
    "nodes": [{"uuid": "n1", "name": "Kendra", "labels": ["Entity"], "summary": "a runner"}],
    "edges": [
        {
            "uuid": "e1",
            "group_id": "g",
            "source_node_uuid": "n1",
            "target_node_uuid": "n2",
            "name": "WEARS",
            "fact": "Kendra wears Adidas shoes",
            "created_at": "2024-05-01T00:00:00Z",
            "valid_at": "2024-04-01T00:00:00Z",
            "invalid_at": "2024-09-01T00:00:00Z",
            "expired_at": "2024-09-02T00:00:00Z",
            "episodes": ["p1"],
            "fact_embedding": None,
        },
        {
            "uuid": "e2",
            "source_node_uuid": "n1",
            "target_node_uuid": "n3",
            "name": "WEARS",
            "fact": "Kendra wears Puma shoes",
            "created_at": "2024-09-02T00:00:00Z",
            "valid_at": "2024-09-01T00:00:00Z",
            "invalid_at": None,
        },
    ],
}
GRAPH = "\n".join(
    json.dumps(each)
    for each in (
        {
            "type": "entity",
            "name": "John_Smith",
            "entityType": "person",
            "observations": ["Speaks fluent Spanish", "john_smith graduated in 2019"],
        },
        {"type": "relation", "from": "John_Smith", "to": "Anthropic", "relationType": "works_at"},
    )
)
CHATGPT = [
    {"id": "c1", "content": "User has a cat named Filou", "created_at": 1714560000.0},
    {"id": "c2", "content": "User likes tea", "created_at": "2024-06-01T08:00:00Z"},
    {"id": "c3", "content": "User works nights", "enabled": False},
]
CLAUDE = [
    {
        "conversations_memory": "**Work context**\n\nMickael founded a small shop.\n\n"
        "**Personal context**\n\nHe lives in Ordizan.\n",
        "project_memories": {"p1": "- Uses SQLite\n- Ships on Fridays\n"},
        "account_uuid": "u",
    }
]
LETTA = {
    "agents": [
        {
            "name": "Sam",
            "in_context_message_ids": ["message-0"],
            "messages": [
                {"role": "system", "content": [{"type": "text", "text": "You are Sam."}]},
                {
                    "role": "user",
                    "content": [
                        {"type": "text", "text": '{"type": "user_message", "message": "Salut"}'}
                    ],
                    "created_at": "2025-10-31T22:56:56+00:00",
                },
                {
                    "role": "user",
                    "content": [{"type": "text", "text": '{"type": "heartbeat", "reason": "x"}'}],
                },
                {
                    "role": "assistant",
                    "content": [{"type": "text", "text": "Bonjour Chad"}],
                    "created_at": "2025-10-31T22:57:00+00:00",
                },
            ],
        }
    ],
    "blocks": [
        {"label": "human", "value": "First name: Chad\nOccupation: student\n", "id": "block-0"},
        {"label": "persona", "value": "I am Sam.\n\nI love questions.", "id": "block-1"},
    ],
}
PASSAGES = [
    {
        "id": "passage-1",
        "archive_id": "archive-1",
        "text": "The build takes four minutes",
        "tags": ["ci"],
        "created_at": "2025-11-05 23:04:24.901468+00:00",
        "is_deleted": False,
    },
    {"id": "passage-2", "archive_id": "archive-1", "text": "gone", "is_deleted": True},
]
BASIC = """---
title: Coffee Brewing
type: note
permalink: notes/coffee-brewing
tags: [drinks]
created: 2025-01-02T09:00:00+00:00
---

# Coffee Brewing

## Observations
- [method] Pour over needs patience #brewing (slow)
- [ ] buy filters

## Relations
- pairs_with [[Dark Chocolate]]
"""
LIST = """# Saved memories

- [2025-06-01] - User has a cat named Filou
- User works as a nurse
  in Toulouse
* [unknown] date is kept as text
"""


EXPORTS = [
    ("a", MEM0, "mem0", ["Moved to Toulouse", "Lives in Paris", "Has a parking pass"]),
    (
        "a",
        MEM0["results"],
        "mem0",
        ["Moved to Toulouse", "Lives in Paris", "Has a parking pass"],
    ),
    ("a", ZEP, "zep", ["Kendra wears Adidas shoes", "Kendra wears Puma shoes"]),
    (
        "a",
        GRAPH,
        "mcp-memory",
        [
            "John_Smith: Speaks fluent Spanish",
            "john_smith graduated in 2019",
            "John_Smith works at Anthropic",
        ],
    ),
    ("a", CHATGPT, "chatgpt-memories", ["User has a cat named Filou", "User likes tea"]),
    (
        "a",
        CLAUDE,
        "claude-memories",
        [
            *("Mickael founded a small shop.", "He lives in Ordizan."),
            *("Uses SQLite", "Ships on Fridays"),
        ],
    ),
    (
        "a",
        LETTA,
        "letta",
        ["First name: Chad", "Occupation: student", "I am Sam.", "I love questions."],
    ),
    ("a", PASSAGES, "letta", ["The build takes four minutes"]),
    (
        "a.md",
        BASIC,
        "markdown",
        [
            *("Coffee Brewing: Pour over needs patience (slow)", "Coffee Brewing: buy filters"),
            "Coffee Brewing pairs with Dark Chocolate",
        ],
    ),
    (
        "a.md",
        LIST,
        "markdown",
        [
            *("User has a cat named Filou", "User works as a nurse in Toulouse"),
            "[unknown] date is kept as text",
        ],
    ),
]


def write(folder: Path, name: str, content: object) -> Path:
    path = folder / name
    text = content if isinstance(content, str) else json.dumps(content, indent=1)
    path.write_text(text, encoding="utf-8")
    return path


def read(path: Path, **options: str) -> list[Statement]:
    got = list(read_file(path, timezone="UTC", **options))
    assert [each for each in got if isinstance(each, Problem)] == []
    return [each for each in got if isinstance(each, Statement)]


@pytest.mark.parametrize(("name", "content", "format", "contents"), EXPORTS)
def test_each_program_is_recognised_and_read(
    tmp_path: Path, name: str, content: object, format: str, contents: list[str]
) -> None:
    path = write(tmp_path, name, content)
    assert detect_format(path) == format
    found = read(path)
    assert [each.content for each in found] == contents
    assert {each.format for each in found} == {format}
    assert all(each.line for each in found)
    assert len({each.external_id for each in found}) == len(found)
    assert [each.external_id for each in read(path)] == [each.external_id for each in found]


def test_dates_people_and_what_else_a_file_says_are_kept(tmp_path: Path) -> None:
    _, paris, parking = read(write(tmp_path, "mem0.json", MEM0))
    assert (paris.user, paris.subjects, paris.at) == (ALICE, (ALICE,), utc(2024, 1, 5, 18))
    assert paris.metadata == {"topic": "home", "nested.a": 1, "categories": "places"}
    assert parking.ends == utc(2025, 4, 1)
    adidas, puma = read(write(tmp_path, "zep.json", ZEP))
    assert (adidas.at, adidas.occurred_at, adidas.ends) == (
        *(utc(2024, 5, 1), utc(2024, 4, 1), utc(2024, 9, 1)),
    )
    assert (adidas.subjects, adidas.metadata) == (("Kendra",), {"name": "WEARS", "group_id": "g"})
    assert puma.ends is None
    method, task, relation = read(write(tmp_path, "coffee.md", BASIC))
    assert method.subjects == ("Coffee Brewing", "drinks", "brewing")
    assert method.metadata["category"] == "method"
    assert (task.at, task.metadata["heading"]) == (utc(2025, 1, 2, 9), "Observations")
    assert relation.subjects == ("Coffee Brewing", "Dark Chocolate", "drinks")
    filou, nurse, _ = read(write(tmp_path, "list.md", LIST))
    assert filou.at == utc(2025, 6, 1)
    assert nurse.subjects == ()
    work, *_ = read(write(tmp_path, "claude.json", CLAUDE))
    assert work.metadata == {"heading": "Work context"}
    *_, own = read(write(tmp_path, "sam.af", LETTA))
    assert (own.collection, own.category) == ("self", "context")


def test_the_talk_of_an_agent_file_is_read_without_its_machinery(tmp_path: Path) -> None:
    got = list(read_file(write(tmp_path, "sam.af", LETTA)))
    said = [each for each in got if isinstance(each, TalkMessage)]
    assert [(each.role, each.author, each.content) for each in said] == [
        ("user", "user", "Salut"),
        ("assistant", "Sam", "Bonjour Chad"),
    ]
    assert {each.channel for each in said} == {"Sam"}


def test_an_archive_of_an_assistant_has_talk_and_memories(tmp_path: Path) -> None:
    said = {"uuid": "a1", "sender": "human", "text": "Où poussent les myrtilles ?", "content": []}
    talk = [{"uuid": "c", "name": "Myrtilles", "chat_messages": [said]}]
    path = tmp_path / "claude.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("conversations.json", json.dumps(talk))
        archive.writestr("memories.json", json.dumps(CLAUDE))
        archive.writestr("users.json", "[]")
        archive.writestr("README.md", "# not a memory\n\n- of anyone")
    for format in (None, "claude"):
        got = list(read_file(path, format=format))
        assert sum(isinstance(each, TalkMessage) for each in got) == 1
        assert sum(isinstance(each, Statement) for each in got) == 4


def test_a_vault_is_a_folder_or_a_zip_of_notes(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "people").mkdir()
    write(vault / ".obsidian", "hidden.md", "- secret")
    write(vault, "index.md", "# Listing\n\n- [Filou](people/Filou.md)")
    write(
        vault / "people",
        "Filou.md",
        "A cat who [[sleeps|dozes]] [all day](https://x.y).\n\n[![](a)](b)\n\n- likes #tuna\n- lives in Lille",
    )
    (vault / "people" / "link.md").symlink_to(vault / ".obsidian" / "hidden.md")
    path = tmp_path / "vault.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for each in ("index.md", "people/Filou.md", ".obsidian/hidden.md"):
            archive.write(vault / each, each)
    expected = ["Filou: A cat who dozes all day.", "Filou: likes", "Filou lives in Lille"]
    for source in (vault, path):
        assert [each.content for each in read(source)] == expected
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(UnreadableFile, match="contains no export"):
        read_file(empty)


def test_statements_come_in_by_the_rules_with_their_dates(
    hippo: Hippocampe, scope: Scope, tmp_path: Path
) -> None:
    done = hippo.import_from(write(tmp_path, "mem0.json", MEM0), scope=scope)
    assert (done.read, done.added, done.known, done.problems) == (3, 3, 0, ())
    (home,) = current(hippo, scope)
    assert (home.content, home.user, home.source) == ("Moved to Toulouse", ALICE, "import:mem0")
    assert (home.created_at, home.evidence) == (utc(2025, 2, 5, 18), ("mem0:m2",))
    versions = {each.content: each for each in hippo.history(home.id, scope=scope).versions}
    assert versions["Lives in Paris"].superseded_at == home.created_at
    found = hippo.recall("parking pass", scope=scope)
    assert "Has a parking pass" not in [each.content for each in found]
    again = hippo.import_from(tmp_path / "mem0.json", scope=scope)
    assert (again.added, again.known) == (0, 3)
    assert hippo.verify().ok


@pytest.mark.parametrize(("name", "content", "format", "contents"), EXPORTS)
def test_each_export_is_shown_then_comes_in_once(
    hippo: Hippocampe,
    scope: Scope,
    tmp_path: Path,
    name: str,
    content: object,
    format: str,
    contents: list[str],
) -> None:
    path = write(tmp_path, name, content)
    assert [each.content for each in preview(path).statements] == contents
    assert current(hippo, scope) == []
    done = hippo.import_from(path, scope=scope)
    assert done.problems == ()
    known = [
        version
        for each in current(hippo, scope)
        for version in hippo.history(each.id, scope=scope).versions
    ]
    assert {each.source for each in known} == {f"import:{format}"}
    assert all(evidence.startswith(f"{format}:") for each in known for evidence in each.evidence)
    again = hippo.import_from(path, scope=scope)
    assert (again.added, again.known) == (0, done.added + done.known)


def test_the_dates_of_saved_memories_and_passages_are_kept(tmp_path: Path) -> None:
    filou, tea = read(write(tmp_path, "saved.json", CHATGPT))
    assert (filou.at, tea.at) == (utc(2024, 5, 1, 10, 40), utc(2024, 6, 1, 8))
    (build,) = read(write(tmp_path, "passages.json", PASSAGES))
    assert build.at is not None
    assert build.at.replace(microsecond=0) == utc(2025, 11, 5, 23, 4, 24)
    said = [
        each for each in read_file(write(tmp_path, "a.af", LETTA)) if isinstance(each, TalkMessage)
    ]
    assert [each.at.replace(second=0) for each in said] == [
        utc(2025, 10, 31, 22, 56),
        utc(2025, 10, 31, 22, 57),
    ]


def test_what_is_known_already_is_newer_than_what_moves_in(
    hippo: Hippocampe, scope: Scope, tmp_path: Path
) -> None:
    mine = replace(scope, user=ALICE)
    hippo.remember("Lives in Toulouse", scope=mine)
    hippo.remember("Plays the tuba", scope=mine)
    old = [
        mem0_item("m1", "Lives in Paris", "2024-01-05T10:00:00Z"),
        mem0_item("m2", "Plays the tuba", "2024-01-05T10:00:00Z"),
    ]
    before = {each.content: each.updated_at for each in current(hippo, scope)}
    done = hippo.import_from(write(tmp_path, "mem0.json", old), scope=scope)
    assert (done.added, done.known) == (1, 1)
    assert {each.content: each.updated_at for each in current(hippo, scope)} == before
    home = next(each for each in current(hippo, scope) if "Toulouse" in each.content)
    versions = hippo.history(home.id, scope=scope).versions
    assert [each.content for each in versions if each.superseded_by == home.id] == [
        "Lives in Paris"
    ]
    assert hippo.import_from(tmp_path / "mem0.json", scope=scope).known == 2


@pytest.mark.parametrize("then", ["edit", "repeat"])
@pytest.mark.parametrize(
    ("first", "edited", "told"),
    [
        ("Marie habite à Lyon", "Marie habite à Paris", "Marie a déménagé à Toulouse"),
        ("Marie lives in Lyon", "Marie lives in Paris", "Marie moved to Toulouse"),
    ],
)
def test_what_was_edited_or_repeated_since_is_newer_than_what_moves_in(
    hippo: Hippocampe,
    scope: Scope,
    clock: FakeClock,
    tmp_path: Path,
    first: str,
    edited: str,
    told: str,
    then: str,
) -> None:
    mine = replace(scope, user=ALICE)
    kept = hippo.remember(first, scope=mine).memory
    between = clock.now + timedelta(days=4)
    clock.advance(days=10)
    if then == "edit":
        kept = hippo.edit(kept.id, scope=mine, content=edited)
    else:
        kept = hippo.remember(first, scope=mine).memory
    clock.advance(days=1)
    hippo.import_from(
        write(tmp_path, "mem0.json", [mem0_item("m1", told, between.isoformat())]), scope=scope
    )
    former, still = sorted(
        hippo.history(kept.id, scope=mine).versions, key=lambda each: each.current
    )
    assert (still.id, still.content) == (kept.id, kept.content)
    assert (former.content, former.superseded_at) == (told, kept.updated_at)


def test_an_interrupted_import_of_statements_resumes(
    hippo: Hippocampe, scope: Scope, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(statement_import, "BATCH", 2)
    items = [
        mem0_item(f"m{n}", f"Keeps the key number {n} in drawer {n}", f"2024-01-0{n}T10:00:00Z")
        for n in range(1, 6)
    ]
    path = write(tmp_path, "mem0.json", items)

    def stop(what: str, done: int, total: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt) as stopped:
        hippo.import_from(path, scope=scope, progress=stop)
    assert "2 statements are stored" in stopped.value.__notes__[0]
    done = hippo.import_from(path, scope=scope)
    assert (done.added, done.known) == (3, 2)
    assert len(current(hippo, scope)) == 5


@pytest.mark.parametrize(("committed", "safe"), [(False, "no messages"), (True, "3 statements")])
def test_an_import_interrupted_inside_a_batch_counts_what_is_stored(
    hippo: Hippocampe,
    scope: Scope,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    committed: bool,
    safe: str,
) -> None:
    items = [
        mem0_item(f"m{n}", f"Keeps the key number {n} in drawer {n}", f"2024-01-0{n}T10:00:00Z")
        for n in range(1, 4)
    ]
    path = write(tmp_path, "mem0.json", items)
    stored = list[object]()

    def interrupted(*given: Any, **named: Any) -> Any:
        if len(stored) == 2:
            raise KeyboardInterrupt
        stored.append(decide(*given, **named))
        return stored[-1]

    def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    decide = statement_import.decide_and_store
    index = hippo._context.corpus.index  # pyright: ignore[reportPrivateUsage]
    with monkeypatch.context() as patched, pytest.raises(KeyboardInterrupt) as stopped:
        if committed:
            patched.setattr(type(index), "apply", interrupt)
        else:
            patched.setattr(statement_import, "decide_and_store", interrupted)
        hippo.import_from(path, scope=scope)
    assert f"{safe} are stored" in stopped.value.__notes__[0]
    assert hippo.import_from(path, scope=scope).added == (0 if committed else 3)


def test_a_preview_shows_the_statements_and_stores_nothing(
    hippo: Hippocampe, scope: Scope, tmp_path: Path
) -> None:
    found = preview(write(tmp_path, "mem0.json", MEM0))
    assert (found.format, found.counts) == ("mem0", {"memory": 3})
    assert [each.content for each in found.statements][:2] == [
        "Moved to Toulouse",
        "Lives in Paris",
    ]
    assert (found.first_at, found.last_at) == (utc(2024, 1, 5, 18), utc(2025, 3, 1))
    assert current(hippo, scope) == []


def test_memories_one_a_line_come_in_as_those_of_a_list_do(tmp_path: Path) -> None:
    listed = read(write(tmp_path, "list.json", MEM0))
    lines = [json.dumps(each) for each in MEM0["results"]]
    one, *others = read_file(
        write(tmp_path, "lines.json", "\n".join([lines[0], "{", *lines[1:]])), timezone="UTC"
    )
    assert [one, *others[1:]] == listed
    assert others[0] == Problem(2, "the line is not valid JSON")


def test_a_row_of_a_table_and_a_quotation_are_statements_of_their_own(tmp_path: Path) -> None:
    note = (
        "- buy figs\n> Omar: the hull\n> is oak\n\n| Name | City |\n|:--|--:|\n| Léa | Pau |\n| Tom | |\n"
        "After all\n\nred | blue\n"
    )
    assert [(each.content, each.line) for each in read(write(tmp_path, "a.md", note))] == [
        ("buy figs", 1),
        ("Omar: the hull is oak", 2),
        ("Name: Léa, City: Pau", 7),
        ("Name: Tom", 8),
        ("After all", 9),
        ("red | blue", 11),
    ]


def test_an_item_of_a_list_may_be_the_head_of_a_table(tmp_path: Path) -> None:
    note = "- Name | City\n|---|---|\n| Léa | Pau |\n\n- figs\n|---|---|\nAfter all\n"
    assert [(each.content, each.line) for each in read(write(tmp_path, "a.md", note))] == [
        ("Name: Léa, City: Pau", 3),
        ("After all", 7),
    ]


def test_a_note_that_is_no_text_stays_out(tmp_path: Path) -> None:
    vault = packed(
        tmp_path, {"a.md": "- Nils likes oats", "b.md": b"\x00\x01GIF\xff"}, as_zip=False
    )
    found = list(read_file(vault))
    assert [each.content for each in found if isinstance(each, Statement)] == ["a: Nils likes oats"]
    assert [each for each in found if isinstance(each, Problem)] == [
        Problem(0, "cannot import b.md: it is not text.")
    ]
    with pytest.raises(UnreadableFile, match="is not text"):
        list(read_file(vault / "b.md"))


@pytest.mark.parametrize(
    ("content", "line"),
    [
        ([{"id": 1, "memory": 5}, mem0_item("m1", "Lives in Paris", "")], 1),
        ([mem0_item("m1", "Lives in Paris", ""), {"id": [], "memory": "x"}], 2),
        (
            [mem0_item("m2", "Has a kayak", "last Tuesday"), mem0_item("m1", "Lives in Paris", "")],
            1,
        ),
    ],
)
def test_an_unusable_memory_is_reported_and_the_rest_comes_in(
    tmp_path: Path, content: object, line: int
) -> None:
    got = list(read_file(write(tmp_path, "mem0.json", content), format="mem0"))
    assert [each.line for each in got if isinstance(each, Problem)] == [line]
    (paris,) = (each for each in got if isinstance(each, Statement))
    assert (paris.content, paris.at) == ("Lives in Paris", None)


def test_metadata_that_cannot_be_kept_is_reported_and_the_memory_comes_in(tmp_path: Path) -> None:
    given = {
        "from": {"app": "web", "v": 3},
        "tags": ["sea", 2],
        "log": "x" * 300,
        "all": [{"a": 1}],
    }
    item = mem0_item("m1", "Lives in Paris", "", metadata=given)
    paris, problem = read_file(write(tmp_path, "mem0.json", [item]), format="mem0")
    assert isinstance(paris, Statement)
    assert paris.metadata == {"from.app": "web", "from.v": 3, "tags": "sea, 2"}
    assert isinstance(problem, Problem)
    assert (problem.line, problem.reason.partition(": ")[2]) == (1, "log, all")


@pytest.mark.usefixtures("hashed")
def test_a_refused_memory_is_reported_with_its_record(
    open_hippo: Opener, scope: Scope, tmp_path: Path
) -> None:
    told = [
        mem0_item("m1", "My password is hunter2", "2025-02-05T18:00:00+00:00"),
        mem0_item("m2", "Lives in Paris", "2025-01-05T18:00:00+00:00"),
    ]
    hippo = open_hippo(embedder="hashed:32", refuse_secrets=True)
    done = hippo.import_from(write(tmp_path, "mem0.json", told), scope=scope, format="mem0")
    assert (done.added, [line for line, _ in done.problems]) == (1, [1])


def current(hippo: Hippocampe, scope: Scope) -> list[Memory]:
    return [
        each
        for each in hippo.recent(100, scope=scope)
        if each.expires_at is None or each.expires_at > datetime.now(UTC)
    ]


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)


LIKES = json.dumps({"results": [{"id": "m1", "memory": "Nora collects maps", "user_id": "nora"}]})
ENTITY = json.dumps(
    {"type": "entity", "name": "Tarek", "entityType": "person", "observations": ["repairs clocks"]}
)
CHAT = "14/05/2025, 09:00 - Nora: le phare ouvre à midi\n14/05/2025, 09:02 - Tarek: parfait\n"
ON_IOS = "[14/05/2025 09:00:0{0}] {1}: bonjour\n[14/05/2025 09:02:00] Tarek: parfait\n"


def packed(folder: Path, files: dict[str, str | bytes], *, as_zip: bool) -> Path:
    """A folder with these files, or a zip of it."""
    for name, content in files.items():
        path = folder / "everything" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    if not as_zip:
        return folder / "everything"
    return Path(shutil.make_archive(str(folder / "everything"), "zip", folder / "everything"))


@pytest.mark.parametrize("as_zip", [False, True])
def test_a_vault_comes_in_whole_with_blank_and_plain_notes_and_notes_that_quote(
    tmp_path: Path, as_zip: bool
) -> None:
    vault: dict[str, str | bytes] = {
        "Clocks.md": "# Clocks\n- the tower clock is late",
        "Code.md": 'Seen in a file:\n```json\n{"mapping": {}, "chat_messages": []}\n```\n',
        "Empty.md": "",
        "Phare.md": "Le phare ouvre à midi",
        "Rendez-vous.md": "14/05/2025, 09:00 - Nora: au phare\n",
        "White.md": "\n\n",
    }
    items = list(read_file(packed(tmp_path, vault, as_zip=as_zip)))
    assert all(isinstance(each, Statement) for each in items)
    assert {str(each.metadata["note"]) for each in items if isinstance(each, Statement)} == {
        "Clocks.md",
        "Code.md",
        "Phare.md",
        "Rendez-vous.md",
    }


def test_one_note_without_marks_is_markdown(tmp_path: Path) -> None:
    [item] = read_file(write(tmp_path, "Phare.md", "Le phare ouvre à midi"))
    assert isinstance(item, Statement)
    assert item.content == "Le phare ouvre à midi"


@pytest.mark.parametrize("as_zip", [False, True])
def test_files_beside_exports_are_named_as_left_out(
    hippo: Hippocampe, scope: Scope, tmp_path: Path, as_zip: bool
) -> None:
    files: dict[str, str | bytes] = {
        "WhatsApp Chat with Nora.txt": CHAT,
        "mem0.json": LIKES,
        "notes/Phare.md": "# Phare\n- blanc",
        "photo.txt": "no chat",
    }
    path = packed(tmp_path, files, as_zip=as_zip)
    done = hippo.import_from(path, scope=scope)
    assert done.added == 2
    [(_, reason)] = done.problems
    assert "mem0.json, notes/Phare.md" in reason
    assert "photo" not in reason


def test_each_file_of_a_folder_is_read_in_its_own_format(
    hippo: Hippocampe, scope: Scope, tmp_path: Path
) -> None:
    path = packed(tmp_path, {"mem0.json": LIKES, "memory.jsonl": ENTITY}, as_zip=False)
    assert preview(path).formats == ("mem0", "mcp-memory")
    done = hippo.import_from(path, scope=scope)
    assert (done.added, done.problems) == (2, ())


def test_a_broken_file_keeps_the_others_of_its_folder_from_nothing(
    hippo: Hippocampe, scope: Scope, tmp_path: Path
) -> None:
    files: dict[str, str | bytes] = {
        "WhatsApp Chat with Ana.txt": "",
        "WhatsApp Chat with Eve.txt": "   ",
        "WhatsApp Chat with Nora.txt": CHAT,
        "result.json": '{"name": "Nora", "type": "personal_chat", "id": 5, "messages": [',
    }
    path = packed(tmp_path, files, as_zip=False)
    done = hippo.import_from(path, scope=scope)
    assert done.added == 2
    reasons = [reason for _, reason in done.problems]
    assert reasons == [
        "cannot import WhatsApp Chat with Ana.txt: it is empty.",
        "cannot import WhatsApp Chat with Eve.txt: it is empty.",
        "cannot import result.json: the JSON stops before its end. The file is cut; export or copy it again.",
    ]


@pytest.mark.parametrize("as_zip", [False, True])
def test_chats_of_ios_in_one_folder_stay_apart(
    hippo: Hippocampe, scope: Scope, tmp_path: Path, as_zip: bool
) -> None:
    files: dict[str, str | bytes] = {
        "WhatsApp Chat - Nora/_chat.txt": ON_IOS.format(1, "Nora"),
        "Discussion WhatsApp avec Inès/_chat.txt": ON_IOS.format(2, "Inès"),
    }
    done = hippo.import_from(packed(tmp_path, files, as_zip=as_zip), scope=scope)
    assert (done.added, done.known) == (4, 0)
    assert {
        each.channel for each in hippo.recall("bonjour", scope=scope, collections=["turn"])
    } == {
        "Nora",
        "Inès",
    }


def of_two(*said: tuple[str, str]) -> list[dict[str, object]]:
    """The memories of mem0 of several users, a day each."""
    return [
        mem0_item(f"m{day}", text, f"2025-03-0{day}T10:00:00Z", user_id=user)
        for day, (user, text) in enumerate(said, start=1)
    ]


def test_users_may_be_numbers(hippo: Hippocampe, scope: Scope, tmp_path: Path) -> None:
    rows = [
        {"memory": "Lives in Ghent", "user_id": 7},
        {"memory": "Habite à Bergen", "user_id": 8},
        {"memory": "Plays the oboe", "user_id": True},
    ]
    hippo.import_from(write(tmp_path, "rows.json", rows), scope=scope)
    assert {(each.user, each.content) for each in current(hippo, scope)} == {
        ("7", "Lives in Ghent"),
        ("8", "Habite à Bergen"),
        (scope.user, "Plays the oboe"),
    }


@pytest.mark.parametrize(
    ("nora", "tarek"),
    [
        ("Lives in Ghent", "Lives in Bergen"),
        ("Allergic to shrimp", "Allergic to shrimp"),
        ("User works at Lintel", "User works at Corbel"),
        ("Habite à Gand", "Habite à Bergen"),
        ("L'utilisateur est marié à Inès", "L'utilisateur est marié à Maud"),
        ("Aime le thé fumé", "Aime le thé fumé"),
    ],
)
def test_memories_of_two_users_stay_two(
    hippo: Hippocampe, scope: Scope, tmp_path: Path, nora: str, tarek: str
) -> None:
    path = write(tmp_path, "mem0.json", of_two(("nora", nora), ("tarek", tarek)))
    done = hippo.import_from(path, scope=scope)
    assert (done.added, done.known) == (2, 0)
    assert {(each.user, each.content) for each in current(hippo, scope)} == {
        ("nora", nora),
        ("tarek", tarek),
    }


@pytest.mark.parametrize(
    ("old", "new", "own"),
    [
        ("Lives in Ghent", "Lives in Paris", "I moved to Porto"),
        ("Habite à Gand", "Habite à Lyon", "J'ai déménagé à Nantes"),
    ],
)
def test_a_memory_of_one_user_is_still_corrected(
    hippo: Hippocampe, scope: Scope, tmp_path: Path, old: str, new: str, own: str
) -> None:
    path = write(tmp_path, "mem0.json", of_two(("nora", old), ("nora", new)))
    hippo.import_from(path, scope=scope)
    assert [each.content for each in current(hippo, scope)] == [new]
    said = replace(scope, user="nora")
    hippo.remember(own, scope=said)
    assert [each.content for each in current(hippo, scope)] == [own]


@pytest.mark.parametrize(
    ("nora", "tarek"),
    [("Lives in Ghent", "Lives in Bergen"), ("Habite à Gand", "Habite à Bergen")],
)
def test_saved_memories_of_chatgpt_are_those_of_who_imports_them(
    hippo: Hippocampe, scope: Scope, tmp_path: Path, nora: str, tarek: str
) -> None:
    for user, text in (("nora", nora), ("tarek", tarek)):
        saved = [{"id": f"{user}-1", "content": text, "created_at": "2025-03-01T10:00:00Z"}]
        path = write(tmp_path, "memory.json", saved)
        hippo.import_from(path, scope=replace(scope, user=user))
    assert {(each.user, each.content) for each in current(hippo, scope)} == {
        ("nora", nora),
        ("tarek", tarek),
    }


def test_what_an_agent_of_letta_sent_with_its_tool_is_its_talk(tmp_path: Path) -> None:
    sent = {"function": {"name": "send_message", "arguments": '{"message": "Le phare est blanc."}'}}
    asked = {"role": "user", "content": [{"type": "text", "text": "De quelle couleur ?"}]}
    thought = [{"type": "text", "text": "They ask about the lighthouse."}]
    other = {"function": {"name": "archival_memory_search", "arguments": "{"}}
    answered = {"role": "assistant", "content": thought, "tool_calls": [other, sent]}
    agent = {"name": "Gil", "in_context_message_ids": [], "messages": [asked, answered]}
    items = list(read_file(write(tmp_path, "a.af", {"agents": [agent], "blocks": []})))
    assert [(each.author, each.content) for each in items if isinstance(each, TalkMessage)] == [
        ("user", "De quelle couleur ?"),
        ("Gil", "Le phare est blanc."),
    ]


@pytest.mark.parametrize(
    ("written", "at"),
    [
        ("2019", utc(2019, 1, 1)),
        ("20240315", utc(2024, 3, 15)),
        ("2024-03-15", utc(2024, 3, 15)),
        ("1710460800", utc(2024, 3, 15)),
        ("1710460800000", utc(2024, 3, 15)),
    ],
)
def test_the_date_of_a_note_may_be_a_year_or_a_number(
    tmp_path: Path, written: str, at: datetime
) -> None:
    path = write(tmp_path, "Phare.md", f"---\ndate: {written}\n---\n\nLe phare est blanc.\n")
    [item] = read_file(path, timezone="UTC")
    assert not isinstance(item, Problem)
    assert item.at == at


@pytest.mark.parametrize(
    ("name", "head", "at"),
    [
        ("2024-03-15.md", "", utc(2024, 3, 15)),
        ("2024-03-15 vendredi.md", "", utc(2024, 3, 15)),
        ("2024-03-15.md", "---\ncreated: 2024-03-16\n---\n", utc(2024, 3, 16)),
        ("2024-13-45.md", "", None),
        ("1984.md", "", None),
    ],
)
def test_a_daily_note_has_the_date_of_its_name(
    tmp_path: Path, name: str, head: str, at: datetime | None
) -> None:
    path = write(tmp_path, name, f"{head}Le phare a rouvert aujourd'hui.\n")
    for source in (path, tmp_path):
        [item] = read_file(source, format="markdown", timezone="UTC")
        assert not isinstance(item, Problem)
        assert item.at == at or (at is None and source is tmp_path)


def test_words_of_a_daily_note_are_relative_to_its_date(hippo: Hippocampe, tmp_path: Path) -> None:
    folder = tmp_path / "vault"
    folder.mkdir()
    for day, text in (
        ("2024-03-15", "Dîner avec Inès hier soir."),
        ("2024-05-02 Regatta", "Sailed with Nora yesterday."),
    ):
        write(folder, f"{day}.md", text)
    hippo.import_from(folder, scope=Scope())
    found = {each.content: each.occurred_at for each in hippo.memories(scope=Scope()).items}
    assert {content: at.date().isoformat() for content, at in found.items() if at} == {
        "Dîner avec Inès hier soir.": "2024-03-14",
        "Regatta: Sailed with Nora yesterday.": "2024-05-01",
    }


def test_a_zip_of_many_notes_reads_its_directory_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[object] = []
    opening = zipfile.ZipFile.__init__

    def counted(archive: zipfile.ZipFile, *given: Any, **options: Any) -> None:
        opened.append(archive)
        opening(archive, *given, **options)

    vault: dict[str, str | bytes] = {f"{n}.md": f"Le phare {n} est blanc" for n in range(40)}
    path = packed(tmp_path, vault, as_zip=True)
    monkeypatch.setattr(zipfile.ZipFile, "__init__", counted)
    assert len(list(read_file(path))) == 40
    assert len(opened) == 2


@pytest.mark.parametrize(
    ("first", "edited"),
    [
        ("Keeps three hens", "Keeps two ducks and a goose"),
        ("Élève trois poules", "Élève deux canards et une oie"),
    ],
)
def test_what_its_program_edited_since_the_import_comes_in(
    hippo: Hippocampe, scope: Scope, tmp_path: Path, clock: FakeClock, first: str, edited: str
) -> None:
    later = (clock.now + timedelta(days=1)).isoformat()
    path = write(tmp_path, "mem0.json", [mem0_item("m1", first, "2025-03-01T10:00:00Z")])
    hippo.import_from(path, scope=scope)
    clock.advance(days=2)
    item = mem0_item("m1", edited, "2025-03-01T10:00:00Z", updated_at=later)
    path = write(tmp_path, "mem0.json", [item])
    assert hippo.import_from(path, scope=scope).added == 1
    assert hippo.import_from(path, scope=scope).known == 1
    [memory] = current(hippo, scope)
    assert memory.content == edited
    old = [each for each in hippo.history(memory.id, scope=scope).versions if not each.current]
    assert [each.content for each in old] == [first]


@pytest.mark.parametrize("then", ["edited", "forgotten"])
def test_an_edit_of_its_program_undoes_no_later_decision(
    hippo: Hippocampe, scope: Scope, tmp_path: Path, clock: FakeClock, then: str
) -> None:
    later = (clock.now + timedelta(days=1)).isoformat()
    first = mem0_item("m1", "Keeps three hens", "2025-03-01T10:00:00Z")
    hippo.import_from(write(tmp_path, "mem0.json", [first]), scope=scope)
    [memory] = current(hippo, scope)
    clock.advance(days=2)
    if then == "edited":
        hippo.edit(memory.id, scope=scope, content="Keeps four hens")
    else:
        hippo.delete(memory.id, reason="wrong", scope=scope)
    there = [each.content for each in current(hippo, scope)]
    item = first | {"memory": "Keeps two ducks and a goose", "updated_at": later}
    done = hippo.import_from(write(tmp_path, "mem0.json", [item]), scope=scope)
    assert (done.added, done.known) == (0, 1)
    assert [each.content for each in current(hippo, scope)] == there


def test_an_edit_that_came_in_repeating_another_memory_comes_in_once(
    hippo: Hippocampe, scope: Scope, tmp_path: Path
) -> None:
    hippo.remember("The ferry to Skye is blue.", scope=replace(scope, user=ALICE))
    times = {"created_at": "2025-03-01T10:00:00Z", "updated_at": "2025-04-01T10:00:00Z"}
    item = {"id": "m1", "memory": "the ferry to Skye is blue", "user_id": ALICE, **times}
    path = write(tmp_path, "mem0.json", [item])
    assert [hippo.import_from(path, scope=scope).known for _ in range(2)] == [1, 1]
    [memory] = current(hippo, scope)
    assert memory.content == "The ferry to Skye is blue."


def test_comments_of_a_note_that_hide_several_paragraphs_stay_out(tmp_path: Path) -> None:
    drawing = "%%\n## Drawing\n```compressed-json\nN4KAkARALgngDgUwgLgAQ\n```\n%%\n"
    text = f"Le phare est blanc\n\n<!-- a\n\nb -->\n\n{drawing}\n\nThe ferry is blue\n"
    items = list(read_file(write(tmp_path, "Phare.md", text)))
    assert [(each.content, each.line) for each in items if isinstance(each, Statement)] == [
        ("Le phare est blanc", 1),
        ("The ferry is blue", 15),
    ]


@pytest.mark.parametrize("language", ["dataview", "dataviewjs", "tasks"])
def test_queries_of_obsidian_are_no_statements(tmp_path: Path, language: str) -> None:
    query = f"> ```{language}\n> TABLE status\n> FROM #project\n> ```"
    code = "```sh\nmake test\n```\n"
    text = f"Le phare est blanc\n\n{query}\n\n{code}\n`= this.file.name`\n\nThe ferry is `blue`\n"
    items = list(read_file(write(tmp_path, "Phare.md", text)))
    assert [(each.content, each.line) for each in items if isinstance(each, Statement)] == [
        ("Le phare est blanc", 1),
        ("make test", 9),
        ("The ferry is `blue`", 14),
    ]


def test_placeholders_of_templates_are_no_statements(tmp_path: Path) -> None:
    text = "# {{title}}\n\n- {{date:YYYY-MM-DD}}\n- <% tp.date.now() %>\n- likes {{c1::tuna}}\n"
    items = list(read_file(write(tmp_path, "Daily.md", text)))
    assert [each.content for each in items if isinstance(each, Statement)] == ["likes {{c1::tuna}}"]


def test_a_page_of_several_says_so(tmp_path: Path) -> None:
    page = {"count": 2, "next": "https://mem0.example/?page=2", "previous": None, **MEM0}
    problem, *found = read_file(write(tmp_path, "mem0.json", page))
    assert isinstance(problem, Problem)
    assert "one page of several" in problem.reason
    assert len(found) == 3
    assert len(list(read_file(write(tmp_path, "mem0.json", page | {"next": None})))) == 3


def test_a_file_with_the_name_of_an_export_keeps_no_vault_out(tmp_path: Path) -> None:
    vault: dict[str, str | bytes] = {"Phare.md": "Le phare est blanc", "memory.json": "{}"}
    problem, found = read_file(packed(tmp_path, vault, as_zip=False))
    assert isinstance(problem, Problem)
    assert problem.reason.startswith("cannot tell the format of memory.json")
    assert isinstance(found, Statement)
    assert found.content == "Le phare est blanc"


@pytest.mark.parametrize("fact", ["Kendra rents the mill", "Kendra loue le moulin"])
def test_a_fact_that_became_invalid_since_the_import_ends(
    hippo: Hippocampe, scope: Scope, tmp_path: Path, clock: FakeClock, fact: str
) -> None:
    edge: dict[str, object] = {"uuid": "e1", "fact": fact, "created_at": "2024-05-01T00:00:00Z"}
    hippo.import_from(write(tmp_path, "zep.json", {"edges": [edge]}), scope=scope)
    assert [each.content for each in current(hippo, scope)] == [fact]
    clock.advance(days=9)
    ended = edge | {"invalid_at": (clock.now - timedelta(days=1)).isoformat()}
    done = hippo.import_from(write(tmp_path, "zep.json", {"edges": [ended]}), scope=scope)
    assert (done.added, done.known) == (0, 1)
    assert hippo.recall(fact, scope=scope) == []


@pytest.mark.parametrize(
    ("title", "text", "content"),
    [
        ("Art", "The party starts at nine", "Art: The party starts at nine"),
        ("Lin", "Un moulin tourne encore", "Lin: Un moulin tourne encore"),
        ("Été", "L'été est court", "L'été est court"),
    ],
)
def test_a_title_within_a_word_is_not_named(
    tmp_path: Path, title: str, text: str, content: str
) -> None:
    [item] = read_file(packed(tmp_path, {f"{title}.md": text}, as_zip=False))
    assert isinstance(item, Statement)
    assert item.content == content


def test_facts_of_zep_have_nodes_with_the_ids_of_its_python_client(tmp_path: Path) -> None:
    facts = {
        "nodes": [{"uuid_": "n1", "name": "Maud"}, {"uuid_": "n2", "name": "Le Havre"}],
        "edges": [
            {
                "uuid_": "e1",
                "fact": "Maud vit au Havre",
                "source_node_uuid": "n1",
                "target_node_uuid": "n2",
            }
        ],
    }
    [item] = read_file(write(tmp_path, "zep.json", json.dumps(facts)))
    assert isinstance(item, Statement)
    assert (item.external_id, item.subjects) == ("zep:e1", ("Maud", "Le Havre"))


def test_a_backup_of_openmemory_has_the_memories_that_are_in_use(tmp_path: Path) -> None:
    memory = {"user_id": "u-1", "created_at": "2025-06-02T00:00:00+00:00", "deleted_at": None}
    backup = {
        "user": {"id": "u-1", "user_id": "gaspard"},
        "memories": [
            {**memory, "id": "1", "content": "Is allergic to penicillin", "state": "active"},
            {**memory, "id": "2", "content": "Fume dix cigarettes par jour", "state": "deleted"},
            {**memory, "id": "3", "content": "Vit à Laval", "state": "archived"},
            {**memory, "id": "4", "content": "Has a boat", "deleted_at": "2025-06-03T00:00:00"},
            {**memory, "id": "5", "content": "Joue du cor"},
        ],
    }
    items = list(read_file(write(tmp_path, "memories.json", json.dumps(backup))))
    assert [(each.user, each.content) for each in items if isinstance(each, Statement)] == [
        ("gaspard", "Is allergic to penicillin"),
        ("gaspard", "Joue du cor"),
    ]


def test_an_export_in_a_vault_brings_no_forgotten_memory_back(
    hippo: Hippocampe, scope: Scope, tmp_path: Path
) -> None:
    hippo.remember("Je joue au tennis", scope=scope)
    gone = hippo.remember("I smoke a pipe", scope=scope)
    hippo.delete(gone.memory.id, scope=scope, reason="over")
    hippo.export_to(tmp_path / "space.zip", scope=scope, format="okf")
    vault = tmp_path / "everything"
    shutil.unpack_archive(tmp_path / "space.zip", vault / "Exports" / "mine")
    shutil.copy(tmp_path / "space.zip", vault / "copy.zip")
    notes: dict[str, str | bytes] = {"Chat.md": "- Félix dort", "Tour.md": "- it is closed"}
    items = list(read_file(packed(tmp_path, notes, as_zip=False)))
    assert [each.content for each in items if isinstance(each, Statement)] == [
        "Chat: Félix dort",
        "Tour: it is closed",
    ]
    [problem] = [each for each in items if isinstance(each, Problem)]
    assert problem.reason.startswith("left out: Exports/mine/hippocampe.jsonl, copy.zip.")


def test_an_export_in_a_folder_without_notes_is_left_out(
    hippo: Hippocampe, scope: Scope, tmp_path: Path
) -> None:
    hippo.remember("Je joue au tennis", scope=scope)
    hippo.export_to(tmp_path / "space.zip", scope=scope, format="okf")
    path = packed(tmp_path, {"mem0.json": LIKES}, as_zip=False)
    shutil.copy(tmp_path / "space.zip", path / "space.zip")
    assert preview(path).formats == ("mem0",)
    assert hippo.import_from(path, scope=scope).added == 1


def contents(path: Path) -> list[str]:
    return [each.content for each in read_file(path) if isinstance(each, Statement)]


def test_an_item_of_a_list_comes_in_with_the_items_that_it_is_below(tmp_path: Path) -> None:
    family = """\
- Paul
    - végétarien
    - aime le vélo

      surtout en été
- [ ] Rosalind.
\t- lives in Lille
\t\t- since *May*

À part
  - isolé

## Autres
  - Nils
"""
    assert contents(packed(tmp_path, {"Famille.md": family}, as_zip=False)) == [
        "Famille: Paul",
        "Famille: Paul: végétarien",
        "Famille: Paul aime le vélo",
        "Famille: Paul aime le vélo: surtout en été",
        "Famille: Rosalind.",
        "Famille: Rosalind lives in Lille",
        "Famille: Rosalind lives in Lille: since *May*",
        "Famille: À part",
        "Famille: isolé",
        "Famille: Nils",
    ]
    account = [{"conversations_memory": "- Children:\n  - Inès, nine\n- Cat: Pistache\n"}]
    assert contents(write(tmp_path, "memories.json", json.dumps(account))) == [
        "Children:",
        "Children: Inès, nine",
        "Cat: Pistache",
    ]


def test_the_same_item_below_another_one_is_another_statement(
    hippo: Hippocampe, scope: Scope, tmp_path: Path
) -> None:
    note = "- Anna\n  - végétarienne\n- Zoé\n  - végétarienne\n"
    path = packed(tmp_path, {"Repas.md": note}, as_zip=False)
    assert hippo.import_from(path, scope=scope).added == 4
    path = packed(tmp_path, {"Repas.md": f"- Inès\n  - végétarienne\n{note}"}, as_zip=False)
    assert hippo.import_from(path, scope=scope).added == 2
    found = hippo.recall("Inès est végétarienne ?", scope=scope, limit=1)
    assert found[0].content == "Repas: Inès: végétarienne"


@pytest.mark.parametrize(
    ("note", "expected"),
    [
        (
            "# Les choses à faire de la semaine\n- [ ] Appeler Priya 📅 2026-05-14 ⏫\n- [x] Livrer Tom ➕ 2026-03-01 ✅ 2026-03-02\n"
            "- [ ] Payer la farine 🔁 every week 🛫 2026-03-30 ⏳ 2026-04-01\n- le 📅 2026-05-14 est férié\n",
            [
                "Appeler Priya (pour le 2026-05-14)",
                "Livrer Tom (fait le 2026-03-02)",
                "Payer la farine every week (à partir du 2026-03-30) (prévu le 2026-04-01)",
                "le 📅 2026-05-14 est férié",
            ],
        ),
        (
            "# The things to do this week\n- [ ] Call Priya 📅 2026-05-14\n- [-] Paint the door ❌ 2026-03-02\n",
            ["Call Priya (due 2026-05-14)", "Paint the door (cancelled 2026-03-02)"],
        ),
    ],
)  # fmt: skip
def test_the_dates_of_a_task_are_words(tmp_path: Path, note: str, expected: list[str]) -> None:
    assert contents(packed(tmp_path, {"2026-02-01.md": note}, as_zip=False)) == expected


def test_fields_of_dataview_are_pairs(tmp_path: Path) -> None:
    note = (
        "humeur:: bonne\nopening hours:: 8 to 19\nrating::\nLe patron [prénom:: Sylvain] est là (tel:: 0612345678)\n\n"
        "- [ ] call Priya [due:: 2026-05-14]\n- size:: 3 rooms\n\nstd::vector is in `a:: b`\n"
    )
    assert contents(packed(tmp_path, {"2026-02-01.md": note}, as_zip=False)) == [
        "humeur: bonne",
        "opening hours: 8 to 19",
        "Le patron prénom: Sylvain est là tel: 0612345678",
        "call Priya due: 2026-05-14",
        "size: 3 rooms",
        "std::vector is in `a:: b`",
    ]


def test_callouts_and_footnotes_are_words_without_their_signs(tmp_path: Path) -> None:
    note = "> [!warning]- Cave\n> Le code est bleu\n\nRead twice[^a]\n\n[^a]: by Tom\n\n[^1]\n"
    assert contents(packed(tmp_path, {"2026-02-01.md": note}, as_zip=False)) == [
        "Cave Le code est bleu",
        "Read twice",
        "by Tom",
    ]
