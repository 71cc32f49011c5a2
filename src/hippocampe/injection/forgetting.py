"""Report the outcome of a request to forget in the injection."""

from dataclasses import replace
from functools import partial

from hippocampe.engine import backlog
from hippocampe.engine.context import Context
from hippocampe.errors import HippocampeError, IndexUnavailable
from hippocampe.injection.render import render_notice
from hippocampe.injection.turn import Turn, seconds_left, skip
from hippocampe.language.i18n import translate
from hippocampe.language.sanitize import quote
from hippocampe.language.text import cut
from hippocampe.retrieval import requested
from hippocampe.retrieval.requested import Asked
from hippocampe.retrieval.topic import part_about
from hippocampe.types import Forgetting, Injection

MAX_SHOWN = 5
"""Items quoted of those that wait for the user."""
MAX_CHARACTERS = 160
SKIPPED = "a request to forget"


def serve(context: Context, turn: Turn) -> Injection | None:
    """The injection of a message that asks to forget something, or confirms that; None for others.

    A request that cannot be planned is served like other messages, with what the store has.

    Args:
        context: The memory.
        turn: The turn of the message. Past its deadline the injection says that nothing was found in time; a request
            that cannot be planned is one of its missing parts.
    """
    corpus = context.corpus
    try:
        asked = requested.read(corpus, turn.text, turn.scope)
        forgetting = asked and _plan(context, turn, asked)
    except HippocampeError as exc:
        # A change of embedder closes the old index: retry with the new one.
        corpus.check_serving()
        part = "index" if isinstance(exc, IndexUnavailable) else "search"
        corpus.outages.failed(part, exc)
        turn.missing.append(f"{part} down")
        return None
    if forgetting is None:
        return None
    title, lines = _lines(forgetting, turn.settings.language)
    rendered, tokens = render_notice(title, lines, turn.settings)
    empty = skip(turn.stopwatch, SKIPPED, tuple(turn.missing))
    return replace(empty, text=rendered, tokens=tokens, forgetting=forgetting)


def _plan(context: Context, turn: Turn, asked: Asked) -> Forgetting | None:
    """The items that a request hides, none if they are late; None if it means something else."""
    corpus = context.corpus

    def planned() -> Forgetting | None:
        # What was said a moment ago is part of it.
        backlog.catch_up_with_talk(context.writer)
        return requested.plan(corpus, asked, turn.scope, replies=False)

    planning = turn.state.search_pool.submit(planned)
    try:
        return planning.result(timeout=seconds_left(turn.settings, turn.stopwatch))
    except TimeoutError:
        planning.cancel()
        corpus.outages.late("search", f"no answer within {turn.settings.hook_timeout_ms} ms")
        turn.missing.append("search late")
        return Forgetting(asked.request.topic or asked.request.said, (), waits=True)


def _lines(forgetting: Forgetting, language: str) -> tuple[str, list[str]]:
    say = partial(translate, language=language)
    topic = quote(forgetting.topic) or say("what was just said")
    number = len(forgetting.items)
    shown: list[str] = []
    if forgetting.whole:
        text = say(
            "Nothing is forgotten: the person asks to remove all that is known of them, which takes `erase` on the command line or in the API. Say so, and tell nothing that is known of them."
        )
    elif not number and forgetting.waits:
        text = say(
            "What this means was not found in time, so do not say that it is forgotten: {topic}"
        )
    elif not number:
        text = say("Nothing is known of it, and this request is not kept: {topic}")
    elif not forgetting.waits:
        text = say(
            "Forgotten right after this answer, nothing else to do (items: {number}): {topic}"
        )
    else:
        text = say(
            "Not forgotten yet: {topic}. Ask the person whether to forget what follows (items: {number}); their yes forgets it."
        )
        told = [part_about(each.content, forgetting.topic) for each in forgetting.items[:MAX_SHOWN]]
        shown = [cut(quote(each), MAX_CHARACTERS) for each in told]
    return say("Memory: a request to forget"), [text.format(number=number, topic=topic), *shown]
