"""Own a data folder for programs of one user: started by the first, stopped when unused.

python -m hippocampe.resident FOLDER IDLE_SECONDS

Its configuration is in the environment, or in the file of the user.
"""

import signal
import sys
import threading
from contextlib import suppress

from hippocampe.errors import FolderInUse, HippocampeError, ModelUnavailable
from hippocampe.system import garbage
from hippocampe.system.environment import variable
from hippocampe.system.local_socket import IN_USE

POLL_SECONDS = 1.0


def main(folder: str, idle_seconds: float) -> int:
    """Own a folder until SIGTERM, until a program asks for the folder, or until idle for a while.

    Returns:
        The exit code: 0, `IN_USE` if another process holds the folder, 1 if it cannot be opened.
    """
    garbage.collect_rarely()
    if variable("HIPPOCAMPE_EMBEDDER") in (None, "local"):
        # A caller is waiting: load the models while the other modules are loaded.
        for load in (_load_model, _load_reader):
            threading.Thread(target=load, daemon=True).start()
    leaving = threading.Event()
    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, lambda number, frame: leaving.set())
    try:
        _own(folder, idle_seconds, leaving)
    except HippocampeError as exc:
        print(f"error: {exc}", file=sys.stderr)
        return IN_USE if isinstance(exc, FolderInUse) else 1
    return 0


def _own(folder: str, idle_seconds: float, leaving: threading.Event) -> None:
    import logging

    from hippocampe import config_sources
    from hippocampe.hippocampe import Hippocampe

    logging.basicConfig(level=logging.WARNING, format="%(asctime)s %(levelname)s %(message)s")
    config = config_sources.load(flags={"folder": folder}).config
    with Hippocampe.open(config, join=False) as memory:
        if memory.host is None:
            raise FolderInUse("this folder is not shared: the configuration says share = false.")
        memory.host.leave_when_asked(leaving.set)
        while not leaving.wait(min(POLL_SECONDS, idle_seconds / 4)):
            if memory.host.idle_seconds > idle_seconds:
                break


def _load_model() -> None:
    from hippocampe.embed.local import LocalEmbedder

    LocalEmbedder().embed(["."])


def _load_reader() -> None:
    from hippocampe.reader.network import load_reader

    with suppress(ModelUnavailable):
        load_reader()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], float(sys.argv[2])))
