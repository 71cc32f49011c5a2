"""Read notes from a running Obsidian, through its Local REST API plugin. Never writes.

The plugin serves HTTPS with a self-signed certificate. The client trusts it by file, by fingerprint,
or unconditionally if the settings say so, and sends the key to no other server. The key is only in
the headers of the client: no error quotes it.
"""

import hashlib
import json
import ssl
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, cast
from urllib.parse import quote, urlsplit

from hippocampe.engine.outages import log
from hippocampe.errors import InvalidInput, NotesUnavailable, NotFound, UnreadableFile
from hippocampe.notes.filters import (
    EXPORT_INDEX,
    MAX_NOTE_BYTES,
    is_export,
    is_ignored,
    is_wanted,
    normalize,
)
from hippocampe.notes.markdown import parse
from hippocampe.types import Note

if TYPE_CHECKING:
    import httpx

NOTE_TYPE = "application/vnd.olrapi.note+json"
QUERY_TYPE = "application/vnd.olrapi.jsonlogic+json"
TIMEOUT_SECONDS = 10.0
MAX_RESPONSE_BYTES = 50_000_000
"""Largest response. JSON may encode a note in several times its size, and lists about 100 bytes per note."""
FINGERPRINT_PREFIX = "sha256:"


class _ErrorStatus(Exception):
    """The server answered with an error status."""

    def __init__(self, status: int) -> None:
        self.status = status


