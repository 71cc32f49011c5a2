"""A name is told from a common word by its capital."""

import unicodedata

import pytest

from hippocampe.curation.subject import NamedSubject


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Rose", "Rose est ma voisine"),
        ("Rose", "je vais chez Rose"),
        ("Rose", "ROSE !!!"),
        ("rose", "le chat de Rose"),
        ("ROSE", "le chat de Rose"),
        ("Rose", "Rose's cat"),
        ("Claire", "l'amie d'Élise s'appelle Claire."),
        ("Élise", "l'amie d'Élise"),
        ("elise", "l’amie d’Élise"),
        ("Zoé", "Zoe arrive"),
        ("Zoe", unicodedata.normalize("NFD", "Zoé arrive")),
        (unicodedata.normalize("NFD", "Zoé"), "Zoé arrive"),
        ("Jean-Marc", "hier Jean-Marc est venu"),
        ("jean-marc", "hier Jean Marc est venu"),
        ("Marie Curie", "Marie curie a deux prix"),
        ("Jeanne d'Arc", "la statue de Jeanne d'Arc"),
        ("L'Oréal", "elle travaille chez l'Oréal"),
        ("iPhone", "mon iPhone sonne"),
        ("花子", "花子 は猫が好き"),
        ("O'Brien", "Miles O'Brien répare"),
    ],
)
def test_a_name_is_found(name: str, text: str) -> None:
    assert NamedSubject(name).is_in_text(text)


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("Rose", "le vin rose"),
        ("Rose", "La rose du jardin"),
        ("rose", "La rose du jardin"),
        ("Max", "la vitesse max"),
        ("Claire", "l'eau est claire"),
        ("Rose", "Rosette arrose"),
        ("Marie Curie", "Marie aime Pierre Curie"),
        ("Jean-Marc", "Jean et Marc"),
        ("Apollo 13", "apollo 13"),
        ("Rose", ""),
    ],
)
def test_a_common_word_is_not(name: str, text: str) -> None:
    assert not NamedSubject(name).is_in_text(text)


def test_the_whole_text_in_any_case() -> None:
    assert NamedSubject("Jean-Marc").is_in_title("jean marc")
    assert not NamedSubject("Rose").is_in_title("vin rose")
