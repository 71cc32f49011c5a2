"""Name the subjects of memories as people write them, and leave out words that only look like names.

Subjects are stored folded: "elise". Those that nobody tagged come from capitals, so that a title ("Mme"), a unit
("°C") and a verb that opens a sentence ("Ask Owen") are among them.
"""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from hippocampe.language.text import fold, words
from hippocampe.language.word_classes import follows_noun

_WORD = re.compile(r"[^\W\d_]+")
_ENDS = frozenset(".!?…:\n")
_TOGETHER = frozenset((" ", "-"))
"""Characters between two words of a name."""


@dataclass(slots=True)
class _Use:
    """The forms of a word.

    Attributes:
        inside: Its forms inside sentences.
        opening: Its forms at the beginning of one, as a name: "Fiona is", not "Recette du gâteau".
        parts: The names that it is, or is a part of.
    """

    inside: Counter[str] = field(default_factory=Counter[str])
    opening: Counter[str] = field(default_factory=Counter[str])
    parts: set[str] = field(default_factory=set[str])

    @property
    def is_named(self) -> bool:
        """Return whether it has a capital inside a sentence."""
        return any(form[0].isupper() for form in self.inside)

    @property
    def form(self) -> str | None:
        """The usual form; None if there is none."""
        return next((form for form, _ in (self.inside or self.opening).most_common(1)), None)


def subject_names(
    memories: Iterable[tuple[str, Sequence[str], Sequence[str]]],
) -> dict[str, str]:
    """The subjects worth showing, each with the name to show.

    Args:
        memories: Of each memory its text, its tags as they were given, and its folded subjects, which include the
            tags.
    """
    uses: defaultdict[str, _Use] = defaultdict(_Use)
    tagged: dict[str, str] = {}
    found: defaultdict[str, list[set[str]]] = defaultdict(list)
    for text, tags, subjects in memories:
        _read(text, uses)
        folded = {fold(tag): tag for tag in tags}
        tagged |= folded
        in_tags = {word for tag in folded if " " in tag for word in tag.split()}
        for name in subjects:
            found[name].append(in_tags)
    names: dict[str, str] = {}
    for name, beside in found.items():
        if name in tagged:
            names[name] = " ".join(_written(word, uses) for word in tagged[name].split())
        elif shown := _derived(name, uses, beside):
            names[name] = shown
    return names


def as_written(
    names: Sequence[str], memories: Iterable[tuple[str, Sequence[str]]]
) -> dict[str, str]:
    """Each name as people write it; as it is given, if no memory writes it.

    Args:
        names: Subjects, folded or not.
        memories: Of each memory its text, and its tags as they were given.
    """
    folded = {fold(name): name for name in names}
    shown = subject_names(
        (text, tags, [*folded.keys() & {*words(text), *map(fold, tags)}]) for text, tags in memories
    )
    return {
        name: shown[each] if each in shown and fold(shown[each]) == each else name
        for each, name in folded.items()
    }


def with_capital(words: Iterable[str], texts: Iterable[str]) -> dict[str, tuple[str, int]]:
    """The names among some folded words, as texts write them: with a capital, and not only to open a sentence.

    Returns:
        Each name, with the number of times that the texts write it so.
    """
    uses: defaultdict[str, _Use] = defaultdict(_Use)
    for text in texts:
        _read(text, uses)
    forms = {word: form for word in words if word in uses and (form := uses[word].form)}
    return {
        word: (form, uses[word].inside[form] + uses[word].opening[form])
        for word, form in forms.items()
        if form[0].isupper()
    }


def _derived(name: str, uses: defaultdict[str, _Use], beside: Sequence[set[str]]) -> str | None:
    """The name of a subject that nobody tagged; None if it is none, or only a part of another one."""
    if not name.isalpha() or len(name) == 1 or all(name in words for words in beside):
        return None
    use = uses[name]
    if use.form is None:
        return name[0].upper() + name[1:]
    if not use.is_named and len(beside) == 1:
        return None
    if all(" " in part for part in use.parts):
        # A title stands before several names; a last name, after one that stands alone too.
        whole = min(use.parts, default="")
        words = [fold(word) for word in whole.split()]
        alone = any(word in map(fold, uses[word].parts) for word in words)
        return None if alone or len(use.parts) > 1 else whole
    return use.form


def _written(word: str, uses: defaultdict[str, _Use]) -> str:
    """A word of a tag with its usual capitals and accents."""
    return uses[fold(word)].form or word


def _read(text: str, uses: defaultdict[str, _Use]) -> None:
    """Note how the words of a text are written."""
    run: list[str] = []
    end = 0
    for word in _WORD.finditer(text):
        between = text[end : word.start()]
        opens = not text[: word.start()].strip() or not _ENDS.isdisjoint(between)
        if run and (between not in _TOGETHER or not word[0][0].isupper()):
            _close(run, uses)
            run = []
        if word[0][0].isupper():
            run.append(word[0])
        use = uses[fold(word[0])]
        if not opens:
            use.inside[word[0]] += 1
        elif not _goes_on_as_a_noun(text, word.end()):
            use.opening[word[0]] += 1
        end = word.end()
    _close(run, uses)


def _goes_on_as_a_noun(text: str, end: int) -> bool:
    following = _WORD.search(text, end)
    return following is not None and follows_noun(fold(following[0]))


def _close(run: Sequence[str], uses: defaultdict[str, _Use]) -> None:
    whole = " ".join(run)
    for word in run:
        uses[fold(word)].parts.add(whole)
