"""The verbs of the library, each declared once: who may call it, how its calls are executed, and where it is offered.

Arguments, types and docstring of a verb are those of its step, which `hippocampe.hippocampe` binds to a memory.
"""

import inspect
import re
from collections.abc import Callable, Coroutine, Mapping
from dataclasses import dataclass, replace
from functools import update_wrapper
from types import MethodType
from typing import Any, Concatenate, Generic, Literal, ParamSpec, TypeVar, overload

from hippocampe.types import Role

P = ParamSpec("P")
T = TypeVar("T")
Lane = Literal["turn", "read", "count", "write", "long"]
Operation = Literal["search_memory", "upsert_memory", "update_memory", "delete_memory"]
"""Values of `gen_ai.operation.name`, of the OpenTelemetry conventions."""


@dataclass(frozen=True, slots=True)
class Verb:
    """The declaration of a verb.

    Attributes:
        name: Its name, the same in all interfaces.
        role: The role that a key of the server needs to call it.
        lane: The threads that execute it in an asynchronous host: `count` reads a whole space, `write`
            waits for the one writer, `long` may take minutes.
        writes: Whether it changes something, which a memory that was opened read-only refuses.
        reach: `space`; `store`: all spaces, which no key opens; `files`: files of the owner's machine;
            `process`: only the process that owns the data.
        operation: The operation by which it is traced, if it is.
        idempotent_by: The argument by which a repeated call is recognised; without one, to repeat the verb
            changes nothing more.
        file: The argument that names a file of the caller's machine.
        writes_with: The argument that makes a verb that reads change something, which needs the role `write`.
        crosses: Whether it touches rows of other spaces than that of its scope.
        recounts: Whether counts of the space are wrong after it, in ways that a user would notice.
        http: The method and path of its endpoint, if a request has the arguments of the verb and the answer is
            its result. Other endpoints are declared in `hippocampe.server.api`.
        command: The help of its command, if that has the options of the verb and the name of it. Other
            commands are declared in `hippocampe.cli`.
        group: The section of it in the OpenAPI document, in the help of the command line and in the reference.
    """

    name: str
    role: Role
    lane: Lane = "read"
    writes: bool = False
    reach: Literal["space", "store", "files", "process"] = "space"
    operation: Operation | None = None
    idempotent_by: str | None = None
    file: str | None = None
    writes_with: str | None = None
    crosses: bool = False
    recounts: bool = False
    http: str = ""
    command: str = ""
    group: str = ""


def _read(name: str, lane: Lane = "read", **more: Any) -> Verb:
    return Verb(name, "read", lane, **more)


def _write(name: str, lane: Lane = "write", *, role: Role = "write", **more: Any) -> Verb:
    return Verb(name, role, lane, writes=True, **more)


_GROUPS: Mapping[str, tuple[Verb, ...]] = {
    "Memories": (
        _write("remember", operation="upsert_memory"),
        _write("remember_many", "long", operation="upsert_memory"),
        _read("recall", operation="search_memory", http="POST /api/recall"),
        _read("recent", command="Show the newest memories."),
        _read("memories", http="GET /api/memories"),
        _read(
            "about",
            http="GET /api/about",
            command="Show what is known about a person or a thing, the most important first; by default about --user.",
        ),
        _read(
            "get",
            http="GET /api/memories/{id}",
            command="Show all fields of a memory, current or not.",
        ),
        _read(
            "history",
            http="GET /api/memories/{id}/history",
            command="Show the versions of a memory, oldest first.",
        ),
        _write("edit", operation="update_memory", http="PATCH /api/memories/{id}"),
        _write("delete", operation="delete_memory", recounts=True),
        _write("restore", recounts=True, http="POST /api/memories/{id}/restore"),
        _write("associate"),
        _read(
            "changes",
            http="GET /api/changes",
            command="Show what was learnt, replaced and forgotten, newest first.",
        ),
        _read("neighbours"),
        _read("graph"),
        _read("reviews", http="GET /api/reviews"),
        _write("settle", recounts=True),
        _read("facts"),
        _write("set_fact", operation="upsert_memory"),
        _write("delete_fact"),
        Verb(
            "spaces",
            "admin",
            "count",
            reach="store",
            command="List the spaces with their numbers of memories and messages, largest first.",
        ),
        _read(
            "users",
            "count",
            http="GET /api/users",
            command="List the users of the space with their numbers of memories and messages.",
        ),
        _read(
            "subjects",
            "count",
            http="GET /api/subjects",
            command="List the subjects of the space with their numbers of current memories.",
        ),
    ),
    "Talk": (
        _write("observe", idempotent_by="external_id"),
        _read("messages"),
        _read("search_text"),
        _read("conversations", "count", http="GET /api/conversations"),
        _read("exchanges", http="GET /api/exchanges"),
        _read("exchange", http="GET /api/exchanges/{id}"),
        _write(
            "digest",
            "long",
            role="admin",
            operation="upsert_memory",
            recounts=True,
            http="POST /admin/digest",
        ),
        _write(
            "compact", "long", role="admin", operation="upsert_memory", http="POST /admin/compact"
        ),
        _read("notes", writes_with="refresh"),
        _write(
            "import_from",
            "long",
            role="admin",
            reach="files",
            file="path",
            crosses=True,
            recounts=True,
        ),
        Verb("export_to", "admin", "long", reach="files", file="path"),
    ),
    "Turns": (
        _read("before_turn", "turn", operation="search_memory"),
        _read("preview"),
        _write("after_turn", idempotent_by="external_id"),
        _write("extract", "long"),
        _read("settings", http="GET /api/memory/settings"),
        _write("update_settings", role="admin", http="PATCH /api/memory/settings"),
        _read("try_settings"),
        _read("retrievals", http="GET /api/memory/retrievals"),
        _read("retrieval"),
        _read("replay"),
    ),
    "Forgetting": (
        _write("forget", operation="delete_memory", recounts=True, http="POST /api/forget"),
        _write(
            "erase",
            "long",
            role="admin",
            crosses=True,
            operation="delete_memory",
            recounts=True,
            http="POST /api/erase",
        ),
        _write("expire", role="admin"),
    ),
    "Background jobs": (
        _read("jobs", http="GET /api/jobs"),
        _write("run_jobs", "long", role="admin", recounts=True, http="POST /api/jobs/run"),
        _write("retry_job", role="admin", http="POST /api/jobs/{id}/retry"),
    ),
    "Language models": (
        _read("names"),
        _read("check_budget"),
        _read(
            "usage",
            http="GET /api/usage",
            command="Show the calls of language models with their tokens and prices, newest first.",
        ),
        _read("costs", command="Show what language models cost, by day, purpose and model."),
        _write("record_usage"),
    ),
    "Server": (
        _write("create_key", role="admin", reach="store"),
        Verb("keys", "admin", reach="store"),
        Verb("find_key", "admin", reach="process"),
        _write("revoke_key", role="admin", reach="store"),
        _write("announce", role="admin", reach="process"),
    ),
    "Upkeep": (
        _read("now"),
        _read("stats", "count", command="Show the counts of the space and the state of the index."),
        _read("activity", "count", command="Count memories, messages and injections, day by day."),
        Verb("audit", "admin", http="GET /api/audit"),
        Verb(
            "vitals",
            "admin",
            reach="store",
            command="Show the numbers of the whole folder: index, jobs, bytes, outages, disk.",
        ),
        Verb("verify", "admin", "long", reach="store"),
        _write("reindex", "long", role="admin", reach="store"),
        Verb("backup", "admin", "long", reach="files", file="target"),
        Verb("flush", "admin", "long", reach="store"),
        Verb("close", "admin", "long", reach="process"),
    ),
}
VERBS: Mapping[str, Verb] = {
    verb.name: replace(verb, group=group) for group, verbs in _GROUPS.items() for verb in verbs
}
SENT: Mapping[str, Verb] = {name: verb for name, verb in VERBS.items() if verb.reach != "process"}
"""The verbs that another process can call."""


