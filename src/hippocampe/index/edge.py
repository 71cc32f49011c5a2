"""The embedded index: Qdrant Edge in this process, one shard per kind of point.

Layout: `<folder>/manifest.json` and `<folder>/<kind>/<generation>/`. What the manifest does not
name is left over from a crash and removed at open.

What the engine (0.9.0) does, measured, and what is built on it:

- Shards have no write-ahead log: only `flush` makes them durable, and without a log nothing keeps
  a second process out. The store replays its outbox; the data folder's lock keeps others out.
- Opening, flushing, closing and optimising a shard hold the interpreter lock until they end.
  So a graph is built in another process, and a shard in which nothing changed is not flushed.
- A closed shard answers with an error, even to readers already inside. So a shard that was
  replaced is not closed but let go: the last reader's reference ends it.
- A damaged file is an `Exception`, or a Rust panic, which is only a `BaseException`.
"""

import shutil
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from secrets import token_hex
from typing import TypeVar

import qdrant_edge as engine

from hippocampe.errors import EmbedderMismatch, IndexUnavailable
from hippocampe.index import shards
from hippocampe.index.bm25 import sparse_query
from hippocampe.protocols import KINDS, Filter, Hit, Point, Vector
from hippocampe.system import page_cache

Answer = TypeVar("Answer")

RECOUNT = 1_000
"""After how many changes it is asked anew how spaces are best searched: that takes 0.2 ms each."""
MAX_CACHED_SPACES = 10_000
"""Of how many spaces that is remembered."""
USUAL: shards.Route = "graph of neighbours' neighbours"


@dataclass(slots=True)
class _Shard:
    """One kind of point. `writing` guards every field; readers take `serving` as it is."""

    writing: threading.Lock = field(default_factory=threading.Lock)
    serving: engine.EdgeShard | None = None
    flushed: bool = True
    growing: str | None = None
    """The generation that another process builds."""
    touched: set[str] = field(default_factory=set[str])
    """Ids inserted, replaced or removed since `growing` was started."""
    routes: dict[str, shards.Route] = field(default_factory=dict[str, shards.Route])
    """How each space is best searched, where that was asked lately."""
    changes: int = 0
    """How many points were written since `routes` was empty."""
    whole: dict[tuple[str, ...], bool] = field(default_factory=dict[tuple[str, ...], bool])
    """Whether every point lies in these drawers and never expires, so that nothing need be looked
    at to know that a search may find it; where that was asked since the last of many changes."""

    def written(self, points: Sequence[Point], removed: int) -> None:
        """Forget what may be otherwise now."""
        self.flushed = False
        self.changes += len(points) + removed
        if self.changes >= RECOUNT:
            self.routes.clear()
            self.whole.clear()
            self.changes = 0
        passing = any(point.expires_at is not None for point in points)
        drawers = {shards.drawer(point.space, point.collection) for point in points}
        for holding, whole in self.whole.items():
            if whole and (passing or not drawers.issubset(holding)):
                self.whole[holding] = False


