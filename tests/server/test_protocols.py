"""The answers that the proxy reads while it passes them on, whole and in pieces of any length."""

import json
from typing import Any

import pytest

from hippocampe.server.proxy.protocols import PROTOCOLS, Answer, parsed

CHAT, RESPONSES, MESSAGES = PROTOCOLS


def whole(protocol: Any, body: Any) -> Answer:
    answer = protocol.answer()
    answer.read(json.dumps(body).encode())
    return answer


def streamed(protocol: Any, events: list[Any], size: int = 7) -> Answer:
    answer = protocol.answer()
    sent = b"".join(
        b"event: x\r\ndata: " + json.dumps(each).encode() + b"\r\n\r\n" for each in events
    )
    for start in range(0, len(sent), size):
        answer.feed(sent[start : start + size])
    return answer


@pytest.mark.parametrize("end", [b"\n", b"\r", b"\r\n"])
@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_a_line_of_a_stream_may_end_in_three_ways(end: bytes, size: int) -> None:
    pieces = [{"choices": [{"delta": {"content": text}}]} for text in ("Du ", "thé")]
    sent = b"".join(b"data: " + json.dumps(each).encode() + end + end for each in pieces)
    answer = CHAT.answer()
    for start in range(0, len(sent), size):
        answer.feed(sent[start : start + size])
    assert answer.text == "Du thé"


def test_an_answer_in_speech_is_its_transcript() -> None:
    parts = [{"audio": {"id": "a"}}, *({"audio": {"transcript": each}} for each in ("Du ", "thé"))]
    heard = streamed(CHAT, [{"choices": [{"delta": each}]} for each in parts])
    spoken = {"content": None, "audio": {"data": "AA", "transcript": "Du thé"}}
    assert heard.text == whole(CHAT, {"choices": [{"message": spoken}]}).text == "Du thé"


def message(*texts: str) -> Any:
    return {"type": "message", "content": [{"type": "output_text", "text": each} for each in texts]}


@pytest.mark.parametrize(
    ("output", "text", "calls"),
    [
        ([message("Du ", "thé."), message("Vert.")], "Du thé.\nVert.", False),
        ([{"type": "reasoning", "summary": [{"text": "Hmm"}]}, message("Thé")], "Thé", False),
        ([{"type": "web_search_call", "id": "ws_1"}, message("Thé")], "Thé", False),
        ([message("Je cherche"), {"type": "function_call", "call_id": "1"}], "Je cherche", True),
        ([{"type": "custom_tool_call", "call_id": "1"}], "", True),
        # The provider ran it itself.
        (
            [
                {"type": "shell_call", "call_id": "1"},
                {"type": "shell_call_output", "call_id": "1"},
                message("Fait"),
            ],
            "Fait",
            False,
        ),
        ([{"type": "mcp_approval_request", "id": "1"}], "", True),
    ],
)
def test_the_output_of_a_response(output: list[Any], text: str, calls: bool) -> None:
    body = {"id": "resp_1", "model": "gpt", "output": output}
    for answer in (
        whole(RESPONSES, body),
        streamed(RESPONSES, [{"type": "response.completed", "response": body}]),
    ):
        assert (answer.text, answer.calls) == (text, calls)
        assert (answer.id, answer.model) == ("resp_1", "gpt")


def test_a_response_that_is_left_early_or_in_a_conversation() -> None:
    begun = {"id": "resp_1", "model": "gpt", "output": [], "conversation": {"id": "conv_1"}}
    answer = streamed(
        RESPONSES,
        [
            {"type": "response.created", "response": begun},
            {"type": "response.reasoning_text.delta", "delta": "Hmm"},
            {"type": "response.output_text.delta", "delta": "Du "},
            {"type": "response.output_text.delta", "delta": "thé"},
        ],
    )
    assert (answer.text, answer.id, answer.model) == ("Du thé", "conv_1", "gpt")


