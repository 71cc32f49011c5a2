"""The injection in a copy of a list of messages, taken out again, and never stored."""

import json
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from anthropic.types import MessageParam
from hypothesis import given
from hypothesis import strategies as st
from openai.types.chat import ChatCompletionMessage, ChatCompletionMessageParam
from openai.types.responses import ResponseInputParam
from pydantic import TypeAdapter

from attacks import ATTACKS
from conftest import FakeClock, Opener
from hippocampe import Hippocampe, Scope, with_injection, without_injection, without_injections
from hippocampe.errors import InvalidInput
from hippocampe.injection.render import render
from hippocampe.language.fence import CLOSING, MARKER, OPENING
from hippocampe.language.markers import MARK
from hippocampe.types import Injection, Recollection, Trace

pytestmark = pytest.mark.usefixtures("hashed")

TEXT = f"""\
{OPENING}
Ce qui suit est cité de mémoire.
[Mémoire : faits que tu connais]
• dev = Mickael (il y a 3 jours)
• Mickael joue du xylophone (hier)
Fin de ce qui est cité.
{CLOSING}"""
OTHER = TEXT.replace("xylophone", "trombone")

Messages = list[dict[str, Any]]

OPENAI: list[Messages] = [
    [{"role": "user", "content": "salut !"}],
    [
        {"role": "system", "content": "Tu es Eko."},
        {"role": "user", "content": "salut !"},
        {"role": "assistant", "content": "Bonjour !"},
        {"role": "user", "content": "on part quand ?", "name": "dev"},
    ],
    [
        {"role": "developer", "content": "Be brief."},
        {"role": "user", "content": [{"type": "text", "text": "qui est-ce ?"}]},
    ],
    [
        {
            "role": "user",
            "content": [
                {"type": "image_url", "image_url": {"url": "data:image/png;base64,AA=="}},
                {"type": "text", "text": "qui est-ce ?"},
            ],
        }
    ],
    [
        {"role": "user", "content": "quel temps fait-il ?"},
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "f", "arguments": "{}"}}
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "il pleut"},
    ],
]
RESPONSES: list[Messages] = [
    [{"role": "user", "content": "salut !"}],
    [
        {
            "type": "message",
            "role": "user",
            "content": [
                {"type": "input_text", "text": "quel temps ?"},
                {
                    "type": "input_image",
                    "detail": "auto",
                    "image_url": "data:image/png;base64,AA==",
                },
            ],
        },
        {"type": "function_call", "call_id": "c1", "name": "f", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c1", "output": "il pleut"},
    ],
]
ANTHROPIC: list[Messages] = [
    [{"role": "user", "content": "salut !"}],
    [
        {"role": "user", "content": "quel temps ?"},
        {
            "role": "assistant",
            "content": [
                {"type": "tool_use", "id": "t1", "name": "f", "input": {"ville": "Tarbes"}}
            ],
        },
        {
            "role": "user",
            "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "pluie"}],
        },
    ],
    [
        {"role": "user", "content": "quel temps ?"},
        {
            "role": "assistant",
            "content": [{"type": "tool_use", "id": "t1", "name": "f", "input": {}}],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "t1", "content": "pluie"},
                {
                    "type": "text",
                    "text": "et demain ?",
                    "cache_control": {"type": "ephemeral"},
                },
            ],
        },
    ],
    [
        {
            "role": "user",
            "content": [
                {
                    "type": "image",
                    "source": {"type": "base64", "media_type": "image/png", "data": "AA=="},
                },
                {"type": "text", "text": "qui est-ce ?"},
            ],
        }
    ],
]
EVERY = [*OPENAI, *RESPONSES, *ANTHROPIC]


def shown(injection: str) -> Injection:
    return Injection("id", injection, (), 40, 1.0, Trace())


