"""Define the values that Hippocampe takes and returns.

All are immutable; times are aware datetimes in UTC; ids are UUID strings of version 7.
"""

import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date as Date
from datetime import datetime
from typing import Any, Literal, overload

from hippocampe.errors import InvalidInput

Action = Literal["inserted", "updated", "reinforced"]
Mode = Literal["hybrid", "semantic", "text"]
State = Literal["current", "superseded", "forgotten", "all"]
Order = Literal["newest", "oldest", "importance", "used"]
TalkOrder = Literal["newest", "oldest"]
MetadataValue = str | int | float | bool | None
Metadata = Mapping[str, MetadataValue]
JobState = Literal["waiting", "running", "done", "failed", "parked"]
"""State of a job run: `failed` waits for its next attempt; `parked` waits for `retry_job`."""


HostMessage = str | Mapping[str, Any]
"""A message of a host: text, or an object with a role and a content."""

Progress = Callable[[str, int, int], None]
"""Called with the current work, the number done and the total."""

Role = Literal["read", "write", "admin"]
"""Role of a key of the server: each role has the rights of the one before, and more."""

KEY_PREFIX = "hippo_"
"""Begins each key of the server: people and scanners of leaked secrets recognise it."""


class Unset:
    """The type of `UNSET`: an argument that the caller left out, where None is a value."""


UNSET = Unset()

DEFAULT_IMPORTANCE: Mapping[str, float] = {
    "identity": 1.0,
    "goal": 0.9,
    "decision": 0.8,
    "todo": 0.8,
    "preference": 0.7,
    "fact": 0.6,
    "event": 0.4,
    "observation": 0.3,
}
"""Memory types with their default importance."""

CATEGORIES: Mapping[str, frozenset[str]] = {
    "memory": frozenset(),
    "self": frozenset({"context", "capability", "limitation", "preference", "relation"}),
    "goal": frozenset({"capability_request", "understanding", "connection"}),
    "summary": frozenset(),
}
"""Collections of memories with the categories allowed in each."""

MEMORY_COLLECTIONS = tuple(CATEGORIES)
RECALL_COLLECTIONS = (*MEMORY_COLLECTIONS, "turn", "live", "note")
ASSOCIATIONS = ("updates", "contradicts", "related_to", "caused_by", "part_of", "alias_of")
JOBS = ("extract", "digest", "compact", "settle", "expire", "decay", "prune")

_JOINER, _VARIANT = "\u200d", "\ufe0f"
"""Join emoji into one, and ask for the coloured form of a symbol; elsewhere they hide a difference of two names."""

MAX_CONTENT_CHARACTERS = 100_000
MAX_MESSAGE_CHARACTERS = 1_000_000
MAX_LABEL_CHARACTERS = 200
MAX_TOOL_RESULTS = 100
"""Most tool results of one exchange."""
MAX_TOOL_CHARACTERS = 4_000_000
"""Most characters of all tool results of one exchange, which are stored and searched word for word."""
MAX_METADATA_KEYS = 32
MAX_METADATA_BYTES = 4_096


def normal_label(value: str) -> str:
    """Normalise a label for storage and comparison: NFC, without surrounding white space.

    Otherwise the same name typed on two keyboards, or with a trailing space, would be two spaces.
    """
    return unicodedata.normalize("NFC", value).strip()


def printable(text: str) -> str:
    """Drop the characters that cannot be printed; the joiners within an emoji can."""
    if text.isprintable():
        return text
    around = zip(f" {text}", text, f"{text[1:]} ", strict=False)
    return "".join(
        each
        for before, each, after in around
        if each.isprintable() or (each == _JOINER and _in_emoji(before) and _in_emoji(after))
    )


def last_results(results: Iterable[str]) -> list[str]:
    """As many of the last tool results of an exchange as it can have, each cut to its greatest length.

    An agent may call hundreds of tools for one answer.
    """
    kept, left = list[str](), MAX_TOOL_CHARACTERS
    for each in list(results)[: -MAX_TOOL_RESULTS - 1 : -1]:
        kept.append(each[: min(left, MAX_MESSAGE_CHARACTERS)])
        left -= len(kept[-1])
    return kept[::-1]


