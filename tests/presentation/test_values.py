"""Values in the language of a reader."""

from datetime import UTC, datetime

import pytest
from markupsafe import Markup

from hippocampe import Hippocampe, Scope
from hippocampe.presentation.injections import stages_of
from hippocampe.presentation.reader import Reader
from hippocampe.presentation.reasons import OBJECTIONS, REASONS
from hippocampe.retrieval.scoring import LOGGED_SIGNALS
from hippocampe.types import Signal
from hippocampe.updates.decide import decide

NOW = datetime(2026, 1, 17, 9, tzinfo=UTC)
ENGLISH = Reader(language="en", timezone="Europe/Paris", now=NOW)
FRENCH = Reader(language="fr", timezone="Europe/Paris", now=NOW)
CORRECTIONS = frozenset(
    {
        *("length", "length_extreme", "length_if_first_person", "question", "chatter"),
        *("other_named", "date_missing", "number_missing", "place_missing", "says_no_more"),
        *("best_late", "query_length", "typical_length", "beside_best"),
        *("about_other", "name_missing", "value_missing", "value_of_other"),
        *("met_anywhere", "best_covered", "best_dense", "pool", "personal", "nobody"),
    }
)
"""Signals not shown: they calibrate the score, and mean nothing to a reader."""


def test_a_value_is_named_by_its_kind() -> None:
    assert ENGLISH.label("outcome", "below_threshold") == "below threshold"
    assert FRENCH.label("outcome", "below_threshold") == "sous le seuil"
    assert ENGLISH.label("kind", "todo") == "to do"
    assert FRENCH.label("purpose", "of_a_host") == "of_a_host"


def test_counts_are_spelled() -> None:
    counts = {"memory": 2, "turn": 1, "live": 1, "note": 0, "below threshold": 3}
    assert ENGLISH.counted(counts) == "2 memories, 1 turn, 1 live message, 3 below threshold"
    assert ENGLISH.counted({"memory": 1_200, "summary": 1}) == "1,200 memories, 1 summary"
    assert ENGLISH.counted({}) == "nothing"
    assert [ENGLISH.amount(number, "item") for number in (0, 1)] == ["0 items", "1 item"]
    assert [FRENCH.amount(number, "item") for number in (0, 1)] == ["0 élément", "1 élément"]


def test_numbers_money_and_durations() -> None:
    amounts = [ENGLISH.dollars(each) for each in (0.25, 0.03, 0.0123)]
    assert amounts == ["$0.25", "$0.03", "$0.0123"]
    # An amount is not zero because it is small.
    assert [ENGLISH.dollars(each) for each in (0, 0.000_03)] == ["$0.00", "$0.00003"]
    assert FRENCH.dollars(0.000_03) == "0,00003\xa0$US"
    assert FRENCH.number(0.5, 1) == "0,5"
    assert (ENGLISH.milliseconds(1_234.5), ENGLISH.milliseconds(4.25)) == ("1,234 ms", "4.2 ms")


def test_markup_escapes_what_is_filled_in() -> None:
    bold = Markup("<b>name</b>")
    assert FRENCH.say("Saved: {key}", key=bold) == Markup("Enregistré : <b>name</b>")
    assert ENGLISH.say("{who}: {said}", who="<i>", said=bold) == "&lt;i&gt;: <b>name</b>"


def test_every_signal_has_a_reason_or_is_a_correction() -> None:
    named = [name for names in REASONS.values() for name in names]
    named += [*OBJECTIONS, *CORRECTIONS]
    assert sorted(named) == sorted(LOGGED_SIGNALS)


def test_reasons_sum_up_signals_strongest_first() -> None:
    signals = [
        Signal("phrase", 1.0, 1, 1.0),
        Signal("bm25", 1.0, 1, 0.5),
        Signal("of_other", 1.0, None, -3.0),
        Signal("date_asked", 1.0, None, 0.01),
    ]
    found = FRENCH.reasons(signals)
    assert [(each.text, each.amount, each.objection) for each in found] == [
        ("quelqu’un d’autre le dit de soi", -3.0, True),
        ("les mêmes mots", 1.5, False),
    ]
    assert FRENCH.reasons(signals, 1) == found[:1]


