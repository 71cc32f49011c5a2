"""Background jobs and costs on the command line."""

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from hippocampe import Config, Hippocampe, JobRun, Scope
from hippocampe.cli.app import app
from hippocampe.engine.context import Context
from hippocampe.extraction.jobs.runner import MAX_ATTEMPTS
from hippocampe.extraction.jobs.work import JOBS
from hippocampe.store import job_runs

pytestmark = pytest.mark.usefixtures("hashed")
Run = Callable[..., Any]
HERE = Scope()


@pytest.fixture
def config(folder: Path, hashed: None) -> Config:
    return Config(folder=folder, embedder="hashed:32", background=False)


@pytest.fixture
def run(folder: Path, config: Config, monkeypatch: pytest.MonkeyPatch) -> Run:
    monkeypatch.setenv("HIPPOCAMPE_FOLDER", str(folder))
    monkeypatch.setenv("COLUMNS", "120")
    Hippocampe.open(config).close()

    def invoke(*typed: str, code: int = 0) -> str:
        result = CliRunner().invoke(app, [*typed])
        assert result.exit_code == code, result.output
        return result.stdout

    return invoke


def test_listed_run_and_retried(run: Run, config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("jobs") == "No job has run.\n"
    assert run("jobs", "run") == "Nothing is due.\n"
    broken = True

    def work(context: Context, run: JobRun) -> str:
        if broken:
            raise KeyError("Zoé")
        return "3 read"

    monkeypatch.setitem(JOBS, "extract", work)
    with Hippocampe.open(config) as hippo:
        context: Context = hippo._context  # pyright: ignore[reportPrivateUsage]
        with context.corpus.store.write() as connection:
            id = job_runs.add(connection, "extract", "default", due_at=context.corpus.store.now())
    for number in range(1, MAX_ATTEMPTS + 1):
        if number > 1:
            run("jobs", "retry", id)
            with Hippocampe.open(config) as hippo:
                context = hippo._context  # pyright: ignore[reportPrivateUsage]
                with context.corpus.store.write() as connection:
                    job_runs.change(connection, id, attempts=number - 1)
        shown = run("jobs", "run")
    assert re.search(r"extract +needs you +KeyError \(5 attempts\)\s+" + id, shown)
    assert re.search(r"jobs +parked 1", run("stats"))
    assert json.loads(run("jobs", "--json"))[0]["state"] == "parked"
    assert run("jobs", "list", "--state", "done") == "No run is like that.\n"
    assert id in run("jobs", "list", "--state", "parked", "--job", "extract")
    broken = False
    assert "waiting" in run("jobs", "retry", id)
    [ended] = json.loads(run("jobs", "run", "--json"))
    assert (ended["id"], ended["state"], ended["outcome"]) == (id, "done", "3 read")
    assert re.search(r"extract +done +3 read", run("jobs"))
    run("jobs", "retry", id, code=3)
    run("jobs", "list", "--job", "dream", code=1)


def test_usage(run: Run, config: Config, monkeypatch: pytest.MonkeyPatch) -> None:
    assert run("usage") == "No language model was called.\n"
    call = {"model": "gpt-5-mini", "input_tokens": 1_200, "output_tokens": 30}
    with Hippocampe.open(config) as hippo:
        hippo.record_usage(scope=HERE, purpose="chat", **call, injected_tokens=400, price=0.0123)
        hippo.record_usage(scope=HERE, purpose="chat", **call)
        hippo.record_usage(scope=Scope(space="other"), purpose="chat", **call)
    shown = run("usage")
    assert re.search(r"chat +1,200 +400 +30 +\$0\.0123 +gpt-5-mini", shown)
    assert re.search(r"chat +1,200 +0 +30 +\? +gpt-5-mini", shown)
    assert "$0.0123 in 2 calls, about $0.0034 of it by injections" in shown
    assert "by injections, 1 of them at an unknown price" in shown
    assert run("usage", "--space", "other").endswith("\n1 call, at an unknown price\n")
    monkeypatch.setenv("LC_ALL", "fr_FR.UTF-8")
    assert run("usage", "--space", "other").endswith("\n1 appel, d’un prix inconnu\n")
    assert "dont 1 d’un prix inconnu" in run("usage")
    monkeypatch.delenv("LC_ALL")
    found = json.loads(run("usage", "--limit", "1", "--json"))
    assert [each["price"] for each in found] == [None]
    assert run("usage", "--since", "2100-01-01") == "No language model was called.\n"
