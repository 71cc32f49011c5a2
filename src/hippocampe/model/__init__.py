"""Connect to language models of any provider that Pydantic AI supports."""

from hippocampe.model.background import open_language_model

__all__ = ["open_language_model"]
