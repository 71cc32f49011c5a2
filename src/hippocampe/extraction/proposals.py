"""Parse the statements that a language model proposes, and make drafts of them.

Small models write odd values. The types of the fields are wide, so that one odd value does not cost the whole
answer; each field is parsed leniently.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import timedelta
from typing import Final

from sqlalchemy import Connection

from hippocampe.engine.corpus import Corpus
from hippocampe.errors import InvalidInput
from hippocampe.ingest.draft import event_time, make_draft, mask_keyed
from hippocampe.language.datetimes import parse_ttl
from hippocampe.language.subjects import proper_names_in, subjects_of
from hippocampe.store import memories
from hippocampe.types import (
    DEFAULT_IMPORTANCE,
    MAX_LABEL_CHARACTERS,
    Memory,
    Message,
    Scope,
    printable,
)
from hippocampe.updates.draft import Draft
from hippocampe.updates.speakers import may_be_same

MAX_CHARACTERS = 1_000
"""Longest statement; a longer one copies the talk."""

_DAYS: Final = {"h": 1 / 24, "d": 1, "j": 1, "w": 7, "sem": 7, "mo": 30, "y": 365, "an": 365}
_LIFETIME: Final = re.compile(rf"(\d{{1,5}})\s*({'|'.join(_DAYS)})[a-zé]*")
_FOR_EVER: Final = frozenset(
    {"", "null", "none", "never", "permanent", "forever", "jamais", "aucun"}
)


@dataclass
class ProposedStatement:
    """A statement that the model proposes to keep."""

    content: str
    type: str | None = "fact"
    subjects: list[str] | str | None = field(default_factory=list[str])
    ttl: str | int | None = None
    importance: float | str | None = None
    evidence: list[str] | str | None = field(default_factory=list[str])
    replaces: list[str] | str | None = field(default_factory=list[str])


@dataclass
class ProposedStatements:
    """The proposed statements; empty if nothing is worth storing."""

    statements: list[ProposedStatement] = field(default_factory=list[ProposedStatement])


def are_still_known(connection: Connection, known: Collection[Memory]) -> bool:
    """Return whether none of the memories that a model was shown was forgotten or erased since: its statements may
    repeat them."""
    found = {
        id: memory
        for space in {each.space for each in known}
        for id, memory in memories.get(connection, space, [each.id for each in known]).items()
    }
    return all(each.id in found and found[each.id].forgotten_at is None for each in known)


def read_ids(value: list[str] | str | None) -> list[str]:
    """Short ids as the model wrote them: `["m1"]`, `"m1, m2"`, `"[m1]"`."""
    texts = [value] if isinstance(value, str) else value or []
    return [id for text in texts for id in re.findall(r"[a-z]\d+[a-z]?", text.lower())]


def read_subjects(value: list[str] | str | None) -> list[str]:
    """Subjects that can be stored."""
    texts = value.split(",") if isinstance(value, str) else value or []
    cleaned = (" ".join(text.split()) for text in texts)
    return [
        text
        for text in cleaned
        if text == printable(text) and 0 < len(text) <= MAX_LABEL_CHARACTERS
    ]


def read_importance(value: float | str | None) -> float | None:
    """An importance from 0 to 1; None for the default of the type."""
    try:
        found = float(value) if value is not None else None
    except ValueError:
        return None
    return found if found is not None and 0 <= found <= 1 else None


def read_lifetime(value: str | int | None) -> timedelta | None:
    """Parse a time to live; None means for ever.

    Raises:
        InvalidInput: It cannot be parsed: a temporary state must not be stored for ever.
    """
    text = str(value if value is not None else "").strip().lower()
    if text in _FOR_EVER:
        return None
    if text.isdigit():
        text += "d"
    found = _LIFETIME.fullmatch(text)
    return parse_ttl(timedelta(days=int(found[1]) * _DAYS[found[2]]) if found else text)


def draft_of(
    corpus: Corpus,
    proposed: ProposedStatement,
    *,
    evidence: Sequence[Message],
    user: str | None,
    source: str,
    known: Mapping[str, Memory],
    speakers: Collection[str],
) -> Draft | None:
    """A statement ready to be stored, with odd values repaired and the memories that it replaces.

    Its time is that of the last message it rests on, or relative to that ("yesterday"); a temporary state
    begins with the message.

    Args:
        evidence: The messages that say it; at least one.
        user: The speaker; None for several people.
        known: The memories that the model was shown, by short id.
        speakers: Folded names of the speakers.

    Returns:
        The draft; None if it is too long, has expired already, or cannot be stored.
    """
    if len(proposed.content) > MAX_CHARACTERS:
        return None
    type = (proposed.type or "").strip().lower()
    spoken_at = max(message.at for message in evidence)
    scope = Scope(evidence[0].space, user, evidence[0].channel or None)
    try:
        draft = make_draft(
            corpus,
            proposed.content,
            scope=scope,
            type=type if type in DEFAULT_IMPORTANCE else None,
            subjects=read_subjects(proposed.subjects),
            importance=read_importance(proposed.importance),
            ttl=_remaining(read_lifetime(proposed.ttl), corpus.store.now() - spoken_at),
            occurred_at=event_time(corpus.settings, proposed.content, scope, spoken_at)
            or spoken_at,
            source=source,
            evidence=list(dict.fromkeys(message.id for message in evidence)),
        )
        named = (known[id] for id in read_ids(proposed.replaces) if id in known)
        ids = (old.id for old in named if _may_replace(draft.memory, old, speakers))
        replaced = tuple(dict.fromkeys(ids))
        content = mask_keyed(corpus, scope.space, draft.memory.content, None, replaced)
    except InvalidInput:
        return None
    memory = replace(draft.memory, content=content)
    return replace(draft, memory=memory, names=tuple(subjects_of(content)), replaces=replaced)


def _may_replace(new: Memory, old: Memory, speakers: Collection[str]) -> bool:
    """Return whether a statement may replace a memory that the model names: not one about somebody else."""
    ours, theirs = proper_names_in(new.content), proper_names_in(old.content)
    others = ours and theirs and ours.isdisjoint(theirs) and theirs.isdisjoint(speakers)
    return may_be_same(new, old) and not others


def _remaining(lifetime: timedelta | None, passed: timedelta) -> timedelta | None:
    """The rest of a time to live that began with the messages.

    Raises:
        InvalidInput: Nothing is left, which `make_draft` refuses.
    """
    return None if lifetime is None else lifetime - max(timedelta(0), passed)
