"""The settings of a space: cached, and validated before they are written.

Only values that differ from the default are stored, so that an improved default reaches every space without a
value of its own.
"""

import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from difflib import get_close_matches
from functools import partial
from math import inf
from typing import Any, Literal, cast

from hippocampe.config import Config
from hippocampe.engine import audit
from hippocampe.errors import InvalidInput, StoreError, shown
from hippocampe.language.datetimes import as_zone, parse_ttl
from hippocampe.language.i18n import language_of_locale, languages
from hippocampe.store import settings as rows
from hippocampe.store.store import Store
from hippocampe.system.recent import Recent
from hippocampe.types import (
    CATEGORIES,
    MAX_LABEL_CHARACTERS,
    Scope,
    Settings,
    normal_label,
    printable,
)

FRESH_SECONDS = 5.0
"""Age after which cached values are reloaded: another process may have changed them."""
MAX_NAMES = 100
MAX_CACHED_SPACES = 10_000
"""Spaces whose settings are cached, of some 700 bytes each."""


Kind = Literal["flag", "whole", "number", "text", "choice", "names", "hours", "lifetimes"]
"""The form of the values of a setting."""


@dataclass(frozen=True, slots=True)
class Accepted:
    """The values a setting accepts.

    Attributes:
        says: A description.
        check: Returns the stored value, or None if it is not accepted.
        choices: All values, of a choice.
    """

    says: str
    check: Callable[[Any], Any]
    kind: Kind
    least: float | None = None
    most: float | None = None
    choices: Sequence[str] = ()


def _whole(least: int, most: int) -> Accepted:
    def check(value: Any) -> int | None:
        good = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
        return value if good else None

    return Accepted(f"a whole number from {least} to {most:,}", check, "whole", least, most)


def _number(least: float, most: float) -> Accepted:
    def check(value: Any) -> float | None:
        good = isinstance(value, int | float) and not isinstance(value, bool)
        return float(value) if good and least <= value <= most else None

    return Accepted(f"a number from {least:g} to {most:g}", check, "number", least, most)


def _name(value: Any) -> str | None:
    if not isinstance(value, str) or len(value) > MAX_LABEL_CHARACTERS or value != printable(value):
        return None
    return normal_label(value) or None


def _each(check: Callable[[Any], Any], values: Any) -> tuple[Any, ...] | None:
    """The distinct values of a list; None if it is no list, or one of them is not accepted."""
    if not isinstance(values, list | tuple) or len(cast("Sequence[Any]", values)) > MAX_NAMES:
        return None
    found = [check(each) for each in cast("Sequence[Any]", values)]
    return None if None in found else tuple(dict.fromkeys(found))


def _zone(value: Any) -> str | None:
    try:
        return as_zone(value).key if isinstance(value, str) else None
    except InvalidInput:
        return None


def _lifetimes(value: Any) -> dict[str, str] | None:
    if not isinstance(value, Mapping):
        return None
    found = cast("Mapping[Any, Any]", value)
    try:
        good = all(name in _KNOWN and parse_ttl(ttl) is not None for name, ttl in found.items())
    except InvalidInput:
        return None
    return dict(sorted(found.items())) if good else None


def _one_of(*names: str) -> Accepted:
    return Accepted(
        f"one of {', '.join(names)}",
        lambda value: value if value in names else None,
        "choice",
        choices=names,
    )


_KNOWN = {f"{collection}/{name}" for collection, names in CATEGORIES.items() for name in names}
_HOUR = _whole(0, 23)
_FLAG = Accepted("true or false", lambda value: value if isinstance(value, bool) else None, "flag")
_NAMES = Accepted(f"a list of at most {MAX_NAMES} names", partial(_each, _name), "names")
_HOURS = Accepted(
    "a list of hours from 0 to 23",
    lambda value: (found := _each(_HOUR.check, value)) and tuple(sorted(found)),
    "hours",
    0,
    23,
)
_ZONE = Accepted("an IANA timezone such as Europe/Paris", _zone, "text")
_LIFETIMES = Accepted(
    'lifetimes by category, such as {"self/preference": "90d"}', _lifetimes, "lifetimes"
)

