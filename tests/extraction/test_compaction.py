"""Compaction turns the oldest messages of a working history into summaries, and loses nothing."""

import re
import threading
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from conftest import FakeClock
from hashed import HashedEmbedder
from hippocampe import Hippocampe, InvalidAnswer, InvalidInput, ModelUnavailable, Scope
from hippocampe.extraction import compaction
from hippocampe.extraction.extractive import LENGTH, MOST_SENTENCES, extract_sentences
from hippocampe.extraction.talk import SHOWN_CHARACTERS
from hippocampe.protocols import Vectors
from hippocampe.store import job_runs
from hippocampe.types import JobRun, Message
from model_server import Answer, Call, ModelRequest, ModelServer

DESK = Scope(user="ana", channel="desk")
HERE = Scope()

FRENCH = [
    ("Bonjour !", "Bonjour Ana."),
    ("J'ai choisi le notaire Lambert pour vendre la maison de Quimper.", "C'est noté."),
    ("ok", "Super."),
    ("La visite de la maison est fixée au 12 mars à 15 h.", "Je retiens la date."),
    ("Il fait un peu gris aujourd'hui.", "Oui."),
    ("Faut-il repeindre la cuisine avant la visite de la maison ?", "Cela peut attendre."),
]
ENGLISH = [
    ("Hello!", "Hi Ana."),
    ("I chose the notary Lambert to sell the house in Quimper.", "Noted."),
    ("ok", "Great."),
    ("The visit of the house is set for 12 March at 3 pm.", "I keep the date."),
    ("It is a bit grey today.", "Yes."),
    ("Should the kitchen be painted before the visit of the house?", "That can wait."),
]


def talk(
    hippo: Hippocampe, clock: FakeClock, exchanges: list[tuple[str, str]], scope: Scope = DESK
) -> None:
    for said, reply in exchanges:
        hippo.after_turn(said, reply, scope=scope)
        clock.advance(minutes=2)


def working(hippo: Hippocampe, scope: Scope = DESK) -> list[str]:
    return [each.content for each in hippo.messages(scope=scope, working=True, limit=1_000)]


def runs(hippo: Hippocampe) -> list[JobRun]:
    with hippo._context.corpus.store.read() as connection:
        return job_runs.find(connection, "default", job="compact", limit=100)


def summarise(server: ModelServer, text: str = "Ana vend la maison de Quimper.") -> None:
    server.call("answer", summary=text)


def test_the_oldest_messages_become_a_summary(
    server: ModelServer, with_model: Hippocampe, clock: FakeClock
) -> None:
    hippo = with_model
    hippo.update_settings(scope=HERE, recent_messages=4)
    talk(hippo, clock, FRENCH)
    said = hippo.messages(scope=DESK)
    server.call(
        "answer",
        summary="Ana a choisi le notaire Lambert ; visite de la maison le 12 mars 2026.",
        people=["Lambert", "Napoléon"],
        decisions=["Ana vend la maison de Quimper.", " "],
        open_questions=["Faut-il repeindre la cuisine ?"],
    )
    done = hippo.compact(scope=DESK)
    (summary,) = done.summaries
    assert done.messages == 8
    assert summary.content == (
        "Résumé de desk (17 janvier 2026) : Ana a choisi le notaire Lambert ; visite de la maison le "
        "12 mars 2026.\nDécisions : Ana vend la maison de Quimper.\n"
        "Questions ouvertes : Faut-il repeindre la cuisine ?"
    )
    assert (summary.collection, summary.channel, summary.user) == ("summary", "desk", "ana")
    assert (summary.source, summary.subjects) == ("compaction", ("ana", "lambert"))
    assert summary.evidence == tuple(each.id for each in said[:8])
    assert summary.occurred_at == said[7].at
    assert working(hippo) == [each.content for each in said[8:]]
    found = hippo.recall("quel notaire ?", scope=HERE, collections=["summary"])
    assert [item.id for item in found] == [summary.id]
    assert hippo.search_text("notaire Lambert", scope=HERE)[0].id == said[2].id
    assert hippo.recall("le notaire", scope=HERE, collections=["turn"])
    assert len(hippo.messages(scope=DESK)) == 12
    (request,) = server.requests
    assert "[m1] ana, Saturday 2026-01-17 11:23: Bonjour !" in request.asked
    assert hippo.compact(scope=DESK).messages == 0
    assert hippo.verify().ok


