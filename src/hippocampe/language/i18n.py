"""Translate messages to the language of a space, from gettext catalogues.

The English text in the source is the key; translations are in `LANGUAGE/messages.po`, which is parsed
directly, without a compile step.
"""

import os
import re
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from hippocampe.errors import InvalidInput, shown
from hippocampe.language.lexicon import languages

if TYPE_CHECKING:
    from babel.messages.catalog import Catalog

_LOCALE = ("LANGUAGE", "LC_ALL", "LC_MESSAGES", "LANG")
"""Variables that name the language of messages; the first that is set counts, as for gettext."""


def language_of_locale() -> str | None:
    """Return the language of the locale; None if it names none that is known."""
    named = next(filter(None, map(os.environ.get, _LOCALE)), "")
    code = re.split("[_.:@]", named, maxsplit=1)[0].lower()
    return code if code in languages() else None


def translate(text: str, language: str) -> str:
    """Translate an English text; return it unchanged when the catalogue has no translation.

    Raises:
        InvalidInput: There is no such language.
    """
    entry = catalogue(language).get(text)
    return str(entry.string) if entry is not None and entry.string else text


@cache
def catalogue(language: str) -> "Catalog":
    """Load the catalogue of a language, with its contexts and plural forms.

    Raises:
        InvalidInput: There is no such language.
    """
    if language not in languages():
        raise InvalidInput(
            f"language {shown(language)} is unknown: use one of {', '.join(languages())}."
        )
    # Deferred: importing babel takes longer than the import budget of the whole library.
    from babel.messages.pofile import read_po

    path = files("hippocampe.language") / language / "messages.po"
    with path.open("rb") as file:
        return read_po(file, locale=language)
