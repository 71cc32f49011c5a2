"""Shared parts of all commands: the options that locate the data, output, errors and exit codes."""

import inspect
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass, fields, replace
from datetime import datetime
from functools import partial, wraps
from itertools import takewhile
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, TextIO, TypeVar, cast, get_type_hints
from zoneinfo import ZoneInfo

import typer

from hippocampe import config_sources
from hippocampe.cells import home_of
from hippocampe.cli import terminal
from hippocampe.cli.help import BREAK, EXAMPLES, USAGE_ERROR, Command, Group
from hippocampe.config import Config
from hippocampe.errors import (
    TOO_MANY_FILES,
    FolderInUse,
    HippocampeError,
    InvalidInput,
    NotFound,
    StoreFull,
    StoreReadOnly,
    shown,
)
from hippocampe.system.environment import variable
from hippocampe.system.local_socket import IN_USE
from hippocampe.types import Scope
from hippocampe.verbs import VERBS

if TYPE_CHECKING:
    from hippocampe.hippocampe import Hippocampe

C = TypeVar("C", bound=Callable[..., None])
NOTHING_FOUND = 3
INTERRUPTED = 130
WHERE = "Where"
URL = "HIPPOCAMPE_URL"
KEY = "HIPPOCAMPE_KEY"


@dataclass(frozen=True, slots=True)
class Call:
    """One invocation of a command: its shared options, with their types and defaults, and the data they open."""

    json: bool = False
    folder: Path | None = None
    embedder: str | None = None
    space: str = "default"
    user: str | None = None
    channel: str | None = None
    config_file: Path | None = None
    chosen: list[str] | None = None
    of_space: bool = False

    @property
    def scope(self) -> Scope:
        return Scope(space=self.space, user=self.user, channel=self.channel)

    @property
    def config(self) -> Config:
        # The process ends after one command, so background work and reading notes would not pay off.
        return replace(self._of_cell, background=False, notes_folder=None, obsidian_url=None)

    @property
    def _of_cell(self) -> Config:
        """The configuration; of a divided folder, a command on one space uses the cell that has it."""
        config = self.loaded.config
        if not self.of_space or config.database_url is not None:
            return config
        return replace(config, folder=home_of(config.folder, self.scope.space))

    @property
    def lasting_config(self) -> Config:
        """The configuration of a long-running command."""
        return replace(self._of_cell, background=True)

    @property
    def loaded(self) -> config_sources.Loaded:
        """The configuration and the origin of each value.

        Raises:
            InvalidInput: A value of it cannot be used.
        """
        chosen = dict[str, str]()
        for each in self.chosen or ():
            name, sign, value = each.partition("=")
            if not sign:
                raise InvalidInput("--set takes NAME=VALUE, such as request_rate=100.")
            chosen[name.strip()] = value
        flags = {"folder": self.folder, "embedder": self.embedder}
        return config_sources.load(file=self.config_file, flags=flags, chosen=chosen)

    @contextmanager
    def open(self, config: Config | None = None) -> "Generator[Hippocampe]":
        """Open the data for writing, through the process that serves the folder if there is one."""
        from hippocampe.actor import acting

        self.check_where()
        opened = _at_address(self.config) or self._open(config or self.config)
        with acting("command line"), opened as hippo:
            yield hippo

    @contextmanager
    def read(self) -> "Generator[Hippocampe]":
        """Open the data as `open` does, or read-only if the folder is neither shared nor can be owned, or its disk is full.

        Raises:
            StoreMissing: The folder has no data. Nothing is created.
        """
        self.check_where()
        with _at_address(self.config) or self._open_folder() as hippo:
            yield hippo

    def _open_folder(self) -> "Hippocampe":
        try:
            if (joined := _joined(self.config)) is not None:
                return joined
            from hippocampe.hippocampe import check_data

            check_data(self.config)
            return self._open(self.config)
        except (FolderInUse, StoreReadOnly, StoreFull):
            from hippocampe.hippocampe import Hippocampe

            return Hippocampe.open(self.config, read_only=True)

    def of_verb(self, verb: str) -> "AbstractContextManager[Hippocampe]":
        """Open the data for a verb: for writing if it writes."""
        return self.open() if VERBS[verb].writes else self.read()

    @contextmanager
    def join(self) -> "Generator[Hippocampe]":
        """Open the data for a long time, without shutting other programs out of the folder.

        The process that owns the folder executes the verbs; it is started if there is none. A folder that is not
        shared is opened in this process.

        Raises:
            FolderInUse: A process holds the folder and does not share it, or does not answer.
            ServerUnavailable: The server cannot be reached or does not start.
        """
        from hippocampe.client.joining import join_or_start

        self.check_where()
        config = self.lasting_config
        joined = _at_address(config)
        if joined is None and (not config.share or config.database_url is not None):
            joined = self._open(config)
        with joined or cast("Hippocampe", join_or_start(config)) as hippo:
            yield hippo

    @contextmanager
    def own(self, config: Config) -> "Generator[Hippocampe]":
        """Open the data in this process; a process that was started by itself leaves the folder.

        Raises:
            FolderInUse: Another process holds the folder for good.
        """
        from hippocampe.client import joining

        with joining.take_over(config.folder, lambda: self._open(config, join=False)) as hippo:
            yield hippo

    def check_where(self) -> None:
        """Refuse a folder and a server chosen together.

        Raises:
            InvalidInput: Both a folder and a server are chosen.
        """
        if self.folder is not None and variable(URL):
            raise InvalidInput(
                f"both a folder and {URL} are given, and they may hold different memories: leave one out."
            )

    def _open(self, config: Config, *, join: bool = True) -> "Hippocampe":
        if join and (joined := _joined(config)) is not None:
            return joined
        from hippocampe import Hippocampe

        with terminal.progress() as progress:
            return Hippocampe.open(config, join=join, progress=progress)

    def answer(self, value: object, shown: Callable[[], terminal.Shown]) -> None:
        """Print a result of the library: as JSON, or as `shown` renders it."""
        if self.json:
            terminal.as_json(value)
        else:
            terminal.out(shown())

    def moment(self, text: str) -> datetime:
        """Parse a time. Without an offset it is in the configured timezone.

        Raises:
            InvalidInput: It is not in ISO 8601 form.
        """
        try:
            at = datetime.fromisoformat(text)
        except ValueError as exc:
            raise InvalidInput(
                f"{shown(text)} is not a date or a time in ISO 8601 form: write it like 2026-01-17,"
                " 2026-01-17T10:23 or 2026-01-17T10:23:00+01:00."
            ) from exc
        return at if at.tzinfo else at.replace(tzinfo=ZoneInfo(self.config.timezone))


