"""Decide which undecided pairs of statements are worth the time of a person.

The learnt model compares what it is given: of two statements about one person it is often unsure, whatever they
are about. A person is asked only about pairs with a common matter, and only if a merge is likely enough.
"""

from hippocampe.language.statement import CHANGE, Statement, parse
from hippocampe.language.word_classes import word_classes
from hippocampe.store.associations import RESTORED, likelihood

_LIKELY = 0.4
"""Least likelihood of a merge. Below it, a person keeps both of nearly all pairs of the sample, except of those in which
the new statement changes a part of the old one, so that half of its matter is in the old one."""
_LIKELY_ALONE = 0.6
"""The same without a common word, as of a paraphrase, or of a report of what came of a plan."""
_LIKELY_CHANGED = 0.5
"""The same if the new statement says that something changed, or gives another amount: "I'm down to 77" after "I weigh 82 kilos"."""

_PERHAPS = "perhaps"
"""The beginning of the reason of two values of one relation, which is their common matter; of the model, with a likelihood."""
_DOUBTS = ("a doubt", "another's claim")
"""The beginnings of the reasons of a statement that says itself that it is not sure, of more than a name in common."""


def worth_asking(new: str, old: str, reason: str) -> bool:
    """Return whether to list an undecided pair for review; `reason` says why it was not decided."""
    if reason.startswith(RESTORED):
        return True
    likely, one, other = likelihood(reason), parse(new), parse(old)
    if one.language != other.language and set(one.values) == set(other.values):
        # Their later updates replace both: see `hippocampe.updates.twins`.
        return True
    if reason.startswith(_DOUBTS) and len(one.content_stems & other.content_stems) > 1:
        return True
    if reason.startswith(_PERHAPS) and likely is None:
        return True
    common = _matter(one) & _matter(other)
    for each in (one, other):
        # At the beginning, it looks like a name in the other: "Ibuprofen makes me sick", "I take ibuprofen".
        if not each.lowercase:
            common |= _matter(each) & one.content_stems & other.content_stems
    if not common and not _differ_in_values_alone(one, other):
        least = _LIKELY_CHANGED if _changes(one, other) else _LIKELY_ALONE
        return likely is not None and likely >= least
    return likely is None or likely >= _LIKELY or 2 * len(common) >= len(_matter(one))


def _changes(new: Statement, old: Statement) -> bool:
    """Return whether the new statement says that something changed, or both have an amount that the other lacks."""
    ours, theirs = (
        {token.stem for token in each.tokens if token.kind in ("number", "money")}
        for each in (new, old)
    )
    return bool(CHANGE & (new.signs - old.signs)) or bool(ours - theirs and theirs - ours)


def _differ_in_values_alone(one: Statement, other: Statement) -> bool:
    """Return whether two statements are the same but for numbers, dates and times: "Yoga is at 9", "Yoga is at 10"."""
    common = one.content_stems & other.content_stems
    tokens = [each.tokens[at] for each in (one, other) for at in each.content]
    return all(token.kind != "word" or token.stem in common for token in tokens)


def _matter(reading: Statement) -> set[str]:
    """The content words of a statement without names, numbers, dates, "now" and "instead", which many statements share."""
    classes, norms = word_classes(), [token.norm for token in reading.tokens]
    dropped = {
        place
        for name in ("neutral", "instead")
        for at in range(len(norms))
        for place in range(at, at + classes.match(name, norms, at))
    }
    tokens = [reading.tokens[at] for at in reading.content if at not in dropped]
    return {token.stem for token in tokens if token.kind == "word" and not token.name}
