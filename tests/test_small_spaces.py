"""A space of one to three memories: the fact that answers is found, and answers nothing else."""

import pytest

from hippocampe import Hippocampe, Scope

FRENCH = {
    "Le train pour Quimper part à 7h12 du quai 4": "à quelle heure part le train pour Quimper ?",
    "Soren est allergique aux crustacés": "à quoi Soren est-il allergique ?",
    "Le vétérinaire du cheval est le docteur Bazin": "comment s'appelle le vétérinaire du cheval ?",
}
ENGLISH = {
    "The spare key hangs behind the boiler": "where do we keep the spare key?",
    "Tilda plays the cello in an orchestra": "what instrument does Tilda play?",
    "Our landlord is called Mr Okafor": "what is the name of our landlord?",
}
UNRELATED = (
    "combien coûte un abonnement à la salle de sport ?",
    "comment on fait une pâte à crêpes ?",
    "what is the capital of Peru?",
    "when does the library close?",
)


@pytest.mark.parametrize("facts", [FRENCH, ENGLISH], ids=["fr", "en"])
@pytest.mark.parametrize("size", [1, 2, 3])
def test_a_small_space_answers_what_it_knows_and_nothing_else(
    hippo: Hippocampe, facts: dict[str, str], size: int
) -> None:
    for first in range(len(facts)):
        scope = Scope(space=f"{first}", user="nadia", channel="kitchen")
        kept = [*facts, *facts][first : first + size]
        for fact in kept:
            hippo.remember(fact, scope=scope)
        for fact in kept:
            best = hippo.recall(facts[fact], scope=scope)[0]
            assert best.content == fact
            assert best.score >= 0.5
        for question in UNRELATED:
            assert all(item.score < 0.5 for item in hippo.recall(question, scope=scope))


def test_the_only_memory_of_a_space_is_injected_for_being_relevant(hippo: Hippocampe) -> None:
    fact, question = next(iter(FRENCH.items()))
    scope = Scope(user="nadia", channel="kitchen")
    # Neither important nor recent: the search alone brings it.
    hippo.update_settings(scope=scope, recent_hours=0, hook_timeout_ms=10_000)
    hippo.remember(fact, scope=scope, importance=0.1)
    turn = hippo.before_turn(question, scope=scope)
    assert [item.content for item in turn.items] == [fact]
    assert hippo.before_turn(UNRELATED[0], scope=Scope(channel="hall")).items == ()
