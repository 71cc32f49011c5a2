"""A JSON object of a request: known fields only, and not too many members."""

from collections.abc import Sized
from typing import Any, cast

from pydantic import BaseModel, BeforeValidator, ConfigDict, model_validator

MAX_MEMBERS = 100
"""Members of an object, and of an array of values of several types."""


def few(given: Any) -> Any:
    """Refuse an object or array with too many members, before each wrong one is reported."""
    if _members(given) > MAX_MEMBERS:
        raise ValueError(f"it has more than {MAX_MEMBERS} members")
    return given


def _members(given: Any) -> int:
    return len(cast("Sized", given)) if isinstance(given, dict | list) else 0


Few = BeforeValidator(few)


class Body(BaseModel):
    """A JSON object with known fields only."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _few(cls, given: Any) -> Any:
        return few(given)

    def given(self) -> dict[str, Any]:
        """The fields that the request has: one that it leaves out is left out of the call."""
        return {name: getattr(self, name) for name in self.model_fields_set}
