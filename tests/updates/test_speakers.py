"""Who "I" is when two users of a space tell the same thing."""

import pytest

from hippocampe import Hippocampe, Scope


def told(hippo: Hippocampe, *said: tuple[str | None, str]) -> list[str]:
    """What is current after these statements, each with its user, oldest first."""
    for user, content in said:
        hippo.remember(content, scope=Scope("home", user=user, channel="den"))
    return [memory.content for memory in reversed(hippo.recent(20, scope=Scope("home")))]


@pytest.mark.parametrize(
    ("first", "second"),
    [
        (("hugo", "J'habite à Lyon"), ("camille", "Hugo a déménagé à Paris")),
        (("karen", "Jess works at Costa"), ("jess", "I work at Greggs now")),
        (("jess", "Jess works at Costa"), ("jess", "I work at Greggs now")),
    ],
)
def test_a_correction_by_another_user_of_what_they_tell_of_one_person(
    hippo: Hippocampe, first: tuple[str, str], second: tuple[str, str]
) -> None:
    assert told(hippo, first, second) == [second[1]]


def test_by_an_alias(hippo: Hippocampe) -> None:
    said = [("maud", "Cam = Camille"), ("camille", "J'habite à Lyon")]
    said.append(("maud", "Cam a déménagé à Paris"))
    assert told(hippo, *said) == ["Cam = Camille", "Cam a déménagé à Paris"]


@pytest.mark.usefixtures("reading")
def test_the_reader_is_told_who_speaks(hippo: Hippocampe) -> None:
    said = [("jess", "I'm allergic to cats"), ("karen", "Jess is allergic to cats")]
    assert len(told(hippo, *said)) == 1


@pytest.mark.parametrize(
    "contents",
    [
        ("I'm allergic to cats", "I'm allergic to cats"),
        ("My mum lives in Leeds", "My mum lives in York"),
        ("I live in Leeds", "Maud lives in York"),
        ("J'ai prêté mon vélo à Owen", "J'ai un vélo rouge"),
    ],
)
@pytest.mark.usefixtures("reading")
def test_two_people_stay_two(hippo: Hippocampe, contents: tuple[str, str]) -> None:
    one, other = contents
    assert told(hippo, ("karen", one), ("owen", other)) == [one, other]
    assert hippo.reviews(scope=Scope("home")) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Lives in Leeds", "Moved to Bath"),
        ("Works at Greggs", "Now works at Costa"),
        ("Prefers tea", "Prefers tea"),
        ("Plays the tuba", "Plays the tuba"),
        ("Habite à Lyon", "Habite à Nantes"),
        ("Travaille chez Halyard", "Travaille chez Mapstone"),
        ("Déteste la coriandre", "Déteste la coriandre"),
        ("Time zone is GMT", "Time zone is CET"),
        ("Birthday: 4 March", "Birthday: 9 June"),
        ("Favourite colour: teal", "Favourite colour: teal"),
        ("Fuseau horaire : Londres", "Fuseau horaire : Dakar"),
        ("Métier : fleuriste", "Métier : maçon"),
        ("Couleur préférée : bleu", "Couleur préférée : bleu"),
    ],
)
@pytest.mark.usefixtures("reading")
def test_a_statement_without_a_subject_is_about_the_user_who_told_it(
    hippo: Hippocampe, one: str, other: str
) -> None:
    assert told(hippo, ("karen", one), ("owen", other)) == [one, other]
    assert hippo.reviews(scope=Scope("home")) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Lives in Leeds", "Moved to Bath"),
        ("Habite à Lyon", "A déménagé à Nantes"),
        ("Lives in Leeds", "I have moved to Bath"),
        ("J'habite à Lyon", "Habite à Nantes"),
        ("Time zone is GMT", "Time zone is CET"),
        ("Birthday: 4 March", "Birthday: 9 June"),
        ("Métier : fleuriste", "Métier : maçon"),
        ("Email: ann@mill.example", "New email: ann@moor.example"),
        ("Téléphone : 01 23 45 67 89", "Nouveau téléphone : 01 98 76 54 32"),
        ("Employer: Halyard", "I left Halyard for Mapstone"),
        ("Employeur : Halyard", "J'ai quitté Halyard pour Mapstone"),
    ],
)
def test_a_user_corrects_their_statement_without_a_subject(
    hippo: Hippocampe, one: str, other: str
) -> None:
    assert told(hippo, ("karen", one), ("owen", one), ("karen", other)) == [one, other]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Hobby: chess", "Hobby: chess"),
        ("Diet: vegan", "Diet: vegan"),
        ("Loisir : échecs", "Loisir : échecs"),
    ],
)
@pytest.mark.usefixtures("reading")
def test_a_note_without_a_verb_may_be_of_either_user(
    hippo: Hippocampe, one: str, other: str
) -> None:
    assert told(hippo, ("karen", one), ("owen", other)) == [one, other]
    (pair,) = hippo.reviews(scope=Scope("home"))
    assert pair.reason.startswith("another owner: ")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Party on 4 December", "Party on 9 December"),
        ("Fête le 4 décembre", "Fête le 9 décembre"),
        ("Blood type: O+", "Blood type: A-"),
    ],
)
@pytest.mark.usefixtures("reading")
def test_notes_of_two_users_that_differ_are_two(hippo: Hippocampe, one: str, other: str) -> None:
    assert told(hippo, ("karen", one), ("owen", other)) == [one, other]
    assert hippo.reviews(scope=Scope("home")) == []


