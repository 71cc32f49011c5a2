"""When what a statement tells happens: "yesterday" said on the 5th is the 4th."""

from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from hippocampe.language.temporal.events import parse_event

PARIS = ZoneInfo("Europe/Paris")
NOW = datetime(2026, 11, 5, 15, 30, tzinfo=PARIS)  # a Thursday


@pytest.mark.parametrize(
    ("statement", "when"),
    [
        ("hier j'ai vu Paul", "2026-11-04"),
        ("avant-hier Léa a eu son permis", "2026-11-03"),
        ("I saw the dentist yesterday", "2026-11-04"),
        ("Tom lands tomorrow", "2026-11-06"),
        ("je passe mon permis après-demain", "2026-11-07"),
        ("il y a trois jours on a fêté ses 30 ans", "2026-11-02"),
        ("we moved in two weeks ago", "2026-10-22"),
        ("la semaine dernière j'étais à Brest", "2026-10-29"),
        ("the boiler was repaired last Tuesday", "2026-11-03"),
        ("Ana opère mardi prochain", "2026-11-10"),
        ("je vois Paul lundi en huit", "2026-11-16"),
        ("dans trois jours je déménage", "2026-11-08"),
        ("I move out in three days", "2026-11-08"),
        ("I'm meeting Bob at the theatre tomorrow night", "2026-11-06"),
        ("next Friday night we dine with Tom", "2026-11-06"),
        ("last Saturday night I saw Ana", "2026-10-31"),
        ("yesterday night I fell", "2026-11-04"),
        ("last night I slept badly", "2026-11-04"),
        ("la nuit dernière j'ai mal dormi", "2026-11-04"),
        ("demain dans la nuit on part", "2026-11-06"),
        ("hier soir on a dîné chez Paul", "2026-11-04"),
    ],
)
def test_the_time_is_resolved(statement: str, when: str) -> None:
    found = parse_event(statement, now=NOW, timezone=PARIS)
    assert found is not None
    assert found.astimezone(PARIS).date().isoformat() == when


@pytest.mark.parametrize(
    "statement",
    [
        "j'habite à Nantes",
        "depuis hier je ne fume plus",
        "je travaille le mardi",
        "la réunion est le 12 mars",
        "d'ici une semaine je déménage",
        "I'll be done by tomorrow",
        "I painted it in two days",
        "Léa est née en 1991",
        "last year I lived in York",
        "le mois dernier j'ai changé de travail",
        "I was ill from yesterday to last Tuesday",
        "hier j'ai vu Paul, demain je vois Léa",
        "this week I'm tired",
        "jusqu'à demain je garde le chat",
    ],
)
def test_what_is_no_single_moment_is_left(statement: str) -> None:
    assert parse_event(statement, now=NOW, timezone=PARIS) is None


@pytest.mark.parametrize("told", ["y'a deux jours", "ya deux jours", "il y a deux jours"])
def test_a_hurried_spelling_is_a_time(told: str) -> None:
    now = datetime(2026, 11, 5, 12, tzinfo=UTC)
    found = parse_event(f"{told} j'ai croisé Nora", now=now, timezone="Europe/Paris")
    assert found is not None
    assert found.date().isoformat() == "2026-11-03"
