"""The embedded index: Qdrant Edge in this process, one shard per kind of point.

Layout: `<folder>/manifest.json` and `<folder>/<kind>/<generation>/`. Generations that the manifest
does not name are left over from a crash and removed at open.

Measured behaviour of the engine (0.9.0), and how it is handled:

- Shards have no write-ahead log: only `flush` makes them durable, and they are not locked against
  other processes. The store replays its outbox; the data folder has a lock.
- Opening, flushing, closing and optimising a shard hold the GIL until they end. So graphs are
  built in another process, and unchanged shards are not flushed.
- A closed shard raises, even in readers already inside. So a replaced shard is not closed: it is
  freed when its last reader drops the reference.
- A damaged file raises an `Exception`, or a Rust panic, which is only a `BaseException`. Some damage ends
  the process: the engine asks for 70 GB of memory while it loads a shard. So files that never change
  have checksums, and a mark says that a process is loading: if one died meanwhile, the index is rebuilt.
- Most damage is silent: the engine answers with what the file says.
"""

import os
import shutil
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from secrets import token_hex
from typing import TypeVar

import qdrant_edge as engine

from hippocampe.errors import EmbedderMismatch, IndexUnavailable, StoreFull
from hippocampe.index import plans, shards
from hippocampe.index.bm25 import sparse_query
from hippocampe.index.plans import DEFAULT_PLAN, SearchPlan
from hippocampe.index.points import check_dimensions, indexable, one_by_one, required
from hippocampe.protocols import KINDS, Filter, Hit, Point, Search, Vector, is_point_id
from hippocampe.system import free_space, page_cache, private
from hippocampe.system.free_space import FLOOR

Answer = TypeVar("Answer")

LOADING = "loading"
"""Marker file that exists while a process loads the shards."""
REPLAN_AFTER_CHANGES = 1_000
"""Changes after which search plans are recomputed, which takes 0.2 ms per space."""
MAX_CACHED_PLANS = 10_000
"""Spaces whose plan is cached, per kind."""
CATCH_UP_ROUNDS = 20
"""Rounds of copying recorded changes to a new generation without the writers' lock. If writes are faster than
copying, the rest is copied under the lock."""


@dataclass(slots=True)
class _Shard:
    """One kind of point. `writing` guards all fields; readers take `serving` without it."""

    writing: threading.Lock = field(default_factory=threading.Lock)
    serving: engine.EdgeShard | None = None
    indexed: bool = False
    """True once the fields of `serving` are known to be indexed."""
    unflushed: int = 0
    """Points changed since the last flush."""
    started: str | None = None
    """Name of the generation being built."""
    changed: set[str] = field(default_factory=set[str])
    """Ids inserted, replaced or removed since `started` was set."""
    plan_cache: dict[str, SearchPlan] = field(default_factory=dict[str, SearchPlan])
    """Search plan by space."""
    changes: int = 0
    """Changes since `plan_cache` was cleared."""
    holds_only: dict[tuple[str, ...], bool] = field(default_factory=dict[tuple[str, ...], bool])
    """Cache by partitions: whether they contain all points and none expires, so that a search needs no filter."""

    def invalidate(self, points: Sequence[Point], removed: int) -> None:
        """Invalidate the caches that these changes may affect."""
        self.unflushed += len(points) + removed
        self.changes += len(points) + removed
        if self.changes >= REPLAN_AFTER_CHANGES:
            self.plan_cache.clear()
            self.holds_only.clear()
            self.changes = 0
        expiring = any(point.expires_at is not None for point in points)
        written = {plans.partition(point.space, point.collection) for point in points}
        for partitions, alone in self.holds_only.items():
            if alone and (expiring or not written.issubset(partitions)):
                self.holds_only[partitions] = False


