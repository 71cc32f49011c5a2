"""Compare whom a topic and a text are about: "my dog" is not "my sister's dog", nor "I smoke" "I don't smoke". Pure.

The words are data: `kin`, `mine`, `speaker`, `owner_links` and `grammar` in `language/*/words.toml`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Final, Literal

from hippocampe.language.difference import proper_names
from hippocampe.language.grammar import grammar, plain_stem
from hippocampe.language.kin import relation
from hippocampe.language.lexicon import words_of
from hippocampe.language.person import is_about_speaker
from hippocampe.language.statement import Statement, parse
from hippocampe.language.text import fold
from hippocampe.language.tokenizer import Word

Fit = Literal["same", "other", "unclear"]
"""A text is about the owner of a topic, about another person, or nobody knows."""
Person = tuple[str, ...]
"""The folded name of somebody, and what each next one is to the one before: `("", "wife", "sister")` is a sister of
the speaker's wife."""

_SPEAKER: Final = ""
_ANOTHER: Final = "another"
_UNKNOWN: Final = "?"
_MINE: Final = words_of("grammar.own")
_OTHERS_OWN: Final = words_of("grammar.others_own")
_HE_OR_SHE: Final = words_of("unnamed")
_OF: Final = words_of("grammar.of")
_POSSESSIVE: Final = "'s"
_DETERMINERS: Final = words_of("determiners") | words_of("articles") | _MINE
_NEGATING: Final = words_of("negation.particle") | words_of("negation.after_particle")
_SPLITS: Final = words_of("coordinators") | words_of("union")
_IN_LAW: Final = "in_law"
"""Words that name a relative only with another one: "beau", "law"."""
_FORMER: Final = "former_partner"
_USER: Final = words_of("grammar.user")


@dataclass(frozen=True, slots=True)
class _Part:
    """A word, or a word for a relative with its parts: "belle-mère", "mother in law".

    Attributes:
        norm: The folded word.
        kin: The relative that it names, or "".
        named: Whether it is the name of another person.
        person: The speaker or the teller, if it means one of them by itself: "I"; None for other words.
    """

    norm: str
    kin: str
    named: bool
    person: str | None


@dataclass(frozen=True)
class _Clause:
    """A clause.

    Attributes:
        parts: Its words.
        language: The language of its text.
        teller: Who says it.
    """

    parts: Sequence[_Part]
    language: str
    teller: str

    @cached_property
    def persons(self) -> Mapping[int, Person]:
        """The person that each word for a relative names, by place."""
        return {at: self._person(at) for at, part in enumerate(self.parts) if part.kin}

    @property
    def text(self) -> str:
        return " ".join(part.norm for part in self.parts)

    @cached_property
    def stems(self) -> list[str]:
        """The stems of its words."""
        return [plain_stem(part.norm, self.language) for part in self.parts]

    @property
    def mentions_speaker(self) -> bool:
        """Return whether the speaker is in it, other than as an owner: "ma sœur m'a dit"."""
        others = [part for part in self.parts if part.norm not in _MINE]
        if any(part.person == _SPEAKER for part in others):
            return True
        told = self.teller == _SPEAKER
        return told and is_about_speaker(" ".join(part.norm for part in others))

    def is_verb(self, at: int) -> bool:
        """Return whether a word is a known verb."""
        known, norm = grammar(self.language), self.parts[at].norm
        if "auxiliary" in known.roles.get(norm, ()):
            return True
        after_determiner = at > 0 and self.parts[at - 1].norm in _DETERMINERS | _OF
        return not after_determiner and plain_stem(norm, self.language) in known.verbs

    def subject(self) -> tuple[Person, bool] | None:
        """The first person that it names, not after a preposition, and whether it is its subject; None without one."""
        known = grammar(self.language)
        for at, part in enumerate(self.parts):
            if part.person is not None:
                return (part.person,), True
            if part.norm in _HE_OR_SHE:
                return (_UNKNOWN,), True
            person = self.persons.get(at)
            owns_kin = at + 1 in self.persons or at + 2 in self.persons
            if person is None and part.norm in _MINE and not owns_kin:
                return (self.teller,), True
            if person is None or self._goes_on(at):
                continue
            before = next((b for b in range(at - 1, -1, -1) if not self._is_determiner(b)), None)
            if before is not None and "at" in known.roles.get(self.parts[before].norm, ()):
                continue
            opens = before is None or self.parts[before].norm in _OF
            verbs = [place for place in range(len(self.parts)) if self.is_verb(place)]
            return person, opens or bool(verbs and verbs[0] > at)
        return None

    def owner_of(self, stem: str) -> Person | None:
        """The owner that it names of a thing: "my dog", "my sister's dog", "le chien de Tom"."""
        place = self._owner(self.stems.index(stem)) if stem in self.stems else None
        if place is None:
            return None
        part = self.parts[place]
        known = part.kin or part.named or part.person is not None or part.norm in _MINE
        return self._person(place) if known else None

    def _owner(self, at: int) -> int | None:
        """The place of the word that tells whose something is: one of the two before it, or one after "of"."""
        for before in range(at - 1, max(at - 3, -1), -1):
            norm = self.parts[before].norm
            if norm in _MINE or (self.parts[before].kin and not self.parts[at].kin):
                return before
            if norm == _POSSESSIVE and before:
                return before - 1
        if all(part.norm not in _OF - {_POSSESSIVE} for part in self.parts[at + 1 : at + 2]):
            return None
        after = range(at + 2, len(self.parts))
        return next((place for place in after if not self._is_determiner(place)), None)

    def _person(self, at: int) -> Person:
        """The person that a word means: a relative by whose relative it is."""
        part = self.parts[at]
        if part.kin:
            owner = self._owner(at)
            return (*((_UNKNOWN,) if owner is None else self._person(owner)), part.kin)
        if part.norm in _MINE:
            return (self.teller,)
        return (part.norm if part.person is None else part.person,)

    def _is_determiner(self, at: int) -> bool:
        return self.parts[at].norm in _DETERMINERS or self.parts[at].norm in _OTHERS_OWN

    def _goes_on(self, at: int) -> bool:
        """Return whether a relative is named as the owner of another one: "my wife" in "my wife's sister"."""
        return any(_owns(self.persons[at], other) for other in self.persons.values())


