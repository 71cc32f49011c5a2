"""Order the stages of a turn for display."""

from collections.abc import Mapping

STAGES = (
    *("queue", "context", "gather", "analyse", "search", "fuse", "features", "score", "read"),
    *("reader", "choose", "render"),
)
_OF_SEARCH = ("analyse", "search", "fuse", "features", "score", "read", "reader")


def stages_of(spent: Mapping[str, float]) -> Mapping[str, float]:
    """The stages of a turn in order, with their milliseconds, without overlap.

    The search runs in parallel with the reading of the context, inside the wait for both: each of these two has the
    time that exceeds what it overlaps.
    """
    search = sum(spent.get(name, 0.0) for name in _OF_SEARCH)
    context = max(spent.get("context", 0.0) - search, 0.0)
    gather = max(spent.get("gather", 0.0) - search - context, 0.0)
    alone = {**spent, "context": context, "gather": gather}
    return {name: alone[name] for name in STAGES if name in spent}
