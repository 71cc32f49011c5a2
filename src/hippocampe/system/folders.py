"""Per-user folders of the platform.

Raises `RuntimeError` where the user has no home.
"""

from pathlib import Path

import platformdirs


def data_folder() -> Path:
    """The folder for data that must not be lost."""
    # Without a home the path still begins with "~", and `expanduser` raises.
    return platformdirs.user_data_path("hippocampe", appauthor=False).expanduser()


def config_folder() -> Path:
    """The folder for files that the user writes."""
    return platformdirs.user_config_path("hippocampe", appauthor=False).expanduser()


def cache_folder() -> Path:
    """The folder for files that can be recreated."""
    return platformdirs.user_cache_path("hippocampe", appauthor=False).expanduser()
