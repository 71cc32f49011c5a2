"""The memories and the subjects of a space as a graph."""

from hippocampe.language.text import fold
from hippocampe.store import associations, listing
from hippocampe.store.store import Store
from hippocampe.types import Graph, GraphEdge, GraphNode, Scope
from hippocampe.validation import check_limit

MAX_NODES = 20_000
LABEL_CHARACTERS = 120


def graph(store: Store, *, scope: Scope, limit: int = 5000) -> Graph:
    """The current memories and the subjects of the space as a graph.

    Args:
        scope: The space.
        limit: At most this many memories, the most important first, newest first among equals.

    Raises:
        InvalidInput: `limit` is not a whole number from 1 to 20,000.
    """
    check_limit(limit, most=MAX_NODES)
    with store.read() as connection:
        found = listing.excerpts(
            connection, scope.space, store.now(), characters=LABEL_CHARACTERS + 1, limit=limit
        )
        ids = [each.id for each in found]
        subjects = listing.subjects_by_memory(connection, scope.space, ids)
        linked = associations.inside(connection, scope.space, ids)
    spelled = {fold(name): name for each in found for name in each.subjects}
    nodes = [
        GraphNode(
            each.id,
            _label(each.content),
            each.type,
            each.collection,
            subjects.get(each.id, ()),
            each.created_at,
        )
        for each in found
    ]
    names = sorted({name for each in subjects.values() for name in each})
    nodes += [GraphNode(_subject(name), spelled.get(name, name), "subject") for name in names]
    edges = [GraphEdge(source, target, kind) for source, target, kind in linked]
    edges += [
        GraphEdge(id, _subject(name), "about") for id, each in subjects.items() for name in each
    ]
    return Graph(tuple(nodes), tuple(edges))


def _subject(name: str) -> str:
    return f"subject:{name}"


def _label(content: str) -> str:
    line = " ".join(content.split())
    if len(content) <= LABEL_CHARACTERS:
        return line
    return line[:LABEL_CHARACTERS].rpartition(" ")[0].rstrip(" ,;:") + "…"
