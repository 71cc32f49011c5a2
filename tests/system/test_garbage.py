"""The garbage collector in processes of our own."""

import subprocess
import sys

SCRIPT = """
import atexit, gc
from hippocampe.system import garbage

collections = []
gc.callbacks.append(lambda phase, _: collections.append(phase))
atexit.register(lambda: print(len(collections), gc.get_freeze_count() > len(held)))
garbage.collect_rarely()
held = [[] for _ in range(20_000)]
"""


def test_long_lived_objects_start_no_collection_and_exit_skips_them() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT], capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout.split() == ["0", "True"]
