"""Change the embedder while reading and writing go on."""

from collections.abc import Callable
from dataclasses import replace

from hippocampe.embed import open_embedder
from hippocampe.engine import backlog, deliveries, generations
from hippocampe.engine.caches import RowCache
from hippocampe.engine.context import Context
from hippocampe.engine.corpus import Corpus
from hippocampe.engine.index_state import Deliveries
from hippocampe.engine.writer import Writer
from hippocampe.folder.maintenance import close_index, open_vocabulary, reindex
from hippocampe.index import open_index, open_shared_index, shared
from hippocampe.protocols import Embedder, Index
from hippocampe.store import embeddings, meta
from hippocampe.types import Progress, Reindexed
from hippocampe.validation import check_text


def change_embedder(
    old: Context, name: str, progress: Progress | None, take_over: Callable[[Context], None]
) -> Reindexed:
    """Re-embed everything with another embedder while the old one serves.

    Args:
        take_over: Called with the new context once it is complete. The old context is then retired,
            and calls that still use it are retried.

    Raises:
        EmbedderUnavailable: The new embedder cannot be used; nothing was changed.
        InvalidInput: Its name is not known.
        Retired: Another change of embedder came first.
        IndexUnavailable: A shared index is away. If it was only to be deleted, the new one serves.
    """
    check_text("embedder", name)
    corpus, known = old.corpus, old.writer.deliveries
    config = corpus.config
    embedder = open_embedder(name, url=config.embedder_url, timeout=config.embedder_timeout)
    if embedder.model == corpus.model:
        return reindex(old.writer, progress)
    with old.writer.builder.building:
        corpus.check_serving()
        new_corpus = replace(
            corpus,
            config=replace(config, embedder=name),
            vocabulary=open_vocabulary(corpus.store, embedder),
            index=_empty_index(corpus, embedder),
            # Their vectors are those of one embedder.
            rows=RowCache.of(corpus.store),
        )
        new = replace(old.writer, corpus=new_corpus, deliveries=Deliveries())
        known.kept = True
        try:
            without = _fill_and_switch(old.writer, new, progress)
        except BaseException:
            corpus.retired = False
            _close_and_delete(new_corpus)
            raise
        finally:
            known.kept = False
        take_over(replace(old, corpus=new_corpus, writer=new))
        _remove_index(corpus)
    deliveries.settle(new)
    return Reindexed(embedder.model, without)


def _empty_index(corpus: Corpus, embedder: Embedder) -> Index:
    """An index without points for the vectors of another embedder, where the store has its index."""
    if corpus.store.shared:
        index = open_shared_index(corpus.config, embedder)
        # Of a change that was interrupted.
        index.empty()
        return index
    folder = deliveries.index_folder(corpus.config.folder, embedder.model)
    deliveries.remove_index(folder)
    return open_index(folder, embedder)


def _remove_index(corpus: Corpus) -> None:
    """Remove an index that no longer serves."""
    if corpus.store.shared:
        shared(corpus.index).remove()
    _close_and_delete(corpus)


def _close_and_delete(corpus: Corpus) -> None:
    """Close an index, and delete its files: no erasure would reach them."""
    close_index(corpus.index)
    deliveries.remove_index(deliveries.index_folder(corpus.config.folder, corpus.model))


def _fill_and_switch(old: Writer, new: Writer, progress: Progress | None) -> tuple[str, ...]:
    store, corpus = old.corpus.store, new.corpus
    without = ()
    if not store.shared:
        without = generations.refill(new, progress, graphs=True)
    with store.exclusive():
        if store.shared:
            # Writers wait: what they write meanwhile is delivered to the old index only.
            without = generations.refill(new, progress)
        # Few rows were written meanwhile, and writers wait now.
        backlog.embed_missing(new, progress)
        deliveries.replay(new, all_now=True)
        # Before the old vectors are removed, so that no reader takes their absence for an empty result.
        old.corpus.retired = True
        with store.write() as connection:
            meta.put(connection, "embedder", corpus.config.embedder or "local")
            meta.put(connection, "model", corpus.model)
            embeddings.remove_other_models(connection, corpus.model)
    return without
