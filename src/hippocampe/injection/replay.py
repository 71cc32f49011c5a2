"""Rebuild the injection of a logged turn, from its entry in the retrieval log and the store as of then."""

from collections.abc import Mapping
from dataclasses import replace
from math import log as log_of

from hippocampe.engine.corpus import Corpus
from hippocampe.engine.stopwatch import Stopwatch
from hippocampe.errors import EmbedderUnavailable
from hippocampe.injection.preview import past
from hippocampe.injection.render import render_for
from hippocampe.injection.turn import SEARCH_LIMIT, search_request
from hippocampe.injection.turn_state import TurnState
from hippocampe.retrieval import log, recall, results
from hippocampe.store.store import Store
from hippocampe.types import Considered, Injection, Recollection, Retrieval, Scope, Signal, Trace

SAME_SCORE, SAME_ODDS = 0.03, 0.5
"""Scores, or their log-odds, that differ by less have the same reasons: word counts include texts stored since."""


def replay(corpus: Corpus, state: TurnState, id: str, *, scope: Scope) -> Injection:
    """Rebuild the injection of a logged turn, with what was known at its time.

    Memories edited in place since and notes have their present text; what was erased is missing, and so are live
    messages that were digested. The trace explains only scores that are reproduced.

    Raises:
        NotFound: The log of the space has no entry with this id.
    """
    entry = log.retrieval(corpus.store, state.retrievals, id, scope=scope)
    there = Scope(space=entry.space, user=entry.user, channel=entry.channel)
    with past(corpus, entry.created_at) as (then, _):
        items = _items(then.store, entry)
        if state.notes is not None:
            # Notes that the settings name are given whole, and are no rows of the store.
            items = state.notes.excerpts(space=entry.space) | items
        reasons = _reasons(then, entry, there)
        settings = then.settings.of(there.space)
    rendered = render_for(
        settings,
        [items[each.id] for each in entry.items if each.outcome == "injected" and each.id in items],
        entry.created_at,
        budget=max(settings.injection_token_budget, entry.tokens_added),
    )
    considered = tuple(
        Considered(replace(items[each.id], why=reasons.get(each.id, ())), each.path, each.outcome)
        for each in entry.items
        if each.id in items
    )
    trace = Trace(considered, entry.stages, entry.missing, entry.skipped)
    return Injection(entry.id, rendered.text, rendered.shown, rendered.tokens, entry.took_ms, trace)


def _items(store: Store, entry: Retrieval) -> dict[str, Recollection]:
    ranked = [(each.id, results.kind_of(each.kind), each.score or 0.0) for each in entry.items]
    with store.read() as connection:
        return results.by_id(connection, ranked, entry.space, entry.created_at)


def _reasons(then: Corpus, entry: Retrieval, scope: Scope) -> Mapping[str, tuple[Signal, ...]]:
    """The signals with their contributions, of items whose score is reproduced."""
    searched = {each.id: each.score for each in entry.items if each.signals and each.score}
    if not searched or not entry.message_preview:
        return {}
    # Of as many as a turn may have: which of the unlikely ones are shown depends on what was read.
    request = replace(
        search_request(scope, then.settings.of(scope.space)), min_results=SEARCH_LIMIT
    )
    ways = [(request, Stopwatch())]
    if not {"not read", "reader down"}.isdisjoint(entry.missing):
        # What was not read with the message has another score.
        ways.append((replace(request, read=0), Stopwatch()))
    if "not all searched" in entry.missing:
        ways.append((request, _Ended()))
    reasons: dict[str, tuple[Signal, ...]] = {}
    for asked, stopwatch in ways:
        try:
            found = recall.find(then, entry.message_preview, asked, stopwatch)
        except EmbedderUnavailable:
            break
        reasons |= {
            item.id: found.explain(item.id)
            for item in found.items
            if item.id in searched
            and item.id not in reasons
            and _is_same(item.score, searched[item.id])
        }
    return reasons


def _is_same(score: float, logged: float) -> bool:
    least, most = sorted((score, logged))
    if most - least < SAME_SCORE:
        return True
    return least > 0 and most < 1 and log_of(most / (1 - most) * (1 - least) / least) < SAME_ODDS


class _Ended(Stopwatch):
    """The time of a search that had none left after its first part."""

    def seconds_left(self) -> float:
        return 0.0
