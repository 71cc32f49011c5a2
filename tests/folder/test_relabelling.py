"""Data of earlier versions has labels as they were typed: they get their normal form at opening."""

import logging
import sqlite3
from contextlib import closing
from pathlib import Path
from unicodedata import normalize

import pytest

from conftest import Opener
from hippocampe import Config, Hippocampe, Scope
from hippocampe.folder.relabelling import LABELS

pytestmark = pytest.mark.usefixtures("hashed")
NFC, NFD = normalize("NFC", "zoé"), normalize("NFD", "zoé")


def filled(open_hippo: Opener, *spaces: str) -> Hippocampe:
    """A folder in which each space has a fact, talk, a key and settings, in a channel and of a user."""
    hippo = open_hippo(embedder="hashed:64")
    for space in spaces:
        scope = Scope(space, "zoe", "salon")
        hippo.remember(f"Le secret de {space} est rhubarbe", scope=scope)
        hippo.after_turn(f"Je dors à {space}", "Oui.", scope=scope, external_id=f"id-{space}")
        hippo.update_settings(scope=scope, live_rooms=["salon"])
        hippo.create_key(scope=scope, role="read", label=space)
    hippo.flush()
    return hippo


def earlier(folder: Path, changes: dict[str, str]) -> None:
    """Give labels the form that an earlier version has stored; all tables of a label alike."""
    tables = ["memory", "turn", "message", "retrieval", "api_key", "setting", "subject", "claim"]
    tables += ["association", "alias", "vector", "outbox", "job_run", "audit"]
    columns = [(table, "space") for table in tables]
    columns += [("memory", "user"), ("turn", "author"), ("message", "author")]
    columns += [(table, "channel") for table in ("memory", "turn", "message")]
    with closing(sqlite3.connect(next(folder.glob("*.db")))) as database:
        for old, typed in changes.items():
            for table, column in columns:
                database.execute(
                    f'UPDATE "{table}" SET "{column}" = ? WHERE "{column}" = ?', (typed, old)
                )
            rooms = "UPDATE setting SET value = replace(value, ?, ?)"
            database.execute(rooms, (f'"{old}"', f'"{typed}"'))
        database.execute("DELETE FROM meta WHERE name = ?", (LABELS,))
        database.commit()


def contents(hippo: Hippocampe, space: str) -> list[str]:
    return [each.content for each in hippo.recall("secret rhubarbe", scope=Scope(space))]


def test_a_space_gets_its_normal_name(folder: Path, open_hippo: Opener) -> None:
    filled(open_hippo, "home").close()
    earlier(folder, {"home": "home ", "zoe": f"{NFD} ", "salon": " salon"})
    hippo = open_hippo(embedder="hashed:64")
    assert hippo.spaces().keys() == {"home"}
    assert contents(hippo, "home") == ["Le secret de home est rhubarbe"]
    assert hippo.users(scope=Scope("home")).keys() == {NFC}
    assert [each.channel for each in hippo.messages(scope=Scope("home", channel="salon"))] == [
        "salon",
        "salon",
    ]
    filtered = hippo.recall("secret rhubarbe", scope=Scope("home"), user=NFC, channel="salon")
    assert len(filtered) == 1
    assert hippo.settings(scope=Scope("home")).live_rooms == ("salon",)
    made = hippo.keys()
    assert [key.space for key in made] == ["home"]
    assert hippo.verify().ok
    assert len([*folder.glob("backups/before-labels-*.db")]) == 1
    hippo.close()
    # Once.
    open_hippo(embedder="hashed:64").close()
    assert len([*folder.glob("backups/*.db")]) == 1


def test_two_spaces_stay_two(
    folder: Path, open_hippo: Opener, caplog: pytest.LogCaptureFixture
) -> None:
    filled(open_hippo, "home", "b", "c").close()
    earlier(folder, {"b": "home ", "c": "\u2003home"})
    with caplog.at_level(logging.WARNING, "hippocampe"):
        hippo = open_hippo(embedder="hashed:64")
    assert "hippocampe spaces" in caplog.text
    assert hippo.spaces().keys() == {"home", "home (2)", "home (3)"}
    for space, was in (("home", "home"), ("home (2)", "b"), ("home (3)", "c")):
        assert contents(hippo, space) == [f"Le secret de {was} est rhubarbe"]
        [turn] = hippo.search_text("dors", scope=Scope(space))
        assert turn.content == f"Je dors à {was}"
    made = hippo.keys()
    assert {key.label: key.space for key in made} == {
        "home": "home",
        "b": "home (2)",
        "c": "home (3)",
    }
    assert hippo.verify().ok


def test_channels_that_become_one_keep_all_messages(folder: Path, open_hippo: Opener) -> None:
    hippo = open_hippo(embedder="hashed:64")
    for channel in ("salon", "other"):
        scope = Scope(channel=channel)
        hippo.after_turn(f"Je dors dans {channel}", "Oui.", scope=scope, external_id="same")
    hippo.close()
    earlier(folder, {"other": "salon "})
    hippo = open_hippo(embedder="hashed:64")
    assert len(hippo.messages(scope=Scope(channel="salon"))) == 4
    assert hippo.verify().ok
    hippo.after_turn("Je dors dans salon", "Oui.", scope=Scope(channel="salon"), external_id="same")
    assert len(hippo.messages(scope=Scope(channel="salon"))) == 4


def test_the_index_follows_after_a_crash(
    folder: Path, open_hippo: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(open_hippo, "home").close()
    earlier(folder, {"home": "home "})
    with monkeypatch.context() as patched:
        patched.setattr(
            "hippocampe.folder.opening.maintenance.reindex",
            lambda *_, **__: (_ for _ in ()).throw(KeyboardInterrupt),
        )
        with pytest.raises(KeyboardInterrupt):
            Hippocampe.open(Config(folder, embedder="hashed:64", background=False))
    hippo = open_hippo(embedder="hashed:64")
    assert contents(hippo, "home") == ["Le secret de home est rhubarbe"]


def test_data_in_normal_form_is_left_alone(folder: Path, open_hippo: Opener) -> None:
    filled(open_hippo, "home").close()
    earlier(folder, {})
    hippo = open_hippo(embedder="hashed:64")
    assert contents(hippo, "home") == ["Le secret de home est rhubarbe"]
    assert not (folder / "backups").exists()
