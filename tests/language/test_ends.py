"""Statements that tell one end of something, and those that tell both."""

import pytest

from hippocampe.language.ends import ends, names_one_hour
from hippocampe.language.statement import parse


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("when do I start?", "I finish at 5", ("start", "finish")),
        ("à quelle heure ferme la mairie ?", "La mairie ouvre à 9h", ("ferme", "ouvre")),
        ("when does it close?", "it opens at 9 and closes at 5", None),
        ("tu pars quand ?", "je pars samedi", None),
        ("when do I start?", "I eat at noon", None),
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
