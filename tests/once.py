"""Work that every test would repeat with the same result, done once per process instead.

A program opens a folder, and builds its command line, once. A process of tests does both for each test.
"""

import importlib
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Any

import numpy as np
import typer.main
import typer.testing
from sqlalchemy import Engine

from hippocampe.embed import local
from hippocampe.protocols import Vectors
from hippocampe.reader import network
from hippocampe.store import sqlite
from hippocampe.store.store import Store
from hippocampe.system import private

_make_engine = sqlite.make_engine
_prepare_anew = Store._prepare
_make_session = network._session


def install() -> None:
    """Share statements, the empty tables, vectors, logits, the commands and the trusted certificates."""
    sqlite.make_engine = _engine
    Store._prepare = _prepare
    local.LocalEmbedder._encode = _encode
    network._session = _Session
    testing: Any = typer.testing
    typer.main.get_command = testing._get_command = cache(typer.main.get_command)
    for name in ("httpx", "httpx2"):
        transports: Any = importlib.import_module(f"{name}._transports.default")
        transports.create_ssl_context = cache(transports.create_ssl_context)


_first: list[Any] = []
"""The engine whose dialect and compiled statements all others use; both are safe for threads."""


def _engine(path: Path, **options: Any) -> Engine:
    engine: Any = _make_engine(path, **options)
    if not _first:
        _first.append(engine)
    engine.dialect = engine.pool._dialect = _first[0].dialect
    engine._compiled_cache = _first[0]._compiled_cache
    return engine


_empty: list[bytes] = []
"""The file of a database with empty tables."""


def _prepare(self: Store) -> None:
    """Create the tables the first time, then copy their file."""
    is_new = type(self) is Store and not self.read_only and not self.path.exists()
    if is_new and _empty:
        private.make_file(self.path)
        self.path.write_bytes(_empty[0])
    _prepare_anew(self)
    if is_new and not _empty:
        with self.read() as connection:
            serialised: Any = connection.connection.driver_connection
            _empty.append(serialised.serialize())
    self.created |= is_new


_encode_anew = local.LocalEmbedder._encode


def _encode(self: local.LocalEmbedder, texts: list[str]) -> Vectors:
    # Loading may fail, which a test may want.
    return _encoded(local._encoder() if texts else None, tuple(texts)).copy()


@lru_cache(maxsize=2_000)
def _encoded(encoder: object, texts: tuple[str, ...]) -> Vectors:
    """Most tests of a module tell the same."""
    return _encode_anew(local.LocalEmbedder(), list(texts))


class _Session:
    """A graph of the reader that is run once for each pair of texts."""

    def __init__(self, graph: bytes) -> None:
        self._run = lru_cache(maxsize=20_000)(partial(_logits, _make_session(graph)))

    def run(self, heads: list[str], inputs: dict[str, Any]) -> list[Any]:
        return [self._run(*heads, *map(tuple, inputs["ids"]), *map(tuple, inputs["sides"])).copy()]


def _logits(session: Any, head: str, ids: tuple[int, ...], sides: tuple[int, ...]) -> Any:
    [found] = session.run([head], {"ids": np.array([ids]), "sides": np.array([sides])})
    return found


def share_routes() -> None:
    """Share the endpoints of all applications in this process: FastAPI builds them at the first request."""
    from fastapi import APIRouter

    include, made = APIRouter.include_router, dict[int, Any]()

    def include_once(self: APIRouter, router: APIRouter, **options: Any) -> None:
        include(self, router, **options)
        self.routes[-1] = made.setdefault(id(router), self.routes[-1])

    APIRouter.include_router = include_once
