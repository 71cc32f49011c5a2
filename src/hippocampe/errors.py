"""Every error Hippocampe raises, in one tree.

    HippocampeError
    ├── InvalidInput          what was given cannot be used (also a ValueError)
    ├── NotFound              nothing has this id or key in this space (also a LookupError)
    ├── UnreadableFile        a file or note cannot be read as what it claims to be
    ├── StoreError            the store cannot be read or written
    │   ├── StoreBusy         another writer held the store for too long
    │   ├── StoreFull         the disk is full
    │   ├── StoreReadOnly     the folder or database cannot be written
    │   ├── StoreMissing      there is no data to read
    │   ├── StoreCorrupt      the database is damaged; nothing was overwritten
    │   └── StoreTooNew       the data was written by a later version
    ├── FolderInUse           another process owns the data folder
    ├── NotesUnavailable      the notes cannot be read; everything else still can
    ├── IndexUnavailable      the vector index cannot be used; the store still can
    └── EmbedderError         text cannot be embedded
        ├── EmbedderUnavailable   missing key, missing package, time-out, refused
        └── EmbedderMismatch      vectors of another model or another dimension

A message says what could not be done, why, and what to do about it.
"""


class HippocampeError(Exception):
    """Root of every error raised on purpose by this package."""


class InvalidInput(HippocampeError, ValueError):
    """What was given cannot be used; nothing was changed."""


class NotFound(HippocampeError, LookupError):
    """Nothing has this id or key in this space."""


class UnreadableFile(HippocampeError):
    """A file to import, or a note, cannot be read as what it claims to be."""


class StoreError(HippocampeError):
    """The store cannot be read or written."""


class StoreBusy(StoreError):
    """Another writer held the store for longer than the busy time-out."""


class StoreFull(StoreError):
    """The disk is full; the write was not acknowledged."""


class StoreReadOnly(StoreError):
    """The data folder or the database cannot be written, or was opened read-only."""


class StoreMissing(StoreError):
    """The folder holds no data, and was opened to read only; nothing was created."""


class StoreCorrupt(StoreError):
    """The database is damaged; nothing was overwritten."""


class StoreTooNew(StoreError):
    """The data was written by a later version of Hippocampe."""


class FolderInUse(HippocampeError):
    """Another process owns the data folder."""


class NotesUnavailable(HippocampeError):
    """The notes cannot be read: folder, server, key, certificate, package; the rest still can."""


class IndexUnavailable(HippocampeError):
    """The vector index cannot be used; the store still can."""


class EmbedderError(HippocampeError):
    """Text cannot be embedded."""


class EmbedderUnavailable(EmbedderError):
    """The embedder cannot be reached or loaded: key, package, time-out, refusal."""


class EmbedderMismatch(EmbedderError):
    """Vectors of another model, or of another dimension, than the data was made with."""
