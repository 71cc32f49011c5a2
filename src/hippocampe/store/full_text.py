"""Full-text search of messages, by words without accents, in either database.

SQLite folds words itself. In PostgreSQL they are folded here, since not every server has `unaccent`, and stored
beside the message by every insert or change of one.
"""

import re
import unicodedata
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import Any

from sqlalchemy import Connection, Engine, Insert, Table, event, insert, update

from hippocampe.store import postgres_schema, schema
from hippocampe.store.driver import grouped

_WORD = re.compile(r"\w+")
_FOLDED_WORD = re.compile(r"[^\W_]+")
_MOST = 16_383
"""The last position that a `tsvector` tells apart."""
_LONGEST = 500
"""Characters of a word that count, of the 2,046 bytes that a `tsvector` takes."""


def matches(connection: Connection, query: str) -> tuple[str, dict[str, str]]:
    """The SQL condition on `message` for a full-text query, and its parameters.

    Words are joined by AND; a word ending in `*` matches as a prefix; quoted words match as a
    phrase. Other operators are dropped, so no query is a syntax error.
    """
    if connection.dialect.name == "sqlite":
        # An accent that is a character of its own would divide its word.
        composed = unicodedata.normalize("NFC", query)
        terms = [
            f'"{" ".join(words)}"{"*" * is_prefix}'
            for words, is_prefix in _terms(composed, _WORD.findall)
        ]
        condition = (
            "message.number IN (SELECT rowid FROM message_fts WHERE message_fts MATCH :full_text)"
        )
        return condition, {"full_text": " AND ".join(terms)}
    terms = [
        "('" + "' <-> '".join(words) + "'" + ":*" * is_prefix + ")"
        for words, is_prefix in _terms(query, folded_words)
    ]
    condition = "message.full_text @@ CAST(:full_text AS tsquery)"
    return condition, {"full_text": " & ".join(terms)}


def _terms(query: str, words_of: Callable[[str], list[str]]) -> Iterator[tuple[list[str], bool]]:
    """The words of each part of a query, and whether the last one is the beginning of a word."""
    for phrase, word in re.findall(r'"([^"]*)"|(\S+)', query):
        if words := words_of(phrase or word):
            yield words, word.endswith("*")


def folded_words(text: str) -> list[str]:
    """The words of a text, in lower case and without accents."""
    plain = unicodedata.normalize("NFKD", text.lower())
    bare = "".join(each for each in plain if not unicodedata.combining(each))
    return [word[:_LONGEST] for word in _FOLDED_WORD.findall(bare)]


def vector_of(text: str) -> str:
    """The words of a text with their positions, as PostgreSQL reads a `tsvector`."""
    words = enumerate(folded_words(text), 1)
    places = grouped((word, str(min(place, _MOST))) for place, word in words)
    return " ".join(f"'{word}':{','.join(at[:256])}" for word, at in places.items())


def index_messages(engine: Engine) -> None:
    """Store the words of each message that is inserted by this engine."""

    @event.listens_for(engine, "before_execute", retval=True)
    def _before(  # pyright: ignore[reportUnusedFunction]
        _connection: Any, statement: Any, several: Any, one: Any, _options: Any
    ) -> tuple[Any, Any, Any]:
        if not (isinstance(statement, Insert) and statement.table is schema.message):
            return statement, several, one
        return (
            insert(_messages()),
            [_with_words(row) for row in several],
            _with_words(one) if one else one,
        )


def set_content(connection: Connection, id: str, content: str, external_id: str | None) -> None:
    """Change the text of a message, its words beside it, and its external id, which may contain a hash of the text."""
    table, values = schema.message, {"content": content, "external_id": external_id}
    if connection.dialect.name != "sqlite":
        table, values = _messages(), _with_words(values)
    connection.execute(update(table).where(table.c.id == id).values(values))


@cache
def _messages() -> Table:
    return postgres_schema.tables().tables["message"]


def _with_words(row: Mapping[str, Any]) -> dict[str, Any]:
    return {**row, postgres_schema.FULL_TEXT: vector_of(row["content"])}