def _in_emoji(character: str) -> bool:
    return character == _VARIANT or unicodedata.category(character).startswith("S")


def check_label(name: str, value: str) -> str:
    """Check and normalise a label.

    Raises:
        InvalidInput: It is empty, too long or not printable.
    """
    label = normal_label(value)
    if not label or len(label) > MAX_LABEL_CHARACTERS or label != printable(label):
        raise InvalidInput(
            f"{name} {value[:40]!r} cannot be used: a {name} is 1 to {MAX_LABEL_CHARACTERS} printable "
            "characters, not only spaces."
        )
    return label


@dataclass(frozen=True, slots=True)
class Scope:
    """The scope of a call: the isolation boundary, the speaker and the channel.

    Labels are normalised: NFC, without surrounding white space.

    Args:
        space: The isolation boundary. Nothing crosses it.
        user: The speaker.
        channel: The channel of the conversation.

    Raises:
        InvalidInput: A label is empty, too long or not printable.
    """

    space: str = "default"
    user: str | None = None
    channel: str | None = None

    def __post_init__(self) -> None:
        for name in ("space", "user", "channel"):
            value = getattr(self, name)
            if value is None and name != "space":
                continue
            if not isinstance(value, str):
                raise InvalidInput(f"{name} must be text, not {type(value).__name__}.")
            object.__setattr__(self, name, check_label(name, value))


@dataclass(frozen=True, slots=True)
class Memory:
    """One durable statement with its metadata.

    `occurred_at` is when it happened, `created_at` when it was learnt. `superseded_by` is the id of
    the memory that replaced it, `superseded_at` the time it stopped being true. A `former` memory was
    superseded but states a fact that its successor lacks: recall still finds it, below
    the successor. `metadata` belongs to the caller: a small JSON object without nesting.
    """

    id: str
    space: str
    content: str
    collection: str = "memory"
    type: str = "fact"
    category: str | None = None
    key: str | None = None
    subjects: tuple[str, ...] = ()
    importance: float = 0.6
    source: str = "conversation"
    user: str | None = None
    channel: str | None = None
    created_at: datetime = field(kw_only=True)
    updated_at: datetime = field(kw_only=True)
    occurred_at: datetime | None = None
    last_accessed_at: datetime | None = None
    access_count: int = 0
    expires_at: datetime | None = None
    forgotten_at: datetime | None = None
    forgotten_reason: str | None = None
    superseded_by: str | None = None
    superseded_at: datetime | None = None
    former: bool = False
    evidence: tuple[str, ...] = ()
    metadata: Metadata = field(default_factory=dict[str, MetadataValue], hash=False)

    @property
    def current(self) -> bool:
        """True if the memory is neither forgotten nor superseded."""
        return self.forgotten_at is None and self.superseded_by is None

    def has_expired(self, now: datetime) -> bool:
        """Return whether the time to live is over; the memory may still be current, until `expire` hides it."""
        return self.expires_at is not None and self.expires_at <= now


@dataclass(frozen=True, slots=True)
class Page:
    """One page of a listing.

    Attributes:
        items: Its memories.
        next_cursor: Selects the next page; None on the last.
        total: The memories of all pages, if asked for.
        states: The same number for each state, whichever is listed, if asked for.
    """

    items: tuple[Memory, ...]
    next_cursor: str | None = None
    total: int | None = None
    states: Mapping[State, int] | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """Numbers of current memories and of messages of a space or a user."""

    memories: int = 0
    messages: int = 0


def most_first(counts: Mapping[str, Counts]) -> dict[str, Counts]:
    """Order the counts of spaces or users: most memories and messages first, then by name."""

    def place(item: tuple[str, Counts]) -> tuple[int, str]:
        return -(item[1].memories + item[1].messages), item[0]

    return dict(sorted(counts.items(), key=place))


@dataclass(frozen=True, slots=True)
class Remembered:
    """The result of `remember`.

    `replaced` has the ids of the superseded memories; `reason` names the rule that decided;
    `similarity` is the cosine (-1 to 1) with the nearest compared memory, if there was one.
    """

    memory: Memory
    action: Action
    replaced: tuple[str, ...] = ()
    similarity: float | None = None
    reason: str = "new"


