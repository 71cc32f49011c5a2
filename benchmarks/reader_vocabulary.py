"""The tokenizer of the reader: the pieces of multilingual-e5-small that French and English texts use."""

from __future__ import annotations

import json
import unicodedata
from collections.abc import Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Final

import wordfreq
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

import common
from reader_base import Base

LANGUAGES: Final = ("fr", "en")
WORDS: Final = 100_000
"""Most frequent words of each language whose pieces stay; names are among them."""
SPECIAL: Final = 4
"""The pieces that begin and end a text, pad it, and stand for what is unknown: ids 0 to 3."""
UNKNOWN: Final = 3


def full_tokenizer(base: Base) -> Tokenizer:
    """The tokenizer of the base, whose normalization ("nmt_nfkc") is made of its parts."""
    pieces = sorted(base.pieces.items(), key=lambda each: each[1][0])
    return _tokenizer([(piece, score) for piece, (_, score) in pieces])


def _tokenizer(pieces: list[tuple[str, float]]) -> Tokenizer:
    made = Tokenizer(models.Unigram(pieces, unk_id=UNKNOWN))
    made.normalizer = normalizers.Sequence(
        [normalizers.Nmt(), normalizers.NFKC(), normalizers.Replace("’", "'")]
    )
    made.pre_tokenizer = pre_tokenizers.Metaspace()
    return made


def cut(base: Base, files: Iterable[Path]) -> tuple[Tokenizer, list[int]]:
    """A tokenizer with the pieces in use only, and the row of the base's embeddings of each piece.

    Args:
        base: The base weights.
        files: Texts to count the pieces of, besides the frequent words of both languages.
    """
    full = full_tokenizer(base)
    used = set(range(SPECIAL))
    for language in LANGUAGES:
        words = wordfreq.top_n_list(language, WORDS)
        used |= _pieces(full, [*words, *(word.capitalize() for word in words)])
    for path in files:
        used |= _pieces(full, _texts(path))
    used |= {row for piece, (row, _) in base.pieces.items() if _basic(piece.lstrip("▁"))}
    rows = sorted(used)
    state = json.loads(full.to_str())
    pieces = state["model"]["vocab"]
    return _tokenizer([tuple(pieces[row]) for row in rows]), rows


def _pieces(full: Tokenizer, texts: Iterable[str]) -> set[int]:
    found: set[int] = set()
    rest = iter(texts)
    while some := list(islice(rest, 1000)):
        for each in full.encode_batch(some, add_special_tokens=False):
            found.update(each.ids)
    return found


def _texts(path: Path) -> Iterator[str]:
    if ".jsonl" in path.name:
        for row in common.json_lines(path):
            yield from (each for each in row.values() if isinstance(each, str))
    else:
        with common.opened(path) as lines:
            yield from lines


def _basic(piece: str) -> bool:
    """A letter of the Latin script, a sign, or a number."""
    if len(piece) == 1:
        return "LATIN" in unicodedata.name(piece, "") or unicodedata.category(piece)[0] in "PSN"
    return piece.isascii() and piece.strip("0123456789.,:/-") == ""
