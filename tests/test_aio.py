"""The awaited door has the verbs of the other one, with the same arguments and results."""

import asyncio
import inspect
from pathlib import Path

from hippocampe import Hippocampe, Scope
from hippocampe.aio import AsyncHippocampe


def _verbs(door: type) -> dict[str, inspect.Signature]:
    found = inspect.getmembers(door, inspect.isfunction)
    return {name: inspect.signature(verb) for name, verb in found if not name.startswith("_")}


def test_both_doors_have_the_same_verbs() -> None:
    assert _verbs(AsyncHippocampe) == _verbs(Hippocampe)


def test_the_awaited_door_stores_and_finds(tmp_path: Path) -> None:
    scope = Scope(user="dev")

    async def talk() -> list[str]:
        async with await AsyncHippocampe.open(tmp_path / "data") as hippo:
            contents = ["Inès joue de la harpe", "Le chat de Paul s'appelle Biscuit"]
            await asyncio.gather(*(hippo.remember(text, scope=scope) for text in contents))
            found = await hippo.recall("comment s'appelle le chat ?", scope=scope)
            return [item.content for item in found]

    assert asyncio.run(talk())[0] == "Le chat de Paul s'appelle Biscuit"
