"""What a message asks of memory: nothing for small talk, tasks, code and general knowledge."""

import pytest

from hippocampe.language.follow_ups import is_elliptical
from hippocampe.language.manners import asks_nothing, without_address
from hippocampe.language.values import values_asked, values_stated, with_ages


@pytest.mark.parametrize(
    "message",
    [
        *("ok, ça marche", "haha thanks!", "😂", "à demain !"),
        *("traduis « mon chien est malade » en espagnol", 'translate "my dog is ill" into Welsh'),
        *("écris-moi un poème sur la mer", "Can you write me a haiku about rain?"),
        *("Corrige : les panneaux que j'ai posé hier", "convert 12 inches to centimetres"),
        *("for x in range(3): print(x)", "https://example.org/page", "12 * 4 ?"),
        *("combien font 3 + 4 ?", "salut, combien font 12 * 4 stp ?", "calcule 10 - 3"),
        *("what's 7 - 2?", "how much is 4 x 5, please?", "can you compute 2 ^ 8", "3 + 4 = ?"),
        *("quelle est la capitale du Pérou ?", "how do I sort a list in Python?"),
        *("what's the difference between affect and effect?", "c'est quoi une pompe à chaleur ?"),
    ],
)
def test_memory_knows_nothing_of_it(message: str) -> None:
    assert asks_nothing(message)


@pytest.mark.parametrize(
    "message",
    [
        *("où est mon vélo ?", "What is my sister called?", "c'est quoi le code du portail ?"),
        *("write a birthday card for my sister", "calcule mon loyer annuel"),
        *("liste mes rendez-vous", "Give me everything you have on Marmite"),
        *("tu m'as dit quoi hier ?", "je pars en Grèce demain", "who has the spare keys?"),
        *("qui a fait 7 - 2 contre Olaf ?", "quelle pièce fait 4 x 5 ?", "le rdv est à 14 - 15h ?"),
        *("who had 7 - 2 against Olaf?", "the meeting is 10 - 11 am?", "which room is 4 x 5 m?"),
        *("comment j'ouvre le portail ?", "What is the motor on the boat?"),
    ],
)
def test_memory_may_know_it(message: str) -> None:
    assert not asks_nothing(message)


def test_the_companion_may_be_asked_for_a_sum() -> None:
    assert asks_nothing("Eko, combien font 3 + 4 ?", companions=["eko"])
    assert not asks_nothing("Olaf 3 - 2 ?", companions=["eko"])


def test_a_task_about_somebody_of_the_space_may_need_memory() -> None:
    assert not asks_nothing("écris-moi un poème sur Jeanne", names=["jeanne"])
    assert asks_nothing("écris-moi un poème sur la mer", names=["jeanne"])


@pytest.mark.parametrize(
    ("message", "first"),
    [("write a limerick about fog", "write"), ("Corrige : « on c'est vu lundi »", "corrige")],
)
def test_the_first_word_of_a_task_names_nobody(message: str, first: str) -> None:
    assert asks_nothing(message, names=[first])


@pytest.mark.parametrize(
    "message", ["evening ruth", "thanks Ruth!", "bonsoir ruth, ça va", "bonne nuit Ruth"]
)
def test_small_talk_may_call_somebody(message: str) -> None:
    assert asks_nothing(message, names=["ruth"])
    assert not is_elliptical(message, ["ruth"])


@pytest.mark.parametrize(
    "message",
    [
        "and ruth?",
        "et ruth",
        "no, Ruth",
        "tout sur Ruth",
        "this is Ruth",
        "how is ruth?",
        "ruth",
        "comment va Ruth",
    ],
)
def test_a_name_alone_may_be_what_is_asked(message: str) -> None:
    assert not asks_nothing(message, names=["ruth"])


