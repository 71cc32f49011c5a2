"""What was said is given when it is asked for: past talk by its topic, and the live talk of a room."""

from datetime import timedelta

import pytest

from conftest import FakeClock
from hippocampe import Hippocampe, Scope
from hippocampe.reader.network import load_reader
from hippocampe.retrieval import reading as reading_step

LEA = Scope(user="Léa", channel="desk")
SAID = [
    ("On hésite à mettre des panneaux solaires sur le toit du garage", "Regardez son orientation."),
    ("Je pars en Espagne en août avec les enfants", "Quelle région ?"),
    ("Finalement on prend la chambre d'hôtes à Biarritz pour Pâques", "Bon choix."),
    ("The committee voted to close the car park on Sundays", "Noted."),
    ("We found a nanny, she starts on Monday", "Great news."),
    ("I'm moving the piano to the veranda", "Mind the doorstep."),
]
LIVE = [
    ("David", "je pars en Grèce demain, vol à 6h"),
    ("Nora", "mdr"),
    ("Nora", "ok"),
    ("Élodie", "the printer of the second floor is out of ink"),
    ("Nora", "le train de 18h est annulé, je prends celui de 19h12"),
    ("David", "lol"),
]
KNOWN = [
    "David habite à Toulouse",
    "David travaille chez Airbus",
    "David adore l'Espagne, il y va tous les étés",
    "David part chaque hiver au ski à Font-Romeu",
    "David est parti en Italie en 2023",
    "David a un bateau à Sète",
    "David joue au tennis le jeudi",
    "David is Mickael's brother",
    "David went to Peru last year",
    "David wants to see Japan",
]


@pytest.fixture
def hippo(hippo: Hippocampe, reading: None) -> Hippocampe:
    hippo.update_settings(scope=LEA, recent_hours=0, auto_retrieve_min_score=0.3)
    return hippo


@pytest.fixture
def talk(hippo: Hippocampe) -> Hippocampe:
    for message, reply in SAID:
        hippo.after_turn(message, reply, scope=LEA)
    return hippo


@pytest.fixture
def lobby(hippo: Hippocampe) -> Hippocampe:
    for content in KNOWN:
        hippo.remember(content, scope=Scope(user="Mickael", channel="dm"))
    for author, content in LIVE:
        hippo.observe(content, scope=Scope(user=author, channel="lobby"))
    return hippo


def given(hippo: Hippocampe, message: str) -> list[str]:
    items = hippo.before_turn(message, scope=Scope(user="Léa", channel=message[:40])).items
    return [item.content.splitlines()[0] for item in items]


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("on avait parlé de quoi pour le garage déjà ?", 0),
        ("rappelle-moi ce que je t'avais dit sur l'Espagne", 1),
        ("souviens-toi, on avait discuté de la chambre d'hôtes", 2),
        ("remember what they'd agreed on for the car park?", 3),
        ("did you catch what I said about the nanny?", 4),
        ("what did we say about the piano?", 5),
    ],
)
def test_the_talk_that_a_message_recalls_is_given(
    talk: Hippocampe, message: str, said: int
) -> None:
    assert SAID[said][0] in given(talk, message)


@pytest.mark.parametrize(
    "message",
    [
        "qu'est-ce qu'on avait dit sur la piscine ?",
        "do you remember my dentist's name?",
        "je pars en Italie demain",
        "je vais chez le coiffeur demain",
        "I'm flying to Norway tomorrow",
    ],
)
def test_nothing_is_given_for_what_was_never_said(talk: Hippocampe, message: str) -> None:
    assert given(talk, message) == []


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("il part où David ?", 0),
        ("where is david off to?", 0),
        ("elle prend quel train Nora ?", 4),
        ("what's wrong with the printer?", 3),
    ],
)
def test_what_was_said_a_minute_ago_is_given_beside_much_that_is_known(
    lobby: Hippocampe, message: str, said: int
) -> None:
    told = given(lobby, message)
    assert LIVE[said][1] in told
    assert not {"mdr", "ok", "lol"} & set(told)


