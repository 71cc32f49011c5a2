"""Define every error that Hippocampe raises, in one tree.

    HippocampeError
    ├── InvalidInput          an argument cannot be used (also a ValueError)
    ├── NotFound              no item of the space has this id or key (also a LookupError)
    ├── UnreadableFile        a file, note or language does not have its expected format
    ├── StoreError            the store cannot be read or written
    │   ├── StoreBusy         another process locked the store for too long
    │   ├── StoreFull         the disk has too little free space
    │   ├── StoreReadOnly     the folder or database cannot be written
    │   ├── StoreMissing      there is no data to read
    │   ├── StoreCorrupt      the database is damaged; nothing was overwritten
    │   └── StoreTooNew       the data was written by a later version
    ├── FolderInUse           another process owns the data folder
    ├── SpaceElsewhere        another cell of the data folder has the space
    ├── ServerUnavailable     the server of the memory cannot be reached
    ├── NotesUnavailable      the notes cannot be read; the rest works
    ├── IndexUnavailable      the vector index cannot be used; the store works
    ├── EmbedderError         text cannot be embedded
    │   ├── EmbedderUnavailable   missing key, missing package, timeout, refused
    │   └── EmbedderMismatch      vectors of another model or another dimension
    └── ModelError            the language model gave no usable answer; memory works without it
        ├── ModelUnavailable      none configured, missing key or package, timeout, refused
        ├── InvalidAnswer         an answer of another form, or a request that it refuses
        └── BudgetSpent           the daily budget of the space is spent

A message says what failed, why, and what to do about it.
"""

import errno
import reprlib
from collections import abc
from contextlib import contextmanager

_SHORT = reprlib.Repr()
_SHORT.maxstring = _SHORT.maxother = 60
_SHORT.maxlevel = 2

TOO_MANY_FILES = (errno.EMFILE, errno.ENFILE)
"""Codes of an `OSError`: this program, or all of them, have as many files open as they may."""


def shown(value: object) -> str:
    """Represent a value in a message, short whatever its size."""
    try:
        return _SHORT.repr(value)
    except ValueError:
        # Python refuses to write integers of more than 4,300 digits.
        return f"a large {type(value).__name__}"


class HippocampeError(Exception):
    """Base class of all errors of this package."""


class InvalidInput(HippocampeError, ValueError):
    """An argument cannot be used; nothing was changed."""


class NotFound(HippocampeError, LookupError):
    """No item of the space has this id or key."""


class UnreadableFile(HippocampeError):
    """A file to import, a note or the data of a language does not have its expected format."""


class StoreError(HippocampeError):
    """The store cannot be read or written."""


class StoreBusy(StoreError):
    """Another process locked the store for longer than the busy timeout."""


class StoreFull(StoreError):
    """The disk has too little free space; the write was not acknowledged. Reading goes on."""


class StoreReadOnly(StoreError):
    """The data folder or the database cannot be written, or was opened read-only."""


class StoreMissing(StoreError):
    """The folder contains no data and was opened read-only; nothing was created."""


class StoreCorrupt(StoreError):
    """The database is damaged; nothing was overwritten."""


class StoreTooNew(StoreError):
    """The data was written by a later version of Hippocampe."""


class FolderInUse(HippocampeError):
    """Another process owns the data folder."""


class SpaceElsewhere(HippocampeError):
    """Another cell of the divided data folder has the space, or will have it in a moment; nothing was changed."""


class ServerUnavailable(HippocampeError):
    """The server of the memory cannot be reached or used: address, key, version."""


class NotesUnavailable(HippocampeError):
    """The notes cannot be read: folder, server, key, certificate or package; the rest works."""


class IndexUnavailable(HippocampeError):
    """The vector index cannot be used; the store works."""


class EmbedderError(HippocampeError):
    """Text cannot be embedded."""


class EmbedderUnavailable(EmbedderError):
    """The embedder cannot be reached or loaded: key, package, timeout or refusal."""


class EmbedderMismatch(EmbedderError):
    """Vectors of another model, or of other dimensions, than those of the data."""


class ModelError(HippocampeError):
    """The language model gave no usable answer; memory works without it."""


class ModelUnavailable(ModelError):
    """No language model is configured, or it cannot be reached: key, package, timeout or refusal."""


class InvalidAnswer(ModelError):
    """The language model's answer does not have the requested form, or it refused this one request."""


class BudgetSpent(ModelError):
    """The daily budget of the space for language models is spent."""


class Overloaded(HippocampeError):
    """The server is overloaded; the same request can succeed in a moment."""


@contextmanager
def files_refused() -> abc.Generator[None]:
    """Raise `StoreError` where the system opens no more files, which any step may meet."""
    try:
        yield
    except OSError as exc:
        if exc.errno not in TOO_MANY_FILES:
            raise
        raise too_many_files() from exc


def too_many_files() -> StoreError:
    """The error of a program that may open no more files."""
    return StoreError(
        "too many files are open: raise the limit of this program (`ulimit -n`) and try again."
    )
