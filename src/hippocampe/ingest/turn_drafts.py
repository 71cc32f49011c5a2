"""Check messages, and join them into turns that are not stored yet."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from uuid6 import uuid7

from hippocampe.engine.documents import turn_embedding_text, turn_text
from hippocampe.engine.vocabulary import Prepared, Vocabulary
from hippocampe.store.turn_rows import Turn
from hippocampe.types import (
    MAX_LABEL_CHARACTERS,
    MAX_MESSAGE_CHARACTERS,
    Message,
    Scope,
    normal_label,
)
from hippocampe.validation import check_identifiers, clean_text, redact, strip_injection

MAX_EXPRESSION_CHARACTERS = 40


@dataclass(frozen=True, slots=True)
class TurnDraft:
    """A turn that is not stored yet, with its messages."""

    turn: Turn
    messages: tuple[Message, ...]


def make_message(
    content: str,
    *,
    refuse: bool,
    space: str,
    author: str | None,
    role: str | None,
    channel: str | None,
    at: datetime,
    external_id: str | None = None,
    reply_to: str | None = None,
    live: bool = False,
    working: bool = False,
    expression: str | None = None,
) -> Message:
    """Check one utterance, strip injected text from it, and give it an id.

    Args:
        refuse: Whether a secret is refused, instead of masked.

    Raises:
        InvalidInput: The content or a label cannot be stored.
    """
    if expression is not None:
        expression = clean_text(expression, what="expression", limit=MAX_EXPRESSION_CHARACTERS)
    for name, value in (("author", author), ("external_id", external_id), ("reply_to", reply_to)):
        if value is not None:
            clean_text(value, what=name, limit=MAX_LABEL_CHARACTERS)
    place = Scope(space=space, channel=channel)
    check_identifiers(
        space=space, channel=channel, author=author, external_id=external_id, reply_to=reply_to
    )
    return Message(
        id=str(uuid7()),
        space=place.space,
        content=redact(
            strip_injection(
                clean_text(content, what="message", limit=MAX_MESSAGE_CHARACTERS), what="message"
            ),
            refuse=refuse,
            what="message",
        ),
        author=None if author is None else normal_label(author),
        role=role,
        channel=place.channel,
        at=at,
        external_id=external_id,
        reply_to=reply_to,
        live=live,
        working=working,
        expression=expression,
    )


def make_turn(messages: Sequence[Message]) -> TurnDraft:
    """Join consecutive messages of one channel into a turn.

    The author is that of the first message. Later lines start with the name of their author.
    """
    first = messages[0]
    lines = [first.content]
    lines += [f"{m.author}: {m.content}" if m.author else m.content for m in messages[1:]]
    turn = Turn(
        id=str(uuid7()),
        space=first.space,
        channel=first.channel or "",
        author=first.author,
        content="\n".join(lines),
        at=first.at,
    )
    return TurnDraft(turn, tuple(messages))


def embed_turns(vocabulary: Vocabulary, drafts: Sequence[TurnDraft]) -> list[Prepared]:
    """Embed turns, in order."""
    turns = [draft.turn for draft in drafts]
    return vocabulary.prepare(list(map(turn_embedding_text, turns)), list(map(turn_text, turns)))
