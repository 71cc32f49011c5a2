"""Checks of the services that a configuration names: server, embedder, upstream and notes.

A check may raise a HippocampeError, whose message is what it found.
"""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, NamedTuple

from hippocampe import __version__
from hippocampe.cells import Divided, folder_of
from hippocampe.cli.call import KEY, URL
from hippocampe.client.connection import Connection
from hippocampe.client.local import LocalConnection
from hippocampe.client.reaching import Unreached
from hippocampe.config import UPSTREAM_ANTHROPIC_KEY, UPSTREAM_KEY, UPSTREAM_URL, Config
from hippocampe.config_sources import FIELDS, SECRET, Loaded, default
from hippocampe.embed import is_remote, open_embedder
from hippocampe.errors import InvalidInput
from hippocampe.system.environment import variable

TIMEOUT = 3.0
"""Timeout of a check in seconds."""
ANTHROPIC_VERSION = "2023-06-01"
"""Version of Anthropic's API; the list of models is the same in later versions."""
MASKED = "•••"


class Examined(NamedTuple):
    """The result of a check, in English: whether it passed, and what was found."""

    ok: bool
    seen: str


def configuration(loaded: Loaded) -> Examined:
    """List every value that is set, with its origin; secrets are masked."""
    file = f"file {loaded.file}" if loaded.file else "no file"
    values: list[str] = []
    for name in FIELDS:
        value = getattr(loaded.config, name)
        if name not in loaded.origins and (value == default(name) or name == "folder"):
            continue
        shown = MASKED if name in SECRET else value
        values.append(f"{name} {shown} ({loaded.origins.get(name, 'environment')})")
    return Examined(True, f"{file}; {'; '.join(values)}") if values else Examined(True, file)


def server(config: Config) -> Examined:
    """Check the server of the commands: at `HIPPOCAMPE_URL`, or the process that owns the folder."""
    if url := variable(URL):
        return _remote(url, variable(KEY))
    divided = Divided(config.folder)
    cells = range(divided.read().count if divided.exists else 1)
    with ThreadPoolExecutor(len(cells)) as threads:
        asked = [threads.submit(_owner, folder_of(config.folder, cell)) for cell in cells]
    answers = [each.exception() or each.result() for each in asked]
    owners = [each for each in answers if isinstance(each, dict)]
    if address := next((each["address"] for each in owners if each["address"]), None):
        # With cells, those that do not answer are named there.
        return _ready(address)
    if owners:
        return Examined(True, f"process {owners[0]['pid']} shares this folder")
    for each in answers:
        if isinstance(each, BaseException):
            raise each
    return Examined(True, "no process shares this folder")


def _owner(folder: Path) -> dict[str, Any] | None:
    """The process that shares a folder; None if none does."""
    with suppress(Unreached), closing(LocalConnection(folder)) as connection:
        return connection.greet()
    return None


def _remote(url: str, key: str | None) -> Examined:
    try:
        address = Connection(url, key).address
    except InvalidInput as exc:
        return Examined(False, f"{URL}: {exc}")
    bearer = {"Authorization": f"Bearer {key}"} if key else {}
    status, answer = _get(f"{address}/api/verbs", bearer)
    if status is None:
        return Examined(
            False, f"{address} does not answer ({answer}): check that it runs, and {URL}"
        )
    if status == 401:
        return Examined(False, f"{address} refuses the key, or needs one: check {KEY}")
    version = _field(answer, "version")
    if version is None:
        reason = _field(answer, "detail") or f"status {status}"
        return Examined(False, f"{address} cannot be used ({reason}): check {URL}")
    if version != __version__:
        return Examined(
            False,
            f"{address} has version {version} and this program {__version__}: install the same on both "
            "sides",
        )
    return _ready(address)


