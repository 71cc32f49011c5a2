# pyright: basic, reportMissingImports=false
"""Long-term memory for Google's ADK: a plugin of the runner, and a memory service for its tools."""

import asyncio
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from google.adk.memory.base_memory_service import BaseMemoryService, SearchMemoryResponse
from google.adk.memory.memory_entry import MemoryEntry
from google.adk.plugins.base_plugin import BasePlugin
from google.genai import types

from hippocampe.aio import AsyncHippocampe
from hippocampe.hippocampe import Hippocampe
from hippocampe.integrations.conversation import Message
from hippocampe.integrations.turns import Turns, label
from hippocampe.language.sanitize import quote
from hippocampe.types import Recollection, Scope

MAX_RESULTS = 10


class LongTermMemory(BasePlugin):
    """Gives the model relevant memories before the user's message, and stores the exchange after the run.

    Memories are in the requests to the model only. The user and the channel are those of the session.

    Args:
        hippo: The open memory; the caller closes it.
        space: The isolated memory.
        store: Whether exchanges are stored.
    """

    def __init__(
        self, hippo: Hippocampe | AsyncHippocampe, *, space: str = "default", store: bool = True
    ) -> None:
        super().__init__(name="hippocampe")
        self._turns = Turns(hippo, store=store)
        self._space = space

    async def before_model_callback(self, *, callback_context: Any, llm_request: Any) -> None:
        """Put memories into copies of the messages of the request."""
        contents = llm_request.contents
        talk = [_message(each) for each in contents]
        texts = await self._turns.abefore(talk, scope=self._of(callback_context.session))
        for position, text in texts.items():
            parts = [types.Part(text=text), *(contents[position].parts or [])]
            contents[position] = contents[position].model_copy(update={"parts": parts})

    async def after_run_callback(self, *, invocation_context: Any) -> None:
        """Store the exchange."""
        session, run = invocation_context.session, invocation_context.invocation_id
        talk = [
            _message(each.content)
            for each in session.events
            if each.content and each.invocation_id == run
        ]
        await asyncio.to_thread(self._turns.store_all, talk, scope=self._of(session))

    def _of(self, session: Any) -> Scope:
        return Scope(self._space, label(session.user_id), label(session.id))


class HippocampeMemoryService(BaseMemoryService):
    """Answers the memory tools of agents: `Runner(memory_service=…)`.

    Args:
        hippo: The open memory; the caller closes it.
        space: The isolated memory.
    """

    def __init__(self, hippo: Hippocampe | AsyncHippocampe, *, space: str = "default") -> None:
        self._turns = Turns(hippo)
        self._space = space

    async def add_session_to_memory(self, session: Any) -> None:
        """Store the exchanges of a session that are not stored yet."""
        await self.add_events_to_memory(
            app_name=session.app_name,
            user_id=session.user_id,
            events=session.events,
            session_id=session.id,
        )

    async def add_events_to_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        events: Sequence[Any],
        session_id: str | None = None,
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Store the complete exchanges of some events."""
        talk = [_message(each.content) for each in events if each.content]
        scope = Scope(self._space, label(user_id), label(session_id))
        await asyncio.to_thread(self._turns.store_all, talk, scope=scope)

    async def add_memory(
        self,
        *,
        app_name: str,
        user_id: str,
        memories: Sequence[MemoryEntry],
        custom_metadata: Mapping[str, object] | None = None,
    ) -> None:
        """Remember statements, by the rules of `remember`."""
        scope = Scope(self._space, label(user_id))
        items = [{"content": _text(each.content), "source": "adk"} for each in memories]
        await asyncio.to_thread(self._turns.hippo.remember_many, items, scope=scope)

    async def search_memory(
        self, *, app_name: str, user_id: str, query: str
    ) -> SearchMemoryResponse:
        """Find memories and talk, best first."""
        scope = Scope(self._space, label(user_id))
        found = await asyncio.to_thread(self._turns.recall, query, scope=scope, limit=MAX_RESULTS)
        return SearchMemoryResponse(memories=[_entry(each) for each in found])

    async def delete_memory(
        self, *, app_name: str, user_id: str, memory_id: str | None = None
    ) -> None:
        """Hide a memory by its id; `restore` brings it back."""
        if memory_id is not None:
            scope = Scope(self._space, label(user_id))
            await asyncio.to_thread(
                self._turns.hippo.delete, memory_id, scope=scope, reason="deleted by the host"
            )


def _message(content: types.Content) -> Message:
    parts = content.parts or []
    results = [str(each.function_response.response) for each in parts if each.function_response]
    if results:
        return Message("tool", "\n".join(results))
    return Message("assistant" if content.role == "model" else "user", _text(content))


def _text(content: types.Content) -> str:
    return "\n".join(each.text for each in content.parts or [] if each.text and not each.thought)


def _entry(found: Recollection) -> MemoryEntry:
    at = (found.memory.occurred_at if found.memory else None) or found.at
    return MemoryEntry(
        id=found.id,
        content=types.Content(role="user", parts=[types.Part(text=quote(found.content))]),
        author=found.author or (found.memory.user if found.memory else None),
        timestamp=at.isoformat() if isinstance(at, datetime) else None,
        custom_metadata={"kind": found.kind, "score": found.score},
    )
