"""People and subjects: who and what the memory knows about; of each, what is known, its history, who told it."""

import asyncio
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import quote

from fastapi import Depends
from starlette.responses import Response

from hippocampe.language.person import is_about_speaker
from hippocampe.language.subject_names import as_written
from hippocampe.language.text import fold
from hippocampe.server.dashboard.lists import Listed, by_day, numbers
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import ReadPage, Visit
from hippocampe.types import DEFAULT_IMPORTANCE, Counts, Memory

router = page_router()
KNOWN = 200
"""Memories of a page, the most important ones."""
CHANGES = 50
SAID = 10
"""Exchanges of a person, the newest ones."""
READ = 1_000
"""Memories in which names are looked up as people write them."""


@dataclass(frozen=True, slots=True)
class People(Listed):
    """The query of the list of people."""

    path = "/people"
    order: Literal["most", "name"] = "most"


@dataclass(frozen=True, slots=True)
class Subjects(People):
    """The query of the list of subjects."""

    path = "/subjects"


@router.get("/people")
async def people(page: ReadPage, asked: Annotated[People, Depends()]) -> Response:
    """The people who talk, by how much is remembered of it."""
    return await _names(page, asked, await page.hippo.users(scope=page.scope))


@router.get("/subjects")
async def subjects(page: ReadPage, asked: Annotated[Subjects, Depends()]) -> Response:
    """The subjects of memories, by their number."""
    return await _names(page, asked, await page.hippo.subjects(scope=page.scope))


async def _names(
    page: Visit, asked: People, counts: Mapping[str, Counts] | Mapping[str, int]
) -> Response:
    """A page of names with their numbers, of those that have the words of the filter."""
    found = asked.having_words([*counts], str)
    # As the head of the column says; equal ones stay in the order of what they said.
    found.sort(key=fold if asked.order == "name" else lambda name: -_memories(counts[name]))
    asked, shown = asked.cut(found)
    return page.render(
        "names.html",
        asked=asked,
        names={name: counts[name] for name in shown},
        written=await _written(page, shown) if isinstance(asked, Subjects) else {},
        most=max(map(_memories, counts.values()), default=0) or 1,
        total=len(found),
        every=len(counts),
        pages=tuple(numbers(asked.page, len(found))),
    )


async def _written(page: Visit, names: Sequence[str]) -> dict[str, str]:
    """The subjects as people write them, from the newest memories about them."""
    if not names:
        return {}
    about = await page.hippo.memories(scope=page.scope, subjects=names, limit=READ)
    return as_written(names, ((each.content, each.subjects) for each in about.items))


def _memories(counts: Counts | int) -> int:
    return counts if isinstance(counts, int) else counts.memories


# Browsers take "." and ".." in a path for folders, even encoded: the pages link to names in queries.
@router.get("/person")
@router.get("/people/{name:path}")
async def person(page: ReadPage, name: str) -> Response:
    """One person: what is known about them, by any of their names or in their own words, what else they told, and said last."""
    names = await page.hippo.names(name, scope=page.scope)
    told, known, said, own_changes, changes = await asyncio.gather(
        page.hippo.memories(scope=page.scope, user=name, order="importance", limit=KNOWN),
        page.hippo.about(name, scope=page.scope, limit=KNOWN),
        page.hippo.exchanges(scope=page.scope, user=name, limit=SAID),
        page.hippo.changes(scope=page.scope, user=name, limit=CHANGES),
        page.hippo.changes(scope=page.scope, subjects=list(names), limit=CHANGES),
    )
    ids = {each.id for each in known}
    changes += [
        each
        for each in own_changes
        if each not in changes
        and each.memory.collection == "memory"
        and is_about_speaker(each.memory.content)
    ]
    changes.sort(key=lambda each: each.at, reverse=True)
    return page.render(
        "about.html",
        section="people",
        name=name,
        names=names[1:],
        told=_by_type(each for each in told.items if each.id not in ids),
        said=said,
        talk=f"/conversations?user={quote(name, safe='')}",
        changes=by_day(page, changes[:CHANGES]),
        timeline=f"/timeline?user={quote(name, safe='')}",
        list=f"/memory?user={quote(name, safe='')}",
        **_known(page, known),
    )


@router.get("/subject")
@router.get("/subjects/{name:path}")
async def subject(page: ReadPage, name: str) -> Response:
    """One subject: what is known about it."""
    about, changes = await asyncio.gather(
        page.hippo.memories(scope=page.scope, subjects=[name], order="importance", limit=KNOWN),
        page.hippo.changes(scope=page.scope, subjects=[name], limit=CHANGES),
    )
    return page.render(
        "about.html",
        section="subjects",
        name=as_written([name], ((each.content, each.subjects) for each in about.items))[name],
        names=(),
        told=(),
        said=(),
        changes=by_day(page, changes),
        timeline=f"/timeline?subject={quote(name, safe='')}",
        list=f"/memory?subject={quote(name, safe='')}",
        **_known(page, about.items),
    )


def _known(page: Visit, found: Sequence[Memory]) -> dict[str, Any]:
    """Group what is known by type, with who told it, where, and what else it is about."""
    return {
        "known": _by_type(found),
        "number": len(found),
        "tellers": Counter(each.user for each in found if each.user).most_common(),
        "channels": Counter(each.channel for each in found if each.channel).most_common(8),
        "with_": Counter(name for each in found for name in each.subjects).most_common(12),
    }


def _by_type(found: Iterable[Memory]) -> list[tuple[str, list[Memory]]]:
    """Memories by type, the most important types first, each newest first."""
    newest = sorted(found, key=lambda each: each.created_at, reverse=True)
    groups = {name: [each for each in newest if each.type == name] for name in DEFAULT_IMPORTANCE}
    return [(name, each) for name, each in groups.items() if each]
