"""Give orders to a running router, from another process of its user."""

from dataclasses import fields
from pathlib import Path

import httpx

from hippocampe.errors import HippocampeError, ServerUnavailable
from hippocampe.server.cells.moves import Moved
from hippocampe.server.cells.passing import INTERNAL
from hippocampe.server.cells.serving import router_socket


def move(root: Path, space: str, target: int) -> Moved:
    """Move a space to another cell.

    Raises:
        ServerUnavailable: No server with cells serves the folder.
        HippocampeError: The space cannot be moved; it stays where it is.
    """
    transport = httpx.HTTPTransport(uds=router_socket(root))
    order = {"space": space, "target": target}
    try:
        with httpx.Client(transport=transport, timeout=None) as client:
            answer = client.post(f"http://router{INTERNAL}move", json=order)
            content = answer.json()
    except (httpx.HTTPError, ValueError) as exc:
        raise ServerUnavailable(
            f"the server of {root} cannot be reached ({type(exc).__name__}): check that it runs."
        ) from exc
    if answer.status_code >= 400:
        raise HippocampeError(content["detail"])
    return Moved(**{each.name: content[each.name] for each in fields(Moved)})
