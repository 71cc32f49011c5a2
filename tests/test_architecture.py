"""The layout: imports point one way, importing stays light, and the door is documented."""

import ast
import dataclasses
import inspect
import subprocess
import sys
from functools import cache
from pathlib import Path

import hippocampe
from hippocampe import Hippocampe, errors, types

SOURCE = Path(hippocampe.__file__).parent
CONTRIBUTING = SOURCE.parents[1] / "CONTRIBUTING.md"
ALLOWED: dict[str, str] = {
    "errors": "",
    "types": "errors",
    "config": "errors types",
    "protocols": "types",
    "actor": "",
    "verbs": "types",
    "system": "errors",
    "config_sources": "errors config system",
    "cells": "errors system",
    "language": "errors",
    "presentation": "types language",
    "validation": "errors types language",
    "client": "errors types verbs config system language cells",
    "store": "errors types protocols system cells",
    "embed": "errors protocols system",
    "model": "errors types protocols system",
    "index": "errors types config protocols system language store",
    "reader": "errors",
    "engine": "errors types verbs config protocols actor system language validation store embed index"
    " reader",
    "updates": "errors types protocols language store engine",
    "notes": "errors types config protocols system language store engine",
    "ingest": "errors types protocols system language validation store engine updates notes",
    "retrieval": "errors types protocols system language validation store embed reader engine",
    "injection": "errors types config protocols system language validation store embed index engine"
    " reader updates notes retrieval",
    "curation": "errors types protocols language validation store index engine updates ingest"
    " retrieval",
    "extraction": "errors types protocols language validation store engine updates ingest retrieval"
    " curation",
    "folder": "errors types config protocols system cells language validation client store embed model"
    " index engine ingest retrieval curation",
    "hippocampe": "errors types verbs config actor cells validation client reader engine updates notes ingest"
    " retrieval injection curation extraction folder",
    "migration": "errors types config store engine retrieval folder hippocampe",
    "aio": "types verbs config system hippocampe",
    "integrations": "errors types system config_sources language hippocampe aio",
    "companion": "errors types system language validation model hippocampe aio",
    "server": "errors types verbs config actor system cells language presentation validation client embed model"
    " hippocampe aio integrations companion",
    "testing": "errors protocols",
    "resident": "errors system config_sources embed reader hippocampe",
    "demo": "errors types config hippocampe",
    "cli": "errors types verbs config actor system cells config_sources language presentation validation client"
    " embed model hippocampe migration companion server demo",
    "__main__": "cli",
}
"""What each package or module at the top may import, in the order in which data flows."""

NEVER = {
    "language": ("store index engine updates", "parsing needs no data and no decision"),
    "index": ("engine", "the index knows points, not the rows that they come from"),
    "updates": ("ingest retrieval", "a decision neither writes nor answers questions"),
    "notes": ("ingest retrieval", "notes are a source of their own"),
    "ingest": ("retrieval", "writing and reading are siblings"),
    "retrieval": ("updates ingest", "a question decides and writes nothing"),
    "injection": ("ingest curation extraction", "a turn writes no memory"),
    "curation": ("injection", "erasure knows no turn"),
    "extraction": ("injection", "talk becomes memories whether or not a turn was served"),
    "folder": ("injection hippocampe", "a folder is opened without a turn"),
    "client": ("store index engine hippocampe", "a client of the owner owns nothing"),
}
"""What a package never reaches, even through others, and why."""

STEPS = set(
    "store index engine updates notes ingest retrieval injection curation extraction folder".split()
)
DOORS = ("aio", "integrations", "companion", "server", "resident", "demo", "cli")
ROOMS = {
    "http": "",
    "api": "http",
    "mcp": "http api",
    "proxy": "http",
    "dashboard": "http",
    "cells": "http api dashboard proxy app serving",
}
"""What each room of the server may import of the others; `app` and `serving` put them together."""

PURE = {"language", "presentation", "updates"}
IMPURE = {
    "hippocampe.updates.nomination": "reads the store and the index",
    "hippocampe.updates.judgement": "reads the store",
    "hippocampe.updates.twins": "reads the store",
}
"""Modules of these packages that are not pure, and why; no pure module imports them."""
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
    "hippocampe.updates.learnt",
}
"""Pure modules that read data files of the package, and nothing else."""


