"""The tense of a statement, from its auxiliaries."""

import pytest

from hippocampe.language.statement import parse
from hippocampe.language.tense import Tense, is_over, is_past, tense_of


@pytest.mark.parametrize(
    ("text", "tense"),
    [
        ("j'ai eu une moto", Tense.PAST),
        ("j'ai une moto", Tense.PRESENT),
        ("j'avais une moto", Tense.PAST),
        ("j'ai quoi comme moto ?", Tense.PRESENT),
        ("j'ai aussi une moto", Tense.PRESENT),
        ("j'ai fait du vélo lundi", Tense.PAST),
        ("il fait du vélo le lundi", Tense.PRESENT),
        ("elle a déjà été opérée", Tense.PAST),
        ("on est en Grèce cet été", Tense.PRESENT),
        ("je vais être tonton", Tense.FUTURE),
        ("je viens d'acheter une moto", Tense.PAST),
        ("je viens de Paris", Tense.PRESENT),
        ("je vais chez le kiné mardi", Tense.PRESENT),
        ("je serai tonton", Tense.FUTURE),
        ("I have been unwell", Tense.PAST),
        ("I am unwell", Tense.PRESENT),
        ("I had a motorbike", Tense.PAST),
        ("I painted the hall", Tense.PAST),
        ("we went to Rome", Tense.PAST),
        ("I need a ladder", Tense.PRESENT),
        ("the left door is broken", Tense.PRESENT),
        ("I have a red motorbike", Tense.PRESENT),
        ("I will be an uncle", Tense.FUTURE),
        ("I'm going to be an uncle", Tense.FUTURE),
    ],
)
def test_the_auxiliary_tells_the_tense(text: str, tense: Tense) -> None:
    assert tense_of(parse(text)) is tense


@pytest.mark.parametrize(
    ("text", "past"),
    [
        ("qui est venu jeudi ?", True),
        ("Zoé est-elle rentrée lundi ?", True),
        ("on s'est vus dimanche", True),
        ("qui est-ce qui passe jeudi ?", False),
        ("elle est là jeudi", False),
        ("who came on Thursday?", True),
        ("who is coming on Thursday?", False),
        ("Tom moved on Sunday", True),
        ("on se fait un kebab à midi ?", False),
        ("on se voit a midi jeudi", False),
        ("j'ai mangé à midi", True),
        ("see you a bit later on Friday", False),
    ],
)
def test_the_past_is_also_formed_with_be(text: str, past: bool) -> None:
    assert is_past(parse(text)) is past


@pytest.mark.parametrize(
    ("text", "over"),
    [
        ("I booked the hall for Friday", False),
        ("j'ai pris un billet pour vendredi", False),
        ("I painted the hall on Friday", True),
        ("j'ai balayé la salle vendredi", True),
    ],
)
def test_what_was_arranged_is_not_over(text: str, over: bool) -> None:
    assert is_over(parse(text)) is over
