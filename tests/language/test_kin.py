"""Relatives have names in every language, and a value is told from the words around it."""

import pytest

from hippocampe.language.kin import kin_asked
from hippocampe.language.lexicon import load_all
from hippocampe.language.values import values_asked, values_stated


def names(bits: int) -> set[str]:
    return {name for bit, name in enumerate(load_all("questions")["values"]) if bits >> bit & 1}


@pytest.mark.parametrize(
    ("question", "word"),
    [
        ("c'est quand l'anniversaire de ma mère ?", "mum"),
        ("where does Mum live?", "mere"),
        ("what's my wife's name?", "femme"),
        ("comment s'appelle le fils de Paul ?", "child"),
    ],
)
def test_a_relative_may_be_named_in_another_way(question: str, word: str) -> None:
    (relative,) = kin_asked(question)
    assert word in relative.words


@pytest.mark.parametrize(
    ("question", "said"),
    [
        ("où habite ma grand-mère ?", {"grand", "mere"}),
        ("where does my mother-in-law live?", {"mother", "in", "law"}),
        ("belle maman habite où ?", {"belle", "maman"}),
        ("mon beau-frère travaille où ?", {"beau", "frere"}),
        ("is my big brother in?", {"brother"}),
        ("a beautiful mother", {"mother"}),
    ],
)
def test_two_words_may_name_a_relative(question: str, said: set[str]) -> None:
    (relative,) = kin_asked(question)
    assert relative.said == said


@pytest.mark.parametrize("question", ["qui est mon chef ?", "who is my doctor?", "il fait beau ?"])
def test_who_is_no_relative(question: str) -> None:
    assert kin_asked(question) == ()


@pytest.mark.parametrize(
    ("text", "kind", "stated"),
    [
        ("Jeanne ne mange pas de viande", "birthday", False),
        ("Jeanne est née le 3 mai", "birthday", True),
        ("la voiture est de 2011", "code", False),
        ("le cadenas s'ouvre avec 2580", "code", True),
        ("ma voiture est immatriculée GB-417-KT", "plate", True),
        ("remise de 15 % pour les membres", "percentage", True),
        ("the mortgage is 16,000 crowns a month", "price", True),
        ("Dorothy will be ninety in October", "age", True),
    ],
)
def test_a_value_is_stated(text: str, kind: str, stated: bool) -> None:
    assert (kind in names(values_stated(text))) is stated


@pytest.mark.parametrize(
    ("question", "kind"),
    [
        ("c'est quoi la plaque d'immatriculation du Kangoo ?", "plate"),
        ("combien d'augmentation, en pourcentage ?", "percentage"),
        ("what is the door code?", "code"),
    ],
)
def test_a_value_is_asked_for(question: str, kind: str) -> None:
    assert kind in names(values_asked(question))
