"""What tests need and `pip` does not install: without it they are skipped, and fail in CI."""

import os

import pytest

EXCUSED = "NO_PACKAGE_INDEX"
"""Set by `.ci/run` on a machine that cannot reach a package index."""


def missing(what: str, *, from_index: bool = False) -> None:
    """Skip a test that needs a program; in CI, fail.

    Args:
        what: What is missing.
        from_index: Whether it comes from the package index, and is excused where that cannot be reached.
    """
    if os.environ.get("CI") == "true" and not (from_index and EXCUSED in os.environ):
        pytest.fail(f"{what} is not installed")
    pytest.skip(f"{what} is not installed")
