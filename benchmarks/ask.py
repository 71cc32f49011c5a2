"""Answers to questions of several people who share a space, by kind of question.

    python benchmarks/ask.py FOLDER... [--form FORM] [--out results.json]

A folder holds `memories.jsonl` {id, user, channel, at, type, subjects, content}, `messages.jsonl` {id, user,
role, channel, at, content} and `questions.jsonl` {id, user, channel, at, text, kind, answers, also, wrong}. `user`
is who told, said or asked it. Memories are imported through an export, messages as talk. Each question is
asked once as a recall over memories and talk, and once as a message to `before_turn`, on a channel of its own.

- `first`, `first_three`: an answer is the first result, or among the first three.
- `found`: an answer scores at least .5, the default threshold of injections; `something`: any result does.
- `injected`: the injection has an answer; `searched`: the search injected something.
- `wrong_first`, `wrong_injected`: a result named as wrong is the first one, or is injected by the search.
- `share`: of all answers, the share that is injected.

Kinds without answers (`no_answer`, `small_talk`) should bring nothing: `something` and `searched` near 0.
`same_found` is `something` of these kinds at the threshold at which `found` over the answerable questions
equals each given share: it compares rankers whose scores differ in scale.

With `--form`, the memories stand in other words that change nothing: `marked`, `announced` or `dated` as in `updates.py`, or
`beside` another memory of its user and language, which then is an answer too.
"""

import json
import tempfile
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import numpy as np

import common
import corpora
from hippocampe import Config, Hippocampe, Scope
from hippocampe.language.detect import guess_language
from hippocampe.types import Recollection
from typed_forms import AROUND, behind, others

COLLECTIONS = ("memory", "summary", "turn", "live", "note")
RESULTS = 20
ENOUGH = 0.5
"""The default threshold of injections."""
SHARES = (0.5, 0.6, 0.658, 0.7)
NOT_OF_ONE_ANSWER = ("aggregate", "open")
"""Kinds that are answered by many memories; not part of `answerable`."""


@dataclass(frozen=True, slots=True)
class Measured:
    """What one question brought; `score` is the best of the answers, `best` of all results."""

    kind: str
    answerable: bool
    score: float
    best: float
    flags: dict[str, float]


Rows = list[dict[str, Any]]


def in_form(memories: Rows, questions: Rows, form: str) -> tuple[Rows, Rows]:
    """The memories and the questions of a folder, with the memories in another form."""
    if form in AROUND:
        return [row | {"content": AROUND[form](row["content"])} for row in memories], questions
    carriers: dict[str, str] = {}
    told: Rows = []
    kinds = [(row["user"], guess_language(row["content"], default="en")) for row in memories]
    for row, at in zip(memories, others(kinds), strict=True):
        other = memories[at]
        carriers[other["id"]] = row["id"]
        told.append(row | {"content": behind(row["content"], other["content"])})
    asked = [
        row | {name: [*row[name], *map(carriers.get, row[name])] for name in ("answers", "wrong")}
        for row in questions
    ]
    return told, asked


def load(hippo: Hippocampe, memories: Rows, folder: Path, scratch: Path) -> dict[str, str]:
    """Import the memories and the talk; the id in the folder of each memory by its id in the store."""
    rows = [
        {
            "id": str(uuid5(NAMESPACE_URL, row["id"])),
            "type": row["type"],
            "content": row["content"],
            "subjects": row["subjects"],
            "importance": row.get("importance", 0.6),
            "user": row["user"],
            "channel": row["channel"],
            "created_at": row["at"],
        }
        for row in memories
    ]
    corpora.import_rows(hippo, Scope(), rows, scratch)
    messages = sorted(common.json_lines(folder / "messages.jsonl"), key=lambda row: row["at"])
    path = scratch / "talk.jsonl"
    with path.open("w", encoding="utf-8") as lines:
        for row in messages:
            line = {key: row[key] for key in ("content", "channel", "at", "role")}
            line |= {"author": row["user"], "external_id": row["id"]}
            lines.write(json.dumps(line) + "\n")
    if problems := hippo.import_from(path, scope=Scope(), format="jsonl").problems:
        raise SystemExit(f"not everything came in: {problems[:3]}")
    return {row["id"]: memory["id"] for row, memory in zip(rows, memories, strict=True)}


@dataclass(slots=True)
class Clock:
    """The moment of the question."""

    now: datetime

    def __call__(self) -> datetime:
        return self.now


