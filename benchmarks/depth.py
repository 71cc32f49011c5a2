"""How deep answers lie in a store of several worlds, and what is found by reading how many results.

    python benchmarks/depth.py PATH... [--worlds 29] [--questions 32] [--beside 5] [--out results.json]

A path is a world (`world-*.tsv`, see `data/worlds`) or a folder of them. Of the worlds that the reader did not learn from,
some are stored, each beside others of its language whose people have other names, and some of their questions are asked as
recalls that read more or fewer results.

- `first`: an answer is the first result; `given`: one of the first four results is an answer with the score that a turn asks
  for. `near miss` and `small talk`: something has that score, though nothing answers or nothing is asked.
- `pairs`: of a question and a text, that are read for a message on average.
- `within`: before reading, an answer is among so many first results.
"""

import argparse
import tempfile
from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from math import inf
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch
from uuid import NAMESPACE_URL, uuid5

import common
import corpora
from hippocampe import Config, Hippocampe, Scope
from hippocampe.reader.network import Head, Reader
from hippocampe.retrieval import answering, recall
from hippocampe.types import Recollection, Settings
from reader_data import Question, World, held_out, worlds

ENOUGH = Settings().auto_retrieve_min_score
GIVEN = Settings().auto_retrieve_max_results
DEPTHS = (8, 12, 16, 28, 44)
ASKED = {"Q": "Q", "A": "Q", "N": "N", "T": "T"}
"""The kinds of questions that are asked: answered ones count together."""
BEGAN = datetime(2026, 10, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Way:
    """A way to read: at most so many results, first those within some log-odds of the best, the others if none is enough."""

    read: int
    within: float = inf
    enough: float = 0.0


WAYS = {
    "the best 4": Way(4),
    "the best 7": Way(7),
    "the best 16": Way(16),
    "at most 12, within 3.5": Way(12, 3.5),
    "at most 16, within 8": Way(16, 8.0),
    "as shipped": Way(recall.READ, recall.READ_WITHIN, answering.ENOUGH),
    "the best 44": Way(44),
}


@contextmanager
def reading_so(way: Way, counted: Counter[str]) -> Generator[None]:
    """Read in a way, and count the pairs that are read."""
    original = Reader.read_pairs

    def counting(reader: Reader, head: Head, *given: Any) -> Any:
        logits = original(reader, head, *given)
        counted["pairs"] += len(logits) if head == "answer" else 0
        return logits

    with (
        patch.object(recall, "READ", way.read),
        patch.object(recall, "READ_WITHIN", way.within),
        patch.object(answering, "ENOUGH", way.enough),
        patch.object(Reader, "read_pairs", counting),
    ):
        yield


def beside(world: World, others: Sequence[World], most: int, random: Random) -> list[World]:
    """Other worlds of the same language, none with a user of this one."""
    names = {text.user for text in world.texts.values()}
    found = [
        each
        for each in others
        if each.language == world.language
        and names.isdisjoint(text.user for text in each.texts.values())
    ]
    return random.sample(found, min(most, len(found)))


def store(
    hippo: Hippocampe, found: Sequence[World], folder: Path, random: Random
) -> dict[str, str]:
    """Store the texts of worlds in any order; the id in the first world of each of its memories."""
    texts = [(each, id, text) for each in found for id, text in each.texts.items()]
    random.shuffle(texts)
    rows = [
        {
            "id": str(uuid5(NAMESPACE_URL, f"{world.name} {id}")),
            "content": text.content,
            "user": text.user,
            "created_at": (BEGAN + timedelta(minutes=minute)).isoformat(),
        }
        for minute, (world, id, text) in enumerate(texts)
    ]
    corpora.import_rows(hippo, Scope(), rows, folder)
    return {
        row["id"]: id for row, (world, id, _) in zip(rows, texts, strict=True) if world is found[0]
    }


def judged(question: Question, found: Sequence[Recollection], ids: dict[str, str]) -> list[str]:
    """What is counted of one question."""
    kind = ASKED[question.kind]
    right = [ids.get(each.id) in question.answers for each in found]
    enough = [each.score >= ENOUGH for each in found[:GIVEN]]
    if kind != "Q":
        return [f"asked {kind}", *([f"found {kind}"] if any(enough) else [])]
    given = any(one and other for one, other in zip(right, enough, strict=False))
    return ["asked Q", *(["first"] if right[:1] == [True] else []), *(["given"] if given else [])]


@dataclass(frozen=True, slots=True)
class Stored:
    """A world that is stored beside others, and what is asked about it.

    Attributes:
        world: The world.
        hippo: The memory of its statements and those of the others.
        ids: The ids in the world of its memories.
        asked: Some of its questions.
        statements: The number of statements in the memory.
    """

    world: World
    hippo: Hippocampe
    ids: dict[str, str]
    asked: list[Question]
    statements: int


def stored_apart(
    found: Sequence[World], most: int, questions: int, others: int
) -> Generator[Stored]:
    """Store some of the worlds that the reader did not learn from, each beside others, one after the other."""
    apart = [each for each in found if held_out(each.name)]
    learnt = [each for each in found if not held_out(each.name)]
    random = Random(1)
    for world in random.sample(apart, min(most, len(apart))):
        with (
            tempfile.TemporaryDirectory() as folder,
            Hippocampe.open(Config(Path(folder) / "data", background=False), join=False) as hippo,
        ):
            together = [world, *beside(world, learnt, others, random)]
            ids = store(hippo, together, Path(folder), random)
            asked = [each for each in world.questions if each.kind in ASKED]
            asked = random.sample(asked, min(questions, len(asked)))
            yield Stored(world, hippo, ids, asked, sum(len(each.texts) for each in together))
        print(world.name, flush=True)


def measure(found: Sequence[World], most: int, questions: int, others: int) -> dict[str, Any]:
    """Store each world beside others, and ask its questions in each way."""
    counted = {name: Counter[str]() for name in WAYS}
    deep: Counter[int] = Counter()
    measured = statements = 0
    for stored in stored_apart(found, most, questions, others):
        measured, statements = measured + 1, statements + stored.statements
        hippo, ids = stored.hippo, stored.ids
        for question in stored.asked:
            scope = Scope(user=question.user)
            for name, way in WAYS.items():
                with reading_so(way, counted[name]):
                    results = hippo.recall(question.content, scope=scope, peek=True)
                counted[name].update(judged(question, results, ids))
            if ASKED[question.kind] == "Q":
                with reading_so(Way(0), Counter()):
                    unread = hippo.recall(
                        question.content, scope=scope, limit=max(DEPTHS), peek=True
                    )
                right = [ids.get(each.id) in question.answers for each in unread]
                deep.update(depth for depth in DEPTHS if any(right[:depth]))
    return {
        "worlds": measured,
        "statements in a store": round(statements / max(measured, 1)),
        "asked": {kind: counted["as shipped"][f"asked {kind}"] for kind in "QNT"},
        "within": {
            str(depth): _share(deep[depth], counted["as shipped"]["asked Q"]) for depth in DEPTHS
        },
        "ways": {name: shares(each) for name, each in counted.items()},
    }


def _share(part: int, whole: int) -> float:
    return round(part / max(whole, 1), 3)


def shares(counted: Counter[str]) -> dict[str, float]:
    """Counts as shares, and the pairs that are read for a message."""
    asked = sum(counted[f"asked {kind}"] for kind in "QNT")
    return {
        "pairs": round(counted["pairs"] / max(asked, 1), 1),
        "first": _share(counted["first"], counted["asked Q"]),
        "given": _share(counted["given"], counted["asked Q"]),
        "near miss": _share(counted["found N"], counted["asked N"]),
        "small talk": _share(counted["found T"], counted["asked T"]),
    }


def arguments(description: str | None, *, most: int) -> argparse.ArgumentParser:
    """A parser of what `stored_apart` needs, with so many worlds by default."""
    parser = common.arguments(description)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument("--worlds", type=int, default=most, help="how many are asked about")
    parser.add_argument("--questions", type=int, default=32, help="at most, of each world")
    parser.add_argument("--beside", type=int, default=5, help="other worlds in the store of each")
    return parser


def main() -> None:
    """Measure the worlds of the folders on the command line."""
    parser = arguments(__doc__, most=29)
    given = parser.parse_args()
    found = [each for each in worlds(given.folders) if each.name.startswith("world")]
    result = measure(found, given.worlds, given.questions, given.beside)
    print(f"{result['statements in a store']} statements in a store, asked {result['asked']}")
    print(f"answers within the first: {result['within']}")
    for name, each in result["ways"].items():
        print(f"{name:24}", "  ".join(f"{what} {share}" for what, share in each.items()))
    common.save(given.out, "depth", result)


if __name__ == "__main__":
    main()
