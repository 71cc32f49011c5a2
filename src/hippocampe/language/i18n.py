"""What Hippocampe says in the language of a space, from gettext catalogues.

The text in the source is English and is the key; `locales/LANGUAGE/LC_MESSAGES/hippocampe.po` holds
the translations. They are read as they are, so that there is nothing to compile.
"""

from collections.abc import Mapping
from functools import cache
from importlib.resources import files

from hippocampe.errors import InvalidInput

LANGUAGES = ("fr", "en")


def translate(text: str, language: str) -> str:
    """An English text of the source in a language; itself where the catalogue leaves it as it is.

    Raises:
        InvalidInput: There is no catalogue for the language.
    """
    return _catalogue(language).get(text, text)


@cache
def _catalogue(language: str) -> Mapping[str, str]:
    if language not in LANGUAGES:
        raise InvalidInput(f"language {language!r} is unknown: use one of {', '.join(LANGUAGES)}.")
    # Imported late: it takes longer than importing the whole library may.
    from babel.messages.pofile import read_po

    path = files("hippocampe") / "locales" / language / "LC_MESSAGES" / "hippocampe.po"
    with path.open("rb") as file:
        return {
            entry.id: entry.string
            for entry in read_po(file, locale=language)
            if isinstance(entry.id, str) and isinstance(entry.string, str) and entry.string
        }
