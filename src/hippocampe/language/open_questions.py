"""Open questions: about past talk or about a person in general, without a topic to search for. Pure.

"On a parlé de quoi ?" resembles no stored text, so a similarity search answers it badly; recent and
important memories answer it. The phrases are data: `language/*/questions.toml`.
"""

import re
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Final, Literal, NamedTuple

from hippocampe.language.lexicon import any_of, languages, load, load_all, table_of
from hippocampe.language.person import is_to_somebody
from hippocampe.language.questions import asked_in, in_full, is_question, refers
from hippocampe.language.text import STOP_WORDS, fold, without_capitals, words, written_words

About = Literal["talk", "person", "events"]
"""The subject of a question: past talk, the facts known on the person who asks, or all that somebody does at some time."""

MAX_WORDS: Final = 40
"""Longer texts are not open questions."""
_NAME_WORDS: Final = 3

_MACRO = re.compile(r"<([A-Z]+)(\*?)>")
_WORD = re.compile(r"[a-z][a-z\[\]?]*")
_CHUNK = re.compile(r"\w(?:\S*\w)?")


@dataclass(frozen=True, slots=True)
class OpenQuestion:
    """A question about past talk, about the person who asks, or about the events of a time.

    Attributes:
        about: Talk, person or events.
        topic: The folded words of its topic; empty if the question is open.
        room: The room whose talk it asks for, if it names one.
        planned: Whether it asks for plans: a time that it names is theirs.
        of: The folded name of whose events it asks for; empty for those of the asker or of all.
    """

    about: About
    topic: frozenset[str]
    room: str | None = None
    planned: bool = False
    of: str = ""

    @property
    def is_open(self) -> bool:
        """Return whether the question names no topic to search for."""
        return not self.topic


@dataclass(frozen=True, slots=True)
class _Phrases:
    """The phrases of all languages, compiled."""

    of: Mapping[About, tuple[re.Pattern[str], ...]]
    recalling: tuple[re.Pattern[str], re.Pattern[str]]
    introduction: re.Pattern[str]
    subject: tuple[re.Pattern[str], ...]
    events: tuple[tuple[bool, re.Pattern[str]], ...]
    around: frozenset[str]
    prepositions: frozenset[str]
    planned: frozenset[str]
    spellings: Mapping[str, str]
    rewritten: tuple[tuple[re.Pattern[str], str], ...]

    def may_ask(self, line: str) -> bool:
        """Return whether any phrase is in a line; one by one, which takes a third of the time of one expression for all."""
        return any(each.search(line) for each in chain.from_iterable(self.of.values()))


def parse(
    text: str,
    *,
    named_time: str = "",
    companions: Collection[str] = (),
    rooms: Collection[str] = (),
) -> OpenQuestion | None:
    """Parse a message; None if no part of it asks about past talk or about a person.

    Args:
        text: The message.
        named_time: The part of the message that names a time, which is not a topic.
        companions: Names of the companion, which are not topics either.
        rooms: Names of the rooms that are observed, likewise.
    """
    parts = (_parse(part, named_time, companions, rooms) for part in reversed(asked_in(text)))
    return next((found for found in parts if found is not None), None)


def _parse(
    text: str, named_time: str, companions: Collection[str], rooms: Collection[str]
) -> OpenQuestion | None:
    timed = bool(named_time) and named_time in text
    # The preposition of a time may be a verb without its subject: "qu'est-ce qu'on a demain ?".
    for time in (named_time, named_time.partition(" ")[2]):
        if timed and time and (asked := _events(text.replace(time, " ", 1))):
            return asked
    said = words(text)
    room = next((room for room in rooms if _contains(said, words(room))), None)
    ignored = [*companions, *(words(room) if room else ())]
    tokens = _words(text.replace(named_time, " ", 1) if named_time else text, ignored)
    phrases = _phrases()
    line = _line(tokens)
    if len(tokens) > MAX_WORDS or not phrases.may_ask(line):
        return None
    spoken: dict[About, set[str]] = {
        about: {
            word for each in patterns for match in each.finditer(line) for word in match[0].split()
        }
        for about, patterns in phrases.of.items()
    }
    about: About = "person" if len(spoken["person"]) > len(spoken["talk"]) else "talk"
    topic = frozenset(tokens) - spoken["talk"] - spoken["person"] - phrases.around - STOP_WORDS
    planned = not phrases.planned.isdisjoint(spoken["talk"])
    return OpenQuestion(about, topic, room if about == "talk" else None, planned)


def _events(text: str) -> OpenQuestion | None:
    """A question for all that somebody did or will do, from its text without the time: "what did Nora do?"."""
    folded = fold(in_full(text.strip()))
    if len(text) > MAX_WORDS * 40 or refers(folded):
        return None
    around = _phrases().around | STOP_WORDS
    for planned, pattern in _phrases().events:
        if (found := pattern.search(folded)) is None:
            continue
        who = found.groupdict().get("who") or ""
        rest = {*words(folded[: found.start()]), *words(folded[found.end() :])}
        if rest <= around and not is_to_somebody(who):
            of = " ".join(word for word in words(who) if word not in around)
            return OpenQuestion("events", frozenset(), planned=planned, of=of)
    return None


def _contains(spoken: Sequence[str], name: Sequence[str]) -> bool:
    """Return whether the words of a name follow each other in a text."""
    size = len(name)
    return size > 0 and any(spoken[at : at + size] == name for at in range(len(spoken) - size + 1))


def subject_of(text: str) -> str | None:
    """The folded name in a request for everything about somebody or something: "tell me all about Jeanne"."""
    parts = [fold(part.strip()) for part in asked_in(text) if len(part) <= MAX_WORDS * 40]
    found = (pattern.search(part) for part in parts for pattern in _phrases().subject)
    return next((match["subject"].strip() for match in found if match), None)


