"""Spans, collected by OpenTelemetry's own exporter in memory."""

import sys
from pathlib import Path

import pytest
from opentelemetry import trace
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.trace import SpanKind, StatusCode

from conftest import Opener
from hippocampe import Config, Hippocampe, Scope
from hippocampe.engine.tracing import Tracer, note_result
from hippocampe.errors import InvalidInput, NotFound
from hippocampe.types import Injection, Recollection, Trace
from hippocampe.verbs import VERBS


@pytest.fixture
def exporter(monkeypatch: pytest.MonkeyPatch) -> InMemorySpanExporter:
    exporter = InMemorySpanExporter()
    provider = TracerProvider()
    provider.add_span_processor(SimpleSpanProcessor(exporter))
    # The provider of a process can be set but once.
    monkeypatch.setattr(trace, "get_tracer", provider.get_tracer)
    return exporter


def spans(exporter: InMemorySpanExporter) -> list[ReadableSpan]:
    found = list(exporter.get_finished_spans())
    exporter.clear()
    return found


@pytest.fixture
def hippo(open_hippo: Opener, hashed: None, exporter: InMemorySpanExporter) -> Hippocampe:
    return open_hippo(embedder="hashed:32", tracing=True)


def test_each_operation_is_a_span_by_the_conventions(
    hippo: Hippocampe, exporter: InMemorySpanExporter
) -> None:
    scope = Scope(space="maison", user="ana")
    memory = hippo.remember("Rose joue du cor", scope=scope).memory
    hippo.remember("Paul joue du cor", scope=scope)
    hippo.recall("le cor", scope=scope)
    hippo.edit(memory.id, scope=scope, importance=0.9)
    hippo.delete(memory.id, scope=scope, reason="fausse note")
    hippo.forget("le cor de Paul", scope=scope, dry_run=True)
    made = spans(exporter)
    assert [(span.name, (span.attributes or {})["hippocampe.verb"]) for span in made] == [
        ("upsert_memory", "remember"),
        ("upsert_memory", "remember"),
        ("search_memory", "recall"),
        ("update_memory", "edit"),
        ("delete_memory", "delete"),
        ("delete_memory", "forget"),
    ]
    for span in made:
        attributes = dict(span.attributes or {})
        assert span.kind is SpanKind.INTERNAL
        assert span.status.status_code is StatusCode.UNSET
        assert attributes["gen_ai.operation.name"] == span.name
        assert attributes["gen_ai.provider.name"] == "hippocampe"
        assert attributes["gen_ai.memory.store.id"] == "maison"
    counts = [(span.attributes or {})["gen_ai.memory.record.count"] for span in made]
    assert counts[:5] == [1, 1, 2, 1, 1]
    assert (made[0].attributes or {})["gen_ai.memory.record.id"] == memory.id
    assert "gen_ai.memory.record.id" not in (made[2].attributes or {})


def test_a_span_is_inside_that_of_the_host(
    hippo: Hippocampe, exporter: InMemorySpanExporter, scope: Scope
) -> None:
    with trace.get_tracer("host").start_as_current_span("turn") as turn:
        hippo.recall("le cor", scope=scope)
    inner, outer = spans(exporter)
    assert outer.name == "turn"
    assert inner.parent is not None
    assert inner.parent.span_id == turn.get_span_context().span_id


def test_nothing_that_was_said_is_in_a_span(
    hippo: Hippocampe, exporter: InMemorySpanExporter, scope: Scope
) -> None:
    hippo.remember("Pascaline ronfle", scope=scope, subjects=["pascaline"], key="pascaline")
    hippo.recall("qui est Pascaline ?", scope=scope, explain=True)
    hippo.forget("Pascaline", scope=scope)
    with pytest.raises(InvalidInput, match="pascaline"):
        hippo.remember("elle dort", scope=scope, type="pascaline")
    with pytest.raises(NotFound):
        hippo.delete("pascaline", scope=scope, reason="pascaline")
    made = spans(exporter)
    assert len(made) == 5
    for span in made:
        assert "ascaline" not in span.to_json()
    failed = [span for span in made if span.status.status_code is StatusCode.ERROR]
    assert [(span.attributes or {})["error.type"] for span in failed] == [
        "InvalidInput",
        "NotFound",
    ]
    assert all(not span.events and span.status.description is None for span in failed)


def test_an_injection_counts_what_it_gives(exporter: InMemorySpanExporter) -> None:
    items = tuple(Recollection(str(n), "memory", "", 0.5) for n in range(3))
    with Tracer(on=True).span(VERBS["before_turn"], space="maison") as span:
        assert span is not None
        note_result(span, Injection("1", "", items, tokens=9, took_ms=1.0, trace=Trace()))
    (made,) = spans(exporter)
    assert (made.attributes or {})["gen_ai.memory.record.count"] == 3


@pytest.mark.usefixtures("hashed")
def test_tracing_is_off_by_default(
    open_hippo: Opener, exporter: InMemorySpanExporter, scope: Scope
) -> None:
    hippo = open_hippo(embedder="hashed:32")
    hippo.remember("Rose joue du cor", scope=scope)
    assert spans(exporter) == []
    off = Tracer(on=False)
    one = off.span(VERBS["recall"], space="a")
    assert one is off.span(VERBS["remember"], space="b")
    with one as outer, one as inner:
        assert outer is inner is None


def test_without_opentelemetry_it_says_what_to_install(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(InvalidInput, match=r"pip install '?hippocampe\[tracing\]"):
        Hippocampe.open(Config(folder, background=False, tracing=True))
    assert not folder.exists()
