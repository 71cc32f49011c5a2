"""Learn to move the vector of a question towards those of the texts that answer it, and whether it asks for several:
writes `data/questions.npz`.

    python benchmarks/learn_questions.py --data DATA [--map FILE] --output src/hippocampe/data/questions.npz

The default embedder puts a question near texts that resemble it, not near those that answer it. A linear map of low
rank, added to the vector, is learnt on the worlds and talks of `DATA/reader` and `data/worlds` (`reader_data.py`),
without those that are held out: an answer must be nearer than the other texts of its world, and than some of all worlds.
It is the mean of several runs, cut to its rank. Whether a message asks for what several texts tell is a logistic regression
on its moved vector. Prints how often an answer is among the first of those that are held out, before and after, and the
share of the messages that count as asking for several, by whether they do. With `--map`, that of a file is kept. Needs
`benchmarks/requirements.txt`; the product does not.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import numpy as np
import torch
from numpy.typing import NDArray
from sklearn.linear_model import LogisticRegression
from torch.nn import functional

import common
from hippocampe.embed.local import DIMENSIONS, LocalEmbedder
from hippocampe.engine.documents import embedding_text
from hippocampe.language.person import is_first_person
from hippocampe.language.text import fold
from reader_data import Question, Text, World, held_out, worlds

Floats = NDArray[np.float32]
RANK: Final = 64
RUNS: Final = 4
PASSES: Final = 6
RATE: Final = 2e-3
QUESTIONS: Final = 16
"""Questions of a step."""
STRANGERS: Final = 128
"""Texts of all worlds that a question is compared with, beside those of its own."""
DROPPED: Final = 0.6
"""Share of the numbers of a question that the map does not see while it learns."""
DECAY: Final = 0.03
"""Weight of the squared norm of the map: the less, the further a question moves."""
DEPTHS: Final = (1, 3, 8, 16)
STRENGTH: Final = 3.0
"""Inverse of the decay of the weights that tell whether several texts are asked for."""
LIMITS: Final = (0.2, 0.3, 0.5)


@dataclass(frozen=True, slots=True)
class Asked:
    """A question: its vector, those of the texts that existed, and the rows of its answers."""

    vector: torch.Tensor
    texts: torch.Tensor
    right: list[int]


def embedded(text: Text) -> str:
    """What the product embeds of a text: a message of talk has its author and its day."""
    return embedding_text(text.content, text.user if text.at else None, text.at)


def searched(question: Question) -> str:
    """What the product embeds of a question: with the name of the asker if it is about them."""
    own = question.user and is_first_person(question.content)
    return f"{question.content} {fold(question.user)}" if own else question.content


def asked(known: Sequence[World]) -> list[Asked]:
    """The questions with an answer."""
    embedder = LocalEmbedder()
    found: list[Asked] = []
    for world in known:
        ids = list(world.texts)
        texts = torch.tensor(embedder.embed([embedded(world.texts[id]) for id in ids]))
        vectors = torch.tensor(embedder.embed([searched(each) for each in world.questions]))
        for question, vector in zip(world.questions, vectors, strict=True):
            existing = world.known_at(question)
            right = [existing.index(id) for id in question.answers if id in existing]
            if right:
                rows = [ids.index(id) for id in existing]
                found.append(Asked(vector, texts[rows], right))
    return found


def learn(questions: Sequence[Asked], seed: int) -> Floats:
    """One run: the map, shape (dimensions, dimensions)."""
    torch.manual_seed(seed)
    chance = random.Random(seed)
    everything = torch.cat([each.texts for each in questions]).unique(dim=0)
    down = torch.nn.Parameter(0.02 * torch.randn(RANK, DIMENSIONS))
    up = torch.nn.Parameter(torch.zeros(DIMENSIONS, RANK))
    sharpness = torch.nn.Parameter(torch.tensor(2.5))
    optimiser = torch.optim.AdamW([down, up, sharpness], lr=RATE, weight_decay=0.0)
    steps = PASSES * len(questions) // QUESTIONS
    left: list[Asked] = []
    for step in range(steps):
        for group in optimiser.param_groups:
            group["lr"] = RATE * (1 - step / steps)
        losses: list[torch.Tensor] = []
        for _ in range(QUESTIONS):
            left = left or chance.sample(list(questions), len(questions))
            each = left.pop()
            moved = each.vector + up @ (down @ functional.dropout(each.vector, DROPPED))
            strangers = everything[torch.randint(len(everything), (STRANGERS,))]
            near = torch.cat([each.texts @ moved, strangers @ moved]) * sharpness.exp()
            losses.append(-near.log_softmax(0)[each.right].logsumexp(0))
        loss = torch.stack(losses).mean() + DECAY * ((up @ down) ** 2).sum()
        optimiser.zero_grad()
        loss.backward()
        optimiser.step()
    return (up @ down).detach().numpy()


def first(questions: Sequence[Asked], move: Callable[[Floats], Floats]) -> dict[int, float]:
    """How often an answer is among the first texts, by their number."""
    ranks: list[int] = []
    for each in questions:
        near = each.texts.numpy() @ move(each.vector.numpy())
        ranks.append(int((near > near[each.right].max()).sum()))
    return {depth: round(float(np.mean(np.array(ranks) < depth)), 3) for depth in DEPTHS}


def messages(known: Sequence[World], move: Callable[[Floats], Floats]) -> tuple[Floats, Floats]:
    """The moved vectors of all messages, and whether each asks for several texts."""
    embedder = LocalEmbedder()
    every = [each for world in known for each in world.questions]
    moved = np.stack([move(each) for each in embedder.embed([searched(each) for each in every])])
    moved /= np.linalg.norm(moved, axis=1, keepdims=True)
    return moved, np.array([each.kind == "A" for each in every])


def learnt_map(questions: Sequence[Asked]) -> tuple[Floats, Floats]:
    """The mean of several runs, as two matrices."""
    whole = np.mean([learn(questions, seed) for seed in range(RUNS)], axis=0)
    left, strength, right = np.linalg.svd(whole)
    share = np.sqrt(strength[:RANK])
    return left[:, :RANK] * share, share[:, None] * right[:RANK]


def kept(path: Path) -> tuple[Floats, Floats]:
    """The map of a file."""
    with np.load(path) as stored:
        return stored["up"].astype(np.float32), stored["down"].astype(np.float32)


def main() -> None:
    """Learn, measure and write."""
    parser = common.arguments(__doc__)
    parser.add_argument("--data", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    parser.add_argument("--map", type=Path, help="keep the map of this file, and learn the rest")
    options = parser.parse_args()
    torch.set_num_threads(1)
    known = worlds([options.data / "reader", Path(__file__).parent / "data" / "worlds"])
    learnt = [each for each in known if not held_out(each.name)]
    questions = asked(learnt)
    up, down = kept(options.map) if options.map else learnt_map(questions)

    def move(vector: Floats) -> Floats:
        return vector + up @ (down @ vector)

    left_out = [each for each in known if held_out(each.name)]
    model = LogisticRegression(C=STRENGTH, max_iter=3_000).fit(*messages(learnt, move))
    vectors, several = messages(left_out, move)
    likely = model.predict_proba(vectors)[:, 1]
    apart = asked(left_out)
    results = {
        "learnt_from": len(questions),
        "held_out": len(apart),
        "before": first(apart, lambda vector: vector),
        "after": first(apart, move),
        "several": {
            str(limit): {
                "rightly": round(float(np.mean(likely[several] >= limit)), 3),
                "wrongly": round(float(np.mean(likely[~several] >= limit)), 3),
            }
            for limit in LIMITS
        },
    }
    print(results)
    weights = np.append(model.coef_[0], model.intercept_)
    arrays = {"down": down, "up": up, "several": weights}
    np.savez_compressed(
        options.output, **{k: each.astype(np.float16) for k, each in arrays.items()}
    )
    common.save(options.out, "learn_questions", results)


if __name__ == "__main__":
    main()