def module_name(path: Path) -> str:
    parts = path.relative_to(SOURCE.parent).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


MODULES = {module_name(path): path for path in sorted(SOURCE.rglob("*.py"))}


@cache
def nodes_of(name: str) -> list[ast.AST]:
    """The nodes of a module, itself first."""
    return list(ast.walk(ast.parse(MODULES[name].read_text(encoding="utf-8"))))


@cache
def imported(name: str, *, at_import: bool) -> set[str]:
    """The modules of the package that one names; only those it loads when it is loaded itself."""
    module, *inside = nodes_of(name)
    assert isinstance(module, ast.Module)
    nodes = [
        node
        for node in (module.body if at_import else inside)
        if isinstance(node, ast.Import | ast.ImportFrom)
    ]
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


def package_map() -> str:
    """The table of CONTRIBUTING: each package, the first line of its docstring, and its imports."""
    lines = ["| package | task | imports |", "|---|---|---|"]
    for name, allowed in ALLOWED.items():
        tree = ast.parse(MODULES[f"hippocampe.{name}"].read_text(encoding="utf-8"))
        task = (ast.get_docstring(tree) or "").split("\n")[0]
        lines.append(f"| `{name}` | {task} | {allowed.replace(' ', ', ')} |")
    return "\n".join(lines) + "\n"


def write_package_map() -> None:
    """Replace the table in CONTRIBUTING by `package_map`."""
    text = CONTRIBUTING.read_text(encoding="utf-8")
    head, rest = text.split("| package |", 1)
    CONTRIBUTING.write_text(f"{head}{package_map()}\n" + rest.split("\n\n", 1)[1], "utf-8")


def test_the_map_is_generated() -> None:
    text = CONTRIBUTING.read_text(encoding="utf-8")
    assert package_map() in text, "run `python tests/test_architecture.py`: it writes the map"


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


def reached(name: str) -> set[str]:
    """The packages that one imports, directly or through others."""
    direct = ALLOWED[name].split()
    return {*direct, *(each for other in direct for each in reached(other))}


def test_what_a_package_never_reaches() -> None:
    for name, (others, reason) in NEVER.items():
        assert reached(name).isdisjoint(others.split()), f"{name}: {reason}"


def test_doors_use_the_facade() -> None:
    past = [
        f"{name} imports {other}"
        for name in MODULES
        if name != "hippocampe" and package(name) in DOORS
        for other in sorted(imported(name, at_import=False) - {"hippocampe"})
        if package(other) in STEPS
    ]
    assert past == []


def test_rooms_of_the_server_are_apart() -> None:
    for name in MODULES:
        parts = name.split(".")
        if parts[1:2] != ["server"] or len(parts) < 3 or parts[2] in ("app", "serving"):
            continue
        allowed = {parts[2], *ROOMS[parts[2]].split()}
        for other in imported(name, at_import=False):
            if other.startswith("hippocampe.server."):
                assert other.split(".")[2] in allowed, f"{name} may not import {other}"


PURE_MODULES = sorted(
    name
    for name in MODULES
    if name != "hippocampe" and package(name) in PURE and name not in IMPURE
)


def test_pure_packages_are_pure() -> None:
    known = {*PURE_MODULES, "hippocampe.errors", "hippocampe.types"}
    impure = [
        f"{name} imports {other}"
        for name in PURE_MODULES
        for other in imported(name, at_import=False) - known
    ]
    assert [*impure, *(each for name in PURE_MODULES for each in impurities(name))] == []


def impurities(name: str) -> list[str]:
    """The libraries and calls of a module that read anything but its arguments."""
    found: list[str] = []
    for node in nodes_of(name):
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
    for name in MODULES:
        for node in nodes_of(name):
            if not isinstance(node, ast.ExceptHandler):
                continue
            raises = any(isinstance(inner, ast.Raise) for inner in ast.walk(node))
            catches = node.type is None or (
                isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException")
            )
            if catches and not raises:
                found.append(f"{name}:{node.lineno}")
    assert len(found) <= 2, found


if __name__ == "__main__":
    write_package_map()
