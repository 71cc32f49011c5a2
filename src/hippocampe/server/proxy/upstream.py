"""The servers behind the proxy: any with the API of OpenAI or of Anthropic."""

import base64
from collections.abc import AsyncIterable, Mapping
from urllib.parse import quote

import httpx
from fastapi import HTTPException, Request

from hippocampe.config import UPSTREAM_ANTHROPIC_URL, UPSTREAM_URL, Config
from hippocampe.errors import NotFound
from hippocampe.server.http.access import CREDENTIALS, PROXY, credentials
from hippocampe.server.proxy.providers import Provider, provider_of
from hippocampe.types import KEY_PREFIX

TIMEOUT = httpx.Timeout(600, connect=10)
"""Timeout of OpenAI's own clients: a model may think for minutes before its first word."""
HOP_BY_HOP = frozenset(
    {
        *("connection", "keep-alive", "proxy-authenticate", "proxy-authorization"),
        *("proxy-connection", "te", "trailer", "transfer-encoding", "upgrade"),
    }
)
"""Headers of one connection (RFC 9110, section 7.6.1), beside those that `Connection` names."""
REQUEST_STOPS = frozenset(
    {
        *HOP_BY_HOP,
        *CREDENTIALS,
        *("host", "cookie", "expect", "forwarded", "via", "x-real-ip", "content-length"),
    }
)
REQUEST_STOP_PREFIXES = ("x-hippocampe-", "x-forwarded-")
"""Prefixes of this server's own request headers, which are not forwarded."""
ANSWER_STOPS = frozenset(
    {
        *HOP_BY_HOP,
        *("set-cookie", "location", "refresh", "clear-site-data", "alt-svc", "server", "date"),
        *("strict-transport-security", "content-security-policy", "service-worker-allowed"),
        *("nel", "report-to", "reporting-endpoints", "x-frame-options", "link"),
    }
)
ANSWER_STOP_PREFIXES = ("access-control-", "cross-origin-")
"""Prefixes of answer headers not forwarded, since they would speak for this server: cookies, connections, CORS."""
SANDBOX = (b"content-security-policy", b"sandbox; default-src 'none'")
"""A file of the provider must not act as a page of this server, whatever its type."""

Headers = list[tuple[bytes, bytes]]


def passed_on(answer: httpx.Response, *, decoded: bool) -> Headers:
    """The headers of an answer for the client.

    Args:
        decoded: Whether its body is forwarded decompressed.
    """
    stops = ANSWER_STOPS | _named(answer.headers.get("connection", ""))
    if decoded:
        stops |= {"content-encoding", "content-length"}
    found = [(name.lower(), value) for name, value in answer.headers.raw]
    return [*_without(found, stops, ANSWER_STOP_PREFIXES), SANDBOX]


