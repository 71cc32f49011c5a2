"""The templates of the pages: all values are escaped."""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from hippocampe.language.invisible import escaped
from hippocampe.language.lexicon import languages
from hippocampe.language.text import truncated, without_lone_surrogates
from hippocampe.presentation.injections import parts_of, stages_of
from hippocampe.presentation.reader import Reader, standing
from hippocampe.server.dashboard.menu import groups

_HERE = Path(__file__).parent
_MARKUP = re.compile(r"""(<textarea\b.*?</textarea>|<(?:"[^"]*"|'[^']*'|[^"'>])*>)""", re.DOTALL)

FOLDER = _HERE / "templates"
STATIC_FOLDER = _HERE / "static"


def prepare() -> None:
    """Load what the first page needs: its templates, the catalogues, and the formats of values."""
    template_named("overview.html")
    template_named("overview/lists.html")
    now = datetime.now(UTC)
    for language in languages():
        reader = Reader(language=language, timezone="UTC", now=now)
        for shown in (reader.ago, reader.exact, reader.day):
            shown(now)
        reader.amount(1, "memory")


def rendered(name: str, context: Mapping[str, Any]) -> str:
    """Render a template by its file in `templates`.

    Invisible characters of the texts are escaped, as in a terminal. Attributes and fields keep them, for copies and edits.
    """
    page = template_named(name).render(context)
    if escaped(page) != page:
        parts = _MARKUP.split(page)
        page = "".join(part if at % 2 else escaped(part) for at, part in enumerate(parts))
    # Left in attributes: bytes of names of files that are no text.
    return without_lone_surrogates(page)


def template_named(name: str) -> Template:
    """Load a template by its file in `templates`."""
    return _environment().get_template(name)


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=FileSystemLoader(FOLDER),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    shared: dict[str, Any] = environment.globals  # pyright: ignore[reportUnknownMemberType, reportAssignmentType]
    shared.update(
        static=static, menu=groups, parts_of=parts_of, stages_of=stages_of, standing=standing
    )
    filters: dict[str, Any] = environment.filters
    # Jinja's own leaves out a word that is too long for the rest.
    filters["truncate"] = truncated
    return environment


@cache
def static(name: str) -> str:
    """The address of a file of the package; it changes with the content, for caching."""
    digest = sha256((STATIC_FOLDER / name).read_bytes()).hexdigest()[:8]
    return f"/static/{name}?{digest}"
