"""Judge a new statement against the current memories. Writes nothing."""

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass, replace
from functools import cache, partial
from itertools import combinations
from typing import Final, NamedTuple

from hippocampe.engine.corpus import Corpus
from hippocampe.engine.unit_of_work import UnitOfWork
from hippocampe.engine.vocabulary import Prepared
from hippocampe.errors import ModelUnavailable, NotFound
from hippocampe.language.asides import are_of_two
from hippocampe.language.difference import SWAPPED
from hippocampe.language.equality import equality_digest
from hippocampe.language.mentions import mentions
from hippocampe.language.names import Aliases, CanonicalNames
from hippocampe.language.relations import is_fragment
from hippocampe.language.statement import Statement, parse
from hippocampe.language.text import fold, keywords, with_stop
from hippocampe.protocols import Vector
from hippocampe.store import memories, statements
from hippocampe.store.statements import StoredStatement
from hippocampe.types import Memory
from hippocampe.updates.days import adds_date, has_passed, is_older, is_other_occasion
from hippocampe.updates.decide import Decision, Verdict, compare
from hippocampe.updates.draft import Draft
from hippocampe.updates.learnt import Floats, load_model
from hippocampe.updates.nomination import least_cosine, nominate
from hippocampe.updates.speakers import Told, is_unclear, labels, may_be_same, speaker_of
from hippocampe.updates.twins import twins_of
from hippocampe.updates.weighing import (
    Weighed,
    apart,
    lost_words,
    share_most_words,
    shares_keyword,
    swaps,
    weigh,
)

MAX_RELATED = 8
"""Related memories that are linked, nearest first. Without a limit, a person's name alone would relate all."""

MAX_WEIGHED = 3
"""Nearest memories that the learnt model weighs: of 700, the corrected one is among them, or not near at all,
in 99.5 % of `benchmarks/learn_decide.py`'s records."""

_COMMON_WORD: Final = 0.05
"""Added to the cosine of a memory with a word of the new statement, in the order of weighing: in the store of
`benchmarks/updates.py --store`, 26 more of 1,586 are merged so, and no more with another record; .1 and .2 gain no more."""

_ALIKE = 0.6
"""Cosine from which two old statements may tell one fact: of 49 unrelated ones that fell with another one in the store of
`benchmarks/updates.py --store`, 41 are below; of 95 that do change with it, 36, which are listed."""

_MERGED: Final = (Verdict.REINFORCED, Verdict.UPDATED)
_ANOTHER_DAY: Final = "another day"


class Related(NamedTuple):
    """A similar memory, the rule that found it, and whether to list the pair for review."""

    id: str
    reason: str
    review: bool


Compared = tuple[StoredStatement, float | None, Decision]
"""An old statement, its cosine, None if the vector search did not find it, and the decision on it."""


def stays_former(lost: Memory, successor: Memory) -> bool:
    """Return whether recall still finds a stored memory that another one supersedes.

    It does if the memory is the older one, and states a fact that the other one lacks.
    """
    older = (lost.created_at, lost.id) < (successor.created_at, successor.id)
    return older and _states_more(lost, successor)


def _states_more(old: Memory, new: Memory) -> bool:
    """Return whether a statement states a fact that its update lacks; the name of one who says "I" is none."""
    speakers = [each.user for each in (old, new) if each.user]
    lost = lost_words(parse(old.content), parse(new.content))
    return any(not mentions(word, speakers) for word in lost)


@dataclass(frozen=True, slots=True)
class Judgement:
    """The relation of a statement to the current memories.

    If `duplicate` is filled, `replaced` and `related` are empty.

    Attributes:
        duplicate: The memory that already states it.
        replaced: The memories that it supersedes.
        former: The ids of the replaced memories that state a fact that the new one lacks.
        related: Similar memories that stay current; beside replaced ones, only those that it may replace as well.
        reason: The rule that decided.
        similarity: The highest cosine of the compared memories; None without any.
    """

    duplicate: Memory | None = None
    replaced: tuple[Memory, ...] = ()
    former: frozenset[str] = frozenset()
    related: tuple[Related, ...] = ()
    reason: str = "new"
    similarity: float | None = None


