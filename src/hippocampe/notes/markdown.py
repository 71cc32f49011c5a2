"""Parse notes in the Markdown of Obsidian (frontmatter, tags, wikilinks) and split them. Pure.

Headings and fences are matched by our own code: markdown-it-py is 6 to 10 times slower here and has no
tokens for tags, wikilinks and comments.
"""

import hashlib
import re
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import PurePosixPath
from typing import NamedTuple, cast

from hippocampe.language.text import CONTROLS, fold, shortened
from hippocampe.notes.filters import normalize
from hippocampe.types import Note

EXCERPT_CHARACTERS = 500
PIECE_CHARACTERS = 800
"""Maximum length of a piece: about one thought for the sentence embedder."""

MAX_FRONTMATTER_CHARACTERS = 20_000
_MAX_TITLE_CHARACTERS = 200
_CONTROL = re.compile(rf"[{CONTROLS}\ufeff]")
_FRONTMATTER = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S | re.M)
_OPENS = r"[ \t>]*(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})"
# Possessive quantifiers prevent catastrophic backtracking on a note of a million backticks.
_CODE = rf"^{_OPENS}.*?(?:^[ \t>]*(?P=fence)[`~]*[ \t]*$|\Z)|(?<!`)`++[^`\n]++`++"
_ONLY_CODE = re.compile(_CODE, re.S | re.M)
# A program that Obsidian replaces by what it finds.
_QUERY = re.compile(
    r"[ \t>]*(?:`{3,}|~{3,})[ \t]*(?:dataview(?:js)?|tasks|query|base)[ \t]*\n|`\$?= ",
    re.IGNORECASE,
)
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_FENCE = re.compile(_OPENS)
_LINK = r"(?P<embed>!)?\[\[(?P<page>[^\[\]|\n]*)(?:\|(?P<alias>[^\[\]\n]*))?\]\]"
_ONLY_LINK = re.compile(_LINK)
# Comments, and what a template is filled with.
_HIDDEN = r"%%.*?%%|<!--.*?(?:-->|\Z)|<%(?:(?!<%).)*?%>|\{\{(?:title|date|time)(?::[^{}\n]*)?\}\}"
_ANCHOR = r"(?:(?<=\s)|^)\^[\w-]+[ \t]*$"
# A field of Dataview: a line of its own, or in brackets within one.
FIELD_NAME = r"[^\W\d_][^:\n\[\]()]{0,39}"
_FIELD = (
    rf"(?P<before>^[ \t>]*(?:[-*+][ \t]+(?:\[.\][ \t]+)?)?)(?P<name>{FIELD_NAME})::(?P<value>[ \t]+\S[^\n]*|[ \t]*$)"
    rf"|[\[(](?P<inline>{FIELD_NAME})::[ \t]+(?P<inside>[^\n\[\]()]*)[\])]"
)
_COMMENT = re.compile(f"(?P<code>{_CODE})|{_HIDDEN}", re.S | re.M)
_MARKUP = re.compile(f"(?P<code>{_CODE})|{_LINK}|{_HIDDEN}|{_ANCHOR}", re.S | re.M)
_ONLY_FIELD = re.compile(f"(?P<code>{_CODE})|{_FIELD}", re.S | re.M)
# A tag ends at ASCII and general punctuation except hyphen, underscore and slash. Letters of any
# script and emoji are part of it.
_TAG = re.compile(
    "(?:^|(?<=[\\s(]))#([^\\s!-,.:-@\\[-^`{-~\u00a0\u00ab\u00bb\u2000-\u206f\u3000-\u303f]+)", re.M
)
_SENTENCE_END = re.compile(r"(?:[!?…]|(?<!\b\w)\.)[.!?…]*[\"»”’)\]*_]*(?=\s|$)|(?<=\S)(?=\n)")
_SEAMS = (("\n\n", r"\n\s*\n"), ("\n", r"\n"), (" ", r"(?<=[.!?…])\s+"), (" ", r"\s+"))
"""Places to cut a long text, best first: the joint of merged parts, and the separator."""


