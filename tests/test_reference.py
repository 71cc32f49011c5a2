"""The tables of docs/reference.md and the arguments of the command line, made of the declarations.

Run `python tests/test_reference.py` after a change.
"""

import dataclasses
import inspect
import json
import re
import types
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from importlib import import_module
from os import PathLike
from pathlib import Path
from typing import Any, Literal, Union, get_args, get_origin, get_type_hints

from fastapi.routing import APIRoute
from typer.main import get_command

from hippocampe import Hippocampe, client
from hippocampe.cli.app import app
from hippocampe.client.arguments import FILE
from hippocampe.server.api import chat, composed, operation, transfer
from hippocampe.server.api import endpoints as endpoints_of_verbs
from hippocampe.server.http.dependencies import SCOPES
from hippocampe.server.mcp.service import TOOL_SETS
from hippocampe.types import Unset
from hippocampe.verbs import VERBS, documentation

ARGUMENTS = Path(client.__file__).with_name(FILE)
CONSTANT = re.compile(r"`(hippocampe\.\w+)\.([A-Z_]+)`")
"""A constant in a docstring, whose values an argument takes."""
CLASS = re.compile(r"<class '([\w.]+)'>")
PAGE = Path(__file__).parent.parent / "docs" / "reference.md"
GROUPS = tuple(dict.fromkeys(verb.group for verb in VERBS.values()))


def verbs() -> str:
    """A table of verbs for each group."""
    parts: list[str] = []
    for group in GROUPS:
        rows = [_verb(name) for name, verb in VERBS.items() if verb.group == group]
        parts.append(f"### {group}\n\n{_table('verb', 'returns', 'does', rows=rows)}")
    return "\n\n".join(parts)


def _verb(name: str) -> tuple[str, str, str]:
    verb = getattr(Hippocampe, name)
    found = [*inspect.signature(verb).parameters.values()][1:]
    typed, named = list[str](), False
    for each in found:
        if each.name == "scope":
            continue
        if each.kind is each.KEYWORD_ONLY and not named:
            typed.append("*")
            named = True
        typed.append(f"**{each.name}" if each.kind is each.VAR_KEYWORD else each.name)
    does = _first(documentation(verb).text)
    if not any(each.name == "scope" for each in found) and "no scope" not in does:
        does += " Takes no scope."
    return f"`{name}({', '.join(typed)})`", _returned(get_type_hints(verb)["return"]), does


def _returned(hint: Any) -> str:
    if hint is types.NoneType:
        return "nothing"
    if dataclasses.is_dataclass(hint) and len(fields := dataclasses.fields(hint)) <= 8:
        return f"`{_name(hint)}({', '.join(each.name for each in fields)})`"
    return f"`{_name(hint)}`"


def _name(hint: Any) -> str:
    if hint is types.NoneType:
        return "None"
    if hint is ...:
        return "..."
    inner = [_name(each) for each in get_args(hint) if each is not Unset]
    if get_origin(hint) in (Union, types.UnionType):
        return " or ".join(inner)
    name = getattr(get_origin(hint) or hint, "__name__", str(hint))
    return f"{name}[{', '.join(inner)}]" if inner else name


def _first(text: str) -> str:
    """The first paragraph of a docstring, on one line, for a cell."""
    return " ".join(text.split("\n\n")[0].split()).replace("|", "\\|")


def commands() -> str:
    """A table of the commands."""
    return _table("command", "effect", rows=list(_commands(get_command(app))))


def _commands(group: Any, words: str = "") -> Iterator[tuple[str, str]]:
    for name, command in group.commands.items():
        typed = f"{words} {name}".strip()
        if hasattr(command, "commands"):
            yield from _commands(command, typed)
            continue
        given = [each for each in command.params if each.param_type_name == "argument"]
        named = [(each.metavar or each.name or "").upper() for each in given]
        shown = " ".join([typed, *(re.sub(r"[\[\]]", "", each) for each in named)])
        yield f"`{shown}`", _first(command.help or "")


def endpoints() -> str:
    """A table of endpoints for each section of the OpenAPI document."""
    roles = {each.__metadata__[0].dependency: role for role, each in SCOPES.items()}
    found: dict[str, list[tuple[str, str, str]]] = {}
    for route in _routes():
        needed = [roles[each.call] for each in route.dependant.dependencies if each.call in roles]
        request = f"`{' '.join(route.methods)} {route.path.replace(':path', '')}`"
        row = (request, needed[0] if needed else "none", _does(route))
        found.setdefault(str(route.tags[0]), []).append(row)
    return "\n\n".join(
        f"### {tag}\n\n{_table('method and path', 'role', 'does', rows=rows)}"
        for tag, rows in found.items()
    )