@pytest.mark.parametrize(
    ("adapter", "lists"),
    [
        (TypeAdapter(list[ChatCompletionMessageParam]), OPENAI),
        (TypeAdapter(ResponseInputParam), RESPONSES),
        (TypeAdapter(list[MessageParam]), ANTHROPIC),
    ],
    ids=["chat completions", "responses", "anthropic"],
)
def test_the_provider_accepts_the_list(adapter: TypeAdapter[Any], lists: list[Messages]) -> None:
    for messages in lists:
        adapter.validate_python(messages, strict=False)
        adapter.validate_python(with_injection(messages, TEXT), strict=False)


@pytest.mark.parametrize("messages", EVERY)
def test_the_copy_has_it_once_and_the_original_never(messages: Messages) -> None:
    before = deepcopy(messages)
    for injection in (TEXT, shown(TEXT)):
        copied = with_injection(messages, injection)
        assert messages == before
        said = json.dumps(copied, ensure_ascii=False)
        assert said.count(OPENING) == said.count(CLOSING) == said.count("xylophone") == 1
        assert [message.get("role") for message in copied] == [
            message.get("role") for message in messages
        ]
        changed = [n for n, (a, b) in enumerate(zip(messages, copied, strict=True)) if a != b]
        users = [n for n, each in enumerate(messages) if each.get("role") == "user"]
        assert len(changed) == 1
        assert changed[0] in users
        assert without_injections(copied) == messages
        assert with_injection(copied, TEXT) == copied
        assert with_injection(copied, OTHER) == with_injection(messages, OTHER)
        assert with_injection(copied, "") == messages


def test_earlier_injections_can_stay() -> None:
    first = with_injection([{"role": "user", "content": "salut !"}], TEXT, keep=True)
    history = [*first, {"role": "assistant", "content": "Bonjour !"}]
    second = with_injection([*history, {"role": "user", "content": "et toi ?"}], OTHER, keep=True)
    assert second == [*history, {"role": "user", "content": f"{OTHER}\n\net toi ?"}]
    assert with_injection(second, TEXT, keep=True)[-1]["content"] == f"{TEXT}\n\net toi ?"
    assert with_injection(second, "", keep=True) == second
    assert without_injections(second)[0]["content"] == "salut !"


@pytest.mark.parametrize("messages", EVERY)
def test_nothing_is_shared_with_the_original(messages: Messages) -> None:
    before = deepcopy(messages)
    for copied in (with_injection(messages, TEXT), with_injection(messages, " \n")):
        for message in copied:
            if isinstance(message.get("content"), list):
                message["content"][-1].clear()
            message.clear()
    assert messages == before


def test_it_stands_in_front_of_what_the_last_user_says() -> None:
    assert with_injection(OPENAI[1], TEXT)[-1]["content"] == f"{TEXT}\n\non part quand ?"
    block = {"type": "text", "text": TEXT}
    assert with_injection(OPENAI[3], TEXT)[0]["content"] == [block, *OPENAI[3][0]["content"]]
    # In the middle of a call of tools it stays where it was before the call.
    assert with_injection(OPENAI[4], TEXT)[0]["content"].startswith(TEXT)
    assert with_injection(ANTHROPIC[1], TEXT)[0]["content"].startswith(TEXT)
    result, own = ANTHROPIC[2][2]["content"]
    assert with_injection(ANTHROPIC[2], TEXT)[2]["content"] == [result, block, own]
    part = with_injection(RESPONSES[1], TEXT)[0]["content"][0]
    assert part == {"type": "input_text", "text": TEXT}


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "system", "content": "Tu es Eko."}],
        [{"role": "user", "content": ""}],
        [
            {
                "role": "user",
                "content": [{"type": "tool_result", "tool_use_id": "t", "content": "x"}],
            }
        ],
    ],
)
def test_where_no_user_says_anything_nothing_is_put_in(messages: Messages) -> None:
    assert with_injection(messages, TEXT) == messages


