"""Two spaces with two keys: whatever one sends, it neither sees, changes nor guesses what the other has."""

import inspect
import io
import json
import random
import re
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import cache
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import quote, unquote_plus

import httpx
import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from sqlalchemy import Dialect, LargeBinary, Select, Text, cast, literal, null, select, union_all
from test_access import MORE, endpoints

import tier
from conftest import FakeClock
from extraction.ledgers import context_of
from hashed import install
from hippocampe import Config, Hippocampe, Scope
from hippocampe.client.wire import encode
from hippocampe.config import UPSTREAM_URL
from hippocampe.errors import HippocampeError, InvalidInput
from hippocampe.server.http.access import PROXY
from hippocampe.store import schema
from hippocampe.verbs import SENT, VERBS
from model_server import Answer, ModelServer
from served import served
from verb_arguments import ME
from verb_cases import CASES, World, config_of, furnish
from verb_cases import ID as IN_BYTES
from verb_doors import REST
from verb_tools import tool_calls

ID = re.compile(IN_BYTES.pattern.decode())
WORDS = ("zorvexa", "plimtuko")
"""Each space has one of these words, which begins its marks; each text that it stores ends with a mark."""
MARK = re.compile(rf"({'|'.join(WORDS)})\d+x\d+")
NOTE = f"Semis {WORDS[0]}0x1000000"
"""The title of a note, which the first space with the first word has."""
CHAT: dict[str, Any] = {
    "model": "x",
    "messages": [{"role": "user", "content": "Que sais-tu du voilier rouge ?"}],
}
RESPONSE: dict[str, Any] = {"model": "x", "input": "Que sais-tu du voilier rouge ?"}
PROXIED = [
    ("GET", "/v1/models", None, "read"),
    ("POST", "/v1/chat/completions", CHAT, "write"),
    ("POST", "/v1/responses", RESPONSE, "write"),
    ("POST", "/v1/messages", {**CHAT, "max_tokens": 9}, "write"),
]
DOORS = ("RPC", "REST", "MCP", "path")
STRANGE = ("x", "../home", "%2e%2e")
"""Ids of no form."""
UNLIKE = 0x5A5A
"""Makes an id that never existed of one that does: it sorts beside it."""

Change = Callable[[str, str], str]
"""What becomes of a text, by the name of its argument or field."""


