"""Logins of browsers: a cookie names one, and the key behind it stays in this process."""

import hashlib
import hmac
import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

COOKIE = "hippocampe_session"
TOKEN_HEADER = "x-csrf-token"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
IDLE_SECONDS = 12 * 3_600
"""A login ends after this long without a request."""
MOST = 1_000
"""Logins that are kept; the one that was used least recently goes first."""


@dataclass(slots=True)
class _Login:
    secret: str
    used: float


class Sessions:
    """The logins of a server.

    A login holds the text of its key, so that each request looks the key up again: revoking the key ends
    the login at once.

    Args:
        clock: Seconds that never go back.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._signing = secrets.token_bytes(32)
        self._logins: OrderedDict[str, _Login] = OrderedDict()

    def open(self, secret: str) -> str:
        """Start a login with a key; the value of its cookie."""
        session = new_id()
        self._logins[session] = _Login(secret, self._clock())
        while len(self._logins) > MOST:
            self._logins.popitem(last=False)
        return session

    def secret(self, session: str) -> str | None:
        """The text of the key of a login; None if there is no such login, or it ended."""
        login = self._logins.get(session)
        if login is None:
            return None
        now = self._clock()
        if now - login.used > IDLE_SECONDS:
            self.close(session)
            return None
        login.used = now
        self._logins.move_to_end(session)
        return login.secret

    def close(self, session: str) -> None:
        """End a login."""
        self._logins.pop(session, None)

    def token(self, session: str) -> str:
        """What a request that changes something has to carry beside its cookie."""
        return hmac.new(self._signing, session.encode(), hashlib.sha256).hexdigest()

    def genuine(self, session: str, token: str | None) -> bool:
        """Whether a token was made for this cookie."""
        given = (token or "").encode("utf-8", "replace")
        return hmac.compare_digest(self.token(session).encode(), given)


def new_id() -> str:
    """The value of a cookie: nobody guesses it."""
    return secrets.token_urlsafe(32)
