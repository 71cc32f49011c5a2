"""One turn: gather candidates, select among them, render the injection.

Two paths run side by side: the always-on context and a search for the message. A path that is late or down is
skipped, noted in the trace and counted.
"""

from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import Future
from contextvars import copy_context
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from functools import partial

from uuid6 import uuid7

from hippocampe.engine.corpus import Corpus, Retired
from hippocampe.engine.outages import log
from hippocampe.engine.stopwatch import Stopwatch
from hippocampe.errors import EmbedderUnavailable, HippocampeError, IndexUnavailable
from hippocampe.injection.asker import Asker
from hippocampe.injection.channel_history import Channel
from hippocampe.injection.context import ContextReader
from hippocampe.injection.context_cache import ContextItem
from hippocampe.injection.render import Rendered, render_for
from hippocampe.injection.selection import Candidate, considered, least_score, merge, select
from hippocampe.injection.turn_state import TurnState
from hippocampe.language import open_questions
from hippocampe.language.follow_ups import MOST_ELLIPTICAL, asks_other_time, continues
from hippocampe.language.open_questions import OpenQuestion
from hippocampe.language.temporal.habits import next_time
from hippocampe.language.temporal.window import TimeWindow, parse_window
from hippocampe.retrieval import recall
from hippocampe.retrieval.parts import said_before
from hippocampe.retrieval.request import RecallRequest
from hippocampe.store.retrievals import Line
from hippocampe.types import Injection, Scope, Settings, Trace

SEARCH_LIMIT = 20
"""Search hits that are considered."""
MIN_SHOWN = 8
"""Hits always in the trace, even below the threshold, so that near misses can be inspected."""
COLLECTIONS = ("memory", "self", "summary", "turn", "live", "note")


def seconds_left(settings: Settings, stopwatch: Stopwatch) -> float:
    """Time until the deadline of a turn."""
    return max(settings.hook_timeout_ms - stopwatch.total(), 0) / 1000


def skip(stopwatch: Stopwatch, reason: str, missing: tuple[str, ...] = ()) -> Injection:
    """The empty injection of a turn that is not served."""
    trace = Trace(missing=missing, skipped=reason)
    return Injection(str(uuid7()), "", (), 0, stopwatch.total(), trace)


def search_request(scope: Scope, settings: Settings) -> RecallRequest:
    """The search request of a turn."""
    notes = settings.obsidian_context_enabled
    return RecallRequest(
        scope=scope,
        limit=SEARCH_LIMIT,
        min_score=least_score("live", settings),
        min_results=MIN_SHOWN,
        collections=tuple(name for name in COLLECTIONS if name != "note" or notes),
        read=recall.READ,
        read_within=recall.READ_WITHIN,
        typed=True,
        follows=True,
        channel=scope.channel if settings.channel_scope else None,
    )


class _Abandoned(Exception):
    """The turn no longer waits for this search."""


class _SearchStopwatch(Stopwatch):
    """Stops an abandoned search at the end of a stage, since it would only slow down other turns."""

    def __init__(self, abandoned: Collection[str], seconds_left: Callable[[], float]) -> None:
        super().__init__()
        self._abandoned = abandoned
        self._seconds_left = seconds_left

    def seconds_left(self) -> float:
        return self._seconds_left()

    def end(self, stage: str) -> None:
        super().end(stage)
        if "search" in self._abandoned:
            raise _Abandoned


@dataclass(frozen=True, slots=True)
class _PathResult:
    """The candidates of one path, the milliseconds of its stages, and the missing parts."""

    candidates: list[Candidate] = field(default_factory=list[Candidate])
    stages: Mapping[str, float] = field(default_factory=dict[str, float])
    missing: tuple[str, ...] = ()


