"""Settle pairs of memories that no rule could decide, with a language model.

The model gives one verdict per pair; code checks it and applies it like a person's decision, with the
model and its reason in the history. A pair whose verdict fails the check is left to a person. No pair is sent
twice: after `restore` a person decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from hippocampe.curation import associate
from hippocampe.curation.rewording import Rewordings
from hippocampe.engine import model_calls
from hippocampe.engine.context import Context
from hippocampe.engine.corpus import Corpus
from hippocampe.engine.unit_of_work import UnitOfWork
from hippocampe.engine.vocabulary import Prepared
from hippocampe.errors import InvalidInput
from hippocampe.ingest.draft import make_draft
from hippocampe.ingest.remember import decide_and_store, embed_drafts
from hippocampe.language.datetimes import as_zone
from hippocampe.language.equality import equality_digest
from hippocampe.language.prompts import prompt
from hippocampe.language.sanitize import quote, quote_label
from hippocampe.language.secrets import mask
from hippocampe.language.text import cut
from hippocampe.store import associations, memories
from hippocampe.store.driver import parts
from hippocampe.store.store import Store
from hippocampe.types import Association, Memory, Review, Scope, Settings
from hippocampe.updates.draft import Draft
from hippocampe.updates.judgement import stays_former
from hippocampe.validation import MAX_EVIDENCE

BATCH = 20
"""Pairs per call of the model."""
SOURCE = "settlement"
MAX_CHARACTERS = 1_000
"""Characters shown of a statement."""
MAX_REASON = 200
"""Characters to which the model's reason is cut."""


@dataclass
class Verdict:
    """The model's verdict on a pair."""

    pair: str
    verdict: str
    keep: str | None = None
    content: str | None = None
    reason: str | None = None


@dataclass
class Verdicts:
    """One verdict for each pair."""

    verdicts: list[Verdict] = field(default_factory=list[Verdict])


@dataclass(frozen=True, slots=True)
class _Pair:
    """Two current memories to settle, the older one first.

    Attributes:
        older: The one that was stored first.
        newer: The other one.
        rule: Why they are listed.
    """

    older: Memory
    newer: Memory
    rule: str

    @property
    def ids(self) -> list[str]:
        """Both ids."""
        return [self.older.id, self.newer.id]


@dataclass(frozen=True, slots=True)
class _Decided:
    """A checked verdict: `survivor` replaces the other memory, `merged` replaces both, or both stay.

    With `former`, recall still finds the replaced one, for the facts that the survivor lacks.
    """

    pair: _Pair
    reason: str
    survivor: Memory | None = None
    merged: Draft | None = None
    former: bool = False


def settle_reviews(context: Context, *, space: str) -> int:
    """Settle the pairs of the review list that no model has judged yet.

    Each batch is applied in one transaction; a failure keeps the batches before it.

    Returns:
        The number of settled pairs. The others stay on the review list for a person.

    Raises:
        ModelUnavailable: There are pairs, and no model is configured or none answered.
        InvalidAnswer: An answer does not have the requested form.
        BudgetSpent: The background share of the daily budget is spent.
    """
    waiting = _pairs_waiting(context.corpus.store, space)
    return sum(_settle_batch(context, space, batch) for batch in parts(waiting, BATCH))


def _settle_batch(context: Context, space: str, batch: Sequence[_Pair]) -> int:
    """Ask about some pairs and apply the verdicts; return how many were settled."""
    corpus = context.corpus
    chosen = corpus.settings.of(space)
    answer = model_calls.ask(
        context,
        "settle",
        prompt("curation/settle", chosen.language),
        "\n".join(_shown(number, pair, chosen) for number, pair in enumerate(batch, 1)),
        Verdicts,
        space=space,
    )
    model = context.language_model
    assert model is not None
    verdicts = {each.pair.strip().strip("[]").lower(): each for each in reversed(answer.verdicts)}
    decided = [
        _decide(corpus, number, pair, verdicts.get(f"p{number}"), model.name)
        for number, pair in enumerate(batch, 1)
    ]
    merged = [each.merged for each in decided if each is not None and each.merged is not None]
    embedded = iter(embed_drafts(corpus.vocabulary, merged))
    done = 0
    with context.writer.change() as change:
        for pair, each in zip(batch, decided, strict=True):
            prepared = next(embedded) if each is not None and each.merged is not None else None
            if not _still_waiting(change, pair):
                continue
            if each is None:
                reason = f"{associations.LEFT_BY_MODEL}{model.name}: {pair.rule}"
                associations.explain(change.connection, pair.ids, reason, review=True)
            else:
                _apply(corpus, change, each, prepared)
                done += 1
    return done


def _shown(number: int, pair: _Pair, chosen: Settings) -> str:
    """A pair as the model reads it: one sanitised line per statement."""
    lines = [f"[p{number}]"]
    for letter, each in (("a", pair.older), ("b", pair.newer)):
        speaker = f"{quote_label(each.user)}, " if each.user else ""
        there = (each.occurred_at or each.created_at).astimezone(as_zone(chosen.timezone))
        text = quote(cut(each.content, MAX_CHARACTERS))
        age = "older" if letter == "a" else "newer"
        lines.append(f"[p{number}{letter}] ({age}: {speaker}{there:%Y-%m-%d %H:%M}) {text}")
    return "\n".join(lines)


