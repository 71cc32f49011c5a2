"""Results as Markdown tables and plots.

    python benchmarks/report.py [results.json ...] [--out report.md] [--plots DIR]

Reads all of `benchmarks/results` unless files are named. The plots need matplotlib; they are SVG.
"""

import argparse
import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from common import RESULTS

WHOLE = "hybrid (the whole)"
IN_SAMPLE = (
    "In-sample: the ranker's weights were learnt on questions of this collection, which flatters the "
    "rows that it ranks. `data/rank.json` has the cross-validated figures."
)
PHASES = {
    "before_graph": "exact scan",
    "while_building": "while a graph is built",
    "just_after_graph": "with the graph, just built",
    "after_graph": "with the graph",
}


def table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """A Markdown table: the first column to the left, the others to the right."""
    lines = ["| " + " | ".join(head) + " |", "|---|" + "---:|" * (len(head) - 1)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines)


def provenance(report: dict[str, Any]) -> str:
    """One line with the provenance of figures."""
    machine = report["machine"]
    packages = ", ".join(f"{name} {of}" for name, of in report["packages"].items() if of)
    changed = " with uncommitted changes" if report["uncommitted_changes"] else ""
    memory = f", {machine['memory_gib']} GiB" if machine["memory_gib"] else ""
    return (
        f"`{report['command']}`, {report['date'][:10]}, commit {(report['commit'] or '?')[:10]}"
        f"{changed}; {machine['cores']} cores of {machine['cpu']}{memory}, {machine['system']}; "
        f"Python {report['python']}, {packages}."
    )


def titled(name: str, folder: dict[str, Any]) -> str:
    """The name of a folder, marked if it is in-sample."""
    return f"{name} (in-sample)" if folder["in_sample"] else name


def recall(results: dict[str, Any]) -> Iterator[str]:
    """Quality: per folder a table of rows, of kinds of questions and of scores."""
    yield f"Weights of the ranker: {results['ranker']['digest']}."
    for name, folder in results["folders"].items():
        yield f"### {titled(name, folder)}"
        if folder["in_sample"]:
            yield IN_SAMPLE
        yield (
            f"{folder['documents']:,} documents as {folder['form']}, {folder['questions']:,} questions. "
            f"{folder['candidates']['mean']} candidates a question hold "
            f"{folder['candidates']['share_of_evidence']:.3f} of the evidence. Expected calibration "
            f"error over the first {folder['calibration']['results_per_question']}: "
            f"{_errors(folder['calibration'])}."
        )
        metrics = list(next(iter(folder["rows"].values())))
        rows = [
            [row, *(_interval(values[metric]) for metric in metrics), _mean_ms(folder, row)]
            for row, values in folder["rows"].items()
        ]
        yield table(["", *metrics, "ms"], rows)
        shown = ["BM25", "dense", WHOLE]
        kinds = [
            [kind or "–", of["questions"], *(f"{of[row]['ndcg@10']:.3f}" for row in shown)]
            for kind, of in folder["kinds"].items()
        ]
        if len(kinds) > 1:
            yield table(["kind, nDCG@10", "questions", *shown], kinds)
        bins = folder["calibration"]["reliability"]
        yield table(
            ["score", "results", "relevant"],
            [[f"{each['score']:.3f}", each["count"], f"{each['share']:.3f}"] for each in bins],
        )


def _errors(calibration: dict[str, Any]) -> str:
    """The calibration error over all results, of the first ones, and above a threshold. Older results lack the last two."""
    more = [
        f"{name.removeprefix('error_').replace('_', ' ')} {value:.3f}"
        for name, value in calibration.items()
        if name.startswith("error_") and value is not None
    ]
    return ", ".join([f"{calibration['error']:.3f}", *more])


def injection(results: dict[str, Any]) -> Iterator[str]:
    """Injections: one table per folder."""
    yield f"Weights of the ranker: {results['ranker']['digest']}."
    for name, folder in results["folders"].items():
        yield f"### {titled(name, folder)}"
        if folder["in_sample"]:
            yield IN_SAMPLE
        yield (
            f"{folder['documents']:,} documents as {folder['form']}, {folder['questions']:,} "
            f"questions, a budget of {folder['token_budget']} tokens."
        )
        if folder["unanswered"]:
            yield f"Quiet: nothing found for {folder['unanswered']} messages that nothing answers."
        head = ["hit rate", "precision", "recall", "items", "tokens", "empty"]
        rows = [
            [
                row,
                *(_interval(values[each]) for each in head[:3]),
                *(f"{values[each]['mean']:.1f}" for each in head[3:5]),
                f"{values['empty']['mean']:.1%}",
                f"{values['quiet']:.1%}" if "quiet" in values else "",
                f"{values['no_room']:.2f}",
                values.get("missing", ""),
            ]
            for row, values in folder["rows"].items()
        ]
        yield table(["", *head, "quiet", "no room", "turns with something missing"], rows)


