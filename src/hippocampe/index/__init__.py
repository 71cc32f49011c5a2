"""Find points by vector and by word with filters; derived from the store, so that it can be deleted.

The functions below choose the implementation; all other code uses the `Index` Protocol.
"""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from hippocampe.config import Config
from hippocampe.errors import InvalidInput
from hippocampe.protocols import Embedder, Index, OwnIndex, Point
from hippocampe.system.command_line import install_line

if TYPE_CHECKING:
    from hippocampe.index.qdrant import QdrantIndex
    from hippocampe.store.store import Store


def open_index(folder: Path, embedder: Embedder) -> OwnIndex:
    """Open the index in a folder owned by this process, or create an empty one for the vectors of an embedder.

    Raises:
        EmbedderMismatch: The index was made with another model or other dimensions.
        IndexUnavailable: It cannot be read or written.
    """
    from hippocampe.index.edge import EdgeIndex

    return EdgeIndex.open(folder, dimensions=embedder.dimensions, model=embedder.model)


def open_shared_index(config: Config, embedder: Embedder) -> "QdrantIndex":
    """Connect to the index in a Qdrant server, shared by many processes.

    Raises:
        EmbedderMismatch: The collection has vectors of other dimensions.
        IndexUnavailable: The server or its collection cannot be used by this version.
        InvalidInput: Its client is not installed.
    """
    try:
        from hippocampe.index.qdrant import QdrantIndex
    except ModuleNotFoundError as exc:
        raise InvalidInput(
            f"qdrant_url needs the client of Qdrant: {install_line('server-tier')}"
        ) from exc
    return QdrantIndex.open(config, dimensions=embedder.dimensions, model=embedder.model)


def open_read_only_index(store: "Store", embedder: Embedder) -> Index:
    """Search the vectors of a store that was opened read-only, exactly, without the owner's index; writes are refused."""
    from hippocampe.index.stored import StoredIndex

    return StoredIndex(store, model=embedder.model, dimensions=embedder.dimensions)


def own(index: Index) -> OwnIndex:
    """The index in files of this process, for what only such a one does."""
    from hippocampe.index.edge import EdgeIndex

    assert isinstance(index, EdgeIndex)
    return index


def shared(index: Index) -> "QdrantIndex":
    """The index of a database that processes share, for what only such a one does."""
    from hippocampe.index.qdrant import QdrantIndex

    assert isinstance(index, QdrantIndex)
    return index


def build_generation(target: Path, *, dimensions: int, points: Iterable[Point]) -> None:
    """Fill a generation, with its graph, from a process that does not have the index open; see `OwnIndex.build`."""
    from hippocampe.index.edge import EdgeIndex

    EdgeIndex.build(target, dimensions=dimensions, points=points, graph=True)
