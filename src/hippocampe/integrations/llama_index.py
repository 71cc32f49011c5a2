# pyright: basic, reportMissingImports=false
"""A memory block for LlamaIndex: `Memory.from_defaults(memory_blocks=[HippocampeBlock(hippo=hippo)], …)`."""

import asyncio
from typing import Any

from llama_index.core.base.llms.types import ChatMessage
from llama_index.core.memory import BaseMemoryBlock
from pydantic import PrivateAttr

from hippocampe.integrations.conversation import Message, role_of
from hippocampe.integrations.turns import Turns, label
from hippocampe.types import Scope


class HippocampeBlock(BaseMemoryBlock[str]):
    """Gives the memories relevant to the last message of the user, and stores the exchanges.

    An exchange is stored when the next message comes, or when it leaves the short-term memory.

    Args:
        hippo: The open memory; the caller closes it.
        scope: Who speaks; the channel is the session of the memory.
        store: Whether exchanges are stored.
    """

    name: str = "hippocampe"
    _turns: Turns = PrivateAttr()
    _scope: Scope = PrivateAttr()

    def __init__(
        self, *, hippo: Any, scope: Scope | None = None, store: bool = True, **options: Any
    ) -> None:
        super().__init__(**options)
        self._turns = Turns(hippo, store=store, keep=False)
        self._scope = scope or Scope()

    async def _aget(self, messages: list[ChatMessage] | None = None, **options: Any) -> str:
        talk = [_message(each) for each in messages or []]
        scope = self._of(options.get("session_id"))
        await asyncio.to_thread(self._turns.store_all, talk, scope=scope)
        texts = await self._turns.abefore(talk, scope=scope)
        return next(iter(texts.values()), "")

    async def _aput(self, messages: list[ChatMessage]) -> None:
        sessions = [each.additional_kwargs.get("session_id") for each in messages]
        scope = self._of(next(filter(None, sessions), None))
        talk = [_message(each) for each in messages]
        await asyncio.to_thread(self._turns.store_all, talk, scope=scope)

    def _of(self, session: object) -> Scope:
        scope = self._scope
        return Scope(scope.space, scope.user, scope.channel or label(session))


def _message(message: ChatMessage) -> Message:
    return Message(role_of(message.role.value), message.content or "")
