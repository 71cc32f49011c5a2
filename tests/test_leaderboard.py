"""The leaderboard runs a memory behind its adapter, and the providers of foreign benchmarks answer."""

import importlib
import json
import os
import sys
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace

import pytest
from fastapi.testclient import TestClient

import children
from hippocampe.embed.local import LocalEmbedder

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
TEXTS = {
    "d0": "Camille planted a cherry tree behind the barn",
    "d1": "Owen repairs violins in a cellar in Ghent",
    "d2": "Pavel keeps eleven beehives on the roof",
}


def written(path: Path, *rows: object) -> None:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    folder = tmp_path / "memories"
    folder.mkdir()
    written(folder / "corpus.jsonl", *({"id": id, "text": text} for id, text in TEXTS.items()))
    written(
        folder / "queries.jsonl",
        {"id": "q0", "text": "where is the cherry tree?"},
        {"id": "q1", "text": "who repairs violins?"},
        {"id": "q2", "text": "quarterly turnover", "type": "none"},
    )
    (folder / "qrels.tsv").write_text("q0\td0\nq1\td1\n")
    return folder


def test_a_memory_is_measured_behind_its_adapter(tmp_path: Path, data: Path) -> None:
    corrections = tmp_path / "changes"
    corrections.mkdir()
    update = {"before": ["Ana lives in Lyon"], "after": "Ana lives in Lille", "label": "update"}
    apart = {"before": ["Ana has a cat"], "after": "Bo has a dog", "label": "separate"}
    written(corrections / "en.jsonl", update | {"supersedes": 0}, apart | {"supersedes": None})
    out = tmp_path / "words.json"
    folder = BENCHMARKS / "leaderboard"
    line = ("sqlite_fts5", "--data", data, "--changes", corrections, "--kills", 1, "--out", out)
    done = children.run(folder / "run.py", *line, text=True)
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text(encoding="utf-8"))
    assert found["recall"]["memories"]["recall@5"] == 1
    assert found["recall"]["memories"]["given without an answer"] == 0
    # Words alone never replace anything.
    assert found["changes"]["missed corrections"] == 1
    assert found["changes"]["wrong corrections"] == 0
    assert found["durability"]["acknowledged"] > 0
    assert found["durability"]["lost"] == 0
    saved = tmp_path / "leaderboard.json"
    table = children.run(folder / "table.py", out, "--out", saved, text=True)
    assert "| sqlite_fts5 | 1 |" in table.stdout
    assert children.run(folder / "table.py", saved, text=True).stdout == table.stdout


@pytest.mark.parametrize("name", ["hippocampe", "hippocampe_talk"])
def test_this_memory_behind_its_adapters(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS / "leaderboard")
    # The adapter replaces the method; this puts it back.
    monkeypatch.setattr(LocalEmbedder, "embed_query", LocalEmbedder.embed_query)
    adapter = importlib.import_module(f"adapters.{name}").Adapter
    memory = adapter(tmp_path / "data", SimpleNamespace(timed=nullcontext))
    memory.add(list(TEXTS.items()))
    found = memory.search("where is the cherry tree?", 2)
    assert found[0][0] == "d0"
    assert found == sorted(found, key=lambda each: -each[1])
    memory.close()


TURN = {"speaker": "Ana", "dia_id": "D1:1", "text": "hello"}
ASKED = [
    {"question": "who said hello?", "category": 1, "evidence": ["D1:1"]},
    {"question": "who left?", "category": 5, "evidence": ["D1:1"]},
]
SESSION = {"session_1": [TURN], "session_1_date_time": "8 May"}


def folder_of(name: str, source: Path, target: Path) -> tuple[list[dict[str, str]], list[str]]:
    """The texts and the answers of the folder that `data.py` makes of a source."""
    done = children.run(BENCHMARKS / "leaderboard" / "data.py", name, source, target, text=True)
    assert done.returncode == 0, done.stderr
    texts = (target / "corpus.jsonl").read_text().splitlines()
    return [json.loads(row) for row in texts], (target / "qrels.tsv").read_text().splitlines()


def test_locomo_becomes_a_folder(tmp_path: Path) -> None:
    written(tmp_path / "locomo10.json", [{"conversation": SESSION, "qa": ASKED}])
    texts, answers = folder_of("locomo", tmp_path / "locomo10.json", tmp_path / "made")
    assert texts == [{"id": "c00/D1:1", "text": "Ana: hello", "scope": "c00"}]
    assert answers == ["c00/q0\tc00/D1:1"]


