"""The bundled sample is well formed, and its questions have their answers in it."""

import json
import re
from collections import Counter
from datetime import datetime, timedelta
from importlib.resources import as_file, files
from itertools import pairwise
from typing import Any
from zoneinfo import ZoneInfo

import pytest

from hippocampe.ingest.formats.jsonl import read_jsonl
from hippocampe.ingest.formats.record import Problem
from hippocampe.ingest.formats.source import open_sources
from hippocampe.types import CATEGORIES, DEFAULT_IMPORTANCE, MEMORY_COLLECTIONS

MESSAGE_FIELDS = {"content", "author", "role", "channel", "at", "external_id", "reply_to"}
MEMORY_FIELDS = {
    *("content", "type", "collection", "category", "key", "subjects", "importance"),
    *("ttl", "occurred_at", "at", "user", "channel"),
}
HOURS = {"h": 1, "d": 24, "w": 168}
PEOPLE = {"lobby": {"camille", "owen"}, "whatsapp": {"camille"}, "mission_control": {"owen"}}


def lines(name: str) -> list[dict[str, Any]]:
    text = (files("hippocampe") / "sample" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


def asked() -> list[dict[str, Any]]:
    text = (files("hippocampe") / "sample" / "questions.json").read_text(encoding="utf-8")
    return json.loads(text)


def moment(text: str) -> datetime:
    at = datetime.fromisoformat(text)
    assert at.utcoffset() is not None
    return at


def current(memories: list[dict[str, Any]], now: datetime) -> list[dict[str, Any]]:
    """The memories that no later key replaced and whose time has not run out."""
    newest = {memory["key"]: memory for memory in memories if "key" in memory}
    kept: list[dict[str, Any]] = []
    for memory in memories:
        if newest.get(memory.get("key"), memory) is not memory:
            continue
        ttl = memory.get("ttl")
        life = timedelta(hours=int(ttl[:-1]) * HOURS[ttl[-1]]) if ttl else timedelta.max
        if now - moment(memory["at"]) < life:
            kept.append(memory)
    return kept


def test_messages_have_the_documented_form() -> None:
    messages = lines("messages.jsonl")
    assert len(messages) >= 320
    for message in messages:
        assert message.keys() <= MESSAGE_FIELDS
        assert message["content"] == message["content"].strip() != ""
        if message["channel"] == "lobby":
            assert "role" not in message
            assert message["author"] in PEOPLE["lobby"]
        elif message["role"] == "assistant":
            assert message["author"] == "eko"
        else:
            assert message["role"] == "user"
            assert message["author"] in PEOPLE[message["channel"]]
    assert {message["channel"] for message in messages} == set(PEOPLE)


def test_the_reader_of_talk_takes_every_message() -> None:
    with as_file(files("hippocampe") / "sample" / "messages.jsonl") as path:
        (source,) = open_sources(path, lambda name: True)
        read = list(read_jsonl(source, ZoneInfo("Europe/Paris")))
    assert [entry for entry in read if isinstance(entry, Problem)] == []
    assert len(read) == len(lines("messages.jsonl"))


def test_messages_are_named_once_and_answer_earlier_ones() -> None:
    seen: set[str] = set()
    replies = 0
    for message in lines("messages.jsonl"):
        if "reply_to" in message:
            assert message["reply_to"] in seen
            replies += 1
        assert message["external_id"] not in seen
        seen.add(message["external_id"])
    assert replies >= 2


@pytest.mark.parametrize("name", ["messages.jsonl", "memories.jsonl"])
def test_times_go_forward_over_the_eight_weeks(name: str) -> None:
    times = [moment(row["at"]) for row in lines(name)]
    assert all(earlier <= later for earlier, later in pairwise(times))
    assert times[0].date().isoformat() == "2026-01-05"
    assert times[-1].date().isoformat() == "2026-02-28"


@pytest.mark.parametrize("channel", sorted(PEOPLE))
def test_nobody_speaks_twice_at_the_same_instant(channel: str) -> None:
    times = [row["at"] for row in lines("messages.jsonl") if row["channel"] == channel]
    assert len(times) == len(set(times))


def test_memories_use_the_vocabulary() -> None:
    memories = lines("memories.jsonl")
    for memory in memories:
        assert memory.keys() <= MEMORY_FIELDS
        allowed = CATEGORIES[memory["collection"]]
        assert memory["type"] in DEFAULT_IMPORTANCE
        assert memory["category"] in allowed if allowed else "category" not in memory
        assert memory["user"] in PEOPLE[memory["channel"]]
        assert memory["subjects"]
        assert len(memory["subjects"]) == len(set(memory["subjects"]))
        assert all(subject == subject.lower().strip() for subject in memory["subjects"])
        assert 0 <= memory.get("importance", 0.5) <= 1
        assert re.fullmatch(r"\d+[hdw]", memory.get("ttl", "1h"))
        moment(memory.get("occurred_at", memory["at"]))
    assert {memory["type"] for memory in memories} == set(DEFAULT_IMPORTANCE)


def test_memories_are_many_and_of_every_kind() -> None:
    memories = lines("memories.jsonl")
    drawers = Counter(memory["collection"] for memory in memories)
    assert len(memories) >= 90
    assert drawers["self"] >= 8
    assert drawers["goal"] >= 5
    for collection in ("self", "goal"):
        found = {row["category"] for row in memories if row["collection"] == collection}
        assert found == CATEGORIES[collection]
    keys = Counter(memory["key"] for memory in memories if "key" in memory)
    assert sum(count > 1 for count in keys.values()) >= 5
    assert sum("ttl" in memory for memory in memories) >= 10


def test_questions_are_a_dozen_in_both_languages() -> None:
    questions = asked()
    assert len(questions) >= 12
    assert Counter(row["language"] for row in questions).keys() == {"fr", "en"}
    for row in questions:
        assert row["about"]
        assert set(row["collections"]) <= {*MEMORY_COLLECTIONS, "turn"}


@pytest.mark.parametrize("row", asked(), ids=lambda row: row["question"])
def test_a_question_has_its_answers_in_the_sample(row: dict[str, Any]) -> None:
    now = moment(row["asked_at"])
    alive = [
        m for m in current(lines("memories.jsonl"), now) if m["collection"] in row["collections"]
    ]
    said = lines("messages.jsonl") if "turn" in row["collections"] else []
    past = [entry["content"] for entry in [*alive, *said] if moment(entry["at"]) <= now]
    assert row["expect"]
    for answer in row["expect"]:
        assert any(answer in content for content in past), answer
