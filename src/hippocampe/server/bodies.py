"""The bodies of requests: the arguments of the verbs, without the scope. Unknown fields are refused."""

from dataclasses import fields
from typing import Any, get_type_hints

from pydantic import BaseModel, ConfigDict, Field, create_model

from hippocampe.types import MetadataValue, Mode, Role, Settings

Pairs = dict[str, MetadataValue]
HostMessage = str | dict[str, Any]


class Body(BaseModel):
    """A JSON object with known fields only."""

    model_config = ConfigDict(extra="forbid")

    def given(self) -> dict[str, Any]:
        """The fields that the request has: one that it leaves out is left out of the call."""
        return {name: getattr(self, name) for name in self.model_fields_set}


class NewMemory(Body):
    """A statement to remember; fields as in `Hippocampe.remember`."""

    content: str = Field(examples=["Paul aime le thé vert."])
    type: str | None = None
    collection: str | None = None
    category: str | None = None
    key: str | None = None
    subjects: list[str] = Field(default=[], examples=[["paul"]])
    importance: float | None = None
    ttl: str | None = Field(default=None, examples=["7d"])
    occurred_at: str | None = Field(default=None, examples=["2026-03-02T18:00:00+01:00"])
    source: str = "conversation"
    replaces: list[str] = []
    evidence: list[str] = []
    metadata: Pairs | None = None


class MemoryChanges(Body):
    """Fields of a memory to change; those left out stay."""

    content: str | None = None
    type: str | None = None
    category: str | None = None
    subjects: list[str] | None = None
    importance: float | None = Field(default=None, examples=[0.9])
    ttl: str | None = None
    occurred_at: str | None = None
    metadata: Pairs | None = None


class Question(Body):
    """What to recall; fields as in `Hippocampe.recall`."""

    query: str = Field(examples=["Que boit Paul ?"])
    limit: int = 10
    collections: list[str] = ["memory"]
    types: list[str] | None = None
    subjects: list[str] | None = None
    category: str | None = None
    metadata: Pairs | None = None
    since: str | None = None
    until: str | None = None
    user: str | None = None
    channel: str | None = None
    min_score: float | None = None
    mode: Mode = "hybrid"
    explain: bool = False


class ComingTurn(Body):
    """A message that a model is about to answer."""

    message: HostMessage | list[HostMessage] = Field(examples=["Je bois quoi ce soir ?"])
    role: str = "user"
    explain: bool = Field(default=False, description="Whether the trace has all candidates.")
    fresh: bool = Field(
        default=False, description="Whether the model's context is new: all may be given again."
    )


class Exchange(Body):
    """A message and its reply, to store."""

    user_message: str = Field(examples=["Je me suis mis au thé vert."])
    reply: str | None = Field(default=None, examples=["Bonne idée !"])
    assistant: str = "assistant"
    at: str | None = None
    tool_results: list[str] = []
    external_id: str | None = Field(
        default=None, description="Its id in the host; a repeat returns the stored turn."
    )


class LiveMessage(Body):
    """A message of an observed room."""

    content: str = Field(examples=["On se voit à 18 h au port."])
    at: str | None = None
    external_id: str | None = None


class Topic(Body):
    """What to forget."""

    topic: str = Field(examples=["le voilier d'Owen"])
    dry_run: bool = False


class ToErase(Body):
    """What to erase for ever: exactly one of `id`, `user`, `subject` and `whole_space`."""

    id: str | None = None
    user: str | None = None
    subject: str | None = Field(default=None, examples=["owen"])
    whole_space: bool = False
    dry_run: bool = False


class NewAssociation(Body):
    """A typed edge to another memory."""

    target_id: str = Field(examples=["0198a000-0000-7000-8000-000000000000"])
    kind: str = Field(examples=["related_to"])
    reason: str | None = None


class Settled(Body):
    """A pair that a person has reviewed; `keep` is the one that supersedes the other."""

    id: str = Field(examples=["0198a000-0000-7000-8000-000000000000"])
    other_id: str = Field(examples=["0198a000-0000-7000-8000-000000000001"])
    keep: str | None = None


class KeyToMake(Body):
    """A key of the server."""

    role: Role = Field(examples=["write"])
    label: str | None = Field(default=None, examples=["phone"])


class Said(Body):
    """What a user says to the companion."""

    message: str = Field(examples=["Je bois quoi ce soir ?"])


class NewFact(Body):
    """A fact: one value under a name that is unique in the space."""

    key: str = Field(examples=["boisson"])
    value: str = Field(examples=["le thé vert"])


_HINTS = get_type_hints(Settings)
_EACH: dict[str, Any] = {each.name: (_HINTS[each.name] | None, None) for each in fields(Settings)}
_SettingsChanges = create_model("_SettingsChanges", __base__=Body, **_EACH)


class SettingsChanges(_SettingsChanges):
    """Settings to change; null resets one, and those left out stay."""

    model_config = ConfigDict(json_schema_extra={"example": {"recent_hours": 12, "language": None}})
