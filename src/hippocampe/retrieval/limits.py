"""Limit the scores of texts that only resemble an answer: they tell the same of another user, or the other side of something.

The reader takes the doctor of another for the asker's, "I finish at 5" for an answer to "when do I start?", and "I lent
Tom a drill" for one to "who lent me something?".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence, Set
from functools import cache, partial
from itertools import pairwise

from hippocampe.engine.corpus import Corpus
from hippocampe.language.attributes import is_in_another_state, state_asked
from hippocampe.language.difference import numbered_things
from hippocampe.language.ends import ends, names_one_hour
from hippocampe.language.kin import Relative, are_two, relatives_in
from hippocampe.language.named_things import Thing, may_name, things_in
from hippocampe.language.person import is_for_speaker, names_all, of_speaker
from hippocampe.language.questions import without_when
from hippocampe.language.roles import has_role, speaker_swapped
from hippocampe.language.statement import Statement, parse
from hippocampe.language.subjects import proper_names_in
from hippocampe.language.tense import is_past
from hippocampe.language.text import fold, words
from hippocampe.language.values import value_words, values_stated
from hippocampe.retrieval.query import AnalysedQuery
from hippocampe.retrieval.relatives import are_relatives, asks_more, may_share_child
from hippocampe.retrieval.request import RecallRequest
from hippocampe.types import Recollection

NO_ANSWER = 0.02
"""Maximum score of what only resembles an answer: no message needs so little."""
OF_TELLER = frozenset({"speaker", "own"})
"""Subjects of statements about their teller: "I", "my brother"."""


def highest(
    corpus: Corpus,
    query: AnalysedQuery,
    request: RecallRequest,
    items: Sequence[Recollection],
    of_other: Sequence[bool],
) -> list[float]:
    """The maximum score of each result.

    Args:
        corpus: The corpus.
        query: The query.
        request: Its search request.
        items: The results.
        of_other: Whether each is a statement about another user than the query.
    """
    told = of_speaker(query.spoken) if any(of_other) else frozenset[str]()
    limits = [
        _of_other(query, told, item) if other else 1.0
        for item, other in zip(items, of_other, strict=True)
    ]
    if query.features.kin:
        limits = _by_relatives(corpus, query, request, items, limits)
    asked = parse(query.spoken)
    of_relative = bool(query.features.kin) and _asks_number_or_time(query)
    asker = fold(request.scope.user or "") if of_relative or has_role(asked) else None
    asks_when = "when" in query.features.asks
    for place, item in enumerate(items):
        own = asker is not None and fold(item.author or "") == asker
        if not (own or asks_when):
            continue
        told = parse(item.content.partition("\n")[0])
        other = asks_when and _is_other_end(asked, told)
        if own:
            other = other or speaker_swapped(asked, told)
            other = other or (of_relative and _is_same_of_speaker(asked, told))
        if other:
            limits[place] = NO_ANSWER
    for place in (
        *_naming_another(query, items),
        *_in_another_state(query, items),
        *_of_another_number(asked, items),
        *_of_another_relative(query, items),
    ):
        limits[place] = NO_ANSWER
    return limits


def _of_another_number(asked: Statement, items: Sequence[Recollection]) -> Iterator[int]:
    """The places of results about a thing of another number than the one that a question asks about: "team 1", "team 3"."""
    things = numbered_things(asked)
    for place, item in enumerate(items if things else ()):
        told = parse(item.content)
        own = numbered_things(told)
        # "Teams 1 and 3" is about both.
        besides = Counter(token.value for token in told.tokens) - Counter(own.values())
        if any(
            own.get(each, number) != number and number not in besides
            for each, number in things.items()
        ):
            yield place


def _of_another_relative(query: AnalysedQuery, items: Sequence[Recollection]) -> Iterator[int]:
    """The places of results that tell of somebody else the value that a question asks for, of the asker or a relative.

    "My brother was born on 3 May" and "Ann's birthday is on 3 May" do not tell "my birthday", nor does the one Dad's.
    """
    values, kin = query.features.values, _kin(query.spoken)
    own = not kin and _has_own(query.spoken)
    if not values or not (own or (kin and query.features.kin)):
        return
    names = {word for name in query.features.asker for word in words(name)} if own else set[str]()
    for place, item in enumerate(items):
        if not names.isdisjoint(words(item.content)):
            continue
        told = _kin(item.content)
        another = len(told) == 1 and all(are_two(each, *told) for each in kin)
        another = another or (own and _is_of_named(item.content))
        if another and values_stated(item.content) & values and not _has_own(item.content):
            yield place


def _has_own(text: str) -> bool:
    """Return whether a text names a value of its speaker: "my birthday"."""
    tokens, values = parse(text).tokens, value_words(text)
    return any("own" in one.roles and two.norm in values for one, two in pairwise(tokens))


def _is_of_named(text: str) -> bool:
    """Return whether a text names a value of somebody by their name: "Ann's birthday", "l'anniversaire d'Anne"."""
    tokens, values = parse(text).tokens, value_words(text)
    return any(
        "of" in link.roles
        and ((one.norm in values and two.name) or (one.name and two.norm in values))
        for one, link, two in zip(tokens, tokens[1:], tokens[2:], strict=False)
    )


def _kin(text: str) -> frozenset[str]:
    """The relatives that a text names, as keys of the table `kin`."""
    return frozenset(token.kin for token in parse(text).tokens if token.kin)


def _naming_another(query: AnalysedQuery, items: Sequence[Recollection]) -> Iterator[int]:
    """The places of results about another thing than the one whose name a question asks for, if a result is about that.

    "My orthodontist is Dr Finch" is no answer to "who's my dentist?" beside "my dentist is Dr Olowe".
    """
    asked = next(iter(things_in(query.spoken, proper_names_in(query.spoken))), None)
    if asked is None or asks_more(query.spoken, asked):
        return
    told = [_opening_thing(each) for each in items]
    if any(each and asked.kind <= each.kind for each in told):
        for place, (item, thing) in enumerate(zip(items, told, strict=True)):
            if thing and asked.words.isdisjoint(words(item.content)):
                yield place


def _in_another_state(query: AnalysedQuery, items: Sequence[Recollection]) -> Iterator[int]:
    """The places of results that tell another state than the one whose holder a question asks for: "who's single?"."""
    asked = state_asked(query.spoken)
    for place, item in enumerate(items if asked else ()):
        if asked and item.memory and is_in_another_state(item.content, asked):
            yield place


def _opening_thing(item: Recollection) -> Thing | None:
    """The thing of somebody that a statement begins with, if it names anybody."""
    names = proper_names_in(item.content) if may_name(item.content) else ()
    first = next(iter(things_in(item.content, names)), None) if names and item.memory else None
    return first if first and first.span[0] == 0 else None


def _is_same_of_speaker(asked: Statement, told: Statement) -> bool:
    """Return whether a statement tells of its speaker alone what a question asks of a relative: "my birthday is on 3 May"."""
    named = any(token.kin or token.name for token in told.tokens)
    return not named and not asked.stems.isdisjoint(of_speaker(told.text))


def _of_other(query: AnalysedQuery, told: frozenset[str], item: Recollection) -> float:
    """The maximum score of what another user says of themselves."""
    if told and not told.isdisjoint(of_speaker(item.content)):
        return NO_ANSWER
    asked = query.features
    asks_value = _asks_value(query)
    # "Priya leaves on the 21st" does not tell when Meher does.
    of_named = asks_value and not (asked.asker or names_all(item.content))
    of_asker = asks_value or is_for_speaker(query.spoken)
    if of_named or (of_asker and _tells_of_teller(item, query)):
        return NO_ANSWER
    of_teller = ("speaker",) if asked.kin else ("own",) if asked.asker else OF_TELLER
    return item.score if parse(item.content).subject in of_teller else 1.0


def _asks_value(query: AnalysedQuery) -> bool:
    """Return whether a question asks for a number or a time of a user: "what size am I?", "Ben finit quand ?"."""
    if query.features.kin or not _asks_number_or_time(query):
        return False
    return not (parse(without_when(query.spoken)).hedged or is_past(parse(query.spoken)))


def _asks_number_or_time(query: AnalysedQuery) -> bool:
    return not query.features.asks.isdisjoint(("number", "when"))


def _tells_of_teller(item: Recollection, query: AnalysedQuery) -> bool:
    """Return whether users tell of themselves alone, and are not named in a question."""
    said = parse(item.content)
    named = not set(words(item.author or "")).isdisjoint(words(query.spoken))
    return said.subject in OF_TELLER and not (named or is_past(said) or names_all(item.content))


def _by_relatives(
    corpus: Corpus,
    query: AnalysedQuery,
    request: RecallRequest,
    items: Sequence[Recollection],
    limits: Sequence[float],
) -> list[float]:
    """The maximum scores for a question about relatives: "my mother" of one user may be the mother of another."""
    now, asker = corpus.store.now(), request.scope.user
    authors = {word for each in items for word in words(each.author or "")}
    asked = relatives_in(query.spoken, authors | query.features.names)
    are_known = cache(partial(are_relatives, corpus, request, now=now))
    may_share = cache(partial(may_share_child, corpus, request, now=now))
    found: list[float] = []
    for item, limit in zip(items, limits, strict=True):
        same = [each for each in asked if _has_same(each, item, authors)]
        owners = [each.owner for each in same if each.owner and not _names(item, each.owner)]
        limited = NO_ANSWER if owners else limit
        if limited < 1.0 and item.author is not None:
            known = (are_known(each, item.author) for each in owners or [asker] if each)
            shared = (may_share(each, item.author) for each in same)
            limited = 1.0 if any(known) or any(shared) else limited
        found.append(limited)
    return found


def _has_same(asked: Relative, item: Recollection, names: Set[str]) -> bool:
    """Return whether users tell of a relative of theirs like the one that a question asks for: "Ben's mum", "my mum"."""
    told = relatives_in(item.content, names) if item.memory is not None else ()
    return any(each.owner is None and not are_two(each.kin, asked.kin) for each in told)


def _names(item: Recollection, owner: str) -> bool:
    """Return whether somebody tells a statement, or is named in it."""
    return owner in (*words(item.author or ""), *words(item.content))


def _is_other_end(asked: Statement, told: Statement) -> bool:
    """Return whether a text only tells when something begins, and a question asks when it ends, or the other way round."""
    return ends(asked, told) is not None and names_one_hour(told)
