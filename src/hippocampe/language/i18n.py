"""Translate messages to the language of a space, from gettext catalogues.

The English text in the source is the key; translations are in
`locales/LANGUAGE/LC_MESSAGES/hippocampe.po`, which is parsed directly, without a compile step.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from hippocampe.errors import InvalidInput, shown

LANGUAGES = ("fr", "en")


def translate(text: str, language: str) -> str:
    """Translate an English text; return it unchanged when the catalogue has no translation.

    Raises:
        InvalidInput: The language has no catalogue.
    """
    return _catalogue(language).get(text, text)


@cache
def _catalogue(language: str) -> Mapping[str, str]:
    if language not in LANGUAGES:
        raise InvalidInput(
            f"language {shown(language)} is unknown: use one of {', '.join(LANGUAGES)}."
        )
    # Deferred: importing babel takes longer than the import budget of the whole library.
    from babel.messages.pofile import read_po

    path = files("hippocampe") / "locales" / language / "LC_MESSAGES" / "hippocampe.po"
    with path.open("rb") as file:
        return {
            entry.id: entry.string
            for entry in read_po(file, locale=language)
            if isinstance(entry.id, str) and isinstance(entry.string, str) and entry.string
        }
