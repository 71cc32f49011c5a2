"""The reader puts what answers first, and is dropped when it cannot help or there is no time."""

import logging
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from math import inf
from pathlib import Path
from threading import Event
from time import perf_counter
from typing import Any

import numpy as np
import pytest

from hippocampe import Config, Hippocampe, Scope
from hippocampe.engine.corpus import Corpus
from hippocampe.errors import ModelUnavailable
from hippocampe.injection import warmup
from hippocampe.reader import network
from hippocampe.retrieval import reading, scoring
from hippocampe.retrieval.recall import READ
from hippocampe.types import Injection
from proxying import eventually

SCOPE = Scope(user="mickael", channel="salon")
KNOWN = [
    "Je suis allergique aux noix",
    "David a deux chats",
    "La boulangerie ouvre à 7 h",
    "I learnt to swim in the lake of Annecy",
    "Camille travaille le samedi",
]


@dataclass
class Scripted:
    """A reader that likes some texts, and counts what it reads."""

    likes: frozenset[str] = frozenset()
    seconds_per_pair: float = 1e-6
    read: list[list[tuple[str, str]]] = field(default_factory=list[list[tuple[str, str]]])
    going: Event = field(default_factory=Event)
    begun: Event = field(default_factory=Event)

    def read_pairs(
        self, head: str, pairs: Sequence[tuple[str, str]], seconds: float = inf
    ) -> np.ndarray:
        if head == "relation":
            return np.zeros((len(pairs), 5), np.float32)
        self.begun.set()
        assert self.going.wait(20)
        self.read.append(list(pairs))
        odds = [8.0 if text.partition(": ")[2] in self.likes else -8.0 for _, text in pairs]
        return np.array(odds, np.float32)[:, None]


@pytest.fixture
def scripted(monkeypatch: pytest.MonkeyPatch, reading: None) -> Scripted:
    reader, rehearsed = Scripted(), Event()
    reader.going.set()
    # The turn that warms up a process would be read too.
    rehearsed.set()
    monkeypatch.setattr(warmup, "_rehearsed", rehearsed)
    monkeypatch.setattr(Corpus, "reader", lambda self: reader)
    return reader


@pytest.fixture
def memory(tmp_path: Path) -> Iterator[Hippocampe]:
    with Hippocampe.open(Config(tmp_path / "data", background=False, share=False)) as hippo:
        for text in KNOWN:
            hippo.remember(text, scope=SCOPE)
        yield hippo


@pytest.mark.parametrize(
    ("question", "answer"),
    [
        ("Est-ce que je peux manger ce gâteau aux amandes et aux noisettes ?", KNOWN[0]),
        ("À partir de quelle heure je trouve du pain ?", KNOWN[2]),
        ("Where did I take my swimming lessons?", KNOWN[3]),
        ("Which day is Camille at work?", KNOWN[4]),
    ],
)
def test_a_question_in_other_words_finds_its_answer(
    memory: Hippocampe, reading: None, question: str, answer: str
) -> None:
    first, *_ = memory.recall(question, scope=SCOPE, explain=True)
    assert first.content == answer
    names = {signal.name for signal in first.why}
    assert scoring.READER in names or first.score >= 0.97


@pytest.mark.parametrize(
    ("name", "told", "question"),
    [
        ("Odile", "I live in Lyon", "Where does Odile live?"),
        ("Odile", "J'habite à Lyon", "Où habite Odile ?"),
        ("Marie-Odile", "J'habite à Lyon", "Où habite Marie-Odile ?"),
        ("Mary O'Neil", "I live in Lyon", "Where does Mary O'Neil live?"),
    ],
)
def test_a_user_is_asked_about_by_another_name(
    memory: Hippocampe, reading: None, name: str, told: str, question: str
) -> None:
    memory.remember(f"od = {name}", scope=SCOPE)
    memory.remember(told, scope=Scope(SCOPE.space, user="od"))
    memory.remember("I live in Metz", scope=Scope(SCOPE.space, user="bob"))
    first, *others = memory.recall(question, scope=SCOPE)
    assert first.content == told
    assert first.score > 0.8 > max(each.score for each in others)


