"""Questions for all that somebody did or will do at a time."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

import tier
from conftest import FakeClock, Opener
from hippocampe import Config, Hippocampe, Scope
from sparse import copy_folder

TOLD = (
    ("2026-10-05", "mia", "J'ai commencé la poterie"),
    ("2026-11-02", "mia", "My MOT is on 2 December"),
    ("2026-11-16", "mia", "I took the cat to the vet"),
    ("2026-11-16", "mia", "how do I descale a kettle?"),
    ("2026-11-17", "rob", "I sold my bike"),
    ("2026-11-19", "mia", "On a dîné chez Mireille"),
    ("2026-11-22", "mia", "J'ai vu un film au cinéma"),
    ("2026-11-23", "mia", "I painted the hall on Saturday"),
    ("2026-11-23", "mia", "J'ai un rendez-vous chez le dentiste jeudi"),
    ("2026-11-23", "mia", "Dora sings on Sunday"),
    ("2026-11-23", "rob", "I'm off to Bristol on Friday"),
)
WEEK = ["I took the cat", "On a dîné", "J'ai vu un film", "I painted the hall"]


def tell(hippo: Hippocampe, clock: FakeClock) -> None:
    scope = Scope("home", user="mia", channel="den")
    hippo.update_settings(scope=scope, hook_timeout_ms=10_000, timezone="Europe/Paris")
    for day, user, said in TOLD:
        clock.now = datetime.fromisoformat(f"{day}T10:00").replace(tzinfo=UTC)
        hippo.after_turn(said, "Noted.", scope=Scope("home", user=user, channel="den"))


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder where all is told, to copy."""
    folder = tmp_path_factory.mktemp("told") / "data"
    clock = FakeClock()
    with Hippocampe.open(Config(folder, background=False), clock=clock) as hippo:
        tell(hippo, clock)
    return folder


@pytest.fixture
def hippo(
    open_hippo: Opener, folder: Path, story: Path, clock: FakeClock, reading: None
) -> Hippocampe:
    if not tier.is_chosen():
        copy_folder(story, folder)
    hippo = open_hippo()
    if tier.is_chosen():
        tell(hippo, clock)
    clock.now = datetime(2026, 11, 24, 19, tzinfo=UTC)
    return hippo


@pytest.mark.parametrize(
    ("user", "question", "events"),
    [
        ("mia", "what did I do last week?", WEEK),
        ("mia", "J'ai fait quoi la semaine dernière ?", WEEK),
        ("mia", "what did I do last weekend?", WEEK[-2:]),
        ("mia", "Qu'est-ce que j'ai fait jeudi ?", ["On a dîné"]),
        ("mia", "Qu'ai-je fait en octobre ?", ["J'ai commencé la poterie"]),
        ("mia", "what did Rob do last week?", ["I sold my bike"]),
        ("mia", "Rob a fait quoi mardi dernier ?", ["I sold my bike"]),
        ("rob", "what did I do in October?", []),
        ("mia", "what do I have on Thursday?", ["J'ai un rendez-vous"]),
        ("mia", "J'ai quoi de prévu jeudi ?", ["J'ai un rendez-vous"]),
        ("mia", "what do I have next week?", ["My MOT"]),
        ("mia", "am I free on Friday?", []),
        ("mia", "je suis libre vendredi ?", []),
        ("mia", "Is Rob free on Friday?", ["I'm off to Bristol"]),
        ("rob", "What is Dora doing on Sunday?", ["Dora sings"]),
        ("mia", "Dora fait quoi dimanche ?", ["Dora sings"]),
        ("mia", "Rob fait quoi vendredi ?", ["I'm off to Bristol"]),
    ],
)
def test_all_events_of_the_time_are_given_in_order(
    hippo: Hippocampe, user: str, question: str, events: list[str]
) -> None:
    given = hippo.before_turn(question, scope=Scope("home", user=user, channel="den")).items
    assert len(given) == len(events)
    for item, event in zip(given, events, strict=True):
        assert item.content.startswith(event)


def test_an_event_that_a_memory_dates_is_given(hippo: Hippocampe) -> None:
    scope = Scope("home", user="mia", channel="den")
    hippo.remember("Concert with Zoe", scope=scope, occurred_at="2026-11-10T20:00:00+01:00")
    given = hippo.before_turn("what did I do on 10 November?", scope=scope).items
    assert [each.content for each in given] == ["Concert with Zoe"]


