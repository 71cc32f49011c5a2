"""The terminal chat: answers are streamed; a line that begins with `/` is a command."""

import asyncio
import sys
from collections.abc import Callable
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hippocampe.cli import terminal
from hippocampe.cli.screen import Screen
from hippocampe.cli.show import chat as show
from hippocampe.companion import AsyncCompanion, Reply, TextStreamed, ToolCalled
from hippocampe.companion.self_knowledge import by_category, own_statements
from hippocampe.errors import HippocampeError
from hippocampe.hippocampe import Hippocampe
from hippocampe.language.i18n import translate
from hippocampe.types import Scope

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from hippocampe.companion import DeepRecall

LISTED = 10
"""Memories that `/memories` shows."""
LISTED_SCORE = 0.1
"""Least relevance of a listed memory. Lower than for an injection, because a person chooses."""


class Chat:
    """A conversation in a terminal, or over pipes.

    Args:
        hippo: The open memory.
        model: Answers.
        scope: Who speaks, and where.
    """

    def __init__(self, hippo: Hippocampe, model: "Model", scope: Scope) -> None:
        self._hippo = hippo
        self._scope = scope
        settings = hippo.settings(scope=scope)
        self._language = settings.language
        self._timezone = settings.timezone
        self._name = settings.companion_names[0] if settings.companion_names else "hippocampe"
        self._runner = asyncio.Runner()
        self._companion = AsyncCompanion(hippo, model=model)
        self._screen = Screen()
        self._last: Reply | None = None
        self._answering = False
        self._commands: dict[str, Callable[[str], None]] = {
            "deep": self._deep,
            "memories": self._memories,
            "why": self._why,
            "forget": self._forget,
            "self": self._self,
            "help": self._help,
        }

    def run(self) -> None:
        """Converse until the input ends or the user leaves."""
        _prepare_input()
        self._screen.dim(
            translate("{model}. /help lists the commands, Ctrl-D leaves.", self._language).format(
                model=self._hippo.config.model
            )
        )
        with self._runner:
            try:
                self._converse()
            finally:
                # The runner does not await it if Ctrl-C ended an answer.
                self._runner.run(self._companion.close())

    def _converse(self) -> None:
        interrupted = False
        while True:
            try:
                line = self._screen.ask(f"{self._scope.user} {terminal.sign('›')} ").strip()
                if line in ("/quit", "/exit"):
                    return
                if line.startswith("/"):
                    self._command(line)
                elif line:
                    self._runner.run(self._answer(line))
                interrupted = False
            except EOFError:
                self._screen.end()
                return
            except KeyboardInterrupt:
                self._screen.end()
                if interrupted or self._answering:
                    return
                interrupted = True
                self._screen.dim(translate("Press Ctrl-C again to leave.", self._language))
            except HippocampeError as exc:
                self._screen.end()
                terminal.error(str(exc))

    async def _answer(self, message: str) -> None:
        self._answering = True
        scope = self._scope
        events = self._companion.stream(
            message, user=scope.user, channel=scope.channel, space=scope.space
        )
        try:
            with self._screen.waiting(translate("thinking…", self._language)) as begun:
                async with aclosing(events):
                    async for event in events:
                        if isinstance(event, TextStreamed):
                            begun()
                            self._screen.stream(self._speaker, event.text, event.restart)
                        elif isinstance(event, ToolCalled):
                            self._screen.above(show.tool(event))
                        elif isinstance(event, Reply):
                            begun()
                            self._close(event)
        except asyncio.CancelledError:
            self._screen.end()
            self._screen.dim(translate("Cancelled; your message is kept.", self._language))
            raise
        finally:
            self._answering = False

    @property
    def _speaker(self) -> str:
        return f"{self._name} {terminal.sign('›')} "

    def _close(self, reply: Reply) -> None:
        self._last = reply
        self._screen.finish(self._speaker, reply.message)
        self._screen.print(show.after(reply, self._language))

    def _command(self, line: str) -> None:
        name, _, argument = line[1:].partition(" ")
        run = self._commands.get(name)
        if run is None:
            self._screen.dim(
                translate("There is no /{name}: see /help.", self._language).format(
                    name=terminal.escaped(name)
                )
            )
        else:
            run(argument.strip())

    def _help(self, _: str) -> None:
        self._screen.print(show.commands(self._language))

    def _memories(self, query: str) -> None:
        if query:
            found = [
                each.memory
                for each in self._hippo.recall(
                    query,
                    scope=self._scope,
                    limit=LISTED,
                    collections=("memory",),
                    min_score=LISTED_SCORE,
                )
                if each.memory is not None
            ]
        else:
            page = self._hippo.memories(scope=self._scope, collection="memory", limit=LISTED)
            found = list(page.items)
        self._screen.print(show.memories(found, self._language, self._timezone, datetime.now(UTC)))

    def _deep(self, question: str) -> None:
        if not question:
            self._screen.dim(translate("Say what to look for: /deep QUESTION", self._language))
            return
        self._screen.print(show.deep(self._runner.run(self._search(question)), self._language))

    async def _search(self, question: str) -> "DeepRecall":
        self._answering = True
        scope = self._scope
        try:
            with self._screen.waiting(translate("searching…", self._language)):
                return await self._companion.deep_recall(
                    question, user=scope.user, channel=scope.channel, space=scope.space
                )
        finally:
            self._answering = False

    def _why(self, _: str) -> None:
        if self._last is None:
            self._screen.dim(translate("There is no answer yet.", self._language))
            return
        self._screen.print(show.reminders(self._last, self._language))

    def _forget(self, topic: str) -> None:
        language = self._language
        if not topic:
            self._screen.dim(translate("Say what to forget: /forget TOPIC", language))
            return
        planned = self._hippo.forget(topic, scope=self._scope, dry_run=True)
        if not planned.ids:
            self._screen.dim(translate("Nothing found.", language))
            return
        self._screen.print(show.planned(planned, language))
        typed = ""
        with suppress(EOFError):
            typed = self._screen.ask(translate("Forget these? [y/N] ", language))
        if typed.strip().lower() in {
            "y",
            "yes",
            translate("y", language),
            translate("yes", language),
        }:
            done = self._hippo.forget(topic, scope=self._scope)
            outcome = translate("Forgotten: {number}.", language).format(number=len(done.ids))
        else:
            outcome = translate("Nothing was changed.", language)
        self._screen.dim(outcome)

    def _self(self, _: str) -> None:
        statements = own_statements(self._hippo, space=self._scope.space)
        self._screen.print(show.own(by_category(statements), self._language))


def _prepare_input() -> None:
    """Give `input` line editing and history, and accept any bytes."""
    with suppress(ImportError):
        import readline  # noqa: F401  # pyright: ignore[reportUnusedImport]
    sys.stdin.reconfigure(errors="replace")  # pyright: ignore
