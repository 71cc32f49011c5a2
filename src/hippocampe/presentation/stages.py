"""Order the stages of a turn for display."""

from collections.abc import Mapping

STAGES = (
    *("queue", "context", "gather", "analyse", "search", "fuse", "features", "score", "read"),
    *("reader", "choose", "render"),
)
_INSIDE_GATHER = ("analyse", "search", "fuse", "features", "score", "read", "reader")


def stages_of(spent: Mapping[str, float]) -> Mapping[str, float]:
    """The stages of a turn in order, with their milliseconds, without overlap.

    The search runs in parallel with the wait for sources, whose time is what exceeds the search.
    """
    search = sum(spent.get(name, 0.0) for name in _INSIDE_GATHER)
    alone = {**spent, "gather": max(spent.get("gather", 0.0) - search, 0.0)}
    return {name: alone[name] for name in STAGES if name in spent}
