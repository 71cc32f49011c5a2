"""The tables of figures in README.md and benchmarks/README.md, from the results.

    python benchmarks/published.py

It writes their rows again. Run it when a file of `benchmarks/results` changes.
"""

import argparse
import json
import re
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from common import RESULTS

ROOT = Path(__file__).parents[1]
PAGES = (ROOT / "README.md", ROOT / "benchmarks" / "README.md")
TITLES = {
    "locomo-dev": "LoCoMo: English talk",
    "beam-100k": "BEAM: long English messages",
    "piaf-fr": "PIAF: French paragraphs",
    "memories": "short memories, asked about in other words",
    "talk": "talk in French and English",
}
"""The collections, by the names of their folders."""
OWN = "own records, never learnt from"
Row = tuple[object, ...]


def results(name: str) -> Any:
    """The results of one file."""
    return json.loads((RESULTS / f"{name}.json").read_text(encoding="utf-8"))["results"]


def decimal(value: float, digits: int = 3) -> str:
    """A figure between 0 and 1: ".685"."""
    return f"{value:.{digits}f}".removeprefix("0")


def percent(share: float, digits: int = 0) -> str:
    """A share: "94 %"."""
    return f"{share:.{digits}%}".replace("%", " %")


def milliseconds(file: str, verb: str, memories: int, quantile: str = "p50") -> str:
    """The time of a verb."""
    [size] = (each for each in results(file)["sizes"] if each["size"] == memories)
    phase = size.get("after_graph") or size["before_graph"]
    return f"{phase[verb][quantile]:.0f} ms"


def bm25(folder: str) -> str:
    """The ranking quality of a keyword search."""
    rows = results(f"recall-{folder.partition('-')[0]}")["folders"][folder]["rows"]
    return decimal(rows["BM25"]["ndcg@10"]["mean"])


def wrongly_merged(language: str) -> str:
    """The share of different statements of PAWS-X that are merged."""
    group = results("updates-pawsx")["groups"][f"pawsx-dev-fr-en-{language}"]
    return percent(group["separate"]["wrong"]["share"], 1)


def quiet() -> str:
    """The share of messages without an answer that bring nothing."""
    return percent(results("learn_rank")["held_out"]["memories"]["quiet"])


def overview() -> Iterator[Row]:
    """What README.md says."""
    learnt = results("learn_rank")["collections"]["locomo-dev"]
    read = results("recall-locomo")["folders"]["locomo-dev"]["rows"]["hybrid (the whole)"]
    yield (
        f"ranking of LoCoMo's {learnt['questions']} questions about English talk, nDCG@10",
        f"{decimal(learnt['ndcg@10'])} cross-validated before reading, "
        f"{decimal(read['ndcg@10']['mean'])} in-sample with it; BM25: {bm25('locomo-dev')}",
    )
    with_reader, without = (
        " / ".join(milliseconds(file, verb, 10_000) for verb in ("recall", "before_turn"))
        for file in ("latency-deadline", "latency-without-reader")
    )
    yield (
        "`recall` / `before_turn` among 10,000 memories, median",
        f"{with_reader} with the reader; {without} without",
    )
    boat = results("ask")["folders"]["boat"]["answerable"]
    yield (
        f"questions whose answer comes first / is injected ({boat['questions']} own questions of "
        "several people, never learnt from)",
        f"{percent(boat['first'])} / {percent(boat['injected'])}",
    )
    forms = ("as written", "capitals", "something told before")
    mended, plain = (
        " / ".join(percent(results("typed")[side][form]["given"]) for form in forms)
        for side in ("with", "without")
    )
    yield (
        "own questions that are given their answer, as typed / in capitals / after a sentence about "
        "something else",
        f"{mended}; without spelling and splitting {plain}",
    )
    yield (
        "different statements wrongly merged (PAWS-X, 1,132 pairs a language)",
        f"{wrongly_merged('en')} English, {wrongly_merged('fr')} French",
    )
    yield "messages without an answer that bring nothing (28 messages, held out)", quiet()
    kills = results("crash")
    yield (
        f"acknowledged writes lost in {kills['rounds']:,} kills of the process",
        f"{kills['failures']} of {kills['acknowledged']:,}",
    )
    own = results("updates-own")["groups"]["all"]["update"]
    hard = results("learn_decide")["measured"]["held out, all"]["update"]
    missed, neither = (
        " / ".join(percent(1 - share) for share in (own[of]["share"], hard[of]))
        for of in ("missed", "neither")
    )
    yield (
        f"**the weak one:** corrections that replace the old statement at once ({own['records']} own "
        "records / hard ones that nothing was learnt from)",
        f"{missed}; {neither} with those listed for review",
    )


def ranking() -> Iterator[Row]:
    """Whether recall finds the answer."""
    learnt = results("learn_rank")
    for name in ("locomo-dev", "beam-100k", "piaf-fr"):
        of = learnt["collections"][name]
        quality = decimal(of["ndcg@10"])
        yield TITLES[name], of["questions"], quality, bm25(name), "cross-validated"
    # BM25 is measured over all questions of a collection: of the memories, only a half is held out.
    for name, questions, words in (("talk", 110, bm25("talk")), ("memories", 148, "–")):
        quality = decimal(learnt["held_out"][name]["ndcg@10"])
        yield TITLES[name], questions, quality, words, "held out"


def calibration() -> Iterator[Row]:
    """Whether the score is a probability."""
    for name, of in results("learn_rank")["collections"].items():
        errors = of["calibration_error"], of["calibration_error_of_first"]
        yield TITLES[name], *map(decimal, errors), "cross-validated"


