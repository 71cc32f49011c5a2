"""The bodies of requests: the arguments of the verbs, without the scope. Unknown fields are refused."""

import inspect
from collections.abc import Mapping
from dataclasses import fields
from types import NoneType
from typing import Annotated, Any, cast, get_args, get_type_hints

from pydantic import BeforeValidator, ConfigDict, Field, create_model

from hippocampe.client.calls import signature_of
from hippocampe.hippocampe import Hippocampe
from hippocampe.language.i18n import languages
from hippocampe.server.api.body import Body, Few
from hippocampe.types import (
    MAX_CONTENT_CHARACTERS,
    MAX_LABEL_CHARACTERS,
    MAX_MESSAGE_CHARACTERS,
    MAX_METADATA_KEYS,
    MetadataValue,
    Settings,
    Unset,
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

Label = Annotated[str, Field(max_length=MAX_LABEL_CHARACTERS)]
Content = Annotated[str, Field(max_length=MAX_CONTENT_CHARACTERS)]
MessageText = Annotated[str, Field(max_length=MAX_MESSAGE_CHARACTERS)]
Reason = Annotated[str, Field(max_length=MAX_REASON_CHARACTERS)]
Subjects = Annotated[list[Label], Field(max_length=MAX_SUBJECTS)]
Choices = Annotated[list[Label], Field(max_length=MAX_CHOICES)]
Pairs = Annotated[dict[Label, MetadataValue], Few, Field(max_length=MAX_METADATA_KEYS)]
HostMessage = str | dict[str, Any]


def _latest(given: Any) -> Any:
    return cast("list[Any]", given)[-MAX_BURST:] if isinstance(given, list) else given


Latest = BeforeValidator(_latest)
_LIMITED: Mapping[str, Any] = {
    "content": Content,
    "value": Content,
    "query": Annotated[str, Field(max_length=MAX_QUESTION_CHARACTERS)],
    "user_message": MessageText,
    "reply": MessageText,
    "topic": Reason,
    "reason": Reason,
    "subjects": Subjects,
    "collections": Choices,
    "types": Choices,
    "replaces": Annotated[list[Label], Field(max_length=MAX_REPLACES)],
    "evidence": Annotated[list[Label], Field(max_length=MAX_EVIDENCE)],
    "tool_results": Annotated[list[MessageText], Field(max_length=MAX_TOOL_RESULTS)],
    "metadata": Pairs,
}
"""The type in JSON of the arguments that are more, or longer, than a label. Other texts and times are labels."""


def arguments(verb: str, *without: str, **differing: Any) -> type[Body]:
    """Make a body of the arguments of a verb, without its scope.

    Args:
        verb: The verb.
        without: Arguments that the path of the request has.
        differing: By argument, the keywords of its `Field` if it has an example or a description; `type`
            replaces its type.
    """
    signature, hints = signature_of(Hippocampe, verb)
    made: dict[str, Any] = {}
    for name, parameter in signature.parameters.items():
        if name == "scope" or name in without:
            continue
        more: dict[str, Any] = {"default": _default(parameter.default), **differing.get(name, {})}
        made[name] = (more.pop("type", _json_type(name, hints[name])), Field(**more))
    return create_model(verb, __base__=Body, **made)


def _json_type(name: str, hint: Any) -> Any:
    """The type in JSON of an argument."""
    kinds = get_args(hint) or (hint,)
    text = str in kinds
    kind = _LIMITED.get(name, Label if text else hint)
    return kind | None if NoneType in kinds else kind


def _default(default: Any) -> Any:
    if default is inspect.Parameter.empty:
        return ...
    if isinstance(default, Unset):
        return None
    return list(cast("tuple[Any, ...]", default)) if isinstance(default, tuple) else default


class NewMemory(
    arguments(
        "remember",
        content={"examples": ["Paul aime le thé vert."]},
        subjects={"examples": [["paul"]]},
        ttl={"examples": ["7d"]},
        occurred_at={"examples": ["2026-03-02T18:00:00+01:00"]},
    )
):
    """A statement to remember; fields as in `Hippocampe.remember`."""


class MemoryChanges(arguments("edit", "id", importance={"examples": [0.9]})):
    """Fields of a memory to change; those left out stay."""


class Question(arguments("recall", query={"examples": ["Que boit Paul ?"]})):
    """A query to recall by; fields as in `Hippocampe.recall`."""


class ComingTurn(Body):
    """A message that a model is about to answer."""

    message: Annotated[HostMessage | list[HostMessage], Latest] = Field(
        examples=["Je bois quoi ce soir ?"]
    )
    role: Label = "user"
    explain: bool = Field(default=False, description="Whether the trace has all candidates.")
    fresh: bool = Field(
        default=False, description="Whether the model's context is new: all may be given again."
    )


class Exchange(
    arguments(
        "after_turn",
        user_message={"examples": ["Je me suis mis au thé vert."]},
        reply={"default": None, "examples": ["Bonne idée !"]},
        external_id={"description": "Its id in the host; a repeat returns the stored turn."},
    )
):
    """A message and its reply, to store."""


class LiveMessage(
    arguments("observe", content={"type": MessageText, "examples": ["On se voit à 18 h au port."]})
):
    """A message of an observed room."""


class Topic(arguments("forget", topic={"examples": ["le voilier d'Owen"]})):
    """A topic to forget."""


class ToErase(arguments("erase", subject={"examples": ["owen"]})):
    """An item or a group to erase for ever: exactly one of `id`, `user`, `subject` and `whole_space`."""


class NewAssociation(
    arguments(
        "associate",
        "source_id",
        target_id={"examples": ["0198a000-0000-7000-8000-000000000000"]},
        kind={"examples": ["related_to"]},
    )
):
    """A typed edge to another memory."""


class Settled(
    arguments(
        "settle",
        id={"examples": ["0198a000-0000-7000-8000-000000000000"]},
        other_id={"examples": ["0198a000-0000-7000-8000-000000000001"]},
    )
):
    """A pair that a person has reviewed; `keep` is the one that supersedes the other."""


class KeyToMake(
    arguments("create_key", role={"examples": ["write"]}, label={"examples": ["phone"]})
):
    """A key of the server."""


class Said(Body):
    """A message of a user to the companion."""

    message: MessageText = Field(examples=["Je bois quoi ce soir ?"])


class NewFact(
    arguments("set_fact", key={"examples": ["boisson"]}, value={"examples": ["le thé vert"]})
):
    """A fact: one value under a name that is unique in the space."""


_Language = Annotated[str, Field(json_schema_extra={"enum": list(languages())})]
_HINTS: dict[str, Any] = {**get_type_hints(Settings), "language": _Language}
_EACH: dict[str, Any] = {
    each.name: (Annotated[_HINTS[each.name] | None, Few], None) for each in fields(Settings)
}
_SettingsChanges = create_model("_SettingsChanges", __base__=Body, **_EACH)


class SettingsChanges(_SettingsChanges):
    """Settings to change; null resets one, and those left out stay."""

    model_config = ConfigDict(json_schema_extra={"example": {"recent_hours": 12, "language": None}})
