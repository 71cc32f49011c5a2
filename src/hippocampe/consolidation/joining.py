"""Join two opinions on a pair of statements: the learnt decision's and the local reader's."""

import numpy as np

from hippocampe.consolidation.learnt import Floats

_LEAST = 1e-6


def joined(decision: Floats, reader: Floats, weight: float) -> Floats:
    """The weighted geometric mean of two distributions over `OUTCOMES`, which sums to 1.

    Args:
        decision: Shape (…, outcomes).
        reader: Of the same shape.
        weight: Of the reader, 0 to 1.
    """
    logs = (1 - weight) * np.log(np.maximum(decision, _LEAST))
    logs += weight * np.log(np.maximum(reader, _LEAST))
    powers = np.exp(logs - logs.max(axis=-1, keepdims=True))
    return (powers / powers.sum(axis=-1, keepdims=True)).astype(np.float32)
