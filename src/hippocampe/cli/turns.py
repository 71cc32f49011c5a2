"""Commands on turns: injections, exchanges, settings and the log of retrievals."""

import json
from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Annotated, Any, cast

import typer

from hippocampe.cli.call import Call, command, group, read_content
from hippocampe.cli.from_verb import add, flag, of_verb, text
from hippocampe.cli.show import talk as show_talk
from hippocampe.cli.show import turns as show
from hippocampe.cli.show.layout import say
from hippocampe.errors import InvalidInput
from hippocampe.types import Injection, Settings

app = typer.Typer()
PANEL = "Turns"
settings_app = group(app, "settings", "Settings of a space: list, set, reset.", PANEL)
NAMES = tuple(each.name for each in fields(Settings))

Name = Annotated[
    str, typer.Argument(metavar="NAME", help="The setting.", autocompletion=lambda: list(NAMES))
]


@of_verb(
    app,
    "before-turn",
    panel=PANEL,
    overrides={
        "message": text("The message; several are a burst.", metavar="TEXT…"),
        "role": text("user, or system, which gets no injection."),
        "fresh": None,
        "keep": None,
    },
    examples=['before-turn "where do we meet tomorrow?" --user dev --explain'],
)
def before_turn(
    call: Call,
    *,
    explain: Annotated[
        bool,
        typer.Option("--explain", help="Show every candidate with its score, outcome and signals."),
    ] = False,
    **message: Any,
) -> None:
    """Show what would be injected into the prompt for a message."""
    with call.read() as hippo:
        turn = hippo.before_turn(scope=call.scope, **message)
        # The candidates are explained lazily, from the open data.
        answer = _as_json(turn, explain) if call.json else turn
        call.answer(answer, lambda: show.injection(turn, explain=explain))


@of_verb(
    app,
    "after-turn",
    panel=PANEL,
    overrides={
        "user_message": text(
            'The message; - reads standard input, - alone {"message": …, "reply": …}.',
            metavar="MESSAGE",
        ),
        "reply": text("The reply; - reads standard input.", default=None),
        "assistant": text("Name of the assistant."),
        "tool_results": flag("--tool-result", text="A result of the assistant's tools"),
        "replaces": text("A turn that the conversation no longer has", metavar="TURN"),
    },
    examples=['after-turn "I leave for Greece tomorrow" "Have a good trip!" --user dev'],
)
def after_turn(call: Call, *, user_message: str, reply: str | None, **more: Any) -> None:
    """Store an exchange: a message and its reply."""
    if user_message == reply == "-":
        raise typer.BadParameter("standard input is one text: give the other as an argument.")
    if user_message == "-" and reply is None:
        user_message, reply = _read_exchange()
    else:
        user_message = read_content(user_message)
        reply = None if reply is None else read_content(reply)
    with call.open() as hippo:
        turn = hippo.after_turn(user_message, reply, scope=call.scope, **more)
    call.answer({"turn": turn}, lambda: say("stored as turn {turn}", turn=turn))


add(
    app,
    "extract",
    "Extract what is worth remembering from an exchange now, with the language model.",
    lambda done: show_talk.extracted(done.result),
    panel=PANEL,
    overrides={"turn_id": text("The id that after-turn showed.", metavar="TURN")},
)


def _read_exchange() -> tuple[str, str | None]:
    """Parse a message and a reply from a JSON object on standard input.

    Raises:
        InvalidInput: Standard input is not such an object.
    """
    found = _parsed(read_content("-"))
    if isinstance(found, dict):
        exchange = cast("dict[str, Any]", found)
        if "message" in exchange and exchange.keys() <= {"message", "reply"}:
            return exchange["message"], exchange.get("reply")
    raise InvalidInput(
        'standard input must be a JSON object such as {"message": "…", "reply": "…"}.'
    )


def _as_json(turn: Injection, explain: bool) -> object:
    trace = turn.trace
    considered = [
        each if explain else replace(each, recollection=replace(each.recollection, why=()))
        for each in trace.considered
    ]
    return replace(turn, trace=replace(trace, considered=considered))


@command(settings_app, "list")
def list_settings(
    call: Call,
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME", help="Only this setting.", autocompletion=lambda: list(NAMES)
        ),
    ] = None,
) -> None:
    """Show the settings with their values and the values they accept."""
    with call.read() as hippo:
        found = hippo.settings(scope=call.scope)
    _answer(call, found, [name] if name else NAMES)


@command(
    settings_app,
    "set",
    examples=["settings set recent_hours 12", "settings set live_rooms lobby garden"],
)
def set_setting(
    call: Call,
    name: Name,
    value: Annotated[list[str], typer.Argument(help="The value; several make a list.")],
) -> None:
    """Change a setting from the next turn on."""
    with call.open() as hippo:
        found = hippo.update_settings(scope=call.scope, **{name: _read(name, value)})
    _answer(call, found, [name])


@command(settings_app, "reset")
def reset_setting(call: Call, name: Name) -> None:
    """Reset a setting to its default."""
    with call.open() as hippo:
        found = hippo.update_settings(scope=call.scope, **{name: None})
    _answer(call, found, [name])


def _answer(call: Call, found: Settings, names: Sequence[str]) -> None:
    from hippocampe.hippocampe import SETTING_VALUES, check_setting, default_settings

    values = {name: check_setting(name, getattr(found, name, None)) for name in names}
    default = default_settings(call.config)
    call.answer(values, lambda: show.settings(values, default, SETTING_VALUES))


def _read(name: str, typed: Sequence[str]) -> object:
    """Parse a value: as JSON if the setting accepts that, else as text."""
    from hippocampe.hippocampe import check_setting

    parsed = [_parsed(each) for each in typed]
    readings: list[object] = [parsed, list(typed)]
    if len(typed) == 1:
        readings = [parsed[0], typed[0], *readings]
    for reading in readings:
        try:
            return check_setting(name, reading)
        except InvalidInput:
            continue
    return readings[0]  # The library rejects it with a message.


def _parsed(typed: str) -> object:
    try:
        return json.loads(typed)
    except ValueError:
        return typed


add(
    app,
    "retrievals",
    "Show the log of injections with the outcome of every candidate, newest first.",
    panel=PANEL,
    overrides={"channel_only": text("Only the channel of --channel."), "cursor": None},
)
