"""What is put silently in front of the model before it answers, and why.

Nothing here asks a model, and nothing is raised: what is late or down is left out, noted in the
trace and counted. Two paths run side by side: what matters whatever is asked (identity, importance,
recency) and what the message itself brings to mind. What the channel was already given is left out.
"""

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Future
from concurrent.futures import TimeoutError as Late
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from time import sleep
from typing import Any, TypeVar, cast, overload

from uuid6 import uuid7

from hippocampe import asking, journal, recall, settings, tokens
from hippocampe.embed.local import LocalEmbedder
from hippocampe.errors import EmbedderUnavailable, HippocampeError, IndexUnavailable, StoreError
from hippocampe.given import Channel
from hippocampe.laps import Laps
from hippocampe.notebook import Notebook
from hippocampe.parts import Parts, Retired
from hippocampe.prompt import without_injection
from hippocampe.protocols import Vector
from hippocampe.render import Rendered, render
from hippocampe.store import derived, memories, talk
from hippocampe.types import (
    Considered,
    Injection,
    Outcome,
    Path,
    Recollection,
    Scope,
    Settings,
    Trace,
)
from hippocampe.windows import read_window

Message = str | Mapping[str, Any]
T = TypeVar("T")

FOUND = 24
"""How much of what a search finds is considered."""
STANDING = 6
"""How many memories of each kind need not be searched for."""
TALK = 10
"""How many turns answer an open question."""
COLLECTIONS = ("memory", "summary", "turn", "live", "note")


def before_turn(
    parts: Parts,
    message: Message | Sequence[Message],
    *,
    scope: Scope,
    role: str,
    notebook: Notebook | None,
) -> Injection:
    """Choose what to put in front of the model for one turn, within the deadline of the settings.

    Args:
        message: What was said, or several messages of a burst; each a text, or a mapping with
            `content` and perhaps `role`.
        role: Of messages that do not say; `system` ones are not served.
        notebook: Where notes come from, if anywhere.
    """
    laps = Laps()
    try:
        return _serve(parts, message, scope, role, notebook, laps)
    except Retired:
        raise
    except Exception as exc:  # noqa: BLE001 a turn is served without memory rather than not at all
        parts.outages.failed("before_turn", type(exc).__name__)
        return _nothing(laps, "failed")


def rehearse(parts: Parts) -> None:
    """Serve a turn to nobody, so that what loads at its first use is loaded; nothing is noted.

    An embedder that is reached over a network is left alone.
    """
    if not isinstance(parts.embedder, LocalEmbedder):
        return
    with suppress(HippocampeError, Retired):
        scope = Scope()
        chosen, _ = _settings(parts, scope)
        turn = _Turn(parts, "on a dit quoi hier ?", scope, chosen, parts.now(), None, Laps())
        found = [each.item for each in (*turn.search(), *turn.standing())]
        someone = Recollection("", "memory", "quelqu'un", 1.0, at=datetime(2000, 1, 1, tzinfo=UTC))
        turn.render([*found, someone])


def _serve(
    parts: Parts,
    message: Message | Sequence[Message],
    scope: Scope,
    role: str,
    notebook: Notebook | None,
    laps: Laps,
) -> Injection:
    chosen, down = _settings(parts, scope)
    said = _said(message, role)
    channel = parts.given.channel(scope)
    skipped = None if said else "nothing that a user said"
    if not chosen.auto_retrieve_enabled:
        skipped = "switched off"
    if skipped is None and chosen.coalesce_ms:
        joined = _burst(channel, said, scope, chosen.coalesce_ms)
        if joined is None:
            return _nothing(laps, "joined to a later message")
        said, laps = joined, Laps()
    text = " ".join(said)
    if skipped is not None:
        injection = _nothing(laps, skipped)
    else:
        turn = _Turn(parts, text, scope, chosen, parts.now(), notebook, laps, missing=down)
        injection = turn.serve(channel)
    journal.note(parts, injection, scope=scope, message=text)
    return injection


def _settings(parts: Parts, scope: Scope) -> tuple[Settings, list[str]]:
    try:
        return settings.read(parts, scope=scope), []
    except StoreError as exc:
        parts.outages.failed("store", exc)
        return settings.defaults(parts.config), ["settings"]


