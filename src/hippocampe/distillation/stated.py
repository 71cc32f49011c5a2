"""The statements that a language model makes of talk: their form, and their check before storing."""

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hippocampe.engine.context import Context
from hippocampe.errors import InvalidInput
from hippocampe.ingest.draft import Draft, make_draft
from hippocampe.language.datetimes import parse_ttl
from hippocampe.language.mentions import is_small_talk, telling_words
from hippocampe.language.text import fold
from hippocampe.types import DEFAULT_IMPORTANCE, MAX_LABEL_CHARACTERS, Message, Scope

MAX_CHARACTERS = 1_000
"""Characters of a statement; a longer one is a copy of the talk."""
MAX_SUBJECTS = 8
TEMPORARY = timedelta(days=7)
"""Lifetime of a statement whose own cannot be read: the model said that it ends."""
_LIFETIME = re.compile(r"(\d{1,5})\s*([a-z]+)")
_NO_END = {"", "null", "none", "never", "permanent", "jamais", "aucun", "0"}
_UNITS = (
    (("min", "minute", "minutes"), timedelta(minutes=1)),
    (("h", "hour", "hours", "heure", "heures"), timedelta(hours=1)),
    (("d", "day", "days", "j", "jour", "jours"), timedelta(days=1)),
    (("w", "week", "weeks", "s", "sem", "semaine", "semaines"), timedelta(weeks=1)),
    (("month", "months", "mo", "mois"), timedelta(days=30)),
    (("y", "year", "years", "a", "an", "ans", "annee", "annees"), timedelta(days=365)),
)
_UNIT = {name: length for names, length in _UNITS for name in names}


@dataclass
class Statement:
    """A statement as the model gives it; its ids are the short ones of the prompt."""

    content: str
    type: str = "fact"
    subjects: list[str] = field(default_factory=list[str])
    importance: float | None = None
    ttl: str | None = None
    evidence: list[str] = field(default_factory=list[str])
    replaces: list[str] = field(default_factory=list[str])


def drafts_of(
    context: Context,
    statements: Sequence[Statement],
    *,
    messages: Mapping[str, Message],
    known: Mapping[str, str],
    source: str,
) -> list[Draft]:
    """Check the statements of a model, oldest evidence first.

    Fields that cannot be used are repaired. A statement is left out without evidence among the
    messages, if it or its evidence is small talk, if its time is over, or if it cannot be stored.

    Args:
        context: The open memory.
        statements: What the model stated.
        messages: What it read, by short id; all of one room.
        known: Ids of the memories it was shown, by short id.
        source: The source of the memories.
    """
    found: list[tuple[datetime, Draft]] = []
    for each in statements:
        cited = [
            messages[id] for id in dict.fromkeys(map(str.strip, each.evidence)) if id in messages
        ]
        if cited and (draft := _draft(context, each, cited, known, source)) is not None:
            found.append((max(message.at for message in cited), draft))
    return [draft for _, draft in sorted(found, key=lambda pair: pair[0])]


def _draft(
    context: Context,
    stated: Statement,
    cited: Sequence[Message],
    known: Mapping[str, str],
    source: str,
) -> Draft | None:
    said_nothing = all(is_small_talk(message.content) for message in cited)
    if said_nothing or len(telling_words(stated.content)) < 2:
        return None
    if len(stated.content) > MAX_CHARACTERS:
        return None
    last = max(message.at for message in cited)
    lifetime = read_lifetime(stated.ttl)
    if lifetime is not None:
        # Counted from when it was said, which may be long before the digest.
        lifetime -= max(timedelta(0), context.now() - last)
        if lifetime <= timedelta(0):
            return None
    type = stated.type.strip().lower()
    authors = {message.author for message in cited}
    where = Scope(
        space=cited[0].space,
        user=authors.pop() if len(authors) == 1 else None,
        channel=cited[0].channel,
    )
    try:
        return make_draft(
            context,
            stated.content,
            scope=where,
            type=type if type in DEFAULT_IMPORTANCE else "fact",
            subjects=_usable_subjects(stated.subjects),
            importance=_usable_importance(stated.importance),
            ttl=lifetime,
            occurred_at=last,
            source=source,
            replaces=[known[id] for id in dict.fromkeys(stated.replaces) if id in known],
            evidence=[message.id for message in cited],
        )
    except InvalidInput:
        return None


def read_lifetime(ttl: str | None) -> timedelta | None:
    """Read a lifetime as models write it: "7d", "2 weeks", "3 jours"; None for no end.

    What cannot be read counts as `TEMPORARY`.
    """
    written = fold(ttl or "").strip()
    if written in _NO_END:
        return None
    try:
        return parse_ttl(written)
    except InvalidInput:
        match = _LIFETIME.search(written)
        unit = _UNIT.get(match[2]) if match else None
        length = unit * int(match[1]) if match and unit else TEMPORARY
    try:
        return parse_ttl(length)
    except InvalidInput:
        return TEMPORARY


def _usable_importance(importance: float | None) -> float | None:
    if importance is None or not math.isfinite(importance):
        return None
    return min(1.0, max(0.0, importance))


def _usable_subjects(subjects: Sequence[str]) -> list[str]:
    usable = (each.strip() for each in subjects)
    return [each for each in usable if each and len(each) <= MAX_LABEL_CHARACTERS][:MAX_SUBJECTS]
