"""The tables.

Instants are stored as integer microseconds since the epoch: exact, sortable, portable. Ids are
UUIDs of version 7 as text. A missing channel is stored as the empty string, so that unique
constraints apply.
"""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    Column,
    Dialect,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    String,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    literal_column,
)

REVISION = "0008"
"""The migration that this version of the code needs."""
LONGEST_MADE = 64
"""Characters of the longest digest."""
MADE = (
    "[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    f"|(?=[0-9a-f]{{0,15}}[0-9])(?=[0-9a-f]{{0,15}}[a-f])[0-9a-f]{{16,{LONGEST_MADE}}}"
)
"""An id or a digest, which may spell a short name, as a regular expression of Python and PostgreSQL.

Digits alone may be the number of a card.
"""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


def microseconds(at: datetime) -> int:
    """Convert an instant to its stored form."""
    return (at - _EPOCH) // _MICROSECOND


def instant(microseconds: int) -> datetime:
    """Convert a stored instant to a datetime in UTC."""
    return _EPOCH + timedelta(microseconds=microseconds)


def to_json(value: Any) -> str:
    """Serialise JSON for the tables: unescaped, so that `verify(absent=…)` finds text in it."""
    return json.dumps(value, ensure_ascii=False)


def fields_of(table: Table, item: Any) -> dict[str, Any]:
    """The values of the columns of a table, from a row, or a record that has fields of their names."""
    return {column.name: getattr(item, column.name) for column in table.c}


