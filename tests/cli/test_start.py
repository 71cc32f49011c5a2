"""How the command line starts: what it loads, what its help shows first, and what it says of a broken language."""

import re
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hippocampe import Config, Hippocampe, Scope, language
from hippocampe.cli import terminal
from hippocampe.cli.app import DAILY, app
from hippocampe.cli.show import turns
from hippocampe.types import Retrieval, Retrieved

LISTING = "import sys, atexit; atexit.register(lambda: print(*sys.modules, file=sys.stderr)); "
RUN = "from hippocampe.cli import main; main()"
LIBRARY = {"hippocampe.hippocampe", "numpy", "sqlalchemy"}


def started(code: str, *arguments: str) -> "subprocess.CompletedProcess[str]":
    command = [sys.executable, "-c", code, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=120)


@pytest.mark.parametrize("typed", [("--help",), ("recall", "--help"), ("chat", "--help")])
def test_the_help_loads_neither_the_library_nor_pydantic(typed: tuple[str, ...]) -> None:
    done = started(LISTING + RUN, *typed)
    assert done.returncode == 0
    assert "Usage" in done.stdout
    assert not (LIBRARY | {"asyncio", "pydantic"}) & set(done.stderr.split())


def test_ctrl_c_while_the_commands_are_loaded_is_an_interruption() -> None:
    # Ignored in the background of a shell.
    pressed = (
        "import types, sys, signal; signal.signal(signal.SIGINT, signal.default_int_handler); "
    )
    pressed += "here = types.ModuleType('hippocampe.cli.app'); "
    pressed += "here.__getattr__ = lambda name: signal.raise_signal(signal.SIGINT); "
    done = started(f"{pressed}sys.modules[here.__name__] = here; {RUN}", "recall", "x")
    assert (done.returncode, done.stderr) == (130, "")


def test_a_command_beside_an_owner_does_not_load_the_library(folder: Path, hashed: None) -> None:
    with Hippocampe.open(Config(folder, embedder="hashed:32", background=False)) as hippo:
        hippo.remember("Nina aime le thé vert", scope=Scope())
        done = started(LISTING + RUN, "recall", "Que boit Nina ?", "--folder", str(folder))
    assert "Nina aime le thé vert" in done.stdout
    assert not LIBRARY & set(done.stderr.split())


