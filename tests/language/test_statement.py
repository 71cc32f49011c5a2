"""Parse a statement: values, persons, verbs and signs of change."""

import pytest

from hippocampe.language.grammar import grammar, stem
from hippocampe.language.lexicon import load
from hippocampe.language.statement import parse, stated
from hippocampe.language.text_cache import clear_caches


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("le rendez-vous est à 14 h 30", "time 14:30 "),
        ("le rendez-vous est à 14h30", "time 14:30 "),
        ("the meeting is at 2:30 pm", "time 14:30 "),
        ("the meeting is at 6pm", "time 18:00 "),
        ("rendez-vous à midi", "time 12:00 "),
        ("le 29 mars", "date 29/3 "),
        ("on May 3rd", "date 3/5 "),
        ("le 1er mai", "date 1/5 "),
        ("le 09/11", "date 9/11 "),
        ("un loyer de 2 400 euros", "money 2400 "),
        ("the rent is $1,200", "money 1200 "),
        ("elle a trois chats et un chien", "number 3 "),
        ("il pèse 72 kg", "number 72 kilo"),
        ("chaque mardi", "weekday 1 "),
        ("on Tuesdays", "weekday 1 "),
        ("en 2019", "year 2019 "),
        ("au troisième étage", "rank 3 "),
        ("on the third floor", "rank 3 "),
        ("elle a quatre-vingts ans", "number 80 year"),
        ("il pèse quatre-vingt-deux kilos", "number 82 kilo"),
        ("il pèse soixante et onze kilos", "number 71 kilo"),
        ("le toit coûte trois cent quatre-vingt mille euros", "money 380000 "),
        ("it costs two hundred and fifty euros", "money 250 "),
        ("it costs three thousand two hundred euros", "money 3200 "),
        ("Nora is 5'4\"", "number 5'4 foot"),
        ("Nora is five foot four", "number 5'4 foot"),
        ("Nora is 5 ft 4 inches tall", "number 5'4 foot"),
        ("Nora mesure 1m63", "number 1.63 metre"),
        ("Nora mesure 1 m 63", "number 1.63 metre"),
        ("Nora mesure 1,63 m", "number 1.63 metre"),
        ("the wall is 5 feet 3 miles away", "number 5 foot"),
    ],
)
def test_values_have_one_form(text: str, value: str) -> None:
    assert value in {token.stem for token in parse(text).tokens}


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("The server clock is EST", "EST"),
        ("L'horloge du serveur : EST", "EST"),
        ("Ivo moved to LA", "LA"),
        ("Ivo bosse pour les US", "US"),
        ("Ivo studies IT", None),
        ("Ivo works in IT", "IT"),
        ("Ivo travaille dans le service IT", "IT"),
        # Stressed words, and a text that is all in capitals.
        ("I do NOT eat fish", None),
        ("Je n'habite PLUS à Metz", None),
        ("Je ne mange PAS de porc", None),
        ("She IS my sister", None),
        ("I AM late", None),
        ("Elle EST en retard", None),
        ("Ask MY sister", None),
        ("IVO MOVED TO LA", None),
    ],
)
def test_a_function_word_in_capitals_may_be_a_name(text: str, name: str | None) -> None:
    capitals = [word.norm for word in parse(text).words if word.norm.isupper()]
    assert capitals == ([name] if name else [])


def test_hurried_spelling_is_read() -> None:
    assert [token.norm for token in parse("jhabite à Lille, jsuis prof").tokens][:2] == [
        "je",
        "habite",
    ]
    assert "no_longer" in parse("jfume plus de clopes depuis lundi").signs
    assert parse("im a nurse").subject == "speaker"


@pytest.mark.parametrize(
    ("text", "subject"),
    [
        ("Le chat dort dans la cuisine", "definite"),
        ("Mon frère habite à Lille", "own"),
        ("Paul likes jazz", "name"),
        ("I want a dog", "speaker"),
        ("L'utilisatrice a acheté un vélo", "speaker"),
        ("Anna has two cats", "name"),
        ("Anna's flight is late", "definite"),
        ("She bought a boat", "third"),
        ("Yesterday I sold the car", "speaker"),
        ("Hier, j'ai vendu la voiture", "speaker"),
    ],
)
def test_the_kind_of_subject(text: str, subject: str) -> None:
    assert parse(text).subject == subject