def test_a_noun_at_the_beginning_is_a_subject(hippo: Hippocampe) -> None:
    said = [("karen", "Train leaves at 8"), ("owen", "Train leaves at 8")]
    assert len(told(hippo, *said)) == 1


@pytest.mark.usefixtures("reading")
def test_what_two_users_say_of_us_waits_for_a_person(hippo: Hippocampe) -> None:
    one, other = "Notre loyer est de 1150 euros", "Notre loyer est de 1180 euros maintenant"
    assert told(hippo, ("camille", one), ("hugo", other)) == [one, other]
    (pair,) = hippo.reviews(scope=Scope("home"))
    assert pair.reason == "another owner: rent: 1150 euros → 1180 euros"
    same = "Notre chat s'appelle Biscuit"
    assert told(hippo, ("camille", same), ("hugo", same))[2:] == [same, same]


@pytest.mark.parametrize(
    ("one", "other"),
    [("I live in Leeds", "I live in Bath"), ("J'habite à Lyon", "J'habite à Paris maintenant")],
)
def test_what_nobody_known_says_of_themselves_replaces_nothing_of_a_user(
    hippo: Hippocampe, one: str, other: str
) -> None:
    assert told(hippo, ("karen", one), (None, other)) == [one, other]
    (pair,) = hippo.reviews(scope=Scope("home"))
    assert pair.reason.startswith("another owner: home: ")


def test_what_a_user_says_of_themselves_replaces_nothing_of_nobody_known(hippo: Hippocampe) -> None:
    said = [(None, "I live in Leeds"), ("karen", "I live in Bath"), ("karen", "I live in Bath.")]
    assert told(hippo, *said) == ["I live in Leeds", "I live in Bath"]
    assert len(hippo.reviews(scope=Scope("home"))) == 1


def test_without_users_a_statement_corrects_itself(hippo: Hippocampe) -> None:
    assert told(hippo, (None, "I live in Leeds"), (None, "I live in Bath")) == ["I live in Bath"]


def test_i_of_the_companion_is_the_same_for_each_user(hippo: Hippocampe) -> None:
    def learn(content: str, user: str | None) -> str:
        scope = Scope("home", user=user)
        done = hippo.remember(content, scope=scope, collection="self", category="capability")
        return done.action

    assert learn("I can read the lobby", None) == "inserted"
    assert learn("I can read the lobby", "karen") == "reinforced"


def test_the_name_of_the_speaker_is_no_lost_fact(hippo: Hippocampe) -> None:
    told(hippo, ("karen", "Jess works at Costa"), ("jess", "I work at Greggs now"))
    (found,) = hippo.recall("where does Jess work?", scope=Scope("home", user="tom"))
    assert found.content == "I work at Greggs now"


@pytest.mark.usefixtures("reading")
def test_masked_secrets_do_not_look_the_same(hippo: Hippocampe) -> None:
    said = [("maud", "The door code is 4521"), ("maud", "The gate code: 9981#")]
    assert len(told(hippo, *said)) == 2
