"""Find and repair damage of stored vectors and of the index, from the texts.

Stored vectors, word lists, traits and word vectors have checksums. The index is compared with the store.
"""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from random import Random
from threading import Event

from hippocampe.engine import backlog
from hippocampe.engine.corpus import Corpus, Retired
from hippocampe.engine.deliveries import acknowledged_mark
from hippocampe.engine.outages import log
from hippocampe.engine.projection import stored_points
from hippocampe.engine.writer import Writer
from hippocampe.errors import EmbedderError
from hippocampe.folder.maintenance import reindex
from hippocampe.store import embeddings
from hippocampe.store.driver import parts
from hippocampe.store.schema import vector, word
from hippocampe.store.shown import TABLES, embedded_ids
from hippocampe.types import Progress, Reindexed

SAMPLE = 400
"""Stored vectors, and words, that are checked at open."""
SAMPLE_SECONDS = 2.0
"""Time limit of the comparison with the index at open."""
SLICE = 100
"""Points compared at a time, while writers wait, about 15 ms."""
BATCH = 16
"""Texts embedded at a time."""


@dataclass(frozen=True, slots=True)
class StoredDamage:
    """Rows that do not match their checksum: ids of vectors by kind; ids and texts of words."""

    vectors: Mapping[str, Sequence[str]]
    words: Sequence[tuple[int, str]]

    @property
    def count(self) -> int:
        """The number of damaged rows."""
        return sum(map(len, self.vectors.values())) + len(self.words)

    @property
    def ids(self) -> dict[str, tuple[str, ...]]:
        """The ids by kind; those of words under `word`."""
        found = {kind: tuple(sorted(ids)) for kind, ids in self.vectors.items()}
        return found | ({"word": tuple(str(id) for id, _ in self.words)} if self.words else {})


def stored_damage(corpus: Corpus) -> StoredDamage:
    """Verify the checksums of all rows that have one."""
    model = corpus.model
    with corpus.store.read(whole=True) as connection:
        checked = embeddings.check_vectors(connection, model)
        return StoredDamage(checked.damaged, embeddings.damaged_words(connection, model))


def mend(writer: Writer) -> tuple[int, int]:
    """Embed the texts of damaged vectors again.

    Returns:
        The number of repaired vectors, and of those that stay damaged, because the embedder is down.
    """
    corpus = writer.corpus
    damage, done = stored_damage(corpus), 0
    try:
        for kind in TABLES:
            for batch in parts(damage.vectors.get(kind, ()), BATCH):
                backlog.embed_again(writer, kind, batch)
                done += len(batch)
        if damage.words:
            corpus.vocabulary.embed_again(damage.words)
            done += len(damage.words)
    except EmbedderError as exc:
        corpus.outages.failed("embedder", exc)
    if damage.count:
        log.warning("%d of %d damaged vectors were repaired from their texts", done, damage.count)
    return done, damage.count - done


def rebuild(writer: Writer, progress: Progress | None = None) -> Reindexed:
    """Embed the texts of damaged vectors again, and rebuild the whole index.

    Also the indexes of the database, if it is damaged.
    """
    if writer.corpus.store.integrity() != "ok":
        writer.corpus.store.rebuild_indexes()
    mended, damaged = mend(writer)
    done = reindex(writer, progress)
    return replace(done, mended=mended, damaged=damaged)


def differing(
    corpus: Corpus, kind: str, ids: Sequence[str], stop: Callable[[], bool] = lambda: False
) -> Iterator[str]:
    """Compare the stored points of some ids with the index's answers; yield the ids that differ."""
    for some in parts(ids, SLICE):
        if stop():
            return
        # Writes reach the index under this lock, so both sides show the same moment.
        with corpus.store.exclusive(), corpus.store.read() as connection:
            corpus.check_serving()
            points = stored_points(connection, kind, corpus.model, some)
            found = list(corpus.index.differing(kind, points))
        yield from found


def all_differing(corpus: Corpus) -> dict[str, list[str]]:
    """Compare the whole store with the index: the ids that differ, by kind."""
    found: dict[str, list[str]] = {}
    for kind in TABLES:
        with corpus.store.read(whole=True) as connection:
            ids = embedded_ids(connection, kind, corpus.model)
        if differ := list(differing(corpus, kind, ids)):
            found[kind] = differ
    return found


def check_sample(writer: Writer, ending: Event) -> None:
    """Check a random sample, and the files of the index, until `ending`; repair everything if any is damaged."""
    with suppress(Retired):
        writer.corpus.outages.attempt(
            "checking", partial(_check_sample, writer, ending), passing=(Retired,)
        )


def _check_sample(writer: Writer, ending: Event) -> None:
    corpus = writer.corpus
    model, chance = corpus.model, Random()
    with corpus.store.read() as connection:
        rows = embeddings.sample_rows(connection, vector, SAMPLE, chance)
        checked = embeddings.check_vectors(connection, model, rows)
        rows = embeddings.sample_rows(connection, word, SAMPLE, chance)
        words = embeddings.damaged_words(connection, model, rows)
    if checked.damaged or words:
        mend(writer)
    until = time.monotonic() + SAMPLE_SECONDS

    def stop() -> bool:
        return ending.is_set() or time.monotonic() > until

    damage = next(_index_damage(corpus, checked, stop), None)
    if damage is not None and not writer.deliveries.behind:
        log.warning("the index is damaged (%s), rebuilding it from the store", damage)
        # If this is interrupted, the next open rebuilds it.
        acknowledged_mark(corpus).unlink(missing_ok=True)
        reindex(writer)


def _index_damage(
    corpus: Corpus, checked: embeddings.Checked, stop: Callable[[], bool]
) -> Iterator[str]:
    for kind, ids in checked.all.items():
        for id in differing(corpus, kind, ids, stop):
            # Check again: the engine may have failed once, for lack of memory.
            if list(differing(corpus, kind, [id])):
                yield f"{kind}: answers differ from the store"
    for name in corpus.index.damaged_files(stop=stop):
        yield f"file {name}"
