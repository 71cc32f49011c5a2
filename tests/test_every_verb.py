"""Every verb does the same by every door, with every argument; the verbs and arguments come from signatures."""

import asyncio
import inspect
import json
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing, contextmanager
from dataclasses import fields
from pathlib import Path
from typing import Any, Literal, get_args, get_origin, get_type_hints

import pytest
from pydantic import ConfigDict, TypeAdapter, ValidationError

from hashed import install
from hippocampe import Hippocampe, InvalidInput
from hippocampe.client import transfer
from hippocampe.client.local import LocalConnection
from hippocampe.client.wire import encode
from hippocampe.server.app import create_app
from hippocampe.server.http import served as serving
from hippocampe.server.http.served import ServedMemory
from hippocampe.server.mcp.service import TOOL_SETS
from hippocampe.types import Settings
from hippocampe.verbs import SENT, VERBS
from served import served
from verb_arguments import ME
from verb_cases import CASES, SETTINGS, World, open_copy, prepare
from verb_doors import (
    COMMANDS,
    DOORS,
    NO_VERB,
    NO_VERB_COMMANDS,
    NOT_COMMANDS,
    NOT_REST,
    OTHER_OPTIONS,
    PROGRAM,
    REST,
    Normal,
    Server,
)
from verb_tools import call_tools, outline, seen, tool_calls

OF_THE_OWNER = {"open", "connect", "close"}
"""Verbs that make and end a memory, with tests of their own."""
HERE_ONLY = VERBS.keys() - SENT.keys() - OF_THE_OWNER
"""Verbs of the process that owns the data."""
FAILS = {"extract"}
"""Verbs that need a language model, which has tests of its own."""
EMPTY = {"settle", "check_budget", "flush", "announce"}
"""Verbs that return nothing."""
ABSENT = {
    "library": set[str](),
    "AsyncHippocampe": set[str](),
    "RemoteHippocampe": HERE_ONLY,
    "REST": NOT_REST,
    "command line": NOT_COMMANDS,
}
LACKS = {
    "REST": {verb: endpoint.lacks for verb, endpoint in REST.items()},
    "command line": {verb: command.lacks for verb, command in COMMANDS.items()},
}


FORMS = {
    "REST": {verb: endpoint.form for verb, endpoint in REST.items()},
    "command line": {verb: command.form for verb, command in COMMANDS.items()},
}


def verbs() -> dict[str, inspect.Signature]:
    members = inspect.getmembers(Hippocampe, inspect.isroutine)
    found = {name: inspect.signature(each) for name, each in members if name[0] != "_"}
    return {name: each for name, each in found.items() if name not in OF_THE_OWNER}


Template = tuple[Path, dict[str, str]]


@pytest.fixture(scope="module")
def template(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Template]:
    with pytest.MonkeyPatch.context() as patch:
        install(patch.setattr)
        root = tmp_path_factory.mktemp("template") / "prepared"
        yield root, prepare(root)


Open = Callable[[str], World]


@contextmanager
def opened(template: Template, root: Path) -> Iterator[World]:
    """A copy of the prepared folder, removed at the end: its index takes much room."""
    world = open_copy(*template, root)
    try:
        yield world
    finally:
        world.hippo.close()
        shutil.rmtree(root)


@pytest.fixture
def open_world(template: Template, tmp_path: Path) -> Iterator[Open]:
    """Open a copy of the prepared folder under a name."""
    with ExitStack() as stack:
        yield lambda name: stack.enter_context(opened(template, tmp_path / name))


