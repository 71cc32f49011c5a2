"""Translate texts, from the gettext catalogues of the languages.

The English text in the source is the key; translations are in `language/CODE/NAME.po`, which is parsed
directly, without a compile step.
"""

from functools import cache
from gettext import GNUTranslations
from importlib.resources import files
from io import BytesIO

from hippocampe.errors import InvalidInput, shown
from hippocampe.language.lexicon import languages


def translate(text: str, language: str) -> str:
    """Translate a message of the program; return it unchanged when the catalogue has no translation.

    Raises:
        InvalidInput: There is no such language.
    """
    return catalogue(language, "messages").gettext(text)


@cache
def catalogue(language: str, name: str) -> GNUTranslations:
    """Load a catalogue. It knows the plural forms of its language.

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
    from babel.messages.mofile import write_mo
    from babel.messages.pofile import read_po

    compiled = BytesIO()
    path = files("hippocampe.language") / language / f"{name}.po"
    with path.open("rb") as file:
        write_mo(compiled, read_po(file))
    compiled.seek(0)
    return GNUTranslations(compiled)
