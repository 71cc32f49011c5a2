"""Parse one statement: its words, negation, subject, verb, values and signs of change.

A statement is parsed once into words that keep how they were written (capital, preceding comma,
hyphen), because folding removes the difference between "Marie" and "marié" or "où" and "ou". Elisions
and contractions are expanded ("n'a" → `ne a`, "don't" → `do not`), so that spelling variants of one
claim have the same words. What only some readers need (tokens, signs) is derived when it is read.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Final

from hippocampe.language.asides import without_aside
from hippocampe.language.detect import language_of
from hippocampe.language.discourse import without_markers, without_stamp
from hippocampe.language.grammar import grammar
from hippocampe.language.lexicon import any_of, load_all, words_of
from hippocampe.language.names import NO_ALIASES, CanonicalNames, Renaming, renamed
from hippocampe.language.negation import has_ceased, without_negation
from hippocampe.language.small_talk import is_small_talk
from hippocampe.language.text import (
    STOP_WORDS,
    fold,
    sentences,
    without_capitals,
    without_stop,
    words,
)
from hippocampe.language.text_cache import text_cache
from hippocampe.language.tokenizer import Word, tokenize
from hippocampe.language.tokens import (
    Token,
    content_of,
    first_verb,
    link_of,
    moods_of,
    subject_kind,
    tokens_of,
)
from hippocampe.language.word_classes import word_classes

CHANGE: Final = frozenset({"no_longer", "ended", "became", "correction", "now"})
"""Signs of a statement after which an older one may no longer hold."""
_OF_MARKERS: Final = frozenset({"correction"})
_FORMAL_QUESTIONS: Final = tuple(load_all("questions")["formal"])


# Compared by identity: parsing is cached by text, and relations are cached by statement.
@dataclass(frozen=True, eq=False)
class Statement:
    """A parsed statement.

    Attributes:
        text: The text without the discourse markers around it, and without its full stop.
        written: The text as written.
        words: All its words.
        norms: The folded form of each word.
        core: Words without neutral adverbs ("now") and negation.
        negations: Number of negations.
        unclear: Whether it has a negation no rule can handle ("not only", "ne … que").
        subjects: Its subject tags, folded.
        aside: The words of the aside about its subject: "le frère de Mickael".
        plain: The statement without it, if it has one.
        stamp: The date in front of it, as written: "2026-03-02: …".
        tags: Its subject tags.
        names: The renamings of its names.
    """

    text: str
    written: str
    words: tuple[Word, ...]
    norms: tuple[str, ...]
    core: tuple[Word, ...]
    negations: int
    unclear: bool
    subjects: frozenset[str]
    aside: frozenset[str]
    plain: Statement | None
    stamp: str
    tags: tuple[str, ...]
    names: tuple[Renaming, ...]

    @property
    def language(self) -> str:
        """The guessed language, English by default."""
        return language_of(self.text)

    @cached_property
    def lowercase(self) -> bool:
        """Return whether it has no capital at all, so that names cannot be recognised."""
        return not any(word.capital for word in self.words)

    @cached_property
    def has_verb(self) -> bool:
        """Return whether it has a known verb."""
        return bool(self.verbs) or any("auxiliary" in each.roles for each in self.tokens)

    @cached_property
    def counts(self) -> Mapping[str, int]:
        """Occurrences by folded word."""
        return Counter(self.norms)

    @cached_property
    def content_words(self) -> frozenset[str]:
        """The folded words that are no function words."""
        return frozenset(self.norms) - word_classes().function_words

    @cached_property
    def question(self) -> bool:
        """Return whether it is a question."""
        return "?" in self.text or fold(self.text).lstrip().startswith(_FORMAL_QUESTIONS)

    @cached_property
    def ironic(self) -> bool:
        """Return whether it means the contrary of what it says: "oh sure", "🙄"."""
        return bool(_IRONIC.search(self.written)) or word_classes().occurs(
            "irony", [word.norm for word in tokenize(self.written)]
        )

    @cached_property
    def hedged(self) -> bool:
        """Return whether it tells a wish, a plan, a guess or a condition."""
        return is_hedged(self.words)

    @cached_property
    def later(self) -> tuple[Statement, ...]:
        """The statement from each later clause on, if the words before it state nothing: "mdr j'habite à Nice".

        Empty if it may be a quotation.
        """
        if not _QUOTES.isdisjoint(self.text):
            return ()
        last = min(len(self.words) - 1, _MAX_BEFORE)
        starts = [at for at in range(1, last + 1) if _begins_clause(self.words[at])]
        return tuple(self._of(self.words[at:]) for at in starts if _states_nothing(self.words[:at]))

    @cached_property
    def parts(self) -> tuple[Statement, ...]:
        """The statement of each fact that it tells: "I got a dog. We moved to Nice." has two; itself without several."""
        found = parts_of(self.text)
        return (
            tuple(_parse(each, self.tags, self.names) for each in found) if found[1:] else (self,)
        )

    @cached_property
    def facts(self) -> tuple[Statement, ...]:
        """The statement of each fact, also of two in one sentence: "we moved to Nice and I got a dog"; itself without several."""
        found = [fact for part in self.parts for fact in _joined(part.text)]
        if not 1 < len(found) <= _MOST_PARTS or len(found) == len(self.parts):
            return self.parts
        return tuple(_parse(each, self.tags, self.names) for each in found)

    @cached_property
    def halves(self) -> tuple[Statement, ...]:
        """Both clauses of "Tom left Acme, he is at Initech", each with its subject; none if one is a wish or a guess."""
        starts = [at for at in range(2, len(self.words)) if self.words[at].pause]
        at = starts[0] if len(starts) == 1 else 0
        if not at or self.hedged or self.question or not _QUOTES.isdisjoint(self.text):
            return ()
        pronoun = self.words[at].norm
        if pronoun in _SPEAKER:
            return self._of(self.words[:at]), self._of(self.words[at:])
        subject = self.words[: self.verb]
        named = [word.norm for word in subject] == [each.norm for each in self.tokens[: self.verb]]
        if pronoun not in _UNNAMED or not named or self.verb >= at:
            return ()
        return self._of(self.words[:at]), self._of((*subject, *self.words[at + 1 :]))

    @cached_property
    def labelled(self) -> Statement | None:
        """The statement with "=" for its colon, if that alone parts it: "Birthday: 3 May"."""
        opens = [at for at, word in enumerate(self.words) if word.opens and at]
        # Behind a digit, a colon opens nothing: "rent of B2: 640 pounds".
        opens = opens or [at for at, word in enumerate(self.words) if word.pause]
        if len(opens) != 1 or not _LABEL.match(self.text):
            return None
        first = self.words[opens[0]]._replace(pause=False, opens=False)
        return self._of((*self.words[: opens[0]], _EQUALS, first, *self.words[opens[0] + 1 :]))

    def _of(self, words: tuple[Word, ...]) -> Statement:
        """Return the statement with other words."""
        norms = tuple([word.norm for word in words])
        core, negations, unclear = without_negation(_without_neutral(words, norms), self.text)
        return replace(
            self, words=words, norms=norms, core=tuple(core), negations=negations, unclear=unclear
        )

    @cached_property
    def tokens(self) -> tuple[Token, ...]:
        """Its words and values, as written: aliases are not replaced."""
        return tokens_of(self.text, grammar(self.language))

    @cached_property
    def stems(self) -> frozenset[str]:
        """The stems of its tokens."""
        return frozenset(token.stem for token in self.tokens)

    @cached_property
    def content(self) -> tuple[int, ...]:
        """Positions of the tokens that carry meaning."""
        return content_of(self.tokens)

    @cached_property
    def content_stems(self) -> frozenset[str]:
        """The stems of the tokens that carry meaning."""
        return frozenset(self.tokens[at].stem for at in self.content)

    @cached_property
    def verb(self) -> int:
        """Position of the first verb; the subject is before it."""
        return first_verb(self.tokens, grammar(self.language))

    @cached_property
    def subject(self) -> str:
        """Kind of subject, from `tokens.subject_kind`."""
        return subject_kind(self.tokens)

    @cached_property
    def signs(self) -> frozenset[str]:
        """The signs of change, and "negation" and "future"; of a discourse marker, "correction" alone."""
        known, tokens = grammar(self.language), self.tokens
        found = known.signs([token.norm for token in tokens], [token.stem for token in tokens])
        if self.written != self.text:
            around = tokens_of(self.written, known)
            found |= _OF_MARKERS & known.signs([x.norm for x in around], [x.stem for x in around])
        if self.negations and not self.unclear and has_ceased(self.words):
            found |= {"no_longer"}
        return found | moods_of(tokens, known)

    @cached_property
    def links(self) -> tuple[str, ...]:
        """For each token the role of its preposition or light verb: "of", "at", "be", "have" or ""."""
        return tuple(link_of(self.tokens, at) for at in range(len(self.tokens)))

    @cached_property
    def verbs(self) -> frozenset[str]:
        """The stems of its verbs, without auxiliaries."""
        known = grammar(self.language).verbs
        return frozenset(token.stem for token in self.tokens if token.stem in known)

    @property
    def values(self) -> list[str]:
        """The names, numbers, dates and other values, in order, by stem: they need no translation."""
        return [token.stem for token in self.tokens if token.kind != "word" or token.name]


def parse(
    text: str, *, subjects: Sequence[str] = (), names: CanonicalNames = NO_ALIASES
) -> Statement:
    """Parse a statement; results are cached.

    Args:
        text: One statement. In capitals alone, it is read in small letters.
        subjects: Its subject tags.
        names: Replaces aliases by their canonical name, in the text and in the tags.
    """
    text = without_capitals(text)
    return _parse(text, tuple(subjects), names.within((text, *subjects)))


# An old statement is parsed again for each new statement it is compared with. A cache four times as
# large made parsing 12 % slower, because the garbage collector traverses all cached words.
@text_cache(1024)
def _parse(written: str, subjects: tuple[str, ...], names: tuple[Renaming, ...]) -> Statement:
    undated, stamp = without_stamp(written)
    text, canonical = without_stop(stated(undated)), dict(names)
    words = renamed(tokenize(text), canonical)
    norms = tuple([word.norm for word in words])
    core, negations, unclear = without_negation(_without_neutral(words, norms), text)
    tags = (renamed(tokenize(subject), canonical) for subject in subjects)
    plain = without_aside(text)
    return Statement(
        text=text,
        written=written,
        words=tuple(words),
        norms=norms,
        core=tuple(core),
        negations=negations,
        unclear=unclear,
        subjects=frozenset(" ".join(w.norm for w in tag) for tag in tags) - {""},
        aside=plain.aside if plain else frozenset(),
        plain=_parse(plain.text, subjects, names) if plain else None,
        stamp=stamp,
        tags=subjects,
        names=names,
    )


def stated(written: str, *, questions: bool = False) -> str:
    """Return a text without discourse markers, and without the sentences that ask or are small talk beside one that states something.

    Args:
        written: The text.
        questions: Whether to keep the questions too, but for a last one to the listener: "How do I get in? The key is under
            the mat. How are you?" Those that the next sentence only answers stay always: "Where is it? In the car."
    """
    told = sentences(written)
    if len(told) < 2:
        return without_markers(written)
    kept: list[str] = []
    for sentence in reversed(told):
        said = without_markers(sentence)
        asks = "?" in sentence
        if is_small_talk(said) and not STOP_WORDS.issuperset(words(said)):
            continue
        if asks and kept and _only_answers(kept[-1]):
            said = _as_label(said)
        elif asks and not (questions and (kept or _LISTENER.isdisjoint(words(said)))):
            continue
        kept.append(said)
    return " ".join(reversed(kept)) or without_markers(written)


def parts_of(text: str) -> list[str]:
    """Return the sentences of a text, each with those that refer to it or answer it: one for each fact.

    The text itself, if it has many.
    """
    found: list[str] = []
    for each in sentences(text):
        if found and ("?" in found[-1] or not _stands_alone(_parse(each, (), ()))):
            found[-1] = f"{found[-1]} {each}"
        else:
            found.append(each)
    return found if len(found) <= _MOST_PARTS else [text]


def _joined(text: str) -> list[str]:
    """Return the statements that "and" joins in a sentence: those behind it have a subject and a verb of their own."""
    # Aliases must not matter: the facts of a statement are compared with them and without.
    part = _parse(text, (), ())
    if len(text) > _LONGEST or part.question or not _QUOTES.isdisjoint(text):
        return [text]
    found: list[str] = []
    start = 0
    for joint in _UNION.finditer(text):
        before, after = text[start : joint.start()], text[joint.end() :]
        if _may_stand_alone(before) and _is_whole(after):
            found.append(before)
            start = joint.end()
    return [*found, text[start:]]


def _may_stand_alone(clause: str) -> bool:
    statement = _parse(clause, (), ())
    # "I hope that it stays dry and Ben comes": what is hoped may go on.
    hopes = statement.hedged or len(statement.words) < _SHORTEST
    return not hopes and _stands_alone(statement)


def _is_whole(clause: str) -> bool:
    statement = _parse(clause, (), ())
    has_subject = statement.subject in _ALONE and 0 < statement.verb < len(statement.tokens)
    return has_subject and statement.has_verb and not _refers(statement)


def _as_label(question: str) -> str:
    """A question without auxiliary or question word as a label: "Favourite colour?" gives "Favourite colour:"."""
    asked = _parse(question, (), ()).tokens
    if any({"auxiliary", "asks"} & each.roles for each in asked):
        return question
    return f"{question.rstrip('? ')}:"


def _only_answers(statement: str) -> bool:
    """Return whether a statement says nothing without the question before it: "Blue.", "It's on the fridge"."""
    answer = _parse(statement, (), ())
    return not (answer.has_verb and _stands_alone(answer))


_MOST_PARTS: Final = 6
"""A text of more parts is compared as a whole: each part costs the time of a statement."""
_LONGEST: Final = 300
"""Characters of a sentence whose clauses are parsed by themselves; each costs the time of a statement."""
_SHORTEST: Final = 4
"""Words of what "and" joins to a statement: "Ann" in "Ann and Ben paint" is none."""
_ALONE: Final = frozenset({"own", "name", "definite", "indefinite", "speaker"})
"""Kinds of subjects that need no sentence before them."""
_LONG: Final = 6
"""Words of a sentence that hardly belongs to the one before it: "on Friday" does, "off to Rome in May with Ana" does not."""
_REFERRING: Final = words_of("grammar.third_person").union(words_of("grammar.others_own"))
_LISTENER: Final = words_of("grammar.second_person")
_PRESENTING: Final = words_of("grammar.presenting")


def _stands_alone(sentence: Statement) -> bool:
    """Return whether a sentence names whom or what it is about; if it may have no subject, it must refer to nothing before it."""
    if sentence.subject == "other":
        return (sentence.has_verb or len(sentence.words) >= _LONG) and not _refers(sentence)
    if sentence.subject == "name" and not _is_before_verb(sentence.tokens[0], sentence):
        return not _refers(sentence)
    return sentence.subject in _ALONE


def _is_before_verb(name: Token, sentence: Statement) -> bool:
    """Return whether the first word is a name, and not the verb with its capital: "Gave it back"."""
    return sentence.has_verb and name.stem not in sentence.verbs


def _refers(sentence: Statement) -> bool:
    """Return whether a pronoun refers to what another sentence names: "gave it back", but not "since May it is Ana who signs"."""
    following = [*sentence.tokens[1:], None]
    return any(
        token.norm in _REFERRING
        and "definite" not in token.roles
        and not (at and token.norm in _PRESENTING and after and "be" in after.roles)
        for at, (token, after) in enumerate(zip(sentence.tokens, following, strict=True))
    )


def _without_neutral(words: Sequence[Word], norms: Sequence[str]) -> list[Word]:
    classes = word_classes()
    if not classes.may_occur("neutral", norms):
        return list(words)
    remaining: list[Word] = []
    at = 0
    while at < len(words):
        length = 0 if classes.match("kept", norms, at) else classes.match("neutral", norms, at)
        if not length:
            remaining.append(words[at])
        at += max(length, 1)
    return remaining or list(words)


_MAX_BEFORE: Final = 4
_UNION: Final = re.compile(rf",?\s+{any_of(sorted(words_of('union')))}\s+", re.IGNORECASE)
_LABEL: Final = re.compile(r"[^:.!?]+:\s")
_EQUALS: Final = Word("=", ":")
_IRONIC: Final = re.compile(r"[🙄🙃]|(?<!\S)/s\s*$")
_QUOTES: Final = frozenset(':"«»“”')
_SPEAKER: Final = words_of("grammar.first_person")
_UNNAMED: Final = words_of("unnamed")
_STATING: Final = frozenset[str]().union(
    *(
        words_of(f"grammar.{role}")
        for role in ("first_person", "second_person", "third_person", "own", "others_own")
    ),
    *(words_of(f"grammar.{role}") for role in ("definite", "indefinite", "at", "asks")),
    words_of("negation.unclear"),
)
"""Words of a subject, a place, a question or a denial."""
_LIMITING: Final = ("also", "recurring", "time")


def _begins_clause(word: Word) -> bool:
    return word.pause or word.opens or word.norm in _SPEAKER


def _states_nothing(words: Sequence[Word]) -> bool:
    """Return whether words before a clause have no subject, name or number, and do not limit what follows."""
    norms = [word.norm for word in words]
    if not _STATING.isdisjoint(norms) or any(word.capital for word in words[1:]):
        return False
    limits = any(word_classes().occurs(name, norms) for name in _LIMITING)
    return not limits and not is_hedged(words) and all(norm.isalpha() for norm in norms)


def is_hedged(words: Sequence[Word]) -> bool:
    """Return whether the words express a wish, a guess, a condition or another person's claim."""
    norms, classes = [word.norm for word in words], word_classes()
    hedged = classes.may_occur("hedges", norms) and any(
        classes.match("hedges", norms, at) and not classes.match("no_hedges", norms, at)
        for at in range(len(norms))
    )
    return hedged or any(
        word.norm in _MONTH_VERBS and not _is_month(words, at) for at, word in enumerate(words)
    )


def _is_month(words: Sequence[Word], at: int) -> bool:
    around = [word.norm for word in words[max(0, at - 1) : at + 2]]
    dated = any(norm[:1].isdigit() or norm in _BEFORE_MONTH for norm in around)
    return words[at].capital or dated


_MONTH_VERBS: Final = words_of("stated.not_dates", file="time")
"""Month names that are verbs more often ("may", "march")."""
_BEFORE_MONTH: Final = words_of("stated.before_month", file="time")


def is_name(word: Word) -> bool:
    """Return whether a word looks like a proper name: a capital, and no function or time word."""
    if not (word.capital or " " in word.norm) or word.norm[:1].isdigit():
        return False
    return word.norm not in word_classes().never_names
