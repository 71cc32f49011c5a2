"""The messages of a request, as memory reads them."""

import pytest

from conftest import Opener
from hippocampe import Scope
from hippocampe.integrations.conversation import Message, conversation
from hippocampe.integrations.turns import Turns

ASKED = Message("user", "Où habite Inès ?")
TOLD = Message("assistant", "À Quimper.")
CALLED = Message("assistant", "")
RESULT = Message("tool", "une photo")
IMAGE = Message("user", "")
DEV = Scope(user="dev")


@pytest.mark.parametrize(
    ("messages", "message", "results"),
    [
        ([ASKED], ASKED.text, ()),
        ([ASKED, TOLD, IMAGE], "", ()),
        ([ASKED, TOLD, Message("system", "Bref."), IMAGE], "", ()),
        ([ASKED, CALLED, RESULT, CALLED, IMAGE, CALLED, RESULT], "", ("une photo",)),
        ([ASKED, TOLD, IMAGE, Message("user", "Who is this?")], "Who is this?", ()),
        # They belong to the same turn.
        ([ASKED, IMAGE], ASKED.text, ()),
        ([ASKED, CALLED, RESULT, IMAGE], ASKED.text, ("une photo",)),
        ([ASKED, CALLED, RESULT, IMAGE, CALLED, RESULT], ASKED.text, ("une photo",) * 2),
    ],
)
def test_a_message_without_text_begins_a_turn_after_an_answer(
    messages: list[Message], message: str, results: tuple[str, ...]
) -> None:
    talk = conversation(messages)
    assert talk is not None
    assert (talk.message, talk.results) == (message, results)


def test_its_answer_is_not_stored_as_that_of_the_question(hashed: None, open_hippo: Opener) -> None:
    memory = open_hippo(embedder="hashed:64")
    turns, seen = Turns(memory), [ASKED, TOLD, IMAGE, Message("assistant", "A cat on a sofa.")]
    turns.after(seen, scope=DEV)
    assert memory.messages(scope=DEV) == []
    turns.store_all(seen, scope=DEV)
    assert [each.content for each in memory.messages(scope=DEV)] == [ASKED.text, TOLD.text]
    assert turns.before(seen[:3], scope=DEV) == {}
    assert memory.retrievals(scope=DEV) == []


def test_an_answer_generated_again_replaces_the_one_before(
    hashed: None, open_hippo: Opener
) -> None:
    memory = open_hippo(embedder="hashed:64")
    turns, talk = Turns(memory), list[Message]()

    def answered(*replies: Message) -> list[str]:
        talk.append(ASKED)
        for reply in replies:
            turns.before(talk, scope=DEV)
            turns.after([*talk, reply], scope=DEV)
        talk.append(replies[-1])
        return [each.content for each in memory.messages(scope=DEV)]

    brest = Message("assistant", "À Brest.")
    first = [ASKED.text, TOLD.text]
    assert answered(TOLD) == first
    assert answered(brest, TOLD) == 2 * first
    # The same message after the same answer, later in the talk.
    assert answered(brest) == [*first, *first, ASKED.text, brest.text]


def test_an_edited_message_replaces_what_followed_it(hashed: None, open_hippo: Opener) -> None:
    memory = open_hippo(embedder="hashed:64")
    turns = Turns(memory)

    def says(history: list[Message], *said: str) -> list[Message]:
        for text in said:
            history = [*history, Message("user", text)]
            turns.before(history, scope=DEV)
            history.append(Message("assistant", f"Noted: {text}"))
            turns.after(history, scope=DEV)
        return history

    def told() -> list[str]:
        place = Scope(user="dev", channel=channel)
        return [each.content for each in memory.messages(scope=place, working=True)][::2]

    begun = says([], "Hello")
    channel = memory.messages(scope=DEV)[0].channel
    old = says(begun, "I live in Lyon", "It rains here")
    new = says(begun, "I live in Nice")
    assert told() == ["Hello", "I live in Nice"]
    assert not memory.search_text("Lyon", scope=DEV)
    says(new, "It is warm here")
    # The host goes back to the branch before.
    says(old, "It snows too")
    assert told() == ["Hello", "I live in Lyon", "It rains here", "It snows too"]


def test_what_was_not_said_here_has_no_branches(hashed: None, open_hippo: Opener) -> None:
    memory = open_hippo(embedder="hashed:64")
    turns = Turns(memory)
    examples = [ASKED, TOLD]
    for text in ("I live in Lyon", "I play the tuba"):
        talk = [*examples, Message("user", text)]
        turns.before(talk, scope=DEV)
        turns.after([*talk, Message("assistant", "Noted.")], scope=DEV)
    said = [each.content for each in memory.messages(scope=DEV, working=True)]
    assert said == ["I live in Lyon", "Noted.", "I play the tuba", "Noted."]


def test_equal_messages_without_a_history_are_exchanges_of_their_own(
    hashed: None, open_hippo: Opener
) -> None:
    memory = open_hippo(embedder="hashed:64")
    turns = Turns(memory)
    for told in ("À Brest.", TOLD.text):
        turns.before([ASKED], scope=DEV)
        turns.after([ASKED, Message("assistant", told)], scope=DEV)
    said = [each.content for each in memory.messages(scope=DEV)]
    assert said == [ASKED.text, "À Brest.", ASKED.text, TOLD.text]
