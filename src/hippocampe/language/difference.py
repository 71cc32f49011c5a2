"""Find what distinguishes two similar statements: a name, a number, a date or a role."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import dropwhile, takewhile
from typing import Final

from hippocampe.language.kin import are_two, is_naming
from hippocampe.language.lexicon import words_of
from hippocampe.language.roles import roles_swapped
from hippocampe.language.statement import Statement, is_name
from hippocampe.language.text import fold
from hippocampe.language.tokenizer import Word
from hippocampe.language.tokens import Token
from hippocampe.language.word_classes import follows_noun, word_classes

_HAVE_UNACCENTED: Final = words_of("have_unaccented")
_PERSONS: Final = words_of("persons")
_UNNAMED: Final = words_of("unnamed")
_TITLES: Final = frozenset(map(fold, words_of("titles")))
_NUMBER_WORDS: Final = words_of("numerals")

SWAPPED: Final = "roles swapped"


def difference(new: Statement, old: Statement) -> str | None:
    """Return the difference of two statements with shared words, as text for people; None if unknown."""
    if found := _different(new, old):
        kind, left, right = found
        return f"different {kind}: {' '.join(right)} / {' '.join(left)}"
    # After the cheap comparison of words, which tells most pairs apart: these read the tokens of both.
    if roles_swapped(new, old):
        return SWAPPED
    if relatives := _other_relative(new, old):
        return f"different subject: {' / '.join(relatives)}"
    nothing_beyond = not _words_beyond(new, old) and not _words_beyond(old, new)
    return SWAPPED if nothing_beyond and len(new.words) == len(old.words) else None


def is_about_another(new: Statement, old: Statement) -> bool:
    """Return whether the two are about two people: "my aunt", "my uncle"; "Wei Li", "Wei Ng"."""
    return _other_relative(new, old) is not None or _other_full_name(new, old)


def _other_relative(new: Statement, old: Statement) -> tuple[str, str] | None:
    """Return the words for the relative each is about, the old one first, if each is about one that the other does not name."""
    ours, theirs = _subject_relative(new), _subject_relative(old)
    if ours is None or theirs is None or not are_two(ours.kin, theirs.kin):
        return None
    named = any(token.kin == theirs.kin for token in new.tokens)
    named = named or any(token.kin == ours.kin for token in old.tokens)
    return None if named else (theirs.norm, ours.norm)


def _subject_relative(statement: Statement) -> Token | None:
    return next((token for token in statement.tokens[: statement.verb] if token.kin), None)


def _other_full_name(new: Statement, old: Statement) -> bool:
    """Return whether each is about somebody of the same first name with another last name: "Wei Li", "Wei Ng".

    A title is no name: "Dr Patel is my doctor", "Dr Hughes is my doctor now". Who follows another one names both.
    """
    ours, theirs = _full_name(new), _full_name(old)
    both = set(theirs) <= set(new.norms) or set(ours) <= set(old.norms)
    return ours[:1] == theirs[:1] and not both


def _full_name(statement: Statement) -> list[str]:
    """The first names in a row before the verb, folded; none if there are none."""
    before = iter(statement.tokens[: statement.verb])
    named = dropwhile(lambda token: not token.name or token.kin or token.norm in _TITLES, before)
    return [token.norm for token in takewhile(lambda token: token.name, named)]


def other_unit(new: Statement, old: Statement) -> bool:
    """Return whether each of two statements has an amount that the other lacks, in units of its own: "82 kg", "180 lb"."""
    ours, theirs = (
        {token.unit for token in one.tokens if token.unit and token.stem not in other}
        for one, other in ((new, set(old.values)), (old, set(new.values)))
    )
    return bool(ours and theirs) and ours.isdisjoint(theirs)


def numbered_things(statement: Statement, end: int | None = None) -> dict[str, str]:
    """The numbers of things that their number names, "box 12", by the stem of the noun in front of each.

    Args:
        statement: The statement.
        end: The position of the first token that does not count.
    """
    tokens = statement.tokens[:end]
    return {
        tokens[at - 1].stem: number.value
        for at, number in enumerate(tokens)
        if number.kind == "number" and not number.unit and at - 1 in statement.content
    }


def counts_another(new: Statement, old: Statement) -> bool:
    """Return whether one number is of two things that one of the statements names both: "4 eggs a day" of hens, "4 hens"."""
    ours, theirs = _counted(new), _counted(old)
    return any(
        thing != theirs.get(value, thing) and (thing in old.stems or theirs[value] in new.stems)
        for value, thing in ours.items()
    )


def _counted(statement: Statement) -> dict[str, str]:
    """The stem of the noun behind each number, by number."""
    tokens = statement.tokens
    return {
        number.stem: tokens[at].stem
        for at, number in enumerate(tokens[:-1], start=1)
        if number.kind == "number" and not number.unit and at in statement.content
        if tokens[at].kind == "word"
    }


def names_another(new: Statement, old: Statement) -> bool:
    """Return whether each of two statements has a name, a number or a date that the other lacks."""
    found = _different(new, old)
    return found is not None and found[0] != "subject"


def _different(new: Statement, old: Statement) -> tuple[str, list[str], list[str]] | None:
    """The first kind of word that both statements have and the other lacks, with the words of both."""
    only_new, only_old = _words_beyond(new, old), _words_beyond(old, new)
    for kind, is_kind in (
        ("name", _is_named),
        ("number", _is_number),
        ("date", _is_date),
        ("subject", _is_person),
    ):
        left = [word.norm for word in only_new if is_kind(word, new)]
        right = [word.norm for word in only_old if is_kind(word, old)] if left else []
        if right:
            return kind, left, right
    return None


_POSSESSIVES: Final = words_of("possessives")
_BE: Final = words_of("grammar.be")
_MAX_TITLE: Final = 6
"""Words up to a name that a statement gives to what it begins with."""


def shared_words(new: Statement, old: Statement) -> frozenset[str]:
    """Return the content words of both statements, without the subject both begin with."""
    shared = new.content_words & old.content_words
    return shared.difference(set(_leading(new)).intersection(_leading(old))) if shared else shared


def _leading(statement: Statement) -> Iterator[str]:
    """Yield the subject of a statement: the words before the first that is not a name.

    A relative and their name are one: "my brother Tom is a baker", "my brother is called Tom".
    """
    core = statement.core
    named = next((at for at, word in enumerate(core[:_MAX_TITLE]) if is_name(word)), 0)
    between = {word.norm for word in core[2:named]} - _TITLES
    owned = named > 1 and core[0].norm in _POSSESSIVES
    start = named if owned and (between <= _BE or is_naming(between)) else 0
    for at, word in enumerate(core):
        if at >= start and not (at == 0 or is_name(word) or word.norm in _UNNAMED):
            return
        yield word.norm


def _words_beyond(statement: Statement, other: Statement) -> list[Word]:
    """Return the words that occur more often in `statement` than in `other`."""
    ours, theirs = statement.counts, other.counts
    return [word for word in statement.words if ours[word.norm] > theirs.get(word.norm, 0)]


def proper_names(statement: Statement) -> list[str]:
    """Return the words of the proper names of a statement, folded."""
    return [word.norm for word in statement.words if _is_named(word, statement)]


def _is_named(word: Word, statement: Statement) -> bool:
    """Return whether a word is a name, not a common word that opens a sentence ("Habite à …")."""
    if not is_name(word):
        return False
    if not word.opens:
        return True
    at = statement.words.index(word)
    following = statement.words[at + 1 : at + 2]
    if not following or following[0].surface.lower() in _HAVE_UNACCENTED:
        return True
    return not follows_noun(following[0].norm)


def _is_number(word: Word, statement: Statement) -> bool:
    return any(map(str.isdigit, word.norm)) or word.norm in _NUMBER_WORDS


def _is_date(word: Word, statement: Statement) -> bool:
    return word.norm in word_classes().times


def _is_person(word: Word, statement: Statement) -> bool:
    return word.norm in _PERSONS or _is_named(word, statement)
