"""Commands on a whole data folder: done on each cell of a divided one, with one result."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

from hippocampe.cells import FOLDER, Divided, folder_of, located
from hippocampe.cli import terminal
from hippocampe.cli.call import URL, Call
from hippocampe.cli.show.layout import say
from hippocampe.errors import StoreCorrupt, StoreMissing
from hippocampe.language.invisible import escaped
from hippocampe.system.environment import variable
from hippocampe.types import Counts, Reindexed, Verification, Vitals, most_first


def cells_of(call: Call) -> list[Call]:
    """The calls that do a command on each cell of a divided folder; itself, and a note, for one cell or another place."""
    call.check_where()
    config = call.config
    if (
        variable(URL)
        or config.database_url is not None
        or (found := located(config.folder)) is None
    ):
        return [call]
    root, cell = found
    folders = [folder_of(root, each) for each in range(Divided(root).read().count)]
    if cell == 0:
        return [replace(call, folder=each) for each in folders]
    others = ", ".join(str(each) for number, each in enumerate(folders) if number != cell)
    note = say(
        "Only for cell {cell} of the cells 0 to {last}. The folders of the others: {folders}",
        cell=cell,
        last=len(folders) - 1,
        folders=others,
    )
    # Not broken over lines, so that a path can be copied.
    terminal.console(stderr=True).print(escaped(note), soft_wrap=True)
    return [call]


def verified(call: Call, **absent: Any) -> tuple[Verification, bool]:
    """The verification of all cells, of those too after a damaged or missing one, and whether one was read-only."""
    cells = cells_of(call)
    every: list[Verification] = []
    read_only = False
    for done, cell in enumerate(cells):
        try:
            with cell.read() as hippo, terminal.progress() as progress:
                progress("comparing store and index", done, len(cells) if done else 0)
                every.append(hippo.verify(**absent))
                read_only = read_only or hippo.read_only
        except (StoreMissing, StoreCorrupt) as exc:
            if len(cells) == 1:
                raise
            every.append(Verification(False, {}, {}, {}, 0, database=str(exc)))
    return every[0] if len(every) == 1 else _verification(every), read_only


def _verification(cells: Sequence[Verification]) -> Verification:
    """The verifications of all cells as one; places and damages are given the number of their cell."""
    # The error of a cell that could not be opened names it, or the first one, which has the keys of all.
    databases = dict.fromkeys(
        f"cell {n}: {each.database}" if each.checked else each.database
        for n, each in enumerate(cells)
        if each.database != "ok"
    )
    damaged = (_of_cell(n, each.damaged_files) for n, each in enumerate(cells))
    return Verification(
        ok=all(cell.ok for cell in cells),
        checked=_summed(cell.checked for cell in cells),
        missing_in_index=_joined(cell.missing_in_index for cell in cells),
        unknown_to_store=_joined(cell.unknown_to_store for cell in cells),
        pending=sum(cell.pending for cell in cells),
        database="\n".join(databases) or "ok",
        present=_joined(_places(cells)),
        differing_in_index=_joined(cell.differing_in_index for cell in cells),
        damaged=_joined(cell.damaged for cell in cells),
        damaged_files=(*chain(*damaged),),
    )


def _places(cells: Sequence[Verification]) -> Iterator[dict[str, tuple[str, ...]]]:
    """The places where each cell still has a word, without the files of others: the folder of the first holds theirs."""
    others = tuple(f"{FOLDER}/{n}/" for n, each in enumerate(cells) if n and each.checked)
    for n, cell in enumerate(cells):
        yield {
            word: _of_cell(n, [place for place in places if n or not place.startswith(others)])
            for word, places in cell.present.items()
        }


def _of_cell(number: int, places: Sequence[str]) -> tuple[str, ...]:
    return tuple(f"cell {number}: {place}" for place in places)


def spaces(call: Call, cells: Sequence[Mapping[str, Counts]]) -> dict[str, Counts]:
    """The spaces of all cells, each with the counts of the cell that has it, in the order of a single folder."""
    division = Divided(call.config.folder).read()
    return most_first(
        {
            space: counts
            for cell, some in enumerate(cells)
            for space, counts in some.items()
            if division.cell_of(space) == cell
        }
    )


def vitals(_: Call, cells: Sequence[Vitals]) -> Vitals:
    """The numbers of all cells as one; they are on one disk."""
    return replace(
        cells[0],
        pending=sum(cell.pending for cell in cells),
        indexed=_summed(cell.indexed for cell in cells),
        jobs=_summed(cell.jobs for cell in cells),
        bytes=_summed(cell.bytes for cell in cells),
        outages=_summed(cell.outages for cell in cells),
    )


def reindexed(cells: Sequence[Reindexed]) -> Reindexed:
    """The results of all cells as one."""
    return Reindexed(
        ", ".join(dict.fromkeys(cell.embedder for cell in cells)),
        (*dict.fromkeys(chain(*(cell.without_graph for cell in cells))),),
        sum(cell.mended for cell in cells),
        sum(cell.damaged for cell in cells),
    )


TOGETHER: Mapping[str, Callable[[Call, Sequence[Any]], Any]] = {"spaces": spaces, "vitals": vitals}
"""Make one result of those of all cells, by the verb that is asked of each."""


def _summed(parts: Iterable[Mapping[str, int]]) -> dict[str, int]:
    summed = Counter[str]()
    for part in parts:
        summed.update(part)
    return dict(summed)


def _joined(parts: Iterable[Mapping[str, tuple[str, ...]]]) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for part in parts:
        found |= {name: (*found.get(name, ()), *some) for name, some in part.items()}
    return found
