"""Questions that go on with what was asked before, in a room of several people."""

import pytest

from conftest import FakeClock, Opener
from hippocampe import Hippocampe, Scope

TOLD = (
    ("tom", "Mon dentiste est le docteur Benali"),
    ("hugo", "Mon dentiste est le docteur Rousseau"),
    ("hugo", "Je fais de l'escalade le mardi"),
    ("karen", "Ollie's swimming lesson is on Wednesdays at 5pm"),
    ("karen", "Jess has orthodontist on 18 March at 4pm"),
    ("karen", "Ollie's teacher is Mrs Parker"),
    ("karen", "Jess's teacher is Mr Dunn"),
    ("karen", "Owen cooks dinner on Thursday"),
    ("karen", "Matteo cooks dinner on Friday"),
    ("karen", "The spare key of the Kubota hangs in the milk house"),
    ("karen", "The spare key of the truck is under the mineral feeder"),
    ("karen", "The new kit comes from Pennine Teamwear"),
    ("owen", "Petra is on call this week"),
    ("ines", "C'est Luc qui a le numéro du plombier"),
)


def room(user: str) -> Scope:
    return Scope("home", user=user, channel="den")


@pytest.fixture
def hippo(open_hippo: Opener, reading: None) -> Hippocampe:
    hippo = open_hippo()
    hippo.update_settings(scope=room("x"), hook_timeout_ms=10_000, recent_hours=0)
    for user, content in TOLD:
        hippo.remember(content, scope=room(user))
    return hippo


@pytest.mark.parametrize(
    ("before", "follow_up"),
    [
        ("hugo fait quoi le mardi ?", "et moi ?"),
        ("je fais de l'escalade quel jour ?", "et moi ?"),
        ("c'est qui mon dentiste ?", "et le mien ?"),
    ],
)
def test_asked_of_themselves_nothing_of_another_is_given(
    hippo: Hippocampe, clock: FakeClock, before: str, follow_up: str
) -> None:
    hippo.after_turn(before, "Je vois.", scope=room("hugo"))
    clock.advance(minutes=1)
    given = hippo.before_turn(follow_up, scope=room("ines"))
    statements = [each.content for each in given.items if each.kind == "memory"]
    assert not [each for each in statements if "escalade" in each or "dentiste" in each]
    again = hippo.before_turn(follow_up, scope=room("hugo"))
    assert [each for each in again.items if each.kind == "memory" and each.author == "hugo"]


@pytest.mark.parametrize(
    ("told", "first", "before", "follow_up"),
    [
        ("Je fais du 38 en chaussons", "c'est qui qui a le numéro du plombier ?", "je fais du combien en chaussons ?", "et moi"),
        ("I take a size 38 in shoes", "who's on call this week?", "what size shoes do i take", "and me?"),
    ],
)  # fmt: skip
def test_the_question_of_another_is_asked_of_the_asker_alone(
    hippo: Hippocampe, clock: FakeClock, told: str, first: str, before: str, follow_up: str
) -> None:
    hippo.remember(told, scope=room("owen"))
    hippo.remember("Je bosse à la Poste, at the post office", scope=room("ines"))
    for user, text in (("ines", first), ("tom", before)):
        clock.advance(minutes=1)
        hippo.before_turn(text, scope=room(user))
        hippo.after_turn(text, "Je vois.", scope=room(user))
    clock.advance(minutes=1)
    for user, given in (("ines", []), ("owen", [told])):
        items = hippo.before_turn(follow_up, scope=room(user)).items
        assert [each.content for each in items if each.score >= 0.02] == given


def test_a_user_of_earlier_talk_is_known_by_name(hippo: Hippocampe, clock: FakeClock) -> None:
    hippo.after_turn("je pars grimper", "Bien.", scope=room("hugo"))
    clock.advance(hours=20)
    hippo.after_turn("hugo fait quoi le mardi ?", "De l'escalade.", scope=room("ines"))
    clock.advance(minutes=1)
    given = hippo.before_turn("et moi ?", scope=room("ines"))
    assert "Je fais de l'escalade le mardi" not in [each.content for each in given.items]


@pytest.mark.parametrize(
    ("before", "user", "question", "answer"),
    [
        ("c'est qui le dentiste de Tom ?", "hugo", "et le mien ?", "docteur Rousseau"),
        ("c'est qui le dentiste de Hugo ?", "hugo", "et celui de Tom ?", "docteur Benali"),
        ("what day is swimming?", "tom", "at what time?", "at 5pm"),
        ("what's ollie's teacher called?", "tom", "and jess's?", "Mr Dunn"),
        ("who cooks on thursday?", "tom", "and friday?", "Matteo cooks"),
        ("where is the Kubota spare key?", "tom", "and for the truck?", "mineral feeder"),
        ("when do we get the new kit?", "tom", "who is making it?", "Pennine"),
        ("prod is slow, which box do I log into?", "tom", "who's on call?", "Petra"),
        ("l'évier fuit, qui peut réparer ça ?", "tom", "qui a le numéro ?", "Luc"),
    ],
)
def test_a_follow_up_is_answered(
    hippo: Hippocampe, clock: FakeClock, before: str, user: str, question: str, answer: str
) -> None:
    hippo.after_turn(before, "One moment.", scope=room("ines"))
    clock.advance(minutes=1)
    given = hippo.before_turn(question, scope=room(user)).items
    assert answer in given[0].content


