"""Translate texts, from the gettext catalogues of the languages.

The English text in the source is the key; translations are in `language/CODE/NAME.po`, which is parsed
directly, without a compile step.
"""

from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING

from hippocampe.errors import InvalidInput, shown
from hippocampe.language.lexicon import languages

if TYPE_CHECKING:
    from babel.messages.catalog import Catalog


def translate(text: str, language: str) -> str:
    """Translate a message of the program; return it unchanged when the catalogue has no translation.

    Raises:
        InvalidInput: There is no such language.
    """
    entry = catalogue(language).get(text)
    return str(entry.string) if entry is not None and entry.string else text


@cache
def catalogue(language: str, name: str = "messages") -> "Catalog":
    """Load a catalogue, with its contexts and plural forms.

    Args:
        language: Code of a language.
        name: The file, without its suffix.

    Raises:
        InvalidInput: There is no such language.
    """
    if language not in languages():
        raise InvalidInput(
            f"language {shown(language)} is unknown: use one of {', '.join(languages())}."
        )
    # Deferred: importing babel takes longer than the import budget of the whole library.
    from babel.messages.pofile import read_po

    path = files("hippocampe.language") / language / f"{name}.po"
    with path.open("rb") as file:
        return read_po(file, locale=language)
