"""Whether injections contain the answer, their precision, and their cost in tokens.

    python benchmarks/injection.py FOLDER... [--questions N] [--cache DIR] [--out results.json]

Folders are those of `recall.py`. Each question is a message to `before_turn`, once per threshold, on its own
channel so that nothing counts as already given, without recent memories and without a tight deadline. As
baselines, the same renderer writes the last messages and the best results of a recall, by BM25 alone and
in full, into the same budget. Only questions with evidence count. Messages of the type `none` have no
answer and measure how often nothing is injected.
"""

import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import common
import corpora
from corpora import Loaded, Query
from hippocampe import Scope
from hippocampe.embed import tokens
from hippocampe.injection.render import render
from hippocampe.retrieval.results import of_memory, of_turn
from hippocampe.store import turn_rows
from hippocampe.types import Injection, Mode, Recollection, Settings

ITEMS = 10
"""Maximum items of a turn."""
LAST = 20
THRESHOLDS = (0.3, 0.4, 0.5, 0.6, 0.7, 0.8)
ALWAYS = {"hook_timeout_ms": 10_000, "recent_hours": 0}
CHOSEN: dict[str, dict[str, Any]] = {"as shipped": {}} | {
    f"relevance of {least} or more": {
        "auto_retrieve_min_score": least,
        "auto_retrieve_max_results": ITEMS,
        "max_injection_count": ITEMS,
    }
    for least in THRESHOLDS
}
"""Rows measured with `before_turn`, with their settings."""
LAST_MESSAGES = f"last {LAST} messages"
FIRST: dict[str, Mode] = {f"BM25, first {ITEMS}": "text", f"hybrid, first {ITEMS}": "hybrid"}
"""Rows measured with `recall`, with their modes."""
METRICS = ("hit rate", "precision", "recall", "items", "tokens", "empty")
"""Hit rate, recall and tokens cover the whole injection; the other metrics only items of the search."""


@dataclass(slots=True)
class Row:
    """Measurements of one row, in the order of the questions."""

    figures: list[tuple[float, ...]] = field(default_factory=list)
    """In the order of `METRICS`; for precision, the number of right items."""
    unanswered: list[bool] = field(default_factory=list)
    """For each message without an answer, whether nothing was injected."""
    no_room: int = 0
    milliseconds: list[float] = field(default_factory=list)
    missing: int = 0
    unsearched: int = 0

    def note(
        self, shown: Sequence[str], searched: Sequence[str], tokens: int, answers: frozenset[str]
    ) -> None:
        """Record one text: all documents in it, and those found by search."""
        if not answers:
            self.unanswered.append(not searched)
            return
        inside = len(answers.intersection(shown))
        right = len(answers.intersection(searched))
        self.figures.append(
            (
                *(float(inside > 0), right, inside / len(answers), len(searched), tokens),
                float(not searched),
            )
        )

    def summary(self) -> dict[str, Any]:
        values = np.array(self.figures, float)
        of = np.ones_like(values)
        of[:, METRICS.index("precision")] = values[:, METRICS.index("items")]
        found: dict[str, Any] = common.intervals(values, METRICS, of)
        if self.unanswered:
            found["quiet"] = round(float(np.mean(self.unanswered)), 4)
        asked = len(values) + len(self.unanswered)
        found["no_room"] = round(self.no_room / asked, 3)
        if self.milliseconds:
            found["milliseconds"] = common.percentiles(self.milliseconds)
            found["missing"] = self.missing
            found["unsearched"] = round(self.unsearched / asked, 3)
        return found


