"""Translations of the pages, from gettext catalogues.

The English text in a template is the key; translations are in `locales/LANGUAGE/LC_MESSAGES/pages.po`.
Placeholders are names in braces.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Literal, get_args

from babel.messages.pofile import read_po
from markupsafe import Markup

Language = Literal["fr", "en"]
LANGUAGES: tuple[Language, ...] = get_args(Language)


@dataclass(frozen=True, slots=True)
class Wording:
    """The translations of one language."""

    language: Language

    def say(self, text: str, **values: Any) -> str:
        """Translate a text and fill its placeholders, escaped for HTML if a value is `Markup`."""
        return _filled(_catalogue(self.language).get(text, text), values)

    def count(self, one: str, many: str, number: int, *, shown: str, **values: Any) -> str:
        """Translate the text for a number, shown in the placeholder `number`.

        French has the singular for 0 and 1, English for 1 only.
        """
        single = number <= 1 if self.language == "fr" else number == 1
        forms = _plurals(self.language).get(one, (one, many))
        return _filled(forms[0 if single else 1], {"number": shown, **values})


def marked(text: str) -> str:
    """Mark a text for the catalogues, to be translated where it is shown."""
    return text


def _filled(text: str, values: Mapping[str, Any]) -> str:
    if any(isinstance(value, Markup) for value in values.values()):
        return Markup(text).format(**values)
    return text.format(**values) if values else text


@cache
def _catalogue(language: Language) -> Mapping[str, str]:
    return {
        entry: translated
        for entry, translated in _entries(language)
        if isinstance(entry, str) and isinstance(translated, str) and translated
    }


@cache
def _plurals(language: Language) -> Mapping[str, tuple[str, ...]]:
    return {
        entry[0]: tuple(translated)
        for entry, translated in _entries(language)
        if isinstance(entry, tuple | list) and all(translated)
    }


@cache
def _entries(language: Language) -> tuple[tuple[Any, Any], ...]:
    path = files("hippocampe") / "locales" / language / "LC_MESSAGES" / "pages.po"
    with path.open("rb") as file:
        return tuple((entry.id, entry.string) for entry in read_po(file, locale=language))
