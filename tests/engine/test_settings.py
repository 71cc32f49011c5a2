"""Settings: what they are, what they may be, who sees a change, and when."""

import dataclasses
import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Connection, insert

from conftest import DEFAULTS, FakeClock, Opener
from hippocampe import Hippocampe, Scope
from hippocampe.engine import settings as settings_step
from hippocampe.engine.context import Context
from hippocampe.engine.settings import ACCEPTED
from hippocampe.errors import InvalidInput, StoreReadOnly
from hippocampe.store import settings as rows
from hippocampe.store.schema import setting
from hippocampe.types import Settings

NAMES = [each.name for each in dataclasses.fields(Settings)]
REFERENCE = (Path(__file__).parents[2] / "docs" / "reference.md").read_text(encoding="utf-8")

GOOD: dict[str, Any] = {
    "auto_retrieve_enabled": False,
    "auto_retrieve_max_results": 10,
    "auto_retrieve_min_score": 0.2,
    "always_on_limit": 0,
    "recent_hours": 0,
    "channel_scope": True,
    "shared_memories": True,
    "semantic_threshold": 0.9,
    "max_semantic_buffer": 7,
    "max_injection_count": 3,
    "important_threshold": 1,
    "context_window_depth": 5,
    "keep_injections": False,
    "injection_token_budget": 300,
    "hook_timeout_ms": 250,
    "coalesce_ms": 400,
    "live_limit": 0,
    "live_rooms": ["salon", "jardin", "salon"],
    "companion_names": ["Ondine"],
    "digest_hours": [22, 6],
    "timezone": "America/Montreal",
    "language": "en",
    "obsidian_context_enabled": False,
    "obsidian_context_notes": ["Projets/Four à pain.md"],
    "obsidian_context_tag": "mémoire",
    "recent_messages": 50,
    "session_timeout_minutes": 60,
    "retrieval_days": 365,
    "companion_mode": "agentic",
    "daily_budget": 2.5,
    "category_ttl": {"self/preference": "90d"},
    "decay_half_life_days": 180,
    "prune_below": 0.1,
}
KEPT: dict[str, Any] = {
    "live_rooms": ("salon", "jardin"),
    "companion_names": ("Ondine",),
    "digest_hours": (6, 22),
    "obsidian_context_notes": ("Projets/Four à pain.md",),
}


@pytest.fixture(autouse=True)
def default_deadline(monkeypatch: pytest.MonkeyPatch) -> None:
    """Here the default deadline of a turn is tested too."""
    monkeypatch.setattr(settings_step, "defaults", DEFAULTS)


@pytest.fixture
def hippo(open_hippo: Opener, hashed: None) -> Hippocampe:
    return open_hippo(embedder="hashed:32")


def parts_of(hippo: Hippocampe) -> Context:
    return hippo._context  # pyright: ignore[reportPrivateUsage]


def stored(hippo: Hippocampe, space: str = "default") -> dict[str, Any]:
    with parts_of(hippo).corpus.store.read() as connection:
        return rows.load(connection, space)


def test_each_setting_has_its_check_and_its_default_passes() -> None:
    assert list(ACCEPTED) == NAMES == list(GOOD)
    for name in NAMES:
        assert settings_step.check(name, getattr(Settings(), name)) == getattr(Settings(), name)


def test_nothing_is_stored_by_default(hippo: Hippocampe, scope: Scope) -> None:
    assert hippo.settings(scope=scope) == Settings()
    assert stored(hippo) == {}


@pytest.mark.parametrize("name", NAMES)
def test_each_setting_is_kept_and_reset(
    hippo: Hippocampe, open_hippo: Opener, scope: Scope, name: str
) -> None:
    wanted = KEPT.get(name, GOOD[name])
    assert getattr(hippo.update_settings(scope=scope, **{name: GOOD[name]}), name) == wanted
    hippo.close()
    again = open_hippo(embedder="hashed:32")
    assert again.settings(scope=scope) == dataclasses.replace(Settings(), **{name: wanted})
    assert again.update_settings(scope=scope, **{name: None}) == Settings()
    assert stored(again) == {}


