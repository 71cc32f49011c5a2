"""Short memories, asked about in other words: the right one comes first and is likelier than not."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from hippocampe import Config, Hippocampe, Scope

FRENCH = {
    "dev = Mickael": ["dev", "mickael"],
    "Mickael s'est cassé l'épaule le 10 janvier 2026": ["mickael", "blessure"],
    "Mickael part en Grèce en février": ["mickael", "vacances"],
    "Mickael préfère le café au thé": ["mickael"],
    "David habite à Toulouse": ["david"],
    "David est le frère de Mickael": ["david", "mickael"],
    "David travaille chez Airbus": ["david"],
    "Léa est allergique aux arachides": ["léa"],
    "Léa a adopté un chat nommé Pixel": ["léa"],
    "Léa vit à Lyon": ["léa"],
    "Acheter un cadeau pour l'anniversaire de Léa": ["léa"],
    "On a choisi MySQL pour Eko": ["eko"],
}
ENGLISH = {
    "Tom broke his wrist": ["tom"],
    "Tom lives in York": ["tom"],
    "Tom works as a carpenter": ["tom"],
    "Tom prefers tea": ["tom"],
    "Tom's birthday is on 3 May": ["tom"],
    "Anna lives in Leeds": ["anna"],
    "Anna is allergic to peanuts": ["anna"],
    "Anna is flying to Crete in June": ["anna"],
    "Anna has two cats": ["anna"],
    "The rent is 700 pounds": [],
    "We chose SQLite for Marmite": ["marmite"],
}


@pytest.fixture(scope="module")
def told(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Hippocampe]:
    """A French and an English world, each in its space."""
    folder: Path = tmp_path_factory.mktemp("answers") / "data"
    with Hippocampe.open(Config(folder, background=False)) as hippo:
        for space, statements in (("fr", FRENCH), ("en", ENGLISH)):
            for statement, subjects in statements.items():
                hippo.remember(statement, scope=Scope(space, user="dev"), subjects=subjects)
        yield hippo


@pytest.mark.parametrize(
    ("space", "question", "answer"),
    [
        ("fr", "qui est blessé ?", "Mickael s'est cassé l'épaule le 10 janvier 2026"),
        ("fr", "où habite David ?", "David habite à Toulouse"),
        ("fr", "dans quelle ville habite Léa ?", "Léa vit à Lyon"),
        ("fr", "où est-ce que je pars en vacances ?", "Mickael part en Grèce en février"),
        (
            "fr",
            "est-ce que Léa peut manger des cacahuètes ?",
            "Léa est allergique aux arachides",
        ),
        ("fr", "quel est le métier de David ?", "David travaille chez Airbus"),
        ("fr", "qui a un animal ?", "Léa a adopté un chat nommé Pixel"),
        ("fr", "quelle base de données pour Eko ?", "On a choisi MySQL pour Eko"),
        ("en", "who is hurt?", "Tom broke his wrist"),
        ("en", "where does Anna live?", "Anna lives in Leeds"),
        ("en", "what should I avoid cooking for Anna?", "Anna is allergic to peanuts"),
        ("en", "can Anna eat peanut butter?", "Anna is allergic to peanuts"),
        ("en", "what does Tom do for a living?", "Tom works as a carpenter"),
        ("en", "where is Anna going on holiday?", "Anna is flying to Crete in June"),
        ("en", "which database for Marmite?", "We chose SQLite for Marmite"),
    ],
)
def test_a_question_in_other_words(
    told: Hippocampe, space: str, question: str, answer: str
) -> None:
    best, second = told.recall(question, scope=Scope(space, user="dev"), limit=2)
    assert best.content == answer
    assert best.score >= 0.5 > second.score


@pytest.mark.parametrize("space", ["fr", "en"])
@pytest.mark.parametrize(
    "message",
    [
        *("salut !", "salut, ça va ?", "ok merci", "raconte une blague", "ok lol", "bonne nuit"),
        *("hello, how are you?", "ok thanks", "tell me a joke", "haha nice", "👍"),
        *("comment trier une liste en Python ?", "what is the square root of 1764?"),
    ],
)
def test_nothing_is_likely_where_nothing_is_asked(
    told: Hippocampe, space: str, message: str
) -> None:
    found = told.recall(message, scope=Scope(space, user="dev"), limit=50)
    assert found
    assert max(item.score for item in found) < 0.5


def test_who_is_in_no_memory_may_speak_of_oneself(told: Hippocampe) -> None:
    assert told.recall("where do I live?", scope=Scope("en", user="nobody-known"))


def test_the_home_of_another_is_no_answer(tmp_path: Path) -> None:
    with Hippocampe.open(Config(tmp_path / "data", background=False)) as hippo:
        scope = Scope(user="camille")
        for statement in (
            "Élise habite à Rennes",
            "Owen lives in Nantes, in a studio",
            "Owen has lived in France since 2019",
            "Owen goes bouldering on Tuesdays",
        ):
            hippo.remember(statement, scope=scope)
        best, *others = hippo.recall("où habite Owen ?", scope=scope)
        assert best.content.startswith("Owen")
        assert all(each.score < 0.5 for each in others if "Élise" in each.content)


@pytest.mark.parametrize(
    ("language", "told", "asked"),
    [
        (
            "en",
            ("My dentist is Dr Olowe on Marsh Street", "My orthodontist is Dr Finch"),
            "whos my dentist",
        ),
        (
            "fr",
            ("Mon dentiste est le docteur Perrot", "Mon orthodontiste s'appelle Mme Vasseur"),
            "c'est qui mon dentiste",
        ),
    ],
)
def test_who_somebody_is_to_the_asker_is_answered_with_nobody_else(
    hippo: Hippocampe, reading: None, language: str, told: tuple[str, str], asked: str
) -> None:
    home = Scope(space=language, user="ada", channel="home")
    for statement in (*told, "I have choir on Thursdays", "Le code du portail est 4471"):
        hippo.remember(statement, scope=home)
    dentist, orthodontist = hippo.recall(asked, scope=home, limit=2)
    assert dentist.content == told[0]
    assert dentist.score > 0.8
    assert orthodontist.score < 0.1
    # Nothing else names a dentist: who is nearest may be meant.
    hippo.delete(dentist.id, scope=home, reason="moved")
    (nearest, *_) = hippo.recall(asked, scope=home)
    assert nearest.content == told[1]
    assert nearest.score > 0.1


@pytest.mark.parametrize(
    ("told", "others", "asked"),
    [
        (
            "Tonton Marcel s'est fait opérer du genou en mai",
            ("Tonton Marcel élève des abeilles", "Le jardin de Marcel donne sur la voie ferrée"),
            "comment va Marcel ?",
        ),
        (
            "Aunt Rose had a stroke in the spring",
            ("Aunt Rose keeps bees", "Rose has a garden by the railway"),
            "how's Rose doing?",
        ),
    ],
)
def test_how_somebody_is_is_answered_by_their_health(
    hippo: Hippocampe, reading: None, told: str, others: tuple[str, str], asked: str
) -> None:
    home = Scope(user="ada", channel="home")
    for statement in (told, *others):
        hippo.remember(statement, scope=home)
    given = hippo.before_turn(asked, scope=home).trace.considered
    found = [each for each in given if each.path == "search" and each.outcome == "injected"]
    assert [each.recollection.content for each in found] == [told]


@pytest.mark.parametrize(
    ("plain", "marked", "question"),
    [
        (
            "I moved to York",
            "hi everyone, please note that I moved to York!!",
            "where do I live?",
        ),
        (
            "Léa travaille à Dax",
            "coucou les filles, au fait Léa travaille à Dax 😅",
            "petite question : elle travaille où Léa stp ??",
        ),
    ],
)
def test_discourse_markers_do_not_make_an_answer_less_likely(
    memory: Hippocampe, reading: None, plain: str, marked: str, question: str
) -> None:
    scores: list[float] = []
    for space, content in (("plain", plain), ("marked", marked)):
        scope = Scope(space=space, user="nora")
        memory.remember(content, scope=scope)
        memory.remember("Sam plays chess", scope=scope)
        found = memory.recall(question, scope=scope)
        assert found[0].content == content
        scores.append(found[0].score)
    assert scores[1] > scores[0] - 0.1


@pytest.mark.parametrize(
    ("space", "question", "asked"),
    [
        ("en", "has anyone been hurt lately", '"has anyone been hurt lately"'),
        ("en", "phone of Anna", "phone of Anna\nphone of Anna"),
        ("fr", "qui vit dans le sud", "« qui vit dans le sud »"),
    ],
)
def test_the_form_of_a_question_changes_nothing(
    told: Hippocampe, reading: None, space: str, question: str, asked: str
) -> None:
    first, other = (
        told.recall(each, scope=Scope(space, user="dev"), limit=4, peek=True)
        for each in (question, asked)
    )
    assert [each.score for each in other] == pytest.approx([each.score for each in first], abs=0.05)


@pytest.mark.parametrize("form", ["Nora said: “{}”", "**Nora**: {}", "Nora a dit : « {} »"])
def test_a_memory_may_begin_with_who_told_it(memory: Hippocampe, reading: None, form: str) -> None:
    told, scores = "My husband has a van in the garage", []
    for space, content in (("plain", told), ("named", form.format(told))):
        scope = Scope(space=space, user="nora")
        memory.remember(content, scope=scope)
        memory.remember("Sam plays chess", scope=scope)
        found = memory.recall("our truck died, anything nearby?", scope=scope)
        assert found[0].content == content
        scores.append(found[0].score)
    assert scores[1] > scores[0] - 0.1


@pytest.mark.parametrize("words", ["Anna's age", "Marmite logo"])
def test_a_search_by_words_that_nothing_answers_gets_nothing(
    told: Hippocampe, reading: None, words: str
) -> None:
    assert told.recall(words, scope=Scope("en", user="dev"), min_score=0.5, peek=True) == []
