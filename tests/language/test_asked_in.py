"""What a message asks, among what it tells."""

import pytest

from hippocampe.language.questions import asked_in, is_about_told, is_telling, refers


@pytest.mark.parametrize(
    ("message", "asked"),
    [
        ("Salut ! Il part où David ?", ["Il part où David ?"]),
        ("hey, good morning!\nwhere does Nora live", ["where does Nora live"]),
        ("I'm back from the market. Where does Nora live?", ["Where does Nora live?"]),
        ("Qui arrose le basilic ? Je pars ce soir.", ["Qui arrose le basilic ?"]),
        ("Longue journée. Bon sinon, tom sera là lundi ?", ["tom sera là lundi ?"]),
        ("Ça va ? Moi bien. Tom vit où", ["Tom vit où"]),
        ("Who waters the basil? Where is it?", ["Who waters the basil?", "Where is it?"]),
    ],
)
def test_what_is_told_around_a_question_is_left_out(message: str, asked: list[str]) -> None:
    assert list(asked_in(message)) == asked


def test_what_asks_nothing_stays_whole() -> None:
    assert asked_in("J'ai vu Nora. On a bu un café.")[0] == "J'ai vu Nora. On a bu un café."
    for message in ("Où habite Nora ?", "Salut ! Merci beaucoup !", "ok", "", "😀"):
        assert asked_in(message) == (message,)


def test_a_long_message_is_searched_for_its_last_questions() -> None:
    message = " ".join(f"Who waters the plant number {n}?" for n in range(100))
    assert asked_in(message) == tuple(f"Who waters the plant number {n}?" for n in (98, 99))


def test_what_a_speaker_adds_about_themselves_is_left_out() -> None:
    for message, asked in (
        ("Owen se marie quand déjà, j'ai peur d'avoir loupé un truc", "Owen se marie quand déjà"),
        ("who comes on Friday, I need to buy chairs", "who comes on Friday"),
        ("if I leave at 8, when do I arrive?", "if I leave at 8, when do I arrive?"),
        ("where is Nora, the neighbour?", "where is Nora, the neighbour?"),
    ):
        assert asked_in(message) == (asked,)


def test_a_question_refers_to_somebody() -> None:
    for question in (
        "Elle habite où ?",
        "on lui apporte quoi ?",
        "What does he eat?",
    ):
        assert refers(question)
    for question in ("Quelle heure est-il ?", "Est-ce qu'il y a du lait ?", "Where do I live?"):
        assert not refers(question)


def test_advice_is_about_what_is_told() -> None:
    for question in ("What would you suggest?", "Tu me conseilles quoi ?", "How do I set this up?"):
        assert is_about_told(question)
    for question in ("Where does Nora live?", "Qui a les clés ce soir ?", "Who comes this week?"):
        assert not is_about_told(question)
    for message in (
        "I'm cooking for Lena, any idea?",
        "des idées pour le dîner ?",
        "il pleut, ok ?",
    ):
        assert is_telling(message)
    assert not is_telling("who cooks for Lena?")


def test_a_question_stands_before_or_after_a_pasted_text() -> None:
    pasted = "\n".join(f"The boat number {n} is in the harbour." for n in range(200))
    question = "Where is the boat of Nora?"
    assert asked_in(f"{question}\n{pasted}") == asked_in(f"{pasted}\n{question}") == (question,)
