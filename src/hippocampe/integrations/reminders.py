"""The injections of one conversation: selected once for each message of the user, and repeated where they were.

The host does not have them: they go into copies of its messages. A model that answers a later message reads the
same text before the earlier ones, so the cache of its provider stays valid.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta

from hippocampe.hippocampe import Hippocampe, Reminder
from hippocampe.integrations.conversation import Conversation
from hippocampe.types import Injection, Scope

FRESH = timedelta(minutes=15)
"""A message repeated within this time is a retry, and gets the same injection."""


@dataclass(frozen=True, slots=True)
class Reminders:
    """The injections of a conversation.

    Attributes:
        suffix: Tells apart equal messages of a history that is not in the request.
    """

    hippo: Hippocampe
    talk: Conversation
    scope: Scope
    suffix: str = ""

    def known(self, now: datetime) -> bool:
        """Return whether the last message has its injection: a retry and calls of tools belong to the same turn."""
        found = self.hippo.channels.channel(self.scope).reminders.get(
            self._name(max(self.talk.names))
        )
        return found is not None and (self.talk.continued or now - found.at < FRESH)

    def add(self, injection: Injection, now: datetime) -> None:
        """Store the injection of the last message of the user."""
        name = self._name(max(self.talk.names))
        channel = self.hippo.channels.channel(self.scope)
        channel.remind(name, injection.text, injection.tokens, now)

    def exchange(self) -> str | None:
        """The id of the exchange of the last message, which an answer generated again shares.

        None if it is unknown, and for the first message of a request without history: a host that sends none
        repeats "ok" in other exchanges.
        """
        names = self.talk.names
        if not names or (len(names) == 1 and not self.suffix):
            return None
        last = max(names)
        name = self._name(last)
        found = self.hippo.channels.channel(self.scope).reminders.get(name)
        return None if found is None else f"{name}:{last}:{found.at.isoformat()}"

    def found(self, *, keep: bool) -> Mapping[int, Reminder]:
        """The injections by the position of their message, without empty ones.

        Args:
            keep: Include those of earlier messages.
        """
        names = self.talk.names
        last = {max(names): names[max(names)]} if self.talk.message else {}
        wanted = names if keep else last
        stored = self.hippo.channels.channel(self.scope).reminders
        found = {position: stored.get(self._name(position)) for position in wanted}
        return {
            position: each for position, each in found.items() if each is not None and each.text
        }

    def _name(self, position: int) -> str:
        return f"{self.talk.names[position]}{self.suffix}"