def _routes() -> Iterator[APIRoute]:
    parts = (composed, chat, transfer, operation)
    for router in (endpoints_of_verbs.routes(), *(each.router for each in parts)):
        for route in router.routes:
            if isinstance(route, APIRoute) and route.include_in_schema:
                yield route


def _does(route: APIRoute) -> str:
    text = _first(route.description)
    return f"`{route.name}`: {text}" if route.name in VERBS else text


def tools() -> str:
    """A table of the tools for MCP."""
    return _table(
        "tool",
        "effect",
        rows=[
            (
                f"`{tool.name}({', '.join(tool.arguments.model_fields)})`",
                _first(tool.description).split(". ")[0],
            )
            for tool in TOOL_SETS["all"]
        ],
    )


def _table(*columns: str, rows: list[Any]) -> str:
    lines = [columns, ["---"] * len(columns), *rows]
    return "\n".join(f"| {' | '.join(cells)} |".replace("| --- ", "|---") for cells in lines)


TABLES = {"verbs": verbs, "commands": commands, "endpoints": endpoints, "tools": tools}


def page() -> str:
    """The page with its tables made again."""
    text = PAGE.read_text(encoding="utf-8")
    for name, made in TABLES.items():
        begin, end = f"<!-- {name}: made by tests/test_reference.py -->", f"<!-- end of {name} -->"
        head, rest = text.split(begin)
        text = f"{head}{begin}\n\n{made()}\n\n{end}{rest.split(end)[1]}"
    return text


def arguments() -> str:
    """The signatures of the verbs for the command line, as JSON."""
    found: dict[str, Any] = {}
    for name in VERBS:
        verb = getattr(Hippocampe, name)
        texts, hints = documentation(verb).arguments, get_type_hints(verb)
        parameters = [*inspect.signature(verb).parameters.values()][1:]
        named = {each.name for each in parameters}
        found[name] = {
            "takes": sorted(named & {"scope", "progress"}),
            # Python 3.13 alone names a private module.
            "returns": CLASS.sub(r"\1", str(hints["return"])).replace(
                "pathlib._local.", "pathlib."
            ),
            "arguments": {
                each.name: _argument(each, hints[each.name], texts.get(each.name, ""))
                for each in parameters
                if each.name not in ("scope", "progress")
            },
        }
    return json.dumps(found, indent=1, ensure_ascii=False) + "\n"


def _argument(parameter: inspect.Parameter, hint: Any, text: str) -> dict[str, Any]:
    kind, values = _kind(hint)
    if constant := CONSTANT.search(text):
        values = getattr(import_module(constant[1]), constant[2])
    default = parameter.default
    stored: dict[str, Any] = {"kind": kind}
    if parameter.kind is parameter.POSITIONAL_OR_KEYWORD:
        stored["positional"] = True
    if default is parameter.empty:
        stored["required"] = True
    elif default is not None and not isinstance(default, Unset):
        stored["default"] = default
    return stored | ({"text": text} if text else {}) | ({"values": list(values)} if values else {})


def _kind(hint: Any) -> tuple[str, Sequence[str]]:
    """The kind of an argument of a type, and its values if the type names them."""
    members = get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,)
    kinds = {get_origin(each) or each: each for each in members}
    for known in (datetime, timedelta, Sequence, Mapping, Literal, PathLike):
        if known in kinds:
            inner = get_args(kinds[known])
            if known is Sequence and get_origin(inner[0]) is Literal:
                inner = get_args(inner[0])
            values = inner if all(isinstance(each, str) for each in inner) else ()
            name = {Literal: "str", PathLike: "Path"}.get(known) or known.__name__
            return name, values
    return getattr(members[0], "__name__", "str"), ()


def test_the_arguments_of_the_command_line_are_those_of_the_steps() -> None:
    assert ARGUMENTS.read_text(encoding="utf-8") == arguments(), (
        "run `python tests/test_reference.py`"
    )


def test_the_tables_of_the_reference_are_made_of_the_declarations() -> None:
    made = page()
    assert PAGE.read_text(encoding="utf-8") == made, "run `python tests/test_reference.py`"


if __name__ == "__main__":
    ARGUMENTS.write_text(arguments(), encoding="utf-8")
    PAGE.write_text(page(), encoding="utf-8")
