"""Where programs keep what belongs to the user on this platform."""

import os
import sys
from pathlib import Path

_NAME = "hippocampe"


def data_folder() -> Path:
    """For data that must not be lost."""
    home = Path.home()
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / _NAME
    if sys.platform == "darwin":
        return home / "Library" / "Application Support" / _NAME
    return Path(os.environ.get("XDG_DATA_HOME") or home / ".local" / "share") / _NAME


def cache_folder() -> Path:
    """For what can be made again."""
    if sys.platform == "win32":
        return data_folder() / "cache"
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / _NAME
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / _NAME