def _interval(value: dict[str, float] | None) -> str:
    if value is None:
        return "–"
    return f"{value['mean']:.3f} [{value['low']:.3f}–{value['high']:.3f}]"


def _mean_ms(folder: dict[str, Any], row: str) -> str:
    spent = folder["milliseconds"].get(row)
    return f"{spent['mean']:.1f}" if spent else ""


def pages(results: dict[str, Any]) -> Iterator[str]:
    """Each page of the dashboard at each size."""
    for size, found in results.items():
        if size.isdecimal():
            figures = [*next(iter(found.values()))]
            rows = [
                [path, *(row.get(name, "–") for name in figures)] for path, row in found.items()
            ]
            yield f"{int(size):,} memories"
            yield table(["page", *(name.replace("_", " ") for name in figures)], rows)


def latency(results: dict[str, Any]) -> Iterator[str]:
    """Time: each size and phase, the stages of a recall, opening."""
    rows: list[list[object]] = []
    for size in results["sizes"]:
        for phase, name in PHASES.items():
            for what in ("recall", "before_turn", "remember"):
                if figures := size.get(phase, {}).get(what):
                    quantiles = [f"{figures[each]:.1f}" for each in ("p50", "p95", "p99")]
                    sizes = [f"{size['size']:,}", f"{size['turns']:,}", size["spaces"]]
                    rows.append([*sizes, what, name, *quantiles])
    yield table(["memories", "turns", "spaces", "", "", "p50 ms", "p95 ms", "p99 ms"], rows)
    for what, stages in (("a recall", "stages"), ("before_turn", "before_turn_stages")):
        yield table(
            ["memories", "spaces", f"stage of {what}", "p50 ms", "p95 ms"],
            [
                [f"{size['size']:,}", size["spaces"], stage, f"{of['p50']:.2f}", f"{of['p95']:.2f}"]
                for size in results["sizes"]
                for stage, of in (size.get("after_graph") or size["before_graph"])[stages].items()
            ],
        )
    opened = [
        [
            *(f"{size['size']:,}", size["spaces"], *size["cold"].values()),
            *(size["first_in_a_space"]["p50"], size["peak_memory_mib"], size["disk_mib"]),
        ]
        for size in results["sizes"]
    ]
    cold = list(results["sizes"][0]["cold"])
    head = ["memories", "spaces", *(f"cold: {name}" for name in cold)]
    yield table([*head, "first in a space ms", "peak MiB", "disk MiB"], opened)
    ratios = [
        [f"{size['size']:,}", name, f"{ratio:.2f}"]
        for size in results["sizes"]
        for name, ratio in size.get("ratios", {}).items()
    ]
    if ratios:
        yield table(["memories", "recall", "ratio"], ratios)


def overload(results: dict[str, Any]) -> Iterator[str]:
    """Turns per second by number of callers, and at twice the capacity."""
    loops = {f"{callers} callers": each for callers, each in results["closed_loop"].items()}
    arrived = results["open_loop"]
    loops[f"{arrived['arrivals_per_second']} arrivals a second"] = arrived
    rows = [
        [name, each["full_per_second"], f"{each['full_share']:.1%}"]
        + [each["answered_ms"][of] for of in ("p50", "p95")]
        + [each["partial"], each["refused"], each["log_lines"]]
        for name, each in loops.items()
    ]
    head = ["in full a second", "share", "p50 ms", "p95 ms", "partial", "refused", "log lines"]
    size, deadline, share = results["size"], results["deadline_ms"], arrived["of_capacity"]
    yield f"{size:,} memories, deadline {deadline} ms; served in full of the capacity: {share:.1%}"
    yield table(["load", *head], rows)


def server_load(results: dict[str, Any]) -> Iterator[str]:
    """The rates that the library alone and the server hold, and the answers at twice that rate."""
    over = results["server"]["overload"]
    yield (
        f"{results['size']:,} memories; held with a p95 of {results['limit_ms']:g} ms: library alone "
        f"{results['library']['rate']} requests a second, server {results['server']['rate']} "
        f"({results['ratio']:.1%}); at twice that rate {over['of_capacity']:.1%} of its turns in full"
    )
    rows = [
        [f"{name}, {each['arrivals_per_second']} a second", f"{each['full_share']:.1%}"]
        + [each["turn_ms"][of] for of in ("p50", "p95", "p99")]
        + [each["refused_with_5xx"], each["other_5xx"]]
        for name, tried in (
            ("library", results["library"]["tried"]),
            ("server", [*results["server"]["tried"], over]),
        )
        for each in tried
    ]
    yield table(["load", "in full", "p50 ms", "p95 ms", "p99 ms", "503", "other 5xx"], rows)
    yield f"Memory of the server at twice the rate, in MiB: {over['memory_mib']}"


