"""Report the outcome of a request to forget in the injection."""

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
from hippocampe.retrieval.requested import Asked
from hippocampe.types import Forgetting, Injection, Scope, Settings

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
        stopwatch: Times the turn; past its deadline the injection says that nothing was found in time.
        missing: The missing parts of the turn; gets that of a request that cannot be planned.
    """
    corpus = context.corpus
    try:
        asked = requested.read(corpus, text, scope)
        forgetting = asked and _plan(context, state, asked, scope, settings, stopwatch, missing)
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
    empty = skip(stopwatch, SKIPPED, tuple(missing))
    return replace(empty, text=rendered, tokens=tokens, forgetting=forgetting)


def _plan(
    context: Context,
    state: TurnState,
    asked: Asked,
    scope: Scope,
    settings: Settings,
    stopwatch: Stopwatch,
    missing: list[str],
) -> Forgetting | None:
    """The items that a request hides, none if they are late; None if it means something else."""
    corpus = context.corpus

    def planned() -> Forgetting | None:
        # What was said a moment ago is part of it.
        backlog.catch_up_with_talk(context.writer)
        return requested.plan(corpus, asked, scope, replies=False)

    planning = state.search_pool.submit(planned)
    try:
        return planning.result(timeout=seconds_left(settings, stopwatch))
    except TimeoutError:
        planning.cancel()
        corpus.outages.late("search", f"no answer within {settings.hook_timeout_ms} ms")
        missing.append("search late")
        return Forgetting(asked.request.topic or asked.request.said, (), waits=True)


def _lines(forgetting: Forgetting, language: str) -> tuple[str, list[str]]:
    title = translate("Memory: a request to forget", language)
    topic = quote(forgetting.topic) or translate("what was just said", language)
    number = len(forgetting.items)
    if forgetting.whole:
        text = translate(
            "Nothing is forgotten: the person asks to remove all that is known of them, which takes `erase` on the command line or in the API. Say so, and tell nothing that is known of them.",
            language,
        )
        return title, [text]
    if not number and forgetting.waits:
        text = translate(
            "What this means was not found in time, so do not say that it is forgotten: {topic}",
            language,
        )
        return title, [text.format(topic=topic)]
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
    shown = [cut(quote(each.content), MAX_CHARACTERS) for each in forgetting.items[:MAX_SHOWN]]
    return title, [text.format(number=number, topic=topic), *shown]