def speaks_of_memory(text: str) -> bool:
    """Return whether `parse` may find a question. Cheaper than `parse`, which needs the time named in the text."""
    return any(map(_may_ask, asked_in(text)))


def _may_ask(question: str) -> bool:
    phrases, tokens = _phrases(), _words(question)
    if len(tokens) <= MAX_WORDS and phrases.may_ask(_line(tokens)):
        return True
    folded = fold(in_full(question[: MAX_WORDS * 40]))
    return any(each.search(folded) for _, each in phrases.events)


def recalled(text: str) -> str | None:
    """The topic of past talk that a message asks for, as written: "what did we say about the roof?" → "the roof ?".

    "Tu te souviens de …" and "remind me of …" ask so too. None for other messages, and without a topic.
    """
    spoken = list(_spoken(text[: MAX_WORDS * 40]))
    line = _line([each.norm for each in spoken])
    phrases = _phrases()
    found = [each for wanted in phrases.recalling for each in wanted.finditer(line)]
    asked = is_question(text) or phrases.recalling[0].match(line)
    if not found or not asked or len(spoken) > MAX_WORDS:
        return None
    said = {
        at
        for match in found
        for at in range(line.count(" ", 0, match.start()), line.count(" ", 0, match.end()))
    }
    first, last = _topic([each.norm for each in spoken], said)
    if not first and last in (0, len(spoken)):
        return None
    return f"{text[spoken[first].start : spoken[last - 1].end]} ?"


def _topic(norms: Sequence[str], said: Collection[int]) -> tuple[int, int]:
    """The first word of a topic and the one behind it, by their positions; (0, 0) without a topic.

    Args:
        norms: The folded words of a message.
        said: The positions of those that ask.
    """
    around = _phrases().around | STOP_WORDS
    named = [at for at, norm in enumerate(norms) if at not in said and norm not in around]
    if not named:
        return 0, 0
    first, end = named[0], named[-1] + 1
    while first and _precedes(norms[first - 1]) and first - 1 not in said:
        first -= 1
    while end < len(norms) and end not in said:
        end += 1
    return first, end


def _precedes(word: str) -> bool:
    """Return whether a word before a topic belongs to it: an article, or "when" of "when Anna comes"."""
    return word in STOP_WORDS and word not in _phrases().prepositions


def introduced(
    text: str,
    *,
    companions: Collection[str] = (),
    is_known: Callable[[str], bool] | None = None,
) -> str | None:
    """The folded name by which speakers introduce themselves: "je suis Mickael", "I'm Ana".

    "I'm back" has no name: it has no capital, and is not told as one ("my name is ana").

    Args:
        text: The message.
        companions: Names of the companion, which are not read.
        is_known: Tells whether a folded name without a capital is somebody's; None if any word may be.
    """
    tokens = _words(text, companions)
    if len(tokens) > MAX_WORDS:
        return None
    found = _phrases().introduction.match(_line(tokens))
    if found is None:
        return None
    name = found["name"].strip()
    written = {fold(each) for each in written_words(without_capitals(text)) if each != each.lower()}
    parts = name.split()
    if found["naming"] or {parts[0], parts[-1]} <= written:
        return name
    known = is_known(name) if is_known else " " not in name
    return name if known else None


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


class _Spoken(NamedTuple):
    """A word as the phrases match it, and its place in the text."""

    norm: str
    start: int
    end: int


def _spoken(text: str) -> Iterator[_Spoken]:
    """The words of a text in the form of `_words`, each with its place."""
    for chunk in _CHUNK.finditer(text):
        # "Qu'on" asks at the beginning only.
        for word in _words(chunk[0] if chunk.start() else f"{chunk[0]} "):
            yield _Spoken(word, chunk.start(), chunk.end())


def _line(tokens: Sequence[str]) -> str:
    """Words in the form that the phrases match: each with a leading space."""
    return "".join(f" {word}" for word in tokens)


@cache
def _phrases() -> _Phrases:
    each_of = [load(language, "questions")["memory"] for language in languages()]

    def expressions(role: str) -> list[str]:
        return [_expression(phrase, each["macros"]) for each in each_of for phrase in each[role]]

    recalling = expressions("recalling")
    requests = [each for each in recalling if each.startswith("^")]
    data = load_all("questions")["memory"]
    greetings = any_of(sorted(set(data["greetings"].split())))
    naming, openings = map("|".join, map(expressions, ("naming", "introduction")))
    return _Phrases(
        of={
            "talk": tuple(map(re.compile, expressions("talk"))),
            "person": tuple(map(re.compile, expressions("person"))),
        },
        recalling=(
            re.compile(any_of(requests)),
            re.compile(any_of(each for each in recalling if each not in requests)),
        ),
        introduction=re.compile(
            rf"(?: {greetings}\b)*(?:(?P<naming>{naming})|{openings})(?P<name>(?: \w+){{1,{_NAME_WORDS}}})$"
        ),
        subject=tuple(map(re.compile, data["subject"])),
        events=tuple(
            (tense == "planned", re.compile(rf"\b(?:{each})(?!\w)"))
            for tense in ("done", "planned")
            for each in data["events"][tense]
        ),
        around=frozenset(data["around"].split()),
        prepositions=frozenset(data["prepositions"].split()),
        planned=frozenset(data["planned"].split()),
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
            yield rf"(?: {any_of(listed)}\b){macro[2]}"
        done = macro.end()
    yield _spaced(phrase[done:])


def _spaced(part: str) -> str:
    return _WORD.sub(lambda word: rf"(?: {word[0]}\b)", part.replace(" ", "\n")).replace("\n", "")
