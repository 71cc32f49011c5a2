"""A memory moves between a folder and PostgreSQL, either way."""

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

import tier
from hippocampe import Config, Hippocampe, Scope, migration
from hippocampe.cli.app import app
from hippocampe.errors import InvalidInput, StoreError
from hippocampe.folder import copying

pytestmark = pytest.mark.usefixtures("hashed")
ME = Scope(user="dev", channel="lobby")


@pytest.fixture
def servers(tmp_path: Path) -> Iterator[Config]:
    """An empty database."""
    yield Config(tmp_path / "server", background=False, **tier.current().settings(tmp_path))
    tier.current().clean()


@pytest.fixture
def folder(tmp_path: Path) -> Config:
    """A folder with something of each kind."""
    config = Config(tmp_path / "data", embedder="hashed:32", background=False)
    with Hippocampe.open(config) as hippo:
        for number in range(30):
            hippo.remember(
                f"Camille élève {number} abeilles 🐝",
                scope=ME,
                subjects=[f"s{number}"],
                metadata={"n": number},
            )
        every = [each.id for each in hippo.memories(scope=ME, order="oldest").items]
        for other in (every[2], every[1]):
            hippo.associate(every[0], other, "part_of", scope=ME)
        hippo.remember("Nadia habite à Paris", scope=ME)
        hippo.remember("Nadia a déménagé à Pau", scope=ME)
        hippo.after_turn("Je pars en Grèce demain", "Bon voyage", scope=ME)
        hippo.observe("Il pleut", scope=ME)
        hippo.update_settings(scope=ME, recent_hours=3, always_on_limit=5)
        hippo.create_key(scope=ME, role="read")
        hippo.before_turn("Que fait Camille ?", scope=ME)
        hippo.remember("Ailleurs aussi", scope=Scope(space="ailleurs"))
    return config


def exported(config: Config, path: Path) -> list[str]:
    """The lines of an export, without the header with the time."""
    with Hippocampe.open(config) as hippo:
        hippo.export_to(path, scope=ME, overwrite=True)
    return path.read_text("utf-8").splitlines()[1:]


def test_an_export_is_the_same_after_a_move(
    folder: Config, servers: Config, tmp_path: Path
) -> None:
    path = tmp_path / "all.jsonl"
    before = exported(folder, path)
    migration.migrate(folder, servers)
    assert exported(servers, path) == before
    assert exported(folder, path) == before


def test_a_folder_moves_to_servers_and_back(
    folder: Config, servers: Config, tmp_path: Path
) -> None:
    target = replace(servers, embedder=None)
    there = migration.migrate(folder, target)
    assert there.queries > 0
    assert there.tables["memory"].rows == 33
    with Hippocampe.open(target) as hippo:
        assert hippo.verify().ok
        assert hippo.settings(scope=ME).recent_hours == 3
        assert [m.content for m in hippo.search_text("grece", scope=ME)] == [
            "Je pars en Grèce demain"
        ]
        hippo.remember("Nadia répare des vélos et des zéppelins", scope=ME)
        hippo.after_turn("Un mot tout neuf : cucurbitacée", "Oui", scope=ME)
        assert hippo.verify().ok
        before = hippo.stats(scope=ME)
    home = Config(tmp_path / "home", background=False)
    back = migration.migrate(target, home)
    assert back.tables["memory"].rows == 34
    for unchanged in ("association", "setting", "api_key", "retrieval_item", "claim"):
        assert back.tables[unchanged] == there.tables[unchanged]
    with Hippocampe.open(home) as hippo:
        assert hippo.verify().ok
        after = hippo.stats(scope=ME)
        assert (after.memories, after.messages, after.superseded) == (
            before.memories,
            before.messages,
            before.superseded,
        )
        assert len(hippo.search_text("cucurbitacee", scope=ME)) == 1


