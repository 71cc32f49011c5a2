"""Keep the user's notes in memory and in the index, refreshed in the background.

The source is the truth: the store only contains pieces of notes, so that recall finds them. While
the source is down, the cache of the last refresh is served.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from uuid import NAMESPACE_URL, uuid5

from hippocampe.config import Config
from hippocampe.engine.outages import Outages, log
from hippocampe.engine.writer import Writer
from hippocampe.errors import NotFound, UnreadableFile
from hippocampe.language.secrets import mask
from hippocampe.notes.cache import CachedNote, NoteCache
from hippocampe.notes.markdown import excerpt
from hippocampe.notes.obsidian import Obsidian
from hippocampe.notes.piece_index import update_pieces
from hippocampe.notes.vault import Vault
from hippocampe.protocols import NoteSource
from hippocampe.types import Note, Recollection

Serve = Callable[[Callable[[Writer], None]], None]


class _Stopped(Exception):
    """The sync was stopped during a refresh."""


class NoteSync:
    """The notes of one source, which belong to one space. Thread-safe."""

    def __init__(self, source: NoteSource, space: str) -> None:
        self._source = source
        self.space = space
        self._cache = NoteCache()
        self._stored = False
        self._refreshing = threading.Lock()
        self._stopping = threading.Event()
        self._idle = threading.Event()
        self._idle.set()
        self._thread: threading.Thread | None = None

    # Reading: from memory, never blocked by the source

    def notes(self, *, space: str) -> list[Note]:
        """The notes of the last refresh, by path; none for another space."""
        notes = self._of(space).notes()
        return [notes[path] for path in sorted(notes)]

    def context(self, names: Sequence[str], tag: str, *, space: str) -> list[Recollection]:
        """Excerpts of the notes with one of the names, then of those with a tag.

        Args:
            names: Titles or paths, in any case, with or without accents.
            tag: With or without its sign; matches the tags below it too. Empty matches nothing.
            space: The space of the caller; any other than that of the notes gets nothing.
        """
        return self._of(space).find(names, tag)

    def excerpts(self, *, space: str) -> dict[str, Recollection]:
        """The excerpt of each note by its id, as `context` gives them; none for another space."""
        return {each.id: each for each in self._of(space).excerpts()}

    def _of(self, space: str) -> NoteCache:
        return self._cache if space == self.space else NoteCache()

    # Refreshing

    def start(self, serve: Serve, outages: Outages, seconds: float, *, thread: bool) -> None:
        """Refresh now and periodically in a thread, or only once before returning.

        Args:
            serve: Runs a step with the current context.
            outages: Records when the notes become unreadable, and when they recover.
            seconds: Period of the refresh.
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
        """Wait for the thread's current refresh."""
        self._idle.wait()

    def stop(self) -> None:
        """Stop after the current note and close the source."""
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

    def refresh(self, writer: Writer) -> None:
        """Read changed notes, and update the store and the index.

        Raises:
            NotesUnavailable: The source cannot be read; the cache is unchanged.
            EmbedderUnavailable: New pieces cannot be embedded; the next refresh retries.
        """
        with self._refreshing, suppress(_Stopped):
            if self._read() or not self._stored:
                self._stored = False
                update_pieces(
                    writer,
                    self._cache.notes(),
                    space=self.space,
                    source=self._source.name,
                    checkpoint=self._check_stop,
                )
                self._stored = True

    def _check_stop(self) -> None:
        if self._stopping.is_set():
            raise _Stopped

    def _read(self) -> bool:
        """Read the notes whose version changed; return whether any content changed."""
        old, entries = self._cache, dict[str, CachedNote]()
        for path, version in self._source.listing().items():
            self._check_stop()
            known = old.entries.get(path)
            if known is not None and version and known.version == version:
                entries[path] = known
            elif (read := self._read_note(path, version, known)) is not None:
                entries[path] = read
        same_paths = entries.keys() == old.entries.keys()
        if same_paths and all(entries[path] is old.entries[path] for path in entries):
            return False
        self._cache = NoteCache.of(entries)
        return self._cache.digests() != old.digests()

    def _read_note(self, path: str, version: str, known: CachedNote | None) -> CachedNote | None:
        """Read one note; log a problem once per version."""
        before = known.note if known else None
        try:
            note = self._source.read(path)
        except NotFound:
            return None
        except UnreadableFile as exc:
            if known is None or before is not None or known.version != version:
                log.warning("skipped the note %s: %s", path, exc)
            return CachedNote(version, None, None)
        if note.problem and (before is None or before.problem != note.problem):
            log.warning("ignored the frontmatter of the note %s: %s", path, note.problem)
        # Masked here, so that no secret reaches the store, the index or a prompt.
        note = replace(note, text=mask(note.text))
        return CachedNote(version, note, self._excerpt(note))

    def _excerpt(self, note: Note) -> Recollection:
        id = uuid5(NAMESPACE_URL, f"{self.space}/{self._source.name}/{note.path}")
        content = f"{note.title}: {excerpt(note.text)}" if note.text else note.title
        return Recollection(str(id), "note", content, 1.0, at=note.modified_at)


def open_source(config: Config) -> NoteSource | None:
    """The configured source of notes; None if none is configured.

    Raises:
        InvalidInput: The certificate file cannot be used.
    """
    if config.notes_folder is not None:
        return Vault(config.notes_folder, config.notes_ignored)
    if config.obsidian_url is not None:
        return Obsidian(
            config.obsidian_url,
            config.obsidian_key or "",
            certificate=config.obsidian_certificate,
            insecure=config.obsidian_insecure,
            ignored=config.notes_ignored,
        )
    return None


def open_notes(config: Config) -> NoteSync | None:
    """The configured notes, not read yet; None if no source is configured. Errors are those of the source."""
    source = open_source(config)
    return None if source is None else NoteSync(source, config.notes_space)
