"""The language of a statement."""

import pytest

from hippocampe.language.detect import language_of


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Emma aime beaucoup randonner", "fr"),
        ("Marc travaille chez Renault", "fr"),
        ("Emma loves hiking", "en"),
        ("Zurich Paris", "en"),
        ("je vis à Leeds", "fr"),
        ("the cat is in the kitchen", "en"),
    ],
)
def test_words_of_one_language_alone_tell_it(text: str, language: str) -> None:
    assert language_of(text) == language
