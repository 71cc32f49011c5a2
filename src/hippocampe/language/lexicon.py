"""The data of the languages: a folder for each beside this module, with the same files in all.

Code names roles ("articles", "months"); the folders say which words play them, so a new language
is a new folder. People mix languages in one sentence, so rules read all languages together:
lists and words of one role are joined, tables are merged. A plain number or flag is a trait of its
own language, and is only seen where one language is asked for.

`relations.toml` beside the folders names the relations whose wordings the folders give.
"""

import hashlib
import tomllib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from typing import Any, Final, cast

RULE_FILES: Final = ("words", "time", "relations", "questions")
"""The files that the rules of derived rows read."""
RULES_VERSION: Final = 1
"""Raise it when the code of a rule changes what is derived from a stored text."""


@cache
def languages() -> tuple[str, ...]:
    """The codes of the languages, in the order in which their data is joined."""
    return tuple(
        sorted(folder.name for folder in files("hippocampe.language").iterdir() if _holds(folder))
    )


def _holds(folder: Any) -> bool:
    return folder.is_dir() and folder.joinpath("words.toml").is_file()


@cache
def of(language: str, file: str) -> Mapping[str, Any]:
    """One file of one language."""
    return _parsed(language, f"{file}.toml")


@cache
def together(file: str) -> Mapping[str, Any]:
    """One file of all languages, joined."""
    joined: dict[str, Any] = {}
    for language in languages():
        _join(joined, of(language, file))
    return joined


@cache
def relations() -> Mapping[str, Any]:
    """The relations and attributes of `relations.toml`, by name."""
    return _parsed("relations.toml")


@cache
def words(role: str, *, file: str = "words", language: str | None = None) -> frozenset[str]:
    """The words of a role, as written: of all languages, or of one.

    A role that a language lacks has no words in it. `role` may lead into a table: "negation.alone".
    """
    found: Any = together(file) if language is None else of(language, file)
    for name in role.split("."):
        found = found.get(name, {})
    return frozenset(found.split() if isinstance(found, str) else found)


def mapping(role: str, *, file: str = "words") -> dict[str, Any]:
    """A table of a role, of all languages; where two know one name, the first language's holds."""
    found: dict[str, Any] = {}
    for language in reversed(languages()):
        table: Any = of(language, file)
        for name in role.split("."):
            table = table.get(name, {})
        found |= table
    return found


@cache
def digest() -> str:
    """The same for the same rules: what was derived by others is derived again."""
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
