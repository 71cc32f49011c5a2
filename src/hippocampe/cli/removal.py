"""Commands that hide or remove items. They list the items and ask for confirmation."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hippocampe.cli import terminal
from hippocampe.cli.call import Call
from hippocampe.cli.from_verb import add, execute, of_verb, text
from hippocampe.cli.show import memories as show
from hippocampe.cli.show.layout import reader, say

if TYPE_CHECKING:
    from hippocampe.types import Receipt

app = typer.Typer()
PANEL = "Forgetting"
Yes = Annotated[bool, typer.Option("--yes", "-y", help="Skip the confirmation.")]


@of_verb(
    app,
    "forget",
    panel=PANEL,
    overrides={"topic": text("The topic, in any words.")},
    examples=['forget "the water heater" --dry-run'],
)
def forget(call: Call, *, dry_run: bool, yes: Yes = False, **topic: Any) -> None:
    """Forget everything about a topic. `restore` undoes it, by id."""

    def confirm(planned: "Receipt") -> None:
        # Typer's own question takes English answers only.
        if not reader().agrees(_typed(say("Forget these? [y/N] "))):
            raise typer.Abort

    _remove(call, "forget", topic, "forgotten", confirm, dry_run=dry_run, yes=yes)


@of_verb(
    app,
    "erase",
    panel=PANEL,
    overrides={
        "id": text("A memory, turn or message."),
        "user": text("Everything from a user."),
        "subject": text("Everything that names a person or subject."),
        "whole_space": text("Everything in --space."),
    },
    examples=["erase --subject Nadia --dry-run", "erase --of-user owen"],
)
def erase(call: Call, *, dry_run: bool, yes: Yes = False, **chosen: Any) -> None:
    """Erase for ever from the database, history, index, vectors and backups."""
    _remove(call, "erase", chosen, "erased", _confirm_erasure, dry_run=dry_run, yes=yes)


def _remove(
    call: Call,
    verb: str,
    arguments: Mapping[str, Any],
    done: str,
    confirm: "Callable[[Receipt], None]",
    *,
    dry_run: bool,
    yes: bool,
) -> None:
    """List the items, ask for confirmation, and execute the verb."""
    if call.json and not (yes or dry_run):
        raise typer.BadParameter("--json cannot ask for confirmation: add --yes or --dry-run.")

    with call.read() if dry_run else call.open() as hippo:
        if dry_run or not yes:
            planned = execute(call, hippo, verb, {**arguments, "dry_run": True}).result
            _answer(call, planned, done, of_subject="subject" in arguments)
            if dry_run or not planned.ids:
                return
            confirm(planned)
        receipt = execute(call, hippo, verb, arguments).result
    # Items that were listed for confirmation are not listed twice.
    _answer(call, receipt, done, listed=yes, of_subject="subject" in arguments)


def _answer(
    call: Call, receipt: "Receipt", done: str, *, listed: bool = True, of_subject: bool
) -> None:
    zone = call.config.timezone

    def shown() -> terminal.Shown:
        return show.receipt(receipt, done, timezone=zone, listed=listed, of_subject=of_subject)

    call.answer(receipt, shown)


def _typed(asked: str) -> str:
    """Ask on stderr, and read a line, which may be empty."""
    return typer.prompt(asked, default="", show_default=False, prompt_suffix="", err=True)


def _confirm_erasure(planned: "Receipt") -> None:
    """Ask for the number of items, so that a habitual yes erases nothing."""
    count = len(planned.ids)
    asked = say(
        "This cannot be undone. Type {number} to erase as many items for ever: ", number=count
    )
    if _typed(asked).strip() != str(count):
        terminal.error(say("the number does not match; nothing was erased."))
        raise typer.Exit(1)


add(
    app,
    "expire",
    "Forget expired memories. (Recall already excludes them.)",
    lambda done: show.receipt(done.result, "expired", timezone=done.timezone),
    panel=PANEL,
)
