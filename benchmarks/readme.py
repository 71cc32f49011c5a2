"""The measured figures of README.md, from the results.

    python benchmarks/readme.py

It writes the table of README.md again. Run it when a file of `benchmarks/results` changes.
"""

import argparse
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

from common import RESULTS

README = Path(__file__).parents[1] / "README.md"
HEAD = "| figure | value |\n|---|---|\n"


def results(name: str) -> Any:
    """The results of one file."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["results"]


def decimal(value: float) -> str:
    """A figure between 0 and 1, with three digits: ".685"."""
    return f"{value:.3f}".removeprefix("0")


def percent(share: float, digits: int = 0) -> str:
    """A share: "94 %"."""
    return f"{share:.{digits}%}".replace("%", " %")


def median(file: str, verb: str) -> str:
    """The median of a verb among 10,000 memories, in milliseconds."""
    [size] = (each for each in results(file)["sizes"] if each["size"] == 10_000)
    phase = size.get("after_graph") or size["before_graph"]
    return f"{phase[verb]['p50']:.0f} ms"


def ranking() -> str:
    """How well LoCoMo is ranked."""
    learnt = results("learn_rank")["collections"]["locomo-dev"]
    rows = results("recall-locomo")["folders"]["locomo-dev"]["rows"]
    whole, words = (decimal(rows[row]["ndcg@10"]["mean"]) for row in ("hybrid (the whole)", "BM25"))
    return (
        f"{decimal(learnt['ndcg@10'])} cross-validated before reading, {whole} in-sample with it; "
        f"BM25: {words}"
    )


def latency() -> str:
    """How long a search and a turn take."""
    with_reader, without = (
        " / ".join(median(file, verb) for verb in ("recall", "before_turn"))
        for file in ("latency-deadline", "latency-without-reader")
    )
    return f"{with_reader} with the reader; {without} without"


def answered() -> str:
    """How many questions of several people get their answer."""
    of = results("ask")["folders"]["boat"]["answerable"]
    return f"{percent(of['first'])} / {percent(of['injected'])}"


def typed() -> str:
    """How many questions get their answer however they are typed."""
    forms = ("as written", "capitals", "something told before")
    with_mending, without = (
        " / ".join(percent(results("typed")[side][form]["given"]) for form in forms)
        for side in ("with", "without")
    )
    return f"{with_mending}; without spelling and splitting {without}"


def merged() -> str:
    """How many different statements are merged."""
    groups = results("updates-pawsx")["groups"]
    english, french = (
        percent(groups[f"pawsx-dev-fr-en-{language}"]["separate"]["wrong"]["share"], 1)
        for language in ("en", "fr")
    )
    return f"{english} English, {french} French"


def quiet() -> str:
    """How many messages without an answer bring nothing."""
    return percent(results("learn_rank")["held_out"]["memories"]["quiet"])


def durable() -> str:
    """How many acknowledged writes were lost."""
    of = results("crash")
    return f"{of['failures']} of {of['acknowledged']:,}"


def corrected() -> str:
    """How many corrections replace what they correct, and how many do so or are listed."""
    own = results("updates-own")["groups"]["all"]["update"]
    hard = results("learn_decide")["measured"]["held out, all"]["update"]
    missed = own["missed"]["share"], hard["missed"]
    neither = own["neither"]["share"], hard["neither"]
    at_once, listed = (
        " / ".join(percent(1 - share) for share in shares) for shares in (missed, neither)
    )
    return f"{at_once}; {listed} with those listed for review"


FIGURES: dict[str, Callable[[], str]] = {
    "ranking of LoCoMo's 997 questions about English talk, nDCG@10": ranking,
    "`recall` / `before_turn` among 10,000 memories, median": latency,
    "questions whose answer comes first / is injected (34 own questions of several people, never "
    "learnt from)": answered,
    "own questions that are given their answer, as typed / in capitals / after a sentence about "
    "something else": typed,
    "different statements wrongly merged (PAWS-X, 1,132 pairs a language)": merged,
    "messages without an answer that bring nothing (28 messages, held out)": quiet,
    "acknowledged writes lost in 1,000 kills of the process": durable,
    "**the weak one:** corrections that replace the old statement at once (80 own records / hard "
    "ones that nothing was learnt from)": corrected,
}
"""What each row of the table shows."""


def with_figures(text: str) -> str:
    """The text of README.md with the figures of the results."""
    rows = "".join(f"| {figure} | {value()} |\n" for figure, value in FIGURES.items())
    return re.sub(re.escape(HEAD) + r"(\|.*\n)*", lambda _: HEAD + rows, text, count=1)


def main() -> None:
    """Write the figures into README.md."""
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    README.write_text(with_figures(README.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
