"""Per-user folders of the platform."""

from collections.abc import Callable
from pathlib import Path

import platformdirs

from hippocampe.errors import InvalidInput


def data_folder() -> Path:
    """The folder for data that must not be lost.

    Raises:
        InvalidInput: The user has no home.
    """
    return _of_user(platformdirs.user_data_path)


def config_folder() -> Path:
    """The folder for files that the user writes.

    Raises:
        InvalidInput: The user has no home.
    """
    return _of_user(platformdirs.user_config_path)


def cache_folder() -> Path:
    """The folder for files that can be recreated.

    Raises:
        InvalidInput: The user has no home.
    """
    return _of_user(platformdirs.user_cache_path)


def _of_user(find: Callable[..., Path]) -> Path:
    try:
        # Without a home some versions raise, others return a path that begins with "~".
        return find("hippocampe", appauthor=False).expanduser()
    except RuntimeError as exc:
        raise InvalidInput(
            "this user has no home folder, where the data folder is by default: name a folder with --folder or "
            "HIPPOCAMPE_FOLDER, or set HOME."
        ) from exc
