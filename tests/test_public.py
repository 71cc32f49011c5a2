"""What is public is as the last release recorded it, or more: run this file to record a release."""

import inspect
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import typer.main

import hippocampe
import hippocampe.companion
import hippocampe.testing
from hippocampe.cli.app import app
from hippocampe.server.mcp.assistant_tools import TOOLS as ASSISTANT
from hippocampe.verbs import VERBS

RECORDS = Path(__file__).parent / "public"
Parameters = dict[str, str]
"""Parameters by name: `required`, `optional`, or `many` for those that take any."""


def parameters_of(value: Any) -> Parameters:
    """The parameters of a function, or of the constructor of a class."""
    try:
        signature = inspect.signature(value)
    except (ValueError, TypeError):
        return {}
    return {
        name: "many"
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD)
        else "required"
        if each.default is each.empty
        else "optional"
        for name, each in signature.parameters.items()
        if name != "self"
    }


def names_of(module: Any) -> Iterator[tuple[str, Parameters]]:
    """The public names of a module, and the methods of its classes, with their parameters."""
    for name in module.__all__:
        value = getattr(module, name)
        where = f"{module.__name__}.{name}"
        yield where, parameters_of(value) if callable(value) else {}
        if inspect.isclass(value):
            ours = [base for base in value.__mro__ if base.__module__.startswith("hippocampe")]
            for attribute in sorted({name for base in ours for name in vars(base)}):
                if not attribute.startswith("_"):
                    method = inspect.getattr_static(value, attribute)
                    found = getattr(value, attribute)
                    plain = callable(found) and not isinstance(method, property)
                    yield f"{where}.{attribute}", parameters_of(found) if plain else {}


def commands_of(group: Any, words: str) -> Iterator[tuple[str, Parameters]]:
    """The commands of the program with their options."""
    for name, command in getattr(group, "commands", {}).items():
        yield from commands_of(command, f"{words} {name}")
    if not getattr(group, "commands", {}):
        yield (
            words,
            {
                flag if flag.startswith("-") else each.name: "required"
                if each.required
                else "optional"
                for each in group.params
                for flag in each.opts
            },
        )


def public() -> dict[str, Parameters]:
    """Everything that is public, with its parameters."""
    found: dict[str, Parameters] = {}
    for module in (hippocampe, hippocampe.testing, hippocampe.companion):
        found |= names_of(module)
    found |= commands_of(typer.main.get_command(app), "hippocampe")
    found |= {verb.http: {} for verb in VERBS.values() if verb.http}
    found |= {f"tool {tool.name}": {} for tool in ASSISTANT}
    return dict(sorted(found.items()))


def breaks(old: dict[str, Parameters], new: dict[str, Parameters]) -> list[str]:
    """The changes that make a program of the old release fail with the new one."""
    found = [f"{name} is gone" for name in old if name not in new]
    for name in old.keys() & new.keys():
        found += [
            f"{name} does not take {parameter}"
            for parameter in old[name]
            if parameter not in new[name] and "many" not in new[name].values()
        ]
        found += [
            f"{name} needs {parameter}"
            for parameter, kind in new[name].items()
            if kind == "required" and old[name].get(parameter) != "required"
        ]
    return sorted(found)


def last_record() -> tuple[str, dict[str, Parameters]]:
    """The version of the last release, and what was public in it."""
    paths = sorted(RECORDS.glob("*.json"), key=lambda path: version_of(path.stem))
    return paths[-1].stem, json.loads(paths[-1].read_text(encoding="utf-8"))


def version_of(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


def test_nothing_public_is_lost_within_a_major_version() -> None:
    version, recorded = last_record()
    lost = breaks(recorded, public())
    if version_of(hippocampe.__version__)[0] == version_of(version)[0]:
        assert lost == []


def test_the_record_covers_library_commands_and_endpoints() -> None:
    _, recorded = last_record()
    for name in (
        *("hippocampe.Hippocampe.remember", "hippocampe.AsyncHippocampe.recall"),
        *("hippocampe.testing.IndexContract", "hippocampe import", "POST /api/recall"),
    ):
        assert name in recorded
    assert recorded["hippocampe.Hippocampe.remember"]["content"] == "required"


@pytest.mark.parametrize(
    ("new", "lost"),
    [
        ({}, ["f is gone"]),
        ({"f": {"a": "required"}}, ["f does not take b"]),
        ({"f": {"a": "required", "b": "required"}}, ["f needs b"]),
        ({"f": {"a": "required", "b": "optional", "c": "required"}}, ["f needs c"]),
        ({"f": {"a": "optional", "b": "optional", "c": "optional"}, "g": {}}, []),
        ({"f": {"a": "optional", "more": "many"}}, []),
    ],
)
def test_what_breaks_a_program(new: dict[str, Parameters], lost: list[str]) -> None:
    assert breaks({"f": {"a": "required", "b": "optional"}}, new) == lost


if __name__ == "__main__":
    RECORDS.mkdir(exist_ok=True)
    text = json.dumps(public(), indent=1, ensure_ascii=False)
    (RECORDS / f"{hippocampe.__version__}.json").write_text(f"{text}\n", encoding="utf-8")
