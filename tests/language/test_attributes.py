"""People whom a statement tells in other words than a question are told in its words."""

import pytest

from hippocampe.language.attributes import (
    attributes_asked,
    is_in_another_state,
    state_asked,
    with_attributes,
)


@pytest.mark.parametrize(
    ("question", "told", "given"),
    [
        ("who's my manager?", "I report to Helen", "I report to Helen (manager: Helen)"),
        ("who is Ana's boss?", "Ana reports to Helen", "Ana reports to Helen (boss: Helen)"),
        ("c'est qui mon chef ?", "Je rends compte à Hélène", "Je rends compte à Hélène (chef: Hélène)"),
        ("who's my wife?", "I married Zoe in May", "I married Zoe in May (wife: Zoe)"),
        ("qui est mon mari ?", "Je suis mariée à Paul", "Je suis mariée à Paul (mari: Paul)"),
        # Of another person, in the words of the question, or of no interest to it.
        ("who's my boss?", "Ana reports to Helen", "Ana reports to Helen"),
        ("who's my boss?", "My boss is Helen", "My boss is Helen"),
        ("qui est mon chef ?", "Mon chef est Hélène", "Mon chef est Hélène"),
        ("where is Helen?", "I report to Helen", "I report to Helen"),
        ("où est Hélène ?", "Je rends compte à Hélène", "Je rends compte à Hélène"),
    ],
)  # fmt: skip
def test_who_is_told_in_other_words(question: str, told: str, given: str) -> None:
    assert with_attributes(told, question, attributes_asked(question)) == given


@pytest.mark.parametrize(
    ("question", "told", "another"),
    [
        ("who's vegan?", "Nora is vegetarian", True),
        ("qui est végane ?", "Nora est végétarienne", True),
        ("is anyone single?", "Tom is married to Ann", True),
        ("est-ce que quelqu'un est gaucher ?", "Max est droitier", True),
        ("who's unemployed?", "Owen has retired", True),
        ("who's vegan?", "Nora is vegan", False),
        # Who is vegan is vegetarian too.
        ("who's vegetarian?", "Nora is vegan", False),
        ("qui est végétarien ?", "Nora est végane", False),
        ("who's vegan?", "Nora hates leeks", False),
    ],
)
def test_another_state_is_no_answer(question: str, told: str, *, another: bool) -> None:
    asked = state_asked(question)
    assert asked is not None
    assert is_in_another_state(told, asked) is another


@pytest.mark.parametrize(
    "question",
    ["who isn't vegan?", "qui n'est pas végane ?", "is Nora vegan?", "who's coming?", ""],
)
def test_no_state_is_asked_for(question: str) -> None:
    assert state_asked(question) is None
