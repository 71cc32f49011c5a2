"""The search of texts in the files of a data folder."""

from pathlib import Path

import pytest

from hippocampe import Hippocampe, Scope
from hippocampe.folder.residue import held

BLOCK = 1 << 20
NAMES = [b"tablealiasalias", b"CREATE TABLE alias (space TEXT, alias TEXT)"]
FIRST_NAMES = "Léa Ali Lia Eve Eva Ada Anne Léo Ida Val Mary Max Art Al".split()


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


def test_an_empty_file_holds_nothing(tmp_path: Path) -> None:
    assert found(tmp_path, b"") == set()
    assert found(tmp_path, bytes(3 * BLOCK)) == set()
