"""Fetch benchmarks and data that others made, each at a pinned commit.

    python benchmarks/foreign/fetch.py FOLDER [NAME...]

Needs git. A commit is the checksum of everything in it: git refuses content that does not match. Each has its own
licence, which the folder keeps; nothing of it is copied into this project.
"""

import hashlib
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Source:
    """A repository at a commit, and the folder or file of it that is needed."""

    url: str
    commit: str
    path: str
    licence: str


SOURCES = {
    "bm-bench": Source(
        "https://github.com/basicmachines-co/basic-memory",
        "4d1dfdb7",
        "benchmarks",
        "AGPL-3.0",
    ),
    "precision": Source("https://github.com/tenurehq/precisionMemBench", "18c7955", ".", "MIT"),
    "locomo": Source(
        "https://github.com/snap-research/locomo", "HEAD", "data/locomo10.json", "CC BY-NC 4.0"
    ),
    "locomo-audit": Source(
        "https://github.com/dial481/locomo-audit", "9493fb4", "audit", "see the repository"
    ),
    "piaf": Source("https://github.com/etalab/piaf", "HEAD", ".", "MIT"),
}


def fetch(name: str, folder: Path) -> Path:
    """Clone a source at its commit; return the path of what is needed of it."""
    source, clone = SOURCES[name], folder / name
    if not clone.exists():
        run(
            "git", "clone", "--quiet", "--filter=blob:none", "--no-checkout", source.url, str(clone)
        )
    run("git", "-C", str(clone), "checkout", "--quiet", source.commit)
    return clone / source.path


def run(*line: str) -> None:
    subprocess.run(line, check=True, timeout=600)


def main(folder: str, *names: str) -> None:
    """Fetch sources, and print where they are, their licence and the digest of each single file."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for name in names or SOURCES:
        path = fetch(name, target)
        digest = (
            f" sha256:{hashlib.sha256(path.read_bytes()).hexdigest()}" if path.is_file() else ""
        )
        print(f"{name}: {path} ({SOURCES[name].licence}){digest}")


if __name__ == "__main__":
    main(*sys.argv[1:])
