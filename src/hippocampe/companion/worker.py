"""The companion for hosts in other languages: requests as JSON lines in, events and answers out.

The protocol is in docs/reference.md.
"""

import asyncio
import json
import logging
import signal
import traceback
from collections.abc import Awaitable, Callable, Coroutine, Generator, Mapping
from contextlib import AsyncExitStack, aclosing, contextmanager
from dataclasses import asdict, dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, cast

from hippocampe.companion.companion import AsyncCompanion
from hippocampe.companion.lines import LineReader, LineWriter
from hippocampe.companion.replies import Reply, TextStreamed, ToolCalled, ToolReturned
from hippocampe.errors import HippocampeError, InvalidInput, NotFound
from hippocampe.hippocampe import Hippocampe
from hippocampe.types import MAX_LABEL_CHARACTERS

log = logging.getLogger("hippocampe")
Id = str | int

MAX_LINE_BYTES = 2**20
MAX_UNDER_WAY = 1_000
"""Requests that may run or wait at once; each holds its message in RAM."""
GRACE_SECONDS = 5.0
"""Grace period after SIGTERM for the requests under way, and for the host to read the last lines."""
_REQUIRED = ("user", "message")
_OPTIONAL = ("space", "channel")


@dataclass(frozen=True, slots=True)
class Request:
    """A message to answer."""

    user: str
    message: str
    space: str = "default"
    channel: str | None = None


class Worker:
    """Turns lines into requests, and their events into lines, which several tasks write.

    Args:
        companion_of: The companion of a space.
        write: Takes one line.
    """

    def __init__(
        self,
        companion_of: Callable[[str], Awaitable[AsyncCompanion]],
        write: Callable[[bytes], Awaitable[None]],
    ) -> None:
        self._companion_of = companion_of
        self._write = write
        self._under_way: dict[Id, asyncio.Task[None]] = {}
        self._running: set[asyncio.Task[None]] = set()

    async def receive(self, line: bytes | None) -> None:
        """Handle a line; None is one that was too long. A bad line is answered with an error."""
        id: Id | None = None
        try:
            fields = _object(line)
            id = _id(fields.get("id"))
            wanted = _wanted(fields)
            if isinstance(wanted, Request):
                self._start(id, wanted)
                # Once it runs, its message is stored in any case.
                await asyncio.sleep(0)
            else:
                self._cancel(wanted)
        except (InvalidInput, NotFound) as exc:
            # An error with the id of a request under way would look like its end to the host.
            await self._write(_error(None if id in self._under_way else id, str(exc)))

    async def finished(self) -> None:
        """Wait until no request is under way."""
        while self._running:
            await asyncio.wait(self._running)

    def cancel_all(self) -> None:
        """End the requests under way."""
        for id in list(self._under_way):
            self._cancel(id)

    def _start(self, id: Id, request: Request) -> None:
        if id in self._under_way:
            raise InvalidInput(f"the id {id!r} is that of a request under way: use another one.")
        if len(self._under_way) >= MAX_UNDER_WAY:
            raise InvalidInput(
                f"{MAX_UNDER_WAY:,} requests are under way: wait for answers, then send it again."
            )
        task = asyncio.create_task(self._answer(id, request))
        self._under_way[id] = task
        self._running.add(task)
        task.add_done_callback(lambda task: self._end(id, task))

    def _cancel(self, id: Id) -> None:
        task = self._under_way.get(id)
        if task is None:
            raise NotFound(f"no request {id!r} is under way: it has ended, or was never sent.")
        if not task.cancelling():
            task.cancel()

    async def _answer(self, id: Id, request: Request) -> None:
        try:
            companion = await self._companion_of(request.space)
            events = companion.stream(
                request.message, user=request.user, channel=request.channel, space=request.space
            )
            async with aclosing(events):
                async for event in events:
                    if isinstance(event, ToolCalled | ToolReturned | TextStreamed):
                        await self._write(_line(id, "event", **_fields_of(event)))
                    else:
                        await self._finish(id, _answered(id, event))
        except HippocampeError as exc:
            await self._finish(id, _error(id, str(exc)))
        except asyncio.CancelledError:
            await self._finish(
                id, _error(id, "the request was cancelled: its message is kept; send it again.")
            )

    async def _finish(self, id: Id, line: bytes) -> None:
        """Write the last line of a request; it can no longer be cancelled."""
        if self._under_way.pop(id, None) is not None:
            await self._write(line)

    def _end(self, id: Id, task: asyncio.Task[None]) -> None:
        """Answer a request that failed with an unknown error."""
        self._running.discard(task)
        error = None if task.cancelled() else task.exception()
        if error is None:
            return
        # Without the message of the error, which may quote the conversation.
        where = "".join(traceback.format_tb(error.__traceback__))
        log.error("a request failed with %s:\n%s", type(error).__name__, where)
        last = _error(id, f"the request failed with {type(error).__name__}: see the log on stderr.")
        writing = asyncio.create_task(self._finish(id, last))
        self._running.add(writing)
        writing.add_done_callback(self._running.discard)


