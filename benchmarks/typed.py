"""Questions as people type them, with and without what is done for them.

    python benchmarks/typed.py PATH... [--held-out] [--out results.json]

A path is a world (`world-*.tsv`, see `data/worlds`) or a folder of them. Each question is asked as it is written and in
other ways: in capitals, in small letters, without accents and question mark, with a typing error in one of its words,
with discourse markers ("ok so …", "au fait …") and with something told around it.

- `first`: an answer is the first result; `given`: one of the first four results is an answer with the score that a turn asks
  for. `near miss` and `small talk`: something has that score, though nothing answers or nothing is asked.
- `with` is the package; `without` neither spells the question as the texts are spelled, nor tells it from what is told, nor
  removes discourse markers, nor reads a message that asks nothing as one.
- `words`: of the words that no memory of the world has, how many are changed; and of the words of memories that are
  mistyped on purpose, how many are mended.
"""

import tempfile
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import common
from hippocampe import Config, Hippocampe, Scope
from hippocampe.language.detect import guess_language
from hippocampe.language.text import STOP_WORDS, fold, words, written_words
from hippocampe.retrieval import answering, query, recall, spelling
from hippocampe.types import Settings
from reader_data import World, held_out, worlds
from typed_forms import marked, mistyped, with_error, without_accents

ENOUGH = Settings().auto_retrieve_min_score
GIVEN = Settings().auto_retrieve_max_results
SPACE = "world"
APART = ("world-fr", "world-en", "world-mixed")
"""Worlds of `data/reader`, which nothing is learnt from."""


TOLD = {
    "fr": (
        "Longue journée, et le train avait une heure de retard, mais le dîner était bon. Sinon, {}",
        "Salut ! {} Je dois répondre ce soir, merci !",
    ),
    "en": (
        "It has been a long day and the train was an hour late, but dinner was good. Anyway, {}",
        "Hi there! {} I have to answer tonight, thanks!",
    ),
}
"""What is told before and after a question."""


def told(text: str, *, at: int) -> str:
    """A question with something told before (0) or after it (1)."""
    around = TOLD[guess_language(text, default="en")][at]
    return around.format(text if text.endswith(tuple("?.!")) else f"{text}?")


WAYS: dict[str, Callable[[str], str]] = {
    "as written": str,
    "capitals": str.upper,
    "small letters": str.lower,
    "no accents, no question mark": without_accents,
    "a typing error": with_error,
    "discourse markers": marked,
    "something told before": partial(told, at=0),
    "something told after": partial(told, at=1),
}


def ask(hippo: Hippocampe, world: World, ids: dict[str, str]) -> dict[str, Counter[str]]:
    """Ask the questions of a world in each way, and count."""
    counted = {way: Counter[str]() for way in WAYS}
    for question in world.questions:
        if question.kind not in "QNT":
            continue
        scope = Scope(space=SPACE, user=question.user)
        for way, typed in WAYS.items():
            found = hippo.recall(typed(question.content), scope=scope, limit=GIVEN, peek=True)
            enough = {ids[each.id] for each in found if each.score >= ENOUGH}
            count = counted[way]
            count[f"asked {question.kind}"] += 1
            if question.kind in "NT":
                count[f"found {question.kind}"] += bool(enough)
            else:
                count["first"] += bool(found) and ids[found[0].id] in question.answers
                count["given"] += not enough.isdisjoint(question.answers)
    return counted


SHARES = {
    "first": ("first", "asked Q"),
    "given": ("given", "asked Q"),
    "near miss": ("found N", "asked N"),
    "small talk": ("found T", "asked T"),
}


def shares(counted: dict[str, Counter[str]]) -> dict[str, dict[str, float]]:
    """Counts as shares."""
    return {
        way: {
            name: round(count[found] / max(count[asked], 1), 3)
            for name, (found, asked) in SHARES.items()
        }
        for way, count in counted.items()
    }


def spell(hippo: Hippocampe, world: World) -> Counter[str]:
    """Count the valid words that are changed, and the mistyped ones that are mended."""
    stored = {each for text in world.texts.values() for each in words(text.content)} - STOP_WORDS
    asked = {fold(each): each for q in world.questions for each in written_words(q.content)}
    count: Counter[str] = Counter()
    random = Random(world.name)

    def read(word: str) -> str:
        return fold(spelling.spelled(hippo._context.corpus, word, SPACE))

    for folded, word in sorted(asked.items()):
        if len(folded) < spelling.SHORTEST or not folded.isalpha() or folded in STOP_WORDS:
            continue
        if folded not in stored:
            count["valid"] += 1
            count["changed"] += read(word) != folded
        elif (wrong := mistyped(word, random)) and fold(wrong) not in stored | {folded}:
            count["mistyped"] += 1
            count["mended"] += read(wrong) == folded
    return count


def measure(found: Sequence[World]) -> dict[str, Any]:
    """The shares over all worlds, with and without what is done for typed questions."""
    total = {name: {way: Counter[str]() for way in WAYS} for name in ("with", "without")}
    spelt: Counter[str] = Counter()
    for world in found:
        with (
            tempfile.TemporaryDirectory() as folder,
            Hippocampe.open(Config(Path(folder), background=False), join=False) as hippo,
        ):
            ids = dict[str, str]()
            for id, text in world.texts.items():
                scope = Scope(space=SPACE, user=text.user)
                ids[hippo.remember(text.content, scope=scope).memory.id] = id
            spelt += spell(hippo, world)
            for name, counted in total.items():
                with ExitStack() as stack:
                    if name == "without":
                        stack.enter_context(patch.object(recall, "spelled", _as_typed))
                        stack.enter_context(patch.object(query, "without_markers", str))
                        stack.enter_context(patch.object(recall, "parts_of", _whole))
                        stack.enter_context(patch.object(answering, "TELLING", 0.0))
                    for way, count in ask(hippo, world, ids).items():
                        counted[way] += count
        print(world.name, flush=True)
    return {
        "worlds": len(found),
        "questions": total["with"]["as written"]["asked Q"],
        "near misses": total["with"]["as written"]["asked N"],
        "small talk": total["with"]["as written"]["asked T"],
        "words": dict(spelt),
        "with": shares(total["with"]),
        "without": shares(total["without"]),
    }


def _as_typed(corpus: object, query: str, space: str) -> str:
    return query


def _whole(corpus: object, message: str, *_: object) -> list[tuple[str]]:
    return [(message,)]


def main() -> None:
    """Measure the worlds of the folders on the command line."""
    parser = common.arguments(__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument(
        "--held-out", action="store_true", help="only worlds that the reader did not learn from"
    )
    given = parser.parse_args()
    found = worlds(given.folders)
    result = measure(
        [each for each in found if not given.held_out or held_out(each.name) or each.name in APART]
    )
    for name in ("with", "without"):
        for way, each in result[name].items():
            figures = "  ".join(f"{what} {share:.3f}" for what, share in each.items())
            print(f"{name:8} {way:30} {figures}")
    print(result["words"])
    common.save(given.out, "typed", result)


if __name__ == "__main__":
    main()
