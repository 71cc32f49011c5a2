"""Statements that tell one end of something, and those that tell both."""

import pytest

from hippocampe.language.ends import ends, names_one_hour, tells_one_end
from hippocampe.language.statement import parse


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("when do I start?", "I finish at 5", ("start", "finish")),
        ("à quelle heure ferme la mairie ?", "La mairie ouvre à 9h", ("ferme", "ouvre")),
        ("when does it close?", "it opens at 9 and closes at 5", None),
        ("tu pars quand ?", "je pars samedi", None),
        ("when do I start?", "I eat at noon", None),
        ("Check-in is at 4", "We check out at 11", ("check-in", "check-out")),
    ],
)
def test_one_tells_the_beginning_and_the_other_the_end(
    one: str, other: str, found: tuple[str, str] | None
) -> None:
    assert ends(parse(one), parse(other)) == found


@pytest.mark.parametrize(
    ("statement", "one"),
    [
        ("I finish at 11 on Mondays", True),
        ("Je finis à 17h30 le lundi", True),
        ("I leave on the 3rd for 10 days", False),
        ("Je pars à Lisbonne du 3 au 10 octobre", False),
        ("I am leaving till 5", False),
        ("je pars jusqu'au 10", False),
        ("we open from 9 to 5", False),
        ("je pars bientôt", False),
    ],
)
def test_a_stretch_names_more_than_one_hour(statement: str, *, one: bool) -> None:
    assert names_one_hour(parse(statement)) == one


@pytest.mark.parametrize(
    ("one", "other", "told"),
    [
        ("The meeting is at 9", "The meeting ends at 10", True),
        ("Le vol pour Lisbonne est à 6 h", "On atterrit à Lisbonne à 9 h", True),
        ("Pour dîner on est à 20 h", "On se couche à 22 h", False),
        ("The twins are 9", "The twins arrived at 4", False),
        ("The meeting is at 9", "The meeting starts at 10", False),
        ("Le cours finit à 19 h", "Le cours finit à 20 h", False),
        ("The shop closes at 7", "The shop opens at 9", False),
        ("The meeting is on Monday", "The meeting ends at 10", False),
    ],
)
def test_an_hour_without_an_end_is_no_end(one: str, other: str, *, told: bool) -> None:
    assert tells_one_end(parse(one), parse(other)) is told
    assert tells_one_end(parse(other), parse(one)) is told
