"""The JSON export of Telegram: one chat, or a whole account."""

from collections.abc import Iterator
from datetime import tzinfo

from hippocampe.errors import InvalidInput, UnreadableFile
from hippocampe.ingest.formats.document import Document
from hippocampe.ingest.formats.record import (
    Problem,
    TalkMessage,
    clean,
    content_of,
    fields,
    identifier_of,
    in_utc,
    items,
    label_of,
    moment_of,
    moment_of_seconds,
)
from hippocampe.ingest.formats.source import Source

_Chat = dict[str, object]


def read_telegram(source: Source, zone: tzinfo) -> Iterator[TalkMessage | Problem]:
    """Read every chat of the export; joins, calls, pins and messages without text are left out.

    Raises:
        UnreadableFile: The document is not sound JSON, or holds no chat.
    """
    # The first pass proves the document sound and collects what describes each chat, which may
    # stand after its messages.
    chats: dict[int, _Chat] = {}
    for chat, key, value in _entries(source):
        if key != "messages":
            chats.setdefault(chat, {})[key] = value
    if not any("opened" in chat for chat in chats.values()):
        raise UnreadableFile(f"cannot import {source.name}: it holds no chat of Telegram.")
    number = 0
    for chat, key, value in _entries(source):
        if key == "messages":
            number += 1
            try:
                message = _message(fields(value), chats[chat], zone)
            except InvalidInput as exc:
                yield Problem(number, str(exc))
            else:
                if message:
                    yield message


def _entries(source: Source) -> Iterator[tuple[int, str, object]]:
    """Yield (number of the chat, `messages`, one message) and (number, key, what is said of it).

    `opened` is said of a chat whose messages follow.
    """
    with source.open() as stream:
        document = Document(source, stream)
        if document.peek() != "{":
            raise UnreadableFile(f"cannot import {source.name}: it is not an export of Telegram.")
        count = 0
        for key in document.members():
            if key in ("chats", "left_chats") and document.peek() == "{":
                for inner in document.members():
                    if inner == "list" and document.peek() == "[":
                        for _ in document.elements():
                            count += 1
                            yield from _chat(document, count)
                    else:
                        document.value()
            else:
                yield from _member(document, 0, key)
        document.end()


def _chat(document: Document, chat: int) -> Iterator[tuple[int, str, object]]:
    if document.peek() != "{":
        document.value()
        return
    for key in document.members():
        yield from _member(document, chat, key)


def _member(document: Document, chat: int, key: str) -> Iterator[tuple[int, str, object]]:
    if key == "messages" and document.peek() == "[":
        yield chat, "opened", True
        for _ in document.elements():
            yield chat, key, document.value()
    else:
        value = document.value()
        if key in ("name", "id"):
            yield chat, key, value


def _message(raw: dict[str, object], chat: _Chat, zone: tzinfo) -> TalkMessage | None:
    kind = raw.get("type")
    if not isinstance(kind, str):
        raise InvalidInput("the record is not a message of Telegram")
    text = _text(raw.get("text"))
    if kind != "message" or not text.strip():
        return None
    seconds = raw.get("date_unixtime")
    at = moment_of(raw.get("date")) if seconds is None else moment_of_seconds(seconds)
    reply_to = raw.get("reply_to_message_id")
    return TalkMessage(
        content=content_of(text),
        # The account of the author may be deleted: its id still tells them from the others.
        author=label_of(raw.get("from") or raw.get("from_id"), "author"),
        channel=_channel(chat),
        at=in_utc(at, zone),
        external_id=_external_id(chat, raw.get("id")),
        # An answer to a message of another chat names that chat too.
        reply_to=None if raw.get("reply_to_peer_id") else _external_id(chat, reply_to),
    )


def _text(value: object) -> str:
    """Join a text with its formatted parts (links, mentions, bold …)."""
    if isinstance(value, str):
        return clean(value)
    parts = [part if isinstance(part, str) else fields(part).get("text") for part in items(value)]
    return "".join(part for part in parts if isinstance(part, str))


def _channel(chat: _Chat) -> str:
    try:
        return label_of(chat.get("name"), "name")
    except InvalidInput:
        return f"Telegram {_chat_id(chat)}"


def _chat_id(chat: _Chat) -> str:
    return identifier_of(chat.get("id")) or "chat"


def _external_id(chat: _Chat, message: object) -> str | None:
    """Numbers of messages are only unique within their chat."""
    identifier = identifier_of(message)
    return f"telegram:{_chat_id(chat)}:{identifier}" if identifier else None
