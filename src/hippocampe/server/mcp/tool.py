"""One tool: its description for clients, and its execution."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Generic, Literal, TypeVar, cast

from mcp_types import CallToolResult, TextContent, Tool, ToolAnnotations
from pydantic import BaseModel, ValidationError

from hippocampe.errors import HippocampeError
from hippocampe.server.bodies import Body
from hippocampe.server.mcp.caller import Caller
from hippocampe.server.problems import faults

A = TypeVar("A", bound="Arguments")
Effect = Literal["reads", "adds", "deletes"]


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
    run: Callable[[Caller, A], tuple[str, BaseModel]]

    def described(self) -> Tool:
        """The description of the tool for clients."""
        reads = self.effect == "reads"
        return Tool(
            name=self.name,
            title=self.title,
            description=self.description,
            input_schema=_schema(self.arguments),
            output_schema=_schema(self.result),
            annotations=ToolAnnotations(
                title=self.title,
                read_only_hint=reads,
                destructive_hint=self.effect == "deletes",
                # A repeated statement is reinforced, and a deleted memory stays deleted.
                idempotent_hint=True,
                open_world_hint=False,
            ),
        )

    def call(self, caller: Caller, given: dict[str, Any]) -> CallToolResult:
        """Execute the tool. Errors are returned to the model, which can correct its call."""
        try:
            text, result = self.run(caller, self.arguments.model_validate(given))
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


def _schema(model: type[BaseModel]) -> dict[str, Any]:
    """The JSON schema of a model, without the titles that repeat the names of the fields."""
    return cast("dict[str, Any]", _untitled(model.model_json_schema()))


def _untitled(schema: Any) -> Any:
    if isinstance(schema, list):
        return [_untitled(each) for each in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    return {
        name: _untitled(each)
        for name, each in cast("dict[str, Any]", schema).items()
        if not (name == "title" and isinstance(each, str))
    }
