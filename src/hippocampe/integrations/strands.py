# pyright: basic, reportMissingImports=false
"""A memory store for Strands: `MemoryManager(stores=[HippocampeStore(hippo)])`."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Any

from strands.memory import MemoryEntry

from hippocampe.aio import AsyncHippocampe
from hippocampe.hippocampe import Hippocampe
from hippocampe.integrations.conversation import Message
from hippocampe.integrations.turns import Turns
from hippocampe.language.sanitize import quote
from hippocampe.types import Scope

MAX_RESULTS = 10


class HippocampeStore:
    """Finds memories and talk for the memory manager, and keeps what it adds.

    Args:
        hippo: The open memory; the caller closes it.
        scope: Who speaks and where.
        name: The name of the store.
        writable: Whether anything is stored.
        extraction: When the manager passes on the conversation: `True`, or its `ExtractionConfig`; no model is asked.
    """

    def __init__(
        self,
        hippo: Hippocampe | AsyncHippocampe,
        *,
        scope: Scope | None = None,
        name: str = "hippocampe",
        writable: bool = True,
        extraction: Any = None,
    ) -> None:
        self._turns = Turns(hippo)
        self._scope = scope or Scope()
        self.name = name
        self.description = "Facts about the user, and what was said in earlier conversations."
        self.max_search_results = MAX_RESULTS
        self.writable = writable
        self.extraction = extraction

    async def initialize(self) -> None:
        """Do nothing: the memory is open."""

    async def search(
        self, query: str, options: Mapping[str, Any] | None = None
    ) -> list[MemoryEntry]:
        """Find memories and talk, best first."""
        limit = int((options or {}).get("max_search_results") or self.max_search_results)
        found = await asyncio.to_thread(self._turns.recall, query, scope=self._scope, limit=limit)
        return [
            MemoryEntry(
                quote(each.content),
                metadata={
                    "id": each.id,
                    "kind": each.kind,
                    "score": each.score,
                    "at": each.at.isoformat() if each.at else None,
                },
            )
            for each in found
        ]

    async def add(self, content: str, metadata: Mapping[str, Any] | None = None) -> str:
        """Remember a statement; return the id of the memory."""
        plain = {
            name: value
            for name, value in (metadata or {}).items()
            if value is None or isinstance(value, str | int | float | bool)
        }
        done = await asyncio.to_thread(
            self._turns.hippo.remember, content, scope=self._scope, source="strands", metadata=plain
        )
        return done.memory.id

    async def add_messages(self, messages: Sequence[Any], context: Any = None) -> None:
        """Store the complete exchanges of a conversation once."""
        talk = [_message(each) for each in messages]
        await asyncio.to_thread(self._turns.store_all, talk, scope=self._scope)


def _message(message: Mapping[str, Any]) -> Message:
    blocks: Sequence[Mapping[str, Any]] = message["content"]
    results = [part for each in blocks for part in each.get("toolResult", {}).get("content", [])]
    if results:
        return Message("tool", "\n".join(str(part.get("text", "")) for part in results))
    text = "\n".join(each["text"] for each in blocks if "text" in each)
    return Message("assistant" if message["role"] == "assistant" else "user", text)
