"""One tool: its description for clients, and its execution."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, get_args, get_origin

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations
from pydantic import BaseModel, Field, ValidationError, create_model

from hippocampe.companion.memory_tools import Effect, schema_of
from hippocampe.errors import HippocampeError
from hippocampe.server.api.arguments import Body, Fields
from hippocampe.server.http.faults import faults
from hippocampe.server.mcp.caller import Caller


def arguments_model(name: str, fields: Fields) -> type[Body]:
    """Make the form of the arguments of a tool. A text that a model has to give is not empty."""
    made: dict[str, Any] = {}
    for each, (kind, field) in fields.items():
        text = get_origin(kind) is Annotated and get_args(kind)[0] is str
        if text and "default" not in field:
            field["min_length"] = 1
        made[each] = (kind, Field(**field))
    return create_model(name, __base__=Body, **made)


@dataclass(frozen=True, slots=True)
class MemoryTool:
    """A tool on a memory.

    Attributes:
        title: Its name for people.
        description: Its effect and when to call it, for the model.
        run: Executes it: the text and the structured result.
        verb: The verb that it calls; empty if it does more.
    """

    name: str
    title: str
    description: str
    effect: Effect
    arguments: type[Body]
    result: type[BaseModel]
    run: Callable[[Caller, Body], Awaitable[tuple[str, BaseModel]]]
    verb: str = ""

    def described(self) -> Tool:
        """The description of the tool for clients."""
        reads = self.effect == "reads"
        return Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=schema_of(self.arguments),
            output_schema=schema_of(self.result),
            annotations=ToolAnnotations(
                title=self.title,
                read_only_hint=reads,
                destructive_hint=self.effect == "deletes",
                # A repeated statement is reinforced, and a deleted memory stays deleted.
                idempotent_hint=True,
                open_world_hint=False,
            ),
        )

    async def call(self, caller: Caller, arguments: dict[str, Any]) -> CallToolResult:
        """Execute it. The model gets the reason of a failure as the result, so that it can correct the call."""
        try:
            text, result = await self.run(caller, self.arguments.model_validate(arguments))
        except ValidationError as exc:
            # The place of each fault and the reason, never the values.
            found = faults(exc.errors(include_input=False, include_url=False))
            return refused(
                f"{self.name} cannot be called with these arguments: {found}. See its input schema."
            )
        except HippocampeError as exc:
            return refused(str(exc))
        return CallToolResult(
            content=[TextContent(type="text", text=text)],
            structured_content=result.model_dump(mode="json", exclude_none=True),
        )


def refused(reason: str) -> CallToolResult:
    """The answer to a call that failed: what failed, why, and what to do."""
    return CallToolResult(content=[TextContent(type="text", text=reason)], is_error=True)
