"""A key of a provider that is empty or blank is one that is missing, for every command."""

import os
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hashed import install
from hippocampe import Config, Hippocampe, Scope
from hippocampe.cli.app import app
from hippocampe.errors import ModelUnavailable
from hippocampe.model.connection import connect
from sparse import copy_folder

ME = Scope(user="dev", channel="lobby")
KEYS = {
    "openai:gpt-5-mini": "OPENAI_API_KEY",
    "openai-chat:gpt-5-mini": "OPENAI_API_KEY",
    "anthropic:claude-sonnet-4-5": "ANTHROPIC_API_KEY",
    "deepseek:deepseek-chat": "DEEPSEEK_API_KEY",
    "openrouter:openai/gpt-5-mini": "OPENROUTER_API_KEY",
    "together:llama": "TOGETHER_API_KEY",
    "cerebras:llama": "CEREBRAS_API_KEY",
}
VALUES = (None, "", "  ")


def set_variable(monkeypatch: pytest.MonkeyPatch, name: str, value: str | None) -> None:
    if value is None:
        monkeypatch.delenv(name, raising=False)
    else:
        monkeypatch.setenv(name, value)


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("model", KEYS)
def test_a_model_without_a_key_says_which_to_set(
    model: str, value: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_variable(monkeypatch, KEYS[model], value)
    monkeypatch.setenv("OPENAI_BASE_URL", "")
    monkeypatch.setenv("OTHER_TOKEN", "")
    expected = f"the model '{model}' has no key: set {KEYS[model]}, the key of its provider."
    with pytest.raises(ModelUnavailable, match=expected):
        connect(model)
    monkeypatch.setenv(KEYS[model], "test-key")
    connect(model)
    # The environment of the program is as it was.
    assert (os.environ["OPENAI_BASE_URL"], os.environ["OTHER_TOKEN"]) == ("", "")


@pytest.fixture(scope="module")
def talk(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A folder with a turn, live talk, and a channel long enough to be compacted, to copy; the id of the turn."""
    folder = tmp_path_factory.mktemp("talk") / "data"
    with pytest.MonkeyPatch.context() as patch:
        install(patch.setattr)
        with Hippocampe.open(Config(folder, embedder="hashed:32", background=False)) as hippo:
            turns = [hippo.after_turn(f"Le {n} mai", f"Noté {n}", scope=ME) for n in range(30)]
            hippo.observe("On part à 18 h", scope=ME)
    return folder, turns[0]


@pytest.fixture
def talked(hashed: None, talk: tuple[Path, str], folder: Path) -> str:
    """The id of the turn, in the folder of the test."""
    copy_folder(talk[0], folder)
    return talk[1]


COMMANDS = {
    "chat": ("chat",),
    "digest": ("digest",),
    "compact": ("compact", "--channel", "lobby"),
    "extract": ("extract", "TURN"),
    "doctor": ("doctor",),
}


@pytest.mark.parametrize("value", VALUES)
@pytest.mark.parametrize("command", COMMANDS)
def test_a_command_without_a_key_says_which_to_set(
    command: str, value: str | None, talked: str, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    set_variable(monkeypatch, "OPENAI_API_KEY", value)
    monkeypatch.setenv("OPENAI_BASE_URL", " ")
    monkeypatch.setenv("HIPPOCAMPE_MODEL", "openai:gpt-5-mini")
    typed = [talked if each == "TURN" else each for each in COMMANDS[command]]
    done = CliRunner().invoke(app, [*typed, "--folder", str(folder)])
    assert isinstance(done.exception, SystemExit), done.exception
    assert done.exit_code == 1, done.output
    assert "OPENAI_API_KEY" in done.output
    if command != "doctor":
        [line] = done.output.strip().splitlines()
        assert line.startswith("error: ")
