# pyright: basic, reportMissingImports=false
"""A store for LangGraph: `create_agent(…, store=HippocampeStore(hippo))`."""

import asyncio
import hashlib
import json
import operator
import re
from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from typing import Any

from langgraph.store.base import (
    BaseStore,
    GetOp,
    Item,
    ListNamespacesOp,
    MatchCondition,
    Op,
    PutOp,
    Result,
    SearchItem,
    SearchOp,
)

from hippocampe.aio import AsyncHippocampe
from hippocampe.hippocampe import Hippocampe, every_memory
from hippocampe.language.secrets import MASKED, find_secrets, mask
from hippocampe.types import Memory, Metadata, Scope

MAX_FOUND = 1_000
"""Results of a search that are filtered."""
_LEAF = re.compile(r'"(?:[^"\\]|\\.)*"|[^\s\[\]{},:"]+')
"""A text, a number or another plain value in JSON."""


class HippocampeStore(BaseStore):
    """Keeps the values of graphs in a space of a memory, found by meaning, words and filters.

    A put replaces the value of its key and nothing else: all memories of the space have keys, and rules never
    merge two keys.

    Args:
        hippo: The open memory; the caller closes it.
        space: The space of the values, which nothing else writes to.
    """

    supports_ttl = False

    def __init__(self, hippo: Hippocampe | AsyncHippocampe, *, space: str = "langgraph") -> None:
        self._hippo = hippo.sync if isinstance(hippo, AsyncHippocampe) else hippo
        self._scope = Scope(space)

    def batch(self, ops: Iterable[Op]) -> list[Result]:
        """Execute operations: those that read see the values before the puts; the last put of a key wins."""
        puts: dict[str, PutOp] = {}
        results: list[Result] = []
        for op in ops:
            if isinstance(op, PutOp):
                puts[_key(op.namespace, op.key)] = op
                results.append(None)
            elif isinstance(op, GetOp):
                results.append(self._get(op))
            elif isinstance(op, SearchOp):
                results.append(self._search(op))
            elif isinstance(op, ListNamespacesOp):
                results.append(self._list_namespaces(op))
            else:
                raise ValueError(f"unknown operation: {type(op).__name__}")
        self._apply(puts)
        return results

    async def abatch(self, ops: Iterable[Op]) -> list[Result]:
        """`batch` in a thread."""
        return await asyncio.to_thread(self.batch, list(ops))

    def _get(self, op: GetOp) -> Item | None:
        memory = self._held(_key(op.namespace, op.key))
        return None if memory is None else _item(memory)

    def _held(self, key: str) -> Memory | None:
        found = self._hippo.memories(scope=self._scope, metadata={"id": key}, limit=1).items
        return found[0] if found else None

    def _apply(self, puts: dict[str, PutOp]) -> None:
        items: list[dict[str, Any]] = []
        for key, op in puts.items():
            if op.value is None:
                if (held := self._held(key)) is not None:
                    self._hippo.delete(held.id, scope=self._scope, reason="deleted by the host")
                continue
            held = self._held(key)
            items.append(
                {
                    "content": self._written(op.value),
                    "key": key,
                    "source": "langgraph",
                    "ttl": None,
                    "metadata": {
                        **_prefixes(op.namespace),
                        "id": key,
                        "namespace": json.dumps(op.namespace),
                        "key": op.key,
                        "searched": op.index is not False,
                        "created_at": None if held is None else _created(held),
                    },
                }
            )
        if items:
            self._hippo.remember_many(items, scope=self._scope)

    def _written(self, value: Any) -> str:
        """A value as JSON that is still JSON when its secrets are masked, unless they are refused."""
        text = json.dumps(value, ensure_ascii=False)
        for whole in (False, True):
            if self._hippo.config.refuse_secrets or _is_json(mask(text)):
                break
            text = _masked(text, whole)
        return text

    def _search(self, op: SearchOp) -> list[SearchItem]:
        wanted = {_prefix(op.namespace_prefix): True} if op.namespace_prefix else None
        found: list[tuple[Memory, float | None]] = []
        if op.query:
            # Filters of values follow the search.
            most = MAX_FOUND if op.filter else min(MAX_FOUND, op.offset + op.limit)
            found += (
                (each.memory, each.score)
                for each in self._hippo.recall(
                    op.query,
                    scope=self._scope,
                    limit=most,
                    metadata={**(wanted or {}), "searched": True},
                )
                if each.memory is not None and each.memory.current
            )
        scored = {memory.id for memory, _ in found}
        matching = [pair for pair in found if _matches(pair[0], op.filter)]
        for memory in self._all(wanted):
            if len(matching) >= op.offset + op.limit:
                break
            if memory.id not in scored and _matches(memory, op.filter):
                matching.append((memory, None))
        return [_item(*pair) for pair in matching[op.offset : op.offset + op.limit]]

    def _all(self, wanted: Metadata | None) -> Iterator[Memory]:
        return every_memory(self._hippo, scope=self._scope, metadata=wanted, order="oldest")

    def _list_namespaces(self, op: ListNamespacesOp) -> list[tuple[str, ...]]:
        found = {_namespace(memory) for memory in self._all(None)}
        found = {
            each for each in found if all(_fits(each, how) for how in op.match_conditions or ())
        }
        cut = {each[: op.max_depth] for each in found} if op.max_depth is not None else found
        return sorted(cut)[op.offset : op.offset + op.limit]