async def serve(
    memories: Mapping[Path, Hippocampe],
    home: Callable[[str], Path],
    join: Callable[[Path], Hippocampe],
    source: int,
    target: int,
) -> None:
    """Answer requests until the input ends or the process is asked to stop.

    At the end of the input, the requests under way finish. SIGTERM and SIGINT give them
    `GRACE_SECONDS`, then cancel them; a host that no longer reads cancels them at once. Their
    messages stay stored.

    Args:
        memories: The open memory, or those of all cells, by folder; the caller closes them.
        home: The folder that has a space.
        join: Opens the memory of a folder that is not open yet, of a cell that was added.
        source: File descriptor of the requests.
        target: File descriptor of the answers. Only this function may write to it.
    """
    stopping = asyncio.Event()
    writer = LineWriter(target, when_lost=stopping.set)
    async with AsyncExitStack() as stack:
        companions = dict[Path, AsyncCompanion]()
        joining = asyncio.Lock()

        async def companion_of(space: str) -> AsyncCompanion:
            folder = home(space)
            if folder not in companions:
                async with joining:
                    if folder not in companions:
                        memory = memories.get(folder) or await asyncio.to_thread(join, folder)
                        companion = AsyncCompanion(memory)
                        companions[folder] = await stack.enter_async_context(companion)
            return companions[folder]

        worker = Worker(companion_of, writer.write)
        with _on_signals(stopping.set):
            stopped = asyncio.create_task(stopping.wait())
            reading = _receive_all(worker, LineReader(source, MAX_LINE_BYTES))
            await _unless(stopped, reading)
            await _unless(stopped, worker.finished())
            if stopping.is_set():
                grace = 0.0 if writer.lost else GRACE_SECONDS
                await _unless(stopped, worker.finished(), grace)
                worker.cancel_all()
                await _unless(stopped, worker.finished(), GRACE_SECONDS)
            await _unless(stopped, writer.close(), GRACE_SECONDS)
            stopped.cancel()


async def _receive_all(worker: Worker, lines: LineReader) -> None:
    async for line in lines:
        await worker.receive(line)


async def _unless(
    stopped: asyncio.Task[Any], work: Coroutine[Any, Any, None], grace: float = 0.0
) -> None:
    """Wait for work; once stopped, wait only `grace` seconds longer, then cancel it."""
    task = asyncio.create_task(work)
    await asyncio.wait({task, stopped}, return_when=asyncio.FIRST_COMPLETED)
    if not task.done() and grace:
        await asyncio.wait({task}, timeout=grace)
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.result()