def test_an_interrupted_move_goes_on(
    folder: Config, servers: Config, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(copying, "BATCH", 4)
    seen: list[str] = []

    def interrupt(what: str, done: int, _total: int) -> None:
        seen.append(f"{what} {done}")
        if what == "copying message":
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        migration.migrate(folder, servers, interrupt)
    with pytest.raises(StoreError, match="interrupted"):
        Hippocampe.open(servers)
    before, seen[:] = list(seen), []
    done = migration.migrate(folder, servers, lambda what, done, _: seen.append(f"{what} {done}"))
    assert not {each for each in before if "memory" in each} & set(seen)
    assert done.tables["memory"].rows == 33


@pytest.mark.parametrize("where", ["copying subject", "copying vector"])
def test_an_interrupted_move_goes_on_after_changes_of_the_source(
    folder: Config, servers: Config, where: str
) -> None:
    def interrupt(what: str, _done: int, _total: int) -> None:
        if what == where:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        migration.migrate(folder, servers, interrupt)
    with Hippocampe.open(folder) as hippo:
        # Its subjects refer to a memory that the target does not have.
        hippo.remember("Lucie repairs an old violin", scope=ME, subjects=["violin"])
        hippo.after_turn("Lucie vernit le violon", "Il sera beau", scope=ME)
        hippo.erase(subject="Nadia", scope=ME)
    migration.migrate(folder, servers)
    with Hippocampe.open(servers) as hippo:
        assert hippo.verify().ok
        assert len(hippo.search_text("violon", scope=ME)) == 1
        assert hippo.recall("violin", scope=ME)[0].content == "Lucie repairs an old violin"
        assert not [m for m in hippo.memories(scope=ME, limit=100).items if "Nadia" in m.content]


def test_a_move_to_a_new_database_leaves_nothing_of_the_old_index(
    folder: Config, servers: Config
) -> None:
    migration.migrate(folder, servers)
    with Hippocampe.open(folder) as hippo:
        assert hippo.remember("Nadia a déménagé à Tarbes", scope=ME).action == "updated"
    # The collection stays.
    database = str(servers.database_url).split("/")[3].partition("?")[0]
    tier.current().database.drop(database)
    tier.current().database.create(database)
    migration.migrate(folder, servers)
    with Hippocampe.open(servers) as hippo:
        assert hippo.verify().ok


def test_a_space_that_servers_cannot_have_is_refused_before_the_move(
    folder: Config, servers: Config
) -> None:
    with Hippocampe.open(folder) as hippo:
        hippo.remember("L'étoile est un nom", scope=Scope(space="*"))
    with pytest.raises(InvalidInput, match=r"named \*"):
        migration.migrate(folder, servers, lambda what, *_: pytest.fail(what))


def test_data_of_its_own_is_no_target(folder: Config, servers: Config, tmp_path: Path) -> None:
    with Hippocampe.open(replace(servers, embedder="hashed:32")) as hippo:
        hippo.remember("Déjà là", scope=ME)
    with pytest.raises(InvalidInput, match="exists"):
        migration.migrate(folder, servers)
    assert migration.target_of(folder, str(tmp_path / "x"), None).database_url is None
    with pytest.raises(InvalidInput, match="/x is a folder.*--set qdrant_url=URL"):
        migration.target_of(folder, str(tmp_path / "x"), "http://q:6333")
    with pytest.raises(InvalidInput, match="qdrant_url"):
        migration.target_of(folder, "postgresql://localhost/x", None)


def test_the_command_line_moves_and_scrubs(
    folder: Config, servers: Config, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HIPPOCAMPE_QDRANT_COLLECTION", servers.qdrant_collection)
    database, index = str(servers.database_url), str(servers.qdrant_url)
    run = CliRunner()
    data = ["--folder", str(folder.folder)]
    moved = run.invoke(app, ["migrate", *data, "--to", database, "--index", index])
    assert moved.exit_code == 0, moved.output
    assert "copied and compared" in moved.output
    refused = run.invoke(app, ["scrub", *data])
    assert refused.exit_code == 1
    assert "nothing is left" in refused.output
    monkeypatch.setenv("HIPPOCAMPE_DATABASE_URL", database)
    monkeypatch.setenv("HIPPOCAMPE_QDRANT_URL", index)
    monkeypatch.setenv("HIPPOCAMPE_FOLDER", str(tmp_path / "process"))
    erased = run.invoke(app, ["erase", "--subject", "Nadia", "--yes"])
    assert erased.exit_code == 0, erased.output
    assert "hippocampe scrub" in erased.output
    scrubbed = run.invoke(app, ["scrub"])
    assert scrubbed.exit_code == 0, scrubbed.output
    assert "write-ahead log" in scrubbed.output
    found = run.invoke(app, ["recall", "abeilles", "--json"])
    assert "abeilles" in found.output
    checked = run.invoke(app, ["verify", "--absent", "Nadia"])
    assert checked.exit_code == 0, checked.output
    examined = run.invoke(app, ["doctor"])
    assert examined.exit_code == 0, examined.output
    assert "store and index agree (" in examined.output
    monkeypatch.setenv("HIPPOCAMPE_QDRANT_URL", "http://127.0.0.1:1")
    away = run.invoke(app, ["doctor", "--json"])
    (data,) = [each for each in json.loads(away.stdout) if each["name"] == "data"]
    assert not data["ok"]
    assert "check that Qdrant runs" in data["seen"]
