"""Bulk import rates of talk and memories, with and without embedding, and of a rebuild of the index.

    python benchmarks/bulk.py [--messages 20000] [--memories 20000] [--texts FILE...]
                              [--out results.json]

Everything goes through `import_from` into an empty folder: talk as JSON Lines, memories as a Hippocampe
export. "Once embedded" is the rate without the time spent in the embedder. Each import runs in its own
process, and its peak memory is reported.
"""

import json
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import NAMESPACE_URL, uuid5

import common
from hippocampe import Hippocampe, Scope
from hippocampe.config import Config

START = datetime(2024, 1, 1, tzinfo=UTC)


def write_talk(path: Path, texts: list[str]) -> None:
    """JSON Lines of messages by five people on four channels."""
    with path.open("w", encoding="utf-8") as lines:
        for number, text in enumerate(texts):
            line = {
                "content": text,
                "author": f"person {number % 5}",
                "channel": f"room {number % 4}",
                "at": (START + timedelta(minutes=number)).isoformat(),
                "external_id": str(number),
            }
            lines.write(json.dumps(line, ensure_ascii=False) + "\n")


def write_memories(path: Path, texts: list[str]) -> None:
    """A Hippocampe export with one memory per text."""
    with path.open("w", encoding="utf-8") as lines:
        lines.write(json.dumps({"hippocampe": 1, "space": "default"}) + "\n")
        for number, text in enumerate(texts):
            at = (START + timedelta(minutes=number)).isoformat()
            row = {
                "record": "memory",
                "id": str(uuid5(NAMESPACE_URL, str(number))),
                "collection": "memory",
                "type": "fact",
                "content": text,
                "subjects": [],
                "importance": 0.6,
                "source": "benchmark",
                "created_at": at,
                "updated_at": at,
                "evidence": [],
            }
            lines.write(json.dumps(row, ensure_ascii=False) + "\n")


def bring_in(path: Path, folder: Path, format: str) -> dict[str, Any]:
    """Import one file into an empty folder. Call it in a fresh process."""
    watch = common.Stopwatch()
    with Hippocampe.open(Config(folder)) as hippo:
        hippo._context.corpus.vocabulary.embedder.embed(
            ["."]
        )  # the weights are loaded before the clock starts
        idle = common.memory_mib()
        with common.watched(
            (type(hippo._context.corpus.vocabulary.embedder), "embed", watch.of("embed"))
        ):
            started = time.perf_counter()
            done = hippo.import_from(path, scope=Scope(), format=format)
            took = time.perf_counter() - started
        embedding = sum(watch.spent["embed"])
        found: dict[str, Any] = {
            "added": done.added,
            "problems": len(done.problems),
            "seconds": round(took, 2),
            "seconds_embedding": round(embedding, 2),
            "per_second": round(done.added / took),
            "per_second_once_embedded": round(done.added / (took - embedding)),
            "memory_mib_before": idle,
            "peak_memory_mib": common.memory_mib(peak=True),
        }
        started = time.perf_counter()
        hippo.reindex()
        found["reindexed_per_second"] = round(done.added / (time.perf_counter() - started))
        found["verified"] = hippo.verify().ok
    return found


def run(messages: int, memories: int, source: list[Path]) -> dict[str, Any]:
    """Import talk, then memories, each into its own folder."""
    found: dict[str, Any] = {}
    for name, count, write, format in (
        ("messages", messages, write_talk, "jsonl"),
        ("memories", memories, write_memories, "hippocampe"),
    ):
        with tempfile.TemporaryDirectory() as scratch:
            path, data = Path(scratch) / "import.jsonl", Path(scratch) / "data"
            write(path, common.texts(source, count))
            figures = common.in_own_process(bring_in, path, data, format)
            found[name] = figures | {"disk_mib": common.folder_mib(data)}
    return found


def main() -> None:
    """Measure with the counts given on the command line."""
    parser = common.arguments(__doc__)
    parser.add_argument("--messages", type=int, default=20_000)
    parser.add_argument("--memories", type=int, default=20_000)
    parser.add_argument(
        "--texts",
        type=Path,
        nargs="+",
        default=[],
        help="JSON Lines with a `text`; default: made up",
    )
    options = parser.parse_args()
    found = run(options.messages, options.memories, options.texts)
    for name, figures in found.items():
        print(f"{name}: " + ", ".join(f"{key} {value}" for key, value in figures.items()))
    common.save(options.out, "bulk", found)


if __name__ == "__main__":
    main()
