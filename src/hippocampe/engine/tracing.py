"""OpenTelemetry spans with the semantic conventions for memory of generative AI; off by default.

Names of operations and attributes are those of open-telemetry/semantic-conventions-genai (span
`gen_ai.memory.client`, in development, 2026). Attributes never contain user text: the convention's
`gen_ai.memory.query.text` and `gen_ai.memory.records` are not set.
"""

from collections.abc import Generator, Mapping
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import TYPE_CHECKING

from hippocampe.errors import InvalidInput
from hippocampe.system.command_line import install_line
from hippocampe.types import Injection, Memory, Receipt, Remembered
from hippocampe.verbs import Verb

if TYPE_CHECKING:
    from opentelemetry.trace import Span
    from opentelemetry.trace import Tracer as Provided

_OFF = nullcontext[None]()


class Tracer:
    """Makes spans; does nothing when off.

    Args:
        on: Whether to make spans with the tracer provider that the host has set.

    Raises:
        InvalidInput: It is on and OpenTelemetry is not installed.
    """

    def __init__(self, *, on: bool) -> None:
        self._tracer: Provided | None = None
        if not on:
            return
        try:
            from opentelemetry import trace
        except ImportError as exc:
            raise InvalidInput(
                "cannot trace: OpenTelemetry is not installed. Set tracing to False, or install it with: "
                f"{install_line('tracing')}"
            ) from exc
        self._tracer = trace.get_tracer("hippocampe")

    def span(self, verb: Verb, *, space: str) -> "AbstractContextManager[Span | None]":
        """A span around the call of a verb; None when tracing is off, and for verbs without an operation.

        An error marks the span as failed, with the class name only: messages may quote user text.
        """
        if self._tracer is None or verb.operation is None:
            return _OFF
        attributes = {
            "gen_ai.operation.name": verb.operation,
            "gen_ai.provider.name": "hippocampe",
            "gen_ai.memory.store.id": space,
            "hippocampe.verb": verb.name,
        }
        return _recorded(self._tracer, verb.operation, attributes)


@contextmanager
def _recorded(
    tracer: "Provided", operation: str, attributes: Mapping[str, str]
) -> "Generator[Span]":
    from opentelemetry.trace import SpanKind, Status, StatusCode

    with tracer.start_as_current_span(
        operation,
        # The memory is in this process: the span has no server address.
        kind=SpanKind.INTERNAL,
        attributes=attributes,
        record_exception=False,
        set_status_on_exception=False,
    ) as span:
        try:
            yield span
        except BaseException as exc:
            span.set_attribute("error.type", type(exc).__name__)
            span.set_status(Status(StatusCode.ERROR))
            raise


def note_result(span: "Span | None", result: object) -> None:
    """Record the number of memories an operation touched, and the id if it was one."""
    if span is None:
        return
    id: str | None = None
    if isinstance(result, Remembered):
        count, id = 1, result.memory.id
    elif isinstance(result, Memory):
        count, id = 1, result.id
    elif isinstance(result, Injection):
        count = len(result.items)
    elif isinstance(result, Receipt):
        count = len(result.ids)
    elif isinstance(result, list):
        count = len(result)  # pyright: ignore[reportUnknownArgumentType]
    else:
        return
    span.set_attribute("gen_ai.memory.record.count", count)
    if id is not None:
        span.set_attribute("gen_ai.memory.record.id", id)
