"""Reach the process that owns a data folder, and start one if there is none.

Hooks of coding agents load this module, so it imports nothing heavy.
"""

import time

from hippocampe.system.local_socket import HELD_SECONDS, IN_USE, is_held

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from subprocess import Popen
    from typing import TypeVar

    T = TypeVar("T")

POLL_SECONDS = 0.02


class Unreached(Exception):
    """The server was not reached, or the connection broke before its answer."""


class Held(Exception):
    """A process holds the folder, and does not share it."""


class NotStarted(Exception):
    """The process that was started failed, or was not reached in time."""


def reach(
    folder: str, attempt: "Callable[[], T]", start: "Callable[[], Popen[bytes]]", seconds: float
) -> "T":
    """Call the process that owns a folder; start one as long as nobody holds the folder.

    Args:
        attempt: Calls the owner, or raises `Unreached`.
        start: Starts a process that becomes the owner.

    Raises:
        Held: A process has held the folder for `HELD_SECONDS` without being reached.
        NotStarted: The started process failed, or the time is up.
    """
    ends = time.monotonic() + seconds
    child: Popen[bytes] | None = None
    held_since: float | None = None
    while True:
        try:
            return attempt()
        except Unreached as exc:
            cause = exc
        now = time.monotonic()
        code = None if child is None else child.poll()
        # A negative code: it was killed.
        if now > ends or (code is not None and code > 0 and code != IN_USE):
            raise NotStarted from cause
        if child is None or code is not None:
            held = is_held(folder)
            if held if held is not None else code == IN_USE:
                held_since = held_since or now
                if now - held_since > HELD_SECONDS or _is_private(folder):
                    raise Held from cause
            else:
                held_since = None
                child = start()
        time.sleep(POLL_SECONDS)


def _is_private(folder: str) -> bool:
    from pathlib import Path

    from hippocampe.system.owner import is_private

    return is_private(Path(folder))
