"""A query as read: its words and vector, the other names of those it names, its time, what it asks."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from hippocampe.engine import settings
from hippocampe.engine.context import Aliases, Context
from hippocampe.engine.vocabulary import MAX_WORD_CHARACTERS, spoken, text_words
from hippocampe.index.documents import fold_subjects
from hippocampe.language import questions
from hippocampe.language.person import is_about_speaker, is_first_person
from hippocampe.language.temporal.window import TimeWindow, parse_window
from hippocampe.language.text import words
from hippocampe.protocols import Vector
from hippocampe.retrieval import features, signals
from hippocampe.types import Scope

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
    ranked: signals.Query
    window: TimeWindow | None
    same: Mapping[int, int]
    asker: frozenset[str] = frozenset()


def understand(
    context: Context,
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
    query = questions.rewrite_idioms(query)
    asks = questions.asks(query)
    said = words(query)
    named = [name for name in aliases if set(name.split()) <= set(said)]
    if scope.user and is_first_person(query):
        named += fold_subjects([scope.user])
    groups = [_known_first(context, (name, *sorted(aliases.get(name, ())))) for name in named]
    added = dict.fromkeys(name for group in groups for name in group if name not in said)
    text = " ".join((query, *added))
    # One word stands for all names of a person: whoever answers uses one of them.
    kept = text_words(" ".join((query, *(group[0] for group in groups if group))))
    # What holds no word, such as an emoji, is one.
    listed = list(dict.fromkeys(kept)) or [text[:MAX_WORD_CHARACTERS]]
    unknown = context.vocabulary.unknown(listed)
    dense, fresh = _NO_VECTOR, _NO_VECTOR[None]
    if embed:
        dense, fresh = context.embedder.embed_query(text, spoken(unknown))
    else:
        listed, unknown = [word for word in listed if word not in unknown], []
    zone = settings.read(context, scope=scope).timezone
    window = parse_window(query, now=now, timezone=zone)
    return Question(
        text=text,
        dense=dense,
        ranked=features.query(context, scope.space, listed, unknown, fresh, asks, window),
        window=window,
        same=_same_words(context, groups),
        asker=_asker(query, scope, aliases),
    )


def _asker(query: str, scope: Scope, aliases: Mapping[str, frozenset[str]]) -> frozenset[str]:
    if not scope.user or not is_about_speaker(query):
        return frozenset()
    names = fold_subjects([scope.user])
    return frozenset(names).union(*(aliases.get(name, ()) for name in names))


def _known_first(context: Context, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names that the data holds at all, in order: others would only go unanswered."""
    unknown = set(context.vocabulary.unknown(word for name in names for word in name.split()))
    return tuple(name for name in names if unknown.isdisjoint(name.split()))


def _same_words(context: Context, groups: Sequence[tuple[str, ...]]) -> dict[int, int]:
    """The ids of single-word names, each with the id of the name that the query knows it by."""
    same: dict[int, int] = {}
    for group in groups:
        known = context.vocabulary.ids([name for name in group if name.isalnum()]).tolist()
        if known:
            same |= dict.fromkeys(known[1:], known[0])
    return same
