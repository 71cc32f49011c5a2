"""The latest lines of the log, in memory for the pages. They contain no text of users."""

import logging
import threading
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import count

from hippocampe.server.http.logs import FIELDS

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
