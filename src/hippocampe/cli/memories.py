"""Commands on memories, facts and reviews, and lists of spaces, users and subjects."""

import codecs
import json
import re
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Annotated, Any

import typer

from hippocampe.cli import terminal
from hippocampe.cli.call import Call, command, group, read_content
from hippocampe.cli.from_verb import Override, add, of_verb, text
from hippocampe.cli.show import memories as show
from hippocampe.cli.show.layout import say
from hippocampe.errors import InvalidInput, NotFound, UnreadableFile
from hippocampe.types import ASSOCIATIONS, Remembered

app = typer.Typer()
PANEL = "Memories"
facts_app = group(app, "facts", "Memories under a key: list, set, delete.", PANEL)
reviews_app = group(
    app, "reviews", "Similar memories that no rule could decide on: list, settle.", PANEL
)
COLLECTIONS = ("memory", "summary", "turn", "live", "note")
"""Default collections of the command `recall`, which finds talk too."""
TTL = "Lifetime: 1h, 7d, 2w, or never"
PAIRS = text(
    "Your own data: a pair or a JSON object; repeatable. Numbers, true, false, null and quoted values are "
    "parsed as JSON, anything else is text."
)
BY_HAND = text("", default="deleted by hand")
_REFUSED = re.compile(
    r"item (?P<number>\d+): (?P<reason>.*) (No item was|Items 1 to (?P<stored>\d+) are) stored\.",
    re.DOTALL,
)
"""The error of `remember_many` for an item that it refuses."""
add_memories = partial(add, app, panel=PANEL)


@of_verb(
    app,
    "remember",
    panel=PANEL,
    overrides={
        "content": text("The statement; - reads it from standard input.", default=None),
        "ttl": text(f"{TTL}. By default that of the category, or never."),
        "replaces": text("A memory it supersedes", metavar="ID"),
        "evidence": text("A message that supports it", metavar="ID"),
        "metadata": PAIRS,
    },
    examples=[
        'remember "David moved to Toulouse" --subject david',
        'remember "Standup is at 9" --type decision --ttl 30d',
        "remember --file notes.jsonl",
    ],
)
def remember(
    call: Call,
    *,
    content: str | None,
    file: Annotated[
        str | None,
        typer.Option(
            "--file",
            metavar="PATH",
            help="Statements, one per line: text, or a JSON object with `content` and any of these "
            "options; - reads standard input. Options given here are the defaults of all lines.",
        ),
    ] = None,
    **details: Any,
) -> None:
    """Store a statement, or a file of statements. A corrected memory stays in the history."""
    if (content is None) == (file is None):
        raise typer.BadParameter("give either a statement or --file.")
    if file is None:
        with call.open() as hippo:
            result = hippo.remember(read_content(content or ""), scope=call.scope, **details)
            replaced = [hippo.get(id, scope=call.scope) for id in result.replaced]
        call.answer(result, lambda: show.remembered(result, replaced))
    elif details.keys() & {"key", "replaces"}:
        raise typer.BadParameter(
            "--key and --replaces apply to one statement and cannot be used with --file."
        )
    else:
        _remember_file(call, file, details)


def _remember_file(call: Call, file: str, details: dict[str, Any]) -> None:
    from hippocampe.validation import MAX_MANY

    items = [details | item for item in _statements(file)]
    for item in items:
        if isinstance(item.get("occurred_at"), str):
            # The library refuses it with the number of the item.
            with suppress(InvalidInput):
                item["occurred_at"] = call.moment(item["occurred_at"])
    with call.open() as hippo, terminal.progress() as progress:
        results: list[Remembered] = []
        for start in range(0, len(items), MAX_MANY):
            some = items[start : start + MAX_MANY]
            try:
                results += hippo.remember_many(some, scope=call.scope, progress=progress)
            except (InvalidInput, NotFound) as exc:
                raise _of_file(exc, start) from exc
    call.answer(results, lambda: show.remembered_many(results))


def _of_file(error: InvalidInput | NotFound, before: int) -> InvalidInput | NotFound:
    """An error of `remember_many` on a later part of a file, with the numbers of the whole file."""
    if not before or (found := _REFUSED.fullmatch(str(error))) is None:
        return error
    number, stored = before + int(found["number"]), before + int(found["stored"] or 0)
    reason = found["reason"]
    return type(error)(f"item {number}: {reason} Items 1 to {stored} are stored.")


def _statements(file: str) -> list[dict[str, Any]]:
    """Parse a file, or standard input for `-`, into items of `remember_many`.

    Each line is a JSON object or the text of a statement. Empty lines are skipped.

    Raises:
        InvalidInput: A line that starts with `{` is not valid JSON.
        UnreadableFile: The file cannot be read, or is not text.
    """
    try:
        text = read_content("-") if file == "-" else _text_of(Path(file).read_bytes())
    except OSError as exc:
        raise UnreadableFile(f"cannot read {file}: {exc.strerror or exc}.") from exc
    except UnicodeDecodeError as exc:
        raise UnreadableFile(f"cannot read {file}: it is no text in UTF-8. Save it so.") from exc
    items: list[dict[str, Any]] = []
    for number, line in enumerate(text.split("\n"), 1):
        statement = line.strip()
        if not statement.startswith("{"):
            items += [{"content": statement}] if statement else []
            continue
        try:
            items.append(json.loads(statement))
        except (ValueError, RecursionError) as exc:
            raise InvalidInput(
                f"line {number} starts with {{ but is not a JSON object. Nothing was stored."
            ) from exc
    return items


