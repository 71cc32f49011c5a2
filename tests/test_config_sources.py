"""Flags, before variables, before the file, before defaults; errors name the place, never the value."""

import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path

import pytest

from hippocampe import Config, InvalidInput
from hippocampe.config_sources import FIELDS, Loaded, load
from hippocampe.system import folders


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A user without a configuration."""
    monkeypatch.setattr("hippocampe.config_sources.config_folder", lambda: tmp_path / "config")
    return tmp_path


def loaded(toml: str, tmp_path: Path, environment: Mapping[str, str] = {}, **more: str) -> Loaded:
    file = tmp_path / "mine.toml"
    file.write_text(toml, encoding="utf-8")
    return load(file=file, environment=environment, chosen=more)


def test_nothing_set_is_the_default() -> None:
    found = load(environment={})
    assert found.config == Config(folders.data_folder())
    assert (found.file, found.origins) == (None, {})


def test_the_first_place_counts(home: Path) -> None:
    toml = "request_rate = 1\nrequest_burst = 2\nflush_seconds = 3.5\ntimezone = 'Asia/Tokyo'\n"
    environment = {
        "HIPPOCAMPE_REQUEST_BURST": "20",
        "HIPPOCAMPE_FLUSH_SECONDS": "35",
        "HIPPOCAMPE_FOLDER": "/srv/a",
        "HIPPOCAMPE_SPACE": "home",
        "HIPPOCAMPE_TRACING": " ",
    }
    (home / "mine.toml").write_text(toml, encoding="utf-8")
    flags = {"folder": Path("/srv/b"), "embedder": None}
    found = load(
        file=home / "mine.toml",
        environment=environment,
        chosen={"flush_seconds": "350"},
        flags=flags,
    )
    config = found.config
    assert (config.request_rate, config.request_burst, config.flush_seconds) == (1.0, 20, 350.0)
    assert (config.timezone, config.folder) == ("Asia/Tokyo", Path("/srv/b"))
    assert found.origins == {
        "request_rate": str(home / "mine.toml"),
        "timezone": str(home / "mine.toml"),
        "request_burst": "HIPPOCAMPE_REQUEST_BURST",
        "flush_seconds": "--set",
        "folder": "--folder",
    }


def test_an_option_that_repeats_a_variable_is_the_variable() -> None:
    found = load(environment={"HIPPOCAMPE_FOLDER": "/srv/a"}, flags={"folder": Path("/srv/a")})
    assert found.origins == {"folder": "HIPPOCAMPE_FOLDER"}


def test_every_field_can_be_set_everywhere(home: Path) -> None:
    assert {each.name for each in fields(Config)} == set(FIELDS)
    values = {
        "notes_folder": ("'Vault'", "~/Vault", Path),
        "notes_ignored": ("['a b', 'c']", "a b, c,", tuple),
        "background": ("false", "No", bool),
        "graph_threshold": ("7", "7", int),
        "embedder_timeout": ("7", "7", float),
        "obsidian_key": ("'key'", "key", str),
    }
    for name, (toml, text, kind) in values.items():
        by_file = getattr(loaded(f"{name} = {toml}", home).config, name)
        variable = {f"HIPPOCAMPE_{name.upper()}": text}
        by_variable = getattr(load(environment=variable).config, name)
        assert isinstance(by_file, kind)
        assert isinstance(by_variable, kind)
        if kind is not Path:
            assert by_file == by_variable
    assert loaded("notes_folder = 'Vault'", home).config.notes_folder == home / "Vault"


def test_the_usual_file_is_read_if_it_exists(home: Path) -> None:
    (home / "config").mkdir()
    (home / "config" / "hippocampe.toml").write_text("request_burst = 5\n")
    found = load(environment={})
    assert (found.config.request_burst, found.file) == (5, home / "config" / "hippocampe.toml")
    (home / "other.toml").write_text("request_burst = 6\n")
    named = {"HIPPOCAMPE_CONFIG": str(home / "other.toml")}
    assert load(environment=named).config.request_burst == 6


def test_a_folder_of_configurations_that_cannot_be_looked_into_has_none(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # As the home of another user, which the tests of root could look into.
    unusable = tmp_path / ("x" * 300)
    monkeypatch.setattr("hippocampe.config_sources.config_folder", lambda: unusable)
    assert load(environment={}).file is None


@pytest.mark.parametrize(
    ("toml", "told"),
    [
        (
            "request_rat = 1",
            "mine.toml: there is no setting 'request_rat': did you mean request_rate",
        ),
        ("zzz = 1", "choose from folder"),
        ("request_rate = 'fast'", "mine.toml: request_rate must be a number"),
        ("request_rate = true", "request_rate must be a number"),
        ("request_burst = 1.5", "request_burst must be a whole number"),
        ("background = 1", "background must be true or false"),
        ("notes_ignored = 'a'", "notes_ignored must be a list of texts"),
        ("notes_ignored = [1]", "notes_ignored must be a list of texts"),
        ("folder = 1", "folder must be a path"),
        ("timezone = 1", "timezone must be text"),
        ("request_rate = ", "is not TOML"),
        ("request_rate = -1", "request_rate is set by .*mine.toml"),
        ("notes_space = ''", "notes_space|space"),
    ],
)
def test_errors_of_the_file_name_the_place(home: Path, toml: str, told: str) -> None:
    with pytest.raises(InvalidInput, match=told):
        loaded(toml, home)


def test_other_errors_name_the_place(home: Path) -> None:
    for variable, value in (("REQUEST_RATE", "rhubarbe"), ("BACKGROUND", "rhubarbe")):
        with pytest.raises(InvalidInput, match=f"HIPPOCAMPE_{variable}: ") as raised:
            load(environment={f"HIPPOCAMPE_{variable}": value})
        assert "rhubarbe" not in str(raised.value)
    with pytest.raises(InvalidInput, match="request_rate is set by HIPPOCAMPE_REQUEST_RATE"):
        load(environment={"HIPPOCAMPE_REQUEST_RATE": "0"})
    with pytest.raises(InvalidInput, match="--set: there is no setting"):
        load(environment={}, chosen={"colour": "red"})
    with pytest.raises(InvalidInput, match=r"cannot read .*none.toml.*--config"):
        load(file=home / "none.toml", environment={})
    (home / "bytes.toml").write_bytes(b"\xff")
    with pytest.raises(InvalidInput, match="is not TOML"):
        load(file=home / "bytes.toml", environment={})


def test_a_user_without_a_home_names_the_folder(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    for name in ("HOME", "XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(
        os, "getuid", lambda: 4_000_000_000
    )  # a number without a name, as in a container
    monkeypatch.setattr("hippocampe.config_sources.config_folder", folders.config_folder)
    with pytest.raises(InvalidInput, match="HIPPOCAMPE_FOLDER"):
        load(environment={})
    assert load(environment={}, flags={"folder": tmp_path}).config.folder == tmp_path
