"""Hold one frozen configuration, made once, passed down."""

import os
import re
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, cast
from urllib.parse import SplitResult, urlsplit

from hippocampe.errors import InvalidInput
from hippocampe.types import Scope

OBSIDIAN_KEY = "HIPPOCAMPE_OBSIDIAN_KEY"
"""The environment variable that replaces `obsidian_key`."""
MODELS = {
    "model": "HIPPOCAMPE_MODEL",
    "fallback_model": "HIPPOCAMPE_FALLBACK_MODEL",
    "background_model": "HIPPOCAMPE_BACKGROUND_MODEL",
}
"""The environment variables that replace the settings of language models."""
DATABASE = "hippocampe.db"
"""The name of the file of the database."""
UPSTREAM_URL = "HIPPOCAMPE_UPSTREAM_URL"
UPSTREAM_KEY = "HIPPOCAMPE_UPSTREAM_KEY"
UPSTREAM_ANTHROPIC_URL = "HIPPOCAMPE_UPSTREAM_ANTHROPIC_URL"
UPSTREAM_ANTHROPIC_KEY = "HIPPOCAMPE_UPSTREAM_ANTHROPIC_KEY"
"""The environment variables that replace the settings of the upstreams of the proxy."""
_ORIGIN = re.compile(r"[a-z][a-z0-9+.-]*://(?:\[[0-9a-f:.]+\]|[a-z0-9._-]+)(?::[0-9]{1,5})?")
_UPSTREAM_URLS = {"upstream_url": UPSTREAM_URL, "upstream_anthropic_url": UPSTREAM_ANTHROPIC_URL}
_UPSTREAM_KEYS = {"upstream_key": UPSTREAM_KEY, "upstream_anthropic_key": UPSTREAM_ANTHROPIC_KEY}


