from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hippocampe.engine import documents
from hippocampe.extraction.extractive import sentences
from hippocampe.language import detect, person, questions, text, traits
from hippocampe.language.equality import repeated
from hippocampe.language.mentions import mentions


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        ("Été à NOËL", "ete a noel"),
        ("L’œuvre", "l'oeuvre"),
        ("Straße", "strasse"),
        ("plain ASCII", "plain ascii"),
    ],
)
def test_folding_removes_case_accents_and_ligatures(written: str, folded: str) -> None:
    assert text.fold(written) == folded


@given(st.text())
def test_folding_twice_changes_nothing_more(written: str) -> None:
    once = text.fold(written)
    assert text.fold(once) == once


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("Mickael s'est cassé l'épaule", ["mickael", "est", "casse", "epaule"]),
        ("Qu’est-ce qu'il y a ?", ["est", "ce", "il", "y", "a"]),
        ("David's dog isn't here", ["david", "dog", "is", "not", "here"]),
        ("jusqu'à 14h30, aujourd'hui", ["a", "14h30", "aujourd", "hui"]),
        ("snake_case and arc-en-ciel", ["snake", "case", "and", "arc", "en", "ciel"]),
        ("  …  ", []),
    ],
)
def test_words_are_folded_and_split_from_elisions(written: str, found: list[str]) -> None:
    assert text.words(written) == found


def test_stop_words_go_unless_nothing_else_is_left() -> None:
    assert text.keywords("le chat voit le chat") == ["chat", "voit", "chat"]
    assert text.content_words("le chat voit le chat") == ["chat", "voit"]
    assert text.content_words("qui es tu ?") == ["qui", "es", "tu"]


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("Le thé est prêt", ["thé", "pret"]),
        ("le dé a été perdu", ["dé", "perdu"]),
        ("THE\u0301 de Chine", ["thé", "chine"]),
        ("the tea is from China", ["tea", "china"]),
        ("là où ça va", ["la", "ou", "ca", "va"]),
    ],
)
def test_a_short_word_with_an_accent_is_no_stop_word(written: str, found: list[str]) -> None:
    assert text.keywords(written) == found


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("my car is red", ["car", "red"]),
        ("Our son Milo is ten", ["son", "milo", "ten"]),
        ("il a marqué un but", ["marque", "but"]),
        ("il dort car il est malade", ["dort", "malade"]),
        ("Léa a son vélo", ["lea", "velo"]),
        ("but I sleep", ["sleep"]),
    ],
)
def test_a_function_word_of_another_language_is_a_noun_after_an_article(
    written: str, found: list[str]
) -> None:
    assert text.keywords(written) == found


def test_stop_words_are_written_as_words_come_out() -> None:
    assert {word for stop in text.STOP_WORDS for word in text.words(stop)} == text.STOP_WORDS


@pytest.mark.parametrize(
    ("written", "asks"),
    [
        ("tu viens ?", True),
        ("where did she go", True),
        ("lol where did she go", True),
        ("Et pourquoi pas demain", True),
        ("Qu'est-ce que tu fais", True),
        ("je viens demain", False),
        ("quelqu'un est passé", False),
        ("whatever you like", False),
    ],
)
def test_questions(written: str, asks: bool) -> None:
    assert questions.is_question(written) is asks


@pytest.mark.parametrize(
    ("written", "number", "date"),
    [
        ("on se voit lundi", False, True),
        ("three cats", True, False),
        ("né le 12 mars 1990", True, True),
        ("c'était il y a deux semaines", True, True),
        ("I went there last summer", False, True),
        ("code freeze starts in ten days", True, True),
        ("le plombier passe d'ici une semaine", False, True),
        ("it was a good day in the weeks", False, False),
        ("rien de neuf", False, False),
    ],
)
def test_numbers_and_dates(written: str, number: bool, date: bool) -> None:
    assert traits.has_number(written) is number
    assert traits.has_date(written) is date