def test_messages_of_the_client_are_left_as_they_are() -> None:
    answer = ChatCompletionMessage(role="assistant", content="Bonjour !")
    messages = [{"role": "user", "content": "salut"}, answer, {"role": "user", "content": "et ?"}]
    copied = with_injection(messages, TEXT)
    assert copied[1] == answer
    assert copied[1] is not answer


def test_a_text_of_the_host_is_marked() -> None:
    copied = with_injection(OPENAI[0], f"Une note {CLOSING} du projet {OPENING}")
    inner = f"Une note {MARKER} du projet {MARKER}"
    assert copied[0]["content"] == f"{OPENING}\n{inner}\n{CLOSING}\n\nsalut !"
    assert without_injections(copied) == OPENAI[0]


def test_what_is_no_list_or_no_injection_is_refused() -> None:
    for wrong in ("salut", {"role": "user", "content": "salut"}, None, 3):
        with pytest.raises(InvalidInput, match="messages must be a list"):
            with_injection(wrong, TEXT)  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInput, match="injection must be the result of before_turn"):
        with_injection(OPENAI[0], None)  # pyright: ignore[reportArgumentType]


def test_a_user_message_that_cannot_be_changed_is_refused() -> None:
    class Said:
        role = "user"
        content = "salut"

    with pytest.raises(InvalidInput, match="last user message is a Said"):
        with_injection([Said()], TEXT)


# Taking it out.


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("salut", "salut"),
        ("l'hippocampe est une partie du cerveau", "l'hippocampe est une partie du cerveau"),
        (TEXT, ""),
        (f"{TEXT}\n\nsalut", "salut"),
        (f"{TEXT}\n\n\n\nsalut", "\n\nsalut"),
        (f"regarde :\n{TEXT}\net voilà", "regarde :\net voilà"),
        (f"{TEXT}\n\n{OTHER}\n\nsalut", "salut"),
        (f"{TEXT} salut {OTHER}", " salut "),
        (TEXT.replace("\n", " ") + " salut", " salut"),
        (TEXT.replace("\n", "\r\n") + "\r\n\r\nsalut", "salut"),
        (TEXT.replace("<", "&lt;").replace(">", "&gt;") + "\n\nsalut", "salut"),
        (
            TEXT.replace("<", "\\u003c").replace(">", "\\u003E").replace("\n", "\\n") + "salut",
            "salut",
        ),
        (TEXT.replace(MARKER, f" {MARKER.upper()} "), ""),
        ("> " + TEXT.replace("\n", "\n> ") + "\n\nsalut", "> salut"),
        # One end was cut off.
        (TEXT.removesuffix(CLOSING), ""),
        (TEXT.removesuffix("mory>"), ""),
        (TEXT[: len(TEXT) // 2], ""),
        (f"avant\n\n{TEXT[:90]}", "avant\n\n"),
        (f"{TEXT[:90]}\n\nsalut", "salut"),
        (f"{TEXT[:90]}\r\n\r\nsalut", "salut"),
        (f"{TEXT[:90]}\n\nsalut\n\n{OTHER}\n\nencore", "salut\n\nencore"),
        (TEXT[50:] + "\n\nsalut", "salut"),
        ("avant\n\n" + TEXT[50:] + "\n\nsalut", "avant\n\nsalut"),
        (f"{TEXT}\n\nsalut\n\n{TEXT[50:]}\n\nencore", "salut\n\nencore"),
        ("salut <hippocampe-mem", "salut "),
        ("salut\n</hippocampe", "salut\n"),
        # Talk about the mark.
        (f"à quoi sert {OPENING} ?", f"à quoi sert {MARKER} ?"),
        (f"ferme par {CLOSING} s'il te plaît", f"ferme par {MARKER} s'il te plaît"),
    ],
)
def test_what_was_injected_is_taken_out(text: str, kept: str) -> None:
    assert without_injection(text) == kept


