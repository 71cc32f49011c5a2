# pyright: basic, reportMissingImports=false
"""Long-term memory for LangChain agents: `create_agent(…, middleware=[LongTermMemory(hippo)])`."""

from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any

from langchain.agents.middleware import AgentMiddleware, ModelRequest, ModelResponse
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage

from hippocampe.aio import AsyncHippocampe
from hippocampe.hippocampe import Hippocampe
from hippocampe.integrations.conversation import Message, Role
from hippocampe.integrations.turns import Turns, Who, joined, who
from hippocampe.types import Scope

_ROLES: Mapping[type[BaseMessage], Role] = {
    HumanMessage: "user",
    AIMessage: "assistant",
    ToolMessage: "tool",
}


class LongTermMemory(AgentMiddleware):
    """Gives the model relevant memories before the user's message, and stores the exchange after the run.

    Memories are in the requests to the model only: the state of the agent does not contain them. The channel is
    the thread of the run.

    Args:
        hippo: The open memory; the caller closes it.
        scope: Who speaks and where, or a function of LangGraph's `Runtime` that returns it.
        store: Whether exchanges are stored.
    """

    def __init__(
        self, hippo: Hippocampe | AsyncHippocampe, *, scope: Who | None = None, store: bool = True
    ) -> None:
        super().__init__()
        self._turns = Turns(hippo, store=store)
        self._scope = scope

    def wrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], ModelResponse]
    ) -> ModelResponse:
        """Call the model with memories in a copy of the messages."""
        talk, scope = _messages(request.messages), self._of(request.runtime)
        return handler(_reminded(request, self._turns.before(talk, scope=scope)))

    async def awrap_model_call(
        self, request: ModelRequest, handler: Callable[[ModelRequest], Awaitable[ModelResponse]]
    ) -> ModelResponse:
        """Call the model with memories in a copy of the messages."""
        talk, scope = _messages(request.messages), self._of(request.runtime)
        return await handler(_reminded(request, await self._turns.abefore(talk, scope=scope)))

    def after_agent(self, state: Any, runtime: Any) -> None:
        """Store the exchange."""
        self._turns.after(
            _messages(state["messages"]), scope=self._of(runtime), external_id=_id(state)
        )

    async def aafter_agent(self, state: Any, runtime: Any) -> None:
        """Store the exchange."""
        talk = _messages(state["messages"])
        await self._turns.aafter(talk, scope=self._of(runtime), external_id=_id(state))

    def _of(self, runtime: Any) -> Scope:
        info = getattr(runtime, "execution_info", None)
        server = getattr(runtime, "server_info", None)
        return who(
            self._scope,
            runtime,
            user=getattr(getattr(server, "user", None), "identity", None),
            channel=getattr(info, "thread_id", None),
        )


def _messages(messages: Sequence[BaseMessage]) -> list[Message]:
    return [Message(_role(each), each.text) for each in messages]


def _role(message: BaseMessage) -> Role:
    for kind, role in _ROLES.items():
        if isinstance(message, kind):
            return role
    return "system"


def _id(state: Any) -> str | None:
    """The id of the last message of the user, which a resumed run has again."""
    ids = [each.id for each in state["messages"] if isinstance(each, HumanMessage)]
    return ids[-1] if ids else None


def _reminded(request: ModelRequest, texts: Mapping[int, str]) -> ModelRequest:
    if not texts:
        return request
    messages = list(request.messages)
    for position, text in texts.items():
        old = messages[position]
        content = joined(text, old.content, lambda text: {"type": "text", "text": text})
        messages[position] = old.model_copy(update={"content": content})
    return request.override(messages=messages)
