"""Commands that hide or remove items. They list the items and ask for confirmation."""

from typing import TYPE_CHECKING, Annotated

import typer

from hippocampe.cli import options, terminal
from hippocampe.cli.call import Call, command
from hippocampe.cli.show import removal as show

if TYPE_CHECKING:
    from hippocampe.types import Receipt

app = typer.Typer()
PANEL = "Forgetting"


def _must_not_ask(call: Call, yes: bool, dry_run: bool) -> None:
    if call.json and not (yes or dry_run):
        raise typer.BadParameter("--json cannot ask for confirmation: add --yes or --dry-run.")


def _answer(call: Call, receipt: "Receipt", verb: str, *, listed: bool = True) -> None:
    """Show a receipt. Items that were listed for confirmation are not listed twice."""
    zone = call.config.timezone
    call.answer(receipt, lambda: show.receipt(receipt, verb, timezone=zone, listed=listed))


@command(app, "forget", panel=PANEL, examples=['forget "the water heater" --dry-run'])
def forget(
    call: Call,
    topic: Annotated[str, typer.Argument(help="The topic, in any words.")],
    *,
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Hide everything about a topic from recall. `restore` undoes it, by id."""
    _must_not_ask(call, yes, dry_run)

    with call.read() if dry_run else call.open() as hippo:
        if dry_run or not yes:
            planned = hippo.forget(topic, scope=call.scope, dry_run=True)
            _answer(call, planned, "forgotten")
            if dry_run or not planned.ids:
                return
            typer.confirm("Forget these?", abort=True, err=True)
        done = hippo.forget(topic, scope=call.scope)
    _answer(call, done, "forgotten", listed=yes)


@command(
    app,
    "erase",
    panel=PANEL,
    examples=["erase --subject Nadia --dry-run", "erase --of-user owen"],
)
def erase(
    call: Call,
    *,
    id: Annotated[str | None, typer.Option("--id", help="A memory, turn or message.")] = None,
    of_user: Annotated[
        str | None, typer.Option("--of-user", help="Everything from a user.")
    ] = None,
    subject: Annotated[
        str | None, typer.Option("--subject", help="Everything that names a person or subject.")
    ] = None,
    whole_space: Annotated[
        bool, typer.Option("--whole-space", help="Everything in --space.")
    ] = False,
    dry_run: options.DryRun = False,
    yes: options.Yes = False,
) -> None:
    """Delete permanently from the database, history, index, vectors and backups."""
    _must_not_ask(call, yes, dry_run)

    with call.read() if dry_run else call.open() as hippo:

        def run(dry_run: bool) -> "Receipt":
            return hippo.erase(
                scope=call.scope,
                id=id,
                user=of_user,
                subject=subject,
                whole_space=whole_space,
                dry_run=dry_run,
            )

        if dry_run or not yes:
            planned = run(True)
            _answer(call, planned, "erased")
            if dry_run or not planned.ids:
                return
            _confirm_erasure(len(planned.ids))
        done = run(False)
    _answer(call, done, "erased", listed=yes)


def _confirm_erasure(count: int) -> None:
    """Ask for the number of items, so that a habitual yes erases nothing."""
    items = f"{count:,} {'item' if count == 1 else 'items'}"
    asked = f"This cannot be undone. Type {count} to erase {items} permanently"
    if typer.prompt(asked, err=True).strip() != str(count):
        terminal.error("the number does not match; nothing was erased.")
        raise typer.Exit(1)


@command(app, "expire", panel=PANEL)
def expire(call: Call) -> None:
    """Hide expired memories. (Recall already excludes them.)"""
    with call.open() as hippo:
        done = hippo.expire(scope=call.scope)
    _answer(call, done, "expired")
