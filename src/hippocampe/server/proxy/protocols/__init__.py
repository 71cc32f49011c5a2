"""The protocols in which the proxy has a memory."""

from hippocampe.server.proxy.protocols.chat_completions import ChatCompletions
from hippocampe.server.proxy.protocols.messages import Messages
from hippocampe.server.proxy.protocols.protocol import Answer, Json, Protocol, parsed
from hippocampe.server.proxy.protocols.responses import Responses

__all__ = ["PROTOCOLS", "Answer", "Json", "Protocol", "parsed"]

PROTOCOLS: tuple[Protocol, ...] = (ChatCompletions(), Responses(), Messages())
