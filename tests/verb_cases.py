"""A call of every verb with every argument, on one prepared folder."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from conftest import FakeClock
from extraction.ledgers import context_of, queue
from hippocampe import Config, Hippocampe
from hippocampe.store import job_runs
from hippocampe.verbs import VERBS
from sparse import copy_folder
from verb_arguments import ME, SINCE, UNTIL, arguments_of, ignore_progress

PREPARED = datetime(2026, 1, 17, 12, 50, tzinfo=UTC)
"""A time after the folder was prepared, and before the calls."""
EMBEDDER = "hashed:64"
ID = re.compile(rb"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{32}")
CRM = {"source": "crm"}
"""Metadata that the memories have which the cases filter."""

SETTINGS: dict[str, Any] = {
    "auto_retrieve_enabled": False,
    "auto_retrieve_max_results": 3,
    "auto_retrieve_min_score": 0.4,
    "always_on_limit": 6,
    "recent_hours": 12,
    "channel_scope": True,
    "shared_memories": True,
    "semantic_threshold": 0.9,
    "max_semantic_buffer": 50,
    "max_injection_count": 10,
    "important_threshold": 0.7,
    "context_window_depth": 5,
    "keep_injections": False,
    "injection_token_budget": 400,
    "hook_timeout_ms": 200,
    "coalesce_ms": 5,
    "live_limit": 5,
    "live_rooms": ("lobby", "garden"),
    "companion_names": ("ada",),
    "digest_hours": (3, 15),
    "timezone": "Asia/Tokyo",
    "language": "en",
    "obsidian_context_enabled": False,
    "obsidian_context_notes": ("Semis.md",),
    "obsidian_context_tag": "mémoire",
    "recent_messages": 7,
    "session_timeout_minutes": 30,
    "retrieval_days": 60,
    "companion_mode": "agentic",
    "daily_budget": 2.5,
    "category_ttl": {"self/preference": "90d"},
    "decay_half_life_days": 100,
    "prune_below": 0.1,
}


@dataclass(frozen=True, slots=True)
class World:
    """A prepared folder, opened.

    Attributes:
        root: The folder of everything below.
        hippo: The open memory.
        ids: Ids of what is in it, by the names that `prepare` gives them.
        known: All ids that were in it when it was prepared.
    """

    root: Path
    hippo: Hippocampe
    ids: Mapping[str, str]
    known: frozenset[str]

    def file(self, name: str) -> Path:
        return self.root / "files" / name


def config_of(root: Path) -> Config:
    return Config(
        root / "data",
        embedder=EMBEDDER,
        background=False,
        notes_folder=root / "vault",
        notes_space=ME.space,
    )


def prepare(root: Path) -> dict[str, str]:
    """Fill a folder with something for each verb; the ids by name."""
    (root / "vault").mkdir(parents=True)
    (root / "vault" / "Semis.md").write_text("# Semis\n\nOn sème les tomates en mars.\n")
    (root / "files").mkdir()
    talk = '{"author": "nina", "content": "On mange à midi", "at": "2026-01-10T12:00:00"}\n'
    (root / "files" / "talk.txt").write_text(talk)
    clock = FakeClock()
    with Hippocampe.open(config_of(root), clock=clock) as hippo:
        ids = furnish(hippo, clock)
        hippo.export_to(root / "files" / "export.jsonl", scope=ME)
    return ids


def furnish(hippo: Any, clock: FakeClock, space: str = ME.space) -> dict[str, str]:
    """Store something for each verb; the ids by name.

    Args:
        hippo: A memory; it may store another text than it is given, and in another space than `ME.space`.
        clock: Its clock.
        space: The space.
    """
    ids = dict[str, str]()

    def remember(name: str, content: str, **more: Any) -> None:
        ids[name] = hippo.remember(content, scope=ME, **more).memory.id

    hippo.update_settings(scope=ME, recent_messages=2)
    remember("passing", "Le four est en panne", ttl="1h")
    clock.advance(hours=2)
    remember("boat", "Owen a un voilier rouge", subjects=["owen"], metadata=CRM)
    port = "Le port de Sète a un phare"
    remember("port", port, subjects=["owen"], metadata=CRM, occurred_at=SINCE)
    remember("lyon", "Nina habite à Lyon")
    remember("paris", "Nina cherche un appartement à Paris")
    remember("goal", "je veux lire les images", collection="goal", category="understanding")
    remember("wish", "je veux chanter", collection="goal", category="understanding")
    remember("self", "je parle français", collection="self", category="capability")
    remember("gone", "Camille élève des abeilles")
    hippo.delete(ids["gone"], scope=ME, reason="test")
    remember("fact", "le thé vert", key="boisson")
    hippo.associate(ids["boat"], ids["port"], "related_to", scope=ME)
    remember("old", "Camille adore son vieux vélo rouge")
    remember("new", "Camille répare son vieux vélo rouge")
    for number in range(4):
        said = f"Le rendez-vous numéro {number} est au port"
        ids["turn"] = hippo.after_turn(said, f"Noté : {number}", scope=ME)
    ids["edited"] = hippo.after_turn("Je pars lundi", "Bonne route !", scope=ME)
    ids["message"] = hippo.messages(scope=ME)[0].id
    ids["hidden"] = hippo.after_turn("J'ai vu une baleine", "Où cela ?", scope=ME)
    hippo.forget("baleine", scope=ME)
    hippo.observe("on part à 18 h", scope=ME, external_id="lobby-1")
    hippo.record_usage(scope=ME, model="m", purpose="chat", input_tokens=3, output_tokens=1)
    ids["injection"] = hippo.before_turn("le voilier rouge", scope=ME).id
    ids["later"] = hippo.before_turn("le phare du port", scope=ME).id
    ids["run"] = queue(hippo, "digest", space=space)
    _park(hippo, ids["run"])
    ids["secret"] = (made := hippo.create_key(scope=ME, role="read")).secret
    ids["key"] = made.key.id
    return ids


def _park(hippo: Hippocampe, id: str) -> None:
    context = context_of(hippo)
    with context.corpus.store.write() as connection:
        job_runs.change(
            connection, id, state="parked", error="no reason", ended_at=context.corpus.store.now()
        )


def open_copy(template: Path, ids: Mapping[str, str], root: Path) -> World:
    """A copy of a prepared folder, opened a while later."""
    copy_folder(template, root)
    clock = FakeClock()
    clock.advance(hours=3)
    database = (root / "data" / "hippocampe.db").read_bytes()
    known = frozenset(each.decode() for each in ID.findall(database))
    return World(root, Hippocampe.open(config_of(root), clock=clock), ids, known)


Arguments = Callable[[World], dict[str, Any]]


def _next_page(of: str, **arguments: Any) -> Arguments:
    """Arguments of a listing, with the cursor of the page before."""

    def made(world: World) -> dict[str, Any]:
        before = getattr(world.hippo, of)(**arguments)
        cursor = before[-1].id if isinstance(before, list) else before.next_cursor
        assert cursor
        return arguments | {"cursor": cursor}

    return made


def _always(**arguments: Any) -> Arguments:
    return lambda world: arguments


def _on(argument: str, id: str, **more: Any) -> Arguments:
    """Arguments of a verb on one item."""
    return lambda world: {argument: world.ids[id], "scope": ME, **more}


FILTERS: dict[str, Any] = {
    "types": ["fact"],
    "subjects": ["owen"],
    "since": SINCE,
    "until": UNTIL,
    "user": "dev",
    "channel": "lobby",
}
_OWN: dict[str, tuple[Arguments, ...]] = {
    "remember": (
        lambda world: {
            "content": "je veux comprendre la mer",
            "scope": ME,
            "type": "goal",
            "collection": "goal",
            "category": "understanding",
            "key": "sea",
            "subjects": ["mer"],
            "importance": 0.75,
            "ttl": "7d",
            "occurred_at": SINCE,
            "source": "diary",
            "replaces": [world.ids["goal"]],
            "evidence": [world.ids["message"]],
            "metadata": CRM | {"number": 3, "exact": True, "none": None},
        },
        _always(content="Il neige à Gavarnie", scope=ME, ttl=timedelta(hours=36)),
        _always(content="Il pleut à Gavarnie", scope=ME, ttl=None),
    ),
    "remember_many": (
        _always(
            items=[{"content": "Il neige", "ttl": "2d"}, {"content": "Inès a un piano"}],
            scope=ME,
            progress=ignore_progress,
        ),
    ),
    "recall": (
        _always(
            query="le voilier rouge",
            scope=ME,
            limit=1,
            collections=["memory", "turn"],
            min_score=0.001,
            mode="semantic",
            explain=True,
            metadata=CRM,
            **FILTERS,
        ),
        _always(query="lire les images", scope=ME, collections=["goal"], category="understanding"),
        _always(query="le voilier rouge", scope=ME, collections=["turn"], as_of=PREPARED),
        _always(query="le voilier rouge", scope=ME, collections=["memory"], peek=True),
    ),
    "memories": (
        _next_page(
            "memories",
            scope=ME,
            collection="memory",
            state="all",
            order="oldest",
            min_importance=0.1,
            count=True,
            limit=1,
            **FILTERS,
        ),
        _always(scope=ME, metadata=CRM),
        _always(scope=ME, category="understanding", skip=1),
        _always(scope=ME, words="voilier"),
    ),
    "about": (_always(name="voilier", scope=ME, limit=5),),
    "changes": (
        _always(
            scope=ME,
            kinds=["learnt"],
            limit=9,
            **{name: value for name, value in FILTERS.items() if name != "channel"},
        ),
        _always(scope=ME, skip=1),
    ),
    "get": (_on("id", "boat"),),
    "history": (_on("id", "boat"),),
    "edit": (
        _on(
            "id",
            "boat",
            content="Owen a un grand voilier rouge",
            type="event",
            subjects=["voilier"],
            importance=0.3,
            ttl="2w",
            occurred_at=SINCE,
            metadata={"deck": "teak"},
        ),
        _on("id", "wish", category="connection", ttl=None),
    ),
    "delete": (_on("id", "boat", reason="vendu"),),
    "restore": (_on("id", "gone"), _on("id", "hidden")),
    "associate": (
        lambda world: {
            "source_id": world.ids["lyon"],
            "target_id": world.ids["port"],
            "kind": "part_of",
            "scope": ME,
            "reason": "elle y va",
            "review": True,
        },
    ),
    "neighbours": (_on("id", "boat", depth=1),),
    "settle": (
        lambda world: {
            "id": world.ids["old"],
            "other_id": world.ids["new"],
            "scope": ME,
            "keep": world.ids["new"],
        },
    ),
    "delete_fact": (_always(key="boisson", scope=ME, reason="faux"),),
    "before_turn": (
        _always(message="le voilier de Nina", scope=ME, fresh=True, keep=False),
        _always(
            message=["le port", {"role": "user", "content": "le voilier rouge"}],
            scope=ME,
            role="assistant",
        ),
    ),
    "preview": (
        _always(
            message=["le port", {"role": "user", "content": "le voilier rouge"}],
            scope=ME,
            role="assistant",
            at=UNTIL,
        ),
    ),
    "after_turn": (
        _always(
            user_message="Je pars demain",
            reply="Bon voyage !",
            scope=ME,
            assistant="eko",
            at=SINCE,
            tool_results=["train à 9 h"],
            external_id="t-1",
            expression="happy",
        ),
        lambda world: {
            "user_message": "Je pars mardi",
            "reply": "Bonne route !",
            "scope": ME,
            "replaces": [world.ids["edited"]],
        },
    ),
    "messages": (
        _always(scope=ME, since=SINCE, until=UNTIL, working=True, limit=2),
        _always(scope=ME, live=True),
        lambda world: {"scope": ME, "ids": [world.ids["message"]]},
        _always(scope=ME, external_ids=["lobby-1"]),
    ),
    "search_text": (
        _always(
            query='"le rendez-vous" num*',
            scope=ME,
            user="dev",
            channel="lobby",
            since=SINCE,
            until=UNTIL,
            limit=2,
        ),
    ),
    "exchanges": (
        _next_page(
            "exchanges",
            scope=ME,
            query='"le rendez-vous" num*',
            user="dev",
            channel="lobby",
            since=SINCE,
            until=UNTIL,
            order="oldest",
            limit=1,
        ),
    ),
    "exchange": (_on("id", "turn"),),
    "extract": (_on("turn_id", "turn"),),
    "retrievals": (_next_page("retrievals", scope=ME, limit=1, since=SINCE, channel_only=True),),
    "retrieval": (_on("id", "injection"),),
    "replay": (_on("id", "injection"),),
    "try_settings": (_always(scope=ME, limit=2, **SETTINGS),),
    "forget": (
        _always(topic="le voilier rouge", scope=ME, dry_run=True),
        _always(topic="le voilier rouge", scope=ME),
    ),
    "erase": (
        _on("id", "boat", dry_run=True),
        _on("id", "boat", progress=ignore_progress),
        _always(scope=ME, user="dev", dry_run=True),
        _always(scope=ME, subject="owen", dry_run=True),
        _always(scope=ME, whole_space=True, dry_run=True),
    ),
    "update_settings": (_always(scope=ME, **SETTINGS),),
    "retry_job": (_on("id", "run"),),
    "find_key": (lambda world: {"secret": world.ids["secret"]},),
    "revoke_key": (lambda world: {"id": world.ids["key"]},),
    "export_to": (
        lambda world: {
            "path": world.file("export.jsonl"),
            "scope": ME,
            "format": "okf",
            "user": "dev",
            "overwrite": True,
        },
    ),
    "import_from": (
        lambda world: {"path": world.file("talk.txt"), "scope": ME, "dry_run": True},
        lambda world: {
            "path": world.file("talk.txt"),
            "scope": ME,
            "format": "jsonl",
            "timezone": "Asia/Tokyo",
            "one_space": True,
            "progress": ignore_progress,
        },
    ),
    "backup": (lambda world: {"target": world.file("export.jsonl"), "overwrite": True},),
}
"""Arguments of the verbs that need more than a value of the right type."""
CASES: dict[str, tuple[Arguments, ...]] = {
    name: _OWN[name] if name in _OWN else (_always(**arguments_of(name)),)
    for name in VERBS
    if name != "close"
}
"""Arguments of each verb, in an order in which one call leaves what the next ones need: together, its calls set
every argument to another value than the default."""