@pytest.mark.parametrize(
    ("exchanges", "language", "header"),
    [(FRENCH, "fr", "Résumé de desk"), (ENGLISH, "en", "Summary of desk")],
)
def test_without_a_model_the_most_telling_sentences_are_kept(
    hippo: Hippocampe,
    clock: FakeClock,
    exchanges: list[tuple[str, str]],
    language: str,
    header: str,
) -> None:
    hippo.update_settings(scope=HERE, recent_messages=2, language=language)
    talk(hippo, clock, exchanges * 3)
    (summary,) = hippo.compact(scope=DESK).summaries
    assert summary.content.startswith(header)
    notary, visit = (summary.content.index(exchanges[number][0]) for number in (1, 3))
    assert notary < visit
    assert summary.content.count(exchanges[1][0]) == 1
    assert "\nana: ok" not in summary.content
    assert len(summary.content) < compaction.SUMMARY_CHARACTERS
    assert len(working(hippo)) == 2


def test_an_extract_of_long_talk_is_bounded(hippo: Hippocampe, clock: FakeClock) -> None:
    hippo.update_settings(scope=HERE, recent_messages=2)
    flowers = "rose tulipe iris lilas jasmin muguet pivoine violette lavande bleuet".split()
    talk(
        hippo,
        clock,
        [(f"J'ai planté {a} près de {b} dans le jardin {'vert ' * 20}.", f"Bien, {a}.") for a in flowers for b in flowers[:4]],
    )  # fmt: skip
    done = hippo.compact(scope=DESK)
    assert done.messages == 78
    for summary in done.summaries:
        assert 200 < len(summary.content) < 1_400


class RecordingEmbedder(HashedEmbedder):
    """Keeps the texts that it embedded."""

    def __init__(self) -> None:
        super().__init__(32)
        self.texts: list[str] = []

    def embed(self, texts: Sequence[str]) -> Vectors:
        self.texts += texts
        return super().embed(texts)


def said(*texts: str) -> list[Message]:
    at = datetime(2026, 1, 17, tzinfo=UTC)
    return [
        Message(str(n), "default", text, "ana", "user", None, at) for n, text in enumerate(texts)
    ]


def test_an_extract_reads_as_much_of_a_message_as_a_model() -> None:
    embedder = RecordingEmbedder()
    text = " ".join(f"Le colis {n} est parti vers Lyon." for n in range(1_000))
    assert 200 < len(extract_sentences(embedder, said(text))) <= LENGTH
    assert sum(map(len, embedder.texts)) <= SHOWN_CHARACTERS


def test_an_extract_compares_a_bounded_number_of_sentences() -> None:
    embedder = RecordingEmbedder()
    texts = (" ".join(f"Colis {n}{m} parti." for m in range(100, 300)) for n in range(3))
    assert 200 < len(extract_sentences(embedder, said(*texts))) <= LENGTH
    assert len(embedder.texts) == MOST_SENTENCES


def test_a_large_backlog_is_compacted_in_parts(
    server: ModelServer, with_model: Hippocampe, clock: FakeClock
) -> None:
    hippo = with_model
    hippo.update_settings(scope=HERE, recent_messages=5)
    talk(hippo, clock, [(f"Le colis {n} {'pèse ' * 200}", "Bien noté.") for n in range(40)])
    server.brain = lambda request: Answer(
        calls=(Call("answer", {"summary": f"Ana a {request.asked.count('colis')} colis."}),)
    )
    done = hippo.compact(scope=DESK)
    assert done.messages == 75
    assert len(done.summaries) == len(server.requests) > 2
    evidence = [id for summary in done.summaries for id in summary.evidence]
    assert evidence == [each.id for each in hippo.messages(scope=DESK, limit=80)[:75]]
    shown = sum(len(re.findall(r"^\[m\d+\]", each.asked, re.M)) for each in server.requests)
    assert shown == 75


def test_small_talk_leaves_without_a_summary(
    server: ModelServer, with_model: Hippocampe, clock: FakeClock
) -> None:
    with_model.update_settings(scope=HERE, recent_messages=2)
    talk(with_model, clock, [("salut", "coucou"), ("mdr", "haha"), ("ok", "merci")])
    done = with_model.compact(scope=DESK)
    assert (done.messages, done.summaries, server.requests) == (4, (), [])
    assert working(with_model) == ["ok", "merci"]


def test_an_exchange_queues_a_compaction_once(hippo: Hippocampe, clock: FakeClock) -> None:
    hippo.update_settings(scope=HERE, recent_messages=3)
    talk(hippo, clock, FRENCH[:3])
    assert runs(hippo) == []
    talk(hippo, clock, FRENCH[3:])
    (run,) = runs(hippo)
    assert (run.state, run.payload) == ("waiting", {"channel": "desk"})
    talk(hippo, clock, FRENCH, Scope(user="bob"))
    assert [each.payload for each in runs(hippo)] == [{"channel": ""}, {"channel": "desk"}]
    done = hippo.run_jobs(scope=HERE)
    assert [(each.state, each.outcome) for each in done] == [("done", "9 read, 1 written")] * 2
    (unnamed,) = (
        each for each in hippo.memories(scope=HERE, collection="summary").items if not each.channel
    )
    assert unnamed.content.startswith("Résumé (17 janvier 2026) :")
    # What runs too late has nothing to do.
    with hippo._context.corpus.store.write() as connection:
        payload = {"channel": "desk"}
        job_runs.add(connection, "compact", "default", due_at=clock(), payload=payload)
    (late,) = hippo.run_jobs(scope=HERE)
    assert (late.state, late.outcome) == ("done", "0 read, 0 written")


