"""The reader refuses files that are not its own, whole and of its format, and reads pairs in order."""

import errno
import hashlib
import json
import os
import platform
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from importlib import resources
from io import BytesIO
from itertools import count
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import onnxruntime
import pytest

from hippocampe.errors import ModelUnavailable
from hippocampe.reader import network
from hippocampe.reader.network import FORMAT, Reader

GRAPH, PIECES = b"graph", b"{}"
CPUINFO = Path("/proc/cpuinfo")


def archive(about: dict[str, object], graph: bytes = GRAPH) -> bytes:
    content = BytesIO()
    with ZipFile(content, "w") as file:
        file.writestr("about.json", json.dumps(about))
        file.writestr("model.onnx", graph)
        file.writestr("tokenizer.json", PIECES)
    return content.getvalue()


SUMS = [hashlib.sha256(each).hexdigest() for each in (GRAPH, PIECES)]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        archive({"format": FORMAT, "sha256": SUMS})[:-40],
        archive({"format": FORMAT, "sha256": SUMS}, graph=b"another"),
        archive({"format": FORMAT + 1, "sha256": SUMS}),
        archive({"format": FORMAT}),
    ],
    ids=["empty", "cut off", "another graph", "another format", "no sums"],
)
def test_a_file_that_is_not_whole_is_refused(content: bytes) -> None:
    with pytest.raises(ModelUnavailable, match="reinstall"):
        Reader(content)


PAIRS = [
    ("Camille: où est le bateau ?", f"David: {text}")
    for text in (
        "Le bateau est à Saint-Malo.",
        "J'ai deux chats, un gris qui dort tout le jour et un noir qui sort la nuit.",
        "ok",
        "We moored the boat in Saint-Malo last week, behind the lock.",
        "",
    )
]


@pytest.fixture(scope="module")
def reader() -> Reader:
    return network.load_reader()


def test_pairs_are_read_in_order_by_any_number_of_threads(reader: Reader) -> None:
    read = reader.read_pairs("answer", PAIRS)
    assert read.shape == (5, 1)
    alone = [reader.read_pairs("answer", [each])[0] for each in PAIRS]
    assert np.array_equal(read, np.stack(alone))
    assert read[0, 0] > max(read[1, 0], read[2, 0], read[4, 0])
    assert reader.read_pairs("relation", PAIRS).shape == (5, 5)
    assert reader.read_pairs("relation", []).shape == (0, 5)
    with ThreadPoolExecutor(10) as pool:
        found = pool.map(lambda _: reader.read_pairs("answer", PAIRS), range(10))
        assert all(np.array_equal(each, read) for each in found)


def test_logits_are_the_same_on_every_processor(reader: Reader) -> None:
    # Overflowing sums would read -9.59.
    pair = ("where does Bob live?", "Paul part à Rome le 4 juin avec sa soeur")
    assert reader.read_pairs("answer", [pair])[0, 0] == pytest.approx(-8.84, abs=0.3)


@pytest.mark.skipif(platform.machine() != "x86_64", reason="of processors of this kind")
@pytest.mark.skipif(not CPUINFO.exists(), reason="only Linux lists what a processor can do")
def test_only_processors_without_vnni_saturate() -> None:
    has_vnni = "vnni" in CPUINFO.read_text(encoding="utf-8")
    saturates = network._saturates(onnxruntime, onnxruntime.SessionOptions())
    assert saturates != has_vnni


def test_no_pair_is_begun_after_the_time(reader: Reader, monkeypatch: pytest.MonkeyPatch) -> None:
    every = reader.read_pairs("answer", PAIRS)
    pace = reader.seconds_per_pair
    for seconds in (0, 3, 9):
        with monkeypatch.context() as patch:
            patch.setattr(network, "perf_counter", count().__next__)
            read = reader.read_pairs("answer", PAIRS, seconds)
        assert np.array_equal(read, every[: max(seconds - 1, 0)])
    reader.seconds_per_pair = pace


def test_a_long_text_is_cut(reader: Reader) -> None:
    question, text = PAIRS[0]
    long = text + " et le chien dort" * 100
    longer = text + " et le chien dort" * 200
    one, two = reader.read_pairs("answer", [(question, long), (question, longer)])
    assert one == two


@pytest.mark.parametrize("missing", ["onnxruntime", "tokenizers"])
def test_a_missing_library_is_named(monkeypatch: pytest.MonkeyPatch, missing: str) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    whole = (resources.files("hippocampe") / "data" / "reader.zip").read_bytes()
    with pytest.raises(ModelUnavailable, match="onnxruntime and tokenizers"):
        Reader(whole)


def test_a_damaged_file_is_opened_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    opened: list[bytes] = []

    def refused(archive: bytes, threads: int) -> Reader:
        opened.append(archive)
        return Reader(archive)

    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "reader.zip").write_bytes(b"damaged")
    with monkeypatch.context() as patch:
        patch.setattr(network.resources, "files", lambda _: tmp_path)
        patch.setattr(network, "Reader", refused)
        patch.setattr(network, "_shipped", cache(network._shipped.__wrapped__))
        for _ in range(3):
            with pytest.raises(ModelUnavailable, match="reinstall"):
                network.load_reader()
    assert opened == [b"damaged"]


def test_a_process_that_lacks_descriptors_loads_the_reader_later(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def exhausted(_: str) -> Path:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(network, "_shipped", cache(network._shipped.__wrapped__))
    with monkeypatch.context() as patch:
        patch.setattr(network.resources, "files", exhausted)
        with pytest.raises(ModelUnavailable, match="Too many open files"):
            network.load_reader()
    assert network.load_reader().about["format"] == network.FORMAT