def judge(
    corpus: Corpus,
    change: UnitOfWork,
    draft: Draft,
    prepared: Prepared,
    *,
    successor: str | None = None,
) -> Judgement:
    """Compare a statement with the current memories by rule.

    Args:
        corpus: The corpus.
        change: The transaction, for reading only.
        draft: The statement.
        prepared: Its embedding and words.
        successor: Id of the memory that had superseded the statement. It is replaced if it says
            the same in more words.

    Raises:
        NotFound: An id in `replaces` is not a current memory of the space.
    """
    memory = draft.memory
    if (repeated := _repeated(corpus, change, draft)) is not None:
        return Judgement(duplicate=repeated, reason="same statement", similarity=1.0)
    named = _named_to_replace(change, draft)
    if named:
        same_key = any(old.key == memory.key and memory.key for old in named)
        reason = "same key" if same_key else "replaced by id"
        # A memory named by id is replaced as a whole.
        unnamed = [old for old in named if old.id not in draft.replaces]
        former = _former(memory, unnamed)
        return Judgement(replaced=tuple(named), former=former, reason=reason)
    duplicate = find_duplicate(corpus, change, memory)
    if duplicate is not None:
        return Judgement(duplicate=duplicate, reason="same statement", similarity=1.0)
    return _judge_by_rule(corpus, change, draft, prepared, successor)


def _doubt(decision: Decision) -> float:
    """The probability by which a weighed pair is worth a review; 0 for all others."""
    return (decision.probability or 0.0) if decision.verdict is Verdict.UNSURE else 0.0


def _former(memory: Memory, replaced: Iterable[Memory]) -> frozenset[str]:
    """The ids of the replaced memories that state a fact that the new one lacks."""
    return frozenset(old.id for old in replaced if _states_more(old, memory))


def find_duplicate(corpus: Corpus, change: UnitOfWork, memory: Memory) -> Memory | None:
    """Another current memory that states the same up to case, accents, punctuation and spaces."""
    same = statements.same_statement(change.connection, memory, equality_digest(memory.content))
    if same is None or not may_be_same(memory, same) or _has_unclear_owner(memory, same):
        return None
    if is_other_occasion(memory, same, corpus.settings.of(memory.space).timezone):
        return None
    new = parse(memory.content, subjects=_subjects_of(memory, same))
    old = parse(same.content, subjects=_subjects_of(same, memory))
    return None if compare(new, old).rule == "subject" else same


def _subjects_of(one: Memory | StoredStatement, other: Memory | StoredStatement) -> tuple[str, ...]:
    """The subjects of a statement: without any, its user if another statement of that user is about them."""
    own = one.user == other.user and fold(one.user or "") in map(fold, other.subjects)
    return one.subjects or ((one.user,) if one.user and own else ())


def _repeated(corpus: Corpus, change: UnitOfWork, draft: Draft) -> Memory | None:
    """The current memory that has replaced all that the caller asks to replace, if it states the same: the caller has not
    got the answer of the first call, whose process was killed, and repeats it."""
    memory = draft.memory
    if not draft.replaces:
        return None
    named = memories.get(change.connection, memory.space, draft.replaces)
    successors = {named[id].superseded_by if id in named else None for id in draft.replaces}
    if len(successors) > 1 or None in successors:
        return None
    same = find_duplicate(corpus, change, memory)
    if same is None or same.id not in successors or memory.key not in (None, same.key):
        return None
    return same


def _named_to_replace(change: UnitOfWork, draft: Draft) -> list[Memory]:
    """The memories that the caller asks to replace, and the holder of the same key."""
    memory = draft.memory
    named = memories.get(change.connection, memory.space, draft.replaces)
    for id in draft.replaces:
        if id not in named or not named[id].current:
            raise NotFound(
                f"cannot replace memory {id!r}: space {memory.space!r} has no current memory with this "
                "id. Take ids from recall or recent."
            )
    if memory.key is not None:
        holder = memories.holder_of_key(change.connection, memory.space, memory.key)
        if holder is not None and holder.id != memory.id:
            named[holder.id] = holder
    return list(named.values())


