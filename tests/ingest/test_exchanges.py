"""Exchanges that a host stores, and stores again."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from conftest import Opener
from hippocampe import Hippocampe, InvalidInput, Scope
from hippocampe.language import secrets

LOBBY = Scope(user="dev", channel="lobby")
PHONE = Scope(user="dev", channel="phone")


@pytest.fixture
def hippo(open_hippo: Opener, hashed: None) -> Hippocampe:
    return open_hippo(embedder="hashed:32")


def test_an_external_id_is_stored_once_in_a_channel(hippo: Hippocampe) -> None:
    def store(number: int) -> str:
        return hippo.after_turn("Bonjour", f"Salut {number}", scope=LOBBY, external_id="a:1")

    with ThreadPoolExecutor(4) as pool:
        turns = set(pool.map(store, range(8)))
    assert len(turns) == 1
    asked, answered = hippo.messages(scope=LOBBY)
    assert (asked.external_id, answered.external_id) == ("a:1", None)
    assert hippo.after_turn("Bonjour", "Salut", scope=LOBBY, external_id="a:2") not in turns
    assert hippo.after_turn("Bonjour", "Salut", scope=PHONE, external_id="a:1") not in turns
    assert len(hippo.messages(scope=Scope())) == 6


@pytest.mark.parametrize(
    ("asked", "old", "new", "question"),
    [
        ("Où est le bac ?", "Il est au ponton.", "Il est au chantier naval.", "chantier naval"),
        ("Where is the ferry?", "It is at the jetty.", "It is in the shipyard.", "shipyard"),
    ],
)
def test_a_reply_generated_again_replaces_the_one_before(
    hippo: Hippocampe, asked: str, old: str, new: str, question: str
) -> None:
    turn = hippo.after_turn(asked, old, scope=LOBBY, external_id="a:1", tool_results=["ok"])
    hippo.flush()
    assert hippo.after_turn(asked, new, scope=LOBBY, external_id="a:1") == turn
    assert [each.content for each in hippo.messages(scope=LOBBY)][:2] == [asked, new]
    [found] = hippo.recall(question, scope=LOBBY, collections=["turn"])
    assert found.id == turn
    assert new in found.content
    assert old not in found.content
    assert not hippo.search_text(old.split()[-1].strip("."), scope=LOBBY)
    assert hippo.verify().ok
    # A forgotten exchange stays as it is.
    hippo.forget(question, scope=LOBBY)
    assert hippo.after_turn(asked, old, scope=LOBBY, external_id="a:1") == turn
    assert [each.content for each in hippo.messages(scope=LOBBY)][:2] == [asked, new]
    assert hippo.recall(asked, scope=LOBBY, collections=["turn"]) == []


def test_a_reply_completes_a_stored_message(hippo: Hippocampe) -> None:
    for reply in (None, "Il est au ponton.", None):
        hippo.after_turn("Où est le bac ?", reply, scope=LOBBY, external_id="a:1")
    asked, answered = hippo.messages(scope=LOBBY)
    assert (asked.content, answered.content) == ("Où est le bac ?", "Il est au ponton.")
    [found] = hippo.recall("ponton", scope=LOBBY, collections=["turn"])
    assert found.id == asked.turn_id == answered.turn_id


def test_an_external_id_of_another_message_is_refused(hippo: Hippocampe) -> None:
    hippo.observe("On se voit au port", scope=LOBBY, external_id="7")
    with pytest.raises(InvalidInput, match="use another id"):
        hippo.after_turn("Bonjour", "Salut", scope=LOBBY, external_id="7")
    for wrong in ("", 5, "a" * 201):
        with pytest.raises(InvalidInput):
            hippo.after_turn("Bonjour", "Salut", scope=LOBBY, external_id=wrong)  # pyright: ignore[reportArgumentType]
    assert len(hippo.messages(scope=LOBBY)) == 1


@pytest.mark.parametrize(
    ("message", "reply", "stored"),
    [
        ("mon mot de passe wifi est Tr0mp3tte!9", "C'est noté : Tr0mp3tte!9.", "C'est noté : "),
        ("my password is Tr0mp3tte!9", "Noted: Tr0mp3tte!9.", "Noted: "),
    ],
)
def test_a_secret_is_masked_where_it_is_repeated(
    hippo: Hippocampe, message: str, reply: str, stored: str
) -> None:
    results = ["saved value Tr0mp3tte!9", "Tr0mp3tte!99 is another"]
    hippo.after_turn(message, reply, scope=LOBBY, tool_results=results)
    found = {each.content for each in hippo.messages(scope=LOBBY)}
    found |= {each.content for each in hippo.search_text("value Tr0mp3tte", scope=LOBBY)}
    masked = "[secret: password]"
    assert {f"{stored}{masked}.", f"saved value {masked}", results[1]} <= found
    assert not any("Tr0mp3tte!9." in each or each.endswith("Tr0mp3tte!9") for each in found)


@pytest.mark.parametrize(
    ("question", "answer"),
    [("Quel est votre mot de passe ?", "Walnut88!"), ("What is the gate code?", "7315")],
)
def test_a_secret_that_the_assistant_asked_for_is_masked(
    hippo: Hippocampe, question: str, answer: str
) -> None:
    hippo.after_turn("help", question, scope=LOBBY)
    hippo.before_turn(answer, scope=LOBBY)
    hippo.after_turn(answer, f"Thanks, {answer} it is.", scope=LOBBY)
    found = [each.content for each in hippo.messages(scope=LOBBY)]
    assert found[2:] == ["[secret: password]", "Thanks, [secret: password] it is."]
    assert hippo.retrievals(scope=LOBBY)[0].message_preview == "[secret: password]"
    # Said again without the question, it may be anything.
    hippo.after_turn("hello", "hi", scope=LOBBY)
    hippo.after_turn("7315", "ok", scope=LOBBY)
    assert "7315" in [each.content for each in hippo.messages(scope=LOBBY)]


def test_the_secrets_of_a_long_text_are_searched_once(hippo: Hippocampe) -> None:
    reply = (
        f"Ton mot de passe est {'-'.join(['Lapin', '2020', '!'])}. "
        + "Il pleut à Nantes. " * 499
        + "Il pleut."
    )
    before = secrets._found.long.cache_info().misses
    hippo.after_turn("Rappelle-moi tout", reply, scope=LOBBY)
    assert "[secret: password]" in hippo.messages(scope=LOBBY)[-1].content
    assert secrets._found.long.cache_info().misses == before + 1
