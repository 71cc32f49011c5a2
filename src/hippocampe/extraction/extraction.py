"""Extract what is worth remembering from an exchange.

A language model proposes statements in one call; code decides which are stored. A statement must rest on words
of the user or a tool, be new, and be more than small talk, whatever the model answers. All statements of an
exchange are stored in one transaction with the end of the job, so a crash neither loses nor repeats them.
"""

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta

from sqlalchemy import Connection

from hippocampe.curation.rewording import Rewordings
from hippocampe.engine import model_calls
from hippocampe.engine.context import Context
from hippocampe.engine.corpus import Corpus
from hippocampe.engine.unit_of_work import UnitOfWork
from hippocampe.engine.vocabulary import Prepared
from hippocampe.engine.writer import Writer
from hippocampe.errors import InvalidInput, NotFound
from hippocampe.extraction.exchange import Exchange, messages_of, prompt_of, read_exchange, supports
from hippocampe.extraction.proposals import (
    ProposedStatements,
    are_still_known,
    draft_of,
    read_ids,
)
from hippocampe.ingest.remember import decide_and_store, embed_drafts
from hippocampe.language.prompts import prompt
from hippocampe.language.small_talk import reports_small_talk
from hippocampe.language.subjects import proper_names_in
from hippocampe.language.text import words
from hippocampe.retrieval import recall
from hippocampe.retrieval.request import RecallRequest
from hippocampe.store import job_runs, memories, turn_rows
from hippocampe.store.store import Store
from hippocampe.store.turn_rows import Turn
from hippocampe.types import Distilled, JobState, Memory, Recollection, Remembered, Scope
from hippocampe.updates.draft import Draft
from hippocampe.updates.judgement import judge
from hippocampe.validation import check_id

SOURCE = "extraction"
MAX_STATEMENTS = 20
"""Statements of one answer that are read: an exchange contains fewer."""
MAX_COMPARED = 5
"""Memories that a statement is compared with by meaning."""
NOT_RUNNING: tuple[JobState, ...] = ("waiting", "failed", "parked")
MAX_RUNS = 1_000
"""Runs among which a call by hand looks for the waiting run of its turn, newest first."""
FORGOTTEN_BEFORE = timedelta(hours=1)
"""Age of forgotten memories that an exchange does not store again: those forgotten from this long before it on,
since the exchange may be the one that asked to forget."""


class _ForgottenMeanwhile(Exception):
    """Memories were forgotten since the statements were compared with the forgotten ones."""


def extract(context: Context, turn_id: str, *, scope: Scope) -> Distilled:
    """Extract what is worth remembering from an exchange now, with the language model.

    With a model, this happens in the background after each `after_turn`. What is known already, what
    only the assistant said, and small talk are left out.

    Returns:
        The number of messages read, and what was stored, in order.

    Raises:
        NotFound: The space has no such turn, or it was forgotten.
        ModelUnavailable: No language model is configured, or none answered.
        InvalidAnswer: The answer of the model does not have the requested form.
        BudgetSpent: The background share of the daily budget is spent.
        InvalidInput: The id is not text.
    """
    return run(context, check_id(turn_id, name="turn_id"), space=scope.space)


def run(context: Context, turn_id: str, *, space: str, run_id: str | None = None) -> Distilled:
    """Extract from an exchange.

    Args:
        run_id: The run of the ledger to finish with it; None for a call by hand, which ends the waiting
            run of the turn.
    """
    corpus = context.corpus
    turn = _find_turn(corpus.store, turn_id, space)
    if turn is None:
        if run_id is None:
            raise NotFound(
                f"space {space!r} has no turn {turn_id!r}, or it was forgotten: take the id from after_turn."
            )
        return _finish(corpus.store, run_id, "the turn is gone")
    run_id = run_id or _waiting_run(corpus.store, turn)
    messages = messages_of(corpus.store, turn)
    chosen = corpus.settings.of(space)
    names = [*chosen.companion_names, *(each.author for each in messages if each.author)]
    if not any(supports(message, names) for message in messages):
        return _finish(corpus.store, run_id, "small talk", len(messages))
    while True:
        exchange = read_exchange(corpus, turn, messages)
        proposed = model_calls.ask(
            context,
            "extract",
            prompt("extraction/extract", chosen.language),
            prompt_of(corpus, exchange, chosen),
            ProposedStatements,
            space=space,
        )
        drafts = _drafts(corpus, exchange, proposed, names)
        done = _store_new_ones(context.writer, exchange, drafts, run_id)
        if done is not None:
            return done


def _find_turn(store: Store, turn_id: str, space: str) -> Turn | None:
    with store.read() as connection:
        turn = turn_rows.get(connection, space, [turn_id]).get(turn_id)
    return turn if turn is not None and turn.forgotten_at is None else None


def _waiting_run(store: Store, turn: Turn) -> str | None:
    """The waiting run that extracts the same turn, which a call by hand makes unnecessary."""
    with store.read() as connection:
        waiting = job_runs.find(
            connection, turn.space, job="extract", states=NOT_RUNNING, limit=MAX_RUNS
        )
    return next((run.id for run in waiting if run.payload.get("turn") == turn.id), None)


def _finish(store: Store, run_id: str | None, outcome: str, read: int = 0) -> Distilled:
    """End without a statement."""
    if run_id is not None:
        with store.write() as connection:
            job_runs.finish(connection, run_id, outcome, store.now())
    return Distilled(messages=read)


