"""Commands made from the declaration of a verb: its signature, and the section `Args:` of its docstring.

A keyword argument is an option of the same name, any other argument is positional. Deliberate differences of a
command stand beside it, as an `Override`.
"""

import inspect
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, wraps
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, NoReturn, cast

import typer
from typer.core import TyperCommand

from hippocampe import types
from hippocampe.cli import terminal
from hippocampe.cli.call import OF_A_FOLDER, OF_A_SPACE, Call, epilog_of, with_options
from hippocampe.cli.cells import TOGETHER, cells_of
from hippocampe.cli.help import Command
from hippocampe.client.arguments import Argument, result_type, signature
from hippocampe.types import UNSET, Unset
from hippocampe.verbs import VERBS

if TYPE_CHECKING:
    from hippocampe.hippocampe import Hippocampe

CATEGORIES = sorted({name for names in types.CATEGORIES.values() for name in names})
_CONSTANT = re.compile(r"`(hippocampe\.\w+)\.([A-Z_]+)`")
"""A constant in a docstring, whose values an argument takes."""


@dataclass(frozen=True, slots=True)
class Override:
    """Deliberate differences of an option from the argument of the verb.

    Attributes:
        flags: Its flags; default: the name of the argument, none of a positional argument.
        text: Its help; default: the text of the argument in the docstring of the verb.
        default: Its value if it is left out.
        metavar: The name of its value in the help.
        values: Values that shells complete, which the help lists.
        parse: Makes the argument of the text of the command line.
    """

    flags: tuple[str, ...] = ()
    text: str = ""
    default: Any = UNSET
    metavar: str | None = None
    values: Iterable[str] = ()
    parse: Callable[[Any], Any] | None = None


Overrides = Mapping[str, Override | None]
"""Overrides by argument; None for an argument that the command does not take."""


def flag(*flags: str, text: str = "") -> Override:
    """An option with other flags."""
    return Override(flags, text)


def text(help: str, *, metavar: str | None = None, default: Any = UNSET) -> Override:
    """An option with another help."""
    return Override(text=help, metavar=metavar, default=default)


COMMON: Mapping[str, Override] = {
    "id": text("The id of a memory, as recall prints it.", metavar="ID"),
    "types": Override(("--type",), values=types.DEFAULT_IMPORTANCE),
    "collection": Override(values=types.MEMORY_COLLECTIONS),
    "collections": Override(("--collection",), values=types.RECALL_COLLECTIONS),
    "category": Override(values=CATEGORIES),
    "subjects": flag("--subject"),
    "external_ids": flag("--external-id"),
    "states": flag("--state"),
    "user": flag("--of-user"),
    "channel": flag("--of-channel"),
    "limit": flag("--limit", "-n", text="Maximum number of results."),
    "since": text("Earliest time, inclusive."),
    "channel_only": text("Only the channel of --channel."),
    "dry_run": text("List the items; change nothing."),
    "overwrite": flag("--force"),
    "reason": text("Why; stays in the history."),
    "job": Override(values=types.JOBS),
}
"""Overrides of arguments that mean the same in every verb."""


@dataclass(frozen=True, slots=True)
class Done:
    """A verb that a command has executed.

    Attributes:
        arguments: The arguments of the verb that were typed.
    """

    call: Call
    hippo: "Hippocampe"
    verb: str
    arguments: Mapping[str, Any]
    result: Any
    took_ms: float

    @property
    def timezone(self) -> str:
        return self.call.config.timezone


def add(
    app: typer.Typer,
    name: str,
    help: str,
    show: Callable[[Done], terminal.Shown] | None = None,
    *,
    verb: str = "",
    as_json: Callable[[Done], object] = lambda done: done.result,
    **more: Any,
) -> None:
    """Add a command that executes a verb and shows its result.

    Args:
        help: What it does, for people.
        show: Renders the result; default: by its type.
        verb: The verb, if it has another name.
        as_json: The answer with `--json`.
        more: As for `of_verb`.
    """
    verb = verb or name.replace("-", "_")

    def step(call: Call, **arguments: Any) -> None:
        *others, last = cells_of(call) if verb in TOGETHER else [call]
        before: list[Any] = []
        for cell in others:
            with cell.of_verb(verb) as hippo:
                before.append(execute(cell, hippo, verb, arguments).result)
        with last.of_verb(verb) as hippo:
            done = execute(call, hippo, verb, arguments)
            if before:
                done = replace(done, result=TOGETHER[verb](call, [*before, done.result]))
            call.answer(as_json(done), lambda: (show or _by_type)(done))

    step.__doc__ = help
    of_verb(app, name, verb=verb, **more)(step)


