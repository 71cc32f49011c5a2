"""Name the faults of a validation. Loads no web framework: an MCP client waits for its import."""

from collections.abc import Mapping, Sequence
from typing import Any

MAX_FAULTS = 10
"""Most faults listed, so that the text stays short."""
MAX_PARTS = 6
MAX_NAME = 60
MAX_REASON = 1_000


def faults(errors: Sequence[Mapping[str, Any]]) -> str:
    """The first errors of a validation: the place and the reason, never the values."""
    found = dict.fromkeys(
        f"{'.'.join(str(part)[:MAX_NAME] for part in each['loc'][:MAX_PARTS]) or 'body'}: "
        f"{each['msg'][:MAX_REASON]}"
        for each in errors[:MAX_FAULTS]
    )
    more = len(errors) - MAX_FAULTS
    return "; ".join(found) + (f"; and {more:,} more" if more > 0 else "")