def _at_address(config: Config) -> "Hippocampe | None":
    """The memory of the server at `HIPPOCAMPE_URL`; None if it is not set."""
    from hippocampe.client.joining import connect

    if (address := variable(URL)) is None:
        return None
    found = connect(address, variable(KEY), config)
    # It has the verbs of `Hippocampe`, which a test compares.
    return cast("Hippocampe", found)


def _joined(config: Config) -> "Hippocampe | None":
    """The memory of the process that owns a folder, without loading the library; None if there is none."""
    from hippocampe.client.joining import join

    if config.database_url is not None:
        # Any process opens the database by itself.
        return None
    return cast("Hippocampe | None", join(config))


_option: Callable[..., Any] = partial(typer.Option, rich_help_panel=WHERE)
_SHARED = {
    "folder": _option(
        "--folder",
        "-f",
        envvar="HIPPOCAMPE_FOLDER",
        # Opening it says what is wrong, wherever it is named.
        readable=False,
        help="The data folder.",
        show_default="hippocampe in your data folder: ~/.local/share, ~/Library/Application "
        "Support or %LOCALAPPDATA%",
    ),
    "space": _option("--space", envvar="HIPPOCAMPE_SPACE", help="The isolated memory to use."),
    "user": _option("--user", envvar="HIPPOCAMPE_USER", help="The speaker."),
    "channel": _option("--channel", envvar="HIPPOCAMPE_CHANNEL", help="The conversation."),
    "embedder": _option(
        "--embedder",
        help="Embedding model: local, openai:MODEL, voyageai:MODEL or fastembed:MODEL.",
        show_default="the one of the data; local for new data",
    ),
    "json": _option("--json", help="Print JSON."),
    "config_file": _option(
        "--config",
        envvar="HIPPOCAMPE_CONFIG",
        help="The configuration, a TOML file.",
        show_default="hippocampe.toml in your folder of configurations",
    ),
    "chosen": _option(
        "--set", metavar="NAME=VALUE", help="A value of the configuration; repeatable."
    ),
}
"""The options that many commands share, by the field of `Call`."""
_KINDS, _DEFAULTS = get_type_hints(Call), {each.name: each.default for each in fields(Call)}
_OF_CONFIGURATION = ("config_file", "chosen")
"""The shared options of every command with a folder."""
OF_A_SPACE = tuple(name for name in _SHARED if name not in _OF_CONFIGURATION)
OF_A_FOLDER = ("folder", "embedder", "json")


def command(
    app: typer.Typer,
    name: str,
    *,
    panel: str | None = None,
    shared: Sequence[str] = OF_A_SPACE,
    examples: Sequence[str] = (),
) -> Callable[[C], C]:
    """Register a function as a command that also takes the shared options.

    Args:
        panel: Its section in `--help`.
        shared: Shared options; the function gets them as a `Call`, its first argument.
        examples: Command lines without the program's name, shown at the end of `--help`.
    """

    def register(step: C) -> C:
        own = [*inspect.signature(step).parameters.values()][1:]
        app.command(name, cls=Command, rich_help_panel=panel, epilog=epilog_of(examples))(
            with_options(step, own, shared)
        )
        return step

    return register


