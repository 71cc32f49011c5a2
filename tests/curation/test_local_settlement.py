"""The local reader settles what the learnt decision lists for review, and a person can undo it."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Final

import numpy as np
import pytest

from conftest import FakeClock, Opener
from hippocampe import Hippocampe, Scope
from hippocampe.curation import local_settlement
from hippocampe.errors import ModelUnavailable
from hippocampe.store import associations
from hippocampe.types import Memory
from hippocampe.updates import joining, judgement
from hippocampe.updates.cross_encoder import base
from hippocampe.updates.cross_encoder.judge import load_learnt
from hippocampe.updates.joining import held_back
from hippocampe.updates.learnt import MERGING, OUTCOMES, Floats, Model, load_model
from model_server import ModelServer

HERE = Scope(user="dev")
SERVER = ("Le serveur de test tourne sur Debian 11.", "Serveur de test réinstallé en Debian 13.")
CHOIR = ("The choir rehearses at the parish hall", "The choir now rehearses at the conservatory")
HAND = ("Octave est gaucher.", "Octave écrit de la main gauche.")
DOUBT = ("Eudes habite à Toulon", "Il paraît qu'Eudes a quitté Toulon")
BIKE = ("Camille adore son très vieux vélo rouge", "Camille répare son très vieux vélo rouge")
PETRA = (
    "Petra's allotment is next to the canal.",
    "Petra gave up her allotment and gardens on the balcony now.",
)
SETTLED = [
    (
        "Bertille garde ses petits-enfants le mercredi.",
        "Bertille ne garde plus ses petits-enfants, la nounou s'en occupe.",
    ),
    ("Idris is waiting for his visa.", "Idris has his visa at last."),
    ("Le vélo d'Ambroise est chez le réparateur.", "Ambroise a récupéré son vélo ce matin."),
]
OPEN_PAIRS = [DOUBT, BIKE]
SURE = {"update": 0.7, "same": 0.7, "detail": 0.7, "long": 0.0, "review": 0.05}
UPDATE = (0.97, 0.01, 0.01, 0.005, 0.005)
SAME = (0.01, 0.97, 0.01, 0.005, 0.005)
OPEN = (0.10, 0.02, 0.02, 0.26, 0.60)
APART = (0.0, 0.0, 0.0, 0.0, 1.0)


class FromReader:
    """A joint model that believes the reader."""

    thresholds: Final = SURE

    def probabilities(self, evidence: Sequence[Mapping[str, float]]) -> Floats:
        logs = [[told[f"read_{name}"] for name in OUTCOMES] for told in evidence]
        return np.exp(np.array(logs, np.float32))


@dataclass
class Scripted:
    """A reader that has one opinion of all pairs."""

    opinion: Sequence[float]
    read: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])
    meanwhile: Callable[[], object] = lambda: None
    joint: FromReader | Model = field(default_factory=FromReader)

    def judge(self, pairs: Sequence[tuple[str, str]]) -> Floats:
        self.read += pairs
        self.meanwhile()
        return np.array([self.opinion] * len(pairs), np.float32)


Read = Callable[[Sequence[float]], Scripted]


@pytest.fixture(autouse=True)
def nothing_is_sure(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make the learnt decision list every pair, whatever its weights."""
    unsure = dict.fromkeys(("update", "same", "detail"), 1.1) | {"long": 0.0, "review": 0.0}
    model = replace(load_model(), thresholds=unsure)
    monkeypatch.setattr(judgement, "model_for", lambda _: model)


@pytest.fixture
def read(monkeypatch: pytest.MonkeyPatch) -> Read:
    """Install a scripted reader."""

    def install(opinion: Sequence[float]) -> Scripted:
        reader = Scripted(opinion)
        monkeypatch.setattr(local_settlement, "installed", lambda: "there")
        monkeypatch.setattr(local_settlement, "load_reader", lambda: reader)
        return reader

    return install


def remember(hippo: Hippocampe, contents: tuple[str, str]) -> tuple[Memory, Memory]:
    older, newer = (hippo.remember(each, scope=HERE).memory for each in contents)
    assert len(hippo.reviews(scope=HERE)) == 1
    return older, newer


def settle(hippo: Hippocampe) -> int:
    return local_settlement.settle_reviews(hippo._context.writer, space="default")


def current(hippo: Hippocampe) -> set[str]:
    return {memory.content for memory in hippo.recent(100, scope=HERE)}


def listed(hippo: Hippocampe) -> list[str]:
    return [review.reason for review in hippo.reviews(scope=HERE)]


