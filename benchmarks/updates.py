"""What becomes of an older statement when a new one arrives, on files of labelled records.

    python benchmarks/updates.py FILE... [--pairs PAIRS] [--store] [--form FORM] [--out results.json] [--show 10]

Each line of a file is ``{"before": [...], "after", "label", "supersedes", "style", "topic"}``; the labels
are those of ``benchmarks/data/updates/README.md``. Each record has a space of its own: its older statements
are stored, the new one is judged, and nothing is written. With ``--store``, every new statement is also judged
in one space with the older statements of all records, where it must not merge with one of another record, and must
find its own.
With ``--form``, the new statements are in another form that means the same: in ``capitals``, ``marked`` by discourse
markers ("ok so …"), ``announced`` ("it turns out that …"), ``dated`` ("2026-03-02: …"), a ``sentence`` with a capital and a full
stop, or ``beside`` an old statement of another record of their language, as each older statement then is too. ``joined``, only the
older statements are: "and" joins each to another one; ``joining``, only the new statement is.
``--pairs`` is a file of
``{"fr1", "fr2", "en1", "en2", "duplicate"}``, such as PAWS-X.

- ``missed``: an update, a repetition or a detail that does not take the place of the older statement
- ``lost``: of those that are not missed, an update or a detail that only reinforces it
- ``neither``: missed and not listed for review
- ``wrong``: a pair to keep, merged
- ``listed``: listed for review
"""

from __future__ import annotations

import tempfile
from collections import defaultdict
from collections.abc import Generator, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

import common
from hippocampe import Config, Hippocampe
from hippocampe.ingest.draft import make_draft
from hippocampe.ingest.memory_writes import insert_memory
from hippocampe.ingest.remember import embed_drafts
from hippocampe.language.detect import guess_language
from hippocampe.types import Scope
from hippocampe.updates.judgement import judge
from typed_forms import AROUND, STRIDE, behind, joined, others

MERGING: Final = ("update", "same", "detail")
BATCH: Final = 256
STORE: Final = "store"


