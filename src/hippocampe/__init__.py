"""Hippocampe: the long-term memory of a conversational agent."""

from importlib import import_module
from typing import TYPE_CHECKING

from hippocampe.config import Config
from hippocampe.errors import (
    EmbedderError,
    EmbedderMismatch,
    EmbedderUnavailable,
    FolderInUse,
    HippocampeError,
    IndexUnavailable,
    InvalidInput,
    NotesUnavailable,
    NotFound,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreReadOnly,
    StoreTooNew,
    UnreadableFile,
)
from hippocampe.types import (
    Association,
    Considered,
    History,
    Imported,
    Injection,
    Memory,
    Message,
    Note,
    Receipt,
    Recollection,
    Remembered,
    Retrieval,
    Retrieved,
    Review,
    Scope,
    Settings,
    Signal,
    Stats,
    Trace,
    Verification,
)

if TYPE_CHECKING:
    from hippocampe.aio import AsyncHippocampe
    from hippocampe.hippocampe import Hippocampe
    from hippocampe.prompt import with_injection, without_injection, without_injections

__all__ = [
    "Association",
    "AsyncHippocampe",
    "Config",
    "Considered",
    "EmbedderError",
    "EmbedderMismatch",
    "EmbedderUnavailable",
    "FolderInUse",
    "Hippocampe",
    "HippocampeError",
    "History",
    "Imported",
    "IndexUnavailable",
    "Injection",
    "InvalidInput",
    "Memory",
    "Message",
    "NotFound",
    "Note",
    "NotesUnavailable",
    "Receipt",
    "Recollection",
    "Remembered",
    "Retrieval",
    "Retrieved",
    "Review",
    "Scope",
    "Settings",
    "Signal",
    "Stats",
    "StoreBusy",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreReadOnly",
    "StoreTooNew",
    "Trace",
    "UnreadableFile",
    "Verification",
    "with_injection",
    "without_injection",
    "without_injections",
]
__version__ = "0.1.0"

_LATE = {
    "AsyncHippocampe": "hippocampe.aio",
    "Hippocampe": "hippocampe.hippocampe",
    "with_injection": "hippocampe.prompt",
    "without_injection": "hippocampe.prompt",
    "without_injections": "hippocampe.prompt",
}


def __getattr__(name: str) -> object:
    """Import a name when it is first asked for, so that importing the package stays instant."""
    if name in _LATE:
        return getattr(import_module(_LATE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
