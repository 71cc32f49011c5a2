"""Demonstrate the library: load two months of talk, then ask questions about it.

The talk ends today: its dates, and those that it names, are moved. The clock follows them, so corrections, expiries
and "three weeks ago" behave as they did at the time.
"""

import json
import tempfile
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from itertools import groupby
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from hippocampe.config import Config
from hippocampe.demo.sample import Sample, at, load_sample
from hippocampe.errors import InvalidInput
from hippocampe.hippocampe import Hippocampe
from hippocampe.types import Progress, Recollection, Scope

ASKERS = ("camille", "owen")
LIMIT = 3
"""Results per question."""
LIVED_DAYS = 7
"""The last days of the talk, in which its messages to the assistant get injections."""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question with its results; `answered` if the first of them contains an expected answer."""

    question: str
    about: str
    asked_at: datetime
    found: tuple[Recollection, ...]
    answered: bool
    took_ms: float


@dataclass(frozen=True, slots=True)
class Correction:
    """A statement that superseded another, and the rule that decided it."""

    old: str
    new: str
    reason: str


@dataclass(frozen=True, slots=True)
class Report:
    """The result of the demonstration."""

    messages: int
    memories: int
    load_seconds: float
    corrected: tuple[Correction, ...]
    asked: tuple[AskedQuestion, ...]

    @property
    def answered(self) -> int:
        return sum(each.answered for each in self.asked)

    @property
    def median_ms(self) -> float:
        return median(each.took_ms for each in self.asked)


class _Clock:
    """A clock that the demonstration sets."""

    def __init__(self, now: datetime) -> None:
        self.now = now

    def __call__(self) -> datetime:
        return self.now


def run(
    folder: Path | None = None, progress: Progress | None = None, now: datetime | None = None
) -> Report:
    """Load the sample and ask its questions.

    Args:
        folder: A new or empty folder for the data; default: a temporary folder, removed afterwards.
        now: When the talk ends, at most a day before; default: the present.

    Raises:
        InvalidInput: The folder is not empty.
    """
    if folder and folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise InvalidInput(f"{folder} is not empty: give the demo a new folder.")
    with nullcontext(folder) if folder else _temporary() as place:
        return _run(Path(place), progress, now or datetime.now(UTC))


def _temporary() -> tempfile.TemporaryDirectory[str]:
    return tempfile.TemporaryDirectory(prefix="hippocampe-demo-", ignore_cleanup_errors=True)


@contextmanager
def open_after(report: Report, folder: Path) -> Generator[Hippocampe]:
    """Open the folder of a demonstration for a server. Each question is a turn of now."""
    with Hippocampe.open(Config(folder)) as hippo:
        for number, each in enumerate(report.asked):
            scope = Scope(user=ASKERS[number % len(ASKERS)], channel="lobby")
            hippo.before_turn(each.question, scope=scope)
        yield hippo


def _run(folder: Path, progress: Progress | None, now: datetime) -> Report:
    sample = load_sample(now)
    clock = _Clock(at(sample.statements[0]))
    started = perf_counter()
    with Hippocampe.open(Config(folder, background=False), clock=clock) as hippo:
        added, corrected = _load(hippo, clock, sample, progress)
        load_seconds = perf_counter() - started
        asked: list[AskedQuestion] = []
        for question in sample.questions:
            clock.now = question["asked_at"]
            asked.append(_ask(hippo, question))
    return Report(added, len(sample.statements), load_seconds, tuple(corrected), tuple(asked))


def _load(
    hippo: Hippocampe, clock: _Clock, sample: Sample, progress: Progress | None
) -> tuple[int, list[Correction]]:
    """Store the sample day by day in its last week, whose messages to the assistant are turns; all before it at once."""
    last_week = at(sample.messages[-1]).date() - timedelta(days=LIVED_DAYS)

    def day(row: Mapping[str, Any]) -> date:
        return max(at(row).date(), last_week)

    statements = {key: list(rows) for key, rows in groupby(sample.statements, key=day)}
    talk = {key: list(rows) for key, rows in groupby(sample.messages, key=day)}
    added, remembered = 0, 0
    corrected: list[Correction] = []
    for today in sorted({*statements, *talk}):
        messages = talk.get(today, [])
        if today > last_week:
            for message in messages:
                if message.get("role") == "user":
                    clock.now = at(message)
                    scope = Scope(user=message["author"], channel=message["channel"])
                    hippo.before_turn(message["content"], scope=scope)
        added += _import(hippo, messages, progress)
        for statement in statements.get(today, ()):
            clock.now = at(statement)
            corrected += _remember(hippo, statement)
            remembered += 1
            if progress:
                progress("remembering", remembered, len(sample.statements))
    return added, corrected


def _import(
    hippo: Hippocampe, messages: Sequence[Mapping[str, Any]], progress: Progress | None
) -> int:
    with _temporary() as folder:
        path = Path(folder) / "messages.jsonl"
        lines = (json.dumps({**each, "at": each["at"].isoformat()}) for each in messages)
        path.write_text("\n".join(lines), "utf-8")
        return hippo.import_from(path, scope=Scope(), format="jsonl", progress=progress).added


def _remember(hippo: Hippocampe, statement: Mapping[str, Any]) -> list[Correction]:
    arguments = dict(statement)
    arguments.pop("at")
    scope = Scope(user=arguments.pop("user"), channel=arguments.pop("channel"))
    result = hippo.remember(arguments.pop("content"), scope=scope, **arguments)
    olds = [hippo.get(id, scope=scope) for id in result.replaced]
    return [Correction(old.content, result.memory.content, result.reason) for old in olds]


def _ask(hippo: Hippocampe, question: Mapping[str, Any]) -> AskedQuestion:
    started = perf_counter()
    found = hippo.recall(
        question["question"],
        scope=Scope(),
        limit=LIMIT,
        collections=question["collections"],
        explain=True,
    )
    took_ms = (perf_counter() - started) * 1000
    return AskedQuestion(
        question=question["question"],
        about=question["about"],
        asked_at=question["asked_at"],
        found=tuple(found),
        answered=any(text in item.content for text in question["expect"] for item in found[:1]),
        took_ms=took_ms,
    )