def _decide(
    corpus: Corpus, number: int, pair: _Pair, verdict: Verdict | None, model: str
) -> _Decided | None:
    """A verdict that can be applied; None leaves the pair to a person."""
    if verdict is None:
        return None
    name = verdict.verdict.strip().lower()
    explanation = mask(" ".join((verdict.reason or "").split()))[:MAX_REASON]
    reason = f"{associations.BY_MODEL}{model}: {name.replace('_', ' ')}" + (
        f": {explanation}" if explanation else ""
    )
    match name:
        case "keep_both":
            return _Decided(pair, reason)
        case "same":
            return _Decided(pair, reason, survivor=_lasting(pair))
        case "replace":
            survivor = _survivor(number, pair, verdict.keep)
            if survivor is None:
                return None
            former = stays_former(pair.older, survivor)
            return _Decided(pair, reason, survivor=survivor, former=former)
        case "merge":
            return _merge(corpus, pair, verdict.content or "", reason)
        case _:
            return None


def _survivor(number: int, pair: _Pair, id: str | None) -> Memory | None:
    """The memory to keep: the newer one if the model names none, None if it names an unknown one."""
    named = (id or "").strip().strip("[]").lower() or f"p{number}b"
    return {f"p{number}a": pair.older, f"p{number}b": pair.newer}.get(named)


def _merge(corpus: Corpus, pair: _Pair, content: str, reason: str) -> _Decided | None:
    """A merged statement; None if it is empty or states a fact that neither does."""
    older, newer = pair.older, pair.newer
    rewordings = Rewordings(corpus, older.space, ())
    merged, *both = map(rewordings.read, (content, older.content, newer.content))
    negated = [bool(each.statement.negations) for each in both]
    if bool(merged.statement.negations) not in negated or not rewordings.adds_nothing(
        merged, *both
    ):
        return None
    ends = [each.expires_at for each in (older, newer) if each.expires_at is not None]
    try:
        draft = make_draft(
            corpus,
            content,
            scope=Scope(
                older.space,
                newer.user if newer.user == older.user else None,
                newer.channel if newer.channel == older.channel else None,
            ),
            ttl=_remaining(corpus.store.now(), ends) if len(ends) == 2 else None,
            occurred_at=newer.occurred_at or older.occurred_at,
            source=SOURCE,
            replaces=pair.ids,
            evidence=tuple(dict.fromkeys((*older.evidence, *newer.evidence)))[-MAX_EVIDENCE:],
        )
    except InvalidInput:
        return None
    digest = equality_digest(draft.memory.content)
    for each in (newer, older):
        if equality_digest(each.content) == digest:
            return _Decided(pair, reason, survivor=each)
    return _Decided(pair, reason, merged=draft)


def _remaining(now: datetime, ends: Sequence[datetime]) -> timedelta:
    return max(*(end - now for end in ends), timedelta(seconds=1))


def _pairs_waiting(store: Store, space: str) -> list[_Pair]:
    """The pairs to settle, each once; not those of a memory that has expired."""
    now = store.now()
    reviews = associate.reviews(store, scope=Scope(space))
    found: dict[frozenset[str], _Pair] = {}
    with store.read() as connection:
        for review in reviews:
            pair = _pair(review)
            if pair.older.has_expired(now) or pair.newer.has_expired(now):
                continue
            edges = associations.between(connection, space, *pair.ids)
            if not any(map(associations.is_for_a_person, edges)):
                found.setdefault(frozenset(pair.ids), pair)
    return list(found.values())


def _pair(review: Review) -> _Pair:
    both = sorted((review.memory, review.other), key=lambda each: (each.created_at, each.id))
    return _Pair(both[0], both[1], review.reason)


def _lasting(pair: _Pair) -> Memory:
    """Of two equivalent memories, the one that expires later; on a tie the newer one."""
    older, newer = pair.older.expires_at, pair.newer.expires_at
    if newer is not None and (older is None or older > newer):
        return pair.older
    return pair.newer


def _still_waiting(change: UnitOfWork, pair: _Pair) -> bool:
    """Return whether the pair is unsettled and unchanged since the model was asked."""
    found = memories.get(change.connection, pair.older.space, pair.ids)
    for each in (pair.older, pair.newer):
        now = found.get(each.id)
        if now is None or not now.current or now.content != each.content:
            return False
    # Of one memory: the whole list may have thousands of pairs, and is read here for each of a batch.
    listed = associations.touching(
        change.connection, pair.older.space, [pair.older.id], listed=True
    )
    return any({edge.source_id, edge.target_id} == set(pair.ids) for edge in listed)


def _apply(
    corpus: Corpus, change: UnitOfWork, decided: _Decided, prepared: Prepared | None = None
) -> None:
    """Apply a verdict, in a transaction, with its reason; a statement that replaces both comes with its embedding."""
    pair, now = decided.pair, corpus.store.now()
    associations.explain(change.connection, pair.ids, decided.reason, review=False)
    if decided.survivor is not None:
        # Read again: an earlier pair may have given one of them a key.
        found = memories.get(change.connection, decided.survivor.space, pair.ids)
        survivor = found.pop(decided.survivor.id)
        (lost,) = found.values()
        associate.replace_by(change, survivor, lost, decided.reason, now, former=decided.former)
    elif decided.merged is not None and prepared is not None:
        memory = decide_and_store(corpus, change, decided.merged, prepared).memory
        for id in pair.ids:
            edge = Association(memory.id, id, "updates", decided.reason, now)
            associations.associate(change.connection, memory.space, edge, review=False)
