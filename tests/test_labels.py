"""Spaces, users and channels: one name, however it is typed; another name, another space."""

import json
from itertools import count
from pathlib import Path
from unicodedata import normalize

import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from conftest import Connect, Opener
from hippocampe import Config, Hippocampe, InvalidInput, Scope
from hippocampe.ingest.formats.record import parse_label
from hippocampe.integrations import turns

LABELS = st.text(st.sampled_from("aeAé\u0301 \u00a0\u2003\tö"), min_size=1, max_size=5)
NFC, NFD = normalize("NFC", "café"), normalize("NFD", "café")
FACT = "Owen a un voilier"


@pytest.mark.parametrize("typed", ["home ", " home", "\thome\n", "home\u2003", "\u00a0home"])
def test_white_space_around_a_label_is_no_part_of_it(typed: str) -> None:
    assert Scope(typed, typed, typed) == Scope("home", "home", "home")
    assert Config("data", notes_space=typed).notes_space == "home"


def test_composed_and_decomposed_accents_are_one_label() -> None:
    assert NFC != NFD
    assert Scope(NFD, NFD, NFD) == Scope(NFC, NFC, NFC)


@pytest.mark.parametrize(
    "typed",
    [
        "",
        " ",
        "\t\n",
        "\u2003",
        "a\x00b",
        "a\x07b",
        "a\nb",
        "a\u200bb",
        "a\u202eb",
        "ow\u200den",
        "👪\u200d",
        "\ud800",
        "a" * 201,
    ],
)
@pytest.mark.parametrize("name", ["space", "user", "channel"])
def test_a_label_that_cannot_be_is_refused(name: str, typed: str) -> None:
    with pytest.raises(InvalidInput, match=f"^{name} "):
        Scope(**{name: typed})


@pytest.mark.parametrize("emoji", ["👨\u200d👩\u200d👧", "🏳\ufe0f\u200d🌈", "👩🏽\u200d🚀 Nina"])
def test_a_label_may_have_joined_emoji(emoji: str) -> None:
    assert Scope(emoji, emoji, emoji) == Scope(f" {emoji} ", emoji, emoji)
    assert Scope(emoji).space == emoji
    assert turns.label(emoji) == parse_label(emoji, "author") == emoji
    assert turns.label(f"a\u200d{emoji}\u202e") == f"a{emoji}"


def test_the_length_counts_once_it_is_composed() -> None:
    assert Scope("e\u0301" * 200).space == "é" * 200
    # Each of these becomes two letters.
    with pytest.raises(InvalidInput):
        Scope("\u0958" * 101)


@given(LABELS)
def test_the_normal_form_is_stable(typed: str) -> None:
    try:
        scope = Scope(typed, typed, typed)
    except InvalidInput:
        return
    assert Scope(scope.space, scope.user, scope.channel) == scope
    assert scope.space == scope.user == scope.channel == normalize("NFC", typed).strip()


def test_nothing_crosses_but_what_is_the_same_name(hashed: None, open_hippo: Opener) -> None:
    hippo = open_hippo(embedder="hashed:64")
    number = count(1)

    @settings(max_examples=50, database=None, suppress_health_check=list(HealthCheck))
    @given(LABELS, LABELS)
    @example("a", "a ")
    @example("é", "e\u0301")
    @example("a", "A")
    def check(one: str, other: str) -> None:
        try:
            mine, theirs = Scope(one), Scope(other)
        except InvalidInput:
            return
        same = normalize("NFC", one).strip() == normalize("NFC", other).strip()
        said = f"{FACT} numéro {next(number)}"
        hippo.set_fact(said, said, scope=mine)
        hippo.observe(said, scope=Scope(mine.space, channel="lobby"))
        found = hippo.recall(said, scope=theirs, collections=("memory", "live"), limit=50)
        assert ([each.content for each in found].count(said) == 2) == same
        assert (said in {each.content for each in found}) == same
        assert (said in hippo.facts(scope=theirs)) == same

    check()


def test_users_and_channels_are_found_however_they_are_typed(
    hashed: None, open_hippo: Opener, tmp_path: Path
) -> None:
    hippo = open_hippo(embedder="hashed:64")
    hippo.update_settings(scope=Scope(), live_rooms=[f" {NFD}"])
    typed = Scope(user=f"{NFD} ", channel=NFD)
    hippo.remember(FACT, scope=typed)
    hippo.after_turn("Où est le voilier ?", "Au port.", scope=typed)
    assert hippo.observe("Le voilier part demain", scope=typed) is not None
    talk = tmp_path / "talk.jsonl"
    rows = [
        {
            "author": NFD,
            "content": "Le voilier est vendu",
            "channel": f"{NFD} ",
            "space": " default",
        }
    ]
    talk.write_text("\n".join(map(json.dumps, rows)))
    assert hippo.import_from(talk, scope=Scope()).added == 1
    assert hippo.import_from(talk, scope=Scope()).added == 0
    for label in (NFC, NFD, f" {NFC} "):
        assert len(hippo.memories(scope=Scope(), user=label, channel=label).items) == 1
        assert len(hippo.recall(FACT, scope=Scope(), user=label, channel=label)) == 1
        assert len(hippo.search_text("voilier", scope=Scope(), user=label)) == 3
        assert len(hippo.messages(scope=Scope(channel=label))) >= 3
    assert hippo.users(scope=Scope()).keys() == {NFC}
    assert hippo.erase(scope=Scope(), user=NFD).counts
    assert hippo.memories(scope=Scope()).items == ()


def test_an_archive_of_an_earlier_version_gets_normal_labels(
    hashed: None, open_hippo: Opener, tmp_path: Path
) -> None:
    hippo = open_hippo(embedder="hashed:64")
    hippo.remember(FACT, scope=Scope(user="zoe", channel="salon"))
    hippo.after_turn("Où est le voilier ?", "Au port.", scope=Scope(user="zoe", channel="salon"))
    hippo.export_to(tmp_path / "new.jsonl", scope=Scope())
    older = (tmp_path / "new.jsonl").read_text(encoding="utf-8")
    older = older.replace('"zoe"', '"zoe\u0301 "').replace('"salon"', '"salon "')
    (tmp_path / "old.jsonl").write_text(older, encoding="utf-8")
    there = open_hippo(tmp_path / "there", embedder="hashed:64")
    there.import_from(tmp_path / "old.jsonl", scope=Scope())
    assert there.users(scope=Scope()).keys() == {"zoé"}
    [found] = there.memories(scope=Scope(), user="zoé", channel="salon").items
    assert found.content == FACT
    assert len(there.messages(scope=Scope(channel="salon"))) == 2


def test_a_key_opens_its_space_however_it_is_typed(connect: Connect, memory: Hippocampe) -> None:
    client = connect("write", NFD)
    for space in (NFC, NFD, f" {NFC}"):
        assert client.get("/api/memories", params={"space": space}).status_code == 200
    assert client.get("/api/memories", params={"space": "cafe"}).status_code == 403
    made = memory.keys()
    assert made[0].space == NFC