def test_commands_answer_in_the_language_of_the_locale(
    folder: Path, hashed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def run(*typed: str) -> str:
        words = [*typed, "--folder", str(folder)]
        return CliRunner().invoke(app, words, env={"COLUMNS": "100"}).output

    with Hippocampe.open(Config(folder, embedder="hashed:32", background=False)) as hippo:
        hippo.remember("Nina aime le thé vert", scope=Scope())
        monkeypatch.setenv("LC_ALL", "fr_FR.UTF-8")
        assert re.match(r"score +genre +quand +contenu", run("recall", "Que boit Nina ?"))
        assert "à l'instant" in run("list")
        assert run("facts") == "Il n’y a aucun fait.\n"
        assert run("remember", "Nina aime le thé vert").startswith("déjà connu : Nina aime")
        assert run("get", "x") == (
            "erreur : l’espace 'default' n’a pas de souvenir 'x' : prenez l’identifiant d’un souvenir dans "
            "les résultats de recall ou de recent. Ceux des échanges ne vont qu’à delete, restore et erase.\n"
        )
        run("facts", "set", "boisson", "café", "--user", "nina")
        told = run("recall", "boisson café", "--limit", "1")
        assert re.search(r"qui +contenu", told)
        assert re.search(r"nina +boisson : café", told)
        assert "\n1 résultat en " in told
        assert re.search(r"nina +boisson : café", run("list"))
        run("remember", "Nina habite à Pau")
        moved = run("remember", "Nina habite à Lyon")
        assert "parce que : domicile : pau → lyon" in moved
        assert "(domicile : pau → lyon)" in run("history", moved.split()[-1])
        assert re.search(
            r"remplacé .+ Nina habite à Pau .+\n +par : Nina habite à Lyon", run("changes")
        )
        forgotten = run("forget", "boisson café", "--dry-run")
        for shown in ("trouvé par", "les mots", "boisson : café"):
            assert shown in forgotten
        checked = run("doctor")
        assert re.search(r"ok +modèle de langage : aucun ; seul le compagnon en a besoin", checked)
        assert "Go libres" in checked
        assert re.search(r"la base et l’index concordent +\(\d souvenirs\)", checked)
        assert re.search(r"dernier écrit +20\d\d.+\nindexés +souvenir \d", run("stats"))
        assert re.search(r"taille +base \d+,?\d*\sko, index .+\so\s*\n", run("vitals"))
        assert "Capacités : 0\n" in run("self")
        assert "l’un de : agentic, systematic, hybrid" in run("settings", "companion_mode")
        assert "de 1 à 1\u202f000\n" in run("settings", "context_window_depth")
        monkeypatch.setenv("LC_ALL", "en_GB.UTF-8")
        assert re.search(r"disk free +[\d.]+\s[MGT]B", run("vitals"))
        assert "one of agentic, systematic, hybrid" in run("settings", "companion_mode")
        assert "from 1 to 1,000\n" in run("settings", "context_window_depth")
        for locale in ("C", "en_GB.UTF-8", "tlh"):
            monkeypatch.setenv("LC_ALL", locale)
            assert re.match(r"score +kind +when +who +content", run("recall", "Que boit Nina ?"))


@pytest.mark.parametrize(
    ("locale", "given", "left_out", "took", "count", "role", "digested"),
    [
        (
            "fr_FR.UTF-8",
            "2 donnés, sur 2 trouvés",
            "laissé de côté : recherche en retard",
            "1\u202f109,5",
            "1 élément · ",
            "lecture seule",
            "synthèse faite : 1 message, 1 échange",
        ),
        (
            "en_GB.UTF-8",
            "2 injected of 2 found",
            "left out: search late",
            "1,109.5",
            "1 item · ",
            "read only",
            "digested: 1 message, 1 turn",
        ),
    ],
)
def test_logs_are_in_the_language_of_the_locale(
    folder: Path,
    hashed: None,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    locale: str,
    given: str,
    left_out: str,
    took: str,
    count: str,
    role: str,
    digested: str,
) -> None:
    def run(*typed: str) -> str:
        words = [*typed, "--folder", str(folder)]
        return CliRunner().invoke(app, words, env={"COLUMNS": "140"}).output

    monkeypatch.setenv("LC_ALL", locale)
    monkeypatch.setenv("COLUMNS", "100")
    items = (Retrieved("x", "memory", 0.5, "recent", "injected", {}),) * 2
    logged = Retrieval(
        *("x", "default", None, None, "salut", 2, 0, 9, 1109.5),
        stages={},
        missing=("search late",),
        skipped=None,
        created_at=datetime(2026, 1, 6, tzinfo=UTC),
        items=items,
    )
    terminal.out(turns.retrievals([logged], "UTC"))
    shown = capsys.readouterr().out
    assert given in shown and left_out in shown and took in shown
    with Hippocampe.open(Config(folder, embedder="hashed:32", background=False)) as hippo:
        hippo.delete(
            hippo.remember("Nina aime le thé vert", scope=Scope()).memory.id,
            scope=Scope(),
            reason="test",
        )
        hippo.create_key(scope=Scope(), role="read")
        hippo.observe("On part à midi", scope=Scope(user="nina", channel="lobby"))
        assert digested in run("digest")
        audited = run("audit")
        assert count in audited and role in audited


def test_the_help_is_in_the_language_of_the_locale(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LC_ALL", "fr_FR.UTF-8")
    monkeypatch.setenv("COLUMNS", "200")
    shown = started(RUN, "--help").stdout
    assert "Utilisation : hippocampe [OPTIONS]" in shown
    assert re.search(r"─ Tous les jours ─.*│ remember +Enregistre un énoncé", shown, re.DOTALL)
    assert "Codes de sortie : 0 réussi" in shown
    of_command = started(RUN, "forget", "--help").stdout
    for text in ("[obligatoire]", "[variable : HIPPOCAMPE_FOLDER]", "[par défaut : default]", "Où"):
        assert text in of_command
    assert re.search(r"Exemples? :\s+hippocampe forget", of_command)


@pytest.mark.parametrize(
    ("typed", "french", "english"),
    [
        (
            ["recal"],
            "cette commande n’existe pas : 'recal'. Vouliez-vous dire 'recall' ?",
            "No such",
        ),
        (["reviews", "setle"], "Vouliez-vous dire 'settle' ?", "No such command 'setle'"),
        (["facts", "get", "tea"], "cette commande n’existe pas : 'get'", "No such command 'get'"),
        (["recall"], "il manque l’argument 'query'.", "Missing argument 'query'."),
        (["recall", "a", "b"], "argument en trop (b)", "Got unexpected extra argument(s) (b)"),
        (["list", "--limit", "x"], "pour '--limit' / '-n' : il faut un nombre entier", "integer"),
        (["serve", "--port", "99999"], "pour '--port' : au plus 65535", "less than or equal"),
        (["serve", "--workers", "0"], "pour '--workers' : au moins 1", "greater than or equal"),
        (["edit", "a"], "indiquez ce qu’il faut changer, par exemple --content", "give a field"),
    ],
)
def test_a_wrong_command_line_is_explained_in_the_language(
    typed: list[str], french: str, english: str
) -> None:
    for locale, reason, usage in (
        ("fr_FR.UTF-8", french, "Utilisation : hippocampe"),
        ("C", english, "Usage: hippocampe"),
    ):
        done = CliRunner().invoke(app, typed, env={"LC_ALL": locale, "COLUMNS": "200"})
        assert done.exit_code == 2
        assert done.stderr.startswith("erreur : " if locale != "C" else "error: ")
        assert reason in done.stderr
        assert usage in done.stderr
        assert done.stderr.count("--help") == 1


def test_the_help_begins_with_the_daily_commands() -> None:
    shown = started(RUN, "--help").stdout
    places = [shown.index(f"│ {name} ") for name in (*DAILY, "edit")]
    assert places == sorted(places)
    assert all(shown.count(f"│ {name} ") == 1 for name in DAILY)
    # A flag takes no value.
    assert "--version" in shown
    assert "<bool>" not in shown


@pytest.mark.parametrize("typed", [("recall", "tea"), ("hook", "stop")])
def test_an_incomplete_language_is_a_clear_error(tmp_path: Path, typed: Any) -> None:
    data = tmp_path / "language"
    shutil.copytree(Path(language.__file__).parent, data)
    (data / "xx").mkdir()
    shutil.copy(data / "en/language.toml", data / "xx")
    broken = "import sys; from pathlib import Path; from hippocampe.language import lexicon; "
    broken += (
        f"lexicon.files = lambda package: Path({str(data)!r}); lexicon.languages.cache_clear(); "
    )
    done = started(broken + RUN, *typed, "--folder", str(tmp_path / "data"))
    if typed[0] == "hook":
        # A hook answers nothing, whatever happens.
        assert (done.returncode, done.stdout) == (0, "")
    else:
        assert done.returncode == 1
        assert done.stderr.startswith("error: language 'xx' has no columns.toml, ")
    assert "Traceback" not in done.stderr
