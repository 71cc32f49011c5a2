"""Load the data of the languages: one folder per language, with the same files in each.

A folder with `language.toml` is a language: its words, times, prompts and catalogues, nothing is listed in
code. Code names roles ("articles", "months"); the files list the words of each role. Rules read all
languages together, because people mix them in one sentence: lists and words of one role are joined, tables
are merged. Plain numbers and flags describe one language and are only read from that language.

`relations.toml`, next to the folders, defines the relations; the folders give their wordings.
"""

import hashlib
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any, Final, cast

from hippocampe.errors import UnreadableFile

REFERENCE: Final = "en"
"""The language whose folder defines the files and roles of all, as the messages in the source are English."""
TABLES_OF_WORDS: Final = frozenset(
    f"{file}.{table}"
    for file, tables in {
        "words": "spellings glued ordinals units kin elided clitics contracted merged numbers",
        "questions": "idioms counting health haste glued memory.macros memory.rewritten memory.spellings",
        "time": "capital_months feasts amounts",
        "relations": "macros attributes.names relations",
    }.items()
    for table in tables.split()
)
"""Tables whose keys are words of the language or optional, not roles."""
RULE_FILES: Final = ("words", "time", "relations", "questions")
"""Files whose rules derive stored rows."""
RULES_VERSION: Final = 3
"""Incremented by a code change that alters the data derived from stored text."""


@cache
def languages() -> tuple[str, ...]:
    """Return the language codes, in the order in which their data is joined.

    Raises:
        UnreadableFile: A language lacks files.
    """
    root = files("hippocampe.language")
    found = sorted(
        folder.name for folder in root.iterdir() if folder.joinpath("language.toml").is_file()
    )
    required = set(_paths(root.joinpath(REFERENCE)))
    for language in found:
        if missing := required.difference(_paths(root.joinpath(language))):
            raise UnreadableFile(
                f"language {language!r} has no {', '.join(sorted(missing))}: copy from language/{REFERENCE}."
            )
    return tuple(found)


def _paths(folder: Traversable, prefix: str = "") -> Iterator[str]:
    for each in folder.iterdir():
        if each.is_dir():
            yield from _paths(each, f"{prefix}{each.name}/")
        else:
            yield prefix + each.name


@cache
def load(language: str, file: str) -> Mapping[str, Any]:
    """Load one file of one language.

    Raises:
        UnreadableFile: The file lacks roles, or is no TOML.
    """
    name = f"{file}.toml"
    try:
        data = _parsed(language, name)
    except tomllib.TOMLDecodeError as exc:
        raise UnreadableFile(f"language {language!r}: {name} cannot be parsed: {exc}.") from exc
    if language != REFERENCE:
        found = dict(roles(data, file))
        required = roles(load(REFERENCE, file), file)
        missing = [
            f"{role.removeprefix(f'{file}.')} ({kind})"
            for role, kind in required
            if found.get(role) != kind
        ]
        if missing:
            raise UnreadableFile(
                f"language {language!r}: {name} has no {', '.join(missing)}: copy from "
                f"language/{REFERENCE}/{name}, and leave roles without words empty."
            )
    return data


def roles(data: Mapping[str, Any], name: str) -> Iterator[tuple[str, str]]:
    """Yield the dotted name of each role of a file, and the type of its value."""
    for key, value in data.items():
        role, kind = f"{name}.{key}", type(value).__name__
        if isinstance(value, dict) and role not in TABLES_OF_WORDS:
            yield from roles(cast("dict[str, Any]", value), role)
        else:
            yield role, kind


@cache
def load_all(file: str) -> Mapping[str, Any]:
    """Load one file of every language, joined."""
    joined: dict[str, Any] = {}
    for language in languages():
        _join(joined, load(language, file))
    return joined


def stemmers() -> tuple[str, ...]:
    """Return the distinct stemmers of the languages, in the order of their languages."""
    named = (load(each, "language")["stemmer"] for each in languages())
    return tuple(dict.fromkeys(filter(None, named)))


@cache
def relation_schema() -> Mapping[str, Any]:
    """Load the relations and attributes of `relations.toml`, by name."""
    return _parsed("relations.toml")


@cache
def words_of(role: str, *, file: str = "words", language: str | None = None) -> frozenset[str]:
    """Return the words of a role as written; empty when no language defines the role.

    Args:
        role: Name of the role; dots lead into tables ("negation.alone").
        file: File without its suffix.
        language: Only this language; None joins all.
    """
    found: Any = load_all(file) if language is None else load(language, file)
    for name in role.split("."):
        found = found.get(name, {})
    return frozenset(found.split() if isinstance(found, str) else found)


def any_of(patterns: Iterable[str]) -> str:
    """Return an expression that matches one of several, or one of the words of a text; nothing if there are none."""
    listed = patterns.split() if isinstance(patterns, str) else patterns
    return f"(?:{'|'.join(listed) or '(?!)'})"


def table_of(role: str, *, file: str = "words") -> dict[str, Any]:
    """Return the merged table of a role; the first language wins on a duplicate key."""
    found: dict[str, Any] = {}
    for language in reversed(languages()):
        table: Any = load(language, file)
        for name in role.split("."):
            table = table.get(name, {})
        found |= table
    return found


def pairs_of(role: str) -> tuple[tuple[frozenset[str], frozenset[str]], ...]:
    """Return the pairs of two sides of a role, such as contraries: the words of each side."""
    sides = (each.partition("/") for each in load_all("words")[role])
    return tuple((frozenset(one.split()), frozenset(other.split())) for one, _, other in sides)


@cache
def rules_digest() -> str:
    """Return a digest of the rules, stored to detect rows derived by older rules."""
    whole = hashlib.blake2b(str(RULES_VERSION).encode(), digest_size=16)
    parts = [(language, f"{file}.toml") for language in languages() for file in RULE_FILES]
    for part in (("relations.toml",), *parts):
        whole.update("/".join(part).encode())
        whole.update(_source(*part).encode())
    return whole.hexdigest()


def _parsed(*path: str) -> dict[str, Any]:
    return tomllib.loads(_source(*path))


def _source(*path: str) -> str:
    return files("hippocampe.language").joinpath(*path).read_text(encoding="utf-8")


def _join(joined: dict[str, Any], more: Mapping[str, Any]) -> None:
    for name, value in more.items():
        if isinstance(value, dict):
            _join(joined.setdefault(name, {}), cast("dict[str, Any]", value))
        elif isinstance(value, str):
            joined[name] = f"{joined[name]} {value}" if name in joined else value
        elif isinstance(value, list):
            joined[name] = [*joined.get(name, []), *cast("list[Any]", value)]