def _key(namespace: tuple[str, ...], key: str) -> str:
    """A key of the space: labels of namespaces and keys may be long and contain anything."""
    return hashlib.sha256(json.dumps([*namespace, key]).encode()).hexdigest()


def _prefix(namespace: tuple[str, ...]) -> str:
    return _key(namespace, "")[:16]


def _prefixes(namespace: tuple[str, ...]) -> dict[str, bool]:
    """One pair for each namespace around a value, by which a search in one of them finds it."""
    return {_prefix(namespace[:size]): True for size in range(1, len(namespace) + 1)}


def _namespace(memory: Memory) -> tuple[str, ...]:
    return tuple(json.loads(str(memory.metadata["namespace"])))


def _masked(text: str, whole: bool) -> str:
    """JSON whose values with secrets are masked: each secret in a text by itself, or all of the value."""
    secrets = find_secrets(text)

    def masked(leaf: re.Match[str]) -> str:
        found = [each for each in secrets if each.start < leaf.end() and leaf.start() < each.end]
        if not found:
            return leaf[0]
        value = json.loads(leaf[0])
        if isinstance(value, str):
            # In JSON an escaped quote would pass for a part of the secret.
            value = value.replace('"', "'")
        parts = mask(value) if isinstance(value, str) and not whole else value
        if parts == value:
            parts = f"{MASKED}{found[0].kind}]"
        return json.dumps(parts, ensure_ascii=False)

    return _LEAF.sub(masked, text)


def _is_json(text: str) -> bool:
    try:
        json.loads(text)
    except ValueError:
        return False
    return True


def _value(memory: Memory) -> Any:
    """The value of a memory. Earlier versions stored some that were masked and are no longer JSON."""
    try:
        return json.loads(memory.content)
    except ValueError:
        return {"text": memory.content}


def _created(memory: Memory) -> str:
    """The time of the first put of a key."""
    return str(memory.metadata.get("created_at") or memory.created_at.isoformat())


def _item(memory: Memory, score: float | None = None) -> SearchItem:
    return SearchItem(
        namespace=_namespace(memory),
        key=str(memory.metadata["key"]),
        value=_value(memory),
        created_at=datetime.fromisoformat(_created(memory)),
        updated_at=memory.updated_at,
        score=score,
    )


def _fits(namespace: tuple[str, ...], condition: MatchCondition) -> bool:
    path = condition.path
    if len(namespace) < len(path):
        return False
    part = namespace[: len(path)] if condition.match_type == "prefix" else namespace[-len(path) :]
    return all(wanted in ("*", name) for wanted, name in zip(path, part, strict=True))


_COMPARISONS: dict[str, Callable[[Any, Any], bool]] = {
    "$eq": operator.eq,
    "$ne": operator.ne,
    "$gt": operator.gt,
    "$gte": operator.ge,
    "$lt": operator.lt,
    "$lte": operator.le,
}


def _matches(memory: Memory, wanted: dict[str, Any] | None) -> bool:
    return not wanted or _holds(_value(memory), wanted)


def _holds(value: Any, wanted: Any) -> bool:
    """Return whether a value has what a filter wants: operators, or equal parts of objects and lists."""
    if isinstance(wanted, dict):
        if any(name.startswith("$") for name in wanted):
            return all(_compares(value, name, other) for name, other in wanted.items())
        return isinstance(value, dict) and all(
            _holds(value.get(name), other) for name, other in wanted.items()
        )
    if isinstance(wanted, list | tuple):
        return (
            isinstance(value, list)
            and len(value) == len(wanted)
            and all(map(_holds, value, wanted))
        )
    return value == wanted


def _compares(value: Any, name: str, other: Any) -> bool:
    if name not in _COMPARISONS:
        raise ValueError(f"unknown operator of a filter: {name}")
    try:
        return _COMPARISONS[name](value, other)
    except TypeError:
        return False
