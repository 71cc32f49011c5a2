"""The server behind the proxy: any that has the API of OpenAI."""

import httpx
from fastapi import HTTPException, Request

from hippocampe.errors import NotFound

TIMEOUT = httpx.Timeout(600, connect=10)
"""That of OpenAI's own clients: a model may think for minutes before its first word."""
REQUEST_HEADERS = frozenset(
    {"accept", "content-type", "user-agent", "openai-organization", "openai-project", "openai-beta"}
)
CREDENTIALS = frozenset({"authorization", "api-key"})
ANSWER_HEADERS = frozenset({"content-type", "cache-control", "retry-after", "retry-after-ms"})
ANSWER_PREFIXES = ("openai-", "x-ratelimit-", "x-should-retry")
"""Headers that are passed on. Others may be of one connection only, or set cookies here."""


def passed_on(answer: httpx.Response) -> dict[str, str]:
    """The headers of an answer for the client, byte by byte as they came."""
    answer.headers.encoding = "latin-1"
    return {
        name: value
        for name, value in answer.headers.items()
        if name in ANSWER_HEADERS or name.startswith(ANSWER_PREFIXES)
    }


class Upstream:
    """The server behind the proxy.

    Args:
        url: Its base URL, if one is configured.
        key: Its key. Without one, the key of a client that needs none here is passed on.
    """

    def __init__(self, url: str | None, key: str | None) -> None:
        self.url = url
        self._key = key
        self._client: httpx.AsyncClient | None = None

    async def send(self, method: str, path: str, request: Request, body: bytes) -> httpx.Response:
        """Pass a request on; the answer is not read yet.

        Raises:
            NotFound: There is no upstream.
            HTTPException: It cannot be reached, is too slow, or redirects.
        """
        if self.url is None:
            raise NotFound(
                "this server is no proxy: set HIPPOCAMPE_UPSTREAM_URL to the base URL of a server for chat "
                "completions, and start it again."
            )
        if self._client is None:
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
            # A proxy from the environment would receive the key.
            self._client = httpx.AsyncClient(timeout=TIMEOUT, limits=limits, trust_env=False)
        headers = self._headers(request)
        asked = self._client.build_request(
            method, f"{self.url}{path}", headers=headers, content=body
        )
        try:
            answer = await self._client.send(asked, stream=True)
        except httpx.TimeoutException as exc:
            raise HTTPException(504, "the upstream did not answer in time: try again.") from exc
        except httpx.HTTPError as exc:
            raise HTTPException(
                502,
                "the upstream cannot be reached: check HIPPOCAMPE_UPSTREAM_URL, and that it runs.",
            ) from exc
        if answer.is_redirect:
            await answer.aclose()
            raise HTTPException(
                502,
                "the upstream redirects, which would send the key elsewhere: set HIPPOCAMPE_UPSTREAM_URL to "
                "the address that it redirects to.",
            )
        return answer

    def _headers(self, request: Request) -> dict[bytes, bytes]:
        names = REQUEST_HEADERS
        if self._key is None and request.state.key is None:
            names |= CREDENTIALS
        # As bytes: a header may hold any but those of control.
        headers = {
            name.encode(): request.headers[name].encode("latin-1")
            for name in names & {*request.headers}
        }
        if self._key is not None:
            headers[b"authorization"] = f"Bearer {self._key}".encode()
        # The answer is read on its way.
        return {**headers, b"accept-encoding": b"identity"}

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()
