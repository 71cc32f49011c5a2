"""The templates of the pages: all values are escaped."""

from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined, Template

from hippocampe.presentation.reader import state_of
from hippocampe.presentation.stages import stages_of

_HERE = Path(__file__).parent
FOLDER = _HERE / "templates"
STATIC_FOLDER = _HERE / "static"


class Section(NamedTuple):
    """A section of the left rail: its name, which is its path too, and its icon."""

    name: str
    icon: str


SECTIONS = (
    Section("overview", "layout-dashboard"),
    Section("memory", "database"),
    Section("brain", "brain"),
    Section("live", "radio"),
    Section("graph", "waypoints"),
    Section("retrievals", "scan-search"),
    Section("reviews", "git-compare"),
    Section("costs", "receipt"),
    Section("jobs", "list-checks"),
    Section("logs", "scroll-text"),
    Section("playground", "flask-conical"),
)


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
    shared.update(static=static, sections=SECTIONS, stages_of=stages_of, state_of=state_of)
    return environment


@cache
def static(name: str) -> str:
    """The address of a file of the package; it changes with the content, for caching."""
    digest = sha256((STATIC_FOLDER / name).read_bytes()).hexdigest()[:8]
    return f"/static/{name}?{digest}"
