"""Commands for what was said and noted: messages in, messages found, files in and out, notes."""

import shutil
import sys
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated

import typer

from hippocampe.cli import options, show, terminal
from hippocampe.cli.call import Call, command
from hippocampe.config import OBSIDIAN_KEY

app = typer.Typer()
PANEL = "Talk"
FORMATS = ("jsonl", "whatsapp", "chatgpt", "claude", "telegram", "hippocampe")


@command(app, "observe", panel=PANEL)
def observe(
    call: Call,
    content: Annotated[str, typer.Argument(help="The message.")],
    *,
    at: Annotated[str | None, typer.Option("--at", metavar="TIME", help="When, ISO 8601.")] = None,
    external_id: Annotated[
        str | None, typer.Option("--external-id", help="Its id where it was said.")
    ] = None,
) -> None:
    """Keep a message of an observed room as live."""
    with call.open() as hippo:
        message = hippo.observe(
            content, scope=call.scope, at=call.moment(at), external_id=external_id
        )
    call.answer(message, lambda: show.messages([message], call.config.timezone))


@command(app, "messages", panel=PANEL)
def messages(
    call: Call,
    *,
    since: options.Since = None,
    until: options.Until = None,
    limit: options.Limit = 20,
) -> None:
    """Show the latest messages, of --channel or of all, oldest first."""
    with call.read() as hippo:
        found = hippo.messages(
            scope=call.scope, since=call.moment(since), until=call.moment(until), limit=limit
        )
    call.answer(found, lambda: show.messages(found, call.config.timezone))


@command(app, "notes", panel=PANEL)
def notes(
    call: Call,
    *,
    vault: Annotated[
        Path | None,
        typer.Option("--vault", envvar="HIPPOCAMPE_VAULT", help="An Obsidian vault, as a folder."),
    ] = None,
    ignore: Annotated[
        list[str] | None,
        typer.Option("--ignore", metavar="FOLDER", help="A folder to leave out; repeatable."),
    ] = None,
    obsidian: Annotated[
        str | None,
        typer.Option(
            "--obsidian",
            metavar="URL",
            envvar="HIPPOCAMPE_OBSIDIAN_URL",
            help="A running Obsidian: the URL of its Local REST API. Its key is read from "
            f"{OBSIDIAN_KEY}.",
        ),
    ] = None,
    certificate: Annotated[
        str | None,
        typer.Option(
            "--certificate",
            envvar="HIPPOCAMPE_OBSIDIAN_CERTIFICATE",
            help="Its certificate: a PEM file, or sha256: and the fingerprint.",
        ),
    ] = None,
    insecure: Annotated[
        bool, typer.Option("--insecure", help="Take any certificate of Obsidian.")
    ] = False,
) -> None:
    """Read your own notes, make them searchable in --space, and list them with their tags."""
    if (vault is None) == (obsidian is None):
        raise typer.BadParameter("say where the notes are, with either --vault or --obsidian.")
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


@command(app, "search-text", panel=PANEL)
def search_text(
    call: Call,
    query: Annotated[
        str, typer.Argument(help='Words; "a phrase" matches as it is, word* by its beginning.')
    ],
    *,
    of_user: options.OfUser = None,
    of_channel: options.OfChannel = None,
    since: options.Since = None,
    until: options.Until = None,
    limit: options.Limit = 20,
) -> None:
    """Find the messages that hold all the words, newest first."""
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


@command(app, "import", panel=PANEL)
def import_file(
    call: Call,
    path: Annotated[Path, typer.Argument(help="The file.")],
    *,
    format: Annotated[
        str | None,
        typer.Option(
            "--format",
            help=", ".join(FORMATS),
            show_default="told from the file",
            autocompletion=lambda: list(FORMATS),
        ),
    ] = None,
    timezone: Annotated[
        str, typer.Option("--timezone", help="Of times written without one.")
    ] = "Europe/Paris",
) -> None:
    """Read real talk, or an export of ours; what is already there is not added twice."""
    with call.open() as hippo, terminal.progress() as progress:
        done = hippo.import_from(
            path, scope=call.scope, format=format, timezone=timezone, progress=progress
        )
    call.answer(done, lambda: show.imported(done))


@command(app, "export", panel=PANEL)
def export(
    call: Call,
    path: Annotated[Path, typer.Argument(help="Where to; - is standard output.")],
    *,
    force: options.Force = False,
) -> None:
    """Write everything of the space as JSON Lines; `import` reads it back."""
    if str(path) != "-":
        with call.read() as hippo:
            lines = hippo.export_to(path, scope=call.scope, overwrite=force)
        call.answer(
            {"path": str(path), "lines": lines}, lambda: f"{show.count(lines, 'line')} in {path}"
        )
        return
    if call.json:
        raise typer.BadParameter("- and --json both want standard output: leave out one.")
    with TemporaryDirectory() as folder:
        copy = Path(folder, "export.jsonl")
        with call.read() as hippo:
            hippo.export_to(copy, scope=call.scope)
        with copy.open("rb") as source:
            shutil.copyfileobj(source, sys.stdout.buffer)
