"""Open questions: about past talk or about a person in general, without a topic to search for. Pure.

"On a parlé de quoi ?" resembles no stored text, so a similarity search answers it badly; recent and
important memories answer it. The phrases are data: `language/*/questions.toml`.
"""

import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Final, Literal

from hippocampe.language.lexicon import languages, load, load_all, table_of
from hippocampe.language.text import STOP_WORDS, fold, words

About = Literal["talk", "person"]
"""The subject of a question: past talk, or the facts known on the person who asks."""

MAX_WORDS: Final = 40
"""Longer texts are not open questions."""
_NAME_WORDS: Final = 3

_MACRO = re.compile(r"<([A-Z]+)(\*?)>")
_WORD = re.compile(r"[a-z][a-z\[\]?]*")


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question about past talk or about the person who asks.

    Attributes:
        about: Talk or person.
        topic: The folded words of its topic; empty if the question is open.
    """

    about: About
    topic: frozenset[str]

    @property
    def is_open(self) -> bool:
        """Return whether the question names no topic to search for."""
        return not self.topic


@dataclass(frozen=True, slots=True)
class _Phrases:
    """The phrases of all languages, compiled."""

    of: Mapping[About, tuple[re.Pattern[str], ...]]
    any: re.Pattern[str]
    introduction: re.Pattern[str]
    subject: tuple[re.Pattern[str], ...]
    around: frozenset[str]
    spellings: Mapping[str, str]
    rewritten: tuple[tuple[re.Pattern[str], str], ...]


def parse(
    text: str, *, named_time: str = "", companions: Collection[str] = ()
) -> OpenQuestion | None:
    """Parse a text; None if it asks neither about past talk nor about a person.

    Args:
        text: The message.
        named_time: The part of the message that names a time, which is not a topic.
        companions: Names of the companion, which are not topics either.
    """
    tokens = _words(text.replace(named_time, " ", 1) if named_time else text, companions)
    phrases = _phrases()
    line = _line(tokens)
    if len(tokens) > MAX_WORDS or not phrases.any.search(line):
        return None
    spoken: dict[About, set[str]] = {
        about: {
            word for each in patterns for match in each.finditer(line) for word in match[0].split()
        }
        for about, patterns in phrases.of.items()
    }
    about: About = "person" if len(spoken["person"]) > len(spoken["talk"]) else "talk"
    topic = frozenset(tokens) - spoken["talk"] - spoken["person"] - phrases.around - STOP_WORDS
    return OpenQuestion(about, topic)


def subject_of(text: str) -> str | None:
    """The folded name in a request for everything about somebody or something: "tell me all about Jeanne"."""
    if len(text) > MAX_WORDS * 40:
        return None
    found = (pattern.search(fold(text.strip())) for pattern in _phrases().subject)
    return next((match["subject"].strip() for match in found if match), None)


def speaks_of_memory(text: str) -> bool:
    """Return whether `parse` finds a question. Cheaper than `parse`, which needs the time named in the text."""
    tokens = _words(text)
    return len(tokens) <= MAX_WORDS and _phrases().any.search(_line(tokens)) is not None


def introduced(text: str, *, companions: Collection[str] = ()) -> str | None:
    """The folded name by which speakers introduce themselves: "je suis Mickael", "I'm Ana"."""
    tokens = _words(text, companions)
    if len(tokens) > MAX_WORDS:
        return None
    found = _phrases().introduction.match(_line(tokens))
    return found["name"].strip() if found else None


def _words(text: str, ignored: Collection[str] = ()) -> list[str]:
    # Enough for MAX_WORDS words of any length: longer texts are rejected anyway.
    tokens = fold(text[: MAX_WORDS * 40])
    for pattern, written in _phrases().rewritten:
        tokens = pattern.sub(written, tokens)
    found = words(tokens)
    spellings = _phrases().spellings
    names = {fold(name) for name in ignored}
    return [
        word for each in found if each not in names for word in spellings.get(each, each).split()
    ]


def _line(tokens: Sequence[str]) -> str:
    """Words in the form that the phrases match: each with a leading space."""
    return "".join(f" {word}" for word in tokens)


@cache
def _phrases() -> _Phrases:
    each_of = [load(language, "questions")["memory"] for language in languages()]
    patterns: dict[About, tuple[re.Pattern[str], ...]] = {
        about: tuple(
            re.compile(_expression(phrase, each["macros"]))
            for each in each_of
            for phrase in each[about]
        )
        for about in ("talk", "person")
    }
    everything = "|".join(f"(?:{each.pattern})" for found in patterns.values() for each in found)
    data = load_all("questions")["memory"]
    openings = [_expression(each, {}) for each in data["introduction"]]
    greetings = "|".join(sorted(set(data["greetings"].split())))
    return _Phrases(
        of=patterns,
        any=re.compile(everything),
        introduction=re.compile(
            rf"(?: (?:{greetings})\b)*(?:{'|'.join(openings)})(?P<name>(?: \w+){{1,{_NAME_WORDS}}})$"
        ),
        subject=tuple(re.compile(pattern) for pattern in data["subject"]),
        around=frozenset(data["around"].split()),
        spellings=table_of("memory.spellings", file="questions"),
        rewritten=tuple(
            (re.compile(pattern), written)
            for pattern, written in table_of("memory.rewritten", file="questions").items()
        ),
    )


def _expression(phrase: str, macros: Mapping[str, str]) -> str:
    """The regular expression of a phrase: each word with a leading space, macros expanded."""
    return "".join(_pieces(phrase, macros))


def _pieces(phrase: str, macros: Mapping[str, str]) -> Iterator[str]:
    done = 0
    for macro in _MACRO.finditer(phrase):
        yield _spaced(phrase[done : macro.start()])
        listed = macros[macro[1]]
        if "|" in listed:
            yield f"(?:{_expression(listed, macros)}){macro[2]}"
        else:
            # One group for all words: it compiles twice as fast.
            yield rf"(?: (?:{'|'.join(listed.split())})\b){macro[2]}"
        done = macro.end()
    yield _spaced(phrase[done:])


def _spaced(part: str) -> str:
    return _WORD.sub(lambda word: rf"(?: {word[0]}\b)", part.replace(" ", "\n")).replace("\n", "")
