"""The doors of a memory: each calls a verb with the arguments of the library, and returns JSON to compare."""

import asyncio
import inspect
import io
import json
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from pathlib import Path
from typing import Any

import httpx
from typer.main import get_command
from typer.testing import CliRunner

from hippocampe import AsyncHippocampe, Hippocampe
from hippocampe.cli.app import app
from hippocampe.cli.from_verb import VerbCommand
from hippocampe.client.local import LocalConnection
from hippocampe.client.remote import RemoteHippocampe
from hippocampe.errors import HippocampeError
from hippocampe.server.api import endpoints
from hippocampe.verbs import VERBS
from verb_cases import World

VOLATILE = {"took_ms", "stages", "took_ms_p50", "took_ms_p95", "bytes", "disk_free", "actor"}
"""Fields whose values differ from call to call, or from door to door."""
_ID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}|\b[0-9a-f]{32}\b")
_SECRET = re.compile(r"hippo_[\w-]{43}")

Arguments = dict[str, Any]
Json = Any


class Server:
    """A server of this process, with the memory that a test puts behind it."""

    def __init__(self, url: str, put: Callable[[Any], None]) -> None:
        self.url = url
        self.put = put


class Normal:
    """Makes values comparable: what differs from copy to copy and from call to call is named instead.

    Args:
        world: What the values come from. Its ids are the same in each copy; others are numbered.
    """

    def __init__(self, world: World) -> None:
        self._root = str(world.root)
        self._known = set(world.known)
        self._new: dict[str, str] = {}

    def of(self, value: Any) -> Any:
        if isinstance(value, Mapping):
            return {
                self.of(name): "…" if name in VOLATILE else self.of(item)
                for name, item in value.items()
            }
        if isinstance(value, list):
            return [self.of(each) for each in value]
        if isinstance(value, float):
            return round(value, 6)
        return self._text(value) if isinstance(value, str) else value

    def _text(self, value: str) -> str:
        try:
            # The clock moves a little at each look, and doors look more or less often.
            return datetime.fromisoformat(value).replace(second=0, microsecond=0).isoformat()
        except ValueError:
            pass
        value = _SECRET.sub("hippo_…", value.replace(self._root, "ROOT"))
        return _ID.sub(self._numbered, value)

    def _numbered(self, found: re.Match[str]) -> str:
        id = found[0]
        if id in self._known:
            return id
        return self._new.setdefault(id, f"new {len(self._new)}")


