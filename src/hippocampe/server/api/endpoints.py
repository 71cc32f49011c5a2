"""The endpoints that pass a request on to a verb. Most are declared with the verb, in `hippocampe.verbs`.

Arguments, limits, defaults, descriptions, role and result are those of the verb. A body has the arguments that the
path lacks. In a query, a list is a parameter that is repeated, in the singular, and `of_user` and `of_channel` are
filters: `user` and `channel` belong to the scope.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from inspect import Parameter, Signature
from types import NoneType
from typing import Annotated, Any, get_type_hints

from fastapi import APIRouter, Query

from hippocampe.hippocampe import Hippocampe
from hippocampe.server.api.arguments import MessageText, Step, arguments_of, body_of
from hippocampe.server.http.dependencies import SCOPES, Hippo
from hippocampe.types import Association, Memory, Message, Remembered, Scope
from hippocampe.verbs import VERBS, documentation


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """Memories near one, itself first, and the associations between them."""

    memories: tuple[Memory, ...]
    associations: tuple[Association, ...]


@dataclass(frozen=True, slots=True)
class StoredTurn:
    """The id of a stored exchange."""

    turn_id: str


@dataclass(frozen=True, slots=True)
class Observed:
    """The stored message; null if the room is not observed or the companion is addressed."""

    message: Message | None


@dataclass(frozen=True, slots=True)
class Fact:
    """A named value; `id` is that of the memory."""

    key: str
    value: str
    id: str
    updated_at: datetime


def _neighbourhood(found: tuple[tuple[Memory, ...], tuple[Association, ...]]) -> Neighbourhood:
    return Neighbourhood(*found)


def _fact(memory: Memory) -> Fact:
    return Fact(memory.key or "", memory.content, memory.id, memory.updated_at)


def _facts(found: Mapping[str, Memory]) -> list[Fact]:
    return list(map(_fact, found.values()))


def _written(stored: Remembered) -> Fact:
    return _fact(stored.memory)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """An endpoint that passes a request on to a verb.

    Attributes:
        request: Its method and path.
        name: Its name in the OpenAPI document; default: that of the verb.
        answer: Makes the answer of the result of the verb, if it is another one.
        example: Values of an example of the body, by argument.
        fixed: Arguments that the request does not choose.
        differing: By argument, the keywords of its `Field` that differ from the declaration of the verb.
    """

    request: str
    verb: Step
    name: str = ""
    status: int = 200
    answer: Callable[[Any], Any] | None = None
    example: Mapping[str, Any] = field(default_factory=dict[str, Any])
    fixed: Mapping[str, Any] = field(default_factory=dict[str, Any])
    differing: Mapping[str, Mapping[str, Any]] = field(default_factory=dict[str, Mapping[str, Any]])


QUERY_NAMES = {
    "types": "type",
    "subjects": "subject",
    "states": "state",
    "user": "of_user",
    "channel": "of_channel",
}
"""The parameters of queries that are not named as the argument."""
NOT_IN_QUERIES = ("metadata",)
"""Objects."""
_REASON = {"reason": {"default": "deleted over HTTP"}}
DIFFERING = (
    Endpoint("DELETE /api/memories/{id}", Hippocampe.delete, differing=_REASON),
    Endpoint("GET /api/memories/{id}/neighbours", Hippocampe.neighbours, answer=_neighbourhood),
    Endpoint(
        "POST /api/memories/{source_id}/associations",
        Hippocampe.associate,
        status=201,
        example={"kind": "related_to"},
    ),
    Endpoint("POST /api/reviews/settle", Hippocampe.settle, status=204),
    Endpoint(
        "POST /api/after_turn",
        Hippocampe.after_turn,
        status=201,
        answer=StoredTurn,
        example={"reply": "Bonne idée !"},
        differing={"reply": {"default": None}},
    ),
    Endpoint(
        "POST /api/live",
        Hippocampe.observe,
        answer=Observed,
        differing={"content": {"type": MessageText}},
    ),
    Endpoint("GET /api/memory/facts", Hippocampe.facts, answer=_facts),
    Endpoint("POST /api/memory/facts", Hippocampe.set_fact, status=201, answer=_written),
    Endpoint(
        "DELETE /api/memory/facts/{key:path}",
        Hippocampe.delete_fact,
        answer=_fact,
        differing=_REASON,
    ),
    Endpoint("GET /api/notes", Hippocampe.notes, fixed={"refresh": False}),
    Endpoint("POST /api/notes/refresh", Hippocampe.notes, "refresh_notes", fixed={"refresh": True}),
    Endpoint("POST /api/keys", Hippocampe.create_key, status=201),
)
"""Endpoints that differ from the declaration of their verb. `hippocampe.server.api` has more, which do more."""
ENDPOINTS = (
    *(Endpoint(verb.http, getattr(Hippocampe, name)) for name, verb in VERBS.items() if verb.http),
    *DIFFERING,
)


@cache
def routes() -> APIRouter:
    """The routes of all endpoints, which take 0.2 s to make."""
    router = APIRouter()
    for endpoint in ENDPOINTS:
        _add(router, endpoint)
    return router


def _add(router: APIRouter, endpoint: Endpoint) -> None:
    method, _, path = endpoint.request.partition(" ")
    name, answer = endpoint.verb.__name__, endpoint.answer
    verb = VERBS[name]

    async def call(hippo: Hippo, scope: Scope, **values: Any) -> Any:
        body = values.pop("body", None)
        arguments = values if body is None else values | body.arguments()
        result = await getattr(hippo, name)(**arguments, **endpoint.fixed, scope=scope)
        return result if answer is None else answer(result)

    role = "write" if endpoint.fixed.get(verb.writes_with or "") else verb.role
    parameters = [_parameter("hippo", Hippo), _parameter("scope", SCOPES[role])]
    vars(call)["__signature__"] = Signature([*parameters, *_parameters(method, path, endpoint)])
    router.add_api_route(
        path,
        call,
        methods=[method],
        name=endpoint.name or name,
        description=documentation(endpoint.verb).text,
        response_model=_result(answer or endpoint.verb),
        status_code=endpoint.status,
        tags=[verb.group],
    )


def _parameters(method: str, path: str, endpoint: Endpoint) -> list[Parameter]:
    """The parameters of an endpoint: what its path names, and the rest in a query or a body."""
    verb, differing = endpoint.verb, endpoint.differing
    found = arguments_of(verb, *endpoint.fixed, **differing)
    named = [name for name in found if f"{{{name}" in path]
    parameters = [_parameter(name, str) for name in named]
    without = (*endpoint.fixed, *named)
    if method not in ("POST", "PATCH"):
        others = (name for name in found if name not in (*named, *NOT_IN_QUERIES))
        return [*parameters, *(_query(name, *found[name]) for name in others)]
    if len(found) > len(named):
        body = body_of(verb, *without, example=endpoint.example, **differing)
        needed = any(each.is_required() for each in body.model_fields.values())
        parameters.append(_parameter("body", body, Parameter.empty if needed else None))
    return parameters


def _parameter(name: str, kind: Any, default: Any = Parameter.empty) -> Parameter:
    return Parameter(name, Parameter.KEYWORD_ONLY, default=default, annotation=kind)


def _query(name: str, kind: Any, keywords: Mapping[str, Any]) -> Parameter:
    default = keywords.get("default", Parameter.empty)
    query = Query(alias=QUERY_NAMES.get(name), description=keywords.get("description"))
    return _parameter(name, Annotated[kind, query], default)


def _result(maker: Step) -> Any:
    """The type of what a verb, a function or a class makes; None for nothing."""
    found = maker if isinstance(maker, type) else get_type_hints(maker)["return"]
    return None if found is NoneType else found
