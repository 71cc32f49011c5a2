"""Read the JSON export that DiscordChatExporter makes of a channel of Discord."""

from collections.abc import Iterator
from datetime import tzinfo

from hippocampe.errors import UnreadableFile
from hippocampe.ingest.formats.document import Place, walk
from hippocampe.ingest.formats.format import Format, has_key
from hippocampe.ingest.formats.record import (
    UNKNOWN,
    Problem,
    Record,
    TalkMessage,
    as_object,
    label_or,
    parse_content,
    parse_identifier,
    parse_label,
    parse_time,
    parsed,
    storable_text,
    to_utc,
)
from hippocampe.ingest.formats.source import Source

_SPOKEN = ("Default", "Reply")
"""Types of the messages that somebody wrote; Discord writes the others."""
_DIRECT = "0"
"""The id of the server of direct messages."""


def read_discord(source: Source, zone: tzinfo) -> Iterator[Record | Problem]:
    """Read the messages of a channel, without those of Discord itself and those without text.

    Raises:
        UnreadableFile: The document is not valid JSON, or contains no channel.
    """
    # The first pass validates the document and collects the properties of the channel.
    properties = {path[0]: as_object(value) for path, value in walk(source, _opened) if path}
    if "channel" not in properties:
        raise UnreadableFile(f"cannot import {source.name}: it contains no channel of Discord.")
    channel = _channel(properties["channel"], properties.get("guild", {}))
    messages = (as_object(value) for path, value in walk(source, _opened) if len(path) > 1)
    yield from parsed(enumerate(messages, start=1), lambda raw: _message(raw, channel, zone))


def _opened(path: Place) -> str:
    return "[" if path == ("messages",) else "" if path else "{"


def _channel(channel: dict[str, object], guild: dict[str, object]) -> str:
    """The name of the channel, after that of its server."""
    name = label_or(channel.get("name"), f"Discord {parse_identifier(channel.get('id')) or ''}")
    if parse_identifier(guild.get("id")) in (None, _DIRECT):
        return name
    return label_or(f"{guild.get('name')} #{name}", name)


def _message(raw: dict[str, object], channel: str, zone: tzinfo) -> Iterator[TalkMessage]:
    text, passed_on = _text(raw), _text(as_object(raw.get("forwardedMessage")))
    said_by_another = bool(passed_on.strip()) and not text.strip()
    if passed_on.strip():
        # Discord does not tell its author.
        text = passed_on if said_by_another else f"{text}\n{UNKNOWN}: {passed_on}"
    if raw.get("type", _SPOKEN[0]) not in _SPOKEN or not text.strip():
        return
    author, reference = as_object(raw.get("author")), as_object(raw.get("reference"))
    yield TalkMessage(
        content=parse_content(text),
        author=UNKNOWN
        if said_by_another
        else parse_label(author.get("nickname") or author.get("name"), "author"),
        account=None if said_by_another else parse_identifier(author.get("id")),
        account_name=label_or(author.get("name"), None),
        channel=channel,
        at=to_utc(parse_time(raw.get("timestamp")), zone),
        external_id=_external_id(raw.get("id")),
        unique=True,
        edited=bool(raw.get("timestampEdited")),
        # A forwarded message is of another channel.
        reply_to=None if passed_on else _external_id(reference.get("messageId")),
    )


def _text(message: dict[str, object]) -> str:
    content = message.get("content")
    return storable_text(content) if isinstance(content, str) else ""


def _external_id(message: object) -> str | None:
    identifier = parse_identifier(message)
    return f"discord:{identifier}" if identifier else None


DISCORD = Format(
    "discord",
    "Discord",
    read_discord,
    recognises=has_key(r'"guild"\s*:\s*\{'),
    files=r".+\[\d{5,}\].*\.json",
)
