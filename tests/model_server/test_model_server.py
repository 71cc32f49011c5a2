"""The scripted model server, through the client libraries of the providers and Pydantic AI."""

import json
import socket
import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anthropic
import httpx
import openai
import pytest

from model_server import Answer, Call, CallResult, ModelMessage, ModelRequest, ModelServer

SCHEMA = {"type": "object", "properties": {"query": {"type": "string"}}, "required": ["query"]}
CHAT_TOOLS: Any = [
    {
        "type": "function",
        "function": {"name": "search", "description": "Search.", "parameters": SCHEMA},
    }
]
RESPONSES_TOOLS: Any = [
    {
        "type": "function",
        "name": "search",
        "description": "Search.",
        "parameters": SCHEMA,
        "strict": False,
    }
]
ANTHROPIC_TOOLS: Any = [{"name": "search", "description": "Search.", "input_schema": SCHEMA}]
USER: Any = [{"role": "user", "content": "Où habite Zoé ?"}]
TEXT = "Zoé habite à Lyon 🎉, près de la Saône."


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def gpt(server: ModelServer) -> Iterator[openai.OpenAI]:
    with openai.OpenAI(base_url=server.openai_url, api_key="key", max_retries=0) as client:
        yield client


@pytest.fixture
def claude(server: ModelServer) -> Iterator[anthropic.Anthropic]:
    with anthropic.Anthropic(base_url=server.anthropic_url, api_key="key", max_retries=0) as client:
        yield client


def chat(client: openai.OpenAI, **more: Any) -> Any:
    return client.chat.completions.create(model="gpt", messages=USER, **more)


def respond(client: openai.OpenAI, **more: Any) -> Any:
    return client.responses.create(model="gpt", input=USER, **more)


def message(client: anthropic.Anthropic, **more: Any) -> Any:
    return client.messages.create(model="claude", max_tokens=500, messages=USER, **more)


class TestChatCompletions:
    def test_text(self, server: ModelServer, gpt: openai.OpenAI) -> None:
        server.add(Answer(TEXT, input_tokens=12, output_tokens=7))
        answer = chat(gpt)
        assert answer.choices[0].message.content == TEXT
        assert answer.choices[0].finish_reason == "stop"
        assert (answer.usage.prompt_tokens, answer.usage.completion_tokens) == (12, 7)
        assert answer.usage.total_tokens == 19

    def test_streamed_text(self, server: ModelServer, gpt: openai.OpenAI) -> None:
        server.say(TEXT)
        with chat(gpt, stream=True, stream_options={"include_usage": True}) as stream:
            chunks = list(stream)
        parts = [chunk.choices[0].delta.content for chunk in chunks if chunk.choices]
        assert "".join(filter(None, parts)) == TEXT
        assert max(len(part or "") for part in parts) == 8
        assert chunks[-1].usage.completion_tokens == len(TEXT) // 4
        assert chunks[-2].choices[0].finish_reason == "stop"

    def test_usage_of_a_stream_is_sent_only_if_asked_for(
        self, server: ModelServer, gpt: openai.OpenAI
    ) -> None:
        server.say(TEXT)
        with chat(gpt, stream=True) as stream:
            assert all(chunk.choices and chunk.usage is None for chunk in stream)

    def test_parallel_calls(self, server: ModelServer, gpt: openai.OpenAI) -> None:
        server.calls(Call("search", {"query": "Zoé"}), Call("search", {"query": "Lyon"}), text="Hm")
        answer = chat(gpt, tools=CHAT_TOOLS, tool_choice="required")
        choice = answer.choices[0]
        assert choice.finish_reason == "tool_calls"
        assert choice.message.content == "Hm"
        first, second = choice.message.tool_calls
        assert first.id != second.id
        assert json.loads(first.function.arguments) == {"query": "Zoé"}
        assert json.loads(second.function.arguments) == {"query": "Lyon"}

    def test_streamed_calls(self, server: ModelServer, gpt: openai.OpenAI) -> None:
        server.calls(Call("search", {"query": "Zoé à Lyon"}), Call("search", {"query": "b"}))
        with gpt.chat.completions.stream(model="gpt", messages=USER, tools=CHAT_TOOLS) as stream:
            for _ in stream:
                pass
            calls = stream.get_final_completion().choices[0].message.tool_calls or []
        assert [json.loads(call.function.arguments)["query"] for call in calls] == [
            "Zoé à Lyon",
            "b",
        ]
        assert len({call.id for call in calls}) == 2

    def test_models(self, gpt: openai.OpenAI) -> None:
        assert [model.id for model in gpt.models.list()] == ["scripted"]
        assert gpt.models.retrieve("ft:gpt/é").id == "ft:gpt%2F%C3%A9"


