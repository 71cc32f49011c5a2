"""The dashboard on the demonstration: until Ctrl-C, or without a terminal until its self-check passes."""

import signal
import sys
import urllib.error
import urllib.request
from contextlib import ExitStack
from threading import Thread

from hippocampe.cli import terminal
from hippocampe.cli.server import PORT
from hippocampe.cli.show.layout import say
from hippocampe.errors import InvalidInput, ServerUnavailable
from hippocampe.hippocampe import Hippocampe

HOST = "127.0.0.1"
PATHS = ("/healthz", "/")
"""Paths of the self-check: the server and its dashboard."""
ANSWER_SECONDS = 30.0


def serve(hippo: Hippocampe, *, kept: bool) -> None:
    """Serve a memory at the usual port, or at a free one if that is taken.

    Args:
        kept: Whether its folder stays when the server stops.

    Raises:
        ServerUnavailable: Without a terminal, it did not answer its own check.
    """
    from hippocampe.server import serving

    failed: list[str] = []

    def started(address: str) -> None:
        where = say("The dashboard on this sample: {address}\nCtrl-C stops it.", address=address)
        terminal.out(f"\n{where}")
        if not kept:
            terminal.out(
                say("Then the sample is removed, with what you added: --folder NAME keeps it.")
            )
        if not sys.stdout.isatty():
            Thread(target=_check, args=(address, failed)).start()

    with ExitStack() as held:
        try:
            listener = held.enter_context(serving.bound(HOST, PORT))
        except InvalidInput:
            listener = held.enter_context(serving.bound(HOST, 0))
        serving.serve(hippo, listener, started=started, temporary=not kept)
    if failed:
        raise ServerUnavailable(
            f"the server did not answer its own check ({failed[0]}): see what it printed."
        )


def _check(address: str, failed: list[str]) -> None:
    """Ask the server for its pages, then stop it."""
    try:
        for path in PATHS:
            with urllib.request.urlopen(address + path, timeout=ANSWER_SECONDS) as response:
                response.read()
        terminal.out(say("The check passed. Without a terminal, the server stops."))
    except (OSError, urllib.error.URLError) as exc:
        failed.append(f"{type(exc).__name__}")
    finally:
        signal.raise_signal(signal.SIGINT)