def hook(results: dict[str, Any]) -> Iterator[str]:
    """Times of a hook of a coding agent, and of an interpreter that does nothing."""
    yield f"{results['size']:,} memories, with a running server"
    rows = [
        [name, *(results[times][of] for of in ("min", "p50", "p95"))]
        for name, times in (
            ("`hippocampe hook prompt-submit`", "hook_ms"),
            ("an interpreter that does nothing", "interpreter_ms"),
        )
    ]
    yield table(["process", "min ms", "p50 ms", "p95 ms"], rows)


def sharing(results: dict[str, Any]) -> Iterator[str]:
    """Times of calls in the process that owns a folder, and through it."""
    yield f"{results['size']:,} memories; the first hook finds no process that owns the folder"
    rows = [
        [f"`{name}`, {how}", *(times[who][of] for of in ("p50", "p95"))]
        for name, times in results["calls_ms"].items()
        for who, how in (("owner", "in the owner"), ("joined", "through the owner"))
    ]
    first = results["first_hook_ms"]
    rows.append(["the first hook of a session", first["p50"], first["p95"]])
    yield table(["call", "p50 ms", "p95 ms"], rows)


def bulk(results: dict[str, Any]) -> Iterator[str]:
    """Imports, one column each."""
    names = list(results)
    yield table(
        ["", *names],
        [[key.replace("_", " "), *(results[n][key] for n in names)] for key in results[names[0]]],
    )


def crash(results: dict[str, Any]) -> Iterator[str]:
    """Crash safety."""
    opening = results["opening_after_a_kill"]
    counted = [
        [key, f"{value:,}"] for key, value in results.items() if isinstance(value, int | float)
    ]
    counted += [[f"opening after a kill, {of} (ms)", opening[of]] for of in ("p50", "p95", "max")]
    yield table(["", "count"], counted)


def fuzz(results: dict[str, Any]) -> Iterator[str]:
    """Findings of the fuzzer."""
    rows = [
        [name, f"{each['cases']:,}", each["seconds"], each["slowest_ms"], len(each["found"])]
        for name, each in results["targets"].items()
    ]
    yield table(["target", "cases", "seconds", "slowest (ms)", "findings"], rows)


def pairs(results: dict[str, Any]) -> Iterator[str]:
    """Wrong merges and missed updates, in both orders."""
    rows = [
        [f"{each['file']}: {name}", group["pairs"]]
        + [f"{order['count']} ({order['share']:.2%})" for order in group["merged"].values()]
        for each in results["files"]
        for name, group in each["groups"].items()
    ]
    yield table(
        ["pairs", "count", "merged, second after first", "merged, first after second"], rows
    )


def companion(results: dict[str, Any]) -> Iterator[str]:
    """How a model uses memory: a column for each mode, then passed steps by task."""
    yield f"{results['model']}, {results['conversations']} conversations a mode."
    modes = results["modes"]
    columns = {mode: of["whole"] for mode, of in modes.items()}
    if "extraction" in results:
        columns["extraction"] = results["extraction"]
    names = dict.fromkeys(name for counts in columns.values() for name in counts)
    rows = [[name, *(counts.get(name, 0) for counts in columns.values())] for name in names]
    yield table(["", *columns], rows)
    tasks = dict.fromkeys(task for of in modes.values() for task in of["tasks"])
    rows = [[task, *(_passed(of["tasks"].get(task)) for of in modes.values())] for task in tasks]
    yield table(["steps passed", *modes], rows)


