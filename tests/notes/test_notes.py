"""The user's own notes: read from a real folder and over real HTTPS, cut, cached, indexed, found."""

import hashlib
import ipaddress
import json
import logging
import os
import shutil
import ssl
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from typer.testing import CliRunner

from conftest import FakeClock, Opener
from hippocampe import Config, Hippocampe, Scope
from hippocampe.cli.app import app
from hippocampe.errors import InvalidInput, NotesUnavailable, UnreadableFile
from hippocampe.notes.filters import MAX_NOTE_BYTES
from hippocampe.notes.markdown import (
    PIECE_CHARACTERS,
    excerpt,
    parse,
    split,
)
from hippocampe.notes.obsidian import Obsidian
from hippocampe.notes.sync import NoteSync
from hippocampe.notes.vault import Vault
from hippocampe.retrieval.spelling import spelled
from hippocampe.types import Note, Recollection
from obsidian import KEY
from obsidian import Obsidian as Server

NOW = datetime(2026, 1, 17, tzinfo=UTC)
HERE = Scope(user="dev", channel="lobby")
GARDEN = """---
tags: [jardin, "#hippocampe/projet"]
title: Le grand jardin
---
# Semis

On sème les [[Tomates|tomates anciennes]] en mars, voir [[Calendrier#Printemps]].

## Serre

La serre ouvre à huit heures. #urgent
"""


def note(content: str, path: str = "Note.md") -> Note:
    return parse(path, content, NOW)


def found(hippo: Hippocampe, query: str, scope: Scope = HERE) -> list[str]:
    items = hippo.recall(query, scope=scope, collections=["note"], mode="text")
    return [item.content for item in items]


def context(
    hippo: Hippocampe, *names: str, tag: str = "", space: str = "default"
) -> list[Recollection]:
    note_sync = hippo._note_sync  # pyright: ignore[reportPrivateUsage]
    assert isinstance(note_sync, NoteSync)
    return note_sync.context(names, tag, space=space)


# Reading one note


def test_a_note_is_its_title_text_tags_and_links() -> None:
    read = note(GARDEN, "plantes/Jardin.md")
    assert (read.path, read.title) == ("plantes/Jardin.md", "Le grand jardin")
    assert read.text.startswith("# Semis") and "---" not in read.text
    assert read.tags == ("jardin", "hippocampe/projet", "urgent")
    assert read.links == ("Tomates", "Calendrier")
    assert (read.modified_at, read.problem) == (NOW, None)


@pytest.mark.parametrize(
    ("content", "tags"),
    [
        ("---\ntags: a, b c\n---\n", ("a", "b", "c")),
        ("---\ntags:\n  - été\n  - 2024\n  -\n---\n", ("été",)),
        ("---\ntag: '#seul'\n---\n", ("seul",)),
        ("---\ntags: {a: b}\n---\n", ()),
        ("Un #tag, puis (#autre) et #à/b-c_d.", ("tag", "autre", "à/b-c_d")),
        ("#début de ligne\n# Titre\n## Un #mot", ("début", "mot")),
        ("#2024 n'en est pas un, #2024a oui, a#b non, https://x.fr/#c non", ("2024a",)),
        ("`#code` ```\n```\n#bloc\n```\n#vrai", ("vrai",)),
        ("~~~sh\n#shell\n", ()),
        ("#idée #idée", ("idée",)),
        ("#🌱", ("🌱",)),
    ],
)
def test_tags_are_found_where_they_are_tags(content: str, tags: tuple[str, ...]) -> None:
    assert note(content).tags == tags


def test_windows_lines_a_mark_and_controls_do_no_harm() -> None:
    read = note("\ufeff---\r\ntitle: T\r\n---\r\nUn\x00 texte\x07.\r\n")
    assert (read.title, read.text) == ("T", "Un texte.")
    note("a\ud800b").text.encode()


@pytest.mark.parametrize("head", ["titre: a: b", "[" * 9_000, "\t- x", "a: " + "b" * 60_000])
def test_a_broken_frontmatter_leaves_the_text(head: str) -> None:
    read = note(f"---\n{head}\n---\nLe texte #reste.", "Là.md")
    assert (read.title, read.text, read.tags) == ("Là", "Le texte #reste.", ("reste",))
    assert read.problem and "frontmatter" in read.problem


def test_what_looks_like_a_frontmatter_and_is_none() -> None:
    assert note("Un\n---\ntags: a\n---\n").tags == ()
    assert note("---\njamais fermé").text == "---\njamais fermé"
    assert note("---\ndate: 2024-13-45\ntitle: [a]\n---\nX", "Y.md").title == "Y"


# Cutting


def test_an_excerpt_is_whole_sentences() -> None:
    sentences = [f"Ceci est la phrase numéro {n} de M. Dupont, dit-on 3.5 fois." for n in range(20)]
    cut = excerpt(" ".join(sentences))
    assert 400 < len(cut) <= 500
    assert cut == " ".join(sentences[: cut.count("phrase")])


def test_an_excerpt_of_one_long_sentence_ends_between_words() -> None:
    cut = excerpt("mot " * 400)
    assert len(cut) <= 500 and cut.endswith("mot…")
    assert len(excerpt("x" * 900)) <= 500
    assert excerpt("Court.") == "Court."
    assert excerpt("Oui. " + "mot " * 400).endswith("mot…")


