"""Log lines: as text or JSON, one line each, and the latest ones in memory for the pages. They have no text of users."""

import json
import logging
import threading
import time
import traceback
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count
from types import TracebackType

from hippocampe.validation import check_choice

FORMATS = ("text", "json")
LEVELS = ("debug", "info", "warning", "error")
requests = logging.getLogger("hippocampe.requests")
"""One line per request, at INFO."""
FIELDS = "fields"
"""The attribute of a record with its values by name."""


class WithoutMessages(logging.Formatter):
    """Formats an error as its class and its location: its message may quote a user.

    Control characters are escaped, so that no text can start a new line.
    """

    def format(self, record: logging.LogRecord) -> str:
        # The lines of a traceback are code of the program.
        line, *trace = super().format(record).split("\nTraceback", 1)
        return "\nTraceback".join([escaped(line), *trace])

    def formatException(
        self,
        ei: tuple[type[BaseException], BaseException, TracebackType | None]
        | tuple[None, None, None],
    ) -> str:
        place = traceback.format_tb(ei[2])
        return "".join(["Traceback:\n", *place, ei[0].__name__ if ei[0] else ""])


class JsonLines(WithoutMessages):
    """Formats a record as a JSON object: at, level, logger, message, and the values of a request."""

    def format(self, record: logging.LogRecord) -> str:
        entry = {
            "at": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
        }
        if record.exc_info:
            entry["error"] = self.formatException(record.exc_info)
        return json.dumps(entry | getattr(record, FIELDS, {}))


def escaped(text: str) -> str:
    """A text on one line, without control characters."""
    if text.isprintable():
        return text
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in text)


def install(form: str, level: str) -> None:
    """Write the log of this process to standard error, in one of `FORMATS`, from one of `LEVELS` on.

    Raises:
        InvalidInput: The form or the level is unknown.
    """
    check_choice("log format", form, FORMATS)
    check_choice("log level", level, LEVELS)
    handler = logging.StreamHandler()
    # The log of the dashboard takes more lines from the same loggers.
    handler.setLevel(level.upper())
    text = WithoutMessages("%(asctime)s %(levelname)s %(name)s: %(message)s", "%Y-%m-%dT%H:%M:%SZ")
    text.converter = time.gmtime
    handler.setFormatter(JsonLines() if form == "json" else text)
    logging.basicConfig(level=level.upper(), handlers=[handler])


def request(id: str, method: str, route: str, status: int, seconds: float, actor: str) -> None:
    """Log one request."""
    if not requests.isEnabledFor(logging.INFO):
        return
    fields = {
        "id": id,
        "method": method,
        "route": route,
        "status": status,
        "ms": round(seconds * 1000, 1),
        "actor": actor,
    }
    line = "%(id)s %(method)s %(route)s %(status)d %(ms).1f ms, %(actor)s"
    requests.info(line, fields, extra={FIELDS: fields})


LOGGERS = ("hippocampe", "uvicorn.error")
"""Loggers whose lines contain no text of a user."""
QUIET = frozenset({"none", "/digest", "/jobs", "/logs/stream"})
"""Routes that pages poll, and files: their successful requests are not shown."""
MOST_LINES = 1_000
MOST_CHARACTERS = 4_000


@dataclass(frozen=True, slots=True)
class LogLine:
    """One line of the log; `number` grows by one from line to line, `level` is `error` for all worse ones too."""

    number: int
    at: datetime
    level: str
    logger: str
    text: str

    def is_of(self, space: str, key_id: str) -> bool:
        """Return whether the line belongs to a space, or to a key."""
        return f"space {space!r}" in self.text or f"key {key_id}" in self.text


class LogTail(logging.Handler):
    """Buffers the latest lines of the log. Thread-safe."""

    def __init__(self, most: int = MOST_LINES) -> None:
        super().__init__(logging.INFO)
        self.ended = threading.Event()
        """Set when the server stops, so that streams end."""
        self._lines = deque[LogLine](maxlen=most)
        self._numbers = count(1)
        self._raised: list[logging.Logger] = []

    def emit(self, record: logging.LogRecord) -> None:
        """Buffer a line; an error as its class only, because its message may quote a user."""
        request = getattr(record, FIELDS, None)
        if request is not None and request["route"] in QUIET and request["status"] < 400:
            return
        text = record.getMessage().strip()[:MOST_CHARACTERS]
        if record.exc_info and record.exc_info[0]:
            text = f"{text} ({record.exc_info[0].__name__})"
        at = datetime.fromtimestamp(record.created, UTC)
        level = "error" if record.levelno > logging.ERROR else record.levelname.lower()
        line = LogLine(next(self._numbers), at, level, record.name, text)
        self._lines.append(line)

    def after(self, number: int) -> Sequence[LogLine]:
        """The buffered lines with a higher number, oldest first."""
        return [line for line in self._lines.copy() if line.number > number]

    def attach(self) -> None:
        """Attach the handler to the loggers."""
        for name in LOGGERS:
            logger = logging.getLogger(name)
            logger.addHandler(self)
            if logger.level == logging.NOTSET:
                logger.setLevel(logging.INFO)
                self._raised.append(logger)

    def detach(self) -> None:
        """Detach the handler, and end the streams."""
        self.ended.set()
        for name in LOGGERS:
            logging.getLogger(name).removeHandler(self)
        for logger in self._raised:
            logger.setLevel(logging.NOTSET)
        self._raised.clear()