def _said(message: Message | Sequence[Message], role: str) -> list[str]:
    """The texts to answer: none of the system's, and nothing of what was injected."""
    if isinstance(message, str | Mapping):
        message = [message]
    texts: list[str] = []
    for each in message:
        of = each if isinstance(each, Mapping) else {"content": each}
        spoken = str(of.get("role") or of.get("source") or role)
        content = of.get("content")
        if spoken != "system" and isinstance(content, str):
            texts.append(without_injection(content).strip())
    return [text for text in texts if text]


def _burst(channel: Channel, said: list[str], scope: Scope, wait_ms: int) -> list[str] | None:
    """Wait for more messages of the same speaker; None when a later one takes these along."""
    with channel.lock:
        waiting = channel.waiting.setdefault(scope.user, [])
        waiting += said
        before = len(waiting)
    sleep(wait_ms / 1000)
    with channel.lock:
        if channel.waiting.get(scope.user) is not waiting or len(waiting) != before:
            return None
        return channel.waiting.pop(scope.user)


def _nothing(laps: Laps, skipped: str) -> Injection:
    return Injection(str(uuid7()), "", (), 0, laps.total(), Trace(skipped=skipped))


@dataclass(slots=True)
class _Candidate:
    """A recollection on its way into an injection."""

    item: Recollection
    path: Path
    vector: Vector | None
    outcome: Outcome = "injected"
    found: recall.Found | None = None

    def told(self) -> Considered:
        item = self.item
        if self.found is not None:
            item = replace(item, why=self.found.why(item.id))
        return Considered(item, self.path, self.outcome)


class _Told(Sequence[Considered]):
    """What was considered, with the reasons, which are worked out only when somebody looks."""

    def __init__(self, candidates: Sequence[_Candidate]) -> None:
        self._candidates = candidates
        self._told: tuple[Considered, ...] | None = None

    def _all(self) -> tuple[Considered, ...]:
        if self._told is None:
            self._told = tuple(each.told() for each in self._candidates)
        return self._told

    @overload
    def __getitem__(self, index: int) -> Considered: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Considered]: ...
    def __getitem__(self, index: int | slice) -> Considered | Sequence[Considered]:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._candidates)