class Section(NamedTuple):
    """A piece of a note: its headings, from the title of the note down, and its text."""

    heading: str
    text: str


def parse(path: str, content: str, modified_at: datetime) -> Note:
    """Parse a note.

    Args:
        path: Relative to the vault, with slashes.
    """
    path = normalize(path)
    head, text, problem = frontmatter(content)
    declared = head.get("title")
    title = declared.strip() if isinstance(declared, str) else ""
    if not 0 < len(title) <= _MAX_TITLE_CHARACTERS or not title.isprintable():
        title = PurePosixPath(path).stem
    prose = _ONLY_CODE.sub(" ", text)
    return Note(
        path=path,
        title=title,
        text=text,
        tags=tuple(dict.fromkeys(filter(None, _tags(head, prose)))),
        links=tuple(dict.fromkeys(filter(None, map(_page, _ONLY_LINK.finditer(prose))))),
        modified_at=modified_at,
        # Of what is indexed.
        digest=hashlib.blake2b(
            f"{title}\0{without_comments(text)}".encode(), digest_size=16
        ).hexdigest(),
        problem=problem,
    )


def frontmatter(content: str) -> tuple[dict[str, object], str, str | None]:
    """The fields of the frontmatter as texts and lists, the text after it, and its problem, if any."""
    content = content.encode(errors="replace").decode().replace("\r\n", "\n")
    content = normalize(_CONTROL.sub("", content))
    found = _FRONTMATTER.match(content)
    head, problem = parse_fields(found[1]) if found else ({}, None)
    return head, (content[found.end() :] if found else content).strip(), problem