def _judge_by_rule(
    corpus: Corpus, change: UnitOfWork, draft: Draft, prepared: Prepared, successor: str | None
) -> Judgement:
    memory, connection = draft.memory, change.connection
    compared = _compare_nominated(corpus, change, draft, prepared)
    compared, over = _apart_by_days(corpus, change, memory, _apart_by_person(compared))
    compared, also = _apart_by_fact(corpus, change, compared)
    nearest = max((cosine for _, cosine, _ in compared if cosine is not None), default=None)
    updated: list[str] = []
    reason = "new"
    for old, cosine, decision in compared:
        verdict = decision.verdict
        if verdict is Verdict.REINFORCED and (
            old.id == successor or adds_date(memory.content, old.content)
        ):
            verdict = Verdict.UPDATED
        if verdict is Verdict.REINFORCED and not updated:
            duplicate = memories.get(connection, memory.space, [old.id])[old.id]
            return Judgement(duplicate=duplicate, reason=decision.reason, similarity=cosine)
        if verdict is Verdict.UPDATED and not (updated and decision.names_no_target):
            reason = reason if updated else decision.reason
            updated.append(old.id)
    if updated:
        found = memories.get(connection, memory.space, updated)
        replaced = tuple(found[id] for id in updated)
        replaced += tuple(twins_of(change, replaced, memory.content))
        former = _former(memory, replaced) | over.intersection(updated)
        return Judgement(
            replaced=replaced, former=former, related=also, reason=reason, similarity=nearest
        )
    related = _related(compared, corpus.vocabulary.embedder.dedup_threshold)
    return Judgement(
        related=related, reason=related[0].reason if related else "new", similarity=nearest
    )


def _apart_by_person(compared: Sequence[Compared]) -> Sequence[Compared]:
    """List the statements on several people of one name, of whom a new one may replace one: "my boss Paul", "my neighbour Paul"."""
    updated = [old for old, _, decision in compared if decision.verdict is Verdict.UPDATED]
    asides = [aside for old in updated if (aside := parse(old.content).aside)]
    if not any(are_of_two(one, other) for one, other in combinations(asides, 2)):
        return compared
    return [
        (old, cosine, _listed(decision) if old in updated else decision)
        for old, cosine, decision in compared
    ]


def _apart_by_fact(
    corpus: Corpus, change: UnitOfWork, compared: Sequence[Compared]
) -> tuple[list[Compared], tuple[Related, ...]]:
    """Leave to a person what a new statement may replace beside the likeliest one, if the two are not alike.

    An update is of one fact. A rule knows the fact that it changes.
    """
    updated = {
        old.id: decision for old, _, decision in compared if decision.verdict is Verdict.UPDATED
    }
    best = max(updated, key=lambda id: _certainty(updated[id]), default=None)
    unlike = {
        id: replace(decision, verdict=Verdict.UNSURE, reason=f"perhaps {decision.reason}")
        for id, decision in updated.items()
        if best not in (None, id)
        and decision.rule == "weighed"
        and not _are_alike(corpus, change, best, id)
    }
    told = [(old, cosine, unlike.get(old.id, decision)) for old, cosine, decision in compared]
    listed = (Related(id, decision.reason, review=True) for id, decision in unlike.items())
    return told, tuple(listed)


def _certainty(decision: Decision) -> float:
    return 1.0 if decision.rule != "weighed" else decision.probability or 0.0


def _are_alike(corpus: Corpus, change: UnitOfWork, one: str, other: str) -> bool:
    """Return whether two stored memories are near enough to tell one fact."""
    first, second = (change.dense("memory", id) for id in (one, other))
    least = least_cosine(corpus, _ALIKE)
    return first is not None and second is not None and float(first @ second) >= least


