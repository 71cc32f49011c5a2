"""The words of time in French and English, and the expression that finds them in a sentence.

Everything is written folded: lower case, no accents, straight apostrophes. The expression finds
stretches of time and gives their words the short names that their readers know; it says nothing of
when they are, nor whether a word such as "may" was meant as one.
"""

import re
from collections.abc import Iterable
from datetime import timedelta
from functools import cache
from itertools import groupby
from operator import itemgetter

# French, English, then abbreviations; the position is the month.
_MONTH_NAMES = (
    "janvier january janv jan", "fevrier february fevr fev feb", "mars march mar",
    "avril april avr apr", "mai may", "juin june jun", "juillet july juil jul",
    "aout august aug", "septembre september sept sep", "octobre october oct",
    "novembre november nov", "decembre december dec",
)  # fmt: skip
MONTHS = {name: i for i, names in enumerate(_MONTH_NAMES, 1) for name in names.split()}
_FRENCH_MONTHS = {names.split()[0] for names in _MONTH_NAMES} | {
    "janv",
    "fevr",
    "fev",
    "avr",
    "juil",
}
FULL_MONTHS = {name for names in _MONTH_NAMES for name in names.split()[:2]}
VERBS = {"may", "march", "mar"}  # ordinary words too, like the seasons below
OTHER_SENSES = {"ete", "fall", "spring"}
_WEEKDAY_NAMES = (
    "lundi monday", "mardi tuesday", "mercredi wednesday", "jeudi thursday",
    "vendredi friday", "samedi saturday", "dimanche sunday",
)  # fmt: skip
WEEKDAYS = {name: i for i, names in enumerate(_WEEKDAY_NAMES) for name in names.split()}
ENGLISH_WEEKDAYS = {names.split()[1] for names in _WEEKDAY_NAMES}
DAYS = {
    "avant hier": -2, "the day before yesterday": -2, "day before yesterday": -2,
    "hier": -1, "yesterday": -1, "aujourd'hui": 0, "today": 0, "demain": 1, "tomorrow": 1,
    "apres demain": 2, "the day after tomorrow": 2, "day after tomorrow": 2,
}  # fmt: skip
# Local hours, overlapping on purpose: nobody agrees where an evening begins. Past 24 is next day.
PARTS = {
    "matin": (5, 12), "morning": (5, 12), "midi": (11, 15), "apres midi": (12, 19),
    "afternoon": (12, 19), "soir": (17, 26), "evening": (17, 26), "nuit": (18, 30),
    "night": (18, 30),
}  # fmt: skip
DAY = timedelta(days=1)
_MONTH, _YEAR = DAY * 30.44, DAY * 365.25
UNITS = {
    "minute": timedelta(minutes=1), "heure": timedelta(hours=1), "h": timedelta(hours=1),
    "hour": timedelta(hours=1), "min": timedelta(minutes=1), "hr": timedelta(hours=1), "jour": DAY, "day": DAY, "semaine": DAY * 7, "week": DAY * 7,
    "mois": _MONTH, "month": _MONTH, "an": _YEAR, "annee": _YEAR, "year": _YEAR,
}  # fmt: skip
NUMBERS = {
    name: float(value)
    for value, names in enumerate(
        ("un une one a an", "deux two", "trois three", "quatre four", "cinq five", "six",
         "sept seven", "huit eight", "neuf nine", "dix ten", "onze eleven", "douze twelve",
         "treize", "quatorze", "quinze fifteen"), 1
    )
    for name in names.split()
} | {"vingt": 20.0, "twenty": 20.0, "trente": 30.0, "thirty": 30.0}  # fmt: skip
VAGUE = {
    "quelques": (2.0, 6.0), "a few": (2.0, 6.0), "few": (2.0, 6.0), "plusieurs": (2.0, 8.0),
    "several": (2.0, 8.0), "a couple of": (2.0, 3.0), "a couple": (2.0, 3.0),
    "couple of": (2.0, 3.0), "une dizaine de": (8.0, 12.0), "une quinzaine de": (13.0, 17.0),
    "une vingtaine de": (17.0, 23.0), "une demi": (0.5, 0.5), "half a": (0.5, 0.5),
    "half an": (0.5, 0.5),
}  # fmt: skip
WAYS = {
    "last": "last", "this past": "last", "dernier": "last", "derniere": "last", "passe": "last",
    "passee": "last", "this": "this", "ce": "this", "cet": "this", "cette": "this",
    "next": "next", "prochain": "next", "prochaine": "next",
}  # fmt: skip
STEPS = {"last": -1, "this": 0, "next": 1}
# Month and day of both ends: the meteorological and the astronomical season together.
SEASONS = {
    "printemps": ((3, 1), (6, 21)), "spring": ((3, 1), (6, 21)),
    "ete": ((6, 1), (9, 23)), "summer": ((6, 1), (9, 23)),
    "automne": ((9, 1), (12, 21)), "autumn": ((9, 1), (12, 21)), "fall": ((9, 1), (12, 21)),
    "hiver": ((12, 1), (3, 21)), "winter": ((12, 1), (3, 21)),
}  # fmt: skip
FEASTS = {
    "noel": (12, 25), "christmas": (12, 25), "christmas eve": (12, 24), "nouvel an": (1, 1),
    "new year": (1, 1), "new year's": (1, 1), "new year's day": (1, 1),
    "new year's eve": (12, 31), "la saint sylvestre": (12, 31), "halloween": (10, 31), "jour de l'an": (1, 1), "reveillon": (12, 31),
    "la toussaint": (11, 1), "la saint valentin": (2, 14), "valentine's day": (2, 14),
    "paques": None, "easter": None,
}  # fmt: skip
# A preposition that makes an ordinary word a date, for each kind of word that needs one.
PLACES = {
    "month": {"en", "in", "during", "courant", "mois de", "month of"},
    "year": {"en", "in", "during", "courant", "pendant", "durant"},
    "season": {"pendant", "durant", "during", "over"},
    "feast": {"a", "at", "for", "pour", "on", "over", "pendant", "durant", "during", "au",
              "vacances de", "fetes de"},
}  # fmt: skip


