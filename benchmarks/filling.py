"""Large data folders, filled in bulk."""

import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cache
from itertools import groupby, islice, pairwise
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
from sqlalchemy import insert
from uuid6 import uuid7

import common
from hippocampe import Config, Hippocampe
from hippocampe.engine.context import Context
from hippocampe.folder import rederivation
from hippocampe.ingest.turn_drafts import TurnDraft, make_turn
from hippocampe.language.equality import equality_digest
from hippocampe.language.relations import relation_of
from hippocampe.language.subjects import fold_subjects, subjects_of
from hippocampe.language.text import fold
from hippocampe.language.traits import traits
from hippocampe.store import associations, embeddings, memories, message_rows, schema, turn_rows
from hippocampe.types import DEFAULT_IMPORTANCE, Association, Memory, Message

HELD = 1_000
"""Texts reserved for `remember` during the measurement."""
DISTINCT = 120_000
"""Texts to embed; further rows repeat them in other spaces."""
ROWS = 5_000
LINKED = 10
"""One memory in this many is associated with the previous one."""
SESSION = 20
"""Turns of one session."""
CHANNEL = 1_000
"""Turns of one channel."""
TURNED = 0.3
"""Length of the noise added to the unit vector of a repeated text."""


@cache
def _texts(paths: tuple[Path, ...], count: int) -> list[str]:
    return common.texts(paths, count)


@dataclass(frozen=True, slots=True)
class Plan:
    """One size to measure: memories, spaces, turns of talk beside the memories, questions."""

    size: int
    spaces: int
    turns: int
    queries: int
    texts: tuple[Path, ...]

    def space(self, number: int) -> str:
        """The space of a memory: whole blocks, so that a repeated text is alone in its space."""
        return f"space-{number * self.spaces // self.size}"

    def space_of_turn(self, number: int) -> str:
        """The space of a turn: whole blocks too."""
        return f"space-{number * self.spaces // self.turns}"

    def known(self) -> list[str]:
        """The stored texts."""
        return _texts(self.texts, min(self.size, DISTINCT) + HELD)[:-HELD]

    def held(self) -> list[str]:
        """The texts to remember during the measurement."""
        return _texts(self.texts, min(self.size, DISTINCT) + HELD)[-HELD:]

    def questions(self, seed: int) -> list[tuple[str, str]]:
        """Words of stored texts, each with its space."""
        random = Random(seed)
        known = self.known()
        asked: list[tuple[str, str]] = []
        while len(asked) < self.queries:
            number = random.randrange(self.size)
            words = known[number % len(known)].split()
            length = random.randint(3, 7)
            start = random.randrange(max(1, len(words) - length + 1))
            asked.append((" ".join(words[start : start + length]), self.space(number)))
        return asked


def fill(folder: Path, plan: Plan) -> float:
    """Write all rows directly into the store, then index them. Returns the seconds."""
    started = time.perf_counter()
    with Hippocampe.open(Config(folder, background=False)) as hippo:
        context = hippo._context
        rederivation.rederive(context.writer)  # of nothing: the rows below follow the current rules
        known = plan.known()
        prepared: list[embeddings.Embedded] = []
        for start in range(0, len(known), ROWS):
            fresh = context.corpus.vocabulary.prepare(known[start : start + ROWS])
            with context.writer.change() as change:
                prepared += map(change.embedded, fresh)
            say(f"embedded {len(prepared)} of {len(known)}")
        said = [_said(text) for text in known]
        rows = _rows(plan, known, prepared)
        written = 0
        while batch := list(islice(rows, ROWS)):
            with context.corpus.store.write() as connection:
                made = [memory for memory, _, _ in batch]
                memories.add(connection, made, [equality_digest(each.content) for each in made])
                new = [
                    embeddings.vector_row(
                        memory.id,
                        context.corpus.vocabulary.embedder.model,
                        "memory",
                        memory.space,
                        each,
                    )
                    for memory, each, _ in batch
                ]
                embeddings.put_vectors(connection, new)
                for table, place in ((schema.subject, 0), (schema.claim, 1)):
                    values = [
                        {"memory_id": memory.id, "space": memory.space} | value
                        for memory, _, number in batch
                        for value in said[number][place]
                    ]
                    if values:
                        connection.execute(insert(table), values)
                for space, edges in groupby(_edges(batch), lambda edge: edge[0]):
                    associations.add(connection, space, [(edge, False) for _, edge in edges])
            written += len(batch)
            say(f"wrote {written} of {plan.size}")
        _fill_turns(context, plan, known, prepared)
        hippo.reindex(progress=lambda what, done, of: say(f"{what} {done} of {of}"))
    return time.perf_counter() - started


