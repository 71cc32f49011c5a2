"""The API keys of the server: create, list, revoke and verify them.

A key is shown once, when it is made. The store has its SHA-256, which is enough for a random text of 256 bits:
it cannot be guessed, so a slow hash would add no protection.
"""

import hashlib
import hmac
import secrets
from typing import get_args

from uuid6 import uuid7

from hippocampe.engine import audit
from hippocampe.errors import NotFound
from hippocampe.store import api_keys
from hippocampe.store.store import Store
from hippocampe.types import KEY_PREFIX, MAX_LABEL_CHARACTERS, ApiKey, NewKey, Role, Scope
from hippocampe.validation import MAX_TOKEN_CHARACTERS, check_choice, check_id, clean_text

RANDOM_BYTES = 32


def create_key(store: Store, *, scope: Scope, role: Role, label: str | None = None) -> NewKey:
    """Make a key of the server that opens one space. Its text is returned once and not stored.

    Args:
        scope: The space.
        role: `read`; `write`, which also stores and forgets; or `admin`, which also changes
            settings and runs digests.
        label: What it is for, up to 200 characters.

    Raises:
        InvalidInput: The role is unknown, or the label cannot be stored.
    """
    check_choice("role", role, get_args(Role))
    if label is not None:
        label = clean_text(label, what="label", limit=MAX_LABEL_CHARACTERS)
    secret = KEY_PREFIX + secrets.token_urlsafe(RANDOM_BYTES)
    key = ApiKey(str(uuid7()), scope.space, role, label, store.now())
    with store.write() as connection:
        api_keys.add(connection, key, _digest(secret))
        audit.record(connection, store.now(), key.space, "create_key", key=key.id, role=role)
    return NewKey(key, secret)


def keys(store: Store) -> list[ApiKey]:
    """The keys of the server for all spaces, newest first, also revoked ones. Takes no scope."""
    with store.read() as connection:
        return api_keys.everything(connection)


def revoke_key(store: Store, id: str) -> ApiKey:
    """Revoke a key of the server: it opens nothing from the next request on. Takes no scope.

    Raises:
        NotFound: There is no such key, or it was revoked before.
    """
    check_id(id)
    with store.write(from_reserve=True) as connection:
        revoked = api_keys.revoke(connection, id, store.now())
        if revoked is not None:
            audit.record(connection, store.now(), revoked.space, "revoke_key", key=id)
    if revoked is None:
        raise NotFound(f"there is no key {id!r} to revoke: take ids from the list of keys.")
    return revoked


def find_key(store: Store, secret: str) -> ApiKey | None:
    """The key that a text is; None if it is none, or a revoked one. Takes no scope.

    Raises:
        InvalidInput: It is not text.
    """
    digest = _digest(check_id(secret, name="secret", limit=MAX_TOKEN_CHARACTERS))
    with store.read() as connection:
        found = api_keys.by_digest(connection, digest)
    # The database compares digests, whose timing reveals nothing about the key; this comparison takes constant time.
    if found is None or not hmac.compare_digest(found[1], digest):
        return None
    return found[0]


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