@pytest.mark.parametrize(
    ("text", "sign"),
    [
        ("Le cours est annulé", "ended"),
        ("Ida a rendu les clés", "ended"),
        ("Paul no longer smokes", "no_longer"),
        ("La réunion est désormais le lundi", "now"),
        ("The release has been postponed", "became"),
        ("Je crois qu'il habite à Lyon", "doubt"),
        ("Apparently he moved", "doubt"),
        ("Il passera demain", "future"),
        ("Elle ne mange pas de porc", "negation"),
    ],
)
def test_signs_of_change(text: str, sign: str) -> None:
    assert sign in parse(text).signs


@pytest.mark.parametrize(
    "text", ["Rendez-vous chez le dentiste mardi", "rdv dentiste mardi", "Ida se rend à Metz"]
)
def test_another_form_of_a_verb_ends_nothing(text: str) -> None:
    assert "ended" not in parse(text).signs


def test_a_function_word_has_no_stem_of_a_verb() -> None:
    assert "doubt" not in parse("Il passe par Lyon").signs
    assert "have" not in parse("à Lyon").tokens[0].roles


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Ida est née à Metz", "nee"),
        ("Noé est né à Metz", "né"),
        ("on a joué aux dés", "dés"),
        ("il est sûr de lui", "sûr"),
    ],
)
def test_an_accent_tells_a_word_from_a_function_word(text: str, word: str) -> None:
    parsed = parse(text)
    assert word in [parsed.tokens[at].norm for at in parsed.content]


def test_a_function_word_with_an_accent_carries_no_meaning() -> None:
    parsed = parse("Dès lundi je dors là où ça va, à Metz")
    assert not {"à", "a", "là", "où", "ça", "dès"} & {
        parsed.tokens[at].norm for at in parsed.content
    }


def test_stems_and_classes_of_both_languages() -> None:
    assert stem("habitait", "fr") == stem("habite", "fr")
    assert stem("running", "en") == stem("run", "en")
    assert grammar("fr").kin.keys() & {"frere"}
    assert {"ended", "doubt", "now"} <= load("fr", "words")["signs"].keys()


def test_a_code_is_its_own_stem() -> None:
    one, other = parse("le colis1 attend"), parse("le colis11 attend")
    assert one.tokens[1].stem != other.tokens[1].stem


def test_any_text_is_read_and_forgotten() -> None:
    for text in ("", "?", "…", "42", "'s", "à", "a" * 5000):
        parse(text)
    assert parse("Léa dort") is parse("Léa dort")
    before = parse("Léa dort")
    clear_caches()
    assert parse("Léa dort") is not before


@pytest.mark.parametrize(
    ("text", "again"),
    [
        ("je refume", True),
        ("elle redort bien", True),
        ("je regarde un film", False),
        ("ma retraite est petite", False),
        ("il recherche un stage", False),
    ],
)
def test_a_prefix_tells_that_a_verb_is_done_again(text: str, *, again: bool) -> None:
    assert ("again" in parse(text).signs) == again


def test_a_function_word_of_one_language_is_a_thing_in_another() -> None:
    english, french = parse("my son sold the car"), parse("je dors car je suis malade")
    assert [english.tokens[at].norm for at in english.content] == ["son", "sold", "car"]
    assert "car" not in [french.tokens[at].norm for at in french.content]


@pytest.mark.parametrize(
    ("written", "read"),
    [
        ("We moved to Pau. How was your day?", "We moved to Pau."),
        ("Coucou ! On a déménagé. Et toi, ta journée ?", "On a déménagé."),
        ("How do I get in? It's under the mat.", "How do I get in? It's under the mat."),
        ("Ouvrir ? La clé est sous le pot.", "Ouvrir ? La clé est sous le pot."),
        ("Todo. Who owns the API?", "Todo. Who owns the API?"),
        ("Budget à revoir. Qui paie le traiteur ?", "Budget à revoir. Qui paie le traiteur ?"),
        ("Favourite colour? Blue.", "Favourite colour: Blue."),
    ],
)
def test_a_memory_is_searched_by_what_it_states(written: str, read: str) -> None:
    assert stated(written, questions=True) == read