@dataclass(frozen=True, slots=True)
class Signal:
    """One feature of a score.

    `rank` is among the candidates (1 is best, None if the source lacks it); `contribution` is its
    share of the log-odds of relevance.
    """

    name: str
    value: float
    rank: int | None
    contribution: float


@dataclass(frozen=True, slots=True)
class Recollection:
    """A search result. `score` is the probability, 0 to 1, that it is relevant."""

    id: str
    kind: str
    content: str
    score: float
    memory: Memory | None = None
    channel: str | None = None
    author: str | None = None
    at: datetime | None = None
    external_ids: tuple[str, ...] = ()
    why: tuple[Signal, ...] = ()


@dataclass(frozen=True, slots=True)
class Note:
    """A note of the user, as of the last refresh.

    `path` is relative to the vault, with slashes; `text` is Markdown without the frontmatter; `tags` come
    without `#`; `links` are the targets of its wikilinks; `digest` changes with title and text; `problem`
    describes an error in its frontmatter.
    """

    path: str
    title: str
    text: str
    tags: tuple[str, ...]
    links: tuple[str, ...]
    modified_at: datetime
    digest: str
    problem: str | None = None


@dataclass(frozen=True, slots=True)
class Message:
    """One utterance.

    `live` messages were overheard since the last digest. `working` messages form the history that the
    companion restores after a restart; compaction removes the oldest from it. `expression` is the face of the
    companion in its answer. `turn_id` is the id of its exchange; a live message has none.
    """

    id: str
    space: str
    content: str
    author: str | None
    role: str | None
    channel: str | None
    at: datetime
    external_id: str | None = None
    reply_to: str | None = None
    live: bool = False
    working: bool = False
    expression: str | None = None
    turn_id: str | None = None


@dataclass(frozen=True, slots=True)
class Conversation:
    """The talk of one channel of a space, in numbers.

    Attributes:
        channel: The channel; None for talk without one.
        messages: Its number of messages.
        first_at: The time of its first message.
        last_at: The time of its last message.
    """

    channel: str | None
    messages: int
    first_at: datetime
    last_at: datetime


@dataclass(frozen=True, slots=True)
class Exchange:
    """A message of a user with the reply to it, or one message of a room.

    Attributes:
        id: Its id, that of a recollection of the kind `turn`.
        space: Its space.
        channel: Its channel.
        author: Who began it.
        at: When it began.
        messages: Its messages with results of tools, oldest first.
        forgotten_at: When it was hidden from recall, if it was.
    """

    id: str
    space: str
    channel: str | None
    author: str | None
    at: datetime
    messages: tuple[Message, ...]
    forgotten_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Association:
    """A typed edge from one memory to another, with its reason."""

    source_id: str
    target_id: str
    kind: str
    reason: str | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class History:
    """A memory through time: `versions` oldest first, and the edges that touch them."""

    versions: tuple[Memory, ...]
    associations: tuple[Association, ...]


ChangeKind = Literal["learnt", "replaced", "forgotten"]


@dataclass(frozen=True, slots=True)
class Change:
    """A change of what a space knows.

    Attributes:
        kind: Whether the memory was `learnt`, `replaced` or `forgotten`.
        at: When.
        memory: The memory, as it is now.
        by: The memory that replaced it.
    """

    kind: ChangeKind
    at: datetime
    memory: Memory
    by: Memory | None = None


@dataclass(frozen=True, slots=True)
class ReceiptItem:
    """One item of a receipt, as it was before.

    Attributes:
        id: Its id.
        kind: Its collection, `turn`, `live`, `message` or `note`.
        content: Its text; of a piece of a note, after its path and heading.
        at: The time it was said or learnt; of a note, its modification time.
        matched: The reason why it is in the receipt. For `forget`: `meaning`, `words`, `key`, `unclear` if it may be
            about somebody else, and `message` (a memory that was made of a live message that matched, during the
            search); on request also `evidence` (a memory that is forgotten rests on it), `answer` (its reply repeats
            one) and `said` (it was just said). For `erase`: `id`, `user`, `space`; `tag`, `alias`,
            `key`, `source`, `metadata`, `path`, `heading`, `name` (in the text); `version` (of a memory that
            matched), `turn` (a message of a turn that matched), `message` (a turn or a summary with a message that
            matched). For `expire`: `expired`.
        memory: The memory, for `forget` and `expire`.
    """

    id: str
    kind: str
    content: str
    at: datetime
    matched: tuple[str, ...]
    memory: Memory | None = None


