"""A question how something was before is told from one about the time before something."""

import pytest

from hippocampe.language.questions import without_former


@pytest.mark.parametrize(
    ("question", "kept"),
    [
        ("what was my job before the hotel?", "what was my job ?"),
        ("what was my old number?", "what was my number?"),
        ("what did I use to drive?", "what did I drive?"),
        ("what do I need to do before Friday?", None),
        ("where do I live?", None),
        ("où est-ce que j'habitais avant ?", "où est-ce que j'habitais ?"),
        ("jhabitais où avant", "jhabitais où"),
        ("où habitais-tu avant ?", "où habitais-tu ?"),
        ("mon loyer était de combien avant ?", "mon loyer était de combien ?"),
        ("Lison allait où avant Painlevé ?", "Lison allait où ?"),
        ("c'était qui mon ancien médecin ?", "c'était qui mon médecin ?"),
        # Words that end as the imperfect does.
        ("je fais quoi avant mon cours d'anglais ?", None),
        ("c'est quoi le portrait à faire avant lundi ?", None),
        ("pourquoi je ne mange jamais avant midi ?", None),
    ],
)
def test_what_asks_for_before_is_left_out_of_the_search(question: str, kept: str | None) -> None:
    assert without_former(question) == kept
