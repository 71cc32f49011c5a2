"""One tool: its description for clients, and its execution."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import Annotated, Any, Generic, TypeVar

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations
from pydantic import BaseModel, Field, ValidationError

from hippocampe.companion.memory_tools import Effect, schema_of
from hippocampe.errors import HippocampeError
from hippocampe.server.api.body import Body
from hippocampe.server.http.problems import faults
from hippocampe.server.mcp.caller import Caller
from hippocampe.types import MAX_CONTENT_CHARACTERS, MAX_LABEL_CHARACTERS

A = TypeVar("A", bound="Arguments")


Query = Annotated[
    str,
    Field(min_length=1, max_length=4_000, description="A question, or a few words."),
]
Id = Annotated[
    str, Field(min_length=1, max_length=200, description="The id, exactly as a search gave it.")
]
Reason = Annotated[
    str, Field(min_length=1, max_length=1_000, description="Why; it is kept in the history.")
]
Content = Annotated[str, Field(min_length=1, max_length=MAX_CONTENT_CHARACTERS)]
Subjects = Annotated[
    list[Annotated[str, Field(max_length=MAX_LABEL_CHARACTERS)]],
    Field(max_length=32, description="A few keywords: people, places, themes."),
]
TimeToLive = Annotated[
    str,
    Field(
        max_length=20,
        description="How long it holds, for what passes: 12h, 7d, 2w. Leave it out for what lasts.",
    ),
]


class Arguments(Body):
    """The arguments of a tool; unknown ones are refused."""


@dataclass(frozen=True, slots=True)
class MemoryTool(Generic[A]):
    """A tool on a memory.

    Attributes:
        name: Its name.
        title: Its name for people.
        description: Its effect and when to call it, for the model.
        effect: Its effect on the memory.
        arguments: The form of its arguments.
        result: The form of its structured result.
        run: Executes it: the text and the structured result.
    """

    name: str
    title: str
    description: str
    effect: Effect
    arguments: type[A]
    result: type[BaseModel]
    run: Callable[[Caller, A], Awaitable[tuple[str, BaseModel]]]

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

    async def call(self, caller: Caller, given: dict[str, Any]) -> CallToolResult:
        """Execute it. What cannot be done is told to the model, which can do better."""
        try:
            text, result = await self.run(caller, self.arguments.model_validate(given))
        except ValidationError as exc:
            return refused(_unusable(self.name, exc))
        except HippocampeError as exc:
            return refused(str(exc))
        return CallToolResult(
            content=[TextContent(type="text", text=text)],
            structured_content=result.model_dump(mode="json", exclude_none=True),
        )


def refused(reason: str) -> CallToolResult:
    """The answer to a call that failed: what failed, why, and what to do."""
    return CallToolResult(content=[TextContent(type="text", text=reason)], is_error=True)


def _unusable(name: str, error: ValidationError) -> str:
    """Describe wrong arguments: their place and the reason, never their values."""
    found = faults(error.errors(include_input=False, include_url=False))
    return f"{name} cannot be called with these arguments: {found}. See its input schema."
