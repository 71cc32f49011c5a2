"""The arguments of verbs in requests: their types, limits and descriptions come from the verb and its docstring."""

import inspect
from collections.abc import Callable, Mapping, Sequence, Sized
from dataclasses import dataclass, fields
from types import NoneType
from typing import Annotated, Any, Literal, cast, get_args, get_origin, get_type_hints

from pydantic import (
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    GetJsonSchemaHandler,
    TypeAdapter,
    WithJsonSchema,
    create_model,
    model_validator,
)
from pydantic_core import CoreSchema, PydanticCustomError

from hippocampe.client.calls import signature_of
from hippocampe.hippocampe import Hippocampe
from hippocampe.language.i18n import languages
from hippocampe.language.text import without_lone_surrogates
from hippocampe.server.http.faults import MAX_NAME
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


@dataclass(frozen=True, slots=True, eq=False)
class Says:
    """A bound that the schema says. The verb checks it, and says the same through all interfaces."""

    bound: Mapping[str, Any]

    def __get_pydantic_json_schema__(
        self, schema: CoreSchema, handler: GetJsonSchemaHandler
    ) -> Any:
        return {**handler(schema), **self.bound}


def _text(most: int) -> Any:
    return Annotated[str, Says({"maxLength": most})]


def _list(of: Any, most: int) -> Any:
    return Annotated[list[of], Says({"maxItems": most})]


Few = BeforeValidator(_few)
Label = Annotated[str, Says({"maxLength": MAX_LABEL_CHARACTERS})]
MessageText = Annotated[str, Says({"maxLength": MAX_MESSAGE_CHARACTERS})]
_Said = Annotated[MessageText, BeforeValidator(_readable)]
"""Words of an exchange: a program may have cut an emoji in halves, and the rest is stored."""
_Content = _text(MAX_CONTENT_CHARACTERS)
_Reason = _text(MAX_REASON_CHARACTERS)
_Choices = _list(Label, MAX_CHOICES)
_Value = Annotated[Any, WithJsonSchema(TypeAdapter(MetadataValue).json_schema())]
_LIMITED: Mapping[str, Any] = {
    "content": _Content,
    "value": _Content,
    "query": _text(MAX_QUESTION_CHARACTERS),
    "user_message": _Said,
    "reply": _Said,
    "topic": _Reason,
    "reason": _Reason,
    "subjects": _list(Label, MAX_SUBJECTS),
    "collections": _Choices,
    "types": _Choices,
    "replaces": _list(Label, MAX_REPLACES),
    "evidence": _list(Label, MAX_EVIDENCE),
    "tool_results": _list(_Said, MAX_TOOL_RESULTS),
    "cursor": _text(MAX_TOKEN_CHARACTERS),
    "metadata": Annotated[dict[Label, _Value], Few, Says({"maxProperties": MAX_METADATA_KEYS})],
}
"""The type in JSON of the arguments that are more, or longer, than a label. Other texts and times are labels."""


class Body(BaseModel):
    """A JSON object with known fields only, and not too many members."""

    model_config = ConfigDict(extra="forbid")

    @model_validator(mode="before")
    @classmethod
    def _known(cls, value: Any) -> Any:
        if isinstance(_few(value), dict):
            named = {str(name)[:MAX_NAME] for name in cast("dict[str, Any]", value)}
            if unknown := named - cls.model_fields.keys():
                said = {"unknown": ", ".join(sorted(unknown)), "known": ", ".join(cls.model_fields)}
                raise PydanticCustomError("unknown", "{unknown}: unknown. It takes {known}", said)
        return value

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
    kind = _LIMITED.get(name, Label if str in kinds else _open(hint))
    return kind | None if NoneType in kinds else kind


def _open(hint: Any) -> Any:
    """A type whose choices the verb checks."""
    if NoneType in get_args(hint):
        kinds: Any = None
        for kind in get_args(hint):
            kinds = kinds if kind is NoneType else _open(kind) | kinds
        return kinds
    if get_origin(hint) is Literal:
        return Annotated[str, Says({"enum": [*get_args(hint)]})]
    if get_origin(hint) is Sequence:
        return list[_open(*get_args(hint))]
    return hint


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
