"""Encode the values and errors of the library as JSON, and decode them: what one process sends another."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import MISSING, fields, is_dataclass
from datetime import date, datetime, timedelta
from functools import cache
from pathlib import Path, PurePath
from types import NoneType, UnionType
from typing import Any, Literal, Union, cast, get_args, get_origin, get_type_hints

from hippocampe import errors
from hippocampe.errors import HippocampeError, ServerUnavailable
from hippocampe.types import Unset

MAX_REQUEST_BYTES = 64 * 2**20
"""Longest request that the owner of a folder reads."""


def encode(value: Any) -> Any:
    """Convert to JSON types: dataclasses to objects, times to ISO 8601, sequences to arrays."""
    if value is None or isinstance(value, str | int | float):
        return value
    if is_dataclass(value):
        return {each.name: encode(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, Mapping):
        items = cast("Mapping[str, Any]", value)
        # An omitted argument is absent from the JSON.
        return {key: encode(item) for key, item in items.items() if not isinstance(item, Unset)}
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, timedelta):
        return {"seconds": value.total_seconds()}
    if isinstance(value, PurePath):
        return str(value)
    if isinstance(value, Iterable):
        return [encode(item) for item in cast("Iterable[Any]", value)]
    raise TypeError(f"{type(value).__name__} has no form in JSON")


def decode(kind: Any, data: Any) -> Any:
    """Convert JSON types back to a value of a type, as `encode` wrote it.

    A value that does not fit is returned unchanged; the verb refuses it with a message.
    """
    origin = get_origin(kind)
    if origin in (Union, UnionType):
        return _one_of(get_args(kind), data)
    if isinstance(data, Mapping):
        return _object(kind, origin, cast("Mapping[str, Any]", data))
    if isinstance(data, list):
        return _array(kind, origin, cast("list[Any]", data))
    if isinstance(data, str):
        return _text(kind, data)
    if kind is float and isinstance(data, int) and not isinstance(data, bool):
        return float(data)
    return data


def _object(kind: Any, origin: Any, data: Mapping[str, Any]) -> Any:
    if is_dataclass(kind):
        hints = _hints(kind)
        # A later version may send more fields.
        known = {name: decode(hints[name], item) for name, item in data.items() if name in hints}
        return cast("type[Any]", kind)(**known)
    if kind is timedelta and [*data] == ["seconds"]:
        return timedelta(seconds=data["seconds"])
    if isinstance(origin, type) and issubclass(origin, Mapping):
        _, of = get_args(kind)
        return {key: decode(of, item) for key, item in data.items()}
    return data


def _array(kind: Any, origin: Any, data: list[Any]) -> Any:
    of = get_args(kind)
    if origin is tuple and of[-1] is not Ellipsis:
        return tuple(decode(each, item) for each, item in zip(of, data, strict=False))
    if origin is tuple:
        return tuple(decode(of[0], item) for item in data)
    if isinstance(origin, type) and issubclass(origin, Iterable) and of:
        made = [decode(of[0], item) for item in data]
        return tuple(made) if origin is Sequence else made
    return data


def _text(kind: Any, data: str) -> Any:
    if kind in (date, datetime):
        return kind.fromisoformat(data)
    return Path(data) if kind is Path else data


def _one_of(kinds: Sequence[Any], data: Any) -> Any:
    """Decode to the first type of a union that fits the data."""
    if data is None and NoneType in kinds:
        return None
    # Text stays text where both would fit: a verb parses times itself.
    fitting = sorted(
        (kind for kind in kinds if _fits(kind, data)), key=lambda kind: kind is not str
    )
    return decode(fitting[0], data) if fitting else data


def _fits(kind: Any, data: Any) -> bool:
    origin = get_origin(kind)
    if isinstance(data, Mapping):
        names = set(cast("Mapping[str, Any]", data))
        if is_dataclass(kind):
            return _required(kind) <= names <= _hints(kind).keys()
        if kind is timedelta:
            return names == {"seconds"}
        return isinstance(origin, type) and issubclass(origin, Mapping)
    if isinstance(data, list):
        return isinstance(origin, type) and not issubclass(origin, Mapping)
    if isinstance(data, str):
        return kind in (str, date, datetime, Path) or origin is Literal
    return isinstance(kind, type) and isinstance(data, kind)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


@cache
def _required(kind: Any) -> frozenset[str]:
    return frozenset(
        each.name
        for each in fields(kind)
        if each.default is MISSING and each.default_factory is MISSING
    )


KIND = "urn:hippocampe:"


def as_problem(error: HippocampeError) -> dict[str, str]:
    """Convert an error to a problem; `error_of` is the inverse."""
    return {"type": f"{KIND}{type(error).__name__}", "detail": str(error)}


def error_of(problem: Mapping[str, Any]) -> HippocampeError:
    """Convert a problem back to its error.

    Raises:
        KeyError: It has no type or no detail.
    """
    detail, kind = str(problem["detail"]), str(problem["type"]).removeprefix(KIND)
    found = getattr(errors, kind, None)
    if isinstance(found, type) and issubclass(found, HippocampeError):
        return found(detail)
    return ServerUnavailable(f"the server refused with status {problem.get('status')}: {detail}")
