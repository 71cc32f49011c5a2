"""The protocols for which the proxy adds memory."""

from hippocampe.server.protocols.chat_completions import ChatCompletions
from hippocampe.server.protocols.conversation import Conversation, Json, parsed
from hippocampe.server.protocols.messages import Messages
from hippocampe.server.protocols.protocol import Answer, Protocol
from hippocampe.server.protocols.responses import Responses

__all__ = ["PROTOCOLS", "Answer", "Conversation", "Json", "Protocol", "parsed"]

PROTOCOLS: tuple[Protocol, ...] = (ChatCompletions(), Responses(), Messages())