@pytest.mark.parametrize(
    ("question", "follow_up", "events"),
    [
        ("what do I have on Friday?", "and on Thursday?", ["J'ai un rendez-vous"]),
        ("J'ai quoi de prévu vendredi ?", "et jeudi ?", ["J'ai un rendez-vous"]),
        ("what did I do in October?", "what about last weekend?", WEEK[-2:]),
        ("what do I have on Friday?", "and what about on Wednesday 2 December?", ["My MOT"]),
        ("J'ai quoi vendredi ?", "et pour le mercredi 2 décembre 2026 ?", ["My MOT"]),
        ("J'ai fait quoi en octobre ?", "et le week-end dernier ?", WEEK[-2:]),
        ("who is Dora?", "and on Thursday?", []),
    ],
)
def test_a_follow_up_asks_for_the_events_of_another_time(
    hippo: Hippocampe, question: str, follow_up: str, events: list[str]
) -> None:
    scope = Scope("home", user="mia", channel="den")
    hippo.after_turn(question, "Nothing.", scope=scope)
    given = hippo.before_turn(follow_up, scope=scope).trace.considered
    read = [each.recollection.content for each in given if each.path == "recent"]
    assert len(read) == len(events)
    assert all(map(str.startswith, read, events))


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("what's on tomorrow?", "Ivo calls tomorrow morning"),
        ("whats on this evening", "Ivo calls this evening"),
        ("anything on Thursday?", "Ivo calls on Thursday"),
        ("what do I have on Friday?", "I booked the boat for Friday"),
        ("J'ai quoi de prévu vendredi ?", "J'ai réservé le bateau pour vendredi"),
        ("what are our plans for Thursday?", "Ivo calls on Thursday"),
        ("du coup on fait quoi jeudi", "On appelle Ivo jeudi"),
        ("qu'est-ce qui se passe ce soir ?", "On appelle Ivo ce soir"),
        ("anything on in the morning?", "Ivo calls on Wednesday morning"),
        ("on fait quoi dans la matinée ?", "On appelle Ivo demain matin"),
        ("what's on on thurs", "Ivo calls on Thursday"),
        ("what have we got a week on Monday?", "Ivo calls on 7 December"),
        ("on a quoi le week-end ?", "On appelle Ivo samedi"),
        ("what are we doing Christmas Eve?", "Ivo calls on 24 December"),
        ("on fait quoi la veille de Noël ?", "On appelle Ivo le 24 décembre"),
        ("qu'est-ce qu'on a demain ?", "On appelle Ivo demain"),
        ("qu'est-ce qu'on a samedi ?", "On appelle Ivo samedi"),
        ("what's on tonight?", "Ivo calls every Tuesday at 9pm"),
        ("what's on on Thursday?", "Ivo calls on Thursdays"),
        ("on a quoi demain matin ?", "Ivo appelle le mercredi matin"),
        ("what are we doing on Saturday?", "Ivo calls at weekends"),
        ("what's on on Sunday?", "Ivo calls every weekend"),
        ("on fait quoi samedi ?", "Le week-end Ivo appelle"),
        ("on a quoi dimanche ?", "Ivo appelle un week-end sur deux"),
        ("what's on on Thursday?", "Ivo calls every other Thursday"),
        ("on a quoi jeudi ?", "Ivo appelle un jeudi sur deux"),
        ("on a quoi jeudi ?", "Ivo appelle le jeudi de 14h à 16h"),
        ("on est libres jeudi pour un ciné ?", "Ivo appelle jeudi"),
        ("are we free on Thursday to help Zoe?", "Ivo calls on Thursday"),
        ("are we around on Thursday?", "Ivo calls on Thursday"),
        ("on fait quoi le samedi d'habitude ?", "Le week-end Ivo appelle"),
        ("qu'est-ce qu'on fait le jeudi ?", "Ivo appelle tous les jeudis"),
        ("what do we usually do on Thursdays?", "Ivo calls every Thursday"),
        ("what do we do at weekends?", "Ivo calls at weekends"),
    ],
)
def test_plans_are_asked_for_in_many_ways(hippo: Hippocampe, question: str, told: str) -> None:
    scope = Scope("home", user="rob", channel="attic")
    hippo.after_turn(told, "Noted.", scope=scope)
    hippo.after_turn("We went to Ghent on Sunday", "Noted.", scope=scope)
    read = hippo.before_turn(question, scope=scope).trace.considered
    given = [each.recollection.content for each in read if each.path == "recent"]
    assert any(each.startswith(told) for each in given)
    assert not any("Ghent" in each for each in given)