@dataclass(frozen=True, slots=True)
class Documentation:
    """The docstring of a verb, or of a class, in parts.

    Attributes:
        text: All before its sections.
        arguments: The descriptions of its arguments or attributes, by name.
    """

    text: str
    arguments: Mapping[str, str]


def documentation(documented: object) -> Documentation:
    """Read the docstring of a verb, or of a class, for other interfaces."""
    text, *sections = re.split(
        r"\n\n(?=(?:Args|Attributes|Returns|Raises):\n)", inspect.getdoc(documented) or ""
    )
    described = re.findall(r"^    (\w+): (.+(?:\n {6,}.+)*)", "\n".join(sections), re.MULTILINE)
    return Documentation(text, {name: " ".join(words.split()) for name, words in described})


class Here:
    """A memory whose verbs are called directly."""


class Awaited:
    """A memory whose verbs are awaited: each runs in a thread of its lane."""

    async def _awaited(self, verb: Verb, /, *arguments: Any, **named: Any) -> Any:
        """Execute a verb in a thread of its lane."""
        raise NotImplementedError


class Bound(Generic[P, T]):
    """A verb as an attribute of the classes of memories, with the signature and the docstring of its step.

    Args:
        step: What it executes.
        call: Executes it, for the name of the verb, a memory, and the arguments of the caller.
        provided: How many arguments of the step, the first ones, the memory provides.
    """

    def __init__(
        self, step: Callable[..., T], call: Callable[..., T], *, provided: int = 1
    ) -> None:
        self._step, self._call, self._provided = step, call, provided

    def __set_name__(self, owner: type, name: str) -> None:
        verb, call = VERBS[name], self._call

        async def awaited(self: Awaited, /, *arguments: Any, **named: Any) -> T:
            send = self._awaited  # pyright: ignore[reportPrivateUsage]
            return await send(verb, *arguments, **named)

        def here(self: Here, /, *arguments: Any, **named: Any) -> T:
            return call(name, self, *arguments, **named)

        self._functions = (self._documented(here, name), self._documented(awaited, name))

    def _documented(self, call: Callable[..., Any], name: str) -> Callable[..., Any]:
        """Give a function the documentation of the step, without what the memory provides."""
        update_wrapper(call, self._step)
        signature = inspect.signature(self._step)
        mine = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
        parameters = [mine, *[*signature.parameters.values()][self._provided :]]
        named = {each.name for each in parameters} | {"return"}
        annotations = self._step.__annotations__
        vars(call)["__signature__"] = signature.replace(parameters=parameters)
        call.__annotations__ = {each: annotations[each] for each in annotations if each in named}
        call.__name__ = call.__qualname__ = name
        return call

    @overload
    def __get__(self, memory: None, owner: type, /) -> Callable[Concatenate[Any, P], T]: ...
    @overload
    def __get__(self, memory: Here, owner: type, /) -> Callable[P, T]: ...
    @overload
    def __get__(self, memory: Awaited, owner: type, /) -> Callable[P, Coroutine[Any, Any, T]]: ...
    def __get__(self, memory: object, owner: type, /) -> Any:
        call = self._functions[issubclass(owner, Awaited)]
        return call if memory is None else MethodType(call, memory)
