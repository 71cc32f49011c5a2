"""The contract of the store, on SQLite and on PostgreSQL: every query that they spell or order differently."""

import unicodedata
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from sqlalchemy import func, select

import tier
from conftest import FakeClock
from hashed import install
from hippocampe import Config, Hippocampe, Scope
from hippocampe.errors import InvalidInput, StoreError
from hippocampe.store import (
    activity,
    associations,
    embeddings,
    job_runs,
    listing,
    memories,
    meta,
    outbox,
    replies,
    schema,
    spaces,
    statistics,
    turn_rows,
    working_history,
)
from hippocampe.store.store import Store
from hippocampe.types import Association


def store_of(hippo: Hippocampe) -> Store:
    return hippo._context.corpus.store  # pyright: ignore[reportPrivateUsage]


@pytest.fixture(scope="module", params=["sqlite", "postgresql"])
def hippo(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Hippocampe]:
    """A memory on either database, for all tests: each has a space of its own."""
    folder: Path = tmp_path_factory.mktemp("store") / "data"
    servers = tier.current().settings(folder) if request.param == "postgresql" else {}
    config = Config(folder, embedder="hashed:32", background=False, **servers)
    with pytest.MonkeyPatch.context() as patch:
        install(patch.setattr)
        with Hippocampe.open(config, clock=FakeClock()) as opened:
            yield opened
    if servers:
        tier.current().clean()


@pytest.fixture
def store(hippo: Hippocampe) -> Store:
    return store_of(hippo)


@pytest.fixture
def me(request: pytest.FixtureRequest) -> Scope:
    return Scope(space=request.node.name, user="dev", channel="lobby")


def test_full_text_ignores_accents_and_case(hippo: Hippocampe, me: Scope) -> None:
    texts = ("L'été à Pau", "Un ete pluvieux", "ÉTÉ indien_chaud", "café-crème 3.14", "Ελλάδα")
    for said in texts:
        hippo.after_turn(said, None, scope=me)

    def found(query: str) -> set[str]:
        return {each.content for each in hippo.search_text(query, scope=me)}

    assert found("ete") == found("ÉTÉ") == set(texts[:3])
    assert found('"été à"') == {texts[0]}
    assert found('"à été"') == set()
    assert found("ét* plu*") == {texts[1]}
    assert found("chaud") == found("indien_chaud") == {texts[2]}
    assert found("creme 3.14") == found("café-crème") == {texts[3]}
    assert found("ΕΛΛΆΔΑ") == {texts[4]}
    assert found("ete OR pau") == found("' & | !") == found('"') == set()
    assert found("pau") == {texts[0]}
    # As macOS writes the names of its files.
    assert found(unicodedata.normalize("NFD", "été café")) == set()
    assert found(unicodedata.normalize("NFD", '"été à" Pau')) == {texts[0]}


def test_full_text_of_exchanges(hippo: Hippocampe, me: Scope) -> None:
    hippo.after_turn("Où est le vélo ?", "Dans la cave", scope=me)
    hippo.after_turn("Et la clé ?", "Sur la porte", scope=me)
    page = hippo.exchanges(scope=me, query="velo")
    assert [each.messages[0].content for each in page] == ["Où est le vélo ?"]


def test_metadata_compares_value_and_type(hippo: Hippocampe, me: Scope) -> None:
    values: list[Any] = [1, 1.0, "1", True, None, "é\"\\'%", 11]
    for number, value in enumerate(values):
        hippo.remember(f"fait numéro {number}", scope=me, metadata={"x": value, "y": "z"})
    for number, value in enumerate(values):
        page = hippo.memories(scope=me, metadata={"x": value})
        assert [each.content for each in page.items] == [f"fait numéro {number}"]
    assert len(hippo.memories(scope=me, metadata={"y": "z"}).items) == len(values)
    assert hippo.memories(scope=me, metadata={"y": "z", "x": 2}).items == ()


def test_pages_are_ordered_alike(hippo: Hippocampe, me: Scope) -> None:
    for number in range(9):
        hippo.remember(f"fait numéro {number}", scope=me, importance=(number % 3) / 4)
    for order in ("newest", "oldest", "importance", "used"):
        whole = [each.id for each in hippo.memories(scope=me, order=order).items]
        paged: list[str] = []
        cursor = None
        while True:
            page = hippo.memories(scope=me, order=order, limit=2, cursor=cursor)
            paged += [each.id for each in page.items]
            cursor = page.next_cursor
            if cursor is None:
                break
        assert paged == whole
        assert len(set(whole)) == 9


