"""The demonstration: in this process, and as the real program where little can be printed."""

import math
import os
import re
import tempfile
from datetime import date, datetime, timedelta
from pathlib import Path

import pytest
from typer.testing import CliRunner

import children
from hippocampe import Hippocampe, Scope, demo
from hippocampe.cli.app import app
from hippocampe.cli.show.demonstration import next_steps
from hippocampe.demo.sample import load_sample, moved_text
from hippocampe.errors import InvalidInput
from hippocampe.system.command_line import command_line
from sparse import copy_folder

LEAST = 10
LEAST_CURRENT = 60


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


@pytest.mark.parametrize(
    ("locale", "own"), [("en_GB.UTF-8", "default folder"), ("fr_FR.UTF-8", "dossier par défaut")]
)
def test_the_next_steps_name_their_folder(
    folder: Path, monkeypatch: pytest.MonkeyPatch, locale: str, own: str
) -> None:
    monkeypatch.setenv("LC_ALL", locale)
    of_sample, _, of_default = next_steps(folder).partition(own)
    assert of_sample.count("hippocampe ") == of_sample.count("--folder") == 1
    assert of_default.count("hippocampe ") == 2
    # Each can be copied: on one line, and with the path of a program that no shell finds.
    assert f"  {command_line('import', 'whatsapp.txt')}\n" in of_default
    assert own not in next_steps(None)


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
    # A doubt, which no date of the sample settles.
    assert any(each.reason.startswith("a doubt") for each in pairs)
    assert len(pairs) <= math.ceil(0.05 * sum(stats.memories.values()))
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


def test_the_program_with_a_code_page_serves_answers_and_stops_without_a_terminal(
    tmp_path: Path,
) -> None:
    (tmp_path / "tmp").mkdir()
    env = {"PYTHONIOENCODING": "cp1252", "TERM": "dumb", "COLUMNS": "80"}
    env |= {"TMPDIR": str(tmp_path / "tmp"), "HIPPOCAMPE_FOLDER": str(tmp_path / "mine")}
    done = children.run("-m", "hippocampe", "demo", "--serve", env=os.environ | env)
    assert (done.returncode, done.stderr.decode("cp1252")) == (0, "")
    text = done.stdout.decode("cp1252")
    (answered,) = re.findall(r"(\d+) of 15 questions answered", text)
    assert int(answered) >= LEAST
    assert len(re.findall(r"^ok ", text, re.MULTILINE)) == int(answered)
    assert "why: " in text
    assert "\x1b" not in text
    assert "The dashboard on this sample: http://127.0.0.1:" in text
    assert "Then the sample is removed" in text
    assert "The check passed." in text
    assert list((tmp_path / "tmp").iterdir()) == []
    assert not (tmp_path / "mine").exists()


def test_without_a_server_the_program_ends_after_the_answers(
    report: demo.Report, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def ran(folder: Path, *_: object) -> demo.Report:
        (folder / "store.db").touch()
        return report

    monkeypatch.setattr(demo, "_run", ran)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    done = CliRunner().invoke(app, ["demo"])
    assert (done.exit_code, done.stderr) == (0, "")
    assert f"{report.answered} of 15 questions answered" in done.stdout
    assert "The dashboard on this sample" not in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_the_demo_does_not_age(report: demo.Report, folder: Path, tmp_path: Path) -> None:
    """Opened today, nothing of it has expired but what its own time ended, and its charts are full."""
    copy_folder(folder, tmp_path / "copy")
    with demo.open_after(report, tmp_path / "copy") as hippo:
        last = max(each.asked_at for each in report.asked)
        assert timedelta() <= hippo.now() - last < timedelta(days=1)
        stats = hippo.stats(scope=Scope())
        assert stats.memories["memory"] >= LEAST_CURRENT
        shown = hippo.retrievals(scope=Scope(), limit=200)
        days = hippo.activity(scope=Scope(), days=demo.LIVED_DAYS)
    assert {each.question for each in report.asked} <= {each.message_preview for each in shown}
    assert sum(day.injections > 0 for day in days) >= 4
    assert sum(day.messages > 0 for day in days) >= 5


@pytest.mark.parametrize(
    ("text", "days", "moved"),
    [
        ("Porto du 11 au 18 avril 2026", 269, "Porto du 5 au 12 janvier 2027"),
        ("du samedi 11 au samedi 18 avril", 15, "du dimanche 26 avril au dimanche 3 mai"),
        ("week-end de mars", 30, "week-end d'avril"),
        ("le voyage d'avril, départ samedi", 30, "le voyage de mai, départ lundi"),
        ("le samedi 7 mars", 25, "le mercredi 1er avril"),
        ("Friday 27 February 2026 at 2 pm", 1, "Saturday 28 February 2026 at 2 pm"),
        (
            "Wednesdays off, no climbing before May",
            269,
            "Saturdays off, no climbing before February",
        ),
        ("le 26 avril à 9h15, 40 ans, 12 m³", 0, "le 26 avril à 9h15, 40 ans, 12 m³"),
    ],
)
def test_the_dates_that_a_text_names_are_moved(text: str, days: int, moved: str) -> None:
    assert moved_text(text, days, date(2026, 2, 20)) == moved


@pytest.mark.parametrize("now", ["2026-07-14T09:00:00+00:00", "2027-01-01T22:30:00+00:00"])
def test_the_sample_ends_within_the_day_before(now: str) -> None:
    present = datetime.fromisoformat(now)
    sample = load_sample(present)
    last = max(each["asked_at"] for each in sample.questions)
    assert timedelta() <= present - last < timedelta(days=1)
    assert last.strftime("%H:%M") == "20:00"
    times = [each["at"] for each in sample.messages]
    assert times == sorted(times)
    assert (times[-1] - times[0]).days == 54
