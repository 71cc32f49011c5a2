"""Read Markdown: the notes of basic-memory and other vaults, Open Knowledge Format, memories copied as a list."""

import re
from collections.abc import Iterator
from datetime import tzinfo
from pathlib import PurePosixPath

from hippocampe.errors import UnreadableFile
from hippocampe.ingest.formats.format import Format, any_line
from hippocampe.ingest.formats.passages import Passage, about, below, passages
from hippocampe.ingest.formats.record import (
    ExternalIds,
    Problem,
    Record,
    Statement,
    as_list,
    as_object,
    label_or,
    moment_or_none,
    parse_content,
    parse_metadata,
    parse_subjects,
    parsed,
)
from hippocampe.ingest.formats.source import Source
from hippocampe.language.detect import Language, language_of
from hippocampe.language.i18n import translate
from hippocampe.notes.filters import MAX_NOTE_BYTES
from hippocampe.notes.markdown import frontmatter, render, without_comments

_RESERVED = frozenset({"index.md", "log.md"})
"""Files of Open Knowledge Format that list others, unless they have a type."""
_LEARNT = ("created", "created_at", "date", "timestamp")
_OBSERVATION = re.compile(r"\[([^\[\]()]{2,})\]\s+(\S.*)")
_RELATION = re.compile(r"([^\[\]]+?)\s*\[\[([^\[\]|#]+)(?:[|#][^\[\]]*)?\]\](?:\s*\(.*\))?")
_TASK = re.compile(r"\[.\]\s")
_TASK_DATE = re.compile(r"\s*(?P<sign>[📅⏳🛫✅❌➕])\ufe0f?\s*(?P<day>\d{4}-\d{2}-\d{2})(?!\d)")
"""A date of a task, as the plugin Tasks of Obsidian writes it."""
_TASK_SIGN = re.compile(r"\s*[🔺⏫🔼🔽⏬]\ufe0f?|🔁\ufe0f?\s*")
"""Its priority, and what its recurrence follows."""
_IMAGE = re.compile(r"!\[[^\]]*\]\([^)]*\)")
_LINK = re.compile(r"\[([^\]]*)\]\([^)]*\)")
_TAG = re.compile(r"(?:^|(?<=\s))#([^\s#]+)")
_SIGN = re.compile(r"^\[![\w-]+\][+-]?|\[\^[^\]\s]+\]:?")
"""The kind of a callout, and the number of a footnote."""
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})(?!\d)[\s_–-]*")
"""The beginning of the name of a daily note, which dates it and is about nothing."""
_READ_CHARACTERS = 2_000
"""Beginning of a note that tells its language."""
_MARKUP = re.compile(r"(?:#{1,6}|[-*+•])\s+\S")


class _Note:
    """The fields of a note that its statements share."""

    def __init__(
        self, source: Source, head: dict[str, object], language: Language, zone: tzinfo
    ) -> None:
        self.language = language
        path = source.member or source.path.name
        named = PurePosixPath(path).stem
        day = _DAY.match(named)
        dated = moment_or_none(day[1], zone) if day else None
        if day and dated:
            named = named[day.end() :]
        # A single file without a title is a list of memories, not a note about something.
        self.title = label_or(head.get("title") or (named if source.member else None), None)
        self.tags = [each for name in ("tags", "tag") for each in _listed(head.get(name))]
        generated = as_object(head.get("generated")).get("at")
        written = [*(head.get(key) for key in _LEARNT), generated]
        times = [moment_or_none(each, zone) for each in written]
        self.at = next((each for each in [*times, dated] if each is not None), source.modified)
        self.ends = moment_or_none(head.get("stale_after"), zone)
        # Only basic-memory writes these; elsewhere a bracket or a link in a list is part of a sentence.
        self.semantic = "permalink" in head
        self.metadata: dict[str, object] = {
            "note": path,
            "type": head.get("type"),
        }


