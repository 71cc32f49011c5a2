"""The caller of a tool: its memory, scope and rights."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

from hippocampe.types import (
    Memory,
    Message,
    Mode,
    Page,
    Receipt,
    Recollection,
    Remembered,
    Role,
    Scope,
    Settings,
)

ToolSet = Literal["companion", "assistant", "all"]


class Verbs(Protocol):
    """The verbs of `Hippocampe` that the tools call; another process may execute them."""

    def remember(
        self,
        content: str,
        *,
        scope: Scope,
        type: str | None = None,
        collection: str | None = None,
        category: str | None = None,
        subjects: Sequence[str] = (),
        ttl: str | None = None,
        source: str = "conversation",
        replaces: Sequence[str] = (),
    ) -> Remembered: ...

    def recall(
        self,
        query: str,
        *,
        scope: Scope,
        limit: int = 10,
        collections: Sequence[str] = ("memory",),
        category: str | None = None,
        min_score: float | None = None,
        mode: Mode = "hybrid",
    ) -> list[Recollection]: ...

    def memories(self, *, scope: Scope, collection: str | None = None, limit: int = 50) -> Page: ...

    def get(self, id: str, *, scope: Scope) -> Memory: ...

    def delete(self, id: str, *, scope: Scope, reason: str) -> Memory: ...

    def forget(self, topic: str, *, scope: Scope, dry_run: bool = False) -> Receipt: ...

    def search_text(
        self,
        query: str,
        *,
        scope: Scope,
        channel: str | None = None,
        since: str | None = None,
        until: str | None = None,
        limit: int = 20,
    ) -> list[Message]: ...

    def settings(self, *, scope: Scope) -> Settings: ...


@dataclass(frozen=True, slots=True)
class Caller:
    """One client.

    Attributes:
        memory: The memory of its calls.
        scope: The space, the speaker and the channel.
        tools: The tools that it sees.
        role: Its rights; `read` sees only tools that read.
    """

    memory: Verbs
    scope: Scope
    tools: ToolSet = "all"
    role: Role = "write"

    @property
    def own_scope(self) -> Scope:
        """The scope of the assistant's own statements: "I can read" is not about the user."""
        return Scope(space=self.scope.space, channel=self.scope.channel)

    @property
    def everywhere(self) -> Scope:
        """The scope of searches in all channels."""
        return Scope(space=self.scope.space, user=self.scope.user)