class Upstream:
    """A server behind the proxy.

    Args:
        url: Its base URL, if one is configured.
        key: Its key. Without one, the key of the client is forwarded.
        variable: The environment variable with the URL, for messages.
    """

    def __init__(self, url: str | None, key: str | None, variable: str) -> None:
        self.url = url
        self.key = key
        self._variable = variable
        self._client: httpx.AsyncClient | None = None

    async def send(
        self, request: Request, body: bytes | AsyncIterable[bytes], *, readable: bool
    ) -> httpx.Response:
        """Forward a request; the answer is not read yet, and uncompressed if it is to be readable.

        Raises:
            NotFound: There is no upstream.
            HTTPException: It cannot be reached, is too slow, or redirects.
        """
        if self.url is None:
            raise NotFound(
                f"this server is no proxy: set {self._variable} to the base URL of a server for language "
                "models, and start it again."
            )
        if self._client is None:
            limits = httpx.Limits(max_connections=None, max_keepalive_connections=20)
            # A proxy from the environment would receive the key.
            self._client = httpx.AsyncClient(limits=limits, trust_env=False)
        asked = httpx.Request(
            request.method,
            _target(self.url, request),
            headers=self._headers(request, readable, streamed=not isinstance(body, bytes)),
            content=body,
            extensions={"timeout": TIMEOUT.as_dict()},
        )
        try:
            answer = await self._client.send(asked, stream=True)
        except httpx.TimeoutException as exc:
            raise HTTPException(504, "the upstream did not answer in time: try again.") from exc
        except httpx.HTTPError as exc:
            raise HTTPException(
                502,
                f"the upstream cannot be reached: check {self._variable}, and that it runs.",
            ) from exc
        if answer.is_redirect:
            await answer.aclose()
            raise HTTPException(
                502,
                f"the upstream redirects, which would send the key elsewhere: set {self._variable} to "
                "the address that it redirects to.",
            )
        if not 200 <= answer.status_code < 600:
            # The server cannot send it.
            await answer.aclose()
            raise HTTPException(
                502,
                f"the upstream answered with the unknown status {answer.status_code}: check {self._variable}.",
            )
        return answer

    def _headers(self, request: Request, readable: bool, *, streamed: bool) -> Headers:
        headers = request.headers
        stops = REQUEST_STOPS | _named(headers.get("connection", ""))
        if streamed:
            stops -= {"content-length"}
        if readable or "accept-encoding" not in headers:
            stops |= {"accept-encoding"}
        found = _without(headers.raw, stops, REQUEST_STOP_PREFIXES)
        if "accept-encoding" in stops:
            found.append((b"accept-encoding", b"identity"))
        found += [
            (name.encode(), value.encode("latin-1")) for name, value in self._keys(request).items()
        ]
        # A client without a key sends "Bearer ": space at the end of a value may not be sent on.
        return [(name, value.strip()) for name, value in found]

    def _keys(self, request: Request) -> Mapping[str, str]:
        """The headers with the key of the provider."""
        sent = credentials(request.headers)
        if self.key is None:
            # The credentials of this server are not forwarded.
            return {
                name: request.headers[name]
                for name in sent
                if not _holds_key(request.headers[name])
            }
        # In the header that the client used: some providers read only one.
        anthropic = provider_of(request.scope) is Provider.ANTHROPIC
        usual = "x-api-key" if anthropic else "authorization"
        name = usual if usual in sent else next(iter(sent), usual)
        return {name: f"Bearer {self.key}" if name == "authorization" else self.key}

    async def close(self) -> None:
        """Close the connections."""
        if self._client is not None:
            await self._client.aclose()


def upstreams(config: Config) -> dict[Provider, Upstream]:
    """The upstream of each provider; Anthropic's clients share the other one unless they have their own."""
    openai = Upstream(config.upstream_url, config.upstream_key, UPSTREAM_URL)
    if config.upstream_anthropic_url is None:
        return dict.fromkeys(Provider, openai)
    anthropic = Upstream(
        config.upstream_anthropic_url,
        config.upstream_anthropic_key,
        UPSTREAM_ANTHROPIC_URL,
    )
    return {Provider.OPENAI: openai, Provider.ANTHROPIC: anthropic}


def _target(url: str, request: Request) -> httpx.URL:
    """The URL of a request at the upstream, with path and query unchanged."""
    raw: bytes = request.scope["raw_path"]
    path = raw[raw.index(b"/", 1) :]
    if {".", ".."} & {*request.url.path.split("/")}:
        raise NotFound(f"a path below {PROXY} has no segments of dots: send the path itself.")
    base = httpx.URL(url)
    target = base.raw_path.rstrip(b"/") + quote(path, safe="/%:@!$&'()*+,;=~").encode()
    if query := request.scope["query_string"]:
        target += b"?" + quote(query, safe="/%:@!$&'()*+,;=~?").encode()
    return base.copy_with(raw_path=target)


def _holds_key(value: str) -> bool:
    """Return whether a header holds a key of Hippocampe, in plain text or in the credentials of `Basic`."""
    scheme, _, encoded = value.strip().partition(" ")
    if scheme.lower() == "basic":
        try:
            # More padding than needed is ignored.
            value += base64.b64decode(f"{encoded}==").decode("latin-1")
        except ValueError:
            """Not Base64, so nobody reads a key in it."""
    return KEY_PREFIX in value


def _named(header: str) -> frozenset[str]:
    return frozenset(name.strip().lower() for name in header.split(","))


def _without(
    headers: list[tuple[bytes, bytes]], stops: frozenset[str], prefixes: tuple[str, ...]
) -> Headers:
    return [
        (name, value)
        for name, value in headers
        if name.decode("latin-1") not in stops and not name.decode("latin-1").startswith(prefixes)
    ]
