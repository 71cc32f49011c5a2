"""Translations of the pages, from gettext catalogues.

The English text in a template is the key; translations are in `language/CODE/pages.po`.
Placeholders are names in braces.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from gettext import c2py
from typing import Any

from markupsafe import Markup

from hippocampe.language.i18n import catalogue, languages

Language = str
LANGUAGES = languages()


@dataclass(frozen=True, slots=True)
class Wording:
    """The translations of one language."""

    language: Language

    def say(self, text: str, **values: Any) -> str:
        """Translate a text and fill its placeholders, escaped for HTML if a value is `Markup`."""
        entry = catalogue(self.language, "pages").get(text)
        return _filled(str(entry.string) if entry is not None and entry.string else text, values)

    def count(self, one: str, many: str, number: int, *, shown: str, **values: Any) -> str:
        """Translate the text for a number, shown in the placeholder `number`."""
        found = catalogue(self.language, "pages")
        entry = found.get(one)
        translated = [str(each) for each in (entry.string if entry else None) or ()]
        forms = translated if translated and all(translated) else (one, many)
        return _filled(forms[c2py(found.plural_expr)(number)], {"number": shown, **values})


def marked(text: str) -> str:
    """Mark a text for the catalogues, to be translated where it is shown."""
    return text


def _filled(text: str, values: Mapping[str, Any]) -> str:
    if any(isinstance(value, Markup) for value in values.values()):
        return Markup(text).format(**values)
    return text.format(**values) if values else text
