"""Contracts for indexes and embedders, and a clock moved by hand.

Contracts are pytest classes; pytest is imported when one of them is first used.
"""

from importlib import import_module
from typing import TYPE_CHECKING

from hippocampe.testing.clock import FakeClock

if TYPE_CHECKING:
    from hippocampe.testing.contracts import (
        HERE,
        NOW,
        EmbedderContract,
        IndexContract,
        point,
        point_id,
        unit,
    )

__all__ = [
    "HERE",
    "NOW",
    "EmbedderContract",
    "FakeClock",
    "IndexContract",
    "point",
    "point_id",
    "unit",
]


def __getattr__(name: str) -> object:
    """Import a contract when it is first asked for, so that the clock does not need pytest."""
    if name in __all__:
        return getattr(import_module(f"{__name__}.contracts"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