def read_markdown(source: Source, zone: tzinfo) -> Iterator[Record | Problem]:
    """Read one note: each item of a list and each paragraph is a statement.

    Raises:
        UnreadableFile: The file is not text.
    """
    with source.open() as stream:
        raw = stream.read(MAX_NOTE_BYTES + 1)
    if len(raw) > MAX_NOTE_BYTES:
        yield Problem(1, f"the note is longer than {MAX_NOTE_BYTES:,} bytes")
        return
    if b"\0" in raw:
        raise UnreadableFile(f"cannot import {source.name}: it is not text.")
    head, text, problem = frontmatter(raw.decode("utf-8-sig", errors="replace"))
    if problem:
        yield Problem(1, problem)
    member = PurePosixPath(source.member or "")
    if member.name.lower() in _RESERVED and "type" not in head:
        return
    note = _Note(source, head, language_of(text[:_READ_CHARACTERS]), zone)
    external_ids = ExternalIds("markdown")
    telling = (
        each
        for each in passages(without_comments(text, keep_lines=True))
        if any(map(str.isalnum, _plain(each.text)))
    )
    yield from parsed(
        ((each.line, each) for each in telling),
        lambda passage: [_statement(note, passage, external_ids, zone)],
    )


def _statement(note: _Note, passage: Passage, ids: ExternalIds, zone: tzinfo) -> Statement:
    text, subjects, pairs = passage.text, [note.title], dict(note.metadata)
    tags = [*note.tags, *_TAG.findall(text)]
    relation = _RELATION.fullmatch(text) if note.semantic and passage.item else None
    observation = _OBSERVATION.fullmatch(text) if note.semantic and passage.item else None
    if relation:
        pairs["relation"] = relation[1].strip()
        target = PurePosixPath(relation[2].strip()).name
        subjects.append(target)
        text = f"{note.title} {relation[1].strip().replace('_', ' ')} {target}"
    else:
        if observation:
            pairs["category"], text = observation[1], observation[2]
        if passage.item and _TASK.match(text):
            text = _task(text, note.language)
        text = about(note.title, below(filter(None, map(_plain, passage.above)), _plain(text)))
    headings = [each for each in passage.headings if each != note.title]
    pairs["heading"] = " › ".join(headings)
    return Statement(
        parse_content(text),
        subjects=parse_subjects([*subjects, *tags]),
        at=moment_or_none(passage.date, zone) or note.at,
        ends=note.ends,
        metadata=parse_metadata(pairs),
        external_id=ids.derive(str(pairs["note"]), *passage.above, passage.text),
    )


def _task(text: str, language: Language) -> str:
    """A task with its dates in words: "call Tom 📅 2026-05-14" is "call Tom (due 2026-05-14)"."""

    def dated(found: re.Match[str]) -> str:
        match found["sign"]:
            case "📅":
                said = translate("due {day}", language)
            case "⏳":
                said = translate("scheduled for {day}", language)
            case "🛫":
                said = translate("from {day} on", language)
            case "✅":
                said = translate("done {day}", language)
            case "❌":
                said = translate("cancelled {day}", language)
            case _:
                # When it was written down.
                return ""
        return f" ({said.format(day=found['day'])})"

    return _TASK_SIGN.sub(" ", _TASK_DATE.sub(dated, text))


def _plain(text: str) -> str:
    """The words of a passage: of links what they show, without images, tags, boxes of tasks and signs of footnotes."""
    shown = _LINK.sub(r"\1", _IMAGE.sub("", render(_SIGN.sub("", _TASK.sub("", text)))))
    return " ".join(_TAG.sub("", shown).split())


def _listed(value: object) -> list[object]:
    if isinstance(value, str):
        return list(filter(None, re.split(r"[,\s]+", value)))
    return as_list(value)


MARKDOWN = Format(
    "markdown",
    "Markdown",
    read_markdown,
    recognises=lambda head: (
        head.startswith("---\n") or any_line(lambda line: bool(_MARKUP.match(line.strip())))(head)
    ),
    files=r".*\.md",
)
"""Notes of a vault, a list of memories that was copied into a file, or another bundle of Open Knowledge Format."""