GROUPS: Mapping[str, Mapping[str, Accepted]] = {
    "found": {
        "auto_retrieve_enabled": _FLAG,
        "auto_retrieve_max_results": _whole(1, 10),
        "auto_retrieve_min_score": _number(0.1, 0.8),
        "channel_scope": _FLAG,
    },
    "always_on": {
        "always_on_limit": _whole(0, 60),
        "recent_hours": _whole(0, 168),
        "important_threshold": _number(0, 1),
        "shared_memories": _FLAG,
    },
    "whole": {
        "max_injection_count": _whole(1, 100),
        "injection_token_budget": _whole(50, 10_000),
        "context_window_depth": _whole(1, 1_000),
        "keep_injections": _FLAG,
        "session_timeout_minutes": _whole(1, 1_440),
        "semantic_threshold": _number(0.5, 1),
        "max_semantic_buffer": _whole(0, 1_000),
        "hook_timeout_ms": _whole(10, 10_000),
        "coalesce_ms": _whole(0, 2_000),
    },
    "live": {
        "live_limit": _whole(0, 50),
        "live_rooms": _NAMES,
        "digest_hours": _HOURS,
    },
    "notes": {
        "obsidian_context_enabled": _FLAG,
        "obsidian_context_notes": _NAMES,
        "obsidian_context_tag": Accepted(
            f"1 to {MAX_LABEL_CHARACTERS} printable characters", _name, "text"
        ),
    },
    "companion": {
        "companion_names": _NAMES,
        "companion_mode": _one_of("agentic", "systematic", "hybrid"),
        "recent_messages": _whole(1, 1_000),
        "daily_budget": _number(0, 100_000),
    },
    "place": {
        "language": _one_of(*languages()),
        "timezone": _ZONE,
    },
    "upkeep": {
        "retrieval_days": _whole(1, 365),
        "category_ttl": _LIFETIMES,
        "decay_half_life_days": _whole(0, 3_650),
        "prune_below": _number(0, 1),
    },
}
"""The settings of a space, by what they govern."""
_DECLARED = {name: each for group in GROUPS.values() for name, each in group.items()}
ACCEPTED: Mapping[str, Accepted] = {each.name: _DECLARED[each.name] for each in fields(Settings)}
"""The settings, in the order of their class."""


def check(name: str, value: Any) -> Any:
    """Validate a value and return it as stored.

    Raises:
        InvalidInput: There is no such setting, or it cannot have this value.
    """
    accepted = ACCEPTED.get(name)
    if accepted is None:
        close = get_close_matches(name[:MAX_LABEL_CHARACTERS], ACCEPTED, n=3)
        way_out = (
            f"did you mean {' or '.join(close)}?"
            if close
            else f"choose from {', '.join(ACCEPTED)}."
        )
        raise InvalidInput(f"there is no setting {shown(name)}: {way_out}")
    valid = accepted.check(value)
    if valid is None:
        raise InvalidInput(
            f"{name} must be {accepted.says}, not {shown(value)}. Nothing was changed."
        )
    return valid


def defaults(config: Config) -> Settings:
    """The default settings of a space.

    Raises:
        InvalidInput: The configuration names an unknown language or timezone.
    """
    default = Settings(timezone=check("timezone", config.timezone))
    language = config.language or language_of_locale() or default.language
    return replace(default, language=check("language", language))


def checked_changes(default: Settings, changes: Mapping[str, Any]) -> dict[str, Any]:
    """Validate changes; None is the default.

    Raises:
        InvalidInput: A setting does not exist or a value is invalid.
    """
    return {
        name: check(name, getattr(default, name, None) if value is None else value)
        for name, value in changes.items()
    }


