"""Open the memory of this machine's user, for hosts that start adapters by themselves."""

import getpass
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from hippocampe.config_sources import load
from hippocampe.hippocampe import Hippocampe
from hippocampe.system.environment import variable

URL, KEY = "HIPPOCAMPE_URL", "HIPPOCAMPE_KEY"


def open_memory(settings: Mapping[str, Any] | None = None) -> Hippocampe:
    """Open the memory that the command line uses: the server at `HIPPOCAMPE_URL`, or the data folder.

    Args:
        settings: Settings of the host, which come first: `url`, `key` or `folder`.

    Raises:
        HippocampeError: It cannot be opened; the message says why, and what to do.
    """
    given = settings or {}
    address = given.get("url") or (None if given.get("folder") else variable(URL))
    if address:
        return Hippocampe.connect(address, key=given.get("key") or variable(KEY))
    folder = given.get("folder")
    flags = {"folder": Path(folder).expanduser()} if folder else {}
    return Hippocampe.open(load(flags=flags).config)


def login() -> str | None:
    """The name of the user of this machine, as hooks use it."""
    try:
        return variable("HIPPOCAMPE_USER") or getpass.getuser()
    except (OSError, KeyError, ImportError):
        return None