def test_realtalk_becomes_a_folder(tmp_path: Path) -> None:
    said = TURN | {"text": "helo", "clean_text": "hello"}
    talk = SESSION | {"name": {"speaker_1": "Ana"}, "session_1": [said], "qa": ASKED[:1]}
    written(tmp_path / "Chat_1_Ana_Bo.json", talk)
    texts, answers = folder_of("realtalk", tmp_path, tmp_path / "made")
    assert texts == [{"id": "Chat_1_Ana_Bo/D1:1", "text": "Ana: hello", "scope": "Chat_1_Ana_Bo"}]
    assert answers == ["Chat_1_Ana_Bo/q0\tChat_1_Ana_Bo/D1:1"]


def test_beam_becomes_a_folder(tmp_path: Path) -> None:
    questions = tmp_path / "7" / "probing_questions"
    questions.mkdir(parents=True)
    said = {"role": "user", "id": 0, "content": "My sprint ends on Friday. ->-> 1,1"}
    answered = {"role": "assistant", "id": 1, "content": "Noted."}
    written(tmp_path / "7" / "chat.json", [{"batch_number": 1, "turns": [[said, answered]]}])
    asked = {
        "abstention": [{"question": "who is my boss?", "source_chat_ids": [0]}],
        "knowledge_update": [
            {"question": "when does it end?", "source_chat_ids": {"old": [1], "new": [0]}}
        ],
        "summarization": [{"question": "what did we say?"}],
    }
    written(questions / "probing_questions.json", asked)
    texts, answers = folder_of("beam", tmp_path, tmp_path / "made")
    assert [row["text"] for row in texts] == ["My sprint ends on Friday.", "Noted."]
    assert answers == ["7/knowledge_update0\t7/0", "7/knowledge_update0\t7/1"]


def test_the_provider_of_the_precision_benchmark(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS / "foreign")
    service = importlib.import_module("precision").service(tmp_path / "data", by_scope=True)
    client = TestClient(service)
    belief = {"text": "We deploy to Kubernetes on Fridays", "user_id": "u", "aliases": ["kube"]}
    named = {"metadata": {"beliefId": "b1", "scope": "ops"}}
    client.post("/add", json=belief | named)

    def found(**more: str) -> list[tuple[str, str]]:
        asked = {"query": "when do we deploy to Kubernetes?", "user_id": "u", **more}
        results = client.post("/search", json=asked).json()["results"]
        return [(each["id"], each["text"]) for each in results]

    assert found(scope="ops") == [("b1", "We deploy to Kubernetes on Fridays")]
    assert found(scope="other") == []
    client.put("/update", json=belief | named | {"text": "We deploy to Kubernetes on Mondays"})
    assert found() == [("b1", "We deploy to Kubernetes on Mondays")]
    client.request("DELETE", "/reset")
    assert found() == []


NPX = """#!{python}
import json, pathlib, sys, urllib.request
known = json.loads(pathlib.Path("providers.config.json").read_text())
assert known["other"] == {{}}
urllib.request.urlopen(known["hippocampe"]["defaultUrl"] + "/openapi.json").read()
name = "retrieval-report" if sys.argv[2].startswith("src/retrieval") else "session-retrieval-report"
found = {{"totalPassed": 1, "totalCases": 2, "meanPrecision": 0.5, "meanRecall": 1.0}}
found["categories"] = [{{"category": "Aliases", "passed": 1, "caseCount": 2}}]
report = pathlib.Path("test-results", name + "-hippocampe.json")
report.write_text(json.dumps({{"retrieval": found}}))
sys.exit(1)
"""


def test_the_precision_benchmark_is_run_and_its_figures_are_kept(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness, programs = tmp_path / "harness", tmp_path / "programs"
    for folder in ("fixtures", "src/adapters", "test-results"):
        (harness / folder).mkdir(parents=True)
    for name in ("fixtures/retrieval.cases.json", "src/adapters/baseAdapter.ts"):
        (harness / name).write_text("[]")
    (harness / "providers.config.json").write_text('{"other": {}}')
    programs.mkdir()
    (programs / "npx").write_text(NPX.format(python=sys.executable))
    (programs / "npx").chmod(0o755)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    out = tmp_path / "precision.json"
    done = children.run(BENCHMARKS / "foreign" / "precision.py", harness, "--out", out, text=True)
    assert done.returncode == 0, done.stderr
    saved = json.loads(out.read_text(encoding="utf-8"))
    command = "python benchmarks/foreign/precision.py harness --out precision.json"
    assert saved["command"] == command
    figures = {"passed": 1, "cases": 2, "precision": 0.5, "recall": 1.0}
    figures["categories"] = {"Aliases": "1 of 2"}
    both = {"alone": figures, "in a session": figures}
    assert saved["results"]["as it is"] == both
    assert saved["results"]["the scope as a filter"] == both
