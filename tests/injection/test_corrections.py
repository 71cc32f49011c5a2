"""A correction that is less likely than what it corrects is given with it: alone, the older text would mislead."""

from datetime import timedelta

import pytest
from test_several import NOW, outcomes

from hippocampe import Hippocampe, Scope
from hippocampe.injection.selection import Candidate
from hippocampe.types import Recollection

BOTH = ["injected", "injected"]
ONE = ["injected", "below_threshold"]


def said(score: float, text: str, minutes: int) -> Candidate:
    at = NOW - timedelta(days=3) + timedelta(minutes=minutes)
    return Candidate("search", Recollection(text, "turn", text, score, at=at), None)


@pytest.mark.parametrize(
    ("old", "new", "plain"),
    [
        (
            "We meet in the library on Monday",
            "Actually the library is closed, so the town hall",
            "The town hall is cold\nassistant: Actually it is.",
        ),
        (
            "On se retrouve lundi à la bibliothèque",
            "En fait la bibliothèque est fermée, donc à la mairie",
            "Il fait froid à la mairie\nassistant: En fait oui.",
        ),
    ],
)
def test_a_later_correction_needs_half_of_the_score(old: str, new: str, plain: str) -> None:
    assert outcomes([said(0.7, old, 0), said(0.11, new, 5)]) == BOTH
    assert outcomes([said(0.7, old, 0), said(0.09, new, 5)]) == ONE
    assert outcomes([said(0.7, old, 5), said(0.11, new, 0)]) == ONE
    # Only the reply says so.
    assert outcomes([said(0.7, old, 0), said(0.11, plain, 5)]) == ONE
    assert outcomes([said(0.19, old, 0), said(0.11, new, 5)]) == ["below_threshold"] * 2


def memory(score: float, text: str, minutes: int, *, author: str = "ana") -> Candidate:
    at = NOW - timedelta(days=3) + timedelta(minutes=minutes)
    return Candidate("search", Recollection(text, "turn", text, score, author=author, at=at), None)


@pytest.mark.parametrize(
    ("old", "new", "other"),
    [
        (
            "Mon exposé sur Robespierre est le 12 octobre",
            "Mon exposé est reporté au 19 octobre",
            "Mon rendez-vous est reporté au 19 octobre",
        ),
        (
            "My talk on Robespierre is on 12 October",
            "My talk has been pushed back to 19 October",
            "My lesson has been pushed back to 19 October",
        ),
        (
            "The barbecue is on Saturday with the Lows",
            "The barbecue has been moved to Sunday",
            "The barbecue has been sold",
        ),
        (
            "The pump-out is booked for the 14th",
            "The pump-out got moved to the 16th",
            "The pump got moved to the deck",
        ),
        (
            "Karim works at Acme",
            "Karim just left Acme, he joined Initech",
            "Farid just left Acme, he joined Initech",
        ),
        (
            "Karim travaille chez Acme",
            "Karim vient de quitter Acme, il est chez Initech",
            "Farid vient de quitter Acme, il est chez Initech",
        ),
        ("J'habite à Pau", "Maintenant j'habite à Dax", "Maintenant je chante à Dax"),
    ],
)
def test_another_value_of_the_same_needs_no_score(old: str, new: str, other: str) -> None:
    assert outcomes([memory(0.7, old, 0), memory(0.01, new, 5)]) == BOTH
    assert outcomes([memory(0.7, old, 5), memory(0.01, new, 0)]) == ONE
    assert outcomes([memory(0.7, old, 0), memory(0.01, other, 5)]) == ONE
    assert outcomes([memory(0.1, old, 0), memory(0.01, new, 5)]) == ["below_threshold"] * 2
    if new.startswith("M"):  # Of the one who says so: "my", "j'habite".
        assert outcomes([memory(0.7, old, 0), memory(0.01, new, 5, author="bob")]) == ONE


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("old", "new", "both_tell", "only_old_tells"),
    [
        (
            "The gig at the Lantern is on 14 June, load-in at 5",
            "The gig at the Lantern has been moved to 21 June",
            "when's the Lantern gig?",
            "what time is the load-in at the Lantern?",
        ),
        (
            "Le client Orion paie 0,09 euro le mot, à 60 jours",
            "Orion passe à 0,10 euro le mot",
            "combien paie Orion ?",
            "Orion paie à combien de jours ?",
        ),
    ],
)
def test_a_replaced_one_is_given_for_what_only_it_tells(
    hippo: Hippocampe, old: str, new: str, both_tell: str, only_old_tells: str
) -> None:
    scope = Scope(user="ana", channel="room")
    for each in (old, new):
        hippo.remember(each, scope=scope)
    current = hippo.before_turn(both_tell, scope=scope).text
    assert new in current
    assert old not in current
    both = hippo.before_turn(only_old_tells, scope=Scope(user="ana", channel="other")).text
    assert new in both
    assert old in both
