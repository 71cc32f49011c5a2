"""The parts of a message that are searched for, each complete in itself."""

from datetime import datetime, timedelta

from hippocampe.engine.corpus import Corpus
from hippocampe.language.difference import proper_names
from hippocampe.language.questions import asked_in, is_about_told, refers
from hippocampe.language.statement import parse
from hippocampe.language.subjects import fold_subjects
from hippocampe.retrieval.request import RecallRequest
from hippocampe.store import turn_rows

MOST_NAMES = 3
"""Names that a question may refer to."""
Part = tuple[str, ...]
"""A text to search for, and those to search for instead if nothing is likely to answer it."""


def parts_of(corpus: Corpus, message: str, request: RecallRequest, now: datetime) -> list[Part]:
    """The parts of a message that are searched for; usually the message.

    What is told around a question is left out: of one text, all would have to be answered. It is searched for too if the
    question is about it: "I need new shoes. What would you suggest?". A question that refers to somebody gets the name:
    "Nora comes tonight. What does she eat?" becomes "What does she eat? (Nora)". The name may be in the last turn, if the
    request `follows` one.
    """
    parts: list[Part] = []
    for question in asked_in(message):
        parts.append(_complete(corpus, question, message, request, now))
        if _around(question, message) and is_about_told(question):
            parts.append((message,))
    return list(dict.fromkeys(parts))


def _complete(
    corpus: Corpus, question: str, message: str, request: RecallRequest, now: datetime
) -> Part:
    told = _around(question, message)
    if not refers(question) or _names(corpus, question, request):
        return (question,)
    if names := _names(corpus, told, request):
        return (_about(question, names),)
    if request.follows and (names := _names(corpus, _last_turn(corpus, request, now), request)):
        return _about(question, names), question
    return (question, message) if told else (question,)


def _around(question: str, message: str) -> str:
    """The text that is told around a question."""
    return message.replace(question, " ", 1).strip()


def _about(question: str, names: list[str]) -> str:
    return f"{question} ({', '.join(names)})"


def _names(corpus: Corpus, text: str, request: RecallRequest) -> list[str]:
    """The names in a text that the space has, as they are written, without those of the asker and the companion."""
    if not text:
        return []
    statement = parse(text)
    named = proper_names(statement.words, statement)
    there = corpus.vocabulary.counts(request.scope.space, named)
    companions = corpus.settings.of(request.scope.space).companion_names
    own = {*fold_subjects(companions), *fold_subjects([request.scope.user or ""])}
    written = {word.norm: word.surface for word in statement.words}
    return [written[name] for name in dict.fromkeys(named) if name in there and name not in own][
        -MOST_NAMES:
    ]


def _last_turn(corpus: Corpus, request: RecallRequest, now: datetime) -> str:
    """The text of the last turn of the channel in this session."""
    scope = request.scope
    session = timedelta(minutes=corpus.settings.of(scope.space).session_timeout_minutes)
    with corpus.store.read() as connection:
        found = turn_rows.latest(
            connection,
            scope.space,
            channel=scope.channel or "",
            since=now - session,
            until=now + timedelta.resolution,
            limit=1,
        )
    return found[0].content if found else ""