@dataclass(slots=True)
class _Turn:
    """One turn being served."""

    parts: Parts
    text: str
    scope: Scope
    chosen: Settings
    now: datetime
    notebook: Notebook | None
    laps: Laps
    missing: list[str] = field(default_factory=list[str])

    def serve(self, channel: Channel) -> Injection:
        standing = self._start(self.standing)
        searching = self._start(self.search)
        candidates = self._result("search", searching, [])
        candidates += self._result("standing", standing, [])
        candidates += self._context()
        self.laps.end("gather")
        ordered = _once_each(candidates, self.chosen.auto_retrieve_min_score)
        with channel.lock:
            channel.begin(self.chosen.context_window_depth)
            picked = self._pick(channel, ordered)
            self.laps.end("choose")
            rendered = self.render([each.item for each in picked])
            channel.take_back(rendered.no_room)
        no_room = {item.id for item in rendered.no_room}
        for each in picked:
            if each.item.id in no_room:
                each.outcome = "no_room"
        self.parts.note_access([item.id for item in rendered.shown if item.memory is not None])
        self.laps.end("render")
        trace = Trace(_Told(ordered), dict(self.laps.spent), tuple(self.missing))
        return Injection(
            str(uuid7()),
            rendered.text,
            rendered.shown,
            rendered.tokens,
            self.laps.total(),
            trace,
        )

    def render(self, items: Sequence[Recollection]) -> Rendered:
        """Quote what was found, as the settings of the space want it."""
        return render(
            items,
            language=self.chosen.language,
            now=self.now,
            timezone=self.chosen.timezone,
            budget=self.chosen.injection_token_budget,
            count=tokens.count,
        )

    def _start(self, path: Callable[[], T]) -> Future[T]:
        return self.parts.pool.submit(path)

    def _result(self, name: str, path: Future[T], otherwise: T) -> T:
        left = self.chosen.hook_timeout_ms - self.laps.total()
        try:
            found = path.result(timeout=max(left, 0) / 1000)
        except Late:
            path.cancel()
            self.parts.outages.failed(f"before_turn in time ({name})", "it was late")
            self.missing.append(f"{name} late")
            return otherwise
        except StoreError as exc:
            self.parts.outages.failed("store", exc)
            self.missing.append(f"{name} down")
            return otherwise
        except (HippocampeError, OSError) as exc:
            self.parts.outages.failed(name, exc)
            self.missing.append(f"{name} down")
            return otherwise
        self.parts.outages.works(f"before_turn in time ({name})")
        self.parts.outages.works("store")
        self.parts.outages.works(name)
        return found

    def standing(self) -> list[_Candidate]:
        """Who is who, what is important, what is recent; and what answers an open question."""
        about, since, until = self._openness()
        listed: dict[Path, list[Recollection]] = {}
        recent_from = since or self.now - timedelta(hours=self.chosen.recent_hours)
        if about == "person":
            recent_from = datetime.min.replace(tzinfo=self.now.tzinfo)
        with self.parts.store.read() as connection:
            found = memories.standing(
                connection,
                self.scope.space,
                self.now,
                least=self.chosen.important_threshold,
                since=recent_from,
                until=until or self.now,
                channel=self._channel(),
                limit=STANDING if about is None else 2 * STANDING,
            )
            if about == "talk":
                turns = talk.latest(
                    connection,
                    self.scope.space,
                    channel=self._channel(),
                    since=since,
                    until=until,
                    limit=TALK,
                )
                listed["recent"] = [recall.of_turn(turn) for turn in turns]
            for path, each in found.items():
                items = [recall.of_memory(memory) for memory in each]
                listed[cast("Path", path)] = listed.get(cast("Path", path), []) + items
            ids = [item.id for items in listed.values() for item in items]
            vectors = derived.vectors(connection, self.parts.embedder.model, ids)
        # What was asked for comes first.
        paths: tuple[Path, ...] = ("identity", "important", "recent")
        order = ("recent", "important", "identity") if about == "talk" else paths
        return [
            _Candidate(item, path, vectors[item.id].dense if item.id in vectors else None)
            for path in order
            for item in listed.get(path, [])
        ]

    def _openness(self) -> tuple[asking.Openness | None, datetime | None, datetime | None]:
        """What an open question is about, and the time it speaks of."""
        if not asking.sounds_open(self.text):
            return None, None, None
        window = read_window(self.text, now=self.now, timezone=self.chosen.timezone)
        about = asking.openness(self.text, named_time=window.text if window else "")
        if about is None or window is None:
            return about, None, None
        return about, window.start, window.end

    def _channel(self) -> str | None:
        return self.scope.channel if self.chosen.channel_scope else None

    def search(self) -> list[_Candidate]:
        """What the message brings to mind: memories, talk, live messages, notes."""
        kept = [name for name in COLLECTIONS if name != "note" or self._notes_wanted()]
        wanted = recall.Wanted(
            scope=self.scope,
            limit=FOUND,
            collections=tuple(kept),
            types=None,
            subjects=None,
            category=None,
            since=None,
            until=None,
            min_score=None,
            mode="hybrid",
            channel=self._channel(),
        )
        text = self.text[: recall.MAX_QUERY_CHARACTERS]
        laps = Laps()
        try:
            found = recall.find(self.parts, text, wanted, laps)
            self.parts.outages.works("embedder")
        except EmbedderUnavailable as exc:
            self.parts.outages.failed("embedder", exc)
            self.missing.append("embedder down")
            found = recall.find(self.parts, text, replace(wanted, mode="text"), laps)
        except IndexUnavailable as exc:
            self.parts.outages.failed("index", exc)
            self.missing.append("index down")
            return []
        self.parts.outages.works("index")
        self.laps.spent |= laps.spent
        return [
            _Candidate(item, "search", found.vectors.get(item.id), found=found)
            for item in found.items
        ]

    def _notes_wanted(self) -> bool:
        return self.chosen.obsidian_context_enabled

    def _context(self) -> list[_Candidate]:
        """The notes that the settings name, from memory."""
        if self.notebook is None or not self._notes_wanted():
            return []
        named = self.notebook.context(
            self.chosen.obsidian_context_notes,
            self.chosen.obsidian_context_tag,
            space=self.scope.space,
        )
        return [_Candidate(item, "context", None) for item in named]

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
    """Each recollection once. One that is too weak as an answer may still stand for itself."""
    kept: dict[str, _Candidate] = {}
    for each in candidates:
        first = kept.get(each.item.id)
        weak = first is not None and first.path == "search" and first.item.score < least
        if first is None:
            kept[each.item.id] = each
        elif weak:
            scored = replace(each.item, score=first.item.score)
            del kept[each.item.id]
            kept[each.item.id] = replace(each, item=scored, found=first.found)
    return list(kept.values())
