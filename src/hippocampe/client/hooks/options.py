"""The options of a hook: from the command line, or from the environment."""

import os

from hippocampe.system.environment import variable
from hippocampe.system.login import login_name

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

NAMES = ("folder", "space", "user", "channel")


class Options:
    """The options of a hook: which memory it uses, and for whom.

    Args:
        values: Values by the names in `NAMES`; missing ones come from the environment.

    Attributes:
        address: The base URL of the server to use instead of that of a folder.
        space: The space; None is that of the key, or `default`.
        user: The speaker; default: the login name.
        channel: The conversation; None is the folder of the project.
    """

    def __init__(self, values: "Mapping[str, str | None]") -> None:
        def find(name: str) -> str | None:
            return values.get(name) or variable(f"HIPPOCAMPE_{name.upper()}")

        self.address = find("url")
        self.key = find("key")
        self._folder = find("folder")
        self.space = find("space")
        self.user = find("user") or login_name()
        self.channel = find("channel")

    @property
    def ambiguous(self) -> bool:
        """Return whether both a folder and a server are chosen, which may hold different memories."""
        return self.address is not None and self._folder is not None

    @property
    def folder(self) -> str:
        if self._folder is None:
            from hippocampe.system.folders import data_folder

            self._folder = os.fspath(data_folder())
        return os.path.expanduser(self._folder)

    def channel_of(self, project: str) -> str:
        """The conversation in a project: its folder's name, if no other is chosen."""
        return self.channel or os.path.basename(os.path.normpath(project)) or "project"


def parse(typed: "Sequence[str]") -> Options | None:
    """Parse a command line after the name of the hook; None if it has unknown parts."""
    values: dict[str, str | None] = {}
    rest = list(typed)
    while rest:
        option, sign, value = rest.pop(0).partition("=")
        name = "folder" if option == "-f" else option.removeprefix("--")
        if name not in NAMES or not option.startswith("-") or not (sign or rest):
            return None
        values[name] = value if sign else rest.pop(0)
    return Options(values)