@dataclass(slots=True)
class Messages:
    """Sends the questions to one folder, for every row."""

    loaded: Loaded
    form: str
    rows: dict[str, Row] = field(default_factory=dict)
    asked: int = 0

    def ask(self, space: str, queries: Sequence[Query]) -> None:
        """Ask the questions of one space."""
        hippo, scope = self.loaded.hippo, Scope(space=space)
        for name, changes in CHOSEN.items():
            hippo.update_settings(scope=scope, **ALWAYS, **changes)
            for query in queries:
                self._note(name, query, self._turn(query))
            hippo.update_settings(scope=scope, **dict.fromkeys(changes))
        chosen = hippo.settings(scope=scope)
        last = self._last(space)
        for query in queries:
            self._render(LAST_MESSAGES, query, last, chosen)
            for name, mode in FIRST.items():
                self._render(name, query, self._first(query, mode), chosen)

    def _turn(self, query: Query) -> Injection:
        self.asked += 1
        self.loaded.clock.ask(query)
        scope = Scope(space=query.space, user=query.user, channel=f"question {self.asked}")
        return self.loaded.hippo.before_turn(query.text, scope=scope)

    def _first(self, query: Query, mode: Mode) -> list[Recollection]:
        self.loaded.clock.ask(query)
        return self.loaded.hippo.recall(
            query.text,
            scope=Scope(space=query.space, user=query.user),
            limit=ITEMS,
            collections=(corpora.COLLECTION[self.form],),
            mode=mode,
        )

    def _row(self, name: str) -> Row:
        return self.rows.setdefault(name, Row())

    def _names(self, items: Sequence[Recollection]) -> list[str]:
        return [self.loaded.documents[item.id] for item in items]

    def _note(self, name: str, query: Query, injection: Injection) -> None:
        row, trace = self._row(name), injection.trace
        searched = [
            each.recollection
            for each in trace.considered
            if each.outcome == "injected" and each.path == "search"
        ]
        row.note(
            self._names(injection.items), self._names(searched), injection.tokens, query.answers
        )
        row.no_room += sum(each.outcome == "no_room" for each in trace.considered)
        row.milliseconds.append(injection.took_ms / 1000)
        row.missing += bool(trace.missing or trace.skipped)
        row.unsearched += len(injection.items) - len(searched)

    def _render(
        self, name: str, query: Query, items: Sequence[Recollection], chosen: Settings
    ) -> None:
        rendered = render(
            items,
            language=chosen.language,
            now=self.loaded.clock(),
            timezone=chosen.timezone,
            budget=chosen.injection_token_budget,
            count=tokens.count,
        )
        row = self._row(name)
        shown = self._names(rendered.shown)
        row.note(shown, shown, rendered.tokens, query.answers)
        row.no_room += len(rendered.no_room)

    def _last(self, space: str) -> list[Recollection]:
        """The latest messages or memories, newest first."""
        if self.form == "memory":
            found = self.loaded.hippo.recent(LAST, scope=Scope(space=space))
            return [of_memory(memory) for memory in found]
        with self.loaded.hippo._context.corpus.store.read() as connection:
            turns = turn_rows.latest(
                connection, space, channel=None, since=None, until=None, limit=LAST
            )
        return [of_turn(turn) for turn in turns]


def run(folder: Path, questions: int | None, cache: Path | None) -> dict[str, Any]:
    """Import one folder, ask its questions and return the figures."""
    corpus = corpora.read_corpus(folder)
    queries = corpora.sample(corpus, questions)
    spaces: dict[str, list[Query]] = {}
    for query in (*queries, *corpus.unanswered):
        spaces.setdefault(query.space, []).append(query)
    with corpora.loaded(corpus, corpus.form, cache) as loaded:
        messages = Messages(loaded, corpus.form)
        for number, (space, of_space) in enumerate(spaces.items(), 1):
            messages.ask(space, of_space)
            print(f"{corpus.name}: {number}/{len(spaces)} spaces", file=sys.stderr)
        budget = loaded.hippo.settings(scope=Scope()).injection_token_budget
    return {
        "form": corpus.form,
        "documents": len(corpus.documents),
        "questions": len(queries),
        "in_sample": corpora.in_sample(corpus.name),
        "unanswered": len(corpus.unanswered),
        "spaces": len(spaces),
        "token_budget": budget,
        "rows": {name: row.summary() for name, row in messages.rows.items()},
    }


def show(name: str, figures: dict[str, Any]) -> None:
    """Print one folder's table."""
    flattered = " (in-sample)" if figures["in_sample"] else ""
    print(
        f"\n{name}{flattered}: {figures['questions']} questions, {figures['token_budget']} tokens at most"
    )
    print(f"{'':24}" + "".join(f"{metric:>11}" for metric in METRICS) + f"{'no room':>11}{'ms':>7}")
    for row, values in figures["rows"].items():
        means = [values[metric]["mean"] if values[metric] else float("nan") for metric in METRICS]
        spent = values.get("milliseconds")
        line = f"{row:24}" + "".join(f"{mean:11.3f}" for mean in means)
        print(line + f"{values['no_room']:11.3f}" + (f"{spent['p50']:7.1f}" if spent else ""))
    late = sum(values.get("missing", 0) for values in figures["rows"].values())
    print(f"turns that something was missing from: {late}")
    if figures["unanswered"]:
        quiet = {row: values["quiet"] for row, values in figures["rows"].items()}
        print(f"quiet at {figures['unanswered']} messages that nothing answers: {quiet}")


def main() -> None:
    """Measure the folders named on the command line."""
    parser = common.arguments(__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--questions", type=int, help="put only this many of each folder")
    parser.add_argument("--cache", type=Path, help="keep imported folders here")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for folder in options.folders:
        figures = run(folder, options.questions, options.cache)
        results[folder.resolve().name] = figures
        show(folder.resolve().name, figures)
    common.save(options.out, "injection", {"ranker": corpora.ranker(), "folders": results})


if __name__ == "__main__":
    main()
