"""What cannot be used is refused with what, why and what to do, and changes nothing."""

import inspect
from collections.abc import Callable
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from hippocampe import Config, Hippocampe, Scope
from hippocampe.errors import InvalidInput, NotFound
from verb_arguments import MISSING, needed_by, right_call, takes_scope

SURROGATE = "a\ud800b"
HERE = Scope(user="dev", channel="lobby")

Act = Callable[[Hippocampe], Any]


API_KEY = "sk-" + "aB3dE5gH7jK9mN1pQ2rS4tU6"  # joined at run time, so that no scanner stops here


def remember(content: Any = "Owen a un voilier", **more: Any) -> Act:
    return lambda hippo: hippo.remember(content, scope=HERE, **more)


def recall(query: Any = "Owen", **more: Any) -> Act:
    return lambda hippo: hippo.recall(query, scope=HERE, **more)


def first(verb: str, **more: Any) -> Act:
    return lambda hippo: getattr(hippo, verb)(hippo.recent(scope=HERE)[0].id, scope=HERE, **more)


CALL: dict[str, Any] = {"model": "m", "purpose": "chat", "input_tokens": 1, "output_tokens": 1}
REFUSED: dict[str, tuple[Act, str]] = {
    "no content": (remember(""), "content is empty"),
    "blank content": (remember(" \n\t "), "content is empty"),
    "only controls": (remember("\x00\x07"), "content is empty"),
    "huge content": (remember("a" * 1_000_000), "Split it"),
    "surrogate": (remember(SURROGATE), "lone surrogate"),
    "bytes of another encoding": (
        remember(b"caf\xe9".decode(errors="surrogateescape")),
        "content is not UTF-8: byte 0xE9 at position 3",
    ),
    "content is bytes": (remember(b"Owen"), "must be text"),
    "content is none": (remember(None), "must be text"),
    "type": (remember(type="rumour"), "choose from identity"),
    "collection": (remember(collection="attic"), "choose from memory"),
    "a collection of talk": (remember(collection="turn"), "choose from memory"),
    "category of memory": (remember(category="context"), "leave it out"),
    "category of another": (remember(collection="self", category="connection"), "choose from"),
    "no category": (remember(collection="goal"), "needs a category"),
    "ttl": (remember(ttl="soon"), "7d"),
    "ttl of zero": (remember(ttl="0d"), "not a positive"),
    "past expiry": (remember(ttl=timedelta(days=-1)), "not a positive"),
    "ttl too long": (remember(ttl="9999999999d"), "century|time to live"),
    "naive time": (remember(occurred_at=datetime(2026, 1, 1)), "timezone"),
    "no time": (remember(occurred_at="last week"), "ISO 8601"),
    "importance": (remember(importance=1.5), "from 0 to 1"),
    "importance nan": (remember(importance=float("nan")), "from 0 to 1"),
    "importance text": (remember(importance="high"), "from 0 to 1"),
    "subjects is text": (remember(subjects="owen"), "list"),
    "empty subject": (remember(subjects=[""]), "subject is empty"),
    "long subject": (remember(subjects=["a" * 201]), "subject is 201"),
    "surrogate subject": (remember(subjects=[SURROGATE]), "lone surrogate"),
    "subject is a number": (remember(subjects=[3]), "list"),
    "empty key": (remember(key="  "), "key is empty"),
    "long key": (remember(key="k" * 201), "key is 201"),
    "dot key": (remember(key="."), "no address can end with"),
    "secret in a key": (remember(key="PASSWORD=Sup3rS3cret"), "key contains a secret"),
    "secret in the key of a fact": (
        lambda h: h.set_fact("my pin is 4821", "x", scope=HERE),
        "key contains a secret",
    ),
    "key of a service as a user": (
        lambda h: h.remember("Owen a un voilier", scope=Scope(user=API_KEY)),
        "user contains a secret",
    ),
    "key of a service as a channel": (
        lambda h: h.after_turn("a", "b", scope=Scope(channel=API_KEY)),
        "channel contains a secret",
    ),
    "key of a service as an id": (
        lambda h: h.observe("a", scope=HERE, external_id=API_KEY),
        "external_id contains a secret",
    ),
    "surrogate key": (remember(key=SURROGATE), "lone surrogate"),
    "surrogate source": (remember(source=SURROGATE), "lone surrogate"),
    "replaces is text": (remember(replaces=MISSING), "list"),
    "evidence is text": (remember(evidence=MISSING), "list"),
    "edit to nothing": (first("edit", content=" "), "content is empty"),
    "edit type": (first("edit", type="rumour"), "choose from identity"),
    "edit importance": (first("edit", importance=-1), "from 0 to 1"),
    "edit category": (first("edit", category="context"), "leave it out"),
    "edit ttl": (first("edit", ttl="soon"), "7d"),
    "edit naive": (first("edit", occurred_at=datetime(2026, 1, 1)), "timezone"),
    "delete without reason": (first("delete", reason=""), "reason is empty"),
    "empty message": (lambda h: h.after_turn("", "ok", scope=HERE), "message is empty"),
    "empty reply": (lambda h: h.after_turn("ok", "", scope=HERE), "message is empty"),
    "huge message": (lambda h: h.after_turn("a" * 1_000_001, None, scope=HERE), "Split it"),
    "naive talk": (
        lambda h: h.after_turn("a", "b", scope=HERE, at=datetime(2026, 1, 1)),
        "timezone",
    ),
    "empty live": (lambda h: h.observe("", scope=HERE), "message is empty"),
    "empty query": (recall(" "), "query is empty"),
    "surrogate query": (recall(SURROGATE), "lone surrogate"),
    "query is none": (recall(None), "must be text"),
    "limit 0": (recall(limit=0), "1 to 1000"),
    "limit too high": (recall(limit=1_001), "1 to 1000"),
    "limit text": (recall(limit="ten"), "whole number"),
    "limit fraction": (recall(limit=1.5), "whole number"),
    "recent limit": (lambda h: h.recent(0, scope=HERE), "1 to 1000"),
    "messages limit": (lambda h: h.messages(scope=HERE, limit=-1), "1 to 1000"),
    "text limit": (lambda h: h.search_text("a", scope=HERE, limit=-1), "1 to 1000"),
    "mode": (recall(mode="magic"), "choose from hybrid"),
    "name of nobody": (lambda hippo: hippo.about(" ", scope=HERE), "nobody is named"),
    "category of a search": (recall(category="magic"), "unknown category .magic.: choose from"),
    "score": (recall(min_score=2), "from 0 to 1"),
    "recall collection": (recall(collections=["attic"]), "choose from memory"),
    "collections is text": (recall(collections="memory"), "list"),
    "recall type": (recall(types=["rumour"]), "choose from identity"),
    "types is text": (recall(types="fact"), "list"),
    "recall subjects is text": (recall(subjects="owen"), "list"),
    "recall surrogate subject": (
        recall(subjects=[SURROGATE]),
        "subjects contains a lone surrogate",
    ),
    "recall surrogate category": (recall(category=SURROGATE), "category contains a lone surrogate"),
    "naive since": (recall(since=datetime(2026, 1, 1)), "timezone"),
    "window": (
        recall(since="2026-01-02T00:00:00+00:00", until="2026-01-01T00:00:00+00:00"),
        "since must be before until",
    ),
    "key role": (lambda h: h.create_key(scope=HERE, role="owner"), "choose from read"),
    "key label": (lambda h: h.create_key(scope=HERE, role="read", label=" "), "label is empty"),
    "empty topic": (lambda h: h.forget(" ", scope=HERE), "topic is empty"),
    "empty search": (lambda h: h.search_text("", scope=HERE), "query is empty"),
    "surrogate id": (lambda h: h.get(SURROGATE, scope=HERE), "lone surrogate"),
    "surrogate absent": (
        lambda h: h.verify(absent=[SURROGATE]),
        "absent contains a lone surrogate",
    ),
    "export to no path": (lambda h: h.export_to("a\x00b", scope=HERE), "path of a file"),
    "export to a surrogate": (lambda h: h.export_to(SURROGATE, scope=HERE), "path of a file"),
    "import from no path": (lambda h: h.import_from("a\x00b", scope=HERE), "path of a file"),
    "unknown job": (lambda h: h.jobs(scope=HERE, job="dream"), "choose from extract"),
    "unknown state": (lambda h: h.jobs(scope=HERE, states=["lost"]), "choose from waiting"),
    "states is text": (lambda h: h.jobs(scope=HERE, states="parked"), "list"),
    "jobs limit": (lambda h: h.jobs(scope=HERE, limit=0), "1 to 1000"),
    "usage tokens": (
        lambda h: h.record_usage(scope=HERE, **(CALL | {"input_tokens": -1})),
        "from 0",
    ),
    "usage tokens flag": (
        lambda h: h.record_usage(scope=HERE, **(CALL | {"output_tokens": True})),
        "from 0",
    ),
    "usage tokens fraction": (
        lambda h: h.record_usage(scope=HERE, **(CALL | {"injected_tokens": 1.5})),
        "from 0",
    ),
    "usage price": (
        lambda h: h.record_usage(scope=HERE, price=float("nan"), **CALL),
        "from 0",
    ),
    "usage model": (
        lambda h: h.record_usage(scope=HERE, **(CALL | {"model": " "})),
        "model is empty",
    ),
    "names": (lambda h: h.names(5, scope=HERE), "must be text"),
    "audit limit": (lambda h: h.audit(scope=HERE, limit=0), "1 to 1000"),
    "audit since": (lambda h: h.audit(scope=HERE, since=datetime(2026, 1, 1)), "timezone"),
    "usage limit": (lambda h: h.usage(scope=HERE, limit=0), "1 to 1000"),
    "preview of a naive time": (
        lambda h: h.preview("Owen", scope=HERE, at=datetime(2026, 1, 1)),
        "timezone",
    ),
    "preview at no time": (lambda h: h.preview("Owen", scope=HERE, at="then"), "ISO 8601"),
    "no days of activity": (lambda h: h.activity(scope=HERE, days=0), "1 to 366"),
    "too many days of costs": (lambda h: h.costs(scope=HERE, days=367), "1 to 366"),
    "graph limit": (lambda h: h.graph(scope=HERE, limit=20_001), "1 to 20000"),
    "ids is text": (lambda h: h.messages(scope=HERE, ids=MISSING), "list"),
    "live is text": (lambda h: h.messages(scope=HERE, live="yes"), "True or False"),
    "cursor of no retrieval": (lambda h: h.retrievals(scope=HERE, cursor=MISSING), "last one"),
    "usage since": (lambda h: h.usage(scope=HERE, since=datetime(2026, 1, 1)), "timezone"),
    "statement without a visible character": (
        lambda h: h.remember("\u200b\u2060", scope=HERE),
        "visible",
    ),
    "message without a visible character": (
        lambda h: h.after_turn(" \ufeff ", "Oui.", scope=HERE),
        "visible",
    ),
    "key without a visible character": (lambda h: h.set_fact("\u00ad", "x", scope=HERE), "visible"),
    "key that is too long": (lambda h: h.set_fact("k" * 201, "x", scope=HERE), "shorten it"),
    "backup to a blank path": (lambda h: h.backup("  "), "path of a file"),
    "absent is text": (lambda h: h.verify(absent="Owen"), "list"),
    "absent is empty": (lambda h: h.verify(absent=[""]), "empty"),
}


