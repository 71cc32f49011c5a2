"""Labels of the library's values on pages: sections, types, kinds, outcomes."""

from collections.abc import Mapping
from dataclasses import dataclass

from hippocampe.server.dashboard.wording import marked


@dataclass(frozen=True, slots=True)
class Section:
    """A section of the left rail."""

    name: str
    path: str
    label: str
    icon: str


SECTIONS = (
    Section("overview", "/overview", marked("Overview"), "layout-dashboard"),
    Section("memory", "/memory", marked("Memory"), "database"),
    Section("brain", "/brain", marked("Brain"), "brain"),
    Section("live", "/live", marked("Live"), "radio"),
    Section("graph", "/graph", marked("Graph"), "waypoints"),
    Section("retrievals", "/retrievals", marked("Retrievals"), "scan-search"),
    Section("reviews", "/reviews", marked("Reviews"), "git-compare"),
    Section("costs", "/costs", marked("Costs"), "receipt"),
    Section("jobs", "/jobs", marked("Jobs"), "list-checks"),
    Section("logs", "/logs", marked("Logs"), "scroll-text"),
    Section("playground", "/playground", marked("Playground"), "flask-conical"),
)

KINDS: Mapping[str, str] = {
    "identity": marked("identity"),
    "goal": marked("goal"),
    "decision": marked("decision"),
    "todo": marked("to do"),
    "preference": marked("preference"),
    "fact": marked("fact"),
    "event": marked("event"),
    "observation": marked("observation"),
    "summary": marked("summary"),
    "turn": marked("exchange"),
    "live": marked("live message"),
    "note": marked("note"),
}
"""Types of memories, and kinds of other results, each with a shape of the same name."""

THEMES: Mapping[str, tuple[str, str]] = {
    "system": (marked("Theme of the system"), "monitor"),
    "light": (marked("Light theme"), "sun"),
    "dark": (marked("Dark theme"), "moon"),
}

ROLES: Mapping[str, str] = {
    "read": marked("read only"),
    "write": marked("read and write"),
    "admin": marked("administrator"),
}

ASSOCIATIONS: Mapping[str, tuple[str, str]] = {
    "updates": (marked("replaces"), marked("replaced by")),
    "contradicts": (marked("contradicts"), marked("contradicted by")),
    "related_to": (marked("related to"), marked("related to")),
    "caused_by": (marked("caused by"), marked("cause of")),
    "part_of": (marked("part of"), marked("whole of")),
    "alias_of": (marked("another name of"), marked("also named")),
}
"""Associations, as seen from their source and from their target."""

SKIPPED: Mapping[str, str] = {
    "switched off": marked("Auto-retrieval is switched off."),
    "nothing was said": marked("Nothing was said."),
    "a message of the system": marked("It is a message of the system."),
    "overloaded": marked("The server had too much to do."),
    "failed": marked("It failed; the log of the server says where."),
    "joined to a later message": marked("It was joined to a later message."),
}
"""Reasons why no search was made for a turn; other reasons are shown unchanged."""

OUTCOMES: Mapping[str, str] = {
    "injected": marked("given"),
    "below_threshold": marked("below the threshold"),
    "already_known": marked("given lately"),
    "too_similar": marked("says the same as another"),
    "too_many": marked("too many"),
    "no_room": marked("no room in the budget"),
}

ROUTES: Mapping[str, str] = {
    "identity": marked("who is who"),
    "important": marked("important"),
    "recent": marked("recent"),
    "search": marked("found"),
    "context": marked("always given"),
}
"""Labels of the routes by which candidates of a turn were selected."""
