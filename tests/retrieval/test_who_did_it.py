"""Who lent me something is not answered by what I lent."""

import pytest

from hippocampe import Hippocampe, Scope

ME = Scope("home", user="sol")
TOLD = {
    "ladder": ("Ronan lent me his ladder", "I lent my drill to Ronan"),
    "perceuse": ("Ronan m'a prêté sa perceuse", "J'ai prêté mon échelle à Ronan"),
    "owing": ("Tom owes me 20 pounds", "I owe Nina 35 pounds"),
}


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("told", "question", "of_other_role"),
    [
        ("ladder", "who lent me something", 1),
        ("ladder", "what did i lend", None),
        ("perceuse", "qui m'a prêté un truc", 1),
        ("perceuse", "j'ai prêté quoi à Ronan ?", 0),
        ("owing", "who owes me money", 1),
        ("owing", "who do I owe money to?", 0),
    ],
)
def test_what_the_asker_does_is_not_what_is_done_to_them(
    hippo: Hippocampe, told: str, question: str, of_other_role: int | None
) -> None:
    for content in TOLD[told]:
        hippo.remember(content, scope=ME)
    scores = {each.content: each.score for each in hippo.recall(question, scope=ME)}
    for at, content in enumerate(TOLD[told]):
        assert (scores[content] < 0.1) == (at == of_other_role)


def test_of_two_users_each_is_the_speaker_of_their_own_statements(
    hippo: Hippocampe, reading: None
) -> None:
    hippo.remember("I lent my strimmer to Sol", scope=Scope("home", user="dougie"))
    found = hippo.recall("who lent me a strimmer?", scope=ME)[0]
    assert found.score >= 0.2
