"""The wordings of the single-valued relations, compiled from the data of all languages.

A form such as "{owner} (habite|vit) à {value}" is matched on the folded words of a whole statement,
each followed by a space.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final, Literal

from hippocampe.language.lexicon import load_all, relation_schema
from hippocampe.language.text import STOP_WORDS
from hippocampe.language.tokenizer import Word, tokenize

Aspect = Literal["state", "event", "end"]
"""A wording states a state ("lives in"), an event ("moved to") or an end ("left")."""
ValueKind = Literal[
    "place", "name", "number", "measure", "contact", "code", "date", "choice", "text", "trade", "length"
]  # fmt: skip
_ASPECTS: Final[tuple[tuple[str, Aspect], ...]] = (
    ("states", "state"), ("events", "event"), ("joins", "event"), ("ends", "end"),
)  # fmt: skip
_PIECES: Final = re.compile(r"([()|?]|\{\w+\}|<\w+>)")
_GROUPS: Final = {
    "{owner}": r"(?P<owner>(?:\S+ ){0,6}?)",
    "{mine}": r"(?P<mine>\S+ )",
    "{value}": r"(?P<value>(?:\S+ )+?)",
    "{slot}": r"(?P<slot>(?:\S+ )+?)",
    "{one}": r"(?P<value>\S+ )",
    "{head}": r"(?P<slot>\S+ )",
    "{from}": r"(?P<from>(?:\S+ ){1,4}?)",
    "{where}": r"(?P<rest>(?:\S+ ){1,6}?)",
    "{any}": r"(?:\S+ ){1,4}?",
}


@dataclass(frozen=True, slots=True)
class Wording:
    """One wording of a relation.

    Attributes:
        form: Template with groups, alternatives and placeholders.
        needs: Sets of words; a statement needs one word of each set. Avoids most regex matching.
        name: Name of the relation.
        aspect: Whether it states a state, an event or an end.
        kind: Kind of value.
        shared_owner: Whether "I" and "we" are one owner ("I chose" = "we chose").
        owned: Whether the owner must be named, if the form has a place for one.
        choices: Accepted values as (words, value), if the kind is `choice`.
        known: The word classes of the names that are known without a capital.
        joins: Whether it tells as well that somebody joined a club: only a known name is surely a value.
    """

    form: str
    needs: tuple[frozenset[str], ...]
    name: str
    aspect: Aspect
    kind: ValueKind
    shared_owner: bool
    owned: bool
    choices: tuple[tuple[str, str], ...]
    known: tuple[str, ...]
    joins: bool

    def pattern(self) -> re.Pattern[str]:
        """The compiled form; compiled on first use, because most forms are never needed."""
        return _compile(self.form, self.choices)


def candidate_wordings(present: frozenset[str]) -> list[Wording]:
    """Return the wordings whose rarest words are present, in the order of the data."""
    wordings, by_word = _wordings()
    found = {at for word in present for at in by_word.get(word, ())}
    return [wordings[at] for at in sorted(found)]


@cache
def relations_of_things() -> frozenset[str]:
    """Return the names of the relations that things and animals have as well as people: a dog has a name."""
    entries = (entry for part in relation_schema().values() for entry in part.items())
    return frozenset(_name(*entry) for entry in entries if entry[1].get("things"))


def _name(key: str, entry: Mapping[str, Any]) -> str:
    return entry.get("name", key.replace("_", " "))


@lru_cache(maxsize=1)
def _wordings() -> tuple[tuple[Wording, ...], Mapping[str, list[int]]]:
    """Return all wordings, and their positions by the word to look up first."""
    found = (*_of_relations(), *_of_attributes())
    by_word: dict[str, list[int]] = {}
    for at, wording in enumerate(found):
        for word in min(wording.needs, key=lambda need: len(need & STOP_WORDS) * 99 + len(need)):
            by_word.setdefault(word, []).append(at)
    return found, by_word


def _of_relations() -> Iterator[Wording]:
    data = load_all("relations")["relations"]
    for key, relation in relation_schema()["relations"].items():
        entry = {**relation, "name": _name(key, relation)}
        wordings = data.get(key, {})
        for role, aspect in _ASPECTS:
            for form in dict.fromkeys(wordings.get(role, ())):
                choices = wordings.get("choices", {})
                if "{owner}" not in form and "{mine}" not in form:
                    form = "{owner} " + form
                yield _wording(entry, form, aspect, choices, joins=role == "joins")


def _of_attributes() -> Iterator[Wording]:
    data = load_all("relations")["attributes"]
    for key, attribute in relation_schema()["attributes"].items():
        entry = {"owned": True, **attribute, "name": _name(key, attribute)}
        names = list(dict.fromkeys(data["names"].get(key, ())))
        plain = sorted((n for n in names if "(" not in n), key=len, reverse=True)
        grouped = [f"({'|'.join(plain)})"] if plain else []
        for name in (*grouped, *(n for n in names if "(" in n)):
            bare = () if attribute.get("shared") else data["bare"]
            named = data["named"] if "first_names" in attribute.get("known", ()) else ()
            for form in dict.fromkeys((*data["forms"], *named, *bare)):
                yield _wording(entry, form.replace("NAME", name), "state", {})


def _wording(
    entry: dict[str, Any],
    form: str,
    aspect: Aspect,
    choices: Mapping[str, Sequence[str]],
    *,
    joins: bool = False,
) -> Wording:
    accepted = tuple(
        (" ".join(w.norm for w in tokenize(wording)), value)
        for value, wordings in choices.items()
        for wording in wordings
    )
    for name, expansion in _macros().items():
        form = form.replace(f"<{name}>", expansion)
    needs = [*_needs(form), *([frozenset(c.split()[0] for c, _ in accepted)] if accepted else [])]
    return Wording(
        form=form,
        needs=tuple(needs),
        name=entry["name"],
        aspect=aspect,
        kind=entry["kind"],
        shared_owner=bool(entry.get("shared_owner")),
        owned=bool(entry.get("owned")),
        choices=accepted,
        known=tuple(entry.get("known", ())),
        joins=joins,
    )


@cache
def _macros() -> Mapping[str, str]:
    return {name: f"({'|'.join(words)})" for name, words in load_all("relations")["macros"].items()}


def _needs(form: str) -> Iterator[frozenset[str]]:
    """Yield the sets of words from which a text needs at least one: each obligatory group and each literal word."""
    for group, optional, literal in re.findall(r"\(([^)]*)\)(\?)?|(?:\{\w+\})|([^(){}]+)", form):
        if literal:
            yield from (frozenset({word.norm}) for word in _tokenize_form(literal))
        elif group and not optional:
            alternatives = [_tokenize_form(alternative) for alternative in group.split("|")]
            yield frozenset(words[0].norm for words in alternatives if words)


@cache  # bounded by the number of wordings
def _compile(form: str, choices: tuple[tuple[str, str], ...]) -> re.Pattern[str]:
    accepted = sorted((wording for wording, _ in choices), key=len, reverse=True)
    parts: list[str] = []
    for piece in _PIECES.split(form):
        if piece == "(":
            parts.append("(?:")
        elif piece in (")", "|", "?"):
            parts.append(piece)
        elif piece == "{value}" and choices:
            parts.append("(?P<value>" + "|".join(re.escape(w + " ") for w in accepted) + ")")
        elif piece in _GROUPS:
            parts.append(_GROUPS[piece])
        else:
            parts.extend(re.escape(word.norm + " ") for word in _tokenize_form(piece))
    closed = form.endswith(("{value}", "{slot}", "{one}", "{head}")) and not choices
    if not closed and not (choices and form.endswith(("{slot}", "{any}"))):
        parts.append(r"(?P<rest>(?:\S+ )*)")
    return re.compile("".join(parts))


def _tokenize_form(piece: str) -> list[Word]:
    """Tokenize a piece of a form, where a lone elision ("d'", "'s") is a word too."""
    words: list[Word] = []
    for part in piece.split():
        if part == "'s":
            words.append(Word("'s", part))
        elif part.endswith("'"):
            words.append(Word({"l'": "le"}.get(part, part[:-1] + "e"), part))
        else:
            words.extend(tokenize(part))
    return words
