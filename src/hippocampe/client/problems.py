"""Convert the errors of the library to problems (RFC 9457) and back, between processes."""

from collections.abc import Mapping
from typing import Any

from hippocampe import errors
from hippocampe.errors import HippocampeError, ServerUnavailable

KIND = "urn:hippocampe:"


def as_problem(error: HippocampeError) -> dict[str, str]:
    """Convert an error to a problem; `error_of` is the inverse."""
    return {"type": f"{KIND}{type(error).__name__}", "detail": str(error)}


def error_of(problem: Mapping[str, Any]) -> HippocampeError:
    """Convert a problem back to its error.

    Raises:
        KeyError: It has no type or no detail.
    """
    detail, kind = str(problem["detail"]), str(problem["type"]).removeprefix(KIND)
    found = getattr(errors, kind, None)
    if isinstance(found, type) and issubclass(found, HippocampeError):
        return found(detail)
    return ServerUnavailable(f"the server refused with status {problem.get('status')}: {detail}")