@dataclass(frozen=True, slots=True)
class Config:
    """The configuration of one `Hippocampe`.

    Args:
        folder: The data folder: database, index, backups, lock file.
        database_url: A database in PostgreSQL, shared by many processes, instead of the one in the folder:
            `postgresql://user:password@host:port/database`. Needs `qdrant_url`, and the extra `server-tier`.
        database_listen_url: Its URL for the messages between processes, if a pooler in transaction mode is at
            `database_url`: such a pooler delivers none. Statements are prepared only without it.
        qdrant_url: The Qdrant server with the index of that database, such as `http://127.0.0.1:6333`; its gRPC port is
            the next one. Several nodes are separated by commas.
        qdrant_key: The API key of the Qdrant server.
        qdrant_collection: The beginning of the name of its collection: another one for each database.
        qdrant_replicas: Copies of each shard of the collection, when it is made.
        qdrant_shards: Shards of the collection, when it is made.
        qdrant_quantized: Whether searches compare int8 vectors first, which take a quarter of the memory.
        qdrant_on_disk: Whether vectors and graphs stay on disk, which takes less memory and more time.
        embedder: Default: the one the data was made with, `local` for new data. Or `provider:model` (`openai:text-embedding-3-small`,
            `voyageai:voyage-3.5`, `fastembed:…`).
        embedder_url: Base URL of a server compatible with the provider's API.
        embedder_timeout: Seconds before a remote embedding call is given up.
        graph_threshold: Points of one kind in one space before an HNSW graph of the kind is built; under it a
            scan is exact and fast enough (20,000 x 512 dimensions scan in about 4 ms).
        flush_seconds: Interval at which the index is made durable, which halts the process for 20 to
            300 ms; the store is durable at once, so a crash in between only means a replay.
        timezone: The timezone of "yesterday" and "last March", in spaces that set no other.
        language: The language of injections, prompts and answers, in spaces that set no other. Default: that of the
            locale if it is known, else `fr`.
        refuse_secrets: Refuse to remember text that holds a secret, instead of masking the secret.
        background: Whether maintenance (flush, graph building), jobs, the embedding of talk and the
            reading of notes run in background threads. Without, talk is embedded before the call
            returns, notes are read once, at opening, and `run_jobs` runs the jobs.
        share: Whether other programs of this user (the command line, MCP clients, hooks, other programs with this
            library) may use the memory through this process while it has the folder open.
        tracing: Whether each operation is an OpenTelemetry span; needs the extra `tracing`.
        notes_folder: An Obsidian vault, as a folder; it is only read.
        notes_ignored: Folders of the vault to leave out, by name or by path inside it.
        notes_space: The space that the notes belong to.
        notes_seconds: Poll interval of the notes.
        obsidian_url: Instead of a folder, a running Obsidian: the base URL of its Local REST API,
            such as `https://127.0.0.1:27124`.
        obsidian_key: The key of that API. Default: the environment variable
            `HIPPOCAMPE_OBSIDIAN_KEY`.
        obsidian_certificate: The certificate to trust: the path of its file (PEM), or `sha256:` and
            its fingerprint. Default: the certificates of the system, which do not include the plugin's own.
        obsidian_insecure: Take any certificate, or none at all (`http://`).
        model: The language model of the companion, as Pydantic AI names it: `openai:gpt-5-mini`,
            `anthropic:…`, `ollama:…`. Keys and base URLs come from the provider's own environment
            variables. Default: `HIPPOCAMPE_MODEL`; without any, memory works without a model.
        fallback_model: Used when `model` fails. Default: `HIPPOCAMPE_FALLBACK_MODEL`.
        background_model: The language model of extraction, digests, summaries and reviews. Default:
            `HIPPOCAMPE_BACKGROUND_MODEL`, or `model`.
        model_timeout: Seconds before one request to a language model is given up.
        upstream_url: Base URL of the server that the proxy passes requests on to, such as
            `https://api.openai.com/v1`. Default: `HIPPOCAMPE_UPSTREAM_URL`; without any, there is no
            proxy.
        upstream_key: The key of that server. Default: `HIPPOCAMPE_UPSTREAM_KEY`.
        upstream_anthropic_url: The same for requests of Anthropic's clients, such as
            `https://api.anthropic.com/v1`. Default: `HIPPOCAMPE_UPSTREAM_ANTHROPIC_URL`; without any,
            `upstream_url` serves them too.
        upstream_anthropic_key: The key of that server. Default: `HIPPOCAMPE_UPSTREAM_ANTHROPIC_KEY`.
        request_rate: Sustained requests per second of one key of the server.
        request_burst: Requests that a key may send at once.
        allowed_origins: Origins of other sites, such as `http://127.0.0.1:8000`, whose pages may use the API of the
            server with a key; none by default.

    Raises:
        InvalidInput: A number or a flag has another type, or the settings of servers, of notes, of language
            models or of the proxy cannot be used.
    """

    folder: Path
    database_url: str | None = field(default=None, repr=False)
    database_listen_url: str | None = field(default=None, repr=False)
    qdrant_url: str | None = None
    qdrant_key: str | None = field(default=None, repr=False)
    qdrant_collection: str = "hippocampe"
    qdrant_replicas: int = 1
    qdrant_shards: int = 1
    qdrant_quantized: bool = True
    qdrant_on_disk: bool = False
    embedder: str | None = None
    embedder_url: str | None = None
    embedder_timeout: float = 10.0
    graph_threshold: int = 20_000
    flush_seconds: float = 30.0
    timezone: str = "Europe/Paris"
    language: str | None = None
    refuse_secrets: bool = False
    background: bool = True
    share: bool = True
    tracing: bool = False
    notes_folder: Path | None = None
    notes_ignored: tuple[str, ...] = ()
    notes_space: str = "default"
    notes_seconds: float = 15.0
    obsidian_url: str | None = None
    obsidian_key: str | None = field(default=None, repr=False)
    obsidian_certificate: str | Path | None = None
    obsidian_insecure: bool = False
    model: str | None = None
    fallback_model: str | None = None
    background_model: str | None = None
    model_timeout: float = 60.0
    upstream_url: str | None = None
    upstream_key: str | None = field(default=None, repr=False)
    upstream_anthropic_url: str | None = None
    upstream_anthropic_key: str | None = field(default=None, repr=False)
    request_rate: float = 50.0
    request_burst: int = 200
    allowed_origins: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for each in fields(self):
            _check_number(each.name, each.type, getattr(self, each.name))
        self._set("folder", Path(self.folder).expanduser())
        self._check_models()
        if self.request_rate <= 0 or self.request_burst < 1:
            raise InvalidInput("request_rate and request_burst must be above 0.")
        self._set("allowed_origins", _checked_origins(self.allowed_origins))
        self._check_servers()
        self._check_upstreams()
        self._check_notes()

    def _set(self, name: str, value: object) -> None:
        object.__setattr__(self, name, value)

    def _chosen(self, name: str, variable: str) -> str | None:
        """The value of a field, else that of its environment variable."""
        return getattr(self, name) or os.environ.get(variable, "").strip() or None

    def _check_models(self) -> None:
        for name, variable in MODELS.items():
            chosen = self._chosen(name, variable)
            if chosen is not None and not all(chosen.partition(":")):
                raise InvalidInput(
                    f"{name} {chosen[:40]!r} cannot be used: name the provider and the model, such as "
                    "openai:gpt-5-mini."
                )
            self._set(name, chosen)
        if self.model_timeout <= 0:
            raise InvalidInput(f"model_timeout must be above 0 seconds, not {self.model_timeout}.")

    def _check_upstreams(self) -> None:
        for name, variable in _UPSTREAM_URLS.items():
            url = self._chosen(name, variable)
            if url is not None and web_address(url) is None:
                raise InvalidInput(
                    f"{name} must be http:// or https:// with a host, without a user or a query, such as "
                    f"https://api.openai.com/v1: the key goes to {name.replace('url', 'key')}."
                )
            self._set(name, url and url.rstrip("/"))
        for name, variable in _UPSTREAM_KEYS.items():
            key = self._chosen(name, variable)
            if key is not None and not _sendable(key):
                raise InvalidInput(
                    f"{name} cannot be sent: a key is ASCII, without spaces. Copy it again to {name} "
                    f"or the environment variable {variable}."
                )
            self._set(name, key)

    def _check_notes(self) -> None:
        if self.notes_folder is not None:
            self._set("notes_folder", Path(self.notes_folder).expanduser())
        if isinstance(self.notes_ignored, str):
            raise InvalidInput("notes_ignored must be a list of folders, not one text.")
        self._set("notes_space", Scope(space=self.notes_space).space)
        if self.notes_seconds <= 0:
            raise InvalidInput(f"notes_seconds must be above 0, not {self.notes_seconds}.")
        if self.obsidian_url is None:
            return
        if self.notes_folder is not None:
            raise InvalidInput(
                "give notes_folder or obsidian_url, not both: notes have one source."
            )
        _check_url(self.obsidian_url, self.obsidian_insecure)
        key = (self.obsidian_key or os.environ.get(OBSIDIAN_KEY) or "").strip()
        # The message does not quote the value, which may be secret.
        if not _sendable(key):
            raise InvalidInput(
                "obsidian_url needs a key, in ASCII and without spaces: copy it from the plugin's settings "
                f"to obsidian_key or the environment variable {OBSIDIAN_KEY}."
            )
        self._set("obsidian_key", key)
        trusted = _checked_certificate(self.obsidian_certificate, self.obsidian_insecure)
        self._set("obsidian_certificate", trusted)

    @property
    def prepares_statements(self) -> bool:
        """True without a pooler in transaction mode, which gives each transaction another connection."""
        return self.database_listen_url is None

    def _check_servers(self) -> None:
        if self.database_url is not None:
            if not is_database_url(self.database_url):
                raise InvalidInput(
                    "database_url must be postgresql://user:password@host:port/database. Without it, the data is "
                    "kept in the folder."
                )
            if self.qdrant_url is None:
                raise InvalidInput(
                    "database_url needs qdrant_url: the processes that share a database share its index too."
                )
        elif self.qdrant_url is not None:
            raise InvalidInput(
                "qdrant_url needs database_url: the index of a folder is in the folder."
            )
        parts = [web_address(url) for url in self.qdrant_urls]
        # Its gRPC, which is used, has no paths.
        if not all(each and each.path in ("", "/") for each in parts):
            raise InvalidInput(
                "qdrant_url must be http:// or https:// with a host and no path, such as http://127.0.0.1:6333; "
                "several are separated by commas."
            )
        if self.qdrant_replicas < 1 or self.qdrant_shards < 1:
            raise InvalidInput("qdrant_replicas and qdrant_shards must be 1 or more.")

    @classmethod
    def of(cls, where: "Config | str | os.PathLike[str]") -> "Config":
        """Take a `Config` as it is, or make the default one for a folder.

        Raises:
            InvalidInput: `where` is neither a configuration nor a path.
        """
        if isinstance(where, Config):
            return where
        path = cast("object", os.fspath(where) if isinstance(where, os.PathLike) else where)
        if not (isinstance(path, str) and path) or "\0" in path:
            raise InvalidInput(
                f"cannot open {where!r}: give the path of a data folder, or a Config."
            )
        return cls(folder=Path(path))

    def as_variables(self) -> dict[str, str]:
        """The environment variables for another process that owns the folder, from the fields that were chosen.

        That process decides itself what runs in the background, and whether the folder is shared.
        """
        decided = ("folder", "background", "share")
        variables: dict[str, str] = {}
        for each in fields(self):
            value: object = getattr(self, each.name)
            if each.name not in decided and value not in (None, each.default):
                parts = cast("tuple[str, ...]", value) if isinstance(value, tuple) else (value,)
                variables[f"HIPPOCAMPE_{each.name.upper()}"] = ",".join(map(str, parts))
        return variables

    @property
    def qdrant_urls(self) -> tuple[str, ...]:
        """The nodes of the Qdrant server."""
        return tuple(part for each in (self.qdrant_url or "").split(",") if (part := each.strip()))

    @property
    def database(self) -> Path:
        """The file of the database."""
        return self.folder / DATABASE


