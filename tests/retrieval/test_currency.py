"""Talk corrects what is known: the newer of two results that contradict each other answers."""

from pathlib import Path

import pytest

from conftest import FakeClock
from hippocampe import Hippocampe, Scope

ANA, BEN = Scope(user="ana", channel="room"), Scope(user="ben", channel="room")
CORRECTED = [
    ("J'habite à Lyon, près de la gare", "on a déménagé à Nice finalement", "j'habite où déjà ?"),
    ("I work as a nurse at St Mary's", "I quit the hospital, I'm a baker now", "what's my job?"),
    ("my flight leaves at 9 on friday", "they moved my flight to 11", "when's my flight?"),
    (
        "la réunion est jeudi à 14h",
        "la réunion est décalée à vendredi",
        "elle est quand la réunion ?",
    ),
]
KEPT = [
    ("my dentist is Dr Olowe", "my sister's dentist is Dr Finch", "who's my dentist?"),
    ("I have a cat called Ink", "we got a dog too, Bone", "what's my cat called?"),
    (
        "la chorale répète le mardi",
        "je peux pas venir à la chorale ce mardi",
        "la chorale, c'est quand ?",
    ),
    (
        "mon chien s'appelle Filou",
        "j'ai promené Filou ce matin",
        "il s'appelle comment mon chien ?",
    ),
]


@pytest.fixture(autouse=True)
def unhurried(hippo: Hippocampe, reading: None) -> None:
    hippo.update_settings(scope=ANA, recent_hours=0, hook_timeout_ms=10_000)


def say_between(hippo: Hippocampe, clock: FakeClock, *said: str, scope: Scope = ANA) -> None:
    """Say something some days after what is known, and some days before what follows."""
    clock.advance(days=3)
    for each in said:
        hippo.after_turn(each, "OK.", scope=scope)
    clock.advance(days=3)


def found(hippo: Hippocampe, question: str, scope: Scope = ANA) -> list[str]:
    """What is injected for a question in another session, best first."""
    injection = hippo.before_turn(question, scope=scope, keep=False)
    items = sorted(injection.items, key=lambda item: -(item.score or 0))
    return [item.content.partition("\n")[0] for item in items]


@pytest.mark.parametrize("as_memory", [True, False], ids=["memory", "talk"])
@pytest.mark.parametrize(("old", "new", "question"), CORRECTED)
def test_newer_talk_replaces_what_it_corrects(
    hippo: Hippocampe, clock: FakeClock, old: str, new: str, question: str, as_memory: bool
) -> None:
    if as_memory:
        hippo.remember(old, scope=ANA)
    else:
        hippo.after_turn(old, "OK.", scope=ANA)
    say_between(hippo, clock, new)
    best, *others = found(hippo, question)
    assert best == new
    assert old not in others


@pytest.mark.parametrize(("old", "new", "question"), KEPT)
def test_talk_beside_a_statement_leaves_it(
    hippo: Hippocampe, clock: FakeClock, old: str, new: str, question: str
) -> None:
    hippo.remember(old, scope=ANA)
    say_between(hippo, clock, new)
    assert old in found(hippo, question)


@pytest.mark.parametrize(
    ("others", "old", "new", "question"),
    [
        (
            (
                *("I play the viola", "Ben drives the van", "The choir has 14 singers"),
                *("Nora keeps the scores", "My bow was repaired in March", "The hall is cold"),
            ),
            "Sports day for Year 7 is on Friday 14 June from 1 to 3.",
            "ugh sports day has been moved to the 21st because of the exams",
            "when's sports day",
        ),
        (
            ("J'ai une bourse", "Mon frère joue de la basse", "Je mange à la cantine"),
            "J'ai mon oral d'histoire le 14 janvier à 9 h.",
            "l'histoire est décalée au 16 à 14h, ils ont pas de salle",
            "c'est quand mon oral d'histoire ?",
        ),
    ],
)
def test_newer_talk_answers_beside_a_result_that_seems_certain(
    hippo: Hippocampe,
    clock: FakeClock,
    others: tuple[str, ...],
    old: str,
    new: str,
    question: str,
) -> None:
    for each in (*others, old):
        hippo.remember(each, scope=ANA)
    say_between(hippo, clock, new)
    injection = hippo.before_turn(question, scope=ANA, keep=False)
    assert any(x.content.startswith(new) and (x.score or 0) > 0.3 for x in injection.items)


