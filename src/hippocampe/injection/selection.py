"""Merge the candidates of all paths, select those to inject, and record every outcome."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from hippocampe.injection.channel_history import Channel
from hippocampe.language.equality import repeated
from hippocampe.language.statement import CHANGE, Statement, parse
from hippocampe.language.tokens import Token
from hippocampe.protocols import TALK, Vector
from hippocampe.retrieval.results import reply_line
from hippocampe.store.retrievals import Line
from hippocampe.types import (
    Considered,
    LazyConsidered,
    Outcome,
    Part,
    Recollection,
    Route,
    Settings,
    Signal,
    part_of,
)
from hippocampe.updates.decide import Verdict, compare

LIVE_SCORE = 0.1
"""Minimum score of live messages. They are few and of the day: the ten best are useful, and "ok" or "lol" stay
below 0.06."""
CORRECTION_SHARE = 0.5
"""Share of the minimum score that what says that something changed needs beside an older result of that score, which
alone would mislead."""
SEVERAL_SHARE = 0.15
"""Share of the minimum score that what is beside a result of that score needs, if the message asks for several."""
SEVERAL_RESULTS = 2
"""Factor of the maximum number of search results for such a message."""


@dataclass(slots=True)
class Candidate:
    """A recollection that may be injected.

    Attributes:
        path: The path that found it.
        item: The recollection, without its `why`.
        vector: Compared with earlier injections into the channel; None if there is none.
        also: Fallback path, used when the limit of the search is reached.
        outcome: Its fate: selected, or the reason why not.
        explain: The signals of a search hit by its id; None for other paths.
        packed: The same as bytes for the log; None for other paths.
        several: Whether the message asks for what several texts tell.
    """

    path: Route
    item: Recollection
    vector: Vector | None
    also: Route | None = None
    outcome: Outcome = "injected"
    explain: Callable[[str], tuple[Signal, ...]] | None = None
    packed: Callable[[str], bytes] | None = None
    several: bool = False

    @property
    def part(self) -> Part:
        """The part of an injection to which it belongs."""
        return part_of(self.item.kind, self.path)

    def considered(self) -> Considered:
        """The candidate as the trace shows it."""
        item = self.item
        if self.explain is not None:
            item = replace(item, why=self.explain(item.id))
        return Considered(item, self.path, self.outcome)

    def line(self) -> Line:
        """The candidate as stored in the log."""
        item = self.item
        signals = b"" if self.packed is None else self.packed(item.id)
        return item.id, item.kind, item.score, self.path, self.outcome, signals


def considered(candidates: Sequence[Candidate]) -> Sequence[Considered]:
    """The candidates as the trace shows them, explained at the first access."""
    return LazyConsidered(lambda: tuple(each.considered() for each in candidates), len(candidates))


def least_score(kind: str, settings: Settings) -> float:
    """The minimum score of a search hit, by kind."""
    chosen = settings.auto_retrieve_min_score
    return min(LIVE_SCORE, chosen) if kind == "live" else chosen


def merge(candidates: Sequence[Candidate], settings: Settings) -> list[Candidate]:
    """Deduplicate candidates by id; the first occurrence keeps its place.

    A recollection found by several paths gets its search score. A search hit below its least score
    is replaced by a later occurrence on another path, where the threshold does not apply.
    """
    searched = {each.item.id: each for each in candidates if each.path == "search"}
    unique: dict[str, Candidate] = {}
    for each in candidates:
        id, candidate = each.item.id, each
        hit = searched.get(id)
        if hit is not None and hit is not each:
            scored = replace(each.item, score=hit.item.score)
            candidate = replace(each, item=scored, explain=hit.explain, packed=hit.packed)
        first = unique.get(id)
        if first is not None and _is_below(first, settings):
            del unique[id]
        kept = unique.setdefault(id, candidate)
        if kept is not candidate and kept.path == "search":
            kept.also = kept.also or candidate.path
    return list(unique.values())


def _current_first(candidates: Sequence[Candidate], threshold: float) -> list[Candidate]:
    """Order replaced statements after the similar current ones, and old ones after a newer one in the same words, so that
    the current one is injected."""
    ordered = _newest_first(candidates)
    for former in [each for each in candidates if _is_former(each)]:
        alike = [
            place
            for place, each in enumerate(ordered)
            if not _is_former(each) and _cosine(each.vector, former.vector) >= threshold
        ]
        at = ordered.index(former)
        if alike and max(alike) > at:
            ordered.insert(max(alike), ordered.pop(at))
    return ordered


def _newest_first(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Order the statements in the same words by time, in the places that they have: "I swim tomorrow" of each week."""
    ordered = list(candidates)
    places = [place for place, each in enumerate(candidates) if each.item.memory is not None]
    for shared in repeated([candidates[place].item.content for place in places]):
        same = [places[number] for number in shared]
        newest = sorted((candidates[place] for place in same), key=_told_at, reverse=True)
        for place, each in zip(same, newest, strict=True):
            ordered[place] = each
    return ordered


def _told_at(candidate: Candidate) -> float:
    memory, at = candidate.item.memory, candidate.item.at
    told = memory.created_at if memory else at
    return told.timestamp() if told else 0.0


