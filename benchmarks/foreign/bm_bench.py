"""Run the retrieval benchmark of basic-memory (`bm-bench`) against the installed package.

    python benchmarks/foreign/bm_bench.py HARNESS LOCOMO [--corrections FOLDER] [--out FILE]

HARNESS is its folder `benchmarks`, LOCOMO the file of conversations, both from `fetch.py`; `--corrections` has the
corrected answer key. Needs pydantic, python-frontmatter, httpx, typer, rich and mcp. The harness is not changed: it takes a
provider from outside. All sessions of all conversations are in one space; each line of a session is stored as talk. A
session scores as likely as one of its found lines answers: 1 - ∏(1 - score).
"""

import argparse
import json
import re
import shutil
import sys
import tempfile
from collections import defaultdict
from importlib.metadata import version
from math import prod
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
from hippocampe import Config, Hippocampe, Scope

LINES = 60
"""Lines of talk that are found for a question, before they are joined to sessions."""
_LINE = re.compile(r"- \*\*(.+?):\*\* (.*)")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("harness", type=Path)
    parser.add_argument("locomo", type=Path)
    parser.add_argument("--corrections", type=Path)
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    sys.path.insert(0, str(given.harness / "src"))

    from basic_memory_benchmarks import models, runner
    from basic_memory_benchmarks.converters.locomo_to_corpus import convert_locomo_to_corpus
    from basic_memory_benchmarks.providers.base import BenchmarkProvider
    from basic_memory_benchmarks.providers.baseline_grep import FilesystemGrepProvider
    from basic_memory_benchmarks.utils import sha256_file

    class Provider(BenchmarkProvider):
        name = "hippocampe"

        def ingest(self, corpus_path: Path, run_config: Any) -> None:
            self._folder = Path(tempfile.mkdtemp(prefix="bm-bench-"))
            self._hippo = Hippocampe.open(
                Config(self._folder / "data", background=False), join=False
            )
            talk = self._folder / "talk.jsonl"
            with talk.open("w", encoding="utf-8") as lines:
                for page in sorted(corpus_path.rglob("*.md")):
                    for message in messages(page):
                        lines.write(json.dumps(message, ensure_ascii=False) + "\n")
            self._hippo.import_from(talk, scope=Scope(), format="jsonl")
            self._hippo.flush()

        def search(self, query: str, limit: int, run_config: Any) -> list[Any]:
            found = self._hippo.recall(query, scope=Scope(), collections=["turn"], limit=LINES)
            missing: defaultdict[str, list[float]] = defaultdict(list)
            texts: defaultdict[str, list[str]] = defaultdict(list)
            for each in found:
                missing[each.channel or ""].append(1 - each.score)
                texts[each.channel or ""].append(each.content)
            scores = {session: 1 - prod(each) for session, each in missing.items()}
            best = sorted(scores, key=lambda session: -scores[session])[:limit]
            return [
                models.SearchHit(
                    id=session,
                    source_doc_id=session,
                    source_path=f"{session}.md",
                    text="\n".join(texts[session])[:2000],
                    score=scores[session],
                )
                for session in best
            ]

        def cleanup(self, run_config: Any) -> None:
            self._hippo.close()
            shutil.rmtree(self._folder)

        def version_info(self) -> dict[str, str]:
            return {"hippocampe": version("hippocampe")}

    providers = {"hippocampe": Provider, "baseline-grep": FilesystemGrepProvider}
    with tempfile.TemporaryDirectory() as scratch:
        where = Path(scratch)
        docs, queries, sessions, questions = convert_locomo_to_corpus(
            given.locomo, where, audit_corrections_path=given.corrections
        )
        run_dir = runner.run_retrieval(
            run_config=models.RunConfig(
                run_id="hippocampe",
                dataset_id="locomo",
                dataset_path=str(given.locomo),
                corpus_dir=str(docs),
                queries_path=str(queries),
                output_root=str(where / "runs"),
                providers=list(providers),
                top_k=10,
                bm_source="",
                allow_provider_skip=False,
            ),
            dataset=models.DatasetProvenance(
                dataset_id="locomo",
                source_url="https://github.com/snap-research/locomo",
                checksum_sha256=sha256_file(given.locomo),
                license_note="CC BY-NC 4.0",
                fetched_at_utc="",
            ),
            provider_factory=lambda name: providers[name](),
        )
        summaries = {
            path.name: json.loads(path.read_text(encoding="utf-8"))
            for path in sorted(run_dir.rglob("*summary*.json"))
        }
        result = {"sessions": sessions, "questions": questions, "summaries": summaries}
    print(json.dumps(result, indent=1)[:4_000])
    if given.out:
        common.save(given.out, "bm-bench", result)


def messages(page: Path) -> list[dict[str, str]]:
    """The lines of a session as talk, with the session as channel."""
    said: list[dict[str, str]] = []
    for line in page.read_text(encoding="utf-8").splitlines():
        if found := _LINE.fullmatch(line):
            said.append({"author": found[1], "content": found[2], "channel": page.stem})
    return said


if __name__ == "__main__":
    main()
