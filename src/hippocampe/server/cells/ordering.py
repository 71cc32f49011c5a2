"""Give orders to a running router, from another process of its user."""

from pathlib import Path
from typing import Any

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
    return Moved(**_order(root, "move", {"space": space, "target": target}))


def spread(root: Path) -> list[Moved]:
    """Move some of the spaces that are not in the cell that their name hashes to; none if each is.

    Raises:
        ServerUnavailable: No server with cells serves the folder.
        HippocampeError: A cell failed; each space is where it was or where it belongs.
    """
    return [Moved(**each) for each in _order(root, "spread", {})]


def _order(root: Path, name: str, order: dict[str, object]) -> Any:
    transport = httpx.HTTPTransport(uds=router_socket(root))
    try:
        with httpx.Client(transport=transport, timeout=None) as client:
            answer = client.post(f"http://router{INTERNAL}{name}", json=order)
            content = answer.json()
    except (httpx.HTTPError, ValueError) as exc:
        raise ServerUnavailable(
            f"the server of {root} cannot be reached ({type(exc).__name__}): check that it runs."
        ) from exc
    if answer.status_code >= 400:
        raise HippocampeError(content["detail"])
    return content