@pytest.mark.parametrize(
    ("question", "told"),
    [
        ("what's on in the morning?", "Ivo calls on Wednesday evenings"),
        ("on a quoi demain matin ?", "Ivo appelle le mercredi soir"),
        ("what's on on Friday?", "Ivo calls every Thursday"),
        ("on a quoi vendredi ?", "Ivo appelle tous les jeudis"),
        ("what's on on Friday?", "Ivo calls at weekends"),
        ("on a quoi jeudi ?", "Le week-end Ivo appelle"),
        ("on a quoi samedi ?", "Ivo appelle le week-end du 12 décembre"),
        ("on a quoi vendredi ?", "Ivo appelle un jeudi sur deux"),
        ("on fait quoi le mardi d'habitude ?", "Ivo appelle le jeudi"),
        ("what do we do on Mondays?", "Ivo calls on Thursdays"),
    ],
)
def test_a_habit_of_another_time_is_not_planned(
    hippo: Hippocampe, question: str, told: str
) -> None:
    scope = Scope("home", user="rob", channel="attic")
    hippo.after_turn(told, "Noted.", scope=scope)
    read = hippo.before_turn(question, scope=scope).trace.considered
    assert not any("Ivo" in each.recollection.content for each in read if each.path == "recent")


@pytest.mark.parametrize(
    ("question", "follow_up"),
    [
        ("what do I have on Friday?", "and on Thursday?"),
        ("qu'est-ce qu'on a vendredi ?", "et jeudi ?"),
    ],
)
def test_a_question_for_a_time_is_what_a_follow_up_goes_on_with(
    hippo: Hippocampe, question: str, follow_up: str
) -> None:
    scope = Scope("home", user="mia", channel="den")
    hippo.after_turn("who has the key of the bike shed?", "Rob.", scope=scope)
    hippo.after_turn(question, "Nothing.", scope=scope)
    given = hippo.before_turn(follow_up, scope=scope).trace.considered
    assert any("dentiste" in each.recollection.content for each in given if each.path == "recent")


@pytest.mark.parametrize(
    ("question", "follow_up"),
    [
        ("what do I have on Friday?", "and in the morning?"),
        ("what do I have on Friday?", "and what about in the morning then?"),
        ("J'ai quoi vendredi ?", "et le week-end ?"),
    ],
)
def test_a_follow_up_may_name_a_habitual_time(
    hippo: Hippocampe, question: str, follow_up: str
) -> None:
    scope = Scope("home", user="mia", channel="den")
    hippo.remember("Breakfast with Ivo tomorrow at 8, brunch with Zoe this Saturday", scope=scope)
    hippo.remember("On dîne chez Luc samedi soir", scope=scope)
    hippo.remember("Petit-déjeuner avec Ivo demain matin", scope=scope)
    hippo.after_turn(question, "Nothing.", scope=scope)
    given = hippo.before_turn(follow_up, scope=scope).trace.considered
    read = [each.recollection.content for each in given if each.path == "recent"]
    assert ("Luc" in " ".join(read)) == ("week-end" in follow_up)
    assert ("Petit" in " ".join(read)) == ("morning" in follow_up)


@pytest.mark.parametrize(
    ("question", "told", "channel", "given"),
    [
        ("what are we doing on Friday?", "We dine at my parents' on Friday", "attic", True),
        ("what are we doing on Friday?", "We dine at my parents' on Friday", "office", False),
        ("what are we doing on Friday?", "I see my lawyer on Friday", "attic", False),
        ("what do I have on Friday?", "We dine at my parents' on Friday", "attic", False),
        ("on fait quoi vendredi ?", "On dîne chez mes parents vendredi", "attic", True),
        ("on fait quoi vendredi ?", "On dîne chez mes parents vendredi", "office", False),
        ("on fait quoi vendredi ?", "Je vois mon avocat vendredi", "attic", False),
    ],
)
def test_what_another_plans_for_all_in_the_room_is_theirs(
    hippo: Hippocampe, question: str, told: str, channel: str, *, given: bool
) -> None:
    hippo.remember(told, scope=Scope("home", user="rob", channel=channel))
    asked = hippo.before_turn(question, scope=Scope("home", user="mia", channel="attic"))
    assert (told in [each.content for each in asked.items]) == given


def test_what_is_in_an_evening_is_not_on_the_next_day(hippo: Hippocampe) -> None:
    scope = Scope("home", user="mia", channel="attic")
    hippo.after_turn("We dine with Ivo on Wednesday evening", "Noted.", scope=scope)
    given = hippo.before_turn("what do we have on Thursday?", scope=scope).items
    assert not any("Ivo" in each.content for each in given)


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("Le week-end je garde ma nièce", "je suis libre samedi ?"),
        ("On weekends I look after my niece", "am I free on Sunday?"),
        ("I see my physio every other Thursday", "do I have anything on Thursday?"),
    ],
)
def test_a_habit_told_long_ago_is_planned(
    hippo: Hippocampe, clock: FakeClock, told: str, question: str
) -> None:
    mia, rob = (Scope("home", user=user, channel="den") for user in ("mia", "rob"))
    hippo.remember(told, scope=mia)
    clock.advance(days=200)
    given = {
        user: [each.content for each in hippo.before_turn(question, scope=scope).items]
        for user, scope in (("mia", mia), ("rob", rob))
    }
    assert given == {"mia": [told], "rob": []}
