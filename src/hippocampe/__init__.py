"""Hippocampe: the long-term memory of a conversational agent."""

from typing import TYPE_CHECKING

from hippocampe.config import Config
from hippocampe.types import Scope

if TYPE_CHECKING:
    from hippocampe.hippocampe import Hippocampe

__all__ = ["Config", "Hippocampe", "Scope"]
__version__ = "0.1.0"


def __getattr__(name: str) -> object:
    """Import the door when it is first asked for, so that importing the package stays instant."""
    if name == "Hippocampe":
        from hippocampe.hippocampe import Hippocampe

        return Hippocampe
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
