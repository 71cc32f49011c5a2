"""Hippocampe: the long-term memory of a conversational agent."""

# Not from `typing`: importing the package loads nothing, since a coding agent waits for each hook.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from hippocampe.aio import AsyncHippocampe
    from hippocampe.config import Config
    from hippocampe.errors import *
    from hippocampe.hippocampe import Hippocampe
    from hippocampe.injection.chat_messages import with_injection, without_injections
    from hippocampe.language.markers import without_injection
    from hippocampe.types import *

__all__ = [
    "ApiKey",
    "Association",
    "AsyncHippocampe",
    "AuditEntry",
    "BudgetSpent",
    "Change",
    "Compacted",
    "Config",
    "Considered",
    "Conversation",
    "Cost",
    "Counts",
    "Day",
    "Distilled",
    "EmbedderError",
    "EmbedderMismatch",
    "EmbedderUnavailable",
    "Exchange",
    "ExchangeHistory",
    "FolderInUse",
    "Forgetting",
    "Graph",
    "GraphEdge",
    "GraphNode",
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
    "ServerUnavailable",
    "Settings",
    "Signal",
    "SpaceElsewhere",
    "Stats",
    "StoreBusy",
    "StoreCorrupt",
    "StoreError",
    "StoreFull",
    "StoreMissing",
    "StoreReadOnly",
    "StoreTooNew",
    "Trace",
    "Trial",
    "UnreadableFile",
    "Verification",
    "Vitals",
    "with_injection",
    "without_injection",
    "without_injections",
]
__version__ = "1.0.0"

_MODULES = {
    "hippocampe.aio": ("AsyncHippocampe",),
    "hippocampe.config": ("Config",),
    "hippocampe.hippocampe": ("Hippocampe",),
    "hippocampe.injection.chat_messages": ("with_injection", "without_injections"),
    "hippocampe.language.markers": ("without_injection",),
}


def __getattr__(name: str) -> object:
    """Import a name when it is first asked for."""
    from importlib import import_module

    if name in ("config", "errors", "types"):
        return import_module(f"hippocampe.{name}")
    if name in __all__:
        for module, names in _MODULES.items():
            if name in names:
                return getattr(import_module(module), name)
        errors = import_module("hippocampe.errors")
        return getattr(errors if hasattr(errors, name) else import_module("hippocampe.types"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
