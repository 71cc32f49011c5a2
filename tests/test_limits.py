"""Every list and every text of every verb has a limit: what is beyond is refused and changes nothing."""

import inspect
from collections.abc import Iterator
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from hippocampe import Hippocampe, Scope, validation
from hippocampe.errors import InvalidInput, shown
from hippocampe.injection.burst import join
from hippocampe.injection.channel_history import Channel
from hippocampe.types import MAX_MESSAGE_CHARACTERS, Settings
from hippocampe.verbs import VERBS
from verb_arguments import right_call, takes_scope

HERE = Scope(user="dev", channel="lobby")
LONG = "a" * (MAX_MESSAGE_CHARACTERS + 1)
MANY_KEYS = dict.fromkeys(map(str, range(600_000)), 1)
NOT_FROM_CALLERS = {"scope", "clock", "progress", "where"}
"""Arguments with a type of their own, and those of `open`, which no client gives."""
SERVES_ANYTHING = {"before_turn", "preview"}
"""Verbs whose messages are read in part, whatever a host hands over."""
NAMED_AS = {
    ("set_fact", "value"): "content",
    ("after_turn", "user_message"): "message",
    ("after_turn", "reply"): "message",
    ("observe", "content"): "message",
    ("associate", "kind"): "association",
    ("remember_many", "items"): "item",
    ("update_settings", LONG): "setting",
}
"""Arguments that a message names by another word."""


def oversized(kind: str) -> Iterator[Any]:
    """Values beyond any limit, of the types that an argument takes."""
    if "str" in kind or "Literal" in kind:
        yield LONG
    if "Iterable" in kind:
        yield [{"content": "Owen a un voilier"}] * (validation.MAX_MANY + 1)
        yield [{LONG: 1}]
    elif "Sequence" in kind:
        yield ["a"] * 600_000
        yield [LONG] * 2
    if "Mapping" in kind:
        yield MANY_KEYS
        yield {LONG: 1}
        yield {"k": LONG}
    if "int" in kind or "float" in kind:
        yield 10**4_000


def cases() -> list[tuple[str, str, Any]]:
    found: list[tuple[str, str, Any]] = []
    for verb in sorted(VERBS):
        step = getattr(Hippocampe, verb)
        for name, parameter in inspect.signature(step).parameters.items():
            if name in {"self", "changes"} | NOT_FROM_CALLERS:
                continue
            if verb in SERVES_ANYTHING and name in ("message", "role"):
                continue
            kind = str(get_type_hints(step).get(name, parameter.annotation))
            found += [(verb, name, value) for value in oversized(kind)]
    for name, kind in get_type_hints(Settings).items():
        found += [("update_settings", name, value) for value in oversized(f"{kind} Sequence")]
    found.append(("update_settings", LONG, 1))
    return found


CASES = cases()


def test_the_walk_sees_every_argument() -> None:
    names = {(verb, name) for verb, name, _ in CASES}
    assert {
        ("remember", "subjects"),
        ("remember", "metadata"),
        ("remember_many", "items"),
        ("after_turn", "tool_results"),
        ("messages", "ids"),
        ("jobs", "states"),
        ("recall", "collections"),
        ("update_settings", "live_rooms"),
        ("import_from", "path"),
    } <= names
    assert len(names) > 150


@pytest.fixture(scope="module")
def shared(shared_memory: Hippocampe) -> Hippocampe:
    shared_memory.remember("Owen a un voilier", scope=HERE)
    return shared_memory


@pytest.mark.parametrize("verb", sorted({verb for verb, _, _ in CASES}))
def test_an_oversized_argument_is_refused(
    shared: Hippocampe, verb: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("export.jsonl").write_text('{"content": "Bonjour", "author": "dev"}\n')
    [known] = [each.id for each in shared.recent(scope=HERE)]
    before = (shared.stats(scope=HERE), shared.recent(scope=HERE), shared.settings(scope=HERE))
    right = right_call(verb)
    if "id" in right and verb != "erase":
        right["id"] = known
    if takes_scope(verb):
        right["scope"] = HERE
    for _, name, value in (case for case in CASES if case[0] == verb):
        given = {**right, name: value}
        if verb == "erase" and name != "id":
            # It takes exactly one of them.
            del given["id"]
        with pytest.raises(InvalidInput) as caught:
            getattr(shared, verb)(**given)
        assert NAMED_AS.get((verb, name), name.removesuffix("s")) in str(caught.value)
        assert len(str(caught.value)) < 1_500
    after = (shared.stats(scope=HERE), shared.recent(scope=HERE), shared.settings(scope=HERE))
    assert after == before


@pytest.mark.parametrize(
    "message",
    [
        LONG + " le voilier d'Owen",
        [LONG] * 3 + ["le voilier d'Owen"],
        ["a"] * 600_000 + ["le voilier d'Owen"],
        [{"role": "user", "content": [{"type": "text", "text": "le voilier d'Owen"}] * 100_000}],
        [{"content": "a" * 10}] * 300 + [{"content": "le voilier d'Owen"}],
    ],
    ids=["long", "long ones", "many", "parts", "mappings"],
)
def test_of_a_huge_message_the_end_is_served(hippo: Hippocampe, message: Any) -> None:
    known = hippo.remember("Owen a un voilier", scope=HERE).memory.id
    hippo.update_settings(scope=HERE, hook_timeout_ms=10_000, auto_retrieve_min_score=0.3)
    assert known in {item.id for item in hippo.before_turn(message, scope=HERE).items}


def test_a_burst_keeps_its_latest_messages() -> None:
    channel = Channel()
    turns = [join(channel, [str(number)], 100, None) for number in range(validation.MAX_BURST * 3)]
    served = [taken for turn in turns if (taken := turn.take()) is not None]
    (messages,) = served
    assert messages[-1] == str(len(turns) - 1)
    assert len(messages) == validation.MAX_BURST
    assert channel.waiting is None


def test_repetitions_do_not_grow_a_memory_for_ever(
    hashed: None, open_hippo: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    hippo = open_hippo(embedder="hashed:32")
    most = validation.MAX_SUBJECTS
    for start in range(3):
        kept = hippo.remember(
            "Owen a un voilier",
            scope=HERE,
            subjects=[f"sujet {start} {number}" for number in range(most)],
            evidence=[f"{start} {number}" for number in range(validation.MAX_EVIDENCE)],
        ).memory
    assert len(kept.subjects) == most
    assert len(kept.evidence) == validation.MAX_EVIDENCE
    assert kept.evidence[-1] == f"2 {validation.MAX_EVIDENCE - 1}"


@pytest.mark.parametrize(
    "value",
    [LONG, [LONG] * 600_000, {LONG: [LONG] * 9}, 10**4_000, 10**5_000, LONG.encode(), object()],
    ids=["text", "list", "mapping", "number", "larger number", "bytes", "object"],
)
def test_a_value_is_shown_briefly(value: Any) -> None:
    assert 3 < len(shown(value)) < 600


def test_the_reference_has_every_limit() -> None:
    text = (Path(__file__).parent.parent / "docs" / "reference.md").read_text(encoding="utf-8")
    for name, value in vars(validation).items():
        if name.startswith("MAX_"):
            assert f"{value:,}" in text, name