def test_subjects_are_ordered_by_code_point(hippo: Hippocampe, me: Scope) -> None:
    names = ["zoé", "Abel", "été", "ete", "a-b", "a b"]
    hippo.remember("Une phrase", scope=me, subjects=names)
    assert sorted(hippo.subjects(scope=me)) == list(hippo.subjects(scope=me))


def test_a_word_is_found_in_text_and_key(hippo: Hippocampe, me: Scope) -> None:
    hippo.set_fact("ma_clé", "100 % sûr", scope=me)
    for word in ("MA_CL", "100 %", "sûr"):
        assert len(hippo.memories(scope=me, words=word).items) == 1
    assert hippo.memories(scope=me, words="10_ %").items == ()


def test_evidence_is_found(hippo: Hippocampe, me: Scope, store: Store) -> None:
    turn = hippo.after_turn("Je joue du tuba", "Ah", scope=me)
    [said] = [m for m in hippo.messages(scope=me) if m.turn_id == turn and m.role == "user"]
    held = hippo.remember("Dev joue du tuba", scope=me, evidence=[said.id]).memory
    hippo.remember("Autre chose", scope=me)
    with store.read() as connection:
        assert memories.resting_on(connection, me.space, [said.id, "x"]) == [held]
    assert held.id in hippo.erase(id=said.id, scope=me).ids
    with pytest.raises(LookupError):
        hippo.get(held.id, scope=me)


def test_edges_of_a_hub_are_limited_and_ordered(hippo: Hippocampe, me: Scope, store: Store) -> None:
    made = [hippo.remember(f"p{n}q{n} r{n}", scope=me).memory for n in range(40)]
    now = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
    with store.write() as connection:
        for number, each in enumerate(made[1:]):
            at = now + timedelta(seconds=number)
            edge = Association(made[0].id, each.id, "part_of", None, at)
            associations.associate(connection, me.space, edge, review=number % 2 == 0)
            associations.associate(connection, me.space, edge, review=number % 2 == 0)
    with store.read() as connection:
        near = associations.near(connection, me.space, [made[0].id], 1, most=100)
        ids = [each.id for each in made]
        # The newest, those that are sure first.
        newest = range(39, 39 - associations.PER_MEMORY, -1)
        expected = sorted(newest, key=lambda n: ((n - 1) % 2 == 0, -n))
        assert near == [ids[n] for n in expected]
        assert len(associations.to_review(connection, me.space)) == 20
        assert len(associations.inside(connection, me.space, ids)) == 39
        counted = statistics.count(connection, me.space, now)
        assert counted["reviews"] == 20
        assert me.space in spaces.to_review(connection)


def test_days_are_counted(hippo: Hippocampe, me: Scope, store: Store) -> None:
    hippo.remember("un", scope=me)
    hippo.after_turn("deux", "trois", scope=me)
    hippo.before_turn("quatre ?", scope=me)
    hippo.retrievals(scope=me)
    now = hippo.now()
    days = [(now - timedelta(days=n), now - timedelta(days=n - 1)) for n in (1, 0)]
    with store.read() as connection:
        assert activity.learnt(connection, me.space, days) == [(0, "memory", None, 1)]
        assert activity.messages(connection, me.space, days) == {0: 2}
        assert activity.spent(connection, me.space, days) == []
        for each in (activity.injected, activity.took):
            each(connection, me.space, days)


def test_live_spaces_are_found(hippo: Hippocampe, me: Scope, store: Store) -> None:
    with store.read() as connection:
        assert me.space not in spaces.with_live(connection)
    hippo.observe("Il pleut", scope=me)
    with store.read() as connection:
        found = spaces.with_live(connection)[me.space]
        assert abs(found - hippo.now()) < timedelta(minutes=1)


def test_what_was_known_at_a_time(hippo: Hippocampe, me: Scope) -> None:
    old = hippo.remember("Nadia habite à Paris", scope=me).memory
    then = hippo.now()
    new = hippo.remember("Nadia a déménagé à Pau", scope=me).memory
    [shown] = hippo.recall("Où habite Nadia ?", scope=me, limit=1)
    assert shown.id == new.id
    from hippocampe.store import past

    with past.known_at(store_of(hippo), then) as seen, seen.read() as connection:
        found = memories.get(connection, me.space, [old.id, new.id])
        assert list(found) == [old.id]
        assert found[old.id].current
    with store_of(hippo).read() as connection:
        assert len(memories.get(connection, me.space, [old.id, new.id])) == 2


