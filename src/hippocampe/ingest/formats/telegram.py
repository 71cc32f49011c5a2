"""Read the JSON export of Telegram: one chat, or a whole account."""

from collections.abc import Iterator
from datetime import tzinfo

from hippocampe.errors import InvalidInput, UnreadableFile
from hippocampe.ingest.formats.document import Place, walk
from hippocampe.ingest.formats.format import Format, has_key
from hippocampe.ingest.formats.record import (
    UNKNOWN,
    Problem,
    Record,
    TalkMessage,
    as_list,
    as_object,
    label_or,
    parse_content,
    parse_identifier,
    parse_label,
    parse_time,
    parse_timestamp,
    parsed,
    storable_text,
    to_utc,
)
from hippocampe.ingest.formats.source import Source

_Chat = dict[str | int, object]
MAX_CHATS = 100_000
"""Most chats of one export; their names are read before their messages."""
_MAX_PROPERTY = 1_000
"""Characters read of the name of a chat."""


def read_telegram(source: Source, zone: tzinfo) -> Iterator[Record | Problem]:
    """Read every chat of the export, without service messages and messages without text.

    Raises:
        UnreadableFile: The document is not valid JSON, or contains no chat.
    """
    # The first pass validates the document and collects the properties of each chat, which may
    # come after its messages.
    chats: dict[Place, _Chat] = {}
    for path, value in walk(source, _opened):
        chat, inside = _divided(path)
        if inside[:1] == ("messages",):
            chats.setdefault(chat, {})["opened"] = True
        elif inside in (("name",), ("id",)):
            kept = value[:_MAX_PROPERTY] if isinstance(value, str) else value
            chats.setdefault(chat, {})[inside[0]] = kept
        if len(chats) > MAX_CHATS:
            raise UnreadableFile(
                f"cannot import {source.name}: it contains more than {MAX_CHATS:,} chats."
            )
    if not any("opened" in chat for chat in chats.values()):
        raise UnreadableFile(f"cannot import {source.name}: it contains no Telegram chat.")
    messages = (
        (as_object(value), chats[chat])
        for path, value in walk(source, _opened)
        for chat, inside in (_divided(path),)
        if len(inside) == 2 and inside[0] == "messages"
    )
    yield from parsed(enumerate(messages, start=1), lambda found: _message(*found, zone))


def _divided(path: Place) -> tuple[Place, Place]:
    """The place of a chat in the document, which is a chat itself or has several, and a place in the chat."""
    size = 3 if path[:1] in (("chats",), ("left_chats",)) else 0
    return path[:size], path[size:]


def _opened(path: Place) -> str:
    chat, inside = _divided(path)
    if inside == ("messages",) or (not inside and chat[1:] == ("list",)):
        return "["
    return "{" if not inside and len(chat) != 2 else ""


def _message(raw: dict[str, object], chat: _Chat, zone: tzinfo) -> Iterator[TalkMessage]:
    kind = raw.get("type")
    if not isinstance(kind, str):
        raise InvalidInput("the record is not a message of Telegram")
    text = _text(raw.get("text"))
    if kind != "message" or not text.strip():
        return
    # A deleted account has no name; its id still identifies the author.
    account = _id(raw.get("from_id"))
    author = parse_label(raw.get("from") or raw.get("from_id"), "author")
    if "forwarded_from" in raw:
        # The words are not those of who passes them on.
        origin, id = raw["forwarded_from"], raw.get("forwarded_from_id")
        said_by = label_or(origin or id, UNKNOWN)
        if said_by != label_or(raw.get("from"), None):
            author, account = said_by, _id(id)
    seconds = raw.get("date_unixtime")
    at = parse_time(raw.get("date")) if seconds is None else parse_timestamp(seconds)
    reply_to = raw.get("reply_to_message_id")
    yield TalkMessage(
        content=parse_content(text),
        author=author,
        account=account,
        channel=_channel(chat),
        at=to_utc(at, zone),
        external_id=_external_id(chat, raw.get("id")),
        unique=True,
        edited="edited" in raw or "edited_unixtime" in raw,
        # A reply to a message of another chat cannot be resolved within this one.
        reply_to=None if raw.get("reply_to_peer_id") else _external_id(chat, reply_to),
    )


def _id(value: object) -> str | None:
    # A number in old exports.
    return str(value) if isinstance(value, str | int) else None


def _text(value: object) -> str:
    """Join the parts of a formatted text (links, mentions, bold …)."""
    if isinstance(value, str):
        return storable_text(value)
    parts = [
        part if isinstance(part, str) else as_object(part).get("text") for part in as_list(value)
    ]
    return "".join(part for part in parts if isinstance(part, str))


def _channel(chat: _Chat) -> str:
    return label_or(chat.get("name"), f"Telegram {_chat_id(chat)}")


def _chat_id(chat: _Chat) -> str:
    return parse_identifier(chat.get("id")) or "chat"


def _external_id(chat: _Chat, message: object) -> str | None:
    """Prefix the number of a message, which is unique within its chat only."""
    identifier = parse_identifier(message)
    return f"telegram:{_chat_id(chat)}:{identifier}" if identifier else None


TELEGRAM = Format(
    "telegram",
    "Telegram",
    read_telegram,
    recognises=has_key(
        r'"(?:date_unixtime|from_id|personal_information)"\s*:'
        r'|"type"\s*:\s*"(?:personal_chat|bot_chat|saved_messages'
        r'|(?:private|public)_(?:group|supergroup|channel))"'
    ),
    files=r"result\.json",
)
