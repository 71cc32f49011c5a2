"""The documentation is executed, and names everything there is."""

import dataclasses
import inspect
import re
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

from hippocampe import Config, Hippocampe, errors
from hippocampe.cli.app import app

ROOT = Path(__file__).parent.parent
REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md", "docs/how-to.md"])
def test_the_python_of_a_page_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.S)
    assert blocks
    monkeypatch.chdir(tmp_path)
    exec(compile("\n".join(blocks), page, "exec"), {"__name__": page})


@pytest.mark.parametrize("page", [*sorted(ROOT.glob("docs/*.md")), ROOT / "README.md"])
def test_links_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def _named(text: str) -> set[str]:
    return set(re.findall(r"`([A-Za-z_.-]+)", text))


def test_extras_are_named_as_a_checkout_installs_them() -> None:
    with (ROOT / "pyproject.toml").open("rb") as file:
        extras = tomllib.load(file)["project"]["optional-dependencies"]
    (every,) = extras.pop("all")
    assert set(every.removeprefix("hippocampe[").removesuffix("]").split(",")) == set(extras)
    for page in [*ROOT.glob("docs/*.md"), ROOT / "README.md"]:
        text = page.read_text(encoding="utf-8")
        assert "hippocampe[" not in text, f"{page.name} installs from elsewhere"
        assert set(re.findall(r"\.\[(\w+)\]", text)) <= {"all", *extras}


def test_every_verb_is_documented() -> None:
    verbs = {name for name, _ in inspect.getmembers(Hippocampe, inspect.isfunction)}
    assert {name for name in verbs if not name.startswith("_")} <= _named(REFERENCE)


def test_every_verb_says_what_it_does() -> None:
    for name, verb in inspect.getmembers(Hippocampe, inspect.isfunction):
        assert name.startswith("_") or inspect.getdoc(verb), name


def test_every_setting_is_documented() -> None:
    assert {field.name for field in dataclasses.fields(Config)} <= _named(REFERENCE)


def test_every_error_is_documented() -> None:
    found = inspect.getmembers(errors, inspect.isclass)
    assert {name for name, _ in found} <= _named(REFERENCE)


def test_every_command_is_documented() -> None:
    commands = set(get_command(app).commands)  # pyright: ignore[reportAttributeAccessIssue]
    assert commands <= _named(REFERENCE)
