"""All settings of the space: what each does, its default and its bounds, and its effect on the latest turns."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast
from urllib.parse import urlencode

from starlette.datastructures import FormData
from starlette.responses import Response

from hippocampe.errors import InvalidInput
from hippocampe.hippocampe import SETTING_GROUPS, SETTINGS, check_setting, default_settings
from hippocampe.presentation.injections import parts_of
from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import AdminPage, ReadPage, Visit
from hippocampe.types import Considered, Part, Retrieval, Retrieved, Scope, Settings, Trial
from hippocampe.verbs import documentation

router = page_router(prefix="/settings")
CHANGED = "settings-changed"
TURNS = 10
SHOWN = 6
"""Items shown of those that a turn gains, and of those that it loses."""
USES = documentation(Settings).arguments
"""The use of each setting, by name: the docstring of their class."""


@dataclass(frozen=True, slots=True)
class Difference:
    """A turn under the present settings and under changed ones.

    Attributes:
        parts: The number of items of each part, under the present settings and under the changed ones.
        tokens: The same of tokens.
        gained: Items that only the changed settings give.
        lost: Items that only the present settings give.
    """

    turn: Retrieval
    parts: Mapping[Part, tuple[int, int]]
    tokens: tuple[int, int]
    gained: Sequence[Considered]
    lost: Sequence[Considered]

    @property
    def differs(self) -> bool:
        """True if the changed settings give something else."""
        return bool(self.gained or self.lost or self.tokens[0] != self.tokens[1])


@router.get("")
async def settings_page(page: ReadPage) -> Response:
    """The form, and the latest turns beside it."""
    return page.render(
        "settings/page.html",
        groups=SETTING_GROUPS,
        default=default_settings(page.hippo.sync.config),
        spelled=_spelled,
        uses=USES,
        accepted=SETTINGS,
        turns=TURNS,
    )


@router.post("")
async def save(page: AdminPage) -> Response:
    """Save the changed settings, all or none."""
    changes = await _changes(page)
    if not changes:
        return page.part(toast=page.say("Nothing was changed."))
    before = {name: _spelled(getattr(page.settings, name)) for name in changes}
    await page.hippo.update_settings(scope=page.scope, **changes)
    said = page.count("{number} setting saved.", "{number} settings saved.", len(changes))
    return page.part(changed=CHANGED, toast=said, undo=f"/settings?{urlencode(before)}")


@router.post("/effect")
async def effect(page: ReadPage) -> Response:
    """The effect of the changed settings of the form on the latest turns; nothing is saved."""
    wrong, changes, found = None, dict[str, Any](), list[Difference]()
    try:
        changes = await _changes(page)
    except InvalidInput as exc:
        wrong = str(exc)
    else:
        found = await (_tried(page, changes) if changes else _logged(page))
    return page.part(
        "settings/effect.html",
        wrong=wrong,
        shown=SHOWN,
        changes=changes,
        found=found,
        differing=sum(each.differs for each in found),
        tokens=[sum(each.tokens[side] for each in found) for side in (0, 1)],
    )


async def _logged(page: Visit) -> list[Difference]:
    """The injections of the latest turns, from the log: to serve them again takes seconds."""
    space = Scope(space=page.scope.space)
    return [
        Difference(
            each,
            {part: (len(items), len(items)) for part, items in parts_of(_injected(each)).items()},
            (each.tokens_added, each.tokens_added),
            (),
            (),
        )
        for each in await page.hippo.retrievals(scope=space, limit=TURNS)
        if each.skipped in (None, "switched off")
    ]


def _injected(turn: Retrieval) -> list[Retrieved]:
    return [each for each in turn.items if each.outcome == "injected"]


async def _tried(page: Visit, changes: Mapping[str, Any]) -> list[Difference]:
    """The latest turns, served again under the present settings and under changed ones."""
    tried = await page.hippo.try_settings(scope=page.scope, limit=TURNS, **changes)
    return [_difference(each) for each in tried]


def _difference(trial: Trial) -> Difference:
    before, after = (list(each.trace.considered) for each in (trial.before, trial.after))
    ids_before, ids_after = ({each.recollection.id for each in side} for side in (before, after))
    parts_before, parts_after = parts_of(before), parts_of(after)
    parts: dict[Part, tuple[int, int]] = {
        part: (len(parts_before.get(part, ())), len(parts_after.get(part, ())))
        for part in parts_before | parts_after
    }
    return Difference(
        trial.retrieval,
        parts,
        (trial.before.tokens, trial.after.tokens),
        [each for each in after if each.recollection.id not in ids_before],
        [each for each in before if each.recollection.id not in ids_after],
    )


async def _changes(page: Visit) -> dict[str, Any]:
    """The settings of a form, or of the address of an undo, whose value is not the present one.

    Raises:
        InvalidInput: A value cannot be used.
    """
    posted: FormData = await page.request.form()
    sent = [*page.request.query_params.multi_items(), *posted.multi_items()]
    texts = {name: text for name, text in sent if name in SETTINGS and isinstance(text, str)}
    checked = {name: check_setting(name, _read(name, text)) for name, text in texts.items()}
    return {name: value for name, value in checked.items() if value != getattr(page.settings, name)}


def _spelled(value: object) -> str:
    """A value as a field of the form has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping):
        return "\n".join(f"{name} {ttl}" for name, ttl in cast("Mapping[str, str]", value).items())
    if isinstance(value, tuple):
        values = cast("tuple[object, ...]", value)
        apart = ", " if values and isinstance(values[0], int) else "\n"
        return apart.join(map(str, values))
    return str(value)


def _read(name: str, text: str) -> object:
    """The value that a field of the form spells; the text itself if it spells none, which is then refused."""
    lines = [line.strip() for line in text.splitlines() if line.strip()]
    try:
        match SETTINGS[name].kind:
            case "flag":
                return {"true": True, "false": False}.get(text, text)
            case "whole":
                return int(text)
            case "number":
                return float(text)
            case "hours":
                return [int(each) for each in text.replace(",", " ").split()]
            case "names":
                return lines
            case "lifetimes":
                # One pair a line, or JSON, which the error message shows.
                words = re.findall(r'[^\s{}":,]+', text)
                return dict(zip(words[::2], words[1::2], strict=True))
            case _:
                return text.strip()
    except ValueError:
        return text
