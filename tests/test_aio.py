"""The awaited door has the verbs of the other one, with the same arguments and results."""

import asyncio
import inspect
from pathlib import Path
from typing import Any

import pytest

from hippocampe import Hippocampe, Scope
from hippocampe.aio import AsyncHippocampe
from hippocampe.companion import Companion
from hippocampe.errors import InvalidInput


def _verbs(door: type) -> dict[str, inspect.Signature]:
    found = inspect.getmembers(door, inspect.isfunction)
    return {name: inspect.signature(verb) for name, verb in found if not name.startswith("_")}


def test_both_doors_have_the_same_verbs() -> None:
    assert _verbs(AsyncHippocampe) == _verbs(Hippocampe)


@pytest.mark.parametrize("door", [Hippocampe, AsyncHippocampe, Companion])
def test_a_folder_in_place_of_a_memory_is_refused_at_once(door: Any, tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match=r"use Hippocampe\.open\(folder\)"):
        door(tmp_path / "data")


def test_the_awaited_door_stores_and_finds(tmp_path: Path) -> None:
    scope = Scope(user="dev")

    async def talk() -> list[str]:
        async with await AsyncHippocampe.open(tmp_path / "data") as hippo:
            assert hippo.owns
            contents = ["Inès joue de la harpe", "Le chat de Paul s'appelle Biscuit"]
            await asyncio.gather(*(hippo.remember(text, scope=scope) for text in contents))
            found = await hippo.recall("comment s'appelle le chat ?", scope=scope)
            return [item.content for item in found]

    assert asyncio.run(talk())[0] == "Le chat de Paul s'appelle Biscuit"