def test_another_user_corrects_what_is_common_and_not_what_is_own(
    hippo: Hippocampe, clock: FakeClock
) -> None:
    hippo.remember("I live in Lyon", scope=ANA)
    hippo.remember("the party is at the bowling alley on the 20th", scope=ANA)
    say_between(
        hippo, clock, "I moved to Nice", "bowling alley is closed so the party's at ours", scope=BEN
    )
    assert found(hippo, "where do I live?")[0] == "I live in Lyon"
    assert found(hippo, "where's the party?")[0] == "bowling alley is closed so the party's at ours"


def test_a_correction_that_does_not_answer_is_given_beside(
    hippo: Hippocampe, clock: FakeClock
) -> None:
    hippo.remember("mon chat s'appelle Pistache", scope=ANA)
    clock.advance(days=3)
    hippo.after_turn("mon chat est mort cette nuit", "Je suis désolé.", scope=ANA)
    clock.advance(days=3)
    assert {"mon chat s'appelle Pistache", "mon chat est mort cette nuit"} <= {
        *found(hippo, "il s'appelait comment, mon chat ?"),
        *found(hippo, "il s'appelle comment mon chat ?"),
    }


def test_a_question_about_the_past_gets_what_held_then(hippo: Hippocampe, clock: FakeClock) -> None:
    hippo.remember("I live in Lyon", scope=ANA)
    say_between(hippo, clock, "I moved to Nice")
    assert "I live in Lyon" in found(hippo, "where did I live before?")


def test_a_question_corrects_nothing(hippo: Hippocampe, clock: FakeClock) -> None:
    hippo.remember("la cuisine de Mme Kervadec est à livrer le 18", scope=ANA)
    say_between(hippo, clock, "la cuisine kervadec on la livre pas le 20 ?")
    assert found(hippo, "on livre quand chez mme kervadec ?")[0].endswith("le 18")


@pytest.mark.parametrize(
    ("told", "reply", "question"),
    [
        (
            "I leave for Ireland in May",
            "Congrats, Ana! That's amazing news",
            "when do I leave for Ireland?",
        ),
        (
            "je pars en Irlande en mai",
            "oh bravo Ana, quelle super nouvelle",
            "je pars quand en Irlande ?",
        ),
    ],
)
def test_a_reply_to_anything_is_no_correction(
    hippo: Hippocampe, clock: FakeClock, told: str, reply: str, question: str
) -> None:
    hippo.remember(told, scope=ANA)
    say_between(hippo, clock, reply, scope=BEN)
    assert found(hippo, question) == [told]


@pytest.mark.parametrize(
    ("old", "new", "question"),
    [
        (
            "My phone number is 07700 900512",
            "My new phone number is 07700 900688",
            "what was my old phone number?",
        ),
        (
            "Mon numéro de portable est le 06 11 22 33 44",
            "J'ai changé de numéro de portable, c'est le 07 55 66 77 88",
            "c'était quoi mon ancien numéro de portable ?",
        ),
        (
            "I rent a flat on Cork Street for 640 pounds",
            "My flat on Cork Street costs 690 pounds now",
            "how much was my flat before it went up?",
        ),
        (
            "Mon médecin est le docteur Vidal",
            "J'ai un nouveau médecin, le docteur Castan",
            "c'était qui mon médecin avant Castan ?",
        ),
    ],
)
def test_what_was_replaced_answers_a_question_about_before(
    hippo: Hippocampe, clock: FakeClock, old: str, new: str, question: str
) -> None:
    for each in (old, "I take the tram to work", new):
        hippo.remember(each, scope=ANA)
        clock.advance(days=40)
    assert old in found(hippo, question)
    assert hippo.recall(question, scope=ANA)[0].content == old


