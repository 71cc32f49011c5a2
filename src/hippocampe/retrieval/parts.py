"""The parts of a message that are searched for, each complete in itself."""

from __future__ import annotations

from collections.abc import Iterable, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hippocampe.engine.corpus import Corpus
from hippocampe.language.difference import proper_names
from hippocampe.language.follow_ups import (
    MOST_ELLIPTICAL,
    asked_of_another,
    asked_of_asker,
    asks_own,
    completed,
    continues,
    for_all,
    is_elliptical,
    refers_to_thing,
    times_in,
    with_name,
)
from hippocampe.language.names import named_in
from hippocampe.language.open_questions import speaks_of_memory
from hippocampe.language.questions import (
    asked_in,
    asks,
    is_about_told,
    is_telling,
    listing,
    of_health,
    refers,
)
from hippocampe.language.small_talk import is_small_talk
from hippocampe.language.statement import parse
from hippocampe.language.subjects import fold_subjects, proper_names_in
from hippocampe.language.text import words
from hippocampe.retrieval.relatives import with_names_of_relatives
from hippocampe.retrieval.request import RecallRequest
from hippocampe.retrieval.spelling import spelled
from hippocampe.store import message_rows, turn_rows

MOST_NAMES = 3
"""Names that a question may refer to."""
MOST_TURNS = 4
"""Latest turns of the channel that are searched for the antecedent of a follow-up."""
SPEAKING, SPEAKING_WITHIN = 40, timedelta(days=30)
"""Latest turns of the channel, and their age, whose speakers are known by name without a capital."""
INTERLEAVED = 2
"""Latest turns of the channel: a follow-up goes on with the last question of all, or with that of its asker, if it is
one of these."""
Part = tuple[str, ...]
"""A text to search for, and those to search for instead if nothing is likely to answer it."""


def parts_of(corpus: Corpus, message: str, request: RecallRequest, now: datetime) -> list[Part]:
    """The parts of a message that are searched for; usually the message.

    Statements around a question are removed, since a result would have to match them too. They are searched for as well if
    the question is about them: "I need new shoes. What would you suggest?". A question that refers to somebody gets the name:
    "Nora comes tonight. What does she eat?" becomes "What does she eat? (Nora)". One that does not say what it is about gets
    all that was said: "When is swimming?", "What time?" becomes "swimming What time?". Both may have been said in the last
    turns, if the request `follows` them. One about a relative gets their name: "Where does my sister live?"
    becomes "Where does Beth live?". One that names somebody with aliases is searched for with these too. One for how many is
    searched for as the one for which, too: "How many books did I read?". "How is Dad?" asks for his health first.
    """
    parts: list[Part] = []
    for question in asked_in(message):
        for named in (question, *_by_other_names(corpus, question, request)):
            complete = _complete(corpus, named, message, request, now)
            parts += [
                (health, *part) if (health := of_health(part[0])) else part for part in complete
            ]
            parts += [(which,) for part in complete if (which := listing(part[-1]))]
        if _around(question, message) and is_about_told(question):
            parts.append((message,))
    return list(dict.fromkeys(parts))


def said_before(corpus: Corpus, request: RecallRequest, now: datetime) -> str:
    """The last text of the asker in this session, or else of the channel, that says what a follow-up is about."""
    return _before(corpus, request, now)[-1].text


def session_start(corpus: Corpus, request: RecallRequest, now: datetime) -> datetime:
    """The time since which talk in the channel is of the present conversation."""
    minutes = corpus.settings.of(request.scope.space).session_timeout_minutes
    return now - timedelta(minutes=minutes)


def _by_other_names(corpus: Corpus, question: str, request: RecallRequest) -> list[str]:
    """A question with each other name of the first one in it that has any: what users say of themselves lacks their names."""
    aliases = corpus.aliases.of(request.scope.space)
    for name in named_in(aliases, words(question))[:1]:
        others = sorted(aliases[name] - {name})
        known = corpus.vocabulary.counts(request.scope.space, words(" ".join(others)))
        there = [each for each in others if known.keys() >= set(words(each))][:MOST_NAMES]
        asked = ((with_name(question, set(words(name)), other)) for other in there)
        return [each for each in asked if each]
    return []


def _complete(
    corpus: Corpus, question: str, message: str, request: RecallRequest, now: datetime
) -> list[Part]:
    """A question, complete in itself; two if it may go on with the asker's last question or with another's."""
    if named := with_names_of_relatives(corpus, question, request, now):
        return [(*named, question)]
    of_somebody = refers(question) or continues(question)
    follows = of_somebody or refers_to_thing(question)
    if not follows and len(words(question)) > MOST_ELLIPTICAL:
        return [_with_all(question)]
    named, told = proper_names_in(question), _around(question, message)
    if not (follows or is_elliptical(question, named)):
        return [_with_all(question)]
    befores = [_Before(told, told)] if told else _before(corpus, request, now)
    found = [
        _completed(corpus, question, request, before, of_somebody=of_somebody, follows=follows)
        for before in befores
    ]
    if told:
        # The statements around the question give its topic.
        named = befores[0].named_in(question)
        return [found[0] or ((question, message) if follows and not named else (question,))]
    if found[0] == (befores[0].text,):
        # "And me?" after "where do I work?" of another: alone it says nothing of what it asks.
        return found[:1]
    parts = [(*complete, question) for complete in found]
    if parts == [(question,)] and befores[0].text and not named:
        # "What's the guy called?" after "what will the roof cost?" has words of its own, but none for the roof.
        return [(question, completed(question, befores[0].text, ()))]
    return parts


