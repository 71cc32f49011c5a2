"""Settle pairs that the learnt decision lists for review with the local reader, an optional extra.

The reader, a cross-encoder, errs on other pairs than the evidence of the decision does, so a second model
weighs both. A pair that must not merge at any probability (a doubt, another owner) stays listed, and so does
every uncertain pair; neither is read again. A pair that is surely unrelated is removed from the list. `restore`
undoes a settlement of the reader, and then a person decides.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from hippocampe.curation.review_pairs import (
    Decided,
    Pair,
    apply,
    lasting,
    pairs_waiting,
    still_waiting,
)
from hippocampe.engine.documents import memory_embedding_text, memory_text
from hippocampe.engine.vocabulary import Prepared
from hippocampe.engine.writer import Writer
from hippocampe.errors import ModelUnavailable
from hippocampe.language.sentence import CanonicalNames, parse
from hippocampe.protocols import Embedder
from hippocampe.store import associations
from hippocampe.store.store import Store
from hippocampe.updates.alignment import align
from hippocampe.updates.cross_encoder.base import installed
from hippocampe.updates.cross_encoder.judge import Reader, load_reader
from hippocampe.updates.decide import Verdict, compare
from hippocampe.updates.evidence import evidence_of
from hippocampe.updates.joining import with_opinion
from hippocampe.updates.judgement import side_of, stays_former
from hippocampe.updates.learnt import Floats, model_for
from hippocampe.updates.weighing import conclude

BATCH = 16
"""Pairs per transaction. The reader takes some 0.6 s for them, before the transaction begins."""
MOST = 128
"""Pairs per run; the others wait for the next run."""


def is_available(embedder: Embedder) -> bool:
    """Return whether the extra is installed, and the learnt decision knows the embedder."""
    return model_for(embedder.model) is not None and installed() is not None


def is_due(store: Store, *, space: str) -> bool:
    """Return whether the reader has unread pairs."""
    return bool(_unread(store, space))


def settle_reviews(writer: Writer, *, space: str) -> int:
    """Settle pairs of the review list that the reader has not read yet, the newest first.

    Each batch is applied in one transaction.

    Args:
        space: The space.

    Returns:
        The number of settled pairs; 0 if the reader cannot be loaded, which is logged.
    """
    corpus = writer.corpus
    unread = _unread(corpus.store, space)[:MOST]
    if not unread:
        return 0
    try:
        reader = load_reader()
    except ModelUnavailable as exc:
        corpus.outages.failed("local reader", exc)
        return 0
    corpus.outages.works("local reader")
    settler = _Settler(writer, space, reader)
    return sum(
        settler.settle(unread[start : start + BATCH]) for start in range(0, len(unread), BATCH)
    )


def _unread(store: Store, space: str) -> list[Pair]:
    return [
        pair
        for pair in pairs_waiting(store, space)
        if not pair.rule.startswith(associations.LEFT_BY_READER)
    ]


@dataclass(frozen=True, slots=True)
class _Settler:
    """Settles pairs of a space."""

    writer: Writer
    space: str
    reader: Reader

    def settle(self, batch: Sequence[Pair]) -> int:
        """Read some pairs, and settle those it is sure of; return the number of settled pairs."""
        decided = self._decide(batch)
        done = 0
        with self.writer.change() as change:
            for pair, each in zip(batch, decided, strict=True):
                if not still_waiting(change, pair):
                    continue
                if isinstance(each, Decided):
                    apply(self.writer.corpus, change, each)
                    done += 1
                else:
                    reason = f"{associations.LEFT_BY_READER}{each}"
                    associations.explain(change.connection, pair.ids, reason, review=True)
        return done

    def _decide(self, batch: Sequence[Pair]) -> list[Decided | str]:
        """Weigh the reader's opinion and the evidence on each pair; the reason for each pair left listed."""
        opinions = self.reader.judge([(pair.older.content, pair.newer.content) for pair in batch])
        both = [memory for pair in batch for memory in (pair.older, pair.newer)]
        prepared = self.writer.corpus.vocabulary.prepare(
            [memory_embedding_text(memory) for memory in both],
            [memory_text(memory) for memory in both],
        )
        names = CanonicalNames(self.writer.corpus.aliases.of(self.space))
        return [
            self._joint(pair, prepared[2 * row], prepared[2 * row + 1], opinions[row], names)
            for row, pair in enumerate(batch)
        ]

    def _joint(
        self,
        pair: Pair,
        older: Prepared,
        newer: Prepared,
        opinion: Floats,
        names: CanonicalNames,
    ) -> Decided | str:
        old = side_of(self.writer.corpus.vocabulary, pair.older.content, older)
        new = side_of(self.writer.corpus.vocabulary, pair.newer.content, newer)
        if not (pair.as_compared and old.speaks and new.speaks):
            return pair.rule
        rule = compare(
            parse(pair.newer.content, subjects=pair.newer.subjects, names=names),
            parse(pair.older.content, subjects=pair.older.subjects, names=names),
        )
        aligned = align(old.reading, new.reading, old.vectors, new.vectors)
        measured = evidence_of(aligned, float(older.dense @ newer.dense), old.vectors, new.vectors)
        joint = self.reader.joint
        (shares,) = joint.probabilities([with_opinion(measured, opinion)])
        decision = conclude(aligned, measured, shares, rule, joint.thresholds)
        reason = f"{associations.BY_READER}{decision.reason}"
        match decision.verdict:
            case Verdict.UNSURE:
                return decision.reason
            case Verdict.UPDATED:
                former = stays_former(self.writer.corpus.vocabulary, pair.older, pair.newer)
                return Decided(pair, reason, survivor=pair.newer, former=former)
            case Verdict.REINFORCED:
                return Decided(pair, reason, survivor=lasting(pair))
            case _:
                return Decided(pair, f"{associations.BY_READER}both stay")
