"""Hippocampe: statements by the rules of `remember`; what a correction replaced is left out."""

from pathlib import Path

from memory import Embedder, Found

PACKAGES = ("hippocampe",)
LONGEST = 100_000
"""Characters of a statement: longer ones are refused. BEAM has one, a drawing that ends in 290,000 spaces."""


class Adapter:
    def __init__(self, folder: Path, embed: Embedder) -> None:
        from hippocampe import Config, Hippocampe, Scope

        self._scope = Scope()
        self._hippo = Hippocampe.open(Config(folder, background=False), join=False)
        time_the_embedder(embed)

    def add(self, items):
        given = [{"content": text[:LONGEST], "metadata": {"id": id}} for id, text in items]
        self._hippo.remember_many(given, scope=self._scope)

    def search(self, query: str, limit: int) -> list[Found]:
        found = self._hippo.recall(query, scope=self._scope, limit=limit)
        return [(each.memory.metadata["id"], each.score) for each in found if each.memory.current]

    def close(self) -> None:
        self._hippo.close()


def time_the_embedder(embed: Embedder) -> None:
    """Count the time in which the library embeds a question, by the same model, as that of the shared embedder."""
    from hippocampe.embed.local import LocalEmbedder

    plain = LocalEmbedder.embed_query
    if hasattr(plain, "timed"):
        return

    def timed(self, *given, **named):
        with embed.timed():
            return plain(self, *given, **named)

    timed.timed = True
    LocalEmbedder.embed_query = timed
