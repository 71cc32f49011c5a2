"""Endpoints on pairs of memories: associations, and the review list."""

from dataclasses import dataclass

from fastapi import APIRouter, Response

from hippocampe.server.api.bodies import NewAssociation, Settled
from hippocampe.server.http.door import Door, Reader, Writer
from hippocampe.types import Association, Memory, Review

router = APIRouter(prefix="/api", tags=["relations"])


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Memories near one, itself first, and the associations between them."""

    memories: tuple[Memory, ...]
    associations: tuple[Association, ...]


@router.get("/memories/{id}/neighbours")
async def neighbours(hippo: Door, scope: Reader, id: str, depth: int = 2) -> Neighbourhood:
    """The memories within `depth` associations of one."""
    return Neighbourhood(*await hippo.neighbours(id, scope=scope, depth=depth))


@router.post("/memories/{id}/associations", status_code=201)
async def associate(hippo: Door, scope: Writer, id: str, body: NewAssociation) -> Association:
    """Add a typed association to another memory."""
    return await hippo.associate(id, **body.given(), scope=scope)


@router.get("/reviews")
async def list_reviews(hippo: Door, scope: Reader) -> list[Review]:
    """Pairs of memories that no rule could decide, newest first."""
    return await hippo.reviews(scope=scope)


@router.post("/reviews/settle", status_code=204)
async def settle_review(hippo: Door, scope: Writer, body: Settled) -> Response:
    """Take a pair off the list: keep both, or the one that supersedes the other."""
    await hippo.settle(**body.given(), scope=scope)
    return Response(status_code=204)