def test_if_the_model_fails_the_messages_stay(
    server: ModelServer, with_model: Hippocampe, clock: FakeClock
) -> None:
    with_model.update_settings(scope=HERE, recent_messages=2)
    talk(with_model, clock, FRENCH)
    server.fail(401)
    with pytest.raises(ModelUnavailable):
        with_model.compact(scope=DESK)
    summarise(server, "ok")
    with pytest.raises(InvalidAnswer):
        with_model.compact(scope=DESK)
    assert len(working(with_model)) == 12
    summarise(server)
    assert with_model.compact(scope=DESK).messages == 10


def test_nothing_that_was_erased_meanwhile_is_summarised(
    server: ModelServer, with_model: Hippocampe, clock: FakeClock
) -> None:
    hippo = with_model
    hippo.update_settings(scope=HERE, recent_messages=2)
    talk(
        hippo,
        clock,
        [("Zéphyrine a une barque à Concarneau", "Joli.")],
        Scope("default", "bob", "desk"),
    )
    talk(hippo, clock, FRENCH)
    erased: list[bool] = []

    def brain(request: ModelRequest) -> Answer:
        named = "Zéphyrine" in request.asked
        if not erased:
            erased.append(named)
            hippo.erase(scope=HERE, user="bob")
        summary = "Zéphyrine a une barque." if named else "Ana vend la maison de Quimper."
        return Answer(calls=(Call("answer", {"summary": summary}),))

    server.brain = brain
    (summary,) = hippo.compact(scope=DESK).summaries
    assert erased == [True]
    assert "Quimper" in summary.content
    assert hippo.verify(absent=["Zéphyrine"]).ok


def test_what_was_forgotten_is_not_summarised(
    server: ModelServer, with_model: Hippocampe, clock: FakeClock
) -> None:
    hippo = with_model
    hippo.update_settings(scope=HERE, recent_messages=2)
    talk(hippo, clock, [("Zéphyrine a une barque à Concarneau", "Joli."), *FRENCH])
    assert len(working(hippo)) == 14
    hippo.forget("Zéphyrine", scope=HERE)
    assert len(working(hippo)) == 12
    summarise(server)
    done = hippo.compact(scope=DESK)
    assert done.messages == 10
    assert "Zéphyrine" not in server.requests[0].asked


def test_erasing_a_speaker_erases_the_summaries_of_what_they_said(
    server: ModelServer, with_model: Hippocampe, clock: FakeClock
) -> None:
    hippo = with_model
    hippo.update_settings(scope=HERE, recent_messages=2)
    talk(hippo, clock, FRENCH[:1], Scope(user="bob", channel="desk"))
    talk(hippo, clock, FRENCH)
    talk(hippo, clock, FRENCH, Scope(user="ana", channel="hall"))
    for room, text in (("desk", "Le secret de la barque."), ("hall", "Ana vend la maison.")):
        summarise(server, text)
        hippo.compact(scope=Scope(channel=room))
    receipt = hippo.erase(scope=HERE, user="bob")
    assert receipt.counts["memory"] == 1
    assert hippo.verify(absent=["barque"]).ok
    (left,) = hippo.recall("la maison", scope=HERE, collections=["summary"])
    assert "Ana vend la maison." in left.content


def test_two_at_once_make_one_summary(
    server: ModelServer, with_model: Hippocampe, clock: FakeClock
) -> None:
    with_model.update_settings(scope=HERE, recent_messages=2)
    talk(with_model, clock, FRENCH)
    both = threading.Barrier(2)
    summarise(server)
    made: list[int] = []

    def press() -> None:
        both.wait()
        made.append(len(with_model.compact(scope=DESK).summaries))

    threads = [threading.Thread(target=press) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(made) == [0, 1]


def test_compaction_needs_a_channel(hippo: Hippocampe) -> None:
    with pytest.raises(InvalidInput, match="channel"):
        hippo.compact(scope=Scope(user="ana"))
    with pytest.raises(InvalidInput, match="working"):
        hippo.messages(scope=DESK, working="yes")  # type: ignore[arg-type]
