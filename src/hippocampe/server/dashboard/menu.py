"""The menu of the pages: each page is one row, with its group and what waits on it."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import groupby

from hippocampe.types import Role, Stats


@dataclass(frozen=True, slots=True)
class Section:
    """A page of the menu.

    Attributes:
        name: Its path without the slash; its title is the label `section` of it in the catalogues.
        group: The part of the menu, with a label `menu`; "" is the part without a heading, at the top.
        icon: A symbol of `icons.svg`.
        role: Readers without it do not see the page.
        badge: How many things wait there for a person; 0 shows nothing.
    """

    name: str
    group: str
    icon: str
    role: Role = "read"
    badge: Callable[[Stats], int] | None = None


def _failed(stats: Stats) -> int:
    return stats.jobs.get("parked", 0) + stats.jobs.get("failed", 0)


MENU: tuple[Section, ...] = (
    Section("overview", "", "layout-dashboard"),
    Section("memory", "memory", "database"),
    Section("facts", "memory", "list"),
    Section("people", "memory", "users"),
    Section("subjects", "memory", "tag"),
    Section("reviews", "memory", "git-compare", badge=lambda stats: stats.reviews),
    Section("graph", "memory", "waypoints"),
    Section("notes", "memory", "file-text"),
    Section("brain", "memory", "brain"),
    Section("chat", "activity", "message-square"),
    Section("conversations", "activity", "message-square"),
    Section("timeline", "activity", "history"),
    Section("live", "activity", "radio", badge=lambda stats: stats.live),
    Section("retrievals", "activity", "scan-search"),
    Section("playground", "activity", "flask-conical"),
    Section("settings", "system", "sliders-horizontal"),
    Section("data", "system", "arrow-down-up", role="admin"),
    Section("access", "system", "key-round", role="admin"),
    Section("connect", "system", "link"),
    Section("costs", "system", "receipt"),
    Section("jobs", "system", "list-checks", badge=_failed),
    Section("logs", "system", "scroll-text", role="admin"),
)
"""The pages in their order; those of a group stand together."""


def groups(may: Callable[[Role], bool]) -> Iterator[tuple[str, list[Section]]]:
    """The groups of the menu with the pages that a reader may open."""
    visible = [each for each in MENU if may(each.role)]
    for group, sections in groupby(visible, key=lambda each: each.group):
        yield group, list(sections)