JOURNAL = {
    "Where did I put the spare key?": (
        "A better day. Sun, finally, thin as paper but sun. I opened every window and the flat smelled of outside for an"
        " hour. I met the archivist, who is shy and funny and knows everything about the parish books. I took four pages of"
        " notes and one photograph of a mouse eaten corner. On the way home I bought tulips, the red and yellow kind. I hid"
        " the spare key in the red watering can on the balcony, because last week I locked myself out. Dinner was leftovers."
    ),
    "what's my locker number": (
        "um so update on work i'm coming off nights from the seventeenth actually no the twenty fourth i'll be on earlies six till"
        " two and my new boss is a woman called renata sykes she's brilliant and er i get a locker it's number one one seven and the"
        " code is on my phone and i've got to wear steel toe caps size ten and a half and pay day is the last thursday of the month"
    ),
    "quelle taille de chaussures de sécurité il me faut": (
        "alors euh des nouvelles du boulot je passe en équipe du matin à partir du dix-sept non attends du vingt-quatre et ma nouvelle"
        " chef c'est une certaine sandrine morel elle vient de grenoble elle est top et j'ai un casier au fond du couloir et euh il me"
        " faut des chaussures de sécurité taille quarante-trois et on est payé le vingt-huit du mois"
    ),
    "What did my saddle cost?": (
        "The night was short. Ada had a cough, so we read two books at four in the morning. I missed the bus and walked to the office"
        " in the rain, which took an hour. The lift is still broken. My saddle arrived. It cost me ninety pounds. In the evening we"
        " listened to the radio and I mended the blue curtain, badly. Then I rang the plumber, who never answers."
    ),
    "C'est quand mon rendez-vous chez le notaire ?": (
        "Journée sans relief. Je me suis levée tard, j'ai traîné en robe de chambre jusqu'à dix heures, puis j'ai rangé tout"
        " le placard de l'entrée. Vers midi il a neigé, mais une neige molle. J'ai mangé une omelette en regardant par la"
        " fenêtre. L'après-midi, courses, pharmacie, la queue partout. La caissière avait les ongles bleus. J'ai croisé"
        " Solange, qui m'a parlé de son genou. Mon rendez-vous avec le notaire est fixé au 19 février. J'ai fait une soupe."
    ),
}


@pytest.mark.parametrize("question", JOURNAL)
def test_a_sentence_deep_in_a_long_message_is_given(
    memory: Hippocampe, reading: None, question: str
) -> None:
    for message in JOURNAL.values():
        memory.after_turn(message, "D'accord.", scope=SCOPE)

    def found(query: str) -> list[str]:
        hits = memory.recall(query, scope=SCOPE, collections=("memory", "turn"), min_score=0.3)
        return [each.content.partition("\n")[0] for each in hits]

    assert found(question) == [JOURNAL[question]]
    assert not found("How does a lock work?")
    assert not found("Quelle est la capitale du Pérou ?")


