"""Every change by hand leaves an entry: who did what, by ids and counts, never content."""

from datetime import timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

from conftest import Connect, FakeClock
from hippocampe import Hippocampe, NotFound, Scope
from hippocampe.actor import acting
from hippocampe.cli.app import app

HOME = Scope(space="home", user="dev")


def actions(hippo: Hippocampe) -> list[str]:
    return [entry.action for entry in reversed(hippo.audit(scope=HOME))]


def test_every_change_leaves_an_entry(memory: Hippocampe, clock: FakeClock) -> None:
    kept = memory.remember("Owen a un voilier", scope=HOME).memory
    memory.set_fact("boisson", "le thé vert", scope=HOME)
    turn = memory.after_turn("La rhubarbe pousse", "Oui", scope=HOME)
    memory.flush()
    short = memory.remember("Nina est en vacances", scope=HOME, ttl="1h").memory
    assert actions(memory) == []
    memory.delete(kept.id, scope=HOME, reason="voilier vendu")
    memory.restore(kept.id, scope=HOME)
    memory.delete_fact("boisson", scope=HOME, reason="voilier vendu")
    memory.forget("rhubarbe", scope=HOME, dry_run=True)
    memory.forget("rhubarbe", scope=HOME)
    memory.restore(turn, scope=HOME)
    memory.delete(turn, scope=HOME, reason="voilier vendu")
    clock.advance(hours=2)
    memory.expire(scope=HOME)
    memory.update_settings(scope=HOME, companion_names=["voilier"], recent_hours=3)
    memory.erase(scope=HOME, id=kept.id)
    key = memory.create_key(scope=HOME, role="read", label="voilier")
    memory.revoke_key(key.key.id)
    assert actions(memory) == [
        *("delete", "restore", "delete", "forget", "restore", "delete_turn", "expire", "settings"),
        *("erase", "create_key", "revoke_key"),
    ]
    found = list(reversed(memory.audit(scope=HOME)))
    assert found[0].detail == {"count": 1, "ids": [kept.id]}
    assert found[5].detail == {"count": 1, "ids": [turn]}
    assert found[6].detail["ids"] == [short.id]
    assert found[7].detail == {"names": ["companion_names", "recent_hours"]}
    assert found[9].detail == {"key": key.key.id, "role": "read"}
    assert not any("voilier" in str(entry) or "rhubarbe" in str(entry) for entry in found)
    assert {entry.actor for entry in found} == {"library"}
    assert memory.audit(scope=Scope(space="work")) == []
    assert memory.audit(scope=HOME, limit=1) == found[-1:]
    assert memory.audit(scope=HOME, since=found[-1].at) == found[-1:]
    assert memory.audit(scope=HOME, since=found[-1].at + timedelta(hours=1)) == []


def test_what_fails_leaves_none(memory: Hippocampe) -> None:
    with pytest.raises(NotFound):
        memory.delete("0198a000-0000-7000-8000-000000000000", scope=HOME, reason="faux")
    memory.expire(scope=HOME)
    memory.update_settings(scope=HOME)
    assert actions(memory) == []


def test_the_actor_is_named(memory: Hippocampe, connect: Connect) -> None:
    with acting("command line"):
        memory.update_settings(scope=HOME, recent_hours=3)
    client = connect("admin", "home")
    assert client.patch("/api/memory/settings", json={"recent_hours": 4}).status_code == 200
    local = connect()
    local.patch("/api/memory/settings", json={"recent_hours": 5}, params={"space": "home"})
    by = [entry.actor for entry in memory.audit(scope=HOME) if entry.action == "settings"]
    assert by == ["local", f"key {memory.keys()[0].id}", "command line"]
    listed = client.get("/api/audit", params={"limit": 1}).json()
    assert [entry["actor"] for entry in listed] == ["local"]


@pytest.mark.parametrize(
    ("language", "memory_text", "turn_text"),
    [
        ("en", "forgot a memory", "forgot an exchange"),
        ("fr", "souvenir oublié", "échange oublié"),
    ],
)
def test_the_command_says_what_was_forgotten(
    hashed: None, folder: Path, memory: Hippocampe, language: str, memory_text: str, turn_text: str
) -> None:
    kept = memory.remember("Owen a un voilier", scope=HOME).memory
    turn = memory.after_turn("La rhubarbe pousse", "Oui", scope=HOME)
    memory.flush()
    for id in (kept.id, turn):
        memory.delete(id, scope=HOME, reason="faux")
    memory.close()
    where = ["--folder", str(folder), "--space", "home"]
    told = (
        CliRunner(env={"LANGUAGE": language, "COLUMNS": "200"})
        .invoke(app, ["audit", *where])
        .output
    )
    assert told.count(memory_text) == told.count(turn_text) == 1


def test_the_command_lists_the_entries(hashed: None, folder: Path, memory: Hippocampe) -> None:
    where = ["--folder", str(folder), "--space", "home"]
    memory.close()
    assert "Nothing was forgotten" in CliRunner().invoke(app, ["audit", *where]).output
    with Hippocampe.open(folder) as hippo:
        for value in (3, 4, 5):
            hippo.update_settings(
                scope=HOME, recent_hours=value, live_limit=1, coalesce_ms=0, retrieval_days=4
            )
    told = CliRunner().invoke(app, ["audit", *where, "--limit", "2"]).output
    assert told.count("settings") == 2
    assert "live_limit" in told
