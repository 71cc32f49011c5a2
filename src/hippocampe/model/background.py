"""The language model of background work, over Pydantic AI."""

import asyncio
import threading
from collections.abc import Coroutine
from concurrent.futures import CancelledError, Future
from typing import Any, TypeVar

from hippocampe.errors import InvalidAnswer, ModelUnavailable
from hippocampe.model.connection import connect, price_of, request_settings, translated
from hippocampe.protocols import Answer, LanguageModel

T = TypeVar("T")

MAX_OUTPUT_TOKENS = 8_000
CLOSED = "the language model was closed: open the data folder again."


def open_language_model(
    name: str, *, fallback: str | None = None, timeout: float = 60.0
) -> LanguageModel:
    """Create a language model by name; packages and connections are loaded at its first use.

    Args:
        name: As Pydantic AI names it: `openai:gpt-5-mini`.
        fallback: Another model, for when it fails.
        timeout: Seconds for one attempt.
    """
    return BackgroundModel(name, fallback, timeout)


class BackgroundModel:
    """A `LanguageModel` with an event loop of its own, so that connections outlive calls."""

    def __init__(self, name: str, fallback: str | None, timeout: float) -> None:
        self.name = name
        self._fallback = fallback
        self._timeout = timeout
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._starting = threading.Lock()
        self._closed = False

    def answer(self, instructions: str, prompt: str, output: type[T]) -> Answer[T]:
        """See `LanguageModel.answer`."""
        started = self._start(self._answer(instructions, prompt, output))
        try:
            return started.result()
        except CancelledError as exc:
            raise ModelUnavailable(CLOSED) from exc

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
        responses = [each for each in messages if isinstance(each, ModelResponse)]
        names = [each.model_name for each in responses if each.model_name]
        return Answer(
            value,
            names[-1] if names else self.name,
            sum(each.usage.input_tokens for each in responses),
            sum(each.usage.output_tokens for each in responses),
            price_of(responses),
        )

    def _start(self, call: Coroutine[Any, Any, T]) -> Future[T]:
        # One step with the check, so that closing cancels every call that was started.
        with self._starting:
            if self._closed:
                call.close()
                raise ModelUnavailable(CLOSED)
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=self._loop.run_forever, name="hippocampe-model", daemon=True
                )
                self._thread.start()
            return asyncio.run_coroutine_threadsafe(call, self._loop)

    def close(self) -> None:
        """End the calls under way and release the connections. Idempotent."""
        with self._starting:
            self._closed = True
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is None or thread is None:
            return
        asyncio.run_coroutine_threadsafe(_cancel_all(), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _cancel_all() -> None:
    tasks = asyncio.all_tasks() - {asyncio.current_task()}
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    await asyncio.get_running_loop().shutdown_asyncgens()