@pytest.fixture(scope="module")
def shared(shared_memory: Hippocampe) -> Hippocampe:
    shared_memory.remember("Camille élève des abeilles", scope=HERE)
    shared_memory.after_turn("Des abeilles ?", "Oui.", scope=HERE)
    return shared_memory


def held(hippo: Hippocampe) -> object:
    return hippo.stats(scope=HERE), hippo.recent(scope=HERE), hippo.messages(scope=HERE)


@pytest.mark.parametrize(("act", "message"), REFUSED.values(), ids=REFUSED.keys())
def test_what_cannot_be_used_is_refused(shared: Hippocampe, act: Act, message: str) -> None:
    before = held(shared)
    with pytest.raises(InvalidInput, match=message) as caught:
        act(shared)
    assert len(str(caught.value)) > 15
    assert held(shared) == before


@pytest.mark.parametrize(
    "act",
    [
        lambda h: h.get(MISSING, scope=HERE),
        lambda h: h.get("not an id", scope=HERE),
        lambda h: h.get("", scope=HERE),
        lambda h: h.history(MISSING, scope=HERE),
        lambda h: h.edit(MISSING, scope=HERE, importance=1),
        lambda h: h.delete(MISSING, scope=HERE, reason="faux"),
        lambda h: h.restore(MISSING, scope=HERE),
        lambda h: h.neighbours(MISSING, scope=HERE),
        lambda h: h.associate(MISSING, "other", "part_of", scope=HERE),
        lambda h: h.settle(MISSING, "other", scope=HERE),
        lambda h: h.delete_fact("nothing", scope=HERE),
        lambda h: h.erase(scope=HERE, id=MISSING),
        lambda h: h.retry_job(MISSING, scope=HERE),
        lambda h: h.revoke_key(MISSING),
        lambda h: h.retrieval(MISSING, scope=HERE),
        lambda h: h.replay(MISSING, scope=HERE),
    ],
)
def test_what_is_not_there_is_said(shared: Hippocampe, act: Act) -> None:
    before = held(shared)
    with pytest.raises(NotFound):
        act(shared)
    assert held(shared) == before