def _apart_by_days(
    corpus: Corpus, change: UnitOfWork, memory: Memory, compared: Sequence[Compared]
) -> tuple[list[Compared], frozenset[str]]:
    """Keep what is told again of another day apart; list what is older than the statement that it would replace; and find
    the ids of those whose day is over: "I swim tomorrow" of last week is former, once it is told of this week."""
    told: list[Compared] = []
    over: set[str] = set()
    merged = [old.id for old, _, decision in compared if decision.verdict in _MERGED]
    found = memories.get(change.connection, memory.space, merged)
    timezone = corpus.settings.of(memory.space).timezone
    for old, cosine, decision in compared:
        repeats = decision.verdict is Verdict.REINFORCED
        if repeats and is_other_occasion(memory, found[old.id], timezone):
            if has_passed(memory, found[old.id], timezone):
                over.add(old.id)
            verdict = Verdict.UPDATED if old.id in over else Verdict.RELATED
            probability = decision.probability
            decision = Decision(verdict, decision.rule, _ANOTHER_DAY, probability=probability)
        if decision.verdict is Verdict.UPDATED and is_older(memory, found[old.id], timezone):
            decision = replace(decision, verdict=Verdict.UNSURE, reason=_ANOTHER_DAY)
        told.append((old, cosine, decision))
    return told, frozenset(over)


def _compare_nominated(
    corpus: Corpus, change: UnitOfWork, draft: Draft, prepared: Prepared
) -> list[Compared]:
    """Decide on the statement against each nominated memory: by rule, then with the learnt model."""
    memory = draft.memory
    # Only the transaction's connection sees what the transaction wrote.
    aliases = (
        statements.aliases(change.connection, memory.space)
        if change.kinds()
        else corpus.aliases.of(memory.space, change.connection)
    )
    names_of = cache(partial(_canonical, aliases))
    nominated = nominate(corpus, change, draft, prepared, aliases)
    statement = parse(memory.content)
    joined = statement.facts if _joins(statement) else ()
    by_facts = {old.id for old, _ in nominated if _is_by_facts(statement, parse(old.content))}
    decisions, of_joined = ([list[Decision]() for _ in nominated] for _ in range(2))
    vectors = _vectors_of(corpus, joined if nominated else ())
    dense = [*(prepared.parts or [prepared.dense]), *(vectors or [prepared.dense] * len(joined))]
    several = bool(prepared.parts or joined)
    vectors_of = cache(partial(_vectors_of_facts, corpus, change, by_facts, also_of_one=several))
    for place, part in enumerate((*statement.parts, *joined)):
        is_joined = place >= len(statement.parts)
        pairs: list[_Pair] = []
        for row, (old, _) in enumerate(nominated):
            if is_joined and old.id not in by_facts:
                continue
            names = names_of(speaker_of(memory, old))
            new = parse(memory.content, subjects=_subjects_of(memory, old), names=names)
            known = parse(old.content, subjects=_subjects_of(old, memory), names=names)
            own = (*new.parts, *new.facts)[place]
            known, unnamed = (
                each.facts if old.id in by_facts else each.parts
                for each in (known, parse(old.content))
            )
            for at, (each, plain) in enumerate(zip(known, unnamed, strict=True)):
                pairs.append(_Pair(row, at, plain, compare(own, each)))
        cosine_of = partial(_cosine_of_fact, vectors_of, dense[place])
        weighed = _weigh_nearest(corpus, memory, part, nominated, pairs, cosine_of, aliases)
        for pair, decision in zip(pairs, weighed, strict=True):
            (of_joined if is_joined else decisions)[pair.row].append(decision)
    decided = [
        (old, cosine, _of_joined(_of_parts(memory, old, whole), facts))
        for (old, cosine), whole, facts in zip(nominated, decisions, of_joined, strict=True)
    ]
    return [
        (old, cosine, _unclear(decision, memory) if _has_unclear_owner(memory, old) else decision)
        for old, cosine, decision in decided
    ]


