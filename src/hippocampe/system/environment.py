"""Read environment variables."""

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping


def variable(name: str, environment: "Mapping[str, str]" = os.environ) -> str | None:
    """The value of a variable, without surrounding white space; None if it is unset or blank."""
    return environment.get(name, "").strip() or None