def _is_former(candidate: Candidate) -> bool:
    return candidate.item.memory is not None and candidate.item.memory.former


def _is_found_summary(candidate: Candidate) -> bool:
    """Return whether a candidate is a summary that answers only if no statement or exchange does: it repeats those."""
    return candidate.item.kind == "summary" and candidate.path == "search"


def _cosine(one: Vector | None, other: Vector | None) -> float:
    """The cosine of two unit vectors; 0 without one of them, or of two embedders."""
    if one is None or other is None or len(one) != len(other):
        return 0.0
    return float(one @ other)


def _is_below(candidate: Candidate, settings: Settings, share: float = 1.0) -> bool:
    least = share * least_score(candidate.item.kind, settings)
    return candidate.path == "search" and candidate.item.score < least


def _is_unlikely(
    candidate: Candidate, settings: Settings, *, several: bool, likely: Sequence[Candidate]
) -> bool:
    """Return whether a candidate is below its least score.

    Args:
        candidate: The candidate.
        settings: The settings with the minimum score.
        several: Whether a likely result of a message that asks for several lets less likely ones through.
        likely: The results of that score: what corrects an older one of them needs less, or nothing if it names the same.
    """
    if several:
        return _is_below(candidate, settings, SEVERAL_SHARE)
    if not _is_below(candidate, settings):
        return False
    older = [each for each in likely if _told_at(each) < _told_at(candidate)]
    if _is_below(candidate, settings, CORRECTION_SHARE):
        # Two memories were compared when the newer one was written.
        older = [each for each in older if _is_talk(each) or _is_talk(candidate)]
        return not older or not _corrects_any(candidate, older)
    return not older or parse(_said(candidate)).signs.isdisjoint(CHANGE)


def _is_talk(candidate: Candidate) -> bool:
    return candidate.item.kind in TALK


def _corrects_any(candidate: Candidate, older: Sequence[Candidate]) -> bool:
    said = parse(_said(candidate))
    changed = not said.signs.isdisjoint(CHANGE)
    return changed and any(_corrects(said, candidate, each) for each in older)


def _said(candidate: Candidate) -> str:
    return candidate.item.content.partition("\n")[0]


def _corrects(correction: Statement, candidate: Candidate, older: Candidate) -> bool:
    """Return whether an older text holds no more after a correction: that would replace it if it were remembered, or tells
    something else of the same."""
    corrected = parse(_said(older))
    subject = correction.tokens[: correction.verb + 1]
    own = any(not token.roles.isdisjoint(("own", "first_person")) for token in subject)
    if own and candidate.item.author != older.item.author:
        return False
    replaces = compare(correction, corrected).verdict is Verdict.UPDATED
    return replaces or _is_about(correction, corrected)


def _is_about(correction: Statement, corrected: Statement) -> bool:
    """Return whether a correction gives another value of all that it names before its verb, which an older text names too:
    "the dinner has been moved to Friday"."""
    if _kinds_of_values(correction.tokens).isdisjoint(_kinds_of_values(corrected.tokens)):
        return False
    named = {correction.tokens[at].stem for at in correction.content if at < correction.verb}
    return bool(named) and named <= corrected.stems


def _kinds_of_values(tokens: Sequence[Token]) -> set[str]:
    return {token.kind for token in tokens} - {"word"}


def _is_reply_in(item: Recollection, other: Recollection) -> bool:
    """Return whether a live message is told with the one that it answers."""
    return item.kind == other.kind == "live" and reply_line(item) in other.content.split("\n")[1:]


def select(
    candidates: Sequence[Candidate], channel: Channel, settings: Settings
) -> list[Candidate]:
    """Select what to inject, most useful first, and set the outcome of each candidate.

    Each part of an injection has its own limit. Selected candidates are recorded in the channel's history. If the message
    asks for several, a likely search result lets less likely ones through: one answer of a list says little.
    """
    selected: list[Candidate] = []
    results = [
        each for each in candidates if each.path == "search" and not _is_below(each, settings)
    ]
    several = any(each.several for each in results)
    room: dict[Part, int] = {
        "search": settings.auto_retrieve_max_results * (SEVERAL_RESULTS if several else 1),
        "live": settings.live_limit,
        "always_on": settings.always_on_limit,
        "named": settings.max_injection_count,
    }
    ordered = _current_first(candidates, settings.semantic_threshold)
    for each in sorted(ordered, key=_is_found_summary):
        if each.also is not None and room[each.part] < 1:
            each.path = each.also
        part = each.part
        if _is_unlikely(each, settings, several=several, likely=results):
            each.outcome = "below_threshold"
        elif (_is_found_summary(each) and any(other.path == "search" for other in selected)) or any(
            _is_reply_in(each.item, other.item) for other in selected
        ):
            each.outcome = "too_similar"
        elif refused := channel.refused(each.item, each.vector, settings.semantic_threshold):
            each.outcome = refused
        elif len(selected) >= settings.max_injection_count or room[part] < 1:
            each.outcome = "too_many"
        else:
            room[part] -= 1
            channel.give(each.item, each.vector, settings.max_semantic_buffer)
            selected.append(each)
    return selected
