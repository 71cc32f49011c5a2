"""The table of verbs: each is an attribute of both classes, documented by its step."""

import asyncio
import inspect
import pydoc
import threading
from pathlib import Path

import pytest

from hippocampe import Hippocampe, InvalidInput, Scope, StoreReadOnly
from hippocampe.aio import AsyncHippocampe
from hippocampe.retrieval import log, recall
from hippocampe.system.workers import Lane, Workers
from hippocampe.verbs import VERBS

ME = Scope(user="dev", channel="lobby")


def functions(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers(kind, inspect.isfunction) if name[0] != "_"}


def test_every_verb_is_declared_and_every_declared_verb_exists() -> None:
    assert functions(Hippocampe) == VERBS.keys()
    assert functions(AsyncHippocampe) == VERBS.keys()


@pytest.mark.parametrize("name", sorted(VERBS))
def test_a_declaration_names_arguments_of_the_verb(name: str) -> None:
    verb, found = VERBS[name], inspect.signature(getattr(Hippocampe, name)).parameters
    for argument in (verb.idempotent_by, verb.file, verb.writes_with):
        assert argument is None or argument in found
    assert verb.reach != "space" or "scope" in found or name == "now"


def test_a_verb_has_the_documentation_of_its_step() -> None:
    for kind in (Hippocampe, AsyncHippocampe):
        assert kind.recall.__doc__ == recall.recall.__doc__
        assert kind.recall.__name__ == "recall"
        wanted = [*inspect.signature(recall.recall).parameters.values()][1:]
        assert [*inspect.signature(kind.recall).parameters.values()][1:] == wanted
    shown = pydoc.plain(pydoc.render_doc(Hippocampe.retrievals))
    assert "retrievals( self, *, scope: " in " ".join(shown.replace("(", "( ").split())
    assert "context" not in shown
    assert (inspect.getdoc(log.retrievals) or "").splitlines()[0] in shown
    assert inspect.iscoroutinefunction(AsyncHippocampe.recall)
    assert not inspect.iscoroutinefunction(Hippocampe.recall)


def test_an_awaited_verb_runs_in_its_lane(hippo: Hippocampe) -> None:
    lanes = dict.fromkeys(("turn", "read", "count", "write", "long"), Lane(1, 9))
    workers = Workers(lanes)
    names = dict[str, str]()

    class Watched(AsyncHippocampe):
        async def _in_lane(self, lane, call, /, *args, **named):
            def watched():
                names[call.__name__] = threading.current_thread().name.rpartition("_")[0]
                return call(*args, **named)

            return await super()._in_lane(lane, watched)

    async def talk() -> None:
        memory = Watched(hippo, workers=workers)
        await memory.remember("Nina aime le thé vert", scope=ME)
        await memory.recall("que boit Nina ?", scope=ME)
        await memory.before_turn("que boit Nina ?", scope=ME)
        await memory.stats(scope=ME)
        await memory.expire(scope=ME)
        await memory.verify()

    asyncio.run(talk())
    workers.close()
    assert names == {
        "remember": "hippocampe-write",
        "recall": "hippocampe-read",
        "_begin_turn": "hippocampe-turn",
        "stats": "hippocampe-count",
        "expire": "hippocampe-write",
        "verify": "hippocampe-long",
    }


def test_a_verb_that_writes_is_refused_where_nothing_may_be_written(
    hippo: Hippocampe, folder: Path
) -> None:
    stored = hippo.remember("Nina aime le thé vert", scope=ME).memory
    with Hippocampe.open(folder, read_only=True) as reader:
        assert reader.get(stored.id, scope=ME) == stored
        assert reader.forget("le thé", scope=ME, dry_run=True).dry_run
        for refused in (
            lambda: reader.remember("x", scope=ME),
            lambda: reader.forget("le thé", scope=ME),
            lambda: reader.edit(stored.id, scope=ME, importance=0.9),
            lambda: reader.run_jobs(scope=ME),
        ):
            with pytest.raises(StoreReadOnly):
                refused()
        with pytest.raises(InvalidInput, match="scope"):
            reader.recall("x", scope="dev")  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("name", ["context", "name", "memory", "verb", "lane", "call", "self", "x"])
def test_an_argument_of_any_name_is_that_of_the_verb(hippo: Hippocampe, name: str) -> None:
    with pytest.raises(InvalidInput, match=f"setting.*{name}"):
        hippo.update_settings(scope=ME, **{name: 1})
    with pytest.raises(InvalidInput, match=f"setting.*{name}"):
        asyncio.run(AsyncHippocampe(hippo).update_settings(scope=ME, **{name: 1}))
