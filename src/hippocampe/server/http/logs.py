"""Log lines: as text or JSON, one line each, without text of users."""

import json
import logging
import time
import traceback
from datetime import UTC, datetime
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
