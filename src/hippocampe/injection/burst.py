"""Coalescing: a burst of messages from one speaker is served as one turn."""

from dataclasses import dataclass

from hippocampe.injection.channel_history import Channel
from hippocampe.validation import MAX_BURST


@dataclass(frozen=True, slots=True)
class Burst:
    """A turn that waits for more messages of its speaker: serve it after `wait_seconds`.

    Attributes:
        wait_seconds: Time to wait.
        channel: The history of the speaker in the channel.
        messages: The speaker's messages so far; shared with later turns, which append to it.
        count: Length of `messages` when this turn joined.
        keep: As for `before_turn`.
    """

    wait_seconds: float
    channel: Channel
    messages: list[str]
    count: int
    keep: bool | None

    def take(self) -> list[str] | None:
        """Take the messages of the burst; None if a later turn serves them."""
        with self.channel.lock:
            if self.channel.waiting is not self.messages or len(self.messages) != self.count:
                return None
            self.channel.waiting = None
            return self.messages


def join(channel: Channel, messages: list[str], wait_ms: int, keep: bool | None) -> Burst:
    """Add messages to the speaker's burst, or start one."""
    with channel.lock:
        waiting = channel.waiting = [] if channel.waiting is None else channel.waiting
        waiting += messages
        # Turns that join a full burst have the same count: the first of them to end its wait serves all.
        del waiting[:-MAX_BURST]
        return Burst(wait_ms / 1000, channel, waiting, len(waiting), keep)
