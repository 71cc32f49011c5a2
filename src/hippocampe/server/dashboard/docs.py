"""Render the OpenAPI document as a page without scripts; its frame is in the language of the reader."""

import json
from collections import defaultdict
from typing import Any

from fastapi import APIRouter
from fastapi.responses import HTMLResponse

from hippocampe.server.dashboard.visit import OpenPage

router = APIRouter(include_in_schema=False)
Schema = dict[str, Any]
SHARED = frozenset({"space", "user", "channel", "Idempotency-Key"})
"""Parameters of all endpoints, described once on the page."""


@router.get("/docs", response_class=HTMLResponse)
async def docs(page: OpenPage) -> HTMLResponse:
    """The endpoints with their parameters, bodies and answers."""
    document: Schema = page.request.app.openapi()
    groups: defaultdict[str, list[Schema]] = defaultdict(list)
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            content: Schema = operation.get("requestBody", {}).get("content", {})
            schema: Schema = content.get("application/json", {}).get("schema", {})
            if "$ref" in schema:
                schema = document["components"]["schemas"][_name(schema)]
            endpoint = {**operation, "method": method.upper(), "path": path, "body": schema}
            endpoint["parameters"] = [
                each for each in operation.get("parameters", []) if each["name"] not in SHARED
            ]
            endpoint["example"] = next((each.get("example") for each in content.values()), None)
            groups[operation.get("tags", ["other"])[0]].append(endpoint)
    return page.render(
        "docs.html", info=document["info"], groups=groups, type_of=_type, text_of=_text
    )


def _text(example: object) -> str:
    return (
        example if isinstance(example, str) else json.dumps(example, indent=2, ensure_ascii=False)
    )


def _name(schema: Schema) -> str:
    return str(schema["$ref"]).rpartition("/")[2]


def _type(schema: Schema) -> str:
    """The accepted values of a schema, in words."""
    if "$ref" in schema:
        return _name(schema)
    if "anyOf" in schema:
        return " or ".join(dict.fromkeys(map(_type, schema["anyOf"])))
    if "enum" in schema:
        return ", ".join(map(json.dumps, schema["enum"]))
    if "const" in schema:
        return json.dumps(schema["const"])
    if schema.get("type") == "array":
        return f"list of {_type(schema.get('items', {}))}"
    return str(schema.get("type", "any value"))
