# pyright: basic, reportMissingImports=false
"""Long-term memory for the Microsoft Agent Framework: `Agent(…, context_providers=[LongTermMemory(hippo)])`."""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from agent_framework import ChatContext, ContextProvider, chat_middleware
from agent_framework import Message as ChatMessage

from hippocampe.aio import AsyncHippocampe
from hippocampe.hippocampe import Hippocampe
from hippocampe.integrations.conversation import Message, role_of
from hippocampe.integrations.turns import Turns, Who, who
from hippocampe.types import Scope


class LongTermMemory(ContextProvider):
    """Gives the model relevant memories before the user's message, and stores the exchange after the run.

    Memories are in the requests to the model only: sessions and their histories do not contain them. The channel
    is the session.

    Args:
        hippo: The open memory; the caller closes it.
        scope: Who speaks and where, or a function of the framework's session that returns it.
        store: Whether exchanges are stored.
    """

    def __init__(
        self, hippo: Hippocampe | AsyncHippocampe, *, scope: Who | None = None, store: bool = True
    ) -> None:
        super().__init__("hippocampe")
        self._turns = Turns(hippo, store=store)
        self._scope = scope

    async def before_run(self, *, agent: Any, session: Any, context: Any, state: Any) -> None:
        """Add a middleware of the model's client, which sees the whole conversation."""
        scope = self._of(session)

        @chat_middleware
        async def remind(chat: ChatContext, call_next: Callable[[], Awaitable[None]]) -> None:
            texts = await self._turns.abefore(_messages(chat.messages), scope=scope)
            messages = list(chat.messages)
            for position, text in texts.items():
                old = messages[position]
                messages[position] = ChatMessage(
                    old.role, [text, *old.contents], message_id=old.message_id
                )
            chat.messages = messages
            await call_next()

        context.extend_middleware(self.source_id, remind)

    async def after_run(self, *, agent: Any, session: Any, context: Any, state: Any) -> None:
        """Store the exchange."""
        messages = context.get_messages(include_input=True, include_response=True)
        await self._turns.aafter(_messages(messages), scope=self._of(session))

    def _of(self, session: Any) -> Scope:
        return who(self._scope, session, channel=getattr(session, "session_id", None))


def _messages(messages: Sequence[ChatMessage]) -> list[Message]:
    return [_message(each) for each in messages]


def _message(message: ChatMessage) -> Message:
    results = [str(each.result) for each in message.contents if each.type == "function_result"]
    if results:
        return Message("tool", "\n".join(results))
    return Message(role_of(message.role), message.text)