class EdgeIndex:
    """The `Index` Protocol on Qdrant Edge, with generations built beside the one that serves."""

    def __init__(self, folder: Path, manifest: shards.Manifest) -> None:
        """Use `open`."""
        self._folder = folder
        self._manifest = manifest
        self._shards = {kind: _Shard() for kind in KINDS}
        self._naming = threading.Lock()
        self._closed = False

    @classmethod
    def open(cls, folder: Path, *, dimensions: int, model: str) -> "EdgeIndex":
        """Open the index in a folder that this process owns, or make an empty one.

        Args:
            folder: Where the index lies; made if it is not there.
            dimensions: Of the dense vectors.
            model: The id of the embedder that makes them.

        Raises:
            EmbedderMismatch: The index was made with another model or other dimensions.
            IndexUnavailable: It cannot be read or written.
        """
        with shards.engine_errors(f"the index in {folder} cannot be opened"):
            folder.mkdir(parents=True, exist_ok=True)
            manifest = shards.read_manifest(folder)
        if manifest is None:
            manifest = shards.Manifest(dimensions, model, {})
            with shards.engine_errors(f"the index in {folder} cannot be made"):
                shards.write_manifest(folder, manifest)
        if (manifest.dimensions, manifest.model) != (dimensions, model):
            raise EmbedderMismatch(
                f"the index in {folder} holds vectors of {manifest.model} "
                f"({manifest.dimensions} dimensions), not of {model} ({dimensions}): open it with "
                "the former, or rebuild it with the latter (`hippocampe reindex`)."
            )
        index = cls(folder, manifest)
        try:
            index._load()
        except IndexUnavailable:
            index.close()
            raise
        return index

    def apply(self, kind: str, points: Sequence[Point], removed: Sequence[str] = ()) -> None:
        """Insert or replace points and remove ids; visible to searches on return.

        An id that is both in `points` and in `removed` ends removed. One that is no UUID is logged
        and left out, so that no stored row can keep a folder from opening.

        Raises:
            EmbedderMismatch: A vector has not the dimensions of the index; nothing was changed.
            IndexUnavailable: The engine failed or was closed; some points may have been applied.
        """
        dimensions = self._manifest.dimensions
        points = list(shards.holdable(points))
        gone: list[engine.PointId] = [id for id in removed if shards.can_hold(id)]
        for point in points:
            if point.dense.shape != (dimensions,):
                raise EmbedderMismatch(
                    f"a vector of shape {point.dense.shape} cannot be indexed among vectors of "
                    f"{dimensions} dimensions: embed it with {self._manifest.model}."
                )
        changes = list(shards.upserts(points, shards.SMALL_BATCH))
        if gone:
            changes.append(engine.UpdateOperation.delete_points(gone))
        shard = self._shards[kind]
        with shard.writing, shards.engine_errors(f"points of kind {kind!r} cannot be indexed"):
            self._check_open()
            # Noted before the engine is called: after a failure it may hold some of them.
            if shard.growing:
                shard.touched.update(point.id for point in points)
                shard.touched.update(map(str, gone))
            serving = shard.serving
            if serving is None:
                if not points:
                    return
                serving = self._found(kind, shard)
            # Before the engine is called, too: no search may trust what is about to change.
            shard.written(points, len(gone))
            for change in changes:
                serving.update(change)

    def nearest(self, kind: str, vector: Vector, *, limit: int, where: Filter) -> list[Hit]:
        """The points of highest cosine, best first, equals by id."""
        if self.is_unused(kind):
            return []
        query = engine.Query.Nearest(vector.tolist(), using="dense")
        return self._search(kind, query, limit, where, self._route(kind, where))

    def matching(self, kind: str, text: str, *, limit: int, where: Filter) -> list[Hit]:
        """The points of highest BM25 score, best first, equals by id."""
        if self.is_unused(kind):
            return []
        indices, values = sparse_query(text)
        sparse = engine.SparseVector(list(indices), list(values))
        return self._search(kind, engine.Query.Nearest(sparse, using="bm25"), limit, where)

    def ids(self, kind: str) -> Iterator[str]:
        """Every id indexed, in no order; what changes meanwhile may or may not be seen."""
        offset: engine.PointId | None = None
        while True:
            request = engine.ScrollRequest(
                offset=offset, limit=shards.LARGE_BATCH, with_payload=False, with_vector=False
            )
            page = self._read(kind, lambda serving, request=request: serving.scroll(request))
            if page is None:
                return
            records, offset = page
            yield from (str(record.id) for record in records)
            if offset is None:
                return

    def count(self, kind: str) -> int:
        """How many points are indexed."""
        return self._read(kind, lambda serving: serving.info().points_count) or 0

    def is_unused(self, kind: str) -> bool:
        """Whether no point of a kind was ever indexed, so that there are no files of it."""
        self._check_open()
        return self._shards[kind].serving is None

    def unindexed(self, kind: str) -> int:
        """How many points no graph covers, so that a search scans them one by one."""
        covered = self._read(kind, lambda serving: serving.count(shards.COVERED))
        return 0 if covered is None else max(0, self.count(kind) - covered)

    def flush(self) -> None:
        """Make everything applied so far durable.

        The engine holds the interpreter lock meanwhile (20 to 300 ms on a disk), so every thread
        waits: call it rarely, and rather when nobody asks.

        Raises:
            IndexUnavailable: The engine failed or was closed.
        """
        self._check_open()
        for kind, shard in self._shards.items():
            with (
                shard.writing,
                shards.engine_errors(f"points of kind {kind!r} cannot be made durable"),
            ):
                if shard.serving is not None and not shard.flushed:
                    shard.serving.flush()
                    shard.flushed = True

    def close(self) -> None:
        """Make everything durable and close; later calls raise `IndexUnavailable`."""
        self._closed = True
        for shard in self._shards.values():
            with shard.writing, shards.engine_errors("the index cannot be closed"):
                if shard.serving is not None:
                    shard.serving.close()

    @staticmethod
    def build(path: Path, *, dimensions: int, points: Iterable[Point], graph: bool) -> int:
        """Fill a new generation; for a process of its own, since it takes minutes when `graph`.

        Args:
            path: What `start_generation` returned.
            dimensions: Of the dense vectors.
            points: All the points of the kind, as of after `start_generation`.
            graph: Whether to build an HNSW graph.

        Returns:
            The number of points read.

        Raises:
            IndexUnavailable: It could not be built.
        """
        what = f"an index cannot be built in {path}"
        with shards.engine_errors(what):
            shard = shards.create(path, dimensions)
        total = 0
        remaining = shards.holdable(points)
        while batch := list(islice(remaining, shards.LARGE_BATCH)):
            for change in shards.upserts(batch, shards.LARGE_BATCH, graphed=graph):
                with shards.engine_errors(what):
                    shard.update(change)
            total += len(batch)
        with shards.engine_errors(what):
            if graph and total:
                shard.flush()
                shard.close()
                shard = shards.load(path, dimensions, total)
                shard.optimize()
            shard.flush()
            shard.close()
        return total

    def start_generation(self, kind: str) -> Path:
        """Begin a new generation of a kind: from now on its changes are noted.

        One that was already begun is abandoned. Take the snapshot of the store after this call:
        what is applied later is then in the snapshot, or noted, or both. One thread at a time
        starts, adopts and abandons the generations of a kind.

        Returns:
            The path to give to `build`; nothing is there yet.

        Raises:
            IndexUnavailable: The index is closed or its folder cannot be written.
        """
        self.abandon_generation(kind)
        shard = self._shards[kind]
        with shard.writing, shards.engine_errors(f"no generation of kind {kind!r} can be started"):
            self._check_open()
            (self._folder / kind).mkdir(exist_ok=True)
            shard.growing = token_hex(8)
            return self._folder / kind / shard.growing

    def adopt_generation(self, kind: str) -> None:
        """Bring the built generation up to date and let it serve in place of the other.

        Searches go on, and meet the one or the other. Writers wait for the last changes only.

        Raises:
            IndexUnavailable: None was started, or it cannot be used; it is then abandoned and the
                former goes on serving.
        """
        shard = self._shards[kind]
        growing = shard.growing
        if growing is None:
            raise IndexUnavailable(
                f"no generation of kind {kind!r} can be adopted: none was started. Call "
                "start_generation and build first."
            )
        try:
            with shards.engine_errors(f"the new generation of kind {kind!r} cannot be adopted"):
                self._replace(kind, shard, growing)
        except IndexUnavailable:
            self.abandon_generation(kind)
            raise
        self._remove_leftovers(kind)

    def abandon_generation(self, kind: str) -> None:
        """Drop the generation that was started, if one was; its builder must have ended."""
        shard = self._shards[kind]
        with shard.writing:
            abandoned, shard.growing, shard.touched = shard.growing, None, set()
        if abandoned:
            shutil.rmtree(self._folder / kind / abandoned, ignore_errors=True)

    def _replace(self, kind: str, shard: _Shard, name: str) -> None:
        fresh = shards.load(self._folder / kind / name, self._manifest.dimensions)
        adopted = False
        try:
            searched = shards.searched(self._folder / kind / name)
            page_cache.read_ahead(searched, stop=lambda: self._closed)
            for _ in range(shards.CATCH_UP_ROUNDS):
                if len(shard.touched) <= shards.SMALL_BATCH:
                    break
                with shard.writing:
                    touched, shard.touched = shard.touched, set()
                shards.copy(touched, shard.serving, fresh)
            with shard.writing:
                self._check_open()
                shards.copy(shard.touched, shard.serving, fresh)
                fresh.flush()
                self._name_generation(kind, name)
                adopted = True
                # Not closed: the engine does that when the last reader of the former lets it go.
                shard.serving, shard.flushed = fresh, True
                # It may hold what the former had failed to take.
                shard.whole.clear()
                shard.growing, shard.touched = None, set()
        finally:
            if not adopted:
                fresh.close()

    def read_ahead(self, *, stop: Callable[[], bool]) -> None:
        """Read what searches will read, until `stop` says so. Opening empties the system's cache of it, and the first
        searches of 100,000 points would wait for a thousand pages each: 150 ms, and still 25 ms
        after twenty of them. Reading every file takes 0.3 s."""
        for kind, name in self._manifest.generations.items():
            page_cache.read_ahead(shards.searched(self._folder / kind / name), stop=stop)

    def _route(self, kind: str, where: Filter) -> shards.Route:
        if where.narrowed:
            return USUAL
        shard, serving = self._shards[kind], self._shards[kind].serving
        route = shard.routes.get(where.space, USUAL)
        if serving is not None and where.space not in shard.routes:
            with shards.engine_errors(f"points of kind {kind!r} cannot be counted"):
                route = shards.route(serving, where.space)
            if len(shard.routes) >= MAX_CACHED_SPACES:
                shard.routes.clear()
            shard.routes[where.space] = route
        return route

    def _is_whole(self, kind: str, where: Filter) -> bool:
        """Whether a filter leaves every point of a kind, as it does where one space is all there
        is: looking at each point that a search meets takes a fifth of it."""
        if where.narrowed:
            return False
        shard, drawers = self._shards[kind], shards.drawers(where)
        whole = shard.whole.get(drawers)
        if whole is not None:
            return whole
        # Nothing may be written while it is found out, and no search waits for a writer.
        if shard.serving is None or not shard.writing.acquire(blocking=False):
            return False
        try:
            with shards.engine_errors(f"points of kind {kind!r} cannot be counted"):
                whole = shards.is_whole(shard.serving, drawers)
            if len(shard.whole) >= MAX_CACHED_SPACES:
                shard.whole.clear()
            shard.whole[drawers] = whole
        finally:
            shard.writing.release()
        return whole

    def _search(
        self,
        kind: str,
        query: engine.Query,
        limit: int,
        where: Filter,
        route: shards.Route = USUAL,
    ) -> list[Hit]:
        condition = shards.condition(where)
        if condition is None or limit < 1:
            self._check_open()
            return []
        request = engine.QueryRequest(
            limit=limit,
            query=query,
            filter=None if self._is_whole(kind, where) else condition,
            params=shards.parameters(route, limit),
            with_payload=False,
            with_vector=False,
        )
        found = self._read(kind, lambda serving: serving.query(request)) or []
        hits = sorted([(-point.score, str(point.id)) for point in found])
        return [Hit(id, -below) for below, id in hits]

    def _read(self, kind: str, ask: Callable[[engine.EdgeShard], Answer]) -> Answer | None:
        """Ask the shard that serves; None without one."""
        self._check_open()
        serving = self._shards[kind].serving
        if serving is None:
            return None
        try:
            with shards.engine_errors(f"points of kind {kind!r} cannot be read"):
                return ask(serving)
        except IndexUnavailable:
            self._check_open()
            raise

    def _check_open(self) -> None:
        if self._closed:
            raise IndexUnavailable("the index cannot be used: it was closed. Open it again.")

    def _load(self) -> None:
        for kind, name in self._manifest.generations.items():
            with shards.engine_errors(
                f"the index of kind {kind!r} in {self._folder} cannot be read"
            ):
                serving = shards.load(self._folder / kind / name, self._manifest.dimensions)
                self._shards[kind].serving = serving
                # Some damage shows only when a point is read.
                serving.scroll(engine.ScrollRequest(limit=1, with_payload=True, with_vector=True))
        for kind in KINDS:
            self._remove_leftovers(kind)

    def _found(self, kind: str, shard: _Shard) -> engine.EdgeShard:
        name = token_hex(8)
        serving = shards.create(self._folder / kind / name, self._manifest.dimensions)
        serving.flush()
        self._name_generation(kind, name)
        shard.serving = serving
        return serving

    def _name_generation(self, kind: str, name: str) -> None:
        with self._naming:
            generations = {**self._manifest.generations, kind: name}
            manifest = replace(self._manifest, generations=generations)
            shards.write_manifest(self._folder, manifest)
            self._manifest = manifest

    def _remove_leftovers(self, kind: str) -> None:
        kept = {self._manifest.generations.get(kind), self._shards[kind].growing}
        for path in (self._folder / kind).glob("*"):
            if path.name not in kept:
                shutil.rmtree(path, ignore_errors=True)
