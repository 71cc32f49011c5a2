"""One frozen configuration, made once, passed down."""

import os
from dataclasses import dataclass
from pathlib import Path

from hippocampe.errors import InvalidInput


@dataclass(frozen=True, slots=True)
class Config:
    """How one `Hippocampe` is set up.

    Args:
        folder: The data folder: database, index, backups, lock file.
        database_url: An SQLAlchemy URL. Default: SQLite in `folder`.
        embedder: Default: the one the data was made with, `local` for new data. Or `provider:model` (`openai:text-embedding-3-small`,
            `voyageai:voyage-3.5`, `fastembed:…`).
        embedder_url: Base URL of a server compatible with the provider's API.
        embedder_timeout: Seconds before a remote embedding call is given up.
        graph_threshold: Points in one kind of the index before an HNSW graph is built; under it a
            scan is exact and fast enough (20,000 x 512 dimensions scan in about 4 ms).
        flush_seconds: How often the index is made durable, which halts the process for 20 to
            300 ms; the store is durable at once, so a crash in between only means a replay.
        timezone: In which "yesterday" and "last March" are read, in spaces that set no other.
        refuse_secrets: Refuse to remember text that holds a secret, instead of masking the secret.
        background: Whether maintenance (flush, graph building) runs in a background thread.
        tracing: Whether each operation is an OpenTelemetry span; needs the extra `tracing`.
    """

    folder: Path
    database_url: str | None = None
    embedder: str | None = None
    embedder_url: str | None = None
    embedder_timeout: float = 10.0
    graph_threshold: int = 20_000
    flush_seconds: float = 30.0
    timezone: str = "Europe/Paris"
    refuse_secrets: bool = False
    background: bool = True
    tracing: bool = False

    def __post_init__(self) -> None:
        object.__setattr__(self, "folder", Path(self.folder).expanduser())

    @classmethod
    def of(cls, where: "Config | str | os.PathLike[str]") -> "Config":
        """Take a `Config` as it is, or make the default one for a folder.

        Raises:
            InvalidInput: `where` is neither a configuration nor a path.
        """
        if isinstance(where, Config):
            return where
        if not str(where):
            raise InvalidInput("cannot open '': give the path of a data folder.")
        return cls(folder=Path(where))

    @property
    def url(self) -> str:
        """The SQLAlchemy URL of the store."""
        return self.database_url or f"sqlite:///{self.folder / 'hippocampe.db'}"
