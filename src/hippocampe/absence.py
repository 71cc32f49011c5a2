"""Whether a text is left in the files of a data folder, looked for in a process of its own.

A process that opens the file of an open database and closes it gives up the locks that SQLite has
on it (see `Store.read_ahead`), so the one that serves must not.
"""

import json
import sys
from collections.abc import Sequence
from pathlib import Path

from hippocampe import child
from hippocampe.errors import StoreError
from hippocampe.text import fold


def found_in_files(folder: Path, texts: Sequence[str]) -> tuple[str, ...]:
    """Those of some texts that a file below a folder holds, in their case, lower case or folded.

    Raises:
        StoreError: The files could not be read.
    """
    if not texts:
        return ()
    try:
        found = child.run(("-m", "hippocampe.absence"), [str(folder), *texts])
    except child.ChildFailed as exc:
        raise StoreError(f"the files in {folder} could not be searched: {exc}.") from exc
    return tuple(json.loads(found))


def _holds(folder: Path, text: str) -> bool:
    needles = {form.encode() for form in (text, text.lower(), fold(text)) if form}
    overlap = max(map(len, needles), default=1) - 1
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
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
    print(json.dumps([text for text in texts if _holds(Path(folder), text)]))
