"""Fetch benchmarks and data that others made, each at a pinned commit.

    python benchmarks/foreign/fetch.py FOLDER [NAME...]

Needs git. A commit is the checksum of everything in it: git refuses content that does not match. Each has its own
licence, which the folder keeps; nothing of it is copied into this project.
"""

import hashlib
import shutil
import subprocess
import sys
import tempfile
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
    "precision": Source(
        "https://github.com/tenurehq/precisionMemBench",
        "18c7955357b33098a64d601bc8e4624c41743972",
        ".",
        "MIT",
    ),
    "locomo": Source(
        "https://github.com/snap-research/locomo",
        "3eb6f2c585f5e1699204e3c3bdf7adc5c28cb376",
        "data/locomo10.json",
        "CC BY-NC 4.0",
        "79fa87e90f04081343b8c8debecb80a9a6842b76a7aa537dc9fdf651ea698ff4",
    ),
    "locomo-audit": Source(
        "https://github.com/dial481/locomo-audit",
        "9493fb4b4af4256ed17a18e8fd0b3cfdeec29539",
        "audit",
        "see the repository",
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
    # The release that was measured, in the repository of one of its makers.
    "piaf": Source(
        "https://github.com/psorianom/piaf-combo-huggingface",
        "27a766079586eb16ec636c27d66dfc277fb8a922",
        "data/piaf-v1.1.json",
        "as piaf-1.0",
    ),
    "piaf-1.0": Source(
        "https://github.com/etalab-ia/piaf-code",
        "6f860d2cd0d7afdc735ce1f924f6f66ec141a165",
        "piaf-v1.0.json",
        "MIT",
        "008229ccefa0195d7e809d777d33149cab03433059c9477bdbadb4838a277cd2",
    ),
}


def fetch(name: str, folder: Path) -> Path:
    """Clone a source at its commit, unless it is there; return the path of what is needed of it.

    Raises:
        ValueError: A file is not the one that the figures are of.
        subprocess.CalledProcessError: git cannot fetch it, and has said why.
    """
    source, clone = SOURCES[name], folder / name
    if not commit_of(clone).startswith(source.commit):
        with tempfile.TemporaryDirectory(dir=folder, prefix=f".{name}-") as scratch:
            made = Path(scratch) / name
            options = ("--quiet", "--filter=blob:none", "--no-checkout")
            run("git", "clone", *options, source.url, str(made))
            run("git", "-C", str(made), "checkout", "--quiet", source.commit)
            check(name, made)
            shutil.rmtree(clone, ignore_errors=True)
            made.rename(clone)
    check(name, clone)
    return clone / source.path


def commit_of(clone: Path) -> str:
    """The commit of a clone; empty if there is none."""
    line = ("git", "--git-dir", str(clone / ".git"), "rev-parse", "HEAD")
    done = subprocess.run(line, capture_output=True, text=True, check=False)
    return "" if done.returncode else done.stdout.strip()


def check(name: str, clone: Path) -> None:
    """Compare the file of a source with its digest, if it has one."""
    source = SOURCES[name]
    if source.sha256 and (found := digest(clone / source.path)) != source.sha256:
        raise ValueError(
            f"{source.path} is not the file that the figures are of, since its sha256 is {found} and not "
            f"{source.sha256}: delete the folder {name} and fetch it again"
        )


def digest(path: Path) -> str:
    """The sha256 of a file."""
    return hashlib.sha256(path.read_bytes()).hexdigest()


def run(*line: str) -> None:
    subprocess.run(line, check=True, timeout=600)


def main(folder: str, *names: str) -> None:
    """Fetch sources, and print where they are, their licence and the digest of each single file."""
    if unknown := set(names) - set(SOURCES):
        raise SystemExit(f"{', '.join(unknown)}: not known; known are {', '.join(SOURCES)}")
    target = Path(folder)
    target.mkdir(parents=True, exist_ok=True)
    for name in names or SOURCES:
        path = fetch(name, target)
        found = f" sha256:{digest(path)}" if path.is_file() else ""
        print(f"{name}: {path} ({SOURCES[name].licence}){found}")


if __name__ == "__main__":
    main(*sys.argv[1:])
