"""What a configuration names, and whether it answers: the server, the embedder, the upstream, the notes."""

import json
import urllib.error
import urllib.request
from collections.abc import Mapping
from contextlib import closing

from hippocampe.config import UPSTREAM_ANTHROPIC_KEY, UPSTREAM_KEY, UPSTREAM_URL, Config
from hippocampe.config_sources import FIELDS, SECRET, Loaded, default
from hippocampe.embed import is_remote, open_embedder
from hippocampe.errors import HippocampeError
from hippocampe.ingest.notes.sync import open_source
from hippocampe.system.owner import read_owner

TIMEOUT = 3.0
"""Seconds that a server has to answer."""
ANTHROPIC_VERSION = "2023-06-01"
"""Of the API of Anthropic; the list of models is the same in later ones."""
MASKED = "•••"


def configuration(loaded: Loaded) -> tuple[bool, str]:
    """Every value that is set, with its place; secrets are masked."""
    file = f"file {loaded.file}" if loaded.file else "no file"
    said = [file]
    for name in FIELDS:
        value = getattr(loaded.config, name)
        if name not in loaded.origins and (value == default(name) or name == "folder"):
            continue
        shown = MASKED if name in SECRET else value
        said.append(f"{name} {shown} ({loaded.origins.get(name, 'environment')})")
    return True, "; ".join(said)


def server(config: Config) -> tuple[bool, str]:
    """Whether the owner of the folder serves it, and answers."""
    owner = read_owner(config.folder)
    address = owner.address if owner else None
    if not address:
        return True, "none announced for this folder"
    status, said = _get(f"{address}/readyz")
    if status == 200:
        return True, f"{address} is ready"
    if status == 503:
        down = [name for name, state in json.loads(said).items() if state == "down"]
        return False, f"{address} answers, without {', '.join(down)}"
    return False, f"{address} does not answer ({said}): restart hippocampe serve"


def embedder(config: Config) -> tuple[bool, str]:
    """Whether the embedder embeds a word, if it is a service."""
    name = config.embedder or "local"
    if not is_remote(name):
        return True, f"{name}, in this process"
    try:
        found = open_embedder(name, url=config.embedder_url, timeout=config.embedder_timeout)
        found.embed(["ready"])
    except HippocampeError as exc:
        return False, str(exc)
    return True, f"{name} answers"


def upstream(url: str | None, key: str | None) -> tuple[bool, str]:
    """Whether the proxy's upstream answers."""
    if url is None:
        return True, f"none set, which only the proxy needs: set {UPSTREAM_URL}"
    return _upstream(url, {"Authorization": f"Bearer {key}"} if key else {}, UPSTREAM_KEY)


def anthropic_upstream(url: str | None, key: str | None) -> tuple[bool, str]:
    """Whether the upstream of Anthropic's clients answers, if they have one of their own."""
    if url is None:
        return True, "none set: the other upstream serves Anthropic's clients too"
    headers = {"anthropic-version": ANTHROPIC_VERSION, **({"x-api-key": key} if key else {})}
    return _upstream(url, headers, UPSTREAM_ANTHROPIC_KEY)


def _upstream(url: str, headers: Mapping[str, str], variable: str) -> tuple[bool, str]:
    status, said = _get(f"{url.rstrip('/')}/models", headers)
    if status in (401, 403):
        return False, f"{url} refuses the key ({status}): check {variable}"
    if status is None:
        return False, f"{url} does not answer ({said})"
    return True, f"{url} answers"


def notes(config: Config) -> tuple[bool, str]:
    """Whether the notes can be listed."""
    try:
        source = open_source(config)
        if source is None:
            return True, "none set"
        with closing(source):
            found = source.listing()
    except HippocampeError as exc:
        return False, str(exc)
    return True, f"{config.notes_folder or config.obsidian_url} has {len(found):,} notes"


def _get(url: str, headers: Mapping[str, str] | None = None) -> tuple[int | None, str]:
    """Status and text of an answer; None and the reason if there is none."""
    request = urllib.request.Request(url, headers=dict(headers or {}))
    try:
        with _opener().open(request, timeout=TIMEOUT) as answer:
            return answer.status, answer.read(100_000).decode("utf-8", "replace")
    except urllib.error.HTTPError as exc:
        return exc.code, exc.read(100_000).decode("utf-8", "replace")
    except (OSError, ValueError) as exc:
        return None, type(getattr(exc, "reason", exc)).__name__


class _Nowhere(urllib.request.HTTPRedirectHandler):
    """A key is sent to the address that it was set for, and to no other."""

    def redirect_request(self, *_: object, **__: object) -> None:
        return None


def _opener() -> urllib.request.OpenerDirector:
    return urllib.request.build_opener(_Nowhere)
