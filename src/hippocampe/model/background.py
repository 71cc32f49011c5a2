"""The language model of background work, over Pydantic AI."""

from typing import TypeVar

from hippocampe.errors import InvalidAnswer, ModelUnavailable
from hippocampe.model.connection import connect, cost_of, request_settings, translated
from hippocampe.protocols import Answer
from hippocampe.system.loop_thread import LoopThread

T = TypeVar("T")

MAX_OUTPUT_TOKENS = 8_000
CLOSED = "the language model was closed: open the data folder again."


class BackgroundModel:
    """A `LanguageModel` with an event loop of its own, so that connections outlive calls.

    Packages and connections are loaded at its first use.

    Args:
        name: As Pydantic AI names it: `openai:gpt-5-mini`.
        fallback: The model that answers when it fails, likewise.
        timeout: Seconds for one attempt.
    """

    def __init__(self, name: str, fallback: str | None, timeout: float) -> None:
        self.name = name
        self._fallback = fallback
        self._timeout = timeout
        self._loop = LoopThread("hippocampe-model", lambda: ModelUnavailable(CLOSED))

    def answer(self, instructions: str, prompt: str, output: type[T]) -> Answer[T]:
        """See `LanguageModel.answer`."""
        return self._loop.run(lambda: self._answer(instructions, prompt, output))

    async def _answer(self, instructions: str, prompt: str, output: type[T]) -> Answer[T]:
        model = connect(self.name, self._fallback)
        from pydantic_ai import Agent, ToolOutput, capture_run_messages
        from pydantic_ai.messages import ModelResponse

        agent = Agent(
            model,
            output_type=ToolOutput(output, name="answer"),
            instructions=instructions,
            model_settings={**request_settings(self._timeout), "max_tokens": MAX_OUTPUT_TOKENS},
            retries=1,
        )
        value: T | None = None
        with capture_run_messages() as messages:
            try:
                with translated():
                    async with agent:  # closes its connections
                        value = (await agent.run(prompt)).output
            except InvalidAnswer:
                if not any(isinstance(each, ModelResponse) for each in messages):
                    raise
        cost = cost_of([each for each in messages if isinstance(each, ModelResponse)])
        return Answer(
            value, cost.model or self.name, cost.input_tokens, cost.output_tokens, cost.price
        )

    def close(self) -> None:
        """End the calls under way and release the connections. Idempotent."""
        self._loop.close()