@dataclass(frozen=True, slots=True)
class Receipt:
    """The items that `forget`, `erase` or `expire` changed, or would change in a dry run.

    `counts` is by kind; `forget` counts memories with a key as `fact`. `settings` names the settings
    of the space that still mention the erased subject, which the user has to change. `users` names the users of the
    space with the name of the erased subject, whose own words stay until they are erased by `user`. `remains` says where bytes
    of what was erased are left, nowhere in a folder. In servers: points in the `index`, which was away, until it is back
    and they are removed by themselves; `pages` of PostgreSQL, until other rows overwrite
    them or `hippocampe scrub`; vectors in `segments` of Qdrant, until it rewrites them or `hippocampe scrub`; and the
    write-ahead `log` of PostgreSQL with its archives, the backups and the snapshots of both, as long as they are kept.
    Exported files and copies of backups elsewhere are not known here: they keep it until they are deleted.
    """

    counts: Mapping[str, int]
    ids: tuple[str, ...]
    dry_run: bool
    items: tuple[ReceiptItem, ...] = ()
    settings: tuple[str, ...] = ()
    remains: tuple[str, ...] = ()
    users: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Forgetting:
    """A request to forget in a message of a user: "forget that I play the tuba".

    Attributes:
        topic: What to forget, as said; empty for what was said just before.
        items: What it hides; empty too if it was not found in time.
        waits: Whether the user has to confirm first, since much would go or the request may mean something
            else, or `whole`. Otherwise `after_turn` hides the items.
        whole: Whether it means all that is known of the user, which only `erase` removes.
    """

    topic: str
    items: tuple[ReceiptItem, ...]
    waits: bool
    whole: bool = False


@dataclass(frozen=True, slots=True)
class Review:
    """Two memories whose relation no rule could decide, for a person to review.

    Attributes:
        memory: One of them.
        other: The other one.
        reason: Why no rule decided.
        likelihood: The probability that they belong together, 0 to 1; None if it was not weighed.
    """

    memory: Memory
    other: Memory
    reason: str
    likelihood: float | None = None


@dataclass(frozen=True, slots=True)
class Vitals:
    """Numbers of a whole data folder, for operators.

    Attributes:
        pending: Changes that are not durable in the index yet.
        indexed: Points of the index, by kind; empty while it is down.
        jobs: Runs of background jobs, by state.
        bytes: The size of its files: `database`, `index`, `backups`; empty with PostgreSQL, whose server has them.
        outages: The number of outages of each optional part since the data was opened.
        disk_free: Free bytes of the disk; None if unknown. Below `disk_reserve` new writes are refused.
        disk_reserve: Bytes that new writes leave free.
    """

    pending: int
    indexed: Mapping[str, int]
    jobs: Mapping[str, int]
    bytes: Mapping[str, int]
    outages: Mapping[str, int]
    disk_free: int | None = None
    disk_reserve: int = 0


@dataclass(frozen=True, slots=True)
class Verification:
    """The result of `verify`: ids that are in the store or the index only, or differ, by kind.

    `damaged` has the ids of stored vectors that do not match their checksum, and of words as `word`;
    `damaged_files` names files of the index. `pending` counts changes that are not durable in the index
    yet, which is not an error. `present` has the texts that should be absent but were found, each with
    the places: paths in the data folder, and settings as `setting companion_names of space default`.
    """

    ok: bool
    checked: Mapping[str, int]
    missing_in_index: Mapping[str, tuple[str, ...]]
    unknown_to_store: Mapping[str, tuple[str, ...]]
    pending: int
    database: str = "ok"
    present: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    differing_in_index: Mapping[str, tuple[str, ...]] = field(
        default_factory=dict[str, tuple[str, ...]]
    )
    damaged: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    damaged_files: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Reindexed:
    """The result of `reindex`.

    `embedder` is the model of the vectors. `without_graph` names the kinds whose graph is missing, because its
    process failed. They are scanned until background maintenance builds
    the graph. `mended` counts damaged vectors that were repaired from their texts, `damaged` those that were
    not, because
    the embedder is down.
    """

    embedder: str
    without_graph: tuple[str, ...] = ()
    mended: int = 0
    damaged: int = 0