class TestResponses:
    def test_text(self, server: ModelServer, gpt: openai.OpenAI) -> None:
        server.add(Answer(TEXT, input_tokens=12, output_tokens=7))
        answer = respond(gpt)
        assert answer.output_text == TEXT
        assert answer.status == "completed"
        assert (answer.usage.input_tokens, answer.usage.output_tokens) == (12, 7)

    def test_streamed_text_and_calls(self, server: ModelServer, gpt: openai.OpenAI) -> None:
        server.calls(Call("search", {"query": "Zoé à Lyon"}), Call("search"), text=TEXT)
        with gpt.responses.stream(model="gpt", input=USER, tools=RESPONSES_TOOLS) as stream:
            events = list(stream)
            answer = stream.get_final_response()
        deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
        assert "".join(deltas) == answer.output_text == TEXT
        assert len(deltas) > 3
        assert [event.sequence_number for event in events] == list(range(len(events)))
        calls = [item for item in answer.output if item.type == "function_call"]
        assert [call.arguments for call in calls] == ['{"query": "Zoé à Lyon"}', "{}"]
        assert len({call.call_id for call in calls}) == 2

    def test_truncated_answer(self, server: ModelServer, gpt: openai.OpenAI) -> None:
        server.add(*[Answer("Zoé hab", truncated=True)] * 2)
        answer = respond(gpt, max_output_tokens=2)
        assert answer.status == "incomplete"
        assert answer.incomplete_details.reason == "max_output_tokens"
        with respond(gpt, stream=True) as stream:
            assert list(stream)[-1].type == "response.incomplete"
        assert server.requests[0].max_tokens == 2


class TestMessages:
    def test_text(self, server: ModelServer, claude: anthropic.Anthropic) -> None:
        server.add(Answer(TEXT, input_tokens=12, output_tokens=7))
        answer = message(claude)
        assert [block.text for block in answer.content] == [TEXT]
        assert answer.stop_reason == "end_turn"
        assert (answer.usage.input_tokens, answer.usage.output_tokens) == (12, 7)
        assert server.requests[0].max_tokens == 500

    def test_calls(self, server: ModelServer, claude: anthropic.Anthropic) -> None:
        server.calls(Call("search", {"query": "Zoé"}), Call("search"), text="Hm")
        answer = message(claude, tools=ANTHROPIC_TOOLS, tool_choice={"type": "any"})
        text, first, second = answer.content
        assert (text.text, first.input, second.input) == ("Hm", {"query": "Zoé"}, {})
        assert first.id != second.id
        assert answer.stop_reason == "tool_use"
        assert server.requests[0].tool_choice == "required"

    def test_streamed_text_and_calls(
        self, server: ModelServer, claude: anthropic.Anthropic
    ) -> None:
        server.calls(Call("search", {"query": "Zoé à Lyon"}), Call("search"), text=TEXT)
        with claude.messages.stream(
            model="claude", max_tokens=500, messages=USER, tools=ANTHROPIC_TOOLS
        ) as stream:
            parts = list(stream.text_stream)
            answer = stream.get_final_message()
        assert "".join(parts) == TEXT
        assert len(parts) > 3
        _, first, second = answer.content
        assert first.type == second.type == "tool_use"
        assert (first.input, second.input) == ({"query": "Zoé à Lyon"}, {})
        assert answer.stop_reason == "tool_use"
        assert answer.usage.output_tokens > 1

    def test_models(self, claude: anthropic.Anthropic) -> None:
        assert [model.id for model in claude.models.list()] == ["scripted"]
        assert claude.models.retrieve("claude").display_name == "claude"


CALLS = (Call("search", {"query": "a"}, "c1"), Call("search", {"query": "b"}, "c2"))
HISTORY = (
    ModelMessage("user", "Bonjour.\nOù habite Zoé ?"),
    ModelMessage("assistant", "Hm", CALLS),
    ModelMessage("tool", results=(CallResult("c1", "Lyon"), CallResult("c2", "rien"))),
    ModelMessage("user", "Alors ?"),
)


