"""Preview an injection, now or at an earlier time, without side effects."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from datetime import datetime

from hippocampe.engine.corpus import Corpus
from hippocampe.engine.past import known_at
from hippocampe.engine.stopwatch import Stopwatch
from hippocampe.injection.channel_history import Channel
from hippocampe.injection.incoming import read_messages
from hippocampe.injection.turn import Turn, skip
from hippocampe.injection.turn_state import TurnState
from hippocampe.injection.warmup import wait_until_loaded
from hippocampe.language.datetimes import as_utc
from hippocampe.language.text import cut
from hippocampe.retrieval.request import MAX_QUERY_CHARACTERS
from hippocampe.types import HostMessage, Injection, Scope, Settings

PATIENCE_MS = 10_000
"""Deadline of a preview: no answer waits for it, and it should show all that a turn can find."""


def preview(
    corpus: Corpus,
    state: TurnState,
    message: HostMessage | Sequence[HostMessage],
    *,
    scope: Scope,
    role: str = "user",
    at: datetime | str | None = None,
) -> Injection:
    """Preview an injection of `before_turn`, while nothing changes: nothing is counted or logged, and the
    channel may still receive the same items.

    It waits for late sources instead of leaving them out.

    Args:
        message: As for `before_turn`.
        scope: The speaker and the channel.
        role: Role of messages without one.
        at: Only what was known at this time: what was learnt by then, and not yet superseded,
            forgotten or expired. Nothing was injected before; the settings are those
            of now. Memories edited in place since then have their present text.

    Raises:
        InvalidInput: The time is invalid.
    """
    moment = as_utc(at, name="at")
    if moment is None:
        channel = state.channels.copy(scope)
        return _preview(corpus, state, message, scope, role, channel)
    with past(corpus, moment) as (then, past_state):
        return _preview(then, past_state, message, scope, role, Channel())


@contextmanager
def past(corpus: Corpus, at: datetime) -> Generator[tuple[Corpus, TurnState]]:
    """The services, and a state of turns, as of a time."""
    with known_at(corpus, at) as then:
        state = TurnState(corpus.config)
        try:
            yield then, state
        finally:
            state.close()


def patient(settings: Settings) -> Settings:
    """Settings without a deadline that a turn would miss."""
    return replace(settings, hook_timeout_ms=max(PATIENCE_MS, settings.hook_timeout_ms))


def _preview(
    corpus: Corpus,
    state: TurnState,
    message: HostMessage | Sequence[HostMessage],
    scope: Scope,
    role: str,
    channel: Channel,
) -> Injection:
    texts, skipped = read_messages(message, role)
    settings = corpus.settings.of(scope.space)
    if not settings.auto_retrieve_enabled:
        skipped = "switched off"
    wait_until_loaded(corpus, state, scope.space)
    stopwatch = Stopwatch()
    if skipped is not None:
        return skip(stopwatch, skipped)
    text, now = cut(" ".join(texts), MAX_QUERY_CHARACTERS), corpus.store.now()
    turn = Turn(corpus, state, text, scope, patient(settings), now, stopwatch)
    return turn.serve(channel)[0]