@dataclass(slots=True)
class Turn:
    """One turn being served.

    Attributes:
        abandoned: The paths that missed the deadline.
    """

    corpus: Corpus
    state: TurnState
    text: str
    scope: Scope
    settings: Settings
    now: datetime
    stopwatch: Stopwatch = field(default_factory=Stopwatch)
    missing: list[str] = field(default_factory=list[str])
    stages: dict[str, float] = field(default_factory=dict[str, float])
    abandoned: set[str] = field(default_factory=set[str])
    _windows: dict[tuple[str, bool], TimeWindow | None] = field(
        default_factory=dict[tuple[str, bool], TimeWindow | None]
    )

    def serve(self, channel: Channel) -> tuple[Injection, tuple[Line, ...]]:
        """The injection, and the lines of the log about its candidates."""
        candidates = merge(self._gather(), self.settings)
        self.stopwatch.end("gather")
        rendered = self._choose(channel, candidates)
        no_room = {item.id for item in rendered.no_room}
        for each in candidates:
            each.vector = None
            if each.outcome == "injected" and each.item.id in no_room:
                each.outcome = "no_room"
        self.stopwatch.end("render")
        stages = self.stages | self.stopwatch.spent
        injection = Injection(
            str(uuid7()),
            rendered.text,
            rendered.shown,
            rendered.tokens,
            self.stopwatch.total(),
            Trace(considered(candidates), stages, tuple(dict.fromkeys(self.missing))),
        )
        return injection, tuple(each.line() for each in candidates)

    def _gather(self) -> list[Candidate]:
        """Run both paths side by side; the candidates of all paths, most useful first."""
        searching = self.state.search_pool.submit(copy_context().run, self._search)
        question, window = self._parse_question()
        subject = open_questions.subject_of(self.text)
        reader = ContextReader(
            self.corpus,
            self.state.context_cache,
            self.text,
            self.scope,
            self.settings,
            self.now,
            question,
            window,
            subject,
        )
        cached, reading = reader.cached(), None
        if cached is None:
            reading = self.state.read_pool.submit(copy_context().run, _read_context, reader)
        found = self._result("search", searching)
        if reading is not None:
            always_on = self._result("context", reading)
        else:
            always_on = _of_context(cached or ())
        is_open = subject is not None or (question is not None and question.is_open)
        found = [each for each in found if reader.admits(each.item)]
        ordered = [*always_on, *found] if is_open else [*found, *always_on]
        return [*ordered, *self._named_notes()]

    def _parse_question(self) -> tuple[OpenQuestion | None, TimeWindow | None]:
        """The question that the message asks of memory, and the time it names; the time only with a question.

        "And on Saturday?" asks for the events of another time.
        """
        asked = self.text
        follows = continues(asked, most=MOST_ELLIPTICAL)
        if not (follows or open_questions.speaks_of_memory(asked)):
            return None, None
        named = self._window(asked) or self._window(asked, ahead=True)
        if named and asks_other_time(asked, named.text):
            asked = said_before(self.corpus, self._request(), self.now)
        if not open_questions.speaks_of_memory(asked):
            return None, None
        question, window = self._parse(asked)
        if asked != self.text and (question is None or question.about != "events"):
            return None, None
        if question and _is_of_plans(question):
            window = self._window(self.text, ahead=True)
            return (question, window) if window and window.end > self.now else (None, None)
        if asked != self.text:
            window = self._window(self.text)
            return (question, window) if window else (None, None)
        if question and question.planned and window and self.now not in window:
            # What is planned for Monday was not told on the Monday before.
            return None, None
        return question, window

    def _parse(self, asked: str) -> tuple[OpenQuestion | None, TimeWindow | None]:
        """The question that a text asks of memory, and the time it names; "in the morning" is one only of plans."""
        window = self._window(asked)
        if window is None and (coming := self._window(asked, ahead=True)):
            question = self._asked(asked, coming)
            if question and _is_of_plans(question):
                return question, coming
        return self._asked(asked, window), window

    def _asked(self, text: str, named: TimeWindow | None) -> OpenQuestion | None:
        return open_questions.parse(
            text,
            named_time=named.text if named else "",
            companions=self.settings.companion_names,
            rooms=self.settings.live_rooms,
        )

    def _window(self, text: str, *, ahead: bool = False) -> TimeWindow | None:
        """The time that a text names; each is parsed once in a turn."""
        if (text, ahead) not in self._windows:
            zone = self.settings.timezone
            found = parse_window(text, now=self.now, timezone=zone, ahead=ahead)
            if found is None and ahead:
                found = next_time(text, now=self.now, timezone=zone)
            self._windows[text, ahead] = found
        return self._windows[text, ahead]

    def _request(self) -> RecallRequest:
        return search_request(self.scope, self.settings)

    def _choose(self, channel: Channel, candidates: Sequence[Candidate]) -> Rendered:
        """Select candidates and render them, under the lock of the channel."""
        with channel.lock:
            channel.begin(
                self.now,
                depth=self.settings.context_window_depth,
                session=timedelta(minutes=self.settings.session_timeout_minutes),
                keep=self.settings.keep_injections,
            )
            try:
                selected = select(candidates, channel, self.settings)
                self.stopwatch.end("choose")
                rendered = render_for(self.settings, [each.item for each in selected], self.now)
            except BaseException:
                channel.give_up()
                raise
            channel.end({item.id for item in rendered.no_room})
        return rendered

    def _result(self, name: str, path: Future[_PathResult]) -> list[Candidate]:
        """The candidates of a path; none if it misses the deadline or fails."""
        outages = self.corpus.outages
        try:
            error = path.exception(timeout=seconds_left(self.settings, self.stopwatch))
        except TimeoutError:
            self.abandoned.add(name)
            outages.late(name, f"no answer within {self.settings.hook_timeout_ms} ms")
            if not path.cancel():
                path.add_done_callback(partial(self._finished_late, name))
            self.missing.append(f"{name} late")
            return []
        if isinstance(error, Retired):
            raise error
        if error is not None:
            # An unexpected exception may quote user text, so only its type is logged.
            expected = isinstance(error, HippocampeError | OSError)
            outages.failed(name, error if expected else type(error).__name__)
            log.debug("%s failed", name, exc_info=error)
            self.missing.append(f"{name} down")
            return []
        result = path.result()
        outages.works(name)
        self.missing += result.missing
        self.stages |= result.stages
        return result.candidates

    def _finished_late(self, name: str, path: Future[_PathResult]) -> None:
        """Record a path that answered after the deadline as slow, not down."""
        if path.exception() is None or isinstance(path.exception(), _Abandoned):
            self.corpus.outages.works(name)

    def _search(self) -> _PathResult:
        """Search memories, talk, live messages and notes for the message."""
        asker = Asker(self.corpus, self.scope, self.settings, self.text)
        request = replace(self._request(), admits=asker.may_answer)
        outages, stopwatch = (
            self.corpus.outages,
            _SearchStopwatch(self.abandoned, self._seconds_to_read),
        )
        missing: list[str] = []
        try:
            try:
                found = recall.find(self.corpus, self.text, request, stopwatch)
                outages.works("embedder")
            except EmbedderUnavailable as exc:
                outages.failed("embedder", exc)
                missing.append("embedder down")
                words_only = replace(request, mode="text")
                found = recall.find(self.corpus, self.text, words_only, stopwatch)
            outages.works("index")
        except IndexUnavailable as exc:
            # A change of embedder closes the old index: retry with the new one.
            self.corpus.check_serving()
            # An abandoned search may outlive its index: this is no outage.
            if "search" not in self.abandoned:
                outages.failed("index", exc)
            return _PathResult([], stopwatch.spent, (*missing, "index down"))
        candidates = [
            Candidate(
                "search",
                item,
                found.vectors.get(item.id),
                explain=found.explain,
                packed=found.packed,
                several=found.several,
            )
            for item in found.items
        ]
        return _PathResult(candidates, stopwatch.spent, (*missing, *found.missing))

    def _seconds_to_read(self) -> float:
        """Time until the deadline; none while other turns wait for a place, which reading would take from them."""
        return 0.0 if self.state.admission.crowded else seconds_left(self.settings, self.stopwatch)

    def _named_notes(self) -> list[Candidate]:
        """The notes that the settings name, as of the last refresh."""
        if self.state.notes is None or not self.settings.obsidian_context_enabled:
            return []
        if self.corpus.outages.is_down("notes"):
            self.missing.append("notes down")
        named = self.state.notes.context(
            self.settings.obsidian_context_notes,
            self.settings.obsidian_context_tag,
            space=self.scope.space,
        )
        return [Candidate("context", item, None) for item in named]


def _is_of_plans(question: OpenQuestion) -> bool:
    return question.planned and question.about == "events"


def _read_context(reader: ContextReader) -> _PathResult:
    stopwatch = Stopwatch()
    items = reader.load()
    stopwatch.end("context")
    return _PathResult(_of_context(items), stopwatch.spent)


def _of_context(items: Sequence[ContextItem]) -> list[Candidate]:
    return [Candidate(path, item, vector) for path, item, vector in items]
