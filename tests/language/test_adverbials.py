"""A time in front of a statement is moved behind its first clause; other words stay where they are."""

import pytest

from hippocampe.language.adverbials import with_time_behind


@pytest.mark.parametrize(
    ("text", "moved"),
    [
        ("Since Monday, I work in York", "I work in York since Monday"),
        ("Last week we moved, at last.", "We moved last week, at last."),
        ("Monday, the trip is off", "The trip is off Monday"),
        ("In 2019, Tom moved to York.", "Tom moved to York in 2019."),
        ("From now on, I work in York", "I work in York"),
        ("now I work in York", "I work in York"),
        ("As of today, the shop opens at 7.", "The shop opens at 7."),
        ("Depuis lundi je bosse à Lyon", "Je bosse à Lyon depuis lundi"),
        ("Hier, Léa a vendu sa voiture", "Léa a vendu sa voiture hier"),
        ("Aujourd'hui, on déménage", "On déménage aujourd'hui"),
        ("dès la semaine prochaine, je vis à Pau", "je vis à Pau dès la semaine prochaine"),
        ("À partir de maintenant, le loyer est de 800", "Le loyer est de 800"),
    ],
)
def test_a_time_in_front_is_moved_behind(text: str, moved: str) -> None:
    assert with_time_behind(text) == moved


@pytest.mark.parametrize(
    "text",
    [
        "I work in York",
        "Mum, dad and I went to York",
        "Sunday lunch is at my mother's",
        "In York, I work alone",
        "When it rains, we stay in",
        "Ce matin-là était froid",
        "Le lundi est mon jour de repos",
        "Hier",
        "",
    ],
)
def test_other_words_stay(text: str) -> None:
    assert with_time_behind(text) == text
