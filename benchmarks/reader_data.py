"""Labelled texts for the reader: questions with what was known, and pairs of an old and a new statement.

Formats: worlds and talk (`world-*.tsv`, `talk-*.tsv`), groups of statements (`pairs-*.txt`), records
(`{"before", "after", "label", "supersedes"}` lines, see `data/updates/README.md`) and folders of `ask.py`. A world,
a talk and a group are held out whole, by the hash of their name.
"""

from __future__ import annotations

import hashlib
import random
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Final

import numpy as np

import ask
import common
import corpora
from hippocampe import Config, Hippocampe, Scope
from hippocampe.engine.corpus import Corpus
from hippocampe.engine.stopwatch import Stopwatch
from hippocampe.retrieval import scoring
from hippocampe.retrieval.query import analyse
from hippocampe.retrieval.ranking import rank
from hippocampe.retrieval.request import RecallRequest
from hippocampe.retrieval.spelling import spelled
from hippocampe.updates.learnt import OUTCOMES
from typed_forms import line

LANGUAGES: Final = ("fr", "en")
ACROSS: Final = "xl"
HELD_OUT: Final = 6
"""One world and one group in this many is measured and not learnt from."""
TAGS: Final = {
    "U": "update", "S": "same", "D": "detail", "P": "partial", "?": "partial", "X": "separate",
}  # fmt: skip
LABELS: Final = dict(zip(OUTCOMES, range(len(OUTCOMES)), strict=True)) | {"unsure": 3}
WEIGHTS: Final = {"groups": 1.0, "plain": 1.0, "records": 1.0, "minimal": 0.6}
"""Weight of a pair by its file's kind."""
OTHER: Final = 0.7
"""Weight of another old statement of a record, of a repetition read backwards, and of neighbours in a world."""
UNRELATED: Final = 0.6
"""Weight of statements of two groups."""
STRANGERS: Final = 0.5
"""Share of new statements that are also read with a near old one of another group."""
NEAR_STRANGERS: Final = 6
"""The nearest old statements of other groups, of which one is drawn."""
COMPARED: Final = 1_000
"""New statements that are compared with all old ones at a time."""
ALIKE: Final = 0.92
"""Statements of two groups that are nearer than this may be one statement."""
CANDIDATES: Final = 40
"""Results of recall that are stored for a question."""
_START: Final = datetime(2026, 1, 1, 9, tzinfo=UTC)
_ASKED: Final = datetime(2026, 6, 15, 18, tzinfo=UTC)
_LOCOMO: Final = {"1": "A", "5": "N"}
"""Its types of question that need several messages, and that have no answer."""
_KINDS: Final = {"no_answer": "N", "small_talk": "T", "aggregate": "A", "open": "A"}


def held_out(name: str) -> bool:
    """Whether what bears this name is measured, not learnt from."""
    return hashlib.sha256(f"apart {name}".encode()).digest()[0] % HELD_OUT == 0


@dataclass(frozen=True, slots=True)
class Text:
    """A statement or a message of one person; a message of talk has a moment."""

    user: str
    content: str
    at: datetime | None = None

    @property
    def line(self) -> str:
        """The text as the reader sees it."""
        return line(self.user, self.content)


@dataclass(frozen=True, slots=True)
class Question:
    """A message and what answers it.

    Attributes:
        kind: Q: any answer suffices; A: all are needed; N: nothing answers; T: nothing is asked.
        answers: Ids, the best first.
        near: Ids of texts that nearly answer, of kind N.
    """

    kind: str
    user: str
    content: str
    at: datetime
    answers: tuple[str, ...] = ()
    near: tuple[str, ...] = ()

    @property
    def line(self) -> str:
        """The message as the reader sees it."""
        return line(self.user, self.content)


