"""The leaderboard runs a memory behind its adapter, and the providers of foreign benchmarks answer."""

import importlib
import json
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

import children

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
    table = children.run(folder / "table.py", out, text=True)
    assert "| sqlite_fts5 | 1 |" in table.stdout


def test_fetched_data_becomes_a_folder(tmp_path: Path) -> None:
    turns = [{"speaker": "Ana", "dia_id": "D1:1", "text": "hello"}]
    asked = [
        {"question": "who said hello?", "category": 1, "evidence": ["D1:1"]},
        {"question": "who left?", "category": 5, "evidence": ["D1:1"]},
    ]
    talk = {"session_1": turns, "session_1_date_time": "8 May"}
    written(tmp_path / "locomo10.json", [{"conversation": talk, "qa": asked}])
    program = BENCHMARKS / "leaderboard" / "data.py"
    done = children.run(program, "locomo", tmp_path / "locomo10.json", tmp_path / "made", text=True)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "made" / "qrels.tsv").read_text() == "c00/q0\tc00/D1:1\n"
    (row,) = (tmp_path / "made" / "corpus.jsonl").read_text().splitlines()
    assert json.loads(row) == {"id": "c00/D1:1", "text": "Ana: hello", "scope": "c00"}


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
