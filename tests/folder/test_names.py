"""A data folder of any name that the system allows."""

import os
from pathlib import Path

import httpx
import pytest

from hippocampe import Hippocampe, Scope
from served import served

ME = Scope(user="dev")


@pytest.mark.parametrize("name", ["été à la mer".encode(), b"caf\xe9"])
def test_a_folder_whose_name_is_no_ascii_or_no_text(tmp_path: Path, name: bytes) -> None:
    folder = tmp_path / os.fsdecode(name)
    with Hippocampe.open(folder) as hippo:
        hippo.remember("Paul boit du thé vert", scope=ME)
        hippo.backup()
        with Hippocampe.open(folder) as joined:
            assert joined.recall("que boit Paul ?", scope=ME)
        with served(hippo, loopback=True) as url:
            assert httpx.get(f"{url}/data", timeout=30).status_code == 200
    with Hippocampe.open(folder) as hippo:
        hippo.erase(subject="Paul", scope=ME)
        assert hippo.verify(absent=["thé vert"]).ok
