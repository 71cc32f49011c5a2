"""The core of every integration: what the model is given before a turn, and what is stored after it."""

import asyncio
import hashlib
import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from hippocampe.aio import AsyncHippocampe
from hippocampe.errors import HippocampeError
from hippocampe.hippocampe import Hippocampe
from hippocampe.integrations.branches import store_exchange
from hippocampe.integrations.conversation import Conversation, Message, conversation, turn_starts
from hippocampe.integrations.reminders import Reminders
from hippocampe.language.markers import without_injection
from hippocampe.types import MAX_LABEL_CHARACTERS, Recollection, Scope, printable

log = logging.getLogger("hippocampe")

Who = Scope | Callable[[Any], Scope]
"""The speaker and the channel of a turn, or a function of the host's own context that returns them."""


class Turns:
    """The turns of a host's conversations.

    A failure of memory never stops the host: the model is asked without it, and the log has one line.

    Args:
        hippo: The open memory; the caller closes it.
        store: Whether exchanges are stored.
        keep: Whether the host has a place for the texts of earlier messages.
    """

    def __init__(
        self, hippo: Hippocampe | AsyncHippocampe, *, store: bool = True, keep: bool = True
    ) -> None:
        self.hippo = hippo.sync if isinstance(hippo, AsyncHippocampe) else hippo
        self._store = store
        self._keep = keep

    def before(self, messages: Sequence[Message], *, scope: Scope) -> Mapping[int, str]:
        """Select what to insert before messages of the user, in a copy of the messages.

        The text of the last message is selected once, and repeated in later requests, unless the setting
        `keep_injections` is off.

        Args:
            messages: The conversation so far, as the host has it.
            scope: The speaker. Without a channel, each conversation is a channel of its own.

        Returns:
            Texts by the position of their message; empty if nothing is relevant.
        """
        talk = conversation(_cleaned(messages))
        if talk is None or not talk.names:
            return {}
        scope, hippo = _in_channel(scope, talk), self.hippo
        reminders, keep = Reminders(hippo, talk, scope), self._keep
        try:
            keep = keep and hippo.settings(scope=scope).keep_injections
            now = hippo.now()
            if talk.message and not reminders.known(now):
                injection = hippo.before_turn(
                    talk.message, scope=scope, fresh=talk.begins, keep=keep
                )
                reminders.add(injection, now)
        except HippocampeError as exc:
            # Earlier injections stay, so that the provider's cache does too.
            log.warning("a model was asked without new memory: %s", exc)
        return {position: each.text for position, each in reminders.found(keep=keep).items()}

    def after(
        self, messages: Sequence[Message], *, scope: Scope, external_id: str | None = None
    ) -> None:
        """Store the last exchange: the user's message, results of tools, and the answer.

        Args:
            messages: The conversation, up to the last answer of the model.
            scope: As for `before`.
            external_id: Id of the exchange in the host, so that a repeated call stores nothing twice.
        """
        cleaned = _cleaned(messages)
        talk = conversation(cleaned)
        if not self._store or talk is None or not talk.message:
            return
        answers = [each.text for each in cleaned[max(talk.names) :] if each.role == "assistant"]
        reply = next((text for text in reversed(answers) if text.strip()), None)
        scope = _in_channel(scope, talk)
        try:
            store_exchange(
                Reminders(self.hippo, talk, scope),
                talk.message,
                reply,
                results=talk.results,
                external_id=external_id,
            )
        except HippocampeError as exc:
            log.warning("an exchange could not be stored: %s", exc)

    def store_all(self, messages: Sequence[Message], *, scope: Scope) -> None:
        """Store each complete exchange of a conversation once, however often it comes, for hosts that pass on more.

        Args:
            messages: Any part of the conversation, in order.
            scope: As for `before`.
        """
        talk = _cleaned(messages)
        starts = turn_starts(talk)
        for start, end in zip(starts, [*starts[1:], len(talk)], strict=True):
            exchange = talk[start:end]
            if any(each.role == "assistant" and each.text.strip() for each in exchange):
                said = "\0".join(each.text for each in exchange if each.role != "system")
                digest = hashlib.sha256(said.encode("utf-8", "replace")).hexdigest()
                self.after(exchange, scope=scope, external_id=digest)

    def recall(self, query: str, *, scope: Scope, limit: int) -> list[Recollection]:
        """Find memories and talk for the tools of a host; nothing if memory fails."""
        try:
            return self.hippo.recall(
                query, scope=scope, collections=["memory", "turn"], limit=limit
            )
        except HippocampeError as exc:
            log.warning("memory cannot be searched: %s", exc)
            return []

    async def abefore(self, messages: Sequence[Message], *, scope: Scope) -> Mapping[int, str]:
        """`before` in a thread."""
        return await asyncio.to_thread(self.before, messages, scope=scope)

    async def aafter(
        self, messages: Sequence[Message], *, scope: Scope, external_id: str | None = None
    ) -> None:
        """`after` in a thread."""
        await asyncio.to_thread(self.after, messages, scope=scope, external_id=external_id)


def who(given: Who | None, context: Any, *, user: object = None, channel: object = None) -> Scope:
    """The scope of a turn.

    Args:
        given: What the user of the integration gave.
        user: The speaker according to the host, if the given scope has none.
        channel: The conversation according to the host, likewise.
    """
    scope = given(context) if callable(given) else given or Scope()
    return replace(scope, user=scope.user or label(user), channel=scope.channel or label(channel))


def label(value: object) -> str | None:
    """A label of an id of a host; None if it has none. A long one is shortened by its digest."""
    text = printable(str(value or "")).strip()
    if len(text) > MAX_LABEL_CHARACTERS:
        digest = hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]
        text = f"{text[: MAX_LABEL_CHARACTERS - 17].strip()}-{digest}"
    return text or None


def joined(text: str, content: Any, part: Callable[[str], Any], at: int = 0) -> Any:
    """The content of a message with a text before it.

    Args:
        content: A text, or a list of parts.
        part: Makes a part of a text.
        at: Its place among the parts.
    """
    if isinstance(content, str):
        return f"{text}\n\n{content}"
    return [*content[:at], part(text), *content[at:]]


def _in_channel(scope: Scope, talk: Conversation) -> Scope:
    if scope.channel is not None:
        return scope
    return replace(scope, channel=channel_of(talk))


def channel_of(talk: Conversation) -> str:
    """The channel of a conversation that has no name: its first message identifies it."""
    return f"chat-{talk.opening[:12]}"


def _cleaned(messages: Sequence[Message]) -> list[Message]:
    """The messages without injections, which the host or its user may have stored."""
    return [replace(each, text=without_injection(each.text)) for each in messages]
