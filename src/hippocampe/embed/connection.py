"""One embedding service reached over HTTP: its client, its event loop, its retries, its errors.

The clients are async and bound to one event loop, so a connection has a loop of its own in a
daemon thread, and callers on any thread wait for it. A key never leaves the client: errors of the
provider may quote it, so they are never chained, and their text is shown without it.
"""

import asyncio
import os
import random
import weakref
from collections.abc import Awaitable, Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from hippocampe.errors import EmbedderUnavailable

if TYPE_CHECKING:
    from pydantic_ai.embeddings import EmbeddingModel
    from pydantic_ai.exceptions import ModelAPIError

Kind = Literal["query", "document"]
Rows = Sequence[Sequence[float]]

KEYS = {"openai": "OPENAI_API_KEY", "voyageai": "VOYAGE_API_KEY"}
PACKAGE = "hippocampe[remote]"

ATTEMPTS = 4
FIRST_PAUSE_SECONDS = 0.25
"""Doubled after each attempt and multiplied by a random 0.5 to 1.5, so that callers who failed
together do not come back together. A longer pause asked for by the server is obeyed."""

_GRACE_SECONDS = 2.0
"""How long after its time-out a request may still end by itself before it is abandoned."""


@dataclass(frozen=True, slots=True)
class Pending:
    """A request on its way, for this many texts."""

    texts: int
    _future: "Future[Rows]"
    _patience: float

    def rows(self) -> Rows:
        """Wait for the answer.

        Raises:
            EmbedderUnavailable: There is none.
        """
        try:
            return self._future.result(self._patience)
        except TimeoutError as error:
            self._future.cancel()
            raise EmbedderUnavailable(
                f"the embedding request did not end within {self._patience:g} seconds: the thread "
                "that carries it is blocked, or the process was forked after its first request."
            ) from error


class Connection:
    """A client and the loop it runs on.

    Args:
        provider: `openai` or `voyageai`.
        name: The model, as the provider names it.
        url: Base URL of another server that speaks the protocol; it may need no key.
        timeout: Seconds before one request is given up, its retries included.

    Raises:
        EmbedderUnavailable: There is no key, or the packages are missing.
    """

    def __init__(self, provider: str, name: str, url: str | None, timeout: float) -> None:
        self._model = f"{provider}:{name}"
        self._variable = KEYS[provider]
        self._where = urlsplit(url).netloc.rpartition("@")[2] if url else f"the {provider} API"
        self._timeout = timeout
        self._key = _key(provider, self._model, url)
        try:
            opener = {"openai": _open_openai, "voyageai": _open_voyage}[provider]
            self._client, end = opener(name, self._key or "none", url, timeout)
        except ImportError as error:
            raise EmbedderUnavailable(
                f"{self._model} needs a package that cannot be imported ({error}): install it "
                f"with: pip install '{PACKAGE}'"
            ) from error
        self._loop = asyncio.new_event_loop()
        thread = Thread(target=self._loop.run_forever, name=f"embed {self._model}", daemon=True)
        thread.start()
        self.close = weakref.finalize(self, _end, self._loop, thread, end)

    def start(self, texts: list[str], kind: Kind) -> Pending:
        """Send a request, without waiting for its answer."""
        future = asyncio.run_coroutine_threadsafe(self._request(texts, kind), self._loop)
        return Pending(len(texts), future, self._timeout + _GRACE_SECONDS)

    async def _request(self, texts: list[str], kind: Kind) -> Rows:
        from pydantic_ai.exceptions import ModelAPIError

        try:
            async with asyncio.timeout(self._timeout):
                return await self._attempt(texts, kind)
        except TimeoutError:
            reason = (
                f"gave no answer within {self._timeout:g} seconds: raise the time-out, or check "
                f"{self._where}"
            )
        except ModelAPIError as error:
            reason = self._explain(error)
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            # What the clients raise on JSON that is not the protocol's.
            reason = (
                f"gave an answer that is not an embedding response ({type(error).__name__}): check "
                f"that {self._where} is the base URL of a compatible server"
            )
        raise EmbedderUnavailable(f"{self._model} {reason}.")

    async def _attempt(self, texts: list[str], kind: Kind) -> Rows:
        from pydantic_ai import exceptions as failures

        deadline = self._loop.time() + self._timeout
        pause = FIRST_PAUSE_SECONDS
        for left in reversed(range(ATTEMPTS)):
            try:
                answer = await self._client.embed(
                    texts, input_type=kind, settings={"truncate": True}
                )
                return answer.embeddings
            except (
                failures.ModelRateLimitError,
                failures.ModelUnavailableError,
                failures.ModelServerError,
                failures.ModelConnectionError,
            ) as error:
                wait = max(pause * random.uniform(0.5, 1.5), error.retry_after or 0.0)
                if not left or self._loop.time() + wait >= deadline:
                    raise
            await asyncio.sleep(wait)
            pause *= 2
        raise AssertionError("the last attempt returns or raises")

    def _explain(self, error: "ModelAPIError") -> str:
        from pydantic_ai import exceptions as failures

        status = f"HTTP {error.status_code}" if isinstance(error, failures.ModelHTTPError) else ""
        match error:
            case failures.ModelAuthenticationError():
                return f"was refused its key ({status}): check {self._variable}"
            case failures.ModelNotFoundError():
                return f"was not found at {self._where} ({status}): check the model and the URL"
            case failures.ModelTimeoutError():
                return f"gave no answer within {self._timeout:g} seconds: raise the time-out"
            case failures.ModelConnectionError():
                return f"cannot be reached at {self._where}: check the network and the URL"
            case failures.ModelRateLimitError() | failures.ModelQuotaExceededError():
                return f"has used up its quota or rate ({status}): wait, or raise the limit"
            case _:
                # Redacted before it is cut, or half a key would pass.
                detail = str(error.body or error.message)
                detail = detail.replace(self._key, "…") if self._key else detail
                return f"failed at {self._where} ({status or 'no status'}): {detail[:200]}"


