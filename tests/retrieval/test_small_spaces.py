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


ALONE = {
    "Le casier de l'école est le 5172": "c'est quoi le numéro du casier à l'école ?",
    "ma belle-mère ne mange pas de porc": "qu'est-ce que je ne dois pas cuisiner pour ma belle-mère ?",
    "Théo a déménagé à Grenoble en mars": "où vit Théo maintenant ?",
    "mon chat s'appelle Moustique": "comment s'appelle mon chat ?",
    "La réunion de copropriété est le 12 juin à 18 h 30": "c'est quand la réunion de copro ?",
    "Le plombier s'appelle M. Ferreira": "qui est notre plombier ?",
    "The boat is moored at berth 17": "which berth is our boat at?",
    "Omar drives a red Skoda": "what car does Omar have?",
    "I'm allergic to penicillin": "which medicine should I avoid?",
    "Priya's flight to Madrid leaves at 6 am on Friday": "when does Priya leave for Madrid?",
    "The spare fuse box key is taped under the sink": "where is the key of the fuse box?",
    "my sister works at the post office in Bath": "what does my sister do for a living?",
}


@pytest.mark.parametrize(
    ("fact", "question"), ALONE.items(), ids=[str(n) for n in range(len(ALONE))]
)
def test_the_one_memory_of_a_space_is_injected_where_it_answers(
    hippo: Hippocampe, fact: str, question: str
) -> None:
    scope = Scope(user="nadia", channel="kitchen")
    hippo.update_settings(scope=scope, recent_hours=0, hook_timeout_ms=10_000)
    hippo.remember(fact, scope=scope, importance=0.1)
    assert [item.content for item in hippo.before_turn(question, scope=scope).items] == [fact]


@pytest.mark.parametrize(
    ("facts", "question", "answers"),
    [
        (("Ana is vegetarian", "Kim is allergic to nuts"), "who's diabetic?", ()),
        (("Ana is vegetarian", "Kim is allergic to nuts"), "who's vegetarian?", (0,)),
        (("Ana est végétarienne", "Kim est allergique aux noix"), "qui est diabétique ?", ()),
        (("Ana est végétarienne", "Kim est allergique aux noix"), "des allergies à connaître ?", (1,)),
        (("Sam est végan depuis mars", "Kim joue du tuba"), "y a-t-il des végans ?", (0,)),
    ],
)  # fmt: skip
def test_what_stands_out_among_a_few_is_read_too(
    hippo: Hippocampe,
    reading: None,
    facts: tuple[str, ...],
    question: str,
    answers: tuple[int, ...],
) -> None:
    scope = Scope(user="nadia", channel="kitchen")
    for fact in facts:
        hippo.remember(fact, scope=scope)
    found = hippo.recall(question, scope=scope)
    assert [each.content for each in found if each.score >= 0.5] == [facts[at] for at in answers]


@pytest.mark.parametrize(
    ("told", "question"),
    [
        (
            "I don't know if I told you, but we moved to Pau. How was your day?",
            "where do I live?",
        ),
        (
            "Je ne sais pas si je te l'ai dit, mais on a déménagé à Pau. Et toi, ta journée ?",
            "j'habite où ?",
        ),
        ("2026-03-02: I sold the van. Any plans tonight?", "do I still have the van?"),
        ("How do I get in? The key is under the mat.", "how do I get into the house?"),
        ("Bonjour ! La clé est chez Nora. Quoi de neuf ?", "où est la clé ?"),
    ],
)
def test_a_fact_answers_as_well_beside_a_question(
    hippo: Hippocampe, reading: None, told: str, question: str
) -> None:
    scope = Scope(user="lea")
    for each in (told, "My brother has a dog named Rex.", "La répétition est le lundi."):
        hippo.remember(each, scope=scope)
    best = hippo.recall(question, scope=scope)[0]
    assert best.content == told
    assert best.score >= 0.5
