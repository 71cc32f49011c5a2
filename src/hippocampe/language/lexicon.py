"""Load the data of the languages: one folder per language, with the same files in each.

Code names roles ("articles", "months"); the files list the words of each role, so adding a language
means adding a folder. Rules read all languages together, because people mix them in one sentence:
lists and words of one role are joined, tables are merged. Plain numbers and flags describe one
language and are only read from that language.

`relations.toml`, next to the folders, defines the relations; the folders give their wordings.
"""

import hashlib
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final, cast

RULE_FILES: Final = ("words", "time", "relations", "questions")
"""Files whose rules derive stored rows."""
RULES_VERSION: Final = 2
"""Incremented by a code change that alters the data derived from stored text."""


@cache
def languages() -> tuple[str, ...]:
    """Return the language codes, in the order in which their data is joined."""
    return tuple(
        sorted(
            folder.name for folder in files("hippocampe.language").iterdir() if _is_language(folder)
        )
    )


def _is_language(folder: Any) -> bool:
    return folder.is_dir() and folder.joinpath("words.toml").is_file()


@cache
def load(language: str, file: str) -> Mapping[str, Any]:
    """Load one file of one language."""
    return _parsed(language, f"{file}.toml")


@cache
def load_all(file: str) -> Mapping[str, Any]:
    """Load one file of every language, joined."""
    joined: dict[str, Any] = {}
    for language in languages():
        _join(joined, load(language, file))
    return joined


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


def table_of(role: str, *, file: str = "words") -> dict[str, Any]:
    """Return the merged table of a role; the first language wins on a duplicate key."""
    found: dict[str, Any] = {}
    for language in reversed(languages()):
        table: Any = load(language, file)
        for name in role.split("."):
            table = table.get(name, {})
        found |= table
    return found


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