def _store_new_ones(
    writer: Writer, exchange: Exchange, drafts: Sequence[Draft], run_id: str | None
) -> Distilled | None:
    """Store the statements that are new; None as in `_store`."""
    corpus = writer.corpus
    while True:
        with corpus.store.read() as connection:
            gone = _just_forgotten(connection, exchange)
        new_drafts = _new_ones(corpus, exchange, drafts, gone)
        embedded = embed_drafts(corpus.vocabulary, new_drafts)
        with suppress(_ForgottenMeanwhile):
            return _store(writer, exchange, new_drafts, embedded, run_id, gone)


def _store(
    writer: Writer,
    exchange: Exchange,
    drafts: Sequence[Draft],
    embedded: Sequence[Prepared],
    run_id: str | None,
    gone: Sequence[Memory],
) -> Distilled | None:
    """Store the statements and end the run, in one transaction; None if the exchange is to be read again, since a
    memory that the model was shown was erased or forgotten meanwhile.

    Raises:
        _ForgottenMeanwhile: Memories beside `gone` were forgotten, which the statements may repeat.
    """
    turn, stored = exchange.turn, list[Remembered]()
    with writer.change() as change:
        # While the model answered, the turn may have been erased, or another runner may have stored it.
        now = turn_rows.get(change.connection, turn.space, [turn.id]).get(turn.id)
        run = job_runs.get(change.connection, turn.space, run_id) if run_id else None
        done = run is not None and run.state == "done"
        if now is not None and now.forgotten_at is None and not done:
            if not are_still_known(change.connection, exchange.known.values()):
                return None
            if drafts and _just_forgotten(change.connection, exchange) != gone:
                raise _ForgottenMeanwhile
            for draft, prepared in zip(drafts, embedded, strict=True):
                result = _store_one(writer.corpus, change, draft, prepared)
                if result is not None:
                    stored.append(result)
        if run_id is not None and not done:
            job_runs.finish(
                change.connection, run_id, f"{len(stored)} stored", writer.corpus.store.now()
            )
    return Distilled(messages=len(exchange.messages), remembered=tuple(stored))


def _store_one(
    corpus: Corpus, change: UnitOfWork, draft: Draft, prepared: Prepared
) -> Remembered | None:
    """Store a statement by the rules of `remember`; None if it is a repetition or cannot be stored."""
    found = memories.get(change.connection, draft.memory.space, draft.replaces)
    current = tuple(id for id in draft.replaces if id in found and found[id].current)
    draft = replace(draft, replaces=current)
    duplicate = judge(corpus, change, draft, prepared).duplicate
    # A known statement is not reinforced: it may quote an injection. A restated temporary state
    # has its expiry extended.
    if duplicate is not None and duplicate.expires_at is None:
        return None
    try:
        return decide_and_store(corpus, change, draft, prepared)
    except InvalidInput:
        return None


def _drafts(
    corpus: Corpus, exchange: Exchange, proposed: ProposedStatements, names: Sequence[str]
) -> list[Draft]:
    """The proposed statements that rest on words of the user or a tool, checked."""
    found: list[Draft] = []
    for each in proposed.statements[:MAX_STATEMENTS]:
        evidence = [
            exchange.messages[id] for id in read_ids(each.evidence) if id in exchange.messages
        ]
        resting = [message for message in evidence if supports(message, names)]
        if not resting or reports_small_talk(each.content, names=names):
            continue
        if _is_from_assistant_only(each.content, exchange):
            continue
        draft = draft_of(
            corpus,
            each,
            evidence=evidence,
            user=exchange.speaker,
            source=SOURCE,
            known=exchange.known,
            speakers=exchange.names,
        )
        if draft is not None:
            found.append(draft)
    return found


def _is_from_assistant_only(content: str, exchange: Exchange) -> bool:
    """Return whether a statement has a name that only the assistant used."""
    suggested, known = set[str](), set[str]()
    for message in exchange.messages.values():
        (suggested if message.role == "assistant" else known).update(words(message.content))
    for memory in exchange.known.values():
        known.update(words(memory.content))
    known.update(word for name in exchange.names for word in words(name))
    return not proper_names_in(content).isdisjoint(suggested - known)


def _new_ones(
    corpus: Corpus, exchange: Exchange, drafts: Sequence[Draft], gone: Sequence[Memory]
) -> list[Draft]:
    """The statements that do not reword a memory, a note, a forgotten memory or one another."""
    rewordings = Rewordings(corpus, exchange.turn.space, exchange.names)
    new_drafts: list[Draft] = []
    for draft in drafts:
        new = draft.memory
        compared, noted = [*gone, *(each.memory for each in new_drafts)], list[str]()
        if not draft.replaces:
            near = _nearest(corpus, new)
            compared += [*exchange.known.values(), *(each.memory for each in near if each.memory)]
            noted = [line for each in near if not each.memory for line in each.content.splitlines()]
        old = rewordings.repeated(new, compared)
        if old is None:
            wording = rewordings.read(new.content)
            if not any(rewordings.says_the_same(wording, rewordings.read(each)) for each in noted):
                new_drafts.append(draft)
        elif old.current and old.expires_at is not None:
            # A temporary state restated: keep the wording, extend the expiry.
            new_drafts.append(replace(draft, memory=replace(new, content=old.content)))
    return new_drafts


def _nearest(corpus: Corpus, new: Memory) -> list[Recollection]:
    """The memories and the pieces of notes that are closest to a statement."""
    found: list[Recollection] = []
    for collection in ("memory", "note"):
        scope = Scope(new.space, user=new.user)
        request = RecallRequest(scope, limit=MAX_COMPARED, collections=(collection,))
        found += recall.search(corpus, new.content, request)
    return found


def _just_forgotten(connection: Connection, exchange: Exchange) -> list[Memory]:
    since = exchange.turn.at - FORGOTTEN_BEFORE
    return memories.forgotten_since(connection, exchange.turn.space, since)
