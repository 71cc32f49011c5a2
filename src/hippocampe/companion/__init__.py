"""Talk as an agent that remembers, knows who it is, and learns.

Needs the extra `companion`.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from hippocampe.companion.companion import AsyncCompanion, Companion
from hippocampe.companion.replies import (
    Event,
    Reply,
    Searched,
    TextStreamed,
    ToolCalled,
    ToolReturned,
    Usage,
)

if TYPE_CHECKING:
    from hippocampe.companion.capability import LongTermMemory
    from hippocampe.companion.deep_recall import Curated, DeepRecall

__all__ = [
    "AsyncCompanion",
    "Companion",
    "Curated",
    "DeepRecall",
    "Event",
    "LongTermMemory",
    "Reply",
    "Searched",
    "TextStreamed",
    "ToolCalled",
    "ToolReturned",
    "Usage",
]

_LATE = {
    "Curated": "hippocampe.companion.deep_recall",
    "DeepRecall": "hippocampe.companion.deep_recall",
    "LongTermMemory": "hippocampe.companion.capability",
}


def __getattr__(name: str) -> object:
    """Import the names that load Pydantic AI when they are first used."""
    if name in _LATE:
        return getattr(import_module(_LATE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
