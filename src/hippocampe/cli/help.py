"""The help and the usage errors of the commands, in the language of the terminal.

The English texts are the keys: of Typer, of the docstrings of commands, and of the options of verbs.
"""

import sys
from collections.abc import Iterator
from typing import Any, cast

import typer
from typer.core import TyperCommand, TyperGroup

from hippocampe.cli import terminal
from hippocampe.language.lexicon import REFERENCE

USAGE, HELP = "Usage:", "Help:"
CONTEXT = "help"
"""Context of the entries of the catalogues."""
USAGE_ERROR = cast("type[Exception]", typer.BadParameter.__base__)
"""The error of Typer for a command line that it cannot parse; it has no public name."""
BREAK = "\n\n"
"""Between paragraphs, which are translated one by one."""
EXAMPLES = ("Example:", "Examples:")
"""Headings of the examples of a command."""
TITLES = {
    "DEFAULT_STRING": "[default: {}]",
    "ENVVAR_STRING": "[env var: {}]",
    "REQUIRED_LONG_STRING": "[required]",
    "ARGUMENTS_PANEL_TITLE": "Arguments",
    "OPTIONS_PANEL_TITLE": "Options",
    "COMMANDS_PANEL_TITLE": "Commands",
}
"""Texts of Typer that its renderer reads when it prints."""


class _Translated:
    """Translates a command when its help is shown; the process ends after that."""

    def format_help(self, ctx: Any, formatter: Any) -> None:
        _hide_types_of_flags(self, ctx)
        _translate(self, ctx)
        with terminal.writing():
            cast("Any", super()).format_help(ctx, formatter)

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        pieces = cast("Any", self).collect_usage_pieces(ctx)
        formatter.write_usage(ctx.command_path, " ".join(pieces), f"{_said(USAGE)} ")


class Command(_Translated, TyperCommand):
    """A command with a translated help."""


class Group(_Translated, TyperGroup):
    """A group of commands with a translated help."""


class Program(Group):
    """The group of all commands, which says what is wrong with a command line."""

    def main(self, *arguments: Any, standalone_mode: bool = True, **more: Any) -> Any:
        try:
            code = super().main(*arguments, standalone_mode=False, **more)
        except USAGE_ERROR as exc:
            if not standalone_mode:
                raise
            _explain(exc, json="--json" in (more.get("args") or (arguments or [sys.argv])[0]))
            code = 2
        except typer.Abort:
            terminal.error("stopped: nothing was changed.")
            code = 1
        except SystemExit as exc:
            # Of Rich and Typer, for a reader who has left: `head` is no error.
            code = 0 if isinstance(exc.__context__, BrokenPipeError) else exc.code
        except terminal.Unwritable as exc:
            terminal.error(str(exc))
            code = 1
        return sys.exit(code or 0) if standalone_mode else code


def _explain(error: Any, *, json: bool) -> None:
    message = error.format_message()
    if not message:
        return  # Without a command, the help was printed already.
    if json:
        terminal.as_json({"error": message, "kind": "UsageError"})
    terminal.error(message)
    if (ctx := error.ctx) is not None:
        typer.echo(ctx.get_usage(), err=True)
        typer.echo(f"{_said(HELP)} {ctx.command_path} --help", err=True)


def places(command: Any, ctx: Any) -> Iterator[tuple[object, str]]:
    """The places of the texts in the help of a command: an object and its attribute."""
    for each in (command, *command.get_params(ctx), *getattr(command, "commands", {}).values()):
        for name in ("help", "rich_help_panel", "show_default"):
            if isinstance(getattr(each, name, None), str):
                yield each, name
    if command.epilog:
        yield command, "epilog"


def _hide_types_of_flags(command: Any, ctx: Any) -> None:
    """Typer shows `<bool>` behind a flag, as if it took a value."""
    for each in command.get_params(ctx):
        if getattr(each, "is_flag", False):
            each.metavar = ""


def _translate(command: Any, ctx: Any) -> None:
    if terminal.language() == REFERENCE:
        return
    from typer import rich_utils

    for name, text in TITLES.items():
        setattr(rich_utils, name, _said(text))
    for each, name in places(command, ctx):
        setattr(each, name, BREAK.join(map(_said, getattr(each, name).split(BREAK))))


def _said(text: str) -> str:
    from hippocampe.language.i18n import catalogue

    entry = catalogue(terminal.language()).get(text, CONTEXT)
    return str(entry.string) if entry is not None and entry.string else text
