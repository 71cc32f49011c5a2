"""Turn text into vectors: the bundled model, remote services, ONNX models run locally."""

from hippocampe.errors import InvalidInput
from hippocampe.protocols import Embedder

_REMOTE = ("openai", "voyageai")


def is_remote(name: str) -> bool:
    """Return whether the embedder of this name is a network service."""
    return name.partition(":")[0] in _REMOTE


def missing_key(name: str, *, url: str | None = None) -> str | None:
    """The environment variable that an embedder needs and that is not set, if any.

    Args:
        name: As for `open_embedder`.
        url: The base URL of a server with the same protocol, which may need no key.
    """
    from hippocampe.embed.connection import KEYS, key_of

    provider = name.partition(":")[0]
    return None if provider not in _REMOTE or url or key_of(provider) else KEYS[provider]


def open_embedder(
    name: str, *, url: str | None = None, timeout: float = 10.0, dimensions: int | None = None
) -> Embedder:
    """Create an embedder by name; models and connections are loaded at its first use.

    Args:
        name: `local`, `openai:MODEL`, `voyageai:MODEL` or `fastembed:MODEL`.
        url: For `openai` and `voyageai`, the base URL of a server with the same protocol.
        timeout: Seconds for one remote request, retries included.
        dimensions: Length of the vectors of a remote embedder, if it is known; else its first use measures it.

    Raises:
        InvalidInput: The name is unknown, or `url` or `timeout` cannot be used with it.
    """
    if timeout <= 0:
        raise InvalidInput(f"cannot embed within {timeout} seconds: give a time-out above 0.")
    provider, _, model = name.partition(":")
    if url is not None and provider in ("local", "fastembed"):
        raise InvalidInput(
            f"the embedder {name!r} runs in this process and takes no URL: remove the URL, or "
            "name a remote one such as 'openai:MODEL'."
        )
    if name == "local":
        from hippocampe.embed.local import LocalEmbedder

        return LocalEmbedder()
    if provider == "fastembed" and model:
        from hippocampe.embed.fastembed import FastEmbedder

        return FastEmbedder(model)
    if provider in _REMOTE and model:
        from hippocampe.embed.remote import RemoteEmbedder

        return RemoteEmbedder(provider, model, url=url, timeout=timeout, dimensions=dimensions)
    raise InvalidInput(
        f"there is no embedder called {name!r}: use 'local', 'openai:MODEL', 'voyageai:MODEL' or "
        "'fastembed:MODEL'."
    )
