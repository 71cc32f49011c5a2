"""A question to the companion gets what it says of itself; one about the speaker does not."""

from collections.abc import Sequence

import pytest

from hippocampe import Hippocampe, Scope
from hippocampe.embed.local import LocalEmbedder
from hippocampe.protocols import Vector, Vectors

pytestmark = pytest.mark.usefixtures("reading")
NINA = Scope(user="nina", channel="lobby")
ITSELF = {
    "fr": (
        "Je m'appelle Sélène, gardienne du phare d'Orvan",
        "J'ai deux chats, Écume et Varech",
        "Ma couleur préférée est le vert d'eau",
    ),
    "en": (
        "I am Ondine, the captain of an airship",
        "I hate gin and love plum brandy",
        "My first mate is called Bess",
    ),
}


@pytest.fixture(params=["fr", "en"])
def companion(hippo: Hippocampe, request: pytest.FixtureRequest) -> tuple[Hippocampe, str]:
    """A companion that knows itself, and its user, in one language."""
    hippo.update_settings(scope=NINA, hook_timeout_ms=10_000, language=request.param)
    for each in ITSELF[request.param]:
        hippo.remember(each, scope=Scope(), collection="self", category="context")
    told = {
        "fr": ("Mon personnage s'appelle Brand", "J'ai une tortue, Plume"),
        "en": ("My character is called Rook", "My boots are brown"),
    }
    for each in told[request.param]:
        hippo.remember(each, scope=NINA)
    return hippo, request.param


def given(hippo: Hippocampe, message: str, channel: str) -> list[str]:
    found = hippo.before_turn(message, scope=Scope(user="nina", channel=channel)).trace.considered
    return [
        each.recollection.content
        for each in found
        if each.outcome == "injected" and each.recollection.kind == "self"
    ]


ASKED = {
    "fr": ("tu t'appelles comment ?", "comment s'appellent tes chats ?", "ta couleur préférée ?"),
    "en": ("who are you?", "what do you like to drink?", "who's your first mate?"),
}
OF_NINA = {
    "fr": ("je m'appelle comment ?", "comment s'appellent mes chats ?", "ma couleur préférée ?"),
    "en": ("who am I?", "what do I like to drink?", "who's my first mate?"),
}


def test_it_is_asked_about_itself(companion: tuple[Hippocampe, str]) -> None:
    hippo, language = companion
    for number, (question, answer) in enumerate(
        zip(ASKED[language], ITSELF[language], strict=True)
    ):
        assert answer in given(hippo, question, f"room {number}"), question


def test_what_it_says_of_itself_is_not_the_speakers(companion: tuple[Hippocampe, str]) -> None:
    hippo, language = companion
    for number, question in enumerate(OF_NINA[language]):
        assert given(hippo, question, f"room {number}") == [], question


def test_the_reader_is_told_who_is_asked(companion: tuple[Hippocampe, str]) -> None:
    hippo, language = companion
    question = {"fr": "tu t'appelles comment ?", "en": "what are you called?"}[language]
    scores = {
        each.recollection.content: each.recollection.score
        for each in hippo.before_turn(question, scope=NINA).trace.considered
    }
    user = {"fr": "Mon personnage s'appelle Brand", "en": "My character is called Rook"}[language]
    assert scores[ITSELF[language][0]] > scores[user]


@pytest.mark.parametrize(
    ("told", "itself", "asked"),
    [
        (
            "We get {n} pounds for gig {n}, for us all",
            "I keep the set lists and the money in order",
            "what do you do for us?",
        ),
        (
            "Le client {n} paie quoi le mois {n} ? Il paie son lot",
            "Je tiens les comptes et le planning",
            "c'est quoi ton rôle ?",
        ),
    ],
)
def test_what_has_no_word_of_the_question_is_found_among_much_that_has(
    hippo: Hippocampe, told: str, itself: str, asked: str
) -> None:
    hippo.remember_many([{"content": told.format(n=n)} for n in range(2, 40)], scope=NINA)
    hippo.remember(itself, scope=Scope(), collection="self", category="capability")
    considered = hippo.before_turn(asked, scope=NINA).trace.considered
    assert itself in [each.recollection.content for each in considered]


def test_the_message_is_embedded_once(
    companion: tuple[Hippocampe, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    hippo, language = companion
    embed, embedded = LocalEmbedder.embed_query, list[str]()

    def noted(self: LocalEmbedder, text: str, words: Sequence[str] = ()) -> tuple[Vector, Vectors]:
        embedded.append(text)
        return embed(self, text, words)

    monkeypatch.setattr(LocalEmbedder, "embed_query", noted)
    message = ASKED[language][1]
    assert given(hippo, message, "once")
    assert len(embedded) == len(set(embedded)) > 0


@pytest.mark.parametrize(
    ("told", "to_companion", "of_memory"),
    [
        ("J'habite à Lyon", "tu habites où ?", "tu sais où j'habite ?"),
        ("I work nights on Mondays", "how was your day?", "do you remember when I work nights?"),
    ],
)
def test_what_the_user_says_of_themselves_is_not_the_companions(
    hippo: Hippocampe, told: str, to_companion: str, of_memory: str
) -> None:
    hippo.remember(told, scope=NINA)
    scores = [
        hippo.before_turn(message, scope=Scope(user="nina", channel=channel))
        .trace.considered[0]
        .recollection.score
        for message, channel in ((to_companion, "one"), (of_memory, "two"))
    ]
    assert scores[0] < 0.2 < 0.9 < scores[1]