def _check_number(name: str, kind: object, value: Any) -> None:
    """Refuse "no" for False and "5" for 5: the one is true, the other fails later in a thread."""
    if kind is bool and not isinstance(value, bool):
        raise InvalidInput(f"{name} must be True or False, not {type(value).__name__}.")
    if kind not in (int, float):
        return
    whole = isinstance(value, int) and not isinstance(value, bool)
    if kind is int and not whole:
        raise InvalidInput(f"{name} must be a whole number, not {type(value).__name__}.")
    if not whole and not isinstance(value, float):
        raise InvalidInput(f"{name} must be a number, not {type(value).__name__}.")
    if not value >= 0:
        raise InvalidInput(f"{name} must be 0 or more, not {value}.")


def is_database_url(text: str) -> bool:
    """Return whether a text is the URL of a database in PostgreSQL."""
    return text.startswith(("postgresql://", "postgres://"))


def web_address(url: str) -> SplitResult | None:
    """Parse an HTTP URL; None if it is not one, or has a user, a query or a fragment."""
    try:
        parts = urlsplit(url)
        more = parts.username or parts.password or parts.query or parts.fragment
        # Accessing the port checks it.
        usable = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
    except ValueError:
        return None
    return parts if usable and not more else None


def _checked_origins(origins: object) -> tuple[str, ...]:
    if isinstance(origins, str) or not isinstance(origins, tuple | list):
        raise InvalidInput("allowed_origins must be a list of origins, not one text.")
    found = tuple(str(each).lower() for each in cast("tuple[object, ...]", origins))
    for each in found:
        if not _ORIGIN.fullmatch(each):
            raise InvalidInput(
                f"allowed_origins cannot have {each[:80]!r}: an origin is a scheme and a host, with a port unless it "
                "is the usual one, such as http://127.0.0.1:8000 or https://chat.example."
            )
    return found


