"""Worlds with other names, so that the reader recognises none by its names."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from typing import Final

from reader_data import World
from typed_forms import without_accents

_WORD: Final = re.compile(r"\w+")
_FEMININE: Final = ("a", "e", "é")
"""Ends of first names that are mostly feminine: the words around a name agree with it."""


def renamed(world: World, names: Sequence[str], chance: random.Random) -> World:
    """A world whose users have other names, in the texts too, so that no world is recognised by them.

    Args:
        world: The world.
        names: Names to draw from: those that end alike, since the words around them agree with the name.
        chance: Draws.
    """
    said = " ".join(text.content for text in world.texts.values())
    used = {_folded(word) for word in _WORD.findall(said)}
    words = {word for word in _WORD.findall(said) if word.islower()}
    users = {text.user for text in world.texts.values()}
    others = {
        end: [
            name
            for name in names
            if _folded(name) not in used and name not in users and _is_feminine(name) == end
        ]
        for end in (True, False)
    }
    chosen: dict[str, str] = {}
    for user in sorted(users):
        # A name that is a word too ("grace") or has several words cannot be told from the words.
        if user.isalpha() and len(user) > 2 and user.lower() not in words:
            chosen[_folded(user)] = others[_is_feminine(user)].pop(
                chance.randrange(len(others[_is_feminine(user)]))
            )

    def other(found: re.Match[str]) -> str:
        word = found.group()
        name = chosen.get(_folded(word))
        if name is None:
            return word
        return name.lower() if word.islower() else name.upper() if word.isupper() else name.title()

    def rewritten(text: str) -> str:
        return _WORD.sub(other, text)

    return World(
        world.name,
        {
            id: replace(text, user=rewritten(text.user), content=rewritten(text.content))
            for id, text in world.texts.items()
        },
        [
            replace(each, user=rewritten(each.user), content=rewritten(each.content))
            for each in world.questions
        ],
    )


@cache
def _folded(name: str) -> str:
    return without_accents(name).lower()


def _is_feminine(name: str) -> bool:
    return name.lower().endswith(_FEMININE)