@pytest.mark.parametrize(
    ("old", "new", "question"),
    [
        (
            "Paul works at Acme as a plumber since 2019",
            "Paul now works at Bolt",
            "Where does Paul work?",
        ),
        (
            "Paul travaille chez Acme comme plombier depuis 2019",
            "Paul travaille maintenant chez Bolt",
            "Où travaille Paul ?",
        ),
    ],
)
def test_what_is_former_since_was_current_then(
    hippo: Hippocampe, me: Scope, old: str, new: str, question: str
) -> None:
    first = hippo.remember(old, scope=me).memory
    then = hippo.now()
    assert hippo.remember(new, scope=me).replaced == (first.id,)
    assert hippo.get(first.id, scope=me).former
    [found] = hippo.recall(question, scope=me, as_of=then)
    assert found.id == first.id
    assert found.memory is not None
    assert found.memory.current
    assert not found.memory.former
    later = hippo.recall(question, scope=me, as_of=hippo.now())
    assert [(each.content, each.memory and each.memory.former) for each in later] == [
        (new, False),
        (old, True),
    ]


def test_words_and_vectors_are_replaced(store: Store, me: Scope) -> None:
    model, width = f"model {me.space}", 4
    words = embeddings.HALF.type([[0.5] * width, [0.25] * width])
    with store.write() as connection:
        embeddings.add_words(connection, model, ["été", "ete"], words.astype(np.float32))
        [added] = embeddings.words_after(connection, model, 0)
        assert added.texts == ["été", "ete"]
        assert added.ids == sorted(added.ids)
        assert embeddings.last_word(connection) >= added.ids[-1]
        id = str(UUID(int=7))
        for value in (1.0, 0.5):
            dense = np.array([value, 0, 0, 0], np.float32)
            item = embeddings.Embedded(dense, np.array(added.ids, np.int32), 3)
            row = embeddings.vector_row(id, model, "memory", me.space, item)
            embeddings.put_vectors(connection, [row])
        stored = embeddings.vectors(connection, model, [id])[id]
        assert stored.dense.tolist() == [0.5, 0, 0, 0]
        assert stored.words.tolist() == added.ids
        embeddings.replace_traits(connection, model, {id: 9})
        assert embeddings.vectors(connection, model, [id])[id].traits == 9
        assert embeddings.check_vectors(connection, model).damaged == {}
        assert list(embeddings.word_lists(connection, model, me.space)) == [
            [np.array(added.ids, np.int32).tobytes()]
        ]
        [(space, words)] = embeddings.remove_vectors(connection, model, [id])
        assert (space, words.tolist()) == (me.space, added.ids)
        assert embeddings.vectors(connection, model, [id]) == {}


def test_named_values(store: Store, me: Scope) -> None:
    for value in ("un", "deux"):
        with store.write() as connection:
            meta.put(connection, me.space, value)
    with store.read() as connection:
        assert meta.get(connection, me.space) == "deux"
        assert meta.get(connection, "nothing") is None


def test_a_failed_transaction_leaves_nothing(store: Store, me: Scope) -> None:
    with pytest.raises(ZeroDivisionError), store.write() as connection:
        meta.put(connection, me.space, "un")
        _ = 1 / 0
    with store.read() as connection:
        assert meta.get(connection, me.space) is None


def test_a_read_sees_one_moment(store: Store, me: Scope) -> None:
    with store.read() as before:
        assert meta.get(before, me.space) is None
        with store.write() as connection:
            meta.put(connection, me.space, "un")
        assert meta.get(before, me.space) is None
    with store.read() as after:
        assert meta.get(after, me.space) == "un"


def test_the_outbox_keeps_its_order(store: Store, me: Scope) -> None:
    ids = [str(UUID(int=n)) for n in range(700)]
    with store.write() as connection:
        before = outbox.last_position(connection)
        assert outbox.queue(connection, []) == ()
        numbers = outbox.queue(connection, [("memory", id, me.space) for id in ids])
        rows = outbox.pending(connection, before)
        assert [row.item_id for row in rows] == ids
        assert [row.seq for row in rows] == [*numbers]
        assert outbox.pending(connection, numbers[9], 5) == rows[10:15]
        assert outbox.last_position(connection) >= rows[-1].seq
        outbox.remove(connection, numbers)
        assert outbox.pending(connection, before) == []
        # A number is never given twice.
        assert outbox.queue(connection, [("memory", ids[0], me.space)])[0] > numbers[-1]


