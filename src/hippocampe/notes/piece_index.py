"""Update the stored and indexed pieces of notes from the notes."""

from collections.abc import Callable, Iterator, Mapping, Sequence

from uuid6 import uuid7

from hippocampe.engine.documents import piece_point, piece_text
from hippocampe.engine.unit_of_work import UnitOfWork
from hippocampe.engine.writer import Writer
from hippocampe.notes.markdown import split
from hippocampe.store import notes as rows
from hippocampe.store.driver import parts
from hippocampe.store.notes import Listed, Piece
from hippocampe.types import Note

PIECES_PER_BATCH = 64
REMOVALS_PER_BATCH = 500


def update_pieces(
    writer: Writer,
    notes: Mapping[str, Note],
    *,
    space: str,
    source: str,
    checkpoint: Callable[[], None],
) -> None:
    """Remove the pieces of deleted notes, and replace those of changed ones.

    Args:
        notes: All readable notes by path.
        checkpoint: Called before each batch of changes; raises to stop.
    """
    store = writer.corpus.store
    with store.read() as connection:
        stored = rows.listed(connection)
    current: set[str] = set()
    orphans: list[Listed] = []
    for row in stored:
        note = notes.get(row.path)
        if store.shared and row.space != space:
            # Another process may have notes of its own.
            continue
        # Pieces of another space or source were stored under other settings.
        if note is None or (row.space, row.source) != (space, source):
            orphans.append(row)
        elif row.digest == note.digest:
            current.add(row.path)
    for batch in parts(orphans, REMOVALS_PER_BATCH):
        with writer.change() as change:
            _remove(change, batch)
    changed = [note for path, note in notes.items() if path not in current]
    for batch, pieces in _batches(changed, space, source):
        checkpoint()
        _replace(writer, batch, pieces, (space, source))


def _batches(
    notes: Sequence[Note], space: str, source: str
) -> Iterator[tuple[list[Note], list[Piece]]]:
    """Group notes with their pieces, about `PIECES_PER_BATCH` at a time."""
    batch: list[Note] = []
    pieces: list[Piece] = []
    for note in notes:
        batch.append(note)
        pieces += _pieces(note, space, source)
        if len(pieces) >= PIECES_PER_BATCH:
            yield batch, pieces
            batch, pieces = [], []
    if batch:
        yield batch, pieces


def _pieces(note: Note, space: str, source: str) -> list[Piece]:
    return [
        Piece(
            id=str(uuid7()),
            space=space,
            source=source,
            path=note.path,
            position=position,
            heading=section.heading,
            content=section.text,
            digest=note.digest,
            modified_at=note.modified_at,
        )
        for position, section in enumerate(split(note))
    ]


def _replace(
    writer: Writer, notes: Sequence[Note], pieces: Sequence[Piece], origin: tuple[str, str]
) -> None:
    """Replace the stored pieces of changed notes.

    Args:
        origin: Their space and source.
    """
    texts = [piece_text(piece) for piece in pieces]
    prepared = writer.corpus.vocabulary.prepare(texts) if texts else []
    digests = {note.path: note.digest for note in notes}
    with writer.change() as change:
        found = rows.listed(change.connection, digests)
        held = [row for row in found if (row.space, row.source) == origin]
        # Another process with the same notes may have stored some meanwhile.
        current = {row.path for row in held if row.digest == digests[row.path]}
        _remove(change, [row for row in held if row.digest != digests[row.path]])
        new = [each for each in zip(pieces, prepared, strict=True) if each[0].path not in current]
        rows.add(change.connection, [piece for piece, _ in new])
        for piece, embedded in new:
            change.index("note", piece_point(piece, embedded.dense), embedded)


def _remove(change: UnitOfWork, pieces: Sequence[Listed]) -> None:
    ids = [row.id for row in pieces]
    if not ids:
        return
    spaces = {row.id: row.space for row in pieces}
    change.remove_embeddings(ids)
    rows.remove(change.connection, ids)
    for id, space in spaces.items():
        change.unindex("note", id, space)
