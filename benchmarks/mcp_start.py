"""Time from the start of `hippocampe mcp` to its first list of tools, as a client of coding agents waits for it.

    python benchmarks/mcp_start.py [--runs 20] [--cold] [--out results.json]

Strict clients give a server ten seconds. `first` starts without a process that serves the folder, `next` beside one.
`--cold` evicts the files of the interpreter's environment from the page cache before each start, as after a boot.
"""

import json
import os
import resource
import subprocess
import sys
import sysconfig
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

import common
from hippocampe.client.local import LocalConnection
from hippocampe.client.reaching import Unreached

INITIALIZE = {
    "protocolVersion": "2025-06-18",
    "capabilities": {},
    "clientInfo": {"name": "benchmark", "version": "1"},
}


def started(folder: Path) -> tuple[float, float]:
    """Seconds to the first list of tools, and seconds of processor time of the whole process."""
    begun, before = time.perf_counter(), resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-m", "hippocampe", "mcp", "--folder", str(folder)]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        assert process.stdin is not None
        assert process.stdout is not None

        def send(method: str, id: int | None = None, **params: Any) -> None:
            message = {"jsonrpc": "2.0", "method": method, "params": params}
            line = json.dumps(message if id is None else {**message, "id": id})
            process.stdin.write(line.encode() + b"\n")  # pyright: ignore[reportOptionalMemberAccess]
            process.stdin.flush()  # pyright: ignore[reportOptionalMemberAccess]

        send("initialize", 1, **INITIALIZE)
        process.stdout.readline()
        send("notifications/initialized")
        send("tools/list", 2)
        assert json.loads(process.stdout.readline())["result"]["tools"]
        took = time.perf_counter() - begun
        process.stdin.close()
        process.wait()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return took, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def evict() -> None:
    """Drop the files of the environment and of the package from the page cache."""
    import hippocampe

    roots = {sysconfig.get_path("purelib"), sysconfig.get_path("stdlib"), *hippocampe.__path__}
    for root in roots:
        for path in Path(root).rglob("*"):
            with suppress(OSError):
                file = os.open(path, os.O_RDONLY)
                os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
                os.close(file)


def leave(folder: Path) -> None:
    """End the process that serves a folder."""
    with suppress(Unreached, OSError):
        connection = LocalConnection(folder)
        connection.call("leave")
        connection.close()


def measure(runs: int, *, cold: bool) -> dict[str, Any]:
    """Times of first starts and of the next ones, in turn."""
    times: dict[str, list[float]] = {"first": [], "next": []}
    processor: dict[str, list[float]] = {"first": [], "next": []}
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / "data"
        for _ in range(runs):
            for kind, found in times.items():
                if cold:
                    evict()
                took, used = started(folder)
                found.append(took)
                processor[kind].append(used)
                if kind == "next":
                    leave(folder)
    return {
        kind: {
            "min": round(1000 * min(found), 1),
            **common.percentiles(found),
            "processor": common.percentiles(processor[kind]),
        }
        for kind, found in times.items()
    }


def main() -> None:
    """Measure the runs given on the command line."""
    parser = common.arguments(__doc__)
    parser.add_argument("--runs", type=int, default=20)
    parser.add_argument("--cold", action="store_true", help="evict files from the page cache")
    options = parser.parse_args()
    found = measure(options.runs, cold=options.cold)
    for kind, each in found.items():
        print(
            f"{kind}: least {each['min']} ms, median {each['p50']} ms, p95 {each['p95']} ms; "
            f"{each['processor']['p50']} ms of processor time"
        )
    common.save(options.out, "mcp_start", {"runs": options.runs, "cold": options.cold, **found})


if __name__ == "__main__":
    main()
