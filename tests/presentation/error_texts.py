"""The texts of the source that become messages of errors, found in its syntax trees."""

import ast
import re
from collections import defaultdict
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import hippocampe
from hippocampe import errors

SOURCE = Path(hippocampe.__file__).parent
REASONS = {"BadParameter", "Examined", "Problem", "_Failed", "add_note"}
"""Calls with a reason that a person reads, beside those of the classes of errors."""
ERRORS = {name for name in vars(errors) if name[0].isupper()} | REASONS
UNNAMED = {"shown", "str", "len", "cast", "join", "min", "sorted", "type", "self", "or", "None"}
"""Names in a placeholder that say nothing of its value."""

Function = ast.FunctionDef | ast.AsyncFunctionDef


def template(node: ast.AST) -> str | None:
    """The text of a string with a named placeholder for each value; None for other expressions."""
    match node:
        case ast.Constant(str(text)):
            return text
        case ast.JoinedStr(parts):
            names = list[str]()
            return "".join(
                _placeholder(part, names)
                if isinstance(part, ast.FormattedValue)
                else template(part) or ""
                for part in parts
            )
        case _:
            return None


def shape(text: str) -> str:
    """A template without the names of its placeholders."""
    return re.sub(r"{\w+}", "{}", text)


def texts(folder: Path = SOURCE) -> set[str]:
    """The shapes of all texts of a package."""
    return {
        shape(text)
        for path in folder.rglob("*.py")
        for node in _nodes(path)
        if (text := template(node))
    }


@cache
def messages() -> dict[str, str]:
    """The messages of errors, and the texts that are inserted into them, each with its place."""
    found: dict[str, str] = {}
    for path in _paths():
        module, *others = _nodes(path)
        assert isinstance(module, ast.Module)
        for function in (module, *(each for each in others if isinstance(each, Function))):
            for node in _own(function):
                if isinstance(node, ast.Call) and _name(node.func) in ERRORS:
                    for argument in node.args:
                        for text in filter(_readable, _resolved(argument, function, module)):
                            found.setdefault(text, f"{path.relative_to(SOURCE)}:{node.lineno}")
    return found


def _resolved(node: ast.AST, scope: ast.AST, module: ast.Module) -> Iterator[str]:
    """The texts of an expression: names by their assignments, parameters by the calls of their function."""
    match node:
        case ast.Constant(str(text)):
            yield text
        case ast.JoinedStr(parts):
            yield template(node) or ""
            for part in parts:
                if isinstance(part, ast.FormattedValue):
                    yield from _resolved(part.value, scope, module)
        case ast.IfExp(body=body, orelse=other):
            yield from _resolved(body, scope, module)
            yield from _resolved(other, scope, module)
        case ast.Name(id=name):
            if isinstance(scope, Function):
                yield from _assigned(name, scope, module)
                yield from filter(_prose, _given(scope, name))
            yield from filter(_prose, _assigned(name, module, module))
        case _:
            pass


def _assigned(name: str, scope: ast.AST, module: ast.Module) -> Iterator[str]:
    for each in _own(scope):
        if isinstance(each, ast.Assign) and _name(each.targets[0]) == name:
            yield from _resolved(each.value, module, module)


def _given(function: Function, name: str) -> Iterator[str]:
    """The texts that calls give for a parameter of a function."""
    every = function.args
    names = [each.arg for each in (*every.posonlyargs, *every.args) if each.arg != "self"]
    if name in (*names, *(each.arg for each in every.kwonlyargs)):
        for call in _calls()[function.name]:
            given = [
                *zip(names, call.args, strict=False),
                *((each.arg, each.value) for each in call.keywords),
            ]
            yield from (template(value) or "" for parameter, value in given if parameter == name)


@cache
def _calls() -> dict[str, list[ast.Call]]:
    """All calls of the source, by the name of their function."""
    found = defaultdict[str, list[ast.Call]](list)
    for path in _paths():
        for node in _nodes(path):
            if isinstance(node, ast.Call):
                found[_name(node.func)].append(node)
    return found


def _readable(text: str) -> bool:
    return _prose(text) or text.isalpha()


def _prose(text: str) -> bool:
    """True for a text that is not the name of an argument, a variable or a file."""
    return " " in text


def _placeholder(part: ast.FormattedValue, taken: list[str]) -> str:
    words = re.findall(r"[A-Za-z_]\w*", re.sub(r"'[^']*'", "", ast.unparse(part.value)))
    named = [word for word in words if word not in UNNAMED] or ["value"]
    name = "error" if named[-1] == "exc" else named[-1].lower().strip("_")
    taken.append(name)
    return f"{{{name}}}" if taken.count(name) == 1 else f"{{{name}_{taken.count(name)}}}"


def _paths() -> list[Path]:
    return sorted(each for each in SOURCE.rglob("*.py") if each.parent.name != "testing")


@cache
def _nodes(path: Path) -> list[ast.AST]:
    """The nodes of a file, the module first."""
    return list(ast.walk(ast.parse(path.read_text("utf-8"))))


@cache
def _own(scope: ast.AST) -> list[ast.AST]:
    """The nodes of a scope without those of its functions."""
    found, left = list[ast.AST](), [scope]
    while left:
        children = [
            each for each in ast.iter_child_nodes(left.pop()) if not isinstance(each, Function)
        ]
        found += children
        left += children
    return found


def _name(node: ast.AST) -> str:
    return getattr(node, "attr", "") or getattr(node, "id", "")
