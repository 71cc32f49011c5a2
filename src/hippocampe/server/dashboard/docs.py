"""The documentation page of the endpoints, rendered from the OpenAPI document without third-party files."""

import json
from collections import defaultdict
from dataclasses import dataclass
from typing import Any

from fastapi import APIRouter, FastAPI, Request
from fastapi.responses import HTMLResponse

from hippocampe.server.dashboard.rendering import template_named

router = APIRouter(include_in_schema=False)
Schema = dict[str, Any]
SHARED = frozenset({"space", "user", "channel", "Idempotency-Key"})
"""Parameters of all endpoints, described once on the page."""


@dataclass(frozen=True, slots=True)
class Field:
    """A parameter, or a field of a body."""

    name: str
    type: str
    required: bool
    place: str
    description: str


@dataclass(frozen=True, slots=True)
class Example:
    """A body or an answer: its media type, its description, and an example as text."""

    status: str
    description: str
    media_type: str
    text: str


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An operation on the page."""

    id: str
    method: str
    path: str
    summary: str
    description: str
    parameters: tuple[Field, ...]
    fields: tuple[Field, ...]
    body: Example | None
    answers: tuple[Example, ...]


@router.get("/docs", response_class=HTMLResponse)
async def docs(request: Request) -> HTMLResponse:
    """The endpoints with their parameters, bodies and answers."""
    return HTMLResponse(_page(request.app))


def _page(app: FastAPI) -> str:
    # FastAPI caches the document, so the page is rendered once per document.
    made: str | None = getattr(app.state, "docs", None)
    if made is None:
        document = app.openapi()
        groups: defaultdict[str, list[Endpoint]] = defaultdict(list)
        for path, methods in document["paths"].items():
            for method, operation in methods.items():
                name = operation.get("tags", ["other"])[0]
                groups[name].append(_endpoint(document, path, method, operation))
        made = template_named("docs.html").render(info=document["info"], groups=dict(groups))
        app.state.docs = made
    return made


def _endpoint(document: Schema, path: str, method: str, operation: Schema) -> Endpoint:
    body = operation.get("requestBody", {})
    answers = operation["responses"].items()
    return Endpoint(
        operation["operationId"],
        method.upper(),
        path,
        operation["summary"],
        operation["description"],
        tuple(
            Field(
                each["name"],
                _type(each["schema"]),
                each.get("required", False),
                each["in"],
                each.get("description", ""),
            )
            for each in operation.get("parameters", [])
            if each["name"] not in SHARED
        ),
        _fields(document, body),
        next(iter(_examples("", body)), None),
        tuple(
            each
            for status, answer in answers
            if status.startswith("2") or status == "503"
            for each in _examples(status, answer)
        ),
    )


def _fields(document: Schema, body: Schema) -> tuple[Field, ...]:
    schema: Schema = body.get("content", {}).get("application/json", {}).get("schema", {})
    if "$ref" in schema:
        schema = document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
    return tuple(
        Field(
            name, _type(each), name in schema.get("required", ()), "", each.get("description", "")
        )
        for name, each in schema.get("properties", {}).items()
    )


def _examples(status: str, answer: Schema) -> list[Example]:
    described = answer.get("description", "")
    found = [
        Example(status, described, media_type, _text(content.get("example")))
        for media_type, content in answer.get("content", {}).items()
    ]
    return found or ([Example(status, described, "", "")] if status else [])


def _text(example: object) -> str:
    if example is None or isinstance(example, str):
        return example or ""
    return json.dumps(example, indent=2, ensure_ascii=False)


def _type(schema: Schema) -> str:
    """The accepted values of a schema, in words."""
    if "$ref" in schema:
        return str(schema["$ref"]).rpartition("/")[2]
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_type, schema["anyOf"])))
    if "enum" in schema:
        return ", ".join(map(json.dumps, schema["enum"]))
    if "const" in schema:
        return json.dumps(schema["const"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "any value"))
