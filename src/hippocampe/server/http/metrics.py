"""Record each request: an id, a line of the log, a count; Prometheus metrics. Never its content."""

import re
import threading
import time
from collections.abc import Iterator, Mapping
from uuid import uuid4

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Histogram,
    PlatformCollector,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Send
from starlette.types import Scope as Connection

from hippocampe.aio import AsyncHippocampe
from hippocampe.errors import HippocampeError
from hippocampe.server.http import logs
from hippocampe.server.http.middleware import Middleware, at_start
from hippocampe.types import ApiKey, Injection

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 10, 60)
MILLISECONDS = (1, 2.5, 5, 10, 25, 50, 100, 250)
FRESH_SECONDS = 5.0
"""Time to live of the cached numbers of the data, since counting takes a moment."""
PARTS = frozenset(
    {
        *("embedder", "embedding", "index", "indexing", "graphs", "store", "storing", "reader"),
        *("search", "context", "settings", "before_turn", "overload", "language model", "notes"),
        *("jobs", "logging of turns", "rules", "maintenance", "checking"),
    }
)
"""Outages with a label of their own. Others are `other`: a name may contain that of a space."""


class Metrics:
    """The metrics of one application."""

    def __init__(self, hippo: AsyncHippocampe) -> None:
        self.registry = CollectorRegistry()
        self._requests = Histogram(
            "hippocampe_request_seconds",
            "Requests, by method, route and status.",
            ("method", "route", "status"),
            buckets=SECONDS,
            registry=self.registry,
        )
        self._turns = Counter(
            "hippocampe_turns",
            "Turns: injected, empty, partial (a source was late or down), overloaded, skipped.",
            ("outcome",),
            registry=self.registry,
        )
        self._tokens = Counter(
            "hippocampe_injected_tokens", "Tokens of injections.", registry=self.registry
        )
        self._items = Counter(
            "hippocampe_injected_items", "Items of injections.", registry=self.registry
        )
        self._stages = Histogram(
            "hippocampe_turn_stage_milliseconds",
            "Times of before_turn, by stage.",
            ("stage",),
            buckets=MILLISECONDS,
            registry=self.registry,
        )
        self.registry.register(_Data(hippo))
        ProcessCollector(registry=self.registry)
        PlatformCollector(registry=self.registry)

    def request(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count a request."""
        self._requests.labels(method, route, str(status)).observe(seconds)

    def turn(self, injection: Injection) -> None:
        """Count a turn."""
        trace = injection.trace
        if trace.skipped is not None:
            outcome = "overloaded" if trace.skipped == "overloaded" else "skipped"
        elif trace.missing:
            outcome = "partial"
        else:
            outcome = "injected" if injection.items else "empty"
        self._turns.labels(outcome).inc()
        self._tokens.inc(injection.tokens)
        self._items.inc(len(injection.items))
        for stage, spent in trace.stages.items():
            self._stages.labels(stage).observe(spent)

    def text(self) -> bytes:
        """All metrics, in the text format of Prometheus. May wait for the store."""
        return generate_latest(self.registry)


class _Data(Collector):
    """Collects the metrics of the data folder and of the threads on demand."""

    def __init__(self, hippo: AsyncHippocampe) -> None:
        self._hippo = hippo
        self._reading = threading.Lock()
        self._known: tuple[float, list[GaugeMetricFamily]] | None = None

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """The current or cached metrics; without those of the data while the store is down."""
        with self._reading:
            if self._known is None or time.monotonic() - self._known[0] > FRESH_SECONDS:
                self._known = time.monotonic(), list(self._data())
        yield from self._known[1]
        if self._hippo.workers is not None:
            pending = self._hippo.workers.pending
            yield _gauge("pending_calls", "Running and waiting calls.", "kind", pending)

    def _data(self) -> Iterator[GaugeMetricFamily]:
        try:
            found = self._hippo.sync.vitals()
        except HippocampeError:
            yield _gauge("up", "Whether the store can be read.", "part", {"store": 0})
            return
        outages: dict[str, float] = {}
        for name, count in found.outages.items():
            part = name if name in PARTS else "job" if name.startswith("job ") else "other"
            outages[part] = outages.get(part, 0) + count
        yield _gauge("up", "Whether the store can be read.", "part", {"store": 1})
        yield _gauge("jobs", "Runs of background jobs, by state.", "state", found.jobs)
        yield _gauge("indexed", "Points of the index, by kind.", "kind", found.indexed)
        yield _gauge("bytes", "Size of the data folder.", "part", found.bytes)
        yield _gauge("outages", "Outages since the start, by part.", "part", outages)
        yield GaugeMetricFamily(
            "hippocampe_index_pending",
            "Changes not durable in the index yet.",
            found.pending,
        )
        if found.disk_free is not None:
            disk = {"free": found.disk_free, "reserve": found.disk_reserve}
            yield _gauge("disk_bytes", "Free space, and what new writes leave free.", "part", disk)


def _gauge(
    name: str, documentation: str, label: str, values: Mapping[str, float]
) -> GaugeMetricFamily:
    family = GaugeMetricFamily(f"hippocampe_{name}", documentation, labels=(label,))
    for each, value in values.items():
        family.add_metric((each,), value)
    return family


ID = "x-request-id"
PLAIN = re.compile(r"[A-Za-z0-9._-]{1,64}")
"""Request ids of clients that are accepted; others could forge lines of a log."""
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
NO_ROUTE = "none"
CLOSED = 499
"""Recorded status when the client disconnected before the answer."""


class Observation(Middleware):
    """Records each request of an application."""

    def __init__(self, app: ASGIApp, *, metrics: Metrics) -> None:
        super().__init__(app)
        self._metrics = metrics

    async def serve(self, connection: Connection, receive: Receive, send: Send) -> None:
        sent = Headers(scope=connection).get(ID, "")
        id = sent if PLAIN.fullmatch(sent) else uuid4().hex
        state = connection.setdefault("state", {})
        state["request_id"] = id
        started, status = time.perf_counter(), CLOSED

        def noted(message: Message) -> None:
            nonlocal status
            status = message["status"]
            MutableHeaders(scope=message).setdefault(ID, id)

        try:
            await self.app(connection, receive, at_start(send, noted))
        except Exception:
            status = 500
            raise
        finally:
            seconds = time.perf_counter() - started
            method = connection["method"] if connection["method"] in METHODS else "other"
            # The template of the matched route: the path itself may contain names of users.
            route = getattr(connection.get("route"), "path", NO_ROUTE)
            key: ApiKey | None = state.get("key")
            self._metrics.request(method, route, status, seconds)
            who = "no key" if key is None else f"key {key.id}"
            logs.request(id, method, route, status, seconds, who)
