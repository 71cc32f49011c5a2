"""Small talk tells nothing; anything else may tell something."""

import re

import pytest

from hippocampe.language.lexicon import load_all
from hippocampe.language.small_talk import is_small_talk, reports_small_talk


@pytest.mark.parametrize(
    "text",
    [
        *(
            "Salut ! Ça va ?",
            "Oui et toi ?",
            "Saluuuut eko",
            "mdr trop drôle",
            "😂😂",
            "Pas mal et toi ?",
        ),
        *(
            "non rien",
            "laisse tomber",
            "merci pour tout",
            "tant pis",
            "on verra bien",
            "joyeux Noël !",
        ),
        *("je sais pas", "aucune idée", "moi non plus", "bon courage", "je rigole"),
        *(
            "nothing",
            "never mind",
            "nvm",
            "forget it",
            "thanks for everything",
            "thanks in advance",
        ),
        *(
            "I don't know.",
            "I have no idea",
            "makes sense",
            "will do",
            "happy birthday!",
            "get well soon",
        ),
        *("Raconte-moi une blague", "Quelle heure est-il ?", "De rien, à demain !", "T'es génial"),
        *(
            "Il fait trop beau aujourd'hui !",
            "Bonjour les amis",
            "Quoi de neuf ?",
            "ok d'accord parfait",
        ),
        *("Hello, how are you?", "I'm fine, thanks! And you?", "haha that was a good one", "lol"),
        *("What's up?", "No worries, thanks a lot", "You're so funny", "Have a nice day!"),
        *("Tell me a joke", "What time is it?", "Good night, see you tomorrow!", "Thanks mate"),
        *("anytime", "any time", "mes amis", "chère amie", "my friends", "bien sûr"),
    ],
)
def test_small_talk(text: str) -> None:
    assert is_small_talk(text, names=["eko"])


@pytest.mark.parametrize(
    "text",
    [
        *(
            "Je ne vais pas bien",
            "J'ai mal",
            "oui j'ai un chien",
            "Plus de copain",
            "Il est mort",
            "ok 12",
        ),
        *("laisse tomber le barnum", "merci pour les clés", "je ne mange rien", "on verra Paul"),
        *("forget it was Tom", "nothing hurts", "I don't know Tom", "get well cards for Ida"),
        *("Je pars demain", "je suis enceinte", "Nina ?", "c'est fini avec Paul", "Ça va pas"),
        *(
            "le thé",
            "c'est dû",
            "I'm not well",
            "My dog died",
            "I have no friends",
            "I am sick",
            "no more coffee for me",
        ),
        *("salut " * 100, "こんにちは、犬を飼っています"),
    ],
)
def test_what_tells_something(text: str) -> None:
    assert not is_small_talk(text)


@pytest.mark.parametrize(
    "statement",
    ["L'utilisateur a salué l'assistant", "The user said hello", "dev remercie eko", "dev va bien"],
)
def test_a_report_of_small_talk(statement: str) -> None:
    assert reports_small_talk(statement, names=["dev", "eko"])


@pytest.mark.parametrize(
    "statement",
    [
        "dev ne va pas bien",
        "dev a un copain",
        "dev is a man",
        "dev has a friend",
        "dev vit avec Nina",
    ],
)
def test_a_report_of_something_else(statement: str) -> None:
    assert not reports_small_talk(statement, names=["dev", "eko"])


def test_the_words_of_a_phrase_are_written_out() -> None:
    # A message is dismissed at the first word that no phrase writes out.
    phrases: list[str] = load_all("small_talk")["phrases"]
    assert [each for each in phrases if not re.fullmatch(r"[\w ?:()|=$<!]+", each)] == []
    assert [each for each in phrases if re.search(r"\w\(\?:\w|\w\)\??\w", each)] == []
