"""Merge what several cells answer."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.metrics_core import Metric
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.registry import Collector

from hippocampe.server.api.operation import DOWN


class _Metrics(Collector):
    """The metrics of all cells, each with the label `cell`."""

    def __init__(self, texts: Mapping[int, str]) -> None:
        self._texts = texts

    def collect(self) -> Iterator[Metric]:
        """Families of the same name are one."""
        families: dict[str, Metric] = {}
        for cell, text in self._texts.items():
            for family in text_string_to_metric_families(text):
                merged = families.setdefault(
                    family.name, Metric(family.name, family.documentation, family.type)
                )
                for sample in family.samples:
                    merged.samples.append(
                        sample._replace(labels={**sample.labels, "cell": str(cell)})
                    )
        yield from families.values()


def metrics(texts: Mapping[int, str]) -> bytes:
    """Merge the metrics of cells, by number, in the text format of Prometheus."""
    registry = CollectorRegistry()
    registry.register(_Metrics(texts))
    return generate_latest(registry)


def readiness(states: Sequence[Mapping[str, Any] | None]) -> dict[str, Any]:
    """Merge the readiness of cells: a dependency that is down in one of them is down.

    Args:
        states: What each cell says; None for one that does not answer, which is named.
    """
    silent = [number for number, state in enumerate(states) if state is None]
    known = [asdict(DOWN) if state is None else state for state in states]
    parts = [name for name in known[0] if name != "ready"]
    return {
        "ready": all(state["ready"] for state in known),
        **{part: "ok" if all(state[part] == "ok" for state in known) else "down" for part in parts},
        "silent_cells": silent,
    }
