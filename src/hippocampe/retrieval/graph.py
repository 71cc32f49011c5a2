"""The memories and the subjects of a space as a graph."""

from hippocampe.language.subject_names import subject_names
from hippocampe.language.text import heading
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
    names = subject_names(
        (each.content, each.subjects, subjects.get(each.id, ())) for each in found
    )
    nodes = [
        GraphNode(
            each.id,
            heading(each.content, LABEL_CHARACTERS),
            each.type,
            each.collection,
            tuple(name for name in subjects.get(each.id, ()) if name in names),
            each.created_at,
        )
        for each in found
    ]
    # Two words of one name ("Raspberry Pi") are one subject.
    ids_by_label = {label: f"subject:{name}" for name, label in sorted(names.items(), reverse=True)}
    nodes += [GraphNode(id, label, "subject") for label, id in reversed(ids_by_label.items())]
    edges = [GraphEdge(source, target, kind) for source, target, kind in linked]
    edges += [
        GraphEdge(id, subject, "about")
        for id, each in subjects.items()
        for subject in dict.fromkeys(ids_by_label[names[name]] for name in each if name in names)
    ]
    return Graph(tuple(nodes), tuple(edges))
