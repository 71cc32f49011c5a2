"""What is cached of texts is bounded by what it holds, not only by its number."""

import pytest

from hippocampe.index.bm25 import sparse_query, terms_of
from hippocampe.language import detect, equality, grammar, relations, statement, tokenizer
from hippocampe.language.statement import parse
from hippocampe.language.text_cache import LONGEST, MAX_LONG, TextCache, text_cache

CACHES = (
    *(tokenizer.tokenize, statement._parse, relations.relations, grammar.stem),
    *(detect.language_of, equality.spelling, equality._letters, sparse_query, terms_of),
)


def of_text(text: str) -> tuple[object, ...]:
    """Read a text with each function that caches what it read."""
    read = parse(text)
    return (
        *(relations.relations(read), grammar.stem(text, "en"), detect.language_of(text)),
        *(equality.spelling(text), equality._letters(text), sparse_query(text), terms_of(text)),
    )


def entries(cache: TextCache[..., object]) -> int:
    return cache.short.cache_info().currsize + cache.long.cache_info().currsize


def test_few_long_texts_stay_in_memory() -> None:
    for cache in CACHES:
        cache.cache_clear()
    for number in range(MAX_LONG + 8):
        of_text(f"number {number} " + "is long " * (LONGEST // 8))
    for cache in CACHES:
        assert cache.long.cache_info().currsize == MAX_LONG


def test_a_long_text_is_read_once_in_a_row() -> None:
    long = "Léa dort " * LONGEST
    assert parse(long) is parse(long)


@pytest.mark.parametrize(("length", "most"), [(4, 30), (5, MAX_LONG)])
def test_the_length_decides(length: int, most: int) -> None:
    @text_cache(30, longest=4)
    def upper(text: str) -> str:
        return text.upper()

    for number in range(40):
        assert upper(f"{number:0{length}}a"[-length:]).isprintable()
    assert entries(upper) == most
    upper.cache_clear()
    assert entries(upper) == 0