def test_an_excerpt_reads_as_obsidian_shows_it() -> None:
    shown = excerpt(
        "# Titre\n\nVoir [[Page|l'alias]], [[dossier/Page]], [[Page#Partie]] et [[#Ici]]. "
        "%%caché%%![[image.png]]<!-- non -->\nFin ^ancre1\n`[[code]]`"
    )
    assert shown == ("Titre\nVoir l'alias, dossier/Page, Page › Partie et Ici.\nFin\n`[[code]]`")


def test_pieces_lie_under_their_headings() -> None:
    assert split(note(GARDEN)) == [
        (
            "Le grand jardin › Semis",
            "On sème les tomates anciennes en mars, voir Calendrier › Printemps.",
        ),
        ("Le grand jardin › Semis › Serre", "La serre ouvre à huit heures. #urgent"),
    ]


def test_headings_in_code_and_twice_the_title_are_no_headings() -> None:
    cut = split(note("# Note\nAvant\n```\n# pas un titre\n```\n## Un\n# Deux\nAprès"))
    assert [heading for heading, _ in cut] == ["Note", "Note › Deux"]
    assert "# pas un titre" in cut[0].text
    assert split(note("# Pain\n# Lait")) == [("Note", "# Pain\n# Lait")]
    hidden = "# Note\nAvant\n\n%%\n## Caché\nsecret\n\nsecret\n%%\n\n<!--\n\nsecret\n-->\n\n```\n%% vu\n```\nAprès"
    assert split(note(hidden)) == [("Note", "Avant\n\n\n\n\n\n```\n%% vu\n```\nAprès")]
    assert split(note("")) == []


@pytest.mark.parametrize("seam", ["\n\n", "\n", ". ", " ", ""])
def test_a_long_section_is_cut_and_nothing_is_lost(seam: str) -> None:
    words = [f"mot{n:03}" for n in range(600)]
    cut = split(note(seam.join(words)))
    assert len(cut) > 3
    assert all(0 < len(text) <= PIECE_CHARACTERS for _, text in cut)
    kept = "".join(text for _, text in cut)
    assert "".join(kept.split()) == "".join(seam.join(words).split())


