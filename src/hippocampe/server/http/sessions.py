"""Logins of browsers: a cookie identifies one; its key stays in this process."""

import hashlib
import hmac
import secrets
import time
from collections.abc import Callable
from dataclasses import dataclass

from hippocampe.system.recent import Recent

COOKIE = "hippocampe_session"
TOKEN_HEADER = "x-csrf-token"
SAFE_METHODS = frozenset({"GET", "HEAD", "OPTIONS"})
IDLE_SECONDS = 12 * 3_600
"""Idle timeout of a login."""
MOST = 1_000
"""Most logins; the least recently used one is dropped."""


@dataclass(slots=True)
class _Login:
    secret: str
    used: float


class Sessions:
    """The logins of a server.

    A login holds the text of its key, which each request verifies again: revoking the key ends the login
    at once.

    Args:
        signing: The secret that makes CSRF tokens, for several processes that share it; default: a random one.
    """

    def __init__(
        self, clock: Callable[[], float] = time.monotonic, *, signing: bytes | None = None
    ) -> None:
        self._clock = clock
        self._signing = signing or secrets.token_bytes(32)
        self._logins = Recent[str, _Login](MOST)

    def open(self, secret: str) -> str:
        """Start a login with a key; return the value of its cookie."""
        session = new_id()
        self.adopt(session, secret)
        return session

    def adopt(self, session: str, secret: str) -> None:
        """Take over a login that another process started."""
        self._logins[session] = _Login(secret, self._clock())

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
        """The CSRF token of a cookie, which a change has to send beside it."""
        return hmac.new(self._signing, session.encode(), hashlib.sha256).hexdigest()

    def genuine(self, session: str, token: str | None) -> bool:
        """Return whether a CSRF token belongs to this cookie."""
        sent = (token or "").encode("utf-8", "replace")
        return hmac.compare_digest(self.token(session).encode(), sent)


def new_id() -> str:
    """A random value for a cookie."""
    return secrets.token_urlsafe(32)
