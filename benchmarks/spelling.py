"""Questions typed in haste, with and without the spelling of a query.

    python benchmarks/spelling.py FOLDER... [--held-out] [--out results.json]

A folder holds worlds (`world-*.tsv`, see `data/worlds`). Each question is asked as it is written and in some other ways:
in capitals, in small letters, without accents and question mark, and with a typing error in one of its words.

- `first`: an answer is the first result; `given`: one of the first four results is an answer with the score that a turn asks
  for. `near miss`: something has that score, though nothing answers.
- `words`: of the words that no memory of the world has, how many are changed; and of the words of memories that are
  mistyped on purpose, how many are mended.
"""

import re
import tempfile
import unicodedata
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any
from unittest.mock import patch

import common
from hippocampe import Config, Hippocampe, Scope
from hippocampe.language.text import STOP_WORDS, fold, words, written_words
from hippocampe.retrieval import query as query_step
from hippocampe.retrieval import spelling
from hippocampe.types import Settings
from reader_data import World, held_out, worlds

ENOUGH = Settings().auto_retrieve_min_score
GIVEN = Settings().auto_retrieve_max_results
LETTERS = "abcdefghijklmnopqrstuvwxyz"
SPACE = "world"
APART = ("world-fr", "world-en", "world-mixed")
"""Worlds of `data/reader`, which nothing is learnt from."""


def without_accents(text: str) -> str:
    """A text in small letters, without accents and punctuation at the end."""
    plain = unicodedata.normalize("NFD", text.lower())
    return "".join(each for each in plain if not unicodedata.combining(each)).rstrip(" ?.!")


def mistyped(word: str, random: Random) -> str:
    """A word with two letters swapped, one missing, one wrong or one too many; the first is right."""
    at = random.randrange(1, len(word) - 1)
    before, here, after = word[:at], word[at], word[at + 1 :]
    letter = random.choice(LETTERS)
    return random.choice(
        (
            before + after[0] + here + after[1:],
            before + after,
            before + letter + after,
            before + letter + here + after,
        )
    )


def with_error(text: str) -> str:
    """A text with a typing error in one of its longer words, the same at each call."""
    random = Random(text)
    longer = [each for each in re.finditer(r"[^\W\d_]+", text) if len(each[0]) > 4]
    if not longer:
        return text
    chosen = random.choice(longer)
    return text[: chosen.start()] + mistyped(chosen[0], random) + text[chosen.end() :]


WAYS: dict[str, Callable[[str], str]] = {
    "as written": str,
    "capitals": str.upper,
    "small letters": str.lower,
    "no accents, no question mark": without_accents,
    "a typing error": with_error,
}


def ask(hippo: Hippocampe, world: World, ids: dict[str, str]) -> dict[str, Counter[str]]:
    """Ask the questions of a world in each way, and count."""
    counted = {way: Counter[str]() for way in WAYS}
    for question in world.questions:
        if question.kind not in "QN":
            continue
        scope = Scope(space=SPACE, user=question.user)
        for way, typed in WAYS.items():
            found = hippo.recall(typed(question.content), scope=scope, limit=GIVEN, peek=True)
            enough = {ids[each.id] for each in found if each.score >= ENOUGH}
            count = counted[way]
            count[f"asked {question.kind}"] += 1
            if question.kind == "N":
                count["near miss"] += bool(enough)
            else:
                count["first"] += bool(found) and ids[found[0].id] in question.answers
                count["given"] += not enough.isdisjoint(question.answers)
    return counted


def shares(counted: dict[str, Counter[str]]) -> dict[str, dict[str, float]]:
    """Counts as shares."""
    of = {"first": "asked Q", "given": "asked Q", "near miss": "asked N"}
    return {
        way: {name: round(count[name] / max(count[all], 1), 3) for name, all in of.items()}
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
    """The counts of all worlds, with and without the spelling."""
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
                read = spelling.spelled if name == "with" else _as_typed
                with patch.object(query_step, "spelled", read):
                    for way, count in ask(hippo, world, ids).items():
                        counted[way] += count
        print(world.name, flush=True)
    return {
        "worlds": len(found),
        "questions": total["with"]["as written"]["asked Q"],
        "near misses": total["with"]["as written"]["asked N"],
        "words": dict(spelt),
        "with": shares(total["with"]),
        "without": shares(total["without"]),
    }


def _as_typed(corpus: object, query: str, space: str) -> str:
    return query


def main() -> None:
    """Measure the worlds of the folders on the command line."""
    parser = common.arguments(__doc__)
    parser.add_argument("folders", type=Path, nargs="+")
    parser.add_argument(
        "--held-out", action="store_true", help="only worlds that the reader did not learn from"
    )
    given = parser.parse_args()
    found = worlds(given.folders)
    result = measure([each for each in found if not given.held_out or held_out(each.name) or each.name in APART])
    for name in ("with", "without"):
        for way, each in result[name].items():
            figures = "  ".join(f"{what} {share:.3f}" for what, share in each.items())
            print(f"{name:8} {way:30} {figures}")
    print(result["words"])
    common.save(given.out, "spelling", result)


if __name__ == "__main__":
    main()