def with_options(
    step: Callable[..., None], own: Sequence[inspect.Parameter], shared: Sequence[str]
) -> Callable[..., None]:
    """A function for Typer that calls one with a `Call`, made of the shared options, and its own options."""
    every = (*shared, *(_OF_CONFIGURATION if "folder" in shared else ()))

    @wraps(step)
    def run(**typed: Any) -> None:
        options = {option: typed.pop(option) for option in every}
        call = Call(**options, of_space="space" in every)
        with _reported(call.json), _exhausted():
            step(call, **typed)

    parameters = list(own)
    for option in every:
        kind = Annotated[_KINDS[option], _SHARED[option]]
        parameters.append(
            inspect.Parameter(
                option, inspect.Parameter.KEYWORD_ONLY, default=_DEFAULTS[option], annotation=kind
            )
        )
    vars(run)["__signature__"] = inspect.Signature(parameters)
    run.__annotations__ = {each.name: each.annotation for each in parameters}
    return run


def epilog_of(examples: Sequence[str]) -> str | None:
    """The examples at the end of the help of a command."""
    if not examples:
        return None
    typed = [f"hippocampe {example}".replace("[", "\\[") for example in examples]
    return BREAK.join([EXAMPLES[len(typed) > 1], *typed])


@contextmanager
def _reported(json: bool) -> Generator[None]:
    """Turn an error of the library into a line on stderr and an exit code."""
    try:
        yield
    except HippocampeError as exc:
        if json:
            terminal.as_json({"error": str(exc), "kind": type(exc).__name__})
        terminal.error(str(exc))
        codes = {NotFound: NOTHING_FOUND, FolderInUse: IN_USE}
        raise typer.Exit(next((codes[kind] for kind in codes if isinstance(exc, kind)), 1)) from exc
    except KeyboardInterrupt as exc:
        terminal.end_line()
        message = f"interrupted: {' '.join(getattr(exc, '__notes__', ['nothing was lost.']))}"
        if json:
            terminal.as_json({"error": message, "kind": "KeyboardInterrupt"})
        terminal.error(message)
        raise typer.Exit(INTERRUPTED) from exc


@contextmanager
def _exhausted() -> Generator[None]:
    """Translate the refusals of the system that any step may meet."""
    try:
        yield
    except MemoryError as exc:
        raise HippocampeError(
            "there is not enough memory: end other programs, or raise the limit of this one, and try again."
        ) from exc
    except OSError as exc:
        if exc.errno not in TOO_MANY_FILES:
            raise
        raise HippocampeError(
            "too many files are open: raise the limit of this program (`ulimit -n`) and try again."
        ) from exc


def choice(flag: str, values: Sequence[str], help: str = "{}.") -> Any:
    """An option with few values, which the help lists and shells complete."""
    return typer.Option(
        flag, help=help.format(", ".join(values)), autocompletion=lambda: list(values)
    )


def group(app: typer.Typer, name: str, help: str, panel: str) -> typer.Typer:
    """Add a group of commands, which lists if no subcommand is given."""
    made = typer.Typer(help=help, cls=_ListFirst)
    app.add_typer(made, name=name, rich_help_panel=panel)
    return made


class _ListFirst(Group):
    """A group that runs `list` if no subcommand is given."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ("--help", "-h")):
            taken = [
                each.name
                for each in self.commands["list"].get_params(ctx)
                if each.param_type_name == "argument"
            ]
            words = self._words(ctx, args, taken)
            # More words than it takes begin with the name of a subcommand, which may come after options.
            if len(words) <= len(taken) and not (words and words[0] in self.commands):
                args = ["list", *args]
            else:
                named = args.index(words[0])
                args = [args[named], *args[:named], *args[named + 1 :]]
        return super().parse_args(ctx, args)

    def _words(self, ctx: Any, args: list[str], taken: Sequence[str]) -> list[str]:
        """The words of a command line that belong to no option of `list`."""
        parser = self.commands["list"].make_parser(ctx)
        # A group itself takes its options before a subcommand only.
        parser.allow_interspersed_args = True
        try:
            given, rest, _ = parser.parse_args(list(args))
        except USAGE_ERROR:
            return list(takewhile(lambda word: not word.startswith("-"), args))
        return [word for name in taken if isinstance(word := given.get(name), str)] + rest


def read_content(content: str) -> str:
    """Return the argument, or all of standard input for `-`.

    Raises:
        InvalidInput: Standard input is closed, or not text.
    """
    if content != "-":
        return content
    try:
        read = standard_input().read()
        # Bytes of another encoding become halves of characters where Python reads on.
        read.encode()
        return read
    except UnicodeError as exc:
        assert isinstance(exc, UnicodeDecodeError | UnicodeEncodeError)
        raise InvalidInput(f"standard input is not {exc.encoding} text: convert it first.") from exc


def standard_input() -> "TextIO":
    """Standard input.

    Raises:
        InvalidInput: The caller closed it.
    """
    if cast("TextIO | None", sys.stdin) is None:
        raise InvalidInput("standard input is closed: give the text itself, or a file.")
    return sys.stdin
