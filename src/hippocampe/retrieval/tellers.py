"""Tellers of candidates, and whom each is about: "my dog" of another user is another dog."""

from collections.abc import Collection, Mapping, Sequence
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sqlalchemy import Connection, bindparam, select

from hippocampe.language import traits as trait
from hippocampe.language.kin import names_relation
from hippocampe.language.lexicon import words_of
from hippocampe.language.names import named_in
from hippocampe.language.person import is_about_speaker, is_to_somebody
from hippocampe.language.text import fold
from hippocampe.language.text import words as spoken_words
from hippocampe.language.wordings import relations_of_things
from hippocampe.retrieval.query import AnalysedQuery
from hippocampe.retrieval.rows import Row
from hippocampe.store.driver import read_by_ids
from hippocampe.store.schema import claim, memory, message


def _spoken(id: Any, author: Any, content: Any) -> Any:
    return select(id, author, content).where(id.in_(bindparam("ids", expanding=True)))


_SAID: dict[str, Any] = {
    "memory": _spoken(memory.c.id, memory.c.user, memory.c.content),
    "live": _spoken(message.c.id, message.c.author, message.c.content),
    # The reply in a turn is about the companion.
    "turn": _spoken(message.c.turn_id, message.c.author, message.c.content).where(
        message.c.role.is_distinct_from("assistant")
    ),
}


_CLAIMED = (
    select(claim.c.memory_id, claim.c.relation, claim.c.subject, memory.c.content)
    .select_from(claim.join(memory, memory.c.id == claim.c.memory_id))
    .where(claim.c.memory_id.in_(bindparam("ids", expanding=True)))
)
_OF_SPEAKER = frozenset({"", "user"})
"""Subjects of a claim about its speaker."""


def statements_of_others(
    connection: Connection,
    rows: Sequence[Row],
    kinds: Mapping[str, str],
    users: Mapping[str, str],
    query: AnalysedQuery,
    doers: Collection[str],
) -> NDArray[np.bool_]:
    """Shape (candidates,): whether it is another user's statement about themselves alone, or about a third person.

    "My dog" of another user is another dog. A text that names the asker or addresses somebody may
    still answer: "I lent my bike to Alex", "j'ai rangé ton vélo"; and so may the `doers`.
    """
    asker = query.features.asker
    of_others = [row for row in rows if row.teller and users[row.teller] not in asker]
    found = _of_third_persons(connection, rows, kinds, query)
    for kind, statement in _SAID.items():
        tellers = {row.id: row.teller for row in of_others if kinds[row.id] == kind}
        spoken = read_by_ids(connection, statement, list(tellers)) if tellers else ()
        found.update(
            id
            for id, author, content in spoken
            if author == tellers[id]
            and is_about_speaker(content)
            and not is_to_somebody(content)
            and not named_in(asker, spoken_words(content))
        )
    found.difference_update(doers)
    return np.array([row.id in found for row in rows], bool)


def possible_doers(
    connection: Connection, rows: Sequence[Row], kinds: Mapping[str, str], query: AnalysedQuery
) -> frozenset[str]:
    """The memories whose teller may be the answer to "who has my drill?": "I have it", but not "I lent my drill to Tom"."""
    if "who" not in query.features.asks:
        return frozenset()
    stated = [row.id for row in rows if row.teller and kinds[row.id] == "memory"]
    asked = frozenset(query.features.words)
    return frozenset(
        id
        for id, _, content in read_by_ids(connection, _SAID["memory"], stated)
        if is_about_speaker(content) and not _has_own(spoken_words(content), asked)
    )


def _has_own(spoken: Sequence[str], things: Collection[str]) -> bool:
    """Return whether the speaker of folded words has one of some things: "my drill"."""
    own = words_of("grammar.own")
    return any(one in own and other in things for one, other in pairwise(spoken))


def _of_third_persons(
    connection: Connection, rows: Sequence[Row], kinds: Mapping[str, str], query: AnalysedQuery
) -> set[str]:
    """The memories that say where somebody else lives, works and so on: no answer to "where do I live?"."""
    if names_relation(query.spoken):
        return set()
    own = {*query.features.asker, *_OF_SPEAKER}
    # "My dog" has a name that the question does not say.
    of_things = relations_of_things()
    spoken = frozenset(query.features.words)
    stated = [row.id for row in rows if kinds[row.id] == "memory"]
    return {
        id
        for id, relation, subject, content in read_by_ids(connection, _CLAIMED, stated)
        if subject not in own
        and relation not in of_things
        and spoken.isdisjoint(spoken_words(subject))
        # Without an article, a name.
        and content[:1].isupper()
        and fold(content).startswith(subject)
    }


def owners_of(
    rows: Sequence[Row],
    traits: NDArray[np.int64],
    kinds: Mapping[str, str],
    users: Mapping[str, str],
) -> list[str | None]:
    """The folded name of the speaker of each memory in the first person; None for the others.

    The words of a turn contain the names of its authors already.
    """
    return [
        users[row.teller] if row.teller and first and kinds[row.id] == "memory" else None
        for row, first in zip(rows, (traits & trait.FIRST_PERSON > 0).tolist(), strict=True)
    ]
