"""Memories and subjects as a graph, and as a list for accessibility."""

import gzip
import json
from typing import Any

from starlette.responses import Response

from hippocampe.server.dashboard.routing import page_router
from hippocampe.server.dashboard.visit import ReadPage
from hippocampe.types import DEFAULT_IMPORTANCE, Graph

router = page_router()
MOST = 5_000
"""Most memories drawn, the most important first."""


@router.get("/graph")
async def graph_page(page: ReadPage) -> Response:
    """The page; a script loads the graph and draws it."""
    stats = await page.hippo.stats(scope=page.scope)
    return page.render(
        "graph/page.html",
        kinds=(*DEFAULT_IMPORTANCE, "summary"),
        many=sum(stats.memories.values()),
        most=MOST,
    )


@router.get("/graph/data")
async def graph_data(page: ReadPage) -> Response:
    """The graph as columns, with list positions instead of ids, and compressed: it is sent whole."""
    graph = await page.hippo.graph(scope=page.scope, limit=MOST)
    body = json.dumps(_columns(graph), ensure_ascii=False, separators=(",", ":")).encode()
    headers = {"Content-Encoding": "gzip", "Vary": "Accept-Encoding"}
    if "gzip" not in page.request.headers.get("accept-encoding", ""):
        return Response(body, media_type="application/json")
    return Response(gzip.compress(body, 1), media_type="application/json", headers=headers)


@router.get("/graph/card/{id}")
async def card(page: ReadPage, id: str) -> Response:
    """One memory with its neighbours."""
    memory = await page.hippo.get(id, scope=page.scope)
    around, edges = await page.hippo.neighbours(id, scope=page.scope, depth=1)
    contents = {each.id: each.content for each in around if each.current}
    return page.part("graph/card.html", memory=memory, edges=edges, contents=contents)


def _columns(graph: Graph) -> dict[str, Any]:
    places = {node.id: place for place, node in enumerate(graph.nodes)}
    types = sorted({node.type for node in graph.nodes})
    kinds = sorted({edge.kind for edge in graph.edges})
    return {
        "types": types,
        "kinds": kinds,
        "ids": [node.id for node in graph.nodes],
        "labels": [node.label for node in graph.nodes],
        "type": [types.index(node.type) for node in graph.nodes],
        "collection": [node.collection for node in graph.nodes],
        "at": [int(node.created_at.timestamp()) if node.created_at else 0 for node in graph.nodes],
        "source": [places[edge.source] for edge in graph.edges],
        "target": [places[edge.target] for edge in graph.edges],
        "kind": [kinds.index(edge.kind) for edge in graph.edges],
    }
