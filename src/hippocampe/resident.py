"""The process that owns a data folder for programs of one user, started by the first and stopped when unused.

    python -m hippocampe.resident FOLDER IDLE_SECONDS [EMBEDDER]
"""

import logging
import signal
import sys
import threading
from pathlib import Path

from hippocampe import config_sources
from hippocampe.errors import FolderInUse, HippocampeError
from hippocampe.hippocampe import Hippocampe
from hippocampe.remote.joining import IN_USE

POLL_SECONDS = 1.0


def main(folder: str, idle_seconds: float, embedder: str | None = None) -> int:
    """Own a folder until SIGTERM, until a program asks for it, or until it was not used for a while.

    Returns:
        The exit code: 0, `IN_USE` if another process holds the folder, 1 if it cannot be opened.
    """
    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    leaving = threading.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda number, frame: leaving.set())
    try:
        flags = {"folder": Path(folder), "embedder": embedder}
        config = config_sources.load(flags=flags).config
        with Hippocampe.open(config, join=False) as memory:
            if memory.host is None:
                raise FolderInUse("the configuration does not share the folder (share = false).")
            memory.host.leave_when_asked(leaving.set)
            while not leaving.wait(min(POLL_SECONDS, idle_seconds / 4)):
                if memory.host.idle_seconds > idle_seconds:
                    break
    except FolderInUse as exc:
        print(f"error: {exc}", file=sys.stderr)
        return IN_USE
    except HippocampeError as exc:
        print(f"error: {exc}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], float(sys.argv[2]), *sys.argv[3:]))
