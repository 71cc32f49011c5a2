"""What is put silently in front of the model before it answers, and why.

Nothing here asks a model, and nothing is raised: what is late or down is left out, noted in the
trace and counted. Two paths run side by side: what matters whatever is asked (identity, importance,
recency) and what the message itself brings to mind. What the channel was already given is left out.
"""

from collections.abc import Callable, Collection, Hashable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import TypedDict, cast, overload

from sqlalchemy import Connection
from uuid6 import uuid7

from hippocampe.engine import settings
from hippocampe.engine.context import Context, Retired
from hippocampe.engine.outages import log
from hippocampe.engine.stopwatch import Stopwatch
from hippocampe.errors import EmbedderUnavailable, HippocampeError, IndexUnavailable, StoreError
from hippocampe.index.documents import fold_subjects
from hippocampe.ingest.notes.sync import NoteSync
from hippocampe.injection import open_questions, tokens
from hippocampe.injection.channel_history import Channel
from hippocampe.injection.context_cache import Stands
from hippocampe.injection.incoming import HostMessage, cut, read_messages
from hippocampe.injection.open_questions import Asked
from hippocampe.injection.render import render
from hippocampe.injection.warmup import wait_until_loaded
from hippocampe.language.temporal.window import TimeWindow, read_window
from hippocampe.language.text import words
from hippocampe.protocols import Vector
from hippocampe.retrieval import log as retrieval_log
from hippocampe.retrieval import recall, request, results
from hippocampe.store import conversations, embeddings, memories
from hippocampe.store.retrievals import Line
from hippocampe.types import (
    Considered,
    Injection,
    Outcome,
    Path,
    Recollection,
    Scope,
    Settings,
    Signal,
    Trace,
)

SEARCH_LIMIT = 20
"""How much of what a search finds is considered."""
MIN_SHOWN = 8
"""How much is shown at least, below the threshold too: that one answer was near is worth knowing."""
CONTEXT_LIMIT = 6
"""How many memories of each kind need not be searched for; twice as many for an open question."""
TALK = 10
"""How many turns answer an open question."""
MAX_TURNS_OF_A_PERIOD = 100
"""How many turns of a time that is asked about are looked through for the topic."""
_LONG_AGO = datetime(1, 1, 2, tzinfo=UTC)
COLLECTIONS = ("memory", "summary", "turn", "live", "note")


@dataclass(frozen=True, slots=True)
class Burst:
    """A turn that waits for more messages of its speaker: serve it after `wait_seconds`.

    Attributes:
        wait_seconds: How long to wait.
        channel: Where it waits.
        speaker: Whose messages may follow.
        messages: The speaker's messages so far; later ones are added to it.
        count: How many of them there were when this turn began.
    """

    wait_seconds: float
    channel: Channel
    speaker: str | None
    messages: list[str]
    count: int

    def take(self) -> list[str] | None:
        """The messages of the burst; None when a later turn takes these along."""
        with self.channel.lock:
            if self.channel.waiting.get(self.speaker) is not self.messages:
                return None
            if len(self.messages) != self.count:
                return None
            return self.channel.waiting.pop(self.speaker)


def before_turn(
    context: Context,
    message: HostMessage | Sequence[HostMessage],
    *,
    scope: Scope,
    role: str,
    notebook: NoteSync | None,
    joined: bool = False,
) -> Injection | Burst:
    """Choose what to put in front of the model for one turn, within the deadline of the settings.

    The deadline runs once what a turn needs is loaded: the first turn of a process waits for that.

    Args:
        message: What was said, or several messages of a burst; each a text, or a mapping with
            `content` and perhaps `role`.
        role: Of messages that do not say; `system` ones are not served.
        notebook: Where notes come from, if anywhere.
        joined: The messages are a whole burst: do not wait for more.

    Returns:
        The injection; or the burst that the message may be part of, to be taken after a while and
        served by another call.
    """
    try:
        waited = wait_until_loaded(context, scope.space)
        stopwatch = Stopwatch()
        if waited:
            stopwatch.spent["loading"] = waited
        injection = _serve(context, message, scope, role, notebook, stopwatch, joined)
    except Retired:
        raise
    except Exception as exc:  # noqa: BLE001 a turn is served without memory rather than not at all
        context.outages.failed("before_turn", type(exc).__name__)
        log.debug("a turn failed", exc_info=exc)
        return _nothing(Stopwatch(), "failed")
    context.outages.works("before_turn")
    return injection


