"""A memory with 20,000 associations: what is read of it is bounded, and all of it can be listed."""

import pytest

from conftest import Opener
from hippocampe import Hippocampe, Scope
from hippocampe.folder import maintenance
from hippocampe.store import associations, driver

MANY = 20_000


@pytest.fixture
def hub(
    hashed: None, open_hippo: Opener, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> tuple[Hippocampe, str, list[str]]:
    """A folder with a hub, its id, and those of its neighbours, oldest first."""
    # Nobody opens it again.
    monkeypatch.setattr(maintenance, "REDERIVING_SECONDS", 0)
    hippo = open_hippo(embedder="hashed:16")
    id = hippo.remember("le port de Ploumanac'h", scope=scope).memory.id
    leaves = [f"01a20000-0000-7000-8000-{number:012x}" for number in range(MANY)]
    with hippo._context.corpus.store.write() as connection:  # pyright: ignore[reportPrivateUsage]
        columns = [
            row[1]
            for row in connection.exec_driver_sql("PRAGMA table_info(memory)")
            if row[1] != "id"
        ]
        names = ", ".join(columns)
        connection.exec_driver_sql(
            f"INSERT INTO memory (id, {names}) SELECT ?, {names} FROM memory WHERE id = ?",
            [(leaf, id) for leaf in leaves],
        )
        ends = [(id, leaf) if number % 2 else (leaf, id) for number, leaf in enumerate(leaves)]
        connection.exec_driver_sql(
            "INSERT INTO association (source_id, target_id, kind, space, review, created_at) "
            "VALUES (?, ?, 'related_to', 'default', 0, ?)",
            [(*pair, at) for at, pair in enumerate(ends)],
        )
    return hippo, id, leaves


def test_recall_follows_a_few_edges_of_a_hub(hub: tuple[Hippocampe, str, list[str]]) -> None:
    hippo, id, leaves = hub
    with hippo._context.corpus.store.read() as connection:  # pyright: ignore[reportPrivateUsage]
        near = associations._NEAR[connection.dialect.name]  # pyright: ignore[reportPrivateUsage]
        rows = driver.read_by_ids(connection, near, [id])
        found = associations.near(connection, "default", [id], 2, most=30)
        everything = associations.near(connection, "default", [id], 2, most=1_000)
        elsewhere = associations.near(connection, "elsewhere", [id], 2, most=30)
    assert len(rows) == 2 * associations.PER_MEMORY
    assert found == leaves[: -1 - len(found) : -1]
    assert len(found) == 30
    assert len(everything) == 2 * associations.PER_MEMORY
    assert elsewhere == []


def test_everything_around_a_hub_is_listed(
    hub: tuple[Hippocampe, str, list[str]], scope: Scope
) -> None:
    hippo, id, leaves = hub
    compiled = driver._compiled  # pyright: ignore[reportPrivateUsage]
    hippo.neighbours(leaves[0], scope=scope, depth=1)
    before = compiled.cache_info().misses
    around, edges = hippo.neighbours(id, scope=scope, depth=2)
    assert {memory.id for memory in around} == {id, *leaves}
    assert len(edges) == MANY
    # One statement serves a list of any length.
    assert compiled.cache_info().misses <= before + 1


def test_edges_of_the_best_come_first(hippo: Hippocampe, scope: Scope) -> None:
    best, second, of_best, of_second, unsure, further = (
        hippo.remember(said, scope=scope).memory.id
        for said in (
            *("Nora peint des volets", "Yann pêche au large", "Il pleut sur Brest"),
            *("Le four chauffe", "Une mouette crie", "Le phare est rouge"),
        )
    )
    hippo.associate(second, of_second, "part_of", scope=scope)
    hippo.associate(of_best, best, "caused_by", scope=scope)
    hippo.associate(of_best, further, "caused_by", scope=scope)
    hippo.associate(best, unsure, "related_to", scope=scope)
    with hippo._context.corpus.store.write() as connection:  # pyright: ignore[reportPrivateUsage]
        connection.exec_driver_sql(
            "UPDATE association SET review = 1 WHERE target_id = ?", (unsure,)
        )
    with hippo._context.corpus.store.read() as connection:  # pyright: ignore[reportPrivateUsage]
        found = associations.near(connection, "default", [best, second], 2, most=30)
    assert found == [of_best, unsure, of_second, further]
