"""The catalogues: each language has every text of the source and a label for every value, and no more."""

import ast
import re
from collections.abc import Iterator
from dataclasses import fields
from functools import cache
from pathlib import Path
from typing import Any, get_args

import pytest
from babel.messages.catalog import Message
from babel.messages.extract import extract_from_dir
from typer.main import get_command

import hippocampe
from hippocampe import types
from hippocampe.cli import help
from hippocampe.cli.app import app
from hippocampe.cli.doctor import CHECKS
from hippocampe.cli.show.result import VIEWS
from hippocampe.client.arguments import result_type, signature
from hippocampe.curation.erase import INDEX
from hippocampe.hippocampe import SETTING_GROUPS, SETTINGS
from hippocampe.language.i18n import catalogue, translate
from hippocampe.language.lexicon import languages, relation_schema
from hippocampe.presentation.injections import STAGES
from hippocampe.presentation.reasons import OBJECTIONS, REASONS
from hippocampe.server.api.description import PARAGRAPHS, SUMMARY
from hippocampe.server.dashboard.memory import Lifetime
from hippocampe.server.dashboard.menu import MENU
from hippocampe.server.dashboard.search import Place
from hippocampe.server.dashboard.visit import THEMES
from hippocampe.store.postgres import KEPT, REWRITTEN
from hippocampe.types import (
    ASSOCIATIONS,
    CATEGORIES,
    DEFAULT_IMPORTANCE,
    JOBS,
    RECALL_COLLECTIONS,
    Action,
    AuditAction,
    ChangeKind,
    JobState,
    Memory,
    Mode,
    Order,
    Outcome,
    Part,
    ReceiptItem,
    Role,
    Route,
    Settings,
    State,
)
from hippocampe.verbs import VERBS, documentation

SOURCE = Path(hippocampe.__file__).parent
PAGES = SOURCE / "server/dashboard"
TERMINAL = SOURCE / "cli/show"


def columns() -> set[str]:
    """The headers of the tables of the terminal."""
    found = {"name", "number", "value"}
    for kind in (Memory, *_tabled()):
        found |= {each.name.replace("_", " ") for each in fields(kind)}
    for path in TERMINAL.glob("*.py"):
        for each in ast.walk(ast.parse(path.read_text("utf-8"))):
            match each:
                case ast.Call(ast.Name("table"), args):
                    inner = [node for given in args for node in ast.walk(given)]
                    found |= {node.value for node in inner if isinstance(node, ast.Constant)}
                case ast.Call(ast.Name("listing"), _, columns):
                    found |= {column.arg for column in columns if column.arg}
                    keys = [key for one in columns for key in getattr(one.value, "keys", ())]
                    found |= {key.value for key in keys}
    return found


def helps() -> set[str]:
    """The texts of the help of the command line."""

    def walk(command: Any, name: str, parent: Any = None) -> Iterator[str]:
        ctx = command.make_context(name, [], parent=parent, resilient_parsing=True)
        for each, attribute in help.places(command, ctx):
            paragraphs = getattr(each, attribute).split(help.BREAK)
            yield from paragraphs[:1] if paragraphs[0] in help.EXAMPLES else paragraphs
        for name, each in getattr(command, "commands", {}).items():
            yield from walk(each, name, ctx)

    return {*walk(get_command(app), "hippocampe"), *help.TITLES.values(), help.USAGE, help.HELP}


def _tabled() -> Iterator[Any]:
    """The types that the terminal shows by their fields."""
    for name, verb in VERBS.items():
        returned = signature(name).returns
        if verb.command and result_type(name) not in VIEWS:
            for each in re.findall(r"hippocampe\.types\.(\w+)", returned):
                yield getattr(types, each)


