"""The aside about the subject of a statement is taken out; lists, times and second subjects are none."""

import pytest

from hippocampe.language.asides import without_aside


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("David, le frère de Mickael, habite à Pau", "David habite à Pau"),
        ("Anna, who is our designer, lives in Leeds", "Anna lives in Leeds"),
        ("Julie (la cousine de Paul) vit à Rennes", "Julie vit à Rennes"),
        ("Marc — le copain d'Inès — bosse à la SNCF", "Marc bosse à la SNCF"),
        ("La sœur de Léo, Emma, étudie à Lyon", "Emma étudie à Lyon"),
        ("My brother David works at Google", "David works at Google"),
        ("User's sister Maya, a nurse, is engaged to Leo", "Maya is engaged to Leo"),
        ("Mon voisin, qui est plombier, s'est marié", "Mon voisin s'est marié"),
    ],
)
def test_an_aside_about_the_subject_is_taken_out(text: str, plain: str) -> None:
    found = without_aside(text)
    assert found is not None
    assert found.text == plain
    assert found.aside


@pytest.mark.parametrize(
    "text",
    [
        "David, Paul, Anna et Zoé habitent à Pau",
        "Anna, Tom and Zoe live in Leeds",
        "Hier, à Paris, il a plu",
        "Le lundi, après le sport, je dors",
        "Quand il pleut, le chat, trempé, rentre",
        "Le projet Atlas utilise MySQL",
        "My Google account is locked",
        "David habite à Pau, une petite ville, depuis mai",
        "Paul, je pense, viendra demain",
        "",
        ",,,",
        "(a) (b) c",
    ],
)
def test_nothing_else_is(text: str) -> None:
    assert without_aside(text) is None