def _ready(address: str) -> Examined:
    status, answer = _get(f"{address}/readyz")
    if status == 200:
        return Examined(True, f"{address} is ready")
    silent = (_field(answer, "silent_cells") or "").strip("[]")
    if status == 503 and silent:
        return Examined(
            False,
            f"{address} answers, but these cells do not: {silent}; one that stays silent for 30 seconds is started again",
        )
    parts = ("store", "embedder", "index", "disk")
    if status == 503 and _field(answer, "embedder") == "loading":
        return Examined(False, f"{address} answers, and loads its models: wait some seconds")
    down = [part for part in parts if _field(answer, part) == "down"]
    if status == 503 and down:
        return Examined(False, f"{address} answers, without {', '.join(down)}")
    reason = answer if status is None else f"status {status}"
    return Examined(False, f"{address} does not answer ({reason}): restart hippocampe serve")


def _field(answer: str, name: str) -> str | None:
    """A field of a JSON object; None if the answer lacks it."""
    try:
        return str(json.loads(answer)[name])
    except (ValueError, TypeError, LookupError):
        return None


def database(config: Config) -> Examined:
    """Check that the user of a database of many processes is restricted by row-level security."""
    from hippocampe.hippocampe import keeps_spaces_apart

    if config.database_url is None:
        return Examined(True, "in the folder")
    if keeps_spaces_apart(config):
        return Examined(True, "row-level security keeps spaces apart")
    return Examined(
        False,
        "the user of database_url is a superuser or may bypass row-level security, so only the program, and not the "
        "database, keeps spaces apart: use a role without these rights that owns the database",
    )


def embedder(config: Config) -> Examined:
    """Check a remote embedder by embedding one word."""
    name = config.embedder or "local"
    if not is_remote(name):
        return Examined(True, f"{name}, in this process")
    found = open_embedder(name, url=config.embedder_url, timeout=config.embedder_timeout)
    found.embed(["ready"])
    return Examined(True, f"{name} answers")


def upstream(url: str | None, key: str | None) -> Examined:
    """Check the proxy's upstream."""
    if url is None:
        return Examined(True, f"none set; only the proxy needs one: set {UPSTREAM_URL}")
    return _upstream(url, {"Authorization": f"Bearer {key}"} if key else {}, UPSTREAM_KEY)


def anthropic_upstream(url: str | None, key: str | None) -> Examined:
    """Check the upstream of Anthropic's clients, if they have one of their own."""
    if url is None:
        return Examined(True, "none set: the other upstream serves Anthropic's clients too")
    headers = {"anthropic-version": ANTHROPIC_VERSION, **({"x-api-key": key} if key else {})}
    return _upstream(url, headers, UPSTREAM_ANTHROPIC_KEY)


def _upstream(url: str, headers: Mapping[str, str], variable: str) -> Examined:
    status, answer = _get(f"{url.rstrip('/')}/models", headers)
    if status in (401, 403):
        return Examined(False, f"{url} refuses the key ({status}): check {variable}")
    if status is None:
        return Examined(False, f"{url} does not answer ({answer})")
    return Examined(True, f"{url} answers")


def notes(config: Config) -> Examined:
    """Check that the notes can be listed."""
    from hippocampe.hippocampe import count_notes

    count = count_notes(config)
    if count is None:
        return Examined(True, "none set")
    return Examined(True, f"{count:,} in {config.notes_folder or config.obsidian_url}")


def _get(url: str, headers: Mapping[str, str] | None = None) -> tuple[int | None, str]:
    """The status and text of an answer; None and the reason if there is none."""
    request = urllib.request.Request(url, headers=dict(headers or {}))
    try:
        with urllib.request.build_opener(_Nowhere).open(request, timeout=TIMEOUT) as answer:
            return answer.status, answer.read(100_000).decode("utf-8", "replace")
    except urllib.error.HTTPError as exc:
        with exc:
            return exc.code, exc.read(100_000).decode("utf-8", "replace")
    except (OSError, ValueError) as exc:
        return None, type(getattr(exc, "reason", exc)).__name__


class _Nowhere(urllib.request.HTTPRedirectHandler):
    """Refuses redirects: a key is sent to no address but the one that it was set for."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None
