"""Commands on messages, notes, imports and exports."""

import logging
import shutil
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any

import typer

from hippocampe.cli import terminal
from hippocampe.cli.call import Call, command, group, standard_input
from hippocampe.cli.from_verb import Override, add, execute, flag, of_verb, text
from hippocampe.cli.show import talk as show
from hippocampe.cli.show.layout import count, say
from hippocampe.config import OBSIDIAN_KEY
from hippocampe.errors import FolderInUse, InvalidInput, StoreMissing, UnreadableFile
from hippocampe.language.invisible import escaped

app = typer.Typer()
PANEL = "Talk"
add_talk = partial(add, app, panel=PANEL)


add_talk(
    "observe",
    "Store a message of an observed room (setting live_rooms), unless it names the companion.",
    lambda done: show.observed(
        done.result, done.call.scope.channel, done.hippo.settings(scope=done.call.scope).live_rooms
    ),
    overrides={"at": text("Time of the message.")},
)
add_talk(
    "digest",
    "Turn the messages of observed rooms into memories, or into turns without a language model.",
    lambda done: show.digested(done.result),
)
add_talk(
    "compact",
    "Summarise the oldest messages of --channel in the working history.",
    lambda done: show.compacted(done.result),
    examples=["compact --channel lobby"],
)


add_talk(
    "messages",
    "Show the latest messages, of --channel or of all channels, oldest first.",
    overrides={"live": None, "ids": None},
)


conversations_app = group(
    app, "conversations", "The talk by channel, day and person: list, read, show.", PANEL
)
add(
    conversations_app,
    "list",
    "Show the channels with talk, the most recent first.",
    lambda done: show.conversations(done.result, done.timezone),
    verb="conversations",
)
add(
    conversations_app,
    "read",
    "Show the exchanges of a channel, a person or a time, newest first.",
    lambda done: show.exchanges(done.result, done.timezone),
    verb="exchanges",
    examples=[
        "conversations read --of-channel David --since 2026-01-12 --until 2026-01-13",
        "conversations read --of-user owen --query tuba",
    ],
)
add(
    conversations_app,
    "show",
    "Show an exchange, with what was learnt from it and where it was given.",
    lambda done: show.exchange(done.result, done.timezone),
    verb="exchange",
    overrides={"id": text("The id of an exchange, as read prints it.", metavar="ID")},
)


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
    """Index your Markdown notes in --space, and list them; by default those of the configuration."""
    known = call.loaded.config
    configured = not (vault or obsidian) and bool(known.notes_folder or known.obsidian_url)
    if not configured and (vault is None) == (obsidian is None):
        raise typer.BadParameter("give either --vault or --obsidian.")
    # Opening reads the notes too, and would log the error that this command reports.
    logging.getLogger("hippocampe").addHandler(logging.NullHandler())
    if configured:
        config = replace(known, background=False)
        call = replace(call, space=known.notes_space)
    else:
        config = replace(
            call.config,
            notes_folder=vault,
            notes_ignored=tuple(ignore or ()),
            notes_space=call.space,
            obsidian_url=obsidian,
            obsidian_certificate=certificate,
            obsidian_insecure=insecure,
        )
    try:
        # Not through a process that was started by itself, which has another vault or none.
        with call.own(config) as hippo:
            found = hippo.notes(scope=call.scope, refresh=True)
    except FolderInUse:
        with call.open(config) as hippo:
            found = hippo.notes(scope=call.scope, refresh=True)
    call.answer(found, lambda: show.notes(found, call.config.timezone))


add_talk(
    "search-text",
    "Find the messages that contain all the words, newest first.",
    overrides={
        "query": text('Words, "a phrase", or a prefix*.'),
        "channel": flag(
            "--of-channel", text="Only from this channel, instead of that of --channel."
        ),
    },
    examples=["search-text '\"spare key\" kang*' --of-user owen"],
)


@of_verb(
    app,
    "import",
    verb="import_from",
    panel=PANEL,
    # A dry run shows more than that of the verb.
    overrides={
        "path": text("The file; notes may be a folder; - is standard input."),
        "one_space": None,
        "dry_run": None,
    },
    examples=[
        'import "WhatsApp Chat with David.txt"',
        "import conversations.json --format chatgpt",
        "import mem0.json --dry-run",
    ],
)
def import_file(
    call: Call,
    *,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Show what would come in; store nothing.")
    ] = False,
    **arguments: Any,
) -> None:
    """Import talk, memories of another program, or an export of Hippocampe. A file imported again adds nothing twice."""
    if str(arguments["path"]) == "-":
        with TemporaryDirectory() as folder:
            copy = Path(folder, "import")
            with copy.open("wb") as target:
                shutil.copyfileobj(standard_input().buffer, target)
            try:
                _import(call, dry_run, arguments | {"path": str(copy)})
            except (InvalidInput, UnreadableFile) as exc:
                raise type(exc)(str(exc).replace(str(copy), "stdin")) from exc
    else:
        _import(call, dry_run, arguments)


def _import(call: Call, dry_run: bool, arguments: Mapping[str, Any]) -> None:
    if dry_run:
        from hippocampe.hippocampe import preview_import

        found = preview_import(**arguments)
        # A new folder is not created to find nothing in it.
        with suppress(StoreMissing), call.read() as hippo:
            done = execute(call, hippo, "import_from", {**arguments, "dry_run": True})
            found = replace(found, known=done.result.known)
        call.answer(found, lambda: show.previewed(found, call.config.timezone, call.scope.user))
        return
    with call.of_verb("import_from") as hippo:
        done = execute(call, hippo, "import_from", arguments)
    call.answer(done.result, lambda: show.imported(done.result))
    if done.result.problems and not done.result.read:
        raise typer.Exit(1)


@of_verb(
    app,
    "export",
    verb="export_to",
    panel=PANEL,
    overrides={
        "path": text("The file to write; - is standard output."),
        "format": Override(
            default=None,
            text="hippocampe (JSON Lines), or okf: a zip of Markdown files for Obsidian, in Open Knowledge "
            "Format. Default: by the ending of the file, .zip or another.",
            values=("hippocampe", "okf"),
        ),
    },
    examples=["export backup.jsonl --space work", "export vault.zip", "export - --of-user ann"],
)
def export(
    call: Call, *, path: Path, format: str | None, overwrite: bool, user: str | None = None
) -> None:
    """Write the whole space, or what one user said, as JSON Lines or Markdown, which `import` reads back."""
    format = format or ("okf" if path.suffix.lower() == ".zip" else "hippocampe")
    if str(path) != "-":
        with call.read() as hippo:
            written = hippo.export_to(
                path, scope=call.scope, format=format, user=user, overwrite=overwrite
            )
        noun = "file" if format == "okf" else "line"
        call.answer(
            {"path": str(path), f"{noun}s": written},
            lambda: say("{lines} written to {path}", lines=count(written, noun), path=path),
        )
        return
    if call.json:
        raise typer.BadParameter("- and --json both write to standard output: use one of them.")
    if format == "okf" and sys.stdout.isatty():
        raise typer.BadParameter(
            "okf is a zip, which a terminal cannot show: name a file in place of -."
        )
    with TemporaryDirectory() as folder:
        copy = Path(folder, "export")
        with call.read() as hippo:
            hippo.export_to(copy, scope=call.scope, format=format, user=user)
        with copy.open("rb") as source, terminal.writing():
            if format == "okf":
                shutil.copyfileobj(source, sys.stdout.buffer)
            else:
                # JSON has these characters only inside strings, so each line stays valid.
                sys.stdout.buffer.writelines(
                    escaped(str(line, "utf-8")).encode() for line in source
                )
