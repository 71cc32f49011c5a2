"""The birthday of a relative is not that of the asker."""

import pytest

from hippocampe import Hippocampe, Scope

ME = Scope("home", user="sol")


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("own", "question", "of_relative"),
    [
        ("My birthday is on 30 April", "when is my brother's birthday?", "My brother's birthday is on 2 June"),
        ("I start at 9", "what time does my wife start?", "My wife starts at 7"),
        ("Mon anniversaire est le 30 avril", "c'est quand l'anniversaire de mon père ?", "Mon père fête son anniversaire le 2 juin"),
        ("Je finis à 17h", "ma sœur finit à quelle heure ?", "Ma sœur finit à 20h"),
    ],
)  # fmt: skip
def test_what_the_asker_has_is_not_what_a_relative_has(
    hippo: Hippocampe, own: str, question: str, of_relative: str
) -> None:
    hippo.remember(own, scope=ME)
    assert all(each.score < 0.1 for each in hippo.recall(question, scope=ME))
    hippo.remember(of_relative, scope=ME)
    assert hippo.recall(question, scope=ME)[0].content == of_relative