class EdgeIndex:
    """The `OwnIndex` Protocol on Qdrant Edge, with generations built beside the one that serves."""

    def __init__(self, folder: Path, manifest: shards.Manifest) -> None:
        """Use `open`."""
        self._folder = folder
        self._manifest = manifest
        self._shards = {kind: _Shard() for kind in KINDS}
        self._publishing = threading.Lock()
        self._closed = False
        # Also at the exit of a program that did not close it.
        weakref.finalize(self, _free_with_room, folder, self._shards, os.getpid())

    @classmethod
    def open(cls, folder: Path, *, dimensions: int, model: str) -> "EdgeIndex":
        """Open the index of a folder; see `hippocampe.index.open_index`."""
        with shards.engine_errors(f"the index in {folder} cannot be opened"):
            private.make_folder(folder)
            manifest = shards.read_manifest(folder)
        if manifest is None:
            manifest = shards.Manifest(dimensions, model, {})
            with shards.engine_errors(f"the index in {folder} cannot be created"):
                shards.write_manifest(folder, manifest)
        if (manifest.dimensions, manifest.model) != (dimensions, model):
            raise EmbedderMismatch(
                f"the index in {folder} contains vectors of {manifest.model} "
                f"({manifest.dimensions} dimensions), not of {model} ({dimensions}): open it with "
                f"{manifest.model}, or rebuild it with {model} (`hippocampe reindex`)."
            )
        index = cls(folder, manifest)
        try:
            index._load()
        except (IndexUnavailable, StoreFull):
            index.close()
            raise
        return index

    def apply(self, kind: str, points: Sequence[Point], removed: Sequence[str] = ()) -> None:
        """See `Index.apply`.

        Raises:
            IndexUnavailable: The engine failed or was closed; some points may have been applied.
            StoreFull: The disk has too little free space; likewise.
        """
        points = list(indexable(points))
        check_dimensions(points, self._manifest.dimensions, self._manifest.model)
        gone: list[engine.PointId] = [id for id in removed if is_point_id(id)]
        changes = list(shards.upserts(points, shards.SMALL_BATCH))
        if gone:
            changes.append(engine.UpdateOperation.delete_points(gone))
        shard = self._shards[kind]
        with shard.writing, shards.engine_errors(f"points of kind {kind!r} cannot be indexed"):
            self._check_open()
            # Recorded before the engine is called: if it fails, some changes may be applied.
            if shard.started:
                shard.changed.update(point.id for point in points)
                shard.changed.update(map(str, gone))
            serving, created = shard.serving, False
            if serving is None:
                if not points:
                    return
                serving, created = self._create_shard(kind, shard), True
            # Also before the change: no search may use a cached plan that it invalidates.
            shard.invalidate(points, len(gone))
            for change in changes:
                needed = shard.unflushed * shards.FLUSHED_BYTES
                free_space.check(self._folder, needed, keep=FLOOR)
                serving.update(change)
            if not shard.indexed and shards.index_fields(serving, self._folder):
                shard.indexed = created = True
                # Plans are chosen by counts that the indexes estimate.
                shard.plan_cache.clear()
                shard.holds_only.clear()
            if created:
                private.restrict(self._folder / kind)

    def nearest(self, kind: str, vector: Vector, *, limit: int, where: Filter) -> list[Hit]:
        if self.is_unused(kind):
            return []
        query = engine.Query.Nearest(vector.tolist(), using="dense")
        return self._search(kind, query, limit, where, self._plan(kind, where))

    def matching(self, kind: str, text: str, *, limit: int, where: Filter) -> list[Hit]:
        if self.is_unused(kind):
            return []
        indices, values = sparse_query(text)
        sparse = engine.SparseVector(list(indices), list(values))
        return self._search(kind, engine.Query.Nearest(sparse, using="bm25"), limit, where)

    def search(self, searches: Sequence[Search]) -> list[list[Hit]]:
        return one_by_one(self, searches)

    def ids(self, kind: str) -> Iterator[str]:
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
        return self._read(kind, lambda serving: serving.info().points_count) or 0

    def is_unused(self, kind: str) -> bool:
        self._check_open()
        return self._shards[kind].serving is None

    def ungraphed(self, kind: str) -> int:
        """Count the points that no graph covers; searches scan them."""
        covered = self._read(kind, lambda serving: serving.count(shards.COVERED))
        return 0 if covered is None else max(0, self.count(kind) - covered)

    def differing(self, kind: str, points: Iterable[Point]) -> Iterator[str]:
        """Compare stored points with the engine's answers; yield the ids that differ."""
        remaining = (point for point in points if is_point_id(point.id))
        while batch := list(islice(remaining, shards.SMALL_BATCH)):
            yield from self._differing(kind, batch)

    def _differing(self, kind: str, points: Sequence[Point]) -> list[str]:
        try:
            found = self._read(kind, lambda serving: shards.differing(serving, points))
        except IndexUnavailable:
            self._check_open()
            if len(points) == 1:
                return [points[0].id]
            # The engine gives no answer at all if one point is unreadable.
            middle = len(points) // 2
            return self._differing(kind, points[:middle]) + self._differing(kind, points[middle:])
        return [point.id for point in points] if found is None else found

    def damaged_files(self, *, stop: Callable[[], bool]) -> Iterator[str]:
        """Compare the immutable files with their checksums; yield the names of damaged ones."""
        for kind, name in self._manifest.generations.items():
            for damaged in shards.damaged_files(self._folder / kind / name, stop=stop):
                # Otherwise a new generation has replaced it, and its files are gone.
                if self._manifest.generations.get(kind) == name:
                    yield f"{kind}/{name}/{damaged}"

    def flush(self) -> float:
        """See `Index.flush`.

        The engine holds the GIL meanwhile (20 to 300 ms on a disk), so all threads wait: call it
        rarely, when idle.

        Raises:
            IndexUnavailable: The engine failed or was closed.
            StoreFull: The disk has too little free space.
        """
        self._check_open()
        began = time.monotonic()
        for kind, shard in self._shards.items():
            with (
                shard.writing,
                shards.engine_errors(f"points of kind {kind!r} cannot be made durable"),
            ):
                if shard.serving is not None and shard.unflushed:
                    shards.flush(shard.serving, self._folder / kind, shard.unflushed)
                    shard.unflushed = 0
        return began

    def close(self) -> None:
        """Make all changes durable and close; later calls raise `IndexUnavailable`.

        On a full disk, nothing is made durable: the store replays its outbox at the next open.
        """
        self._closed = True
        for kind, shard in self._shards.items():
            with shard.writing, shards.engine_errors("the index cannot be closed"):
                if shard.serving is not None and _may_flush(self._folder, shard):
                    shard.serving.close()
                    private.restrict(self._folder / kind)

    @staticmethod
    def build(target: Path, *, dimensions: int, points: Iterable[Point], graph: bool) -> int:
        """Fill a started generation; see `OwnIndex.build`.

        With `graph` it holds the GIL for minutes: call it in a process of its own.

        Raises:
            IndexUnavailable: It could not be built.
            StoreFull: The disk has too little free space.
        """
        what = f"an index cannot be built in {target}"
        with shards.engine_errors(what):
            free_space.check(target.parent, keep=FLOOR)
            shard = shards.create(target, dimensions)
        total, indexed = 0, False
        remaining = indexable(points)
        while batch := list(islice(remaining, shards.LARGE_BATCH)):
            for change in shards.upserts(batch, shards.LARGE_BATCH, graphed=graph):
                with shards.engine_errors(what):
                    free_space.check(target, total * shards.FLUSHED_BYTES, keep=FLOOR)
                    shard.update(change)
            total += len(batch)
            with shards.engine_errors(what):
                indexed = shards.index_fields(shard, target)
        with shards.engine_errors(what):
            shards.flush(shard, target, total)
            if graph and total:
                # A copy of the segments and the graph: 1.5 times the size was measured.
                free_space.check(target, 2 * free_space.allocated(target), keep=FLOOR)
                shard.close()
                shard = shards.load(target, dimensions, total)
                shard.optimize()
                shard.flush()
            shard.close()
            private.restrict(target)
            shards.write_checksums(target, indexed=indexed)
        return total

    def start_generation(self, kind: str) -> Path:
        """See `OwnIndex.start_generation`.

        Raises:
            StoreFull: The disk has no room for a second copy of the kind.
        """
        self.abandon_generation(kind)
        shard = self._shards[kind]
        if serving := self._manifest.generations.get(kind):
            size = free_space.allocated(self._folder / kind / serving)
            free_space.check(self._folder, size, keep=FLOOR)
        with shard.writing, shards.engine_errors(f"no generation of kind {kind!r} can be started"):
            self._check_open()
            private.make_folder(self._folder / kind)
            shard.started = token_hex(8)
            return self._folder / kind / shard.started

    def adopt_generation(self, kind: str) -> None:
        """See `OwnIndex.adopt_generation`. Writers wait for the last changes only.

        Raises:
            StoreFull: The disk has too little free space; the generation is abandoned.
        """
        shard = self._shards[kind]
        started = shard.started
        if started is None:
            raise IndexUnavailable(
                f"no generation of kind {kind!r} can be adopted: none was started. Call "
                "start_generation and build first."
            )
        try:
            with shards.engine_errors(f"the new generation of kind {kind!r} cannot be adopted"):
                self._replace(kind, shard, started)
        except (IndexUnavailable, StoreFull):
            self.abandon_generation(kind)
            raise
        self._remove_leftovers(kind)

    def abandon_generation(self, kind: str) -> None:
        shard = self._shards[kind]
        with shard.writing:
            abandoned, shard.started, shard.changed = shard.started, None, set()
        if abandoned:
            shutil.rmtree(self._folder / kind / abandoned, ignore_errors=True)

    def _replace(self, kind: str, shard: _Shard, name: str) -> None:
        folder = self._folder / kind / name
        fresh = shards.load(folder, self._manifest.dimensions)
        adopted = False
        try:
            files = shards.searched_files(folder)
            page_cache.read_ahead(files, stop=lambda: self._closed)
            for _ in range(CATCH_UP_ROUNDS):
                if len(shard.changed) <= shards.SMALL_BATCH:
                    break
                with shard.writing:
                    changed, shard.changed = shard.changed, set()
                shards.copy(changed, shard.serving, fresh, folder)
            with shard.writing:
                self._check_open()
                shards.copy(shard.changed, shard.serving, fresh, folder)
                shards.flush(fresh, folder, CATCH_UP_ROUNDS * shards.LARGE_BATCH)
                self._publish(kind, name)
                adopted = True
                # The old shard is not closed: its last reader frees it.
                shard.serving, shard.unflushed, shard.indexed = fresh, 0, False
                # The new shard may have points that the old one failed to index.
                shard.holds_only.clear()
                shard.started, shard.changed = None, set()
        finally:
            if not adopted and free_space.has_room(folder, keep=FLOOR):
                fresh.close()
            elif not adopted:
                shards.never_free(fresh)

    def read_ahead(self, *, stop: Callable[[], bool]) -> None:
        """Load the files that searches read into the page cache, until `stop` returns true.

        Opening a shard evicts its files from the page cache. Without this, the first searches of
        100,000 points take 150 ms each, and still 25 ms after twenty. Reading takes 0.3 s.
        """
        for kind, name in self._manifest.generations.items():
            page_cache.read_ahead(shards.searched_files(self._folder / kind / name), stop=stop)

    def _plan(self, kind: str, where: Filter) -> SearchPlan:
        if where.narrowed:
            return DEFAULT_PLAN
        shard, serving = self._shards[kind], self._shards[kind].serving
        plan = shard.plan_cache.get(where.space, DEFAULT_PLAN)
        if serving is not None and where.space not in shard.plan_cache:
            with shards.engine_errors(f"points of kind {kind!r} cannot be counted"):
                plan = plans.choose_plan(serving, where.space)
            if len(shard.plan_cache) >= MAX_CACHED_PLANS:
                shard.plan_cache.clear()
            shard.plan_cache[where.space] = plan
        return plan

    def _matches_all(self, kind: str, where: Filter) -> bool:
        """Return whether a filter matches all points of a kind, as in an index of one space.

        The search then needs no filter, and is a fifth faster.
        """
        if where.narrowed:
            return False
        shard, partitions = self._shards[kind], plans.partitions_of(where)
        known = shard.holds_only.get(partitions)
        if known is not None:
            return known
        # Writers are blocked while the points are counted, but no search waits for a writer.
        if shard.serving is None or not shard.writing.acquire(blocking=False):
            return False
        try:
            with shards.engine_errors(f"points of kind {kind!r} cannot be counted"):
                known = plans.holds_only(shard.serving, partitions)
            if len(shard.holds_only) >= MAX_CACHED_PLANS:
                shard.holds_only.clear()
            shard.holds_only[partitions] = known
        finally:
            shard.writing.release()
        return known

    def _search(
        self,
        kind: str,
        query: engine.Query,
        limit: int,
        where: Filter,
        plan: SearchPlan = DEFAULT_PLAN,
    ) -> list[Hit]:
        if required(where) is None or limit < 1:
            self._check_open()
            return []
        request = engine.QueryRequest(
            limit=limit,
            query=query,
            filter=None if self._matches_all(kind, where) else plans.condition(where),
            params=plans.parameters(plan, limit),
            with_payload=False,
            with_vector=False,
        )
        found = self._read(kind, lambda serving: serving.query(request)) or []
        hits = sorted([(-point.score, str(point.id)) for point in found])
        return [Hit(id, -below) for below, id in hits]

    def _read(self, kind: str, ask: Callable[[engine.EdgeShard], Answer]) -> Answer | None:
        """Query the serving shard; None if the kind is unused."""
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
        loading = self._folder / LOADING
        if loading.exists():
            raise IndexUnavailable(
                f"the index in {self._folder} is not loaded: the process that loaded it last died meanwhile."
            )
        # Not on a full disk either, where nothing can be rebuilt.
        with suppress(OSError):
            loading.touch()
        try:
            self._load_shards()
        finally:
            with suppress(OSError):
                loading.unlink(missing_ok=True)

    def _load_shards(self) -> None:
        for kind, name in self._manifest.generations.items():
            path = self._folder / kind / name
            with shards.engine_errors(
                f"the index of kind {kind!r} in {self._folder} cannot be read"
            ):
                if damaged := next(shards.damaged_files(path, loading=True), None):
                    raise ValueError(f"{damaged} is damaged")
                serving = shards.load(path, self._manifest.dimensions)
                self._shards[kind].serving = serving
                # Some damage only shows when a point is read.
                serving.scroll(engine.ScrollRequest(limit=1, with_payload=True, with_vector=True))
        for kind in KINDS:
            self._remove_leftovers(kind)

    def _create_shard(self, kind: str, shard: _Shard) -> engine.EdgeShard:
        free_space.check(self._folder, keep=FLOOR)
        name = token_hex(8)
        serving = shards.create(self._folder / kind / name, self._manifest.dimensions)
        serving.flush()
        self._publish(kind, name)
        shard.serving = serving
        return serving

    def _publish(self, kind: str, name: str) -> None:
        with self._publishing:
            generations = {**self._manifest.generations, kind: name}
            manifest = replace(self._manifest, generations=generations)
            shards.write_manifest(self._folder, manifest)
            self._manifest = manifest

    def _remove_leftovers(self, kind: str) -> None:
        current = {self._manifest.generations.get(kind), self._shards[kind].started}
        for path in (self._folder / kind).glob("*"):
            if path.name not in current:
                shutil.rmtree(path, ignore_errors=True)


def _may_flush(folder: Path, shard: _Shard) -> bool:
    """Return whether the disk has room for a flush, which closing and freeing a shard cause."""
    return free_space.has_room(folder, shard.unflushed * shards.FLUSHED_BYTES, keep=FLOOR)


def _free_with_room(folder: Path, held: dict[str, _Shard], opener: int) -> None:
    """Do not free shards on a full disk, nor in a fork of the process that opened them: that writes their files."""
    forked = os.getpid() != opener
    for shard in held.values():
        if shard.serving is not None and (forked or not _may_flush(folder, shard)):
            shards.never_free(shard.serving)
