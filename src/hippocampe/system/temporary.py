"""Temporary folders of the process that owns a data folder; the next owner removes those of one that was killed."""

import hashlib
import os
import shutil
import tempfile
from pathlib import Path


def prefix(folder: Path) -> str:
    """The beginning of the names of the temporary folders that belong to a data folder."""
    digest = hashlib.blake2b(os.fsencode(folder.absolute()), digest_size=8).hexdigest()
    return f"hippocampe-{digest}-"


def folder_of(data: Path) -> "tempfile.TemporaryDirectory[str]":
    """A temporary folder that belongs to a data folder."""
    return tempfile.TemporaryDirectory(prefix=prefix(data), ignore_cleanup_errors=True)


def remove_left(folder: Path) -> None:
    """Remove the temporary folders that belong to a data folder, which no other process owns."""
    for left in Path(tempfile.gettempdir()).glob(f"{prefix(folder)}*"):
        shutil.rmtree(left, ignore_errors=True)