def fit(topic: str, text: str, names: Collection[str], *, by_speaker: bool = True) -> Fit:
    """Return whether a text is about the owner of a topic, and says the same of them.

    Args:
        topic: "my dog", "my sister's allergy", "I smoke".
        text: What somebody said.
        names: The names of the speaker of the topic.
        by_speaker: Whether they said the text too.
    """
    teller = _SPEAKER if by_speaker else _ANOTHER
    asked, told = _clauses(topic, names), _clauses(text, names, teller)
    meant = [[stem for stem in each.stems if not stem.startswith("=")] for each in asked]
    wanted = set(chain.from_iterable(meant))
    met = [clause for clause in told if wanted.intersection(clause.stems)] or told
    states = _states(asked, parse(topic))
    if states and _denies(topic, wanted, met):
        return "other"
    relatives = _relatives(asked)
    subject = next((found[0] for clause in asked if (found := clause.subject())), None)
    if relatives:
        return _fit_relatives(relatives, told, owned=subject == (_SPEAKER,))
    if subject is None:
        return _fit_named(parse(topic), met) if states else "same"
    if subject != (_SPEAKER,):
        return "same"
    # The thing that a topic names: "dog" of "my dog".
    head = None if states else next(iter(meant[0]), None)
    return _fit_speaker(told, met, head, frozenset(part.norm for c in asked for part in c.parts))


def _fit_relatives(relatives: set[Person], told: Sequence[_Clause], *, owned: bool) -> Fit:
    """Compare relatives with those of a text; "owned" if the speaker is the subject of the topic: "I hate my sister"."""
    others = {person for clause in told for person in _relatives([clause])}
    if any(_are_alike(each, other) for each in relatives for other in others):
        return "same"
    if others:
        return "other"
    if owned:
        return "same"
    subjects = [found[0] for clause in told if (found := clause.subject())]
    of_teller = subjects and {(_SPEAKER,), (_ANOTHER,)}.issuperset(subjects)
    return "other" if of_teller else "unclear"


def _fit_speaker(
    told: Sequence[_Clause], met: Sequence[_Clause], head: str | None, wanted: Collection[str]
) -> Fit:
    """Compare a topic of the speaker with the clauses of a text, of whom some have its words."""
    fits: set[Fit] = set()
    before: Fit = "same"
    for clause in told:
        before = _fit_clause(clause, head, wanted, before)
        if clause in met:
            fits.add(before)
    if "same" in fits or not fits:
        return "same"
    return "unclear" if "unclear" in fits else "other"


def _fit_clause(clause: _Clause, head: str | None, wanted: Collection[str], before: Fit) -> Fit:
    owner = None if head is None else clause.owner_of(head)
    if owner is not None:
        return "same" if owner == (_SPEAKER,) else "other"
    found = clause.subject()
    opening = clause.parts[0]
    if opening.named and opening.norm not in wanted:
        found = (opening.norm,), True
    if found is None or (found[0] == (_UNKNOWN,) and before != "same"):
        # "…, who is pregnant", "she is pregnant" go on about the person before.
        return "unclear" if before == "other" and clause.mentions_speaker else before
    person, is_subject = found
    mentioned = clause.mentions_speaker
    if person == (_SPEAKER,) or (mentioned and person in ((_ANOTHER,), (_UNKNOWN,))):
        return "same"
    return "unclear" if mentioned or not is_subject or person == (_UNKNOWN,) else "other"


