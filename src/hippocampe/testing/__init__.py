"""Tools for testing a companion: contracts, a manual clock, a scripted model server.

Contracts are pytest classes; pytest is imported when one of them is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from hippocampe.testing.clock import FakeClock
    from hippocampe.testing.contracts import (
        HERE,
        NOW,
        EmbedderContract,
        IndexContract,
        point,
        point_id,
        unit,
    )
    from hippocampe.testing.exchange import (
        Answer,
        Call,
        CallResult,
        ModelMessage,
        ModelRequest,
        Tool,
    )
    from hippocampe.testing.model_server import ModelServer

__all__ = [
    "HERE",
    "NOW",
    "Answer",
    "Call",
    "CallResult",
    "EmbedderContract",
    "FakeClock",
    "IndexContract",
    "ModelMessage",
    "ModelRequest",
    "ModelServer",
    "Tool",
    "point",
    "point_id",
    "unit",
]

_MODULES = {
    "clock": ("FakeClock",),
    "contracts": ("HERE", "NOW", "EmbedderContract", "IndexContract", "point", "point_id", "unit"),
    "exchange": ("Answer", "Call", "CallResult", "ModelMessage", "ModelRequest", "Tool"),
    "model_server": ("ModelServer",),
}
_LATE = {name: module for module, names in _MODULES.items() for name in names}


def __getattr__(name: str) -> object:
    """Import a name when it is first asked for, so that the server does not need pytest."""
    if name in _LATE:
        return getattr(import_module(f"{__name__}.{_LATE[name]}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