def injection() -> Iterator[Row]:
    """Whether a turn gets what answers it."""
    for name, folder in results("injection")["folders"].items():
        row = folder["rows"]["as shipped"]
        hits, precision = percent(row["hit rate"]["mean"]), decimal(row["precision"]["mean"], 2)
        method = "in-sample" if folder["in_sample"] else "held out"
        yield TITLES[name], hits, precision, f"{row['tokens']['mean']:.0f}", method


def safety() -> Iterator[Row]:
    """Whether it is safe."""
    for language, title in {"en": "English", "fr": "French"}.items():
        figure = f"different statements wrongly merged, {title}"
        pairs = "PAWS-X, 1,132 pairs"
        yield figure, wrongly_merged(language), pairs, "`benchmarks/updates.py`"
    own = results("updates-own")
    groups, store = own["groups"]["all"], own["store"]
    apart, updates = groups["separate"], groups["update"]
    for figure, value, records in (
        (
            "different statements wrongly merged",
            f"{apart['wrong']['count']} of {apart['records']}",
            OWN,
        ),
        (
            "new statements merged with an unrelated one, all in one store",
            f"{store['merged_with_another_record']['count']} of {store['new']}",
            OWN,
        ),
        (
            "corrections that replace at once",
            percent(1 - updates["missed"]["share"]),
            f"{updates['records']} own records",
        ),
        (
            "corrections that replace or are listed for review",
            percent(1 - updates["neither"]["share"]),
            f"{updates['records']} own records",
        ),
    ):
        yield figure, value, records, "`benchmarks/updates.py`"
    found = results("learn_rank")["held_out"]["memories"]["found"]
    figure = "questions with an answer that scores .5 or more, before reading"
    yield figure, percent(found), "short memories, held out", "`benchmarks/learn_rank.py`"
    figure = "messages without an answer for which nothing scores .5, before reading"
    yield figure, quiet(), "28 messages, held out", "`benchmarks/learn_rank.py`"
    near = results("ask")["folders"]["boat"]["kinds"]["no_answer"]
    yield (
        "near misses on purpose that bring nothing by a search",
        percent(1 - near["searched"]),
        f"{near['questions']} own questions, never learnt from",
        "`benchmarks/ask.py`",
    )
    stores = [each["messages"] for each in results("forgetting").values()]
    asked, right, other, quiet_ = (
        sum(each.get(of, 0) for each in stores)
        for of in ("requests", "right", "other talk", "quiet")
    )
    for figure, value in (
        ("requests to forget that hide what they mean, and nothing else", f"{right} of {asked}"),
        (
            "talk with the same words that asks for nothing and hides nothing",
            f"{quiet_} of {other}",
        ),
    ):
        yield figure, value, "own requests in two stores", "`benchmarks/forgetting.py`"
    kills = results("crash")
    figure = f"acknowledged writes lost in {kills['rounds']:,} kills"
    writes = f"{kills['acknowledged']:,} writes"
    yield figure, kills["failures"], writes, "`benchmarks/crash.py`"


def latency(file: str = "latency-deadline") -> Iterator[Row]:
    """How fast it is."""
    for verb in ("recall", "before_turn", "remember"):
        for memories in (10_000, 100_000):
            times = (milliseconds(file, verb, memories, each) for each in ("p50", "p95"))
            yield f"`{verb}`", f"{memories:,}", *times


def deadline() -> Iterator[Row]:
    """What a turn is given in time."""
    for name, of in results("deadline").items():
        shares = (decimal(of[each]) for each in ("given", "near miss", "small talk", "unread"))
        yield name, *shares, f"{of['ms']['p50']:.0f} ms"


def typed() -> Iterator[Row]:
    """Whether questions are answered however they are typed."""
    forms = {
        "as written": "as written, mostly in small letters",
        "capitals": "in capitals",
        "no accents, no question mark": "without accents and question mark",
        "a typing error": "with a typing error in one word",
        "discourse markers": 'behind or before a discourse marker: "ok so …", "… mdr"',
        "something told before": "after a long sentence about something else",
        "something told after": "between a greeting and something else",
    }
    found = results("typed")
    for form, title in forms.items():
        yield (
            title,
            *(
                " → ".join(decimal(found[side][form][of], 2) for side in ("without", "with"))
                for of in ("first", "given", "near miss")
            ),
        )


TABLES: dict[str, Callable[[], Iterable[Row]]] = {
    "| figure | value |": overview,
    "| collection | questions | nDCG@10 | nDCG@10 of BM25 | method |": ranking,
    "| collection | error over the twenty best | error of the best alone | method |": calibration,
    "| collection | turns with the answer | precision of the items | tokens per turn | method |": (
        injection
    ),
    "| figure | value | collection | command |": safety,
    "| operation | memories | median | 95th percentile |": latency,
    "| operation, unread | memories | median | 95th percentile |": partial(
        latency, "latency-without-reader"
    ),
    (
        "| the question | answer first, without → with | given, without → with | "
        "near miss brings something, without → with |"
    ): typed,
    "| turns | given the answer | near miss | small talk | unread | median |": deadline,
}
"""The rows of each table, by its head."""


def with_figures(text: str) -> str:
    """The text of a page with the figures of the results."""
    for head, rows in TABLES.items():
        lines = "".join(f"| {' | '.join(map(str, row))} |\n" for row in rows())
        table = rf"(?<=^{re.escape(head)}\n)(\|[-|]+\n)(\|.*\n)*"
        text = re.sub(table, lambda found, lines=lines: found[1] + lines, text, flags=re.MULTILINE)
    return text


def main() -> None:
    """Write the figures into the pages."""
    argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0]).parse_args()
    for page in PAGES:
        page.write_text(with_figures(page.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
