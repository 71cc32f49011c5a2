"""Who calls a tool: with which memory, scope and rights."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from hippocampe.types import Role, Scope

if TYPE_CHECKING:
    # A process that uses the memory of another one does not load it.
    from hippocampe.hippocampe import Hippocampe

ToolSet = Literal["companion", "assistant", "all"]


@dataclass(frozen=True, slots=True)
class Caller:
    """One client.

    Attributes:
        memory: What its calls read and write; another process may execute them.
        scope: The space, and who speaks where.
        tools: The tools that it sees.
        role: What it may do; `read` sees only tools that read.
    """

    memory: "Hippocampe"
    scope: Scope
    tools: ToolSet = "all"
    role: Role = "write"

    @property
    def own_scope(self) -> Scope:
        """The scope of the assistant's own statements: "I can read" is not about the user."""
        return Scope(space=self.scope.space, channel=self.scope.channel)

    @property
    def everywhere(self) -> Scope:
        """The scope of searches that no channel bounds."""
        return Scope(space=self.scope.space, user=self.scope.user)
