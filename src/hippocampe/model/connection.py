"""Connect to the models of a configuration, and translate the errors of providers."""

import os
import re
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from hippocampe.errors import InvalidAnswer, InvalidInput, ModelError, ModelUnavailable
from hippocampe.system.command_line import install_line

if TYPE_CHECKING:
    from pydantic_ai.exceptions import ModelAPIError
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings

_KEY = re.compile(r"\b[A-Z][A-Z0-9_]*_(?:KEY|TOKEN)\b")
"""The environment variable that a provider lacks, in the message of its client."""
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]*_(?:KEY|TOKEN|URL|ENDPOINT)")
"""Environment variables that the clients of providers read."""
_hiding = threading.Lock()
MAX_RETRIES = 2
"""Retries of a request that the provider refused for now; `retry-after` is respected."""


def connect(name: str, fallback: str | None = None) -> "Model":
    """Prepare a model by name, with another one for when it fails. Nothing is sent yet.

    Args:
        name: As Pydantic AI names it: `openai:gpt-5-mini`.

    Raises:
        ModelUnavailable: A package or a key is missing.
        InvalidInput: There is no such provider or model.
    """
    try:
        from pydantic_ai.models import infer_model
        from pydantic_ai.models.fallback import FallbackModel
    except ImportError as exc:
        raise ModelUnavailable(
            f"language models need an extra package: {install_line('companion')}"
        ) from exc
    from pydantic_ai.exceptions import UserError

    models: list[Model] = []
    for each in filter(None, (name, fallback)):
        if not all(each.partition(":")):
            raise InvalidInput(
                f"the model {each!r} cannot be used: name the provider and the model, such as "
                "openai:gpt-5-mini."
            )
        try:
            with _blank_variables_hidden():
                models.append(infer_model(each))
        except ImportError as exc:
            raise ModelUnavailable(f"the model {each!r} needs a package: {exc}") from exc
        except UserError as exc:
            if key := _KEY.search(str(exc)):
                raise ModelUnavailable(
                    f"the model {each!r} has no key: set {key[0]}, the key of its provider."
                ) from exc
            kind = InvalidInput if str(exc).startswith("Unknown model") else ModelUnavailable
            raise kind(f"the model {each!r} cannot be used: {exc}") from exc
    return FallbackModel(models[0], *models[1:]) if len(models) > 1 else models[0]


@contextmanager
def _blank_variables_hidden() -> Generator[None]:
    """Treat blank variables as unset: some clients take an empty key as one, others fail on it."""
    with _hiding:
        blank = {
            name: os.environ.pop(name)
            for name, value in list(os.environ.items())
            if not value.strip() and _VARIABLE.fullmatch(name)
        }
        try:
            yield
        finally:
            os.environ.update(blank)


def request_settings(timeout: float) -> "ModelSettings":
    """The settings of every request; `timeout` is in seconds, for each attempt."""
    return {"timeout": timeout, "max_retries": MAX_RETRIES}


@contextmanager
def translated() -> Generator[None]:
    """Raise errors of the model as `ModelError`, without the text of the conversation.

    Raises:
        ModelUnavailable: It cannot be reached, or refuses every request.
        InvalidAnswer: It answered, but not as requested, or refused this request.
    """
    from pydantic_ai.exceptions import (
        FallbackExceptionGroup,
        ModelAPIError,
        UnexpectedModelBehavior,
        UserError,
    )

    try:
        yield
    except FallbackExceptionGroup as exc:
        refusals = [
            _translation(each) for each in exc.exceptions if isinstance(each, ModelAPIError)
        ]
        if refusals and all(isinstance(each, InvalidAnswer) for each in refusals):
            raise refusals[-1] from exc
        raise ModelUnavailable(
            "neither the model nor the fallback model answered: check their names, keys and servers."
        ) from exc
    except ModelAPIError as exc:
        raise _translation(exc) from exc
    except UnexpectedModelBehavior as exc:
        raise InvalidAnswer(
            "the model did not answer in the requested form: try again, or use a larger model."
        ) from exc
    except UserError as exc:
        raise ModelUnavailable(f"the model cannot be used: {exc}") from exc
    except UnicodeEncodeError:
        # A chained exception would hold the key.
        raise ModelUnavailable(
            "the key of the model cannot be sent: a key is ASCII. Copy it again to the variable of its provider."
        ) from None


def _translation(error: "ModelAPIError") -> ModelError:
    """Translate a provider's error; its text may quote the conversation, and is omitted."""
    from pydantic_ai import exceptions as known

    name, status = error.model_name, getattr(error, "status_code", None)
    match error:
        case known.ModelAuthenticationError():
            return ModelUnavailable(
                f"the provider refused the key for {name!r}: check the key in the environment."
            )
        case known.ModelNotFoundError():
            return ModelUnavailable(f"the provider has no model {name!r}: check its name.")
        case known.ModelContextWindowExceededError():
            return InvalidAnswer(
                f"the text is longer than {name!r} can read: use a model with a larger context window."
            )
        case known.ModelRequestRejectedError():
            return InvalidAnswer(
                f"{name!r} refused the request (status {status}): check that it can call tools, or use "
                "another model."
            )
        case known.ModelQuotaExceededError():
            return ModelUnavailable(
                f"the account for {name!r} has no credit left: add some, or use another model."
            )
        case known.ModelRateLimitError():
            return ModelUnavailable(
                f"the provider has too many requests for {name!r}: try again later."
            )
        case known.ModelTimeoutError():
            return ModelUnavailable(
                f"{name!r} did not answer in time: try again, or raise model_timeout."
            )
        case known.ModelConnectionError():
            return ModelUnavailable(
                f"the server of {name!r} cannot be reached: check that it runs, and its base URL."
            )
        case _:
            reason = f"status {status}" if status else type(error).__name__
            return ModelUnavailable(
                f"{name!r} cannot be used ({reason}): check the server, or try again later."
            )


@dataclass(frozen=True, slots=True)
class Cost:
    """The cost of the requests of a run.

    `model` is the one that answered last, None if none did; `price` is in US dollars, None if that of
    one request is not known. Prices are those of `genai-prices` at its release.
    """

    model: str | None
    requests: int
    input_tokens: int
    output_tokens: int
    price: float | None


def cost_of(responses: "Sequence[ModelResponse]") -> Cost:
    """Add up the costs of a run's requests."""
    names = [each.model_name for each in responses if each.model_name]
    return Cost(
        names[-1] if names else None,
        len(responses),
        sum(each.usage.input_tokens for each in responses),
        sum(each.usage.output_tokens for each in responses),
        _price_of(responses),
    )


def _price_of(responses: "Sequence[ModelResponse]") -> float | None:
    total = 0.0
    for response in responses:
        try:
            total += float(response.cost().total_price)
        except (LookupError, ValueError, AssertionError):
            return None
    return total
