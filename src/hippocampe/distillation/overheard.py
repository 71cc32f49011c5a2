"""Check what a language model proposes to keep of overheard talk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from hippocampe.distillation.proposals import (
    ProposedStatement,
    read_ids,
    read_importance,
    read_lifetime,
    read_subjects,
)
from hippocampe.distillation.rewording import Rewordings
from hippocampe.engine.context import Context
from hippocampe.errors import InvalidInput
from hippocampe.ingest.draft import Draft, make_draft
from hippocampe.ingest.nomination import same_voice
from hippocampe.language.small_talk import is_small_talk, reports_small_talk
from hippocampe.types import DEFAULT_IMPORTANCE, Memory, Message, Scope

SOURCE = "digest"
MAX_CHARACTERS = 1_000
"""Characters of a statement; a longer one copies the talk."""


@dataclass(frozen=True, slots=True)
class Overheard:
    """Messages of one room as the model read them.

    Attributes:
        messages: The messages by short id, oldest first.
        known: The memories that it was shown, by short id.
        names: The names of the authors and of the companion.
    """

    messages: Mapping[str, Message]
    known: Mapping[str, Memory]
    names: Sequence[str]

    def drafts(self, context: Context, proposed: Sequence[ProposedStatement]) -> list[Draft]:
        """The statements that can be stored, by the time of their evidence.

        A statement is left out without evidence, if it or all its evidence is small talk, if it is
        over already, or if it cannot be stored. One that only rewords a memory counts as a
        repetition of it.
        """
        rewordings = Rewordings(context, next(iter(self.messages.values())).space, ())
        found: list[tuple[datetime, Draft]] = []
        for each in proposed:
            cited = [self.messages[id] for id in read_ids(each.evidence) if id in self.messages]
            if any(not is_small_talk(message.content, names=self.names) for message in cited):
                draft = self._draft(context, each, list(dict.fromkeys(cited)))
                if draft is not None:
                    found.append((max(message.at for message in cited), draft))
        found.sort(key=lambda pair: pair[0])
        kept: list[Draft] = []
        for _, draft in found:
            kept.append(self._in_known_words(rewordings, draft, kept))
        return kept

    def _draft(
        self, context: Context, proposed: ProposedStatement, cited: Sequence[Message]
    ) -> Draft | None:
        content = proposed.content
        if len(content) > MAX_CHARACTERS or reports_small_talk(content, names=self.names):
            return None
        type = (proposed.type or "").strip().lower()
        authors = {message.author for message in cited}
        said_at = max(message.at for message in cited)
        try:
            return make_draft(
                context,
                content,
                scope=Scope(
                    space=cited[0].space,
                    user=authors.pop() if len(authors) == 1 else None,
                    channel=cited[0].channel,
                ),
                type=type if type in DEFAULT_IMPORTANCE else None,
                subjects=read_subjects(proposed.subjects),
                importance=read_importance(proposed.importance),
                ttl=_remaining(read_lifetime(proposed.ttl), context.now() - said_at),
                occurred_at=said_at,
                source=SOURCE,
                replaces=[
                    self.known[id].id for id in read_ids(proposed.replaces) if id in self.known
                ],
                evidence=[message.id for message in cited],
            )
        except InvalidInput:
            return None

    def _in_known_words(
        self, rewordings: Rewordings, draft: Draft, before: Sequence[Draft]
    ) -> Draft:
        """A statement in the words of the memory that it repeats, if it repeats one."""
        if draft.replaces:
            return draft
        new = draft.memory
        wording = rewordings.read(new.content)
        for old in (*self.known.values(), *(each.memory for each in before)):
            same = rewordings.says_the_same(wording, rewordings.read(old.content))
            if same and same_voice(new, old):
                return replace(draft, memory=replace(new, content=old.content))
        return draft


def _remaining(lifetime: timedelta | None, passed: timedelta) -> timedelta | None:
    """What is left of a lifetime that began when the messages were said.

    Raises:
        InvalidInput: Nothing is left, which `make_draft` refuses.
    """
    return None if lifetime is None else lifetime - max(timedelta(0), passed)
