"""The reader refuses files that are not its own, whole and of its format."""

import hashlib
import json
from io import BytesIO
from zipfile import ZipFile

import pytest

from hippocampe.errors import ModelUnavailable
from hippocampe.reader.network import FORMAT, Reader

GRAPH, PIECES = b"graph", b"{}"


def archive(about: dict[str, object], graph: bytes = GRAPH) -> bytes:
    content = BytesIO()
    with ZipFile(content, "w") as file:
        file.writestr("about.json", json.dumps(about))
        file.writestr("model.onnx", graph)
        file.writestr("tokenizer.json", PIECES)
    return content.getvalue()


SUMS = [hashlib.sha256(each).hexdigest() for each in (GRAPH, PIECES)]


@pytest.mark.parametrize(
    "content",
    [
        b"",
        archive({"format": FORMAT, "sha256": SUMS})[:-40],
        archive({"format": FORMAT, "sha256": SUMS}, graph=b"another"),
        archive({"format": FORMAT + 1, "sha256": SUMS}),
        archive({"format": FORMAT}),
    ],
    ids=["empty", "cut off", "another graph", "another format", "no sums"],
)
def test_a_file_that_is_not_whole_is_refused(content: bytes) -> None:
    with pytest.raises(ModelUnavailable, match="reinstall"):
        Reader(content)
