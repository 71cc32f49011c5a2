"""HTTP client of an embedding service: requests, retries, errors.

It supports the protocols of OpenAI and Voyage: one POST to `/embeddings`. Error messages of a
service may quote the key, so exceptions are not chained and their text is redacted.
"""

import base64
import json
import os
import random
import time
import weakref
from collections.abc import Sequence
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from numpy.typing import ArrayLike

from hippocampe.errors import EmbedderUnavailable

if TYPE_CHECKING:
    import httpx

Kind = Literal["query", "document"]

ATTEMPTS = 4
FIRST_PAUSE_SECONDS = 0.25
"""Doubled after each attempt, with a jitter of ±50 % so that callers that failed together do not
retry together. A longer `Retry-After` takes precedence."""
MAX_CONNECTIONS = 64


KEYS = {"openai": "OPENAI_API_KEY", "voyageai": "VOYAGE_API_KEY"}
URLS = {"openai": "https://api.openai.com/v1", "voyageai": "https://api.voyageai.com/v1"}


def key_of(provider: str) -> str:
    """The key of a provider in the environment; empty without one."""
    return os.environ.get(KEYS[provider], "").strip()


class _Failed(Exception):
    """One attempt failed; the message completes "MODEL …"."""

    def __init__(self, reason: str, *, retry: bool = False, pause: float = 0.0) -> None:
        super().__init__(reason)
        self.retry = retry
        self.pause = pause


class Connection:
    """A connection pool to one service. Thread-safe.

    Raises:
        EmbedderUnavailable: The key is missing.
    """

    def __init__(self, provider: str, name: str, url: str | None, timeout: float) -> None:
        # Not at the top: the local embedder does without it.
        import httpx

        self._httpx = httpx
        self._provider = provider
        self._name = name
        self._timeout = timeout
        self._key = key_of(provider)
        if not self._key and url is None:
            raise EmbedderUnavailable(
                f"{provider}:{name} cannot be used without a key: set the environment variable "
                f"{KEYS[provider]}, or give the URL of a server that needs none, or use the "
                "embedder 'local'."
            )
        default = os.environ.get("OPENAI_BASE_URL", "").strip() if provider == "openai" else None
        base = httpx.URL(url or default or URLS[provider])
        self._host = base.netloc.decode() if url else f"the {provider} API"
        # Credentials are taken out of the URL, because httpx logs it.
        self._auth = (base.username, base.password) if base.userinfo else None
        self._client = httpx.Client(
            base_url=base.copy_with(userinfo=b""),
            headers={"Authorization": f"Bearer {self._key or 'none'}"},
            limits=httpx.Limits(max_connections=MAX_CONNECTIONS),
            follow_redirects=True,
        )
        self.close = weakref.finalize(self, self._client.close)

    def embed(self, texts: list[str], kind: Kind) -> Sequence[ArrayLike]:
        """Embed texts in one request, with retries.

        Returns:
            The vectors as the service sent them, not checked.

        Raises:
            EmbedderUnavailable: There was no usable answer in time.
        """
        deadline = time.monotonic() + self._timeout
        left, pause = ATTEMPTS, FIRST_PAUSE_SECONDS
        while True:
            left -= 1
            try:
                return _vectors(self._post(texts, kind, deadline))
            except _Failed as failure:
                wait = max(pause * random.uniform(0.5, 1.5), failure.pause)
                if not (failure.retry and left) or time.monotonic() + wait >= deadline:
                    reason = str(failure)
                    break
            except (KeyError, TypeError, ValueError) as error:
                reason = (
                    f"gave an answer that is not an embedding response ({type(error).__name__}): "
                    f"check that {self._host} is the base URL of a compatible server"
                )
                break
            time.sleep(wait)
            pause *= 2
        # Outside the handlers: a chained exception could show the key.
        raise EmbedderUnavailable(f"{self._provider}:{self._name} {reason}.")

    def _post(self, texts: list[str], kind: Kind, deadline: float) -> bytearray:
        body: dict[str, Any] = {"model": self._name, "input": texts, "encoding_format": "base64"}
        if self._provider == "voyageai":
            body |= {"input_type": kind, "truncation": True}
        left = max(deadline - time.monotonic(), 0.001)
        try:
            with self._client.stream(
                "POST", "embeddings", json=body, timeout=left, auth=self._auth
            ) as response:
                content = bytearray()
                for chunk in response.iter_bytes():
                    content += chunk
                    # The client's timeout is one of inactivity.
                    if time.monotonic() > deadline:
                        raise self._httpx.ReadTimeout("")
        except self._httpx.TimeoutException:
            raise _Failed(
                f"gave no answer within {self._timeout:g} seconds: raise the time-out, or check "
                f"{self._host}"
            ) from None
        except self._httpx.HTTPError:
            reason = f"cannot be reached at {self._host}: check the network and the URL"
            raise _Failed(reason, retry=True) from None
        if not response.is_success:
            raise self._failure(response, content)
        return content

    def _failure(self, response: "httpx.Response", content: bytearray) -> _Failed:
        code = response.status_code
        status = f"HTTP {code}"
        if code in (401, 403):
            return _Failed(f"was refused its key ({status}): check {KEYS[self._provider]}")
        if code == 404:
            return _Failed(f"was not found at {self._host} ({status}): check the model and the URL")
        if code in (402, 429):
            # An exhausted quota has the same status as a rate limit, and no retry helps.
            retry = code == 429 and b"insufficient_quota" not in content
            return _Failed(
                f"has used up its quota or rate ({status}): wait, or raise the limit",
                retry=retry,
                pause=_retry_after(response.headers),
            )
        detail = content.decode(errors="replace")
        # Redacted before it is cut: half a key would not be recognised.
        detail = detail.replace(self._key, "…") if self._key else detail
        return _Failed(
            f"failed at {self._host} ({status}): {detail[:200]}",
            retry=code >= 500 or code == 408,
            pause=_retry_after(response.headers),
        )


def _vectors(content: bytearray) -> list[ArrayLike]:
    rows = [item["embedding"] for item in json.loads(content)["data"]]
    # Servers that do not know base64 send lists.
    return [
        np.frombuffer(base64.b64decode(row, validate=True), "<f4") if isinstance(row, str) else row
        for row in rows
    ]


def _retry_after(headers: "httpx.Headers") -> float:
    """Seconds to wait, from a `Retry-After` header of seconds or a date; 0 without one."""
    value = headers.get("retry-after", "0")
    try:
        return float(value)
    except ValueError:
        pass
    try:
        return parsedate_to_datetime(value).timestamp() - time.time()
    except ValueError:
        return 0.0