def test_jobs_are_claimed_once(store: Store, me: Scope) -> None:
    now = store.now()
    with store.write() as connection:
        id = job_runs.add(connection, me.space[:40], me.space, due_at=now, payload={"é": "x"})
        run = job_runs.due(connection, now, jobs=[me.space[:40]])
        assert run is not None
        assert (run.id, dict(run.payload)) == (id, {"é": "x"})
        assert job_runs.claim(connection, id, now)
        assert not job_runs.claim(connection, id, now)
        assert job_runs.due(connection, now, jobs=[me.space[:40]]) is None
        job_runs.finish(connection, id, "fait", now)
        job_runs.remove_done(connection, now + timedelta(days=1))
        assert job_runs.get(connection, me.space, id) is not None


def test_a_claim_is_made_with_the_write(store: Store, me: Scope) -> None:
    claim = replies.Claim(store.path, me.space, "clé", "request", store.now(), "one")
    token = replies.CLAIM.set(claim)
    try:
        with store.write() as connection:
            meta.put(connection, me.space, "un")
    finally:
        replies.CLAIM.reset(token)
    with store.write() as connection:
        found = replies.find(connection, me.space, "clé")
        assert found == replies.Reply("request", claim.at, None, None, "one")
        replies.answer(connection, claim, 200, b"\x00\xff")
        found = replies.find(connection, me.space, "clé")
        assert found == replies.Reply("request", claim.at, 200, b"\x00\xff")


def test_turns_are_linked_in_any_order(hippo: Hippocampe, me: Scope, store: Store) -> None:
    start = hippo.now()
    ids = {
        number: hippo.after_turn(
            f"tour {number}", None, scope=me, at=start + timedelta(minutes=number)
        )
        for number in (5, 1, 3, 2, 4)
    }
    with store.read() as connection:
        assert turn_rows.beside(connection, [ids[3]], reach=2) == [ids[n] for n in (2, 1, 4, 5)]
        assert working_history.count(connection, me.space, "lobby") == 5
    hippo.erase(id=ids[3], scope=me)
    with store.read() as connection:
        assert turn_rows.beside(connection, [ids[2]], reach=1) == [ids[1], ids[4]]


def test_erasing_a_memory_takes_what_hangs_on_it(
    hippo: Hippocampe, me: Scope, store: Store
) -> None:
    one = hippo.remember("Camille habite à Pau", scope=me, subjects=["Camille"]).memory
    hippo.remember("Camille habite à Pau près du gave", scope=me)
    hippo.erase(id=one.id, scope=me)
    with store.read() as connection:
        for table in (schema.subject, schema.claim, schema.alias):
            held = select(func.count()).where(table.c.memory_id == one.id)
            assert connection.execute(held).scalar() == 0


def test_the_last_forgotten_come_first_whenever_they_were_made(
    hippo: Hippocampe, me: Scope, store: Store
) -> None:
    start = hippo.now()
    statements = [{"content": f"Casier {n} : clé {n * n}"} for n in range(101)]
    made = [each.memory.id for each in hippo.remember_many(statements, scope=me)]
    order = [*made[1:], made[0]]
    with store.write() as connection:
        for id in order:
            one = schema.memory.update().where(schema.memory.c.id == id)
            connection.execute(one.values(forgotten_at=hippo.now()))
    with store.read() as connection:
        found = memories.forgotten_since(connection, me.space, start)
    assert [each.id for each in found] == order[:0:-1]


def test_a_space_has_a_wall(hippo: Hippocampe, me: Scope) -> None:
    there = Scope(space=f"{me.space}'x")
    memory = hippo.remember("Camille élève des abeilles", scope=me).memory
    hippo.remember("Rien", scope=there)
    with pytest.raises(LookupError):
        hippo.get(memory.id, scope=there)
    assert [each.content for each in hippo.recall("abeilles", scope=there)] in ([], ["Rien"])
    assert hippo.spaces()[me.space].memories == 1


def test_many_ids_at_once(hippo: Hippocampe, me: Scope, store: Store) -> None:
    made = hippo.remember("Camille élève des abeilles", scope=me).memory
    ids = [made.id, *(str(UUID(int=n)) for n in range(20_000)), made.id]
    with store.read() as connection:
        assert memories.get(connection, me.space, ids) == {made.id: made}
        assert list(listing.subjects_by_memory(connection, me.space, ids)) in ([], [made.id])


def test_what_cannot_be_stored_is_refused(hippo: Hippocampe, me: Scope) -> None:
    for wrong in ("a\ud800b", "\x00"):
        with pytest.raises((InvalidInput, StoreError)):
            hippo.remember(wrong, scope=me)
    stored = hippo.remember("avec\x00nul", scope=me).memory
    assert "\x00" not in stored.content
