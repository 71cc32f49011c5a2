"""Find the secrets that nothing in a message tells, since it answers a question: "Walnut88" after "Your password?"."""

from collections.abc import Mapping

from hippocampe.language import secrets
from hippocampe.language.secrets import SecretKind
from hippocampe.store import message_rows, schema
from hippocampe.store.store import Store
from hippocampe.types import Scope


def secrets_answered(store: Store, text: str, scope: Scope) -> Mapping[str, SecretKind]:
    """Return the secrets of a message that the assistant asked for just before in the channel, each with its kind.

    Raises:
        StoreError: The data cannot be read.
    """
    if not secrets.may_answer(text):
        return {}
    table = schema.message.c
    here = [table.space == scope.space, table.channel == (scope.channel or "")]
    with store.read() as connection:
        spoken = message_rows.find(connection, *here, newest_first=True, limit=1)
    asked = next((each.content for each in spoken if each.role == "assistant"), "")
    return secrets.answer_to(asked, text)
