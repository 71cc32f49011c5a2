"""Detect questions, alone and inside a message, and the answer they ask for: a date, a number, a place."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Final

from hippocampe.language.discourse import without_markers
from hippocampe.language.lexicon import any_of, load_all, table_of
from hippocampe.language.person import is_first_person
from hippocampe.language.small_talk import is_small_talk
from hippocampe.language.statement import parse
from hippocampe.language.tense import is_past
from hippocampe.language.text import clauses, fold, sentences, words

MOST_ASKED: Final = 2
"""Questions of one message that are searched for, the last ones: each is a search of its own."""
AROUND: Final = 8
"""Sentences at the beginning and at the end of a long message, such as a pasted text, that may ask."""

FEWEST_ASKING: Final = 3
"""Words of a clause that asks by itself, or tells something beside a question: fewer may only open the sentence ("who,
me?") or answer it."""

Rewriting = tuple[re.Pattern[str], str]
"""An expression, and its replacement."""

_QUESTIONS: Final = load_all("questions")
FILLER: Final = rf"{any_of(_QUESTIONS['fillers'])}\b"
"""Matches a word that may stand before a question, in folded text."""
_OPENING: Final = re.compile(rf"^(?:{FILLER} )*[,\s]*{any_of(_QUESTIONS['openers'])}\b")
_LEAD: Final = re.compile(rf"^(?:{FILLER}\s*)+,\s*", re.IGNORECASE)
_UNASKED: Final = re.compile(rf"^(?:{FILLER} )*[,\s]*{any_of(_QUESTIONS['unasked'])}(?!\w)")
_INSIDE: Final = re.compile("|".join(_QUESTIONS["inside"]))
_TELLING: Final = re.compile("|".join(_QUESTIONS["telling"]))
_DEPENDENT: Final = re.compile(rf"{any_of(_QUESTIONS['dependent'])}\b")
_CLOSING: Final = re.compile(rf"\b{any_of(_QUESTIONS['closers'])}(?:\W+{FILLER})*\W*$")
_STOPPED: Final = re.compile(r"[^.]\.\s*$")
_CLAUSES: Final = re.compile(r"[,;:.!?…]\s*\w|\n")
_ADVICE: Final = re.compile(rf"\b{any_of(_QUESTIONS['advice'])}\b")
_TOLD: Final = re.compile(rf"\b{any_of(_QUESTIONS['told'])}\b")
_REFERRING: Final = re.compile(rf"\b{any_of(_QUESTIONS['referring'])}\b")
_ASKS: Final = {
    asked: re.compile(rf"\b{any_of(patterns)}\b") for asked, patterns in _QUESTIONS["asks"].items()
}
_WHEN: Final = re.compile(rf"\b{any_of(_QUESTIONS['asks']['when'])}\b", re.IGNORECASE)


def _rewritten(role: str, before: str = r"\b", after: str = "") -> tuple[Rewriting, ...]:
    """The expressions of a table, each with its replacement."""
    return tuple(
        (re.compile(f"{before}{each}{after}", re.IGNORECASE), replacement)
        for each, replacement in table_of(role, file="questions").items()
    )


_QUOTED: Final = re.compile(r'\s*["“«]\s*(?P<said>[^"“”«»]+?)\s*["”»]?(?P<mark>[.?!…]*)\s*')
"""A text that is quoted as a whole."""
_IDIOMS: Final = _rewritten("idioms", after=r"\b")
_COUNTING: Final = _rewritten("counting")
_GLUED: Final = _rewritten("glued")
_NOW: Final = rf"(?:\s*,?\s*{any_of(_QUESTIONS['now'])})?"
_HEALTH: Final = _rewritten("health", rf"^(?:{FILLER}\W+)*", rf"{_NOW}\W*$")
_FORMER, _FORMER_OF_PAST = (
    re.compile("|".join(_QUESTIONS[name]), re.IGNORECASE) for name in ("former", "former_of_past")
)
_IMPERFECT: Final = re.compile(rf"\b{any_of(_QUESTIONS['imperfect'])}")
_IN_FULL: Final = table_of("haste", file="questions")
_HASTE: Final = re.compile(rf"\b{any_of(map(re.escape, _IN_FULL))}\b", re.IGNORECASE)


def is_question(text: str) -> bool:
    """Return whether `text` has a question mark or opens with a question word or verb."""
    if "?" in text:
        return True
    folded = fold(text.strip())
    return _OPENING.match(folded) is not None and _UNASKED.match(folded) is None


def only_asks(text: str) -> bool:
    """Return whether a text is one question and states nothing: "where does she live?", "elle vit où ma mère".

    "Can you remember that I'm vegan?" states it.
    """
    clause = fold(text.strip())
    if len(sentences(clause)) != 1 or _CLAUSES.search(clause) or _TELLING.search(clause):
        return False
    return _is_asked(clause)


def _asks(clause: str) -> bool:
    """Return whether a clause asks by its mark, its first or its last words."""
    return is_question(clause) or _CLOSING.search(fold(clause)) is not None


def _is_asked(clause: str) -> bool:
    """Return whether a clause asks, also by a word inside: "elle arrive à quelle heure ta sœur"."""
    written = in_full(clause)
    return _asks(written) or _INSIDE.search(fold(written)) is not None


def asks_anything(sentence: str) -> bool:
    """Return whether a clause of a sentence asks: "hot drink for Priya, what do I make".

    Not by a word inside: what a search finds for such a sentence is given as freely as for a statement.
    """
    said = _asking_clauses(without_markers(sentence), sentence)
    return any(_asks(clause) and not is_small_talk(clause) for clause in said)


def _asking_clauses(text: str, sentence: str) -> list[str]:
    """The clauses of a sentence that may ask: the first alone if it ends with a full stop, "I met Nora, who sings."."""
    told = clauses(text)
    return told[:1] if _STOPPED.search(sentence) and "?" not in sentence else told


def stated_in(message: str, *, names: Collection[str] = ()) -> str:
    """The part of a message that neither asks nor is small talk; empty if nothing of it states anything.

    A few words beside a question only answer it: "will it rain? probably not".

    Args:
        message: The message.
        names: Names that do not count as content, such as that of the companion.
    """
    told = sentences(message)
    asking = [each for each in told if _has_question(each)]
    stating = [s for s in told if s not in asking and not is_small_talk(s, names=names)]
    if not asking:
        return message if stating else ""
    return " ".join(each for each in stating if len(words(each)) >= FEWEST_ASKING)


def _has_question(sentence: str) -> bool:
    first, *rest = told = _asking_clauses(sentence, sentence)
    if "?" not in sentence and rest and _DEPENDENT.match(fold(first.strip())):
        # "When it rains, we play inside".
        told = rest
    return any(_is_asked(fold(clause.strip())) and not is_small_talk(clause) for clause in told)


def asked_in(message: str) -> tuple[str, ...]:
    """The questions of a message, the last ones, without what is told around them.

    If nothing asks: the message, and its last sentence. Small talk around one sentence is left out too.
    """
    told = sentences(message)
    if len(told) < 2:
        return (_asking_clause(message),)
    if len(told) > 2 * AROUND:
        told = [*told[:AROUND], *told[-AROUND:]]
    said = [each for each in told if not is_small_talk(each)]
    if len(said) < 2:
        return tuple(said) or (message,)
    asking = [each for each in said if asks_anything(each)]
    asked = tuple(_asking_clause(_LEAD.sub("", each)) for each in asking[-MOST_ASKED:])
    return asked or (message, said[-1])


def _asking_clause(sentence: str) -> str:
    """A sentence without what its speaker says of themselves after the question: "who comes, I need to know soon"."""
    first, *rest = clauses(sentence)
    if not rest or not _asks(first) or len(words(first)) < FEWEST_ASKING:
        return sentence
    tells = all(is_first_person(each) and not _asks(each) for each in rest)
    return first.rstrip(" ,;:") if tells else sentence


def refers(question: str) -> bool:
    """Return whether a question may refer to somebody who was named before it: "what does she eat?", "elle vit où ?"."""
    return _REFERRING.search(fold(question)) is not None


def is_telling(message: str) -> bool:
    """Return whether nothing answers a message, though something may bear on it: it asks nothing, or for advice."""
    return not asks_anything(message) or asks_advice(message)


def asks_advice(question: str) -> bool:
    """Return whether a question asks for advice: "what would you suggest?", "tu me conseilles quoi ?"."""
    return _ADVICE.search(fold(question)) is not None


def is_about_told(question: str) -> bool:
    """Return whether a question is about what is told beside it: it asks for advice, or says "this" and "these"."""
    return asks_advice(question) or _TOLD.search(fold(question)) is not None


def opens(word: str) -> bool:
    """Return whether a folded word may open a question: "qui", "when", "did"."""
    return _OPENING.match(word) is not None


def asks(question: str) -> frozenset[str]:
    """Return the kinds of answer that a question asks for.

    Returns:
        Any of `when`, `number`, `name`, `where`, `who`; plus `first_person` for a question in the first person.
    """
    folded = fold(question)
    found = {name for name, pattern in _ASKS.items() if pattern.search(folded)}
    return frozenset(found | {"first_person"} if is_first_person(question) else found)


def without_when(question: str) -> str:
    """A question without the words that ask for a time: "when" passes for a condition."""
    return _WHEN.sub(" ", question)


def without_former(question: str) -> str | None:
    """Return a question how something was before without the words that say so: "what was my old number?", "where did we live
    before Nice?"; None for any other question."""
    kept = _FORMER.sub(_kept, question)
    if is_past(parse(question)) or _IMPERFECT.search(fold(question)):
        kept = _FORMER_OF_PAST.sub(_kept, kept)
    return None if kept == question else " ".join(kept.split())


def _kept(found: re.Match[str]) -> str:
    """The part of a match to keep: the groups of its pattern."""
    return "".join(filter(None, found.groups()))


def listing(question: str) -> str | None:
    """Return the question for which things, if a question asks how many of the speaker's: "which books did I read?"."""
    for counting, which in _COUNTING:
        # "Do we know how many chairs the church has?" is about the church.
        if (found := counting.search(question)) and is_first_person(question[found.start() :]):
            return counting.sub(which, question, count=1)
    return None


def of_health(question: str) -> str | None:
    """Return the question for the health of somebody, if a question asks how they are: "what health problems does Dad have?"."""
    for doing, health in _HEALTH:
        if (found := doing.match(question.strip())) and not is_small_talk(question):
            return found.expand(health)
    return None


def in_full(question: str) -> str:
    """Write out the words of a question typed in haste: "whats the code" becomes "what is the code", "jpars" "je pars"."""
    written = _HASTE.sub(lambda found: _IN_FULL[found[0].lower()], question)
    if _asks(written) or _INSIDE.search(fold(written)):
        for beginning, full in _GLUED:
            written = beginning.sub(full, written)
    return written


def said_once(message: str) -> str:
    """A message without sentences that it repeats, and a question without quotation marks around all of it.

    A quoted statement stays: it is the object of a task.
    """
    told = sentences(message)
    once = list(dict.fromkeys(told))
    message = message if len(once) == len(told) else "\n".join(once)
    quoted = _QUOTED.fullmatch(message)
    return quoted["said"] + quoted["mark"] if quoted and asks_anything(quoted["said"]) else message


def rewrite_idioms(question: str) -> str:
    """Replace idioms by their plain meaning: "for a living" becomes "as a job"."""
    for idiom, meaning in _IDIOMS:
        question = idiom.sub(meaning, question)
    return question