def as_json(value: Any) -> Json:
    """A value of the library as JSON, written without the code that doors use for it."""
    if hasattr(value, "__dataclass_fields__"):
        return {name: as_json(getattr(value, name)) for name in value.__dataclass_fields__}
    if isinstance(value, Mapping):
        return {str(name): as_json(item) for name, item in value.items()}
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Path):
        return str(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    if value is None or isinstance(value, str | int | float):
        return value
    return [as_json(each) for each in value]


def outcome(call: Callable[[], Any]) -> Json:
    """The result of a call, or the error that it raises."""
    try:
        return as_json(call())
    except HippocampeError as exc:
        return {"error": str(exc), "kind": type(exc).__name__}


def library(world: World, server: Server, verb: str, arguments: Arguments) -> Json:
    return outcome(lambda: getattr(world.hippo, verb)(**arguments))


def awaited(world: World, server: Server, verb: str, arguments: Arguments) -> Json:
    async def call() -> Any:
        return await getattr(AsyncHippocampe(world.hippo), verb)(**arguments)

    return outcome(lambda: asyncio.run(call()))


def remote(world: World, server: Server, verb: str, arguments: Arguments) -> Json:
    """The calls that another process of the same user sends to the owner; what can be is positional."""
    config = world.hippo.config
    connected = RemoteHippocampe(lambda: LocalConnection(config.folder), config)
    positional, named = list[Any](), dict(arguments)
    for name, parameter in inspect.signature(getattr(Hippocampe, verb)).parameters.items():
        if parameter.kind is inspect.Parameter.POSITIONAL_OR_KEYWORD and name != "self":
            if name not in named:
                break
            positional.append(named.pop(name))
    with connected as hippo:
        return outcome(lambda: getattr(hippo, verb)(*positional, **named))


@dataclass(frozen=True, slots=True)
class Endpoint:
    """How REST calls a verb.

    Attributes:
        request: Method and path; arguments in braces go into the path.
        renamed: Names of query parameters and fields of bodies, where they differ.
        lacks: Arguments that the endpoint does not take.
        unsent: Arguments of the library that have no meaning here.
        more: What the endpoint takes beside the arguments.
        file: The argument whose file is the body.
        form: What the endpoint answers, made of the result of the library.
    """

    request: str
    renamed: Mapping[str, str] = field(default_factory=dict[str, str])
    lacks: frozenset[str] = frozenset()
    unsent: frozenset[str] = frozenset()
    more: Mapping[str, Any] = field(default_factory=dict[str, Any])
    file: str | None = None
    form: Callable[[Json, Arguments], Json] = lambda result, given: result

    def split(self, arguments: Arguments) -> tuple[str, dict[str, Any], dict[str, Any]]:
        """The path, the query and the body of a call."""
        method, _, path = self.request.partition(" ")
        query, body = dict[str, Any](), dict[str, Any]()
        for name, value in arguments.items():
            place = self.renamed.get(name, name)
            if name == "scope":
                query |= {each: getattr(value, each) for each in ("space", "user", "channel")}
            elif f"{{{name}}}" in path:
                path = path.replace(f"{{{name}}}", str(value))
            elif name not in (self.file, "progress", *self.unsent):
                in_body = method in ("POST", "PATCH") and self.file is None
                (body if in_body else query)[place] = typed(value)
        (body if method == "POST" and body else query).update(self.more)
        return path, query, body


def typed(value: Any) -> Any:
    """An argument as people write it: lifetimes as text."""
    if isinstance(value, timedelta):
        return f"{value // timedelta(hours=1)}h"
    return as_json(value)


def _fact(memory: Json) -> Json:
    return {
        "key": memory["key"],
        "value": memory["content"],
        "id": memory["id"],
        "updated_at": memory["updated_at"],
    }


def _found(item: Json) -> Json:
    return {name: item[name] for name in ("id", "kind", "score", "channel", "at")} | {
        "excerpt": item["content"]
    }


_FORMS: dict[str, Callable[[Json, Arguments], Json]] = {
    "neighbours": lambda result, given: dict(
        zip(("memories", "associations"), result, strict=True)
    ),
    "after_turn": lambda turn, given: {"turn_id": turn},
    "observe": lambda message, given: {"message": message},
    "facts": lambda facts, given: [_fact(each) for each in facts.values()],
    "set_fact": lambda done, given: _fact(done["memory"]),
    "delete_fact": lambda memory, given: _fact(memory),
}
"""What an endpoint answers, made of the result of the library, if it is not that result."""


def _passed_on(endpoint: endpoints.Endpoint) -> Endpoint:
    """An endpoint of the server's table."""
    name = endpoint.verb.__name__
    in_query = endpoint.request.startswith(("GET", "DELETE"))
    takes = inspect.signature(endpoint.verb).parameters.keys()
    return Endpoint(
        endpoint.request.replace(":path}", "}"),
        endpoints.QUERY_NAMES if in_query else {},
        lacks=frozenset({*endpoint.fixed, *(endpoints.NOT_IN_QUERIES if in_query else ())} & takes),
        form=_FORMS.get(name, lambda result, given: result),
    )


REST: dict[str, Endpoint] = {
    **{each.verb.__name__: _passed_on(each) for each in endpoints.ENDPOINTS},
    "remember": Endpoint("POST /api/memories"),
    "before_turn": Endpoint("POST /api/before_turn", more={"explain": True}),
    "messages": Endpoint(
        "GET /api/messages", {"external_ids": "external_id"}, lacks=frozenset({"live", "ids"})
    ),
    "search_text": Endpoint(
        "GET /api/messages", {"query": "q", "user": "of_user"}, lacks=frozenset({"channel"})
    ),
    "spaces": Endpoint("GET /api/spaces"),
    "stats": Endpoint("GET /api/memory/stats"),
    "export_to": Endpoint(
        "GET /api/export", {"user": "of_user"}, unsent=frozenset({"path", "overwrite"})
    ),
    "import_from": Endpoint(
        "POST /api/import",
        more={"name": "talk.txt"},
        file="path",
    ),
    "keys": Endpoint("GET /api/keys"),
    "revoke_key": Endpoint("DELETE /api/keys/{id}"),
}
NOT_REST = VERBS.keys() - REST.keys() - {"close"}
"""Verbs without an endpoint."""
NO_VERB = {"GET /api/memory/search", "POST /api/chat", "GET /api/notes"}
"""Endpoints that call several verbs or one in another form; they have tests of their own."""


def rest(world: World, server: Server, verb: str, arguments: Arguments) -> Json:
    server.put(world.hippo)
    endpoint = REST[verb]
    path, query, body = endpoint.split(arguments)
    answer = httpx.request(
        endpoint.request.split()[0],
        f"{server.url}{path}",
        params=query,
        json=body or None,
        content=None if endpoint.file is None else Path(arguments[endpoint.file]).read_bytes(),
        timeout=60,
    )
    if not answer.is_success:
        problem = answer.json()
        return {"error": problem["detail"], "kind": problem["type"].rpartition(":")[2]}
    if answer.status_code == 204:
        return None
    if verb == "export_to":
        with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
            return len(archive.namelist())
    return answer.json()


@dataclass(frozen=True, slots=True)
class Command:
    """How the command line calls a verb.

    Attributes:
        words: The command.
        positional: Arguments without an option, in order.
        options: Options, where they are not the name of the argument.
        lacks: Arguments that the command does not take.
        more: What it takes beside the arguments.
        scoped: Whether it takes a space, a user and a channel.
        form: What it prints, made of the result of the library and the arguments.
    """

    words: str
    positional: tuple[str, ...] = ()
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    lacks: frozenset[str] = frozenset()
    more: tuple[str, ...] = ()
    scoped: bool = True
    form: Callable[[Json, Arguments], Json] = lambda result, given: result

    def typed(self, arguments: Arguments) -> list[str]:
        """The words of a command line."""
        line = self.words.split()
        for name, value in arguments.items():
            if name == "scope":
                for each in ("space", "user", "channel"):
                    line += [f"--{each}", getattr(value, each)]
            elif name not in self.positional and name not in ("progress", "items"):
                line += _option(self.options.get(name, f"--{name.replace('_', '-')}"), value)
        line += self.more
        # They may begin with a dash.
        for name in self.positional:
            value = arguments[name]
            line += [_word(each) for each in (value if isinstance(value, list) else [value])]
        return line


def _option(option: str, value: Any) -> list[str]:
    if value is True:
        return [option]
    if value is False:
        return []
    if isinstance(value, list | tuple):
        return [part for each in value for part in (option, _word(each))]
    return [option, _word(value)]


def _word(value: Any) -> str:
    if value is None:
        return "never"
    value = value["content"] if isinstance(value, dict) and "content" in value else typed(value)
    return value if isinstance(value, str) else json.dumps(value)


_PRINTED: dict[str, Callable[[Json, Arguments], Json]] = {
    "neighbours": lambda result, given: {"memories": result[0], "associations": result[1]},
    "settle": lambda result, given: {
        "settled": [given["id"], given["other_id"]],
        "kept": given["keep"],
    },
    "after_turn": lambda turn, given: {"turn": turn},
    "backup": lambda path, given: {"path": path},
    "export_to": lambda files, given: {"path": str(given["path"]), "files": files},
}
"""What a command prints, made of the result of the library, if it is not that result."""


def commands_of(group: Any, words: str = "") -> Iterator[tuple[str, Any]]:
    """The commands of the program by their words."""
    for name, command in getattr(group, "commands", {}).items():
        yield from commands_of(command, f"{words} {name}".strip())
    if not hasattr(group, "commands"):
        yield words, group


def _made(words: str, made: VerbCommand) -> tuple[str, Command]:
    """A command that was made from a verb, by the verb."""
    verb, parts = made.callback.verb, made.callback.parts()  # pyright: ignore
    found = {each.name: each for each in made.params}
    options = {each.argument: found[name] for name, each in parts.items()}
    takes = inspect.signature(getattr(Hippocampe, verb)).parameters.keys()
    return verb, Command(
        words,
        tuple(name for name, each in options.items() if each.param_type_name == "argument"),
        {name: each.opts[0] for name, each in options.items()},
        lacks=frozenset(takes - options.keys() - {"self", "scope", "progress"}),
        more=("--explain",) if verb == "before_turn" else (),
        scoped=any("--space" in each.opts for each in made.params),
        form=_PRINTED.get(verb, lambda result, given: result),
    )


PROGRAM = dict(commands_of(get_command(app)))
COMMANDS: dict[str, Command] = {
    **dict(_made(words, each) for words, each in PROGRAM.items() if isinstance(each, VerbCommand)),
    "remember_many": Command("remember"),
    "facts": Command("facts list"),
    "notes": Command("notes", lacks=frozenset({"refresh"})),
    "settings": Command("settings list"),
    "update_settings": Command("settings set"),
    "keys": Command("keys list", scoped=False),
    "reindex": Command("reindex", scoped=False),
}
NOT_COMMANDS = VERBS.keys() - COMMANDS.keys() - {"close"}
"""Verbs without a command."""
NO_VERB_COMMANDS = {
    *("serve", "mcp", "hook prompt-submit", "hook session-start", "hook stop", "chat", "worker"),
    *("self list", "self load", "doctor", "demo", "settings reset", "migrate", "scrub"),
    *("move-space", "spread-spaces"),
}
"""Commands that are no verb; they have tests of their own."""
OTHER_OPTIONS = {
    "remember": {"--file"},
    "notes": {"--vault", "--ignore", "--obsidian", "--certificate", "--insecure"},
    "import": {"--dry-run"},
    "forget": {"--yes"},
    "erase": {"--yes"},
}
"""Options that are no argument of a verb."""


def command_line(world: World, server: Server, verb: str, arguments: Arguments) -> Json:
    """The command line beside the process that owns the folder."""
    where = {"HIPPOCAMPE_FOLDER": str(world.hippo.config.folder)}
    if verb == "update_settings":
        scope = {"scope": arguments["scope"]}
        for name, value in arguments.items():
            if name != "scope":
                words = value if isinstance(value, tuple) else [value]
                _run([*COMMANDS[verb].typed(scope), name, *map(_word, words)], where)
        return _run(COMMANDS["settings"].typed(scope), where)
    line = COMMANDS[verb].typed(arguments)
    if verb == "remember_many":
        file = world.file("items.jsonl")
        file.write_text("\n".join(map(json.dumps, arguments["items"])))
        line += ["--file", str(file)]
    if verb == "notes":
        line += ["--vault", str(world.root / "vault")]
    if verb in ("forget", "erase") and "dry_run" not in arguments:
        line.append("--yes")
    return _run(line, where)


def _run(line: list[str], where: Mapping[str, str]) -> Json:
    done = CliRunner(env=where).invoke(app, [*line, "--json"])
    assert isinstance(done.exception, SystemExit | None), (line, done.exception)
    assert done.stdout, (line, done.stderr)
    return json.loads(done.stdout)


Call = Callable[[World, Server, str, Arguments], Json]
DOORS: dict[str, Call] = {
    "library": library,
    "AsyncHippocampe": awaited,
    "RemoteHippocampe": remote,
    "REST": rest,
    "command line": command_line,
}