def _either(names: Iterable[str]) -> str:
    """One of the names, longest first; grouped by first letter, which matches twice as fast."""
    ordered = sorted(names, key=lambda name: (name[0], -len(name)))
    letters = (
        first + "(?:" + "|".join(name[1:] for name in group) + ")"
        for first, group in groupby(ordered, key=itemgetter(0))
    )
    return "(?:" + "|".join(letters).replace(" ", r"[-\s]+") + ")"


_Y = r"(?:19|20)\d\d"
_MONTH_WORD = _either(MONTHS)
_ENGLISH_MONTH = _either(set(MONTHS) - _FRENCH_MONTHS)
_WEEKDAY_WORD = _either(WEEKDAYS)
_PART_WORD = rf"(?: (?:au |in the |dans la )?(?P<@part>{_either(PARTS)}))?"
_QUANTITY = rf"(?:\d{{1,3}}(?:[.,]5)?|{_either(VAGUE)}|{_either(NUMBERS)})"
_AMOUNT = rf"(?P<@low>{_QUANTITY})(?:(?: ?- ?| (?:ou|or|a|to) )(?P<@high>{_QUANTITY}))?"
_UNIT = rf"[- ]?(?P<@unit>{_either(UNITS)})s?(?:(?<=h)\d\d)?"
_ROUGHLY = r"(?:environ |a peu pres |presque |bientot |plus de |moins de |pres de |deja )?"
_ORDINAL = r"(?:er|st|nd|rd|th|e)?"
_YEAR_AFTER = rf"(?:,? (?:(?:of|de) )?(?P<@year>{_Y})(?!\w|[-/.]\d))?"
_BEFORE = r"(?P<@way>last|this past|this|next|cette|cet|ce)"
_AFTER = r"(?P<@way2>derniere?|passee?|prochaine?)"
_NOT_COUNTED = (
    r"(?! ?(?:€|\$|£|%|euros?\b|dollars?\b|km\b|kg\b|miles?\b|fois\b|times\b|pages?\b|people\b"
    r"|personnes?\b|exemplaires?\b|mots\b|words\b|points?\b|pieces?\b|steps\b|copies\b))"
)
# Each atom is a stretch of time; "@" stands for its own name, so that its groups are its own.
_ATOMS = {
    "iso": rf"(?<![-/.,+])(?P<@year>{_Y})[-/](?P<@month>\d\d?)[-/](?P<@day>\d\d?)(?![-/.]?\d)"
    r"(?:t[\d:.]+(?:z|[-+][\d:]+)?)?",
    "full": rf"(?<![-/.,+])(?P<@day>\d\d?)(?P<@by>[-/.])(?P<@month>\d\d?)(?P=@by)(?P<@year>{_Y})(?![-/.]?\d)",
    "short": r"(?P<@day>\d\d?)/(?P<@month>\d\d?)(?:/(?P<@year>\d\d))?(?![-/.,]?\d)",
    "days": rf"(?<![-/.,+])(?P<@first>\d\d?){_ORDINAL}(?: ?[-–] ?| (?:au|et le|to|and)(?: the)? )"
    rf"(?P<@day>\d\d?){_ORDINAL}(?: of)? (?P<@month>{_MONTH_WORD})\.?{_YEAR_AFTER}",
    "days_after": rf"(?P<@month>{_ENGLISH_MONTH})\.? (?P<@first>\d\d?){_ORDINAL}"
    rf"(?: ?[-–] ?| (?:to|and|through) )(?P<@day>\d\d?){_ORDINAL}(?!\d){_YEAR_AFTER}",
    "date": rf"(?:{_WEEKDAY_WORD},? )?(?:the )?(?<![-/.,+])(?P<@day>\d\d?|premier)"
    rf"(?P<@ordinal>{_ORDINAL})(?: (?:of|de))? (?P<@month>{_MONTH_WORD})\.?{_YEAR_AFTER}"
    rf"(?: {_AFTER})?",
    "date_after": rf"(?:{_WEEKDAY_WORD},? )?(?P<@month>{_ENGLISH_MONTH})\.? (?:the )?(?P<@day>\d\d?)"
    rf"(?P<@ordinal>{_ORDINAL})(?![\d:]|[.,]\d){_YEAR_AFTER}{_NOT_COUNTED}",
    "month": rf"(?:{_BEFORE} )?(?P<@month>{_MONTH_WORD})\.?(?: {_AFTER})?{_YEAR_AFTER}",
    "dayname": rf"(?:{_BEFORE} )?(?P<@weekday>{_WEEKDAY_WORD})(?: {_AFTER}|(?P<@week> de la semaine"
    rf" derniere|(?: of)? last week))?{_PART_WORD}(?! gras| saint|-la\b| school)",
    "day": rf"(?P<@word>{_either(DAYS)}){_PART_WORD}",
    "part": r"(?:(?P<@way>ce|cet|cette|this|last) "
    rf"(?P<@part>{_either(PARTS)})|(?P<@past>nuit derniere)|(?P<@tonight>tonight))",
    "rolling": rf"(?:(?:ces|les|des) (?:(?P<@low>{_QUANTITY}) )?(?:dernier|derniere|passe|passee)s "
    rf"(?:(?P<@low2>{_QUANTITY}) )?|depuis {_ROUGHLY}(?P<@low3>{_QUANTITY})[- ]?"
    rf"|(?:last|past) (?P<@low4>{_QUANTITY}) |(?P<@one>past|(?(article)last|(?!))) )(?P<@unit>{_either(UNITS)})s?",
    "period": rf"(?:{_BEFORE} (?P<@unit>semaine|mois|annee|week[-\s]?end|week|month|year)"
    r"(?:-ci)?(?!-la\b)|(?P<@unit2>semaine|mois|annee|an|week[-\s]?end|week|month|year|weekend)"
    rf" (?:{_AFTER}|(?P<@twice>before last))"
    r"|(?(portion)(?P<@unit3>semaine|mois|annee|week|month|year)|(?!)))",
    "season": rf"(?:{_BEFORE} )?(?P<@season>{_either(SEASONS)})(?: {_AFTER})?{_YEAR_AFTER}",
    "feast": rf"(?:{_BEFORE} )?(?P<@feast>{_either(FEASTS)})(?: (?:day|{_AFTER}))?{_YEAR_AFTER}",
    "ago": rf"(?:(?:il )?y ?a|ca fait|cela fait|voila|voici) {_ROUGHLY}{_AMOUNT}{_UNIT}"
    r"(?P<@half> et demie?)?(?! de (?!ca|cela)| d'|-)",
    "ago_after": rf"{_AMOUNT}{_UNIT}(?P<@half> and a half)?(?: or so)? (?P<@turn>ago|back|from now)",
    "later": rf"dans {_ROUGHLY}{_AMOUNT}{_UNIT}(?P<@half> et demie?)?(?! de | d')",
    "weekends": rf"(?:(?:il )?y ?a (?P<@count>{_QUANTITY}) week[-\s]?ends?"
    rf"|(?P<@count2>{_QUANTITY}) week[-\s]?ends? ago)",
    "lately": r"recemment|dernierement|ces derniers temps|ces temps-ci|recently|lately",
    "year": rf"(?P<@called>(?:annee|an|year) )?(?<![-/.,+:])(?P<@year>{_Y})(?![-/.,:]?\d)"
    rf"{_NOT_COUNTED}",
}
_PREFIX = (
    r"(?:(?P<link>depuis|since|apres(?!.(?:midi|demain))|after|avant(?!.hier)|before|jusqu'(?:en|au|a)|until"
    r"|till|entre|between|from|du|de) )?"
    r"(?:(?P<about>vers|autour d[eu]|aux alentours d[eu]|around) )?"
    r"(?:(?:(?:a|at|in|by|vers) )?(?:la |le |the )?(?P<portion>(?:debut|fin|milieu)(?: de| du| d')?|mi"
    r"|early|late|mid|(?:beginning|start|end|middle) of)(?:[-\s]+|(?<=')))?"
    r"(?:(?:le |au |du |the )?(?P<place>mois de|month of|en|in|on|during|pendant|durant|courant|au"
    r"|a|at|for|pour|over|(?:vacances|fetes) de) )?"
    r"(?P<article>le |la |the |l')?"
)


