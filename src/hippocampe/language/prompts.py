"""Prompts: one Markdown file per language, in the `prompts` folder of the package that uses it."""

from functools import cache
from importlib.resources import files


@cache
def prompt(package: str, name: str, language: str) -> str:
    """Read a prompt.

    Args:
        package: The package that contains it: `hippocampe.companion`.
        name: The file, without its suffix.
        language: `fr` or `en`.
    """
    path = files(package) / "prompts" / language / f"{name}.md"
    return path.read_text(encoding="utf-8").strip()
