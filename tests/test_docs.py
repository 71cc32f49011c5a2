"""The documentation runs, is complete, names what exists, and is in plain English."""

import ast
import dataclasses
import importlib
import inspect
import json
import re
import shlex
import tokenize
import tomllib
from pathlib import Path
from typing import Any

import httpx
import pytest
from packaging.requirements import Requirement
from typer.main import get_command

from conftest import Connect, Opener
from hippocampe import Config, Hippocampe, Scope, errors
from hippocampe.cli.app import app
from hippocampe.config import UPSTREAM_URL
from hippocampe.server.dashboard.menu import MENU
from model_server import ModelServer
from served import served

ROOT = Path(__file__).parent.parent
REFERENCE = (ROOT / "docs" / "reference.md").read_text(encoding="utf-8")
PAGES = sorted(
    [
        *ROOT.glob("docs/**/*.md"),
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

RELATIVE_OPENING = re.compile(r"(?:What|How|Who|Whom|Whose|Where|When|Which|That|Those|Whether)\b")
"""Words that make the first line of a docstring a relative clause. Name the thing, or begin with a verb."""

NO_MODULES = {
    "hippocampe.db",
    "hippocampe.jsonl",
    "hippocampe.toml",
    "hippocampe.verb",
    "hippocampe.embed.__init__",
}
"""Dotted names that are a file or an attribute of a span."""


@pytest.mark.parametrize(
    "page", ["docs/quickstart.md", "docs/how-to.md", "docs/integrations/prompt-cache.md"]
)
def test_the_python_of_a_page_runs(
    page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    blocks = re.findall(r"```python\n(.*?)```", (ROOT / page).read_text(encoding="utf-8"), re.S)
    assert blocks
    monkeypatch.chdir(tmp_path)
    exec(compile("\n".join(blocks), page, "exec"), {"__name__": page})


def test_the_example_of_the_readme_prints_its_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    text = _text("README.md")
    (example,) = re.findall(r"```python\n(.*?)```", text, re.S)
    (shown,) = re.findall(r"```text\n(.*?)```", text, re.S)
    exec(compile(example, "README.md", "exec"), {"__name__": "README.md"})
    assert capsys.readouterr().out == shown


def test_the_python_of_the_proxy_runs(
    hashed: None,
    server: ModelServer,
    open_hippo: Opener,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv(UPSTREAM_URL, server.openai_url)
    hippo = open_hippo(embedder="hashed:32")
    blocks = re.findall(r"```python\n(.*?)```", _text("docs/proxy.md"), re.S)
    for said in ("Green tea.", "Coffee.", "At Nantes."):
        server.say(said)
    with served(hippo, loopback=True) as url:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{url}/v1")
        monkeypatch.setenv("ANTHROPIC_BASE_URL", url)
        names: dict[str, Any] = {"__name__": "proxy.md"}
        exec(compile("\n".join(blocks), "proxy.md", "exec"), names)
        for name in ("client", "claude", "alice"):
            names[name].close()
    assert capsys.readouterr().out == "Green tea.\nCoffee.\nAt Nantes."
    assert set(hippo.users(scope=Scope())) == {"paul", "alice"}


@pytest.mark.parametrize("page", ["docs/mcp.md", "docs/hooks.md"])
def test_the_configurations_of_a_page_can_be_used(page: str) -> None:
    blocks = re.findall(r"```json\n(.*?)```", _text(page), re.S)
    commands = [command for block in blocks for command in _commands(json.loads(block))]
    assert commands
    for command in commands:
        _check_command(command)


def _text(page: str) -> str:
    return (ROOT / page).read_text(encoding="utf-8")


def _commands(found: Any) -> list[list[str]]:
    """The commands that a configuration starts, wherever they are in it."""
    if isinstance(found, list):
        return [command for each in found for command in _commands(each)]
    if not isinstance(found, dict):
        return []
    inner = [command for each in found.values() for command in _commands(each)]
    typed = found.get("command")
    own = [[*shlex.split(typed), *found.get("args", [])]] if isinstance(typed, str) else []
    return own + inner


def _check_command(typed: list[str]) -> None:
    assert Path(typed[0]).name == "hippocampe"
    command = get_command(app).commands[typed[1]]  # pyright: ignore[reportAttributeAccessIssue]
    command.make_context(typed[1], typed[2:])


def test_links_lead_somewhere() -> None:
    links = [
        (page, target)
        for page in PAGES
        for target in re.findall(r"\]\((?!https?:)([^)#]+)", page.read_text(encoding="utf-8"))
    ]
    assert links
    assert [link for link in links if not (link[0].parent / link[1]).exists()] == []


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


def test_every_endpoint_is_documented_with_its_role(connect: Connect) -> None:
    rows = re.findall(r"^\| (`(?:GET|POST|PATCH|DELETE) .+?) \| (\w+) \|", REFERENCE, re.M)
    roles = {each: role for names, role in rows for each in re.findall(r"`([^`]+)`", names)}
    reader, writer = connect("read"), connect("write")
    found = reader.get("/openapi.json").json()["paths"]
    for path, operations in found.items():
        for method in operations:
            role = roles.get(f"{method.upper()} {path}")
            assert role is not None, f"{method.upper()} {path} is not in the reference"
            assert _refused(reader, method, path) == (role in ("write", "admin")), (method, path)
            assert _refused(writer, method, path) == (role == "admin"), (method, path)


def _refused(client: httpx.Client, method: str, path: str) -> bool:
    """Whether the role of a client does not suffice; what it asks for makes no sense."""
    sent: dict[str, Any] = {} if method == "get" else {"json": {}}
    return client.request(method, re.sub(r"\{\w+\}", "none", path), **sent).status_code == 403


def test_every_page_is_documented() -> None:
    pages = {f"/{each.name}" for each in MENU} | {"/login", "/docs", "/memory/{id}"}
    for name in ("docs/reference.md", "docs/dashboard.md"):
        named = set(re.findall(r"`(?:GET )?(/[^` ]+)`", _text(name)))
        assert pages <= named, f"{name} lacks {pages - named}"


def test_modules_named_in_a_page_exist() -> None:
    named = {
        name: page.name
        for page in PAGES
        for name in re.findall(r"`(hippocampe(?:\.\w+)+)", page.read_text(encoding="utf-8"))
    }
    assert named
    unknown = {name: page for name, page in named.items() if not _resolves(name)}
    assert unknown.keys() <= NO_MODULES, unknown


def _resolves(name: str) -> bool:
    parts = name.split(".")
    for size in range(len(parts), 0, -1):
        try:
            found = importlib.import_module(".".join(parts[:size]))
        except ModuleNotFoundError as exc:
            if not (exc.name or "").startswith("hippocampe"):
                return True  # an integration, whose host is not installed here
            continue
        for attribute in parts[size:]:
            if not hasattr(found, attribute):
                return False
            found = getattr(found, attribute)
        return True
    return False


def test_paths_named_in_a_page_exist() -> None:
    missing = [
        f"{page.name}: {path}"
        for page in PAGES
        for path in re.findall(
            r"\b(?:src|tests|benchmarks|docs)/[\w./-]+\w", page.read_text(encoding="utf-8")
        )
        if not any((root / path).exists() for root in (ROOT, page.parent))
    ]
    assert missing == []


def test_commands_of_a_page_are_valid() -> None:
    refused: list[str] = []
    for page in PAGES:
        blocks = re.findall(r"```(?:sh|bash)\n(.*?)```", page.read_text(encoding="utf-8"), re.S)
        for line in "\n".join(blocks).splitlines():
            typed = shlex.split(line, comments=True)
            if typed and Path(typed[0]).name == "hippocampe":
                try:
                    _check_command(typed)
                except Exception as exc:  # noqa: BLE001 - Typer's errors differ between its versions
                    refused.append(f"{page.name}: {line}: {exc}")
    assert refused == []


def test_pages_install_the_versions_that_are_tested() -> None:
    pinned = (ROOT / "tests" / "integrations").glob("*.txt")
    tested = {
        each.name: each.specifier
        for text in (path.read_text(encoding="utf-8") for path in pinned)
        for each in map(Requirement, text.split())
    }
    named: set[str] = set()
    for page in PAGES:
        for line in re.findall(r"^pip install (.*>=.*)$", page.read_text(encoding="utf-8"), re.M):
            for each in map(Requirement, shlex.split(line, comments=True)):
                oldest = {part.version for part in each.specifier}
                version = next(iter(tested.get(each.name, [])), None)
                named.add(each.name)
                if version is not None:
                    # Later fixes are welcome; an older minor version was never tried.
                    assert oldest == {".".join(version.version.split(".")[:2])}, (page.name, line)
    # LangGraph is a dependency of LangChain; Hermes brings an environment of its own.
    assert tested.keys() - named == {"langgraph", "hermes-agent"}


def test_prose_is_in_plain_english() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {phrase}"
        for path in (*PAGES, *SOURCES)
        for line, text in _prose(path)
        for phrase in _unclear(text)
    ]
    assert not found, "\n".join(found)


def test_docstrings_begin_with_a_verb_or_a_noun() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for path in SOURCES
        for line, text in _docstrings(path)
        if RELATIVE_OPENING.match(text)
    ]
    assert not found, "\n".join(found)


def _unclear(text: str) -> list[str]:
    return [match[0] for match in BANNED.finditer(re.sub(r"\s+", " ", text))]


def _prose(path: Path) -> list[tuple[int, str]]:
    """The lines and texts of a page; of a module, its docstrings, messages and comments."""
    source = path.read_text(encoding="utf-8")
    if path.suffix == ".md":
        return [(1, source)]
    # Parsing takes long: only where a phrase may be, however its text is cut into strings.
    if not _unclear(re.sub(r"[\"'#\\]", " ", source)):
        return []
    found = [
        (node.lineno, node.value)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    tokens = tokenize.generate_tokens(iter(source.splitlines(keepends=True)).__next__)
    comments = [each for each in tokens if each.type == tokenize.COMMENT]
    return found + [(each.start[0], each.string) for each in comments]


def _docstrings(path: Path) -> list[tuple[int, str]]:
    """The lines and texts of the docstrings of a module, those of constants and fields too."""
    return [
        (statement.lineno, statement.value.value.strip())
        for node in ast.walk(ast.parse(path.read_bytes()))
        for statement in _statements(node)
        if isinstance(statement, ast.Expr)
        and isinstance(statement.value, ast.Constant)
        and isinstance(statement.value.value, str)
    ]


def _statements(node: ast.AST) -> list[ast.stmt]:
    body = getattr(node, "body", [])
    return body if isinstance(body, list) else []