@pytest.fixture(scope="module")
def world(template: Template, tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """One memory for all calls that change nothing."""
    with opened(template, tmp_path_factory.mktemp("shared") / "world") as made:
        yield made


@pytest.fixture(scope="module")
def server(world: World) -> Iterator[Server]:
    """One server for all tests of the module: each puts its memory there."""
    with pytest.MonkeyPatch.context() as patch:
        # A count is made each time: the next test has another memory.
        patch.setattr(serving, "EXPENSIVE_SECONDS", float("inf"))
        memory = ServedMemory(world.hippo)
        with served(memory, loopback=True) as url:
            yield Server(url, lambda hippo: setattr(memory, "sync", hippo))


def test_every_verb_has_a_call_with_every_argument(world: World) -> None:
    assert verbs().keys() == CASES.keys()
    assert {each.name for each in fields(Settings)} == SETTINGS.keys()
    for verb, signature in verbs().items():
        calls = [case(world) for case in CASES[verb]]
        for name, parameter in list(signature.parameters.items())[1:]:
            if parameter.kind is parameter.VAR_KEYWORD:
                assert calls[0].keys() >= SETTINGS.keys()
                continue
            values = [call[name] for call in calls if name in call]
            assert any(value != parameter.default for value in values), (verb, name)
    for name, value in SETTINGS.items():
        assert value != getattr(Settings(), name), name


def test_every_verb_is_called_by_every_door_or_named_as_absent() -> None:
    for door, absent in ABSENT.items():
        present = LACKS[door].keys() if door in LACKS else CASES.keys() - absent
        assert present | absent == CASES.keys(), door
        assert not present & absent, door
    for door, verbs_of in LACKS.items():
        for verb, lacks in verbs_of.items():
            assert lacks <= verbs()[verb].parameters.keys(), (door, verb)


def differences(found: Any, wanted: Any, at: str = "") -> list[str]:
    """The places where two values differ."""
    if isinstance(found, dict) and isinstance(wanted, dict) and found.keys() == wanted.keys():
        pairs = [(found[name], wanted[name], f"{at}.{name}") for name in found]
    elif isinstance(found, list) and isinstance(wanted, list) and len(found) == len(wanted):
        pairs = [
            (*each, f"{at}[{place}]") for place, each in enumerate(zip(found, wanted, strict=True))
        ]
    else:
        return [] if found == wanted else [f"{at}: {found!r:.300} instead of {wanted!r:.300}"]
    return [each for pair in pairs for each in differences(*pair)]


@pytest.mark.parametrize("door", [door for door in DOORS if door != "library"])
def test_a_door_does_what_the_library_does(door: str, open_world: Open, server: Server) -> None:
    """The same calls on two copies of a folder, here by the library and there by the door."""
    here, there = open_world("here"), open_world("there")
    normal_here, normal_there = Normal(here), Normal(there)
    called, different = set[str](), list[str]()
    for verb, cases in CASES.items():
        absent = verb in ABSENT[door]
        lacks = LACKS.get(door, {}).get(verb, frozenset[str]())
        for case in cases:
            mine, theirs = (
                {name: value for name, value in case(world).items() if name not in lacks}
                for world in (here, there)
            )
            result = DOORS["library"](here, server, verb, mine)
            failed = isinstance(result, dict) and result.keys() == {"error", "kind"}
            assert (result or verb in EMPTY) and failed == (verb in FAILS), (verb, mine, result)
            if absent:
                # So that both copies go on as the same.
                DOORS["library"](there, server, verb, theirs)
                continue
            answer = DOORS[door](there, server, verb, theirs)
            form = FORMS.get(door, {}).get(verb)
            expected = form(result, mine) if form else result
            different += [
                f"{verb}{each}"
                for each in differences(normal_there.of(answer), normal_here.of(expected))
            ]
            called.add(verb)
    assert not different, "\n".join(different)
    assert called == CASES.keys() - ABSENT[door]


def own_options(command: Any) -> set[str]:
    """The options of a command, but for those that all commands share."""
    shared = {"folder", "space", "user", "channel", "embedder", "json", "config_file", "chosen"}
    return {
        each.opts[0]
        for each in command.params
        if each.name not in shared and each.opts[0].startswith("--")
    }


def test_every_option_of_the_command_line_is_used(world: World) -> None:
    used = {words: set(options) for words, options in OTHER_OPTIONS.items()}
    for verb, command in COMMANDS.items():
        for case in CASES[verb]:
            given = {name: each for name, each in case(world).items() if name not in command.lacks}
            words = {word for word in command.typed(given) if word.startswith("--")}
            used[command.words] = used.get(command.words, set[str]()) | words
    assert PROGRAM.keys() == used.keys() | NO_VERB_COMMANDS
    for words in used:
        assert own_options(PROGRAM[words]) <= used[words], words


def test_every_endpoint_and_what_it_takes_is_used(world: World) -> None:
    used: dict[str, set[str]] = {}
    for verb, endpoint in REST.items():
        for case in CASES[verb]:
            given = {name: each for name, each in case(world).items() if name not in endpoint.lacks}
            _, query, body = endpoint.split(given)
            place = re.sub(r"{\w+}", "{}", endpoint.request)
            used[place] = used.get(place, set[str]()) | query.keys() | body.keys()
    document = create_app(world.hippo).openapi()
    taken: dict[str, set[str]] = {}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            place = re.sub(r"{\w+}", "{}", f"{method.upper()} {path}")
            if path.startswith(("/api/", "/admin/")) and place not in NO_VERB:
                taken[place] = {
                    each["name"]
                    for each in operation.get("parameters", [])
                    if each["in"] == "query"
                } | fields_of_body(operation, document)
    assert used.keys() == taken.keys()
    for place, names in taken.items():
        # Endpoints on all spaces take the scope too.
        assert names - {"space", "user", "channel"} <= used[place], place


def fields_of_body(operation: dict[str, Any], document: dict[str, Any]) -> set[str]:
    content = operation.get("requestBody", {}).get("content", {})
    schema = content.get("application/json", {}).get("schema", {})
    name = schema.get("$ref", "").rpartition("/")[2]
    return set(document["components"]["schemas"][name]["properties"]) if name else set[str]()


def test_every_tool_does_what_the_library_does(open_world: Open, server: Server) -> None:
    here, there = open_world("here"), open_world("there")
    steps = tool_calls(here.ids)
    server.put(there.hippo)
    answers = asyncio.run(call_tools(server, [(each.tool, each.arguments) for each in steps]))
    normal_here, normal_there = Normal(here), Normal(there)
    for step, answer in zip(steps, answers, strict=True):
        result = getattr(here.hippo, step.verb)(**step.named)
        assert result, step
        assert normal_there.of(seen(answer)) == normal_here.of(outline(result)), step


def test_every_tool_is_called_with_every_argument(world: World) -> None:
    steps = tool_calls(world.ids)
    for tool in TOOL_SETS["all"]:
        given = [each.arguments for each in steps if each.tool == tool.name]
        for name, schema in tool.described().input_schema["properties"].items():
            values = [each[name] for each in given if name in each]
            assert any(value != schema.get("default") for value in values), (tool.name, name)


WRONG = (None, True, 5, 1.5, "rhubarbe", ["rhubarbe"], [5], {"rhubarbe": 1}, [["rhubarbe"]])
TAKES_ANYTHING = {
    (verb, argument) for verb in ("before_turn", "preview") for argument in ("message", "role")
}
"""Arguments of hosts, which are served whatever they hand over."""


def misfits(hint: Any) -> list[Any]:
    """The values that JSON can carry and an argument of this type cannot be."""
    adapter = TypeAdapter(list[hint], config=ConfigDict(arbitrary_types_allowed=True, strict=True))

    def fits(value: Any) -> bool:
        try:
            adapter.validate_json(json.dumps([value]))
        except ValidationError:
            return False
        return True

    return [value for value in WRONG if not fits(value)]


def refusal(connection: LocalConnection, verb: str, named: dict[str, Any]) -> str | None:
    """The text of the error by which the owner refuses a call; None if it takes it."""
    try:
        connection.call(verb, (), named)
    except InvalidInput as exc:
        return str(exc)
    return None


@pytest.mark.parametrize("verb", sorted(SENT))
def test_an_argument_of_a_wrong_type_is_refused_by_the_owner(verb: str, world: World) -> None:
    hints = get_type_hints(getattr(Hippocampe, verb))
    before = (world.hippo.stats(scope=ME), world.hippo.settings(scope=ME))
    unclear = list[str]()
    with closing(LocalConnection(world.hippo.config.folder)) as connection:
        for name, parameter in list(verbs()[verb].parameters.items())[1:]:
            if parameter.kind is parameter.VAR_KEYWORD or name == "progress":
                continue
            right = next(given for case in CASES[verb] if name in (given := case(world)))
            right = {each: encode(value) for each, value in right.items() if each != "progress"}
            for wrong in misfits(hints[name]):
                refused = refusal(connection, verb, right | {name: wrong})
                clear = refused is not None and "install" not in refused
                if not (clear or (refused is None and (verb, name) in TAKES_ANYTHING)):
                    unclear.append(f"{name}={wrong!r}: {refused}")
    assert not unclear, "\n".join(unclear)
    assert (world.hippo.stats(scope=ME), world.hippo.settings(scope=ME)) == before


def test_import_and_export_take_over_http_what_the_verbs_take() -> None:
    for verb, call in transfer.VERBS.items():
        takes = inspect.signature(call).parameters.keys() - {"connection", "space"}
        assert verbs()[verb].parameters.keys() - {"self"} <= takes, verb


LABELS = {
    *("id", "other_id", "source_id", "target_id", "turn_id", "name", "key", "kind"),
    *("type", "collection", "category", "user", "channel", "external_id", "label"),
}


def unusable(argument: str, hint: Any) -> list[Any]:
    """Values of the type of an argument that no verb takes: out of bounds, or none of its choices."""
    kinds = get_args(hint) if type(None) in get_args(hint) else (hint,)
    found = list[Any]()
    for kind in kinds:
        if get_origin(kind) is Literal:
            found.append("rhubarbe")
        elif kind is int:
            found.append(-1)
        elif argument in ("types", "collections", "states", "kinds"):
            found.append(["rhubarbe"])
        elif argument == "subjects":
            found.append(["owen"] * 101)
        elif kind is str and argument in LABELS:
            found.append("x" * 201)
    return found


@pytest.mark.parametrize("door", [door for door in DOORS if door != "library"])
def test_a_door_refuses_a_value_in_the_words_of_the_library(
    door: str, world: World, server: Server
) -> None:
    different, tried = list[str](), 0
    for verb in CASES.keys() - ABSENT[door]:
        hints = get_type_hints(getattr(Hippocampe, verb))
        lacks = LACKS.get(door, {}).get(verb, frozenset[str]())
        cases = [
            {name: value for name, value in case(world).items() if name not in lacks}
            for case in CASES[verb]
        ]
        for argument in verbs()[verb].parameters.keys() - lacks - {"self", "scope", "progress"}:
            for wrong in unusable(argument, hints.get(argument)):
                given = next(each for each in cases if argument in each) | {argument: wrong}
                refused = DOORS["library"](world, server, verb, given)
                assert refused.keys() == {"error", "kind"}, (verb, argument, refused)
                answer = DOORS[door](world, server, verb, given)
                different += [f"{verb} {each}" for each in differences(answer, refused)]
                tried += 1
    assert not different, "\n".join(different)
    assert tried > 40


def test_a_setting_of_a_wrong_type_is_refused_by_the_owner(world: World) -> None:
    hints = get_type_hints(Settings)
    before = world.hippo.settings(scope=ME)
    with closing(LocalConnection(world.hippo.config.folder)) as connection:
        for name in SETTINGS:
            for wrong in misfits(hints[name] | None):
                refused = refusal(connection, "update_settings", {"scope": encode(ME), name: wrong})
                assert refused is not None, (name, wrong)
                assert name in refused
    assert world.hippo.settings(scope=ME) == before