@pytest.mark.parametrize(
    ("told", "own", "other", "question", "answer"),
    [
        (
            ("The concert is at the Ravel hall", "The bins go out behind the shed"),
            "when is the concert?",
            "when do the bins go out?",
            "and where?",
            "Ravel",
        ),
        (
            ("La fête de Lina est à 15h", "Le garage Peugeot ferme à 18h"),
            "c'est quel jour la fête de Lina ?",
            "c'est où le garage Peugeot ?",
            "et à quelle heure ?",
            "15h",
        ),
    ],
)
def test_a_follow_up_goes_on_with_the_own_question_across_that_of_another(
    hippo: Hippocampe,
    clock: FakeClock,
    told: tuple[str, ...],
    own: str,
    other: str,
    question: str,
    answer: str,
) -> None:
    for content in told:
        hippo.remember(content, scope=room("ines"))
    for user, said in (("tom", own), ("hugo", other)):
        hippo.after_turn(said, "One moment.", scope=room(user))
        clock.advance(minutes=1)
    given = hippo.before_turn(question, scope=room("tom")).items
    assert any(answer in each.content for each in given)


@pytest.mark.parametrize(
    ("told", "before", "question", "answer"),
    [
        (
            ("The tuner of the piano wants 90 pounds", "We have two goats, Pip and Dot"),
            "is the piano in tune?",
            "and how much does she take?",
            "90 pounds",
        ),
        (
            ("Le couvreur s'appelle Jean Moal", "Le vétérinaire des ânes s'appelle Paul Queffelec"),
            "combien va coûter la toiture ?",
            "et il s'appelle comment le gars ?",
            "Jean Moal",
        ),
    ],
)
def test_a_follow_up_with_words_of_its_own_is_searched_for_with_what_was_said_before_it_too(
    hippo: Hippocampe,
    clock: FakeClock,
    told: tuple[str, ...],
    before: str,
    question: str,
    answer: str,
) -> None:
    for content in told:
        hippo.remember(content, scope=room("ines"))
    hippo.after_turn(before, "One moment.", scope=room("tom"))
    clock.advance(minutes=1)
    given = hippo.before_turn(question, scope=room("tom")).items
    assert answer in given[0].content
    assert all(each.memory for each in given)


def test_in_another_session_nothing_says_what_it_is_about(
    hippo: Hippocampe, clock: FakeClock
) -> None:
    hippo.after_turn("what day is swimming?", "Wednesday.", scope=room("ines"))
    clock.advance(hours=5)
    later = hippo.before_turn("at what time?", scope=room("tom"))
    assert not any("swimming" in each.content for each in later.items if each.memory)


def test_a_chain_of_follow_ups(hippo: Hippocampe, clock: FakeClock) -> None:
    for said in ("what's Ollie's teacher called?", "and Nora's?", "thanks"):
        hippo.after_turn(said, "Let me see.", scope=room("ines"))
        clock.advance(minutes=1)
    given = hippo.before_turn("and Jess's?", scope=room("tom")).items
    assert "Mr Dunn" in given[0].content


def test_a_current_value_is_given_rather_than_the_one_it_returned_to(
    open_hippo: Opener, reading: None
) -> None:
    hippo = open_hippo()
    hippo.update_settings(scope=room("x"), hook_timeout_ms=10_000, recent_hours=0)
    first = "La démo avec la mairie de Pau est le 20 janvier à 14h"
    last = "La démo avec la mairie de Pau est finalement le 20 janvier à 14h"
    for content in (first, "La démo avec la mairie est décalée au 22 janvier, même heure", last):
        hippo.remember(content, scope=room("nadia"))
    given = [
        each.content
        for each in hippo.before_turn("la démo c'est quand ?", scope=room("julie")).items
    ]
    assert last in given
    assert first not in given


@pytest.mark.parametrize(
    ("told", "before", "question", "answer"),
    [
        (
            "Ma sœur Maud vit à Nantes",
            "ma soeur elle vit où ?",
            "et elle travaille où ?",
            "Maud travaille au CHU",
        ),
        (
            "My sister Beth lives in Ely",
            "where's my sister?",
            "what does she do?",
            "Beth is a nurse",
        ),
    ],
)
def test_a_pronoun_may_be_a_relative_of_who_asked_before(
    hippo: Hippocampe, clock: FakeClock, told: str, before: str, question: str, answer: str
) -> None:
    hippo.remember(told, scope=room("ines"))
    hippo.remember(answer, scope=room("ines"))
    hippo.remember("Lena is a pilot, Lena travaille chez Airbus", scope=room("tom"))
    hippo.after_turn(before, "One moment.", scope=room("ines"))
    clock.advance(minutes=1)
    for user in ("ines", "tom"):
        given = hippo.before_turn(question, scope=Scope("home", user=user, channel="den")).trace
        assert given.considered[0].recollection.content == answer


@pytest.mark.parametrize(
    ("told", "before", "follow_up", "question", "answer"),
    [
        (
            ("Ana bosse chez Ikea", "Ana vit à Dax", "Rémi bosse chez Alten", "Rémi vit à Albi"),
            "où bosse Rémi ?",
            "et Ana ?",
            "elle vit où ?",
            "Ana vit à Dax",
        ),
        (
            (
                "Ruth works at Ikea",
                "Ruth lives in Bath",
                "Omar works at Shell",
                "Omar lives in Ely",
            ),
            "where does Omar work?",
            "and Ruth?",
            "where does she live?",
            "Ruth lives in Bath",
        ),
    ],
)
def test_a_pronoun_is_the_one_named_last(
    hippo: Hippocampe,
    clock: FakeClock,
    told: tuple[str, ...],
    before: str,
    follow_up: str,
    question: str,
    answer: str,
) -> None:
    for content in told:
        hippo.remember(content, scope=room("ines"))
    for asked in (before, follow_up):
        hippo.after_turn(asked, "One moment.", scope=room("ines"))
        clock.advance(minutes=1)
    given = hippo.before_turn(question, scope=room("ines")).items
    assert given[0].content == answer
