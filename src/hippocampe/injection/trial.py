"""Serve the latest turns again under changed settings, to show what a change does before it is made."""

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from hippocampe.engine import settings as space_settings
from hippocampe.engine.corpus import Corpus
from hippocampe.engine.stopwatch import Stopwatch
from hippocampe.injection.channel_history import ChannelHistories
from hippocampe.injection.preview import past, patient
from hippocampe.injection.turn import Turn, skip
from hippocampe.injection.turn_state import TurnState
from hippocampe.retrieval import log
from hippocampe.types import Considered, Injection, Retrieval, Scope, Settings, Trace, Trial
from hippocampe.validation import check_limit

MAX_TURNS = 50
SWITCHED_OFF = "switched off"


def try_settings(
    corpus: Corpus, state: TurnState, /, *, scope: Scope, limit: int = 10, **changes: Any
) -> list[Trial]:
    """Serve the latest logged turns again, under the settings of the space and under changed ones; change nothing.

    Each turn sees what was known at its time. Injection histories start empty. Deadlines
    and bursts are not repeated, so the settings of those make no difference here.

    Args:
        scope: The space.
        limit: At most this many, 1 to 50.
        changes: As for `update_settings`; none shows what the turns get under the present settings.

    Returns:
        Newest first. The traces name what was injected, without reasons.

    Raises:
        InvalidInput: The setting does not exist or the value is invalid.
    """
    check_limit(limit, most=MAX_TURNS)
    default = space_settings.defaults(corpus.config)
    present = corpus.settings.of(scope.space)
    changed = replace(present, **space_settings.checked_changes(default, changes))
    logged = log.retrievals(
        corpus.store, state.retrievals, scope=Scope(space=scope.space), limit=limit
    )
    served = [each for each in logged if each.skipped in (None, SWITCHED_OFF)]
    before = ChannelHistories()
    after = before if changed == present else ChannelHistories()
    found: list[Trial] = []
    for entry in reversed(served):
        with past(corpus, entry.created_at) as (then, then_state):
            then_state.notes = state.notes
            first = _serve(then, then_state, entry, present, before)
            second = first if after is before else _serve(then, then_state, entry, changed, after)
        found.append(Trial(replace(entry, items=()), first, second))
    return found[::-1]


def _serve(
    then: Corpus,
    state: TurnState,
    entry: Retrieval,
    settings: Settings,
    channels: ChannelHistories,
) -> Injection:
    if not settings.auto_retrieve_enabled:
        return skip(Stopwatch(), SWITCHED_OFF)
    scope = Scope(space=entry.space, user=entry.user, channel=entry.channel)
    message, at = entry.message_preview, entry.created_at
    turn = Turn(then, state, message, scope, patient(settings), at)
    injection, _ = turn.serve(channels.channel(scope))
    injected = tuple(_injected(injection))
    return replace(injection, trace=Trace(injected, missing=injection.trace.missing))


def _injected(injection: Injection) -> Iterator[Considered]:
    for each in injection.trace.considered:
        if each.outcome == "injected":
            yield replace(each, recollection=replace(each.recollection, why=()))