def test_stages_do_not_overlap() -> None:
    assert dict(stages_of({"search": 3.0, "gather": 5.0, "render": 1.0})) == {
        "gather": 2.0,
        "search": 3.0,
        "render": 1.0,
    }
    # The reading of the context was beside the search, and ended before it, or after it.
    assert dict(stages_of({"context": 2.5, "search": 3.0, "gather": 5.0, "render": 1.0})) == {
        "context": 0.0,
        "gather": 2.0,
        "search": 3.0,
        "render": 1.0,
    }
    late = stages_of({"context": 4.0, "analyse": 1.0, "search": 2.0, "gather": 5.0, "choose": 1.0})
    assert sum(late.values()) == 6.0
    assert (late["context"], late["gather"]) == (1.0, 1.0)


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("perhaps update, 62%: 22 → 29", "peut-être mise à jour, 62 % : 22 → 29"),
        ("same, 91%", "répétition, 91 %"),
        ("perhaps update, 47%", "peut-être mise à jour, 47 %"),
        ("affirmation of diet: vegan", "affirmation (régime) : vegan"),
        ("a doubt: lundi → mardi", "un doute : lundi → mardi"),
        ("birth date: 3 mai → 4 mai", "date de naissance : 3 mai → 4 mai"),
        (
            "left by the local reader: perhaps home: gand → lille",
            "laissé par le lecteur local : peut-être domicile : gand → lille",
        ),
        ("had superseded it", "l’avait remplacé"),
        ("settled by model m:1: keep both", "settled by model m:1: keep both"),
        ("what a person wrote: {all}", "what a person wrote: {all}"),
    ],
)
def test_the_reason_of_a_decision_is_translated(stored: str, shown: str) -> None:
    assert FRENCH.decision_reason(stored) == shown
    assert ENGLISH.decision_reason(stored) == stored


def test_reasons_of_rules_and_weights_are_translated(hippo: Hippocampe) -> None:
    reasons = [
        decide(new, old).reason
        for old, new in (
            ("Ana habite à Gand", "Ana habite à Lille"),
            ("Ana habite à Gand", "Ana n'habite plus à Gand"),
            ("Ana fume", "Ana ne fume plus"),
            ("Ana a une voiture", "Ana a une voiture rouge"),
            ("Ana aime Paul", "Paul aime Ana"),
            ("Le train part à 8 h", "Le train part à 9 h"),
        )
    ]
    for old, new in (
        ("Le club se réunit le lundi", "Je crois que le club se réunit le mardi"),
        ("La piscine ferme à 19 h", "Désormais la piscine ferme plus tard, à 21 h"),
    ):
        hippo.remember(old, scope=Scope())
        reasons.append(hippo.remember(new, scope=Scope()).reason)
    for reason in reasons:
        assert FRENCH.decision_reason(reason) != reason, reason


@pytest.mark.parametrize(
    ("stored", "french", "english"),
    [
        ("19 hidden", "oubliés : 19", "19 forgotten"),
        ("deleted by hand", "oublié à la main", "forgotten by hand"),
        (
            "forgotten on the dashboard",
            "oublié depuis cette page",
            "forgotten on the dashboard",
        ),
        (
            "2 messages, 3 statements, 1 turns",
            "messages : 2, énoncés : 3, échanges : 1",
            "2 messages, 3 statements, 1 turns",
        ),
        ("parce que je le dis", "parce que je le dis", "parce que je le dis"),
    ],
)
def test_what_the_engine_records_is_said_to_the_reader(
    stored: str, french: str, english: str
) -> None:
    assert FRENCH.recorded(stored) == french
    assert ENGLISH.recorded(stored) == english


def test_why_a_pair_is_asked_has_no_stems() -> None:
    reason = "left to a person by model m: perhaps update, 75%: fit stairs went → keeping"
    assert FRENCH.asked(reason) == "Le second remplace-t-il le premier ?"
    assert FRENCH.why_asked(reason) == "Le second semble donner des nouvelles de la même chose."
    same = "in another language: habite metz → lives metz"
    assert ENGLISH.asked(same) == "Do both say the same thing?"
    assert "metz" not in ENGLISH.why_asked(same)
    assert FRENCH.why_asked("perhaps home: lyon → metz").endswith(": domicile.")
