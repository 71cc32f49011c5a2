"""Requests that Schemathesis makes of the OpenAPI document: no 5xx, and no answer outside its schema."""

from typing import Any

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from conftest import MODEL, Opener
from hippocampe.config import UPSTREAM_URL
from model_server import Answer, Call, ModelServer
from served import served

EXAMPLES = 2
"""Of each operation; every run draws others."""


def test_no_request_breaks_the_server(
    hashed: None, open_hippo: Opener, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Here, since every process of tests imports this module.
    import schemathesis
    from schemathesis.checks import load_all_checks, not_a_server_error
    from schemathesis.specs.openapi import checks

    load_all_checks()
    checked = [
        not_a_server_error,
        checks.status_code_conformance,
        checks.content_type_conformance,
        checks.response_headers_conformance,
        checks.response_schema_conformance,
    ]
    monkeypatch.setenv(UPSTREAM_URL, server.openai_url)
    server.brain = lambda request: (
        Answer(calls=(Call("respond", {"expression": "happy", "message": "Oui."}),))
        if any(tool.name == "respond" for tool in request.tools)
        else Answer("Oui.")
    )
    memory = open_hippo(embedder="hashed:32", model=MODEL)
    with served(memory, loopback=True) as url:
        document = httpx.get(f"{url}/openapi.json", timeout=30).json()
        for operation in (each for path in document["paths"].values() for each in path.values()):
            # Wrong keys are tested elsewhere: here they would hide all else.
            operation.pop("security", None)
        for found in schemathesis.openapi.from_dict(document).get_all_operations():
            _try(found.ok(), url, checked)


def _try(operation: Any, url: str, checks: list[Any]) -> None:
    from schemathesis import GenerationMode

    cases = st.one_of(
        operation.as_strategy(GenerationMode.POSITIVE),
        operation.as_strategy(GenerationMode.NEGATIVE),
    )

    @settings(
        max_examples=EXAMPLES,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
        database=None,
    )
    @given(cases)
    def check(case: Any) -> None:
        case.call_and_validate(base_url=url, checks=checks, timeout=30)

    check()
