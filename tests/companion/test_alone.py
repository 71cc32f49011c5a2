"""Memory alone: what a message states is stored, and what it asks is answered."""

import pytest

from hippocampe import Hippocampe, Scope
from hippocampe.companion.alone import serve_alone

IDA = Scope(user="ida")


@pytest.mark.parametrize(
    ("statement", "question"),
    [
        ("la répète est le mardi à 19h", "la répète c'est quel jour déjà"),
        ("rehearsal is on Tuesday at 7", "whats the time of rehearsal"),
    ],
)
def test_a_question_without_its_mark_is_answered_and_not_stored(
    hippo: Hippocampe, statement: str, question: str
) -> None:
    serve_alone(hippo, statement, scope=IDA)
    asked = serve_alone(hippo, question, scope=IDA)
    assert asked.stored is None
    assert [item.content for item in asked.injection.items] == [statement]
    assert [memory.content for memory in hippo.recent(scope=IDA)] == [statement]


@pytest.mark.parametrize(
    ("message", "stored"),
    [
        ("T'as vu ? La répète est décalée à 20h", "La répète est décalée à 20h"),
        ("Did you know? Rehearsal has moved to 8", "Rehearsal has moved to 8"),
        ("can't play on Thursday", "can't play on Thursday"),
        ("quand il pleut, la répète est annulée", "quand il pleut, la répète est annulée"),
    ],
)
def test_what_is_told_beside_a_question_is_stored(
    hippo: Hippocampe, message: str, stored: str
) -> None:
    served = serve_alone(hippo, message, scope=IDA)
    assert served.stored is not None
    assert served.stored.memory.content == stored
