"""What all commands share: where the data is, how they answer, how they fail."""

import inspect
import json
import sys
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Concatenate, ParamSpec
from zoneinfo import ZoneInfo

import typer
from typer.core import TyperGroup

from hippocampe.cli import terminal
from hippocampe.config import Config
from hippocampe.errors import (
    FolderInUse,
    HippocampeError,
    InvalidInput,
    NotFound,
    StoreReadOnly,
    UnreadableFile,
)
from hippocampe.folders import data_folder
from hippocampe.types import Scope

if TYPE_CHECKING:
    from rich.console import RenderableType

    from hippocampe.hippocampe import Hippocampe

P = ParamSpec("P")
NOTHING_FOUND = 3
INTERRUPTED = 130
WHERE = "Where"


@dataclass(frozen=True, slots=True)
class Call:
    """One use of a command: its shared options, and what they open."""

    json: bool
    folder: Path | None = None
    embedder: str | None = None
    space: str = "default"
    user: str | None = None
    channel: str | None = None

    @property
    def scope(self) -> Scope:
        return Scope(space=self.space, user=self.user, channel=self.channel)

    @property
    def config(self) -> Config:
        # One command, then it ends: nothing is made ready for another.
        folder = (self.folder or data_folder()).expanduser()
        return Config(folder, embedder=self.embedder, background=False)

    @contextmanager
    def open(self, config: Config | None = None) -> "Generator[Hippocampe]":
        """The data, to write; progress is shown should the index have to be built anew."""
        with self._own(config or self.config) as hippo:
            yield hippo

    @contextmanager
    def read(self) -> "Generator[Hippocampe]":
        """The data, to read: beside the process that holds the folder, if one does.

        Raises:
            StoreMissing: The folder holds none; nothing was created.
        """
        with open_to_read(self.config, self._own) as hippo:
            yield hippo

    def _own(self, config: Config) -> "Hippocampe":
        from hippocampe import Hippocampe

        with terminal.progress() as progress:
            return Hippocampe.open(config, progress=progress)

    def answer(self, value: object, shown: "Callable[[], RenderableType]") -> None:
        """Print what the library returned, as JSON or as `shown` draws it."""
        if self.json:
            terminal.as_json(value)
        else:
            terminal.out(shown())

    def moment(self, text: str | None) -> datetime | str | None:
        """A time as typed: without an offset it is read in the configured timezone."""
        try:
            at = datetime.fromisoformat(text or "")
        except ValueError:
            return text  # The library refuses it, and says what it takes.
        return at if at.tzinfo else at.replace(tzinfo=ZoneInfo(self.config.timezone))


def open_to_read(
    config: Config, own: "Callable[[Config], Hippocampe] | None" = None
) -> "Hippocampe":
    """Own the folder if that is possible, for its index is faster; else open it read-only.

    Raises:
        StoreMissing: The folder holds no data; nothing was created.
    """
    from hippocampe import Hippocampe, opening

    opening.check_data(config)
    try:
        return (own or Hippocampe.open)(config)
    except (FolderInUse, StoreReadOnly):
        return Hippocampe.open(config, read_only=True)


_JSON = Annotated[bool, typer.Option("--json", help="Answer in JSON.", rich_help_panel=WHERE)]
_FOLDER = Annotated[
    Path | None,
    typer.Option(
        "--folder",
        "-f",
        envvar="HIPPOCAMPE_FOLDER",
        help="The data folder.",
        show_default="hippocampe in your data folder: ~/.local/share, ~/Library/Application "
        "Support or %LOCALAPPDATA%",
        rich_help_panel=WHERE,
    ),
]
_EMBEDDER = Annotated[
    str | None,
    typer.Option(
        "--embedder",
        help="What makes vectors: local, openai:MODEL, voyageai:MODEL or fastembed:MODEL.",
        show_default="that of the data, local for new data",
        rich_help_panel=WHERE,
    ),
]
_SPACE = Annotated[
    str,
    typer.Option(
        "--space",
        envvar="HIPPOCAMPE_SPACE",
        help="Whose memory; nothing crosses from one space to another.",
        rich_help_panel=WHERE,
    ),
]
_USER = Annotated[
    str | None,
    typer.Option("--user", envvar="HIPPOCAMPE_USER", help="Who speaks.", rich_help_panel=WHERE),
]
_CHANNEL = Annotated[
    str | None,
    typer.Option(
        "--channel", envvar="HIPPOCAMPE_CHANNEL", help="Where they speak.", rich_help_panel=WHERE
    ),
]
_SHARED: dict[str, tuple[Any, object]] = {
    "folder": (_FOLDER, None),
    "space": (_SPACE, "default"),
    "user": (_USER, None),
    "channel": (_CHANNEL, None),
    "embedder": (_EMBEDDER, None),
    "json": (_JSON, False),
}
OF_A_SPACE = tuple(_SHARED)
OF_A_FOLDER = ("folder", "embedder", "json")