def _check_url(url: str, insecure: bool) -> None:
    parts = web_address(url)
    if parts is None:
        raise InvalidInput(
            "obsidian_url must be https:// with a host, without a user or a query, such as "
            "https://127.0.0.1:27124."
        )
    if parts.scheme == "http" and not insecure:
        raise InvalidInput(
            "obsidian_url starts with http://, which would send the key for all to read: use https:// "
            "(port 27124), or set obsidian_insecure."
        )


def _sendable(key: str) -> bool:
    return bool(key) and key.isascii() and key.isprintable() and " " not in key


def _checked_certificate(given: str | Path | None, insecure: bool) -> str | Path | None:
    if given is None:
        return None
    if insecure:
        raise InvalidInput(
            "obsidian_certificate says which certificate to trust and obsidian_insecure to trust any: "
            "give one of them."
        )
    if not str(given).lower().startswith("sha256:"):
        return Path(given).expanduser()
    fingerprint = str(given)[len("sha256:") :].replace(":", "").replace(" ", "").lower()
    if not re.fullmatch("[0-9a-f]{64}", fingerprint):
        raise InvalidInput(
            "obsidian_certificate must be the path of a PEM file, or sha256: and the 64 hexadecimal "
            "digits of the certificate's fingerprint."
        )
    return f"sha256:{fingerprint}"