KEPT = {
    "right to left": "\u202eمرحبا يا كاميل",
    "emoji": "👩‍👩‍👧 🐝",
    "only a symbol": "→",
    "combining": "e\u0301" * 50,
    "a hundred thousand": "abeille " * 12_000 + "fin",
    "one long word": "a" * 90_000,
    "lines": "une ligne\nune autre\tet une colonne",
    "quotes": "'; DROP TABLE memory; --",
}


@pytest.mark.parametrize("content", KEPT.values(), ids=KEPT.keys())
def test_any_text_is_kept_as_it_is(hippo: Hippocampe, content: str) -> None:
    done = hippo.remember(content, scope=HERE)
    assert hippo.get(done.memory.id, scope=HERE).content == content.strip()
    assert hippo.recall(content[:3_000], scope=HERE)[0].id == done.memory.id
    assert hippo.remember(content, scope=HERE).action == "reinforced"
    turn = hippo.after_turn(content, content, scope=HERE)
    assert turn in {i.id for i in hippo.recall(content[:3_000], scope=HERE, collections=["turn"])}
    assert hippo.search_text(content[:100], scope=HERE) is not None
    assert hippo.verify().ok


@pytest.mark.parametrize(
    "labels",
    [
        {"space": ""},
        {"space": " "},
        {"space": "a" * 201},
        {"space": None},
        {"user": ""},
        {"user": 3},
        {"channel": "a\nb"},
        {"channel": SURROGATE},
    ],
)
def test_a_scope_has_names_that_can_be_read(labels: dict[str, Any]) -> None:
    with pytest.raises(InvalidInput):
        Scope(**labels)


