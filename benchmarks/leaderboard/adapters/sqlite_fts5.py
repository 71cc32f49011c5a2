"""SQLite FTS5: BM25 over words, accents folded; the floor."""

import re
import sqlite3

PACKAGES = ()


class Adapter:
    def __init__(self, folder, embed):
        self._database = sqlite3.connect(folder / "words.db", isolation_level=None)
        self._database.execute(
            "CREATE VIRTUAL TABLE IF NOT EXISTS item USING fts5"
            "(id UNINDEXED, content, tokenize='unicode61 remove_diacritics 2')"
        )

    def add(self, items):
        self._database.executemany("INSERT INTO item VALUES (?, ?)", items)

    def search(self, query, limit):
        words = " OR ".join(f'"{word}"' for word in re.findall(r"\w+", query)) or '""'
        return self._database.execute(
            "SELECT id, -rank FROM item WHERE content MATCH ? ORDER BY rank LIMIT ?", (words, limit)
        ).fetchall()
