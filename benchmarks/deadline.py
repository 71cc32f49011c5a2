"""What a turn is given within its deadline, also where reading takes longer.

    python benchmarks/deadline.py PATH... [--worlds 6] [--questions 32] [--beside 5] [--slower 1,3] [--out results.json]

Worlds that the reader did not learn from are stored beside others, as in `depth.py`, and some of their questions are asked as
turns with the settings of a new space: a deadline of 100 ms. Run it alone on a machine.

- `reads 3 times slower`: each pair is read three times, as on a processor without instructions for products of small integers.
- `given`: one of the injected results of the search answers. `near miss` and `small talk`: the search injects something,
  though nothing answers or nothing is asked.
- `unread`: turns without time to read. `late`: turns without the results of the search.
"""

from collections import Counter
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import Any
from unittest.mock import patch

import common
from depth import ASKED, arguments, stored_apart
from hippocampe import Scope
from hippocampe.reader.network import Reader, load_reader
from hippocampe.types import Injection
from reader_data import Question, World, worlds

UNHURRIED = 10_000
"""A deadline in milliseconds that is never near."""


class Repeated:
    """A session that runs everything several times."""

    def __init__(self, session: Any, times: int) -> None:
        self._session, self._times = session, times

    def run(self, *given: Any) -> Any:
        """Run several times, and return the last outputs."""
        for _ in range(self._times - 1):
            self._session.run(*given)
        return self._session.run(*given)


@contextmanager
def slower(times: int) -> Generator[None]:
    """Read so many times slower."""
    reader: Reader = load_reader()
    pace = reader.seconds_per_pair
    with patch.object(reader, "_session", Repeated(reader._session, times)):
        yield
    reader.seconds_per_pair = pace


def judged(question: Question, turn: Injection, ids: dict[str, str]) -> list[str]:
    """What is counted of one turn."""
    kind = ASKED[question.kind]
    found = [
        ids.get(each.recollection.id)
        for each in turn.trace.considered
        if each.outcome == "injected" and each.path == "search"
    ]
    given = set(question.answers).intersection(found) if kind == "Q" else found
    missing = {"unread": "not read", "late": "search late"}
    counted = [name for name, part in missing.items() if part in turn.trace.missing]
    return [f"asked {kind}", *([f"given {kind}"] if given else []), *counted]


def measure(
    found: Sequence[World], most: int, questions: int, others: int, paces: Sequence[int]
) -> dict[str, Any]:
    """Store each world beside others, and ask its questions as turns at each pace."""
    ways = {
        "without a deadline": (1, UNHURRIED),
        **{
            f"reads {pace} times slower" if pace > 1 else "deadline of 100 ms": (pace, 100)
            for pace in paces
        },
    }
    counted = {name: Counter[str]() for name in ways}
    seconds: dict[str, list[float]] = {name: [] for name in ways}
    for stored in stored_apart(found, most, questions, others):
        for name, (pace, deadline) in ways.items():
            stored.hippo.update_settings(scope=Scope(), hook_timeout_ms=deadline)
            with slower(pace):
                for number, question in enumerate(stored.asked):
                    scope = Scope(user=question.user, channel=f"{name} {number}")
                    turn = stored.hippo.before_turn(question.content, scope=scope)
                    counted[name].update(judged(question, turn, stored.ids))
                    seconds[name].append(turn.took_ms / 1000)
    return {
        name: shares(each) | {"ms": common.percentiles(seconds[name])}
        for name, each in counted.items()
    }


def shares(counted: Counter[str]) -> dict[str, Any]:
    """Counts as shares."""
    asked = {kind: counted[f"asked {kind}"] for kind in "QNT"}
    turns = max(sum(asked.values()), 1)
    given = {kind: round(counted[f"given {kind}"] / max(asked[kind], 1), 3) for kind in "QNT"}
    return {
        "turns": turns,
        "given": given["Q"],
        "near miss": given["N"],
        "small talk": given["T"],
        "unread": round(counted["unread"] / turns, 3),
        "late": round(counted["late"] / turns, 3),
    }


def main() -> None:
    """Measure the worlds of the folders on the command line."""
    parser = arguments(__doc__, most=6)
    parser.add_argument(
        "--slower", type=common.numbers, default="1,3", help="factors of the time to read"
    )
    given = parser.parse_args()
    found = [each for each in worlds(given.folders) if each.name.startswith("world")]
    result = measure(found, given.worlds, given.questions, given.beside, given.slower)
    for name, each in result.items():
        print(f"{name:24}", "  ".join(f"{what} {value}" for what, value in each.items()))
    common.save(given.out, "deadline", result)


if __name__ == "__main__":
    main()
