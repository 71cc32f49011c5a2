"""The command line."""

from hippocampe.cli.app import main

__all__ = ["main"]