@dataclass(frozen=True, slots=True)
class Stats:
    """Counts of one space, and the state of the whole index.

    `memories` counts current memories by collection, `categories` those of `self` and `goal` by
    `collection/category`, `jobs` runs of background jobs by state, `pending` changes that are not durable in the
    index yet; `indexed` counts points by kind over
    all spaces, none while the index is down. Since the data was opened:
    `outages` counts the outages of each optional part, `retrievals_dropped` the injections that were not
    logged, because too many waited or because another process erased in their space. With `disk_full`, the disk
    has too little free space, so that new writes are refused.
    """

    memories: Mapping[str, int]
    categories: Mapping[str, int]
    facts: int
    superseded: int
    forgotten: int
    messages: int
    turns: int
    live: int
    reviews: int
    last_written: datetime | None
    indexed: Mapping[str, int]
    pending: int
    embedder: str
    jobs: Mapping[str, int] = field(default_factory=dict[str, int])
    outages: Mapping[str, int] = field(default_factory=dict[str, int])
    retrievals_dropped: int = 0
    disk_full: bool = False


@dataclass(frozen=True, slots=True)
class ModelUsage:
    """One call of a language model.

    Attributes:
        id: Its id.
        space: The space that pays.
        model: The model that answered, as the provider names it.
        purpose: `chat`, `deep_recall`, `extract`, `digest`, `compact`, `settle`, or the host's own word.
        input_tokens: Tokens of the request.
        output_tokens: Tokens of the answer.
        injected_tokens: The part of the input tokens that injections added.
        price: In US dollars; None if the price of the model is not known.
        created_at: When it was made.
    """

    id: str
    space: str
    model: str
    purpose: str
    input_tokens: int
    output_tokens: int
    injected_tokens: int
    price: float | None
    created_at: datetime


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of one model for one purpose on one day.

    Attributes:
        date: The day, in the timezone of the space.
        purpose: As in `ModelUsage`.
        model: As in `ModelUsage`.
        calls: The number of calls.
        input_tokens: Tokens of the requests.
        output_tokens: Tokens of the answers.
        injected_tokens: The part of the input tokens that injections added.
        price: In US dollars, of the calls with a known price; None without any.
    """

    date: Date
    purpose: str
    model: str
    calls: int
    input_tokens: int
    output_tokens: int
    injected_tokens: int
    price: float | None


@dataclass(frozen=True, slots=True)
class Day:
    """The activity of a space on one day.

    Attributes:
        date: The day, in the timezone of the space.
        memories: Memories learnt, including those that became history since.
        messages: Number of messages.
        injections: Turns with a non-empty injection.
        tokens: Tokens of the injections.
        took_ms_p50: Median milliseconds of the turns that were served; None without any.
        took_ms_p95: 95th percentile of the same.
        categories: Memories learnt of `self` and `goal`, by `collection/category`.
    """

    date: Date
    memories: int = 0
    messages: int = 0
    injections: int = 0
    tokens: int = 0
    took_ms_p50: float | None = None
    took_ms_p95: float | None = None
    categories: Mapping[str, int] = field(default_factory=dict[str, int], hash=False)


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A memory or a subject in a graph.

    Attributes:
        id: Of a memory, its id; of a subject, `subject:` and its folded name.
        label: The beginning of the statement, or the name.
        type: That of the memory; `subject` for a subject.
        collection: That of the memory; None for a subject.
        subjects: The folded subjects of the memory.
        created_at: When the memory was learnt; None for a subject.
    """

    id: str
    label: str
    type: str
    collection: str | None = None
    subjects: tuple[str, ...] = ()
    created_at: datetime | None = None


