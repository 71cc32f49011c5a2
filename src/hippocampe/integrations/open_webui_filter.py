"""
title: Hippocampe
description: Long-term memory: relevant memories before each message, each exchange stored. Needs a Hippocampe server.
version: 1.0.1
license: Apache-2.0
"""

# A file to paste into Open WebUI: it may import nothing of this package.

import asyncio
import json
import logging
from collections import OrderedDict
from typing import Any, cast
from urllib.error import URLError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

from pydantic import BaseModel, Field

log = logging.getLogger(__name__)

SECONDS = 3.0
MAX_MESSAGES = 10_000
"""Injections that stay available, so that the model still sees those of earlier messages."""
TEMPORARY = ("temporary:", "local:")
"""Prefixes of the ids of temporary chats, whose messages Open WebUI promises not to keep."""
Json = dict[str, Any]
Name = tuple[str, str, int, str]
"""A message: its user, its chat, its position and its text."""


class Filter:
    """Inserts memories into the request, never into the stored chat, and stores the answer.

    It has no switch in the chat (`toggle`): one would be off in each new chat. Temporary chats are not remembered.
    """

    class Valves(BaseModel):
        """The settings in the interface of Open WebUI."""

        url: str = Field(
            default="http://127.0.0.1:8765", description="URL of the Hippocampe server"
        )
        key: str = Field(default="", description="Key with the role write; none on loopback")
        space: str = Field(default="", description="Space; empty: that of the key")

    def __init__(self) -> None:
        self.valves = self.Valves()
        self._given: OrderedDict[Name, str] = OrderedDict()
        self._asking: dict[Name, asyncio.Task[Json]] = {}

    async def inlet(
        self, body: Json, __user__: Json | None = None, __metadata__: Json | None = None
    ) -> Json:
        """Insert what was injected before, and what is relevant to the last message."""
        metadata = __metadata__ or {}
        chat = str(metadata.get("chat_id") or "")
        said = [
            (number, each)
            for number, each in enumerate(cast("list[Json]", body.get("messages") or []))
            if each.get("role") == "user" and _text(each).strip()
        ]
        if metadata.get("task") or chat.startswith(TEMPORARY) or not said:
            return body
        user = _user(__user__)
        number, last = said[-1]
        name = (user, chat, number, _text(last))
        # A program without a chat may ask the same again on another day.
        if not chat or name not in self._given:
            self._given[name] = await self._ask(name, fresh=len(said) == 1)
            while len(self._given) > MAX_MESSAGES:
                self._given.popitem(last=False)
        messages = list(body["messages"])
        for number, each in said:
            if text := self._given.get((user, chat, number, _text(each))):
                messages[number] = {**each, "content": _with(text, each["content"])}
        return {**body, "messages": messages}

    async def _ask(self, name: Name, *, fresh: bool) -> str:
        """Ask for the injection of a message; models that answer it at the same time share one."""
        user, chat, _, message = name
        if name not in self._asking:
            sent = {"message": message, "fresh": fresh}
            self._asking[name] = asyncio.create_task(self._call("before_turn", sent, user, chat))
            self._asking[name].add_done_callback(lambda _: self._asking.pop(name))
        answer = await asyncio.shield(self._asking[name])
        return str(answer.get("text") or "")

    async def outlet(
        self, body: Json, __user__: Json | None = None, __metadata__: Json | None = None
    ) -> Json:
        """Store the last exchange."""
        messages = cast("list[Json]", body.get("messages") or [])
        chat = str(body.get("chat_id") or (__metadata__ or {}).get("chat_id") or "")
        last = next(
            (n for n in reversed(range(len(messages))) if messages[n]["role"] == "user"), None
        )
        if last is None or (__metadata__ or {}).get("task") or chat.startswith(TEMPORARY):
            return body
        reply = next(
            (_text(each) for each in reversed(messages[last:]) if each["role"] == "assistant"), ""
        )
        exchange = {
            "user_message": _text(messages[last]),
            "reply": reply or None,
            # That of the user's message: a regenerated reply replaces the one before.
            "external_id": messages[last].get("id"),
        }
        await self._call("after_turn", exchange, _user(__user__), chat)
        return body

    async def _call(self, verb: str, sent: Json, user: str, chat: str) -> Json:
        """Call the server; without it, the chat goes on without memory."""
        labels = {"space": self.valves.space, "user": user, "channel": chat}
        query = urlencode({name: value for name, value in labels.items() if value})
        headers = {"Content-Type": "application/json"}
        if self.valves.key:
            headers["Authorization"] = f"Bearer {self.valves.key}"
        url = f"{self.valves.url.rstrip('/')}/api/{verb}?{query}"
        request = Request(url, json.dumps(sent).encode(), headers)
        try:
            return await asyncio.to_thread(_answer, request)
        except (URLError, OSError, ValueError) as exc:
            log.warning("Hippocampe cannot be used: %s", exc)
            return {}


def _answer(request: Request) -> Json:
    with urlopen(request, timeout=SECONDS) as response:
        found = json.loads(response.read() or b"{}")
    return cast("Json", found) if isinstance(found, dict) else {}


def _user(user: Json | None) -> str:
    return str((user or {}).get("name") or (user or {}).get("id") or "")


def _text(message: Json) -> str:
    content = message.get("content")
    if isinstance(content, str):
        return content
    parts = cast("list[Json]", content or [])
    return "\n".join(str(each["text"]) for each in parts if each.get("type") == "text")


def _with(text: str, content: Any) -> Any:
    if isinstance(content, str):
        return f"{text}\n\n{content}"
    return [{"type": "text", "text": text}, *content]