BAD: list[tuple[str, Any, str]] = [
    ("auto_retrieve_enabled", 1, "true or false"),
    ("auto_retrieve_enabled", "yes", "true or false"),
    ("auto_retrieve_max_results", 0, "from 1 to 10"),
    ("auto_retrieve_max_results", 11, "from 1 to 10"),
    ("auto_retrieve_max_results", 4.0, "whole number"),
    ("auto_retrieve_max_results", True, "whole number"),
    ("auto_retrieve_max_results", "4", "whole number"),
    ("auto_retrieve_min_score", 0.09, "from 0.1 to 0.8"),
    ("auto_retrieve_min_score", 0.81, "from 0.1 to 0.8"),
    ("auto_retrieve_min_score", float("nan"), "from 0.1 to 0.8"),
    ("coalesce_ms", 2_001, "from 0 to 2,000"),
    ("live_rooms", "lobby", "a list of at most"),
    ("live_rooms", [""], "a list of at most"),
    ("live_rooms", ["x" * 201], "a list of at most"),
    ("live_rooms", [3], "a list of at most"),
    ("companion_names", ["eko"] * 101, "a list of at most"),
    ("digest_hours", [24], "from 0 to 23"),
    ("digest_hours", ["2"], "from 0 to 23"),
    ("digest_hours", 2, "from 0 to 23"),
    ("timezone", "Europe/Pari", "IANA timezone"),
    ("timezone", "../etc/passwd", "IANA timezone"),
    ("timezone", 2, "IANA timezone"),
    ("language", "de", "one of en, fr"),
    ("language", ["fr"], "one of en, fr"),
    ("obsidian_context_tag", "a\nb", "printable"),
    ("retrieval_days", 366, "from 1 to 365"),
]


@pytest.mark.parametrize(("name", "value", "says"), BAD)
def test_a_bad_value_is_refused_with_what_is_accepted_and_nothing_changes(
    hippo: Hippocampe, scope: Scope, name: str, value: Any, says: str
) -> None:
    with pytest.raises(InvalidInput, match=re.escape(says)) as refused:
        hippo.update_settings(scope=scope, recent_hours=3, **{name: value})
    assert name in str(refused.value)
    assert hippo.settings(scope=scope) == Settings()
    assert stored(hippo) == {}


def test_an_unknown_name_is_told_with_those_it_resembles(hippo: Hippocampe, scope: Scope) -> None:
    with pytest.raises(InvalidInput, match="did you mean auto_retrieve_max_results"):
        hippo.update_settings(scope=scope, auto_retreive_max_result=3)
    with pytest.raises(InvalidInput, match=r"choose from auto_retrieve_enabled, .*retrieval_days"):
        hippo.update_settings(scope=scope, context=None)
    assert stored(hippo) == {}


def test_a_choice_is_stored_even_if_it_is_the_default(hippo: Hippocampe, scope: Scope) -> None:
    hippo.update_settings(scope=scope, recent_hours=12, language="fr")
    assert stored(hippo) == {"recent_hours": 12, "language": "fr"}
    hippo.update_settings(scope=scope, recent_hours=None)
    assert stored(hippo) == {"language": "fr"}


@pytest.mark.parametrize(
    ("locale", "language"),
    [("en_US.UTF-8", "en"), ("fr_CA", "fr"), ("de_DE.UTF-8", "fr"), ("C.UTF-8", "fr"), ("", "fr")],
)
def test_the_language_is_that_of_the_locale_unless_it_is_chosen(
    open_hippo: Opener,
    hashed: None,
    monkeypatch: pytest.MonkeyPatch,
    scope: Scope,
    locale: str,
    language: str,
) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    hippo = open_hippo(embedder="hashed:32")
    assert hippo.settings(scope=scope).language == language
    hippo.close()
    assert open_hippo(embedder="hashed:32", language="en").settings(scope=scope).language == "en"


