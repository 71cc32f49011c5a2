"""Reading windows of time: own sentences in both languages, and the edges of the calendar."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hippocampe.errors import InvalidInput
from hippocampe.language.temporal.window import parse_window

PARIS = ZoneInfo("Europe/Paris")
NOW = datetime(2026, 11, 21, 15, 30, tzinfo=PARIS)  # a Saturday


def local(text: str) -> datetime:
    return datetime.fromisoformat(text).replace(tzinfo=PARIS)


def read(sentence: str, now: datetime = NOW, zone: ZoneInfo = PARIS):
    return parse_window(sentence, now=now, timezone=zone)


# Sentence, first moment, end ("now" for the present), kind, words read.
WINDOWS = [
    # part of a month
    ("What did we plan the last two weeks of August 2023?", "2023-08-18", "2023-09-01", "range",
     "the last two weeks of August 2023"),
    ("les deux dernières semaines d'août 2023", "2023-08-18", "2023-09-01", "range",
     "les deux dernières semaines d'août 2023"),
    ("la première semaine de juin", "2026-06-01", "2026-06-08", "range",
     "la première semaine de juin"),
    ("the last weekend of June 2023", "2023-06-23T18:00", "2023-06-26", "range",
     "the last weekend of June 2023"),
    ("the first weekend of August 2023", "2023-08-04T18:00", "2023-08-07", "range",
     "the first weekend of August 2023"),
    ("the last day of February", "2026-02-28", "2026-03-01", "range", "the last day of February"),
    ("as of September 2023", "1970-01-01T01:00", "2023-10-01", "before", "as of September 2023"),
    # relative, French
    ("On avait dit quoi il y a 3 semaines ?", "2026-10-27", "2026-11-05", "moment",
     "il y a 3 semaines"),
    ("il y a deux jours on a skié", "2026-11-19", "2026-11-20", "moment", "il y a deux jours"),
    ("y a 3 jours", "2026-11-17", "2026-11-20", "moment", "y a 3 jours"),
    ("ça fait deux mois", "2026-09-06", "2026-10-07", "moment", "ça fait deux mois"),
    ("il y a une quinzaine de jours", "2026-11-02", "2026-11-11", "moment",
     "il y a une quinzaine de jours"),
    ("il y a 1h30", "2026-11-21T14:02:30", "2026-11-21T14:57:30", "moment", "il y a 1h30"),
    ("il y a 40 min", "2026-11-21T14:39:45", "2026-11-21T15:00:15", "moment", "il y a 40 min"),
    ("il y a 2 h", "2026-11-21T12:55", "2026-11-21T14:05", "moment", "il y a 2 h"),
    ("Qui est venu hier ?", "2026-11-20", "2026-11-21", "day", "hier"),
    ("avant-hier", "2026-11-19", "2026-11-20", "day", "avant-hier"),
    ("avant hier soir", "2026-11-19T17:00", "2026-11-20T02:00", "part", "avant hier soir"),
    ("hier matin", "2026-11-20T05:00", "2026-11-20T12:00", "part", "hier matin"),
    ("aujourd’hui", "2026-11-21", "2026-11-22", "day", "aujourd’hui"),
    ("Ce matin il pleuvait", "2026-11-21T05:00", "2026-11-21T12:00", "part", "Ce matin"),
    ("cet après-midi", "2026-11-21T12:00", "2026-11-21T19:00", "part", "cet après-midi"),
    ("cette nuit", "2026-11-20T18:00", "2026-11-21T06:00", "part", "cette nuit"),
    ("la nuit dernière", "2026-11-20T18:00", "2026-11-21T06:00", "part", "la nuit dernière"),
    ("LA SEMAINE DERNIÈRE", "2026-11-09", "2026-11-16", "week", "LA SEMAINE DERNIÈRE"),
    ("le mois dernier", "2026-10-01", "2026-11-01", "month", "le mois dernier"),
    ("ce mois-ci", "2026-11-01", "2026-12-01", "month", "ce mois-ci"),
    ("l'an dernier", "2025-01-01", "2026-01-01", "year", "l'an dernier"),
    ("l’année dernière", "2025-01-01", "2026-01-01", "year", "l’année dernière"),
    ("l´année dernière", "2025-01-01", "2026-01-01", "year", "l´année dernière"),
    ("cette année", "2026-01-01", "2027-01-01", "year", "cette année"),
    ("le week-end dernier", "2026-11-13T18:00", "2026-11-16", "weekend", "le week-end dernier"),
    ("il y a deux week-ends", "2026-11-06T18:00", "2026-11-09", "weekend",
     "il y a deux week-ends"),
    ("récemment", "2026-10-22", "now", "rolling", "récemment"),
    ("ces 3 derniers jours", "2026-11-18", "now", "rolling", "ces 3 derniers jours"),
    ("les dernières 24 heures", "2026-11-20T15:30", "now", "rolling", "les dernières 24 heures"),
    ("il dort mal depuis 3 semaines", "2026-10-31", "now", "rolling", "depuis 3 semaines"),
    # absolute, French
    ("en mars", "2026-03-01", "2026-04-01", "month", "en mars"),
    ("mars dernier", "2026-03-01", "2026-04-01", "month", "mars dernier"),
    ("en mars 2024", "2024-03-01", "2024-04-01", "month", "en mars 2024"),
    ("au mois de décembre", "2025-12-01", "2026-01-01", "month", "au mois de décembre"),
    ("fe\u0301vrier dernier", "2026-02-01", "2026-03-01", "month", "fe\u0301vrier dernier"),
    ("début janvier", "2026-01-01", "2026-01-13", "month", "début janvier"),
    ("mi-mars", "2026-03-10", "2026-03-22", "month", "mi-mars"),
    ("à la fin du mois dernier", "2026-10-19", "2026-11-01", "month", "à la fin du mois dernier"),
    ("le 10 janvier 2026", "2026-01-10", "2026-01-11", "day", "le 10 janvier 2026"),
    ("le 10/01/2026", "2026-01-10", "2026-01-11", "day", "le 10/01/2026"),
    ("vu le 10/01/24", "2024-01-10", "2024-01-11", "day", "le 10/01/24"),
    ("en début d'année", "2026-01-01", "2026-05-27", "year", "début d'année"),
    ("vu le 10/01 au chalet", "2026-01-10", "2026-01-11", "day", "le 10/01"),
    ("le 1er mars", "2026-03-01", "2026-03-02", "day", "le 1er mars"),
    ("le 31 décembre", "2025-12-31", "2026-01-01", "day", "le 31 décembre"),
    ("lundi 9 mars", "2026-03-09", "2026-03-10", "day", "lundi 9 mars"),
    ("vendredi 4 décembre", "2026-12-04", "2026-12-05", "day", "vendredi 4 décembre"),
    ("lundi 30 novembre", "2026-11-30", "2026-12-01", "day", "lundi 30 novembre"),
    ("vendredi 4/12", "2026-12-04", "2026-12-05", "day", "vendredi 4/12"),
    ("samedi 4 décembre 2025", "2025-12-04", "2025-12-05", "day", "samedi 4 décembre 2025"),
    ("qu'ai-je mercredi 18 ?", "2026-11-18", "2026-11-19", "day", "mercredi 18"),
    ("le lundi 30 à 10h", "2026-11-30", "2026-12-01", "day", "le lundi 30"),
    ("mardi 1er", "2026-12-01", "2026-12-02", "day", "mardi 1er"),
    ("mercredi 18h", "2026-11-18", "2026-11-19", "day", "mercredi"),
    ("mercredi 4 minutes de yoga", "2026-11-18", "2026-11-19", "day", "mercredi"),
    ("du lundi 16 au mercredi 18", "2026-11-16", "2026-11-19", "range",
     "du lundi 16 au mercredi 18"),
    ("lundi en huit", "2026-11-30", "2026-12-01", "day", "lundi en huit"),
    ("mardi en quinze", "2026-12-08", "2026-12-09", "day", "mardi en quinze"),
    ("le 29 février", "2024-02-29", "2024-03-01", "day", "le 29 février"),
    ("vers le 10 janvier", "2026-01-07", "2026-01-14", "day", "vers le 10 janvier"),
    ("lundi dernier", "2026-11-16", "2026-11-17", "day", "lundi dernier"),
    ("samedi dernier", "2026-11-14", "2026-11-15", "day", "samedi dernier"),
    ("j'ai fait quoi lundi matin ?", "2026-11-16T05:00", "2026-11-16T12:00", "part",
     "lundi matin"),
    ("mardi de la semaine dernière", "2026-11-10", "2026-11-11", "day",
     "mardi de la semaine dernière"),
    ("cet été", "2026-06-01", "2026-09-23", "season", "cet été"),
    ("l'été 2022", "2022-06-01", "2022-09-23", "season", "l'été 2022"),
    ("l'hiver dernier", "2025-12-01", "2026-03-21", "season", "l'hiver dernier"),
    ("on se voit à Noël", "2025-12-23", "2025-12-28", "holiday", "à Noël"),
    ("à Pâques 2024", "2024-03-29", "2024-04-03", "holiday", "à Pâques 2024"),
    ("depuis lundi", "2026-11-16", "now", "since", "depuis lundi"),
    ("depuis le début de l'année", "2026-01-01", "now", "since", "depuis le début de l'année"),
    ("depuis 2020", "2020-01-01", "now", "since", "depuis 2020"),
    ("après Noël", "2025-12-28", "now", "since", "après Noël"),
    ("avant mars 2024", "1970-01-01T01:00", "2024-03-01", "before", "avant mars 2024"),
    ("entre mars et mai 2024", "2024-03-01", "2024-06-01", "range", "entre mars et mai 2024"),
    ("de mars à mai", "2026-03-01", "2026-06-01", "range", "de mars à mai"),
    ("du 3 au 10 mars", "2026-03-03", "2026-03-11", "range", "du 3 au 10 mars"),
    ("entre novembre et février 2024", "2023-11-01", "2024-03-01", "range",
     "entre novembre et février 2024"),
    ("fin 2022", "2022-08-08", "2023-01-01", "year", "fin 2022"),
    # ahead
    ("je pars demain", "2026-11-22", "2026-11-23", "day", "demain"),
    ("la semaine prochaine", "2026-11-23", "2026-11-30", "week", "la semaine prochaine"),
    ("lundi prochain", "2026-11-23", "2026-11-24", "day", "lundi prochain"),
    ("dans 3 jours", "2026-11-23", "2026-11-26", "moment", "dans 3 jours"),
    ("next March", "2027-03-01", "2027-04-01", "month", "next March"),
    ("the plumber comes in three days", "2026-11-23", "2026-11-26", "moment", "in three days"),
    ("in about two weeks' time", "2026-12-02", "2026-12-09", "moment", "in about two weeks"),
    ("d'ici une semaine", "now", "2026-12-02", "moment", "d'ici une semaine"),
    ("within a week", "now", "2026-12-02", "moment", "within a week"),
    ("d'ici mardi", "now", "2026-11-25", "day", "d'ici mardi"),
    ("we need it by Tuesday", "now", "2026-11-25", "day", "by Tuesday"),
    ("la semaine pro", "2026-11-23", "2026-11-30", "week", "la semaine pro"),
    ("on fait quoi ce we ?", "2026-11-20T18:00", "2026-11-23", "weekend", "ce we"),
    ("cet aprem", "2026-11-21T12:00", "2026-11-21T19:00", "part", "cet aprem"),
    ("on wed", "2026-11-18", "2026-11-19", "day", "on wed"),
    ("see you next thurs", "2026-11-26", "2026-11-27", "day", "next thurs"),
    ("a week on Monday", "2026-11-30", "2026-12-01", "day", "a week on Monday"),
    ("Monday week", "2026-11-30", "2026-12-01", "day", "Monday week"),
    ("two weeks on Tuesday evening", "2026-12-08T17:00", "2026-12-09T02:00", "part",
     "two weeks on Tuesday evening"),
    ("the Tuesday after next", "2026-12-01", "2026-12-02", "day", "the Tuesday after next"),
    ("this coming Friday", "2026-11-27", "2026-11-28", "day", "this coming Friday"),
    ("lundi qui vient", "2026-11-23", "2026-11-24", "day", "lundi qui vient"),
    ("tmrw morning", "2026-11-22T05:00", "2026-11-22T12:00", "part", "tmrw morning"),
    # relative, English
    ("What did we say 3 weeks ago?", "2026-10-27", "2026-11-05", "moment", "3 weeks ago"),
    ("a couple of days ago", "2026-11-17", "2026-11-20", "moment", "a couple of days ago"),
    ("a year and a half ago", "2024-12-13", "2025-10-30", "moment", "a year and a half ago"),
    ("2-3 days ago", "2026-11-17", "2026-11-20", "moment", "2-3 days ago"),
    ("yesterday's dinner", "2026-11-20", "2026-11-21", "day", "yesterday"),
    ("the  day\nbefore yesterday", "2026-11-19", "2026-11-20", "day",
     "the  day\nbefore yesterday"),
    ("last night", "2026-11-20T18:00", "2026-11-21T06:00", "part", "last night"),
    ("this morning", "2026-11-21T05:00", "2026-11-21T12:00", "part", "this morning"),
    ("last week", "2026-11-09", "2026-11-16", "week", "last week"),
    ("the week before last", "2026-11-02", "2026-11-09", "week", "the week before last"),
    ("last month", "2026-10-01", "2026-11-01", "month", "last month"),
    ("last year", "2025-01-01", "2026-01-01", "year", "last year"),
    ("two weekends ago", "2026-11-06T18:00", "2026-11-09", "weekend", "two weekends ago"),
    ("over the past 3 days", "2026-11-18", "now", "rolling", "over the past 3 days"),
    ("in the past month", "2026-10-22", "now", "rolling", "in the past month"),
    ("over the last year", "2025-11-21", "now", "rolling", "over the last year"),
    ("a few weeks back", "2026-10-03", "2026-11-11", "moment", "a few weeks back"),
    ("Have you seen her recently?", "2026-10-22", "now", "rolling", "recently"),
    # absolute, English
    ("last March", "2026-03-01", "2026-04-01", "month", "last March"),
    ("in March 2024", "2024-03-01", "2024-04-01", "month", "in March 2024"),
    ("in may", "2026-05-01", "2026-06-01", "month", "in may"),
    ("at the end of May", "2026-05-19", "2026-06-01", "month", "at the end of May"),
    ("Dec 2023", "2023-12-01", "2024-01-01", "month", "Dec 2023"),
    ("on May 7, 2023", "2023-05-07", "2023-05-08", "day", "on May 7, 2023"),
    ("7 May 2023", "2023-05-07", "2023-05-08", "day", "7 May 2023"),
    ("the 7th of May", "2026-05-07", "2026-05-08", "day", "the 7th of May"),
    ("2023-05-07", "2023-05-07", "2023-05-08", "day", "2023-05-07"),
    ("2023-05-07T10:00:00Z", "2023-05-07", "2023-05-08", "day", "2023-05-07T10:00:00Z"),
    ("05/17/2023", "2023-05-17", "2023-05-18", "day", "05/17/2023"),
    ("May 7-10, 2023", "2023-05-07", "2023-05-11", "range", "May 7-10, 2023"),
    ("in 2022", "2022-01-01", "2023-01-01", "year", "in 2022"),
    ("last summer", "2026-06-01", "2026-09-23", "season", "last summer"),
    ("in the summer of 2022", "2022-06-01", "2022-09-23", "season", "in the summer of 2022"),
    ("around Christmas", "2025-12-20", "2025-12-31", "holiday", "around Christmas"),
    ("since Monday", "2026-11-16", "now", "since", "since Monday"),
    ("on Monday", "2026-11-16", "2026-11-17", "day", "on Monday"),
    ("on Friday 4 December", "2026-12-04", "2026-12-05", "day", "on Friday 4 December"),
    ("Monday, November 30", "2026-11-30", "2026-12-01", "day", "Monday, November 30"),
    ("on Monday the 16th", "2026-11-16", "2026-11-17", "day", "on Monday the 16th"),
    ("on Wednesday 18", "2026-11-18", "2026-11-19", "day", "on Wednesday 18"),
    ("on Monday 9 am", "2026-11-16", "2026-11-17", "day", "on Monday"),
    ("Monday I have the dentist", "2026-11-16", "2026-11-17", "day", "Monday"),
    ("see you monday", "2026-11-16", "2026-11-17", "day", "monday"),
    ("at the weekend", "2026-11-20T18:00", "2026-11-23", "weekend", "at the weekend"),
    ("pendant le week-end", "2026-11-20T18:00", "2026-11-23", "weekend", "pendant le week-end"),
    ("rdv le 12 à 10h", "2026-11-12", "2026-11-13", "day", "le 12"),
    ("due on the 27th", "2026-10-27", "2026-10-28", "day", "on the 27th"),
    ("a fortnight ago", "2026-11-02", "2026-11-13", "moment", "a fortnight ago"),
    ("au printemps", "2026-03-01", "2026-06-21", "season", "au printemps"),
    ("I planted it in spring", "2026-03-01", "2026-06-21", "season", "in spring"),
    ("between March and May", "2026-03-01", "2026-06-01", "range", "between March and May"),
    ("from Monday to Wednesday", "2026-11-16", "2026-11-19", "range",
     "from Monday to Wednesday"),
    ("until May 2025", "1970-01-01T01:00", "2025-06-01", "before", "until May 2025"),
    # several: the most specific
    ("la semaine dernière, le 10 janvier", "2026-01-10", "2026-01-11", "day", "le 10 janvier"),
    ("in 2022, I think it was in June 2022", "2022-06-01", "2022-07-01", "month", "in June 2022"),
]  # fmt: skip


@pytest.mark.parametrize(("sentence", "start", "end", "kind", "text"), WINDOWS)
def test_window_read(sentence: str, start: str, end: str, kind: str, text: str) -> None:
    window = read(sentence)
    assert window is not None
    assert window.start.astimezone(PARIS) == (NOW if start == "now" else local(start))
    assert window.end.astimezone(PARIS) == (NOW if end == "now" else local(end))
    assert (window.kind, window.text) == (kind, text)
    assert sentence[slice(*window.span)] == text
    assert window.start.tzinfo is UTC
    assert window.end.tzinfo is UTC


@pytest.mark.parametrize(
    "sentence",
    [
        "we should go", "I may go", "he may march on", "il marche", "la planète mars",
        "un mars au chocolat", "sur Mars", "une fusée vers Mars", "wait a second", "the sun is out",
        "an apple a day", "ça coûte 2022 €", "in 2022 pages", "version 3.11 ou 2.7", "Python 3.12",
        "appelle le 06 12 34 56 78", "+33 6 10 01 20 26", "chapter 7 may be long",
        "this may help", "the next march was long", "march 3 miles", "le lundi je cours",
        "chaque mardi", "every Monday", "mardi gras", "du lundi au vendredi", "dispo 24/7",
        "on 24/7", "17/20 en maths", "j'ai été malade", "le père Noël", "Noël m'a dit oui",
        "Christmas tree", "il y a 3 personnes", "il y a deux jours de congé", "la semaine",
        "I fell in love", "spring cleaning", "chambre 2019", "10.0.0.1", "192.168.1.2023",
        "le 31/02/2026", "le 45 mars", "cette année-là", "hiérarchie", "bonjour", "", "   ",
        "123e4567-e89b-12d3-a456-426614174000", "un jour peut-être", "je mange deux mars",
        "les noms des mois", "since tomorrow", "Sunday school",
        "we had Monday lunch", "Monday is bin day", "Monday to Friday", "a Monday", "my Monday shift",
        "open Monday-Friday", "I built it in three days", "you can learn it in a week",
        "we haven't slept in two days", "twice in a week", "at weekends", "le week-end je dors",
        "on the 27th floor", "habite dans le 13", "le 27 rue Foch", "le 20h", "this we know",
        "in the morning", "le matin", "dans la matinée", "Christmas Eve", "le réveillon", "le week-end",
        "the sun on my face", "mon frère", "qui sat", "on sun cream", "we wed", "on Monday mornings", "twice a week on Mondays",
        "lundi 31", "on Monday the 31st", "chaque lundi 16", "every Monday 16th", "Monday 16 dogs",
    ],
)  # fmt: skip
def test_false_friends(sentence: str) -> None:
    assert read(sentence) is None


def test_room_grows_with_distance_and_unit() -> None:
    widths = [
        window.end - window.start
        for sentence in ("il y a 2 jours", "il y a 3 semaines", "il y a 3 mois", "il y a 3 ans")
        if (window := read(sentence))
    ]
    assert len(widths) == 4
    assert widths == sorted(set(widths))
    assert widths[1] == timedelta(days=9)


@pytest.mark.parametrize("hour", range(24))
def test_days_ago_do_not_depend_on_the_hour(hour: int) -> None:
    window = read("3 days ago", NOW.replace(hour=hour))
    assert window is not None
    assert window.start.astimezone(PARIS) == local("2026-11-17")
    assert window.end.astimezone(PARIS) == local("2026-11-20")


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        ("2026-11-23T09:00", "2026-11-20T18:00"),  # Monday: the one just lived
        ("2026-11-25T09:00", "2026-11-27T18:00"),  # Wednesday: the one to come
        ("2026-11-22T09:00", "2026-11-20T18:00"),  # Sunday: this very one
    ],
)
def test_this_weekend(now: str, expected: str) -> None:
    window = read("ce week-end", local(now))
    assert window is not None
    assert window.start.astimezone(PARIS) == local(expected)


@pytest.mark.parametrize(
    ("now", "sentence", "year"),
    [
        ("2026-03-20", "en mars", 2026),  # it has begun
        ("2026-03-20", "mars dernier", 2025),  # it is not over
        ("2026-02-20", "en mars", 2025),
        ("2026-03-10", "cet été", 2026),  # the nearest one lies ahead
        ("2026-07-10", "last summer", 2025),
        ("2026-07-10", "cet été", 2026),
        ("2026-01-05", "le 10 janvier", 2025),
        ("2026-01-10", "le 10 janvier", 2026),  # today
        ("2026-02-20", "cet hiver", 2025),
    ],
)
def test_year_left_out(now: str, sentence: str, year: int) -> None:
    window = read(sentence, local(now))
    assert window is not None
    assert window.start.astimezone(PARIS).year == year


@pytest.mark.parametrize(
    ("sentence", "last", "next"),
    [
        ("on Monday", "2026-11-16", "2026-11-23"),
        ("lundi", "2026-11-16", "2026-11-23"),
        ("on 2 December", "2025-12-02", "2026-12-02"),
        ("le 2 décembre", "2025-12-02", "2026-12-02"),
        ("in March", "2026-03-01", "2027-03-01"),
        ("on the 12th", "2026-11-12", "2026-12-12"),
        ("le 31", "2026-10-31", "2026-12-31"),
        ("du 3 au 5 décembre", "2025-12-03", "2026-12-03"),
        ("from Monday to Wednesday", "2026-11-16", "2026-11-23"),
        ("yesterday", "2026-11-20", "2026-11-20"),
        ("lundi dernier", "2026-11-16", "2026-11-16"),
        ("in March 2024", "2024-03-01", "2024-03-01"),
    ],
)
def test_what_is_to_come_is_at_the_next_time_of_a_name(sentence: str, last: str, next: str) -> None:
    for ahead, start in ((False, last), (True, next)):
        window = parse_window(sentence, now=NOW, timezone=PARIS, ahead=ahead)
        assert window is not None
        assert window.start == local(start)


@pytest.mark.parametrize("sentence", ["this weekend", "ce week-end", "at the weekend"])
def test_a_weekend_that_is_over_is_the_next_one_in_a_plan(sentence: str) -> None:
    now = local("2026-11-24T09:00")  # a Tuesday
    window = parse_window(sentence, now=now, timezone=PARIS, ahead=True)
    assert window is not None
    assert window.start == local("2026-11-27T18:00")


@pytest.mark.parametrize(
    ("sentence", "start", "end"),
    [
        ("what's on in the morning?", "2026-11-22T05:00", "2026-11-22T12:00"),
        ("in the evening", "2026-11-21T17:00", "2026-11-22T02:00"),
        ("dans la matinée", "2026-11-22T05:00", "2026-11-22T12:00"),
        ("dans l'après-midi", "2026-11-21T12:00", "2026-11-21T19:00"),
        ("le week-end", "2026-11-20T18:00", "2026-11-23T00:00"),
        ("le we", "2026-11-20T18:00", "2026-11-23T00:00"),
        ("Christmas Eve", "2026-12-22T00:00", "2026-12-27T00:00"),
        ("la veille de Noël", "2026-12-22T00:00", "2026-12-27T00:00"),
        ("le réveillon du nouvel an", "2026-12-29T00:00", "2027-01-03T00:00"),
    ],
)
def test_a_plan_may_name_its_time_by_what_is_else_a_habit(
    sentence: str, start: str, end: str
) -> None:
    assert read(sentence) is None
    window = parse_window(sentence, now=NOW, timezone=PARIS, ahead=True)
    assert window is not None
    assert (window.start, window.end) == (local(start), local(end))


@pytest.mark.parametrize("sentence", ["le matin", "every morning", "un matin", "chaque week end"])
def test_a_habit_is_no_time_of_a_plan(sentence: str) -> None:
    assert parse_window(sentence, now=NOW, timezone=PARIS, ahead=True) is None


def test_day_of_the_clock_change_has_its_own_length() -> None:
    now = datetime(2026, 3, 30, 12, tzinfo=PARIS)
    short = read("hier", now)  # 29 March 2026: 23 hours
    long = read("hier", datetime(2026, 10, 26, 12, tzinfo=PARIS))
    assert short is not None
    assert long is not None
    assert short.end - short.start == timedelta(hours=23)
    assert long.end - long.start == timedelta(hours=25)


def test_hours_are_counted_across_the_clock_change() -> None:
    now = datetime(2026, 3, 29, 4, 30, tzinfo=PARIS)
    window = read("2 hours ago", now)
    assert window is not None
    middle = window.start + (window.end - window.start) / 2
    assert now.astimezone(UTC) - middle == timedelta(hours=2)


def test_days_begin_where_the_speaker_is() -> None:
    now = datetime(2026, 11, 21, 23, 30, tzinfo=UTC)
    tokyo = parse_window("hier", now=now, timezone="Asia/Tokyo")
    los_angeles = parse_window("hier", now=now, timezone="America/Los_Angeles")
    assert tokyo is not None
    assert los_angeles is not None
    assert tokyo.start == datetime(2026, 11, 20, 15, tzinfo=UTC)
    assert los_angeles.start == datetime(2026, 11, 20, 8, tzinfo=UTC)


def test_midnight_that_does_not_exist_is_the_next_instant() -> None:
    cairo = ZoneInfo("Africa/Cairo")  # 24 April 2026 begins at 01:00
    window = read("hier", datetime(2026, 4, 25, 12, tzinfo=cairo), cairo)
    assert window is not None
    assert window.start == datetime(2026, 4, 23, 22, tzinfo=UTC)
    assert window.end - window.start == timedelta(hours=23)


@given(st.text())
def test_any_text_is_read_without_error(text: str) -> None:
    window = read(text)
    assert window is None or (window.start < window.end and text[slice(*window.span)])


PIECES = (
    "il y a 3 semaines 2 ans depuis avant après entre et de du au à la fin début mars mai may March "
    "le 10 31 29 février 2024 1999 2099 10/01 31/02/2026 lundi Monday last this next dernier "
    "prochaine hier soir matin week-end weekend ago from to until in en on été l' cet summer Noël "
    "Easter ces derniers jours a few quelques une demi heure half an hour saint sylvestre year"
)


@given(
    st.lists(st.sampled_from(PIECES.split()), max_size=12),
    st.sampled_from([" ", "-", "  ", "\n", ", "]),
)
def test_any_mix_of_its_words_is_read_without_error(pieces: list[str], glue: str) -> None:
    text = glue.join(pieces)
    window = read(text)
    assert window is None or (window.start < window.end and window.text in text)


@given(st.datetimes(min_value=datetime(1975, 1, 1), max_value=datetime(2090, 1, 1)))
def test_any_moment_can_be_the_present(moment: datetime) -> None:
    now = moment.replace(tzinfo=UTC)
    for sentence in ("hier", "le 29 février", "last month", "l'hiver dernier", "3 years ago"):
        window = read(sentence, now)
        assert window is not None
        assert window.start < window.end <= now + timedelta(days=1)


def test_unknown_zone_and_naive_now_are_refused() -> None:
    for zone in ("Europe/Nowhere", "", "../etc/passwd", "Europe"):
        with pytest.raises(InvalidInput, match="timezone"):
            parse_window("hier", now=NOW, timezone=zone)
    with pytest.raises(InvalidInput, match="give a timezone"):
        parse_window("hier", now=datetime(2026, 1, 1), timezone=PARIS)
