"""Endpoints that list and revoke keys of the server. A key manages those of its space; without a key, all are visible."""

from fastapi import APIRouter, Request

from hippocampe.errors import NotFound
from hippocampe.server.http.dependencies import Admin, HasKey, Hippo
from hippocampe.types import ApiKey

router = APIRouter(prefix="/api/keys", tags=["Server"])


@router.get("")
async def list_keys(hippo: Hippo, scope: Admin, has_key: HasKey, request: Request) -> list[ApiKey]:
    """The keys of the space, revoked ones included, newest first; of all spaces without key and `space`."""
    everywhere = not has_key and "space" not in request.query_params
    return [key for key in await hippo.keys() if everywhere or key.space == scope.space]


@router.delete("/{id}")
async def revoke_key(hippo: Hippo, scope: Admin, has_key: HasKey, id: str) -> ApiKey:
    """Revoke a key: it is refused from the next request on."""
    if has_key and not any(key.id == id and key.space == scope.space for key in await hippo.keys()):
        raise NotFound(f"there is no key {id!r} to revoke: see the ids with GET /api/keys.")
    return await hippo.revoke_key(id)
