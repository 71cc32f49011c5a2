"""Whom a text is about, beside a topic: its owner, another person, or nobody knows."""

import pytest

from hippocampe.language.owners import Fit, fit

# The topic of Ana, what she said, and whether it is about the owner of the topic.
CASES: list[tuple[str, str, Fit]] = [
    ("mon vélo", "mon vélo est volé", "same"),
    ("mon vélo", "j'ai un vélo", "same"),
    ("mon vélo", "le vélo de mon frère est volé", "other"),
    ("mon vélo", "je répare le vélo de Tom", "other"),
    ("mon vélo", "ma cousine a un vélo", "other"),
    ("mon vélo", "ma cousine adore mon vélo", "same"),
    ("mon vélo", "mon vélo a renversé ma cousine", "same"),
    ("my boat", "my boat is old", "same"),
    ("my boat", "my boat doesn't float", "same"),
    ("my boat", "I clean boats for a living", "same"),
    ("my boat", "my uncle's boat sinks", "other"),
    ("my boat", "my parents' boat is new", "other"),
    ("my rent", "my landlord raised my rent", "same"),
    ("mon loyer", "le loyer de ma fille est de 600 €", "other"),
    ("mon divorce", "ma mère n'a pas aimé mon divorce", "same"),
    ("my brother's asthma", "I have asthma", "other"),
    ("my brother's asthma", "my brother has asthma", "same"),
    ("l'asthme de mon frère", "j'ai de l'asthme", "other"),
    ("l'asthme de mon frère", "ma cousine a de l'asthme", "other"),
    ("I have asthma", "my brother has asthma", "other"),
    ("j'ai le diabète", "mon fils a le diabète", "other"),
    ("j'ai le diabète", "mon fils et moi avons le diabète", "same"),
    ("j'ai le diabète", "mon fils sait que j'ai le diabète", "same"),
    ("j'ai le diabète", "mon fils, qui a le diabète, va bien", "other"),
    ("j'ai le diabète", "Paul a le diabète", "other"),
    ("I'm broke", "my friend Beth is broke, she is worried", "other"),
    ("I'm broke", "Beth is here. She is broke.", "other"),
    ("I'm broke", "my colleague Tom is broke", "other"),
    ("my operation", "my sister drove me to the operation", "unclear"),
    ("mon opération", "ma tante m'a accompagnée à l'opération", "unclear"),
    ("Paul est fauché", "je suis fauchée", "other"),
    ("Paul is broke", "I am broke", "other"),
    # Relatives of several words, and relatives of relatives.
    ("ma mère", "ma belle-mère est drôle", "other"),
    ("ma mère", "ma belle mère est drôle", "other"),
    ("ma mère", "ma grand-mère est drôle", "other"),
    ("ma mère", "maman est drôle", "same"),
    ("ma mère", "ma mère et mon oncle sont drôles", "same"),
    ("ma mère", "j'aime bien la mère de Tom", "other"),
    ("la mère de Tom", "ma mère est drôle", "other"),
    ("la mère de Tom", "la mère de Tom est drôle", "same"),
    ("my dad", "my step-dad is funny", "other"),
    ("my dad", "my father-in-law is funny", "other"),
    ("my father-in-law", "my father in law is funny", "same"),
    ("my father-in-law", "my mother-in-law is funny", "other"),
    ("my wife's brother", "my brother is funny", "other"),
    ("my wife's brother", "my wife's brother is funny", "same"),
    ("my wife", "my wife's brother is funny", "other"),
    ("le frère de ma femme", "mon frère est drôle", "other"),
    ("le frère de ma femme", "le frère de ma femme est drôle", "same"),
    ("mon ex", "mon ex-mari est drôle", "same"),
    ("my brother is in rehab", "Kevin is in rehab", "unclear"),
    ("my brother is in rehab", "Ana's brother is in rehab", "same"),
    ("I owe my brother 300 euros", "I owe 300 euros", "same"),
    ("mes enfants", "j'ai deux enfants", "same"),
    ("my children", "mes deux enfants", "same"),
    # The opposite.
    ("Tom n'aime pas le judo", "Tom aime le judo", "other"),
    ("Tom likes judo", "Tom doesn't like judo", "other"),
    ("Tom aime le judo", "Tom aime le judo mais pas la boxe", "same"),
    ("Tom likes judo", "Tom likes judo but not boxing", "same"),
    ("I smoke", "I don't smoke any more", "same"),
    ("je fume", "je ne fume plus", "same"),
    ("where I live", "I don't live in Lyon", "same"),
    ("I play the tuba", "Ana joue du tuba", "same"),
]


@pytest.mark.parametrize(("topic", "text", "expected"), CASES)
def test_whose_it_is(topic: str, text: str, expected: Fit) -> None:
    assert fit(topic, text, ("ana",)) == expected


@pytest.mark.parametrize(
    ("topic", "text", "expected"),
    [
        ("my boat", "my boat hit Ana", "other"),
        ("I'm broke", "Ana is broke", "same"),
        ("mon vélo", "mon vélo est celui d'Ana", "other"),
        ("mon frère", "mon frère connaît Ana", "other"),
        ("mon frère", "le frère d'Ana est drôle", "same"),
    ],
)
def test_what_another_says_is_of_them(topic: str, text: str, expected: Fit) -> None:
    assert fit(topic, text, ("ana",), by_speaker=False) == expected
