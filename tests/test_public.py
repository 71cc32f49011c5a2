"""What is public is as the last release recorded it, or more: run this file to record a release."""

import inspect
import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import griffe
import pytest
import typer.main
from fastapi.routing import APIRoute

import hippocampe
import hippocampe.companion
import hippocampe.testing
from hippocampe import Hippocampe
from hippocampe.cli.app import app
from hippocampe.server.api import operation
from hippocampe.server.app import create_app
from hippocampe.server.dashboard import docs
from hippocampe.server.mcp import endpoint
from hippocampe.server.mcp.service import TOOL_SETS
from hippocampe.server.proxy import endpoints as proxy

ROOT = Path(__file__).parents[1]
RECORDS = Path(__file__).parent / "public"
API = ROOT / "docs" / "api.md"
Schema = dict[str, Any]
Parameters = dict[str, str]
"""Parameters by name: `required`, `optional`, or `many` for those that take any.

Fields of a field follow a full stop: they are required where that field is given.
"""


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


def adapters() -> Iterator[tuple[str, Parameters]]:
    """The classes and functions of the integrations that the page of the API shows, whose hosts need not be there."""
    shown = re.findall(
        r"^::: (hippocampe\.integrations\.\w+)\.(\w+)$", API.read_text("utf-8"), re.M
    )
    for module, each in shown:
        path = (ROOT / "src").joinpath(*module.split(".")).with_suffix(".py")
        found = griffe.visit(module, filepath=path, code=path.read_text("utf-8"))[each]
        name = f"{module}.{each}"
        yield name, parameters_in(found)
        if isinstance(found, griffe.Class):
            for attribute, member in found.members.items():
                if not attribute.startswith("_"):
                    yield f"{name}.{attribute}", parameters_in(member)


def parameters_in(code: griffe.Object | griffe.Alias) -> Parameters:
    """The parameters of a function, or of the constructor of a class, in source that is not executed."""
    if not isinstance(code, griffe.Class | griffe.Function):
        return {}
    return {
        each.name: "many"
        if each.kind in (griffe.ParameterKind.var_positional, griffe.ParameterKind.var_keyword)
        else "required"
        if each.default is None
        else "optional"
        for each in code.parameters
        if each.name not in ("self", "cls")
    }


def endpoints(document: Schema) -> Iterator[tuple[str, Parameters]]:
    """The endpoints of an OpenAPI document with their path, query, header and body parameters, and their answers."""
    for path, methods in document["paths"].items():
        for method, described in methods.items():
            taken = {
                each["name"]: kind_of(each.get("required", False))
                for each in described.get("parameters", ())
            }
            body = described.get("requestBody", {})
            fields = fields_of(schema_of(body), document)
            if not body.get("required", False):
                fields = dict.fromkeys(fields, "optional")
            yield f"{method.upper()} {path}", taken | fields
            answers = described.get("responses", {})
            done = next((each for each in answers if each.startswith("2")), "")
            if given := fields_of(schema_of(answers.get(done, {})), document):
                # A program may be given more than it knows.
                yield f"answer of {method.upper()} {path}", dict.fromkeys(given, "optional")


def schema_of(part: Schema) -> Schema:
    """The schema of the JSON of a request or of an answer."""
    return part.get("content", {}).get("application/json", {}).get("schema", {})


def undocumented() -> Iterator[tuple[str, Parameters]]:
    """The public endpoints that the document leaves out: metrics, what the proxy passes on, MCP, the document."""
    yield f"POST {endpoint.PATH}", dict.fromkeys(endpoint.PARAMETERS, "optional")
    yield "GET /openapi.json", {}
    for router in (operation.router, proxy.router, docs.router):
        for route in router.routes:
            if isinstance(route, APIRoute) and not route.include_in_schema:
                named = dict.fromkeys(route.param_convertors, "required")
                yield from ((f"{method} {route.path}", named) for method in route.methods)