def _key(provider: str, model: str, url: str | None) -> str | None:
    variable = KEYS[provider]
    key = os.environ.get(variable, "").strip()
    if key or url:
        return key or None
    raise EmbedderUnavailable(
        f"{model} cannot be used without a key: set the environment variable {variable}, or give "
        "the URL of a server that needs none, or use the embedder 'local'."
    )


_Opened = tuple["EmbeddingModel", Callable[[], Awaitable[None]]]


def _open_openai(name: str, key: str, url: str | None, timeout: float) -> _Opened:
    from openai import AsyncOpenAI
    from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel
    from pydantic_ai.providers.openai import OpenAIProvider

    client = AsyncOpenAI(api_key=key, base_url=url, timeout=timeout, max_retries=0)
    return OpenAIEmbeddingModel(name, provider=OpenAIProvider(openai_client=client)), client.close


def _open_voyage(name: str, key: str, url: str | None, timeout: float) -> _Opened:
    from pydantic_ai.embeddings.voyageai import VoyageAIEmbeddingModel
    from pydantic_ai.providers.voyageai import VoyageAIProvider
    from voyageai.client_async import AsyncClient

    async def nothing_to_close() -> None:
        """The client opens a connection per request."""

    base = url.rstrip("/") if url else None
    client = AsyncClient(api_key=key, base_url=base, timeout=timeout, max_retries=0)
    provider = VoyageAIProvider(voyageai_client=client)
    return VoyageAIEmbeddingModel(name, provider=provider), nothing_to_close


def _end(
    loop: asyncio.AbstractEventLoop, thread: Thread, end: Callable[[], Awaitable[None]]
) -> None:
    async def stop() -> None:
        await end()
        loop.stop()

    asyncio.run_coroutine_threadsafe(stop(), loop)
    thread.join(_GRACE_SECONDS)
    if not loop.is_running():
        loop.close()
