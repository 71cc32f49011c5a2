"""Check the SDK of the protocol before it is loaded."""

from importlib.metadata import version

from hippocampe.errors import InvalidInput

LEAST_SDK = 2, 3
"""The oldest version of the package `mcp` that can serve."""


def require_sdk() -> None:
    """Check the version of the SDK: other packages of the environment may hold it back.

    Raises:
        InvalidInput: It is too old.
    """
    found = version("mcp")
    if tuple(map(int, found.split(".")[:2])) < LEAST_SDK:
        raise InvalidInput(
            f"the server needs version 2.3 or later of the package mcp, not {found}: install hippocampe in an environment of "
            "its own, such as with pipx."
        )