def fields_of(schema: Schema, document: Schema, inside: tuple[str, ...] = ()) -> Parameters:
    """The fields of an object in a JSON schema, with those of the objects in them.

    Args:
        schema: The schema; a field that not every alternative needs is optional.
        document: What its references point into.
        inside: The references that led to it, which may lead back.
    """
    if (reference := schema.get("$ref")) is not None:
        if reference in inside:
            return {}
        found: Any = document
        for step in reference.removeprefix("#/").split("/"):
            found = found[step]
        return fields_of(found, document, (*inside, reference))
    taken: Parameters = {}
    for name, each in schema.get("properties", {}).items():
        taken[name] = kind_of(name in schema.get("required", ()))
        below = fields_of(each, document, inside)
        taken |= {f"{name}.{field}": kind for field, kind in below.items()}
    for each in (*schema.get("allOf", ()), *([schema["items"]] if "items" in schema else ())):
        taken |= fields_of(each, document, inside)
    one_of = [
        fields_of(each, document, inside)
        for key in ("anyOf", "oneOf")
        for each in schema.get(key, ())
        if each.get("type") != "null"
    ]
    for name in dict.fromkeys(name for fields in one_of for name in fields):
        taken[name] = kind_of(all(fields.get(name) == "required" for fields in one_of))
    return taken


def kind_of(required: bool) -> str:
    return "required" if required else "optional"


def public(document: Schema) -> dict[str, Parameters]:
    """Everything that is public, with its parameters.

    Args:
        document: The OpenAPI document of the server.
    """
    found: dict[str, Parameters] = {}
    for module in (hippocampe, hippocampe.testing, hippocampe.companion):
        found |= names_of(module)
    found |= adapters()
    found |= commands_of(typer.main.get_command(app), "hippocampe")
    found |= endpoints(document)
    found |= undocumented()
    for tool in TOOL_SETS["all"]:
        schema = tool.described().input_schema
        found[f"tool {tool.name}"] = fields_of(schema, schema)
    return dict(sorted(found.items()))


def breaks(old: dict[str, Parameters], new: dict[str, Parameters]) -> list[str]:
    """The changes that make a program of the old release fail with the new one."""
    found = [f"{name} is gone" for name in old if name not in new]
    for name in old.keys() & new.keys():
        found += [
            f"{name} lacks {parameter}"
            for parameter in old[name]
            if parameter not in new[name] and "many" not in new[name].values()
        ]
        found += [
            f"{name} needs {parameter}"
            for parameter, kind in new[name].items()
            if kind == "required" and old[name].get(parameter) != "required"
            # Nobody gives the fields of a field that is new.
            if "." not in parameter or parameter.rpartition(".")[0] in old[name]
        ]
    return sorted(found)


def last_record() -> tuple[str, dict[str, Parameters]]:
    """The version of the last release, and what was public in it."""
    paths = sorted(RECORDS.glob("*.json"), key=lambda path: version_of(path.stem))
    return paths[-1].stem, json.loads(paths[-1].read_text(encoding="utf-8"))


def version_of(text: str) -> tuple[int, ...]:
    return tuple(map(int, text.split(".")))


@pytest.fixture(scope="module")
def document(shared_memory: Hippocampe) -> Schema:
    return create_app(shared_memory).openapi()


def test_nothing_public_is_lost_within_a_major_version(document: Schema) -> None:
    version, recorded = last_record()
    lost = breaks(recorded, public(document))
    if version_of(hippocampe.__version__)[0] == version_of(version)[0]:
        assert lost == []


