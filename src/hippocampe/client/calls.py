"""RPC of a verb: its arguments as JSON by name, checked against its signature."""

import functools
import inspect
from collections.abc import Mapping, Sequence
from typing import Any, get_type_hints

from hippocampe.client.wire import decode
from hippocampe.errors import InvalidInput


@functools.cache
def signature_of(kind: type, verb: str) -> tuple[inspect.Signature, dict[str, Any]]:
    """The signature of a verb of a class, without `self`, and the types of its arguments."""
    step = getattr(kind, verb)
    signature = inspect.signature(step)
    return signature.replace(parameters=[*signature.parameters.values()][1:]), get_type_hints(step)


def decode_arguments(
    kind: type, verb: str, arguments: Sequence[Any], named: Mapping[str, Any]
) -> dict[str, Any]:
    """Decode the arguments of a verb, by name.

    Raises:
        InvalidInput: The arguments are not those of the verb.
    """
    signature, hints = signature_of(kind, verb)
    try:
        bound = signature.bind(*arguments, **named).arguments
    except TypeError as exc:
        raise InvalidInput(
            f"{verb}(): {exc}. Correct the call, or install the version of the server."
        ) from exc
    try:
        decoded = {name: decode(hints.get(name, Any), each) for name, each in bound.items()}
        # Arguments by any name, as in `update_settings`.
        decoded |= decoded.pop("changes", {})
    except (TypeError, ValueError) as exc:
        raise InvalidInput(
            f"the arguments are not those of {verb}: install the version of the server."
        ) from exc
    return decoded


def takes_progress(kind: type, verb: str) -> bool:
    """Return whether a verb of a class reports progress."""
    return "progress" in signature_of(kind, verb)[0].parameters
