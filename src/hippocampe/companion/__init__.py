"""The companion: an agent that remembers, knows who it is, and learns.

Needs the extra `companion`.
"""

from hippocampe.companion.companion import AsyncCompanion, Companion
from hippocampe.companion.replies import Event, Reply, TextStreamed, ToolCalled, ToolReturned, Usage

__all__ = [
    "AsyncCompanion",
    "Companion",
    "Event",
    "Reply",
    "TextStreamed",
    "ToolCalled",
    "ToolReturned",
    "Usage",
]