def cells(results: dict[str, Any]) -> Iterator[str]:
    """Turns per second of one process and of cells, and the times of a quiet space beside a busy one."""
    with_reader = "with" if results["reader"] else "without"
    yield (
        f"{results['size']:,} memories in {results['spaces']} spaces, {with_reader} the reader, "
        f"{results['callers']} callers a space"
    )
    rows: list[list[Any]] = []
    for each in results["measured"]:
        turns, quiet = each["throughput"], each["noisy_neighbour"]
        spent = ", ".join(f"{name} {ms}" for name, ms in turns["processor_ms_per_turn"].items())
        rows.append(
            [each["workers"], turns["turns_per_second"], turns["turn_ms"]["p95"], spent]
            + [quiet[of]["p95"] for of in ("alone", "beside a busy space")]
        )
    head = [
        "turns a second",
        "p95 ms",
        "processor ms a turn",
        "quiet space, p95 ms alone",
        "beside",
    ]
    yield table(["processes", *head], rows)
    if "model" in results:
        yield "Computed from the processor time of a turn, if only the server used the machine:"
        computed = [
            [each["cores"], each["turns_per_second"], each["of_one_process"]]
            for each in results["model"]
        ]
        yield table(["cores", "turns a second", "of one process, per core"], computed)


def scale(results: dict[str, Any]) -> Iterator[str]:
    """Loading, turns, writes, memory and disk by size and side."""
    yield f"{'With' if results['reader'] else 'Without'} the reader; p50 / p95 in ms."
    rows: list[list[object]] = []
    for size in results["sizes"]:
        for side, of in size["sides"].items():
            timed = [
                f"{of[name]['p50']:.0f} / {of[name]['p95']:.0f}"
                for name in ("first_in_a_space", "before_turn", "remember")
            ]
            rows.append(
                [
                    f"{side}, {size['size']:,} in {size['spaces']:,}",
                    of.get("load_per_second") or "–",
                    *timed,
                    round(_total(of["memory_mib"], of.get("server_memory_mib", 0))),
                    round(_total(of["disk_mib"])),
                ]
            )
    head = [
        "rows loaded a second",
        "first turn of a space",
        "turn",
        "remember",
        "memory MiB",
        "disk MiB",
    ]
    yield table(["", *head], rows)


def _total(*values: Any) -> float:
    """The sum of numbers, and of tables of numbers."""
    return sum(sum(each.values()) if isinstance(each, dict) else each for each in values)


def _passed(counts: dict[str, float] | None) -> str:
    return f"{counts.get('passed', 0)} of {counts['steps']}" if counts else "–"


def figures(results: dict[str, Any]) -> list[str]:
    """All numbers of a benchmark without tables of its own, each with its place."""

    def leaves(part: Any, place: str = "") -> Iterator[tuple[str, object]]:
        if isinstance(part, dict):
            for name, each in part.items():
                yield from leaves(each, f"{place}, {name}" if place else str(name))
        elif isinstance(part, int | float):
            yield place, part

    return [table(("figure", "value"), leaves(results))]


SECTIONS = {
    "recall": recall,
    "injection": injection,
    "latency": latency,
    "overload": overload,
    "server_load": server_load,
    "cells": cells,
    "scale": scale,
    "pages": pages,
    "hook": hook,
    "sharing": sharing,
    "bulk": bulk,
    "crash": crash,
    "fuzz": fuzz,
    "pairs": pairs,
    "companion": companion,
}


def markdown(reports: dict[str, dict[str, Any]]) -> str:
    """All tables."""
    parts: list[str] = []
    for name, report in reports.items():
        section = SECTIONS.get(report["benchmark"], figures)
        parts += [f"## {name}", provenance(report), *section(report["results"])]
    return "\n\n".join(parts) + "\n"


