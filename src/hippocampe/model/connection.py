"""Connect to the models of a configuration, and translate the errors of providers."""

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from hippocampe.errors import InvalidAnswer, InvalidInput, ModelUnavailable

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelResponse
    from pydantic_ai.models import Model
    from pydantic_ai.settings import ModelSettings

MAX_RETRIES = 2
"""Repetitions of a request that the provider refused for now; `retry-after` is respected."""


def connect(name: str, fallback: str | None = None) -> "Model":
    """Prepare a model by name, with another one for when it fails. Nothing is sent yet.

    Args:
        name: As Pydantic AI names it: `openai:gpt-5-mini`.
        fallback: Another model.

    Raises:
        ModelUnavailable: A package or a key is missing.
        InvalidInput: There is no such provider or model.
    """
    try:
        from pydantic_ai.models import infer_model
        from pydantic_ai.models.fallback import FallbackModel
    except ImportError as exc:
        raise ModelUnavailable(
            "language models need an extra package: pip install 'hippocampe[companion]'."
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
            models.append(infer_model(each))
        except ImportError as exc:
            raise ModelUnavailable(f"the model {each!r} needs a package: {exc}") from exc
        except UserError as exc:
            kind = InvalidInput if str(exc).startswith("Unknown model") else ModelUnavailable
            raise kind(f"the model {each!r} cannot be used: {exc}") from exc
    return FallbackModel(models[0], *models[1:]) if len(models) > 1 else models[0]


def request_settings(timeout: float) -> "ModelSettings":
    """The settings of every request; `timeout` is in seconds, for each attempt."""
    return {"timeout": timeout, "max_retries": MAX_RETRIES}


@contextmanager
def translated() -> Generator[None]:
    """Raise errors of the model as `ModelError`, without the text of the conversation.

    Raises:
        ModelUnavailable: It cannot be reached, or refused.
        InvalidAnswer: It answered, but not as requested.
    """
    from pydantic_ai.exceptions import (
        FallbackExceptionGroup,
        ModelAPIError,
        ModelAuthenticationError,
        ModelRateLimitError,
        ModelTimeoutError,
        UnexpectedModelBehavior,
        UserError,
    )

    try:
        yield
    except FallbackExceptionGroup as exc:
        raise ModelUnavailable(
            "neither the model nor the fallback model answered: check their names, keys and servers."
        ) from exc
    except ModelAuthenticationError as exc:
        raise ModelUnavailable(
            f"the provider refused the key for {exc.model_name!r}: check the key in the environment."
        ) from exc
    except ModelRateLimitError as exc:
        raise ModelUnavailable(
            f"the provider has too many requests for {exc.model_name!r}: try again later."
        ) from exc
    except ModelTimeoutError as exc:
        raise ModelUnavailable(
            f"{exc.model_name!r} did not answer in time: try again, or raise model_timeout."
        ) from exc
    except ModelAPIError as exc:
        status = getattr(exc, "status_code", None)
        reason = f"status {status}" if status else type(exc).__name__
        raise ModelUnavailable(
            f"{exc.model_name!r} cannot be used ({reason}): check the server, or try again later."
        ) from exc
    except UnexpectedModelBehavior as exc:
        raise InvalidAnswer(
            "the model did not answer in the requested form: try again, or use a larger model."
        ) from exc
    except UserError as exc:
        raise ModelUnavailable(f"the model cannot be used: {exc}") from exc


def price_of(responses: "Sequence[ModelResponse]") -> float | None:
    """The price of some answers in US dollars; None if that of one is not known.

    Prices are those of `genai-prices` at its release.
    """
    total = 0.0
    for response in responses:
        try:
            total += float(response.cost().total_price)
        except (LookupError, ValueError, AssertionError):
            return None
    return total
