"""Client of a memory that another process owns, with the verbs of `Hippocampe`."""

from hippocampe.remote.door import RemoteHippocampe
from hippocampe.remote.joining import connect, join, join_or_start

__all__ = ["RemoteHippocampe", "connect", "join", "join_or_start"]
