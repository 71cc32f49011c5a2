"""Queries as people type them find what the same query, well spelled, finds."""

import time
from dataclasses import replace
from itertools import count

import pytest

from hippocampe import Hippocampe, Scope
from hippocampe.retrieval import recall
from hippocampe.retrieval.spelling import MOST_CORRECTED, spelled

HOME = Scope(space="home", user="dev")
STATEMENTS = (
    "Fabrice part à la retraite le 30 juin",
    "Le voilier de Nina est au port de Vannes",
    "Nora habite à Lyon",
    "Maria habite à Brest",
    "The staging database is PostgreSQL 15",
    "Lena keeps the spare keys in the blue drawer",
    "Le chat dort sur l'imprimante",
    "Product search is served by Elasticsearch",
    "We stay near the school and carry our bags",
)


@pytest.fixture
def known(hippo: Hippocampe) -> Hippocampe:
    hippo.remember_many([{"content": each} for each in STATEMENTS], scope=HOME)
    return hippo


def as_spelled(hippo: Hippocampe, query: str, space: str = HOME.space) -> str:
    return spelled(hippo._context.corpus, query, space)


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        # Capitals alone; a short code stays.
        ("OÙ EST LE VOILIER DE NINA ?", "où est le voilier de Nina ?"),
        ("WHO HAS THE SPARE KEYS?", "who has the spare keys?"),
        ("HCV", "HCV"),
        # Two letters swapped, one doubled, one of a double left out.
        ("le voileir de nina", "le voilier de Nina"),
        ("la retraitte de Fabrcie", "la retraite de Fabrice"),
        ("where is the drawwer", "where is the drawer"),
        # One letter wrong, missing or too many, in what is hardly a word.
        ("which databse is it", "which database is it"),
        ("what does elasticserch do", "what does Elasticsearch do"),
        # Possessives without their apostrophe, of names only; questions typed in haste.
        ("whats noras address", "what is Nora's address"),
        ("where are the drawers", "where are the drawers"),
        ("c koi le voilier de nina", "c'est quoi le voilier de Nina"),
        # Apostrophes left out, before a word of the space or a common noun.
        ("il est où limprimante", "il est où l'imprimante"),
        ("cest quand lexamen danglais", "c'est quand l'examen d'anglais"),
        ("c koi ladresse de nora", "c'est quoi l'adresse de Nora"),
        # Names, also at the beginning; a common noun stays small.
        ("où habite nora ?", "où habite Nora ?"),
        ("lena est où ?", "Lena est où ?"),
        ("où dort le chat ?", "où dort le chat ?"),
    ],
)
def test_a_query_is_spelled_as_its_space(known: Hippocampe, typed: str, meant: str) -> None:
    assert as_spelled(known, typed) == meant


@pytest.mark.parametrize(
    "query",
    [
        # Another person, or another word, with nearly the same letters.
        "Où habite Marta ?",
        "where does marta live",
        "Léna a les clés ?",
        "do you like satay and curry?",
        # Words of their own, though the rest is one too.
        "les larmes de laura",
        "la mamie part lundi",
        "he has a dage and lexam",
        # Other endings are grammar.
        "les voiliers dorment",
        "he served at the ports",
        # Nothing like it is known.
        "qu'est-ce que la rhubarbe ?",
        "x",
        "😀 ?!",
        "12 345",
        "la 1ere fois",
        # Parts of addresses.
        "https://elasticserch.example/voileir?q=drawwer",
        "write to databse@example.org",
    ],
)
def test_a_valid_query_stays(known: Hippocampe, query: str) -> None:
    assert as_spelled(known, query) == query


def test_the_first_unknown_words_of_a_long_message_are_corrected(known: Hippocampe) -> None:
    words = [f"zq{chr(97 + n // 26)}{chr(97 + n % 26)}xw" for n in range(MOST_CORRECTED)]
    near, far = " ".join(words[1:]), " ".join(words)
    assert as_spelled(known, f"{near} voileir") == f"{near} voilier"
    assert as_spelled(known, f"{far} voileir") == f"{far} voileir"


def test_only_the_words_of_the_space_count(known: Hippocampe) -> None:
    assert as_spelled(known, "which databse is it", "work") == "which databse is it"
    known.remember("A databse is a town in no country", scope=Scope(space="work"))
    assert as_spelled(known, "which databse is it") == "which database is it"
    assert as_spelled(known, "which databse is it", "work") == "which databse is it"


