"""The arguments and the results of the verbs, for programs that do not load the library.

They are those of the steps. To read a step loads the whole library, which takes longer than most commands, so they
are kept in `arguments.json`, which `python tests/test_reference.py` writes.
"""

import datetime
import json
import pathlib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from types import NoneType, SimpleNamespace
from typing import Any, cast, get_type_hints

from hippocampe import types

FILE = "arguments.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Argument:
    """An argument of a verb.

    Attributes:
        kind: Its values: `str`, `int`, `float`, `bool`, `Path`, `datetime`, `timedelta`, `Sequence` or `Mapping`.
        positional: Whether it can be given without its name.
        default: Its default; None if it is left out.
        text: Its text in the docstring of the verb.
        values: The values that its type or its text names, if they are few.
    """

    name: str
    kind: str
    positional: bool = False
    required: bool = False
    default: Any = None
    text: str = ""
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Signature:
    """The arguments of a verb and its result.

    Attributes:
        arguments: Its arguments by name, without the scope and the progress.
        takes: Which of `scope` and `progress` it takes.
        returns: The annotation of its result.
    """

    arguments: Mapping[str, Argument]
    takes: frozenset[str]
    returns: str


@cache
def signature(verb: str) -> Signature:
    """The signature of a verb."""
    found = _all()[verb]
    arguments = {name: _argument(name, each) for name, each in found["arguments"].items()}
    return Signature(arguments, frozenset(found["takes"]), found["returns"])


def _argument(name: str, stored: Mapping[str, Any]) -> Argument:
    fields: dict[str, Any] = {
        field: tuple(cast("list[str]", value)) if isinstance(value, list) else value
        for field, value in stored.items()
    }
    return Argument(name=name, **fields)


@cache
def result_type(verb: str) -> Any:
    """The type of the result of a verb."""
    names = {
        "hippocampe": SimpleNamespace(types=types),
        "datetime": datetime,
        "pathlib": pathlib,
        "NoneType": NoneType,
    }
    annotated = type("Result", (), {"__annotations__": {"returned": signature(verb).returns}})
    return get_type_hints(annotated, names)["returned"]


@cache
def _all() -> Mapping[str, Any]:
    return json.loads(files("hippocampe.client").joinpath(FILE).read_text(encoding="utf-8"))
