"""The login name of the user of this process."""

import os

from hippocampe.system.environment import variable


def login_name() -> str | None:
    """The login name, or None if the user has none, as in a container with a bare number.

    As `getpass.getuser`, whose module takes longer to import, and which raises without a name.
    """
    for name in ("USER", "LOGNAME", "USERNAME"):
        if found := variable(name):
            return found
    try:
        import pwd

        return pwd.getpwuid(os.getuid()).pw_name
    except (ImportError, KeyError):
        return None