@cache
def grammar() -> tuple[re.Pattern[str], dict[str, list[tuple[str, str]]]]:
    """The expression, and the groups of each atom under the short name they share.

    Compiled at first use, since it takes tens of milliseconds. A number after a short name is
    only another place for it: ``way2`` is read as ``way``.
    """
    atoms = (f"(?P<{name}>{atom.replace('@', f'{name}_')})" for name, atom in _ATOMS.items())
    source = f"{_PREFIX}(?:{'|'.join(atoms)})(?!\\w)".replace(" ", r"\s+").replace(r"\s+?", r"\s*")
    expression = re.compile(source)
    groups = {
        name: [
            (group.removeprefix(f"{name}_").rstrip("0123456789"), group)
            for group in expression.groupindex
            if group.startswith(f"{name}_")
        ]
        for name in _ATOMS
    }
    return expression, groups


WORD = re.compile(r"\w+")
# Each expression has one of these words, or a number: without one, nothing is tried.
CORE = {
    word
    for names in (MONTHS, WEEKDAYS, DAYS, PARTS, UNITS, SEASONS, FEASTS)
    for name in names
    for word in (*WORD.findall(name), f"{name}s")
}.union(
    ("end", "ends", "weekend", "weekends", "tonight", "temps"),
    ("recently", "lately", "recemment", "dernierement"),
) - {"the", "before", "after", "la", "l", "de", "new", "s", "eve", "saint", "avant", "apres"}
REACH = 8  # words before that one, as in "since about the end of the month of March"
JOIN = re.compile(r"\s*(?:et|and|a|au|to|through|-|–)\s*")
TO = re.compile(r"(?:a|au|until|till|jusqu'\w+)\b")