@dataclass(frozen=True, slots=True)
class Record:
    """Older statements, a new one, and what becomes of the one at `target` (None: of all)."""

    file: str
    before: tuple[str, ...]
    after: str
    label: str
    target: int | None
    style: str
    topic: str


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a new statement does: positions of the older ones that it replaces, repeats, or asks about."""

    replaced: frozenset[int]
    repeated: frozenset[int]
    listed: frozenset[int]
    reason: str

    @property
    def merged(self) -> frozenset[int]:
        """The older statements that do not stay beside the new one."""
        return self.replaced | self.repeated


def records(path: Path) -> list[Record]:
    """The records of a file."""
    return [_record(row, path.stem) for row in common.json_lines(path)]


def _record(row: dict[str, Any], file: str) -> Record:
    before = tuple(row["before"])
    target = row["supersedes"]
    if target is None and len(before) == 1 and row["label"] != "separate":
        target = 0
    return Record(file, before, row["after"], row["label"], target, row["style"], row["topic"])


FORMS: Final = {"capitals": str.upper, **AROUND}
"""Forms of a new statement."""


def beside(record: Record, one: Record, other: Record) -> Record:
    """A record whose statements each follow another fact."""
    return replace(
        record,
        before=tuple(behind(each, one.before[0]) for each in record.before),
        after=behind(record.after, other.before[0]),
    )


def joined_before(record: Record, one: Record, other: Record) -> Record:
    """A record whose older statements "and" joins to another fact."""
    return replace(record, before=tuple(joined(each, one.before[0]) for each in record.before))


def joined_after(record: Record, one: Record, other: Record) -> Record:
    """A record whose new statement "and" joins to another fact."""
    return replace(record, after=joined(record.after, other.before[0]))


BESIDE: Final = {"beside": beside, "joined": joined_before, "joining": joined_after}
"""Forms in which other facts stand beside those of a record."""


def pairs(path: Path) -> list[Record]:
    """Pairs of sentences as records: a repetition or a pair to keep."""
    found: list[Record] = []
    for row in common.json_lines(path):
        label = "same" if row["duplicate"] else "separate"
        for language in ("fr", "en"):
            texts = row[f"{language}1"], row[f"{language}2"]
            target = 0 if label == "same" else None
            file = f"{path.name.split('.')[0]}-{language}"
            found.append(Record(file, (texts[0],), texts[1], label, target, "llm", ""))
    return found


class Memory:
    """A memory that holds the older statements of records and judges new ones."""

    def __init__(self, hippo: Hippocampe) -> None:
        self.hippo = hippo
        self.context = hippo._context
        self.ids: dict[str, tuple[str, int]] = {}

    def store(self, rows: Iterable[tuple[str, str, int]]) -> None:
        """Store statements as they are: (space, text, position in its record)."""
        listed = list(rows)
        for start in range(0, len(listed), BATCH):
            part = listed[start : start + BATCH]
            drafts = [make_draft(self.context.corpus, t, scope=Scope(space=s)) for s, t, _ in part]
            embedded = embed_drafts(self.context.corpus.vocabulary, drafts)
            with self.context.writer.change() as change:
                for draft, prepared, (space, _, at) in zip(drafts, embedded, part, strict=True):
                    self.ids[draft.memory.id] = (space, at)
                    insert_memory(change, draft.memory, draft.names, prepared)

    def judge(
        self, rows: Sequence[tuple[str, str]]
    ) -> Iterator[tuple[list[str], list[str], list[str], str]]:
        """Judge new statements, each alone: ids of those replaced, repeated and listed; the reason."""
        for start in range(0, len(rows), BATCH):
            part = rows[start : start + BATCH]
            drafts = [
                make_draft(self.context.corpus, text, scope=Scope(space=s)) for s, text in part
            ]
            for draft, prepared in zip(
                drafts, embed_drafts(self.context.corpus.vocabulary, drafts), strict=True
            ):
                with self.context.writer.change() as change:
                    made = judge(self.context.corpus, change, draft, prepared)
                yield (
                    [old.id for old in made.replaced],
                    [made.duplicate.id] if made.duplicate else [],
                    [old.id for old in made.related if old.review],
                    made.reason,
                )


@contextmanager
def opened() -> Generator[Memory]:
    """An empty memory."""
    with (
        tempfile.TemporaryDirectory() as folder,
        Hippocampe.open(Config(Path(folder), background=False)) as hippo,
    ):
        yield Memory(hippo)


def alone(memory: Memory, found: Sequence[Record]) -> list[Outcome]:
    """The outcome of each record in a space of its own."""
    memory.store(
        (f"r{n}", text, at)
        for n, record in enumerate(found)
        for at, text in enumerate(record.before)
    )
    new = [(f"r{n}", record.after) for n, record in enumerate(found)]
    return [
        Outcome(*(frozenset(memory.ids[id][1] for id in ids) for ids in made[:3]), made[3])
        for made in memory.judge(new)
    ]


def together(memory: Memory, found: Sequence[Record], show: int) -> dict[str, Any]:
    """New statements that merge with an older one of another record, among those of all records.

    Statements that several records share are stored once, and belong to all of them.
    """
    owners: dict[str, set[int]] = defaultdict(set)
    for number, record in enumerate(found):
        for text in record.before:
            owners[text].add(number)
    memory.store((STORE, text, at) for at, text in enumerate(owners))
    texts = list(owners)
    wrong, listed = 0, 0
    merging, missed, neither = 0, 0, 0
    for number, made in enumerate(memory.judge([(STORE, record.after) for record in found])):
        record = found[number]
        if record.label in MERGING and record.target is not None:
            replaced, repeated, reviewed = (
                {texts[memory.ids[id][1]] for id in ids} for ids in made[:3]
            )
            old = record.before[record.target]
            merging += 1
            missed += old not in replaced | repeated
            neither += old not in replaced | repeated | reviewed
        others = [
            texts[memory.ids[id][1]]
            for id in (*made[0], *made[1])
            if number not in owners[texts[memory.ids[id][1]]]
        ]
        wrong += bool(others)
        listed += len(made[2])
        if others and show > 0:
            show -= 1
            print(f"  in a store, {made[3]}\n    old {others[0]}\n    new {found[number].after}")
    return {
        "statements": len(owners),
        "new": len(found),
        "merged_with_another_record": {"count": wrong, "share": round(wrong / len(found), 4)},
        "missed": {"count": missed, "share": round(missed / max(merging, 1), 4)},
        "neither": {"count": neither, "share": round(neither / max(merging, 1), 4)},
        "listed_per_new_statement": round(listed / len(found), 2),
    }


def figures(found: Sequence[Record], outcomes: Sequence[Outcome]) -> dict[str, dict[str, Any]]:
    """Counts and shares by label."""
    totals: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for record, outcome in zip(found, outcomes, strict=True):
        of = totals[record.label]
        of["records"] += 1
        of["listed"] += bool(outcome.listed)
        if record.label in MERGING:
            missed = record.target not in outcome.merged
            of["missed"] += missed
            of["neither"] += missed and record.target not in outcome.listed
            of["lost"] += record.label != "same" and record.target in outcome.repeated
            of["wrong"] += bool(outcome.merged - {record.target})
        else:
            of["wrong"] += bool(outcome.merged)
    names = {True: ("missed", "neither", "lost", "wrong", "listed"), False: ("wrong", "listed")}
    return {
        label: {"records": of["records"]}
        | {
            name: {"count": of[name], "share": round(of[name] / of["records"], 4)}
            for name in names[label in MERGING]
        }
        for label, of in sorted(totals.items())
    }


def groups(found: Sequence[Record], outcomes: Sequence[Outcome]) -> dict[str, Any]:
    """The figures of all records, and by file and style."""
    both = list(zip(found, outcomes, strict=True))
    keys = {"all": both}
    for record, outcome in both:
        keys.setdefault(record.file, []).append((record, outcome))
        keys.setdefault(f"style {record.style}", []).append((record, outcome))
    return {key: figures(*zip(*part, strict=True)) for key, part in keys.items()}


def printed(title: str, measured: dict[str, dict[str, Any]]) -> None:
    """Print the figures of one group as a table."""
    print(title)
    for label, of in measured.items():
        shares = "  ".join(
            f"{name} {value['share']:.3f}" for name, value in of.items() if name != "records"
        )
        print(f"  {label:9} {of['records']:5}  {shares}")


def main() -> None:
    """Judge the files named on the command line, print the figures, write them as JSON."""
    parser = common.arguments(__doc__)
    parser.add_argument("files", nargs="*", type=Path)
    parser.add_argument("--pairs", type=Path, help="pairs of sentences with or without one meaning")
    parser.add_argument("--store", action="store_true", help="also judge in a store of all records")
    parser.add_argument("--show", type=int, default=0, help="wrong merges to print")
    parser.add_argument("--form", choices=(*FORMS, *BESIDE), help="the form of new statements")
    options = parser.parse_args()
    found = [record for path in options.files for record in records(path)]
    if options.form in FORMS:
        typed = FORMS[options.form]
        found = [replace(record, after=typed(record.after)) for record in found]
    elif options.form:
        kinds = [guess_language(record.after, default="en") for record in found]
        ones, twos = others(kinds), others(kinds, STRIDE * STRIDE)
        form = BESIDE[options.form]
        found = [
            form(record, found[one], found[two])
            for record, one, two in zip(found, ones, twos, strict=True)
        ]
    if options.pairs:
        found += pairs(options.pairs)
    natural = [record for record in found if record.topic and "minimal" not in record.file]
    with opened() as memory:
        outcomes = alone(memory, found)
        results: dict[str, Any] = {"groups": groups(found, outcomes)}
        if options.store:
            results["store"] = together(memory, natural, options.show)
    common.save(options.out, "updates", results)
    for title, measured in results["groups"].items():
        printed(title, measured)
    print(results.get("store", ""))
    for record, outcome in zip(found, outcomes, strict=True):
        wrong = outcome.merged - {record.target} if record.label in MERGING else outcome.merged
        if wrong and options.show > 0:
            options.show -= 1
            old = record.before[min(wrong)]
            print(f"  {record.label}, {outcome.reason}\n    old {old}\n    new {record.after}")


if __name__ == "__main__":
    main()