def test_a_configuration_with_an_unknown_language_is_refused(
    open_hippo: Opener, hashed: None
) -> None:
    with pytest.raises(InvalidInput, match="language must be one of en, fr, not 'de'"):
        open_hippo(embedder="hashed:32", language="de")
    with pytest.raises(InvalidInput, match="timezone must be an IANA timezone .*, not 'Paris'"):
        open_hippo(embedder="hashed:32", timezone="Paris")


def test_each_space_has_its_own(hippo: Hippocampe, scope: Scope) -> None:
    other = Scope(space="autre")
    hippo.update_settings(scope=scope, recent_hours=12)
    assert hippo.settings(scope=other).recent_hours == 6
    hippo.update_settings(scope=other, recent_hours=1)
    assert hippo.settings(scope=scope).recent_hours == 12


def test_what_another_version_stored_is_left_alone(hippo: Hippocampe, scope: Scope) -> None:
    kept = {"telepathy": True, "auto_retrieve_max_results": 5_000, "recent_hours": 9}
    with parts_of(hippo).corpus.store.write() as connection:
        rows.write(connection, "default", kept, parts_of(hippo).corpus.store.now(), remove=set())
    assert hippo.settings(scope=scope) == dataclasses.replace(Settings(), recent_hours=9)
    hippo.update_settings(scope=scope, recent_hours=10)
    assert stored(hippo) == kept | {"recent_hours": 10}