def _fit_named(topic: Statement, met: Sequence[_Clause]) -> Fit:
    """Compare a statement about somebody with those of the speaker: "Léa is pregnant" is not "I am pregnant"."""
    named = set(proper_names(topic))
    for clause in met:
        found = clause.subject()
        if found is None or found[0] != (_SPEAKER,) or any(p.norm in named for p in clause.parts):
            return "same"
    return "other" if named else "same"


def _denies(topic: str, wanted: set[str], met: Sequence[_Clause]) -> bool:
    """Return whether all clauses with the words of a statement deny it, or state what it denies."""
    denies = _is_denied(topic)
    shared = [len(wanted.intersection(clause.stems)) for clause in met]
    most = max(shared, default=0) or None
    closest = [clause.text for clause, each in zip(met, shared, strict=True) if each == most]
    return bool(closest) and all(_is_denied(each) != denies for each in closest)


def _is_denied(text: str) -> bool:
    """Return whether a clause denies something that it does not tell by that: "I no longer smoke" tells that I did."""
    statement = parse(text)
    if not statement.negations or "no_longer" in statement.signs:
        return False
    # "Je ne fume plus", with a verb between.
    negating = [norm for norm in statement.norms if norm in _NEGATING]
    return "no_longer" not in grammar(statement.language).signs(negating, negating)


def _states(asked: Sequence[_Clause], topic: Statement) -> bool:
    """Return whether a topic states something, unlike "my dog" and "where I live"."""
    if any("asks" in token.roles for token in topic.tokens[:1]):
        return False
    verbs = any(each.is_verb(at) for each in asked for at in range(1, len(each.parts)))
    return verbs or bool(topic.negations) or topic.subject == "speaker"


def _relatives(clauses: Sequence[_Clause]) -> set[Person]:
    """The relatives that a topic is about, without those who only own them."""
    found = {person for clause in clauses for person in clause.persons.values()}
    return {each for each in found if not any(_owns(each, other) for other in found)}


def _owns(one: Person, other: Person) -> bool:
    return len(other) > len(one) and other[: len(one)] == one


def _are_alike(one: Person, other: Person) -> bool:
    owners_agree = one[0] == other[0] or _UNKNOWN in (one[0], other[0])
    return owners_agree and one[1:] == other[1:]


def _clauses(text: str, names: Collection[str], teller: str = _SPEAKER) -> list[_Clause]:
    statement = parse(text)
    named = set(proper_names(statement))
    own = {fold(name) for name in names}
    found: list[_Clause] = []
    run: list[Word] = []
    for word in (*statement.words, None):
        if run and (word is None or word.pause or word.opens or word.norm in _SPLITS):
            parts = [*_parts(run, named, own, statement.language, teller)]
            found.append(_Clause(parts, statement.language, teller))
            run = []
        if word is not None and word.norm not in _SPLITS:
            run.append(word)
    return found


def _parts(
    words: Sequence[Word],
    named: Collection[str],
    own: Collection[str],
    language: str,
    teller: str,
) -> Iterator[_Part]:
    """Yield the words, and those for one relative as one."""
    tellers = words_of("speaker", language=language) | words_of("group", language=language)
    tellers = (tellers | _USER) - _MINE
    at = 0
    while at < len(words):
        length = _length(words, at, tellers)
        norms = [word.norm for word in words[at : at + length]]
        norm = "".join(norms)
        kin = relation(norm)
        if length > 1 and kin in ("", _IN_LAW):
            kin = _FORMER if relation(norms[0]) == _FORMER else norm
        kin = "" if kin == _IN_LAW else kin
        person = _SPEAKER if norm in own else teller if norm in tellers else None
        yield _Part(norm, kin, norm in named and person is None, person)
        at += length


def _length(words: Sequence[Word], at: int, tellers: Collection[str]) -> int:
    """The number of words that together name a relative, or 1: "belle-mère", "grand mère", "mother in law"."""
    end = at + 1
    while end < len(words) and words[end].glued:
        end += 1
    norms = [word.norm for word in words[at : at + 4]]
    if end - at > 1 and norms[0] not in tellers and any(map(relation, norms[: end - at])):
        return end - at
    if relation(norms[0]) == _IN_LAW and len(norms) > 1 and relation(norms[1]):
        return 2
    return next((n for n in (3, 2) if len(norms) >= n and relation("".join(norms[:n]))), 1)
