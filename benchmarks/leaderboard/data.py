"""Turn data that users fetch themselves into folders that `run.py --data` reads.

    python benchmarks/foreign/fetch.py fetched locomo piaf beam realtalk
    python benchmarks/leaderboard/data.py locomo fetched/locomo/data/locomo10.json folder/locomo
    python benchmarks/leaderboard/data.py piaf fetched/piaf/data/piaf-v1.1.json folder/piaf
    python benchmarks/leaderboard/data.py beam fetched/beam/chats/100K folder/beam
    python benchmarks/leaderboard/data.py realtalk fetched/realtalk/data folder/realtalk

LoCoMo and REALTALK: each turn is a text, each conversation a scope of its own; questions with evidence, and the adversarial
ones of LoCoMo as questions without an answer. BEAM: each message is a text, each chat a scope; the questions of the type
`abstention` have no answer. PIAF and other data in SQuAD's form: each paragraph is a text.
"""

import json
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

ADVERSARIAL = 5
UNANSWERED = "none"
Row = dict[str, Any]
Rows = Iterator[tuple[str, Row]]
"""Rows, each with the file that it belongs in."""


def locomo(path: Path) -> Rows:
    """The rows of LoCoMo."""
    for number, each in enumerate(loaded(path)):
        yield from conversation(f"c{number:02d}", each["conversation"], each["qa"])


def realtalk(folder: Path) -> Rows:
    """The rows of REALTALK: each file is a conversation in the form of LoCoMo, its sessions beside its questions."""
    for path in sorted(folder.glob("Chat_*.json")):
        talk = loaded(path)
        sessions = {name: turns for name, turns in talk.items() if name.startswith("session_")}
        yield from conversation(path.stem, sessions, talk["qa"])


def conversation(scope: str, talk: Row, questions: Sequence[Row]) -> Rows:
    """The rows of a conversation of two people."""
    turns = [turn for each in talk.values() if isinstance(each, list) for turn in each]
    for turn in turns:
        text = f"{turn['speaker']}: {turn.get('clean_text', turn.get('text', ''))}"
        yield "corpus", {"id": f"{scope}/{turn['dia_id']}", "text": text, "scope": scope}
    for place, asked in enumerate(questions):
        none = asked["category"] == ADVERSARIAL
        kind = UNANSWERED if none else str(asked["category"])
        said = [t for each in asked.get("evidence", ()) for t in each.replace(";", " ").split()]
        yield from question(scope, f"q{place}", asked["question"], kind, said)


def question(scope: str, id: str, text: str, kind: str, answers: Iterable[object]) -> Rows:
    """The rows of a question, and of the texts that answer it, if anything does."""
    yield "queries", {"id": f"{scope}/{id}", "text": text, "scope": scope, "type": kind}
    for answer in answers if kind != UNANSWERED else ():
        yield "qrels", {"query": f"{scope}/{id}", "text": f"{scope}/{answer}"}


def beam(folder: Path) -> Rows:
    """The rows of the chats of one size of BEAM."""
    for path in sorted(folder.glob("*/chat.json")):
        scope = path.parent.name
        turns = (turn for batch in loaded(path) for turn in batch["turns"])
        for message in (message for turn in turns for message in turn):
            # The number of the turn in its plan follows the words.
            text = message["content"].partition("->->")[0].rstrip()
            yield "corpus", {"id": f"{scope}/{message['id']}", "text": text, "scope": scope}
        questions = loaded(path.parent / "probing_questions" / "probing_questions.json")
        for kind, some in questions.items():
            for place, asked in enumerate(some):
                kept = UNANSWERED if kind == "abstention" else kind
                said = sorted(numbers(asked.get("source_chat_ids")))
                yield from question(scope, f"{kind}{place}", asked["question"], kept, said)


def numbers(found: Any) -> set[int]:
    """The numbers in a list, or in the lists of a mapping."""
    if isinstance(found, int):
        return {found}
    inner = found.values() if isinstance(found, dict) else found or ()
    return {number for each in inner for number in numbers(each)}


def loaded(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))


def piaf(path: Path) -> Rows:
    """The rows of data in SQuAD's form."""
    for number, article in enumerate(loaded(path)["data"]):
        for place, paragraph in enumerate(article["paragraphs"]):
            id = f"a{number}/p{place}"
            yield "corpus", {"id": id, "text": paragraph["context"]}
            for question in paragraph["qas"]:
                yield "queries", {"id": str(question["id"]), "text": question["question"]}
                yield "qrels", {"query": str(question["id"]), "text": id}


SETS = {each.__name__: each for each in (locomo, realtalk, beam, piaf)}


def main(name: str, source: str, target: str) -> None:
    """Write the folder of one data set."""
    folder = Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    rows: dict[str, list[str]] = {"corpus": [], "queries": [], "qrels": []}
    for file, row in SETS[name](Path(source)):
        line = "\t".join(row.values()) if file == "qrels" else json.dumps(row, ensure_ascii=False)
        rows[file].append(line)
    for file, lines in rows.items():
        ending = "tsv" if file == "qrels" else "jsonl"
        (folder / f"{file}.{ending}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(", ".join(f"{len(lines):,} {file}" for file, lines in rows.items()))


if __name__ == "__main__":
    main(*sys.argv[1:])