def test_the_passage_of_a_long_text_is_read_first(
    memory: Hippocampe, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = "Where did I put the spare key?"
    item = memory.recall("chats", scope=SCOPE, mode="text")[0]
    items = [replace(item, content=JOURNAL[question], memory=None), item]
    read_whole = Scripted.read_pairs
    monkeypatch.setattr(Scripted, "read_pairs", lambda *given: read_whole(*given)[:2])
    reading.read(
        memory._context.corpus, [question], None, items, inf, several=False, first=2, is_enough=any
    )
    passage, short, whole, *_ = (text.partition(": ")[2] for _, text in scripted.read[-1])
    assert passage.startswith("I hid the spare key") and passage in whole
    assert (short, whole) == (item.content, JOURNAL[question])


def test_what_is_read_decides_the_order_and_the_score(
    memory: Hippocampe, scripted: Scripted
) -> None:
    scripted.likes = frozenset({"David a deux chats"})
    question = "Qui pourrait me conseiller pour le dîner ?"
    first, *others = memory.recall(question, scope=SCOPE, explain=True)
    assert first.content == "David a deux chats"
    assert first.score > 0.5 > max(each.score for each in others)
    (read,) = scripted.read
    assert read[0][0] == f"mickael: {question}"
    assert {text for _, text in read} == {f"mickael: {text}" for text in KNOWN}
    found = memory.recall(question, scope=SCOPE, min_score=0.5)
    assert [each.content for each in found] == ["David a deux chats"]


def test_contributions_add_up_to_the_score(memory: Hippocampe, scripted: Scripted) -> None:
    for each in memory.recall("Qui conseille pour le dîner ?", scope=SCOPE, explain=True):
        (signal,) = [signal for signal in each.why if signal.name == scoring.READER]
        assert signal.contribution == pytest.approx(float(scoring.load_model().reader[1]) * -8)


@pytest.mark.parametrize(
    ("kept", "question"),
    [
        ("Le voilier numéro {0} a {0} cabines", "Combien de cabines sur le voilier ?"),
        ("Boat number {0} has {0} cabins", "How many cabins are on the boat?"),
    ],
)
def test_a_turn_without_time_to_read_is_explained_as_it_was(
    memory: Hippocampe, scripted: Scripted, kept: str, question: str
) -> None:
    for number in range(14):
        memory.remember(kept.format(number), scope=SCOPE)
    scripted.seconds_per_pair = 60.0
    given = memory.before_turn(question, scope=SCOPE)
    assert given.trace.missing == ("not read",)
    memory.flush()
    logged = {each.id for each in memory.retrieval(given.id, scope=SCOPE).items if each.signals}
    again = [each.recollection for each in memory.replay(given.id, scope=SCOPE).trace.considered]
    assert logged
    for each in again:
        if each.id in logged:
            assert each.why and scoring.READER not in {signal.name for signal in each.why}


def test_nothing_is_read_without_a_question(memory: Hippocampe, scripted: Scripted) -> None:
    for text in ("Salut !", "merci, bonne soirée", "ok lol", "hi there"):
        assert memory.before_turn(text, scope=SCOPE).trace.missing == ()
    memory.recall("chats", scope=SCOPE, mode="text")
    memory.recall("chats", scope=SCOPE, mode="semantic")
    assert not scripted.read


def test_nothing_is_read_when_one_result_is_certain(memory: Hippocampe, scripted: Scripted) -> None:
    found = memory.recall("David a deux chats", scope=SCOPE)
    if found[0].score >= 0.97:
        assert not scripted.read
    assert found[0].content == "David a deux chats"


def test_a_turn_says_when_it_has_no_time_to_read(memory: Hippocampe, scripted: Scripted) -> None:
    turn = memory.before_turn("Combien de chats a David ?", scope=SCOPE)
    assert "reader" in turn.trace.stages
    assert not turn.trace.missing
    read = len(scripted.read)
    assert read
    question = "Qui a des chats ?"
    scripted.seconds_per_pair = 60.0
    late = memory.before_turn(question, scope=Scope(user="mickael", channel="autre"))
    assert late.trace.missing == ("not read",)
    assert len(scripted.read) == read
    assert memory.recall(question, scope=SCOPE)  # a recall has no deadline
    assert len(scripted.read) > read


@pytest.mark.parametrize("ask", ["recall", "before_turn"])
def test_further_results_are_read_if_none_of_the_first_is_likely(
    memory: Hippocampe, scripted: Scripted, ask: str
) -> None:
    for number in range(40):
        memory.remember(f"Le client numéro {number} paie par chèque", scope=SCOPE)
    recipe = "La recette des crêpes demande quatre œufs"
    memory.remember(recipe, scope=SCOPE)
    question = "Il en faut combien pour des crêpes du dimanche ?"
    getattr(memory, ask)(question, scope=SCOPE)
    first, others = scripted.read
    assert len(first) < 12
    assert len(first) + len(others) == READ
    assert set(first).isdisjoint(others)
    scripted.likes = frozenset({recipe})
    getattr(memory, ask)(question, scope=Scope(user="mickael", channel="cuisine"))
    assert scripted.read[2:] == [first]


def test_a_turn_does_not_read_while_another_waits(memory: Hippocampe, scripted: Scripted) -> None:
    question = "Qui conseille pour le dîner ?"
    admission = memory._turns.admission
    places = [admission.ask(perf_counter() + 60) for _ in range(admission.limit)]
    with ThreadPoolExecutor(2) as pool:
        turns: list[Future[Injection]] = []
        for channel in ("salon", "autre"):
            scope = Scope(user="mickael", channel=channel)
            turns.append(pool.submit(memory.before_turn, question, scope=scope))
            eventually(lambda: admission._waiting, len(turns))
        admission.leave(places[0])  # the newest runs first, then the other one
        assert turns[1].result(20).trace.missing == ("not read",)
        assert turns[0].result(20).trace.missing == ()
    assert len(scripted.read) == 1
    admission.leave(places[1])


def test_one_search_reads_at_a_time_and_the_others_wait_for_it(
    memory: Hippocampe, scripted: Scripted, monkeypatch: pytest.MonkeyPatch
) -> None:
    question = "Qui conseille pour le dîner ?"
    scripted.going.clear()
    with ThreadPoolExecutor(10) as pool:
        monkeypatch.setattr(reading, "LOCK_TIMEOUT", 0.01)
        searches = [pool.submit(memory.recall, question, scope=SCOPE)]
        assert scripted.begun.wait(20)
        assert memory.recall(question, scope=SCOPE)
        assert not scripted.read
        monkeypatch.setattr(reading, "LOCK_TIMEOUT", 20)
        searches += [pool.submit(memory.recall, question, scope=SCOPE) for _ in range(9)]
        scripted.going.set()
        for each in searches:
            each.result(20)
    assert len(scripted.read) == 10


def test_a_damaged_reader_is_said_once_and_heals(
    memory: Hippocampe,
    reading: None,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken() -> network.Reader:
        raise ModelUnavailable("the reader is damaged")

    with monkeypatch.context() as patch, caplog.at_level(logging.INFO, "hippocampe"):
        patch.setattr("hippocampe.engine.corpus.load_reader", broken)
        for _ in range(3):
            turn = memory.before_turn("Qui pourrait garder un animal ?", scope=SCOPE)
            assert turn.trace.missing == ("reader down",)
            assert memory.recall("Qui pourrait garder un animal ?", scope=SCOPE)
        assert memory.remember("Les chats de David s'appellent Zig et Zag", scope=SCOPE)
        assert [each.levelname for each in caplog.records] == ["WARNING"]
    assert memory.recall("Qui garde les animaux de David ?", scope=SCOPE)
    assert "reader" in caplog.records[-1].getMessage()


def test_results_that_were_not_read_stay_below_the_lowest_read() -> None:
    scores = np.array([0.6, 0.5, 0.5, 0.4], np.float32)
    read = np.array([-3.0, 3.0], np.float32)
    odds = np.log(scores / (1 - scores))
    given = scoring.with_reader(scores, odds, read)
    assert given[1] > given[0] > given[2] > given[3]
    assert np.array_equal(scoring.with_reader(scores, odds, read[:0]), scores)
    alone = scoring.with_reader(scores, odds, np.array([8.0], np.float32))
    assert alone[0] > 0.9 > 0.3 > alone[1] > alone[3]


@pytest.mark.parametrize(("pairs", "texts"), [(2, 1), (8, 4), (9, 4), (10, 5)])
def test_a_text_counts_as_read_once_it_was_read_with_each_query(
    memory: Hippocampe, scripted: Scripted, monkeypatch: pytest.MonkeyPatch, pairs: int, texts: int
) -> None:
    scripted.likes = frozenset({KNOWN[1]})
    corpus = memory._context.corpus
    found = memory.recall("chats", scope=SCOPE, mode="text")[0]
    items = [replace(found, id=text, content=text, author="mickael") for text in KNOWN]
    queries = ["Des chats ?", "chats"]
    at_once: dict[str, Any] = {"several": False, "first": len(items), "is_enough": any}
    whole = Scripted.read_pairs
    monkeypatch.setattr(Scripted, "read_pairs", lambda *given: whole(*given)[:pairs])
    odds = reading.read(corpus, queries, "mickael", items, inf, **at_once)
    assert odds.tolist() == [-8, 8, -8, -8, -8][:texts]
    for few in (0, 1):
        monkeypatch.setattr(Scripted, "read_pairs", lambda *given, few=few: whole(*given)[:few])
        with pytest.raises(reading.NotRead):
            reading.read(corpus, queries, "mickael", items, inf, **at_once)


def test_a_slow_processor_has_time_to_read_a_few_texts(
    memory: Hippocampe, scripted: Scripted
) -> None:
    corpus = memory._context.corpus
    for pace, left, several, seconds in (
        (0.0002, 0.1, False, 0.015),
        (0.0002, 0.1, True, 0.0225),
        (0.006, 0.1, False, 0.03),
        (0.02, 0.1, False, 0.05),
        (0.02, 0.0, False, 0.0),
        (0.02, inf, False, 540.0),
    ):
        scripted.seconds_per_pair = pace
        reading_time, wait = reading.time_to_read(corpus, left, several=several)
        assert reading_time == pytest.approx(seconds)
        assert 0 <= wait <= reading.LOCK_TIMEOUT
        assert reading_time + wait <= left / 2 + 1e-9


def test_turns_read_again_after_a_load(memory: Hippocampe, scripted: Scripted) -> None:
    scripted.seconds_per_pair = 10.0
    missing = [
        memory.before_turn(
            "Qui conseille pour le dîner ?", scope=Scope(user="mickael", channel=str(channel))
        ).trace.missing
        for channel in range(40)
    ]
    assert missing[0] == ("not read",)
    assert missing[-1] == ()
