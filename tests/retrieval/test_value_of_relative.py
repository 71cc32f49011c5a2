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


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("of_another", "question", "answer"),
    [
        ("Mon cousin Théo est né le 8 août 1990", "elle est née quand ma tante ?", "Ma tante est née le 1er avril 1961"),
        ("L'anniversaire de tonton c'est le 8 août", "c'est quand mon anniversaire", "Mon anniversaire tombe le 6 mai"),
        ("L'anniversaire de Théo c'est le 8 août", "c'est quand mon anniversaire", "Mon anniversaire tombe le 6 mai"),
        ("My cousin was born on 8 August 1990", "when was my aunt born?", "My aunt was born on 1 April 1961"),
        ("Theo's birthday is on 8 August", "when is my birthday?", "My birthday is on 6 May"),
    ],
)  # fmt: skip
def test_what_somebody_else_has_is_neither_that_of_a_relative_nor_of_the_asker(
    hippo: Hippocampe, of_another: str, question: str, answer: str
) -> None:
    hippo.remember(of_another, scope=ME)
    assert all(each.score < 0.1 for each in hippo.recall(question, scope=ME))
    hippo.remember(answer, scope=ME)
    first, *others = hippo.recall(question, scope=ME)
    assert first.content == answer
    assert all(each.score < 0.1 for each in others)


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("L'anniversaire de Sol c'est le 8 août", "c'est quand mon anniversaire"),
        ("Sol's birthday is on 8 August", "when is my birthday?"),
    ],
)
def test_what_is_told_of_the_asker_by_name_is_theirs(
    hippo: Hippocampe, told: str, question: str
) -> None:
    hippo.remember(told, scope=ME)
    assert hippo.recall(question, scope=ME)[0].score > 0.5
