"""The ways to get a language model, for a reader who has none."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from hippocampe.presentation.reader import Reader


@dataclass(frozen=True, slots=True)
class Way:
    """One way to get a language model.

    Attributes:
        model: The value of the configuration `model`.
        variables: Environment variables of the model, with examples.
        before: Commands to run once.
    """

    says: str
    model: str
    variables: Mapping[str, str] = field(default_factory=dict[str, str])
    before: Sequence[str] = ()


def model_ways(by: Reader) -> tuple[Way, ...]:
    """The three ways: a provider, a model on this machine, any other server."""
    return (
        Way(by.say("A provider, with your key:"), "openai:gpt-5-mini", {"OPENAI_API_KEY": "sk-…"}),
        Way(
            by.say("A model on this machine, free and without a network (Ollama):"),
            "openai-chat:qwen2.5:7b",
            {"OPENAI_BASE_URL": "http://127.0.0.1:11434/v1", "OPENAI_API_KEY": "none"},
            ("ollama pull qwen2.5:7b",),
        ),
        Way(
            by.say("Any other server with the API of OpenAI, such as that of your company:"),
            "openai-chat:NAME",
            {"OPENAI_BASE_URL": "https://…", "OPENAI_API_KEY": "…"},
        ),
    )
