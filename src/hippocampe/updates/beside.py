"""Tell a new statement that leaves an older one, or a part of it, as it is, however much the two share: another's claim, an
addition, one of two people.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from hippocampe.language.kin import are_two
from hippocampe.language.lexicon import words_of
from hippocampe.language.relations import SPEAKER, relations
from hippocampe.language.statement import CHANGE, Statement
from hippocampe.language.tense import is_past
from hippocampe.language.tokens import Token
from hippocampe.language.topics import topic, topics_of
from hippocampe.language.word_classes import word_classes
from hippocampe.updates.alignment import Alignment
from hippocampe.updates.outcomes import may_end
from hippocampe.updates.plans import differing, is_a_place

_COUPLE: Final = "partner"
"""The topic of `_OF_COUPLES`."""
_OF_COUPLES: Final = frozenset({"partner", "spouse"})
_OF_SPEAKER: Final = frozenset({"first_person", "own"})

_BEFORE_NAME: Final = words_of("before_name")
_UNION: Final = words_of("union")
_NOMINAL: Final = frozenset({"definite", "indefinite", "own", "others_own", "of"})
_ENDS: Final = CHANGE - {"became"}
_RETOLD: Final = frozenset({"correction", "negation", "again"})
_BEFORE_PERSON: Final = frozenset({"own", "others_own", "definite"})


def beside(aligned: Alignment) -> str | None:
    """Return why the older statement still holds beside the new one; None if it may not."""
    old, new = aligned.old, aligned.new
    if _is_claimed(new, old) and not _is_claimed(old, new):
        return "another's claim"
    if _is_of_the_other(aligned):
        return "one of the two"
    if _only_tells_where(aligned):
        return "where it is"
    if _is_of_one_of_two(aligned):
        return "one of two"
    if _leaves_a_role(aligned):
        return "the role stays"
    if _happened_beside(aligned) or _happened_too(aligned):
        return "what happened beside"
    return "an addition" if aligned.open_old and _adds(new) and not _adds(old) else None


def _is_of_the_other(aligned: Alignment) -> bool:
    """Return whether the new statement ends what is between two people, and the old one tells something else of one of them.

    "Joe and I split up" leaves "Joe is a carpenter".
    """
    old, new = aligned.old, aligned.new
    if any(topics_of(norm) & topic(_COUPLE) for norm in old.norms):
        return False
    speaks = any(token.roles & _OF_SPEAKER for token in old.tokens)
    for each in relations(new):
        both = (each.subject, each.value.split()[0])
        # "Mon frère a quitté l'armée" leaves nobody.
        person = not new.lowercase or word_classes().has("first_names", both[1])
        if each.negated and each.sure and person and each.name in _OF_COUPLES:
            named = [speaks if one == SPEAKER else one in old.norms for one in both]
            if not all(named):
                return True
    return False


def _only_tells_where(aligned: Alignment) -> bool:
    """Return whether the new statement tells where something is, and the old one that somebody has or does something with it.

    "Sara's Golf is at the garage" leaves "Sara drives a Golf".
    """
    old, new = aligned.old, aligned.new
    subject = {token.stem for token in new.tokens[: new.verb]}
    things = [token for at, token in enumerate(old.tokens) if at in old.content and at > old.verb]
    if new.signs or not things or not subject.issuperset(each.stem for each in things):
        return False
    lost, came = differing(aligned)
    is_there = any("be" in token.roles for token in new.tokens[new.verb : new.verb + 1])
    done = bool(lost) and all(at == old.verb for _, at in lost)
    return is_there and done and is_a_place(came) and not may_end(old.stems)


def _leaves_a_role(aligned: Alignment) -> bool:
    """Return whether one statement names who has a role, and the other tells something else of them.

    "Our notary is Me Lavigne", "Me Lavigne has the deeds"; "Dr Shah is my dentist", "Dr Shah has a long waiting list".
    """
    old, new = aligned.old, aligned.new
    if CHANGE & new.signs or new.negations or old.negations:
        return False
    sides = (
        (old, aligned.open_old, new, aligned.open_new),
        (new, aligned.open_new, old, aligned.open_old),
    )
    for named, lost, told, others in sides:
        role = _role_of_a_name(named)
        said = [at for at in lost if named.tokens[at].norm not in _BEFORE_NAME]
        if role and said == role and not any(told.tokens[at].name for at in others):
            return True
    return False


def _role_of_a_name(statement: Statement) -> list[int]:
    """The words of a role in a statement that only tells who has it: "notary" of "our notary is Me Lavigne"."""
    tokens, verb = statement.tokens, statement.verb
    told = [at for at in statement.content if tokens[at].norm not in _BEFORE_NAME]
    before, after = ([at for at in told if (at < verb) == side] for side in (True, False))
    if before and all(tokens[at].name for at in before):
        before, after = after, before
        if not tokens[verb + 1 : verb + 2] or "own" not in tokens[verb + 1].roles:
            return []
    tells = any("be" in each.roles or each.norm in _BEFORE_NAME for each in tokens[verb : verb + 1])
    common = all(tokens[at].kind == "word" and not tokens[at].name for at in before)
    # "My childhood was in Leeds" tells where.
    placed = any(statement.links[at] == "at" for at in after)
    if not (tells and common and after) or placed:
        return []
    return before if all(tokens[at].name for at in after) else []


def _happened_beside(aligned: Alignment) -> bool:
    """Return whether the new statement tells what somebody had, or came back from, and the old one nothing of it.

    "Lou had the flu", "Nate is back from his holiday".
    """
    old, new = aligned.old, aligned.new
    classes, norms = word_classes(), [token.norm for token in new.tokens]
    lost = {old.tokens[at].stem for at in aligned.open_old}
    if _ENDS & new.signs or new.negations or old.negations or may_end(lost):
        return False
    if any(word.pause for word in new.words):
        return False  # "He is back from Spain, he lives in Tours"
    for kind in ("had", "returning"):
        for _, end in classes.spans(kind, norms):
            told = {each for each in new.content if each >= end}
            if not told or not told <= set(aligned.open_new):
                continue
            if kind == "returning" or not _NOMINAL.isdisjoint(new.tokens[end].roles):
                return True
    return False


def _happened_too(aligned: Alignment) -> bool:
    """Return whether both statements tell what happened to somebody, and share nothing else: "he went to war", "he died at Verdun".

    What happened stays so, whatever happened to them later, unless it is told again or denied.
    """
    old, new = aligned.old, aligned.new
    if not (is_past(old) and is_past(new)) or _RETOLD & new.signs or old.negations:
        return False
    shared = [at for at in old.content if at not in aligned.open_old]
    told_again = [at for at in new.content if at not in aligned.open_new]
    people = all(at < old.verb and _is_somebody(old.tokens[at]) for at in shared)
    return bool(shared and aligned.open_old) and people and all(at < new.verb for at in told_again)


def _is_claimed(statement: Statement, other: Statement) -> bool:
    """Return whether somebody, whom the other statement does not name, claims it: "the doctor says …", "according to Ann, …"."""
    classes, tokens = word_classes(), statement.tokens
    norms = [token.norm for token in tokens]
    claim = next(classes.spans("claims", norms), None)
    if claim is None or statement.subject == "speaker":
        return False
    at, end = claim
    last = statement.verb + ("auxiliary" in tokens[at - 1].roles)  # "has said"
    if at > last or classes.match("no_hedges", norms, at):
        return False
    if _follows_news(statement, at):
        return False
    # Who claims it is named in front of "says", and behind "according to".
    people = [token for token in tokens[:at] or tokens[end:] if not token.roles]
    people = people if at else people[:1]
    named = {token.norm for token in people if token.name or token.kin}
    if not people or not named.isdisjoint(other.norms):
        return False
    return not at or _is_clause(statement, end)


def _follows_news(statement: Statement, at: int) -> bool:
    """Return whether a clause without its subject stands before the one that ends at a position: "cancelled the lunches, she said …"."""
    paused = {word.norm for word in statement.words if word.pause}
    first = statement.tokens[0]
    is_subject = bool(first.roles or first.name or first.kin)
    return not is_subject and any(each.norm in paused for each in statement.tokens[1:at])


def _is_clause(statement: Statement, start: int) -> bool:
    """Return whether the tokens from a position on are one clause with a verb: not "said 86 kilos", "says no, so we stay"."""
    after = statement.tokens[start:]
    norms = [token.norm for token in after]
    states = any("auxiliary" in each.roles or each.stem in statement.verbs for each in after)
    parted = any(word.pause and word.norm in norms for word in statement.words)
    return states and not parted


def _adds(statement: Statement) -> bool:
    """Return whether a statement says that it holds as well: "too", "aussi", but not "too long", "aussi long que"."""
    classes, tokens = word_classes(), statement.tokens
    norms = [token.norm for token in tokens]
    infinitives = tuple(words_of("infinitive_endings", language=statement.language))
    for at in range(len(norms)):
        if not (length := classes.match("added", norms, at)):
            continue
        after = next(iter(tokens[at + length :]), None)
        verbal = after and (after.stem in statement.verbs or after.norm.endswith(infinitives))
        degree = classes.has("degrees", *norms[at : at + length])
        if not degree or after is None or after.roles or verbal:
            return True
    return False


def _is_of_one_of_two(aligned: Alignment) -> bool:
    """Return whether the new statement is about one alone of two whom the old one tells of: "Tic died", "my cats Tic and Tac"."""
    new = aligned.new
    about = next(filter(_is_somebody, new.tokens[: new.verb]), None)
    if about is None:
        return False
    for pair in _pairs(aligned.old):
        same = [_are_same(each, about) for each in pair]
        if any(same) and not all(same):
            other = pair[same.index(False)]
            return not any(_are_same(other, each) for each in new.tokens)
    return False


def _pairs(statement: Statement) -> Iterator[tuple[Token, Token]]:
    """Two names or relatives that a statement joins, side by side or each at the beginning of its clause.

    "Nadia is the treasurer and Kim the secretary".
    """
    tokens = statement.tokens
    for at, token in enumerate(tokens):
        second = _somebody_at(tokens, at + 1) if token.norm in _UNION and at else None
        if second is None:
            continue
        if _is_somebody(tokens[at - 1]):
            yield tokens[at - 1], tokens[second]
        elif (first := _somebody_at(tokens, 0)) is not None and second + 1 < len(tokens):
            yield tokens[first], tokens[second]


def _somebody_at(tokens: tuple[Token, ...], at: int) -> int | None:
    """The place of a name or a relative at a place, or behind its determiner."""
    if at < len(tokens) and tokens[at].roles & _BEFORE_PERSON:
        at += 1
    return at if at < len(tokens) and _is_somebody(tokens[at]) else None


def _is_somebody(token: Token) -> bool:
    return token.name or bool(token.kin)


def _are_same(one: Token, other: Token) -> bool:
    """Return whether two words name one person: "mum" and "mother"."""
    if one.kin and other.kin:
        return not are_two(one.kin, other.kin)
    return one.norm == other.norm