@dataclass(slots=True)
class World:
    """People, what is known, and their questions."""

    name: str
    texts: dict[str, Text] = field(default_factory=dict[str, Text])
    questions: list[Question] = field(default_factory=list[Question])

    @property
    def language(self) -> str:
        """The code of its language, or `xl` of a mixed one."""
        return next((each for each in LANGUAGES if each in self.name.split("-")), ACROSS)

    def known_at(self, question: Question) -> list[str]:
        """Ids of the texts that exist when the question is asked."""
        return [id for id, text in self.texts.items() if text.at is None or text.at < question.at]


@dataclass(frozen=True, slots=True)
class Pair:
    """An old and a new statement: the index of its outcome, its weight in learning, its group and its source.

    `language` is the code of the language of both, or `xl` if they differ.
    """

    old: str
    new: str
    label: int
    weight: float
    group: str
    source: str
    language: str = ""


def worlds(folders: Sequence[Path]) -> list[World]:
    """The worlds and talks of files and folders, and the folders that are in the form of `ask.py` or `corpora.py`."""
    found: list[World] = []
    for folder in folders:
        if (folder / "questions.jsonl").exists():
            found.append(_asked(folder))
        elif (folder / "qrels.tsv").exists():
            found += _conversations(folder)
        else:
            files = [folder] if folder.is_file() else sorted(folder.glob("*.tsv"))
            found += [_world(path) for path in files]
    return found


def _conversations(folder: Path) -> list[World]:
    """The conversations of LoCoMo. Of its questions without an answer, the evidence is of the other speaker."""
    corpus = corpora.read_corpus(folder)
    made: dict[str, World] = {}
    for document, at in zip(corpus.documents, corpora.times(corpus), strict=True):
        world = made.setdefault(document["scope"], World(document["scope"]))
        speaker = document["speaker"]
        content = document["text"].removeprefix(f"{speaker}: ")
        world.texts[document["id"]] = Text(speaker, content, at)
    for query in corpus.queries:
        kind = _LOCOMO.get(query.kind, "Q")
        answers, near = ((), query.answers) if kind == "N" else (query.answers, ())
        texts = made[query.space].texts
        asked = max(text.at for text in texts.values() if text.at) + timedelta(days=1)
        made[query.space].questions.append(
            Question(kind, "", query.text, asked, tuple(sorted(answers)), tuple(sorted(near)))
        )
    return list(made.values())


def _world(path: Path) -> World:
    made = World(path.stem)
    for fields in _lines(path):
        match fields:
            case ["M", id, user, content]:
                made.texts[id] = Text(user, content)
            case ["L", id, at, user, content]:
                made.texts[id] = Text(user, content, _moment(at))
            case ["Q" | "A" | "N" | "T" as kind, user, *at, content] if kind == "T":
                made.questions.append(Question(kind, user, content, _when(at)))
            case ["Q" | "A" | "N" as kind, user, *at, content, ids]:
                named = tuple(ids.replace(",", " ").split())
                answers, near = ((), named) if kind == "N" else (named, ())
                made.questions.append(Question(kind, user, content, _when(at), answers, near))
            case ["W", *_]:
                pass
            case _:
                raise ValueError(f"{path.name}: {fields}")
    for question in made.questions:
        if unknown := {*question.answers, *question.near} - made.texts.keys():
            raise ValueError(f"{path.name}: {question.content!r} names {unknown}")
    return made


def _lines(path: Path) -> Iterator[list[str]]:
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            if line.strip():
                yield [field.strip() for field in line.rstrip("\n").split("\t") if field.strip()]


def _moment(text: str) -> datetime:
    return datetime.strptime(text, "%Y-%m-%d %H:%M").replace(tzinfo=UTC)


def _when(fields: Sequence[str]) -> datetime:
    return _moment(fields[0]) if fields else _ASKED


