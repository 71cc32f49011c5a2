"""The files of the pages, compressed once.

Pages are not compressed: their length would tell whether words of a search are near the token that they carry.
"""

import gzip
from functools import lru_cache
from pathlib import Path
from typing import Any

from starlette.datastructures import Headers
from starlette.responses import Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope as Connection

TEXT = frozenset((".css", ".js", ".svg"))


class Assets(StaticFiles):
    """Serves the files of a folder, those of text compressed for the clients that take it."""

    def file_response(
        self, full_path: Any, stat_result: Any, scope: Connection, status_code: int = 200
    ) -> Response:
        """Answer with a file, or that the client has it."""
        plain = super().file_response(full_path, stat_result, scope, status_code)
        path = Path(full_path)
        if path.suffix not in TEXT:
            return plain
        plain.headers["Vary"] = "Accept-Encoding"
        accepted = Headers(scope=scope).get("accept-encoding", "")
        if plain.status_code != 200 or "gzip" not in accepted:
            return plain
        content = _compressed(path, stat_result.st_mtime_ns)
        headers = {name: plain.headers[name] for name in ("etag", "last-modified", "vary")}
        headers["Content-Encoding"] = "gzip"
        return Response(content, media_type=plain.media_type, headers=headers)


@lru_cache(maxsize=128)
def _compressed(path: Path, changed: int) -> bytes:
    return gzip.compress(path.read_bytes(), mtime=0)
