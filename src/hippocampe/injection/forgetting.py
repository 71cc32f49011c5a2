"""Say in an injection what memory does about a request to forget."""

from uuid6 import uuid7

from hippocampe.engine import backlog
from hippocampe.engine.context import Context
from hippocampe.engine.stopwatch import Stopwatch
from hippocampe.injection.render import render_notice
from hippocampe.injection.turn import seconds_left
from hippocampe.injection.turn_state import TurnState
from hippocampe.language.i18n import translate
from hippocampe.language.sanitize import quote
from hippocampe.language.text import cut
from hippocampe.retrieval import requested
from hippocampe.types import Forgetting, Injection, ReceiptItem, Scope, Settings, Trace

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
) -> Injection | None:
    """The injection of a message that asks to forget something, or confirms that; None for others.

    Args:
        context: The memory.
        state: The state between turns.
        text: The message.
        scope: The speaker and the channel.
        settings: Those of the space.
        stopwatch: Times the turn; past its deadline the injection says nothing.
    """
    corpus = context.corpus
    if (asked := requested.read(corpus, text, scope)) is None:
        return None

    def planned() -> Forgetting | None:
        # What was said a moment ago is part of it.
        backlog.catch_up_with_talk(context.writer)
        return requested.plan(corpus, asked, scope, replies=False)

    planning = state.search_pool.submit(planned)
    try:
        forgetting = planning.result(timeout=seconds_left(settings, stopwatch))
    except TimeoutError:
        planning.cancel()
        corpus.outages.late("search", f"no answer within {settings.hook_timeout_ms} ms")
        trace = Trace(skipped=SKIPPED, missing=("search late",))
        return Injection(str(uuid7()), "", (), 0, stopwatch.total(), trace)
    if forgetting is None:
        return None
    title, lines = _lines(forgetting, settings.language)
    rendered, tokens = render_notice(title, lines, settings)
    trace = Trace(skipped=SKIPPED)
    return Injection(str(uuid7()), rendered, (), tokens, stopwatch.total(), trace, forgetting)


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