def _with_all(text: str) -> Part:
    """A text, and the plan in it as one for all: what one of them cannot eat bears on "I'm cooking tonight".

    A question when or where is answered by a plan, and has none.
    """
    plans = is_telling(text) or asks(text) <= {"first_person"}
    told = for_all(text) if plans else None
    return (text,) if told is None else (text, told)


def _completed(
    corpus: Corpus,
    question: str,
    request: RecallRequest,
    before: _Before,
    *,
    of_somebody: bool,
    follows: bool,
) -> Part:
    """A question that `follows` what was said before it, in complete forms."""
    named, names_before = before.named_in(question), before.named_in(before.text)
    complete: list[str] = []
    asker = request.scope.user or ""
    if own := asked_of_asker(question, before.text, names_before, asker):
        return (own,)
    other = asked_of_another(question, before.text, named, names_before)
    if other and (named or not refers(question)):
        complete.append(other)
    elif of_somebody and not named and not asks_own(question):
        names = _names(corpus, before.latest, request)
        complete += [f"{question} ({', '.join(names)})"] if names else []
    of_before = is_elliptical(question, named) or (follows and not of_somebody and not named)
    if before.text and of_before:
        complete.append(_follow_up(question, before.text, named))
    return tuple(complete)


def _follow_up(question: str, before: str, named: Set[str]) -> str:
    """An elliptical question with the words of the previous message, without the names and times that it replaces."""
    replaced = proper_names_in(before) if named or asks_own(question) else frozenset[str]()
    if times_in(question):
        replaced |= times_in(before)
    return completed(question, before, replaced)


def _around(question: str, message: str) -> str:
    """The text that is told around a question."""
    return message.replace(question, " ", 1).strip()


def _names(corpus: Corpus, text: str, request: RecallRequest) -> list[str]:
    """The names in a text that the space has, as they are written, without those of the asker and the companion."""
    if not text:
        return []
    statement = parse(text)
    named = proper_names(statement)
    there = corpus.vocabulary.counts(request.scope.space, named)
    companions = corpus.settings.of(request.scope.space).companion_names
    own = {*fold_subjects(companions), *fold_subjects([request.scope.user or ""])}
    written = {word.norm: word.surface for word in statement.words}
    return [written[name] for name in dict.fromkeys(named) if name in there and name not in own][
        -MOST_NAMES:
    ]


@dataclass(frozen=True, slots=True)
class _Before:
    """The text said before a question, and its names.

    Attributes:
        text: The last text that is complete in itself: it gives the topic.
        latest: The last text, completed if it is a follow-up: it gives the names.
        speakers: The folded words of the names of those who spoke lately.
    """

    text: str = ""
    latest: str = ""
    speakers: frozenset[str] = frozenset()

    def named_in(self, text: str) -> frozenset[str]:
        """The folded words of the proper names in a text, and of those who spoke."""
        return proper_names_in(text) | self.speakers.intersection(words(text))


def _before(corpus: Corpus, request: RecallRequest, now: datetime) -> list[_Before]:
    """The last texts in the channel, in this session, as the space spells them: those of all, and of the asker."""
    if not request.follows:
        return [_Before()]
    scope = request.scope
    with corpus.store.read() as connection:
        latest = turn_rows.latest_in(
            connection,
            scope.space,
            scope.channel or "",
            since=now - SPEAKING_WITHIN,
            until=now + timedelta.resolution,
            limit=SPEAKING,
        )
        since = session_start(corpus, request, now)
        turns = [each for each in latest[:MOST_TURNS] if each.at >= since]
        said = message_rows.said_in(connection, [each.id for each in turns])
    texts = [(turn.author, said[turn.id]) for turn in turns if turn.id in said]
    speakers = frozenset(word for turn in latest for word in words(turn.author or ""))
    asker = scope.user if scope.user in [author for author, _ in texts[:INTERLEAVED]] else None
    found = [
        _antecedent((_as_said(corpus, request, *each, now) for each in said_by), speakers)
        for said_by in (texts, [each for each in texts if asker and each[0] == asker])
    ]
    return found if found[1].text not in ("", found[0].text) else found[:1]


def _as_said(
    corpus: Corpus, request: RecallRequest, author: str | None, text: str, now: datetime
) -> str:
    """A text as the space spells it, with the name of a relative of its author: "where does Beth live?" for "my sister"."""
    text = spelled(corpus, text, request.scope.space)
    theirs = replace(request, scope=replace(request.scope, user=author))
    named = with_names_of_relatives(corpus, text, theirs, now)
    return named[0] if len(named) == 1 else text


def _antecedent(texts: Iterable[str], speakers: frozenset[str]) -> _Before:
    """The last of some texts, newest first, that says what a question after it is about."""
    follow_ups: list[tuple[str, Set[str]]] = []
    for text in texts:
        named = proper_names_in(text) | speakers.intersection(words(text))
        if is_small_talk(text):
            continue
        if _is_of_a_time(text) or not is_elliptical(text, proper_names_in(text) | speakers):
            return _Before(text, _latest(text, named, follow_ups[::-1]), speakers)
        follow_ups.append((text, named))
    return _Before(speakers=speakers)


def _is_of_a_time(text: str) -> bool:
    """Return whether a text asks for all at a time, so that it is complete without a topic: "what do we have on Friday?"."""
    return bool(times_in(text)) and not continues(text) and speaks_of_memory(text)


def _latest(text: str, named: Set[str], follow_ups: Sequence[tuple[str, Set[str]]]) -> str:
    """The last of the follow-ups of a text that names somebody, completed; the text if none does."""
    latest = text
    for follow_up, names in follow_ups:
        if names or continues(follow_up):
            other = asked_of_another(follow_up, text, names, named)
            latest = other or (follow_up if names else latest)
    return latest
