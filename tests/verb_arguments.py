"""A value of every argument, by its name, and the arguments that a verb needs, from its signature."""

import inspect
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

from hippocampe import Hippocampe, Scope

ME = Scope(space="home", user="dev", channel="lobby")
MISSING = "0198a000-0000-7000-8000-000000000000"
OTHER = "0199a000-0000-7000-9000-000000000000"
SINCE, UNTIL = datetime(2026, 1, 1, tzinfo=UTC), datetime(2027, 1, 1, tzinfo=UTC)


def ignore_progress(what: str, done: int, total: int) -> None:
    """Take the progress of a call."""


ARGUMENTS: Mapping[str, Any] = {
    "scope": ME,
    "id": MISSING,
    "source_id": MISSING,
    "turn_id": MISSING,
    "target_id": OTHER,
    "other_id": OTHER,
    "content": "Il fait beau",
    "items": [{"content": "Il neige", "ttl": "2d"}, {"content": "Inès a un piano"}],
    "name": "Owen",
    "query": "rhubarbe",
    "topic": "tarte",
    "message": "rhubarbe",
    "user_message": "Bonjour",
    "reply": "Salut",
    "kind": "part_of",
    "key": "boisson",
    "value": "le café",
    "reason": "faux",
    "user": "dev",
    "channel": "lobby",
    "subjects": ["owen"],
    "since": SINCE,
    "until": UNTIL,
    "at": SINCE,
    "limit": 2,
    "skip": 1,
    "count": True,
    "words": "voilier",
    "kinds": ["replaced"],
    "types": ["fact"],
    "peek": True,
    "days": 7,
    "depth": 1,
    "channel_only": True,
    "refresh": True,
    "external_id": "m-1",
    "job": "digest",
    "states": ["parked"],
    "model": "m",
    "purpose": "chat",
    "input_tokens": 30,
    "output_tokens": 10,
    "injected_tokens": 5,
    "price": 0.01,
    "role": "write",
    "label": "phone",
    "secret": "hippo_unknown",
    "address": "http://127.0.0.1:9",
    "absent": ["rhubarbe", "voilier"],
    "embedder": "hashed:32",
    "path": "export.jsonl",
    "where": "data",
    "progress": ignore_progress,
}
"""Values of the right types, all others than the defaults of the verbs."""
_AS_WELL: Mapping[str, Mapping[str, Any]] = {
    "edit": {"importance": 0.3},
    "erase": {"id": MISSING},
    "update_settings": {"recent_hours": 3},
}
"""Optional arguments of which the verb needs one."""


def arguments_of(verb: str) -> dict[str, Any]:
    """All arguments of a verb, in the order of its signature."""
    parameters = inspect.signature(getattr(Hippocampe, verb)).parameters
    return {name: ARGUMENTS[name] for name in parameters if name != "self"}


def needed_by(verb: str) -> dict[str, Any]:
    """The arguments that a verb cannot do without, except its scope."""
    found = inspect.signature(getattr(Hippocampe, verb)).parameters.values()
    needed = [
        each.name
        for each in found
        if each.default is each.empty
        and each.kind is not each.VAR_KEYWORD
        and each.name not in ("self", "scope")
    ]
    return {name: ARGUMENTS[name] for name in needed}


def right_call(verb: str) -> dict[str, Any]:
    """Arguments of a call that has all that the verb needs, except its scope."""
    return needed_by(verb) | _AS_WELL.get(verb, {})


def takes_scope(verb: str) -> bool:
    return "scope" in inspect.signature(getattr(Hippocampe, verb)).parameters