def test_an_error_that_was_typed_before_is_corrected_again(known: Hippocampe) -> None:
    typed = "whats noras address, does the voileir have kyes"
    meant = "what is Nora's address, does the voilier have keys"
    for _ in range(3):
        assert as_spelled(known, typed) == meant
        known.after_turn(typed, "I do not know.", scope=HOME)
    known.remember("A kyes is a lichen", scope=HOME)
    assert as_spelled(known, "where are the kyes") == "where are the kyes"


@pytest.mark.parametrize(
    ("typed", "meant"),
    [
        ("when is ravi's boss back", "when is Ravi's boss back"),
        ("whens ravis boss back", "when is Ravi's boss back"),
        ("il rentre quand le chef de ravi", "il rentre quand le chef de Ravi"),
        ("will you call me, may i ask", "will you call me, may i ask"),
    ],
)
def test_a_user_is_known_by_name_though_no_text_has_it(
    known: Hippocampe, typed: str, meant: str
) -> None:
    known.remember("May I have the keys?", scope=HOME)
    for user in ("ravi", "may"):
        known.remember(f"My desk is on floor {len(user)}", scope=Scope(space="home", user=user))
    assert as_spelled(known, typed) == meant


def test_a_name_that_ends_like_a_possessive_stays(known: Hippocampe) -> None:
    known.remember("Noras has a boat", scope=HOME, subjects=("Noras",))
    assert as_spelled(known, "where is noras") == "where is Noras"


def test_what_is_typed_in_haste_is_found(known: Hippocampe, reading: None) -> None:
    hasty = ("OÙ HABITE NORA ?", "where is the stagign databse", "lena has the kyes?")
    found = [known.recall(each, scope=HOME)[0] for each in hasty]
    assert [each.content for each in found] == [STATEMENTS[2], STATEMENTS[4], STATEMENTS[5]]
    assert min(each.score for each in found) >= 0.3
    assert known.recall("où habite sandra ?", scope=HOME, min_score=0.3) == []


@pytest.mark.parametrize(
    "message",
    [
        "Longue journée, le train avait une heure de retard. Sinon, Nora habite où ?",
        "Salut ! Où habite Nora ? Je lui écris ce soir, merci !",
        "Nora vient dîner samedi.\nElle habite où, déjà ?",
    ],
)
def test_a_question_is_answered_among_what_is_told(
    known: Hippocampe, reading: None, message: str
) -> None:
    known.update_settings(scope=HOME, hook_timeout_ms=10_000, recent_hours=0)
    given = known.before_turn(message, scope=HOME)
    assert STATEMENTS[2] in [each.content for each in given.items]
    assert known.recall(message, scope=HOME)[0].content == STATEMENTS[2]


def test_a_question_refers_to_the_turn_before(known: Hippocampe, reading: None) -> None:
    here = Scope(space="home", user="dev", channel="kitchen")
    known.update_settings(scope=HOME, hook_timeout_ms=10_000, recent_hours=0)
    known.after_turn("On invite Nora samedi ?", "Bonne idée !", scope=here)

    def given(message: str, scope: Scope) -> list[str]:
        found = known.before_turn(message, scope=scope).items
        return [each.content for each in found if each.kind == "memory" and each.score >= 0.3]

    assert given("elle habite où ?", here) == [STATEMENTS[2]]
    # Nor in another channel, nor of somebody whom the question names.
    assert set(given("elle habite où ?", replace(here, channel="garage"))) == set(STATEMENTS[2:4])
    assert given("elle habite où, maria ?", replace(here, user="owen")) == [STATEMENTS[3]]


def test_what_bears_on_a_message_is_given_though_it_asks_nothing(
    known: Hippocampe, reading: None
) -> None:
    known.remember("Lena is vegetarian", scope=HOME)
    known.update_settings(scope=HOME, hook_timeout_ms=10_000, recent_hours=0)

    def given(message: str) -> list[str]:
        found = known.before_turn(message, scope=HOME).items
        return [each.content for each in found if each.score >= 0.3]

    assert given("I'm making dinner for Lena tonight") == ["Lena is vegetarian"]
    for message in ("thanks, that works", "il pleut encore", "translate 'dinner' into French"):
        assert given(message) == []


