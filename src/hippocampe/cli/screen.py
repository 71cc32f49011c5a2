"""Write a conversation: streamed on a terminal, whole answers elsewhere."""

import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hippocampe.cli import terminal
from hippocampe.language.invisible import escaped

if TYPE_CHECKING:
    from rich.text import Text


class Screen:
    """Standard output during a chat."""

    def __init__(self) -> None:
        self._console = terminal.console()
        self.live = self._console.is_terminal and not self._console.is_dumb_terminal
        self._column = 0
        self._word = ""
        self._speaking = False

    def ask(self, prompt: str) -> str:
        """Read a line; the prompt is shown on a terminal only.

        Raises:
            EOFError: The input has ended.
        """
        typed_here = sys.stdin.isatty()
        try:
            return input(prompt if typed_here else "")
        except BaseException:
            # Ctrl-C and Ctrl-D leave the cursor behind the prompt.
            if typed_here:
                self._console.print()
            raise

    def print(self, shown: terminal.Shown) -> None:
        """Print below the present output."""
        self._console.print(shown)

    def dim(self, line: str) -> None:
        """Print a notice."""
        self._console.print(line, style="dim")

    @contextmanager
    def waiting(self, notice: str) -> Generator[Callable[[], None]]:
        """Show a spinner until the returned function is called."""
        if not self.live:
            yield lambda: None
            return
        from rich.live import Live
        from rich.spinner import Spinner

        with Live(
            Spinner("dots", notice, style="dim"),
            console=self._console,
            transient=True,
            # Restores the encoding of standard output, which redirection resets.
            redirect_stdout=False,
            redirect_stderr=False,
        ) as live:
            yield live.stop

    def above(self, line: "Text") -> None:
        """Print one line while waiting for an answer, cut at the width of the terminal."""
        self.end()
        self._console.print(line, no_wrap=True, overflow="ellipsis")

    def stream(self, speaker: str, text: str, restart: bool) -> None:
        """Write the next piece of an answer. Does nothing unless on a terminal."""
        if not self.live:
            return
        if restart:
            self.end()
        if not self._speaking:
            self._speaking = True
            self._console.print(speaker, style="bold", end="")
            self._column = len(speaker)
        for character in escaped(text):
            if character in " \n":
                self._flush()
                self._space(character)
            else:
                self._word += character

    def finish(self, speaker: str, message: str) -> None:
        """End an answer; write it whole if no piece of it was written."""
        if self._speaking:
            self.end()
            return
        self._console.print(speaker, style="bold", end="")
        self._console.print(escaped(message), soft_wrap=not self.live)

    def end(self) -> None:
        """Begin a new line if an answer has begun."""
        if self._speaking:
            self._flush()
            self._console.print()
            self._speaking = False

    def _flush(self) -> None:
        """Write a word, on the next line if it does not fit."""
        from rich.cells import cell_len

        width = cell_len(self._word)
        if self._column and self._column + width > self._console.width:
            self._space("\n")
        self._write(self._word)
        self._column += width
        self._word = ""

    def _space(self, character: str) -> None:
        if character == "\n":
            self._column = 0
        elif self._column + 1 < self._console.width:
            self._column += 1
        else:
            character, self._column = "\n", 0
        self._write(character)

    def _write(self, text: str) -> None:
        self._console.print(text, end="", soft_wrap=True)