class Obsidian:
    """The notes of the vault that is open in Obsidian. The constructor opens no connection.

    Args:
        url: Base URL of the API, such as `https://127.0.0.1:27124`.
        key: The API key, as the plugin's settings show it.
        certificate: The file (PEM) of the certificate to trust, or `sha256:` and its fingerprint;
            None trusts the certificates of the system.
        insecure: Trust any certificate.
        ignored: Folders to ignore, by name or by path relative to the vault.

    Raises:
        InvalidInput: The certificate file cannot be used.
    """

    name = "obsidian"

    def __init__(
        self,
        url: str,
        key: str,
        *,
        certificate: str | Path | None = None,
        insecure: bool = False,
        ignored: Sequence[str] = (),
    ) -> None:
        self._url = url.rstrip("/") + "/"
        self._where = urlsplit(url).netloc
        self._key = key
        self._certificate = certificate
        self._insecure = insecure
        self._ignored = tuple(ignored)
        self._names: dict[str, str] = {}
        self._client: httpx.Client | None = None
        self._opening = Lock()
        if isinstance(certificate, Path):
            _trusting_file(certificate)
        if insecure:
            log.warning(
                "obsidian_insecure is set: the certificate of %s is not checked", self._where
            )

    def listing(self) -> Mapping[str, str]:
        """The notes by path, each with its modification time as version.

        Without a search endpoint, folders are walked one by one and versions are empty.
        """
        try:
            found = self._without_exports(self._search())
        except _ErrorStatus:
            try:
                found = dict.fromkeys(self._walk(""), "")
            except _ErrorStatus as exc:
                raise self._unavailable(f"it answered with status {exc.status}") from exc
        names = {normalize(name): name for name in found}
        self._names = {path: name for path, name in names.items() if is_wanted(path, self._ignored)}
        return {path: found[name] for path, name in self._names.items()}

    def _search(self) -> dict[str, str]:
        # One query returns the times of all notes, so that only changed notes are fetched.
        query = {
            "content": json.dumps({"var": "stat.mtime"}),
            "headers": {"Content-Type": QUERY_TYPE},
        }
        rows = self._json("POST", "search/", **query)
        try:
            return {str(row["filename"]): str(row["result"]) for row in rows}
        except (KeyError, TypeError) as exc:
            raise self._unavailable("it gave no list of notes") from exc

    def _without_exports(self, found: dict[str, str]) -> dict[str, str]:
        # The search lists notes only, so that the other file of an export is looked for.
        end = f"/{EXPORT_INDEX}"
        indexed = (path.removesuffix(end) + "/" for path in found if path.endswith(end))
        exports = tuple(folder for folder in indexed if is_export(self._names_in(folder)))
        return {path: at for path, at in found.items() if not path.startswith(exports)}

    def _names_in(self, folder: str) -> list[str]:
        try:
            return [*map(str, self._json("GET", f"vault/{quote(folder)}")["files"])]
        except _ErrorStatus as exc:
            # The API answers 404 for an empty folder.
            if exc.status == 404:
                return []
            raise
        except (KeyError, TypeError) as exc:
            raise self._unavailable("it gave no list of files") from exc

    def _walk(self, folder: str) -> Iterator[str]:
        names = self._names_in(folder)
        if folder and is_export(names):
            return
        for name in names:
            path = f"{folder}{name}"
            if not name.endswith("/"):
                yield path
            elif name != "/" and not is_ignored(normalize(path.rstrip("/")), self._ignored):
                yield from self._walk(path)

    def read(self, path: str) -> Note:
        """Read one note of the last listing."""
        name = self._names.get(path)
        if name is None:
            raise NotFound(f"there is no note {path!r} in the vault.")
        try:
            read = self._json("GET", f"vault/{quote(name)}", headers={"Accept": NOTE_TYPE})
        except _ErrorStatus as exc:
            if exc.status == 404:
                raise NotFound(f"there is no note {path!r} in the vault.") from exc
            raise UnreadableFile(f"Obsidian answered with status {exc.status}.") from exc
        try:
            content, changed = read["content"], float(read["stat"]["mtime"]) / 1000
            modified_at = datetime.fromtimestamp(changed, UTC)
            size = len(content.encode(errors="replace"))
        except (KeyError, TypeError, ValueError, AttributeError, OverflowError, OSError) as exc:
            raise UnreadableFile("Obsidian gave no note for it.") from exc
        if size > MAX_NOTE_BYTES:
            raise UnreadableFile(f"it is longer than {MAX_NOTE_BYTES:,} bytes.")
        return parse(path, content, modified_at)

    def close(self) -> None:
        """Close the connections. The next request reopens them."""
        with self._opening:
            if self._client is not None:
                self._client.close()
                self._client = None

    def _json(self, method: str, path: str, **options: Any) -> Any:
        """Send a request and parse the response.

        Raises:
            _ErrorStatus: The server answered with an error status.
            NotesUnavailable: The server refused the key, or gave no usable response.
        """
        import httpx

        try:
            body = self._body(method, path, **options)
        except httpx.HTTPError as exc:
            # Reconnect next time, to check a renewed certificate.
            self.close()
            raise self._unavailable(self._explain(exc)) from exc
        try:
            return json.loads(body)
        except (ValueError, RecursionError) as exc:
            raise self._unavailable("its response is not JSON") from exc

    def _body(self, method: str, path: str, **options: Any) -> bytes:
        body = bytearray()
        with self._connect().stream(method, path, **options) as answer:
            if answer.status_code in (401, 403):
                raise self._unavailable("it refused the key: check obsidian_key")
            if answer.status_code != 200:
                raise _ErrorStatus(answer.status_code)
            for chunk in answer.iter_bytes():
                body += chunk
                if len(body) > MAX_RESPONSE_BYTES:
                    raise self._unavailable(f"its response exceeds {MAX_RESPONSE_BYTES:,} bytes")
        return bytes(body)

    def _connect(self) -> "httpx.Client":
        import httpx

        with self._opening:
            if self._client is None:
                self._client = httpx.Client(
                    base_url=self._url,
                    headers={"Authorization": f"Bearer {self._key}"},
                    verify=self._ssl_context(),
                    timeout=TIMEOUT_SECONDS,
                    # A proxy from the environment would receive the key.
                    trust_env=False,
                )
            return self._client

    def _ssl_context(self) -> ssl.SSLContext:
        if self._insecure:
            context = ssl.create_default_context()
            context.check_hostname = False
            context.verify_mode = ssl.CERT_NONE
            return context
        if isinstance(self._certificate, Path):
            return _trusting_file(self._certificate)
        if self._certificate is None:
            return ssl.create_default_context()
        return self._trusting_fingerprint(self._certificate.removeprefix(FINGERPRINT_PREFIX))

    def _trusting_fingerprint(self, wanted: str) -> ssl.SSLContext:
        """Trust the served certificate if it has this fingerprint."""
        at = urlsplit(self._url)
        try:
            served = ssl.get_server_certificate(
                (at.hostname or "", at.port or 443), timeout=TIMEOUT_SECONDS
            )
        except OSError as exc:
            raise self._unavailable("it cannot be reached: is Obsidian open?") from exc
        if hashlib.sha256(ssl.PEM_cert_to_DER_cert(served)).hexdigest() != wanted:
            raise self._unavailable(
                "its certificate is not the one of the fingerprint in obsidian_certificate. If the "
                "plugin made a new certificate, set its fingerprint"
            )
        # The fingerprint identifies the certificate, so its name does not matter.
        return _trusting(served, check_name=False)

    def _explain(self, error: "httpx.HTTPError") -> str:
        import httpx

        cause: BaseException | None = error
        while cause is not None and not isinstance(cause, ssl.SSLCertVerificationError):
            cause = cause.__cause__ or cause.__context__
        if cause is not None:
            return (
                f"its certificate is not trusted ({cause.verify_message}): give the plugin's "
                "certificate file, or sha256: and its fingerprint, as obsidian_certificate, or set "
                "obsidian_insecure to take any"
            )
        if isinstance(error, httpx.TimeoutException):
            return f"it did not respond within {TIMEOUT_SECONDS:g} seconds"
        return "it cannot be reached: is Obsidian open, with the Local REST API plugin enabled?"

    def _unavailable(self, reason: str) -> NotesUnavailable:
        return NotesUnavailable(f"the notes of Obsidian at {self._where} cannot be read: {reason}.")


def _trusting_file(path: Path) -> ssl.SSLContext:
    try:
        return _trusting(path.read_text(encoding="ascii"), check_name=True)
    except (OSError, ValueError) as exc:
        # An SSLError is an OSError.
        raise InvalidInput(
            f"the certificate {path} cannot be used: it is missing, or not a PEM file. Download it "
            "from the plugin's settings, and give its path as obsidian_certificate."
        ) from exc


def _trusting(pem: str, *, check_name: bool) -> ssl.SSLContext:
    """Trust only this certificate and those it signed."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = check_name
    # Accept the certificate itself as the end of the chain: depending on its version, the plugin's
    # certificate is self-signed or not.
    context.verify_flags |= cast("ssl.VerifyFlags", ssl.VERIFY_X509_PARTIAL_CHAIN)
    context.load_verify_locations(cadata=pem)
    return context
