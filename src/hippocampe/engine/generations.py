"""Rebuild the index from the store: new generations.

Building an HNSW graph holds the interpreter lock for minutes, so it runs in a child process:
`python -m hippocampe.engine.generations` builds one generation.
"""

import os
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

from hippocampe.engine import deliveries
from hippocampe.engine.backlog import embed_missing
from hippocampe.engine.outages import log
from hippocampe.engine.projection import count_shown, stored_points
from hippocampe.engine.writer import Writer
from hippocampe.errors import IndexUnavailable
from hippocampe.index import build_generation, own
from hippocampe.protocols import Point
from hippocampe.store.shown import TABLES, largest_space
from hippocampe.store.store import Store
from hippocampe.system import allocator, worker
from hippocampe.types import Progress

_BUILDER = ("-m", "hippocampe.engine.generations")


def refill(
    writer: Writer, progress: Progress | None = None, *, graphs: bool = False
) -> tuple[str, ...]:
    """Build a new generation of every kind from the store and swap it in.

    Reads use the old generation meanwhile. A kind without rows gets no generation: each takes some
    35 MB of memory.

    Args:
        graphs: Build the kinds with a space above the graph threshold with their graphs, in a child process.

    Returns:
        The kinds with such a space that have no graph yet.
    """
    corpus = writer.corpus
    if corpus.store.shared:
        # A server builds its graphs by itself.
        deliveries.refill(writer, progress)
        return ()
    embed_missing(writer, progress)
    without: list[str] = []
    for kind in TABLES:
        with corpus.store.read(whole=True) as connection:
            shown = count_shown(connection, kind)
            # A search scans one space only, however many there are.
            large = largest_space(connection, kind) >= corpus.config.graph_threshold
        if large and not (graphs and _built_with_graph(writer, kind, shown, progress)):
            without.append(kind)
        if kind in without or (not large and (shown or corpus.index.count(kind))):
            new_generation(writer, kind, graph=False, progress=progress)
    return tuple(without)


def _built_with_graph(writer: Writer, kind: str, total: int, progress: Progress | None) -> bool:
    what = f"indexing {kind} with its graph"
    if progress:
        progress(what, 0, total)
    try:
        new_generation(writer, kind, graph=True)
    except IndexUnavailable as exc:
        if writer.builder.stopped:
            raise
        log.warning("%s", exc)
        return False
    if progress:
        progress(what, total, total)
    return True


def new_generation(
    writer: Writer, kind: str, *, graph: bool, progress: Progress | None = None
) -> None:
    """Build a generation of one kind from the store and swap it in.

    With `graph`, a niced child process builds it together with its HNSW graph.

    Raises:
        IndexUnavailable: The build failed; the old generation keeps serving.
        StoreError: The data folder is gone.
    """
    corpus = writer.corpus
    index = own(corpus.index)
    with corpus.store.exclusive():
        # The engine would make the folders of a removed data folder again.
        corpus.store.check_in_place()
        # Changes applied from here on are recorded, so none is lost between the snapshot that the
        # build reads and the swap.
        target = index.start_generation(kind)
    try:
        if graph:
            _build_in_child(writer, kind, target)
        else:
            with corpus.store.read() as connection:
                total = count_shown(connection, kind)
                points = stored_points(connection, kind, corpus.model)
                index.build(
                    target,
                    dimensions=corpus.vocabulary.embedder.dimensions,
                    points=_counted(points, kind, total, progress),
                    graph=False,
                )
        index.adopt_generation(kind)
    except BaseException:
        index.abandon_generation(kind)
        raise
    allocator.give_back()


def _counted(
    points: Iterator[Point], kind: str, total: int, progress: Progress | None
) -> Iterator[Point]:
    for done, point in enumerate(points, 1):
        yield point
        if progress and (done % 500 == 0 or done == total):
            progress(f"indexing {kind}", done, total)


def _build_in_child(writer: Writer, kind: str, target: Path) -> None:
    corpus = writer.corpus
    order = {
        "database": str(corpus.config.database),
        "model": corpus.model,
        "dimensions": corpus.vocabulary.embedder.dimensions,
        "kind": kind,
        "target": str(target),
    }

    try:
        worker.run(_BUILDER, order, started=writer.builder.started)
    except worker.ChildFailed as exc:
        raise IndexUnavailable(
            f"the graph of {kind} could not be built: {exc}. Searches scan without it."
        ) from exc
    finally:
        writer.builder.process = None


def build_from_order(order: dict[str, Any]) -> None:
    """Build one generation with its graph, in the child process."""
    # Windows has no nice: the build competes with the serving process.
    if hasattr(os, "nice"):
        os.nice(15)
    database = Path(order["database"])
    with (
        closing(Store(database, database.parent, read_only=True)) as store,
        store.read() as connection,
    ):
        build_generation(
            Path(order["target"]),
            dimensions=order["dimensions"],
            points=stored_points(connection, order["kind"], order["model"]),
        )


if __name__ == "__main__":
    os.umask(0o077)
    build_from_order(worker.taken_order())
