"""Hippocampe: the long-term memory of a conversational agent."""

from importlib import import_module
from typing import TYPE_CHECKING

from hippocampe.config import Config
from hippocampe.types import Scope

if TYPE_CHECKING:
    from hippocampe.hippocampe import Hippocampe
    from hippocampe.prompt import with_injection, without_injection, without_injections

__all__ = [
    "Config",
    "Hippocampe",
    "Scope",
    "with_injection",
    "without_injection",
    "without_injections",
]
__version__ = "0.1.0"

_LATE = {
    "Hippocampe": "hippocampe.hippocampe",
    "with_injection": "hippocampe.prompt",
    "without_injection": "hippocampe.prompt",
    "without_injections": "hippocampe.prompt",
}


def __getattr__(name: str) -> object:
    """Import a name when it is first asked for, so that importing the package stays instant."""
    if name in _LATE:
        return getattr(import_module(_LATE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
