"""Name who makes changes, for the audit log."""

from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar

ACTOR: ContextVar[str] = ContextVar("hippocampe_actor", default="library")
"""The author of the changes of this thread or task: `library`, `command line`, `local`, or `key` and its id."""


@contextmanager
def acting(actor: str) -> Generator[None]:
    """Name who makes the changes inside the block."""
    before = ACTOR.set(actor)
    try:
        yield
    finally:
        ACTOR.reset(before)
