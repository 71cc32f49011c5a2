"""One turn: select what the model sees before it answers, within a deadline.

No model is called and no error is raised: a path that is late or down is skipped, noted in the trace and
counted. Two paths run side by side: the always-on context and a search for the message. Items already injected
into the channel are not injected again.
"""

from collections.abc import Sequence
from dataclasses import replace

from hippocampe.engine import settings as space_settings
from hippocampe.engine.context import Context
from hippocampe.engine.corpus import Corpus, Retired
from hippocampe.engine.outages import log
from hippocampe.engine.stopwatch import Stopwatch
from hippocampe.errors import StoreError
from hippocampe.injection import burst, forgetting
from hippocampe.injection.burst import Burst
from hippocampe.injection.incoming import read_messages
from hippocampe.injection.turn import Turn, seconds_left, skip
from hippocampe.injection.turn_state import TurnState
from hippocampe.injection.warmup import wait_until_loaded
from hippocampe.language.text import cut
from hippocampe.retrieval import log as retrieval_log
from hippocampe.retrieval.request import MAX_QUERY_CHARACTERS
from hippocampe.store.retrievals import Line
from hippocampe.types import HostMessage, Injection, Scope, Settings


def before_turn(
    context: Context,
    state: TurnState,
    message: HostMessage | Sequence[HostMessage],
    *,
    scope: Scope,
    role: str,
    joined: bool = False,
    keep: bool | None = None,
) -> Injection | Burst:
    """Select what to put in front of the model for one turn, within the deadline of the settings.

    The first turn of a process, and of a space, waits until the embedder and the word counts are
    loaded; the deadline runs from then on.

    Args:
        state: The state between turns.
        message: A message, or several of a burst: a text, or a mapping with `content` and perhaps
            `role`.
        scope: The speaker and the channel.
        role: Default role of messages; system messages are not served.
        joined: The messages are a whole burst: do not wait for more.
        keep: Whether the host repeats earlier injections; default: the setting `keep_injections`.

    Returns:
        The injection; or the burst that the message may belong to, to be taken after its wait and
        served by another call.
    """
    corpus = context.corpus
    try:
        waited = wait_until_loaded(corpus, state, scope.space)
        stopwatch = Stopwatch()
        if waited:
            stopwatch.spent["loading"] = waited
        injection = _serve(context, state, message, scope, role, stopwatch, joined, keep)
    except Retired:
        raise
    except Exception as exc:  # noqa: BLE001 serve the turn without memory rather than fail it
        corpus.outages.failed("before_turn", type(exc).__name__)
        log.debug("a turn failed", exc_info=exc)
        return skip(Stopwatch(), "failed")
    corpus.outages.works("before_turn")
    return injection


def joined_to_a_later_message() -> Injection:
    """The empty injection of a turn whose messages a later turn of the burst serves."""
    return skip(Stopwatch(), "joined to a later message")


def _serve(
    context: Context,
    state: TurnState,
    message: HostMessage | Sequence[HostMessage],
    scope: Scope,
    role: str,
    stopwatch: Stopwatch,
    joined: bool,
    keep: bool | None,
) -> Injection | Burst:
    corpus = context.corpus
    texts, skipped = read_messages(message, role)
    settings, missing = _load_settings(corpus, state, scope, stopwatch)
    if keep is not None:
        settings = replace(settings, keep_injections=keep)
    if not settings.auto_retrieve_enabled:
        skipped = "switched off"
    if skipped is not None:
        injection = skip(stopwatch, skipped)
        message = " ".join(texts)
        retrieval_log.record(
            corpus.store, state.retrievals, injection, (), scope=scope, message=message
        )
        return injection
    channel = state.channels.channel(scope)
    if settings.coalesce_ms and not joined:
        return burst.join(channel, texts, settings.coalesce_ms, keep)
    place = state.admission.enter(stopwatch.started + settings.hook_timeout_ms / 1000)
    if place is None:
        corpus.outages.refused()
        return skip(stopwatch, "overloaded")
    try:
        stopwatch.end("queue")
        text = cut(" ".join(texts), MAX_QUERY_CHARACTERS)
        lines: tuple[Line, ...] = ()
        now = corpus.store.now()
        turn = Turn(corpus, state, text, scope, settings, now, stopwatch, missing)
        injection = forgetting.serve(context, turn)
        if injection is None:
            injection, lines = turn.serve(channel)
            given = [(item.kind, item.id) for item in injection.items]
            state.channels.tell(scope, "given", given)
            context.accesses.add([item.id for item in injection.items if item.memory is not None])
    finally:
        state.admission.leave(place)
    corpus.outages.served()
    retrieval_log.record(
        corpus.store, state.retrievals, injection, lines, scope=scope, message=text
    )
    return injection


def _load_settings(
    corpus: Corpus, state: TurnState, scope: Scope, stopwatch: Stopwatch
) -> tuple[Settings, list[str]]:
    """The settings of a space, and the missing parts.

    If the store is slow or down: the last known settings, or else the defaults.
    """
    fresh = corpus.settings.fresh(scope.space)
    if fresh is not None:
        return fresh, []
    known = corpus.settings.cached(scope.space)
    fallback = known or space_settings.defaults(corpus.config)
    reading = state.read_pool.submit(corpus.settings.of, scope.space)
    try:
        settings = reading.result(timeout=seconds_left(fallback, stopwatch))
        corpus.outages.works("settings")
        return settings, []
    except TimeoutError:
        reading.cancel()
        corpus.outages.late("settings", f"no answer within {fallback.hook_timeout_ms} ms")
        return fallback, ["settings late"]
    except StoreError as exc:
        corpus.outages.failed("settings", exc)
        return fallback, ["settings down"]