@pytest.mark.parametrize(
    ("known", "tasks", "others"),
    [
        (
            "We write all scripts in Python, never in bash",
            ["write a bash script that renames my photos"],
            ["write a limerick about fog", "https://example.org/write/scripts"],
        ),
        (
            "On écrit les scripts en Python, jamais en bash",
            ["écris un script bash qui renomme des photos"],
            ["écris un poème sur la brume", "Corrige : « les script que j'ai écris »"],
        ),
    ],
)
def test_a_task_is_given_what_has_to_be_known_for_it(
    hippo: Hippocampe, reading: None, known: str, tasks: list[str], others: list[str]
) -> None:
    hippo.update_settings(scope=HOME, recent_hours=0)
    hippo.remember(known, scope=HOME)
    # Somebody else gave a task in nearly the same words.
    for other in others:
        hippo.after_turn(other, "C'est fait, done.", scope=replace(HOME, user="ada", channel="ada"))

    def given(message: str) -> list[str]:
        return [each.content for each in hippo.before_turn(message, scope=HOME).items]

    assert [given(each) for each in tasks] == [[known]] * len(tasks)
    assert [given(each) for each in others] == [[]] * len(others)


@pytest.mark.parametrize(
    ("told", "question", "other"),
    [
        ("Nora is vegetarian", "who's vegetarian?", "who's vegan?"),
        ("Nora est végétarienne", "qui est végétarien ?", "qui est végane ?"),
    ],
)
def test_another_state_is_not_given(
    hippo: Hippocampe, reading: None, told: str, question: str, other: str
) -> None:
    hippo.update_settings(scope=HOME, recent_hours=0, hook_timeout_ms=10_000)
    for each in (told, "Staging is at stg.heron.dev", "Inès relit la sécurité"):
        hippo.remember(each, scope=HOME)

    def given(message: str) -> list[str]:
        turn = hippo.before_turn(message, scope=HOME, keep=False)
        return [each.content for each in turn.items]

    assert given(question) == [told]
    assert given(other) == []


TEAM_RULES = {
    "write me a commit message for the parser fix": "Please no emojis in commit messages",
    "écris-moi un message de commit pour le correctif": "Pas d'emojis dans les messages de commit",
}


@pytest.mark.parametrize(("task", "rule"), TEAM_RULES.items())
def test_a_task_is_given_the_rule_for_it_among_others(
    hippo: Hippocampe, reading: None, task: str, rule: str
) -> None:
    hippo.update_settings(scope=HOME, recent_hours=0, hook_timeout_ms=10_000)
    for each in (
        rule,
        "Standup is at 9:45",
        "Inès relit la sécurité",
        "Staging is at stg.heron.dev",
    ):
        hippo.remember(each, scope=HOME)

    def given(message: str) -> list[str]:
        turn = hippo.before_turn(message, scope=HOME, keep=False)
        return [each.content for each in turn.items if each.score >= 0.5]

    assert given(task) == [rule]
    assert given("write a haiku about fog") == []


def test_a_second_question_waits_for_no_one(
    known: Hippocampe, monkeypatch: pytest.MonkeyPatch
) -> None:
    known.update_settings(scope=HOME, hook_timeout_ms=10_000, recent_hours=0)
    message = "Où habite Nora ? Et où habite Maria ?"

    def given() -> tuple[set[str], bool]:
        turn = known.before_turn(message, scope=replace(HOME, channel=f"c{next(channels)}"))
        found = {each.content for each in turn.items if each.score >= 0.3}
        return found, "not all searched" in turn.trace.missing

    channels = count()
    assert given() == ({STATEMENTS[2], STATEMENTS[3]}, False)
    monkeypatch.setattr(recall, "AGAIN_SECONDS", 3_600)
    assert given() == ({STATEMENTS[2]}, True)


@pytest.mark.parametrize("word", ["a" * 10_000, "1" * 100_000, "a_" * 50_000, "a@" * 50_000])
def test_a_word_of_ten_thousand_letters_is_searched_for_in_a_second(
    known: Hippocampe, word: str
) -> None:
    began = time.process_time()
    assert as_spelled(known, word) == word
    assert time.process_time() - began < 1


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("jbosse au cinema le mardi et le jeudi", "je bosse quels jours ?"),
        ("mes fiches danat sont dans le sac bleu", "où sont mes fiches d'anat ?"),
    ],
)
def test_what_was_told_in_haste_is_found(hippo: Hippocampe, told: str, question: str) -> None:
    for each in (told, "jfais du judo le lundi", "mon prof est cool", "jai une bourse"):
        hippo.remember(each, scope=HOME)
    best, *others = hippo.recall(question, scope=HOME)
    assert best.content == told
    assert best.score > 0.5 > max(each.score for each in others)
