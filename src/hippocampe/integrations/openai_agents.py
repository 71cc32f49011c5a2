# pyright: basic
"""Long-term memory for OpenAI's agents: `Runner.run(agent, text, **LongTermMemory(hippo).of_run(scope))`."""

import inspect
from dataclasses import replace
from typing import Any

from agents import RunConfig, RunHooks
from agents.run_config import CallModelData, ModelInputData

from hippocampe.aio import AsyncHippocampe
from hippocampe.hippocampe import Hippocampe
from hippocampe.integrations.conversation import Message, of_response
from hippocampe.integrations.turns import Turns, joined
from hippocampe.types import Scope


class LongTermMemory:
    """Gives the model relevant memories before the user's message, and stores the exchange after the run.

    Memories are in the requests to the model only: sessions and results do not contain them.

    Args:
        hippo: The open memory; the caller closes it.
        store: Whether exchanges are stored.
    """

    def __init__(self, hippo: Hippocampe | AsyncHippocampe, *, store: bool = True) -> None:
        self._turns = Turns(hippo, store=store)

    def of_run(
        self,
        scope: Scope | None = None,
        *,
        run_config: RunConfig | None = None,
        hooks: RunHooks | None = None,
    ) -> dict[str, Any]:
        """The arguments of one `Runner.run`, `run_sync` or `run_streamed`.

        Args:
            scope: Who speaks and where. Without a channel, each conversation is a channel of its own.
            run_config: Other settings of the run; its filter of the input is called first.
            hooks: Other hooks of the run.
        """
        run = _Run(self._turns, scope or Scope(), hooks)
        config = run_config or RunConfig()
        run.first = config.call_model_input_filter
        return {"hooks": run, "run_config": replace(config, call_model_input_filter=run.remind)}


class _Run(RunHooks):
    """One run."""

    first: Any = None

    def __init__(self, turns: Turns, scope: Scope, hooks: RunHooks | None) -> None:
        self._turns = turns
        self._scope = scope
        self._hooks = hooks or RunHooks()
        self._talk: list[Message] = []
        for name in dir(RunHooks):
            if name.startswith("on_") and name not in vars(_Run):
                setattr(self, name, getattr(self._hooks, name))

    async def remind(self, data: CallModelData) -> ModelInputData:
        """The input of the model, with memories in a copy of its items."""
        found = data.model_data
        if self.first is not None:
            found = self.first(data)
            found = await found if inspect.isawaitable(found) else found
        self._talk = [of_response(each) for each in found.input]
        texts = await self._turns.abefore(self._talk, scope=self._scope)
        items: list[Any] = list(found.input)
        for position, text in texts.items():
            content = joined(
                text, items[position]["content"], lambda text: {"type": "input_text", "text": text}
            )
            items[position] = {**items[position], "content": content}
        return ModelInputData(input=items, instructions=found.instructions)

    async def on_agent_end(self, context: Any, agent: Any, output: Any) -> None:
        """Store the exchange."""
        await self._turns.aafter(
            [*self._talk, Message("assistant", str(output))], scope=self._scope
        )
        await self._hooks.on_agent_end(context, agent, output)