def test_a_change_by_another_process_is_seen_after_some_seconds(
    hippo: Hippocampe, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert hippo.settings(scope=scope).recent_hours == 6
    row = {"space": "default", "name": "recent_hours", "value": 9}
    with parts_of(hippo).corpus.store.write() as connection:
        connection.execute(
            insert(setting).values(**row, updated_at=parts_of(hippo).corpus.store.now())
        )
    assert hippo.settings(scope=scope).recent_hours == 6
    monkeypatch.setattr(settings_step, "FRESH_SECONDS", 0.0)
    assert hippo.settings(scope=scope).recent_hours == 9


def test_a_reader_that_came_before_a_change_does_not_undo_it(
    hippo: Hippocampe, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    load = rows.load
    has_read, changed = threading.Event(), threading.Event()

    def slow(connection: Connection, space: str) -> dict[str, Any]:
        values = load(connection, space)
        if not has_read.is_set():
            has_read.set()
            changed.wait(30)
        return values

    def change() -> None:
        hippo.update_settings(scope=scope, recent_hours=9)

    monkeypatch.setattr(rows, "load", slow)
    reader = threading.Thread(target=lambda: hippo.settings(scope=scope))
    writer = threading.Thread(target=change)
    reader.start()
    has_read.wait(30)
    writer.start()
    end = time.monotonic() + 30
    while time.monotonic() < end:
        with parts_of(hippo).corpus.store.read() as connection:
            if load(connection, "default"):
                break
        time.sleep(0.01)
    changed.set()
    reader.join()
    writer.join()
    assert hippo.settings(scope=scope).recent_hours == 9


def test_the_last_known_serve_while_the_store_is_down(
    hippo: Hippocampe, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    hippo.update_settings(scope=scope, recent_hours=9)

    def down() -> Any:
        raise StoreReadOnly("the disk was taken out.")

    monkeypatch.setattr(settings_step, "FRESH_SECONDS", 0.0)
    monkeypatch.setattr(parts_of(hippo).corpus.store, "read", down)
    assert hippo.settings(scope=scope).recent_hours == 9
    with pytest.raises(StoreReadOnly):
        hippo.settings(scope=Scope(space="jamais lu"))


def test_the_timezone_of_the_space_reads_the_times_of_a_query(
    open_hippo: Opener, hashed: None, clock: FakeClock, scope: Scope
) -> None:
    hippo = open_hippo(embedder="hashed:32", timezone="Asia/Tokyo")
    assert hippo.settings(scope=scope).timezone == "Asia/Tokyo"
    # It is the evening of the 17th in Tokyo, and still the 16th on Samoa.
    clock.now = clock.now.replace(hour=10)
    hippo.remember("le four est allumé", scope=scope, occurred_at="2026-01-16T15:00:00+01:00")

    def in_window() -> float:
        found = hippo.recall("le four hier", scope=scope, explain=True)
        return {signal.name: signal.value for signal in found[0].why}["in_window"]

    inside = in_window()
    assert inside > 0
    hippo.update_settings(scope=scope, timezone="Pacific/Pago_Pago")
    assert hippo.settings(scope=Scope(space="autre")).timezone == "Asia/Tokyo"
    # After the end of that day; the end is soft.
    assert in_window() < inside


def test_settings_travel_with_an_export(
    hippo: Hippocampe, scope: Scope, open_hippo: Opener, tmp_path: Path
) -> None:
    hippo.update_settings(scope=scope, live_rooms=["salon"], auto_retrieve_min_score=0.7)
    hippo.update_settings(scope=Scope(space="autre"), recent_hours=1)
    found = hippo.settings(scope=scope)
    path = tmp_path / "export.jsonl"
    hippo.export_to(path, scope=scope)
    copy = Scope(space="copie")
    assert hippo.settings(scope=copy) == Settings()
    hippo.import_from(path, scope=copy)
    assert hippo.settings(scope=copy) == found
    elsewhere = open_hippo(tmp_path / "elsewhere", embedder="hashed:32")
    assert elsewhere.import_from(path, scope=scope).added == 2
    assert elsewhere.settings(scope=scope) == found
    assert elsewhere.import_from(path, scope=scope).added == 0


def test_what_was_chosen_wins_over_an_import(
    hippo: Hippocampe, scope: Scope, tmp_path: Path
) -> None:
    hippo.update_settings(scope=scope, recent_hours=12)
    hippo.export_to(tmp_path / "export.jsonl", scope=scope)
    hippo.update_settings(scope=scope, recent_hours=24)
    hippo.import_from(tmp_path / "export.jsonl", scope=scope)
    assert hippo.settings(scope=scope).recent_hours == 24


def test_erasing_a_space_gives_the_defaults_back(hippo: Hippocampe, scope: Scope) -> None:
    hippo.update_settings(scope=scope, recent_hours=12)
    hippo.erase(scope=scope, whole_space=True)
    assert hippo.settings(scope=scope) == Settings()
    assert stored(hippo) == {}


def test_the_settings_of_few_spaces_are_cached(
    hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(settings_step, "MAX_CACHED_SPACES", 3)
    corpus = hippo._context.corpus
    settings = settings_step.SpaceSettings(corpus.store, corpus.config)
    spaces = [f"space {number}" for number in range(5)]
    assert {settings.of(space) for space in spaces} == {Settings()}
    assert [settings.cached(space) for space in spaces] == [None] * 2 + [Settings()] * 3


def spelled(value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple | dict):
        return " ".join(map(str, value)) or "none"
    return str(value)


@pytest.mark.parametrize("name", NAMES)
def test_each_setting_is_documented_with_its_default_and_what_it_may_be(name: str) -> None:
    row = f"| `{name}` | {spelled(getattr(Settings(), name))} | {ACCEPTED[name].says} |"
    assert row in REFERENCE


@pytest.mark.parametrize("name", NAMES)
def test_each_setting_is_explained_where_it_is_defined(name: str) -> None:
    assert re.search(rf"^ +{name}: \w", Settings.__doc__ or "", re.M)


def test_callers_at_once_read_the_settings_once_for_all(
    hippo: Hippocampe, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    reads, load = list[str](), rows.load

    def slow(connection: Connection, space: str) -> dict[str, Any]:
        reads.append(space)
        time.sleep(0.3)
        return load(connection, space)

    monkeypatch.setattr(rows, "load", slow)
    cached = hippo._context.corpus.settings  # pyright: ignore[reportPrivateUsage]
    cached.clear()
    threads = [threading.Thread(target=cached.of, args=(scope.space,)) for _ in range(8)]
    for each in threads:
        each.start()
    for each in threads:
        each.join()
    assert len(reads) == 1
    # What was just changed is read again.
    hippo.update_settings(scope=scope, recent_hours=3)
    assert cached.of(scope.space).recent_hours == 3
    assert len(reads) == 2
