"""The layout: imports point one way, importing stays light, and the door is documented."""

import ast
import dataclasses
import inspect
import subprocess
import sys
from pathlib import Path

import pytest

import hippocampe
from hippocampe import Hippocampe, errors, types

SOURCE = Path(hippocampe.__file__).parent
ALLOWED: dict[str, str] = {
    "errors": "",
    "types": "errors",
    "config": "errors types",
    "protocols": "types",
    "verbs": "types",
    "system": "errors",
    "config_sources": "errors config system",
    "language": "errors",
    "reading": "language",
    "consolidation": "language reading",
    "validation": "errors types language",
    "wire": "types",
    "remote": "errors types config verbs system language wire",
    "store": "errors types protocols system",
    "embed": "errors protocols system",
    "reader": "errors consolidation",
    "model": "errors types protocols system",
    "index": "errors types protocols system language store",
    "engine": "errors types config protocols verbs system language validation store embed index",
    "ingest": "errors types config protocols system language reading consolidation validation store reader index engine",
    "retrieval": "errors types protocols language consolidation validation store embed index engine",
    "injection": "errors types config protocols system language consolidation validation store embed index engine ingest"
    " retrieval",
    "curation": "errors types protocols language reading consolidation validation store index engine ingest"
    " retrieval injection",
    "distillation": "errors types protocols language reading consolidation validation store reader index engine ingest"
    " retrieval injection curation",
    "jobs": "errors types config language validation store engine ingest curation distillation",
    "lifecycle": "errors types config protocols system language consolidation validation store embed"
    " model index engine ingest retrieval injection curation jobs remote",
    "hippocampe": "errors types config verbs validation language engine ingest retrieval injection curation"
    " distillation jobs lifecycle remote",
    "aio": "types verbs system config injection hippocampe",
    "companion": "errors types system config language validation model injection hippocampe aio",
    "server": "errors types config verbs system wire remote language validation model store engine injection hippocampe aio"
    " companion",
    "hooks": "errors config system language remote",
    "testing": "errors protocols",
    "resident": "errors config_sources embed hippocampe",
    "demo": "errors types config engine hippocampe",
    "cli": "errors types config config_sources system language validation embed reader model engine ingest curation jobs lifecycle hippocampe"
    " remote companion server hooks demo",
    "__main__": "cli",
}
"""What each package or module at the top may import, in the order in which data flows."""

PURE = {"language", "reading", "consolidation"}
IMPURE_LIBRARIES = {
    "sqlalchemy",
    "threading",
    "concurrent",
    "time",
    "socket",
    "subprocess",
    "sqlite3",
}
PURE_READERS = {
    "hippocampe.language.lexicon",
    "hippocampe.language.fence",
    "hippocampe.language.i18n",
    "hippocampe.language.prompts",
    "hippocampe.consolidation.learnt",
}
"""Pure modules that read data files of the package, and nothing else."""


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


def imported(name: str, *, at_import: bool) -> set[str]:
    """The modules of the package that one names; only those it loads when it is loaded itself."""
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    if at_import:
        nodes = [node for node in tree.body if isinstance(node, ast.Import | ast.ImportFrom)]
    else:
        nodes = [node for node in ast.walk(tree) if isinstance(node, ast.Import | ast.ImportFrom)]
    found: set[str] = set()
    for node in nodes:
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        else:
            assert node.level == 0, f"{name} imports relatively"
            for alias in node.names:
                inner = f"{node.module}.{alias.name}"
                found.add(inner if inner in MODULES else node.module or "")
    return {each for each in found if each.split(".")[0] == "hippocampe"} & set(MODULES)


def package(name: str) -> str:
    return name.split(".")[1]


def test_every_package_is_named() -> None:
    assert {package(name) for name in MODULES if name != "hippocampe"} == ALLOWED.keys()
    # Data flows one way: what a package may import comes before it.
    order = list(ALLOWED)
    for name, allowed in ALLOWED.items():
        assert all(order.index(other) < order.index(name) for other in allowed.split()), name


@pytest.mark.parametrize("name", [name for name in MODULES if name != "hippocampe"])
def test_imports_point_one_way(name: str) -> None:
    allowed = {package(name), *ALLOWED[package(name)].split()}
    for other in imported(name, at_import=False) - {"hippocampe"}:
        assert package(other) in allowed, f"{name} may not import {other}"


@pytest.mark.parametrize(
    "name", [name for name in MODULES if name != "hippocampe" and package(name) in PURE]
)
def test_pure_packages_are_pure(name: str) -> None:
    tree = ast.parse(MODULES[name].read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            libraries = {alias.name.split(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            libraries = {(node.module or "").split(".")[0]}
        else:
            if isinstance(node, ast.Call) and name not in PURE_READERS:
                called = ast.unparse(node.func).split(".")[-1]
                assert called not in {"open", "read_text", "read_bytes", "now", "today", "sleep"}, (
                    name
                )
            continue
        assert not libraries & IMPURE_LIBRARIES, name


def test_no_module_imports_itself_over_others() -> None:
    loads = {name: imported(name, at_import=True) for name in MODULES}

    reached: set[str] = set()

    def reach(name: str, seen: tuple[str, ...]) -> None:
        assert name not in seen, " → ".join((*seen, name))
        if name not in reached:
            for other in loads[name]:
                reach(other, (*seen, name))
        reached.add(name)

    for name in MODULES:
        reach(name, ())


def test_the_package_loads_nothing_heavy() -> None:
    heavy = ("sqlalchemy", "alembic", "pydantic", "numpy", "typer", "qdrant_edge", "rich", "babel")
    script = "import sys, hippocampe; print(' '.join({m.split('.')[0] for m in sys.modules}))"
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert not set(heavy) & set(run.stdout.split())


def test_the_package_exports_every_value_and_every_error() -> None:
    values = {name for name, each in vars(types).items() if dataclasses.is_dataclass(each)}
    known = {name for name, each in vars(errors).items() if inspect.isclass(each)}
    wanted = values | known | {"AsyncHippocampe", "Config", "Hippocampe"}
    assert wanted <= set(hippocampe.__all__)
    for name in hippocampe.__all__:
        assert getattr(hippocampe, name).__name__ == name


VERBS = [
    name
    for name, verb in inspect.getmembers(Hippocampe)
    if not name.startswith("_") and callable(verb)
]
SILENT = {"facts", "reviews", "flush", "close"}
"""Verbs in which nothing can be wrong but the store itself."""


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_documented(verb: str) -> None:
    text = inspect.getdoc(getattr(Hippocampe, verb)) or ""
    assert len(text.split("\n")[0]) > 10
    given = inspect.signature(getattr(Hippocampe, verb)).parameters.keys() - {"self", "scope"}
    if given and verb not in SILENT:
        assert "Raises:" in text


def test_catch_alls_are_two_at_most() -> None:
    found: list[str] = []
    for name, path in MODULES.items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.ExceptHandler):
                continue
            raises = any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
            catches = node.type is None or (
                isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException")
            )
            if catches and not raises:
                found.append(f"{name}:{node.lineno}")
    assert len(found) <= 2, found