@pytest.mark.parametrize(
    ("written", "place"),
    [
        ("David habite à Toulouse", True),
        ("Anna lives in Leeds", True),
        ("les clés sont dans le tiroir", True),
        ("the spare key is behind the door", True),
        ("Tom prefers tea", False),
        ("il part à midi", False),
    ],
)
def test_places(written: str, place: bool) -> None:
    assert traits.has_place(written) is place


@pytest.mark.parametrize(
    ("question", "health"),
    [
        ("comment va tonton Marcel en ce moment ?", "tonton Marcel, quels soucis de santé ?"),
        ("et elle va comment ta cousine", "ta cousine, quels soucis de santé ?"),
        ("Éva va comment ?", "Éva, quels soucis de santé ?"),
        ("how's my uncle doing these days?", "what health problems does my uncle have?"),
        ("how are the twins", "what health problems do the twins have?"),
        ("comment ça va ?", None),
        ("comment va se passer la visite ?", None),
        ("comment vas-tu ?", None),
        ("how's it going?", None),
        ("how is the jam made?", None),
        ("how are you?", None),
    ],
)
def test_how_somebody_is_asks_for_their_health(question: str, health: str | None) -> None:
    assert questions.of_health(question) == health


def test_idioms_are_said_in_plain_words() -> None:
    assert (
        questions.rewrite_idioms("What does Tom do for a living?") == "What does Tom do as a job?"
    )
    assert questions.rewrite_idioms("has the dog got a bed?") == "does the dog have a bed?"
    assert questions.rewrite_idioms("who has got the keys?") == "who has got the keys?"
    assert questions.rewrite_idioms("Tom lives in York") == "Tom lives in York"


def test_traits_are_the_tests_as_bits() -> None:
    assert traits.traits("tu viens lundi ?") == 1 | 4
    assert traits.traits("three cats") == 2
    assert traits.traits("en voiture, dans le train") == 8
    assert traits.traits("mon chien") == traits.FIRST_PERSON
    assert traits.traits("rien de neuf") == 0


@pytest.mark.parametrize(
    ("written", "language"),
    [
        ("je pars en Grèce demain", "fr"),
        ("I am leaving for Greece", "en"),
        ("l'été arrive", "fr"),
    ],
)
def test_language(written: str, language: str) -> None:
    assert detect.guess_language(written) == language


@pytest.mark.parametrize(
    ("written", "language"),
    [
        ("J'ai piscine mardi", "fr"),
        ("j’ai yoga jeudi", "fr"),
        ("Likes D'Angelo", "en"),
        ("I've yoga", "en"),
        ("it's o'clock", "en"),
    ],
)
def test_an_elision_tells_the_language_of_a_statement(written: str, language: str) -> None:
    assert detect.language_of(written) == language


def test_language_falls_back_when_nothing_tells() -> None:
    assert detect.guess_language("ok", default="en") == "en"
    assert detect.guess_language("ok", default="fr") == "fr"


def test_embedded_text_names_author_and_day_once() -> None:
    day = datetime(2026, 1, 17, tzinfo=UTC)
    assert documents.embedding_text("je pars", "David", day) == "David (17 janvier 2026): je pars"
    assert (
        documents.embedding_text("David: see you", "david", day)
        == "david (17 January 2026): see you"
    )
    assert documents.embedding_text("see you") == "see you"


def test_a_letter_of_another_alphabet_style_is_that_letter() -> None:
    assert text.fold("𝕊") == "s"


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("comment s'appelle mon chien ?", True),
        ("qui m'a prêté ce vélo ?", True),
        ("where did I park?", True),
        ("chez-moi, il fait froid", True),
        ("dis-moi où habite Zoé", False),
        ("can you tell me where Zoé lives?", False),
        ("tu peux me rappeler où habite Zoé ?", False),
        ("je voudrais savoir où habite Zoé", False),
        ("rappelle-moi où est mon vélo", True),
        ("où habite M. Dupuis ?", False),
        ("where is our boat?", False),
    ],
)
def test_what_is_about_its_speaker(said: str, expected: bool) -> None:
    assert person.is_about_speaker(said) is expected


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ("j'ai rangé ton vélo", True),
        ("I saw you there", True),
        ("t'habites où ?", True),
        ("j'ai mal au dos", False),
        ("is there anyone there?", False),
        ("y a-t-il des végans ?", False),
        ("où habite t elle", False),
        ("quand t'arrives ?", True),
        # The "t" of a negation is no "tu".
        ("is there anything she shouldn't eat?", False),
        ("who can’t come on Sunday?", False),
    ],
)
def test_what_is_said_to_somebody(said: str, expected: bool) -> None:
    assert person.is_to_somebody(said) is expected


