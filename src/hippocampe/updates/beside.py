"""Tell a new statement that leaves an older one as it is, however much the two share: another's claim, an addition."""

from __future__ import annotations

from hippocampe.language.lexicon import words_of
from hippocampe.language.statement import Statement
from hippocampe.language.word_classes import word_classes
from hippocampe.updates.alignment import Alignment


def beside(aligned: Alignment) -> str | None:
    """Return why the older statement still holds beside the new one; None if it may not."""
    old, new = aligned.old, aligned.new
    if _is_claimed(new, old) and not _is_claimed(old, new):
        return "another's claim"
    return "an addition" if aligned.open_old and _adds(new) and not _adds(old) else None


def _is_claimed(statement: Statement, other: Statement) -> bool:
    """Return whether somebody, whom the other statement does not name, claims it: "the doctor says …", "according to Ann, …"."""
    classes, tokens = word_classes(), statement.tokens
    norms = [token.norm for token in tokens]
    if not classes.may_occur("claims", norms) or statement.subject == "speaker":
        return False
    at = next((at for at in range(len(norms)) if classes.match("claims", norms, at)), 0)
    length = classes.match("claims", norms, at)
    last = statement.verb + ("auxiliary" in tokens[at - 1].roles)  # "has said"
    if not length or at > last or classes.match("no_hedges", norms, at):
        return False
    # Who claims it is named in front of "says", and behind "according to".
    people = [token for token in tokens[:at] or tokens[length:] if not token.roles]
    people = people if at else people[:1]
    named = {token.norm for token in people if token.name or token.kin}
    if not people or not named.isdisjoint(other.norms):
        return False
    return not at or _is_clause(statement, at + length)


def _is_clause(statement: Statement, start: int) -> bool:
    """Return whether the tokens from a position on are one clause with a verb: not "said 86 kilos", "says no, so we stay"."""
    after = statement.tokens[start:]
    norms = [token.norm for token in after]
    states = any("auxiliary" in each.roles or each.stem in statement.verbs for each in after)
    parted = any(word.pause and word.norm in norms for word in statement.words)
    return states and not parted


def _adds(statement: Statement) -> bool:
    """Return whether a statement says that it holds as well: "too", "aussi", but not "too long", "aussi long que"."""
    classes, tokens = word_classes(), statement.tokens
    norms = [token.norm for token in tokens]
    infinitives = tuple(words_of("infinitive_endings", language=statement.language))
    for at in range(len(norms)):
        if not (length := classes.match("added", norms, at)):
            continue
        after = next(iter(tokens[at + length :]), None)
        verbal = after and (after.stem in statement.verbs or after.norm.endswith(infinitives))
        degree = classes.has("degrees", *norms[at : at + length])
        if not degree or after is None or after.roles or verbal:
            return True
    return False
