"""Parse what the engine writes in English, so that it can be translated: reasons of decisions and of errors, outcomes
of jobs.

The forms are entries of the catalogues, with placeholders for the values.
"""

import re
from functools import cache

from hippocampe.language.i18n import catalogue

FORM = "decision"
"""Context of the reasons of decisions on two statements."""
RECORDED = "recorded"
"""Context of the outcomes of jobs, and of the reasons why memories were hidden."""
FAILURE = "failure"
"""Context of the reasons of errors that readers of pages may get."""

UNSURE = "alike, and no rule is sure"
"""The form of a pair that resembles, without more to say of it."""
LEFT = ("left to a person by model", "left by the local reader")
"""Beginnings of the forms of pairs that a model could not decide either, followed by the reason before."""


def parse(text: str, context: str = FORM) -> tuple[str, dict[str, str]] | None:
    """The form of a text and the values of its placeholders; None if its form is unknown."""
    for form, pattern in _patterns(context).items():
        if found := pattern.fullmatch(text):
            return form, found.groupdict()
    return None


def question(reason: str) -> tuple[str, dict[str, str]]:
    """The entry of the catalogues that says why a pair waits, and the values of its reason.

    A reason without an entry of its own has that of a pair that is alike.
    """
    form, values = parse(reason) or (UNSURE, {})
    if "outcome" in values:
        return values["outcome"], values
    if form.startswith(LEFT):
        return question(values["reason"])
    kind = form.partition(":")[0]
    return (kind if kind in _entries("why asked") else UNSURE), values


@cache
def _patterns(context: str) -> dict[str, re.Pattern[str]]:
    """The forms with their patterns; those with more text of their own come first."""
    placeholders = {
        "outcome": "|".join(_entries("decided outcome")),
        "relation": "|".join(_entries("decided relation")),
        **dict.fromkeys(("share", "number", "messages", "statements", "turns"), r"[\d,]+"),
        "model": r"\S+",
    }
    forms = sorted(_entries(context), key=lambda form: -len(re.sub(r"{\w+}", "", form)))
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


@cache
def _entries(context: str) -> list[str]:
    return [str(entry.id) for entry in catalogue("en") if entry.context == context]