def parse_fields(
    text: str, limit: int = MAX_FRONTMATTER_CHARACTERS
) -> tuple[dict[str, object], str | None]:
    """The fields of a frontmatter as texts and lists, and its problem, if any."""
    import yaml

    if len(text) > limit:
        return {}, f"its frontmatter is longer than {limit:,} characters"
    try:
        # BaseLoader keeps scalars as text, so that an invalid date is not an error.
        read = yaml.load(text, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as exc:
        line = exc.problem_mark.line + 2 if exc.problem_mark else "?"
        return {}, f"its frontmatter is not valid YAML (line {line})"
    except (yaml.YAMLError, RecursionError):
        return {}, "its frontmatter is not valid YAML"
    if not isinstance(read, dict):
        return {}, "its frontmatter has no fields" if read else None
    return {
        str(name).lower(): value for name, value in cast("dict[object, object]", read).items()
    }, None


def _tags(head: dict[str, object], prose: str) -> Iterator[str]:
    """The tags of a note, which may be repeated or empty."""
    for field in ("tags", "tag"):
        value = head.get(field)
        items = cast("list[object]", value) if isinstance(value, list) else [value]
        for item in items:
            if isinstance(item, str):
                yield from map(_tag, re.split(r"[,\s]+", item))
    yield from (_tag(found[1]) for found in _TAG.finditer(prose))


def _tag(text: str) -> str:
    """A tag without its sign; empty for digits only, which are not a tag in Obsidian."""
    name = text.strip().lstrip("#").strip("/")
    return "" if name.isdigit() else name


def _page(link: re.Match[str]) -> str:
    return link["page"].partition("#")[0].strip()


def render(text: str) -> str:
    """Render links as their displayed words and fields as pairs, and drop comments, embeds, anchors and empty fields."""
    return _ONLY_FIELD.sub(_paired, _MARKUP.sub(_shown, text)).strip()


def without_comments(text: str, *, keep_lines: bool = False) -> str:
    """Remove comments, which may hide several paragraphs and headings, and queries, with their lines unless `keep_lines`."""

    def shown(found: re.Match[str]) -> str:
        if found["code"] is not None and not _QUERY.match(found["code"]):
            return found[0]
        return "\n" * found[0].count("\n") if keep_lines else ""

    return _COMMENT.sub(shown, text)


def _shown(found: re.Match[str]) -> str:
    if found["code"] is not None:
        return found[0]
    if found["page"] is None or found["embed"]:
        return ""
    if found["alias"]:
        return found["alias"].strip()
    page, _, place = found["page"].partition("#")
    place = place.lstrip("^").replace("#", " › ").strip()
    return " › ".join(filter(None, (page.strip(), place)))


def _paired(found: re.Match[str]) -> str:
    if found["code"] is not None:
        return found[0]
    if found["inline"]:
        return f"{found['inline'].strip()}: {found['inside'].strip()}"
    value = found["value"].strip()
    return f"{found['before']}{found['name'].strip()}: {value}" if value else ""


def excerpt(text: str) -> str:
    """The beginning of a note, at most 500 characters, cut at the end of a sentence.

    Without a suitable sentence end, it is cut between words, with an ellipsis.
    """
    # Markup takes room too, so read more than is kept.
    whole = render(text[: 8 * EXCERPT_CHARACTERS])
    whole = re.sub(r"^#{1,6}[ \t]+", "", whole, flags=re.M)
    whole = re.sub(r"\s*\n\s*", "\n", whole).strip()
    if len(whole) <= EXCERPT_CHARACTERS:
        return whole
    ends = [
        end for found in _SENTENCE_END.finditer(whole) if (end := found.end()) <= EXCERPT_CHARACTERS
    ]
    if ends and ends[-1] >= EXCERPT_CHARACTERS // 4:
        return whole[: ends[-1]]
    return shortened(whole, EXCERPT_CHARACTERS - 1)


def split(note: Note) -> list[Section]:
    """Split a note at its headings, and long sections at paragraphs, lines or sentences."""
    found = [
        Section(heading, part)
        for heading, text in _sections(note)
        for part in _cut(render(text), PIECE_CHARACTERS)
    ]
    if not found and note.text:
        # A note of headings only: its text is the headings.
        return [Section(note.title, part) for part in _cut(render(note.text), PIECE_CHARACTERS)]
    return found


def _sections(note: Note) -> Iterator[tuple[str, str]]:
    """The text under each heading, with the path of headings."""
    above: list[tuple[int, str]] = []
    lines: list[str] = []
    fence: str | None = None
    for line in without_comments(note.text).split("\n"):
        marks = _FENCE.match(line)
        if marks and fence is None:
            fence = marks["fence"]
        elif fence is not None and re.fullmatch(rf"[ \t>]*{fence}[`~]*[ \t]*", line):
            fence = None
        heading = _HEADING.match(line) if fence is None else None
        if heading is None:
            lines.append(line)
            continue
        yield _trail(note, above), "\n".join(lines)
        lines = []
        level = len(heading[1])
        above = [each for each in above if each[0] < level]
        above.append((level, render(heading[2].rstrip(" \t#"))))
    yield _trail(note, above), "\n".join(lines)


def _trail(note: Note, above: Sequence[tuple[int, str]]) -> str:
    names = [name for _, name in above if name]
    if names and fold(names[0]) == fold(note.title):
        names = names[1:]
    return " › ".join((note.title, *names))


def _cut(text: str, limit: int, seams: Sequence[tuple[str, str]] = _SEAMS) -> Iterator[str]:
    """Cut a text into non-empty parts of at most `limit` characters, at the best seams available."""
    text = text.strip()
    if len(text) <= limit:
        if text:
            yield text
        return
    if not seams:
        yield from (text[start : start + limit] for start in range(0, len(text), limit))
        return
    (joint, seam), *finer = seams
    piece = ""
    for part in re.split(seam, text):
        joined = f"{piece}{joint}{part}" if piece else part
        if len(joined) <= limit:
            piece = joined
            continue
        yield from _cut(piece, limit, finer)
        piece = part
    yield from _cut(piece, limit, finer)
