"""The queue of stored rows to embed and index."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field


@dataclass(slots=True)
class PendingRows:
    """The queue of rows that are stored at once and indexed in the background."""

    rows: dict[tuple[str, str], str] = field(default_factory=dict[tuple[str, str], str])
    """The space of each waiting row, by kind and id. Change it under the store's write lock."""
    embedding: threading.Lock = field(default_factory=threading.Lock)
    """Held while embedding the rows; taken before the store's write lock."""
    progressed: threading.Condition = field(default_factory=threading.Condition)
    """Notified when rows were indexed, or indexing failed."""
    worker: ThreadPoolExecutor = field(
        default_factory=lambda: ThreadPoolExecutor(1, thread_name_prefix="hippocampe-waiting")
    )
    """The thread that embeds them."""