@contextmanager
def _on_signals(stop: Callable[[], object]) -> Generator[None]:
    loop = asyncio.get_running_loop()

    def handle(*_: object) -> None:
        loop.call_soon_threadsafe(stop)

    before = {each: signal.signal(each, handle) for each in (signal.SIGTERM, signal.SIGINT)}
    try:
        yield
    finally:
        for each, handler in before.items():
            signal.signal(each, handler)


def _object(line: bytes | None) -> dict[str, Any]:
    if line is None:
        raise InvalidInput(
            f"the line is longer than {MAX_LINE_BYTES:,} bytes: send a shorter message."
        )
    try:
        found: object = json.loads(line.decode("utf-8-sig"))
    except UnicodeDecodeError as exc:
        raise InvalidInput("the line is not UTF-8: encode it as UTF-8.") from exc
    except (ValueError, RecursionError) as exc:
        raise InvalidInput("the line is not JSON: send one object on one line.") from exc
    if not isinstance(found, dict):
        raise InvalidInput(
            'the line is not a JSON object: send {"id": …, "user": …, "message": …}.'
        )
    return cast("dict[str, Any]", found)


def _id(value: object) -> Id:
    """Check an id.

    Raises:
        InvalidInput: It is neither text nor a whole number, or too long.
    """
    # True is an int, and equal to 1.
    if isinstance(value, bool) or not isinstance(value, str | int) or not value:
        raise InvalidInput("id is missing or wrong: give text or a whole number other than 0.")
    if len(str(value)) > MAX_LABEL_CHARACTERS:
        raise InvalidInput(f"id is too long: use at most {MAX_LABEL_CHARACTERS} characters.")
    return value


def _wanted(fields: dict[str, Any]) -> Request | Id:
    """A request to answer, or the id of one to cancel."""
    known = ("id", "cancel") if "cancel" in fields else ("id", *_REQUIRED, *_OPTIONAL)
    for name in fields:
        if name not in known:
            raise InvalidInput(f"the field {name[:40]!r} is unknown: use {', '.join(known)}.")
    if "cancel" in fields:
        return _id(fields["cancel"])
    values = {name: fields.get(name) for name in (*_REQUIRED, *_OPTIONAL)}
    for name, value in values.items():
        if value is None and name in _REQUIRED:
            raise InvalidInput(
                f"the field {name!r} is missing: a request has id, user and message."
            )
        if value is not None and not isinstance(value, str):
            raise InvalidInput(f"the field {name!r} is not text: give text.")
    return Request(**{name: value for name, value in values.items() if value is not None})


def _fields_of(event: ToolCalled | ToolReturned | TextStreamed) -> dict[str, Any]:
    match event:
        case ToolCalled(name, arguments):
            return {"event": "tool_called", "tool": name, "arguments": arguments}
        case ToolReturned(name, text):
            return {"event": "tool_returned", "tool": name, "text": text}
        case TextStreamed(text, restart):
            return {"event": "text", "text": text, "restart": restart}


def _answered(id: Id, reply: Reply) -> bytes:
    return _line(
        id,
        "answer",
        expression=reply.expression,
        message=reply.message,
        memories=[asdict(memory) for memory in reply.memories],
        usage=asdict(reply.usage),
    )


def _error(id: Id | None, message: str) -> bytes:
    """An error line. A message is a reason and, after a colon, a remedy."""
    error, colon, hint = message.partition(": ")
    return _line(id, "error", error=error if colon else message, hint=hint or message)


def _line(id: Id | None, type: str, **fields: Any) -> bytes:
    text = json.dumps({"id": id, "type": type, **fields}, ensure_ascii=False, default=_time)
    # Some readers, such as Node's, break lines at these too. In JSON they occur only inside strings.
    for character in "\x85\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    # A lone surrogate becomes its JSON escape.
    return text.encode("utf-8", "backslashreplace") + b"\n"


def _time(value: object) -> str:
    if isinstance(value, datetime):
        return value.isoformat()
    raise TypeError(f"{type(value).__name__} is not JSON")
