"""Asynchronous facade: each verb runs in a worker thread, so that the event loop is never blocked."""

import asyncio
import functools
import os
from collections.abc import Callable, Coroutine, Sequence
from types import TracebackType
from typing import Any, Concatenate, ParamSpec, Self, TypeVar

from hippocampe.config import Config
from hippocampe.hippocampe import Hippocampe
from hippocampe.injection.incoming import HostMessage
from hippocampe.system.workers import Workers
from hippocampe.types import Injection, Scope

WRITES = (
    *("remember", "edit", "delete", "restore", "associate", "settle", "set_fact", "delete_fact"),
    *("observe", "after_turn", "update_settings", "retry_job", "record_usage", "create_key"),
    *("revoke_key", "announce", "forget", "expire"),
)
LONG = (
    *("remember_many", "digest", "compact", "extract", "erase", "run_jobs", "verify", "reindex"),
    *("backup", "export_to", "import_from", "flush", "close"),
)
KINDS = dict.fromkeys(WRITES, "write") | dict.fromkeys(LONG, "long")
"""The lane of each verb: `write` for those that wait for the one writer, `long` for those that may take
minutes; `before_turn` has the lane `turn`, all others `read`."""

P = ParamSpec("P")
T = TypeVar("T")


def _awaited(
    verb: Callable[Concatenate[Hippocampe, P], T],
) -> Callable[Concatenate["AsyncHippocampe", P], Coroutine[Any, Any, T]]:
    kind = KINDS.get(verb.__name__, "read")

    @functools.wraps(verb)
    async def awaited(self: "AsyncHippocampe", *args: P.args, **kwargs: P.kwargs) -> T:
        # By name: the facade may be the client of another process.
        step = getattr(self.sync, verb.__name__)
        run = self._run  # pyright: ignore[reportPrivateUsage]
        return await run(kind, step, *args, **kwargs)

    return awaited


class AsyncHippocampe:
    """`Hippocampe` for asynchronous hosts: the same verbs, arguments, results and errors.

    Args:
        sync: The synchronous facade, of this process or the client of another one.
        workers: The thread pools, by lane: `turn`, `read`, `write` and `long`; default: those of
            the event loop.
    """

    def __init__(self, sync: Hippocampe, *, workers: Workers | None = None) -> None:
        self.sync = sync
        self.workers = workers

    async def _run(self, kind: str, call: Callable[..., T], /, *args: Any, **kwargs: Any) -> T:
        if self.workers is None:
            return await asyncio.to_thread(call, *args, **kwargs)
        return await self.workers.run(kind, call, *args, **kwargs)

    @classmethod
    async def open(cls, where: Config | str | os.PathLike[str], **options: Any) -> Self:
        """Open a data folder; the arguments are those of `Hippocampe.open`."""
        return cls(await asyncio.to_thread(Hippocampe.open, where, **options))

    remember = _awaited(Hippocampe.remember)
    remember_many = _awaited(Hippocampe.remember_many)
    recall = _awaited(Hippocampe.recall)
    recent = _awaited(Hippocampe.recent)
    memories = _awaited(Hippocampe.memories)
    spaces = _awaited(Hippocampe.spaces)
    users = _awaited(Hippocampe.users)
    subjects = _awaited(Hippocampe.subjects)
    get = _awaited(Hippocampe.get)
    history = _awaited(Hippocampe.history)
    edit = _awaited(Hippocampe.edit)
    delete = _awaited(Hippocampe.delete)
    restore = _awaited(Hippocampe.restore)
    associate = _awaited(Hippocampe.associate)
    neighbours = _awaited(Hippocampe.neighbours)
    graph = _awaited(Hippocampe.graph)
    reviews = _awaited(Hippocampe.reviews)
    settle = _awaited(Hippocampe.settle)
    facts = _awaited(Hippocampe.facts)
    set_fact = _awaited(Hippocampe.set_fact)
    delete_fact = _awaited(Hippocampe.delete_fact)
    observe = _awaited(Hippocampe.observe)

    async def before_turn(
        self,
        message: HostMessage | Sequence[HostMessage],
        *,
        scope: Scope,
        role: str = "user",
        fresh: bool = False,
    ) -> Injection:
        if not self.sync.owns:
            verb = self.sync.before_turn
            return await self._run("turn", verb, message, scope=scope, role=role, fresh=fresh)
        # Sleep in the event loop, so that waiting for a burst occupies no worker thread.
        begin, end = self.sync._begin_turn, self.sync._end_turn  # pyright: ignore[reportPrivateUsage]
        begun = await self._run("turn", begin, message, scope=scope, role=role, fresh=fresh)
        if isinstance(begun, Injection):
            return begun
        await asyncio.sleep(begun.wait_seconds)
        return await self._run("turn", end, begun, scope=scope)

    after_turn = _awaited(Hippocampe.after_turn)
    preview = _awaited(Hippocampe.preview)
    digest = _awaited(Hippocampe.digest)
    compact = _awaited(Hippocampe.compact)
    extract = _awaited(Hippocampe.extract)
    messages = _awaited(Hippocampe.messages)
    search_text = _awaited(Hippocampe.search_text)
    notes = _awaited(Hippocampe.notes)
    forget = _awaited(Hippocampe.forget)
    erase = _awaited(Hippocampe.erase)
    expire = _awaited(Hippocampe.expire)
    audit = _awaited(Hippocampe.audit)
    settings = _awaited(Hippocampe.settings)
    update_settings = _awaited(Hippocampe.update_settings)
    retrievals = _awaited(Hippocampe.retrievals)
    retrieval = _awaited(Hippocampe.retrieval)
    replay = _awaited(Hippocampe.replay)
    jobs = _awaited(Hippocampe.jobs)
    run_jobs = _awaited(Hippocampe.run_jobs)
    retry_job = _awaited(Hippocampe.retry_job)
    usage = _awaited(Hippocampe.usage)
    names = _awaited(Hippocampe.names)
    check_budget = _awaited(Hippocampe.check_budget)
    record_usage = _awaited(Hippocampe.record_usage)
    costs = _awaited(Hippocampe.costs)
    now = _awaited(Hippocampe.now)
    create_key = _awaited(Hippocampe.create_key)
    keys = _awaited(Hippocampe.keys)
    revoke_key = _awaited(Hippocampe.revoke_key)
    find_key = _awaited(Hippocampe.find_key)
    announce = _awaited(Hippocampe.announce)
    stats = _awaited(Hippocampe.stats)
    activity = _awaited(Hippocampe.activity)
    vitals = _awaited(Hippocampe.vitals)
    verify = _awaited(Hippocampe.verify)
    reindex = _awaited(Hippocampe.reindex)
    backup = _awaited(Hippocampe.backup)
    export_to = _awaited(Hippocampe.export_to)
    import_from = _awaited(Hippocampe.import_from)
    flush = _awaited(Hippocampe.flush)
    close = _awaited(Hippocampe.close)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()


AsyncHippocampe.before_turn.__doc__ = Hippocampe.before_turn.__doc__
