"""The question that a plan raises: before "I'm making curry on Friday", it matters who cannot eat what."""

from __future__ import annotations

from typing import Final

from hippocampe.engine.vocabulary import Vocabulary
from hippocampe.language.lexicon import load, words_of
from hippocampe.language.person import is_about_speaker
from hippocampe.language.questions import asks_anything
from hippocampe.language.statement import parse
from hippocampe.language.topics import topic, topics_of
from hippocampe.language.word_classes import word_classes
from hippocampe.retrieval.query import AnalysedQuery

DISH: Final = 0.45
"""Least cosine of a dish with the mean of some dishes. Of 37 others, 30 have it; of 40 words for other things, "kitchen"."""
_DISHES: Final = words_of("dishes", file="questions")
_EATING: Final = words_of("eating", file="questions")
"""A guest serves nobody."""
_ORDERING: Final = words_of("ordering", file="questions")
_DRINK, _FOOD = topic("drink"), topic("food")


def raised_by(vocabulary: Vocabulary, plan: AnalysedQuery) -> str | None:
    """Return the question that a plan raises, if it is one of a meal.

    Args:
        vocabulary: The vocabulary.
        plan: A message for which `follow_ups.is_plan` holds.
    """
    said = plan.features.words
    near = plan.features.vectors @ vocabulary.mean(_DISHES)
    dishes = {word for word, cosine in zip(said, near.tolist(), strict=True) if cosine >= DISH}
    dishes |= _DISHES.intersection(said)
    # A meal is more than a coffee.
    dishes -= {word for word in dishes if topics_of(word) & (_DRINK | _FOOD) == _DRINK}
    if not _ORDERING.isdisjoint(said):
        # "We order Chinese".
        dishes |= {word for word in said if word_classes().has("peoples", word)}
    is_served = is_about_speaker(plan.spoken) and not asks_anything(plan.spoken)
    dishes = dishes - _EATING if is_served else dishes | _EATING.intersection(said)
    if not dishes:
        return None
    question: str = load(parse(plan.spoken).language, "questions")["diets"]
    return question