def test_the_blocks_of_a_message() -> None:
    blocks = [
        {"type": "thinking", "thinking": "Hmm", "signature": "x"},
        {"type": "text", "text": "Du thé "},
        {"type": "text", "text": "vert.", "citations": [{"cited_text": "vert"}]},
        {"type": "server_tool_use", "id": "1", "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": "1", "content": []},
        {"type": "text", "text": "Chaud."},
    ]
    used = {"input_tokens": 5, "cache_read_input_tokens": 90, "output_tokens": 1}
    events: list[Any] = [{"type": "message_start", "message": {"model": "claude", "usage": used}}]
    for index, block in enumerate(blocks):
        bare = {**block, "text": ""} if block["type"] == "text" else block
        events.append({"type": "content_block_start", "index": index, "content_block": bare})
        if block["type"] == "text":
            for piece in (block["text"][:3], block["text"][3:]):
                delta = {"type": "text_delta", "text": piece}
                events.append({"type": "content_block_delta", "index": index, "delta": delta})
    stop = {"delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 7}}
    events += [{"type": "message_delta", **stop}, {"type": "message_stop"}]
    body = {"model": "claude", "content": blocks, "stop_reason": "end_turn"}
    for answer in (
        streamed(MESSAGES, events),
        whole(MESSAGES, {**body, "usage": {**used, "output_tokens": 7}}),
    ):
        assert answer.text == "Du thé vert.\nChaud."
        assert not answer.calls
        assert (answer.model, answer.input_tokens, answer.output_tokens) == ("claude", 95, 7)


@pytest.mark.parametrize(
    ("content", "stop"),
    [
        ([{"type": "tool_use", "id": "1", "name": "a", "input": {}}], "tool_use"),
        ([{"type": "text", "text": "Je cherche"}], "pause_turn"),
    ],
)
def test_a_message_that_the_client_has_to_answer(content: list[Any], stop: str) -> None:
    assert whole(MESSAGES, {"content": content, "stop_reason": stop}).calls


@pytest.mark.parametrize(
    ("protocol", "event"),
    [
        (CHAT, {"error": {"message": "overloaded", "code": 502}, "choices": []}),
        (CHAT, {"choices": [{"index": 0, "delta": {"content": ""}, "finish_reason": "error"}]}),
        (RESPONSES, {"type": "response.failed", "response": {"id": "1", "status": "failed"}}),
        (RESPONSES, {"type": "error", "code": "server_error", "message": "overloaded"}),
        (MESSAGES, {"type": "error", "error": {"type": "overloaded_error", "message": "busy"}}),
    ],
)
def test_an_answer_that_ends_with_an_error(protocol: Any, event: Any) -> None:
    assert streamed(protocol, [{}, event]).failed
    assert not streamed(protocol, [{"error": None}, {"response": {"error": None}}]).failed


def test_a_whole_answer_that_is_an_error() -> None:
    choice = {"index": 0, "message": {"content": "Du"}, "finish_reason": "error"}
    assert whole(CHAT, {"choices": [choice]}).failed
    assert whole(CHAT, {"error": {"message": "overloaded"}}).failed
    body = {"id": "resp_1", "output": [message("Du")], "error": None}
    assert whole(RESPONSES, {**body, "status": "failed"}).failed
    assert not whole(RESPONSES, {**body, "status": "incomplete"}).failed


RESULT = {"type": "tool_result", "tool_use_id": "1", "content": "pluie"}


@pytest.mark.parametrize(
    ("texts", "result", "words"),
    [
        (["Je bois du thé"], False, "Je bois du thé"),
        (["<system-reminder>Hi</system-reminder>", "I drink tea"], False, "I drink tea"),
        (["Caveat: I am allergic to nuts"], False, "Caveat: I am allergic to nuts"),
        (["<b>I drink tea</b>"], False, "<b>I drink tea</b>"),
        (["Je bois du thé", " <system-reminder>Oui"], True, "Je bois du thé"),
        (['<context mode="plan">\n<cwd>/</cwd>\n</context>\n', "I drink tea"], True, "I drink tea"),
        (["<b>No</b>, I drink <b>tea</b>"], True, "<b>No</b>, I drink <b>tea</b>"),
    ],
)
def test_the_words_of_the_user_in_a_message(texts: list[str], result: bool, words: str) -> None:
    parts = [RESULT] * result + [{"type": "text", "text": each} for each in texts]
    talk = MESSAGES.conversation({"messages": [{"role": "user", "content": parts}]})
    assert talk is not None
    assert (talk.message, talk.results) == (words, ("pluie",) * result)


@pytest.mark.parametrize("protocol", PROTOCOLS)
@pytest.mark.parametrize(
    "body",
    [
        None,
        [],
        3,
        {},
        {"choices": 3, "output": 3, "content": 3, "usage": 3, "response": 3, "delta": 3},
        {"choices": [3], "output": [3], "content": [3], "type": ["x"], "conversation": [3]},
        {"choices": [{"index": 0, "message": {"content": {}}}], "output": [{"type": 3}]},
        {"type": "content_block_delta", "delta": {"text": 3}, "usage": {"input_tokens": True}},
        {"type": "response.output_text.delta", "delta": {"text": "x"}},
        # Some servers write a count that they do not know so.
        {"usage": {"prompt_tokens": -1, "input_tokens": -1}},
    ],
)
def test_an_answer_of_any_form_can_be_read(protocol: Any, body: Any) -> None:
    for answer in (whole(protocol, body), streamed(protocol, [body])):
        assert answer.text.strip() == ""
        assert answer.input_tokens is None


@pytest.mark.parametrize(
    "body", [b'{"messages":[%s1]}' % (b"1," * 300_000), b'{"a":' * 10_000, b"["]
)
def test_a_body_of_unusual_structure_is_no_conversation(body: bytes) -> None:
    assert parsed(body) == {}
