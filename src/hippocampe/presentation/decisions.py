"""Parse the reason of a decision on two statements, so that it can be translated.

A decision is stored with its reason in English. The forms of reasons are entries of the catalogues, with
placeholders for the values.
"""

import re
from functools import cache

from hippocampe.language.i18n import catalogue

FORM = "decision"
"""Context of the forms in the catalogues."""


def parse(reason: str) -> tuple[str, dict[str, str]] | None:
    """The form of a reason and the values of its placeholders; None if its form is unknown."""
    for form, pattern in _patterns().items():
        if found := pattern.fullmatch(reason):
            return form, found.groupdict()
    return None


@cache
def _patterns() -> dict[str, re.Pattern[str]]:
    """The forms with their patterns; those with more text of their own come first."""
    placeholders = {
        "outcome": "|".join(_entries("decided outcome")),
        "relation": "|".join(_entries("decided relation")),
        "share": r"\d+",
        "model": r"\S+",
    }
    forms = sorted(_entries(FORM), key=lambda form: -len(re.sub(r"{\w+}", "", form)))
    return {
        form: re.compile(
            re.sub(
                r"\\{(\w+)\\}",
                lambda name: f"(?P<{name[1]}>{placeholders.get(name[1], '.+')})",
                re.escape(form),
            )
        )
        for form in forms
    }


def _entries(context: str) -> list[str]:
    return [str(entry.id) for entry in catalogue("en") if entry.context == context]
