"""The caller of a tool: its memory, scope and rights."""

from dataclasses import dataclass
from typing import Literal

from hippocampe.aio import AsyncHippocampe
from hippocampe.companion.memory_tools import Access
from hippocampe.types import Role, Scope

ToolSet = Literal["companion", "assistant", "all"]
SOURCE = "mcp"


@dataclass(frozen=True, slots=True)
class Caller:
    """One client.

    Attributes:
        role: The role of its key; `read` sees only tools that read.
    """

    memory: AsyncHippocampe
    scope: Scope
    tools: ToolSet = "all"
    role: Role = "write"

    @property
    def access(self) -> Access:
        """The memory as the tools of a companion use it."""
        return Access(self.memory, self.scope, SOURCE)

    @property
    def everywhere(self) -> Scope:
        """The scope of searches in all channels."""
        return Scope(space=self.scope.space, user=self.scope.user)
