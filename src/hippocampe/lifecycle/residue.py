"""Find the files of a data folder that contain a text, in a child process.

Closing a database file drops all SQLite locks of the process on it (see `Store.read_ahead`), so the
serving process must never open it directly.
"""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

from hippocampe.errors import StoreError
from hippocampe.language.text import fold
from hippocampe.system import worker


def found_in_files(folder: Path, texts: Sequence[str]) -> Mapping[str, tuple[str, ...]]:
    """The texts found in files below a folder, each with the relative paths of these files.

    Each text is searched in all its `spellings`.

    Raises:
        StoreError: The files could not be read.
    """
    if not texts:
        return {}
    try:
        found = worker.run(("-m", "hippocampe.lifecycle.residue"), [str(folder), *texts])
    except worker.ChildFailed as exc:
        raise StoreError(f"the files in {folder} could not be searched: {exc}.") from exc
    return {text: tuple(paths) for text, paths in json.loads(found).items() if paths}


def spellings(text: str) -> set[str]:
    """A text as given, in lower case, in upper case, capitalised and folded."""
    return {text, text.lower(), text.upper(), text.title(), fold(text)} - {""}


def _needles(text: str) -> set[bytes]:
    # Earlier versions stored JSON with escaped non-ASCII characters.
    forms = spellings(text)
    return {form.encode() for form in forms | {json.dumps(form)[1:-1] for form in forms}}


def _files_with(folder: Path, text: str) -> list[str]:
    needles = _needles(text)
    files = (path for path in sorted(folder.rglob("*")) if path.is_file())
    return [str(path.relative_to(folder)) for path in files if _holds(path, needles)]


def _holds(path: Path, needles: set[bytes]) -> bool:
    overlap = max(map(len, needles)) - 1
    with path.open("rb") as file:
        tail = b""
        while block := file.read(1 << 20):
            window = tail + block
            if any(needle in window for needle in needles):
                return True
            tail = window[-overlap:] if overlap else b""
    return False


if __name__ == "__main__":
    folder, *texts = json.load(sys.stdin)
    print(json.dumps({text: _files_with(Path(folder), text) for text in texts}))
