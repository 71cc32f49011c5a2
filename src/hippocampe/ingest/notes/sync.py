"""The user's own notes: read in the background, kept in RAM, and indexed piece by piece.

Notes are the one thing whose truth lies elsewhere: the store only holds pieces of them, so that
recall finds them. A source that is down does no harm: what was read last goes on serving.
"""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from uuid import NAMESPACE_URL, uuid5

from uuid6 import uuid7

from hippocampe.config import Config
from hippocampe.engine.context import Context
from hippocampe.engine.outages import Outages, log
from hippocampe.engine.unit_of_work import UnitOfWork
from hippocampe.errors import NotFound, UnreadableFile
from hippocampe.index.documents import piece_point, piece_text
from hippocampe.ingest.notes.markdown import excerpt, pieces
from hippocampe.ingest.notes.obsidian import Obsidian
from hippocampe.ingest.notes.vault import Vault
from hippocampe.language.secrets import mask
from hippocampe.language.text import fold
from hippocampe.protocols import NoteSource
from hippocampe.store import embeddings
from hippocampe.store import notes as rows
from hippocampe.store.notes import Listed, Piece
from hippocampe.types import Note, Recollection

Serve = Callable[[Callable[[Context], None]], None]
_PIECES_AT_A_TIME = 64
_REMOVED_AT_A_TIME = 500


class _Stopped(Exception):
    """The notebook was closed while it was read."""


@dataclass(frozen=True, slots=True)
class _Kept:
    """A note as read at a version, and its excerpt; None for one that cannot be read."""

    version: str
    note: Note | None
    shown: Recollection | None


@dataclass(frozen=True, slots=True)
class _Cache:
    """All notes by path, and the paths by folded name and by folded tag."""

    kept: Mapping[str, _Kept] = field(default_factory=dict[str, _Kept])
    named: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    tagged: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])


class Notebook:
    """The notes of one source, which belong to one space. Thread-safe.

    Args:
        source: Where they are read from.
        space: Whose they are.
    """

    def __init__(self, source: NoteSource, space: str) -> None:
        self._source = source
        self._space = space
        self._cache = _Cache()
        self._stored = False
        self._refreshing = threading.Lock()
        self._stopping = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._thread: threading.Thread | None = None

    # What is read: from RAM, never waiting for a source

    def notes(self, *, space: str) -> list[Note]:
        """The notes as they were last read, by path; none in another space."""
        if space != self._space:
            return []
        kept = self._cache.kept
        return [note for path in sorted(kept) if (note := kept[path].note) is not None]

    def context(self, names: Sequence[str], tag: str, *, space: str) -> list[Recollection]:
        """The notes that are named, then those with a tag, each as its title and its beginning.

        Args:
            names: Titles or paths, in any case and with or without accents.
            tag: With or without its sign; the tags below it count too. Empty: no tag.
            space: Who asks; another space than that of the notes is given none.
        """
        if space != self._space:
            return []
        cache = self._cache
        wanted = [path for name in names for path in cache.named.get(_name(name), ())]
        wanted += cache.tagged.get(_name(tag.strip().lstrip("#").strip("/")), ())
        found = (cache.kept[path].shown for path in dict.fromkeys(wanted))
        return [shown for shown in found if shown is not None]

    # How it is kept up

    def start(self, serve: Serve, outages: Outages, seconds: float, *, thread: bool) -> None:
        """Read the notes now and again, in a thread; without one, read them once, before returning.

        Args:
            serve: Runs a step on the parts that serve.
            outages: Told when the notes cannot be read, and when they can again.
            seconds: Time between looks at the source.
        """
        if not thread:
            outages.attempt("notes", lambda: serve(self.refresh))
            return
        self._idle.clear()
        self._thread = threading.Thread(
            target=self._run, args=(serve, outages, seconds), name="hippocampe-notes", daemon=True
        )
        self._thread.start()

    def wait(self) -> None:
        """Wait for a refresh that is under way in the thread."""
        self._idle.wait()

    def stop(self) -> None:
        """Stop after the note in hand, and let the source go."""
        self._stopping.set()
        if self._thread is not None:
            self._thread.join()
        with self._refreshing:
            self._source.close()

    def _run(self, serve: Serve, outages: Outages, seconds: float) -> None:
        try:
            while True:
                outages.attempt("notes", lambda: serve(self.refresh))
                self._idle.set()
                if self._stopping.wait(seconds):
                    return
                self._idle.clear()
        finally:
            self._idle.set()

    def refresh(self, context: Context) -> None:
        """Read what has changed, and bring store and index up to date with it.

        Raises:
            NotesUnavailable: The source cannot be read; what was read last goes on serving.
            EmbedderUnavailable: The new pieces cannot be embedded.
        """
        with self._refreshing, suppress(_Stopped):
            if self._read() or not self._stored:
                self._stored = False
                self._store(context)

    def _read(self) -> bool:
        """Read the notes whose version is another one; return whether what they say differs."""
        old, kept = self._cache.kept, dict[str, _Kept]()
        for path, version in self._source.listing().items():
            if self._stopping.is_set():
                raise _Stopped
            known = old.get(path)
            if known is not None and version and known.version == version:
                kept[path] = known
            elif (read := self._read_one(path, version, known)) is not None:
                kept[path] = read
        if kept.keys() == old.keys() and all(kept[path] is old[path] for path in kept):
            return False
        self._cache = _arranged(kept)
        return _digests(kept) != _digests(old)

    def _read_one(self, path: str, version: str, known: _Kept | None) -> _Kept | None:
        before = known.note if known else None
        try:
            note = self._source.read(path)
        except NotFound:
            return None
        except UnreadableFile as exc:
            if known is None or before is not None or known.version != version:
                log.warning("the note %s is left out: %s", path, exc)
            return _Kept(version, None, None)
        if note.problem and (before is None or before.problem != note.problem):
            log.warning("the note %s is read without its frontmatter: %s", path, note.problem)
        # Here, so that no secret reaches the store, the index or a prompt.
        note = replace(note, text=mask(note.text))
        return _Kept(version, note, self._shown(note))

    def _shown(self, note: Note) -> Recollection:
        id = uuid5(NAMESPACE_URL, f"{self._space}/{self._source.name}/{note.path}")
        content = f"{note.title}: {excerpt(note.text)}" if note.text else note.title
        return Recollection(str(id), "note", content, 1.0, at=note.modified_at)

    def _store(self, context: Context) -> None:
        """Bring the stored pieces to the notes as they were read."""
        notes = {path: each.note for path, each in self._cache.kept.items() if each.note}
        with context.store.read() as connection:
            stored = rows.listed(connection)
        fresh: set[str] = set()
        stale: dict[str, list[Listed]] = {}
        gone: list[Listed] = []
        for row in stored:
            note = notes.get(row.path)
            # Those of another space or source were stored under other settings.
            if note is None or (row.space, row.source) != (self._space, self._source.name):
                gone.append(row)
            elif row.digest != note.digest:
                stale.setdefault(row.path, []).append(row)
            else:
                fresh.add(row.path)
        for start in range(0, len(gone), _REMOVED_AT_A_TIME):
            with context.change() as change:
                _remove(change, gone[start : start + _REMOVED_AT_A_TIME])
        changed = [note for path, note in notes.items() if path not in fresh]
        for batch in self._batches(changed):
            if self._stopping.is_set():
                raise _Stopped
            self._replace(context, batch, stale)
        self._stored = True

    def _batches(self, notes: Sequence[Note]) -> Iterator[list[tuple[Note, list[Piece]]]]:
        batch: list[tuple[Note, list[Piece]]] = []
        for note in notes:
            batch.append((note, self._pieces(note)))
            if sum(len(cut) for _, cut in batch) >= _PIECES_AT_A_TIME:
                yield batch
                batch = []
        if batch:
            yield batch

    def _pieces(self, note: Note) -> list[Piece]:
        return [
            Piece(
                id=str(uuid7()),
                space=self._space,
                source=self._source.name,
                path=note.path,
                position=position,
                heading=section.heading,
                content=section.text,
                digest=note.digest,
                modified_at=note.modified_at,
            )
            for position, section in enumerate(pieces(note))
        ]

    def _replace(
        self,
        context: Context,
        batch: Sequence[tuple[Note, list[Piece]]],
        stale: Mapping[str, list[Listed]],
    ) -> None:
        new = [piece for _, cut in batch for piece in cut]
        old = [row for note, _ in batch for row in stale.get(note.path, ())]
        if not new and not old:
            return
        prepared = context.prepare([piece_text(piece) for piece in new]) if new else []
        with context.change() as change:
            _remove(change, old)
            rows.add(change.connection, new)
            for piece, embedded in zip(new, prepared, strict=True):
                change.index("note", piece_point(piece, embedded.dense), embedded)