@dataclass(frozen=True, slots=True)
class GraphEdge:
    """An edge between two nodes: an association, or `about` from a memory to a subject."""

    source: str
    target: str
    kind: str


@dataclass(frozen=True, slots=True)
class Graph:
    """Memories and subjects of a space, and the edges between them."""

    nodes: tuple[GraphNode, ...]
    edges: tuple[GraphEdge, ...]


@dataclass(frozen=True, slots=True)
class ApiKey:
    """A key of the server, without its text.

    Attributes:
        id: Its id.
        space: The only space it opens.
        role: `read`; `write`, which also stores and forgets; `admin`, which also changes settings and
            runs digests.
        label: Its purpose.
        created_at: When it was made.
        revoked_at: When it was revoked, if it was.
    """

    id: str
    space: str
    role: Role
    label: str | None
    created_at: datetime
    revoked_at: datetime | None = None


AuditAction = Literal[
    "delete",
    "delete_turn",
    "restore",
    "forget",
    "expire",
    "erase",
    "settings",
    "create_key",
    "revoke_key",
]


@dataclass(frozen=True, slots=True)
class AuditEntry:
    """An entry of the audit log.

    Attributes:
        id: Its id.
        space: The space of the change.
        action: The name of the action.
        actor: The actor: `library`, `command line`, `local` (a program without a key), or `key` and its id.
        detail: Ids, names of settings and counts; never content.
        at: The time.
    """

    id: str
    space: str
    action: AuditAction
    actor: str
    detail: Mapping[str, Any]
    at: datetime


@dataclass(frozen=True, slots=True)
class NewKey:
    """A key that was just made; `secret` is its text, which is not stored and never shown again."""

    key: ApiKey
    secret: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class JobRun:
    """One run of a background job, in the ledger.

    Attributes:
        id: Its id.
        job: The job: `extract`, `digest`, `compact`, `settle`, `expire`, `decay`, `prune`.
        space: Its space.
        state: See `JobState`.
        payload: Its input: ids, never content.
        attempts: The number of attempts; those without a reachable language model do not count.
        due_at: When it may start.
        started_at: When it last started.
        ended_at: When it was done or parked.
        outcome: Its result: counts, never content.
        error: The error of the last attempt.
    """

    id: str
    job: str
    space: str
    state: JobState
    payload: Mapping[str, str] = field(hash=False)
    attempts: int
    due_at: datetime
    started_at: datetime | None = None
    ended_at: datetime | None = None
    outcome: str | None = None
    error: str | None = None


@dataclass(frozen=True, slots=True)
class Distilled:
    """The memories that a digest or an extraction made of talk.

    Attributes:
        messages: Number of messages read.
        remembered: The stored memories, in order.
        turns: Turns that live messages became, because no language model is configured.
    """

    messages: int = 0
    remembered: tuple[Remembered, ...] = ()
    turns: int = 0


@dataclass(frozen=True, slots=True)
class Compacted:
    """The summaries that replaced the oldest messages in the working history of a channel."""

    messages: int = 0
    summaries: tuple[Memory, ...] = ()


@dataclass(frozen=True, slots=True)
class Imported:
    """The summary of an import; `problems` has line numbers and messages; the number is 0 for a whole file."""

    read: int
    added: int
    known: int
    turns: int
    problems: tuple[tuple[int, str], ...]


Route = Literal["identity", "important", "recent", "search", "context"]
"""The route of a candidate of a turn: selected as an identity, by importance, by age, by search, or as a note
named in the settings."""

Outcome = Literal[
    "injected", "below_threshold", "already_known", "too_similar", "too_many", "no_room"
]
"""The outcome of a candidate: injected, or the reason why not."""


Part = Literal["search", "live", "always_on", "named"]
"""A part of an injection, each with its own limit: what search found for the message, live talk, memories that need
no search and have no relevance, notes that the settings name."""


def part_of(kind: str, path: Route) -> Part:
    """The part of an injection to which a recollection of a kind, found by a path, belongs."""
    if kind == "live":
        return "live"
    if path == "context":
        return "named"
    return "search" if path == "search" else "always_on"


