"""Run the reliability items of Bench'd on the installed package, as a chatbot uses it.

    pip install benchd-harness==0.2.0
    python benchmarks/foreign/benchd.py [--out FILE]

Each message of an item is a turn, with the reply that the item has or "Okay."; the question of the item is a turn of another
channel. Its answer is what that turn injects, and "I don't know." if that is nothing: the harness looks for such words.
Each item has a space of its own.
"""

import sys
import tempfile
from collections import Counter
from collections.abc import Iterable
from importlib.metadata import version
from itertools import count, pairwise
from pathlib import Path
from typing import Any

from benchd_harness.adapters.base import BaseAdapter
from benchd_harness.benchmarks import get_benchmark
from benchd_harness.runner import BenchmarkRunner

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
from hippocampe import Config, Hippocampe, Scope

ITEMS = "reliability-v1"
NOTHING = "I don't know."
DEADLINE = 10_000
"""Milliseconds of a turn: the figures must not depend on what else the machine does."""


class Chatbot(BaseAdapter):
    """A memory in the process, with the calls of a chatbot."""

    name = "hippocampe"

    def setup(self) -> None:
        """Open an empty memory."""
        self._folder = tempfile.TemporaryDirectory()
        self._hippo = Hippocampe.open(Config(Path(self._folder.name), background=False))
        self._spaces = (f"item-{number}" for number in count())
        self.reset()

    def reset(self) -> None:
        """Go on in a new space."""
        self._space = next(self._spaces)
        scope = Scope(space=self._space)
        self._hippo.update_settings(scope=scope, language="en", hook_timeout_ms=DEADLINE)

    def ingest(self, turns: Iterable[dict[str, Any]]) -> None:
        """Serve and store each message of the user with the reply to it."""
        listed = [*turns, {"role": "user"}]
        scope = Scope(space=self._space, user="user", channel="before")
        for turn, after in pairwise(listed):
            if turn["role"] == "user":
                reply = after["content"] if after["role"] == "assistant" else "Okay."
                self._hippo.before_turn(turn["content"], scope=scope)
                self._hippo.after_turn(turn["content"], reply, scope=scope)

    def recall(self, query: str) -> str:
        """The texts that a turn with this message injects."""
        given = self._hippo.before_turn(
            query, scope=Scope(space=self._space, user="user", channel="after")
        )
        return "\n".join(item.content for item in given.items) or NOTHING

    def teardown(self) -> None:
        """Close the memory and remove it."""
        self._hippo.close()
        self._folder.cleanup()


def main() -> None:
    given = common.arguments(__doc__).parse_args()
    benchmark = get_benchmark(ITEMS)
    traces = BenchmarkRunner(adapter=Chatbot(), benchmark=benchmark).run().manifest["traces"]
    asked = Counter(each["dimension"] for each in traces)
    passed = Counter(each["dimension"] for each in traces if each["scored_correct"])
    result = {
        "harness": {"benchd-harness": version("benchd-harness"), "items": ITEMS},
        "passed": {"all": passed.total()} | {kind: passed[kind] for kind in asked},
        "items": {"all": asked.total()} | asked,
    }
    print(result)
    if given.out:
        common.save(given.out, "benchd", result)


if __name__ == "__main__":
    main()
