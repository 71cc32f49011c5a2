"""What each page of the dashboard costs, at several sizes: server, weight, paint, shift, slowest interaction.

    python benchmarks/pages.py [--sizes 5000,50000] [--runs 5] [--pages /memory,/graph] [--cache DIR] [--out results.json]

Each size is filled in bulk and served by `hippocampe serve`. `server` is the median time of the whole answer to a
client on the same machine, and `cpu` the processor time that the server spent on it, which other programs disturb less.
The rest is from Chromium, each time with an empty cache: the bytes that came over the wire, the first contentful paint,
the cumulative layout shift, and the longest event of moving through the rows and opening one. It needs Playwright.
"""

import http.client
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from playwright.sync_api import Browser, Error, sync_playwright

import common
from filling import Plan, fill
from hippocampe import Config, Hippocampe, Scope

PAGES = (
    *("/overview", "/memory", "/memory?q=camille", "/facts", "/people", "/subjects", "/reviews"),
    *("/graph", "/notes", "/brain", "/chat", "/conversations", "/timeline", "/live"),
    *("/retrievals", "/playground", "/settings", "/data", "/access", "/connect", "/costs"),
    *("/jobs", "/logs", "/menu/badges"),
)
FACTS, TURNS, REPLACED = 200, 50, 200
ARGUMENTS = ("--no-sandbox", "--disable-gpu", "--disable-background-networking")
WATCH = """
window.seen = { shift: 0, slowest: 0 };
new PerformanceObserver((list) => {
  for (const each of list.getEntries()) if (!each.hadRecentInput) window.seen.shift += each.value;
}).observe({ type: "layout-shift", buffered: true });
new PerformanceObserver((list) => {
  for (const each of list.getEntries()) window.seen.slowest = Math.max(window.seen.slowest, each.duration);
}).observe({ type: "event", durationThreshold: 16, buffered: true });
"""
SETTLED = "() => !document.querySelector('.skeleton, .htmx-request')"
PAINTED = "() => performance.getEntriesByName('first-contentful-paint')[0]?.startTime"


def prepare(folder: Path, plan: Plan) -> None:
    """Fill a folder: memories and talk in bulk, and some of what only the library writes."""
    fill(folder, plan)
    scope = Scope(space=plan.space(0), user="camille", channel="room 0")
    with Hippocampe.open(Config(folder, background=False)) as hippo:
        for number in range(min(FACTS, plan.size)):
            hippo.set_fact(f"fact_{number}", f"The value of fact {number}", scope=scope)
        for text, _ in plan.questions(1)[:TURNS]:
            hippo.before_turn(text, scope=scope)
        for memory in hippo.recent(REPLACED, scope=scope)[::4]:
            hippo.delete(memory.id, scope=scope, reason="benchmark")
        hippo.flush()


@contextmanager
def serving(folder: Path) -> Iterator[tuple[str, int]]:
    """A server of a folder: its address and its process."""
    command = [sys.executable, "-m", "hippocampe", "serve", "--folder", str(folder), "--port", "0"]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    try:
        assert server.stdout is not None
        for line in server.stdout:
            if found := re.search(r"http://127\.0\.0\.1:\d+", line):
                yield found[0], server.pid
                return
        raise SystemExit("the server did not start")
    finally:
        server.terminate()
        server.wait()


def on_the_server(address: str, pid: int, path: str, space: str, runs: int) -> dict[str, float]:
    """The median milliseconds of an answer, and of the processor."""
    took: list[float] = []
    spent: list[float] = []
    where = urlsplit(address)
    headers = {"Cookie": f"hippocampe_space={space}", "Accept-Encoding": "gzip"}
    for _ in range(runs + 1):
        connection = http.client.HTTPConnection(where.hostname or "", where.port, timeout=120)
        before, started = _cpu_seconds(pid), time.perf_counter()
        connection.request("GET", path, headers=headers)
        answer = connection.getresponse()
        answer.read()
        took.append(time.perf_counter() - started)
        spent.append(_cpu_seconds(pid) - before)
        connection.close()
        assert answer.status == 200, (path, answer.status)
    # The first one loads what later ones have.
    return {
        "server_ms": round(statistics.median(took[1:]) * 1000, 1),
        "first_server_ms": round(took[0] * 1000, 1),
        "cpu_ms": round(statistics.mean(spent[1:]) * 1000, 1),
    }


def _cpu_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def in_the_browser(browser: Browser, address: str, path: str, space: str) -> dict[str, float]:
    """One cold load of a page, and the keys that move through its rows."""
    context = browser.new_context(
        base_url=address, viewport={"width": 1440, "height": 900}, reduced_motion="reduce"
    )
    cookie = {"name": "hippocampe_space", "value": space, "url": address}
    context.add_cookies([cookie])  # pyright: ignore[reportArgumentType]
    context.add_init_script(WATCH)
    page = context.new_page()
    weight = _weighed(context.new_cdp_session(page))
    page.goto(path)
    try:
        page.wait_for_function(SETTLED, timeout=60_000)
    except Error:
        print(f"{path} goes on loading", file=sys.stderr)
    for key in "jjkj":
        page.keyboard.press(key)
    if page.locator("[data-row][data-id]").count():
        page.keyboard.press("Enter")
    page.wait_for_timeout(300)
    painted = page.evaluate(PAINTED)
    seen = page.evaluate("window.seen")
    context.close()
    return {
        "paint_ms": round(painted or 0),
        "shift": round(seen["shift"], 3),
        "slowest_interaction_ms": round(seen["slowest"]),
        "kilobytes": round(sum(weight) / 1000, 1),
    }


def _weighed(session: Any) -> list[int]:
    sizes: list[int] = []
    session.on("Network.loadingFinished", lambda event: sizes.append(event["encodedDataLength"]))
    session.send("Network.enable")
    return sizes


def measure(folder: Path, plan: Plan, paths: list[str], runs: int) -> dict[str, Any]:
    """Every page at one size."""
    found: dict[str, Any] = {}
    space = plan.space(0)
    chromium = os.environ.get("CHROMIUM") or shutil.which("chromium")
    with serving(folder) as (address, pid), sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=chromium, args=ARGUMENTS)
        for path in paths:
            row: dict[str, float] = on_the_server(address, pid, path, space, runs)
            if path != "/menu/badges":
                loads = [in_the_browser(browser, address, path, space) for _ in range(3)]
                row |= {name: statistics.median(each[name] for each in loads) for name in loads[0]}
            found[path] = row
            print(plan.size, path, row, flush=True)
        browser.close()
    return found


def main() -> None:
    parser = common.arguments(__doc__)
    parser.add_argument("--sizes", default="5000,50000", help="memories, one figure per size")
    parser.add_argument("--runs", type=int, default=5, help="answers per page")
    parser.add_argument("--pages", default=",".join(PAGES), help="paths, with commas between them")
    parser.add_argument("--cache", type=Path, help="a folder that keeps the filled folders")
    given = parser.parse_args()
    results: dict[str, Any] = {"playwright": version("playwright")}
    with tempfile.TemporaryDirectory() as temporary:
        for size in map(int, given.sizes.split(",")):
            plan = Plan(size, 1, max(size // 5, 1), min(TURNS, size), ())
            folder = (given.cache or Path(temporary)) / f"pages-{size}"
            if not folder.exists():
                prepare(folder, plan)
            results[str(size)] = measure(folder, plan, given.pages.split(","), given.runs)
    common.save(given.out, "pages", results)


if __name__ == "__main__":
    main()
