"""Report the outcome of a request to forget in the injection."""

from collections.abc import Callable
from dataclasses import replace

from hippocampe.engine import backlog
from hippocampe.engine.context import Context
from hippocampe.engine.stopwatch import Stopwatch
from hippocampe.errors import HippocampeError, IndexUnavailable
from hippocampe.injection.render import render_notice
from hippocampe.injection.turn import seconds_left, skip
from hippocampe.injection.turn_state import TurnState
from hippocampe.language.i18n import translate
from hippocampe.language.sanitize import quote
from hippocampe.language.text import cut
from hippocampe.retrieval import requested
from hippocampe.types import Forgetting, Injection, ReceiptItem, Scope, Settings

MAX_SHOWN = 5
"""Items quoted of those that wait for the user."""
MAX_CHARACTERS = 160
SKIPPED = "a request to forget"


def serve(
    context: Context,
    state: TurnState,
    text: str,
    scope: Scope,
    settings: Settings,
    stopwatch: Stopwatch,
    missing: list[str],
) -> Injection | None:
    """The injection of a message that asks to forget something, or confirms that; None for others.

    A request that cannot be planned is served like other messages, with what the store has.

    Args:
        context: The memory.
        state: The state between turns.
        text: The message.
        scope: The speaker and the channel.
        settings: Those of the space.
        stopwatch: Times the turn; past its deadline the injection says nothing.
        missing: The missing parts of the turn; gets that of a request that cannot be planned.
    """
    corpus = context.corpus
    try:
        forgetting = _plan(context, state, text, scope, lambda: seconds_left(settings, stopwatch))
    except TimeoutError:
        corpus.outages.late("search", f"no answer within {settings.hook_timeout_ms} ms")
        return skip(stopwatch, SKIPPED, ("search late",))
    except HippocampeError as exc:
        # A change of embedder closes the old index: retry with the new one.
        corpus.check_serving()
        part = "index" if isinstance(exc, IndexUnavailable) else "search"
        corpus.outages.failed(part, exc)
        missing.append(f"{part} down")
        return None
    if forgetting is None:
        return None
    title, lines = _lines(forgetting, settings.language)
    rendered, tokens = render_notice(title, lines, settings)
    empty = skip(stopwatch, SKIPPED)
    return replace(empty, text=rendered, tokens=tokens, forgetting=forgetting)


def _plan(
    context: Context, state: TurnState, text: str, scope: Scope, seconds: Callable[[], float]
) -> Forgetting | None:
    """The items that the request of a message hides; None without a request."""
    corpus = context.corpus
    if (asked := requested.read(corpus, text, scope)) is None:
        return None

    def planned() -> Forgetting | None:
        # What was said a moment ago is part of it.
        backlog.catch_up_with_talk(context.writer)
        return requested.plan(corpus, asked, scope, replies=False)

    planning = state.search_pool.submit(planned)
    try:
        return planning.result(timeout=seconds())
    except TimeoutError:
        planning.cancel()
        raise


def _lines(forgetting: Forgetting, language: str) -> tuple[str, list[str]]:
    title = translate("Memory: a request to forget", language)
    topic = quote(forgetting.topic) or translate("what was just said", language)
    number = len(forgetting.items)
    if not number:
        text = translate("Nothing is known of it, and this request is not kept: {topic}", language)
        return title, [text.format(topic=topic)]
    if not forgetting.waits:
        text = translate(
            "Forgotten right after this answer, nothing else to do (items: {number}): {topic}",
            language,
        )
        return title, [text.format(number=number, topic=topic)]
    text = translate(
        "Not forgotten yet: {topic}. Ask the person whether to forget what follows (items: {number}); their yes forgets it.",
        language,
    )
    shown = [_shown(item) for item in forgetting.items[:MAX_SHOWN]]
    return title, [text.format(number=number, topic=topic), *shown]


def _shown(item: ReceiptItem) -> str:
    return cut(quote(item.content), MAX_CHARACTERS)
