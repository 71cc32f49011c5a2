"""Which undecided pairs a person is asked about."""

import pytest

from hippocampe.ingest.asking import worth_asking

UPDATE = "perhaps update, {}%: words → words"


@pytest.mark.parametrize(
    ("old", "new", "reason", "asked"),
    [
        ("La clé était sous le pot", "La clé pend au clou", UPDATE.format(46), True),
        # Too unlikely, though both are about the key.
        ("La clé était sous le pot", "La petite clé pend au clou rouge", UPDATE.format(39), False),
        # "Now" is no matter of its own.
        ("Owen préfère le thé", "Owen préfère maintenant le café", UPDATE.format(8), True),
        ("Owen prefers tea", "Owen prefers coffee now", UPDATE.format(10), True),
        # "Instead" is none either.
        ("We ordered pizza", "We ordered tacos instead", UPDATE.format(8), True),
        ("On a commandé des pizzas", "On a commandé des tacos à la place", UPDATE.format(4), True),
        ("We ordered pizza", "We ordered tacos for dinner", UPDATE.format(8), False),
        ("Owen fait du judo et de l'aviron", "Owen a arrêté l'aviron", UPDATE.format(15), True),
        # Nothing in common but the person and the year.
        (
            "Owen garde le chat en avril 2026",
            "Owen aura 36 ans en mars 2026",
            UPDATE.format(54),
            False,
        ),
        # Their common word begins one of both.
        ("Ida takes 5 mg of statin", "Statin is up to 10 mg", UPDATE.format(54), True),
        ("Ida prend 5 mg de statine", "Statine passée à 10 mg", UPDATE.format(54), True),
        ("Ida wears a size 4", "ida is up to page 12", UPDATE.format(49), False),
        ("Ida chausse du 37", "ida en est à la page 12", UPDATE.format(49), False),
        # Only a value differs, though their matter looks like a name.
        ("Yoga is at 9:30", "Yoga is at 10", UPDATE.format(49), True),
        ("Yoga à 9h30", "Yoga à 10h", UPDATE.format(49), True),
        # Their matter is one relation.
        ("Job: tailor", "Job: florist", "perhaps job: tailor → florist", True),
        # A paraphrase, or what changed, has no word in common.
        ("La souris d'Ida a pour nom Zig", "Zig est mort", UPDATE.format(52), True),
        ("Ida's mouse is called Zig", "Zig has died", UPDATE.format(52), True),
        ("Ida's mouse is called Zig", "Zig is tiny", UPDATE.format(52), False),
        ("Ida pèse 71 kilos", "Ida est descendue à 66", UPDATE.format(52), True),
        ("Ida weighs 71 kilos", "Ida is down to 66", UPDATE.format(52), True),
        ("Owen est licencié", "Owen a perdu son emploi", UPDATE.format(80), True),
        ("Owen habite à Toulon", "Il paraît qu'Owen a quitté Toulon", "a doubt: x → y", True),
        ("Owen habite à Toulon", "Owen aurait soif", "a doubt: x → y", False),
        (
            "Ida est à Metz en mai",
            "Zoé dit qu'Ida est à Pau en mai",
            "another's claim: x → y",
            True,
        ),
        ("Ida is in Metz in May", "Zoé says Ida is in Pau in May", "another's claim: x → y", True),
        ("The flat has mould", "Owen turned the flat down", "not done: x → y", True),
        ("Camille joue du violoncelle", "Camille a mangé des noix", "in part: x → y", False),
        # Two users say "we": without a word in common, the likelihood decides.
        ("We camp in Skye", "Cancel Skye", "another owner: update, 88%: camp → cancel", True),
        ("We camp in Skye", "Skye is wet", "another owner: update, 51%: camp → wet", False),
        # An update of either replaces both.
        ("Zoé habite à Metz", "Zoé lives in Metz", UPDATE.format(10), True),
        ("Ana aime le thé", "Ana a un vélo", "had superseded it", True),
    ],
)
def test_what_a_person_is_asked(old: str, new: str, reason: str, asked: bool) -> None:
    assert worth_asking(new, old, reason) == asked
