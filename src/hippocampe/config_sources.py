"""Load the configuration of a program: flags, before environment variables, before a file, before defaults.

The file is TOML, with the fields of `Config` by name. A variable is `HIPPOCAMPE_` and the name of a field.
"""

import os
import tomllib
import types
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, fields
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Union, cast, get_args, get_origin, get_type_hints

from hippocampe.config import Config
from hippocampe.errors import InvalidInput
from hippocampe.system.environment import variable
from hippocampe.system.folders import config_folder, data_folder

PREFIX = "HIPPOCAMPE_"
FILE_VARIABLE = "HIPPOCAMPE_CONFIG"
FILE_NAME = "hippocampe.toml"
FLAG = "--set"
_FLAGS = {
    **dict.fromkeys(("true", "yes", "on", "1"), True),
    **dict.fromkeys(("false", "no", "off", "0"), False),
}
_SPELLED: Mapping[Any, str] = {
    str: "text",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    tuple: "a list of texts",
    Path: "a path",
}
"""The values of a field in words, by its type."""
_HINTS = get_type_hints(Config)
FIELDS = tuple(field.name for field in fields(Config))
SECRET = frozenset(field.name for field in fields(Config) if not field.repr)
"""Fields whose values are never shown."""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A configuration, and where its values come from.

    Attributes:
        file: The file that was read, if there is one.
        origins: By name of a field that is set: the flag, the variable or the file.
    """

    config: Config
    file: Path | None
    origins: Mapping[str, str]


def load(
    *,
    file: Path | None = None,
    flags: Mapping[str, Any] | None = None,
    chosen: Mapping[str, str] | None = None,
    environment: Mapping[str, str] | None = None,
) -> Loaded:
    """Read the configuration of this process.

    Args:
        file: The file; default: that of `HIPPOCAMPE_CONFIG`, or `hippocampe.toml` in the user's folder of
            configurations if it exists.
        flags: Values by name that the command line gave; None counts as not given.
        chosen: Values as text by name, of `--set`.
        environment: Environment variables; default: those of the process.

    Raises:
        InvalidInput: The file cannot be read, or a value cannot be used; the message says where it is.
    """
    environment = os.environ if environment is None else environment
    path = _path(file, environment)
    values: dict[str, Any] = {}
    origins: dict[str, str] = {}
    for name, value in (_read(path) if path is not None else {}).items():
        values[name], origins[name] = _of_toml(name, value, path), str(path)
    for name in FIELDS:
        origin = f"{PREFIX}{name.upper()}"
        if text := variable(origin, environment):
            values[name], origins[name] = parse(name, text, origin), origin
    for name, text in (chosen or {}).items():
        values[name], origins[name] = parse(_known(name, FLAG), text, FLAG), FLAG
    for name, value in (flags or {}).items():
        if value is not None and str(value) != environment.get(f"{PREFIX}{name.upper()}"):
            values[name], origins[name] = value, f"--{name.replace('_', '-')}"
    if "folder" not in values:
        values["folder"] = data_folder()
    try:
        return Loaded(Config(**values), path, origins)
    except InvalidInput as exc:
        message = str(exc)
        for name, at in origins.items():
            if name in str(exc):
                message = f"{message} {name} is set by {at}."
        raise InvalidInput(message) from exc


def default(name: str) -> object:
    """The default of a field of `Config`; that of `folder` depends on the user."""
    found = next(field for field in fields(Config) if field.name == name)
    return None if found.default is MISSING else found.default


def parse(name: str, text: str, place: str) -> Any:
    """A value of a field from text; lists are separated by commas.

    Raises:
        InvalidInput: The text has no such value. The message names the place, not the text, which may be secret.
    """
    kind = _kind(name)
    try:
        if kind is bool:
            return _FLAGS[text.lower()]
        if kind is tuple:
            return tuple(part for each in text.split(",") if (part := each.strip()))
        return Path(text).expanduser() if kind is Path else kind(text)
    except (KeyError, ValueError) as exc:
        raise InvalidInput(f"{place}: {name} must be {_SPELLED[kind]}.") from exc


def _path(file: Path | None, environment: Mapping[str, str]) -> Path | None:
    """The path of the file to read; None if none is named and the default one does not exist."""
    named = file or (Path(text) if (text := variable(FILE_VARIABLE, environment)) else None)
    if named is not None:
        return named.expanduser()
    try:
        usual = config_folder() / FILE_NAME
    except InvalidInput:  # no home: the folder may be named
        return None
    # The home may be that of another user, whose folders this one cannot search.
    return usual if os.path.isfile(usual) else None  # noqa: PTH113


def _read(path: Path) -> dict[str, Any]:
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except OSError as exc:
        raise InvalidInput(
            f"cannot read the configuration {path}: {exc.strerror}. Name another with --config."
        ) from exc
    except ValueError as exc:  # of TOML or UTF-8
        raise InvalidInput(f"{path} is not TOML: {exc}.") from exc
    return {_known(name, str(path)): value for name, value in found.items()}


def _known(name: str, place: str) -> str:
    if name in FIELDS:
        return name
    close = get_close_matches(name, FIELDS, n=1)
    way_out = f"did you mean {close[0]}?" if close else f"choose from {', '.join(FIELDS)}."
    raise InvalidInput(f"{place}: there is no setting {name!r}: {way_out}")


def _of_toml(name: str, value: Any, path: Path | None) -> Any:
    """A checked value of the file; relative paths begin at the file."""
    kind = _kind(name)
    if kind is tuple and isinstance(value, list):
        if all(isinstance(each, str) for each in cast("list[Any]", value)):
            return tuple(cast("list[str]", value))
    elif kind is Path and isinstance(value, str):
        return (path.parent if path else Path()) / Path(value).expanduser()
    elif kind is float and isinstance(value, int | float) and not isinstance(value, bool):
        return float(value)
    elif type(value) is kind:
        return value
    raise InvalidInput(f"{path}: {name} must be {_SPELLED[kind]}.")


def _kind(name: str) -> Any:
    """The type of a field: one of str, bool, int, float, Path and tuple."""
    hint = _HINTS[name]
    if get_origin(hint) in (Union, types.UnionType):
        several = [each for each in get_args(hint) if each is not types.NoneType]
        hint = str if str in several else several[0]
    return get_origin(hint) or hint
