"""Roles of the participants of two statements: who does what to whom."""

import pytest

from hippocampe.language.roles import only_order_differs, roles_swapped
from hippocampe.language.statement import parse


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Nadia m'a trahi", "j'ai trahi Nadia"),
        ("le voisin me doit 80 euros", "je dois 80 euros au voisin"),
        ("hugo m'a vendu son vélo", "jai vendu mon vélo à hugo"),
        ("ma cousine m'a invité", "j'ai invité ma cousine"),
        ("Hugo est le patron de Nadia", "Nadia est la patronne de Hugo"),
        ("hugo est le fils de nadia", "nadia est la fille de hugo"),
        ("Nadia a battu Hugo au tennis", "Hugo a battu Nadia au tennis hier"),
        ("Ruth hugged me", "I hugged Ruth"),
        ("the dog chased me", "I chased the dog"),
        ("Ruth is texting me", "I am texting Ruth"),
        ("my uncle sold me a van", "I sold my uncle a van"),
        ("Ruth is Omar's boss", "Omar is Ruth's boss"),
    ],
)
def test_a_participant_in_another_role_is_told(old: str, new: str) -> None:
    assert roles_swapped(parse(new), parse(old))
    assert roles_swapped(parse(old), parse(new))


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Nadia habite avec moi", "j'habite avec Nadia"),
        ("Hugo et Nadia viennent", "Nadia et Hugo viennent"),
        ("Hugo travaille avec Nadia à Dax", "à Dax, Hugo travaille avec Nadia"),
        ("Nadia a mordu Hugo", "Hugo a été mordu par Nadia"),
        ("Hugo est le frère de Nadia", "Nadia est la sœur de Hugo"),
        ("Hugo est le père de Nadia", "Nadia est la fille de Hugo"),
        ("Nadia est ma voisine", "ma voisine est Nadia"),
        ("le dentiste m'a posé une couronne", "j'ai perdu la couronne"),
        ("Ruth works with me", "I work with Ruth"),
        ("Ruth and me cycle on Sundays", "I cycle with Ruth on Sundays"),
        ("Ruth lives in Hull", "Hull is where Ruth lives"),
        ("Ruth gave me a book", "I bought a book"),
        ("my doctor wants me to rest", "I no longer rest"),
    ],
)
def test_the_same_roles_in_other_words_are_not(old: str, new: str) -> None:
    assert not roles_swapped(parse(new), parse(old))
    assert not roles_swapped(parse(old), parse(new))


@pytest.mark.parametrize(
    ("old", "new", "moved"),
    [
        ("Hugo passe demain", "demain Hugo passe", True),
        ("je suis fatigué aujourd'hui", "aujourd'hui je suis fatigué", True),
        ("j'ai croisé Nadia il y a 3 jours", "il y a 3 jours j'ai croisé Nadia", True),
        ("I have choir on Friday", "on Friday I have choir", True),
        ("I met Ruth two weeks ago", "two weeks ago I met Ruth", True),
        ("lundi chorale, mardi escrime", "mardi chorale, lundi escrime", False),
        ("le chat griffe le chien", "le chien griffe le chat", False),
        ("Hugo va de Dax à Pau", "Hugo va à Dax de Pau", False),
        ("Ruth met Omar today", "Omar met Ruth today", False),
    ],
)
def test_a_time_may_stand_anywhere(old: str, new: str, moved: bool) -> None:
    assert only_order_differs(parse(new), parse(old)) is moved


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("Nadia et Hugo ont acheté une maison", "Hugo et Nadia ont acheté une maison", True),
        ("Ruth and Omar bought a house", "Omar and Ruth bought a house", True),
        ("j'aime le thé et le café", "j'aime le café et le thé", True),
        ("my sister and my brother sing", "my brother and my sister sing", True),
        ("Hugo a vu Nadia et Ruth", "Nadia et Ruth a vu Hugo", False),
        ("Omar saw Ruth and Hugo", "Hugo and Omar saw Ruth", False),
        ("Ruth has two cats and one dog", "Ruth has one cats and two dog", False),
    ],
)
def test_those_that_and_joins_have_no_order(old: str, new: str, same: bool) -> None:
    assert only_order_differs(parse(new), parse(old)) is same


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("Kofi is Ama's brother", "Ama's brother is Kofi", True),
        ("Kofi est le frère d'Ama", "Le frère d'Ama est Kofi", True),
        ("My sister is the treasurer", "The treasurer is my sister", True),
        ("Kofi is Ama's brother", "Ama is Kofi's brother", False),
        ("Kofi est le frère d'Ama", "Ama est le frère de Kofi", False),
        ("Tom is a friend of Ann", "Ann is a friend of Tom", False),
        ("Kofi is not Ama's brother", "Ama's brother is not Kofi", False),
        ("Ruth met Ama's brother", "Ama's brother met Ruth", False),
    ],
)
def test_both_sides_of_is_may_come_first(old: str, new: str, same: bool) -> None:
    assert only_order_differs(parse(new), parse(old)) is same