def joined_to_a_later_message() -> Injection:
    """What a turn gets whose messages a later turn takes along."""
    return _nothing(Stopwatch(), "joined to a later message")


def _serve(
    context: Context,
    message: HostMessage | Sequence[HostMessage],
    scope: Scope,
    role: str,
    notebook: NoteSync | None,
    stopwatch: Stopwatch,
    joined: bool,
) -> Injection | Burst:
    said, skipped = read_messages(message, role, longest=request.MAX_QUERY_CHARACTERS)
    chosen, down = _settings(context, scope, stopwatch)
    if not chosen.auto_retrieve_enabled:
        skipped = "switched off"
    if skipped is not None:
        injection = _nothing(stopwatch, skipped)
        retrieval_log.note(context, injection, (), scope=scope, message=" ".join(said))
        return injection
    channel = context.given.channel(scope)
    if chosen.coalesce_ms and not joined:
        return _burst(channel, said, scope, chosen.coalesce_ms)
    place = context.turns.enter(stopwatch.started + chosen.hook_timeout_ms / 1000)
    if place is None:
        context.outages.refused()
        return _nothing(stopwatch, "overloaded")
    try:
        stopwatch.end("queue")
        text = cut(" ".join(said), request.MAX_QUERY_CHARACTERS)
        turn = _Turn(context, text, scope, chosen, context.now(), notebook, stopwatch, missing=down)
        injection, considered = turn.serve(channel)
    finally:
        context.turns.leave(place)
    context.outages.served()
    retrieval_log.note(context, injection, considered, scope=scope, message=text)
    return injection


def _settings(context: Context, scope: Scope, stopwatch: Stopwatch) -> tuple[Settings, list[str]]:
    """The settings of a space: those that were known last, or the defaults, if the store is slow."""
    fresh = settings.fresh_ones(context, scope.space)
    if fresh is not None:
        return fresh, []
    otherwise = settings.known_ones(context, scope.space) or settings.defaults(context.config)
    reading = context.reading.submit(settings.read, context, scope=scope)
    try:
        found = reading.result(timeout=_left(otherwise, stopwatch))
        context.outages.works("settings")
        return found, []
    except Late:
        reading.cancel()
        context.outages.late("settings", f"no answer within {otherwise.hook_timeout_ms} ms")
        return otherwise, ["settings late"]
    except StoreError as exc:
        context.outages.failed("settings", exc)
        return otherwise, ["settings down"]


def _left(chosen: Settings, stopwatch: Stopwatch) -> float:
    """Seconds left until the deadline."""
    return max(chosen.hook_timeout_ms - stopwatch.total(), 0) / 1000


def _burst(channel: Channel, said: list[str], scope: Scope, wait_ms: int) -> Burst:
    """Have messages wait for more of the same speaker."""
    with channel.lock:
        waiting = channel.waiting.setdefault(scope.user, [])
        waiting += said
        return Burst(wait_ms / 1000, channel, scope.user, waiting, len(waiting))


def _nothing(stopwatch: Stopwatch, skipped: str) -> Injection:
    return Injection(str(uuid7()), "", (), 0, stopwatch.total(), Trace(skipped=skipped))


@dataclass(slots=True)
class _Candidate:
    """A recollection on its way into an injection."""

    path: Path
    item: Recollection
    vector: Vector | None
    outcome: Outcome = "injected"
    why: Callable[[str], tuple[Signal, ...]] | None = None
    packed: Callable[[str], bytes] | None = None

    def told(self) -> Considered:
        item = self.item
        if self.why is not None:
            item = replace(item, why=self.why(item.id))
        return Considered(item, self.path, self.outcome)

    def line(self) -> Line:
        item = self.item
        signals = b"" if self.packed is None else self.packed(item.id)
        return item.id, item.kind, item.score, self.path, self.outcome, signals


class _Told(Sequence[Considered]):
    """What was considered, with the reasons, which are worked out only when somebody looks."""

    def __init__(self, candidates: Sequence[_Candidate]) -> None:
        self._candidates = candidates
        self._told: tuple[Considered, ...] | None = None

    def _all(self) -> tuple[Considered, ...]:
        told = self._told
        if told is None:
            told = self._told = tuple(each.told() for each in self._candidates)
            # What the reasons are worked out from is large.
            self._candidates = ()
        return told

    @overload
    def __getitem__(self, index: int) -> Considered: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Considered]: ...
    def __getitem__(self, index: int | slice) -> Considered | Sequence[Considered]:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._candidates if self._told is None else self._told)


