"""Questions that say nothing of what they are about, and the first person as it is typed."""

import pytest

from hippocampe.language.follow_ups import (
    asked_of_another,
    asked_of_asker,
    asks_own,
    completed,
    continues,
    corrects,
    is_elliptical,
    refers_to_thing,
)
from hippocampe.language.manners import asks_nothing
from hippocampe.language.person import is_first_person
from hippocampe.language.small_talk import is_small_talk


@pytest.mark.parametrize(
    "question",
    [
        *("what time?", "at what time?", "and mine?", "what about me?", "and hers?", "which one?"),
        *("à quelle heure ?", "c'est où ?", "et le mien ?", "et la sienne ?", "combien de temps ?"),
        *("and friday?", "et le 12 ?", "elle s'appelle comment ?"),
    ],
)
def test_it_says_nothing_of_what_it_is_about(question: str) -> None:
    assert is_elliptical(question)


@pytest.mark.parametrize(
    "question",
    [
        *("what's my name?", "quel âge j'ai ?", "et toi ?", "and you?", "merci !", "ça va ?"),
        *("where does she live?", "et le loyer ?", "and the caretaker?", "et Ben ?"),
    ],
)
def test_it_says_what_it_is_about_or_asks_nothing(question: str) -> None:
    assert not is_elliptical(question)


def test_a_name_alone_says_of_whom() -> None:
    assert is_elliptical("et Ben ?", {"ben"})
    assert is_elliptical("and Jess's?", {"jess"})
    assert not is_elliptical("et le chat de Ben ?", {"ben"})
    assert is_elliptical("c'est quand pour Ben ?", {"ben"})
    assert is_elliptical("what time is Jess's?", {"jess"})


@pytest.mark.parametrize(
    "question", ["when is Ben off?", "comment va Ben ?", "Ben est sous quoi ?", "and how is Ben?"]
)
def test_a_name_with_a_verb_is_what_it_is_about(question: str) -> None:
    assert not is_elliptical(question, {"ben"})


def test_it_asks_the_same_of_its_speaker_or_goes_on() -> None:
    assert all(map(asks_own, ("et le mien ?", "and mine?", "et moi ?")))
    assert not any(map(asks_own, ("and hers?", "mon dentiste ?", "what's my name?")))
    assert all(map(continues, ("et le gardien ?", "and the caretaker?", "what about the rent?")))
    assert not continues("and what did you say about the rent of the flat?")


@pytest.mark.parametrize(
    ("question", "before", "replaced", "complete"),
    [
        ("what time?", "what day is swimming?", (), "swimming what time?"),
        ("et le mien ?", "c'est qui le dentiste de Tom ?", {"tom"}, "dentiste et le mien ?"),
        ("and friday?", "who cooks on thursday?", {"thursday"}, "cooks and friday?"),
    ],
)
def test_it_is_completed(
    question: str, before: str, replaced: frozenset[str], complete: str
) -> None:
    assert completed(question, before, replaced) == complete


@pytest.mark.parametrize(
    ("question", "names", "before", "replaced", "asked"),
    [
        ("and Jess's?", {"jess"}, "what's Ben's teacher called?", {"ben"}, "what's Jess's teacher called?"),
        ("et celui de Léa ?", {"lea"}, "où est le vélo de Tom ?", {"tom"}, "où est le vélo de Léa ?"),
        ("what about jess", {"jess"}, "when is Ben's MOT?", {"ben"}, "when is jess's MOT?"),
        ("n jess's?", {"jess"}, "when is Ben's MOT?", {"ben"}, "when is jess's MOT?"),
        ("and for the truck?", (), "where's the Kubota key", {"kubota"}, "where's the truck key"),
        ("and the vet?", (), "when does Hank come?", {"hank"}, "when does the vet come?"),
        # It asks something else too, of a time, of its speaker, or nobody was named.
        ("and who drives Jess?", {"jess"}, "where does Ben live?", {"ben"}, None),
        ("and when is the vet here?", (), "when does Hank come?", {"hank"}, None),
        ("ok and how many gears", (), "is Hank's bike red?", {"hank"}, None),
        ("et combien de vitesses ?", (), "le vélo de Tom est rouge ?", {"tom"}, None),
        ("and friday?", (), "who cooks with Ben on thursday?", {"ben"}, None),
        ("and mine?", (), "where's Ben's car?", {"ben"}, None),
        ("and the vet?", (), "when does the farrier come?", (), None),
        ("Jess", {"jess"}, "where does Ben live?", {"ben"}, None),
    ],
)  # fmt: skip
def test_what_was_asked_is_asked_of_another(
    question: str, names: set[str], before: str, replaced: set[str], asked: str | None
) -> None:
    assert asked_of_another(question, before, frozenset(names), frozenset(replaced)) == asked