class _Pair(NamedTuple):
    """A part of an old statement, the place of the statement among the nominated ones, that of the part in it, and the
    decision of the rules."""

    row: int
    at: int
    part: Statement
    rule: Decision


def _of_parts(memory: Memory, old: StoredStatement, decisions: Sequence[Decision]) -> Decision:
    """The decision on a statement and an old one, from those on their parts.

    What it repeats beside news is kept once: it replaces the old one, unless that states more.
    """
    best = max(decisions, key=_weight)
    new, known = parse(memory.content), parse(old.content)
    if len(decisions) == 1 or best.verdict not in _MERGED:
        return best
    if best.rule == "weighed" and swaps(new, known):
        return replace(best, verdict=Verdict.UNSURE, reason=SWAPPED)
    if best.verdict is Verdict.UPDATED or len(new.parts) == 1:
        return best
    return replace(best, verdict=Verdict.RELATED if lost_words(known, new) else Verdict.UPDATED)


_ORDER: Final = (
    Verdict.APART,
    Verdict.RELATED,
    Verdict.UNSURE,
    Verdict.REINFORCED,
    Verdict.UPDATED,
)


def _weight(decision: Decision) -> tuple[int, float]:
    return _ORDER.index(decision.verdict), _certainty(decision)


def _canonical(aliases: Aliases, speaker: str | None) -> CanonicalNames:
    return CanonicalNames(aliases, speaker=speaker)


def _has_unclear_owner(memory: Memory, old: Told) -> bool:
    """Return whether a person decides on the owner of two statements; what the companion says of itself is its own."""
    return memory.collection not in ("self", "goal") and is_unclear(memory, old)


def _unclear(decision: Decision, memory: Memory) -> Decision:
    """The decision on what may have two owners: a note without a verb, "Diet: vegan", waits for a person only if it would merge."""
    is_doubtful = decision.verdict is Verdict.UNSURE and is_fragment(memory.content)
    return apart(decision) if is_doubtful else _listed(decision)


def _listed(decision: Decision) -> Decision:
    """The decision on what may have two owners: of what two users say of "us", or nobody known of "me", a person decides."""
    if decision.verdict not in _MERGED:
        return decision
    reason = f"another owner: {decision.reason}"
    return replace(decision, verdict=Verdict.UNSURE, reason=reason)


def _weigh_nearest(
    corpus: Corpus,
    memory: Memory,
    new: Statement,
    nominated: Sequence[tuple[StoredStatement, float | None]],
    pairs: Sequence[_Pair],
    cosine_of: Callable[[StoredStatement, int], float | None],
    aliases: Aliases,
) -> list[Decision]:
    """Weigh a part of a statement against those of the nearest old ones that no sure rule has merged.

    Of memories farther away, only another value of a relation is worth a review.

    Args:
        corpus: The corpus.
        memory: The statement.
        new: The part of it.
        nominated: The old statements, each with its cosine.
        pairs: Their parts.
        cosine_of: The cosine of the part with a part of an old statement; None where that of the statement holds.
        aliases: The aliases of the space.
    """
    terms = set(keywords(new.text))
    unmerged = {pair.row for pair in pairs if not pair.rule.is_final}
    ranked = sorted(
        (
            (cosine + _COMMON_WORD * shares_keyword(old.content, terms), cosine, row)
            for row, (old, cosine) in enumerate(nominated)
            if cosine is not None and row in unmerged
        ),
        reverse=True,
    )
    nearest = {row for *_, row in ranked[:MAX_WEIGHED]}
    model, embedder = load_model(), corpus.vocabulary.embedder.model
    weighed: list[tuple[int, Weighed]] = []
    decisions = [pair.rule for pair in pairs]
    for at, (row, place, part, rule) in enumerate(pairs):
        old, cosine = nominated[row]
        if rule.is_final or cosine is None:
            continue
        if row in nearest:
            own = cosine_of(old, place)
            cosine = cosine if own is None else own
            known = (part.plain or part) if new.plain is None else part
            names = labels(old, memory, aliases)
            weighed.append((at, Weighed(known, model.cosine(cosine, embedder), rule, names)))
        elif rule.change is None:
            decisions[at] = apart(rule)
    olds = [each for _, each in weighed]
    told = memory.created_at.date()
    found = weigh(olds, new, model, lambda texts: read_pairs(corpus, texts), told=told)
    for (at, _), decision in zip(weighed, found, strict=True):
        decisions[at] = decision
    return decisions