def test_the_record_covers_every_interface(document: Schema) -> None:
    _, recorded = last_record()
    for name in (
        *("hippocampe.Hippocampe.remember", "hippocampe.AsyncHippocampe.recall"),
        *("hippocampe.testing.IndexContract", "hippocampe.companion.Companion.ask"),
        *("hippocampe.integrations.langchain.LongTermMemory", "hippocampe import"),
        *("POST /api/recall", "POST /api/import", "GET /healthz", "GET /metrics", "POST /mcp"),
        *("POST /v1/chat/completions", "tool search_memories", "tool memory__search"),
    ):
        assert name in recorded
    assert {name.removeprefix("tool ") for name in recorded if name.startswith("tool ")} == {
        each.name for each in TOOL_SETS["all"]
    }
    assert {name for name, _ in endpoints(document)} <= recorded.keys()
    assert recorded["hippocampe.Hippocampe.remember"]["content"] == "required"
    assert recorded["POST /api/recall"]["query"] == "required"
    assert recorded["POST /api/recall"]["limit"] == "optional"
    assert recorded["GET /api/memories/{id}"]["id"] == "required"
    assert recorded["GET /api/memories"]["cursor"] == "optional"
    assert recorded["tool search_memories"]["query"] == "required"
    assert "items.content" in recorded["answer of GET /api/memories"]


def test_every_adapter_that_a_page_imports_is_recorded() -> None:
    _, recorded = last_record()
    imported = re.compile(r"^from (hippocampe\.integrations\.\w+) import ([\w, ]+)", re.M)
    named = {
        f"{module}.{name.strip()}"
        for page in (ROOT / "docs").rglob("*.md")
        for module, names in imported.findall(page.read_text(encoding="utf-8"))
        for name in names.split(",")
    }
    assert named
    assert named <= recorded.keys()


@pytest.mark.parametrize(
    ("new", "lost"),
    [
        ({}, ["f is gone"]),
        ({"f": {"a": "required"}}, ["f lacks b"]),
        ({"f": {"a": "required", "b": "required"}}, ["f needs b"]),
        ({"f": {"a": "required", "b": "optional", "c": "required"}}, ["f needs c"]),
        ({"f": {"a": "optional", "b": "optional", "c": "optional"}, "g": {}}, []),
        ({"f": {"a": "optional", "more": "many"}}, []),
    ],
)
def test_what_breaks_a_program(new: dict[str, Parameters], lost: list[str]) -> None:
    assert breaks({"f": {"a": "required", "b": "optional"}}, new) == lost


def test_a_change_of_a_body_or_of_a_tool_that_breaks_a_program() -> None:
    old = {
        "$defs": {
            "Result": {
                "properties": {"name": {}, "text": {}},
                "required": ["name"],
            },
            "Tree": {"properties": {"below": {"items": {"$ref": "#/$defs/Tree"}}}},
        },
        "properties": {
            "query": {"type": "string"},
            "results": {
                "anyOf": [{"type": "array", "items": {"$ref": "#/$defs/Result"}}, {"type": "null"}]
            },
            "tree": {"$ref": "#/$defs/Tree"},
        },
        "required": ["query"],
    }
    assert fields_of(old, old) == {
        "query": "required",
        "results": "optional",
        "results.name": "required",
        "results.text": "optional",
        "tree": "optional",
        "tree.below": "optional",
    }
    new = json.loads(json.dumps(old))
    new["properties"]["more"] = {"$ref": "#/$defs/Result"}
    assert changed(old, new) == []
    new["$defs"]["Result"]["required"].append("text")
    new["required"].append("results")
    del new["properties"]["tree"]
    assert changed(old, new) == [
        "POST /api lacks tree",
        "POST /api lacks tree.below",
        "POST /api needs results",
        "POST /api needs results.text",
    ]


def changed(old: Schema, new: Schema) -> list[str]:
    """The breaks between two forms of the body of an endpoint."""
    before, after = (
        dict(
            endpoints(
                {
                    **schema,
                    "paths": {
                        "/api": {
                            "post": {
                                "requestBody": {
                                    "required": True,
                                    "content": {"application/json": {"schema": schema}},
                                }
                            }
                        }
                    },
                }
            )
        )
        for schema in (old, new)
    )
    return breaks(before, after)


if __name__ == "__main__":
    RECORDS.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory() as folder, Hippocampe.open(folder) as opened:
        text = json.dumps(public(create_app(opened).openapi()), indent=1, ensure_ascii=False)
    (RECORDS / f"{hippocampe.__version__}.json").write_text(f"{text}\n", encoding="utf-8")
