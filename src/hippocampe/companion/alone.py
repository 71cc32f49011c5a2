"""Try memory alone, without a language model: a statement is stored, and everything said shows what it would give."""

from dataclasses import dataclass

from hippocampe.companion.replies import Reply, Usage
from hippocampe.hippocampe import Hippocampe
from hippocampe.language.forgetting import read_request
from hippocampe.language.questions import stated_in
from hippocampe.types import Injection, Memory, Remembered, Scope


@dataclass(frozen=True, slots=True)
class Served:
    """One message that memory served alone.

    Attributes:
        stored: The outcome of storing the message; None if it states nothing.
    """

    injection: Injection
    stored: Remembered | None = None
    replaced: tuple[Memory, ...] = ()

    @property
    def reply(self) -> Reply:
        """The reply of a companion that says nothing."""
        stored, injection = self.stored, self.injection
        return Reply(
            "",
            "",
            memories=() if stored is None else (stored.memory,),
            injected=injection.items,
            usage=Usage(1, injected_tokens=injection.tokens),
            injection=injection,
            replaced={} if stored is None else {stored.memory.id: self.replaced},
        )


def serve_alone(hippo: Hippocampe, message: str, *, scope: Scope) -> Served:
    """Select what a model would be given for a message, and store what it states.

    A request to forget is carried out, and never stored as a memory. Questions and small talk are not stored.

    Raises:
        InvalidInput: The message cannot be stored, such as a secret.
        StoreError: The data cannot be read or written.
    """
    # No model has seen what was given before.
    injection = hippo.before_turn(message, scope=scope, fresh=True)
    if injection.forgetting is not None or read_request(message) is not None:
        hippo.after_turn(message, None, scope=scope)
        return Served(injection)
    names = hippo.settings(scope=scope).companion_names
    told = stated_in(message, names=names)
    if not told:
        return Served(injection)
    stored = hippo.remember(told, scope=scope, source="chat")
    replaced = tuple(hippo.get(id, scope=scope) for id in stored.replaced)
    return Served(injection, stored, replaced)
