"""Run a router and its cells until a signal; give orders to a running one, from another process of its user."""

import asyncio
import json
import secrets
import socket
import sys
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, ExitStack, contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
from starlette.types import ASGIApp

from hippocampe.cells import FOLDER, Divided
from hippocampe.config import Config
from hippocampe.errors import HippocampeError, InvalidInput, ServerUnavailable
from hippocampe.hippocampe import KeyRegister, divide
from hippocampe.server.app import LARGER, MAX_BODY_BYTES
from hippocampe.server.cells.moves import Moved
from hippocampe.server.cells.passing import INTERNAL
from hippocampe.server.cells.router import Router
from hippocampe.server.cells.supervisor import Orders, Supervisor
from hippocampe.server.http.limits import BodyLimit
from hippocampe.server.http.rewriting import SpeakerPath
from hippocampe.server.http.sessions import Sessions
from hippocampe.server.proxy.providers import ProviderErrors
from hippocampe.server.serving import Server, allow_files, listen, signals_taken, url_of
from hippocampe.system import private
from hippocampe.system.exclusive import exclusive
from hippocampe.system.local_socket import LOCK, is_held

CARD = "router.json"
"""The file, in the folder of the cells, with the address of the router's own socket."""
SOCKET = "router.sock"


def serve(
    config: Config,
    count: int,
    listener: socket.socket,
    *,
    started: Callable[[str], None],
    require_key: bool,
    log_format: str,
    log_level: str,
) -> None:
    """Divide a folder, and serve it over HTTP until SIGINT or SIGTERM; requests under way are finished.

    Args:
        config: The folder, which is divided only if it can be served at the address.
        count: The number of cells.
        listener: The socket of `serving.bound`.
        started: Called with the base URL once it can be reached.
        require_key: Whether programs of this machine need a key too.

    Raises:
        InvalidInput: A key is needed and none exists, or the folder cannot be divided.
        FolderInUse: Another process uses the folder.
        HippocampeError: A cell cannot be started.
    """
    if sys.platform == "win32":
        raise InvalidInput("--workers needs Unix sockets: leave it out, or use Linux or macOS.")
    allow_files()
    root = config.folder
    card = root / FOLDER / CARD
    with ExitStack() as held:
        places: list[tuple[KeyRegister, bool]] = []

        def begin() -> None:
            keys = KeyRegister(root)
            held.callback(keys.close)
            loopback = listen(
                listener, folder=root, keyless=lambda: keys.is_empty, require_key=require_key
            )
            places.append((keys, loopback))

        config = divide(config, count, begin)
        [(keys, loopback)] = places
        held.enter_context(_only_router(root))
        own, sockets = held.enter_context(_own_socket(root.absolute() / FOLDER))
        orders = Orders(
            config=config,
            loopback=loopback,
            keyless=not require_key,
            address=url_of(listener),
            signing=secrets.token_hex(32),
            log_format=log_format,
            log_level=log_level,
        )
        private.replace_text(card, json.dumps({"socket": str(sockets / SOCKET)}))
        held.callback(card.unlink, missing_ok=True)
        asyncio.run(_run(orders, keys, sockets, [listener, own], started))


def _only_router(root: Path) -> AbstractContextManager[None]:
    """Lock the folder of the cells, as the owner of a data folder does: two routers would share sockets."""
    refusal = f"cannot serve {root}: another server with cells serves it. Stop that one first."
    return exclusive(root / FOLDER / LOCK, refusal)


@contextmanager
def _own_socket(folder: Path) -> Generator[tuple[socket.socket, Path]]:
    """The router's own socket, listening, and the folder of all sockets: that of the cells if it can hold them."""
    with ExitStack() as stack:
        own = stack.enter_context(socket.socket(socket.AF_UNIX))
        try:
            # A router that was killed left it.
            (folder / SOCKET).unlink(missing_ok=True)
            own.bind(str(folder / SOCKET))
        except OSError:
            # The path is longer than the address of a Unix socket, or the file system has none.
            made = TemporaryDirectory(prefix="hippocampe-", ignore_cleanup_errors=True)
            folder = Path(stack.enter_context(made))
            own.bind(str(folder / SOCKET))
        (folder / SOCKET).chmod(0o600)
        own.listen()
        try:
            yield own, folder
        finally:
            for each in folder.glob("*.sock"):
                each.unlink()


async def _run(
    orders: Orders,
    keys: KeyRegister,
    sockets: Path,
    listeners: list[socket.socket],
    started: Callable[[str], None],
) -> None:
    divided = Divided(orders.config.folder)
    supervisor = Supervisor(divided, orders, sockets)
    has_notes = orders.config.notes_folder or orders.config.obsidian_url
    router = Router(
        divided,
        supervisor,
        keys,
        Sessions(),
        orders.config.notes_space if has_notes else None,
        keyless=orders.loopback and orders.keyless,
    )
    limited = BodyLimit(router, most=MAX_BODY_BYTES, larger=LARGER)
    app: ASGIApp = SpeakerPath(ProviderErrors(limited))
    tidying: asyncio.Task[None] | None = None
    signals = ExitStack()
    try:
        # A signal interrupts it: nobody waits for a request yet.
        await supervisor.start()
        signals.enter_context(signals_taken())
        tidying = asyncio.create_task(router.mover.stay_tidy())
        background = set[asyncio.Task[None]]()
        server = Server(
            app,
            lambda: started(orders.address),
            lambda: background.add(asyncio.create_task(router.ending())),
            lifespan="off",
            # The cells send it.
            date_header=False,
        )
        await server.serve(sockets=listeners)
    finally:
        if tidying is not None:
            tidying.cancel()
            await asyncio.gather(tidying, return_exceptions=True)
        await supervisor.stop()
        signals.close()


def router_socket(root: Path) -> str:
    """The address of the router's own socket.

    Raises:
        ServerUnavailable: No server with cells serves the folder.
    """
    # A copy of a folder that is served, or a router that was killed, has the file too, but not the lock.
    if is_held(str(root / FOLDER)) is not False:
        with suppress(OSError, ValueError, LookupError):
            return json.loads((root / FOLDER / CARD).read_text())["socket"]
    raise ServerUnavailable(
        f"no server with cells serves {root}: start hippocampe serve with --workers first."
    )


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
