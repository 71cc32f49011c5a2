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
from hippocampe.engine.context import Context
from hippocampe.errors import NotFound
from hippocampe.store import api_keys
from hippocampe.types import MAX_LABEL_CHARACTERS, ApiKey, NewKey, Role, Scope
from hippocampe.validation import MAX_TOKEN_CHARACTERS, check_choice, check_id, clean_text

PREFIX = "hippo_"
"""Prefix by which people and scanners of leaked secrets recognise a key."""
RANDOM_BYTES = 32


def create_key(context: Context, *, scope: Scope, role: Role, label: str | None) -> NewKey:
    """Make a key for a space.

    Raises:
        InvalidInput: The role is unknown, or the label cannot be stored.
    """
    check_choice("role", role, get_args(Role))
    if label is not None:
        label = clean_text(label, what="label", limit=MAX_LABEL_CHARACTERS)
    secret = PREFIX + secrets.token_urlsafe(RANDOM_BYTES)
    key = ApiKey(str(uuid7()), scope.space, role, label, context.now())
    with context.store.write() as connection:
        api_keys.add(connection, key, _digest(secret))
        audit.record(connection, context, key.space, "create_key", key=key.id, role=role)
    return NewKey(key, secret)


def keys(context: Context) -> list[ApiKey]:
    """The keys of all spaces, revoked ones included, newest first."""
    with context.store.read() as connection:
        return api_keys.everything(connection)


def revoke_key(context: Context, id: str) -> ApiKey:
    """Revoke a key: it is refused from the next request on.

    Raises:
        NotFound: There is no such key, or it was revoked before.
    """
    check_id(id)
    with context.store.write(from_reserve=True) as connection:
        revoked = api_keys.revoke(connection, id, context.now())
        if revoked is not None:
            audit.record(connection, context, revoked.space, "revoke_key", key=id)
    if revoked is None:
        raise NotFound(f"there is no key {id!r} to revoke: take ids from the list of keys.")
    return revoked


def find_key(context: Context, secret: str) -> ApiKey | None:
    """The key with a text; None if there is no such key, or it is revoked.

    Raises:
        InvalidInput: It is not text.
    """
    digest = _digest(check_id(secret, name="secret", limit=MAX_TOKEN_CHARACTERS))
    with context.store.read() as connection:
        found = api_keys.by_digest(connection, digest)
    # The database compares digests, whose timing reveals nothing about the key; this comparison takes constant time.
    if found is None or not hmac.compare_digest(found[1], digest):
        return None
    return found[0]


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode("utf-8", "replace")).hexdigest()
