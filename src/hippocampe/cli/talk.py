"""Commands on messages, notes, imports and exports."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from hippocampe.cli import options, terminal
from hippocampe.cli.call import Call, command
from hippocampe.cli.show import talk as show
from hippocampe.cli.show.layout import count
from hippocampe.config import OBSIDIAN_KEY

app = typer.Typer()
PANEL = "Talk"
FORMATS = ("jsonl", "whatsapp", "chatgpt", "claude", "telegram", "hippocampe")


@command(app, "observe", panel=PANEL)
def observe(
    call: Call,
    content: Annotated[str, typer.Argument(help="The message.")],
    *,
    at: Annotated[
        str | None, typer.Option("--at", metavar="TIME", help="Time of the message, ISO 8601.")
    ] = None,
    external_id: Annotated[
        str | None,
        typer.Option("--external-id", help="Its id in the source; repeats are stored once."),
    ] = None,
) -> None:
    """Store a message of an observed room (setting live_rooms), unless it names the companion."""
    with call.open() as hippo:
        message = hippo.observe(
            content, scope=call.scope, at=call.moment(at), external_id=external_id
        )
        rooms = hippo.settings(scope=call.scope).live_rooms
    call.answer(message, lambda: show.observed(message, call.scope.channel, rooms))


@command(app, "digest", panel=PANEL)
def digest(call: Call) -> None:
    """Turn the messages of observed rooms into memories, or into turns without a language model."""
    with call.open() as hippo:
        done = hippo.digest(scope=call.scope)
    call.answer(done, lambda: show.digested(done))


@command(app, "compact", panel=PANEL, examples=["compact --channel lobby"])
def compact(call: Call) -> None:
    """Summarise the oldest messages of --channel in the working history."""
    with call.open() as hippo:
        done = hippo.compact(scope=call.scope)
    call.answer(done, lambda: show.compacted(done))


@command(app, "messages", panel=PANEL)
def messages(
    call: Call,
    *,
    since: options.Since = None,
    until: options.Until = None,
    working: Annotated[
        bool, typer.Option("--working", help="Only exchanges that are not compacted yet.")
    ] = False,
    limit: options.Limit = 20,
) -> None:
    """Show the latest messages, of --channel or of all channels, oldest first."""
    with call.read() as hippo:
        found = hippo.messages(
            scope=call.scope,
            since=call.moment(since),
            until=call.moment(until),
            working=working,
            limit=limit,
        )
    call.answer(found, lambda: show.messages(found, call.config.timezone))


@command(
    app,
    "notes",
    panel=PANEL,
    examples=[
        "notes --vault ~/Vault --ignore Archives",
        "notes --obsidian https://127.0.0.1:27124 --certificate obsidian.crt",
    ],
)
def notes(
    call: Call,
    *,
    vault: Annotated[
        Path | None,
        typer.Option("--vault", envvar="HIPPOCAMPE_VAULT", help="An Obsidian vault, as a folder."),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option("--ignore", metavar="FOLDER", help="A folder to skip; repeatable."),
    ] = None,
    obsidian: Annotated[
        str | None,
        typer.Option(
            "--obsidian",
            metavar="URL",
            envvar="HIPPOCAMPE_OBSIDIAN_URL",
            help="The URL of the Local REST API of a running Obsidian. The key comes from "
            f"{OBSIDIAN_KEY}.",
        ),
    ] = None,
    certificate: Annotated[
        str | None,
        typer.Option(
            "--certificate",
            envvar="HIPPOCAMPE_OBSIDIAN_CERTIFICATE",
            help="Its certificate: a PEM file, or sha256: and a fingerprint.",
        ),
    ] = None,
    insecure: Annotated[bool, typer.Option("--insecure", help="Accept any certificate.")] = False,
) -> None:
    """Index your Markdown notes in --space, and list them."""
    if (vault is None) == (obsidian is None):
        raise typer.BadParameter("give either --vault or --obsidian.")
    config = replace(
        call.config,
        notes_folder=vault,
        notes_ignored=tuple(ignore or ()),
        notes_space=call.space,
        obsidian_url=obsidian,
        obsidian_certificate=certificate,
        obsidian_insecure=insecure,
    )
    with call.open(config) as hippo:
        found = hippo.notes(scope=call.scope, refresh=True)
    call.answer(found, lambda: show.notes(found, call.config.timezone))


@command(
    app, "search-text", panel=PANEL, examples=["search-text '\"spare key\" kang*' --of-user owen"]
)
def search_text(
    call: Call,
    query: Annotated[str, typer.Argument(help='Words, "a phrase", or a prefix*.')],
    *,
    of_user: options.OfUser = None,
    of_channel: options.OfChannel = None,
    since: options.Since = None,
    until: options.Until = None,
    limit: options.Limit = 20,
) -> None:
    """Find the messages that contain all the words, newest first."""
    with call.read() as hippo:
        found = hippo.search_text(
            query,
            scope=call.scope,
            user=of_user,
            channel=of_channel,
            since=call.moment(since),
            until=call.moment(until),
            limit=limit,
        )
    call.answer(found, lambda: show.messages(found, call.config.timezone))


@command(
    app,
    "import",
    panel=PANEL,
    examples=[
        'import "WhatsApp Chat with David.txt" --channel whatsapp',
        "import conversations.json --format chatgpt",
    ],
)
def import_file(
    call: Call,
    path: Annotated[Path, typer.Argument(help="The file.")],
    *,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help=", ".join(FORMATS),
            show_default="detected",
            autocompletion=lambda: list(FORMATS),
        ),
    ] = None,
    timezone: Annotated[
        str, typer.Option("--timezone", help="Timezone of times without an offset.")
    ] = "Europe/Paris",
) -> None:
    """Import talk, or an export of Hippocampe. Importing a file again adds nothing twice."""
    with call.open() as hippo, terminal.progress() as progress:
        done = hippo.import_from(
            path, scope=call.scope, format=format, timezone=timezone, progress=progress
        )
    call.answer(done, lambda: show.imported(done))


@command(app, "export", panel=PANEL, examples=["export backup.jsonl --space work"])
def export(
    call: Call,
    path: Annotated[Path, typer.Argument(help="The file to write; - is standard output.")],
    *,
    force: options.Force = False,
) -> None:
    """Write the whole space as JSON Lines, which `import` reads back."""
    if str(path) != "-":
        with call.read() as hippo:
            lines = hippo.export_to(path, scope=call.scope, overwrite=force)
        call.answer(
            {"path": str(path), "lines": lines}, lambda: f"wrote {count(lines, 'line')} to {path}"
        )
        return
    if call.json:
        raise typer.BadParameter("- and --json both write to standard output: use one of them.")
    with TemporaryDirectory() as folder:
        copy = Path(folder, "export.jsonl")
        with call.read() as hippo:
            hippo.export_to(copy, scope=call.scope)
        with copy.open("rb") as source:
            shutil.copyfileobj(source, sys.stdout.buffer)
