"""Demonstrate the library: load two months of talk, then ask questions about it.

The clock follows the dates of the talk, so corrections, expiries and "three weeks ago" behave as they
did at the time.
"""

import json
import shutil
import tempfile
from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.resources import as_file, files
from pathlib import Path
from statistics import median
from time import monotonic, perf_counter
from typing import Any

from hippocampe.config import Config
from hippocampe.errors import InvalidInput
from hippocampe.hippocampe import Hippocampe
from hippocampe.types import Progress, Recollection, Scope

ASKERS = ("camille", "owen")
LIMIT = 3
"""Results per question."""


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


class _RunningClock:
    """A clock that runs on from a start time."""

    def __init__(self, start: datetime) -> None:
        self._start = start
        self._begun = monotonic()

    def __call__(self) -> datetime:
        return self._start + timedelta(seconds=monotonic() - self._begun)


def _sample(name: str) -> str:
    return (files("hippocampe") / "sample" / name).read_text(encoding="utf-8")


def run(folder: Path | None = None, progress: Progress | None = None) -> Report:
    """Load the sample and ask its questions.

    Args:
        folder: A new or empty folder for the data; default: a temporary folder, removed afterwards.
        progress: Called with the task, the number done and the total.

    Raises:
        InvalidInput: The folder is not empty.
    """
    if folder is not None:
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise InvalidInput(f"{folder} is not empty: give the demo a new folder.")
        return _run(folder, progress)
    temporary = Path(tempfile.mkdtemp(prefix="hippocampe-demo-"))
    try:
        return _run(temporary, progress)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)


@contextmanager
def open_after(report: Report, folder: Path) -> Generator[Hippocampe]:
    """Open the folder of a demonstration as it was right after it, for a server.

    Its clock goes on from the last question, and each question is a turn, so that the pages on injections
    have something to show.

    Args:
        report: What `run` returned.
        folder: The folder that it was called with.
    """
    clock = _RunningClock(max(each.asked_at for each in report.asked))
    with Hippocampe.open(Config(folder), clock=clock) as hippo:
        for number, each in enumerate(report.asked):
            scope = Scope(user=ASKERS[number % len(ASKERS)], channel="lobby")
            hippo.before_turn(each.question, scope=scope)
        yield hippo


def _run(folder: Path, progress: Progress | None) -> Report:
    statements = [json.loads(line) for line in _sample("memories.jsonl").splitlines()]
    clock = _Clock(datetime.fromisoformat(statements[0]["at"]))
    started = perf_counter()
    with Hippocampe.open(Config(folder, background=False), clock=clock) as hippo:
        talk = files("hippocampe") / "sample" / "messages.jsonl"
        with as_file(talk) as path:
            imported = hippo.import_from(path, scope=Scope(), progress=progress)
        corrected: list[Correction] = []
        for number, statement in enumerate(statements, 1):
            clock.now = datetime.fromisoformat(statement["at"])
            corrected += _remember(hippo, statement)
            if progress:
                progress("remembering", number, len(statements))
        load_seconds = perf_counter() - started
        asked: list[AskedQuestion] = []
        for question in json.loads(_sample("questions.json")):
            clock.now = datetime.fromisoformat(question["asked_at"])
            asked.append(_ask(hippo, question))
    return Report(imported.added, len(statements), load_seconds, tuple(corrected), tuple(asked))


def _remember(hippo: Hippocampe, statement: dict[str, Any]) -> list[Correction]:
    arguments = dict(statement)
    arguments.pop("at")
    scope = Scope(user=arguments.pop("user"), channel=arguments.pop("channel"))
    result = hippo.remember(arguments.pop("content"), scope=scope, **arguments)
    olds = [hippo.get(id, scope=scope) for id in result.replaced]
    return [Correction(old.content, result.memory.content, result.reason) for old in olds]


def _ask(hippo: Hippocampe, question: dict[str, Any]) -> AskedQuestion:
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
        asked_at=datetime.fromisoformat(question["asked_at"]),
        found=tuple(found),
        answered=any(text in item.content for text in question["expect"] for item in found[:1]),
        took_ms=took_ms,
    )
