"""Hippocampe: texts imported as messages, as chats are; nothing is compared, so nothing is corrected."""

import json
import tempfile
from pathlib import Path

from adapters import hippocampe
from memory import Found

PACKAGES = hippocampe.PACKAGES


class Adapter(hippocampe.Adapter):
    def add(self, items):
        with tempfile.TemporaryDirectory() as scratch:
            talk = Path(scratch) / "talk.jsonl"
            with talk.open("w", encoding="utf-8") as lines:
                for id, text in items:
                    message = {"author": "somebody", "content": text, "external_id": id}
                    lines.write(json.dumps(message) + "\n")
            problems = self._hippo.import_from(talk, scope=self._scope, format="jsonl").problems
        if problems:
            raise ValueError(f"not stored: {problems}")

    def search(self, query: str, limit: int) -> list[Found]:
        found = self._hippo.recall(query, scope=self._scope, collections=["turn"], limit=limit)
        return [(each.external_ids[0], each.score) for each in found]