def _asked(folder: Path) -> World:
    made = World(folder.name)
    for row in common.json_lines(folder / "memories.jsonl"):
        made.texts[row["id"]] = Text(row["user"] or "", row["content"])
    for row in common.json_lines(folder / "messages.jsonl"):
        at = datetime.fromisoformat(row["at"])
        made.texts[row["id"]] = Text(row["user"], row["content"], at)
    for row in common.json_lines(folder / "questions.jsonl"):
        kind = _KINDS.get(row["kind"], "Q")
        named = [id for id in (*row["answers"], *row["also"]) if id in made.texts]
        near = [id for id in row["wrong"] if id in made.texts]
        if kind in "QA" and not named:
            continue
        at = datetime.fromisoformat(row["at"])
        answers = tuple(named) if kind in "QA" else ()
        made.questions.append(
            Question(
                kind, row["user"], row["text"], at, answers, tuple(near) if kind == "N" else ()
            )
        )
    return made


@dataclass(frozen=True, slots=True)
class Candidate:
    """A text that `recall` found: its log-odds unless it is read, those without the `scoring.RULES` of statements, and
    which of these apply."""

    id: str
    odds: float
    without_rules: float
    rules: tuple[float, ...]


def candidates(world: World) -> list[list[Candidate]]:
    """What `recall` finds for each question, in the order in which it is read."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        clock = ask.Clock(_ASKED)
        _store(world, folder)
        with Hippocampe.open(Config(folder / "data", background=False), clock=clock) as hippo:
            documents = ask.load(hippo, folder, folder)
            found: list[list[Candidate]] = []
            for question in world.questions:
                clock.now = question.at
                existing = set(world.known_at(question))
                named = [
                    replace(each, id=id)
                    for ids, each in _ranked(hippo._context.corpus, question, documents)
                    for id in ids
                    if id in existing
                ]
                # Texts of one turn share its candidate.
                found.append(list({each.id: each for each in reversed(named)}.values())[::-1])
    return found


def _ranked(
    corpus: Corpus, question: Question, documents: Mapping[str, str]
) -> Iterator[tuple[tuple[str, ...], Candidate]]:
    """The candidates of a question in the order in which they are read, each with the ids of its texts in the world."""
    scope = Scope(user=question.user or None, channel="salon")
    request = RecallRequest(scope, CANDIDATES, ask.COLLECTIONS, read=CANDIDATES)
    now = corpus.store.now()
    text = spelled(corpus, question.content, scope.space)
    scored = rank(corpus, analyse(corpus, text, scope, now), request, now, Stopwatch())
    if isinstance(scored, list):
        return
    model = scoring.load_model()
    scores = np.array([item.score for item in scored.items], np.float32)
    for item, odds in zip(scored.items, scoring.log_odds(scores), strict=True):
        row = scored.rows[item.id]
        rules = scoring.rules_of_statements(scored.measured)[row]
        ids = (documents[item.id],) if item.id in documents else item.external_ids
        yield (
            ids,
            Candidate(
                item.id,
                float(odds),
                float(scored.odds[row] - rules @ model.rules),
                tuple(rules.tolist()),
            ),
        )


def _store(world: World, folder: Path) -> None:
    """Write the texts of a world in the form of `ask.py`."""
    first = min((each.at for each in world.texts.values() if each.at), default=_START)
    rows: dict[str, list[dict[str, Any]]] = {"memories": [], "messages": []}
    for number, (id, text) in enumerate(world.texts.items()):
        row: dict[str, Any] = {
            "id": id,
            "user": text.user or None,
            "channel": "salon",
            "content": text.content,
        }
        if text.at is None:
            at = first - timedelta(days=60) + timedelta(minutes=number)
            rows["memories"].append(
                row | {"at": at.isoformat(), "type": "observation", "subjects": []}
            )
        else:
            rows["messages"].append(row | {"at": text.at.isoformat(), "role": "user"})
    for name, each in rows.items():
        common.write_json_lines(folder / f"{name}.jsonl", each)


def pairs(paths: Iterable[Path]) -> list[Pair]:
    """The pairs of files of groups and of records."""
    found: list[Pair] = []
    for path in paths:
        found += _groups(path) if path.suffix == ".txt" else _records(path)
    return found


def _groups(path: Path) -> list[Pair]:
    source = "plain" if "easy" in path.name else "groups"
    found: list[Pair] = []
    old = spoken = ""
    for fields in _lines(path):
        match fields:
            case ["O", language, _, content]:
                old, spoken = content, language
            case [tag, language, content] if tag in TAGS:
                label = LABELS[TAGS[tag]]
                both = language if language == spoken else ACROSS
                found.append(Pair(old, content, label, WEIGHTS[source], old, source, both))
            case _:
                raise ValueError(f"{path.name}: {fields}")
    return found


def _records(path: Path) -> list[Pair]:
    found: list[Pair] = []
    source = "minimal" if "minimal" in path.name else "records"
    language = next((each for each in LANGUAGES if each in path.stem.split("-")), ACROSS)
    for row in common.json_lines(path):
        unnamed = row["supersedes"] is None
        if unnamed and row["label"] != "separate" and len(row["before"]) > 1:
            # Which of them it repeats or changes is not said.
            continue
        at = len(row["before"]) - 1 if unnamed else row["supersedes"]
        group = f"{path.stem} {row['group']}" if "group" in row else row["before"][at]
        label = LABELS[row["label"]]
        for position, old in enumerate(row["before"]):
            if position == at:
                weight = WEIGHTS[source]
                found.append(Pair(old, row["after"], label, weight, group, source, language))
            else:
                separate = LABELS["separate"]
                found.append(Pair(old, row["after"], separate, OTHER, group, "beside", language))
    return found


def more_pairs(
    found: Sequence[Pair],
    known: Sequence[World],
    embed: Callable[[Sequence[str]], np.ndarray],
) -> list[Pair]:
    """Pairs made from those found: repetitions read backwards, strangers, neighbours in a world.

    Args:
        found: The pairs to learn from.
        known: The worlds to learn from.
        embed: The vectors of texts, of unit length, shape (texts, dimensions).
    """
    same, separate = LABELS["same"], LABELS["separate"]
    made = [
        Pair(each.new, each.old, same, OTHER, each.group, "backwards")
        for each in found
        if each.label == same
    ]
    made += _strangers(found, embed)
    for world in known:
        if any(each.at for each in world.texts.values()):
            continue
        texts = list(world.texts.values())
        vectors = embed([each.content for each in texts])
        for at, others in enumerate(nearest(vectors @ vectors.T, 3)):
            near_by = [texts[other] for other in others if texts[other].user == texts[at].user]
            for other in near_by[:2]:
                made.append(
                    Pair(other.content, texts[at].content, separate, OTHER / 2, world.name, "world")
                )
    return made


def _strangers(
    found: Sequence[Pair], embed: Callable[[Sequence[str]], np.ndarray]
) -> Iterator[Pair]:
    """New statements with one of the nearest old ones of other groups: a store is full of such pairs."""
    chance = random.Random(0)
    olds = list({each.old: each.group for each in found}.items())
    news = list({each.new: each.group for each in found if each.source != "minimal"}.items())
    vectors = embed([old for old, _ in olds])
    chosen = [each for each in news if chance.random() < STRANGERS]
    embedded = embed([new for new, _ in chosen])
    for start in range(0, len(chosen), COMPARED):
        cosines = embedded[start : start + COMPARED] @ vectors.T
        orders = np.argsort(-cosines, axis=1)[:, : 4 * NEAR_STRANGERS]
        for (new, group), order, row in zip(chosen[start:], orders, cosines, strict=False):
            strange = [at for at in order if olds[at][1] != group and row[at] < ALIKE]
            if strange:
                old = olds[chance.choice(strange[:NEAR_STRANGERS])][0]
                yield Pair(old, new, LABELS["separate"], UNRELATED, group, "stranger")


def nearest(likeness: np.ndarray, count: int) -> list[list[int]]:
    """Positions of the likest rows of each row, itself left out."""
    np.fill_diagonal(likeness, -np.inf)
    return np.argsort(-likeness, axis=1)[:, :count].tolist()
