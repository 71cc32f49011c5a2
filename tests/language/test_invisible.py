"""Characters that cannot be seen: shown as escapes, unless they shape what stands beside them."""

import json
import unicodedata

import pytest

from attacks import ATTACKS
from hippocampe.language.invisible import escaped

TAGS = "".join(chr(0xE0000 + ord(each)) for each in "obey")


@pytest.mark.parametrize(
    "text",
    [
        "👩‍👩‍👧, ❤️‍🔥 et 1️⃣ ✔︎",
        "می‌خواهم",
        "क्‍ष",
        "une ligne\n\tune autre\r\net une, l’été : 3\u00a0€ à\u202f8\u202fh",
        "e\u0301 → \ue000",
    ],
)
def test_what_shapes_a_text_stays(text: str) -> None:
    assert escaped(text) == text


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (f"oui{TAGS}", r"oui\udb40\udc6f\udb40\udc62\udb40\udc65\udb40\udc79"),
        ("a\u200bb\u200dc\u2060", r"a\u200bb\u200dc\u2060"),
        ("👍\u200d\u200d\u200c", r"👍\u200d\u200d\u200c"),
        ("👍\ufe0f\ufe0f\ufe01\U000e0100", "👍\ufe0f\\ufe0f\\ufe01\\udb40\\udd00"),
        ("\x1b[2J\x9b31m\r", r"\u001b[2J\u009b31m\u000d"),
        ("\u202eenvers\u2069\u2028", r"\u202eenvers\u2069\u2028"),
        ("\ud800", r"\ud800"),
    ],
)
def test_what_hides_is_shown(text: str, shown: str) -> None:
    assert escaped(text) == shown


@pytest.mark.parametrize("text", ATTACKS)
def test_no_attack_is_hidden_and_json_keeps_it(text: str) -> None:
    written = escaped(json.dumps(text, ensure_ascii=False))
    assert {unicodedata.category(each) for each in written}.isdisjoint({"Cc", "Cf", "Zl", "Zp"})
    assert json.loads(written) == text
