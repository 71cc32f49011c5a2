"""The demonstration: in this process, and as the real program where little can be printed."""

import os
import re
import shutil
import subprocess
import sys
from datetime import timedelta
from pathlib import Path

import pytest

from children import run
from hippocampe import Hippocampe, Scope, demo
from hippocampe.errors import InvalidInput

LEAST = 10


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("demo") / "data"


@pytest.fixture(scope="module")
def report(folder: Path) -> demo.Report:
    return demo.run(folder)


def test_most_questions_are_answered(report: demo.Report) -> None:
    assert len(report.asked) == 15
    missed = [each.question for each in report.asked if not each.answered]
    assert report.answered >= LEAST, missed


def test_each_question_has_three_reasoned_finds(report: demo.Report) -> None:
    for each in report.asked:
        assert len(each.found) == demo.LIMIT
        assert all(item.why for item in each.found)
        scores = [item.score for item in each.found]
        assert scores == sorted(scores, reverse=True)


def test_what_changed_was_corrected(report: demo.Report) -> None:
    new = [each.new for each in report.corrected]
    assert any(text.startswith("Marmite will use SQLite") for text in new)
    assert len(new) >= 5


def test_few_pairs_wait_for_a_person_likeliest_first(report: demo.Report, folder: Path) -> None:
    with demo.open_after(report, folder) as hippo:
        stats, pairs = hippo.stats(scope=Scope()), hippo.reviews(scope=Scope())
    assert 0 < len(pairs) <= 0.05 * sum(stats.memories.values())
    assert stats.reviews == len(pairs)
    likely = [each.likelihood or 0 for each in pairs]
    assert likely == sorted(likely, reverse=True)


def test_the_data_stays_in_a_folder_of_ones_own(report: demo.Report, folder: Path) -> None:
    with Hippocampe.open(folder) as hippo:
        stats = hippo.stats(scope=Scope())
        assert stats.messages == report.messages
        assert stats.superseded == len(report.corrected)
        assert hippo.verify().ok
    with pytest.raises(InvalidInput, match="not empty"):
        demo.run(folder)


def test_the_program_in_a_dumb_terminal_with_a_code_page(tmp_path: Path) -> None:
    (tmp_path / "tmp").mkdir()
    env = {"PYTHONIOENCODING": "cp1252", "TERM": "dumb", "COLUMNS": "80"}
    env |= {"TMPDIR": str(tmp_path / "tmp"), "HIPPOCAMPE_FOLDER": str(tmp_path / "mine")}
    done = subprocess.run(
        [sys.executable, "-m", "hippocampe", "demo"],
        capture_output=True,
        env=os.environ | env,
        check=False,
    )
    assert done.returncode == 0, done.stderr.decode("cp1252")
    text = done.stdout.decode("cp1252")
    (answered,) = re.findall(r"(\d+) of 15 questions answered", text)
    assert int(answered) >= LEAST
    assert len(re.findall(r"^ok ", text, re.MULTILINE)) == int(answered)
    assert "why: " in text
    assert "\x1b" not in text
    assert list((tmp_path / "tmp").iterdir()) == []
    assert not (tmp_path / "mine").exists()


def test_the_server_shows_it_answers_and_stops_without_a_terminal() -> None:
    done = run("-m", "hippocampe", "demo", "--serve", encoding="utf-8")
    assert (done.returncode, done.stderr) == (0, "")
    assert "The dashboard on this sample: http://127.0.0.1:" in done.stdout
    assert "The check passed." in done.stdout


def test_the_server_goes_on_from_the_last_question(
    report: demo.Report, folder: Path, tmp_path: Path
) -> None:
    shutil.copytree(folder, tmp_path / "copy")
    with demo.open_after(report, tmp_path / "copy") as hippo:
        asked = max(each.asked_at for each in report.asked)
        assert timedelta() <= hippo.now() - asked < timedelta(minutes=5)
        shown = hippo.retrievals(scope=Scope(), limit=50)
    assert {each.message_preview for each in shown} == {each.question for each in report.asked}