def _joins(statement: Statement) -> bool:
    """Return whether "and" joins facts in a sentence of a statement."""
    return len(statement.facts) > len(statement.parts)


def _is_by_facts(new: Statement, old: Statement) -> bool:
    """Return whether facts that "and" joins are compared one by one: not if the statements have most words in common.

    "Ann sings and Ben paints" is as a whole another statement than "Ann paints and Ben sings".
    """
    return (_joins(new) or _joins(old)) and not share_most_words(new, old)


def _of_joined(whole: Decision, facts: Sequence[Decision]) -> Decision:
    """The decision on a statement that joins facts: what it replaces as a whole, one of its facts must bear on.

    "The starter went mouldy and I buy bread now" ends the baking with both of its facts.
    """
    best = max(facts, key=_weight, default=whole)
    if whole.verdict in _MERGED and best.verdict in (Verdict.APART, Verdict.RELATED):
        return replace(whole, verdict=Verdict.UNSURE, reason=f"perhaps {whole.reason}")
    return max(best, whole, key=_weight)


def _cosine_of_fact(
    vectors_of: Callable[[StoredStatement], Sequence[Vector] | None],
    dense: Vector,
    old: StoredStatement,
    at: int,
) -> float | None:
    """The cosine of a vector with that of a fact of an old statement; None without vectors of its facts."""
    vectors = vectors_of(old)
    return None if vectors is None else float(vectors[at] @ dense)


def _vectors_of_facts(
    corpus: Corpus,
    change: UnitOfWork,
    by_facts: Set[str],
    old: StoredStatement,
    *,
    also_of_one: bool,
) -> Sequence[Vector] | None:
    """The vectors of the facts of an old statement: one of two facts is not near to a new statement about either.

    Args:
        corpus: The corpus.
        change: The transaction, for reading only.
        by_facts: The ids of the statements whose facts that "and" joins are compared one by one.
        old: The old statement.
        also_of_one: Whether to find the vector of a statement of one fact, too.

    Returns:
        A vector per fact; None if unknown.
    """
    known = parse(old.content)
    facts = known.facts if old.id in by_facts else known.parts
    if facts[1:]:
        return _vectors_of(corpus, facts)
    dense = change.dense("memory", old.id) if also_of_one else None
    return None if dense is None else [dense]


def _vectors_of(corpus: Corpus, facts: Sequence[Statement]) -> Sequence[Vector] | None:
    """The vectors of facts; None with an embedder that the learnt model does not know, which may be remote."""
    embedder = corpus.vocabulary.embedder
    if not facts or embedder.model != load_model().embedder:
        return None
    return list(embedder.embed([with_stop(fact.text) for fact in facts]))


def read_pairs(corpus: Corpus, pairs: Sequence[tuple[str, str]]) -> Floats | None:
    """The reader's logits of pairs of statements; None while it is down."""
    if not pairs:
        return None
    try:
        return corpus.reader().read_pairs("relation", pairs)
    except ModelUnavailable:
        return None


def _related(compared: Sequence[Compared], threshold: float) -> tuple[Related, ...]:
    """The similar memories; of the pairs that the model doubts, only the likeliest is reviewed."""
    listed = max((_doubt(decision) for _, _, decision in compared), default=0.0)
    found: list[Related] = []
    for old, cosine, decision in compared:
        unsure = decision.verdict is Verdict.UNSURE and cosine is not None
        review = unsure and _doubt(decision) in (0, listed)
        near = cosine is None or cosine >= threshold
        if review or (decision.verdict is Verdict.RELATED and near):
            found.append(Related(old.id, decision.reason, review))
    return tuple(found[:MAX_RELATED])