def ask_chat(gpt: openai.OpenAI, claude: anthropic.Anthropic) -> None:
    messages: Any = [
        {"role": "system", "content": "Tu es bref."},
        {"role": "user", "content": "Bonjour."},
        {"role": "user", "content": [{"type": "text", "text": "Où habite Zoé ?"}]},
        {
            "role": "assistant",
            "content": "Hm",
            "tool_calls": [
                {
                    "id": call.id,
                    "type": "function",
                    "function": {"name": call.name, "arguments": json.dumps(call.arguments)},
                }
                for call in CALLS
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": "Lyon"},
        {"role": "tool", "tool_call_id": "c2", "content": "rien"},
        {"role": "developer", "content": "Réponds."},
        {"role": "user", "content": "Alors ?"},
    ]
    choice: Any = {"type": "function", "function": {"name": "search"}}
    gpt.chat.completions.create(
        model="m",
        messages=messages,
        tools=CHAT_TOOLS,
        tool_choice=choice,
        max_completion_tokens=500,
    )


def ask_responses(gpt: openai.OpenAI, claude: anthropic.Anthropic) -> None:
    items: Any = [
        {"role": "user", "content": "Bonjour."},
        {"role": "user", "content": [{"type": "input_text", "text": "Où habite Zoé ?"}]},
        {"role": "assistant", "content": "Hm"},
        *(
            {
                "type": "function_call",
                "call_id": call.id,
                "name": call.name,
                "arguments": json.dumps(call.arguments),
            }
            for call in CALLS
        ),
        {"type": "function_call_output", "call_id": "c1", "output": "Lyon"},
        {"type": "function_call_output", "call_id": "c2", "output": "rien"},
        {"role": "developer", "content": "Réponds."},
        {"role": "user", "content": "Alors ?"},
    ]
    gpt.responses.create(
        model="m",
        instructions="Tu es bref.",
        input=items,
        tools=RESPONSES_TOOLS,
        tool_choice={"type": "function", "name": "search"},
        max_output_tokens=500,
    )


def ask_messages(gpt: openai.OpenAI, claude: anthropic.Anthropic) -> None:
    messages: Any = [
        {"role": "user", "content": "Bonjour."},
        {"role": "user", "content": [{"type": "text", "text": "Où habite Zoé ?"}]},
        {
            "role": "assistant",
            "content": [
                {"type": "text", "text": "Hm"},
                *(
                    {"type": "tool_use", "id": call.id, "name": call.name, "input": call.arguments}
                    for call in CALLS
                ),
            ],
        },
        {
            "role": "user",
            "content": [
                {"type": "tool_result", "tool_use_id": "c1", "content": "Lyon"},
                {
                    "type": "tool_result",
                    "tool_use_id": "c2",
                    "content": [{"type": "text", "text": "rien"}],
                },
                {"type": "text", "text": "Alors ?"},
            ],
        },
    ]
    claude.messages.create(
        model="m",
        max_tokens=500,
        system=[{"type": "text", "text": "Tu es bref."}, {"type": "text", "text": "Réponds."}],
        messages=messages,
        tools=ANTHROPIC_TOOLS,
        tool_choice={"type": "tool", "name": "search"},
    )


@pytest.mark.parametrize("ask", [ask_chat, ask_responses, ask_messages])
def test_a_request_reads_the_same_in_each_protocol(
    server: ModelServer, gpt: openai.OpenAI, claude: anthropic.Anthropic, ask: Any
) -> None:
    server.say("Lyon.")
    ask(gpt, claude)
    [request] = server.requests
    assert request.system == "Tu es bref.\n\nRéponds."
    assert request.messages == HISTORY
    assert [(tool.name, tool.description) for tool in request.tools] == [("search", "Search.")]
    assert request.tools[0].schema == SCHEMA
    assert (request.model, request.tool_choice, request.max_tokens) == ("m", "search", 500)
    assert not request.stream
    assert request.asked == "Alors ?"
    assert request.body["model"] == "m"
    assert server.errors == []


ASKS = {"chat": chat, "responses": respond, "messages": message}
EACH = pytest.mark.parametrize("protocol", ASKS)
STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


class Asker:
    """Asks by one protocol, with that client's own names of errors."""

    def __init__(self, server: ModelServer, protocol: str, **options: Any) -> None:
        self.library: Any = anthropic if protocol == "messages" else openai
        options = {"api_key": "key", "max_retries": 0, **options}
        self.client: Any = (
            anthropic.Anthropic(base_url=server.anthropic_url, **options)
            if protocol == "messages"
            else openai.OpenAI(base_url=server.openai_url, **options)
        )
        self._ask: Any = ASKS[protocol]

    def __enter__(self) -> "Asker":
        return self

    def __exit__(self, *_: object) -> None:
        self.client.close()

    def ask(self, *, stream: bool = False, **more: Any) -> Any:
        """The answer, or the events of its stream."""
        if not stream:
            return self._ask(self.client, **more)
        with self._ask(self.client, stream=True, **more) as events:
            return list(events)


@EACH
@STREAMED
class TestFailures:
    def test_rate_limit_is_retried(self, server: ModelServer, protocol: str, stream: bool) -> None:
        server.fail(429, retry_after=0.6)
        server.say(TEXT)
        with Asker(server, protocol, max_retries=1) as asker:
            before = time.monotonic()
            asker.ask(stream=stream)
        assert time.monotonic() - before >= 0.6  # without the header it is 0.5 at most
        assert len(server.requests) == 2

    @pytest.mark.parametrize(
        ("status", "error", "kind"),
        [
            (401, "AuthenticationError", "authentication_error"),
            (429, "RateLimitError", "rate_limit_error"),
            (500, "InternalServerError", None),
        ],
    )
    def test_error_is_the_providers(
        self,
        server: ModelServer,
        protocol: str,
        stream: bool,
        status: int,
        error: str,
        kind: str | None,
    ) -> None:
        server.fail(status, "Refused here.")
        with (
            Asker(server, protocol) as asker,
            pytest.raises(getattr(asker.library, error), match=r"Refused here\.") as caught,
        ):
            asker.ask(stream=stream)
        body: Any = caught.value.body
        assert kind in (None, body.get("error", body)["type"])
        assert server.errors == []

    def test_late_answer_times_out(self, server: ModelServer, protocol: str, stream: bool) -> None:
        server.hang(60)
        with (
            Asker(server, protocol, timeout=0.2) as asker,
            pytest.raises(asker.library.APITimeoutError),
        ):
            asker.ask(stream=stream)

    def test_cut_answer_is_seen(self, server: ModelServer, protocol: str, stream: bool) -> None:
        server.cut()
        with Asker(server, protocol) as asker, pytest.raises(Exception) as caught:
            asker.ask(stream=stream)
        assert "closed connection" in str(caught.value.__cause__ or caught.value)

    def test_garbled_answer_is_seen(self, server: ModelServer, protocol: str, stream: bool) -> None:
        server.garble()
        with Asker(server, protocol) as asker, pytest.raises(json.JSONDecodeError):
            asker.ask(stream=stream)

    def test_script_at_its_end(self, server: ModelServer, protocol: str, stream: bool) -> None:
        with Asker(server, protocol, max_retries=2) as asker:
            with pytest.raises(asker.library.InternalServerError, match="script"):
                asker.ask(stream=stream)
            [error] = server.errors
            assert isinstance(error, AssertionError)
            server.say(TEXT)
            asker.ask(stream=stream)

    def test_huge_answer(self, server: ModelServer, protocol: str, stream: bool) -> None:
        text = "é" * 1_000_000
        server.say(text)
        with Asker(server, protocol) as asker:
            answer = asker.ask(stream=stream)
        assert text_of(answer) == text


def text_of(answer: Any) -> str:
    """The text of an answer, or of the events of a stream, of any protocol."""
    if isinstance(answer, openai.types.chat.ChatCompletion):
        return answer.choices[0].message.content or ""
    if isinstance(answer, openai.types.responses.Response):
        return answer.output_text
    if isinstance(answer, anthropic.types.Message):
        return "".join(block.text for block in answer.content if block.type == "text")
    found: list[str] = []
    for event in answer:
        if isinstance(event, openai.types.chat.ChatCompletionChunk):
            found += [choice.delta.content or "" for choice in event.choices]
        elif event.type == "response.output_text.delta":
            found.append(event.delta)
        elif event.type == "content_block_delta":
            found.append(event.delta.text)
    return "".join(found)


class TestArguments:
    """Arguments that are not JSON arrive as they are, where the protocol can carry them."""

    def test_chat(self, server: ModelServer, gpt: openai.OpenAI) -> None:
        server.garble("search")
        [call] = chat(gpt, tools=CHAT_TOOLS).choices[0].message.tool_calls
        with pytest.raises(json.JSONDecodeError):
            json.loads(call.function.arguments)

    def test_responses(self, server: ModelServer, gpt: openai.OpenAI) -> None:
        server.garble("search")
        [call] = respond(gpt, tools=RESPONSES_TOOLS).output
        with pytest.raises(json.JSONDecodeError):
            json.loads(call.arguments)

    def test_messages(self, server: ModelServer, claude: anthropic.Anthropic) -> None:
        server.garble("search")
        [block] = message(claude, tools=ANTHROPIC_TOOLS).content
        assert isinstance(block.input, str)

    def test_streamed_messages(self, server: ModelServer, claude: anthropic.Anthropic) -> None:
        server.garble("search")
        with message(claude, tools=ANTHROPIC_TOOLS, stream=True) as stream:
            deltas = [e.delta.partial_json for e in stream if e.type == "content_block_delta"]
        with pytest.raises(json.JSONDecodeError):
            json.loads("".join(deltas))


class TestBrain:
    def test_it_is_asked_when_the_queue_is_empty(
        self, server: ModelServer, gpt: openai.OpenAI
    ) -> None:
        asked: list[ModelRequest] = []

        def brain(request: ModelRequest) -> Answer:
            asked.append(request)
            return Answer(f"J'ai lu : {request.asked}")

        server.brain = brain
        server.say("d'abord")
        assert server.queued == 1
        assert [text_of(chat(gpt)) for _ in range(2)] == ["d'abord", "J'ai lu : Où habite Zoé ?"]
        assert asked == server.requests[1:]
        assert server.queued == 0

    def test_it_may_call_tools_without_end(self, gpt: openai.OpenAI, server: ModelServer) -> None:
        server.brain = lambda request: Answer(calls=(Call("search", {"query": "encore"}),))
        ids = [chat(gpt).choices[0].message.tool_calls[0].id for _ in range(3)]
        assert len(set(ids)) == 3

    def test_its_error_is_a_500_and_is_kept(self, server: ModelServer, gpt: openai.OpenAI) -> None:
        def brain(request: ModelRequest) -> Answer:
            assert request.tools, "No tools were offered."
            return Answer("ok")

        server.brain = brain
        with pytest.raises(openai.InternalServerError, match="No tools"):
            chat(gpt)
        assert [str(error).split("\n")[0] for error in server.errors] == ["No tools were offered."]

    def test_many_threads(self, server: ModelServer) -> None:
        server.brain = lambda request: Answer(request.asked)

        def ask(number: int) -> str:
            body = {"model": "m", "messages": [{"role": "user", "content": str(number)}]}
            url = f"{server.openai_url}/chat/completions"
            found = httpx.post(url, json=body, trust_env=False, timeout=30).json()
            return found["choices"][0]["message"]["content"]

        with ThreadPoolExecutor(16) as pool:
            assert list(pool.map(ask, range(64))) == [str(n) for n in range(64)]
        assert len(server.requests) == 64


def unpaired(call: str = "c1", result: str = "c1") -> Any:
    """A chat history with a call and a result."""
    function = {"name": "search", "arguments": "{}"}
    return [
        *USER,
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [{"id": call, "type": "function", "function": function}],
        },
        {"role": "tool", "tool_call_id": result, "content": "rien"},
    ]


class TestRefusals:
    """What every provider refuses is refused, so that a test does not pass on what fails later."""

    @pytest.mark.parametrize(
        ("more", "reason"),
        [
            ({"messages": []}, "empty"),
            ({"messages": unpaired()[:2]}, "have no result"),
            ({"messages": [*unpaired()[:2], *USER]}, "have no result"),
            ({"messages": unpaired(result="c2")}, "have no result"),
            ({"messages": [*USER, unpaired()[2]]}, "have no call"),
            ({"messages": [{"role": "narrator", "content": "Un jour."}]}, "narrator"),
            ({"messages": [{"role": "user", "content": 3}]}, "content"),
            ({"messages": [{"role": "user", "content": ["un"]}]}, "protocol"),
            ({"messages": [{"role": "tool", "content": "rien"}]}, "tool_call_id"),
            ({"tools": [{"type": "function", "function": {"name": "déjà vu"}}]}, "name"),
            ({"tools": CHAT_TOOLS * 2}, "one name"),
            ({"tools": CHAT_TOOLS, "tool_choice": "recall"}, "not offered"),
        ],
    )
    def test_malformed_requests(
        self, server: ModelServer, gpt: openai.OpenAI, more: dict[str, Any], reason: str
    ) -> None:
        server.say(TEXT)
        request: Any = {"model": "m", "messages": USER, **more}
        with pytest.raises(openai.BadRequestError, match=reason):
            gpt.chat.completions.create(**request)
        assert (server.queued, server.requests, len(server.errors)) == (1, [], 1)

    def test_well_formed_history_is_not_refused(
        self, server: ModelServer, gpt: openai.OpenAI
    ) -> None:
        server.say(TEXT)
        gpt.chat.completions.create(model="m", messages=unpaired())
        assert server.requests[0].results == (CallResult("c1", "rien"),)

    @pytest.mark.parametrize("conversation", [None, "conv_1", {"id": "conv_1"}])
    def test_responses_are_continued(
        self, server: ModelServer, gpt: openai.OpenAI, conversation: Any
    ) -> None:
        server.say(TEXT)
        server.say("À Lyon.")
        more: Any = {} if conversation is None else {"conversation": conversation}
        first = respond(gpt, **more)
        respond(gpt, **(more or {"previous_response_id": first.id}))
        said = [(each.role, each.text) for each in server.requests[-1].messages]
        assert said == [(USER[0]["role"], USER[0]["content"]), ("assistant", TEXT), said[0]]
        with pytest.raises(openai.BadRequestError, match="not found"):
            respond(gpt, previous_response_id="resp_9")

    def test_messages_need_a_limit(self, server: ModelServer, claude: anthropic.Anthropic) -> None:
        with pytest.raises(anthropic.BadRequestError, match="max_tokens"):
            claude.post(
                "/v1/messages", body={"model": "m", "messages": USER}, cast_to=httpx.Response
            )

    @pytest.mark.parametrize("body", [b"", b"[]", b"{", b"\xff"])
    def test_bodies_that_are_not_objects(self, server: ModelServer, body: bytes) -> None:
        url = f"{server.openai_url}/chat/completions"
        answer = httpx.post(url, content=body, trust_env=False, timeout=30)
        assert answer.status_code == 400
        assert len(server.errors) == 1

    def test_unknown_paths(self, server: ModelServer, gpt: openai.OpenAI) -> None:
        with pytest.raises(openai.NotFoundError, match="/v1/embeddings"):
            gpt.embeddings.create(model="m", input="un")
        with pytest.raises(openai.NotFoundError, match="/v1/files"):
            gpt.files.list()


class TestStop:
    def test_waiting_clients_and_threads_end_at_once(self) -> None:
        with ModelServer() as server, ThreadPoolExecutor(1) as pool:
            server.hang(60)
            with Asker(server, "chat") as asker:
                waiting = pool.submit(asker.ask)
                while not server.requests:
                    time.sleep(0.005)
                before = time.monotonic()
                server.close()
                with pytest.raises(openai.APIConnectionError):
                    waiting.result()
                assert time.monotonic() - before < 2
                with pytest.raises(openai.APIConnectionError):
                    asker.ask()
        assert not [each for each in threading.enumerate() if each.name.startswith("model server")]

    def test_a_slow_stream_ends(self) -> None:
        with ModelServer(pause=0.05) as server, Asker(server, "chat") as asker:
            server.say("x" * 4000)
            with asker.client.chat.completions.create(
                model="m", messages=USER, stream=True
            ) as stream:
                next(stream)
                server.close()
                with pytest.raises(openai.APIConnectionError):
                    list(stream)

    def test_a_client_that_leaves_is_no_error(self, server: ModelServer) -> None:
        server.say("x" * 1_000_000)
        server.say(TEXT)
        host, port = server.anthropic_url.removeprefix("http://").split(":")
        body = json.dumps({"model": "m", "messages": USER, "stream": True}).encode()
        head = f"POST /v1/chat/completions HTTP/1.1\r\ncontent-length: {len(body)}\r\n\r\n"
        with socket.create_connection((host, int(port))) as connection:
            connection.sendall(head.encode() + body)
            connection.recv(10)
        with Asker(server, "chat") as asker:
            assert text_of(asker.ask()) == TEXT
        assert server.errors == []

    def test_pieces_are_as_long_as_told(self) -> None:
        with ModelServer(chunk_size=3) as server, Asker(server, "chat") as asker:
            server.say("abcdefgh")
            parts = [event.choices[0].delta.content for event in asker.ask(stream=True)]
        assert parts == ["", "abc", "def", "gh", None]