def plot(reports: dict[str, dict[str, Any]], folder: Path) -> list[Path]:
    """Recall by row, reliability, latency by size: SVG files."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams["svg.hashsalt"] = "hippocampe"  # the same figures make the same file
    from matplotlib import pyplot

    folder.mkdir(parents=True, exist_ok=True)
    made: list[Path] = []
    for name, report in reports.items():
        for draw in _DRAWN.get(report["benchmark"], ()):
            figure, axes = pyplot.subplots(figsize=(7, 4), layout="constrained")
            draw(axes, report["results"])
            made.append(folder / f"{name}-{draw.__name__.strip('_')}.svg")
            figure.savefig(made[-1], metadata={"Date": None})
            pyplot.close(figure)
    return made


def _quality(axes: Any, results: dict[str, Any]) -> None:
    folders = results["folders"]
    rows = list(next(iter(folders.values()))["rows"])
    for number, row in enumerate(rows):
        values = [folder["rows"].get(row, {}).get("ndcg@10") for folder in folders.values()]
        places = [at + number * 0.8 / len(rows) for at, value in enumerate(values) if value]
        means = [value["mean"] for value in values if value]
        low = [value["mean"] - value["low"] for value in values if value]
        high = [value["high"] - value["mean"] for value in values if value]
        axes.bar(places, means, 0.75 / len(rows), yerr=[low, high], label=row, capsize=2)
    axes.set_xticks(
        [at + 0.4 - 0.4 / len(rows) for at in range(len(folders))],
        [titled(name, folder) for name, folder in folders.items()],
    )
    axes.set(ylabel="nDCG@10", ylim=(0, 1))
    axes.legend(fontsize="small", ncols=2)


def _reliability(axes: Any, results: dict[str, Any]) -> None:
    axes.plot([0, 1], [0, 1], linestyle=":", color="grey")
    for name, folder in results["folders"].items():
        bins = folder["calibration"]["reliability"]
        label = f"{titled(name, folder)}, error {_errors(folder['calibration'])}"
        axes.plot([b["score"] for b in bins], [b["share"] for b in bins], marker="o", label=label)
    axes.set(xlabel="score given", ylabel="share relevant", xlim=(0, 1), ylim=(0, 1))
    axes.legend(fontsize="small")


def _hits(axes: Any, results: dict[str, Any]) -> None:
    """Hit rate against tokens: thresholds as a line, baselines as points."""
    marks = {"as shipped": "*", "last": "s", "BM25": "^", "hybrid": "v"}
    for number, (name, folder) in enumerate(results["folders"].items()):
        points = {
            row: (values["tokens"]["mean"], values["hit rate"]["mean"])
            for row, values in folder["rows"].items()
        }
        line = [point for row, point in points.items() if row.startswith("relevance")]
        axes.plot(
            *zip(*line, strict=True), marker="o", color=f"C{number}", label=titled(name, folder)
        )
        for start, mark in marks.items():
            for row, point in points.items():
                if row.startswith(start):
                    label = row if number == 0 else None
                    axes.scatter(*point, 60, f"C{number}", marker=mark, label=label)
    axes.set(xlabel="tokens a turn", ylabel="hit rate", ylim=(0, 1))
    axes.legend(fontsize="small")


def _recall_latency(axes: Any, results: dict[str, Any]) -> None:
    _latency(axes, results, "recall")


def _before_turn_latency(axes: Any, results: dict[str, Any]) -> None:
    _latency(axes, results, "before_turn")


def _latency(axes: Any, results: dict[str, Any], what: str) -> None:
    for number, (phase, name) in enumerate(PHASES.items()):
        for quantile, line in (("p50", ":"), ("p95", "-")):
            points = [
                (size["size"], size[phase][what][quantile])
                for size in results["sizes"]
                if phase in size
            ]
            if points:
                label = f"{name}, {quantile}"
                axes.plot(
                    *zip(*points, strict=True), line, marker="o", color=f"C{number}", label=label
                )
    axes.set(xscale="log", xlabel="memories, and in how many spaces", ylabel=f"{what}, ms")
    marks = {size["size"]: f"{size['size']:,} in {size['spaces']}" for size in results["sizes"]}
    axes.set_xticks(list(marks), list(marks.values()))
    axes.minorticks_off()
    axes.set_ylim(bottom=0)
    axes.legend(fontsize="small")


def _growth(axes: Any, results: dict[str, Any]) -> None:
    for number, side in enumerate(
        dict.fromkeys(s for size in results["sizes"] for s in size["sides"])
    ):
        of_side = [size for size in results["sizes"] if side in size["sides"]]
        for quantile, line in (("p50", ":"), ("p95", "-")):
            times = [size["sides"][side]["before_turn"][quantile] for size in of_side]
            axes.plot(
                [size["size"] for size in of_side],
                times,
                line,
                marker="o",
                color=f"C{number}",
                label=f"{side}, {quantile}",
            )
    axes.set(xscale="log", xlabel="memories, in spaces of 1,000", ylabel="before_turn, ms")
    axes.set_ylim(bottom=0)
    axes.legend(fontsize="small")


_DRAWN = {
    "scale": (_growth,),
    "recall": (_quality, _reliability),
    "injection": (_hits,),
    "latency": (_recall_latency, _before_turn_latency),
}


def main() -> None:
    """Write the tables to standard output or a file, and the plots to a folder."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("files", nargs="*", type=Path, help="default: all of benchmarks/results")
    parser.add_argument("--out", type=Path, help="write the Markdown here")
    parser.add_argument("--plots", type=Path, help="draw the plots into this folder")
    options = parser.parse_args()
    files = options.files or sorted(RESULTS.glob("*.json"))
    reports = {path.stem: json.loads(path.read_text(encoding="utf-8")) for path in files}
    text = markdown(reports)
    if options.out:
        options.out.write_text(text, encoding="utf-8")
    else:
        print(text, end="")
    if options.plots:
        for path in plot(reports, options.plots):
            print(path)


if __name__ == "__main__":
    main()
