"""The documentation runs, is complete, names what exists, and is in plain English."""

import ast
import dataclasses
import importlib
import inspect
import re
import shlex
import tokenize
import tomllib
from pathlib import Path

import pytest
from typer.main import get_command

from hippocampe import Config, Hippocampe, errors
from hippocampe.cli.app import app

ROOT = Path(__file__).parent.parent
REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
PAGES = sorted(
    [
        *ROOT.glob("docs/*.md"),
        *(ROOT / name for name in ("README.md", "CHANGELOG.md", "CONTRIBUTING.md")),
        ROOT / "benchmarks" / "README.md",
    ]
)
SOURCES = sorted((ROOT / "src" / "hippocampe").rglob("*.py"))
"""Source files whose docstrings, comments and messages are checked for banned phrases."""

BANNED = re.compile(
    r"\b(?:anew|whoever|thereof|wherein|whatever is|what is none|of which|in whose|that which"
    r"|told (?:from|by)|for its sake|speaks? of|lies in"
    r"|the more the more|stands? (?:in )?for|let \w+ go|the awaited door)\b",
    re.IGNORECASE,
)
"""Phrases that must be read twice. A field's noun or a verb with its object is shorter."""

NO_MODULES = {"hippocampe.db", "hippocampe.toml", "hippocampe.verb", "hippocampe.embed.__init__"}
"""Dotted names that are a file or an attribute of a span."""


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md", "docs/how-to.md"])
def test_the_python_of_a_page_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.S)
    assert blocks
    monkeypatch.chdir(tmp_path)
    exec(compile("\n".join(blocks), page, "exec"), {"__name__": page})


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
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


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_modules_named_in_a_page_exist(page: Path) -> None:
    for name in set(re.findall(r"`(hippocampe(?:\.\w+)+)", page.read_text(encoding="utf-8"))):
        if name not in NO_MODULES:
            assert _resolves(name), f"{page.name} names {name}"


def _resolves(name: str) -> bool:
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:size]))
        except ModuleNotFoundError:
            continue
        for attribute in parts[size:]:
            if not hasattr(found, attribute):
                return False
            found = getattr(found, attribute)
        return True
    return False


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_paths_named_in_a_page_exist(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for path in set(re.findall(r"\b(?:src|tests|benchmarks|docs)/[\w./-]+\w", text)):
        assert any((root / path).exists() for root in (ROOT, page.parent)), path


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_commands_of_a_page_are_valid(page: Path) -> None:
    blocks = re.findall(r"```(?:sh|bash)\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
    for line in "\n".join(blocks).splitlines():
        typed = shlex.split(line, comments=True)
        if typed and Path(typed[0]).name == "hippocampe":
            command = get_command(app).commands[typed[1]]  # pyright: ignore[reportAttributeAccessIssue]
            command.make_context(typed[1], typed[2:])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_a_page_is_in_plain_english(page: Path) -> None:
    assert _banned(page.read_text(encoding="utf-8")) == []


@pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)
def test_a_source_file_is_in_plain_english(path: Path) -> None:
    assert _banned("\n".join(_prose(path))) == []


def _banned(text: str) -> list[str]:
    return [match[0] for match in BANNED.finditer(re.sub(r"\s+", " ", text))]


def _prose(path: Path) -> list[str]:
    """The docstrings, messages and comments of a module."""
    with tokenize.open(path) as file:
        source = file.read()
    found = [
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    tokens = tokenize.generate_tokens(iter(source.splitlines(keepends=True)).__next__)
    return found + [token.string for token in tokens if token.type == tokenize.COMMENT]