def command(
    app: typer.Typer, name: str, *, panel: str | None = None, shared: Sequence[str] = OF_A_SPACE
) -> Callable[[Callable[Concatenate[Call, P], None]], Callable[Concatenate[Call, P], None]]:
    """Make a function a command that also takes the shared options, as its first argument."""

    def register(
        step: Callable[Concatenate[Call, P], None],
    ) -> Callable[Concatenate[Call, P], None]:
        @wraps(step)
        def run(**given: Any) -> None:
            call = Call(**{option: given.pop(option) for option in shared})
            with _reported(call.json):
                step(call, **given)  # pyright: ignore[reportCallIssue]

        own = [*inspect.signature(step).parameters.values()][1:]
        for option in shared:
            kind, default = _SHARED[option]
            own.append(
                inspect.Parameter(
                    option, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=kind
                )
            )
        run.__signature__ = inspect.Signature(own)  # pyright: ignore[reportAttributeAccessIssue]
        run.__annotations__ = {each.name: each.annotation for each in own}
        app.command(name, rich_help_panel=panel)(run)
        return step

    return register


@contextmanager
def _reported(json: bool) -> Generator[None]:
    """Turn an error of the library into one line and an exit code."""
    try:
        yield
    except HippocampeError as exc:
        if json:
            terminal.as_json({"error": str(exc), "kind": type(exc).__name__})
        terminal.error(str(exc))
        raise typer.Exit(NOTHING_FOUND if isinstance(exc, NotFound) else 1) from exc
    except KeyboardInterrupt as exc:
        message = " ".join(["interrupted:", *getattr(exc, "__notes__", ["nothing was lost."])])
        if json:
            terminal.as_json({"error": message, "kind": "KeyboardInterrupt"})
        terminal.error(message)
        raise typer.Exit(INTERRUPTED) from exc


class ListFirst(TyperGroup):
    """A group whose first command, `list`, is meant when none is named."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        if not args or (args[0] not in self.commands and args[0] not in ("--help", "-h")):
            args = ["list", *args]
        return super().parse_args(ctx, args)


def read_content(content: str) -> str:
    """The content as typed, or all of standard input for `-`.

    Raises:
        InvalidInput: Standard input is no text.
    """
    if content != "-":
        return content
    try:
        return sys.stdin.read()
    except UnicodeDecodeError as exc:
        raise InvalidInput(f"standard input is not {exc.encoding} text: convert it first.") from exc


def read_statements(file: str) -> list[dict[str, Any]]:
    """The statements of a file, or of standard input for `-`, as the items of `remember_many`.

    A line is a JSON object, or the text of a statement; empty lines are skipped.

    Raises:
        InvalidInput: A line that begins like a JSON object is none.
        UnreadableFile: The file cannot be read, or is no text.
    """
    try:
        text = read_content("-") if file == "-" else Path(file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as exc:
        raise UnreadableFile(f"cannot read {file}: {exc}.") from exc
    items: list[dict[str, Any]] = []
    for number, line in enumerate(text.split("\n"), 1):
        statement = line.strip()
        if not statement.startswith("{"):
            items += [{"content": statement}] if statement else []
            continue
        try:
            items.append(json.loads(statement))
        except ValueError as exc:
            raise InvalidInput(
                f"line {number} begins like a JSON object and is none: {exc}. Nothing was stored."
            ) from exc
    return items
