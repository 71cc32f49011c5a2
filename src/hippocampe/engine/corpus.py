"""The corpus: the stored texts, with the index and the caches that find them."""

from dataclasses import dataclass
from typing import Any

from hippocampe.config import Config
from hippocampe.embed import tokens
from hippocampe.engine.caches import AliasCache, RowCache
from hippocampe.engine.outages import Outages
from hippocampe.engine.settings import SpaceSettings
from hippocampe.engine.vocabulary import Vocabulary
from hippocampe.errors import ModelUnavailable
from hippocampe.language import text_cache
from hippocampe.protocols import Index
from hippocampe.reader.network import Reader, load_reader
from hippocampe.store.store import Store


class Retired(Exception):
    """Another corpus took over during a call (embedder change): retry with the new one."""


@dataclass(slots=True)
class Corpus:
    """The part of an open memory that reads: the store, the index over it, and what relates a text to both.

    Attributes:
        outages: The parts that are down; readers go on without them.
        rows: Rows of candidates in memory; None if another process may change the store.
        key_store: In a cell, the store with the keys of the whole data folder; default: `store`.
        retired: True if another corpus has taken over, because the embedder was changed.
    """

    config: Config
    store: Store
    index: Index
    vocabulary: Vocabulary
    settings: SpaceSettings
    aliases: AliasCache
    outages: Outages
    retired: bool = False
    key_store: Store | None = None
    rows: RowCache[Any] | None = None

    @classmethod
    def of(
        cls,
        config: Config,
        store: Store,
        index: Index,
        vocabulary: Vocabulary,
        key_store: Store | None = None,
    ) -> "Corpus":
        """A corpus with empty caches."""
        settings, aliases = SpaceSettings(store, config), AliasCache(store)
        return cls(
            config, store, index, vocabulary, settings, aliases, Outages(), key_store=key_store
        )

    @property
    def model(self) -> str:
        """The id of the embedder."""
        return self.vocabulary.embedder.model

    def reader(self) -> Reader:
        """The reader of pairs of texts, loaded at the first call; its outage is logged once.

        Raises:
            ModelUnavailable: It cannot be loaded.
        """
        try:
            reader = load_reader()
        except ModelUnavailable as exc:
            self.outages.failed("reader", exc)
            raise
        self.outages.works("reader")
        return reader

    def forget_erased(self) -> None:
        """Drop the texts that are cached in memory, since some of them were erased."""
        self.vocabulary.forget()
        self.aliases.clear()
        text_cache.clear_caches()
        tokens.clear_cache()
        self.store.engine.clear_compiled_cache()
        self.store.memory_changes += 1

    def check_serving(self) -> None:
        """Raise `Retired` if another corpus has taken over."""
        if self.retired:
            raise Retired
