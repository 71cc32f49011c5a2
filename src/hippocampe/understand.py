"""A query as read: its words and vector, the other names of those it names, its time, what it asks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from hippocampe import evidence, rank, settings
from hippocampe.lexicon import MAX_WORD_CHARACTERS, spoken, text_words
from hippocampe.parts import Aliases, Parts
from hippocampe.points import fold_subjects
from hippocampe.protocols import Vector
from hippocampe.text import is_about_speaker, is_first_person, plain, words
from hippocampe.types import Scope
from hippocampe.windows import TimeWindow, read_window

_NO_VECTOR = np.zeros(0, np.float32)


@dataclass(frozen=True, slots=True)
class Question:
    """A query as understood.

    `text` has the other names of those it names added; `window` is the time it speaks of; `same`
    holds word ids to read as another one's: those of the other names; `asker` holds the folded
    names of the asker where the question is about them.
    """

    text: str
    dense: Vector
    ranked: rank.Query
    window: TimeWindow | None
    same: Mapping[int, int]
    asker: frozenset[str] = frozenset()


def understand(
    parts: Parts,
    query: str,
    scope: Scope,
    aliases: Aliases,
    now: datetime,
    *,
    embed: bool = True,
) -> Question:
    """Read a query: its words and vector, other names of those it names, its time, what it asks.

    Without `embed` there are no vectors, and only a search by words can be made of it.
    """
    query = plain(query)
    asks = rank.asks(query)
    said = words(query)
    named = [name for name in aliases if set(name.split()) <= set(said)]
    if scope.user and is_first_person(query):
        named += fold_subjects([scope.user])
    groups = [_known_first(parts, (name, *sorted(aliases.get(name, ())))) for name in named]
    added = dict.fromkeys(name for group in groups for name in group if name not in said)
    text = " ".join((query, *added))
    # One word stands for all names of a person: whoever answers uses one of them.
    kept = text_words(" ".join((query, *(group[0] for group in groups if group))))
    # What holds no word, such as an emoji, is one.
    listed = list(dict.fromkeys(kept)) or [text[:MAX_WORD_CHARACTERS]]
    unknown = parts.lexicon.unknown(listed)
    dense, fresh = _NO_VECTOR, _NO_VECTOR[None]
    if embed:
        dense, fresh = parts.embedder.embed_query(text, spoken(unknown))
    else:
        listed, unknown = [word for word in listed if word not in unknown], []
    zone = settings.read(parts, scope=scope).timezone
    window = read_window(query, now=now, timezone=zone)
    return Question(
        text=text,
        dense=dense,
        ranked=evidence.query(parts, scope.space, listed, unknown, fresh, asks, window),
        window=window,
        same=_same_words(parts, groups),
        asker=_asker(query, scope, aliases),
    )


def _asker(query: str, scope: Scope, aliases: Mapping[str, frozenset[str]]) -> frozenset[str]:
    if not scope.user or not is_about_speaker(query):
        return frozenset()
    names = fold_subjects([scope.user])
    return frozenset(names).union(*(aliases.get(name, ()) for name in names))


def _known_first(parts: Parts, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names that the data holds at all, in order: others would only go unanswered."""
    unknown = set(parts.lexicon.unknown(word for name in names for word in name.split()))
    return tuple(name for name in names if unknown.isdisjoint(name.split()))


def _same_words(parts: Parts, groups: Sequence[tuple[str, ...]]) -> dict[int, int]:
    """The ids of single-word names, each with the id of the name that the query knows it by."""
    same: dict[int, int] = {}
    for group in groups:
        known = parts.lexicon.ids([name for name in group if name.isalnum()]).tolist()
        if known:
            same |= dict.fromkeys(known[1:], known[0])
    return same
