"""Turn data that users fetch themselves into folders that `run.py --data` reads.

    python benchmarks/foreign/fetch.py fetched locomo piaf
    python benchmarks/leaderboard/data.py locomo fetched/locomo/data/locomo10.json folder/locomo
    python benchmarks/leaderboard/data.py piaf piaf-v1.2.json folder/piaf

LoCoMo: each turn is a text, each conversation a scope of its own; questions with evidence, and the adversarial ones as
questions without an answer. PIAF and other data in SQuAD's form: each paragraph is a text.
"""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

ADVERSARIAL = 5
Row = dict[str, Any]


def locomo(path: Path) -> Iterator[tuple[str, Row]]:
    """The rows of LoCoMo, each with the file that it belongs in."""
    for number, each in enumerate(json.loads(path.read_text(encoding="utf-8"))):
        scope, talk = f"c{number:02d}", each["conversation"]
        for turns in talk.values():
            if isinstance(turns, list):
                for turn in turns:
                    text = f"{turn['speaker']}: {turn.get('text', '')}"
                    yield (
                        "corpus",
                        {"id": f"{scope}/{turn['dia_id']}", "text": text, "scope": scope},
                    )
        for place, asked in enumerate(each["qa"]):
            id = f"{scope}/q{place}"
            none = asked["category"] == ADVERSARIAL
            yield (
                "queries",
                {
                    "id": id,
                    "text": asked["question"],
                    "scope": scope,
                    "type": "none" if none else str(asked["category"]),
                },
            )
            for evidence in () if none else asked.get("evidence", ()):
                for turn in evidence.replace(";", " ").split():
                    yield "qrels", {"query": id, "text": f"{scope}/{turn}"}


def piaf(path: Path) -> Iterator[tuple[str, Row]]:
    """The rows of data in SQuAD's form."""
    for number, article in enumerate(json.loads(path.read_text(encoding="utf-8"))["data"]):
        for place, paragraph in enumerate(article["paragraphs"]):
            id = f"a{number}/p{place}"
            yield "corpus", {"id": id, "text": paragraph["context"]}
            for question in paragraph["qas"]:
                yield "queries", {"id": str(question["id"]), "text": question["question"]}
                yield "qrels", {"query": str(question["id"]), "text": id}


def main(name: str, source: str, target: str) -> None:
    """Write the folder of one data set."""
    folder = Path(target)
    folder.mkdir(parents=True, exist_ok=True)
    rows: dict[str, list[str]] = {"corpus": [], "queries": [], "qrels": []}
    for file, row in {"locomo": locomo, "piaf": piaf}[name](Path(source)):
        line = "\t".join(row.values()) if file == "qrels" else json.dumps(row, ensure_ascii=False)
        rows[file].append(line)
    for file, lines in rows.items():
        ending = "tsv" if file == "qrels" else "jsonl"
        (folder / f"{file}.{ending}").write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(", ".join(f"{len(lines):,} {file}" for file, lines in rows.items()))


if __name__ == "__main__":
    main(*sys.argv[1:])
