"""Do without the reader: its time would be most of that of the tests.

Also run by the process that others are forked from, where it must not be loaded: `unread.install(setattr)`.
"""

from collections.abc import Callable
from typing import Any

from hippocampe.injection import warmup
from hippocampe.retrieval import recall
from hippocampe.updates import judgement

READ = {
    (recall, "READ"): recall.READ,
    (judgement, "read_pairs"): judgement.read_pairs,
    (warmup, "load_reader"): warmup.load_reader,
}
"""What the reader needs, as the product has it."""
UNREAD = {"READ": 0, "read_pairs": lambda *_: None, "load_reader": lambda: None}


def install(patch: Callable[[Any, str, Any], None]) -> None:
    """Read nothing."""
    for owner, name in READ:
        patch(owner, name, UNREAD[name])


def undo(patch: Callable[[Any, str, Any], None]) -> None:
    """Read, as the product does."""
    for (owner, name), value in READ.items():
        patch(owner, name, value)