@dataclass(frozen=True, slots=True)
class Considered:
    """A candidate of a turn, with its outcome."""

    recollection: Recollection
    path: Route
    outcome: Outcome

    @property
    def part(self) -> Part:
        """The part of an injection to which it belongs."""
        return part_of(self.recollection.kind, self.path)


class LazyConsidered(Sequence[Considered]):
    """Candidates that are made at the first access, which few turns need.

    Args:
        make: Makes them.
        length: Their number, if it is known before.
    """

    def __init__(self, make: Callable[[], Sequence[Considered]], length: int | None = None) -> None:
        # Freed once used: it may hold measured signals, which are large.
        self._make: Callable[[], Sequence[Considered]] | None = make
        self._length = length
        self._made: Sequence[Considered] = ()

    def _all(self) -> Sequence[Considered]:
        if (make := self._make) is not None:
            self._made = made = make()
            self._length, self._make = len(made), None
        return self._made

    @overload
    def __getitem__(self, index: int) -> Considered: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[Considered]: ...
    def __getitem__(self, index: int | slice) -> Considered | Sequence[Considered]:
        return self._all()[index]

    def __len__(self) -> int:
        return len(self._all()) if self._length is None else self._length


@dataclass(frozen=True, slots=True)
class Trace:
    """The trace of an injection's selection.

    Attributes:
        considered: All candidates, most useful first; computed lazily.
        stages: Milliseconds by stage.
        missing: Sources that were late or down.
        skipped: The reason why no search was made, if so.
    """

    considered: Sequence[Considered] = ()
    stages: Mapping[str, float] = field(default_factory=dict[str, float])
    missing: tuple[str, ...] = ()
    skipped: str | None = None


@dataclass(frozen=True, slots=True)
class Injection:
    """The text to put in front of the model for one turn.

    `text` is empty if nothing is relevant; `items` are the quoted results, in order; `tokens` is its
    length; `id` identifies it in the retrieval log. `forgetting` is the request to forget that the message
    has, or confirms: then the text says what memory does about it, and quotes nothing else.
    """

    id: str
    text: str
    items: tuple[Recollection, ...]
    tokens: int
    took_ms: float
    trace: Trace
    forgetting: Forgetting | None = None


@dataclass(frozen=True, slots=True)
class Retrieved:
    """A candidate of a logged injection, without its content.

    `signals` has the value of each measured signal, by name.
    """

    id: str
    kind: str
    score: float | None
    path: Route
    outcome: Outcome
    signals: Mapping[str, float]

    @property
    def part(self) -> Part:
        """The part of an injection to which it belongs."""
        return part_of(self.kind, self.path)


@dataclass(frozen=True, slots=True)
class Retrieval:
    """A logged injection. Times in milliseconds."""

    id: str
    space: str
    user: str | None
    channel: str | None
    message_preview: str
    memories_injected: int
    notes_injected: int
    tokens_added: int
    took_ms: float
    stages: Mapping[str, float]
    missing: tuple[str, ...]
    skipped: str | None
    created_at: datetime
    items: tuple[Retrieved, ...] = ()


@dataclass(frozen=True, slots=True)
class Trial:
    """A logged turn, served again under the settings of its space and under changed ones.

    Attributes:
        retrieval: Its entry in the log, without items.
        before: Its injection under the settings of the space.
        after: Its injection under the changed ones.
    """

    retrieval: Retrieval
    before: Injection
    after: Injection


@dataclass(frozen=True, slots=True)
class ExchangeHistory:
    """An exchange, and what became of it.

    Attributes:
        exchange: The exchange.
        learnt: The memories with one of its messages as evidence, replaced and forgotten ones too, newest first.
        given: The latest injections with it, newest first.
        previous_id: The exchange before it in its channel.
        next_id: The exchange after it in its channel.
    """

    exchange: Exchange
    learnt: tuple[Memory, ...]
    given: tuple[Retrieval, ...]
    previous_id: str | None
    next_id: str | None


