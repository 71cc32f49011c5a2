"""Change the embedder while reading and writing go on."""

import shutil
from collections.abc import Callable
from dataclasses import replace

from hippocampe.embed import open_embedder
from hippocampe.engine import backlog, generations
from hippocampe.engine.context import Context
from hippocampe.engine.durability import flush_index, index_folder
from hippocampe.engine.index_state import IndexPosition
from hippocampe.folder.maintenance import close_index, open_vocabulary, reindex
from hippocampe.index import open_index
from hippocampe.store import embeddings, meta
from hippocampe.types import Progress, Reindexed
from hippocampe.validation import check_text


def change_embedder(
    context: Context, name: str, progress: Progress | None, take_over: Callable[[Context], None]
) -> Reindexed:
    """Re-embed everything with another embedder while the old one serves.

    Args:
        take_over: Called with the new context once it is complete. The old context is then retired,
            and calls that still use it are retried.

    Raises:
        EmbedderUnavailable: The new embedder cannot be used; nothing was changed.
        InvalidInput: Its name is not known.
        Retired: Another change of embedder came first.
    """
    check_text("embedder", name)
    embedder = open_embedder(
        name, url=context.config.embedder_url, timeout=context.config.embedder_timeout
    )
    if embedder.model == context.embedder.model:
        return reindex(context, progress)
    with context.builder.building:
        context.check_serving()
        folder = index_folder(context.config.folder, embedder.model)
        shutil.rmtree(folder, ignore_errors=True)
        new = replace(
            context,
            config=replace(context.config, embedder=name),
            embedder=embedder,
            vocabulary=open_vocabulary(context.store, embedder),
            index=open_index(folder, dimensions=embedder.dimensions, model=embedder.model),
            position=IndexPosition(applied=context.position.applied),
        )
        context.position.keep_outbox = True
        try:
            without = _fill_and_switch(context, new, progress)
        except BaseException:
            context.retired = False
            close_index(new)
            raise
        finally:
            context.position.keep_outbox = False
        take_over(new)
        close_index(context)
        shutil.rmtree(
            index_folder(context.config.folder, context.embedder.model), ignore_errors=True
        )
    flush_index(new)
    return Reindexed(new.embedder.model, without)


def _fill_and_switch(old: Context, new: Context, progress: Progress | None) -> tuple[str, ...]:
    with old.store.exclusive():
        start = old.position.applied
    without = generations.refill(new, progress, graphs=True)
    with old.store.exclusive():
        # Few rows were written meanwhile, and writers wait now.
        backlog.embed_missing(new, progress)
        generations.replay(new, after=start)
        # Before the old vectors are removed, so that no reader takes their absence for an empty result.
        old.retired = True
        with new.store.write() as connection:
            meta.put(connection, "embedder", new.config.embedder or "local")
            meta.put(connection, "model", new.embedder.model)
            embeddings.remove_other_models(connection, new.embedder.model)
    return without
