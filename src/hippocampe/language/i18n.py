"""Translate messages to the language of a space, from gettext catalogues.

The English text in the source is the key; translations are in
`locales/LANGUAGE/LC_MESSAGES/hippocampe.po`, which is parsed directly, without a compile step.
"""

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from hippocampe.errors import InvalidInput, shown

if TYPE_CHECKING:
    from babel.messages.catalog import Catalog

LANGUAGES = ("fr", "en")


def translate(text: str, language: str) -> str:
    """Translate an English text; return it unchanged when the catalogue has no translation.

    Raises:
        InvalidInput: The language has no catalogue.
    """
    entry = catalogue(language).get(text)
    return str(entry.string) if entry is not None and entry.string else text


@cache
def catalogue(language: str) -> "Catalog":
    """The catalogue of a language, with its contexts and plural forms.

    Raises:
        InvalidInput: The language has no catalogue.
    """
    if language not in LANGUAGES:
        raise InvalidInput(
            f"language {shown(language)} is unknown: use one of {', '.join(LANGUAGES)}."
        )
    # Deferred: importing babel takes longer than the import budget of the whole library.
    from babel.messages.pofile import read_po

    path = files("hippocampe") / "locales" / language / "LC_MESSAGES" / "hippocampe.po"
    with path.open("rb") as file:
        return read_po(file, locale=language)