def test_what_was_replaced_is_left_out_where_a_filter_holds_or_it_is_forgotten(
    hippo: Hippocampe, clock: FakeClock
) -> None:
    old = hippo.remember("My phone number is 07700 900512", scope=ANA).memory
    clock.advance(days=40)
    hippo.remember("My new phone number is 07700 900688", scope=ANA)
    question = "what was my old phone number?"
    of_channel = hippo.recall(question, scope=ANA, channel="garden")
    assert old.id not in [each.id for each in of_channel]
    assert old.id not in [each.id for each in hippo.recall("my phone number?", scope=ANA)]
    hippo.erase(scope=ANA, id=old.id)
    assert old.id not in [each.id for each in hippo.recall(question, scope=ANA)]


@pytest.mark.parametrize(
    ("old", "new", "question"),
    [
        (
            "I make 2350 a month after tax",
            "I got a raise, 2680 a month",
            "how much do I make a month?",
        ),
        (
            "Je gagne 2350 euros net par mois",
            "J'ai été augmentée, 2680 euros net",
            "je gagne combien par mois ?",
        ),
    ],
)
def test_of_two_statements_that_answer_the_newer_one_holds(
    hippo: Hippocampe, clock: FakeClock, old: str, new: str, question: str
) -> None:
    hippo.remember(old, scope=ANA)
    clock.advance(days=40)
    hippo.remember(new, scope=ANA)
    assert found(hippo, question) == [new]


def test_of_a_list_without_dates_what_was_replaced_does_not_answer(
    hippo: Hippocampe, tmp_path: Path
) -> None:
    told = ["We use Vitest for unit tests", "We migrated unit tests to Jest"]
    path = tmp_path / "memories.csv"
    path.write_text(
        "\n".join(["memory,type", *(f"{each},fact" for each in told)]), encoding="utf-8"
    )
    hippo.import_from(path, scope=ANA)
    assert [each.content for each in hippo.memories(scope=ANA, state="superseded").items] == told[
        :1
    ]
    assert found(hippo, "what do we use for unit tests?") == told[1:]


@pytest.mark.parametrize(
    ("told", "newer", "question"),
    [
        ("Lison was born on 12 March 2017", "Lison turned nine", "when is Lison's birthday?"),
        (
            "Lison est née le 12 mars 2017",
            "Lison a eu neuf ans",
            "c'est quand l'anniversaire de Lison ?",
        ),
        ("We have a cat, Ink", "We have a dog, Rex", "which animals do we have?"),
        ("On a un chat, Encre", "On a un chien, Rex", "on a quels animaux ?"),
    ],
)
def test_a_newer_statement_that_tells_something_else_replaces_nothing(
    hippo: Hippocampe, clock: FakeClock, told: str, newer: str, question: str
) -> None:
    hippo.remember(told, scope=ANA)
    clock.advance(days=40)
    hippo.remember(newer, scope=ANA)
    assert told in found(hippo, question)


@pytest.mark.parametrize(
    ("old", "new", "question"),
    [
        (
            "mon bureau c'est le 214 au bâtiment B",
            "j'ai changé de bureau, je suis au 118 maintenant",
            "il est où mon bureau ?",
        ),
        (
            "my favourite beer is super bock",
            "went off super bock, sagres is better",
            "which beer do I like?",
        ),
    ],
)
def test_talk_with_the_words_of_what_was_replaced_is_replaced_too(
    hippo: Hippocampe, clock: FakeClock, old: str, new: str, question: str
) -> None:
    for each in (old, "my knees are shot", new):
        hippo.remember(each, scope=ANA)
        say_between(hippo, clock, each)
    given = found(hippo, question)
    assert new in given
    assert old not in given
