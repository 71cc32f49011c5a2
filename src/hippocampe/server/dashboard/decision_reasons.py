"""Translate the reason of a decision on two statements to the language of the reader.

A decision is stored with its reason in English. Its form is recognised and translated; the values in it stay
unchanged. A reason of an unknown form is shown as stored.
"""

import re
from collections.abc import Callable, Iterator
from typing import Final

from hippocampe.server.dashboard.wording import marked

_FORMS: Final = (
    marked("left by the local reader: {reason}"),
    marked("settled by the local reader: {reason}"),
    marked("left to a person by model {model}: {reason}"),
    marked("had superseded it: {reason}"),
    marked("had superseded it"),
    marked("settled by hand"),
    marked("both stay"),
    marked("perhaps {outcome}, {share}%: {values}"),
    marked("{outcome}, {share}%: {values}"),
    marked("a question: {values}"),
    marked("a doubt: {values}"),
    marked("not done: {values}"),
    marked("in part: {values}"),
    marked("another owner: {values}"),
    marked("one word for another: {values}"),
    marked("roles swapped: {values}"),
    marked("roles swapped"),
    marked("different name: {values}"),
    marked("different number: {values}"),
    marked("different date: {values}"),
    marked("different subject: {values}"),
    marked("same statement, reordered"),
    marked("same statement"),
    marked("negation"),
    marked("it has ended"),
    marked("it goes on again"),
    marked("adds detail: {values}"),
    marked("already known with detail: {values}"),
    marked("alike, and no rule is sure"),
    marked("nothing shared but the subject"),
    marked("same key"),
    marked("replaced by id"),
    marked("perhaps {relation}: {values}"),
    marked("negation of {relation}: {values}"),
    marked("adds detail to {relation}: {values}"),
    marked("{relation}: {values} already known"),
    marked("{relation}: {values}"),
)
"""The forms of reasons, the more specific ones first."""
OUTCOMES: Final = frozenset({marked("update"), marked("same"), marked("detail")})
RELATIONS: Final = frozenset(
    {
        *(marked("home"), marked("employer"), marked("job"), marked("birth date")),
        *(marked("birth place"), marked("age"), marked("name"), marked("spouse")),
        *(marked("partner"), marked("marital status"), marked("smoking"), marked("diet")),
        *(marked("handedness"), marked("school"), marked("children count"), marked("weight")),
        *(marked("height"), marked("choice"), marked("preference"), marked("attitude")),
        *(marked("phone"), marked("email"), marked("address"), marked("postal code")),
        *(marked("licence plate"), marked("first name"), marked("last name"), marked("boss")),
        *(marked("time zone"), marked("language"), marked("deadline"), marked("budget")),
        *(marked("rent"), marked("salary"), marked("shoe size"), marked("blood type")),
        marked("favourite"),
    }
)
"""The relations of `language/relations.toml`, as named in reasons."""
_PLACEHOLDERS: Final = {
    "outcome": "|".join(sorted(OUTCOMES)),
    "relation": "|".join(sorted(RELATIONS)),
    "share": r"\d+",
    "model": r"\S+",
}


def _patterns() -> Iterator[tuple[str, re.Pattern[str]]]:
    for form in _FORMS:
        pattern = re.escape(form)
        for name in re.findall(r"{(\w+)}", form):
            pattern = pattern.replace(
                rf"\{{{name}\}}", f"(?P<{name}>{_PLACEHOLDERS.get(name, '.+')})"
            )
        yield form, re.compile(pattern)


_PATTERNS: Final = tuple(_patterns())


def translated(reason: str, say: Callable[..., str]) -> str:
    """Translate the reason of a decision.

    Args:
        reason: As stored.
        say: Translates a text of the catalogue and fills its placeholders.
    """
    for form, pattern in _PATTERNS:
        if found := pattern.fullmatch(reason):
            values = found.groupdict()
            for name in ("outcome", "relation"):
                if name in values:
                    values[name] = say(values[name])
            if "reason" in values:
                values["reason"] = translated(values["reason"], say)
            return say(form, **values)
    return reason
