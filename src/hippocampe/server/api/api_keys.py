"""Endpoints on the keys of the server. A key manages those of its space; without a key, all are visible."""

from dataclasses import dataclass

from fastapi import APIRouter, Request

from hippocampe.errors import NotFound
from hippocampe.server.api.bodies import KeyToMake
from hippocampe.server.http.door import Admin, Bound, Door
from hippocampe.types import ApiKey

router = APIRouter(prefix="/api/keys", tags=["keys"])


@dataclass(frozen=True, slots=True)
class MadeKey:
    """A new key. `secret` is shown only once: the store has only its digest."""

    key: ApiKey
    secret: str


@router.get("")
async def list_keys(hippo: Door, scope: Admin, bound: Bound, request: Request) -> list[ApiKey]:
    """The keys of the space, revoked ones included, newest first; of all spaces without key and `space`."""
    everywhere = not bound and "space" not in request.query_params
    return [key for key in await hippo.keys() if everywhere or key.space == scope.space]


@router.post("", status_code=201)
async def create_key(hippo: Door, scope: Admin, body: KeyToMake) -> MadeKey:
    """Make a key that opens the space with a role."""
    made = await hippo.create_key(**body.given(), scope=scope)
    return MadeKey(made.key, made.secret)


@router.delete("/{id}")
async def revoke_key(hippo: Door, scope: Admin, bound: Bound, id: str) -> ApiKey:
    """Revoke a key: it is refused from the next request on."""
    if bound and not any(key.id == id and key.space == scope.space for key in await hippo.keys()):
        raise NotFound(f"there is no key {id!r} to revoke: see the ids with GET /api/keys.")
    return await hippo.revoke_key(id)