@pytest.mark.parametrize(
    "much",
    [
        "a" + "`" * 99,
        "<!--",
        "%%",
        "# a #",
        "[",
        "[[a",
        " ^a",
        "\n",
        "#a",
        "```\n",
        "~~~ ",
        "> ",
        "!",
    ],
)
def test_a_hostile_note_is_read_like_any_other(much: str) -> None:
    read = note(much * (300_000 // len(much)))
    assert all(len(text) <= PIECE_CHARACTERS for _, text in split(read))
    assert len(excerpt(read.text)) <= 500


# A folder


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "coffre"
    (folder / "plantes").mkdir(parents=True)
    (folder / "plantes" / "Jardin.md").write_text(GARDEN)
    (folder / "Recette.md").write_text("La soupe aux orties se mange chaude.")
    return folder


@pytest.fixture
def open_vault(open_hippo: Opener, vault: Path, hashed: None) -> Callable[..., Hippocampe]:
    def opener(**settings: object) -> Hippocampe:
        given = {"notes_folder": vault, "embedder": "hashed:64", "notes_seconds": 0.02}
        return open_hippo(**{**given, **settings})

    return opener


def test_a_vault_lists_notes_only(vault: Path, tmp_path: Path) -> None:
    for name in (
        ".obsidian/a.md",
        ".trash/b.md",
        "Archives/c.md",
        "x/archives/d.md",
        "x/perso/e.md",
    ):
        (vault / name).parent.mkdir(parents=True, exist_ok=True)
        (vault / name).write_text("non")
    for name in (".caché.md", "image.png", "texte.txt"):
        (vault / name).write_text("non")
    (vault / "perso").mkdir()
    (vault / "perso" / "f.MD").write_text("oui")
    source = Vault(vault, ["archivés", "x/perso"])
    assert set(source.listing()) == {"plantes/Jardin.md", "Recette.md", "perso/f.MD"}


def test_the_pages_of_an_export_are_no_notes(
    vault: Path, hippo: Hippocampe, scope: Scope, tmp_path: Path
) -> None:
    gone = hippo.remember("Je fume la pipe", scope=scope)
    hippo.delete(gone.memory.id, scope=scope, reason="over")
    hippo.remember("I play the horn", scope=scope)
    hippo.export_to(tmp_path / "space.zip", scope=scope, format="okf")
    shutil.unpack_archive(tmp_path / "space.zip", vault / "hippo")
    # A folder with one file of that name only has notes.
    (vault / "plantes" / "hippocampe.jsonl").write_text("{}")
    assert set(Vault(vault).listing()) == {"plantes/Jardin.md", "Recette.md"}
    # Unless the export is the vault.
    assert any("horn" in path for path in Vault(vault / "hippo").listing())


@pytest.mark.skipif(os.name == "nt", reason="links need a privilege there")
def test_links_do_not_lead_out_of_the_vault(vault: Path, tmp_path: Path) -> None:
    secret = tmp_path / "ailleurs"
    secret.mkdir()
    (secret / "Secret.md").write_text("non")
    (vault / "Lien.md").symlink_to(secret / "Secret.md")
    (vault / "dossier").symlink_to(secret)
    source = Vault(vault)
    assert set(source.listing()) == {"plantes/Jardin.md", "Recette.md"}
    # Not even when a folder becomes a link after it was listed.
    (vault / "plantes").rename(tmp_path / "plantes")
    (secret / "Jardin.md").write_text("non")
    (vault / "plantes").symlink_to(secret)
    with pytest.raises(LookupError):
        source.read("plantes/Jardin.md")


@pytest.mark.parametrize("form", ["NFC", "NFD"])
def test_accents_in_file_names_do_not_matter(vault: Path, form: str) -> None:
    (vault / unicodedata.normalize(form, "Élise à Köln.md")).write_text("Elle y vit.")
    source = Vault(vault)
    assert "Élise à Köln.md" in source.listing()
    assert source.read("Élise à Köln.md").title == "Élise à Köln"


def test_a_vault_that_is_missing_is_no_empty_vault(vault: Path, tmp_path: Path) -> None:
    for away in (tmp_path / "rien", vault / "Recette.md"):
        with pytest.raises(NotesUnavailable, match="notes_folder"):
            Vault(away).listing()


@pytest.mark.skipif(os.name == "nt" or os.geteuid() == 0, reason="nothing is closed to root")
def test_what_is_closed_is_left_out_and_a_closed_vault_is_no_empty_one(vault: Path) -> None:
    source = Vault(vault)
    (vault / "plantes").chmod(0)
    assert set(source.listing()) == {"Recette.md"}
    (vault / "plantes").chmod(0o700)
    vault.chmod(0)
    with pytest.raises(NotesUnavailable, match="notes_folder"):
        source.listing()
    vault.chmod(0o700)


def test_a_disk_that_fails_is_no_empty_vault(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    scan = os.scandir

    def fails(path: str) -> object:
        if str(path).endswith("plantes"):
            raise OSError(5, "Input/output error", str(path))
        return scan(path)

    monkeypatch.setattr(os, "scandir", fails)
    with pytest.raises(NotesUnavailable, match="Input/output"):
        Vault(vault).listing()


@pytest.mark.skipif(os.name == "nt", reason="there are no pipes among files there")
def test_what_is_no_file_is_no_note(vault: Path) -> None:
    os.mkfifo(vault / "Tuyau.md")
    (vault / "Dossier.md").mkdir()
    source = Vault(vault)
    assert set(source.listing()) == {"plantes/Jardin.md", "Recette.md"}


def test_a_time_that_no_calendar_has_is_told(vault: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source = Vault(vault)
    source.listing()
    # Not every file system can hold such a time.
    there = (vault / "Recette.md").stat()
    monkeypatch.setattr(os, "fstat", lambda _: os.stat_result((*there[:8], 10**12, *there[9:])))
    with pytest.raises(UnreadableFile, match="out of range"):
        source.read("Recette.md")


def test_what_cannot_be_read_is_left_out_once(
    open_vault: Callable[..., Hippocampe], vault: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (vault / "Latin.md").write_bytes("Déjà vu".encode("latin-1"))
    (vault / "Énorme.md").write_text("a" * (MAX_NOTE_BYTES + 1))
    (vault / "Bancale.md").write_text("---\na: b: c\n---\nLa note bancale.")
    hippo = open_vault()
    for _ in range(3):
        hippo.notes(scope=HERE, refresh=True)
    said = [record.getMessage() for record in caplog.records]
    assert sum("Latin.md" in line and "UTF-8" in line for line in said) == 1
    assert sum("Énorme.md" in line for line in said) == 1
    assert sum("Bancale.md" in line for line in said) == 1
    assert len(hippo.notes(scope=HERE)) == 3
    assert found(hippo, "bancale") == ["Bancale: La note bancale."]
    (vault / "Latin.md").write_text("Déjà vu, et lisible")
    hippo.notes(scope=HERE, refresh=True)
    assert len(found(hippo, "lisible")) == 1


# In the memory


def test_a_word_of_a_note_is_no_typing_error(open_hippo: Opener, vault: Path) -> None:
    hippo = open_hippo(notes_folder=vault)
    hippo.remember("The keys are in the blue drawer", scope=HERE)
    query, corpus = "where are the kyes", hippo._context.corpus
    assert spelled(corpus, query, HERE.space) == "where are the keys"
    (vault / "Lichens.md").write_text("A kyes is a lichen")
    hippo.notes(scope=HERE, refresh=True)
    assert spelled(corpus, query, HERE.space) == query


def test_pieces_of_notes_are_found(open_hippo: Opener, vault: Path) -> None:
    hippo = open_hippo(notes_folder=vault)
    hippo.remember("Camille élève des abeilles", scope=HERE)
    (item, *_) = hippo.recall("à quelle heure ouvre la serre ?", scope=HERE, collections=["note"])
    assert item.content == "Le grand jardin › Semis › Serre: La serre ouvre à huit heures. #urgent"
    assert (item.kind, item.memory, item.channel, item.author) == ("note", None, None, None)
    modified = (vault / "plantes" / "Jardin.md").stat().st_mtime
    assert item.at and abs(item.at.timestamp() - modified) < 1
    mixed = hippo.recall("soupe", scope=HERE, collections=["memory", "note"], explain=True)
    assert mixed[0].kind == "note" and mixed[0].why
    assert all(item.kind == "memory" for item in hippo.recall("soupe", scope=HERE))


def test_the_context_is_named_notes_then_tagged_ones(
    open_vault: Callable[..., Hippocampe], vault: Path
) -> None:
    (vault / "Élise.md").write_text("Elle vit à Pau. " * 100)
    hippo = open_vault()
    named = context(hippo, "elise", "plantes/jardin", "RECETTE.md", "inconnue")
    assert [item.content.partition(":")[0] for item in named] == [
        *("Élise", "Le grand jardin", "Recette"),
    ]
    assert 300 < len(named[0].content) <= 520 and named[0].content.endswith("Pau.")
    assert {item.kind for item in named} == {"note"} and {item.score for item in named} == {1.0}
    assert all(len(item.id) == 36 for item in named)
    for tag in ("hippocampe", "#hippocampe", "Hippocampe/Projet", "#JARDIN"):
        assert [item.id for item in context(hippo, tag=tag)] == [named[1].id], tag
    for tag in ("hippo", "projet", "", "#"):
        assert context(hippo, tag=tag) == [], tag
    both = context(hippo, "Jardin", "Recette", tag="hippocampe")
    assert [item.id for item in both] == [named[1].id, named[2].id]


def test_the_context_asks_nothing_of_the_source(
    open_vault: Callable[..., Hippocampe], vault: Path
) -> None:
    hippo = open_vault()
    vault.rename(vault.with_name("ailleurs"))
    assert len(context(hippo, "Jardin")) == 1


def test_notes_are_seen_in_their_space_alone(open_vault: Callable[..., Hippocampe]) -> None:
    hippo = open_vault(notes_space="bureau")
    there = Scope(space="bureau")
    assert len(hippo.notes(scope=there)) == 2 and found(hippo, "soupe", there)
    assert context(hippo, "Jardin", space="bureau")
    assert hippo.notes(scope=HERE) == []
    assert found(hippo, "soupe") == []
    assert context(hippo, "Jardin", tag="jardin") == []
    assert hippo.recall("soupe aux orties", scope=HERE, collections=["note"]) == []


def test_notes_that_move_to_another_space_leave_the_first(
    open_vault: Callable[..., Hippocampe],
) -> None:
    open_vault().close()
    hippo = open_vault(notes_space="bureau")
    assert found(hippo, "soupe") == []
    assert len(found(hippo, "soupe", Scope(space="bureau"))) == 1
    assert hippo.verify().ok


def test_changes_removals_and_renames_are_followed(
    open_vault: Callable[..., Hippocampe], vault: Path
) -> None:
    hippo = open_vault()
    (vault / "Recette.md").write_text("La tarte aux blettes se mange tiède.")
    (vault / "plantes" / "Jardin.md").rename(vault / "Potager.md")
    hippo.notes(scope=HERE, refresh=True)
    assert found(hippo, "orties") == []
    assert found(hippo, "blettes") == ["Recette: La tarte aux blettes se mange tiède."]
    assert [note.path for note in hippo.notes(scope=HERE)] == ["Potager.md", "Recette.md"]
    assert len(found(hippo, "serre")) == 1
    assert context(hippo, "plantes/Jardin") == []
    (vault / "Recette.md").write_text("")
    (vault / "Potager.md").unlink()
    hippo.notes(scope=HERE, refresh=True)
    assert found(hippo, "blettes") == found(hippo, "serre") == []
    checked = hippo.verify()
    assert checked.ok and checked.checked["note"] == 0
    assert context(hippo, "Recette")[0].content == "Recette"


def test_only_what_changed_is_embedded(
    open_vault: Callable[..., Hippocampe], vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_vault().close()
    hippo = open_vault()
    embedder = hippo._context.corpus.vocabulary.embedder  # pyright: ignore[reportPrivateUsage]
    texts: list[str] = []
    embed = embedder.embed

    def noted(given: list[str]) -> object:
        texts.extend(given)
        return embed(given)

    monkeypatch.setattr(embedder, "embed", noted)
    os.utime(vault / "Recette.md")
    hippo.notes(scope=HERE, refresh=True)
    assert texts == []
    (vault / "Recette.md").write_text("La soupe aux orties se mange froide.")
    hippo.notes(scope=HERE, refresh=True)
    assert texts == ["Recette: La soupe aux orties se mange froide.", "froide"]


def test_a_rebuilt_index_and_another_embedder_keep_the_notes(
    open_vault: Callable[..., Hippocampe], vault: Path
) -> None:
    hippo = open_vault()
    for change in (hippo.reindex, lambda: hippo.reindex(embedder="hashed:32")):
        change()
        assert len(found(hippo, "orties")) == 1
        assert hippo.recall("soupe orties", scope=HERE, collections=["note"], mode="semantic")
        assert hippo.verify().ok
    (vault / "Recette.md").write_text("La soupe de potiron.")
    hippo.notes(scope=HERE, refresh=True)
    assert len(found(hippo, "potiron")) == 1
    assert hippo.verify().ok


def test_secrets_in_notes_are_masked(open_vault: Callable[..., Hippocampe], vault: Path) -> None:
    (vault / "Accès.md").write_text("Le serveur : password: hunter2-Xk9!q et c'est tout.")
    hippo = open_vault()
    assert "hunter2" not in "".join((*found(hippo, "serveur"), context(hippo, "acces")[0].content))
    assert hippo.verify(absent=["hunter2"]).ok


def test_notes_are_erased_and_the_files_stay(
    open_vault: Callable[..., Hippocampe], vault: Path
) -> None:
    (vault / "Zéphyrine.md").write_text("Elle chante faux.")
    (vault / "Autre.md").write_text("Zéphyrine danse aussi.")
    (vault / "Partie.md").write_text("Zéphyrine est partie.")
    hippo = open_vault()
    (vault / "Partie.md").unlink()
    hippo.notes(scope=HERE, refresh=True)
    assert hippo.erase(scope=Scope(space="ailleurs"), subject="Zéphyrine").ids == ()
    assert hippo.erase(scope=HERE, subject="Zéphyrine").counts["note"] == 2
    assert hippo.verify(absent=["Zéphyrine"]).ok
    assert found(hippo, "chante") == []
    assert len(found(hippo, "orties")) == 1
    assert (vault / "Zéphyrine.md").read_text() == "Elle chante faux."
    hippo.erase(scope=HERE, whole_space=True)
    assert hippo.verify(absent=["orties"]).ok
    hippo.close()
    assert len(found(open_vault(), "orties")) == 1


def test_without_settings_the_pieces_stay_and_nothing_is_read(
    open_vault: Callable[..., Hippocampe], open_hippo: Opener
) -> None:
    open_vault().close()
    hippo = open_hippo()
    assert hippo.notes(scope=HERE) == []
    assert len(found(hippo, "orties")) == 1


# In the background


def until(happens: Callable[[], object]) -> None:
    deadline = time.monotonic() + 60
    while not happens():
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_the_background_reads_and_watches(
    open_vault: Callable[..., Hippocampe], vault: Path
) -> None:
    hippo = open_vault(background=True)
    hippo.flush()
    assert len(found(hippo, "orties")) == 1
    (vault / "Nouvelle.md").write_text("Un hérisson habite sous la haie.")
    until(lambda: found(hippo, "hérisson"))
    (vault / "Nouvelle.md").unlink()
    until(lambda: not found(hippo, "hérisson"))
    hippo.close()
    assert "hippocampe-notes" not in {thread.name for thread in threading.enumerate()}


def test_a_vault_that_goes_and_comes_back_is_said_once(
    open_vault: Callable[..., Hippocampe], vault: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO, "hippocampe")
    hippo = open_vault(background=True)
    hippo.flush()
    away = vault.rename(vault.with_name("ailleurs"))

    def said(text: str) -> list[str]:
        return [r.levelname for r in caplog.records if text in r.getMessage()]

    until(lambda: said("notes failed"))
    time.sleep(0.2)
    assert len(found(hippo, "orties")) == 1 and len(context(hippo, "Jardin")) == 1
    away.rename(vault)
    until(lambda: said("notes works again"))
    time.sleep(0.2)
    assert said("notes failed") == ["WARNING"]
    assert said("notes works again") == ["INFO"]


def test_closing_in_the_middle_loses_no_note(
    open_vault: Callable[..., Hippocampe], vault: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_vault().close()
    reading, go_on = threading.Event(), threading.Event()
    read = Vault.read

    def slowly(self: Vault, path: str) -> Note:
        reading.set()
        assert go_on.wait(60)
        return read(self, path)

    monkeypatch.setattr(Vault, "read", slowly)
    hippo = open_vault(background=True)
    assert reading.wait(60)
    closing = threading.Thread(target=hippo.close)
    closing.start()
    until(lambda: hippo._note_sync and hippo._note_sync._stopping.is_set())  # pyright: ignore
    go_on.set()
    closing.join()
    again = open_vault()
    assert len(found(again, "orties")) == len(found(again, "serre")) == 1
    assert again.verify().ok


def test_opening_does_not_need_the_notes(
    open_vault: Callable[..., Hippocampe], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    hippo = open_vault(notes_folder=tmp_path / "rien")
    assert "notes failed" in caplog.text
    assert hippo.remember("Owen a un voilier", scope=HERE).action == "inserted"
    assert hippo.notes(scope=HERE) == [] and context(hippo, "Jardin", tag="jardin") == []
    with pytest.raises(NotesUnavailable):
        hippo.notes(scope=HERE, refresh=True)


# The command line


def test_notes_are_listed_and_searched_from_the_command_line(
    folder: Path, vault: Path, hashed: None
) -> None:
    run = CliRunner(env={"HIPPOCAMPE_FOLDER": str(folder), "COLUMNS": "200"})
    Hippocampe.open(Config(folder, embedder="hashed:64", background=False)).close()
    shown = run.invoke(app, ["notes", "--vault", str(vault), "--ignore", "rien"])
    assert shown.exit_code == 0
    assert "plantes/Jardin.md" in shown.stdout and "#hippocampe/projet" in shown.stdout
    listed = run.invoke(app, ["notes", "--vault", str(vault), "--json", "--ignore", "plantes"])
    assert [each["title"] for each in json.loads(listed.stdout)] == ["Recette"]
    asked = run.invoke(app, ["recall", "orties", "--collection", "note", "--json"])
    assert "orties" in json.loads(asked.stdout)[0]["content"]
    assert run.invoke(app, ["notes"]).exit_code == 2
    away = run.invoke(app, ["notes", "--vault", str(vault / "rien"), "--json"])
    assert (away.exit_code, json.loads(away.stdout)["kind"]) == (1, "NotesUnavailable")


def test_notes_change_while_the_embedder_does(
    open_vault: Callable[..., Hippocampe], vault: Path
) -> None:
    hippo = open_vault(background=True, notes_seconds=0.001)
    hippo.flush()
    done = threading.Event()

    def write() -> None:
        for number in range(100_000):
            (vault / f"Note {number % 7}.md").write_text(f"Une note, la numéro {number}.")
            (vault / f"Note {(number + 3) % 7}.md").unlink(missing_ok=True)
            if done.wait(0.005):
                return

    writing = threading.Thread(target=write)
    writing.start()
    for dimensions in (32, 64, 32):
        hippo.reindex(embedder=f"hashed:{dimensions}")
    done.set()
    writing.join()
    hippo.notes(scope=HERE, refresh=True)
    hippo.flush()
    checked = hippo.verify()
    assert checked.ok and checked.checked["note"] == 2 + len(list(vault.glob("*.md")))
    assert hippo.recall("soupe orties", scope=HERE, collections=["note"], mode="semantic")


# Settings


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"notes_folder": "a", "obsidian_url": "https://127.0.0.1:27124"}, "not both"),
        ({"notes_ignored": "Archives"}, "list"),
        ({"notes_space": ""}, "space"),
        ({"notes_seconds": 0}, "above 0"),
        ({"obsidian_url": "127.0.0.1:27124", "obsidian_key": KEY}, "https://"),
        ({"obsidian_url": f"https://{KEY}@127.0.0.1", "obsidian_key": KEY}, "without a user"),
        ({"obsidian_url": "https://127.0.0.1:99999", "obsidian_key": KEY}, "https://"),
        ({"obsidian_url": "http://127.0.0.1:27123", "obsidian_key": KEY}, "obsidian_insecure"),
        ({"obsidian_url": "https://127.0.0.1:27124"}, "HIPPOCAMPE_OBSIDIAN_KEY"),
        ({"obsidian_url": "https://127.0.0.1:27124", "obsidian_key": f"{KEY}\nX: y"}, "ASCII"),
        (
            {
                "obsidian_url": "https://127.0.0.1:27124",
                "obsidian_key": KEY,
                "obsidian_certificate": "sha256:abc",
            },
            "64 hexadecimal",
        ),
        (
            {
                "obsidian_url": "https://127.0.0.1:27124",
                "obsidian_key": KEY,
                "obsidian_certificate": "a.pem",
                "obsidian_insecure": True,
            },
            "one of them",
        ),
    ],
)
def test_settings_that_cannot_be_used_are_refused(
    settings: dict[str, object], said: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.delenv("HIPPOCAMPE_OBSIDIAN_KEY", raising=False)
    with pytest.raises(InvalidInput, match=said) as refused:
        Config(tmp_path, **settings)  # pyright: ignore
    assert KEY not in str(refused.value)


def test_the_key_may_come_from_the_environment_and_is_not_shown(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("HIPPOCAMPE_OBSIDIAN_KEY", KEY)
    config = Config(tmp_path, obsidian_url="https://127.0.0.1:27124")
    assert config.obsidian_key == KEY
    assert KEY not in repr(config)


def test_a_certificate_that_is_none_is_refused_at_opening(
    open_hippo: Opener, tmp_path: Path
) -> None:
    (tmp_path / "faux.pem").write_text("rien")
    for name in ("faux.pem", "absent.pem"):
        with pytest.raises(InvalidInput, match="PEM"):
            open_hippo(
                obsidian_url="https://127.0.0.1:27124",
                obsidian_key=KEY,
                obsidian_certificate=tmp_path / name,
            )


# The Local REST API


@pytest.fixture(scope="module")
def authority() -> trustme.CA:
    return trustme.CA()


@pytest.fixture
def server(authority: trustme.CA) -> Iterator[Server]:
    with Server(issued(authority)).running() as serving:
        serving.write("plantes/Jardin.md", GARDEN)
        serving.write("Recette.md", "La soupe aux orties se mange chaude.")
        serving.write(unicodedata.normalize("NFD", "été/Élise & Köln #1?.md"), "Elle vit à Pau.")
        serving.write("Archives/Vieux.md", "Un vieux mot.")
        serving.write(".trash/Jeté.md", "Un mot jeté.")
        serving.write("image.png", "")
        yield serving


WANTED = {"plantes/Jardin.md", "Recette.md", "été/Élise & Köln #1?.md"}


def issued(authority: trustme.CA, name: str = "127.0.0.1") -> bytes:
    """A private key and its certificate, as one PEM."""
    return authority.issue_cert(name).private_key_and_cert_chain_pem.bytes()


def own_certificate(folder: Path) -> bytes:
    """The same, signed by itself and marked as an authority, as the plugin long made them."""
    key = rsa.generate_private_key(65537, 2048)
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "Obsidian Local REST API")])
    now = datetime.now(UTC)
    address = x509.IPAddress(ipaddress.ip_address("127.0.0.1"))
    made = (
        x509.CertificateBuilder(name, name, key.public_key(), x509.random_serial_number())
        .not_valid_before(now - timedelta(days=1))
        .not_valid_after(now + timedelta(days=365))
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(x509.SubjectAlternativeName([address]), critical=False)
        .sign(key, hashes.SHA256())
    ).public_bytes(serialization.Encoding.PEM)
    (folder / "own.pem").write_bytes(made)
    form = serialization.PrivateFormat.TraditionalOpenSSL
    secret = key.private_bytes(serialization.Encoding.PEM, form, serialization.NoEncryption())
    return secret + made


def fingerprint(server: Server) -> str:
    digest = hashlib.sha256(ssl.PEM_cert_to_DER_cert(server.certificate)).hexdigest()
    return "sha256:" + ":".join(digest[i : i + 2].upper() for i in range(0, 64, 2))


def source(server: Server, tmp_path: Path, **settings: object) -> Iterator[Obsidian]:
    config = Config(tmp_path, obsidian_url=server.url, **{"obsidian_key": KEY, **settings})  # pyright: ignore
    opened = Obsidian(
        config.obsidian_url or "",
        config.obsidian_key or "",
        certificate=config.obsidian_certificate,
        insecure=config.obsidian_insecure,
        ignored=["archives"],
    )
    try:
        yield opened
    finally:
        opened.close()


Open = Callable[..., Obsidian]


@pytest.fixture
def connect(server: Server, tmp_path: Path) -> Iterator[Open]:
    opened: list[Iterator[Obsidian]] = []

    def opener(**settings: object) -> Obsidian:
        opened.append(source(server, tmp_path, **settings))
        return next(opened[-1])

    yield opener
    for each in opened:
        each.close()  # pyright: ignore


@pytest.fixture
def pem(server: Server, tmp_path: Path) -> Path:
    path = tmp_path / "serveur.pem"
    path.write_text(server.certificate)
    return path


@pytest.mark.parametrize("searches", [True, False])
def test_notes_are_read_over_https(
    server: Server, connect: Open, pem: Path, searches: bool
) -> None:
    server.searches = searches
    notes = connect(obsidian_certificate=pem)
    listing = notes.listing()
    assert set(listing) == WANTED
    assert all(bool(version) == searches for version in listing.values())
    assert not any("Archives" in asked for asked in server.asked)
    read = notes.read("plantes/Jardin.md")
    assert read == parse("plantes/Jardin.md", GARDEN, read.modified_at)
    assert read.modified_at.year == 2026
    assert notes.read("été/Élise & Köln #1?.md").text == "Elle vit à Pau."
    del server.files["Recette.md"]
    with pytest.raises(LookupError):
        notes.read("Recette.md")
    server.files.clear()
    assert notes.listing() == {}


@pytest.mark.parametrize("searches", [True, False])
def test_the_pages_of_an_export_are_no_notes_of_obsidian(
    server: Server, connect: Open, pem: Path, searches: bool
) -> None:
    server.searches = searches
    for name in ("index.md", "memories/horn.md", "hippocampe.jsonl"):
        server.write(f"hippo é/{name}", "I play the horn")
    # Another folder with an index.
    server.write("jardin/index.md", "Les tulipes")
    assert set(connect(obsidian_certificate=pem).listing()) == {*WANTED, "jardin/index.md"}


def test_a_version_changes_with_the_note(server: Server, connect: Open, pem: Path) -> None:
    notes = connect(obsidian_certificate=pem)
    before = notes.listing()
    server.write("Recette.md", "La soupe aux orties se mange froide.")
    after = notes.listing()
    assert {path for path in WANTED if before[path] != after[path]} == {"Recette.md"}


def test_a_certificate_is_pinned_by_its_fingerprint(
    server: Server, connect: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = connect(obsidian_certificate=fingerprint(server))
    assert set(notes.listing()) == WANTED


def test_the_authority_of_a_certificate_may_be_trusted(
    authority: trustme.CA, connect: Open, tmp_path: Path
) -> None:
    authority.cert_pem.write_to_path(str(tmp_path / "autorité.pem"))
    assert set(connect(obsidian_certificate=tmp_path / "autorité.pem").listing()) == WANTED


def test_any_certificate_is_taken_when_that_is_set_and_said(
    connect: Open, caplog: pytest.LogCaptureFixture
) -> None:
    assert set(connect(obsidian_insecure=True).listing()) == WANTED
    assert "obsidian_insecure" in caplog.text


@pytest.mark.parametrize("pinned", ["file", "fingerprint"])
def test_a_certificate_that_signed_itself_is_pinned(tmp_path: Path, pinned: str) -> None:
    with Server(own_certificate(tmp_path)).running() as serving:
        serving.write("Seule.md", "Une note.")
        trusted = fingerprint(serving) if pinned == "fingerprint" else tmp_path / "own.pem"
        for notes in source(serving, tmp_path, obsidian_certificate=trusted):
            assert set(notes.listing()) == {"Seule.md"}
        for notes in source(serving, tmp_path):
            with pytest.raises(NotesUnavailable, match="not trusted"):
                notes.listing()


@pytest.mark.parametrize("trusted", ["nothing", "another fingerprint", "another certificate"])
def test_a_certificate_that_is_not_trusted_is_refused(
    server: Server, connect: Open, tmp_path: Path, trusted: str
) -> None:
    settings: dict[str, object] = {}
    if trusted == "another fingerprint":
        settings["obsidian_certificate"] = "sha256:" + "0" * 64
    elif trusted == "another certificate":
        path = tmp_path / "autre.pem"
        other = trustme.CA().issue_cert("127.0.0.1").cert_chain_pems[0]
        other.write_to_path(str(path))
        settings["obsidian_certificate"] = path
    with pytest.raises(NotesUnavailable, match="obsidian_certificate"):
        connect(**settings).listing()
    # Nothing was asked, so the key was not sent.
    assert server.asked == []


def test_the_name_in_a_trusted_certificate_counts(authority: trustme.CA, tmp_path: Path) -> None:
    serving = Server(issued(authority))
    with serving.running():
        authority.cert_pem.write_to_path(str(tmp_path / "autorité.pem"))
        serving.url = serving.url.replace("127.0.0.1", "localhost")
        for notes in source(serving, tmp_path, obsidian_certificate=tmp_path / "autorité.pem"):
            with pytest.raises(NotesUnavailable, match="not trusted"):
                notes.listing()
        # The fingerprint says that it is the one, whatever its name.
        serving.write("Seule.md", "Une note.")
        for notes in source(serving, tmp_path, obsidian_certificate=fingerprint(serving)):
            assert set(notes.listing()) == {"Seule.md"}


def test_a_refused_key_is_said_and_not_shown(
    server: Server, connect: Open, pem: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    notes = connect(obsidian_certificate=pem, obsidian_key="the-wrong-key-zq7")
    with pytest.raises(NotesUnavailable, match="obsidian_key") as refused:
        notes.listing()
    error: BaseException | None = refused.value
    while error is not None:
        assert "zq7" not in f"{error} {error!r}"
        error = error.__cause__ or error.__context__
    right = connect(obsidian_certificate=pem)
    right.listing()
    right.read("Recette.md")
    assert "zq7" not in caplog.text and KEY not in caplog.text
    assert KEY not in repr(right)


def test_a_note_that_is_too_long_or_no_note_is_left_out(
    server: Server, connect: Open, pem: Path
) -> None:
    server.write("Énorme.md", "é" * (MAX_NOTE_BYTES // 2 + 1))
    notes = connect(obsidian_certificate=pem)
    notes.listing()
    with pytest.raises(UnreadableFile, match="longer"):
        notes.read("Énorme.md")
    server.times["Recette.md"] = "demain"  # pyright: ignore
    with pytest.raises(UnreadableFile):
        notes.read("Recette.md")


def test_obsidian_that_closes_and_opens_again(
    open_hippo: Opener,
    hashed: None,
    authority: trustme.CA,
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    clock: FakeClock,
) -> None:
    caplog.set_level(logging.DEBUG)
    authority.cert_pem.write_to_path(str(tmp_path / "autorité.pem"))
    first = Server(issued(authority))
    with first.running():
        first.write("Recette.md", "La soupe aux orties. #hippocampe")
        hippo = open_hippo(
            background=True,
            embedder="hashed:64",
            obsidian_url=first.url,
            obsidian_key=KEY,
            obsidian_certificate=tmp_path / "autorité.pem",
            notes_seconds=0.02,
        )
        hippo.flush()
        assert len(found(hippo, "orties")) == 1

    def said(text: str) -> int:
        return sum(text in r.getMessage() for r in caplog.records if r.name == "hippocampe")

    until(lambda: said("notes failed"))
    time.sleep(0.2)
    assert len(found(hippo, "orties")) == 1
    assert len(context(hippo, tag="hippocampe")) == 1
    second = Server(issued(authority), first.port)
    second.write("Recette.md", "La soupe aux blettes. #hippocampe")
    second.times["Recette.md"] += 60_000
    with second.running():
        until(lambda: found(hippo, "blettes"))
        until(lambda: said("notes works again"))
        time.sleep(0.2)
        hippo.close()
    assert said("notes failed") == 1
    assert said("notes works again") == 1
    assert KEY not in caplog.text


def test_fields_of_dataview_are_pairs() -> None:
    text = "humeur:: bonne\nrating::\n- size:: 3 rooms\n(tel:: 0612345678)\n```\na:: b\n```"
    note = parse("Boutique.md", text, datetime(2026, 1, 1, tzinfo=UTC))
    [piece] = split(note)
    assert piece.text == "humeur: bonne\n\n- size: 3 rooms\ntel: 0612345678\n```\na:: b\n```"
