"""The reasons of a score in words."""

from collections import defaultdict

from hippocampe.language.detect import Language
from hippocampe.language.i18n import translate
from hippocampe.language.reasons import OBJECTIONS, REASON_OF
from hippocampe.types import Recollection

_SHOWN = 0.05
"""The smallest contribution to the log-odds that is shown."""


def reasons(item: Recollection, limit: int = 3, *, language: Language = "en") -> str:
    """The strongest reasons for an item, each with its contribution to the log-odds.

    Returns:
        `why: the same words (+1.2); states a date (+0.4)`, or an empty text.
    """
    sums: dict[str, float] = defaultdict(float)
    for signal in item.why:
        if signal.name in REASON_OF:
            sums[REASON_OF[signal.name]] += signal.contribution
    strongest = sorted(sums.items(), key=lambda each: -each[1])[:limit]
    spelled = _spelled(language)
    shown = [f"{spelled[reason]} (+{total:.1f})" for reason, total in strongest if total >= _SHOWN]
    why, but = translate("why:", language), translate("but", language)
    shown += [
        f"{but} {spelled[OBJECTIONS[signal.name]]} ({signal.contribution:.1f})"
        for signal in item.why
        if signal.name in OBJECTIONS and signal.contribution
    ]
    return f"{why} {'; '.join(shown)}" if shown else ""


def _spelled(language: Language) -> dict[str, str]:
    """Every reason and objection, in a language."""
    return {
        "matching words, in the text or around it": translate(
            "matching words, in the text or around it", language
        ),
        "close in meaning": translate("close in meaning", language),
        "the same words": translate("the same words", language),
        "about the same topic": translate("about the same topic", language),
        "all that was asked for": translate("all that was asked for", language),
        "about the person asked about": translate("about the person asked about", language),
        "better than the other candidates": translate("better than the other candidates", language),
        "a matching conversation": translate("a matching conversation", language),
        "the answer to a similar question": translate("the answer to a similar question", language),
        "said by the person in the question": translate(
            "said by the person in the question", language
        ),
        "states a date": translate("states a date", language),
        "states a number": translate("states a number", language),
        "states a place": translate("states a place", language),
        "from the time in the question": translate("from the time in the question", language),
        "important": translate("important", language),
        "often recalled": translate("often recalled", language),
        "someone else says it of themselves": translate(
            "someone else says it of themselves", language
        ),
        "the message asks nothing of memory": translate(
            "the message asks nothing of memory", language
        ),
    }
