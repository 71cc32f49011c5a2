"""The bodies of requests: the arguments of the verbs, without the scope. Unknown fields are refused."""

from collections.abc import Sized
from dataclasses import fields
from typing import Annotated, Any, cast, get_type_hints

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    create_model,
    model_validator,
)

from hippocampe.types import (
    MAX_CONTENT_CHARACTERS,
    MAX_LABEL_CHARACTERS,
    MAX_MESSAGE_CHARACTERS,
    MAX_METADATA_KEYS,
    MetadataValue,
    Mode,
    Role,
    Settings,
)
from hippocampe.validation import (
    MAX_BURST,
    MAX_CHOICES,
    MAX_EVIDENCE,
    MAX_QUESTION_CHARACTERS,
    MAX_REASON_CHARACTERS,
    MAX_REPLACES,
    MAX_SUBJECTS,
    MAX_TOOL_RESULTS,
)

MAX_MEMBERS = 100
"""Members of an object, and of an array of values of several types."""
Label = Annotated[str, Field(max_length=MAX_LABEL_CHARACTERS)]
Content = Annotated[str, Field(max_length=MAX_CONTENT_CHARACTERS)]
MessageText = Annotated[str, Field(max_length=MAX_MESSAGE_CHARACTERS)]
Reason = Annotated[str, Field(max_length=MAX_REASON_CHARACTERS)]
Subjects = Annotated[list[Label], Field(max_length=MAX_SUBJECTS)]
Choices = Annotated[list[Label], Field(max_length=MAX_CHOICES)]


def few(given: Any) -> Any:
    """Refuse an object or array with too many members, before each wrong one is reported."""
    if _members(given) > MAX_MEMBERS:
        raise ValueError(f"it has more than {MAX_MEMBERS} members")
    return given


def _members(given: Any) -> int:
    return len(cast("Sized", given)) if isinstance(given, dict | list) else 0


Few = BeforeValidator(few)
Pairs = Annotated[dict[Label, MetadataValue], Few, Field(max_length=MAX_METADATA_KEYS)]
HostMessage = str | dict[str, Any]


def _latest(given: Any) -> Any:
    return cast("list[Any]", given)[-MAX_BURST:] if isinstance(given, list) else given


Latest = BeforeValidator(_latest)


class Body(BaseModel):
    """A JSON object with known fields only."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _few(cls, given: Any) -> Any:
        return few(given)

    def given(self) -> dict[str, Any]:
        """The fields present in the request; missing ones are omitted from the call."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class NewMemory(Body):
    """A statement to remember; fields as in `Hippocampe.remember`."""

    content: Content = Field(examples=["Paul aime le thé vert."])
    type: Label | None = None
    collection: Label | None = None
    category: Label | None = None
    key: Label | None = None
    subjects: Subjects = Field(default=[], examples=[["paul"]])
    importance: float | None = None
    ttl: Label | None = Field(default=None, examples=["7d"])
    occurred_at: Label | None = Field(default=None, examples=["2026-03-02T18:00:00+01:00"])
    source: Label = "conversation"
    replaces: Annotated[list[Label], Field(max_length=MAX_REPLACES)] = []
    evidence: Annotated[list[Label], Field(max_length=MAX_EVIDENCE)] = []
    metadata: Pairs | None = None


class MemoryChanges(Body):
    """Fields of a memory to change; those left out stay."""

    content: Content | None = None
    type: Label | None = None
    category: Label | None = None
    subjects: Subjects | None = None
    importance: float | None = Field(default=None, examples=[0.9])
    ttl: Label | None = None
    occurred_at: Label | None = None
    metadata: Pairs | None = None


class Question(Body):
    """The arguments of a recall; fields as in `Hippocampe.recall`."""

    query: str = Field(max_length=MAX_QUESTION_CHARACTERS, examples=["Que boit Paul ?"])
    limit: int = 10
    collections: Choices = ["memory"]
    types: Choices | None = None
    subjects: Subjects | None = None
    category: Label | None = None
    metadata: Pairs | None = None
    since: Label | None = None
    until: Label | None = None
    user: Label | None = None
    channel: Label | None = None
    min_score: float | None = None
    mode: Mode = "hybrid"
    explain: bool = False


class ComingTurn(Body):
    """A message that a model is about to answer."""

    message: Annotated[HostMessage | list[HostMessage], Latest] = Field(
        examples=["Je bois quoi ce soir ?"]
    )
    role: Label = "user"
    explain: bool = Field(default=False, description="Whether the trace has all candidates.")
    fresh: bool = Field(
        default=False,
        description="Whether the model's context is new: any item may be injected again.",
    )


class Exchange(Body):
    """A message and its reply, to store."""

    user_message: MessageText = Field(examples=["Je me suis mis au thé vert."])
    reply: MessageText | None = Field(default=None, examples=["Bonne idée !"])
    assistant: Label = "assistant"
    at: Label | None = None
    tool_results: Annotated[list[MessageText], Field(max_length=MAX_TOOL_RESULTS)] = []
    external_id: Label | None = Field(
        default=None, description="Its id in the host; a repeat returns the stored turn."
    )


class LiveMessage(Body):
    """A message of an observed room."""

    content: MessageText = Field(examples=["On se voit à 18 h au port."])
    at: Label | None = None
    external_id: Label | None = None


class Topic(Body):
    """A topic to forget."""

    topic: Reason = Field(examples=["le voilier d'Owen"])
    dry_run: bool = False


class ToErase(Body):
    """The data to erase permanently: exactly one of `id`, `user`, `subject` and `whole_space`."""

    id: Label | None = None
    user: Label | None = None
    subject: Label | None = Field(default=None, examples=["owen"])
    whole_space: bool = False
    dry_run: bool = False


class NewAssociation(Body):
    """A typed edge to another memory."""

    target_id: Label = Field(examples=["0198a000-0000-7000-8000-000000000000"])
    kind: Label = Field(examples=["related_to"])
    reason: Reason | None = None


class Settled(Body):
    """A pair that a person has reviewed; `keep` supersedes the other memory."""

    id: Label = Field(examples=["0198a000-0000-7000-8000-000000000000"])
    other_id: Label = Field(examples=["0198a000-0000-7000-8000-000000000001"])
    keep: Label | None = None


class KeyToMake(Body):
    """A key of the server."""

    role: Role = Field(examples=["write"])
    label: Label | None = Field(default=None, examples=["phone"])


class Said(Body):
    """A message of a user to the companion."""

    message: MessageText = Field(examples=["Je bois quoi ce soir ?"])


class NewFact(Body):
    """A fact: one value under a name that is unique in the space."""

    key: Label = Field(examples=["boisson"])
    value: Content = Field(examples=["le thé vert"])


_HINTS = get_type_hints(Settings)
_EACH: dict[str, Any] = {
    each.name: (Annotated[_HINTS[each.name] | None, Few], None) for each in fields(Settings)
}
_SettingsChanges = create_model("_SettingsChanges", __base__=Body, **_EACH)


class SettingsChanges(_SettingsChanges):
    """Settings to change; null resets one, and omitted ones stay."""

    model_config = ConfigDict(json_schema_extra={"example": {"recent_hours": 12, "language": None}})
