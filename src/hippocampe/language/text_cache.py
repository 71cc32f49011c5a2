"""A cache of what was read of texts, bounded in what it holds and not only in number."""

import re
from collections.abc import Callable
from functools import lru_cache
from typing import Any, Final, Generic, ParamSpec, Protocol, TypeVar

P = ParamSpec("P")
R = TypeVar("R")
LONGEST: Final = 2_000
"""Characters of a short text. A parsed text takes some 33 bytes a character."""
LONGEST_WORD: Final = 64
"""Characters of a word; longer ones are keys, hashes and files, which no other text repeats."""
MAX_LONG: Final = 16
"""Results of long texts in the cache. One text is read several times in a row."""
_clear: Final[list[Callable[[], None]]] = [re.purge]
"""Empties each cache of texts. Patterns are made of names."""


class _Cache(Protocol):
    def cache_clear(self) -> None: ...


C = TypeVar("C", bound=_Cache)


class TextCache(Generic[P, R]):
    """A function with a cache: many results of short texts, and few of long ones.

    Args:
        function: Its first argument is the text, or what `length` measures.
        most: Results of short texts in the cache.
        longest: Length of a short text.
        length: Measures the first argument.
    """

    def __init__(
        self, function: Callable[P, R], most: int, longest: int, length: Callable[[Any], int]
    ) -> None:
        self.short = lru_cache(maxsize=most)(function)
        self.long = lru_cache(maxsize=MAX_LONG)(function)
        self._longest = longest
        self._length = length
        self.__doc__ = function.__doc__
        of_texts(self)

    def __call__(self, *args: P.args, **kwargs: P.kwargs) -> R:
        cache = self.short if self._length(args[0]) <= self._longest else self.long
        return cache(*args, **kwargs)

    def cache_clear(self) -> None:
        """Drop all results."""
        self.short.cache_clear()
        self.long.cache_clear()


def text_cache(
    most: int, *, longest: int = LONGEST, length: Callable[[Any], int] = len
) -> Callable[[Callable[P, R]], TextCache[P, R]]:
    """Decorate a function of a text with a `TextCache`."""
    return lambda function: TextCache(function, most, longest, length)


def of_texts(cache: C) -> C:
    """Decorate another cache that contains texts, so that `clear_caches` empties it, too."""
    _clear.append(cache.cache_clear)
    return cache


def clear_caches() -> None:
    """Empty all caches of texts of this process, so that erased text does not stay in memory."""
    for clear in _clear:
        clear()
