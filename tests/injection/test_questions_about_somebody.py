"""What is known of somebody is told whole, most important first; talk is told without small talk."""

import pytest

from hippocampe import Hippocampe, Scope

LEA, TOM = Scope(user="Léa", channel="desk"), Scope(user="tom", channel="garden")


@pytest.fixture
def store(hippo: Hippocampe) -> Hippocampe:
    hippo.update_settings(scope=LEA, recent_hours=0, hook_timeout_ms=10_000)
    hippo.remember("Jeanne est sage-femme à Nantes", scope=LEA, importance=0.9)
    hippo.remember("Jeanne ne mange pas de viande", scope=LEA, importance=0.5)
    hippo.remember("Jeanne a une barque verte", scope=TOM, importance=0.7)
    hippo.remember("Le chantier ouvre lundi", scope=TOM, importance=1.0)
    hippo.remember("je suis allergique aux noix", scope=LEA, importance=0.6)
    hippo.remember("je répare des horloges", scope=TOM, importance=0.6)
    hippo.remember("Léa habite rue des Lilas", scope=TOM, importance=0.8)
    return hippo


@pytest.mark.parametrize(
    "message",
    ["Dis-moi tout ce que tu sais sur Jeanne", "tell me all about Jeanne", "Tout sur Jeanne"],
)
def test_all_that_is_known_of_a_subject_most_important_first(
    store: Hippocampe, message: str
) -> None:
    told = [item.content for item in store.before_turn(message, scope=TOM).items]
    assert told == [
        "Jeanne est sage-femme à Nantes",
        "Jeanne a une barque verte",
        "Jeanne ne mange pas de viande",
    ]


@pytest.mark.parametrize(
    "message", ["qu'est-ce que tu sais de moi ?", "what do you know about me?"]
)
def test_what_is_known_of_the_asker_is_about_them(store: Hippocampe, message: str) -> None:
    told = [item.content for item in store.before_turn(message, scope=LEA).items]
    assert told[:2] == ["Léa habite rue des Lilas", "je suis allergique aux noix"]
    assert "je répare des horloges" not in told
    assert "Le chantier ouvre lundi" not in told


@pytest.mark.parametrize(
    "message",
    [
        "qu'est-ce que tu sais de moi ?",
        "what do you know about me?",
        "dis-moi tout sur moi",
        "tell me all about myself",
    ],
)
def test_what_others_plan_for_the_asker_is_no_answer(store: Hippocampe, message: str) -> None:
    store.remember("je prépare une surprise pour Léa samedi", scope=TOM, importance=0.9)
    store.remember("We are planning a party for Léa", scope=TOM, importance=0.9)
    store.after_turn("I will leave Léa, tell me how", "Slowly.", scope=TOM)
    given = store.before_turn(message, scope=LEA).text
    assert "Lilas" in given
    assert not any(word in given for word in ("surprise", "party", "leave"))
    # A question of the one who told it finds it.
    assert "surprise" in store.before_turn("quelle surprise pour Léa ?", scope=TOM).text


@pytest.mark.parametrize(
    ("message", "subject", "known"),
    [
        ("je suis Mickael", "mickael", True),
        ("je m'appelle mickael", "mickael", True),
        ("I'm tom", "tom", True),
        ("je suis malade", "malade", False),
        ("I'm back", "back", False),
    ],
)
def test_who_speaks_is_told_by_a_name_and_not_by_a_state(
    hippo: Hippocampe, message: str, subject: str, known: bool
) -> None:
    hippo.update_settings(scope=TOM, recent_hours=0, hook_timeout_ms=10_000)
    # More than a search finds.
    for number in range(30):
        hippo.remember(f"Tonneau {number} : {subject}", scope=LEA, importance=0.3)
    hippo.remember("Le four de la cave chauffe peu", scope=LEA, subjects=[subject], importance=0.7)
    considered = hippo.before_turn(message, scope=TOM).trace.considered
    assert any(each.path == "identity" for each in considered) is known


def test_the_first_person_has_its_speaker(store: Hippocampe) -> None:
    text = store.before_turn("tell me all about tom", scope=LEA).text
    assert "tom : je répare des horloges" in text or "tom: je répare des horloges" in text


def test_small_talk_is_left_out_of_what_was_said(hippo: Hippocampe) -> None:
    hippo.update_settings(scope=LEA, recent_hours=0, hook_timeout_ms=10_000)
    hippo.after_turn("La chaudière fuit depuis mardi", "Je le note.", scope=LEA)
    hippo.after_turn("ok merci !", "De rien !", scope=LEA)
    hippo.after_turn("bonne nuit", "Bonne nuit !", scope=LEA)
    told = hippo.before_turn("on a parlé de quoi ?", scope=Scope(user="Léa")).items
    assert [item.content.splitlines()[0] for item in told] == ["La chaudière fuit depuis mardi"]


def test_polite_answers_with_a_name_are_small_talk_too(hippo: Hippocampe) -> None:
    hippo.update_settings(scope=TOM, recent_hours=0, hook_timeout_ms=10_000)
    hippo.after_turn("The veranda needs fourteen panes", "Noted.", scope=TOM)
    hippo.after_turn("hello", "Hi Tom!", scope=TOM)
    hippo.after_turn("thanks", "Anytime!", scope=TOM)
    hippo.after_turn("merci", "Avec plaisir Tom !", scope=TOM)
    told = hippo.before_turn("what did we talk about?", scope=Scope(user="tom")).items
    assert [item.content.splitlines()[0] for item in told] == ["The veranda needs fourteen panes"]


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("where does Marie live?", "I live in Pau"),
        ("Marie est allergique à quoi ?", "Je suis allergique au céleri"),
        ("What is Marie's dog called?", "My dog is called Rex"),
    ],
)
def test_a_user_is_asked_about_by_another_name(
    hippo: Hippocampe, reading: None, question: str, answer: str
) -> None:
    hippo.update_settings(scope=LEA, recent_hours=0, hook_timeout_ms=10_000)
    told = {
        "ml": ("I live in Pau", "Je suis allergique au céleri", "My dog is called Rex"),
        "tom": ("ml = Marie", "I live in Brest", "My dog is called Biscuit"),
    }
    for user, contents in told.items():
        for content in contents:
            hippo.remember(content, scope=Scope(user=user))
    given = hippo.before_turn(question, scope=LEA).items
    assert given[0].content == answer
