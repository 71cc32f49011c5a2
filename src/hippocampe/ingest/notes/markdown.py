"""Notes in Markdown as Obsidian writes them: frontmatter, tags, wikilinks; cut for use. Pure.

A source of notes (`NoteSource`) is a folder (`vault.py`) or a running Obsidian (`obsidian.py`).
"""

import hashlib
import re
import unicodedata
from collections.abc import Iterator, Sequence
from datetime import datetime
from importlib.util import find_spec
from pathlib import PurePosixPath
from typing import NamedTuple, cast

from hippocampe.errors import NotesUnavailable
from hippocampe.language.text import CONTROLS, fold
from hippocampe.types import Note

MAX_NOTE_BYTES = 1_000_000
"""A longer note is left out: it is a dump of data, and would be thousands of pieces."""
EXCERPT_CHARACTERS = 500
PIECE_CHARACTERS = 800
"""The most of a piece: about what fits in the sentence embedder's attention as one thought."""

_MAX_FRONTMATTER_CHARACTERS = 20_000
_MAX_TITLE_CHARACTERS = 200
_CONTROL = re.compile(rf"[{CONTROLS}\ufeff]")
_FRONTMATTER = re.compile(r"---[ \t]*\n(.*?)^(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.S | re.M)
_OPENS = r"[ \t>]*(?P<fence>`{3,}(?=[^`\n]*$)|~{3,})"
# What could be tried in many ways is matched possessively: a note of a million backticks is one.
_CODE = rf"^{_OPENS}.*?(?:^[ \t>]*(?P=fence)[`~]*[ \t]*$|\Z)|(?<!`)`++[^`\n]++`++"
_ONLY_CODE = re.compile(_CODE, re.S | re.M)
_HEADING = re.compile(r"(#{1,6})[ \t]+(\S.*)")
_FENCE = re.compile(_OPENS)
_LINK = r"(?P<embed>!)?\[\[(?P<page>[^\[\]|\n]*)(?:\|(?P<alias>[^\[\]\n]*))?\]\]"
_ONLY_LINK = re.compile(_LINK)
_HIDDEN = r"%%.*?%%|<!--.*?(?:-->|\Z)"
_ANCHOR = r"(?:(?<=\s)|^)\^[\w-]+[ \t]*$"
_MARKUP = re.compile(f"(?P<code>{_CODE})|{_LINK}|{_HIDDEN}|{_ANCHOR}", re.S | re.M)
# Every ASCII sign ends a tag but the hyphen, the underscore and the slash; so does general
# punctuation. Letters of any script, and emoji, are part of it.
_TAG = re.compile(
    "(?:^|(?<=[\\s(]))#([^\\s!-,.:-@\\[-^`{-~\u00a0\u00ab\u00bb\u2000-\u206f\u3000-\u303f]+)", re.M
)
_SENTENCE_END = re.compile(r"(?:[!?…]|(?<!\b\w)\.)[.!?…]*[\"»”’)\]*_]*(?=\s|$)|(?<=\S)(?=\n)")
_SEAMS = (("\n\n", r"\n\s*\n"), ("\n", r"\n"), (" ", r"(?<=[.!?…])\s+"), (" ", r"\s+"))
"""Where a long text is cut, best first: what joins the parts again, and what separates them."""


class Section(NamedTuple):
    """A piece of a note: the headings it lies under, the note's title first, and its text."""

    heading: str
    text: str


def require(*packages: str) -> None:
    """Make sure that packages which only notes need are there.

    Raises:
        NotesUnavailable: One is missing.
    """
    for name in packages:
        if find_spec(name) is None:
            raise NotesUnavailable(
                f"notes cannot be read without the package {name}: install it with: pip install "
                "'hippocampe[notes]'"
            )


def is_wanted(path: str, ignored: Sequence[str]) -> bool:
    """Whether a path relative to the vault is that of a note that may be read.

    Args:
        ignored: Folders by name or by path, in any case and with or without accents. Folders and
            files whose name starts with a dot are always left out.
    """
    parts = path.split("/")
    if not parts[-1].lower().endswith(".md") or not path.isprintable():
        return False
    return not any(is_ignored("/".join(parts[:end]), ignored) for end in range(1, len(parts) + 1))


def is_ignored(path: str, ignored: Sequence[str]) -> bool:
    """Whether a folder, by its path relative to the vault, is one to leave out."""
    name = path.rpartition("/")[2]
    folded = {fold(each).strip("/") for each in ignored}
    return name.startswith(".") or fold(name) in folded or fold(path) in folded


def normal(text: str) -> str:
    """Composed Unicode: macOS writes file names decomposed."""
    return unicodedata.normalize("NFC", text)


def parse(path: str, content: str, modified_at: datetime) -> Note:
    """Read a note.

    Args:
        path: Relative to the vault, with slashes.
        content: The whole file.
        modified_at: When it was last changed.
    """
    content = content.encode(errors="replace").decode().replace("\r\n", "\n")
    content = normal(_CONTROL.sub("", content))
    path = normal(path)
    found = _FRONTMATTER.match(content)
    head, problem = _read_frontmatter(found[1]) if found else ({}, None)
    text = (content[found.end() :] if found else content).strip()
    given = head.get("title")
    title = given.strip() if isinstance(given, str) else ""
    if not 0 < len(title) <= _MAX_TITLE_CHARACTERS or not title.isprintable():
        title = PurePosixPath(path).stem
    prose = _ONLY_CODE.sub(" ", text)
    return Note(
        path=path,
        title=title,
        text=text,
        tags=tuple(dict.fromkeys((*_listed_tags(head), *_inline_tags(prose)))),
        links=tuple(dict.fromkeys(filter(None, map(_page, _ONLY_LINK.finditer(prose))))),
        modified_at=modified_at,
        digest=hashlib.blake2b(f"{title}\0{text}".encode(), digest_size=16).hexdigest(),
        problem=problem,
    )


def _read_frontmatter(text: str) -> tuple[dict[str, object], str | None]:
    """The fields of a frontmatter as text and lists, and what is wrong with it, if anything."""
    import yaml

    if len(text) > _MAX_FRONTMATTER_CHARACTERS:
        return {}, f"its frontmatter is longer than {_MAX_FRONTMATTER_CHARACTERS:,} characters"
    try:
        # All scalars stay text: a date that no calendar has is no reason to fail.
        read = yaml.load(text, Loader=yaml.BaseLoader)
    except yaml.MarkedYAMLError as exc:
        line = exc.problem_mark.line + 2 if exc.problem_mark else "?"
        return {}, f"its frontmatter is no valid YAML (line {line})"
    except (yaml.YAMLError, RecursionError):
        return {}, "its frontmatter is no valid YAML"
    if not isinstance(read, dict):
        return {}, "its frontmatter holds no fields" if read else None
    return {
        str(name).lower(): value for name, value in cast("dict[object, object]", read).items()
    }, None


def _listed_tags(head: dict[str, object]) -> Iterator[str]:
    for field in ("tags", "tag"):
        value = head.get(field)
        items = cast("list[object]", value) if isinstance(value, list) else [value]
        for item in items:
            if isinstance(item, str):
                yield from filter(None, map(_tag, re.split(r"[,\s]+", item)))


def _inline_tags(prose: str) -> Iterator[str]:
    yield from filter(None, (_tag(found[1]) for found in _TAG.finditer(prose)))


def _tag(text: str) -> str:
    """A tag without its sign; what holds nothing but digits is none."""
    name = text.strip().lstrip("#").strip("/")
    return "" if name.isdigit() else name


def _page(link: re.Match[str]) -> str:
    return link["page"].partition("#")[0].strip()


def readable(text: str) -> str:
    """Markdown as it reads: links as the words they show, without comments, embeds and anchors."""
    return _MARKUP.sub(_shown, text).strip()


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


def excerpt(text: str, limit: int = EXCERPT_CHARACTERS) -> str:
    """The beginning of a note, at most `limit` characters, cut where a sentence ends.

    Where none ends in a good place, it is cut between words, with an ellipsis.
    """
    # Signs that show nothing take room too, so more is read than is kept.
    whole = readable(text[: 8 * limit])
    whole = re.sub(r"^#{1,6}[ \t]+", "", whole, flags=re.M)
    whole = re.sub(r"\s*\n\s*", "\n", whole).strip()
    if len(whole) <= limit:
        return whole
    ends = [end for found in _SENTENCE_END.finditer(whole) if (end := found.end()) <= limit]
    if ends and ends[-1] >= limit // 4:
        return whole[: ends[-1]]
    cut = whole[:limit]
    return (cut.rpartition(" ")[0] or cut[:-1]).rstrip(" ,;:\n") + "…"


def pieces(note: Note) -> list[Section]:
    """A note cut at its headings, and where a section is long at paragraphs, lines or sentences."""
    found = [
        Section(heading, part)
        for heading, text in _sections(note)
        for part in _cut(readable(text), PIECE_CHARACTERS)
    ]
    if not found and note.text:
        # Nothing but headings: they are all it says.
        return [Section(note.title, part) for part in _cut(readable(note.text), PIECE_CHARACTERS)]
    return found


def _sections(note: Note) -> Iterator[tuple[str, str]]:
    """The text under each heading, with the headings above it."""
    above: list[tuple[int, str]] = []
    lines: list[str] = []
    fence: str | None = None
    for line in note.text.split("\n"):
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
        above.append((level, readable(heading[2].rstrip(" \t#"))))
    yield _trail(note, above), "\n".join(lines)


def _trail(note: Note, above: Sequence[tuple[int, str]]) -> str:
    names = [name for _, name in above if name]
    if names and fold(names[0]) == fold(note.title):
        names = names[1:]
    return " › ".join((note.title, *names))


def _cut(text: str, limit: int, seams: Sequence[tuple[str, str]] = _SEAMS) -> Iterator[str]:
    """A text in parts of at most `limit` characters, none empty, cut at the best seams there are."""
    text = text.strip()
    if len(text) <= limit:
        if text:
            yield text
        return
    if not seams:
        yield from (text[start : start + limit] for start in range(0, len(text), limit))
        return
    (joint, seam), *finer = seams
    kept = ""
    for part in re.split(seam, text):
        joined = f"{kept}{joint}{part}" if kept else part
        if len(joined) <= limit:
            kept = joined
            continue
        yield from _cut(kept, limit, finer)
        kept = part
    yield from _cut(kept, limit, finer)