def open_notebook(config: Config) -> Notebook | None:
    """The notebook that a configuration asks for, not read yet; None if it asks for none.

    Raises:
        NotesUnavailable: A package that notes need is missing.
        InvalidInput: The certificate's file cannot be used.
    """
    if config.notes_folder is not None:
        source = Vault(config.notes_folder, config.notes_ignored)
    elif config.obsidian_url is not None:
        source = Obsidian(
            config.obsidian_url,
            config.obsidian_key or "",
            certificate=config.obsidian_certificate,
            insecure=config.obsidian_insecure,
            ignored=config.notes_ignored,
        )
    else:
        return None
    return Notebook(source, config.notes_space)


def _remove(change: UnitOfWork, gone: Sequence[Listed]) -> None:
    ids = [row.id for row in gone]
    if not ids:
        return
    spaces = {row.id: row.space for row in gone}
    for id, embedded in embeddings.vectors(change.connection, change.model, ids).items():
        change.counted.append((spaces[id], embedded.words, -1))
    rows.remove(change.connection, ids)
    for id, space in spaces.items():
        change.unindex("note", id, space)


def _arranged(kept: Mapping[str, _Kept]) -> _Cache:
    named: dict[str, list[str]] = {}
    tagged: dict[str, list[str]] = {}
    for path in sorted(kept):
        note = kept[path].note
        if note is None:
            continue
        whole = path.rpartition(".")[0]
        for name in {_name(each) for each in (path, whole, whole.rpartition("/")[2], note.title)}:
            named.setdefault(name, []).append(path)
        for tag in {above for each in note.tags for above in _upwards(_name(each))}:
            tagged.setdefault(tag, []).append(path)
    return _Cache(
        dict(kept),
        {name: tuple(paths) for name, paths in named.items()},
        {tag: tuple(paths) for tag, paths in tagged.items()},
    )


def _upwards(tag: str) -> Iterator[str]:
    """A tag and those it lies under."""
    names = tag.split("/")
    for end in range(1, len(names) + 1):
        yield "/".join(names[:end])


def _name(text: str) -> str:
    return fold(text).strip()


def _digests(kept: Mapping[str, _Kept]) -> dict[str, str]:
    return {path: each.note.digest for path, each in kept.items() if each.note}
