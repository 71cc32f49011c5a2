"""The public names of `hippocampe.testing`, and what importing them loads."""

import subprocess
import sys

import pytest

from hippocampe import testing


def test_every_name_is_there() -> None:
    for name in testing.__all__:
        assert getattr(testing, name) is not None
    with pytest.raises(AttributeError, match="no attribute 'Model'"):
        _ = testing.Model  # pyright: ignore[reportAttributeAccessIssue]


def test_the_clock_needs_no_pytest_and_nothing_heavy() -> None:
    script = (
        "import sys; from hippocampe.testing import FakeClock;"
        "print(' '.join({m.split('.')[0] for m in sys.modules}))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not {"pytest", "numpy", "pydantic"} & set(run.stdout.split())
