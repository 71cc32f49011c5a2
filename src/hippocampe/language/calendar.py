"""Names of months and weekdays, number words and ordinal suffixes, from which dates are written."""

from __future__ import annotations

from typing import Final

from hippocampe.language.lexicon import languages, load, load_all, words_of
from hippocampe.language.text import fold

MONTH_NAMES: Final = {
    each: [names.split()[0] for names in load(each, "time")["months"]] for each in languages()
}
"""Full month names as written, in calendar order, by language."""
FULL_MONTHS: Final = {
    fold(name): number for names in MONTH_NAMES.values() for number, name in enumerate(names, 1)
}
"""Month number by folded full name."""
MONTHS: Final = {
    fold(name): number
    for each in languages()
    for number, names in enumerate(load(each, "time")["months"], start=1)
    for name in names.split()
}
"""Month number by folded name or abbreviation."""
WEEKDAYS: Final = {
    name: number
    for each in languages()
    for number, name in enumerate(load(each, "time")["weekdays"].split())
}
"""Number of a day of the week by folded name; Monday is 0."""
NUMBERS: Final = {
    word: int(value)
    for value, names in load_all("words")["numbers"].items()
    for word in names.split()
}
"""Value by folded number word."""
ORDINALS: Final = "|".join(sorted(words_of("expressions.ordinals", file="time")))
"""Suffixes of a day number ("1er", "2nd"), as regular expression alternatives."""
