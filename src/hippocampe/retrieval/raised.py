"""The question that a plan raises: before "I'm making curry on Friday", it matters who cannot eat what."""

from __future__ import annotations

from typing import Final

from hippocampe.engine.vocabulary import Vocabulary
from hippocampe.language.lexicon import load, words_of
from hippocampe.language.person import is_about_speaker
from hippocampe.language.questions import asks_anything
from hippocampe.language.statement import parse
from hippocampe.retrieval.query import AnalysedQuery

DISH: Final = 0.45
"""Least cosine of a dish with the mean of some dishes. Of 37 others, 30 have it; of 40 words for other things, "kitchen"."""
_DISHES: Final = words_of("dishes", file="questions")
_EATING: Final = words_of("eating", file="questions")
"""A guest serves nobody."""


def raised_by(vocabulary: Vocabulary, plan: AnalysedQuery) -> str | None:
    """Return the question that a plan raises, if it is one of a meal.

    Args:
        vocabulary: The vocabulary.
        plan: A message for which `follow_ups.is_plan` holds.
    """
    near = plan.features.vectors @ vocabulary.mean(_DISHES)
    is_served = is_about_speaker(plan.spoken) and not asks_anything(plan.spoken)
    ignored = _EATING if is_served else frozenset[str]()
    if not any(
        cosine >= DISH and word not in ignored
        for cosine, word in zip(near.tolist(), plan.features.words, strict=True)
    ):
        return None
    question: str = load(parse(plan.spoken).language, "questions")["diets"]
    return question