@dataclass(slots=True)
class Questions:
    """Asks the questions of a folder."""

    hippo: Hippocampe
    clock: Clock
    documents: dict[str, str]

    def ask(self, row: dict[str, Any]) -> Measured:
        """Ask one question as a recall and as a message."""
        self.clock.now = datetime.fromisoformat(row["at"])
        found = self.hippo.recall(
            row["text"],
            scope=Scope(user=row["user"], channel=row["channel"]),
            limit=RESULTS,
            collections=COLLECTIONS,
        )
        scope = Scope(user=row["user"], channel=f"question {row['id']}")
        turn = self.hippo.before_turn(row["text"], scope=scope)
        searched = [
            each.recollection
            for each in turn.trace.considered
            if each.outcome == "injected" and each.path == "search"
        ]
        answers, wrong = set(row["answers"]), set(row["wrong"])
        ranked = [self._names(item) for item in found]
        right = [bool(names & answers) for names in ranked]
        shown = set[str]().union(*map(self._names, turn.items))
        score = max(
            (item.score for item, good in zip(found, right, strict=True) if good), default=0
        )
        best = max((item.score for item in found), default=0.0)
        wrong_searched = any(names & wrong - answers for names in map(self._names, searched))
        flags = {
            "something": best >= ENOUGH,
            "searched": bool(searched),
            "wrong_injected": wrong_searched,
        }
        if wrong:
            flags["wrong_first"] = bool(ranked and ranked[0] & wrong - answers)
        if answers:
            flags |= {
                "first": right[:1] == [True],
                "first_three": any(right[:3]),
                "found": score >= ENOUGH,
                "injected": bool(shown & answers),
                "share": len(shown & answers) / len(answers),
            }
        answerable = bool(answers) and row["kind"] not in NOT_OF_ONE_ANSWER
        return Measured(row["kind"], answerable, score, best, flags)

    def _names(self, item: Recollection) -> set[str]:
        return {self.documents.get(item.id, item.id), *item.external_ids}


def figures(measured: Sequence[Measured]) -> dict[str, Any]:
    """The mean of each figure, for the questions of one kind."""
    found: dict[str, list[float]] = defaultdict(list)
    for each in measured:
        for name, value in each.flags.items():
            found[name].append(float(value))
    return {"questions": len(measured)} | {
        name: round(float(np.mean(values)), 4) for name, values in found.items()
    }


def at_same_found(measured: Sequence[Measured]) -> dict[str, dict[str, float]]:
    """By share of answerable questions found, which share of the other kinds brings something."""
    scores = np.array([each.score for each in measured if each.answerable])
    without = {each.kind for each in measured if not each.flags.keys() & {"found"}}
    found: dict[str, dict[str, float]] = {}
    for share in SHARES:
        least = max(float(np.quantile(scores, 1 - share)), 1e-6)
        found[str(share)] = {"threshold": round(least, 3)} | {
            kind: round(float(np.mean([e.best >= least for e in measured if e.kind == kind])), 4)
            for kind in sorted(without)
        }
    return found


def run(folder: Path, form: str | None) -> dict[str, Any]:
    """Import one folder, ask its questions and return the figures."""
    memories, rows = (
        list(common.json_lines(folder / name)) for name in ("memories.jsonl", "questions.jsonl")
    )
    if form:
        memories, rows = in_form(memories, rows, form)
    clock = Clock(datetime.fromisoformat(rows[0]["at"]))
    with (
        tempfile.TemporaryDirectory() as scratch,
        Hippocampe.open(Config(Path(scratch) / "data", background=False), clock=clock) as hippo,
    ):
        documents = load(hippo, memories, folder, Path(scratch))
        hippo.update_settings(scope=Scope(), hook_timeout_ms=10_000)
        questions = Questions(hippo, clock, documents)
        hippo.recall("?", scope=Scope())
        measured = [questions.ask(row) for row in rows]
    kinds = list(dict.fromkeys(each.kind for each in measured))
    answerable = [each for each in measured if each.answerable]
    return {
        "memories": len(documents),
        "questions": len(rows),
        "in_sample": corpora.in_sample(folder.resolve().name),
        "answerable": figures(answerable),
        "kinds": {kind: figures([e for e in measured if e.kind == kind]) for kind in kinds},
        "same_found": at_same_found(measured),
    }


COLUMNS = (
    *("questions", "first", "first_three", "found", "injected", "share", "wrong_first"),
    *("wrong_injected", "something", "searched"),
)


def show(name: str, results: dict[str, Any]) -> None:
    """Print one folder's table."""
    flattered = " (in-sample)" if results["in_sample"] else ""
    print(f"\n{name}{flattered}: {results['memories']} memories, {results['questions']} questions")
    print(f"{'':16}" + "".join(f"{column:>15}" for column in COLUMNS))
    for row, values in {"answerable": results["answerable"], **results["kinds"]}.items():
        cells = (f"{values[c]:15.3g}" if c in values else f"{'':15}" for c in COLUMNS)
        print(f"{row:16}" + "".join(cells))
    for share, values in results["same_found"].items():
        print(f"something at found {share}: {values}")


def main() -> None:
    """Measure the folders named on the command line."""
    parser = common.arguments(__doc__)
    parser.add_argument("folders", nargs="+", type=Path)
    parser.add_argument("--form", choices=(*AROUND, "beside"), help="the form of the memories")
    options = parser.parse_args()
    results: dict[str, Any] = {}
    for folder in options.folders:
        results[folder.resolve().name] = run(folder, options.form)
        show(folder.resolve().name, results[folder.resolve().name])
    common.save(options.out, "ask", {"ranker": corpora.ranker(), "folders": results})


if __name__ == "__main__":
    main()
