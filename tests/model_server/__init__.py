"""A scripted model server for the tests: real HTTP, the protocols of OpenAI and Anthropic, no model."""

from model_server.exchange import Answer, Call, CallResult, ModelMessage, ModelRequest, Tool
from model_server.server import ModelServer

__all__ = ["Answer", "Call", "CallResult", "ModelMessage", "ModelRequest", "ModelServer", "Tool"]
