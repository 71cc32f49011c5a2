"""The terminal chat: answers are streamed; a line that begins with `/` is a command.

Without a model, memory is tried alone: what is said is stored, and a question is answered by what a model would be
given.
"""

import asyncio
import sys
from collections.abc import Callable
from contextlib import aclosing, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from hippocampe.cli import terminal
from hippocampe.cli.screen import Screen
from hippocampe.cli.show import chat as show
from hippocampe.cli.show.layout import lines, reader
from hippocampe.companion import AsyncCompanion, Reply, TextStreamed, ToolCalled
from hippocampe.companion.alone import serve_alone
from hippocampe.companion.self_knowledge import by_category, own_statements
from hippocampe.errors import HippocampeError
from hippocampe.hippocampe import Hippocampe
from hippocampe.language.invisible import escaped
from hippocampe.presentation.reader import Reader
from hippocampe.types import Scope

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from hippocampe.companion import DeepRecall

LISTED = 10
"""Memories that `/memories` shows."""
LISTED_SCORE = 0.1
"""Least relevance of a listed memory. Lower than for an injection, because a person chooses."""


class Chat:
    """A conversation in a terminal, or over pipes; without a model, memory is tried alone."""

    def __init__(self, hippo: Hippocampe, model: "Model | None", scope: Scope) -> None:
        self._hippo = hippo
        self._scope = scope
        settings = hippo.settings(scope=scope)
        self._timezone = settings.timezone
        self._names = settings.companion_names
        self._runner = asyncio.Runner()
        self._companion = None if model is None else AsyncCompanion(hippo, model=model)
        self._screen = Screen()
        self._last: Reply | None = None
        self._began = datetime.now(UTC)
        self._known = set[str]()
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
        if self._companion is None:
            self._screen.print(show.memory_alone(self._by))
            self._converse()
            return
        self.say(
            "{model}. /help lists the commands, Ctrl-D leaves.", model=self._hippo.config.model
        )
        with self._runner:
            try:
                self._converse()
            finally:
                # The runner does not await it if Ctrl-C ended an answer.
                self._runner.run(self._companion.close())

    @property
    def _by(self) -> Reader:
        return reader(self._timezone)

    def say(self, notice: str, **values: object) -> None:
        """Show a notice, in the language of the terminal."""
        self._screen.dim(self._by.say(notice, **values))

    def _converse(self) -> None:
        interrupted = False
        while True:
            try:
                line = self._screen.ask(f"{self._scope.user} {terminal.sign('›')} ").strip()
                if line in ("/quit", "/exit"):
                    return
                if line.startswith("/"):
                    self._command(line)
                elif line and self._companion is None:
                    self._serve(line)
                elif line:
                    self._show_learnt()
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
                self.say("Press Ctrl-C again to leave.")
            except HippocampeError as exc:
                self._screen.end()
                terminal.error(str(exc))

    async def _answer(self, message: str) -> None:
        assert self._companion is not None
        self._answering = True
        scope = self._scope
        events = self._companion.stream(
            message, user=scope.user, channel=scope.channel, space=scope.space
        )
        try:
            with self._screen.waiting(self._by.say("thinking…")) as begun:
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
            self.say("Cancelled; your message is kept.")
            raise
        finally:
            self._answering = False

    @property
    def _speaker(self) -> str:
        return f"{self._names[0] if self._names else 'hippocampe'} {terminal.sign('›')} "

    def _close(self, reply: Reply) -> None:
        self._last = reply
        self._screen.finish(self._speaker, reply.message)
        self._screen.print(show.after(reply, self._by))
        self._known |= {memory.id for memory in reply.memories}

    def _show_learnt(self) -> None:
        """Show what was learnt from this conversation in the background since the last answer."""
        page = self._hippo.memories(
            scope=self._scope, collection="memory", channel=self._scope.channel, since=self._began
        )
        learnt = [memory for memory in page.items if memory.id not in self._known]
        self._known |= {memory.id for memory in learnt}
        if learnt:
            self._screen.print(lines(*show.changed(learnt, {}, self._by)))

    def _serve(self, message: str) -> None:
        """Show what a model would be given for a message, and store it if it states something."""
        by = self._by
        served = serve_alone(self._hippo, message, scope=self._scope)
        injection = served.injection
        self._last = served.reply
        if (asked := injection.forgetting) is not None:
            for item in asked.items:
                self._screen.print(show.planned([item], by))
            if asked.whole:
                self.say("Nothing was forgotten: erase removes all that is known of a user.")
            elif not asked.items and asked.waits:
                self.say("Not found in time what this means: what is clear was forgotten.")
            elif not asked.items:
                self.say("Nothing found.")
            elif asked.waits:
                self.say("Answer yes if this is what to forget.")
            else:
                self.say("Forgotten: {number}.", number=len(asked.items))
            return
        if injection.items or served.stored is None:
            self._screen.print(show.why(self._last, by))
        if served.stored is not None:
            self._screen.print(show.remembered(served.stored, served.replaced, by))

    def _command(self, line: str) -> None:
        name, _, argument = line[1:].partition(" ")
        run = self._commands.get(name)
        if run is None:
            self.say("There is no /{name}: see /help.", name=escaped(name))
        else:
            run(argument.strip())

    def _help(self, _: str) -> None:
        self._screen.print(show.commands(self._by))

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
        self._screen.print(show.memories(found, self._by))

    def _deep(self, question: str) -> None:
        if not question:
            self.say("Say what to look for: /deep QUESTION")
        elif self._companion is None:
            self.say("Only a language model can search in several steps.")
        else:
            self._screen.print(show.deep(self._runner.run(self._search(question)), self._by))

    async def _search(self, question: str) -> "DeepRecall":
        assert self._companion is not None
        self._answering = True
        scope = self._scope
        try:
            with self._screen.waiting(self._by.say("searching…")):
                return await self._companion.deep_recall(
                    question, user=scope.user, channel=scope.channel, space=scope.space
                )
        finally:
            self._answering = False

    def _why(self, _: str) -> None:
        if self._last is None:
            self.say("There is no answer yet.")
        else:
            self._screen.print(show.why(self._last, self._by))

    def _forget(self, topic: str) -> None:
        by = self._by
        if not topic:
            self.say("Say what to forget: /forget TOPIC")
            return
        planned = self._hippo.forget(topic, scope=self._scope, dry_run=True)
        if not planned.ids:
            self.say("Nothing found.")
            return
        self._screen.print(show.planned(planned.items, by))
        typed = ""
        with suppress(EOFError):
            typed = self._screen.ask(by.say("Forget these? [y/N] "))
        if by.agrees(typed):
            done = self._hippo.forget(topic, scope=self._scope)
            self.say("Forgotten: {number}.", number=len(done.ids))
        else:
            self.say("Nothing was changed.")

    def _self(self, _: str) -> None:
        statements = own_statements(self._hippo, space=self._scope.space)
        self._screen.print(show.own(by_category(statements), self._by))


def _prepare_input() -> None:
    """Give `input` line editing and history, and accept any bytes."""
    with suppress(ImportError):
        import readline  # noqa: F401  # pyright: ignore[reportUnusedImport]
    sys.stdin.reconfigure(errors="replace")  # pyright: ignore
