"""Conversations, exchanges page by page, and one exchange with what became of it."""

from datetime import datetime, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from conftest import FakeClock
from hippocampe import Hippocampe, InvalidInput, NotFound, Scope

LOBBY = Scope(user="owen", channel="lobby")
PHONE = Scope(user="nina", channel="phone")


@pytest.fixture
def talked(memory: Hippocampe, clock: FakeClock) -> dict[str, str]:
    """The ids of three exchanges on two days, by a word in each."""
    ids = {"voilier": memory.after_turn("Le voilier est à Nantes", "Bien noté", scope=LOBBY)}
    clock.advance(days=1)
    ids["train"] = memory.after_turn("Le train part à 9 h", None, scope=PHONE)
    ids["clé"] = memory.after_turn("La clé du voilier est ici", "Ah !", scope=PHONE)
    return ids


def test_conversations_by_channel(memory: Hippocampe, talked: dict[str, str]) -> None:
    found = memory.conversations(scope=Scope())
    assert [(each.channel, each.messages) for each in found] == [("phone", 3), ("lobby", 2)]
    assert found[0].first_at < found[0].last_at
    assert memory.conversations(scope=Scope(space="other")) == []
    for each in ("train", "voilier"):
        memory.delete(talked[each], scope=Scope(), reason="faux")
    assert [(each.channel, each.messages) for each in memory.conversations(scope=Scope())] == [
        ("phone", 2)
    ]


def test_exchanges_by_person_channel_day_and_words(
    memory: Hippocampe, talked: dict[str, str], clock: FakeClock
) -> None:
    def ids(**filters: object) -> list[str]:
        return [each.id for each in memory.exchanges(scope=Scope(), **filters)]  # pyright: ignore[reportArgumentType]

    boat, train, key = talked.values()
    assert ids() == [key, train, boat]
    assert ids(order="oldest") == [boat, train, key]
    assert ids(user="owen") == ids(channel="lobby") == [boat]
    assert ids(query="voilier") == [key, boat]
    assert ids(query="voilier", channel="phone") == [key]
    assert ids(query="voilier neige") == ids(query="!?") == []
    today = clock.now.astimezone(ZoneInfo("Europe/Paris")).replace(hour=0)
    assert ids(since=today) == [key, train]
    assert ids(until=today) == [boat]
    memory.forget("le train", scope=Scope())
    assert train not in ids()
    first = memory.exchanges(scope=Scope())[-1]
    assert [each.content for each in first.messages] == ["Le voilier est à Nantes", "Bien noté"]
    assert {each.turn_id for each in first.messages} == {boat}
    assert (first.author, first.channel) == ("owen", "lobby")


def test_messages_are_found_by_the_ids_of_the_host(memory: Hippocampe) -> None:
    turn = memory.after_turn("J'ai perdu mes clés", "Où ?", scope=LOBBY, external_id="chat-42")
    memory.after_turn("I found my keys", "Where?", scope=LOBBY, external_id="chat-43")
    memory.after_turn("Autre espace", "Ah", scope=Scope(space="autre"), external_id="chat-42")

    def found(*ids: str, **of: Any) -> list[str]:
        spoken = memory.messages(external_ids=ids, **{"scope": LOBBY, **of})
        return [each.content for each in spoken]

    assert found("chat-42") == ["J'ai perdu mes clés"]
    assert found("chat-42", "chat-43", "chat-44") == ["J'ai perdu mes clés", "I found my keys"]
    assert found("chat-42", scope=Scope(channel="phone")) == found() == []
    (message,) = memory.messages(external_ids=["chat-42"], scope=LOBBY)
    assert message.turn_id == turn
    memory.erase(id=message.id, scope=LOBBY)
    assert found("chat-42") == []
    with pytest.raises(InvalidInput, match="list of texts"):
        memory.messages(external_ids="chat-42", scope=LOBBY)


@pytest.mark.parametrize("order", ["newest", "oldest"])
def test_pages_of_one_minute_miss_nothing(memory: Hippocampe, order: str) -> None:
    at = datetime(2026, 1, 2, tzinfo=ZoneInfo("UTC"))
    for number in range(7):
        memory.after_turn(f"Message {number}", None, scope=LOBBY, at=at)
    memory.after_turn("Plus tard", None, scope=LOBBY, at=at + timedelta(hours=1))
    seen: list[str] = []
    cursor = None
    while page := memory.exchanges(scope=Scope(), limit=3, cursor=cursor, order=order):  # pyright: ignore[reportArgumentType]
        seen += [each.id for each in page]
        cursor = page[-1].id
    assert len(seen) == len(set(seen)) == 8