REMOVED = {"forgotten", "erased", "expired"}
LABELS: dict[str, set[str]] = {
    "actor": {"library", "command line", "local"},
    "association": set(ASSOCIATIONS),
    "association reversed": set(ASSOCIATIONS),
    "audit": set(get_args(AuditAction)),
    "category": {f"{name}/{each}" for name, all in CATEGORIES.items() for each in all},
    "change": {
        *get_args(ChangeKind),
        *get_args(Action),
        *REMOVED,
        "digested",
        "read",
        "restored",
    },
    "check": set(CHECKS),
    "column": columns(),
    "file": {"database", "index", "backups"},
    "filter": {"place", "type", "subject", "user", "channel", "since", "until", "importance"},
    "help": helps(),
    "job": set(JOBS),
    "job state": set(get_args(JobState)),
    "kind": {*DEFAULT_IMPORTANCE, *RECALL_COLLECTIONS},
    "lifetime": {*get_args(Lifetime), "always"} - {""},
    "matched": set(re.findall(r"`(\w+)`", documentation(ReceiptItem).arguments["matched"]))
    - VERBS.keys(),
    "menu": {each.group for each in MENU} - {""},
    "mode": set(get_args(Mode)),
    "order": set(get_args(Order)),
    "outcome": set(get_args(Outcome)),
    "companion mode": set(SETTINGS["companion_mode"].choices),
    "part": set(get_args(Part)),
    "part of a request": {"header", "path", "query"},
    "place": set(get_args(Place)),
    "planned": REMOVED,
    "reason": {*REASONS, *OBJECTIONS.values()},
    "remains": {INDEX, *REWRITTEN, *KEPT},
    "role": set(get_args(Role)),
    "route": {*get_args(Route), "companion"},
    "section": {each.name for each in MENU},
    "setting": set(SETTINGS),
    "setting group": set(SETTING_GROUPS),
    "stage": set(STAGES),
    "state": {*get_args(State), "expired", "former"},
    "states": set(get_args(State)),
    "theme": set(THEMES),
}
"""The values of each kind; kinds without a list of their values are not here."""
OPEN = {
    *("count", "decided outcome", "decided relation", "decision", "purpose", "skipped"),
    "error",
    "recorded",
    "why asked",
}


def extracted(folder: Path, keywords: dict[str, Any], files: str, method: str) -> set[Any]:
    found = extract_from_dir(folder, keywords=keywords, method_map=[(files, method)])
    return {message for _, _, message, _, _ in found} - {""}


@cache
def in_source() -> set[Any]:
    plural: dict[str, Any] = {"count": (1, 2)}
    return (
        extracted(SOURCE, {"translate": None, "say": None}, "**.py", "python")
        | extracted(PAGES, plural, "**.py", "python")
        | extracted(PAGES, {"_": None} | plural, "templates/**.html", "jinja2.ext:babel_extract")
        | set(documentation(Settings).arguments.values())
        | {SUMMARY, *PARAGRAPHS}
    )


def entries(language: str) -> list[Message]:
    return [entry for entry in catalogue(language) if entry.id]


def forms(entry: Message) -> list[tuple[str, str]]:
    """The texts of an entry with their translations: one, or one per plural form."""
    ids, texts = entry.id, entry.string
    if isinstance(ids, str):
        return [(ids, str(texts))]
    return list(zip(ids, texts, strict=True))


@pytest.mark.parametrize("language", languages())
def test_every_text_of_the_source_is_there_and_no_more(language: str) -> None:
    ids = {entry.id for entry in entries(language) if entry.context is None}
    assert ids == in_source()
    for entry in entries(language):
        assert not entry.fuzzy
        for text, translation in forms(entry):
            assert translation or language == "en", f"{text!r} is not translated"
            if translation and entry.context != "count":
                assert sorted(re.findall(r"{\w*}", text)) == sorted(
                    re.findall(r"{\w*}", translation)
                )


@pytest.mark.parametrize("language", languages())
def test_every_value_has_a_label(language: str) -> None:
    found: dict[str, set[str]] = {}
    for entry in entries(language):
        if entry.context is not None and entry.context not in OPEN:
            found.setdefault(entry.context, set()).add(str(entry.id))
    assert found == LABELS


@pytest.mark.parametrize("language", languages())
def test_every_relation_of_a_decision_has_a_name(language: str) -> None:
    schema = relation_schema()
    names = {
        entry.get("name", key.replace("_", " "))
        for table in ("relations", "attributes")
        for key, entry in schema[table].items()
    }
    known = {entry.id for entry in entries(language) if entry.context == "decided relation"}
    assert names <= known


@pytest.mark.parametrize("language", languages())
def test_every_counted_noun_of_the_source_has_plural_forms(language: str) -> None:
    known = {entry.id[0] for entry in entries(language) if entry.context == "count"}
    calls = re.compile(r"""\b(?:count|amount)\([^"'\n]*, ["']([a-z ]+)["']\)""")
    for path in (*SOURCE.rglob("cli/**/*.py"), *PAGES.rglob("*.html"), *PAGES.rglob("*.py")):
        assert set(calls.findall(path.read_text("utf-8"))) <= known, path


def test_every_text_to_translate_is_written_out() -> None:
    calls = re.compile(r"\btranslate\(\s*(?!\")(?!text: str)(\S+)")
    for path in SOURCE.rglob("*.py"):
        code = re.sub(r"\.translate\(", "", path.read_text("utf-8"))
        # These translate for their callers, whose texts are extracted by the name of the method.
        assert path.name in ("reader.py", "render.py") or not calls.search(code), path.name


def test_a_text_without_translation_is_itself() -> None:
    assert translate("no such text", "fr") == "no such text"