def refresh(folder: Path) -> None:
    """Derive the rows of a cached folder again if the rules have changed, which would go on beside the measurement."""
    with Hippocampe.open(Config(folder, background=False)) as hippo:
        rederivation.rederive(hippo._context.writer)


def _edges(
    batch: Sequence[tuple[Memory, embeddings.Embedded, int]],
) -> Iterator[tuple[str, Association]]:
    """Associations grouped by space."""
    for (older, _, _), (newer, _, _) in list(pairwise(batch))[::LINKED]:
        if older.space == newer.space:
            at = newer.created_at
            yield newer.space, Association(newer.id, older.id, "related_to", "filled", at)


def _fill_turns(
    context: Context, plan: Plan, known: Sequence[str], prepared: Sequence[embeddings.Embedded]
) -> None:
    """Write turns of two stored texts, with the mean of their vectors."""
    last = datetime.now(UTC)
    for start in range(0, plan.turns, ROWS):
        said: list[TurnDraft] = []
        rows: list[dict[str, Any]] = []
        for number in range(start, min(start + ROWS, plan.turns)):
            places = [(2 * number + each) * 7 % len(known) for each in (0, 1)]
            before = plan.turns - number
            said.append(
                _exchange(
                    [known[place] for place in places],
                    space=plan.space_of_turn(number),
                    channel=f"room {number // CHANNEL}",
                    at=last - timedelta(minutes=before, hours=3 * (before // SESSION)),
                )
            )
            first, second = (prepared[place] for place in places)
            dense = first.dense + second.dense
            embedded = embeddings.Embedded(
                dense / np.linalg.norm(dense),
                np.concatenate([first.words, second.words]),
                traits(said[-1].turn.content),
            )
            turn = said[-1].turn
            rows.append(
                embeddings.vector_row(
                    turn.id, context.corpus.vocabulary.embedder.model, "turn", turn.space, embedded
                )
            )
        with context.corpus.store.write() as connection:
            turn_rows.add(connection, [each.turn for each in said])
            spoken = [(message, each.turn.id) for each in said for message in each.messages]
            message_rows.add(
                connection, [message for message, _ in spoken], last, [id for _, id in spoken]
            )
            embeddings.put_vectors(connection, rows)
        say(f"wrote {start + len(said)} of {plan.turns} turns")


def _exchange(texts: Sequence[str], *, space: str, channel: str, at: datetime) -> TurnDraft:
    spoken = (("camille", "user"), ("eko", "assistant"))
    return make_turn(
        [
            Message(
                id=str(uuid7()),
                space=space,
                content=text,
                author=author,
                role=role,
                channel=channel,
                at=at,
            )
            for text, (author, role) in zip(texts, spoken, strict=True)
        ]
    )


def _said(text: str) -> tuple[list[dict[str, str]], list[dict[str, str]]]:
    """The subjects and the single-valued relation of a statement."""
    claim = relation_of(text)
    claims = [{"relation": claim.name, "subject": fold(claim.subject)}] if claim else []
    return [{"name": name} for name in fold_subjects(subjects_of(text))], claims


def _rows(
    plan: Plan, known: Sequence[str], prepared: Sequence[embeddings.Embedded]
) -> Iterator[tuple[Memory, embeddings.Embedded, int]]:
    random = np.random.default_rng(0)
    types = list(DEFAULT_IMPORTANCE.items())
    last = datetime.now(UTC)
    for row in range(plan.size):
        copy, number = divmod(row, len(known))
        each = prepared[number]
        content = known[number]
        if copy:
            content = f"{content} ({copy})"
            noise = random.standard_normal(len(each.dense), np.float32)
            turned = each.dense + noise * (TURNED / np.linalg.norm(noise))
            each = each._replace(dense=turned / np.linalg.norm(turned))
        type, importance = types[row % len(types)]
        at = last - timedelta(minutes=plan.size - row)
        memory = Memory(
            id=str(uuid7()),
            space=plan.space(row),
            content=content,
            type=type,
            importance=importance,
            created_at=at,
            updated_at=at,
        )
        yield memory, each, number


def say(line: str) -> None:
    """Show progress on a terminal."""
    if sys.stderr.isatty():
        print(f"\r{line:60}", end="", file=sys.stderr, flush=True)
