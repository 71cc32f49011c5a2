"""The faces of a companion: a listed set, so that a host can draw each."""

from functools import cache
from typing import Final, Literal, get_args

from hippocampe.language.lexicon import languages, load
from hippocampe.language.text import words

Expression = Literal[
    "neutral", "happy", "excited", "amused", "affectionate", "proud", "curious", "thoughtful",
    "surprised", "confused", "worried", "sad", "angry", "tired", "embarrassed",
]  # fmt: skip
EXPRESSIONS: Final[tuple[Expression, ...]] = get_args(Expression)
DEFAULT_EXPRESSION: Final[Expression] = "neutral"


def listed(answer: object) -> Expression:
    """The listed expression that a model means: "Happy!", "joyeux" and "content" are `happy`.

    Small models choose other words than the schema lists; asking again would cost a request.
    """
    meanings = _meanings()
    said = words(answer) if isinstance(answer, str) else ()
    for word in said:
        if word in meanings:
            return meanings[word]
    return DEFAULT_EXPRESSION


@cache
def _meanings() -> dict[str, Expression]:
    found: dict[str, Expression] = {}
    for name in EXPRESSIONS:
        found[name] = name
        for language in languages():
            for word in str(load(language, "expressions")[name]).split():
                found.setdefault(word, name)
    return found
