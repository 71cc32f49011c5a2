"""The OpenAPI document: FastAPI's, with an example of each answer and the parts that all endpoints share."""

import json
from collections.abc import Mapping
from importlib.resources import files
from typing import Any, cast

from fastapi import FastAPI

from hippocampe.server.http import idempotency

Schema = dict[str, Any]

SUMMARY = "The long-term memory of a conversational agent."
PARAGRAPHS = (
    "Every path under `/api/` is served under `/api/v1/` too, which stays unchanged when a later version differs. "
    "The header `Hippocampe-Version` of every answer has the version of the package.",
    "Requests take the scope as query parameters: `space`, `user`, `channel`. On loopback no key is needed, unless "
    "the request came through a proxy or the server was started with `--require-key`; elsewhere, send "
    "`Authorization: Bearer hippo_…`. Errors are problem details (RFC 9457): what failed, why, and what to do.",
    "Requests below `/v1` that are not listed here are passed on to the upstream of the proxy, untouched.",
    "Writes take an `Idempotency-Key`: a write that comes again with the same key and body is made once.",
)
"""Facts about all endpoints; the catalogues have each paragraph for the page of the endpoints."""

_ID = "0198a000-0000-7000-8000-000000000000"
_EXAMPLES: Mapping[str, object] = json.loads(
    files("hippocampe.server.api").joinpath("examples.json").read_text("utf-8")
)
"""Example values by the name of a field; others are made from the schema."""
_PLAIN: Mapping[object, object] = {"integer": 1, "number": 1, "boolean": False, "array": []}
"""Example values by type, where the rest of the schema does not matter."""

_SUCCESS = "Successful Response"


def describe(app: FastAPI) -> None:
    """Complete the OpenAPI document of an application."""
    made = app.openapi

    def completed() -> Schema:
        if app.openapi_schema is None:
            document = made()
            for path, methods in document["paths"].items():
                for method, operation in methods.items():
                    _complete(document, path, method.upper(), operation)
        return cast("Schema", app.openapi_schema)

    app.openapi = completed  # type: ignore[method-assign]


def _complete(document: Schema, path: str, method: str, operation: Schema) -> None:
    for status, answer in operation["responses"].items():
        if answer["description"] == _SUCCESS:
            answer["description"] = "It is done."
        content = answer.get("content", {}).get("application/json")
        if (
            status.startswith("2")
            and content
            and content.get("schema")
            and "example" not in content
        ):
            content["example"] = _example(document, content["schema"])
    body = operation.get("requestBody", {}).get("content", {}).get("application/json")
    if body and "example" not in body:
        body["example"] = _body(document, body["schema"])
    if method in idempotency.WRITES and path.startswith("/api/") and idempotency.taken(path):
        parameter = {
            "name": "Idempotency-Key",
            "in": "header",
            "description": idempotency.DESCRIPTION,
            "schema": {
                "type": "string",
                "minLength": 1,
                "maxLength": idempotency.MAX_CHARACTERS,
                "pattern": "^[ -~]+$",
            },
        }
        operation.setdefault("parameters", []).append(parameter)


def _body(document: Schema, schema: Schema) -> object:
    """The example of a body: its own, or the fields that it needs; of one that needs none, the first."""
    found = _referred(document, schema)
    if "example" in found:
        return found["example"]
    fields: Schema = found["properties"]
    given = {name: field["examples"][0] for name, field in fields.items() if "examples" in field}
    needed = found.get("required") or [name for name in fields if given or name in _EXAMPLES][:1]
    return {name: _example(document, fields[name], name) for name in needed} | given


def _example(document: Schema, schema: Schema, name: str = "") -> object:
    """An example value of a schema: by its name, by the values that it declares, else by its type."""
    if "$ref" in schema:
        return _example(document, _referred(document, schema))
    if name in _EXAMPLES and schema.get("type") != "object":
        return _EXAMPLES[name]
    if "default" in schema:
        return schema["default"]
    if "enum" in schema or "const" in schema:
        return schema.get("const", schema.get("enum", [None])[0])
    if "anyOf" in schema:
        nullable = {"type": "null"} in schema["anyOf"]
        return None if nullable else _example(document, schema["anyOf"][0], name)
    return _of_type(document, schema, name)


def _of_type(document: Schema, schema: Schema, name: str) -> object:
    match schema.get("type"):
        case "object" if "properties" in schema:
            fields = schema["properties"].items()
            return {each: _example(document, inner, each) for each, inner in fields}
        case "object":
            values = schema.get("additionalProperties")
            return (
                {"paul": _example(document, cast("Schema", values))}
                if isinstance(values, dict)
                else {}
            )
        case "array" if "items" in schema:
            return [_example(document, schema["items"], name.removesuffix("s"))]
        case "string" if schema.get("format") == "date-time":
            return "2026-03-02T18:00:00Z"
        case "string":
            return _ID if name == "id" or name.endswith("_id") else name
        case kind:
            return _PLAIN.get(kind)


def _referred(document: Schema, schema: Schema) -> Schema:
    """The schema that another one refers to."""
    return document["components"]["schemas"][schema["$ref"].rpartition("/")[2]]