class _LeftBehind(Exception):
    """The turn no longer waits for this search."""


class _SearchLaps(Stopwatch):
    """Ends a search between two stages once it is left behind: it would only delay other turns."""

    def __init__(self, left: Collection[str]) -> None:
        super().__init__()
        self._left = left

    def end(self, stage: str) -> None:
        super().end(stage)
        if "search" in self._left:
            raise _LeftBehind


@dataclass(frozen=True, slots=True)
class _Gathered:
    """What one path found, how long each stage of it took, and what it had to do without."""

    candidates: list[_Candidate] = field(default_factory=list[_Candidate])
    stages: Mapping[str, float] = field(default_factory=dict[str, float])
    missing: tuple[str, ...] = ()


class _Where(TypedDict):
    """Which talk of a space is meant."""

    channel: str | None
    since: datetime | None
    until: datetime | None


@dataclass(slots=True)
class _Turn:
    """One turn being served."""

    context: Context
    text: str
    scope: Scope
    chosen: Settings
    now: datetime
    notebook: NoteSync | None
    stopwatch: Stopwatch
    missing: list[str]
    asked: Asked | None = None
    window: TimeWindow | None = None
    stages: dict[str, float] = field(default_factory=dict[str, float])
    left: set[str] = field(default_factory=set[str])
    """The paths that were late and left behind."""

    def serve(self, channel: Channel) -> tuple[Injection, tuple[Line, ...]]:
        """The injection, and the lines of the log on what was considered for it."""
        searching = self.context.searching.submit(self._search)
        self._read()
        stands, standing = self._kept_standing(), None
        if stands is None:
            standing = self.context.reading.submit(self._standing)
        found = self._result("search", searching)
        if standing is not None:
            stands = self._result("standing", standing)
        if self.asked is not None and self.asked.is_open:
            candidates = [*(stands or ()), *found]
        else:
            candidates = [*found, *(stands or ())]
        ordered = _once_each([*candidates, *self._context()], self.chosen.auto_retrieve_min_score)
        self.stopwatch.end("gather")
        with channel.lock:
            channel.begin(
                self.now,
                depth=self.chosen.context_window_depth,
                session=timedelta(minutes=self.chosen.session_timeout_minutes),
            )
            try:
                picked = self._pick(channel, ordered)
                self.stopwatch.end("choose")
                rendered = render(
                    [each.item for each in picked],
                    language=self.chosen.language,
                    now=self.now,
                    timezone=self.chosen.timezone,
                    budget=self.chosen.injection_token_budget,
                    count=tokens.count,
                )
            except BaseException:
                channel.give_up()
                raise
            channel.end(rendered.no_room)
        no_room = {item.id for item in rendered.no_room}
        for each in ordered:
            each.vector = None
            if each.outcome == "injected" and each.item.id in no_room:
                each.outcome = "no_room"
        self.context.note_access([item.id for item in rendered.shown if item.memory is not None])
        self.stopwatch.end("render")
        injection = Injection(
            str(uuid7()),
            rendered.text,
            rendered.shown,
            rendered.tokens,
            self.stopwatch.total(),
            Trace(_Told(ordered), self.stages | self.stopwatch.spent, tuple(self.missing)),
        )
        return injection, tuple(each.line() for each in ordered)

    def _read(self) -> None:
        """Read whether the message asks of memory, and of which time."""
        if open_questions.speaks_of_memory(self.text):
            self.window = read_window(self.text, now=self.now, timezone=self.chosen.timezone)
            named = self.window.text if self.window else ""
            companions = self.chosen.companion_names
            self.asked = open_questions.read(self.text, named_time=named, companions=companions)

    def _result(self, name: str, path: Future[_Gathered]) -> list[_Candidate]:
        """What a path found, if it did so in time."""
        outages = self.context.outages
        try:
            error = path.exception(timeout=_left(self.chosen, self.stopwatch))
        except Late:
            self.left.add(name)
            outages.late(name, f"no answer within {self.chosen.hook_timeout_ms} ms")
            if not path.cancel():
                path.add_done_callback(partial(self._answered_late, name))
            self.missing.append(f"{name} late")
            return []
        if isinstance(error, Retired):
            raise error
        if error is not None:
            # What nobody thought of may say what was said: only its kind is shown.
            expected = isinstance(error, HippocampeError | OSError)
            outages.failed(name, error if expected else type(error).__name__)
            log.debug("%s failed", name, exc_info=error)
            self.missing.append(f"{name} down")
            return []
        gathered = path.result()
        outages.works(name)
        self.missing += gathered.missing
        self.stages |= gathered.stages
        return gathered.candidates

    def _answered_late(self, name: str, path: Future[_Gathered]) -> None:
        """A path that answers after the deadline is slow, not down."""
        if path.exception() is None or isinstance(path.exception(), _LeftBehind):
            self.context.outages.works(name)

    def _kept_standing(self) -> list[_Candidate] | None:
        """Who is who, what is important, what is recent, if it was read just now and is all that is
        wanted."""
        if self.asked is not None or self._person() is not None:
            return None
        found = self.context.standing.get(self._standing_key(), self.context.changes, self.now)
        return None if found is None else [_Candidate(*each) for each in found]

    def _standing(self) -> _Gathered:
        """Who is who, what is important, what is recent; and what answers an open question."""
        stopwatch = Stopwatch()
        name = self._person()
        changes = self.context.changes
        found = self._read_standing(name)
        if name is None and self.asked is None:
            self.context.standing.keep(self._standing_key(), changes, self.now, found)
        stopwatch.end("standing")
        return _Gathered([_Candidate(*each) for each in found], stopwatch.spent)

    def _standing_key(self) -> Hashable:
        return (
            self.scope.space,
            self._channel(),
            self.chosen.important_threshold,
            self.chosen.recent_hours,
        )

    def _read_standing(self, name: str | None) -> list[Stands]:
        is_open = self.asked is not None and self.asked.is_open
        since = self.now - timedelta(hours=self.chosen.recent_hours)
        if is_open:
            since = self.window.start if self.window else _LONG_AGO
        with self.context.store.read() as connection:
            listed = memories.standing(
                connection,
                self.scope.space,
                self.now,
                least=self.chosen.important_threshold,
                since=since,
                until=self.window.end if is_open and self.window else self.now,
                channel=self._channel(),
                limit=2 * CONTEXT_LIMIT if is_open else CONTEXT_LIMIT,
            )
            said = self._talk(connection)
            known = self._known_of_person(connection, name) if name else []
            of_path = {
                path: [results.of_memory(memory) for memory in each]
                for path, each in listed.items()
            }
            order = ("identity", "important", "recent")
            if is_open and not known:
                # What was asked for comes first.
                order = ("recent", "important", "identity")
            found = [("recent", item) for item in said]
            found += [("identity", item) for item in known]
            found += [(path, item) for path in order for item in of_path[path]]
            ids = [item.id for _, item in found]
            vectors = embeddings.vectors(connection, self.context.embedder.model, ids)
        return [
            (cast("Path", path), item, vectors[item.id].dense if item.id in vectors else None)
            for path, item in found
        ]

    def _person(self) -> str | None:
        """Whoever asks what is known of them, or says who they are."""
        name = open_questions.introduced(self.text, companions=self.chosen.companion_names)
        if name is None and self.asked and self.asked.is_open and self.asked.about == "person":
            return self.scope.user
        return name

    def _talk(self, connection: Connection) -> list[Recollection]:
        """The talk that is asked about: the latest, or that of a time, and then of its topic."""
        asked, window = self.asked, self.window
        if asked is None or asked.about != "talk" or (asked.topic and window is None):
            return []
        where: _Where = {
            "channel": self._channel(),
            "since": window.start if window else None,
            "until": window.end if window else None,
        }
        space = self.scope.space
        if asked.topic:
            turns = conversations.latest(connection, space, limit=MAX_TURNS_OF_A_PERIOD, **where)
            return [
                results.of_turn(turn)
                for turn in turns
                if not asked.topic.isdisjoint(words(turn.content))
            ][:TALK]
        turns = conversations.latest(connection, space, limit=TALK, **where)
        live = conversations.latest_live(connection, space, limit=self.chosen.live_limit, **where)
        found = [results.of_turn(turn) for turn in turns]
        found += [results.of_live(each) for each in live]
        return sorted(found, key=lambda item: item.at or self.now, reverse=True)

    def _known_of_person(self, connection: Connection, name: str) -> list[Recollection]:
        names = set(fold_subjects([name]))
        others = self.context.aliases(self.scope.space)
        names |= {other for each in names for other in others.get(each, ())}
        found = memories.known_of(
            connection,
            self.scope.space,
            sorted(names),
            self.now,
            channel=self._channel(),
            limit=2 * CONTEXT_LIMIT,
        )
        return [results.of_memory(memory) for memory in found]

    def _channel(self) -> str | None:
        return self.scope.channel if self.chosen.channel_scope else None

    def _search(self) -> _Gathered:
        """What the message brings to mind: memories, talk, live messages, notes."""
        kept = [name for name in COLLECTIONS if name != "note" or self._notes_wanted()]
        wanted = request.Wanted(
            scope=self.scope,
            limit=SEARCH_LIMIT,
            min_score=self.chosen.auto_retrieve_min_score,
            at_least=MIN_SHOWN,
            collections=tuple(kept),
            channel=self._channel(),
        )
        outages, stopwatch = self.context.outages, _SearchLaps(self.left)
        missing: list[str] = []
        try:
            try:
                found = recall.find(self.context, self.text, wanted, stopwatch)
                outages.works("embedder")
            except EmbedderUnavailable as exc:
                outages.failed("embedder", exc)
                missing.append("embedder down")
                found = recall.find(
                    self.context, self.text, replace(wanted, mode="text"), stopwatch
                )
            outages.works("index")
        except IndexUnavailable as exc:
            # It may only have been closed because another one has taken over.
            self.context.check_serving()
            # Left behind, it may have outlived the index that it searches.
            if "search" not in self.left:
                outages.failed("index", exc)
            return _Gathered([], stopwatch.spent, (*missing, "index down"))
        candidates = [
            _Candidate(
                "search", item, found.vectors.get(item.id), why=found.why, packed=found.packed
            )
            for item in found.items
        ]
        return _Gathered(candidates, stopwatch.spent, tuple(missing))

    def _notes_wanted(self) -> bool:
        return self.chosen.obsidian_context_enabled

    def _context(self) -> list[_Candidate]:
        """The notes that the settings name, from memory."""
        if self.notebook is None or not self._notes_wanted():
            return []
        if self.context.outages.is_down("notes"):
            self.missing.append("notes down")
        named = self.notebook.context(
            self.chosen.obsidian_context_notes,
            self.chosen.obsidian_context_tag,
            space=self.scope.space,
        )
        return [_Candidate("context", item, None) for item in named]

    def _pick(self, channel: Channel, candidates: Sequence[_Candidate]) -> list[_Candidate]:
        """Those that go in, the most useful first; each candidate learns what became of it."""
        chosen = self.chosen
        picked: list[_Candidate] = []
        room = {"search": chosen.auto_retrieve_max_results, "live": chosen.live_limit}
        for each in candidates:
            room_of = "live" if each.item.kind == "live" else each.path
            if each.path == "search" and each.item.score < chosen.auto_retrieve_min_score:
                each.outcome = "below_threshold"
            elif refused := channel.refused(each.item, each.vector, chosen.semantic_threshold):
                each.outcome = refused
            elif len(picked) >= chosen.max_injection_count or room.get(room_of, 1) < 1:
                each.outcome = "too_many"
            else:
                room[room_of] = room.get(room_of, len(candidates)) - 1
                channel.give(each.item, each.vector, chosen.max_semantic_buffer)
                picked.append(each)
        return picked


def _once_each(candidates: Sequence[_Candidate], least: float) -> list[_Candidate]:
    """Each recollection once, with its score if it was searched for too.

    One that is too weak as an answer may still stand for itself.
    """
    searched = {each.item.id: each for each in candidates if each.path == "search"}
    kept: dict[str, _Candidate] = {}
    for each in candidates:
        id, candidate = each.item.id, each
        found = searched.get(id)
        if found is not None and found is not each:
            scored = replace(each.item, score=found.item.score)
            candidate = replace(each, item=scored, why=found.why, packed=found.packed)
        first = kept.get(id)
        if first is not None and first.path == "search" and first.item.score < least:
            del kept[id]
        kept.setdefault(id, candidate)
    return list(kept.values())
