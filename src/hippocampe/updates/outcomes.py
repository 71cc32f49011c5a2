"""Tell the event after which an older statement no longer holds: what is sought is found, what lacks is got, what ended begins again.

The words of both are data (`outcomes`, `acquired` and the sign `again`); all else that the older statement says must be
repeated, so that the event is of the same thing.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence, Set
from dataclasses import dataclass
from typing import Final

from hippocampe.language.difference import names_another
from hippocampe.language.grammar import plain_stem
from hippocampe.language.lexicon import languages, load_all, words_of
from hippocampe.language.negation import are_contraries, are_denied, may_reverse
from hippocampe.language.relations import TASTE, relations
from hippocampe.language.roles import roles_swapped
from hippocampe.language.statement import Statement
from hippocampe.language.tense import Tense, is_past, is_past_form, tense_of
from hippocampe.language.text import fold
from hippocampe.language.tokens import Token
from hippocampe.language.word_classes import word_classes
from hippocampe.updates.alignment import HIT, Alignment, align
from hippocampe.updates.evidence import DENIED
from hippocampe.updates.exchanges import (
    changes_it,
    exchanged,
    is_part,
    is_time,
    may_be_exchanged,
    names_another_owner,
    place_of_change,
)
from hippocampe.updates.occasions import is_off_once
from hippocampe.updates.places import is_moved, may_be_moved
from hippocampe.updates.plans import NEW, differing
from hippocampe.updates.possessions import is_disposed, may_be_disposed


def _stems(side: str) -> frozenset[str]:
    """The stems of words in each language, as tokens have them."""
    return frozenset(plain_stem(word, each) for word in side.split() for each in languages())


_SEEKING: Final = _stems(load_all("words")["seeking"])
_OUTCOMES: Final = (
    (_SEEKING, _stems(load_all("words")["found"])),
    *(tuple(_stems(side) for side in each.split("/")) for each in load_all("words")["outcomes"]),
)
"""The stems of a state, and of the event that ends it."""
_RECEIVED: Final = _OUTCOMES[1][1]
"""The events of what was awaited."""
_ACQUIRED: Final = _stems(load_all("words")["acquired"])
_ABLE: Final = _stems(load_all("words")["able"])
_ENDED: Final = _stems(" ".join(load_all("words")["signs"]["ended"]))
_AWAITED: Final = frozenset(map(fold, load_all("words")["classes"]["awaited"]))
_ALONE: Final = words_of("alone")
_ANOTHER: Final = words_of("another")
_WITH: Final = words_of("beside")
_FOR: Final = words_of("before_purpose")
_PERSONAL: Final = frozenset({"speaker", "third", "name"})
_OTHERS: Final = frozenset({"third_person", "second_person", "others_own"})
_BEFORE_PLACE: Final = frozenset(map(fold, load_all("words")["before_place"]))
_CEASING: Final = frozenset(
    fold(each).split()[0] for each in load_all("words")["classes"]["ceasing"]
)
_AFTER_FOR: Final = 3
"""Words after "for" that may name somebody: "for my brother"."""


def outcome(new: Statement, old: Statement) -> str | None:
    """Return what the event of a new statement does to the state that an old one tells; None if it is no such event."""
    another = not _ANOTHER.isdisjoint(new.norms) and _ANOTHER.isdisjoint(old.norms)
    if old.question or _is_doubtful(new) or another or is_off_once(new, old):
        return None
    of_things, of_any, of_the_same = (
        [each for each in kinds if each.may_be(new, old)]
        for kinds in (_OF_THINGS, _OF_ANY, _OF_THE_SAME)
    )
    if not (of_things or of_any or of_the_same):
        return None
    aligned = align(old, new)
    if roles_swapped(new, old):
        return None
    if told := _first_told(of_things, aligned):
        return told
    if old.subject != new.subject and new.subject in _PERSONAL:
        return None
    if told := _first_told(of_any, aligned):
        return told
    if not of_the_same or _is_of_another(aligned):
        return None
    return _first_told(of_the_same, aligned)


def may_end(stems: Set[str]) -> bool:
    """Return whether the words of a statement, by their stems, tell a state that an event ends: "we are waiting for the parcel"."""
    return any(stems & state for state, _ in _OUTCOMES)


def _first_told(events: Sequence[_Event], aligned: Alignment) -> str | None:
    return next(filter(None, (each.told(aligned) for each in events)), None)


def _is_doubtful(statement: Statement) -> bool:
    unsure = (
        statement.question or statement.hedged or statement.ironic or "doubt" in statement.signs
    )
    return unsure or tense_of(statement) is Tense.FUTURE


def _states(new: Statement, old: Statement) -> list[tuple[frozenset[str], frozenset[str]]]:
    """The states that an old statement may tell, each with its event that the new one may tell."""
    told, known = new.stems, old.stems
    if new.negations:
        return []
    if old.negations:
        return [(_ABLE, _ACQUIRED)] if told & _ACQUIRED and known & _ABLE else []
    return [(state, event) for state, event in _OUTCOMES if known & state and told & event]


def _places_sought(aligned: Alignment) -> Collection[int]:
    """The places of a search, by position, if the old statement names nothing more and the new one no other such place."""
    old, new = aligned.old, aligned.new
    lost = {at for at in aligned.open_old if old.tokens[at].name or old.tokens[at].kind != "word"}
    places = _places(old)
    if _SEEKING.isdisjoint(old.stems) or not lost or not lost <= places.keys():
        return ()
    return places if set(places.values()).isdisjoint(_places(new).values()) else ()


def _places(statement: Statement) -> dict[int, str]:
    """The positions of the names behind a preposition of place, each with that preposition."""
    tokens = statement.tokens
    return {
        at: tokens[at - 1].norm
        for at, token in enumerate(tokens)
        if at and tokens[at - 1].norm in _BEFORE_PLACE
        if token.name or word_classes().has("towns", token.norm)
    }


def _tells_an_end(statement: Statement) -> bool:
    """Return whether a statement tells that a state has ended: what begins again, and ends no more."""
    return bool(statement.negations) or not DENIED.isdisjoint(statement.signs)


def _may_begin_again(new: Statement, old: Statement) -> bool:
    denied = new.negations or not DENIED.isdisjoint(new.signs)
    return "again" in new.signs and not denied and _tells_an_end(old)


def _may_be_contrary(new: Statement, old: Statement) -> bool:
    denied = new.negations or old.negations
    return not denied and may_reverse(new.counts.keys(), old.counts.keys())


def _says_it_ended(statement: Statement) -> bool:
    """Return whether a statement says that an activity ended: "no longer runs", "gave up running"."""
    if statement.negations:
        return "no_longer" in statement.signs and not statement.unclear
    return word_classes().occurs("ceasing", statement.norms)


def _ceases(aligned: Alignment) -> bool:
    """Return whether the new statement tells nothing but the end of a habit whose frequency the old one tells as well."""
    old, new = aligned.old, aligned.new
    if old.hedged or is_past(old) or any(each.name == TASTE for each in relations(old)):
        return False
    gone, came = _words_of(aligned)
    told = [at for at in new.content if new.tokens[at] not in came]
    ends = all(each.norm in _CEASING for each in came)
    limited = any(is_time(new.tokens[at]) for at in told)
    named = any(at >= new.verb and not _is_person(new.tokens[at]) for at in told)
    often = any(map(is_time, gone)) and all(
        is_time(each) or each.kind == "number" or each.stem in old.verbs for each in gone
    )
    return ends and named and often and not limited


def _ends(
    aligned: Alignment, sought: Collection[int], state: frozenset[str], event: frozenset[str]
) -> bool:
    """Return whether the new statement tells an event of all that the old one says, but for the words of its state."""
    old, new = aligned.old, aligned.new
    if word_classes().occurs("not_detail", [each for each in new.norms if each not in old.norms]):
        return False  # "too expensive"
    known = [at for at in old.content if old.tokens[at].stem not in state]
    # What is got is new, so that the event need not say so; it may come at another time than expected.
    left = [at for at in known if state is not _ABLE and is_time(old.tokens[at])]
    said = [at for at in known if old.tokens[at].norm not in NEW and at not in (*sought, *left)]
    found = next(at for at, token in enumerate(new.tokens) if token.stem in event)
    happened = is_past(new) or any(
        is_past_form(token.norm) for token in new.tokens[max(found - 1, 0) : found + 1]
    )
    if not (said and _repeats(aligned, said) and happened):
        return False
    if event is _RECEIVED and all(at < old.verb for at in said):
        return False  # "Ida is expecting in August", "Ida came to dinner"
    thing = _place_of(old.tokens[said[0]], new)
    if thing is None or is_part(aligned, thing):
        return False
    # The object of the event, or its subject: "the parcel arrived".
    return (
        thing < found or new.links[thing] not in ("of", "at") or new.tokens[thing].stem in new.verbs
    )


def _reverses(aligned: Alignment) -> bool:
    """Return whether the new statement is the old one with a contrary: "the alarm is off now"."""
    old, new = aligned.old, aligned.new
    contrary = [
        new.tokens[at]
        for at in aligned.open_new
        for gone in aligned.open_old
        if len(aligned.open_old) == 1 and are_contraries(old.tokens[gone], new.tokens[at])
        if not are_denied(old.tokens[gone], new.tokens[at])
        or (_is_state(old, gone) and _is_state(new, at))
    ]
    _, beyond = _words_of(aligned)
    return bool(contrary) and all(each in contrary for each in beyond)


def _is_state(statement: Statement, at: int) -> bool:
    """Return whether a form of "be" is in front of a word: "is locked", "est toujours fermé"."""
    return any("be" in token.roles for token in statement.tokens[max(0, at - 2) : at])


def _parts_company(aligned: Alignment) -> bool:
    """Return whether somebody is alone with whom another was: "I live with my sister", "I live alone now"."""
    old = aligned.old
    gone, came = _words_of(aligned)
    with_others = len(gone) == 1 and any(
        token is gone[0]
        and not _WITH.isdisjoint(each.norm for each in old.tokens[max(0, at - 2) : at])
        for at, token in enumerate(old.tokens)
    )
    limited = word_classes().occurs("recurring", aligned.new.norms)
    return with_others and not limited and len(came) == 1 and came[0].norm in _ALONE


def _words_of(aligned: Alignment) -> tuple[list[Token], list[Token]]:
    """The words in which two statements differ, but for those that say that it changed, and since when."""
    classes = word_classes()
    gone, came = differing(aligned)
    begins = classes.occurs("beginning", aligned.new.norms)
    return [statement.tokens[at] for statement, at in gone], [
        token
        for token in (statement.tokens[at] for statement, at in came)
        if not (begins and (token.norm in classes.times or token.kind not in ("word", "number")))
    ]


def _goes_on(aligned: Alignment) -> bool:
    """Return whether the new statement is always about what the old one tells the end of."""
    old, new = aligned.old, aligned.new
    words = [at for at in old.content if old.tokens[at].kind == "word"]
    said = [at for at in words if old.tokens[at].stem not in _ENDED]
    things = [at for at in said if old.tokens[at].stem not in old.verbs]
    # Of another verb, the same thing; without one, the same verb.
    told = things if any(at > old.verb for at in things) else said
    if not any(at > old.verb for at in told) or not _repeats(aligned, told):
        return False
    limited = word_classes().occurs("recurring", (*old.norms, *new.norms))
    places = (_place_of(old.tokens[at], new) for at in told)
    return not limited and not any(at is not None and is_part(aligned, at) for at in places)


def _repeats(aligned: Alignment, places: Sequence[int]) -> bool:
    best = dict(zip(aligned.old.content, aligned.best_old, strict=True))
    return all(best[at] >= HIT for at in places)


def _place_of(token: Token, statement: Statement) -> int | None:
    """The first place of a word, in any form."""
    places = ((at, statement.tokens[at]) for at in statement.content)
    alike = (
        at
        for at, each in places
        if each.stem == token.stem or (token.kin and each.kin == token.kin)
    )
    return next(alike, None)


def _is_done(aligned: Alignment) -> bool:
    """Return whether what the old statement seeks, lacks or is to do was found, got or done."""
    sought = _places_sought(aligned)
    return any(_ends(aligned, sought, *each) for each in _states(aligned.new, aligned.old))


def _is_awaited(statement: Statement) -> bool:
    return bool(statement.negations) and word_classes().occurs("awaited", statement.norms)


def _has_happened(aligned: Alignment) -> bool:
    """Return whether the new statement tells nothing but that what had not happened yet has, and when."""
    new = aligned.new
    gone, came = _words_of(aligned)
    past = is_past(new) or any(
        is_past_form(token.norm) for token in new.tokens[new.verb : new.verb + 1]
    )
    # "The shop is open on Sundays": of a day, it only holds.
    dated = all(map(is_time, came)) and (past or not came)
    return dated and all(each.norm in _AWAITED for each in gone)


def _is_of_another(aligned: Alignment) -> bool:
    """Return whether the new statement names something, or is about or for somebody, that the old one does not name."""
    new = aligned.new
    if names_another(new, aligned.old) and not _places_sought(aligned):
        return True
    return names_another_owner(aligned) or any(
        token.norm in _FOR
        and any(_is_person(each) for each in new.tokens[at + 1 : at + 1 + _AFTER_FOR])
        for at, token in enumerate(new.tokens)
    )


def _is_person(token: Token) -> bool:
    return bool(token.kin) or token.name or not token.roles.isdisjoint(_OTHERS)


@dataclass(frozen=True, slots=True)
class _Event:
    """A kind of event that ends a state.

    Attributes:
        may_be: Whether two statements, the new and the old one, may tell it, by their words alone.
        told: What it does to the state; None if they do not tell it.
    """

    may_be: Callable[[Statement, Statement], bool]
    told: Callable[[Alignment], str | None]


def _saying(reason: str, is_told: Callable[[Alignment], bool]) -> Callable[[Alignment], str | None]:
    return lambda aligned: reason if is_told(aligned) else None


_OF_THINGS: Final = (
    _Event(may_be_moved, _saying("moved", is_moved)),
    _Event(lambda new, _: place_of_change(new) is not None, _saying("changed", changes_it)),
)
"""The kinds of events of a thing that anybody may cause: "I moved the router"; they count first."""
_OF_ANY: Final = (
    _Event(_may_be_contrary, _saying("the contrary", _reverses)),
    _Event(
        lambda new, old: not (new.negations or old.negations) and may_be_exchanged(new), exchanged
    ),
    _Event(may_be_disposed, _saying("no longer owned", is_disposed)),
)
"""The kinds of events that see for themselves whom and what they are about; the first that is told counts."""
_OF_THE_SAME: Final = (
    _Event(_may_begin_again, _saying("it began again", _goes_on)),
    _Event(
        lambda new, _: not (new.negations or _ALONE.isdisjoint(new.norms)),
        _saying("the contrary", _parts_company),
    ),
    _Event(
        lambda new, old: not _tells_an_end(old) and _says_it_ended(new),
        _saying("it ended", _ceases),
    ),
    _Event(lambda new, old: bool(_states(new, old)), _saying("it is done", _is_done)),
    _Event(
        lambda new, old: not new.negations and _is_awaited(old),
        _saying("it is done", _has_happened),
    ),
)
"""The kinds whose new statement may be about nobody and nothing else; they count after those of any."""