CHAT = {
    "fr": [
        ("David", "je pars à Toulouse demain matin"),
        ("Nora", "ah cool, pour le boulot ?"),
        ("David", "oui, un client"),
        ("David", "mdr"),
        ("Nora", "qui vient manger des lasagnes samedi ?"),
        ("Ivan", "ok"),
        ("David", "moi si je suis rentré"),
        ("Ivan", "si je suis guéri"),
        ("Nora", "mon train arrive à 19h42 vendredi"),
        ("David", "qui a la clé du local ?"),
    ],
    "en": [
        ("David", "I'm off to Toulouse tomorrow morning"),
        ("Nora", "oh nice, for work?"),
        ("David", "yeah, a client"),
        ("David", "lol"),
        ("Nora", "who's coming for lasagna on Saturday?"),
        ("Ivan", "ok"),
        ("David", "me if I'm back"),
        ("Ivan", "if I'm better"),
        ("Nora", "my train gets in at 7:42 pm on Friday"),
        ("David", "who has the key of the shed?"),
    ],
}


@pytest.mark.parametrize(
    ("language", "message", "said"),
    [
        ("fr", "pourquoi David va à Toulouse ?", [0, 1, 2]),
        ("en", "why is David going to Toulouse?", [0, 1, 2]),
        ("fr", "qui vient samedi ?", [4, 6, 7]),
        ("en", "who's coming on Saturday?", [4, 6, 7]),
        ("fr", "à quelle heure arrive le train de Nora ?", [8]),
        ("en", "what time does Nora's train arrive?", [8]),
    ],
)
def test_what_answers_a_message_is_given_with_it(
    hippo: Hippocampe, clock: FakeClock, language: str, message: str, said: list[int]
) -> None:
    for author, content in CHAT[language]:
        hippo.observe(content, scope=Scope(user=author, channel="lobby"))
        clock.advance(seconds=30)
    told = hippo.before_turn(message, scope=Scope(user="Léa", channel="desk")).items
    spoken = [CHAT[language][number] for number in said]
    lines = [spoken[0][1], *(f"{author}: {content}" for author, content in spoken[1:])]
    found = [each.content for each in told if each.content.startswith(lines[0])]
    assert found == ["\n".join(lines)]
    # No reply is told twice.
    assert {content for _, content in spoken[1:]}.isdisjoint(each.content for each in told)


def test_what_is_said_much_later_or_elsewhere_is_no_answer(
    hippo: Hippocampe, clock: FakeClock
) -> None:
    asked = "who's coming for lasagna on Saturday?"
    hippo.observe(asked, scope=Scope(user="Nora", channel="lobby"))
    hippo.observe("The key is under the pot", scope=Scope(user="Ivan", channel="garden"))
    clock.advance(hours=1)
    hippo.observe("I sold my bike", scope=Scope(user="Ivan", channel="lobby"))
    told = hippo.before_turn("who's coming on Saturday?", scope=LEA).items
    assert asked in [each.content for each in told]


@pytest.mark.parametrize(
    "message",
    [
        "qu'est-ce qui se dit dans le lobby ?",
        "ça parle de quoi au lobby ?",
        "what's being said in the lobby?",
        "catch me up on the lobby",
    ],
)
def test_the_talk_of_a_room_is_the_last_of_it(lobby: Hippocampe, message: str) -> None:
    assert given(lobby, message) == [LIVE[0][1], LIVE[3][1], LIVE[4][1]]


@pytest.mark.parametrize(
    ("message", "said", "reply"),
    [
        ("what day is the plumber coming?", "the plumber's coming on Tuesday morning", "Great."),
        (
            "où sont mes clés de cave ?",
            "mes clés de cave sont dans le tiroir du bas",
            "C'est noté.",
        ),
    ],
)
def test_a_reply_does_not_hide_what_a_person_said(
    hippo: Hippocampe, message: str, said: str, reply: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reading_step, "CERTAIN", 1.0)
    hippo.after_turn(said, reply, scope=LEA)
    [found] = hippo.recall(message, scope=LEA, collections=["turn"], explain=True)
    texts = [f"Léa: {said}", f"Léa: {said}\nassistant: {reply}"]
    pairs = [(f"Léa: {message}", text) for text in texts]
    [read] = [signal.value for signal in found.why if signal.name == "reader"]
    assert read == pytest.approx(load_reader().read_pairs("answer", pairs).max(), abs=1e-3)
    assert given(hippo, message) == [said]


