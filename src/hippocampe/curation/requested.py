"""Store an exchange in which a user asks to forget something, and hide what was asked for."""

import hashlib
import logging
from collections.abc import Iterable, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any, cast

from hippocampe.curation.forget import hide_found
from hippocampe.curation.turns import Turns
from hippocampe.engine import backlog
from hippocampe.engine.context import Context
from hippocampe.errors import IndexUnavailable
from hippocampe.ingest import conversation
from hippocampe.ingest.conversation import Said
from hippocampe.language.small_talk import is_small_talk
from hippocampe.language.text import without_lone_surrogates
from hippocampe.retrieval import requested
from hippocampe.retrieval.requested import Asked
from hippocampe.store import audits, message_rows, turn_rows
from hippocampe.store.store import Store
from hippocampe.store.turn_rows import Turn
from hippocampe.types import MAX_LABEL_CHARACTERS, Forgetting, ReceiptItem, Scope
from hippocampe.validation import clean_text

log = logging.getLogger("hippocampe")
REST = "/rest"
"""Suffix of the external id of what a message says beside its request."""
MAX_DONE = 1_000
"""Most entries of the audit log that are searched for what was restored since a request."""


def after_turn(context: Context, turns: Turns, said: Said) -> str:
    """Store an exchange; if its message asks to forget something, hide it, and the exchange too.

    A request that waits for the user is stored as it is, but no statement is extracted from it. What a message
    says beside its request is a turn of its own. A repeated exchange completes what an interruption left, and hides
    nothing newer. The result and the errors are those of `Hippocampe.after_turn`.
    """
    given = (said.user_message, said.reply, said.tool_results)
    message, reply, results = map(_readable, given)
    said = replace(said, user_message=message, reply=reply, tool_results=results)
    scope = said.scope
    request = _request(context, message, scope)
    asked = _plan(context, request, scope)
    reason = None
    if asked is not None and not asked.waits:
        reason = f"forgotten: {asked.topic or 'what was just said'}"
    stored = _stored(context.corpus.store, said.external_id, scope) if reason else None
    turn_id = conversation.after_turn(context, said, extracted=asked is None, forgotten=reason)
    if asked is None or reason is None:
        return turn_id
    items = (
        asked.items
        if stored is None
        else _until(context.corpus.store, scope.space, stored.forgotten_at, asked.items)
    )
    if items or stored is None:

        def search() -> Sequence[ReceiptItem]:
            return _items(context, request, scope) if stored is None else ()

        hide_found(context, turns, items, scope, reason, search)
    rest = _rest(context, request, scope)
    if not rest:
        return turn_id
    id = said.external_id and _rest_id(said.external_id)
    beside = Said(rest, None, scope, said.assistant, said.at, external_id=id)
    return conversation.after_turn(context, beside)


def _stored(store: Store, external_id: str | None, scope: Scope) -> Turn | None:
    """The turn of an exchange that was stored before; None if it is new."""
    if external_id is None:
        return None
    clean_text(external_id, what="external_id", limit=MAX_LABEL_CHARACTERS)
    space, channel = scope.space, scope.channel or ""
    with store.read() as connection:
        id = message_rows.turn_of_external_id(connection, space, channel, external_id)
        return turn_rows.get(connection, space, [id]).get(id) if id else None


def _until(
    store: Store, space: str, end: datetime | None, items: Iterable[ReceiptItem]
) -> list[ReceiptItem]:
    """The items that have not been said, learnt, changed or restored after a time; none without one."""
    if end is None:
        return []
    with store.read() as connection:
        done = audits.find(connection, space, since=end, limit=MAX_DONE)
    restored = {id for each in done if each.action == "restore" for id in each.detail["ids"]}
    return [
        each
        for each in items
        if each.id not in restored and (each.memory.updated_at if each.memory else each.at) <= end
    ]


def _rest_id(external_id: str) -> str:
    """The external id of the rest: that of the exchange, hashed if it is too long, with a suffix."""
    if len(external_id + REST) > MAX_LABEL_CHARACTERS:
        external_id = hashlib.sha256(external_id.encode()).hexdigest()
    return external_id + REST


def _readable(said: Any) -> Any:
    """Replace the halves of emoji that a program left when it cut or streamed a text, so that the rest is stored."""
    if isinstance(said, str):
        return without_lone_surrogates(said)
    if isinstance(said, list | tuple):
        return list(map(_readable, cast("Sequence[Any]", said)))
    return said


def _request(context: Context, message: object, scope: Scope) -> Asked | None:
    return requested.read(context.corpus, message, scope) if isinstance(message, str) else None


def _plan(context: Context, asked: Asked | None, scope: Scope) -> Forgetting | None:
    corpus = context.corpus
    if asked is None:
        return None
    backlog.catch_up_with_talk(context.writer)
    try:
        return requested.plan(corpus, asked, scope)
    except IndexUnavailable as exc:
        log.warning("a request to forget could not be served: %s", exc)
        return None


def _items(context: Context, request: Asked | None, scope: Scope) -> Sequence[ReceiptItem]:
    """The items of a request that needs no confirmation, as they are now."""
    asked = _plan(context, request, scope)
    return () if asked is None or asked.waits else asked.items


def _rest(context: Context, asked: Asked | None, scope: Scope) -> str:
    """The rest of a message with a request, which its confirmation hides too; empty for small talk."""
    rest = "" if asked is None else asked.request.rest
    names = context.corpus.settings.of(scope.space).companion_names
    return "" if is_small_talk(rest, names=names) else rest
