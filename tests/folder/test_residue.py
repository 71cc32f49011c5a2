"""The search of texts in the files of a data folder."""

import struct
from pathlib import Path

import pytest

from hippocampe import Hippocampe, Scope
from hippocampe.folder.residue import held

BLOCK = 1 << 20
NAMES = [b"tablealiasalias", b"CREATE TABLE alias (space TEXT, alias TEXT)"]
FIRST_NAMES = "Léa Ali Lia Eve Eva Ada Anne Léo Ida Val Mary Max Art Box".split()


def found(tmp_path: Path, content: bytes) -> set[str]:
    path = tmp_path / "file"
    path.write_bytes(content)
    return held(path, {"Léa": {"Léa".encode(), b"lea"}, "Zoé": {"Zoé".encode()}}, NAMES)


def test_a_folder_without_a_name_holds_none(hippo: Hippocampe, scope: Scope) -> None:
    hippo.remember("Il pleut", scope=scope)
    assert hippo.verify(absent=FIRST_NAMES).ok
    hippo.remember("Léa et Max chantent", scope=scope)
    assert hippo.verify(absent=FIRST_NAMES).present.keys() == {"Léa", "Max"}


@pytest.mark.parametrize("before", [0, 1, BLOCK - 20, BLOCK - 9, BLOCK - 1, BLOCK, 2 * BLOCK + 7])
@pytest.mark.parametrize("filling", [b"\0", b"."])
def test_a_text_is_found_across_blocks(tmp_path: Path, before: int, filling: bytes) -> None:
    start, rest = filling * before, filling * 100
    assert found(tmp_path, start + b"tablealiasalias" + rest) == set()
    assert found(tmp_path, start + NAMES[1] + rest) == set()
    assert found(tmp_path, start + b"tablealiasalia" + rest) == {"Léa"}
    assert found(tmp_path, start + b"lea" + rest) == {"Léa"}
    assert found(tmp_path, start + b"lea") == {"Léa"}
    assert found(tmp_path, start + b"tablealiasalias lea") == {"Léa"}
    assert found(tmp_path, start + "Zoé".encode() + rest + b"lea") == {"Léa", "Zoé"}


@pytest.mark.parametrize(
    "made",
    [
        "e019acada-7ada-7b0c-8ada-0123456adae9",
        "5ada0123456789ab019acada-7ada-7b0c-8ada-0123456adae9Ordizan",
        "019acada-7ada-7b0c-8ada-0123456adae9019acada-7ada-7b0c-8ada-0123456adae9",
        "0123456789adaada",
        "text0ada1bcd2ada3bcd4ada5bcd6adafact",
    ],
)
def test_an_id_that_spells_a_name_is_not_the_name(tmp_path: Path, made: str) -> None:
    path = tmp_path / "file"
    forms = {"Ada": {b"Ada", b"ada"}}
    path.write_text(made)
    assert held(path, forms, []) == set()
    for said in (f"{made} ada", f"ada{made[1:3]} {made}", "2026-11-28-ada", f"Ada{made}"):
        path.write_text(said)
        assert held(path, forms, []) == {"Ada"}, said
    path.write_text("4970101234567890")
    assert held(path, {"1234": {b"1234"}}, []) == {"1234"}
    path.write_text(made)
    assert held(path, {made: {made.encode()}}, []) == {made}


@pytest.mark.parametrize("page", [512, 4096, 65536])
def test_a_checksum_that_spells_a_name_is_not_the_name(tmp_path: Path, page: int) -> None:
    path = tmp_path / "hippocampe.db-wal"
    names = {"Al": {b"Al"}, "Bo": {b"Bo"}, "Di": {b"Di"}}
    header = struct.pack(">IIII8sII", 0x377F0682, 3007000, page, 0, b"..AlBo..", 0, 0)
    checksums, empty = struct.pack(">II8s8s", 1, 0, b"AlBo....", b"....AlBo"), bytes(page)
    frames = (checksums + empty) * (2 * BLOCK // page)
    path.write_bytes(header + frames)
    assert held(path, names, []) == set()
    path.write_bytes(header + frames + checksums + b"Bo" + empty[4:] + b"Di" + frames)
    assert held(path, names, []) == {"Bo", "Di"}
    # A log that was cut within a frame.
    path.write_bytes(header + frames + checksums + b".Di")
    assert held(path, names, []) == {"Di"}
    path.write_bytes(header[:8] + b"AlBo" + frames)
    assert held(path, names, []) == {"Al", "Bo"}


def test_an_empty_file_holds_nothing(tmp_path: Path) -> None:
    assert found(tmp_path, b"") == set()
    assert found(tmp_path, bytes(3 * BLOCK)) == set()