class Instant(TypeDecorator[datetime]):
    """An aware datetime, stored as integer microseconds since the epoch."""

    impl = BigInteger
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> int | None:
        return None if value is None else microseconds(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> datetime | None:
        return None if value is None else instant(value)


class _JsonText(TypeDecorator[Any]):
    """JSON as the same text that SQLite stores, so that both databases compare, checksum and search it alike."""

    impl = Text
    cache_ok = True

    def process_bind_param(self, value: Any, dialect: Dialect) -> str | None:
        return to_json(value)

    def process_result_value(self, value: Any | None, dialect: Dialect) -> Any:
        return None if value is None else json.loads(value)


_Json = JSON().with_variant(_JsonText(), "postgresql")
# SQLite only assigns numbers to INTEGER primary keys.
_Number = BigInteger().with_variant(Integer, "sqlite")

metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

memory = Table(
    "memory",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("space", String(200), nullable=False),
    Column("collection", String(20), nullable=False),
    Column("type", String(20), nullable=False),
    Column("category", String(40)),
    Column("key", String(200)),
    Column("content", Text, nullable=False),
    Column("subjects", _Json, nullable=False),
    Column("importance", Float, nullable=False),
    Column("source", String(200), nullable=False),
    Column("user", String(200)),
    Column("channel", String(200)),
    Column("created_at", Instant, nullable=False),
    Column("updated_at", Instant, nullable=False),
    Column("occurred_at", Instant),
    Column("last_accessed_at", Instant),
    Column("access_count", Integer, nullable=False, default=0),
    Column("expires_at", Instant),
    Column("forgotten_at", Instant),
    Column("forgotten_reason", Text),
    Column("superseded_by", String(36)),
    Column("superseded_at", Instant),
    Column("former", Boolean, nullable=False, default=False),
    Column("evidence", _Json, nullable=False),
    Column("metadata", _Json, nullable=False, default=dict),
    Column("equality", String(32), nullable=False),  # digest of the spelling of content
    Index(None, "space", "collection", "equality"),
    Index(None, "space", "key"),
    Index(None, "space", "collection", "created_at"),
    Index(None, "space", "collection", "importance"),
    Index(None, "space", "collection", "channel", "importance"),
    Index(None, "superseded_by"),
    Index(None, "expires_at"),
)
# Identities are few, and each turn reads them.
_identities = memory.c.type == literal_column("'identity'")
Index(
    "ix_memory_identity",
    memory.c.space,
    memory.c.collection,
    # Always true, but with it SQLite prefers this index.
    memory.c.type,
    memory.c.importance,
    sqlite_where=_identities,
    postgresql_where=_identities,
)

subject = Table(
    "subject",
    metadata,
    Column("memory_id", String(36), ForeignKey("memory.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String(200), primary_key=True),
    Column("space", String(200), nullable=False),
    Index(None, "space", "name", "memory_id"),
)

claim = Table(
    "claim",
    metadata,
    Column("memory_id", String(36), ForeignKey("memory.id", ondelete="CASCADE"), primary_key=True),
    Column("space", String(200), nullable=False),
    Column("relation", String(60), nullable=False),
    Column("subject", String(200), nullable=False),
    Index(None, "space", "relation", "subject"),
)

association = Table(
    "association",
    metadata,
    Column("source_id", String(36), ForeignKey("memory.id", ondelete="CASCADE"), primary_key=True),
    Column("target_id", String(36), ForeignKey("memory.id", ondelete="CASCADE"), primary_key=True),
    Column("kind", String(20), primary_key=True),
    Column("space", String(200), nullable=False),
    Column("reason", Text),
    Column("review", Boolean, nullable=False, default=False),
    Column("created_at", Instant, nullable=False),
    Index(None, "target_id"),
    Index(None, "space", "review"),
)

alias = Table(
    "alias",
    metadata,
    Column("memory_id", String(36), ForeignKey("memory.id", ondelete="CASCADE"), primary_key=True),
    Column("name", String(200), primary_key=True),
    Column("other", String(200), primary_key=True),
    Column("space", String(200), nullable=False),
    Index(None, "space", "name"),
    Index(None, "space", "other"),
)

turn = Table(
    "turn",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("space", String(200), nullable=False),
    Column("channel", String(200), nullable=False),
    Column("author", String(200)),
    Column("content", Text, nullable=False),
    Column("at", Instant, nullable=False),
    Column("previous_id", String(36)),
    Column("next_id", String(36)),
    Column("session", String(36), nullable=False),  # id of the first turn of the same hour
    Column("forgotten_at", Instant),
    Column("forgotten_reason", Text),
    Index(None, "space", "channel", "at"),
    Index(None, "space", "at"),
    Index(None, "previous_id"),
)

message = Table(
    "message",
    metadata,
    Column("number", _Number, primary_key=True),
    Column("id", String(36), nullable=False, unique=True),
    Column("space", String(200), nullable=False),
    Column("channel", String(200), nullable=False),
    Column("author", String(200)),
    Column("role", String(20)),
    Column("content", Text, nullable=False),
    Column("at", Instant, nullable=False),
    Column("created_at", Instant, nullable=False),
    Column("external_id", String(200)),
    Column("reply_to", String(200)),
    Column("turn_id", String(36), ForeignKey("turn.id", ondelete="SET NULL")),
    Column("live", Boolean, nullable=False, default=False),
    Column("working", Boolean, nullable=False, default=False),  # in the working history
    Column("expression", String(40)),  # the face of the companion
    UniqueConstraint("space", "channel", "external_id"),
    Index(None, "space", "at"),
    Index(None, "space", "channel", "at"),
    Index(None, "turn_id"),
    Index(None, "external_id"),
    Index(None, "space", "live"),
)
# A working history has few messages, and each exchange counts those of its channel.
_working = message.c.working.is_(True)
Index(
    "ix_message_working",
    message.c.space,
    message.c.channel,
    sqlite_where=_working,
    postgresql_where=_working,
)

note = Table(
    "note",  # one row per piece of a note
    metadata,
    Column("id", String(36), primary_key=True),
    Column("space", String(200), nullable=False),
    Column("source", String(200), nullable=False),
    Column("path", Text, nullable=False),
    Column("position", Integer, nullable=False),
    Column("heading", Text, nullable=False),
    Column("content", Text, nullable=False),
    Column("digest", String(32), nullable=False),  # of the whole note
    Column("modified_at", Instant, nullable=False),
    Index(None, "space", "source"),
)

vector = Table(
    "vector",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("model", String(200), primary_key=True),
    Column("kind", String(10), nullable=False),
    Column("space", String(200), nullable=False),
    Column("dense", LargeBinary, nullable=False),  # float16, L2-normalised
    Column("words", LargeBinary, nullable=False),  # int32 ids of the words, in order
    Column("traits", Integer, nullable=False),  # bits derived from content
    Column("checksum", BigInteger, nullable=False),  # of dense, words and traits
    Index(None, "space", "kind"),
)

word = Table(
    "word",
    metadata,
    Column("id", _Number, primary_key=True),
    Column("model", String(200), nullable=False),
    Column("text", String(200), nullable=False),
    Column("vector", LargeBinary, nullable=False),  # float16, placed in the word space
    Column("checksum", BigInteger, nullable=False),  # of vector
    UniqueConstraint("model", "text"),
)

outbox = Table(
    "outbox",
    metadata,
    Column("seq", _Number, primary_key=True),
    Column("kind", String(10), nullable=False),
    Column("item_id", String(36), nullable=False),
    Column("space", String(200), nullable=False),
    sqlite_autoincrement=True,
)

setting = Table(
    "setting",
    metadata,
    Column("space", String(200), primary_key=True),
    Column("name", String(100), primary_key=True),
    Column("value", _Json, nullable=False),
    Column("updated_at", Instant, nullable=False),
)

meta = Table(
    "meta",
    metadata,
    Column("name", String(100), primary_key=True),
    Column("value", Text, nullable=False),
)

retrieval = Table(
    "retrieval",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("space", String(200), nullable=False),
    Column("user", String(200)),
    Column("channel", String(200)),
    Column("message_preview", Text, nullable=False),
    Column("memories_injected", Integer, nullable=False),
    Column("notes_injected", Integer, nullable=False),
    Column("tokens_added", Integer, nullable=False),
    Column("took_ms", Float, nullable=False),
    Column("stages", _Json, nullable=False),  # milliseconds by stage
    Column("missing", _Json, nullable=False),  # sources that were late or down
    Column("skipped", String(40)),  # reason why the turn was not served
    Column("signals", _Json, nullable=False),  # names of the signals that its items have, in order
    Column("created_at", Instant, nullable=False),
    Index(None, "space", "created_at"),
)

retrieval_item = Table(
    "retrieval_item",
    metadata,
    Column(
        "retrieval_id", String(36), ForeignKey("retrieval.id", ondelete="CASCADE"), primary_key=True
    ),
    Column("position", Integer, primary_key=True),
    Column("item_id", String(36), nullable=False),
    Column("kind", String(10), nullable=False),
    Column("score", Float),
    Column("path", String(20), nullable=False),  # identity, important, recent, search, context
    Column("outcome", String(40), nullable=False),
    Column("signals", LargeBinary, nullable=False),  # float32, NaN where one was not measured
    # No index on item_id: each turn would update it, and only an erasure would use it.
)

model_usage = Table(
    "model_usage",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("space", String(200), nullable=False),
    Column("model", String(200), nullable=False),
    Column("purpose", String(40), nullable=False),
    Column("input_tokens", Integer, nullable=False),
    Column("output_tokens", Integer, nullable=False),
    Column("injected_tokens", Integer, nullable=False, default=0),
    Column("price", Float),
    Column("created_at", Instant, nullable=False),
    Index(None, "space", "created_at"),
)

job_run = Table(
    "job_run",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("job", String(40), nullable=False),
    Column("space", String(200), nullable=False),
    Column("state", String(10), nullable=False),
    Column("payload", _Json, nullable=False),  # ids, never content
    Column("attempts", Integer, nullable=False, default=0),
    Column("due_at", Instant, nullable=False),
    Column("started_at", Instant),
    Column("ended_at", Instant),
    Column("outcome", Text),
    Column("error", Text),
    Index(None, "state", "due_at"),
    Index(None, "space", "job", "ended_at"),
)

api_key = Table(
    "api_key",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("space", String(200), nullable=False),
    Column("role", String(10), nullable=False),
    Column("hash", String(128), nullable=False, unique=True),
    Column("label", String(200)),
    Column("created_at", Instant, nullable=False),
    Column("revoked_at", Instant),
)

audit = Table(
    "audit",
    metadata,
    Column("id", String(36), primary_key=True),
    Column("space", String(200), nullable=False),
    Column("action", String(40), nullable=False),
    Column("detail", _Json, nullable=False),  # ids and counts, never content
    Column("created_at", Instant, nullable=False),
    Index(None, "space", "created_at"),
)

reply = Table(
    "reply",
    metadata,
    # An idempotent write of the server, by the space and the client's key.
    Column("space", String(200), primary_key=True),
    Column("key", String(200), primary_key=True),
    Column("request", String(64), nullable=False),  # the digest of the request
    Column("status", Integer),  # empty until the response is known
    Column("body", LargeBinary),  # the name of the process that writes, until the response is known
    Column("created_at", Instant, nullable=False),
    Index(None, "created_at"),
)
