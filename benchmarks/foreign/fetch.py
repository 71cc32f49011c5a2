"""Fetch benchmarks and data that others made, each at a pinned commit, but for PIAF, which is the newest.

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
    sha256: str = ""
    """Of the file, for what also circulates outside of its repository."""


SOURCES = {
    "bm-bench": Source(
        "https://github.com/basicmachines-co/basic-memory",
        "4d1dfdb7",
        "benchmarks",
        "AGPL-3.0",
    ),
    "precision": Source("https://github.com/tenurehq/precisionMemBench", "18c7955", ".", "MIT"),
    "locomo": Source(
        "https://github.com/snap-research/locomo",
        "3eb6f2c585f5e1699204e3c3bdf7adc5c28cb376",
        "data/locomo10.json",
        "CC BY-NC 4.0",
        "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4",
    ),
    "locomo-audit": Source(
        "https://github.com/dial481/locomo-audit", "9493fb4", "audit", "see the repository"
    ),
    "beam": Source(
        "https://github.com/mohammadtavakoli78/BEAM",
        "5a64c992ba05b489b891221b7bcb6b763493dde5",
        "chats/100K",
        "see the repository",
    ),
    "realtalk": Source(
        "https://github.com/danny911kr/REALTALK",
        "b903e06a9770bf4e5fe9018c3e132889666d3b4a",
        "data",
        "see the repository",
    ),
    "piaf": Source("https://github.com/etalab/piaf", "HEAD", ".", "MIT"),
}


def fetch(name: str, folder: Path) -> Path:
    """Clone a source at its commit; return the path of what is needed of it.

    Raises:
        ValueError: A file is not the one that the figures are of.
    """
    source, clone = SOURCES[name], folder / name
    if not clone.exists():
        run(
            "git", "clone", "--quiet", "--filter=blob:none", "--no-checkout", source.url, str(clone)
        )
    run("git", "-C", str(clone), "checkout", "--quiet", source.commit)
    path = clone / source.path
    if source.sha256 and digest(path) != source.sha256:
        raise ValueError(f"{path} is not the file of {source.commit}: delete {clone} and try again")
    return path


def digest(path: Path) -> str:
    """The sha256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run(*line: str) -> None:
    subprocess.run(line, check=True, timeout=600)


def main(folder: str, *names: str) -> None:
    """Fetch sources, and print where they are, their licence and the digest of each single file."""
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for name in names or SOURCES:
        path = fetch(name, target)
        found = f" sha256:{digest(path)}" if path.is_file() else ""
        print(f"{name}: {path} ({SOURCES[name].licence}){found}")


if __name__ == "__main__":
    main(*sys.argv[1:])
