"""Find points by vector and by word with filters; derived from the store, so that it can be deleted.

The functions below choose the implementation; all other code uses the `Index` Protocol.
"""

from collections.abc import Iterable
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING

from hippocampe.config import Config
from hippocampe.errors import InvalidInput
from hippocampe.protocols import Index, Point
from hippocampe.system.command_line import install_line

if TYPE_CHECKING:
    from hippocampe.store.store import Store


def open_index(folder: Path, *, dimensions: int, model: str) -> Index:
    """Open the index in a folder owned by this process, or create an empty one.

    Args:
        folder: The index folder; created if missing.
        dimensions: Length of the dense vectors.
        model: The id of the embedder that makes them.

    Raises:
        EmbedderMismatch: The index was made with another model or other dimensions.
        IndexUnavailable: It cannot be read or written.
    """
    from hippocampe.index.edge import EdgeIndex

    return EdgeIndex.open(folder, dimensions=dimensions, model=model)


def open_shared_index(config: Config, *, dimensions: int, model: str) -> Index:
    """Connect to the index in a Qdrant server, shared by many processes.

    Raises:
        EmbedderMismatch: The collection has vectors of other dimensions.
        IndexUnavailable: The server or its collection cannot be used by this version.
        InvalidInput: Its client is not installed.
    """
    try:
        from hippocampe.index.qdrant import QdrantIndex, ServerOptions
    except ModuleNotFoundError as exc:
        raise InvalidInput(
            f"qdrant_url needs the client of Qdrant: {install_line('server-tier')}"
        ) from exc
    options = ServerOptions(
        collection=config.qdrant_collection,
        urls=config.qdrant_urls,
        key=config.qdrant_key,
        replicas=config.qdrant_replicas,
        shards=config.qdrant_shards,
        quantized=config.qdrant_quantized,
        on_disk=config.qdrant_on_disk,
        folder=config.folder / "building" / token_hex(8),
    )
    return QdrantIndex.open(options, dimensions=dimensions, model=model)


def empty_shared_index(index: Index) -> None:
    """Delete the collection of an index that processes share, with its files, and make an empty one."""
    from hippocampe.index.qdrant import QdrantIndex

    assert isinstance(index, QdrantIndex)
    index.empty()


def remove_shared_index(index: Index) -> None:
    """Delete the collection of an index that processes share, with its files."""
    from hippocampe.index.qdrant import QdrantIndex

    assert isinstance(index, QdrantIndex)
    index.remove()


def start_filling(index: Index) -> str:
    """Mark an index that processes share as incomplete, so that any process goes on if this one dies.

    Returns:
        The token for `end_filling`; empty for an index that one process owns.
    """
    from hippocampe.index.qdrant import QdrantIndex

    return index.start_filling() if isinstance(index, QdrantIndex) else ""


def end_filling(index: Index, token: str) -> bool:
    """Mark an index as filled, unless it was lost meanwhile; return whether it was not."""
    from hippocampe.index.qdrant import QdrantIndex

    return index.end_filling(token) if isinstance(index, QdrantIndex) else True


def open_read_only_index(store: "Store", *, dimensions: int, model: str) -> Index:
    """Search the vectors of a store exactly, without the owner's index; writes are refused.

    Args:
        store: Opened read-only.
    """
    from hippocampe.index.stored import StoredIndex

    return StoredIndex(store, model=model, dimensions=dimensions)


def build_generation(target: Path, *, dimensions: int, points: Iterable[Point], graph: bool) -> int:
    """Fill a generation from a process that does not have the index open; see `Index.build`."""
    from hippocampe.index.edge import EdgeIndex

    return EdgeIndex.build(target, dimensions=dimensions, points=points, graph=graph)
