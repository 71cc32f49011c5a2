"""Read the memories that other programs export as JSON: mem0, Zep and Graphiti, ChatGPT, Claude, the graph of MCP."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, tzinfo
from functools import partial

from hippocampe.errors import InvalidInput
from hippocampe.ingest.formats.document import records
from hippocampe.ingest.formats.format import Format, has_key
from hippocampe.ingest.formats.jsonl import any_object, read_objects
from hippocampe.ingest.formats.passages import about, passages
from hippocampe.ingest.formats.record import (
    ExternalIds,
    Problem,
    Record,
    Statement,
    as_list,
    as_object,
    moment_or_none,
    parse_content,
    parse_identifier,
    parse_label,
    parse_metadata,
    parse_moment,
    parse_subjects,
    parsed,
    with_metadata,
)
from hippocampe.ingest.formats.source import Source, read_lines

_Object = dict[str, object]
_LISTS = ("results", "memories", "edges", "facts", "items", "nodes")
"""Keys under which a program answers with its list of memories."""
_OFF = ("archived", "deleted", "paused")
"""States of memories that OpenMemory no longer recalls; its backup has them all."""


@dataclass(frozen=True, slots=True)
class _Layout:
    """The keys of one memory in the answers of a program; of several keys, the first that has a value counts.

    `references` have the ids of nodes, whose names are subjects. All memories of a `personal` one are about their user.
    """

    name: str
    text: str
    id: Sequence[str]
    learnt: Sequence[str]
    changed: Sequence[str] = ()
    occurred: Sequence[str] = ()
    ends: Sequence[str] = ()
    user: str = "user_id"
    subjects: Sequence[str] = ()
    references: Sequence[str] = ()
    pairs: Sequence[str] = ()
    enabled: str | None = None
    personal: bool = False


def _read_list(layout: _Layout, source: Source, zone: tzinfo) -> Iterator[Record | Problem]:
    external_ids = ExternalIds(layout.name)
    if _is_lines(layout, source):
        yield from read_objects(
            source, lambda raw: _statements(layout, raw, {}, external_ids, zone)
        )
        return
    # The whole document is read once before the first memory, so that a damaged one yields none.
    beside: _Object = {}
    names = {
        str(_first(raw, layout.id)): str(raw.get("name"))
        for raw in records(source, _LISTS, beside)
        if _is_node(layout, raw)
    }
    user = as_object(beside.get("user"))
    if isinstance(user.get(layout.user), str):
        names[str(_first(user, layout.id))] = str(user[layout.user])
    if beside.get("next"):
        yield Problem(0, "the file is one page of several: import the next ones too")
    yield from parsed(
        enumerate(records(source, _LISTS), start=1),
        lambda raw: _statements(layout, raw, names, external_ids, zone),
    )


def _is_lines(layout: _Layout, source: Source) -> bool:
    """Return whether each line is a memory, as `jq -c` writes a list."""
    first = next((line.text for line in read_lines(source) if line.text.strip()), "")
    return any_object(lambda raw: layout.text in raw)(first)


def _statements(
    layout: _Layout, raw: _Object, names: dict[str, str], ids: ExternalIds, zone: tzinfo
) -> Iterator[Record | Problem]:
    if not _is_off(layout, raw) and not _is_node(layout, raw):
        pairs = as_object(raw.get("metadata")) | {key: raw.get(key) for key in layout.pairs}
        yield from with_metadata(_statement(layout, raw, names, ids, zone), pairs)


def _is_off(layout: _Layout, raw: _Object) -> bool:
    """Return whether its program no longer uses a memory."""
    enabled = layout.enabled is None or raw.get(layout.enabled) is not False
    return not enabled or raw.get("deleted_at") is not None or raw.get("state") in _OFF


def _is_node(layout: _Layout, raw: _Object) -> bool:
    """Return whether an object is a node that memories refer to."""
    fields = (layout.text, *layout.references)
    return (
        bool(layout.references)
        and _first(raw, layout.id) is not None
        and raw.keys().isdisjoint(fields)
    )


def _statement(
    layout: _Layout, raw: _Object, names: dict[str, str], ids: ExternalIds, zone: tzinfo
) -> Statement:
    def moment(keys: Sequence[str]) -> datetime | None:
        found = (parse_moment(raw.get(key), zone) for key in keys)
        return next((each for each in found if each is not None), None)

    content = parse_content(raw.get(layout.text))
    subjects = [raw.get(key) for key in layout.subjects]
    subjects += [names.get(str(raw.get(key))) for key in layout.references]
    user = raw.get(layout.user)
    # Many programs number their users.
    user = str(user) if isinstance(user, int) and not isinstance(user, bool) else user
    user = names.get(user, user) if isinstance(user, str) else user
    identifier = parse_identifier(_first(raw, layout.id))
    return Statement(
        content,
        user=parse_label(user, "user") if isinstance(user, str) and user.strip() else None,
        subjects=parse_subjects(subjects),
        personal=layout.personal,
        at=moment(layout.learnt),
        changed=moment(layout.changed),
        occurred_at=moment(layout.occurred),
        ends=moment(layout.ends),
        external_id=f"{layout.name}:{identifier}" if identifier else ids.derive(content),
    )


def _first(raw: _Object, keys: Sequence[str]) -> object:
    """The value of the first key that has one."""
    return next((raw[key] for key in keys if raw.get(key) is not None), None)


def _read_account(source: Source, zone: tzinfo) -> Iterator[Record | Problem]:
    """Read the memories of Claude: one text of an account, and one for each of its projects."""
    for _ in records(source):
        pass  # A damaged document yields no record.
    external_ids = ExternalIds("claude-memories")
    for number, raw in enumerate(records(source), start=1):
        projects = as_object(raw.get("project_memories"))
        for project, text in {"": raw.get("conversations_memory"), **projects}.items():
            if not isinstance(text, str):
                if text is not None:
                    yield Problem(number, "a memory is not text")
                continue
            for passage in passages(text):
                try:
                    content = parse_content(passage.whole)
                except InvalidInput as exc:
                    yield Problem(number, str(exc))
                    continue
                heading = " › ".join(passage.headings)
                yield Statement(
                    content,
                    personal=not project,
                    at=moment_or_none(passage.date, zone),
                    metadata=parse_metadata({"heading": heading, "project": project}),
                    external_id=external_ids.derive(project, content),
                    line=number,
                )


def _read_graph(source: Source, zone: tzinfo) -> Iterator[Record | Problem]:
    """Read the knowledge graph of the MCP memory server: one entity or relation per line."""
    external_ids = ExternalIds("mcp-memory")

    def statements(raw: _Object) -> list[Statement]:
        found = list(_observed(raw) if raw.get("type") == "entity" else _related(raw))
        return [
            Statement(
                content,
                subjects=subjects,
                metadata=parse_metadata(pairs),
                external_id=external_ids.derive(*subjects, content),
            )
            for content, subjects, pairs in found
        ]

    return read_objects(source, statements)


_Found = tuple[str, tuple[str, ...], _Object]


def _observed(raw: _Object) -> Iterator[_Found]:
    name = parse_label(raw.get("name"), "name")
    pairs: _Object = {"entity_type": raw.get("entityType")}
    for observation in as_list(raw.get("observations")):
        yield about(name, parse_content(observation)), (name,), pairs


def _related(raw: _Object) -> Iterator[_Found]:
    if raw.get("type") != "relation":
        raise InvalidInput("the line is neither an entity nor a relation")
    ends = parse_label(raw.get("from"), "from"), parse_label(raw.get("to"), "to")
    kind = parse_label(raw.get("relationType"), "relationType")
    yield f"{ends[0]} {kind.replace('_', ' ')} {ends[1]}", ends, {"relation": kind}


def _is_graph(raw: _Object) -> bool:
    entity = raw.get("type") == "entity" and isinstance(raw.get("observations"), list)
    return entity or (raw.get("type") == "relation" and "relationType" in raw)


def _list_format(
    layout: _Layout, title: str, recognises: Callable[[str], bool], files: str | None = None
) -> Format:
    return Format(layout.name, title, partial(_read_list, layout), recognises, files)


MEM0 = _list_format(
    _Layout(
        "mem0",
        text="memory",
        id=("id",),
        learnt=("created_at", "updated_at"),
        changed=("updated_at",),
        ends=("expiration_date",),
        subjects=("user_id",),
        pairs=("categories", "agent_id", "app_id", "run_id", "actor_id"),
    ),
    "mem0",
    has_key(r'"memory"\s*:\s*"'),
)
"""The answers of `get_all` and of the platform's API."""
ZEP = _list_format(
    _Layout(
        "zep",
        text="fact",
        id=("uuid", "uuid_"),
        learnt=("created_at", "valid_at"),
        occurred=("valid_at",),
        ends=("invalid_at", "expired_at"),
        subjects=("source_node_name", "target_node_name"),
        references=("source_node_uuid", "target_node_uuid"),
        pairs=("name", "group_id"),
    ),
    "Zep",
    has_key(r'"fact"\s*:\s*"'),
)
"""The edges of Zep and of Graphiti, with or without their nodes. A fact that became invalid ends then."""
CHATGPT_MEMORIES = _list_format(
    _Layout(
        "chatgpt-memories",
        text="content",
        id=("id",),
        learnt=("created_at", "created_timestamp", "create_time", "updated_at"),
        changed=("updated_at",),
        enabled="enabled",
        personal=True,
    ),
    "ChatGPT",
    # An object with a role or messages is talk of a program that is not known.
    lambda head: (
        has_key(r'"content"\s*:\s*"')(head) and not has_key(r'"(?:role|messages)"\s*:')(head)
    ),
    files=r"memor(?:y|ies)\.json",
)
"""The saved memories of an export; those that are turned off are left out."""
CLAUDE_MEMORIES = Format(
    "claude-memories",
    "Claude",
    _read_account,
    has_key(r'"(?:conversations_memory|project_memories)"\s*:'),
    files=r"memories(?:-\d+)?\.json",
)
MCP_MEMORY = Format(
    "mcp-memory", "MCP memory server", _read_graph, recognises=any_object(_is_graph)
)
"""The file of `@modelcontextprotocol/server-memory`."""
