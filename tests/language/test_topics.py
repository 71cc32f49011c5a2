"""What words speak of."""

import re

import pytest

from hippocampe.language.text import STOP_WORDS, fold
from hippocampe.language.topics import GREETING, MIN_AFFIX, topic_numbers, topic_words, topics_of


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ("blesse", "epaule"),
        ("hurt", "fractured"),
        ("cacahuetes", "arachides"),
        ("vacances", "sejour"),
        ("habite", "demenage"),
        ("job", "radiographer"),
        ("malade", "sick"),
    ],
)
def test_words_share_a_topic_without_a_letter(asked: str, told: str) -> None:
    assert topics_of(asked) & topics_of(told)


def test_other_words_share_none() -> None:
    assert not topics_of("blesse") & topics_of("loyer")
    assert topics_of("xylographique") == topics_of("") == 0


def test_small_talk_is_no_topic_of_a_question() -> None:
    assert topics_of("bonjour") & GREETING
    assert topics_of("thanks") & GREETING
    assert topic_numbers([topics_of("bonjour")]) == []
    assert topic_numbers([]) == []
    assert len(topic_numbers([topics_of("hello"), topics_of("hurt")])) >= 1


def test_the_data_fits_the_bits_and_is_written_as_words_are_compared() -> None:
    assert next(iter(topic_words())) == "greeting"
    assert len(topic_words()) <= 64
    for name, listed in topic_words().items():
        for word in listed:
            assert re.fullmatch(r"\*?[a-z0-9]+|[a-z0-9]+\*", word), (name, word)
            assert word == fold(word)
            assert "*" not in word or len(word.strip("*")) >= MIN_AFFIX, (name, word)
        assert len(set(listed)) == len(listed), name


def test_stop_words_are_no_entry() -> None:
    assert STOP_WORDS.isdisjoint(topic_words()["injury"])