def changed(value: Any, change: Change, name: str = "") -> Any:
    """A value with all its texts changed."""
    if isinstance(value, str):
        return change(name, value)
    if isinstance(value, Scope):
        labels = {each: getattr(value, each) for each in ("space", "user", "channel")}
        return Scope(**changed({each: text for each, text in labels.items() if text}, change))
    if isinstance(value, Mapping):
        return {each: changed(item, change, each) for each, item in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(changed(each, change, name) for each in value)
    return value


def texts(value: Any) -> list[tuple[str, str]]:
    """All texts of a value, each with the name of its argument or field."""
    found = list[tuple[str, str]]()

    def keep(name: str, text: str) -> str:
        found.append((name, text))
        return text

    changed(value, keep)
    return found


@pytest.fixture(scope="module")
def closed(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """The arguments that take words of ours only, such as a type: the library refuses them with a mark."""
    root, clock = tmp_path_factory.mktemp("closed"), FakeClock()
    (root / "vault").mkdir()
    with pytest.MonkeyPatch.context() as patch:
        install(patch.setattr)
        with Hippocampe.open(config_of(root), clock=clock) as memory:
            return closed_names(memory, clock, root)


def closed_names(memory: Hippocampe, clock: FakeClock, root: Path) -> set[str]:
    """The arguments whose text a memory refuses with a mark."""
    closed = {"space"}
    world = World(root, memory, furnish(memory, clock), frozenset())

    def mark(name: str, text: str) -> str:
        return text if name in closed or ID.fullmatch(text) else f"{text} {WORDS[0]}"

    for verb in (each for each in SENT if VERBS[each].reach == "space" or each in REST):
        for case in CASES[verb]:
            arguments = case(world)
            while True:
                try:
                    getattr(memory, verb)(**changed(arguments, mark))
                except InvalidInput as exc:
                    blamed = {
                        name
                        for name, text in texts(arguments)
                        if text not in ("", mark(name, text))
                        and (
                            mark(name, text)[:30] in str(exc) or re.search(rf"\b{name}\b", str(exc))
                        )
                    }
                    if not blamed:
                        break
                    closed |= blamed
                except HippocampeError:
                    break
                else:
                    break
    return closed


@dataclass(frozen=True, slots=True)
class Call:
    """What a client can send.

    Attributes:
        door: One of `DOORS`; `path` for endpoints that are no verb.
        name: The verb, the tool, or method and path.
        arguments: With its scope.
        verb: The verb that it calls, if it is one.
    """

    door: str
    name: str
    arguments: dict[str, Any]
    verb: str = ""

    @property
    def reads(self) -> bool:
        """Whether it only reads."""
        return self.verb in VERBS and not VERBS[self.verb].writes

    def may_lack(self, name: str) -> bool:
        """Return whether a call can do without an argument."""
        if self.door not in ("RPC", "REST"):
            return False
        found = inspect.signature(getattr(Hippocampe, self.name)).parameters.get(name)
        return found is None or found.default is not found.empty

    def request(self, chosen: Mapping[str, Any]) -> tuple[str, str, str]:
        """Method, address and body, with chosen arguments."""
        if self.door == "RPC":
            body = {"arguments": [], "named": encode(_sent(chosen))}
            return "POST", f"/api/verbs/{self.name}", json.dumps(body)
        scope: Scope | None = chosen.get("scope")
        query = {} if scope is None else encode(scope)
        others = {name: value for name, value in chosen.items() if name != "scope"}
        if self.door == "MCP":
            call = {"name": self.name, "arguments": others}
            body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": call}
            return "POST", _address("/mcp", query), json.dumps(body)
        if self.door == "path":
            method, _, path = self.name.partition(" ")
            path, _, fixed = path.partition("?")
            body = json.dumps(chosen["body"]) if chosen.get("body") else ""
            return method, _address(path, dict(httpx.QueryParams(fixed)) | query), body
        endpoint = REST[self.name]
        path, query, body = endpoint.split(_sent(chosen))
        method = endpoint.request.split()[0]
        text = json.dumps(body) if body else chosen.get(endpoint.file or "", "")
        return method, _address(path, query), text


def _sent(arguments: Mapping[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in arguments.items() if not callable(value)}


def _address(path: str, query: Mapping[str, Any]) -> str:
    given = {name: value for name, value in query.items() if value is not None}
    return f"{path}?{httpx.QueryParams(given)}" if given else path


class Side:
    """A space with a key: what it has, and what its client was told of the other.

    Args:
        word: The beginning of its marks.
        number: The example, each of which has spaces of its own.
        memory: The open memory.
        closed: The arguments without marks.
    """

    other: "Side"
    calls: list[Call]

    def __init__(self, word: str, number: int, memory: Hippocampe, closed: set[str]) -> None:
        self.space = f"{word}-{number}"
        self.mark = f"{word}{number}x"
        self.memory = memory
        self._closed = closed
        self._marked = dict[str, str]()
        self.plain = dict[str, str]()
        self.has = dict[str, None]()
        """The ids that it has, in order."""
        self.told = set[str]()
        """Marks and ids of the other that its client has sent."""
        self.renew_key()

    def renew_key(self) -> None:
        made = self.memory.create_key(scope=Scope(space=self.space), role="admin")
        self.headers = {"Authorization": f"Bearer {made.secret}"}

    def asked(self, name: str, text: str) -> str:
        """A text as a reader of this space sends it: what is stored with a mark is sought with it."""
        return self.marked(name, text) if name == "space" or text in self._marked else text

    def marked(self, name: str, text: str) -> str:
        """A text as this space stores it: the same for the same text."""
        if name == "space":
            return self.space
        if name in self._closed or not text or ID.fullmatch(text):
            return text
        if text not in self._marked:
            self._marked[text] = f"{text} {self.mark}{len(self._marked)}"
            self.plain[self._marked[text]] = text
        return self._marked[text]

    def __getattr__(self, name: str) -> Any:
        """A verb of the library, called with marked texts."""
        step = getattr(self.memory, name)
        if name not in VERBS:
            return step

        def call(*arguments: Any, **named: Any) -> Any:
            bound = inspect.signature(step).bind(*arguments, **named).arguments
            bound |= bound.pop("changes", {})
            return step(**changed(bound, self.marked if VERBS[name].writes else self.asked))

        return call

    def prepare(self, clock: FakeClock, root: Path) -> None:
        """Store something for each verb, and list what can be sent about it."""
        ids = furnish(self, clock, self.space)
        self.has |= dict.fromkeys(ID.findall(repr(rows(self.memory, self.space))))
        world: Any = World(root, self, ids, frozenset())  # pyright: ignore[reportArgumentType]
        calls = [Call("RPC", verb, case(world), verb) for verb in SENT for case in CASES[verb]]
        for verb in (each for each in CASES if each in REST and REST[each].file is None):
            for case in CASES[verb]:
                named = case(world)
                given = {each: named[each] for each in named if each not in REST[verb].lacks}
                calls.append(Call("REST", verb, given, verb))
        calls += [
            Call("MCP", each.tool, {**each.arguments, "scope": ME}, each.verb)
            for each in tool_calls(ids)
        ]
        calls += [
            Call("path", f"{method} {path}", {"scope": ME, "body": body})
            for method, path, body, _ in [*MORE, *PROXIED]
            if "/import" not in path
        ]
        self.calls = [
            replace(
                each,
                arguments=changed(each.arguments, self.asked if each.reads else self.marked),
            )
            for each in calls
        ]
        self.calls += self._imports(root)

    def _imports(self, root: Path) -> list[Call]:
        """Imports of its own archive, and of talk."""
        scope, archive = Scope(space=self.space), root / "archive.jsonl"
        self.memory.export_to(archive, scope=scope, overwrite=True)
        talk = changed({"author": "nina", "content": "On mange à midi"}, self.marked)
        files = [archive.read_text(), json.dumps({**talk, "at": "2026-01-10T12:00:00"})]
        return [
            Call("REST", "import_from", {"scope": scope, "path": text}, "import_from")
            for text in files
        ]


Rows = Mapping[str, set[tuple[str, ...]]]
"""What spaces have, by space."""


def rows(memory: Hippocampe, *spaces: str) -> Rows:
    """All that spaces have: memories with their history, talk, settings, jobs, keys, audit, and so their counts."""
    memory.flush()
    found: dict[str, set[tuple[str, ...]]] = {each: set() for each in spaces}
    with context_of(memory).corpus.store.read() as connection:
        query = _query(connection.dialect).format(spaces[0], spaces[-1])
        for row in connection.exec_driver_sql(query):
            found[row[0]].add(tuple(row))
    return found


@cache
def _query(dialect: Dialect) -> str:
    """The rows that the spaces `{0}` and `{1}` have in all tables, but for blobs, which are derived.

    Texts, after space and table. One statement, since it is executed after each request.
    """
    tables = {
        # Whoever comes first delivers what is in the outbox.
        table.name: (table, table.c.space)
        for table in schema.metadata.sorted_tables
        if "space" in table.c and table is not schema.outbox
    }
    tables[schema.retrieval_item.name] = schema.retrieval_item, schema.retrieval.c.space
    width = max(len(table.c) for table, _ in tables.values())
    selects = list[Select[Any]]()
    for name, (table, space) in tables.items():
        columns = [
            null() if isinstance(each.type, LargeBinary) else cast(each, Text) for each in table.c
        ]
        columns += [null()] * (width - len(columns))
        selects.append(
            select(space, literal(str(name)), *columns)
            .select_from(table if space.table is table else table.join(space.table))
            .where(space.in_(("{0}", "{1}")))
        )
    query = union_all(*selects)
    return str(query.compile(dialect=dialect, compile_kwargs={"literal_binds": True}))


Choose = Callable[[str, str, str], str]
"""Chooses what is sent: by the name of the argument, its own text, and that of the other space."""


def own(name: str, mine: str, theirs: str) -> str:
    return mine


def foreign(name: str, mine: str, theirs: str) -> str:
    """What names something of the other space."""
    return theirs if ID.fullmatch(mine) or name in ("cursor", "user", "channel", "key") else mine


def any_of(side: Side, chance: random.Random) -> Choose:
    """Whatever a client can make up: of its own, of the other, of none, of no form."""
    other = side.other

    def choose(name: str, mine: str, theirs: str) -> str:
        if name == "space":
            near = (other.space, other.space.upper(), f"{other.space} ", "%")
            return mine if chance.random() < 0.9 else chance.choice(near)
        if ID.fullmatch(mine):
            found = chance.choice([*other.has]), chance.choice([*side.has]), chance.choice(STRANGE)
            return chance.choices((mine, theirs, *found), (5, 3, 2, 2, 1))[0]
        if ID.search(mine) and len(mine) > 1_000:
            return ID.sub(
                lambda id: id[0] if chance.random() < 0.9 else chance.choice([*other.has]), mine
            )
        return chance.choices((mine, side.plain.get(mine, mine), theirs), (5, 2, 2))[0]

    return choose


class Watch:
    """Sends requests of two sides, and checks after each what must hold.

    Args:
        url: The server.
        sides: The two.
        server: The model behind its proxy.
    """

    def __init__(self, url: str, sides: tuple[Side, Side], server: ModelServer) -> None:
        self._client = httpx.Client(base_url=url, timeout=60)
        self._server = server
        self._kept = rows(sides[0].memory, *(side.space for side in sides))
        self._asked = len(server.requests)
        self._sent = list[str]()
        self.done = set[str]()

    def close(self) -> None:
        self._client.close()

    def send(
        self, side: Side, number: int, choose: Choose, chance: random.Random | None = None
    ) -> None:
        """Send a request of a side, and check its answer and the other side."""
        call = side.calls[number]
        theirs = iter(texts(side.other.calls[number].arguments))
        chosen = changed(call.arguments, lambda name, text: choose(name, text, next(theirs)[1]))
        chosen = {
            name: value
            for name, value in chosen.items()
            if name == "scope" or not (chance and call.may_lack(name) and chance.random() < 0.2)
        }
        try:
            request = call.request(chosen)
        except InvalidInput:
            return
        self._sent.append(f"{side.space}: {request}")
        try:
            once = chance.choice(("", "", "key")) if chance else ""
            answer = self._answer(side, request, once)
            if answer.status_code == 503 or not _failed(answer):
                # 503: it needs a language model.
                self.done.add(call.name)
            if not once:
                self._check_twin(side, call, request, answer)
            self._check_other(side)
        except AssertionError as exc:
            exc.add_note("\n".join(self._sent))
            raise

    def _answer(self, side: Side, request: tuple[str, str, str], once: str = "") -> httpx.Response:
        """Send a request; neither its answer nor what a model is asked tells of the other space.

        Args:
            side: Who sends it.
            request: The request.
            once: Its idempotency key.
        """
        method, address, body = request
        sent = " ".join(map(unquote_plus, request))
        side.told |= {each[0] for each in MARK.finditer(sent)} | set(ID.findall(sent))
        headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        if once:
            headers["Idempotency-Key"] = once
        path, _, query = address.partition("?")
        if path.startswith(PROXY):
            labels = httpx.QueryParams(query).items()
            headers |= {f"X-Hippocampe-{name}": quote(label) for name, label in labels}

        def send() -> httpx.Response:
            return self._client.request(
                method, address, headers=headers | side.headers, content=body.encode() or None
            )

        answer = send()
        if answer.status_code == 401:
            # It revoked its key, or erased it with its space.
            side.renew_key()
            answer = send()
        assert answer.status_code < 500 or answer.status_code == 503, answer.text
        asked = [json.dumps(each.body) for each in self._server.requests[self._asked :]]
        self._asked += len(asked)
        for text in (_text(answer), *asked):
            marks = {each[0] for each in MARK.finditer(text) if not each[0].startswith(side.mark)}
            leaked = marks | (side.other.has.keys() & set(ID.findall(text)))
            assert leaked <= side.told, (request, leaked - side.told, text)
        return answer

    def _check_twin(
        self, side: Side, call: Call, request: tuple[str, str, str], answer: httpx.Response
    ) -> None:
        """What the other space has looks like what is not there."""
        method, address, body = request
        named = side.other.has.keys() & set(ID.findall(address + body))
        if not named and side.other.space not in address + body:
            return
        twins = {id: id[:-4] + format(int(id[-4:], 16) ^ UNLIKE, "04x") for id in named}
        twins[side.other.space] = f"nowhere-{len(side.other.space)}"
        if not _failed(answer) and not call.reads:
            # From now on it changes nothing more.
            answer = self._answer(side, request)
        address, body = (_replaced(each, twins) for each in (address, body))
        twin = self._answer(side, (method, address, body))
        assert _failed(twin) == _failed(answer), (request, answer.text, twin.text)
        if _failed(answer):
            said = _replaced(answer.text, twins)
            assert (twin.status_code, twin.text) == (answer.status_code, said), request

    def _check_other(self, side: Side) -> None:
        """The other space is as it was."""
        now = rows(side.memory, side.space, side.other.space)
        other, before = side.other.space, self._kept[side.other.space]
        assert now[other] == before, (before - now[other], now[other] - before)
        added = repr(now[side.space] - self._kept[side.space])
        self._kept = now
        side.has |= dict.fromkeys(set(ID.findall(added)) - side.told)


def _failed(answer: httpx.Response) -> bool:
    return answer.status_code >= 400 or '"isError":true' in answer.text


def _replaced(text: str, by: Mapping[str, str]) -> str:
    for old, new in by.items():
        text = text.replace(old, new)
    return text


def _text(answer: httpx.Response) -> str:
    if answer.headers.get("content-type") != "application/zip":
        return answer.text
    with zipfile.ZipFile(io.BytesIO(answer.content)) as archive:
        return " ".join(
            [*archive.namelist(), *(archive.read(each).decode() for each in archive.namelist())]
        )


Start = Callable[[], tuple[Watch, tuple[Side, Side]]]


@pytest.fixture(params=["embedded", "server tier"])
def start(
    request: pytest.FixtureRequest,
    closed: set[str],
    hashed: None,
    server: ModelServer,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> Iterator[Start]:
    """Make two spaces of one served memory, again for each example."""
    monkeypatch.setenv(UPSTREAM_URL, server.openai_url)
    server.brain = lambda request: Answer("Oui.")
    (tmp_path / "vault").mkdir()
    (tmp_path / "vault" / f"{NOTE}.md").write_text(f"# {NOTE}\n\nLe voilier rouge\n")
    servers = tier.current().settings(tmp_path) if request.param != "embedded" else {}
    config = Config(
        tmp_path / "data",
        embedder="hashed:64",
        background=False,
        notes_folder=tmp_path / "vault",
        notes_space=f"{WORDS[0]}-0",
        request_burst=100_000,
        **servers,
    )
    clock, numbers = FakeClock(), count()
    with ExitStack() as stack:
        if servers:
            stack.callback(tier.current().clean)
        memory = stack.enter_context(Hippocampe.open(config, clock=clock))
        url = stack.enter_context(served(memory, loopback=False))

        def made() -> tuple[Watch, tuple[Side, Side]]:
            number = next(numbers)
            one, two = (Side(word, number, memory, closed) for word in WORDS)
            one.other, two.other = two, one
            for side in (one, two):
                side.prepare(clock, tmp_path)
            watch = Watch(url, (one, two), server)
            stack.callback(watch.close)
            return watch, (one, two)

        yield made


def test_no_call_crosses_from_one_space_to_another(start: Start) -> None:
    """Every verb by every door: of its own space, where each succeeds, and with what names things of the other."""
    for door in DOORS:
        watch, sides = start()
        expected = set[str]()
        for number, call in enumerate(sides[0].calls):
            # Other arguments of a verb are the same by all doors.
            if call.door == door and (door == "RPC" or call.name not in expected):
                watch.send(sides[1], number, foreign)
                watch.send(sides[0], number, own)
                expected.add(call.name)
        opened = {name for name in expected if door != "RPC" or VERBS[name].reach == "space"}
        assert expected and opened <= watch.done, (door, opened - watch.done)


def test_no_sequence_of_calls_crosses(start: Start) -> None:
    @settings(
        max_examples=3,
        database=None,
        # What was sent says enough: to find less that fails takes minutes.
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(
        st.lists(
            st.tuples(st.integers(0, 1), st.integers(0, 2**32)),
            min_size=10,
            max_size=25,
        )
    )
    def check(steps: list[tuple[int, int]]) -> None:
        watch, sides = start()
        for which, seed in steps:
            side, chance = sides[which], random.Random(seed)
            number = chance.randrange(len(side.calls))
            watch.send(side, number, any_of(side, chance), chance)

    check()


def test_every_endpoint_is_tried(client: httpx.Client) -> None:
    """A new endpoint needs a row in the table of `test_access`."""
    tried = {
        (method, path.partition("?")[0])
        for method, path, _, _ in [*endpoints("{id}", "{key}"), *PROXIED]
    }
    paths = client.get("/openapi.json").json()["paths"]
    described = {
        (method.upper(), path.replace("{source_id}", "{id}"))
        for path, methods in paths.items()
        for method in methods
        if not path.endswith("z")
    }
    assert tried == described