def test_what_became_of_an_exchange(memory: Hippocampe, talked: dict[str, str]) -> None:
    id = talked["voilier"]
    (message, *_) = memory.exchange(id, scope=Scope()).exchange.messages
    learnt = memory.remember("Owen a un voilier", scope=LOBBY, evidence=[message.id]).memory
    memory.remember("Owen n'a plus de voilier", scope=LOBBY, replaces=[learnt.id])
    given = memory.before_turn("où est le voilier à Nantes ?", scope=Scope(user="rose"))
    assert id in [item.id for item in given.items]
    found = memory.exchange(id, scope=Scope())
    assert [each.id for each in found.learnt] == [learnt.id]
    assert not found.learnt[0].current
    assert [each.id for each in found.given] == [given.id]
    assert (found.previous_id, found.next_id) == (None, None)
    assert memory.exchange(talked["train"], scope=Scope()).next_id == talked["clé"]
    assert memory.exchange(talked["train"], scope=Scope()).given == ()


def test_the_exchanges_of_another_space_are_not_there(
    memory: Hippocampe, talked: dict[str, str]
) -> None:
    other = Scope(space="other")
    assert memory.exchanges(scope=other) == []
    with pytest.raises(NotFound, match="no exchange"):
        memory.exchange(talked["clé"], scope=other)
    with pytest.raises(InvalidInput, match="cursor"):
        memory.exchanges(scope=other, cursor=talked["clé"])


@pytest.mark.parametrize(
    ("said", "correction", "question"),
    [
        ("The quiz team has 3 players", "no wait, 5", "how many players has the quiz team?"),
        ("Le quiz est lundi chez Noé", "euh pardon, mardi", "quand est le quiz ?"),
    ],
)
def test_a_value_corrected_in_the_next_message_is_found_with_it(
    memory: Hippocampe, said: str, correction: str, question: str
) -> None:
    memory.after_turn(said, "ok", scope=LOBBY)
    memory.after_turn(correction, "ok", scope=LOBBY)

    def found() -> str:
        return memory.recall(question, scope=LOBBY, collections=("turn",))[0].content

    assert found() == f"{said}\nassistant: ok\nowen: {correction}"
    memory.forget(correction, scope=LOBBY)
    assert found() == f"{said}\nassistant: ok"


@pytest.mark.parametrize(
    ("said", "reply", "answer", "question"),
    [
        (
            "the boiler is leaking again so I rang the landlord",
            "Oh no. When is he coming?",
            "tomorrow between 2 and 4",
            "when is the landlord coming about the boiler?",
        ),
        (
            "la machine à laver fuit, j'ai appelé le réparateur",
            "Mince. Il passe quand ?",
            "demain entre 14h et 16h",
            "il passe quand le réparateur ?",
        ),
        (
            "je me suis tordu la cheville en courant",
            "Aïe ! Le médecin dit quoi ?",
            "que c'est une entorse, trois semaines de repos",
            "il a dit quoi le médecin pour ma cheville ?",
        ),
    ],
)
def test_the_answer_to_the_question_of_a_reply_is_found_with_what_it_is_about(
    memory: Hippocampe, said: str, reply: str, answer: str, question: str
) -> None:
    memory.after_turn(said, reply, scope=LOBBY)
    memory.after_turn(answer, "Noted.", scope=LOBBY)

    def found() -> list[str]:
        results = memory.recall(question, scope=LOBBY, collections=("turn",))
        return [each.content for each in results]

    told = f"{said}\nassistant: {reply}"
    assert f"{told}\nowen: {answer}" in found()
    memory.forget(answer, scope=LOBBY)
    assert told in found()


@pytest.mark.parametrize("after", ["and who pays?", "ok thanks"])
def test_what_does_not_answer_a_reply_is_not_found_with_it(memory: Hippocampe, after: str) -> None:
    memory.after_turn("I rang the landlord", "When is he coming?", scope=LOBBY)
    memory.after_turn(after, "No idea.", scope=LOBBY)
    found = memory.recall("landlord", scope=LOBBY, collections=("turn",))
    assert "I rang the landlord\nassistant: When is he coming?" in [x.content for x in found]


def test_only_the_same_person_corrects_at_once(memory: Hippocampe, clock: FakeClock) -> None:
    kitchen = [Scope(user=name, channel="kitchen") for name in ("owen", "nina")]
    memory.after_turn("The quiz team has 3 players", None, scope=kitchen[0])
    memory.after_turn("no wait, 5", None, scope=kitchen[1])
    memory.after_turn("The choir has 8 singers", None, scope=kitchen[0])
    clock.advance(hours=5)
    memory.after_turn("no wait, 5", None, scope=kitchen[0])
    found = memory.recall("players singers", scope=kitchen[0], collections=("turn",))
    assert {"The quiz team has 3 players", "The choir has 8 singers"} <= {
        each.content for each in found
    }