def _by_type(done: Done) -> terminal.Shown:
    from hippocampe.cli.show.result import result

    return result(done.result, result_type(done.verb), done.timezone)


def declared() -> typer.Typer:
    """Make the commands that are declared with their verbs, in `hippocampe.verbs`."""
    app = typer.Typer()
    for name, verb in VERBS.items():
        if verb.command:
            shared = OF_A_SPACE if verb.reach == "space" else OF_A_FOLDER
            add(app, name.replace("_", "-"), verb.command, panel=verb.group, shared=shared)
    return app


def execute(call: Call, hippo: "Hippocampe", verb: str, arguments: Mapping[str, Any]) -> Done:
    """Execute a verb in the scope of a call, with progress bars if it reports progress."""
    declared = signature(verb)
    named = dict(arguments)
    if "scope" in declared.takes:
        named["scope"] = call.scope
    with terminal.progress() as progress:
        if "progress" in declared.takes:
            named["progress"] = progress
        started = perf_counter()
        result = getattr(hippo, verb)(**named)
        took_ms = (perf_counter() - started) * 1000
    return Done(call, hippo, verb, arguments, result, took_ms)


def of_verb(
    app: typer.Typer,
    name: str,
    *,
    verb: str = "",
    panel: str | None = None,
    shared: Sequence[str] = OF_A_SPACE,
    overrides: Overrides | None = None,
    examples: Sequence[str] = (),
) -> Callable[[Callable[..., None]], Callable[..., None]]:
    """Register a function as a command with the options of a verb, beside its own.

    The function is called with a `Call`, its own options, and the arguments of the verb that were typed, by name.

    Args:
        verb: The verb, if it has another name.
        shared: Options of all commands that it takes.
        overrides: Deliberate differences of its options, by argument.
    """
    verb = verb or name.replace("-", "_")

    def register(step: Callable[..., None]) -> Callable[..., None]:
        @wraps(step)
        def make() -> Callable[..., None]:
            parts = parts_of(verb, overrides or {})

            @wraps(step)
            def run(call: Call, **typed: Any) -> None:
                arguments = {
                    each.argument: each.read(call, typed.pop(n)) for n, each in parts.items()
                }
                step(call, **typed, **{n: v for n, v in arguments.items() if v is not UNSET})

            passed = {"call", *(each.argument for each in parts.values())}
            own = [
                each
                for each in inspect.signature(step).parameters.values()
                if each.name not in passed and each.kind is not each.VAR_KEYWORD
            ]
            return with_options(run, [*(each.parameter for each in parts.values()), *own], shared)

        vars(make)["__signature__"] = inspect.Signature()
        make.__annotations__ = {}
        vars(make)["verb"], vars(make)["parts"] = verb, partial(parts_of, verb, overrides or {})
        app.command(name, cls=VerbCommand, rich_help_panel=panel, epilog=epilog_of(examples))(make)
        return step

    return register


class VerbCommand(Command):
    """A command whose options are made when it is used: a start needs those of one command.

    Its function makes the function with the options, and has the name of the `verb` and its `parts`.
    """

    @cached_property
    def _made(self) -> TyperCommand:
        app = typer.Typer(add_completion=False)
        make = cast("Callable[[], Callable[..., None]]", self.callback)
        app.command()(make())
        return cast("TyperCommand", typer.main.get_command(app))

    @property
    def params(self) -> list[Any]:
        return self._made.params

    @params.setter
    def params(self, params: list[Any]) -> None:  # pyright: ignore
        """There are none yet."""

    def invoke(self, ctx: Any) -> Any:
        return self._made.invoke(ctx)


class Part(NamedTuple):
    """A parameter of a command, and how it becomes an argument of the verb; `UNSET` leaves that out."""

    argument: str
    parameter: inspect.Parameter
    read: Callable[[Call, Any], Any]


