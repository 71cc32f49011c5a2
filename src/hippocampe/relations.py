"""Which single-valued relations a statement states: whom it is about, what it holds. Pure.

The wordings are data (`language/*/relations.toml`). A relation is only read when the whole statement is
that relation, with little around it: past tenses, wishes, guesses and other people's opinions
match no wording, so they can replace nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from typing import Any, Final, Literal

from hippocampe.language import lexicon as language
from hippocampe.language.lexicon import together
from hippocampe.language.lexicon import words as words_of
from hippocampe.statement import (
    Statement,
    Word,
    is_hedged,
    is_name,
    is_time,
    lexicon,
    read,
    split,
)
from hippocampe.text import MONTH_NAMES, NUMBERS, ORDINALS, STOP_WORDS, fold

Mode = Literal["state", "event", "end"]

_PIECES: Final = re.compile(r"([()|?]|\{\w+\}|<\w+>)")
_GROUPS: Final = {
    "{owner}": r"(?P<owner>(?:\S+ ){0,6}?)",
    "{mine}": r"(?P<mine>\S+ )",
    "{value}": r"(?P<value>(?:\S+ )+?)",
    "{slot}": r"(?P<slot>(?:\S+ )+?)",
    "{one}": r"(?P<value>\S+ )",
    "{head}": r"(?P<slot>\S+ )",
    "{from}": r"(?P<from>(?:\S+ ){1,4}?)",
    "{any}": r"(?:\S+ ){1,4}?",
}
_DETERMINERS: Final = words_of("determiners")
_INDEFINITE: Final = words_of("indefinite")
_HOLDERS: Final = (
    (words_of("speaker"), "user"), (words_of("group"), "we"), (words_of("others"), "they"),
)  # fmt: skip
_SOMEONE: Final = words_of("someone")
_POSSESSIVES: Final = words_of("possessives")
_OWNER_LINKS: Final = words_of("owner_links")
_OPEN_LINKS: Final = words_of("open_links")
_IN_NAMES: Final = words_of("in_names")
_COORDINATORS: Final = words_of("coordinators")
_CONTRAST: Final = words_of("contrast")
_UNION: Final = words_of("union")
_AFTER_CHOICE: Final = words_of("after_choice")
_BEFORE_AMOUNT: Final = words_of("before_amount")
_DATE_LINKS: Final = words_of("stated.date_links", file="time")
_NO_OWNERS: Final = ("not_owners", "hedges", "not_names", "pronouns", "also", "time", "adjunct")
_MONTHS: Final = {
    fold(name): number for names in MONTH_NAMES.values() for number, name in enumerate(names, 1)
}
_DAY: Final = re.compile(rf"(\d{{1,2}})(?:{ORDINALS})?")
_LONGEST_VALUE: Final = 6
_LONGEST_REST: Final = 8
_LONGEST_READ: Final = 30


@dataclass(frozen=True, slots=True)
class Relation:
    """A single-valued relation that a statement states.

    `subject` is "user" for the first person, "we" for the plural, "" when the statement names
    none; `slot` tells two relations of one name apart (the thing liked, what a tool is for);
    `leaving` is the value it says it had before, and `rest` is what the statement says besides.
    """

    name: str
    subject: str
    value: str
    slot: str = ""
    leaving: str = ""
    rest: tuple[str, ...] = ()
    mode: Mode = "state"
    kind: str = "text"
    negated: bool = False


@dataclass(frozen=True, slots=True)
class _Wording:
    form: str
    needs: tuple[frozenset[str], ...]  # one word of each must be there: spares most matching
    name: str
    mode: Mode
    kind: str
    shared_owner: bool
    owned: bool
    choices: tuple[tuple[str, str], ...]


def relation_of(text: str) -> Relation | None:
    """The first single-valued relation that `text` states, to nominate by subject and relation."""
    return next(iter(relations(read(text))), None)


@lru_cache(maxsize=256)
def relations(statement: Statement) -> tuple[Relation, ...]:
    """Every single-valued relation that the whole `statement` can be read as."""
    return tuple(_relations(statement))


def clear_caches() -> None:
    """Drop the cached statements of the process: an erased one must not stay."""
    relations.cache_clear()


def _relations(statement: Statement) -> Iterator[Relation]:
    if statement.question or statement.unclear or not 0 < len(statement.core) <= _LONGEST_READ:
        return
    if any(word.opens for word in statement.core[1:]):  # two sentences are not one relation
        return
    text = "".join(f"{word.norm.replace(' ', '_')} " for word in statement.core)
    present = frozenset(word.norm for word in statement.core)
    seen: set[str] = set()
    for wording in _candidates(present):
        if wording.name in seen or any(present.isdisjoint(need) for need in wording.needs):
            continue
        match = _compiled(wording.form, wording.choices).fullmatch(text)
        if match and (relation := _relation(statement, wording, match)):
            seen.add(wording.name)
            yield relation


def _candidates(present: frozenset[str]) -> list[_Wording]:
    """The wordings whose rarest words are there, in the order of the data."""
    wordings, by_word = _wordings()
    found = {at for word in present for at in by_word.get(word, ())}
    return [wordings[at] for at in sorted(found)]


def _relation(statement: Statement, wording: _Wording, match: re.Match[str]) -> Relation | None:
    groups = match.groupdict()
    owner = _owner(statement, _words(statement, match, "owner" if "owner" in groups else "mine"))
    held = _words(statement, match, "value")
    while held and wording.kind != "number" and held[0].norm in _DETERMINERS - _INDEFINITE:
        held = held[1:]
    if owner is None or not held or (wording.owned and not owner):
        return None
    if wording.shared_owner and owner in ("", "we", "user"):
        owner = "we"
    head, rest = _cut(held, wording.kind, lowercase=statement.lowercase)
    if "rest" in groups:
        rest = [*rest, *_words(statement, match, "rest")]
    value = _value(statement, wording, head)
    slot = [w.norm for w in _words(statement, match, "slot")] if "slot" in groups else []
    extra = tuple(word.norm for word in rest)
    around = [*held, *rest, *(_words(statement, match, "slot") if slot else [])]
    if value is None or len(extra) > _LONGEST_REST or len(slot) > _LONGEST_VALUE:
        return None
    if is_hedged(around) or any(word.norm in _CONTRAST for word in around):
        return None
    if extra and (extra[0] == "'s" or (wording.kind == "number" and not _is_adjunct(extra))):
        return None  # "a trois ans de moins que moi", "works for Acme's rival"
    if wording.kind == "choice" and extra and not (is_time(extra) or extra[0] in _AFTER_CHOICE):
        return None
    while slot and slot[0] in _DETERMINERS:
        slot = slot[1:]
    if not slot and groups.get("slot"):
        return None
    leaving = _words(statement, match, "from") if "from" in groups else []
    mode: Mode = "state" if wording.mode == "end" else wording.mode
    negated = bool(statement.negations) != (wording.mode == "end")
    return Relation(
        name=wording.name,
        subject=owner,
        value=value,
        slot=" ".join(slot),
        leaving=" ".join(word.norm for word in leaving),
        rest=extra,
        mode=mode,
        kind=wording.kind,
        negated=negated,
    )


def _is_adjunct(norms: Sequence[str]) -> bool:
    return is_time(norms) or bool(lexicon().match("adjunct", norms, 0))


def _words(statement: Statement, match: re.Match[str], group: str) -> list[Word]:
    start, end = match.span(group)
    text = match.string
    return list(statement.core[text.count(" ", 0, start) : text.count(" ", 0, end)])


def _owner(statement: Statement, words: Sequence[Word]) -> str | None:
    """Whom it is about, or None when the words are no plain subject ("David pense que …")."""
    if len(words) > 1 and words[0].norm in _SOMEONE:
        return None  # "a man": the next one may be another
    determined = bool(words) and words[0].norm in _DETERMINERS
    while words and words[0].norm in _DETERMINERS:
        words = words[1:]
    norms = [word.norm for word in words]
    if len(norms) < 2:
        for class_, name in _HOLDERS:
            if norms and norms[0] in class_:
                return name
    possessed = norms[:1] != [] and norms[0] in _POSSESSIVES
    links = [norm for norm in norms if norm in _OWNER_LINKS]
    plain = [w for w in words[possessed:] if w.norm not in links and not is_name(statement, w)]
    lex = lexicon()
    if any(lex.has(name, w.norm) for w in plain for name in _NO_OWNERS):
        return None
    titled = determined and plain == list(words[:1])  # "le projet Atlas"
    named = len(plain) + len(links) < len(words) - possessed
    if (
        len(plain) > 2
        or (plain and named and not (links or titled))
        or not _OPEN_LINKS.isdisjoint(norms[-1:])
    ):
        return None
    if len(plain) == 2 and not (possessed or links):
        return None
    return " ".join(norm for norm in norms if norm not in _DETERMINERS)


def _cut(words: Sequence[Word], kind: str, *, lowercase: bool) -> tuple[list[Word], list[Word]]:
    """The value proper, and what follows it: "toulouse | le mois dernier"."""
    if kind == "number" and is_time([word.norm for word in words[1:]]):
        return list(words[:1]), list(words[1:])
    if kind not in ("name", "place"):
        return list(words), []
    lex = lexicon()
    for at, word in enumerate(words):
        norms = [w.norm for w in words[at : at + 5]]
        time = any(is_time(norms[:length]) for length in range(1, len(norms) + 1))
        starts = lex.has("adjunct", word.norm) or word.norm in _COORDINATORS or time
        common = not lowercase and not word.capital and word.norm not in _IN_NAMES
        if at and not word.glued and (word.pause or common or (starts and not word.capital)):
            return list(words[:at]), list(words[at:])
    return list(words), []


def _value(statement: Statement, wording: _Wording, head: Sequence[Word]) -> str | None:
    norms = [word.norm for word in head]
    text = " ".join(norms)
    if wording.kind == "choice":
        if any(word.capital for word in head if word is not statement.core[0]):
            return None
        return dict(wording.choices).get(text)
    if wording.kind == "number":
        number = str(NUMBERS.get(text, text))
        return number if re.fullmatch(r"\d+(?:\.\d+)?", number) else None
    if len(head) > _LONGEST_REST or (wording.kind != "text" and norms[-1] in _IN_NAMES | _UNION):
        return None
    if wording.kind == "measure":
        # "is 800 euros" or "is $800", and not "is due on the 5th".
        amount = norms[norms[0] in _BEFORE_AMOUNT :]
        return text if any(n in NUMBERS or n[:1].isdigit() for n in amount[:2]) else None
    if wording.kind == "code":
        return text if len(norms) < 4 and any(map(str.isdigit, text)) else None
    if wording.kind == "contact":
        return (
            text
            if _UNION.isdisjoint(norms) and (sum(c.isdigit() for c in text) > 3 or "@" in text)
            else None
        )
    if wording.kind == "date":
        return text if date_of(norms) else None
    if (
        len(head) > _LONGEST_VALUE
        or text in STOP_WORDS
        or (wording.kind != "text" and norms[0] in _INDEFINITE)
    ):
        return None
    if wording.kind in ("name", "place"):
        if is_time(norms) or any(word.norm[:1].isdigit() for word in head):
            return None
        named = is_name(statement, head[0])
        if not (named or (statement.lowercase and len(head) <= 2)):
            return None
        lex = lexicon()
        if wording.kind == "name" and (lex.has("countries", *norms) or lex.has("peoples", *norms)):
            return None
        if any(lex.has(name, norms[0]) for name in ("not_names", "pronouns")):
            return None
    return text


def date_of(norms: Sequence[str]) -> tuple[int | None, int | None, int | None] | None:
    """(year, month, day) as far as the words state them; None when they are no date."""
    year = month = day = None
    for norm in norms:
        if found := re.fullmatch(r"(\d{4})-(\d{1,2})-(\d{1,2})", norm):
            year, month, day = (int(part) for part in found.groups())
        elif found := re.fullmatch(r"(\d{1,2})[/.](\d{1,2})(?:[/.](\d{4}))?", norm):
            day, month = int(found[1]), int(found[2])
            year = int(found[3]) if found[3] else None
        elif norm in _MONTHS:
            month = _MONTHS[norm]
        elif found := _DAY.fullmatch(norm):
            day = int(found[1])
        elif re.fullmatch(r"\d{4}", norm):
            year = int(norm)
        elif norm not in _DATE_LINKS:
            return None
    return (year, month, day) if year or month else None


@lru_cache(maxsize=1)
def _wordings() -> tuple[tuple[_Wording, ...], Mapping[str, list[int]]]:
    """All wordings, and where in them a word is the one to look for first."""
    schema, said = language.relations(), together("relations")
    macros = {name: f"({'|'.join(words)})" for name, words in said["macros"].items()}
    found: list[_Wording] = []
    for key, relation in schema["relations"].items():
        entry = {"name": key.replace("_", " "), **relation}
        given = said["relations"].get(key, {})
        for role, mode in (("states", "state"), ("events", "event"), ("ends", "end")):
            forms = dict.fromkeys(given.get(role, ()))
            found.extend(
                _wording(entry, form, mode, macros, given.get("choices", {})) for form in forms
            )
    for key, attribute in schema["attributes"].items():
        entry = {"name": key.replace("_", " "), "owned": True, **attribute}
        names = list(dict.fromkeys(said["attributes"]["names"].get(key, ())))
        plain = sorted((n for n in names if "(" not in n), key=len, reverse=True)
        grouped = [f"({'|'.join(plain)})"] if plain else []
        for name in (*grouped, *(n for n in names if "(" in n)):
            forms = dict.fromkeys(said["attributes"]["forms"])
            found.extend(
                _wording(entry, form.replace("NAME", name), "state", macros, {}) for form in forms
            )
    by_word: dict[str, list[int]] = {}
    for at, wording in enumerate(found):
        for word in min(wording.needs, key=lambda need: len(need & STOP_WORDS) * 99 + len(need)):
            by_word.setdefault(word, []).append(at)
    return tuple(found), by_word


def _wording(
    entry: dict[str, Any],
    form: str,
    mode: Any,
    macros: Mapping[str, str],
    choices: Mapping[str, Sequence[str]],
) -> _Wording:
    held = tuple(
        (" ".join(w.norm for w in split(wording)), value)
        for value, wordings in choices.items()
        for wording in wordings
    )
    if "{owner}" not in form and "{mine}" not in form:
        form = "{owner} " + form
    for name, expansion in macros.items():
        form = form.replace(f"<{name}>", expansion)
    needs = [*_needs(form), *([frozenset(c.split()[0] for c, _ in held)] if held else [])]
    return _Wording(
        form=form,
        needs=tuple(needs),
        name=entry["name"],
        mode=mode,
        kind=entry["kind"],
        shared_owner=bool(entry.get("shared_owner")),
        owned=bool(entry.get("owned")),
        choices=held,
    )


def _needs(form: str) -> Iterator[frozenset[str]]:
    """The words of which a text must hold one: of each obligatory group, and outside groups."""
    for group, optional, literal in re.findall(r"\(([^)]*)\)(\?)?|(?:\{\w+\})|([^(){}]+)", form):
        if literal:
            yield from (frozenset({word.norm}) for word in split_form(literal))
        elif group and not optional:
            alternatives = [split_form(alternative) for alternative in group.split("|")]
            yield frozenset(words[0].norm for words in alternatives if words)


@cache  # bounded by the wordings; most are never needed
def _compiled(form: str, choices: tuple[tuple[str, str], ...]) -> re.Pattern[str]:
    held = sorted((wording for wording, _ in choices), key=len, reverse=True)
    parts: list[str] = []
    for piece in _PIECES.split(form):
        if piece == "(":
            parts.append("(?:")
        elif piece in (")", "|", "?"):
            parts.append(piece)
        elif piece == "{value}" and choices:
            parts.append("(?P<value>" + "|".join(re.escape(w + " ") for w in held) + ")")
        elif piece in _GROUPS:
            parts.append(_GROUPS[piece])
        else:
            parts.extend(re.escape(word.norm + " ") for word in split_form(piece))
    closed = form.endswith(("{value}", "{slot}", "{one}", "{head}")) and not choices
    if not closed and not (choices and form.endswith("{slot}")):
        parts.append(r"(?P<rest>(?:\S+ )*)")
    return re.compile("".join(parts))


def split_form(piece: str) -> list[Word]:
    """The words of a piece of wording, where a lone elision ("d'", "'s") is a word too."""
    words: list[Word] = []
    for part in piece.split():
        if part == "'s":
            words.append(Word("'s", part))
        elif part.endswith("'"):
            words.append(Word({"l'": "le"}.get(part, part[:-1] + "e"), part))
        else:
            words.extend(split(part))
    return words
