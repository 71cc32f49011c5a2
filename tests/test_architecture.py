"""The layout: imports point one way, importing stays light, and the door is documented."""

import ast
import dataclasses
import inspect
import subprocess
import sys
from pathlib import Path

import hippocampe
from hippocampe import Hippocampe, errors, types

SOURCE = Path(hippocampe.__file__).parent
ALLOWED: dict[str, str] = {
    "errors": "",
    "types": "errors",
    "config": "errors types",
    "protocols": "types",
    "system": "errors",
    "config_sources": "errors config system",
    "language": "errors",
    "reading": "language",
    "consolidation": "language reading",
    "validation": "errors types language",
    "wire": "types",
    "remote": "errors types config system language wire",
    "store": "errors types protocols system",
    "embed": "errors protocols system",
    "reader": "errors consolidation",
    "model": "errors types protocols system",
    "index": "errors types protocols system language store",
    "engine": "errors types config protocols system language validation store embed index",
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
    "hippocampe": "errors types config validation language engine ingest retrieval injection curation"
    " distillation jobs lifecycle remote",
    "aio": "types system config injection hippocampe",
    "companion": "errors types system config language validation model injection hippocampe aio",
    "server": "errors types config system wire remote language validation model store engine injection hippocampe aio"
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
IMPURE_CALLS = {"open", "read_text", "read_bytes", "now", "today", "sleep"}
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


def test_imports_point_one_way() -> None:
    found: list[str] = []
    for name in MODULES.keys() - {"hippocampe"}:
        allowed = {package(name), *ALLOWED[package(name)].split()}
        others = imported(name, at_import=False) - {"hippocampe"}
        found += [f"{name} imports {each}" for each in others if package(each) not in allowed]
    assert sorted(found) == []


def test_pure_packages_are_pure() -> None:
    pure = [name for name in MODULES if name != "hippocampe" and package(name) in PURE]
    assert pure
    assert [each for name in pure for each in impurities(name)] == []


def impurities(name: str) -> list[str]:
    """The libraries and calls of a module that read anything but its arguments."""
    found: list[str] = []
    for node in ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            used = {alias.name.split(".")[0] for alias in node.names} & IMPURE_LIBRARIES
        elif isinstance(node, ast.ImportFrom):
            used = {(node.module or "").split(".")[0]} & IMPURE_LIBRARIES
        elif isinstance(node, ast.Call) and name not in PURE_READERS:
            used = {ast.unparse(node.func).split(".")[-1]} & IMPURE_CALLS
        else:
            continue
        found += [f"{name}:{node.lineno} uses {each}" for each in used]
    return found


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


def test_every_verb_is_documented() -> None:
    short, silent = set[str](), set[str]()
    for verb in VERBS:
        text = inspect.getdoc(getattr(Hippocampe, verb)) or ""
        if len(text.split("\n")[0]) <= 10:
            short.add(verb)
        names = inspect.signature(getattr(Hippocampe, verb)).parameters.keys() - {"self", "scope"}
        if names and "Raises:" not in text:
            silent.add(verb)
    assert VERBS
    assert short == set()
    assert silent <= SILENT


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
