"""Hippocampe: the long-term memory of a conversational agent."""

from importlib import import_module
from typing import TYPE_CHECKING

from hippocampe.config import Config
from hippocampe.errors import (
    BudgetSpent,
    EmbedderError,
    EmbedderMismatch,
    EmbedderUnavailable,
    FolderInUse,
    HippocampeError,
    IndexUnavailable,
    InvalidAnswer,
    InvalidInput,
    ModelError,
    ModelUnavailable,
    NotesUnavailable,
    NotFound,
    Overloaded,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreFull,
    StoreMissing,
    StoreReadOnly,
    StoreTooNew,
    UnreadableFile,
)
from hippocampe.language.markers import without_injection
from hippocampe.types import (
    ApiKey,
    Association,
    AuditEntry,
    Compacted,
    Considered,
    Counts,
    Distilled,
    History,
    Imported,
    Injection,
    JobRun,
    Memory,
    Message,
    ModelUsage,
    NewKey,
    Note,
    Page,
    Receipt,
    ReceiptItem,
    Recollection,
    Reindexed,
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
    Vitals,
)

if TYPE_CHECKING:
    from hippocampe.aio import AsyncHippocampe
    from hippocampe.hippocampe import Hippocampe
    from hippocampe.injection.chat_messages import with_injection, without_injections

__all__ = [
    "ApiKey",
    "Association",
    "AsyncHippocampe",
    "AuditEntry",
    "BudgetSpent",
    "Compacted",
    "Config",
    "Considered",
    "Counts",
    "Distilled",
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
    "InvalidAnswer",
    "InvalidInput",
    "JobRun",
    "Memory",
    "Message",
    "ModelError",
    "ModelUnavailable",
    "ModelUsage",
    "NewKey",
    "NotFound",
    "Note",
    "NotesUnavailable",
    "Overloaded",
    "Page",
    "Receipt",
    "ReceiptItem",
    "Recollection",
    "Reindexed",
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
    "StoreMissing",
    "StoreReadOnly",
    "StoreTooNew",
    "Trace",
    "UnreadableFile",
    "Verification",
    "Vitals",
    "with_injection",
    "without_injection",
    "without_injections",
]
__version__ = "0.1.0"

_LATE = {
    "AsyncHippocampe": "hippocampe.aio",
    "Hippocampe": "hippocampe.hippocampe",
    "with_injection": "hippocampe.injection.chat_messages",
    "without_injection": "hippocampe.injection.chat_messages",
    "without_injections": "hippocampe.injection.chat_messages",
}


def __getattr__(name: str) -> object:
    """Import a name when it is first asked for, so that importing the package stays instant."""
    if name in _LATE:
        return getattr(import_module(_LATE[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
