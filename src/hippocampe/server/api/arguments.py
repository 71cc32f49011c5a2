"""The arguments of verbs in requests: their types, limits and descriptions come from the verb and its docstring."""

import inspect
from collections.abc import Callable, Mapping, Sized
from dataclasses import fields
from types import NoneType
from typing import Annotated, Any, cast, get_args, get_type_hints

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, create_model, model_validator

from hippocampe.client.calls import signature_of
from hippocampe.hippocampe import Hippocampe
from hippocampe.language.i18n import languages
from hippocampe.language.text import without_lone_surrogates
from hippocampe.types import (
    MAX_CONTENT_CHARACTERS,
    MAX_LABEL_CHARACTERS,
    MAX_MESSAGE_CHARACTERS,
    MAX_METADATA_KEYS,
    MAX_TOOL_RESULTS,
    UNSET,
    MetadataValue,
    Settings,
    Unset,
)
from hippocampe.validation import (
    MAX_CHOICES,
    MAX_EVIDENCE,
    MAX_QUESTION_CHARACTERS,
    MAX_REASON_CHARACTERS,
    MAX_REPLACES,
    MAX_SUBJECTS,
    MAX_TOKEN_CHARACTERS,
)
from hippocampe.verbs import documentation

Step = Callable[..., Any]
Fields = dict[str, tuple[Any, dict[str, Any]]]
"""By argument, its type in JSON and the keywords of its `Field`."""
MAX_MEMBERS = 100
"""Members of an object, and of an array of values of several types."""


def _few(value: Any) -> Any:
    """Refuse an object or array with too many members, before each wrong one is reported."""
    if _members(value) > MAX_MEMBERS:
        raise ValueError(f"it has more than {MAX_MEMBERS} members")
    return value


def _members(value: Any) -> int:
    return len(cast("Sized", value)) if isinstance(value, dict | list) else 0


def _readable(value: Any) -> Any:
    return without_lone_surrogates(value) if isinstance(value, str) else value


Few = BeforeValidator(_few)
Label = Annotated[str, Field(max_length=MAX_LABEL_CHARACTERS)]
MessageText = Annotated[str, Field(max_length=MAX_MESSAGE_CHARACTERS)]
_Said = Annotated[MessageText, BeforeValidator(_readable)]
"""Words of an exchange: a program may have cut an emoji in halves, and the rest is stored."""
_Content = Annotated[str, Field(max_length=MAX_CONTENT_CHARACTERS)]
_Reason = Annotated[str, Field(max_length=MAX_REASON_CHARACTERS)]
_Choices = Annotated[list[Label], Field(max_length=MAX_CHOICES)]
_LIMITED: Mapping[str, Any] = {
    "content": _Content,
    "value": _Content,
    "query": Annotated[str, Field(max_length=MAX_QUESTION_CHARACTERS)],
    "user_message": _Said,
    "reply": _Said,
    "topic": _Reason,
    "reason": _Reason,
    "subjects": Annotated[list[Label], Field(max_length=MAX_SUBJECTS)],
    "collections": _Choices,
    "types": _Choices,
    "replaces": Annotated[list[Label], Field(max_length=MAX_REPLACES)],
    "evidence": Annotated[list[Label], Field(max_length=MAX_EVIDENCE)],
    "tool_results": Annotated[list[_Said], Field(max_length=MAX_TOOL_RESULTS)],
    "cursor": Annotated[str, Field(max_length=MAX_TOKEN_CHARACTERS)],
    "metadata": Annotated[dict[Label, MetadataValue], Few, Field(max_length=MAX_METADATA_KEYS)],
}
"""The type in JSON of the arguments that are more, or longer, than a label. Other texts and times are labels."""


class Body(BaseModel):
    """A JSON object with known fields only, and not too many members."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _few(cls, value: Any) -> Any:
        return _few(value)

    def arguments(self) -> dict[str, Any]:
        """The arguments of the call, without those that the request leaves to the verb."""
        return {name: value for name, value in self if not isinstance(value, Unset)}


def arguments_of(verb: Step, *without: str, **differing: Mapping[str, Any]) -> Fields:
    """The arguments of a verb, except its scope and what it calls back.

    Args:
        verb: The verb, an attribute of `Hippocampe`.
        without: Arguments to leave out.
        differing: By argument, keywords that differ from the declaration of the verb; `type` is its type.
    """
    signature, hints = signature_of(Hippocampe, verb.__name__)
    described = documentation(verb).arguments
    found: Fields = {}
    for name, parameter in signature.parameters.items():
        if name in ("scope", "progress", *without):
            continue
        if parameter.kind is parameter.VAR_KEYWORD:
            return found | _settings()
        field: dict[str, Any] = _default(parameter.default)
        if name in described:
            field["description"] = described[name].replace("None", "null")
        field |= differing.get(name, {})
        found[name] = (field.pop("type", _json_type(name, hints[name])), field)
    return found


def body_of(
    verb: Step, *without: str, example: Mapping[str, Any] = {}, **differing: Mapping[str, Any]
) -> type[Body]:
    """Make a body of the arguments of a verb.

    Args:
        without: Arguments that the path of the request has.
        example: Values of an example, by argument.
        differing: As in `arguments_of`.
    """
    made: dict[str, Any] = {}
    for name, (kind, field) in arguments_of(verb, *without, **differing).items():
        if name in example:
            field["examples"] = [example[name]]
        made[name] = (kind, Field(**field))
    name = verb.__name__.title().replace("_", "")
    return create_model(name, __base__=Body, __doc__=documentation(verb).text, **made)


def _json_type(name: str, hint: Any) -> Any:
    kinds = get_args(hint) or (hint,)
    kind = _LIMITED.get(name, Label if str in kinds else hint)
    return kind | None if NoneType in kinds else kind


def _default(default: Any) -> dict[str, Any]:
    if default is inspect.Parameter.empty:
        return {}
    if isinstance(default, Unset):
        return {"default_factory": lambda: UNSET}
    return {
        "default": list(cast("tuple[Any, ...]", default)) if isinstance(default, tuple) else default
    }


def _settings() -> Fields:
    """The settings as arguments; null resets one."""
    described = documentation(Settings).arguments
    language = Annotated[str, Field(json_schema_extra={"enum": list(languages())})]
    hints: dict[str, Any] = {**get_type_hints(Settings), "language": language}
    return {
        each.name: (
            Annotated[hints[each.name] | None, Few],
            {"default_factory": lambda: UNSET, "description": described[each.name]},
        )
        for each in fields(Settings)
    }