@dataclass(frozen=True, slots=True)
class Settings:
    """Settings of a space, changed at run time. `hippocampe.engine.settings` checks the values.

    Attributes:
        auto_retrieve_enabled: Whether turns get an injection.
        auto_retrieve_max_results: Maximum number of search results per turn; twice as many for a message that
            asks for several things.
        auto_retrieve_min_score: Minimum relevance of a search result; live messages need 0.1. Beside such a result, a
            message that asks for several things lets through a quarter of it.
        always_on_limit: Maximum number of items per turn that need no search and have no relevance: identity,
            important and recent memories, a third each, or the answer to a question about somebody or the talk;
            0: none.
        recent_hours: Memories newer than this are candidates of every turn; 0: none.
        channel_scope: Whether a turn only gets results from its own channel.
        shared_memories: Whether the important and recent memories that other users told, and the talk of
            other channels, are candidates of every turn too. Search finds them in any case.
        semantic_threshold: The cosine above which two texts count as duplicates.
        max_semantic_buffer: Texts already injected into a channel that are checked for duplicates.
        max_injection_count: Maximum number of items per turn, over all routes.
        important_threshold: Minimum importance of memories that are candidates of every turn.
        context_window_depth: Turns after which a user may be given an item again in a channel.
        injection_token_budget: Maximum tokens of an injection.
        hook_timeout_ms: Milliseconds after which late sources are dropped from a turn.
        coalesce_ms: Milliseconds a turn waits for more messages of a burst; 0: none.
        live_limit: Maximum number of live messages per turn.
        live_rooms: Observed channels.
        companion_names: Names of the companion.
        digest_hours: Hours of the day, in the timezone, at which live talk is digested.
        timezone: For parsing and rendering times. Default: that of the `Config`.
        language: Code of the language of injections, prompts and answers. Default: that of the `Config`.
        obsidian_context_enabled: Whether notes are used.
        obsidian_context_notes: Paths of notes that are always used.
        obsidian_context_tag: Tag of notes that are always used.
        recent_messages: Messages kept verbatim; beyond twice as many, the oldest are summarised.
        keep_injections: Whether the proxy and the integrations repeat earlier injections of a conversation where they
            were, so that each request begins with the request before it; else only the last message has one, and
            what earlier ones had may be injected again.
        session_timeout_minutes: Minutes without a message that end a session; items may then be
            injected into the channel again.
        retrieval_days: Retention of the retrieval log in days.
        companion_mode: How the companion uses memory: `agentic` (tools), `systematic` (injection, one
            turn, memories in the answer) or `hybrid` (injection and tools).
        daily_budget: US dollars for language models per day, in the timezone; 0: no limit.
            Background calls stop at 80 %, conversations at 100 %.
        category_ttl: Default time to live per category, such as `{"self/preference": "90d"}`.
        decay_half_life_days: Days without access after which importance has halved; 0: no decay.
        prune_below: Importance below which memories without access are forgotten; 0: none.
    """

    auto_retrieve_enabled: bool = True
    auto_retrieve_max_results: int = 4
    auto_retrieve_min_score: float = 0.2
    always_on_limit: int = 18
    recent_hours: int = 6
    channel_scope: bool = False
    shared_memories: bool = False
    semantic_threshold: float = 0.85
    max_semantic_buffer: int = 100
    max_injection_count: int = 20
    important_threshold: float = 0.8
    context_window_depth: int = 20
    keep_injections: bool = True
    injection_token_budget: int = 800
    hook_timeout_ms: int = 100
    coalesce_ms: int = 0
    live_limit: int = 10
    live_rooms: tuple[str, ...] = ("lobby",)
    companion_names: tuple[str, ...] = ("eko",)
    digest_hours: tuple[int, ...] = (2, 6, 10, 14, 18, 22)
    timezone: str = "Europe/Paris"
    language: str = "fr"
    obsidian_context_enabled: bool = True
    obsidian_context_notes: tuple[str, ...] = ()
    obsidian_context_tag: str = "hippocampe"
    recent_messages: int = 20
    session_timeout_minutes: int = 15
    retrieval_days: int = 30
    companion_mode: Literal["agentic", "systematic", "hybrid"] = "hybrid"
    daily_budget: float = 0.0
    category_ttl: Mapping[str, str] = field(default_factory=dict[str, str], hash=False)
    decay_half_life_days: int = 0
    prune_below: float = 0.0