@pytest.mark.parametrize(
    ("question", "before", "expected"),
    [
        ("and me?", "where do I work?", "where do I work?"),
        ("et le mien ?", "mon badge expire quand ?", "mon badge expire quand ?"),
        ("and mine?", "where's Ben's car?", "where's jess's car?"),
        ("et moi", "ben finit à quelle heure ?", "jess finit à quelle heure ?"),
        ("mdr et moi ?", "mon directeur c'est qui ?", "mon directeur c'est qui ?"),
        ("lol and mine?", "where's Ben's car?", "where's jess's car?"),
        ("et moi demain ?", "ben finit à quelle heure ?", None),
        ("and me?", "who has the drill?", None),
        ("and hers?", "where's Ben's car?", None),
    ],
)
def test_what_was_asked_is_asked_of_the_asker(
    question: str, before: str, expected: str | None
) -> None:
    assert asked_of_asker(question, before, {"ben"}, "jess") == expected


def test_a_short_question_may_refer_to_a_thing() -> None:
    assert all(map(refers_to_thing, ("who is making them?", "ça coûte combien ?", "who has it")))
    assert not any(map(refers_to_thing, ("ça marche", "put it in the car", "who makes bread?")))
    assert not refers_to_thing("who was it that said the other day that we need a bigger van?")


def test_the_hour_of_something_is_no_small_talk() -> None:
    assert not is_small_talk("c'est à quelle heure ?")
    assert is_small_talk("il est quelle heure ?")
    assert asks_nothing("et Ben ?")
    assert not asks_nothing("et Ben ?", names={"ben"})
    assert asks_nothing("Ben oui !", names={"ben"})


def test_the_first_person_as_it_is_typed() -> None:
    assert all(map(is_first_person, ("jcommence a quelle heure ?", "jsuis malade", "et le mien ?")))
    assert not any(map(is_first_person, ("le jpeg est flou", "jquery et json", "Jean bosse")))


@pytest.mark.parametrize(
    "text",
    [
        *("no wait, 5", "sorry, I meant Thursday", "my bad, 7:45", "actually 3pm", "make that 9"),
        *(
            "non, 5 en fait",
            "euh pardon, jeudi",
            "je voulais dire jeudi",
            "enfin 9",
            "non, à 18h45",
        ),
    ],
)
def test_it_only_gives_another_value(text: str) -> None:
    assert corrects(text)


@pytest.mark.parametrize(
    "text",
    [
        *(
            "no",
            "no thanks",
            "5",
            "on Thursday",
            "no wait, 5?",
            "no, we live in Hull",
            "sorry, late",
        ),
        *("non", "non merci", "jeudi", "non, 5 ?", "non, jeudi j'ai judo", "pardon du retard"),
        "no, the bus was full and we only got there at 5",
    ],
)
def test_it_says_more_or_corrects_nothing(text: str) -> None:
    assert not corrects(text)


def test_another_name_corrects() -> None:
    assert corrects("non pardon, Ida", {"ida"})
    assert corrects("oops, Ida", {"ida"})
    assert not corrects("oops, Ida")
