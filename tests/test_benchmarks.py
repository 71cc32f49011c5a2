"""Each benchmark runs on a little made-up data, and its results can be reported."""

import importlib
import json
import sys
from datetime import date
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import children
from browsing import CHROMIUM, launched

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"
TEXTS = [
    "Camille a planté un cerisier derrière la grange",
    "Owen repairs violins in a cellar in Ghent",
    "Nadia a vendu son bateau à un pêcheur de Lorient",
    "The lighthouse keeper collects blue marbles",
    "Tomas apprend à jouer de l'accordéon le mardi",
    "Ingrid paints trains on very small canvases",
    "Le chat de Maud dort dans un tambour",
    "Pavel keeps eleven beehives on the roof",
]
QUESTIONS = {0: "le cerisier de Camille", 1: "who repairs violins?", 7: "how many beehives?"}


FORKING = """
import os, runpy, sys
import children
children.fork_all()
sys.argv = sys.argv[1:]
sys.path[0] = os.path.dirname(sys.argv[0])
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def run(name: str, out: Path | None, *arguments: object) -> dict[str, Any]:
    written = ("--out", out) if out else ()
    script = BENCHMARKS / f"{name}.py"
    done = children.run("-c", FORKING, script, *arguments, *written, text=True)
    assert done.returncode == 0, done.stderr
    return json.loads(out.read_text(encoding="utf-8")) if out else {"printed": done.stdout}


def corpus(folder: Path, **more: str) -> Path:
    folder.mkdir()
    rows = [{"id": f"d{n}", "text": text} | more for n, text in enumerate(TEXTS)]
    asked = [{"id": f"q{n}", "text": text, "type": "easy"} for n, text in QUESTIONS.items()]
    asked = [each | ({"scope": more["scope"]} if more else {}) for each in asked]
    asked.append({"id": "without", "text": "nothing answers this"})
    for name, each in (("corpus", rows), ("queries", asked)):
        lines = "".join(json.dumps(row) + "\n" for row in each)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    (folder / "qrels.tsv").write_text("".join(f"q{n}\td{n}\n" for n in QUESTIONS))
    return folder


def test_a_date_that_cannot_be_read_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    moment = importlib.import_module("corpora").moment
    assert moment(None) is moment("") is None
    for text in ("1:56 pm on 8 May, 2023", "May-08-2023", "2023-05-08", "8 May 2023"):
        assert moment(text).date() == date(2023, 5, 8)
    with pytest.raises(ValueError, match="cannot read the date '8/5/23'"):
        moment("8/5/23")


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("results")


def test_a_word_space_is_centred_and_keeps_the_main_directions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    word_space = importlib.import_module("word_space")
    chance = np.random.default_rng(3)
    cloud = (chance.normal(size=(500, 6)) * [5, 4, 0.01, 0.01, 0.01, 0.01] + 7).astype(np.float32)
    space = word_space.fit(cloud, 2)
    placed = space.place(cloud)
    assert placed.shape == (500, 2)
    assert np.allclose(np.linalg.norm(placed, axis=1), 1, atol=1e-5)
    assert space.projection is not None
    assert np.abs(space.projection[2:]).max() < 0.01


def test_recall_of_talk_and_of_memories(tmp_path: Path, results: Path) -> None:
    talk = corpus(tmp_path / "talk", scope="one", speaker="Maud", date="1:56 pm on 8 May, 2023")
    notes = corpus(tmp_path / "notes")
    report = run("recall", results / "recall.json", talk, notes, "--cache", tmp_path / "cache")
    assert str(tmp_path) not in json.dumps(report)
    found = report["results"]["folders"]
    assert {name: each["form"] for name, each in found.items()} == {
        "talk": "talk",
        "notes": "memory",
    }
    for each in found.values():
        assert each["questions"] == 3
        assert each["candidates"]["share_of_evidence"] == 1
        assert each["rows"]["BM25"]["hit@1"]["mean"] == 1
        assert {"dense", "fused candidates", "hybrid (the whole)"} <= set(each["rows"])
        assert each["kinds"]["easy"]["questions"] == 3
        for error in ("error", "error_of_the_first"):
            assert 0 <= each["calibration"][error] <= 1
        assert sum(bin["count"] for bin in each["calibration"]["reliability"]) > 3
    markdown = run("report", None, results / "recall.json")["printed"]
    assert "in-sample" not in markdown
    learnt = tmp_path / "learnt.json"
    report["results"]["folders"]["talk"]["in_sample"] = True
    learnt.write_text(json.dumps(report), encoding="utf-8")
    assert "### talk (in-sample)\n\nIn-sample: " in run("report", None, learnt)["printed"]
    assert "### talk" in markdown
    assert "| BM25 |" in markdown


def test_injection_of_talk_and_of_memories(tmp_path: Path, results: Path) -> None:
    talk = corpus(tmp_path / "talk", scope="one", speaker="Maud", date="1:56 pm on 8 May, 2023")
    notes = corpus(tmp_path / "notes")
    with (notes / "queries.jsonl").open("a", encoding="utf-8") as lines:
        lines.write(json.dumps({"id": "none", "text": "zzyzx", "type": "none"}) + "\n")
    report = run("injection", results / "injection.json", talk, notes, "--questions", 2)
    said = json.dumps(report, ensure_ascii=False)
    assert not any(text in said for text in (*TEXTS, *QUESTIONS.values(), str(tmp_path)))
    found = report["results"]["folders"]
    assert {name: each["form"] for name, each in found.items()} == {
        "talk": "talk",
        "notes": "memory",
    }
    assert [each["unanswered"] for each in found.values()] == [0, 1]
    assert found["notes"]["rows"]["BM25, first 10"]["quiet"] == 1
    assert found["notes"]["rows"]["last 20 messages"]["quiet"] == 0
    for each in found.values():
        assert each["questions"] == 2
        for row in ("hybrid, first 10", "BM25, first 10", "last 20 messages"):
            assert each["rows"][row]["hit rate"]["mean"] == 1
        # All eight are among the last twenty, and one of them is right.
        assert each["rows"]["last 20 messages"]["precision"]["mean"] == 1 / 8
        turns = {name: row for name, row in each["rows"].items() if "missing" in row}
        assert len(turns) == 7
        assert not any(row["missing"] or row["unsearched"] for row in turns.values())
        items = [row["items"]["mean"] for name, row in turns.items() if name != "as shipped"]
        assert items == sorted(items, reverse=True)
        for row in each["rows"].values():
            assert row["tokens"]["high"] <= each["token_budget"]
            assert (row["precision"] is None) == (row["empty"]["mean"] == 1)
    markdown = run("report", None, results / "injection.json")["printed"]
    assert "| BM25, first 10 |" in markdown


def test_latency(results: Path) -> None:
    small = ("--sizes", 60, "--spaces", 2, "--turns", 30, "--queries", 5)
    small += ("--graph-threshold", 25, "--openings", 1)
    report = run("latency", results / "latency.json", *small)
    [found] = report["results"]["sizes"]
    for phase in ("before_graph", "while_building", "just_after_graph", "after_graph"):
        assert found[phase]["recall"]["count"] > 0
        assert "embedding" in found[phase]["stages"]
        assert {"analyse", "search", "render"} <= set(found[phase]["before_turn_stages"])
        assert found[phase]["before_turn"]["items"] > 0
        assert found[phase]["before_turn"]["missing"] == 0
    assert found["graphed"] >= 60
    remembered = found["after_graph"]["remember"]
    assert remembered["findable"] == remembered["count"] == 5
    assert found["cold"]["open_ms"] > 0
    assert "with the graph" in run("report", None, results / "latency.json")["printed"]


def test_pages(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if CHROMIUM is None:
        with launched():
            pass  # skipped without a browser
    else:
        monkeypatch.setenv("CHROMIUM", CHROMIUM)
    small = ("--sizes", 20, "--runs", 1, "--pages", "/memory,/menu/badges")
    [(_, found)] = [
        each
        for each in run("pages", results / "pages.json", *small)["results"].items()
        if each[0].isdecimal()
    ]
    assert found["/memory"]["server_ms"] > 0
    assert found["/memory"]["kilobytes"] > 1
    assert found["/memory"]["paint_ms"] > 0
    assert "| /memory" in run("report", None, results / "pages.json")["printed"]


def test_overload(results: Path) -> None:
    figures = run(
        *("overload", results / "overload.json", "--size", 100, "--turns", 30, "--seconds", 0.3),
        *("--callers", "1,2", "--deadline", 2_000),
    )["results"]
    assert figures["capacity_per_second"] > 0
    assert set(figures["closed_loop"]) == {"1", "2"}
    arrived = figures["open_loop"]
    assert arrived["turns"] == int(0.3 * 2 * figures["capacity_per_second"])
    assert arrived["partial"] + arrived["refused"] <= arrived["turns"]
    assert "arrivals a second" in run("report", None, results / "overload.json")["printed"]


def test_server_load(results: Path) -> None:
    small = ("--size", 80, "--turns", 20, "--seconds", 0.1, "--overload-seconds", 0.2)
    patient = ("--start", 100, "--limit", 250, "--deadline", 5_000)
    pages = ("--pages", "/memory,/api/memory/stats")
    out = results / "server_load.json"
    figures = run("server_load", out, *small, *patient, *pages)["results"]
    assert figures["server"]["rate"] > 0
    over = figures["server"]["overload"]
    assert over["arrivals_per_second"] == round(2 * figures["server"]["rate"], 1)
    assert over["other_5xx"] == 0
    assert set(over["kinds"]) == {"turn", "store", "recall", "page"}
    assert "library alone" in run("report", None, out)["printed"]


@pytest.mark.skipif(sys.platform != "linux", reason="processor times of processes")
def test_cells(results: Path) -> None:
    out = results / "cells.json"
    small = ("--size", 60, "--turns", 20, "--seconds", 0.15, "--callers", 1, "--warm", 0.1)
    figures = run("cells", out, *small)["results"]
    one, two = figures["measured"]
    assert set(two["throughput"]["processor_ms_per_turn"]) >= {"router", "cell 0", "cell 1"}
    for each in (one, two):
        assert each["throughput"]["full"] == each["throughput"]["turns"] > 0
    assert [each["cores"] for each in figures["model"]] == [2, 4, 8, 16]
    assert "processor ms a turn" in run("report", None, out)["printed"]


def test_sharing(results: Path) -> None:
    out = results / "sharing.json"
    typed = ("--size", 60, "--turns", 30, "--runs", 2, "--starts", 1)
    figures = run("sharing", out, *typed)["results"]
    assert all(figures["calls_ms"]["now"][door]["p50"] > 0 for door in ("owner", "joined"))
    assert figures["first_hook_ms"]["count"] == 1


def test_hook(results: Path) -> None:
    out = results / "hook.json"
    figures = run("hook", out, "--size", 60, "--turns", 30, "--runs", 2)["results"]
    assert figures["prompts_given_something"] <= figures["hook_ms"]["count"] == 2
    assert 0 < figures["interpreter_ms"]["min"] < figures["hook_ms"]["p50"]
    assert "interpreter that does nothing" in run("report", None, out)["printed"]


def test_bulk(results: Path) -> None:
    report = run("bulk", results / "bulk.json", "--messages", 30, "--memories", 20)
    found = report["results"]
    assert (found["messages"]["added"], found["memories"]["added"]) == (30, 20)
    assert found["messages"]["verified"]
    assert found["memories"]["verified"]
    assert "per second" in run("report", None, results / "bulk.json")["printed"]


def test_updates(tmp_path: Path, results: Path) -> None:
    file = tmp_path / "natural.jsonl"
    kept = {"style": "user", "topic": "home", "supersedes": None}
    rows = [
        {"before": ["Owen habite à Gand."], "after": "Owen habite à Lille.", "label": "update"},
        {"before": ["Owen a un voilier."], "after": "Maud a un vélo.", "label": "separate"},
    ]
    file.write_text("".join(json.dumps(kept | row) + "\n" for row in rows), encoding="utf-8")
    found = run("updates", results / "updates.json", file, "--store")["results"]
    assert found["groups"]["all"]["update"]["missed"]["count"] == 0
    assert found["groups"]["all"]["separate"]["wrong"]["count"] == 0
    assert found["store"]["statements"] == found["store"]["new"] == 2
    assert found["store"]["merged_with_another_record"]["count"] == 0


def test_pairs(tmp_path: Path, results: Path) -> None:
    pairs = tmp_path / "pairs.jsonl"
    lines = [
        {"a": "Owen habite à Gand.", "b": "Owen habite à Lille.", "label": "must_update"},
        {"a": "Owen habite à Gand.", "b": "Maud habite à Gand.", "label": "other"},
    ]
    pairs.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    groups = run("pairs", results / "pairs.json", pairs)["results"]["files"][0]["groups"]
    merged = {name: group["merged"]["second_after_first"] for name, group in groups.items()}
    assert {name: each["count"] for name, each in merged.items()} == {
        "fr differ": 0,
        "fr must_update": 1,
    }
    assert "merged" in run("report", None, results / "pairs.json")["printed"]


def test_crash(results: Path) -> None:
    report = run("crash", results / "crash.json", "--rounds", 2, "--block", 2)
    assert report["results"]["failures"] == 0
    assert report["results"]["rounds"] == 2
    assert "opening after a kill" in run("report", None, results / "crash.json")["printed"]


def test_fuzz(results: Path) -> None:
    report = run("fuzz", results / "fuzz.json", "--seconds", 2, "--seed", 7)
    assert report["results"]["findings"] == 0
    assert all(each["cases"] for each in report["results"]["targets"].values())
    assert "slowest" in run("report", None, results / "fuzz.json")["printed"]


def test_the_collection_of_memories_is_whole() -> None:
    folder = BENCHMARKS / "data" / "memories"
    rows, asked = (
        [json.loads(line) for line in (folder / name).read_text(encoding="utf-8").splitlines()]
        for name in ("corpus.jsonl", "queries.jsonl")
    )
    judged = [line.split("\t") for line in (folder / "qrels.tsv").read_text().splitlines()]
    documents, queries = ({each["id"]: each for each in found} for found in (rows, asked))
    assert (len(documents), len(queries)) == (len(rows), len(asked))
    for query, document in judged:
        assert queries[query]["scope"] == documents[document]["scope"]
    answered = {query for query, _ in judged}
    assert answered == {each["id"] for each in asked if each["type"] != "none"}
    spaces = {each["scope"] for each in rows}
    held_out = {each["scope"] for each in asked if each["split"] == "held out"}
    assert len(spaces) == 12
    assert held_out == {"fr-asso", "fr-bebe", "en-band", "en-care"}
    assert {each["scope"] for each in asked if each["split"] == "learn"} == spaces - held_out


def test_questions_of_several_people_are_counted_by_kind(tmp_path: Path) -> None:
    folder = tmp_path / "people"
    folder.mkdir()
    at = {"channel": "den", "at": "2026-01-10T10:00:00+01:00"}
    of = {"user": "maud", "type": "fact", "subjects": []} | at
    asked = {"user": "maud", "also": []} | at
    rows = {
        "memories": [{"id": f"m{n}", "content": text} | of for n, text in enumerate(TEXTS)],
        "messages": [
            {"id": "t0", "role": "user", "content": "Il neige ce matin", "user": "maud"} | at
        ],
        "questions": [
            {"id": "q0", "text": "who repairs violins?", "kind": "direct"}
            | asked
            | {"answers": ["m1"], "wrong": ["m2"]},
            {"id": "q1", "text": "merci !", "kind": "small_talk", "answers": [], "wrong": []}
            | asked,
        ],
    }
    for name, each in rows.items():
        lines = "".join(json.dumps(row) + "\n" for row in each)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    found = run("ask", tmp_path / "ask.json", folder)["results"]["folders"]["people"]
    assert found["kinds"]["direct"]["first"] == found["answerable"]["injected"] == 1.0
    assert found["kinds"]["small_talk"]["something"] == 0.0


def test_an_evening(tmp_path: Path) -> None:
    told = {"after": 5, "user": "maud"}
    rows = [
        {"language": "en", "start": "2026-01-10T10:00:00+00:00"},
        told | {"remember": "The violin workshop of Camille is in Ghent"},
        told | {"say": "where is Camille's workshop?", "reply": "In Ghent.", "needs": [["Ghent"]]},
        told | {"say": "thanks", "reply": "Sure.", "needs": []},
        told | {"say": "hm", "reply": "Hm.", "wrong": ["Ghent"]},
    ]
    file = tmp_path / "two.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = run("evenings", tmp_path / "evenings.json", file)["results"]["all"]
    assert (found["messages"], found["needing"], found["given"], found["quiet"]) == (3, 1, 1, 1)
    assert "misled" not in found


def test_requests_to_forget(tmp_path: Path) -> None:
    told = {"user": "maud", "days": 2}
    rows = [
        {"language": "en", "start": "2026-01-10T10:00:00+00:00"},
        told | {"id": "a", "kind": "memory", "text": "I play the tuba"},
        told | {"id": "b", "kind": "turn", "text": "my street is Mill Road"},
        told | {"id": "c", "kind": "live", "text": "the tuba is out of tune"},
        {
            "user": "maud",
            "say": "forget that I play the tuba",
            "forget": ["a"],
            "topic": "the tuba",
        },
        {"user": "maud", "say": "don't forget that I play the tuba", "forget": []},
    ]
    file = tmp_path / "one.jsonl"
    file.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    found = run("forgetting", tmp_path / "forgetting.json", file)["results"]["one"]
    assert found["messages"] == {
        "forgotten": 1, "other talk": 1, "quiet": 1, "requests": 1, "right": 1
    }  # fmt: skip
    assert found["verb"]["right"] == 1


def test_every_stored_result_can_be_reported() -> None:
    printed = run("report", None)["printed"]
    for stored in (BENCHMARKS / "results").glob("*.json"):
        assert f"## {stored.stem}\n" in printed


def test_questions_typed_in_haste(tmp_path: Path) -> None:
    world = (
        "W\tVillage\n"
        "M\tm1\tMaud\tThe violin workshop of Camille is in Ghent\n"
        "M\tm2\tOwen\tLe chat de Nadia dort dans un tambour\n"
        "Q\tMaud\twhere is the workshop of Camille?\tm1\n"
        "N\tOwen\twhere is the bakery?\tm1\n"
        "T\tOwen\tbonjour à tous\n"
    )
    (tmp_path / "world-en.tsv").write_text(world, encoding="utf-8")
    found = run("typed", tmp_path / "typed.json", tmp_path)["results"]
    assert (found["worlds"], found["questions"], found["near misses"]) == (1, 1, 1)
    assert found["words"]["valid"] == 2
    assert found["words"].get("changed", 0) == 0
    assert found["with"]["as written"]["first"] == found["without"]["as written"]["first"] == 1.0
    assert found["with"]["capitals"]["first"] == 1.0
    assert found["with"]["something told before"]["first"] == 1.0


def test_answers_deep_in_a_store_of_several_worlds(tmp_path: Path) -> None:
    asked, other = "world-en-101", "world-en-102"  # the first is held out, by the hash of its name
    worlds = {
        asked: "M\tm1\tMaud\tThe violin workshop of Camille is in Ghent\n"
        "Q\tMaud\twhere is the workshop of Camille?\tm1\n"
        "N\tMaud\twhere is the bakery?\tm1\n"
        "T\tMaud\tgood morning all\n",
        other: "M\tm1\tOwen\tThe cat of Nadia sleeps in a drum\n"
        "Q\tOwen\twhere does the cat of Nadia sleep?\tm1\n",
    }
    for name, lines in worlds.items():
        (tmp_path / f"{name}.tsv").write_text(f"W\tVillage\n{lines}", encoding="utf-8")
    found = run("depth", tmp_path / "depth.json", tmp_path)["results"]
    assert (found["worlds"], found["statements in a store"]) == (1, 2)
    assert found["asked"] == {"Q": 1, "N": 1, "T": 1}
    assert set(found["within"].values()) == {1.0}
    for way in found["ways"].values():
        assert (way["first"], way["given"], way["small talk"]) == (1.0, 1.0, 0.0)
    turns = run("deadline", tmp_path / "deadline.json", tmp_path, "--slower", "1,2")["results"]
    assert turns.keys() == {"without a deadline", "deadline of 100 ms", "reads 2 times slower"}
    unhurried = turns["without a deadline"]
    assert (unhurried["turns"], unhurried["given"], unhurried["late"]) == (3, 1.0, 0.0)


def test_published_figures_are_those_of_the_results(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(BENCHMARKS)
    published = importlib.import_module("published")
    pages = [page.read_text(encoding="utf-8") for page in published.PAGES]
    for text in pages:
        assert published.with_figures(text) == text, "run python benchmarks/published.py"
        older = text.replace(" 0 of 17,087 |", " 1 of 9 |").replace("| 0 | 17,087 ", "| 1 | 9 ")
        assert older != text
        assert published.with_figures(older) == text
    for head in published.TABLES:
        assert sum(f"{head}\n|--" in text for text in pages) == 1
    promises = pages[0].partition("## Install")[0]
    for file in ("latency-without-reader", "latency-deadline"):
        assert published.milliseconds(file, "recall", 10_000) in promises
