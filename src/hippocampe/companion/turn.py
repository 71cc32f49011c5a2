"""One turn of the companion: who speaks, what it is reminded of, what it stores."""

from dataclasses import dataclass, field

from hippocampe.aio import AsyncHippocampe
from hippocampe.types import Memory, Recollection, Scope, Settings


@dataclass(slots=True)
class Turn:
    """What the tools and hooks of one run share.

    Attributes:
        hippo: The memory.
        scope: Who speaks, and where.
        settings: The settings of the space.
        reminder: The text put in front of the message, in the request only.
        injected: The items of the reminder.
        injected_tokens: The tokens of the reminder.
        touched: Memories that were stored or deleted.
    """

    hippo: AsyncHippocampe
    scope: Scope
    settings: Settings
    reminder: str = ""
    injected: tuple[Recollection, ...] = ()
    injected_tokens: int = 0
    touched: list[Memory] = field(default_factory=list[Memory])

    @property
    def own_scope(self) -> Scope:
        """The scope of the companion's own statements: "I can read" is not about the user."""
        return Scope(space=self.scope.space, channel=self.scope.channel)