@pytest.mark.parametrize(
    ("question", "text", "said"),
    [
        ("how old is Otis?", "The boys are Otis (4) and Hal (11)", "The boys are Otis (4 years old) and Hal (11 years old)"),
        ("quel âge a Lou ?", "Nos filles sont Lou (7) et Maud (3)", "Nos filles sont Lou (7 ans) et Maud (3 ans)"),
        ("which school is it?", "Otis (4) is at Hill House", "Otis (4) is at Hill House"),
        ("how old is Otis?", "Otis is 4 (so is Ivo)", "Otis is 4 years old (so is Ivo)"),
        ("how old is nan", "nan's 83 and lives in Bath", "nan's 83 years old and lives in Bath"),
        ("how old is Nina?", "Nina turned 40 in May", "Nina turned 40 years old in May"),
        ("how old are the twins?", "The twins are 4", "The twins are 4 years old"),
        ("how old is Otis?", "Otis's school is 4 miles away", "Otis's school is 4 miles away"),
        ("how old is Otis?", "lunch is 12:30", "lunch is 12:30"),
        ("quel âge a Lou ?", "Lou va sur ses 8", "Lou va sur ses 8 ans"),
        ("quel âge a Lou ?", "Paul a 6 ans, Lou en a 8", "Paul a 6 ans, Lou en a 8 ans"),
        ("quel âge a Lou ?", "Lou en a 8 autres", "Lou en a 8 autres"),
    ],
)  # fmt: skip
def test_an_age_is_read_in_full(question: str, text: str, said: str) -> None:
    assert with_ages(text, values_asked(question)) == said


@pytest.mark.parametrize(
    ("question", "answer", "other"),
    [
        ("quel est le nom de famille d'Inès ?", "son nom de famille est Prado", "Inès est à Braga"),
        ("what's Ben's phone number?", "call Ben on 06 12 34 56 78", "Ben lives at number 12"),
        ("what's Ben's phone number?", "Ben's is 555-0182", "Ben lives at number 12"),
        ("à quelle heure part le train ?", "départ à 7h12", "le train part lundi"),
        ("how much did it cost?", "I paid 40 €", "I bought it in June"),
        ("what is the gate code?", "the gate opens with 8305B", "the gate is green"),
        ("de quelle couleur est la coque ?", "la coque est bleue", "la coque est en bois"),
        ("what's his blood type?", "he is A positive", "he gives blood"),
        ("how old am I?", "I'm 61", "I'm in room 61"),
        ("how old is Nora?", "she's 34", "she's Nora"),
        ("how old is Otis?", "the boys are Otis (4) and Hal (11)", "Otis has 4 cousins"),
        ("quel âge a Lou ?", "nos filles : Lou, 7, et Maud, 3", "Lou a 7 poules"),
        ("how old is Turbo?", "Turbo is thirty years old", "Turbo likes lettuce"),
    ],
)
def test_a_kind_of_value_is_asked_for_and_stated(question: str, answer: str, other: str) -> None:
    asked = values_asked(question)
    assert asked
    assert asked & ~values_stated(answer) == 0
    assert asked & ~values_stated(other)


def test_a_question_without_a_kind_of_value_asks_for_none() -> None:
    assert values_asked("que penses-tu de Nantes ?") == 0


@pytest.mark.parametrize(
    ("text", "spoken"),
    [
        ("dis Eko, la danse est à quelle heure", "la danse est à quelle heure"),
        ("Eko: le code du portail", "le code du portail"),
        ("@Eko le code du portail", "le code du portail"),
        ("le code du portail @eko ?", "le code du portail ?"),
        ("eko tu te souviens du poêle ?", "tu te souviens du poêle ?"),
        ("eko rappelle-moi où j'irai travailler", "rappelle-moi où j'irai travailler"),
        ("hey eko what time is it", "what time is it"),
        ("where do I live, Eko?", "where do I live?"),
        ("Et toi Eko, t'habites où", "t'habites où"),
        ("and you, Eko: where do you live?", "where do you live?"),
        ("and you, Eko?", "and you?"),
        ("I gave you Eko's number", "I gave you Eko's number"),
        ("Eko est un robot", "Eko est un robot"),
        ("Les échos du jour", "Les échos du jour"),
        ("eko", "eko"),
    ],
)
def test_the_name_of_the_companion_is_no_part_of_what_is_asked(text: str, spoken: str) -> None:
    assert without_address(text, ["eko"]) == spoken