@pytest.mark.parametrize("pair", [SERVER, CHOIR])
def test_what_both_are_sure_of_is_replaced(
    hippo: Hippocampe, read: Read, pair: tuple[str, str]
) -> None:
    reader = read(UPDATE)
    older, newer = remember(hippo, pair)
    assert settle(hippo) == 1
    assert reader.read == [pair]
    assert (listed(hippo), current(hippo)) == ([], {pair[1]})
    history = hippo.history(newer.id, scope=HERE)
    assert {each.id for each in history.versions} == {older.id, newer.id}
    reasons = {edge.kind: edge.reason or "" for edge in history.associations}
    assert reasons["updates"].startswith("settled by the local reader: update, ")
    assert " → " in reasons["updates"]
    first, *others = hippo.recall(pair[1], scope=HERE)
    assert first.id == newer.id
    # What it does not repeat still answers, marked.
    assert all(each.memory is not None and each.memory.former for each in others)
    assert settle(hippo) == 0


def test_of_two_that_say_the_same_the_lasting_one_is_kept(hippo: Hippocampe, read: Read) -> None:
    read(SAME)
    hippo.remember(HAND[0], scope=HERE)
    hippo.remember(HAND[1], scope=HERE, ttl="7d")
    assert settle(hippo) == 1
    assert current(hippo) == {HAND[0]}


@pytest.mark.parametrize("pair", [DOUBT, BIKE])
def test_what_must_not_be_merged_stays_listed(
    hippo: Hippocampe, read: Read, pair: tuple[str, str]
) -> None:
    read(UPDATE)
    remember(hippo, pair)
    [why] = listed(hippo)
    assert settle(hippo) == 0
    assert (listed(hippo), current(hippo)) == ([f"left by the local reader: {why}"], set(pair))


def test_the_shipped_joint_model_reads_the_evidence_there_is(hippo: Hippocampe, read: Read) -> None:
    read(UPDATE).joint = load_learnt().joint
    remember(hippo, CHOIR)
    assert settle(hippo) == 1
    assert current(hippo) == {CHOIR[1]}


def test_what_they_are_not_sure_of_stays_listed_and_is_read_once(
    hippo: Hippocampe, read: Read
) -> None:
    reader = read(OPEN)
    remember(hippo, CHOIR)
    assert settle(hippo) == 0
    assert current(hippo) == set(CHOIR)
    [reason] = listed(hippo)
    assert reason.startswith("left by the local reader: perhaps update, ")
    assert settle(hippo) == 0
    assert len(reader.read) == 1


@pytest.mark.parametrize("pair", [CHOIR, DOUBT])
def test_what_surely_stays_apart_leaves_the_list(
    hippo: Hippocampe, read: Read, pair: tuple[str, str]
) -> None:
    read(APART)
    _, newer = remember(hippo, pair)
    assert settle(hippo) == 1
    assert (listed(hippo), current(hippo)) == ([], set(pair))
    [edge] = hippo.history(newer.id, scope=HERE).associations
    assert (edge.kind, edge.reason) == ("related_to", "settled by the local reader: both stay")


def test_after_it_was_undone_a_person_decides(hippo: Hippocampe, read: Read) -> None:
    reader = read(UPDATE)
    older, _ = remember(hippo, SERVER)
    assert settle(hippo) == 1
    hippo.restore(older.id, scope=HERE)
    assert current(hippo) == set(SERVER)
    assert len(listed(hippo)) == 1
    assert settle(hippo) == 0
    assert len(reader.read) == 1


@pytest.mark.parametrize("meanwhile", ["settle", "edit", "delete"])
def test_a_pair_that_a_person_changes_meanwhile_is_theirs(
    hippo: Hippocampe, read: Read, meanwhile: str
) -> None:
    older, newer = remember(hippo, SERVER)
    acts = {
        "settle": lambda: hippo.settle(newer.id, older.id, scope=HERE),
        "edit": lambda: hippo.edit(newer.id, content="Octave est gaucher.", scope=HERE),
        "delete": lambda: hippo.delete(older.id, reason="gone", scope=HERE),
    }
    read(UPDATE).meanwhile = acts[meanwhile]
    assert settle(hippo) == 0
    reasons = [
        edge.reason or ""
        for edge in hippo.history(newer.id, scope=HERE).associations
        if (edge.reason or "").startswith(associations.BY_READER)
    ]
    assert reasons == []


def test_a_pair_whose_older_statement_was_edited_since_is_left(
    hippo: Hippocampe, read: Read
) -> None:
    read(UPDATE)
    older = hippo.remember("Octave est gaucher.", scope=HERE).memory
    hippo.remember(SERVER[1], scope=HERE)
    hippo.edit(older.id, content=SERVER[0], scope=HERE)
    assert len(listed(hippo)) == 1
    assert settle(hippo) == 0
    assert len(listed(hippo)) == 1


