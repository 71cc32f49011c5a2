"""Parse what the library says in English, so that it can be translated: reasons of decisions, outcomes of jobs, errors.

Errors are English where programs read them: in logs, in bodies of the API, in the store. A reader gets them in their
language, whichever process raised them.

The forms are entries of the catalogues, with placeholders for the values.
"""

import re
from functools import cache

from hippocampe.language.i18n import catalogue
from hippocampe.language.lexicon import REFERENCE

FORM = "decision"
"""Context of the reasons of decisions on two statements."""
RECORDED = "recorded"
"""Context of the outcomes of jobs, and of the reasons why memories were hidden."""
ERROR = "error"
"""Context of the messages of errors, and of the texts that are inserted into them."""

PLACEHOLDER = re.compile(r"{(\w+)}")
_THOUSANDS = re.compile(r"\d{1,3}(?:,\d{3})+")
_DECIMAL = re.compile(r"(?:\d+|\d{1,3}(?:,\d{3})+)\.\d+")
_SIZE = re.compile(r"{(\w+)} [GM]B\b")
"""A placeholder of a size. Other decimal numbers stay as they are: versions, and what a person wrote."""
_WORD = re.compile(r"\w")

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


def error(message: str, language: str) -> str:
    """The message of an error in a language; one without an entry stays English."""
    return message if language == REFERENCE else _error(message, language)[1]


def _error(message: str, language: str, *, inserted: bool = False) -> tuple[int, str]:
    """The form that explains most characters of a message, with those of the forms inserted into it; how many."""
    if inserted and _THOUSANDS.fullmatch(message):
        return 0, _number(message, language)
    best = (0, message)
    for form, pattern in _patterns(ERROR).items():
        own = PLACEHOLDER.sub("", form)
        # A form without words of its own could match what a person wrote.
        if (found := pattern.fullmatch(message)) and not (inserted and not _WORD.search(own)):
            sizes = _SIZE.findall(form)
            inner = {
                name: (0, _number(value, language))
                if name in sizes and _DECIMAL.fullmatch(value)
                else _error(value, language, inserted=True)
                for name, value in found.groupdict().items()
            }
            explained = len(own) + sum(each[0] for each in inner.values())
            if explained > best[0]:
                entry = catalogue(language).get(form, ERROR)
                # Not `format`: messages contain braces, as in examples of JSON.
                translated = PLACEHOLDER.sub(
                    lambda name, inner=inner: inner[name[1]][1],
                    str(entry.string if entry else form),
                )
                best = (explained, translated)
    return best


def _number(written: str, language: str) -> str:
    from babel.numbers import format_decimal

    return format_decimal(written.replace(",", ""), "#,##0.##", locale=language)


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
    known = {
        **dict.fromkeys(("share", "number", "messages", "statements", "turns"), r"[\d,]+"),
        "model": r"\S+",
        "outcome": "|".join(_entries("decided outcome")),
        "relation": "|".join(_entries("decided relation")),
    }
    value = ".+"
    if context == ERROR:
        # Errors are inserted at the end of others.
        known = {"field": r"\w+", "label": r"[\w ]+(?= ['\"])|\w+"}
        value = ".*?"

    def wordy(form: str) -> tuple[int, int]:
        return -len(PLACEHOLDER.sub("", form)), form.count("{")

    forms = sorted(_entries(context), key=wordy)
    return {
        form: re.compile(
            re.sub(
                r"\\{(\w+)\\}",
                lambda name: f"(?P<{name[1]}>{known.get(name[1], value)})",
                re.escape(form),
            ),
            re.DOTALL,
        )
        for form in forms
    }


@cache
def _entries(context: str) -> list[str]:
    return [str(entry.id) for entry in catalogue("en") if entry.context == context]
