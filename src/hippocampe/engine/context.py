"""An open memory: its corpus, its writer, and what the background work of the process shares."""

from dataclasses import dataclass, field
from threading import Lock

from hippocampe.engine.caches import AccessCounts, AliasCache
from hippocampe.engine.corpus import Corpus
from hippocampe.engine.settings import SpaceSettings
from hippocampe.engine.writer import Writer
from hippocampe.protocols import LanguageModel
from hippocampe.store.store import Store


@dataclass(slots=True)
class Context:
    """An open memory, which the facade holds.

    Attributes:
        language_model: The language model of background work; None if none is configured.
        digesting: Held during a digest.
        compacting: Held during a compaction.
    """

    corpus: Corpus
    writer: Writer
    accesses: AccessCounts
    language_model: LanguageModel | None = None
    digesting: Lock = field(default_factory=Lock)
    compacting: Lock = field(default_factory=Lock)

    @classmethod
    def of(cls, corpus: Corpus, language_model: LanguageModel | None = None) -> "Context":
        """A memory that has just been opened."""
        return cls(corpus, Writer(corpus), AccessCounts(corpus.store), language_model)


def whole_context(context: Context) -> Context:
    """The whole, for a step that uses more than one part."""
    return context


def corpus_of(context: Context) -> Corpus:
    """The part that reads."""
    return context.corpus


def writer_of(context: Context) -> Writer:
    """The part that writes."""
    return context.writer


def store_of(context: Context) -> Store:
    """The store, for a step that needs no index."""
    return context.corpus.store


def keys_of(context: Context) -> Store:
    """The store with the keys of the server."""
    return context.corpus.key_store or context.corpus.store


def settings_of(context: Context) -> SpaceSettings:
    """The settings of all spaces."""
    return context.corpus.settings


def aliases_of(context: Context) -> AliasCache:
    """The names of all spaces."""
    return context.corpus.aliases
