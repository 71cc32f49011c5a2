"""Who speaks in a statement."""

import pytest

from hippocampe.language.speakers import without_teller


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Anna: I moved", "I moved"),
        ("**Anna** : je vis à Pau", "je vis à Pau"),
        ('Anna said: "I live in Pau."', "I live in Pau."),
        ("Anna a dit : « Je vis à Pau. »", "Je vis à Pau."),
    ],
)
def test_the_name_of_the_teller_in_front_is_removed(text: str, said: str) -> None:
    assert without_teller(text, "anna") == said


@pytest.mark.parametrize(
    "text",
    ["Anna's phone: 06 12", "Anna has: a cat", "Bob: I moved", "Anna: ", "Anna", "it is 5: late"],
)
def test_what_only_begins_like_a_name_of_the_teller_stays(text: str) -> None:
    assert without_teller(text, "anna") == text
    assert without_teller("Anna: I moved", "") == "Anna: I moved"