def test_it_works_in_the_background_without_a_language_model(
    hippo: Hippocampe, clock: FakeClock, read: Read
) -> None:
    reader = read(UPDATE)
    remember(hippo, SERVER)
    [run] = hippo.run_jobs(scope=HERE)
    assert (run.job, run.state, run.outcome) == ("settle", "done", "1 settled")
    remember(hippo, DOUBT)
    clock.advance(minutes=11)
    assert [run.outcome for run in hippo.run_jobs(scope=HERE)] == ["0 settled"]
    clock.advance(minutes=11)
    assert hippo.run_jobs(scope=HERE) == []
    assert len(reader.read) == 2


def test_what_it_leaves_a_language_model_is_asked(
    server: ModelServer, with_model: Hippocampe, clock: FakeClock, read: Read
) -> None:
    read(OPEN)
    remember(with_model, CHOIR)
    server.call("answer", verdicts=[{"pair": "p1", "verdict": "replace", "reason": "moved"}])
    runs = [run for run in with_model.run_jobs(scope=HERE) if run.job == "settle"]
    assert [run.outcome for run in runs] == ["1 settled"]
    assert current(with_model) == {CHOIR[1]}


def test_without_the_extra_nothing_is_read(hippo: Hippocampe) -> None:
    remember(hippo, SERVER)
    assert hippo.run_jobs(scope=HERE) == []
    assert len(listed(hippo)) == 1


def test_with_another_embedder_nothing_is_read(
    hashed: None, open_hippo: Opener, read: Read
) -> None:
    read(UPDATE)
    hippo = open_hippo(embedder="hashed:32")
    assert not local_settlement.is_available(hippo._context.corpus.vocabulary.embedder)


def test_a_reader_that_cannot_be_loaded_leaves_all_as_it_is(
    hippo: Hippocampe, read: Read, monkeypatch: pytest.MonkeyPatch
) -> None:
    read(UPDATE)

    def broken() -> Scripted:
        raise ModelUnavailable("its file is damaged: reinstall it.")

    monkeypatch.setattr(local_settlement, "load_reader", broken)
    remember(hippo, SERVER)
    before = listed(hippo)
    assert [run.outcome for run in hippo.run_jobs(scope=HERE)] == ["0 settled"]
    assert (listed(hippo), current(hippo)) == (before, set(SERVER))


def test_a_run_is_bounded(hippo: Hippocampe, read: Read, monkeypatch: pytest.MonkeyPatch) -> None:
    reader = read(OPEN)
    monkeypatch.setattr(local_settlement, "MOST", 1)
    for pair in (SERVER, CHOIR):
        for each in pair:
            hippo.remember(each, scope=HERE)
    for number in (1, 2, 2):
        settle(hippo)
        assert len(reader.read) == number


@pytest.mark.skipif(base.installed() is None, reason="needs the extra reader")
@pytest.mark.parametrize("pair", [*SETTLED, *OPEN_PAIRS])
def test_the_real_one_settles_real_pairs(
    hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch, pair: tuple[str, str]
) -> None:
    monkeypatch.setattr(local_settlement, "installed", base.installed)
    remember(hippo, pair)
    [run] = hippo.run_jobs(scope=HERE)
    if pair in SETTLED:
        assert run.outcome == "1 settled"
        assert (listed(hippo), current(hippo)) == ([], {pair[1]})
    else:
        assert len(listed(hippo)) == 1
        assert current(hippo) == set(pair)


def test_where_it_reads_what_is_listed_less_is_merged_at_once(
    open_hippo: Opener, monkeypatch: pytest.MonkeyPatch
) -> None:
    # PETRA is a likely update: the decision alone merges, and lists it where it is held back.
    sure = dict.fromkeys(("update", "same", "detail"), 0.5) | {"long": 0.0, "review": 0.0}
    model = replace(load_model(), thresholds=sure)
    monkeypatch.setattr(judgement, "model_for", lambda _: model)
    monkeypatch.setattr(joining, "HELD_BACK", 0.49)
    monkeypatch.setattr(judgement, "installed", lambda: "there")
    for background in (False, True):
        space = f"background-{background}"
        with open_hippo(background=background) as hippo:
            for each in PETRA:
                hippo.remember(each, scope=Scope(space=space, user="dev"))
            assert bool(hippo.reviews(scope=Scope(space=space))) == background


def test_only_what_merges_is_held_back() -> None:
    thresholds = load_model().thresholds
    changed = {name: value - thresholds[name] for name, value in held_back(thresholds).items()}
    assert {name for name, by in changed.items() if by > 0} == set(OUTCOMES[:MERGING])


def test_the_decision_that_it_is_joined_with_has_thresholds_of_the_same_names() -> None:
    assert set(SURE) == set(load_model().thresholds)