@dataclass(slots=True)
class SpaceSettings:
    """The settings of each space: those of the store over the defaults, cached. Thread-safe."""

    store: Store
    config: Config
    _cached: Recent[str, tuple[float, Settings]] = field(
        default_factory=lambda: Recent[str, tuple[float, Settings]](MAX_CACHED_SPACES)
    )
    """By space, when they were read on the monotonic clock, and their values."""
    _loading: threading.Lock = field(default_factory=threading.Lock)
    """Held while reading, so that old values never replace newer ones."""

    def __post_init__(self) -> None:
        # Before anything is served, refuse a configuration that cannot be used.
        defaults(self.config)

    def of(self, space: str) -> Settings:
        """The settings of a space.

        Raises:
            StoreError: They cannot be read, and none are cached.
        """
        if (fresh := self.fresh(space)) is not None:
            return fresh
        try:
            return self.refresh(space, since=time.monotonic())
        except StoreError:
            if (cached := self.cached(space)) is None:
                raise
            return cached

    def fresh(self, space: str) -> Settings | None:
        """The cached settings of a space if fresh, else None."""
        known = self._cached.get(space)
        fresh = known is not None and time.monotonic() - known[0] < FRESH_SECONDS
        return known[1] if known is not None and fresh else None

    def cached(self, space: str) -> Settings | None:
        """The cached settings of a space, however old."""
        known = self._cached.get(space)
        return known[1] if known is not None else None

    def refresh(self, space: str, *, since: float = inf) -> Settings:
        """Read the settings of a space from the store, unless another caller has read them since a time.

        Args:
            since: A time on the monotonic clock.
        """
        with self._loading:
            # Each caller would read them in turn: with a slow database, that takes longer than they stay fresh.
            if (known := self._cached.get(space)) is not None and known[0] >= since:
                return known[1]
            with self.store.read() as connection:
                stored = rows.load(connection, space)
            found = replace(defaults(self.config), **_usable(stored))
            self._cached[space] = (time.monotonic(), found)
        return found

    def of_all(self, spaces: Iterable[str]) -> dict[str, Settings]:
        """The settings of many spaces, read at once, past the cache."""
        stored: dict[str, dict[str, Any]] = {}
        with self.store.read() as connection:
            for space, name, value in rows.everything(connection):
                stored.setdefault(space, {})[name] = value
        default = defaults(self.config)
        return {space: replace(default, **_usable(stored.get(space, {}))) for space in spaces}

    def clear(self, spaces: Collection[str] | None = None) -> None:
        """Invalidate the settings of some spaces; None for all."""
        with self._loading:
            for space in list(self._cached) if spaces is None else spaces:
                self._cached.pop(space, None)


def _usable(stored: Mapping[str, Any]) -> dict[str, Any]:
    """The stored values that this version still accepts."""
    checked = {
        name: ACCEPTED[name].check(value) for name, value in stored.items() if name in ACCEPTED
    }
    return {name: value for name, value in checked.items() if value is not None}


def read(settings: SpaceSettings, *, scope: Scope) -> Settings:
    """The settings of the space.

    Raises:
        StoreError: They cannot be read, and none are cached.
    """
    return settings.of(scope.space)


def update(settings: SpaceSettings, /, *, scope: Scope, **changes: Any) -> Settings:
    """Change settings of the space, all or none; effective from the next turn. None resets one.

    Args:
        scope: The space.
        changes: New values by name, the fields of `hippocampe.types.Settings`.

    Raises:
        InvalidInput: The setting does not exist or the value is invalid; nothing was changed.
    """
    checked = checked_changes(defaults(settings.config), changes)
    # What is chosen stays chosen where the default differs: in another locale, or a later version.
    chosen = {name: value for name, value in checked.items() if changes[name] is not None}
    if checked:
        with settings.store.write() as connection:
            now = settings.store.now()
            rows.write(connection, scope.space, chosen, now, remove=checked.keys() - chosen.keys())
            audit.record(connection, now, scope.space, "settings", names=sorted(checked))
    return settings.refresh(scope.space)
