"""The state of turns, as the steps that hide and erase see it."""

from typing import Protocol

from hippocampe.retrieval.log import RetrievalBuffer


class Turns(Protocol):
    """The state of turns that may hold hidden or erased text."""

    @property
    def retrievals(self) -> RetrievalBuffer:
        """Retrievals that are not logged in the store yet."""
        ...

    def forget(self, space: str) -> None:
        """Clear the injection histories of a space."""
        ...

    def erased(self, space: str) -> None:
        """Clear all text retained of a space, since some of it was erased."""
        ...
