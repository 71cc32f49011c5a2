"""What the answers of the server must be."""

from typing import Any

import httpx


def ok(response: httpx.Response, status: int = 200) -> Any:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/json"
    return response.json()


def problem(response: httpx.Response, status: int, kind: str | None = None) -> str:
    assert response.status_code == status, response.text
    assert response.headers["content-type"] == "application/problem+json"
    told = response.json()
    assert told.keys() == {"type", "title", "status", "detail"}
    assert told["status"] == status
    assert told["type"] == (f"urn:hippocampe:{kind}" if kind else "about:blank")
    return told["detail"]
