"""Compact a working history: its oldest messages become summaries, which are memories.

The messages stay in the store: full-text search finds them, and recall finds their turns.
"""

from dataclasses import dataclass

from sqlalchemy import Connection

from hippocampe.engine import model_calls
from hippocampe.engine.context import Context
from hippocampe.errors import InvalidAnswer, InvalidInput
from hippocampe.extraction import talk
from hippocampe.extraction.extractive import extract_sentences, first_sentences
from hippocampe.extraction.proposals import read_subjects
from hippocampe.extraction.talk import Part
from hippocampe.ingest.draft import make_draft
from hippocampe.ingest.memory_writes import insert_memory
from hippocampe.ingest.remember import embed_drafts
from hippocampe.language.humanize import day
from hippocampe.language.i18n import translate
from hippocampe.language.mentions import mentions
from hippocampe.language.prompts import prompt
from hippocampe.language.sanitize import quote_label
from hippocampe.language.small_talk import is_small_talk
from hippocampe.store import working_history
from hippocampe.store.store import Store
from hippocampe.types import Compacted, Message, Scope, Settings
from hippocampe.updates.draft import Draft

SUMMARY_CHARACTERS = 2_000
"""Characters of a summary, of its decisions and of its open questions, at most."""
MAX_SUBJECTS = 20
SOURCE = "compaction"


@dataclass
class Answer:
    """The model's answer to a part."""

    summary: str
    people: list[str] | str | None = None
    decisions: list[str] | str | None = None
    open_questions: list[str] | str | None = None


def compact(context: Context, *, scope: Scope) -> Compacted:
    """Summarise the oldest messages in the working history of the scope's channel.

    Does nothing up to twice `recent_messages`; beyond, the newest `recent_messages` stay. The
    other messages are still found by full text and as turns. Without a configured language
    model, the summary is made of their most telling sentences.

    Raises:
        InvalidInput: The scope names no channel.
        ModelError: The language model gave no usable answer; the messages stay.
        EmbedderError: The summary cannot be embedded; likewise.
    """
    if scope.channel is None:
        raise InvalidInput("compact needs a channel: give one.")
    return run(context, space=scope.space, channel=scope.channel)


def run(context: Context, *, space: str, channel: str) -> Compacted:
    """Compact the working history of a channel. A second call waits for the first.

    Args:
        channel: The channel; empty for messages without one.
    """
    corpus = context.corpus
    chosen = corpus.settings.of(space)
    done = Compacted()
    with context.compacting:
        for part in talk.parts(_oldest(corpus.store, space, channel, chosen.recent_messages)):
            done = _compact_part(context, part, chosen, done)
    return done


def _oldest(store: Store, space: str, channel: str, recent: int) -> list[Message]:
    """The messages of a channel that leave its working history now."""
    with store.read() as connection:
        if working_history.count(connection, space, channel) <= 2 * recent:
            return []
        return working_history.messages(connection, space, channel)[:-recent]


def _compact_part(context: Context, part: Part, chosen: Settings, done: Compacted) -> Compacted:
    corpus = context.corpus
    while True:
        with corpus.store.read() as connection:
            messages = _still_working(connection, part)
        substantial = [message for message in messages if not is_small_talk(message.content)]
        drafts = [_summary(context, messages, chosen)] if substantial else []
        prepared = embed_drafts(corpus.vocabulary, drafts) if drafts else []
        with context.writer.change() as change:
            if _still_working(change.connection, messages) != messages:
                # Some were erased or forgotten meanwhile: a summary must not quote them.
                continue
            for draft, embedded in zip(drafts, prepared, strict=True):
                insert_memory(change, draft.memory, draft.names, embedded)
            working_history.leave(change.connection, [message.id for message in messages])
        summaries = (*done.summaries, *(draft.memory for draft in drafts))
        return Compacted(done.messages + len(messages), summaries)


def _still_working(connection: Connection, part: Part) -> Part:
    if not part:
        return ()
    ids = [message.id for message in part]
    found = working_history.messages(connection, part[0].space, part[0].channel or "", ids)
    return tuple(found)


def _summary(context: Context, messages: Part, chosen: Settings) -> Draft:
    """The summary of a part, as a memory that is not stored yet."""
    if context.language_model is None:
        body, people = extract_sentences(context.corpus.vocabulary.embedder, messages), list[str]()
    else:
        body, people = _by_model(context, messages, chosen)
    first, last = messages[0], messages[-1]
    authors = [each.author for each in messages if each.author and each.role != "assistant"]
    return make_draft(
        context.corpus,
        _headed(body, first, last, chosen),
        scope=Scope(
            space=first.space,
            user=authors[0] if len(set(authors)) == 1 else None,
            channel=first.channel,
        ),
        type="observation",
        collection="summary",
        subjects=list(dict.fromkeys((*authors, *people)))[:MAX_SUBJECTS],
        occurred_at=last.at,
        source=SOURCE,
        evidence=[message.id for message in messages],
    )


def _headed(body: str, first: Message, last: Message, chosen: Settings) -> str:
    """A summary with its channel and its days."""
    zone, language = chosen.timezone, chosen.language
    days = dict.fromkeys(day(each.at, timezone=zone, language=language) for each in (first, last))
    if first.channel:
        header = translate("Summary of {room} ({days}): {text}", chosen.language)
    else:
        header = translate("Summary ({days}): {text}", chosen.language)
    return header.format(room=first.channel, days=" – ".join(days), text=body)


def _by_model(context: Context, messages: Part, chosen: Settings) -> tuple[str, list[str]]:
    """The text of a summary, and the people it names, by the language model."""
    shown = {
        "channel": [quote_label(messages[0].channel or "")],
        "messages": talk.lines(talk.by_short_id("m", messages), chosen.timezone),
    }
    answer = model_calls.ask(
        context,
        "compact",
        prompt("extraction/compact", chosen.language),
        talk.tagged(shown),
        Answer,
        space=messages[0].space,
    )
    if is_small_talk(answer.summary):
        raise InvalidAnswer("the model wrote an empty summary: try again, or use a larger model.")
    lines = [answer.summary.strip()]
    if decisions := _listed(answer.decisions):
        lines.append(translate("Decisions: {text}", chosen.language).format(text=decisions))
    if questions := _listed(answer.open_questions):
        lines.append(translate("Open questions: {text}", chosen.language).format(text=questions))
    body = "\n".join(first_sentences(line, SUMMARY_CHARACTERS) for line in lines)
    spoken = "\n".join(message.content for message in messages)
    named = [
        name
        for name in read_subjects(answer.people)
        # A model may invent people.
        if mentions(spoken, [name])
    ]
    return body, named


def _listed(items: list[str] | str | None) -> str:
    each = [items] if isinstance(items, str) else items or []
    return " ; ".join(filter(None, map(str.strip, each)))