def _text_of(content: bytes) -> str:
    """Decode UTF-8, or UTF-16 as PowerShell writes it."""
    utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    return content.decode("utf-16" if utf16 else "utf-8-sig")


add_memories(
    "recall",
    "Find memories, talk and notes relevant to a question, best first.",
    lambda done: show.recollections(done.result, timezone=done.timezone, took_ms=done.took_ms),
    overrides={
        "collections": text("Collection to search", default=COLLECTIONS),
        "explain": text("Show the reasons for each score."),
    },
    examples=[
        'recall "where does David live?" --explain',
        'recall "the cabin in Gavarnie" --collection turn --since 2026-01-01',
    ],
)


@of_verb(
    app,
    "list",
    verb="memories",
    panel=PANEL,
    overrides={"cursor": text("Continue a listing; repeat its other options.")},
    examples=[
        "list --type decision --since 2026-01-01",
        "list --state all --order importance -n 20",
    ],
)
def list_memories(call: Call, **chosen: Any) -> None:
    """List memories page by page. Times refer to when they were stored."""
    with call.read() as hippo:
        page = hippo.memories(scope=call.scope, **chosen)
    call.answer(page, lambda: show.memories(page.items, call.config.timezone))
    if page.next_cursor and not call.json:
        # Not wrapped, so that it can be copied.
        typer.echo("\n" + say("There are more: add --cursor {cursor}", cursor=page.next_cursor))


@of_verb(
    app,
    "edit",
    panel=PANEL,
    overrides={
        "content": text("The statement."),
        "ttl": text(f"{TTL} to remove it."),
        "occurred_at": text("When it happened."),
        "metadata": PAIRS,
    },
    examples=['edit ID --content "David lives in Lyon"', "edit ID --importance 0.9 --ttl never"],
)
def edit(call: Call, *, id: str, **changes: Any) -> None:
    """Change fields of a current memory in place.

    Metadata is replaced as a whole; {} removes it.
    """
    if not changes:
        raise typer.BadParameter("give a field to change, for example --content or --importance.")
    with call.open() as hippo:
        changed = hippo.edit(id, scope=call.scope, **changes)
    call.answer(changed, lambda: show.memory(changed, call.config.timezone))


add_memories(
    "delete",
    "Forget a memory or a turn of talk: recall no longer finds it. `restore` undoes it.",
    lambda done: show.changed("forgotten", done.result),
    overrides={"reason": BY_HAND},
)
add_memories(
    "restore",
    "Make a forgotten, expired or superseded memory, or a forgotten turn, current again.",
    lambda done: show.changed("restored", done.result),
)
add_memories(
    "associate",
    "Associate one memory with another.",
    lambda done: show.associations([done.result]),
    overrides={
        "source_id": text("The id of a memory.", metavar="ID"),
        "target_id": text("The id of the other one.", metavar="ID"),
        "kind": Override(values=ASSOCIATIONS),
        "reason": text("Why."),
    },
    examples=['associate ID ID caused_by --reason "the storm"'],
)
add_memories(
    "neighbours",
    "Show a memory, its neighbours and their associations.",
    lambda done: show.graph(done.result[0], done.result[1], done.timezone),
    overrides={"depth": text("Maximum distance in associations, 1 to 5.")},
    as_json=lambda done: dict(zip(("memories", "associations"), done.result, strict=True)),
)


@command(facts_app, "list")
def list_facts(
    call: Call, key: Annotated[str | None, typer.Argument(help="Only this key.")] = None
) -> None:
    """Show all facts, or one."""
    with call.read() as hippo:
        found = hippo.facts(scope=call.scope)
    if key is not None:
        if key not in found:
            raise NotFound(
                f"space {call.scope.space!r} has no fact {key!r}: take keys from the list of facts."
            )
        found = {key: found[key]}
    call.answer(found, lambda: show.facts(found))


add(
    facts_app,
    "set",
    "Set a fact. The old value stays in the history.",
    lambda done: show.remembered(
        done.result, [done.hippo.get(id, scope=done.call.scope) for id in done.result.replaced]
    ),
    verb="set_fact",
    overrides={
        "key": text("Its name."),
        "value": Override(text="Its value; - reads standard input.", parse=read_content),
    },
    examples=["facts set user_name Mickael"],
)
add(
    facts_app,
    "delete",
    "Forget a fact.",
    lambda done: show.changed("forgotten", done.result),
    verb="delete_fact",
    overrides={"key": text("Its name."), "reason": BY_HAND},
)
add(
    reviews_app,
    "list",
    "Show the pairs to review, likeliest first.",
    lambda done: show.reviews(done.result),
    verb="reviews",
)
add(
    reviews_app,
    "settle",
    "Decide on a pair and remove it from the list.",
    lambda done: "settled",
    overrides={
        "id": text("The id of a memory, as list prints it."),
        "other_id": text("The id of the other one.", metavar="ID"),
        "keep": text("The memory that supersedes the other; by default both stay.", metavar="ID"),
    },
    examples=["reviews settle ID OTHER_ID --keep ID"],
    as_json=lambda done: {
        "settled": [done.arguments["id"], done.arguments["other_id"]],
        "kept": done.arguments.get("keep"),
    },
)
