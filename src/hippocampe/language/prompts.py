"""Prompts: Markdown files in `language/CODE/prompts`."""

from functools import cache
from importlib.resources import files


@cache
def prompt(name: str, language: str) -> str:
    """Read a prompt.

    Args:
        name: The file, without its suffix: `companion/answer`.
        language: Code of a language.
    """
    path = files("hippocampe.language") / language / "prompts" / f"{name}.md"
    return path.read_text(encoding="utf-8").strip()