@given(st.text().filter(lambda text: "hippocampe" not in text.lower()))
def test_any_text_comes_back_as_it_was(text: str) -> None:
    assert without_injection(text) == text
    assert without_injection(f"{TEXT}\n\n{text}") == text
    messages = [{"role": "user", "content": text}]
    assert without_injections(with_injection(messages, TEXT)) == messages


@given(st.integers(0, len(TEXT)), st.integers(0, len(TEXT)))
def test_no_mark_is_left_whatever_is_cut(start: int, stop: int) -> None:
    kept = without_injection(TEXT[start:stop])
    assert OPENING not in kept
    assert CLOSING not in kept
    if start == 0 and stop > len(OPENING):
        assert kept == ""


def test_many_marks_are_taken_out_in_one_pass() -> None:
    for mark in (OPENING, CLOSING, f"{OPENING}\n", f"\n\n{CLOSING}\n"):
        assert OPENING not in without_injection(mark * 20_000)


def test_planted_marks_hide_nothing_of_what_the_user_says(clock: FakeClock) -> None:
    for attack in ATTACKS:
        found = [Recollection("n", "note", text, 0.5) for text in (attack, "après")]
        text = injected(found, clock)
        copied = with_injection(OPENAI[1], text)
        assert (text.count(OPENING), text.count(CLOSING)) == (1, 1)
        assert copied[-1]["content"] == f"{text}\n\non part quand ?"
        assert without_injections(copied) == OPENAI[1]


@pytest.mark.parametrize("role", ["user", "system", "developer"])
def test_a_message_that_was_only_an_injection_is_left_out(role: str) -> None:
    messages = [{"role": role, "content": TEXT}, {"role": "user", "content": "salut"}]
    assert without_injections(messages) == messages[1:]


def test_an_answer_that_repeats_it_loses_it_and_stays() -> None:
    answer = {"role": "assistant", "content": [{"type": "text", "text": f"Voici :\n{TEXT}"}]}
    result = {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": [{"type": "text", "text": TEXT}],
    }
    kept = without_injections([answer, {"role": "user", "content": [result]}])
    assert kept[0]["content"] == [{"type": "text", "text": "Voici :\n"}]
    assert kept[1]["content"] == [{**result, "content": []}]


# Nothing of it is stored.


@pytest.fixture
def hippo(open_hippo: Opener) -> Hippocampe:
    return open_hippo(embedder="hashed:64")


def everything_in(folder: Path) -> str:
    return "".join(path.read_bytes().decode("utf-8", "replace") for path in folder.glob("*.db*"))


def injected(items: list[Recollection], clock: FakeClock) -> str:
    return render(
        items,
        language="fr",
        now=clock(),
        timezone="Europe/Paris",
        budget=1_000,
        count=lambda line: len(line.split()),
    ).text


def test_several_turns_store_only_what_was_said(
    hippo: Hippocampe, folder: Path, scope: Scope, clock: FakeClock
) -> None:
    fact = hippo.remember("Mickael joue du xylophone le mardi", scope=scope)
    history: Messages = []
    for number, said in enumerate(("salut !", "que fait Mickael ?", "et le mardi ?", "merci")):
        clock.advance(minutes=5)
        text = injected(hippo.recall(said, scope=scope), clock)
        assert "xylophone" in text
        history.append({"role": "user", "content": said})
        sent = with_injection(history, text)
        assert json.dumps(sent, ensure_ascii=False).count("xylophone") == 1
        # A careless host keeps and stores what it sent; the model repeats what it was given.
        history = [*sent, {"role": "assistant", "content": f"D'accord {number}.\n\n{text}"}]
        hippo.after_turn(sent[-1]["content"], history[-1]["content"], scope=scope)
        hippo.observe(sent[-1]["content"], scope=scope, external_id=f"m{number}")
    assert [m["content"] for m in without_injections(history) if m["role"] == "user"] == [
        "salut !", "que fait Mickael ?", "et le mardi ?", "merci",
    ]  # fmt: skip
    kinds = ["memory", "turn", "live"]
    found = hippo.recall("Mickael joue du xylophone", scope=scope, collections=kinds, limit=100)
    assert [item.id for item in found if "xylophone" in item.content] == [fact.memory.id]
    assert hippo.search_text("xylophone", scope=scope) == []
    assert [m.content for m in hippo.messages(scope=scope)] == [
        text
        for number, said in enumerate(("salut !", "que fait Mickael ?", "et le mardi ?", "merci"))
        for text in (said, f"D'accord {number}.", said)
    ]
    hippo.flush()
    assert MARKER not in everything_in(folder)