@pytest.mark.parametrize(
    ("message", "asked", "told"),
    [
        ("la mère de Léa elle habite où ?", "elle vit où ma mère", "ma mère vit à Auch"),
        ("where does Léa's mum live?", "where does my mum live?", "my mum lives in Durham"),
    ],
)
def test_an_earlier_question_answers_none(
    hippo: Hippocampe, message: str, asked: str, told: str
) -> None:
    hippo.after_turn(asked, "Ok.", scope=LEA)
    assert given(hippo, message) == []
    hippo.after_turn(asked, told, scope=LEA)
    assert given(hippo, message) == [asked]


@pytest.mark.parametrize(
    "message",
    ["de quoi on a parlé avant-hier ?", "what did we talk about the day before yesterday?"],
)
def test_the_talk_of_a_named_time_is_of_that_time(
    hippo: Hippocampe, clock: FakeClock, message: str
) -> None:
    at = clock() - timedelta(days=30)
    hippo.after_turn("On a parlé du château de Pau", "Beau château.", scope=LEA, at=at)
    assert given(hippo, message) == []
    at = clock() - timedelta(days=2)
    hippo.after_turn("We talked about the new roof", "Noted.", scope=LEA, at=at)
    assert given(hippo, message) == ["We talked about the new roof"]


@pytest.mark.parametrize(
    ("told", "message"),
    [
        ("ma répétition de chorale est jeudi à 18h", "qu'est-ce que j'ai de prévu jeudi ?"),
        ("my choir rehearsal is on Thursday at 6pm", "what do I have planned on Thursday?"),
    ],
)
def test_what_is_planned_for_a_day_was_not_told_on_that_day(
    hippo: Hippocampe, clock: FakeClock, told: str, message: str
) -> None:
    while clock().weekday() != 3:
        clock.advance(days=1)
    hippo.after_turn("Le voisin a repeint sa clôture", "Joli.", scope=LEA)
    clock.advance(days=4)
    hippo.after_turn(told, "Noted.", scope=LEA)
    clock.advance(hours=5)
    assert told in given(hippo, message)


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("known", "asked"),
    [
        ("Camille garde le chien en mai", "qui s'occupe de Rex pendant nos vacances ?"),
        ("Camille keeps the dog in May", "who looks after Rex during our holidays?"),
    ],
)
def test_questions_that_nobody_answered_are_not_read_in_place_of_the_answer(
    hippo: Hippocampe, known: str, asked: str
) -> None:
    hippo.remember(known, scope=LEA)
    for user in ("Nora", "David"):
        for _ in range(10):
            hippo.after_turn(asked, "Ok.", scope=Scope(user=user, channel="desk"))
    considered = hippo.before_turn(asked, scope=LEA).trace.considered
    (answer,) = (each for each in considered if each.recollection.content == known)
    assert "reader" in [signal.name for signal in answer.recollection.why]


@pytest.mark.parametrize(
    ("told", "asked"),
    [
        (
            "Le loto est reporté au 17 octobre, la salle a un dégât des eaux",
            "qu'est-ce que Nora a dit du loto ?",
        ),
        (
            "The fish comes from Boyle's on Tuesdays and Fridays",
            "what did Nora say about the fish?",
        ),
    ],
)
def test_what_somebody_told_of_a_topic_is_given(hippo: Hippocampe, told: str, asked: str) -> None:
    nora = Scope(user="Nora", channel="desk")
    hippo.remember(told, scope=nora)
    hippo.remember("Les lots sont dans mon garage", scope=nora)
    hippo.remember("We buy 40 lobsters on the 30th", scope=LEA)
    assert told in given(hippo, asked)