def parts_of(verb: str, overrides: Overrides) -> dict[str, Part]:
    """The parts of a command, by name of their parameter."""
    # Verbs that describe no argument of their own take those of a statement.
    statement = signature("remember").arguments
    parts: dict[str, Part] = {}
    for name, argument in signature(verb).arguments.items():
        own, common = overrides.get(name, Override()), COMMON.get(name, Override())
        if own is not None:
            described = statement[name].text if name in statement else ""
            override = replace(
                own,
                flags=own.flags or common.flags,
                text=own.text or argument.text or common.text or described,
                metavar=own.metavar or common.metavar,
                values=own.values or common.values,
            )
            part = _part(argument, override)
            parts[part.parameter.name] = part
    return parts


def _part(argument: Argument, override: Override) -> Part:
    kind, parse, metavar = _READINGS[argument.kind]
    values = [*(override.values or argument.values)]
    positional = argument.positional and not override.flags
    default = argument.default if override.default is UNSET else override.default
    notes = ["ISO 8601"] if parse == Call.moment else []
    notes += ["repeatable"] if kind == list[str] and not positional else []
    info: dict[str, Any] = {
        "help": _help(override.text, values, notes=notes),
        "metavar": override.metavar or metavar,
        "autocompletion": (lambda: values) if values else None,
    }
    if isinstance(default, tuple):
        info["show_default"] = ", ".join(cast("tuple[str, ...]", default)) or False
    if isinstance(default, tuple | Unset):
        default = None
    if argument.required and override.default is UNSET:
        default = inspect.Parameter.empty
    flags = override.flags or (f"--{argument.name.replace('_', '-')}",)
    typed = typer.Argument(**info) if positional else typer.Option(*flags, **info)
    made = inspect.Parameter(
        flags[0].removeprefix("--").replace("-", "_"),
        inspect.Parameter.KEYWORD_ONLY,
        default=default,
        annotation=Annotated[kind | None if default is None else kind, typed],
    )

    def read(call: Call, typed: Any) -> Any:
        if typed is None or typed == []:
            return override.default
        if override.parse is not None:
            return override.parse(typed)
        return typed if parse is None else parse(call, typed)

    return Part(argument.name, made, read)


def _help(text: str, values: Sequence[str], *, notes: Sequence[str]) -> str | None:
    """The help of an option: constants of the library by their values, and no marks of code.

    Args:
        text: The text of the argument.
        values: The values that it takes, if they are few; listed unless the text does.
        notes: Added to the first sentence.
    """
    help = _CONSTANT.sub(lambda found: ", ".join(values), text).replace("`", "").removesuffix(".")
    first, stop, rest = help.partition(". ")
    parts = [first, *(each for each in notes if each not in first)]
    help = "; ".join(part for part in parts if part) + stop + rest
    if not all(each in help for each in values):
        help = ": ".join(part for part in (help, ", ".join(values)) if part)
    if help and text and not text.startswith("`"):
        help = help[0].upper() + help[1:]
    return f"{help}." if help else None


Reading = tuple[Any, Callable[[Call, Any], Any] | None, str | None]
"""The type of an option, how its text is read, and the name of its value."""
_READINGS: Mapping[str, Reading] = {
    "str": (str, None, None),
    "int": (int, None, None),
    "float": (float, None, None),
    "bool": (bool, None, None),
    "Path": (Path, None, None),
    "datetime": (str, Call.moment, "TIME"),
    "timedelta": (str, lambda call, typed: None if typed == "never" else typed, None),
    "Sequence": (list[str], None, None),
    "Mapping": (list[str], lambda call, typed: read_metadata(typed), "KEY=VALUE"),
}
"""The option for an argument, by the kind of that."""


def read_metadata(typed: Sequence[str]) -> dict[str, Any]:
    """Parse `KEY=VALUE` pairs and JSON objects into one mapping."""
    pairs: dict[str, Any] = {}
    for each in typed:
        name, sign, value = each.partition("=")
        if each.startswith("{"):
            pairs |= _object(each)
        elif sign:
            pairs[name] = _value(value)
        else:
            raise typer.BadParameter(f"--metadata takes KEY=VALUE, not {each!r}.")
    return pairs


def _object(typed: str) -> dict[str, Any]:
    try:
        return json.loads(typed)
    except ValueError as exc:
        raise typer.BadParameter(f"--metadata is not a JSON object: {exc}.") from exc


def _value(typed: str) -> Any:
    try:
        return json.loads(typed, parse_constant=_refuse)
    except ValueError:
        return typed


def _refuse(constant: str) -> NoReturn:
    """Take NaN and Infinity as text."""
    raise ValueError(constant)
