"""The evidence of the learnt decision: an alignment as named numbers.

Each function adds one group. Every number is explainable by itself: the share of the old statement that is
repeated, conflicting values, signs of change in the new statement, whether both have the same subject.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import numpy as np

from hippocampe.language.reading.lexis import SIGNS
from hippocampe.language.reading.statement import PREDICATES, SUBJECTS, Reading
from hippocampe.language.reading.values import KINDS
from hippocampe.updates.alignment import HIT, Alignment, Floats

Evidence = dict[str, float]
_MOODS: Final = (
    "negation", "conditional", "future", "imperfect", "first_person", "second_person", "listing",
)  # fmt: skip
_COMPARED_SIGNS: Final = (*SIGNS, *_MOODS)
_CHANGE: Final = frozenset({"no_longer", "ended", "became", "correction", "now"})
_LONG: Final = 14
_MOST: Final = 16


def evidence_of(alignment: Alignment, cosine: float, old: Floats, new: Floats) -> Evidence:
    """The evidence on the relation of the new statement to the old one, by name.

    Args:
        alignment: The two statements, aligned.
        cosine: The cosine of the two statements.
        old: The vectors of the content words of the old statement, shape (words, width).
        new: Of the new one.
    """
    found: Evidence = {"cosine": cosine}
    _add_coverage(found, alignment, old, new)
    _add_order(found, alignment)
    _add_values(found, alignment)
    _add_names(found, alignment)
    _add_persons(found, alignment)
    _add_signs(found, alignment)
    _add_structure(found, alignment)
    _add_contrasts(found, alignment)
    return found


def _add_coverage(found: Evidence, aligned: Alignment, old: Floats, new: Floats) -> None:
    best_old, best_new = aligned.best_old.tolist(), aligned.best_new.tolist()
    found["covered_old"] = _mean(best_old)
    found["covered_new"] = _mean(best_new)
    found["least_old"] = min(best_old)
    found["least_new"] = min(best_new)
    found["covered_most"] = max(found["covered_old"], found["covered_new"])
    found["covered_gap"] = found["covered_old"] - found["covered_new"]
    found["open_old"] = len(aligned.open_old)
    found["open_new"] = len(aligned.open_new)
    found["length_old"] = min(len(best_old), _MOST)
    found["length_new"] = min(len(best_new), _MOST)
    found["longer"] = math.log((len(best_new) + 1) / (len(best_old) + 1))
    (all_old, rest_old), (all_new, rest_new) = (
        _sums(old, aligned.open_old),
        _sums(new, aligned.open_new),
    )
    found["rest_cosine"] = float(rest_old @ rest_new)
    found["rest_new_old"] = float(rest_new @ all_old)
    found["rest_old_new"] = float(rest_old @ all_new)
    found["bag_cosine"] = float(all_old @ all_new)
    for side, reading, best in (("old", aligned.old, best_old), ("new", aligned.new, best_new)):
        before = sum(at < reading.verb for at in reading.content)
        head, tail = best[:before], best[before:]
        found[f"head_{side}"] = _mean(head) if head else -0.1
        found[f"tail_{side}"] = _mean(tail) if tail else -0.1
        found[f"head_open_{side}"] = sum(each < HIT for each in head)
        found[f"tail_open_{side}"] = sum(each < HIT for each in tail)
        found[f"head_least_{side}"] = min(head, default=1.0)
        found[f"tail_least_{side}"] = min(tail, default=1.0)
        found[f"first_{side}"] = best[0]
        found[f"last_{side}"] = best[-1]


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _sums(vectors: Floats, rows: Sequence[int]) -> Floats:
    """The directions of all words together, and of some of them, shape (2, width)."""
    chosen = np.zeros((2, len(vectors)), np.float32)
    chosen[0] = 1
    chosen[1, list(rows)] = 1
    total = chosen @ vectors
    return total / np.maximum(np.sqrt((total * total).sum(axis=1)), 1e-6)[:, None]


def _add_order(found: Evidence, aligned: Alignment) -> None:
    ours = [token.stem for token in aligned.old.tokens]
    theirs = [token.stem for token in aligned.new.tokens]
    common = _common_subsequence(ours, theirs)
    found["in_order_old"] = common / max(len(ours), 1)
    found["in_order_new"] = common / max(len(theirs), 1)
    start = _common_start(ours, theirs)
    end = _common_start(ours[start:][::-1], theirs[start:][::-1])
    gone, came = len(ours) - start - end, len(theirs) - start - end
    found["prefix"] = start / max(len(ours), 1)
    found["suffix"] = end / max(len(ours), 1)
    found["middle_old"] = min(gone, 8)
    found["middle_new"] = min(came, 8)
    found["one_substituted"] = float(gone == came == 1)
    found["only_added"] = float(not gone and came > 0)
    found["only_removed"] = float(gone > 0 and not came)
    old = Counter(aligned.old.tokens[at].stem for at in aligned.old.content)
    new = Counter(aligned.new.tokens[at].stem for at in aligned.new.content)
    found["jaccard"] = (old & new).total() / max((old | new).total(), 1)
    found["long"] = float(min(len(ours), len(theirs)) > _LONG)
    pairs = set(pairwise(ours)) & set(pairwise(theirs))
    found["word_pairs"] = len(pairs) / max(len(ours) - 1, 1)


def _common_start(ours: Sequence[str], theirs: Sequence[str]) -> int:
    same = 0
    for one, other in zip(ours, theirs, strict=False):
        if one != other:
            break
        same += 1
    return same


def _common_subsequence(ours: Sequence[str], theirs: Sequence[str]) -> int:
    """The length of the longest common subsequence, a row of the table as the bits of one number (Hyyrö, 2004)."""
    places: dict[str, int] = {}
    for at, one in enumerate(ours):
        places[one] = places.get(one, 0) | 1 << at
    every = (1 << len(ours)) - 1
    row = every
    for other in theirs:
        matched = row & places.get(other, 0)
        row = (row + matched | row - matched) & every
    return len(ours) - row.bit_count()


def _add_values(found: Evidence, aligned: Alignment) -> None:
    ours, theirs = _values(aligned.old), _values(aligned.new)
    conflicts = same = 0
    for kind in KINDS:
        one, other = ours.get(kind, set()), theirs.get(kind, set())
        conflict = bool(one - other) and bool(other - one)
        conflicts += conflict
        same += len(one & other)
        found[f"other_{kind}"] = float(conflict)
    found["value_conflicts"] = conflicts
    found["values_same"] = same
    found["values_new"] = sum(bool(theirs.get(kind)) and not ours.get(kind) for kind in KINDS)
    found["values_gone"] = sum(bool(ours.get(kind)) and not theirs.get(kind) for kind in KINDS)
    one = {unit for _, unit in ours.get("number", set()) - theirs.get("number", set())}
    other = {unit for _, unit in theirs.get("number", set()) - ours.get("number", set())}
    found["values_old"] = sum(token.kind != "word" for token in aligned.old.tokens)
    found["same_unit"] = float(bool((one & other) - {""}))
    found["other_unit"] = float(bool(one) and bool(other) and not one & other)


def _kind(reading: Reading, row: int) -> str:
    return reading.tokens[reading.content[row]].kind


def _values(reading: Reading) -> dict[str, set[tuple[str, str]]]:
    found: dict[str, set[tuple[str, str]]] = {}
    for token in reading.tokens:
        if token.kind != "word":
            unit = token.unit if token.kind == "number" else ""
            found.setdefault(token.kind, set()).add((token.value, unit))
    return found


def _add_names(found: Evidence, aligned: Alignment) -> None:
    old, new = aligned.old, aligned.new
    norms_old = {token.norm for token in old.tokens}
    norms_new = {token.norm for token in new.tokens}
    gone, came = _names(old) - norms_new, _names(new) - norms_old
    found["names_shared"] = len(old.names & norms_new | new.names & norms_old)
    found["names_gone"] = len(gone)
    found["names_came"] = len(came)
    found["other_name"] = float(bool(gone) and bool(came))
    head_old = {t.norm for t in old.tokens[: max(old.verb, 1)] if t.name}
    head_new = {t.norm for t in new.tokens[: max(new.verb, 1)] if t.name}
    found["head_name_gone"] = float(bool(head_old & gone))
    found["head_name_came"] = float(bool(head_new & came))
    found["head_name_same"] = float(bool(head_old & head_new))
    found["head_name_other"] = float(bool(head_old) and bool(head_new) and not head_old & head_new)
    found["tail_name_other"] = float(bool(gone - head_old) and bool(came))


def _names(reading: Reading) -> set[str]:
    """The names, without a capital that may only begin the sentence before a verb or a noun."""
    return {
        token.norm
        for at, token in enumerate(reading.tokens)
        if token.name
        and not (token.opens and at + 1 < len(reading.tokens) and _common(reading, at))
    }


def _common(reading: Reading, at: int) -> bool:
    """Return whether the words after a capitalised first word show a common word ("Réunion à", "Rent is")."""
    following = reading.tokens[at + 1]
    return bool(following.roles & {"of", "at", "definite", "indefinite"}) and following.norm != "'s"


def _add_persons(found: Evidence, aligned: Alignment) -> None:
    old, new = aligned.old, aligned.new
    first_old, first_new = "first_person" in old.signs, "first_person" in new.signs
    found["first_both"] = float(first_old and first_new)
    found["first_one"] = float(first_old != first_new)
    found["user_both"] = float(old.subject == new.subject == "speaker")
    found["kin_shared"] = len(old.kin & new.kin)
    found["kin_gone"] = len(old.kin - new.kin)
    found["kin_came"] = len(new.kin - old.kin)
    found["kin_other"] = float(bool(old.kin - new.kin) and bool(new.kin - old.kin))
    head_old = {token.kin for token in old.tokens[: old.verb] if token.kin}
    head_new = {token.kin for token in new.tokens[: new.verb] if token.kin}
    found["head_kin_came"] = float(bool(head_new - old.kin))
    found["head_kin_gone"] = float(bool(head_old - new.kin))
    found["speaker_kin"] = float(
        (old.subject == "speaker" and bool(head_new - old.kin))
        or (new.subject == "speaker" and bool(head_old - new.kin))
    )
    third = {t.norm for t in new.tokens if "third_person" in t.roles}
    found["pronoun_came"] = float(bool(third - {t.norm for t in old.tokens}))


def _add_signs(found: Evidence, aligned: Alignment) -> None:
    old, new = aligned.old, aligned.new
    for sign in _COMPARED_SIGNS:
        found[f"new_{sign}"] = float(sign in new.signs)
        found[f"old_{sign}"] = float(sign in old.signs)
        found[f"came_{sign}"] = float(sign in new.signs and sign not in old.signs)
    apart = {"also", "possible", "reported", "past", "conditional"}
    found["apart_cosine"] = found["cosine"] * bool(apart & new.signs)
    found["change_cosine"] = found["cosine"] * bool(_CHANGE & new.signs)
    denied = {"negation", "no_longer"}
    found["other_polarity"] = float(bool(denied & old.signs) != bool(denied & new.signs))
    found["changes"] = len(old.before & new.after - old.after)
    strong = bool(new.signs & _CHANGE)
    found["change_covered"] = found["covered_old"] * strong
    found["change_head"] = float(found["head_open_old"] == 0) * strong
    found["asked"] = float(new.question)
    found["exclaimed"] = float("!" in new.text)
    found["labelled"] = float(":" in new.text or "=" in new.text)
    found["lower_case"] = float(new.text[:1].islower())


def _add_structure(found: Evidence, aligned: Alignment) -> None:
    old, new = aligned.old, aligned.new
    for subject in SUBJECTS:
        found[f"old_subject_{subject}"] = float(old.subject == subject)
        found[f"new_subject_{subject}"] = float(new.subject == subject)
    for predicate in PREDICATES:
        found[f"old_verb_{predicate}"] = float(old.predicate == predicate)
        found[f"new_verb_{predicate}"] = float(new.predicate == predicate)
    found["same_subject"] = float(old.subject == new.subject)
    found["same_predicate"] = float(old.predicate == new.predicate)
    found["same_verb"] = float(_verb(old) == _verb(new) != "")
    found["verbs_shared"] = float(bool(old.verbs & new.verbs))
    found["verbs_differ"] = float(bool(old.verbs) and bool(new.verbs) and not old.verbs & new.verbs)
    shared: Counter[str] = Counter()
    matches = _matches(aligned)
    for at, other in matches:
        if old.tokens[at].kind == "word":
            shared[f"new_{new.determiners[other]}"] += 1
            shared[f"old_{old.determiners[at]}"] += 1
    for side in ("old", "new"):
        for determiner in ("definite", "own", "indefinite"):
            found[f"shared_{determiner}_{side}"] = shared[f"{side}_{determiner}"]
    _add_roles(found, aligned, matches)
    for link in ("of", "be", "at"):
        found[f"open_{link}_old"] = sum(old.links[old.content[r]] == link for r in aligned.open_old)
        found[f"open_{link}_new"] = sum(new.links[new.content[r]] == link for r in aligned.open_new)
    found["last_open"] = float(aligned.open_old == (len(old.content) - 1,))


def _matches(aligned: Alignment) -> list[tuple[int, int]]:
    """The places of each repeated old word and of the new word that repeats it."""
    best = aligned.similarity.argmax(axis=1).tolist()
    return [
        (at, aligned.new.content[best[row]])
        for row, at in enumerate(aligned.old.content)
        if aligned.best_old[row] >= HIT
    ]


def _add_roles(found: Evidence, aligned: Alignment, matches: Sequence[tuple[int, int]]) -> None:
    """Add the roles: changes of the places of shared words in the sentence."""
    moves = Counter(
        f"{_role(aligned.old, at)}_{_role(aligned.new, other)}" for at, other in matches
    )
    for before in _ROLES:
        for after in _ROLES:
            found[f"moved_{before}_{after}"] = moves[f"{before}_{after}"]


_ROLES: Final = ("head", "owner", "tail")


def _role(reading: Reading, at: int) -> str:
    """The role of a word: the subject, an owner ("of X", "X's"), or part of the rest."""
    following = reading.tokens[at + 1].norm if at + 1 < len(reading.tokens) else ""
    if following == "'s" or reading.links[at] == "of":
        return "owner"
    return "head" if at < reading.verb else "tail"


def _verb(reading: Reading) -> str:
    return reading.tokens[reading.verb].stem if reading.verb < len(reading.tokens) else ""


def _add_contrasts(found: Evidence, aligned: Alignment) -> None:
    old, new = aligned.old, aligned.new
    where: Counter[str] = Counter()
    for contrast in aligned.contrasts:
        heads = (contrast.old < old.verb) + (contrast.new < new.verb)
        where[("tail", "cross", "head")[heads]] += 1
        where[old.links[contrast.old] or "free"] += 1
    count = len(aligned.contrasts)
    found["contrasts"] = count
    found["contrast_cosine"] = max((each.cosine for each in aligned.contrasts), default=0.0)
    for name in ("head", "tail", "cross", "of", "at", "be"):
        found[f"contrast_{name}"] = where[name]
    words_old = sum(_kind(old, row) == "word" for row in aligned.open_old)
    words_new = sum(_kind(new, row) == "word" for row in aligned.open_new)
    found["free_old"] = words_old - count
    found["free_new"] = words_new - count
