"""Former memories: what an update does not repeat still answers, marked and below what is current."""

from pathlib import Path

import pytest

from conftest import FakeClock, Opener
from hippocampe import Hippocampe, Scope

PAUL = Scope(user="paul")
OLD = "J'habite à Nantes avec ma sœur Julie"
NEW = "J'habite à Lyon maintenant"
WITH_WHOM = "avec ma sœur Julie j'habite où ?"


@pytest.fixture
def moved(hippo: Hippocampe, clock: FakeClock) -> Hippocampe:
    hippo.remember("Le chat de la voisine dort sur le toit", scope=PAUL)
    hippo.remember(OLD, scope=PAUL)
    clock.advance(days=3)
    assert hippo.remember(NEW, scope=PAUL).action == "updated"
    clock.advance(days=1)
    return hippo


def recalled(hippo: Hippocampe, query: str) -> list[str]:
    return [each.content for each in hippo.recall(query, scope=PAUL, limit=3)]


def test_it_answers_below_its_successor(moved: Hippocampe) -> None:
    newer, older = moved.recall(WITH_WHOM, scope=PAUL)[:2]
    assert (newer.content, older.content) == (NEW, OLD)
    assert newer.score >= older.score
    assert older.memory is not None
    assert older.memory.former
    assert older.memory.superseded_by == newer.id
    assert [each.content for each in moved.recall(WITH_WHOM, scope=PAUL, limit=1)] == [NEW]
    assert {each.content for each in moved.recent(scope=PAUL)}.isdisjoint({OLD})


@pytest.mark.parametrize(
    ("language", "mark"),
    [("fr", "replaced"), ("fr", "remplacé hier"), ("en", "replaced yesterday")],
)
def test_an_injection_dates_it(moved: Hippocampe, language: str, mark: str) -> None:
    moved.update_settings(scope=PAUL, language=language, hook_timeout_ms=10_000)
    text = moved.before_turn("Où habite ma sœur Julie ?", scope=PAUL).text
    lines = [line for line in text.splitlines() if "Julie" in line]
    assert len(lines) == 1
    assert (mark in lines[0]) == (mark != "replaced")
    assert text.index("Lyon") < text.index("Julie")


def test_what_is_all_repeated_or_replaced_leaves_recall(hippo: Hippocampe) -> None:
    hippo.remember("J'habite à Nantes", scope=PAUL)
    assert hippo.remember(NEW, scope=PAUL).action == "updated"
    assert recalled(hippo, "Nantes") == [NEW]


def test_a_value_of_the_same_key(hippo: Hippocampe) -> None:
    hippo.set_fact("dentiste", "rendez-vous chez le docteur Vasseur le 22", scope=PAUL)
    hippo.set_fact("dentiste", "le rendez-vous est déplacé au 29", scope=PAUL)
    first, second = recalled(hippo, "qui est le docteur Vasseur ?")
    assert "29" in first
    assert "Vasseur" in second


def test_what_is_named_by_id_is_replaced_whole(hippo: Hippocampe) -> None:
    old = hippo.remember(OLD, scope=PAUL).memory
    hippo.remember(NEW, scope=PAUL, replaces=[old.id])
    assert recalled(hippo, WITH_WHOM) == [NEW]


@pytest.mark.parametrize(("keep", "former"), [("newer", True), ("older", False)])
def test_a_person_settles_a_listed_pair(
    hippo: Hippocampe, clock: FakeClock, keep: str, former: bool
) -> None:
    older = hippo.remember("La réunion du comité est à 10h avec Marc", scope=PAUL).memory
    clock.advance(days=1)
    newer = hippo.remember("Je crois que la réunion du comité est à 11h", scope=PAUL).memory
    assert len(hippo.reviews(scope=PAUL)) == 1
    kept, lost = (newer, older) if keep == "newer" else (older, newer)
    hippo.settle(newer.id, older.id, scope=PAUL, keep=kept.id)
    assert hippo.get(lost.id, scope=PAUL).former == former


def test_it_is_hidden_with_its_successor(moved: Hippocampe) -> None:
    (found,) = [each for each in moved.recent(scope=PAUL) if each.content == NEW]
    moved.delete(found.id, scope=PAUL, reason="faux")
    assert OLD not in recalled(moved, WITH_WHOM)
    moved.restore(found.id, scope=PAUL)
    assert OLD in recalled(moved, WITH_WHOM)


def test_forgetting_its_words_forgets_it(moved: Hippocampe) -> None:
    receipt = moved.forget("Julie", scope=PAUL)
    assert [each.content for each in receipt.items] == [OLD]
    assert OLD not in recalled(moved, WITH_WHOM)
    assert NEW in recalled(moved, WITH_WHOM)


def test_restored_it_is_no_longer_former(moved: Hippocampe) -> None:
    (old,) = [each for each in moved.recall(WITH_WHOM, scope=PAUL) if each.content == OLD]
    restored = moved.restore(old.id, scope=PAUL)
    assert restored.superseded_by is None
    assert not moved.get(old.id, scope=PAUL).former


def test_it_survives_opening_rebuilding_and_an_archive(
    moved: Hippocampe, open_hippo: Opener, tmp_path: Path
) -> None:
    moved.reindex()
    assert OLD in recalled(moved, WITH_WHOM)
    moved.export_to(tmp_path / "paul.jsonl", scope=PAUL)
    moved.close()
    assert OLD in recalled(open_hippo(), WITH_WHOM)
    other = open_hippo(tmp_path / "other")
    other.import_from(tmp_path / "paul.jsonl", scope=PAUL)
    assert recalled(other, WITH_WHOM)[:2] == [NEW, OLD]
