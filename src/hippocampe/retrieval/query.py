"""Query analysis by rules: words and vector, aliases, the named time, and the kind of answer."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

import numpy as np

from hippocampe.embed.local import MODEL
from hippocampe.embed.questions import asks_for_several
from hippocampe.embed.word_space import Floats
from hippocampe.engine.corpus import Corpus
from hippocampe.engine.vocabulary import MAX_WORD_CHARACTERS, Vocabulary, spoken, text_words
from hippocampe.language import names as known_names
from hippocampe.language import questions
from hippocampe.language.discourse import without_markers
from hippocampe.language.kin import kin_asked
from hippocampe.language.manners import asks_nothing, without_address
from hippocampe.language.names import with_other_names
from hippocampe.language.open_questions import recalled
from hippocampe.language.person import is_about_group, is_about_speaker, is_first_person
from hippocampe.language.statement import parse
from hippocampe.language.subjects import fold_subjects, subjects_of
from hippocampe.language.temporal.window import TimeWindow, parse_window
from hippocampe.language.tense import is_past
from hippocampe.language.text import fold, words, written_words
from hippocampe.language.topics import topics_of
from hippocampe.language.values import value_words, values_asked
from hippocampe.protocols import Vector, Vectors
from hippocampe.retrieval import signals
from hippocampe.retrieval.measured import QueryFeatures
from hippocampe.retrieval.spelling import as_glued
from hippocampe.types import Scope

_NO_VECTOR = np.zeros(0, np.float32)


@dataclass(frozen=True, slots=True)
class AnalysedQuery:
    """A query, analysed for the pipeline.

    Attributes:
        spoken: The query without the name of the companion whom it addresses, discourse markers and idioms.
        topic: The past talk that it asks for, from `open_questions.recalled`, if any.
        text: The topic, or else the query, followed by the aliases of the names in it.
        dense: Its vector, shape (dimensions,); empty if it was not embedded.
        features: The features that the signals use.
        window: The time it names, if any.
        same: Word ids of aliases, each with the id of the name that replaces it.
        called: Aliases of the names in it, each with the name that replaces it.
        several: Whether it asks for what several texts tell; known with the default embedder only.
        former: The question how something was before, if the query was one: "what was my old number?"; `spoken` is then
            "what was my number?".
    """

    spoken: str
    topic: str | None
    text: str
    dense: Vector
    features: QueryFeatures
    window: TimeWindow | None
    same: Mapping[int, int]
    called: Mapping[str, str]
    several: bool = False
    former: str | None = None


def analyse(
    corpus: Corpus, query: str, scope: Scope, now: datetime, *, embed: bool = True
) -> AnalysedQuery:
    """Analyse a query.

    Without `embed` there are no vectors, and only a search by words can use the result.
    """
    aliases, vocabulary = corpus.aliases.of(scope.space), corpus.vocabulary
    chosen = corpus.settings.of(scope.space)
    written = without_address(query, chosen.companion_names)
    query = questions.rewrite_idioms(without_markers(written))
    of_all_times = questions.without_former(query)
    former, query = (query, of_all_times) if of_all_times else (None, query)
    window = _window(query, now, chosen.timezone)
    topic = recalled(query.replace(window.text, " ", 1) if window else query)
    asked = topic or query
    spoken_words = words(query)
    named = _people(corpus, query, spoken_words, scope)
    added = dict.fromkeys(name for group in named.groups for name in group)
    text = " ".join((asked, *(name for name in added if name not in spoken_words)))
    # One word for all names of a person: an answer uses only one of them.
    significant = text_words(" ".join((asked, *(group[0] for group in named.groups))))
    # A query without words, such as an emoji, counts as one word.
    listed = list(dict.fromkeys(significant)) or [text[:MAX_WORD_CHARACTERS]]
    glued = as_glued(vocabulary, scope.space, listed)
    if glued:
        there = vocabulary.counts(scope.space, glued.values())
        only = {word: each for each, word in glued.items() if word not in there}
        listed = [only.get(word, word) for word in listed]
    unknown = vocabulary.unknown(listed)
    dense, fresh = _NO_VECTOR, _NO_VECTOR[None]
    if embed:
        dense, fresh = vocabulary.embedder.embed_query(text, spoken(unknown))
    else:
        listed, unknown = [word for word in listed if word not in unknown], []
    vectors, rarity = _measured(vocabulary, scope.space, listed, unknown, fresh)
    user = fold_subjects([scope.user or ""]) if is_first_person(query) else ()
    own = with_other_names(user, aliases)
    names = _names(query, listed, unknown, named, scope.user)
    return AnalysedQuery(
        spoken=query,
        topic=topic,
        text=" ".join((text, *glued)),
        dense=dense,
        features=QueryFeatures(
            words=tuple(listed),
            vectors=vectors,
            rarity=rarity,
            asks=questions.asks(query),
            window=(window.start.timestamp(), window.end.timestamp()) if window else None,
            topics=tuple(map(topics_of, listed)),
            names=names - {word for name in own for word in words(name)},
            asker=own if is_about_speaker(query) and not is_about_group(query) else frozenset(),
            values=values_asked(query),
            value_words=value_words(query),
            kin=kin_asked(query),
            nothing=asks_nothing(
                written, names={*named.names, *names}, companions=chosen.companion_names
            ),
        ),
        window=window,
        same=_same_words(
            vocabulary, [*named.groups, *((word, each) for each, word in glued.items())]
        ),
        called=named.called,
        several=vocabulary.embedder.model == MODEL and embed and asks_for_several(dense),
        former=former,
    )


def _window(query: str, now: datetime, timezone: str) -> TimeWindow | None:
    """The time that a query names; the coming one if it asks in the present: "who comes on Thursday?"."""
    try:
        window = parse_window(query, now=now, timezone=timezone)
        if (
            window
            and window.end <= now
            and questions.is_question(query)
            and not is_past(parse(query))
        ):
            return parse_window(query, now=now, timezone=timezone, ahead=True)
        return window
    except OverflowError:
        # `as_of` at an end of the calendar, such as the greatest date of a language.
        return None


class _People(NamedTuple):
    """The people that a query names, and its asker if it is in the first person.

    Attributes:
        names: Their names in the query.
        groups: The names of each that texts of the space have, the one of the query first.
        called: Their other names, each with the first of its group.
    """

    names: list[str]
    groups: list[tuple[str, ...]]
    called: dict[str, str]


def _people(corpus: Corpus, query: str, spoken_words: Sequence[str], scope: Scope) -> _People:
    aliases = corpus.aliases.of(scope.space)
    names = known_names.named_in(aliases, spoken_words)
    if scope.user and is_first_person(query):
        names += fold_subjects([scope.user])
    found = _People(names, [], {})
    for name in names:
        every = (name, *sorted(aliases.get(name, ())))
        if group := _known_names(corpus.vocabulary, scope.space, every):
            found.groups.append(group)
            found.called.update((each, group[0]) for each in every if each != group[0])
    return found


def _measured(
    vocabulary: Vocabulary,
    space: str,
    words: Sequence[str],
    unknown: Sequence[str],
    fresh: Vectors,
) -> tuple[Vectors, Floats]:
    """The vectors of the words of a query, placed in the word space, and their rarity.

    Args:
        words: Its distinct words in order.
        unknown: The words that the vocabulary lacks.
        fresh: Embeddings of the unknown words that are `spoken`, shape (words, dimensions).
    """
    new = set(unknown)
    known = vocabulary.ids([word for word in words if word not in new])
    frequencies, items = vocabulary.frequencies(space, known)
    vectors = np.zeros((len(words), vocabulary.width), np.float32)
    counts = np.zeros(len(words), np.int64)
    there = np.array([word not in new for word in words], bool)
    vectors[there], counts[there] = vocabulary.vectors_of(known)[known], frequencies
    vectors[~there] = vocabulary.place(unknown, fresh)
    return vectors, signals.rarity(counts, items)


def _names(
    query: str,
    listed: Sequence[str],
    unknown: Collection[str],
    people: _People,
    user: str | None,
) -> frozenset[str]:
    """The words of a query that name somebody, or something."""
    names = named_in(query, listed, unknown)
    names |= {word for group in people.groups for word in words(group[0])}
    # The asker is known by name, with a capital or without.
    return names | set(words(user or "")).intersection(listed)


def named_in(query: str, listed: Sequence[str], unknown: Collection[str]) -> frozenset[str]:
    """The words of a query that name somebody or something: proper names with a capital.

    The first word always has a capital, so it counts only if it is a known name of the space.
    """
    written = written_words(query)
    first = fold(written[0]) if written else ""
    capital = {fold(word) for word in written[1:] if word != word.lower()}
    if first not in unknown and not questions.opens(first):
        capital.add(first)
    if capital.isdisjoint(listed):
        return frozenset()
    names = {word for name in subjects_of(query) for word in words(name)}
    return frozenset(names & capital).intersection(listed)


def _known_names(vocabulary: Vocabulary, space: str, names: tuple[str, ...]) -> tuple[str, ...]:
    """The names whose words all are in texts of the space, in order: no text contains the others."""
    needed = {name: frozenset(words(name)) for name in names}
    there = vocabulary.counts(space, frozenset[str]().union(*needed.values())).keys()
    return tuple(name for name in names if needed[name] and needed[name] <= there)


def _same_words(vocabulary: Vocabulary, groups: Sequence[tuple[str, ...]]) -> dict[int, int]:
    """Ids of single-word aliases, each with the id of the first known name of its group."""
    same: dict[int, int] = {}
    for group in groups:
        known = vocabulary.ids([name for name in group if name.isalnum()]).tolist()
        if known:
            same |= dict.fromkeys(known[1:], known[0])
    return same