WRONG = (None, 5, 1.5, b"a", ["a"], {"a": 1}, object())
"""Values of which each argument below refuses all that are not among its own."""
VERBS = {
    name: right_call(name)
    for name, _ in inspect.getmembers(Hippocampe, inspect.isroutine)
    if not name.startswith("_")
}
"""Every verb, with arguments of the right types."""
TAKES_ANYTHING = {"before_turn", "preview"}
"""Verbs that serve a host whatever it hands over."""


@pytest.mark.parametrize("verb", sorted(filter(takes_scope, VERBS)))
@pytest.mark.parametrize("scope", [None, "alex", 5, {"space": "default"}, Scope], ids=repr)
def test_a_scope_is_a_scope(shared: Hippocampe, verb: str, scope: Any) -> None:
    with pytest.raises(InvalidInput, match="scope must be a Scope"):
        getattr(shared, verb)(**VERBS[verb], scope=scope)


@pytest.mark.parametrize("verb", sorted(v for v in VERBS.keys() - TAKES_ANYTHING if needed_by(v)))
def test_arguments_have_their_types(
    shared: Hippocampe, verb: str, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    scope = {"scope": HERE} if takes_scope(verb) else {}
    for name, right in needed_by(verb).items():
        for wrong in WRONG:
            if isinstance(wrong, type(right)) or (verb, name, wrong) == (
                "after_turn",
                "reply",
                None,
            ):
                continue
            with pytest.raises(InvalidInput):
                getattr(shared, verb)(**{**VERBS[verb], name: wrong}, **scope)


WRONG_ARGUMENTS: dict[str, tuple[str, tuple[Any, ...]]] = {
    "type": ("remember", (5, ["fact"])),
    "collection": ("remember", (5, ["memory"])),
    "category": ("remember", (5, ["context"])),
    "key": ("remember", (5, ["a"])),
    "subjects": ("remember", (None, "ski", 5, [None], {"ski": 1})),
    "importance": ("remember", ("0.5", True, [1])),
    "ttl": ("remember", (5, ["1d"])),
    "occurred_at": ("remember", (1768000000, ["2026"])),
    "source": ("remember", (None, 5)),
    "replaces": ("remember", (None, 5, "a", [5])),
    "evidence": ("remember", (None, 5, "a", [5])),
    "limit": ("recall", (None, "3", True, 3.0)),
    "collections": ("recall", (None, "memory", 5, [5], [["memory"]])),
    "types": ("recall", ("fact", 5, [5], [["fact"]])),
    "since": ("recall", (1768000000, ["2026"])),
    "until": ("messages", (1768000000, ["2026"])),
    "min_score": ("recall", ("0.5", [1], True)),
    "mode": ("recall", (None, 5, ["hybrid"])),
    "at": ("observe", (1768000000, ["2026"])),
    "external_id": ("observe", (5, ["a"])),
    "assistant": ("after_turn", (None, 5, ["a"])),
    "fresh": ("before_turn", ("no", 1, None)),
    "channel_only": ("recent", ("no", 1, None)),
    "explain": ("recall", ("no", 1, None)),
    "refresh": ("notes", ("no", 1, None)),
    "overwrite": ("backup", ("no", 1, None)),
    "one_space": ("import_from", ("no", 1, None)),
    "tool_results": ("after_turn", (None, 5, "a", [5])),
    "role": ("create_key", (None, 5, ["read"])),
    "label": ("create_key", (5, ["phone"])),
    "reason": ("delete", (None, 5)),
    "depth": ("neighbours", (None, "2", 1.5, True)),
    "keep": ("settle", (5, ["a"])),
    "days": ("activity", (None, "3", True, 1.5)),
    "ids": ("messages", (5, "a", [5])),
    "live": ("messages", (None, "no", 1)),
    "cursor": ("retrievals", (5, ["a"])),
    "dry_run": ("forget", ("no", 0, None)),
    "whole_space": ("erase", ("no", 1, None)),
    "user": ("erase", (5, ["a"])),
    "absent": ("verify", (None, 5, "a", [5])),
    "embedder": ("reindex", (5, ["local"])),
    "format": ("import_from", (5, ["jsonl"])),
    "timezone": ("import_from", (None, 5)),
}


@pytest.mark.parametrize("name", WRONG_ARGUMENTS)
def test_named_arguments_have_their_types(shared: Hippocampe, name: str, tmp_path: Any) -> None:
    before = held(shared)
    verb, wrongs = WRONG_ARGUMENTS[name]
    right = dict(VERBS[verb])
    if verb == "import_from":
        (tmp_path / "talk.jsonl").write_text('{"content": "Bonjour", "author": "dev"}\n')
        right["path"] = tmp_path / "talk.jsonl"
    if takes_scope(verb):
        right["scope"] = HERE
    for wrong in wrongs:
        with pytest.raises(InvalidInput):
            getattr(shared, verb)(**{**right, name: wrong})
    assert held(shared) == before


def test_a_missing_argument_is_named_without_internals(shared: Hippocampe) -> None:
    with pytest.raises(TypeError, match="'scope'") as raised:
        shared.remember("Zoé joue du cor")  # pyright: ignore[reportCallIssue]
    assert "make_draft" not in str(raised.value)


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"share": "no"}, "share must be True or False, not str"),
        ({"background": 0}, "background must be True or False, not int"),
        ({"flush_seconds": "30"}, "flush_seconds must be a number, not str"),
        ({"graph_threshold": 1.5}, "graph_threshold must be a whole number, not float"),
        ({"request_burst": True}, "request_burst must be a whole number, not bool"),
        ({"graph_threshold": -1}, "graph_threshold must be 0 or more, not -1"),
        ({"embedder_timeout": float("nan")}, "embedder_timeout must be 0 or more, not nan"),
    ],
)
def test_a_configuration_has_numbers_and_flags(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidInput, match=message):
        Config(Path("unused"), **wrong)


@pytest.mark.parametrize("read_only", [False, True])
def test_a_clock_of_naive_times_is_refused_at_opening(tmp_path: Path, read_only: bool) -> None:
    folder = tmp_path / "data"
    with pytest.raises(InvalidInput, match="clock returns a time without a timezone"):
        Hippocampe.open(folder, clock=datetime.now, read_only=read_only)
    assert not folder.exists()
