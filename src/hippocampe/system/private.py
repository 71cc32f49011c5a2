"""Files and folders that only their user can read, independent of the umask.

Permissions exist on POSIX only: on Windows, files have those of the user's own folders.
"""

import os
import stat
from collections.abc import Collection, Iterator
from contextlib import suppress
from pathlib import Path

_FOLDER, _FILE = 0o700, 0o600
_OTHERS = 0o077
_POSIX = os.name == "posix"


def opener(path: str, flags: int) -> int:
    """The `opener` of `open` that makes the file private, a new one from its creation on."""
    descriptor = os.open(path, flags, _FILE)
    if _POSIX:
        # File systems without permissions refuse.
        with suppress(OSError):
            os.fchmod(descriptor, _FILE)
    return descriptor


def make_file(path: Path) -> None:
    """Create an empty file.

    Raises:
        FileExistsError: It exists.
    """
    open(path, "xb", opener=opener).close()


def replace_text(path: Path, text: str, *, durable: bool = False) -> None:
    """Replace a file atomically: a reader or a crash sees the old text or the new one; a power cut too, if `durable`."""
    temporary = path.with_name(f"{path.name}.new")
    try:
        with open(temporary, "w", encoding="utf-8", opener=opener) as file:
            file.write(text)
            if durable:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
    except OSError:
        temporary.unlink(missing_ok=True)
        raise


def make_folder(path: Path) -> None:
    """Create a folder and its missing parents; an existing one keeps its permissions."""
    if path.is_dir():
        return
    if not path.parent.exists():
        make_folder(path.parent)
    try:
        path.mkdir(mode=_FOLDER)
    except FileExistsError:
        # Another process was faster.
        if not path.is_dir():
            raise
        return
    if _POSIX:
        with suppress(OSError):
            path.chmod(_FOLDER)


def mend(folder: Path, own: Collection[str]) -> tuple[int, int]:
    """Remove the access of other users to a data folder made without this module.

    The folder itself is mended only if it holds nothing but our own files: one that the user shares
    with other files, such as a home, keeps its permissions.

    Args:
        own: Names of our own files and folders in it, in lower case.

    Returns:
        The number of files and folders made private, and of those that this user may not change.
    """
    if not _POSIX:
        return 0, 0
    reachable = folder.stat().st_mode & _OTHERS
    with os.scandir(folder) as entries:
        paths = [Path(entry.path) for entry in entries]
    # Some file systems ignore case.
    ours = [path for path in paths if path.name.casefold() in own]
    outcomes = [_restrict(each) for path in ours for each in _tree(path)]
    if len(ours) == len(paths):
        outcomes.append(_restrict(folder))
    if not reachable:
        # A crash left files with the permissions of the umask, in a private folder.
        return 0, 0
    return outcomes.count(True), outcomes.count(None)


def restrict(folder: Path) -> None:
    """Make a whole folder private: the index engine creates files with the permissions of the umask."""
    if _POSIX:
        for path in _tree(folder):
            _restrict(path)


def _tree(path: Path) -> Iterator[Path | os.DirEntry[str]]:
    yield path
    yield from _below(path)


def _below(folder: Path | os.DirEntry[str]) -> Iterator[os.DirEntry[str]]:
    # Entries of a folder know what they are: paths would take three times the time.
    with suppress(OSError), os.scandir(folder) as entries:
        for entry in entries:
            yield entry
            if entry.is_dir(follow_symlinks=False):
                yield from _below(entry)


def _restrict(path: Path | os.DirEntry[str]) -> bool | None:
    """Restrict a file or folder; return whether permissions were removed, None if that is not permitted."""
    try:
        mode = path.stat(follow_symlinks=False).st_mode
        # A link's target may be anything.
        if stat.S_ISLNK(mode) or not mode & _OTHERS:
            return False
        Path(path).chmod(stat.S_IMODE(mode) & ~_OTHERS)
    except FileNotFoundError:
        return False
    except OSError:
        return None
    return True