@pytest.mark.parametrize(
    ("said", "reply", "kept"),
    [
        (TEXT, "Bonjour !", ["Bonjour !"]),
        ("salut", TEXT, ["salut"]),
        (f"{TEXT}\n\nsalut", None, ["salut"]),
    ],
)
def test_an_exchange_keeps_the_rest(
    hippo: Hippocampe, scope: Scope, said: str, reply: str | None, kept: list[str]
) -> None:
    hippo.after_turn(said, reply, scope=scope)
    assert [message.content for message in hippo.messages(scope=scope)] == kept


@pytest.mark.parametrize(
    "store",
    [
        lambda hippo, scope: hippo.remember(TEXT, scope=scope),
        lambda hippo, scope: hippo.set_fact("note", TEXT, scope=scope),
        lambda hippo, scope: hippo.observe(TEXT, scope=scope),
        lambda hippo, scope: hippo.after_turn(TEXT, TEXT, scope=scope),
        lambda hippo, scope: hippo.after_turn(TEXT, None, scope=scope),
    ],
)
def test_an_injection_alone_is_refused(
    hippo: Hippocampe, scope: Scope, store: Callable[[Hippocampe, Scope], object]
) -> None:
    with pytest.raises(InvalidInput, match="only text injected from memory"):
        store(hippo, scope)
    stats = hippo.stats(scope=scope)
    assert (sum(stats.memories.values()), stats.messages, stats.turns) == (0, 0, 0)


def test_a_memory_is_stored_and_edited_without_it(hippo: Hippocampe, scope: Scope) -> None:
    memory = hippo.remember(f"{TEXT}\n\nInès aime le ski", scope=scope).memory
    assert memory.content == "Inès aime le ski"
    edited = hippo.edit(memory.id, content=f"{TEXT}\n\nInès aime la luge", scope=scope)
    assert edited.content == "Inès aime la luge"
    with pytest.raises(InvalidInput, match="injected from memory"):
        hippo.edit(memory.id, content=TEXT, scope=scope)


def test_imported_talk_is_stored_without_it(
    hippo: Hippocampe, scope: Scope, tmp_path: Path
) -> None:
    file = tmp_path / "talk.jsonl"
    lines = [{"content": f"{TEXT}\n\nsalut", "author": "dev"}, {"content": TEXT, "author": "dev"}]
    file.write_text("\n".join(map(json.dumps, lines)), encoding="utf-8")
    imported = hippo.import_from(file, scope=scope)
    assert (imported.added, [number for number, _ in imported.problems]) == (1, [2])
    assert [message.content for message in hippo.messages(scope=Scope())] == ["salut"]


@pytest.mark.parametrize(
    "text",
    [
        f"<hippo{OPENING}x{CLOSING}campe-memory>",
        f"a <{OPENING}> b",
        f"see <<<<{CLOSING}>>>> here",
        "cut <hippocampe-mem<hippocampe-m",
        f"<hippo{OPENING}\n\ncampe-memory> x",
        "<hippo" * 2_000 + OPENING + "x" + CLOSING + "campe-memory>" * 2_000,
    ],
)
def test_a_removal_leaves_nothing_that_reads_as_a_marker(text: str) -> None:
    """What is around an injection may form another marker when the injection is gone."""
    once = without_injection(text)
    assert MARK.search(once) is None
    assert without_injection(once) == once
