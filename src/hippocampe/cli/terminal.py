"""Output to terminals, and as JSON.

Content is data: it is never parsed as markup, and characters that control a terminal, reorder text or cannot be seen
are escaped.
"""

import json
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager, suppress
from textwrap import wrap
from typing import TYPE_CHECKING, Any, TypeAlias

from hippocampe.language.invisible import escaped

if TYPE_CHECKING:
    from rich.console import Console, RenderableType

Shown: TypeAlias = "RenderableType"
"""Something that Rich prints. Rich is imported on first use."""

_PLAIN = {"✓": "ok", "✗": "--", "→": "->", "·": "-", "…": "...", "›": ">", "‹": "<", "−": "-"}
"""Replacements for signs that the encoding of the terminal lacks."""


def language() -> str:
    """The language of the terminal: that of the locale if it has a catalogue, else English."""
    from hippocampe.language.i18n import language_of_locale
    from hippocampe.language.lexicon import REFERENCE

    return language_of_locale() or REFERENCE


def sign(wanted: str) -> str:
    """A sign, or its ASCII replacement if stdout cannot encode it."""
    try:
        wanted.encode(sys.stdout.encoding or "ascii")
    except UnicodeEncodeError:
        return _PLAIN[wanted]
    return wanted


def console(*, stderr: bool = False) -> "Console":
    """A console that takes text as it is."""
    from rich.console import Console

    return Console(stderr=stderr, markup=False, highlight=False, emoji=False)


class Unwritable(Exception):
    """Standard output cannot be written."""


@contextmanager
def writing() -> "Generator[None]":
    """Write to standard output, to its end. A reader who has left, as `head` does, is no error: Rich and Typer end the program.

    Raises:
        Unwritable: It cannot be written, as on a full disk.
    """
    try:
        yield
        sys.stdout.flush()
    except BrokenPipeError:
        raise
    except OSError as exc:
        with suppress(OSError):
            # Python would write the rest at its end.
            sys.stdout.close()
        raise Unwritable(f"cannot write the output: {exc.strerror}.") from exc


def out(shown: Shown, *, stderr: bool = False) -> None:
    """Print with Rich; a text is escaped."""
    text = escaped(shown) if isinstance(shown, str) else shown
    if stderr:
        console(stderr=True).print(text)
        return
    with writing():
        console().print(text)


def error(message: str) -> None:
    """Print an error on stderr, in the language of the terminal.

    It is one line, which a terminal breaks between words only, so that a path can be copied.
    """
    from hippocampe.language.i18n import translate
    from hippocampe.presentation import decisions

    reason = escaped(decisions.error(message, language()))
    shown = translate("error: {reason}", language()).format(reason=reason)
    stderr = console(stderr=True)
    lines = [" ".join(shown.splitlines())]
    if stderr.is_terminal:
        lines = wrap(lines[0], stderr.width, break_long_words=False, break_on_hyphens=False)
    stderr.print("\n".join(lines), soft_wrap=True)


def end_line() -> None:
    """Begin a line after the `^C` that a terminal shows for Ctrl-C."""
    if sys.stderr.isatty():
        sys.stderr.write("\n")


def as_json(value: object) -> None:
    """Print one JSON value."""
    from hippocampe.client.wire import encode

    readable = (sys.stdout.encoding or "").lower().replace("-", "") == "utf8"
    text = json.dumps(encode(value), ensure_ascii=not readable, indent=2)
    # JSON has these characters only inside strings, so the output stays valid.
    with writing():
        sys.stdout.write(escaped(text) + "\n")


@contextmanager
def progress() -> "Generator[Callable[[str, int, int], None]]":
    """Progress bars on stderr, one per task; silent if stderr is not a terminal."""
    stderr = console(stderr=True)
    if not stderr.is_terminal or stderr.is_dumb_terminal:
        yield lambda what, done, total: None
        return
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(*columns, TimeElapsedColumn(), console=stderr, transient=True) as bars:
        tasks: dict[str, Any] = {}

        def report(what: str, done: int, total: int) -> None:
            if what not in tasks:
                # Without a total, Rich takes 100 for it.
                tasks[what] = bars.add_task(what, total=None)
            bars.update(tasks[what], completed=done, total=total or None)

        yield report
