"""Discourse markers around a statement are removed; words that belong to it are kept."""

import pytest

from hippocampe.language.discourse import without_markers


@pytest.mark.parametrize(
    ("text", "statement"),
    [
        ("Oh, by the way, I moved to Leeds!!", "I moved to Leeds"),
        ("btw i moved to Leeds lol", "i moved to Leeds"),
        ("Please note that I moved to Leeds", "I moved to Leeds"),
        ("Remember I moved to Leeds", "I moved to Leeds"),
        ("ok so we moved", "we moved"),
        ("so David left", "David left"),
        ("No, she came back", "She came back"),
        ("Bad news: the trip is off", "The trip is off"),
        ("I'd like you to know that Nora sings", "Nora sings"),
        ("The trip is off!", "The trip is off"),
        ("The trip is off... :(", "The trip is off"),
        ("who has the keys 🤔", "who has the keys"),
        ("Where is Nora?? lol", "Where is Nora?"),
        ("where is Nora lol?!", "where is Nora?"),
        ("quick question: who has the keys please?", "who has the keys?"),
        ("stupid question but who has the keys", "who has the keys"),
        ("Où est Nora ??", "Où est Nora ?"),
        ("Petite question : qui a les clés stp ?", "Qui a les clés ?"),
        ("dis-moi, qui a les clés, merci !", "qui a les clés"),
        ("Au fait, j'ai déménagé à Pau !!", "J'ai déménagé à Pau"),
        ("note qu'on a déménagé", "on a déménagé"),
        ("N’oublie pas que Marc est végétarien", "Marc est végétarien"),
        ("Ah et j'ai vendu la voiture mdr", "J'ai vendu la voiture"),
        ("bon ben je pars demain", "je pars demain"),
        ("ben j'ai vendu le vélo", "j'ai vendu le vélo"),
        ("En fait Léa habite à Pau", "Léa habite à Pau"),
        ("Mise à jour : le match est annulé", "Le match est annulé"),
        ("Je voulais te dire que j'ai démissionné", "J'ai démissionné"),
        ("Salut, je suis rentré, au fait", "Je suis rentré"),
    ],
)
def test_markers_around_a_statement_are_removed(text: str, statement: str) -> None:
    assert without_markers(text) == statement


@pytest.mark.parametrize(
    "text",
    [
        "So far the plan holds",
        "Well water is hard here",
        "No student came",
        "No Country for Old Men is my favourite film",
        "Hey Jude is my favourite song",
        "OK Computer is the best record",
        "Remember to buy milk",
        "Note the time of the train",
        "I said hello to Ben by phone",
        "Is it over?",
        "He lives in York",
        "No son of mine smokes",
        "dis le à Marc",
        "I live in France 🇫🇷",
        "We meet at 7 p.m.",
        "Où est la clé ?",
        "I forgot the keys",
        "J'ai oublié les clés",
        "I said thanks",
        "Bon Iver joue à Nîmes",
        "bon appétit à tous",
        "Ben a un chat",
        "Note bien le numéro",
        "Fait le lit chaque matin",
        "Correction: Leeds",
        "ok",
        "Hello!",
        "",
    ],
)
def test_words_of_a_statement_are_kept(text: str) -> None:
    assert without_markers(text) == text
