"""Check the statements that a language model proposes from overheard talk."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from hippocampe.curation.rewording import Rewordings
from hippocampe.engine.corpus import Corpus
from hippocampe.extraction.proposals import ProposedStatement, draft_of, read_ids
from hippocampe.language.small_talk import is_small_talk, reports_small_talk
from hippocampe.language.text import fold
from hippocampe.types import Memory, Message
from hippocampe.updates.draft import Draft

SOURCE = "digest"


@dataclass(frozen=True, slots=True)
class Overheard:
    """Messages of one room as the model read them.

    Attributes:
        messages: The messages by short id, oldest first.
        known: The memories shown to it, by short id.
        names: The names of the authors and of the companion.
    """

    messages: Mapping[str, Message]
    known: Mapping[str, Memory]
    names: Sequence[str]

    def drafts(self, corpus: Corpus, proposed: Sequence[ProposedStatement]) -> list[Draft]:
        """The statements that can be stored, by the time of their evidence.

        A statement is dropped if it lacks evidence, if it or all its evidence is small talk, if it has
        expired already, or if it cannot be stored. One that only rewords a memory counts as a
        repetition of it.
        """
        rewordings = Rewordings(corpus, next(iter(self.messages.values())).space, ())
        found: list[tuple[datetime, Draft]] = []
        for each in proposed:
            cited = [self.messages[id] for id in read_ids(each.evidence) if id in self.messages]
            if any(not is_small_talk(message.content, names=self.names) for message in cited):
                draft = self._draft(corpus, each, list(dict.fromkeys(cited)))
                if draft is not None:
                    found.append((max(message.at for message in cited), draft))
        found.sort(key=lambda pair: pair[0])
        drafts: list[Draft] = []
        for _, draft in found:
            known = (*self.known.values(), *(each.memory for each in drafts))
            old = None if draft.replaces else rewordings.repeated(draft.memory, known)
            # Equal words are a repetition for the rules of storing.
            words = draft.memory.content if old is None else old.content
            drafts.append(replace(draft, memory=replace(draft.memory, content=words)))
        return drafts

    def _draft(
        self, corpus: Corpus, proposed: ProposedStatement, cited: Sequence[Message]
    ) -> Draft | None:
        if reports_small_talk(proposed.content, names=self.names):
            return None
        authors = {message.author for message in cited}
        aliases = corpus.aliases.of(cited[0].space)
        speakers = {fold(author) for author in authors if author}
        return draft_of(
            corpus,
            proposed,
            evidence=cited,
            user=next(iter(authors)) if len(authors) == 1 else None,
            source=SOURCE,
            known=self.known,
            speakers=speakers.union(*(aliases.get(name, ()) for name in speakers)),
        )
