"""A text as the reader sees it, and in other ways in which people type it."""

import re
import unicodedata
from collections.abc import Hashable, Sequence
from random import Random
from typing import Final

from hippocampe.language.detect import guess_language
from hippocampe.language.text import STOP_WORDS

LETTERS = "abcdefghijklmnopqrstuvwxyz"


def without_accents(text: str) -> str:
    """A text in small letters, without accents and punctuation at the end."""
    plain = unicodedata.normalize("NFD", text.lower())
    return "".join(each for each in plain if not unicodedata.combining(each)).rstrip(" ?.!")


def mistyped(word: str, random: Random) -> str:
    """A word with two letters swapped, one missing, one wrong or one too many; the first is right."""
    at = random.randrange(1, len(word) - 1)
    before, here, after = word[:at], word[at], word[at + 1 :]
    letter = random.choice(LETTERS)
    return random.choice(
        (
            before + after[0] + here + after[1:],
            before + after,
            before + letter + after,
            before + letter + here + after,
        )
    )


def with_error(text: str) -> str:
    """A text with a typing error in one of its longer words, the same at each call."""
    random = Random(text)
    longer = [each for each in re.finditer(r"[^\W\d_]+", text) if len(each[0]) > 4]
    if not longer:
        return text
    chosen = random.choice(longer)
    return text[: chosen.start()] + mistyped(chosen[0], random) + text[chosen.end() :]


MARKED: Final = {
    "fr": ("bon, {}", "au fait {}", "salut, {}", "ok donc {}", "attends, {}", "{} mdr", "{} 😅"),
    "en": ("ok so {}", "btw {}", "hey, {}", "well, {}", "wait, {}", "{} lol", "{} 😅"),
}
"""Discourse markers around a text."""


def marked(text: str) -> str:
    """A text with a discourse marker before or behind it, the same at each call."""
    chosen = Random(text).choice(MARKED[guess_language(text, default="en")])
    return chosen.format(text if chosen.startswith("{") else text[0].lower() + text[1:])


ANNOUNCED: Final = {
    "fr": (
        "Il se trouve que {}",
        "Finalement, {}",
        "Je ne sais pas si je te l'ai dit, mais {}",
        "Désormais, {}",
    ),
    "en": (
        "It turns out that {}",
        "In the end, {}",
        "I don't know if I told you, but {}",
        "From now on, {}",
    ),
}
"""Words in front of a text that announce it."""


def announced(text: str) -> str:
    """A text with an announcement in front of it, and small talk or a question behind it, the same at each call."""
    language = guess_language(text, default="en")
    behind = {"fr": "Et toi, ta journée ?", "en": "How was your day?"}[language]
    told = Random(text).choice(ANNOUNCED[language]).format(text[0].lower() + text[1:])
    return f"{told.rstrip('.')}. {behind}"


def dated(text: str) -> str:
    """A text with a date in front of it."""
    return f"2026-03-02: {text}"


def sentence(text: str) -> str:
    """A text with a capital and a full stop, as a telephone writes it."""
    return text[0].upper() + text[1:] + ("." if text[-1].isalnum() else "")


AROUND: Final = {"marked": marked, "announced": announced, "dated": dated, "sentence": sentence}
"""Ways in which other words surround a text."""
STRIDE: Final = 37
"""Between a text and the one that stands beside it, among those of its kind: far enough for another topic."""


def others(kinds: Sequence[Hashable], stride: int = STRIDE) -> list[int]:
    """For each text of some kind, the place of another one of that kind, or of the next one if it is alone."""
    groups: dict[Hashable, list[int]] = {}
    for at, kind in enumerate(kinds):
        groups.setdefault(kind, []).append(at)
    chosen = [(at + 1) % len(kinds) for at in range(len(kinds))]
    for group in groups.values():
        if len(group) > 1:
            # Never a multiple of their number, which would give the text itself.
            step = stride % (len(group) - 1) + 1
            for place, at in enumerate(group):
                chosen[at] = group[(place + step) % len(group)]
    return chosen


def behind(text: str, fact: str) -> str:
    """A text behind another fact."""
    first, second = (each[0].upper() + each[1:].rstrip(".") + "." for each in (fact, text))
    return f"{first} {second}"


def joined(text: str, fact: str) -> str:
    """A text that "and" joins to another fact."""
    union = {"fr": "et", "en": "and"}[guess_language(text, default="en")]
    first, _, rest = text.partition(" ")
    begins = first.lower() if first.lower() in STOP_WORDS and first != "I" else first
    return f"{fact.rstrip('.')} {union} {begins} {rest}".strip()


def line(user: str, content: str) -> str:
    """A text or a message as the reader sees it, with who speaks."""
    return f"{user}: {content}" if user else content


FORMS: Final = (str.lower, str.upper, without_accents, with_error)
"""Ways in which a text may be typed instead of as it is written."""