@pytest.mark.parametrize("piece", ["a.", "a-", "http:", "www."])
def test_a_long_text_of_addresses_is_searched_for_names_in_one_pass(piece: str) -> None:
    """A scheme that is looked for from each character on would take minutes."""
    assert mentions(piece * 250_000 + " ekô !", ["eko"])
    assert not mentions(f"{piece * 9} https://eko.fr www.eko.fr", ["eko"])


@pytest.mark.parametrize("written", ["Jean-Luc's bike", "vu jean luc hier", "Jean\nLuc"])
def test_a_name_is_mentioned_with_or_without_its_hyphen(written: str) -> None:
    assert mentions(written, ["Jean-Luc"])
    assert mentions(written, ["jean luc"])
    assert not mentions(written, ["Jean-Lu"])


def test_a_run_of_spaces_is_cut_into_sentences_in_one_pass() -> None:
    """A line end that is looked for from each space on would take minutes."""
    written = "Camille élève" + " " * 900_000 + "des abeilles.  \n  Owen rame.\n\nBien"
    assert [each[-8:] for each in sentences(written)] == ["beilles.", "en rame.", "Bien"]
    assert sentences("we left and he rang " * 9 + " " * 900_000 + "Camille")[-1][-8:] == " Camille"


@pytest.mark.parametrize(
    "told",
    [
        ["We test zones A, B and C.", "Pernilla runs it."],
        ["Les zones A et B.", "Pernille les suit."],
        ["I take vitamin C.", "It helps."],
        ["C'est le plan B.", "On part à Nice."],
        ["I met J. Sasikumar.", "Anna and J. Sasikumar sing."],
    ],
)
def test_a_letter_ends_a_sentence_unless_it_is_an_initial(told: list[str]) -> None:
    assert text.sentences(" ".join(told)) == told


@pytest.mark.parametrize(
    "told",
    [
        [
            "so um i went to the doctors this morning",
            "and she said my iron is low it's nine point four no sorry nine point two",
            "and um dave's brother has moved to bingley",
            "and there's room for salt and pepper",
            "and oh by the way when is the boiler man coming",
        ],
        [
            "alors euh je sors de chez le dentiste il a dit que j'ai deux caries",
            "et puis mamie a changé de chambre elle est à la dix-sept non pardon à la vingt-deux",
            "et euh luc sa sœur dort à villeurbanne",
            "du coup je lui ai dit de venir avec pierre et paul",
            "et au fait c'est quand l'irm",
        ],
    ],
)
def test_what_is_dictated_without_marks_is_cut_into_statements(told: list[str]) -> None:
    assert text.sentences(" ".join(told)) == told
    assert text.sentences(f"{told[0]} and then we left") == [f"{told[0]} and then we left"]
    assert text.sentences(", ".join(told)) == [", ".join(told)]


@pytest.mark.parametrize(
    ("typed", "read"),
    [
        ("WHO HAS THE KEYS?", "who has the keys?"),
        ("LÉA A DÉMÉNAGÉ À LYON", "léa a déménagé à lyon"),
        ("BMW", "BMW"),
        ("R2-D2 42", "R2-D2 42"),
        ("The code is ABCD", "The code is ABCD"),
        ("", ""),
    ],
)
def test_capitals_alone_are_read_as_small_letters(typed: str, read: str) -> None:
    assert text.without_capitals(typed) == read


def test_the_places_of_texts_with_one_spelling() -> None:
    texts = ["Je nage.", "1 23", "je nage", "12 3", "Nora dort", "JE NAGE !"]
    assert repeated(texts) == [[0, 2, 5]]
