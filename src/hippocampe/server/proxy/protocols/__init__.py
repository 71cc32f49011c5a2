"""The protocols in which the proxy has a memory."""

from hippocampe.server.proxy.protocols.chat_completions import ChatCompletions
from hippocampe.server.proxy.protocols.messages import Messages
from hippocampe.server.proxy.protocols.protocol import Answer, ClientProtocol, Json, parsed
from hippocampe.server.proxy.protocols.responses import Responses

__all__ = ["PROTOCOLS", "Answer", "ClientProtocol", "Json", "parsed"]

PROTOCOLS: tuple[ClientProtocol, ...] = (ChatCompletions(), Responses(), Messages())
