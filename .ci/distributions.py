"""Check what would be published: `python .ci/distributions.py SDIST WHEEL REBUILT`.

The wheel has every file of the package, the source distribution what builds the package and its documentation, and
the wheel rebuilt from it equals that of the checkout.
"""

import sys
import tarfile
from pathlib import Path
from zipfile import ZipFile

PARTS = {
    *("src", "docs", "integrations", "zensical.toml", "site_verbs.py", "pyproject.toml"),
    *("README.md", "CHANGELOG.md", "SECURITY.md", "LICENSE", "PKG-INFO", ".gitignore"),
}
"""All that the source distribution has: tests and benchmarks stay in the repository."""
MOST_BYTES = 32 * 2**20
"""The reader takes 23 MB of each distribution."""


def main(sdist: str, wheel: str, rebuilt: str) -> None:
    """Check them, and say their sizes."""
    root = Path(__file__).parents[1]
    sources = {
        path.relative_to(root).as_posix()
        for part in ("src", "docs", "integrations")
        for path in (root / part).rglob("*")
        if path.is_file() and path.parent.name != "__pycache__"
    }
    with tarfile.open(sdist) as archive:
        files = {each.name.partition("/")[2] for each in archive if each.isfile()}
    assert {name.partition("/")[0] for name in files} == PARTS, files
    assert sources <= files, sources - files
    packaged = checksums(wheel)
    ours = {name.removeprefix("src/") for name in sources if name.startswith("src/")}
    assert ours <= packaged.keys(), ours - packaged.keys()
    assert all(name in ours or ".dist-info/" in name for name in packaged), packaged.keys() - ours
    assert checksums(rebuilt) == packaged
    for path in map(Path, (sdist, wheel)):
        size = path.stat().st_size
        assert size < MOST_BYTES, (path, size)
        print(f"{path.name}: {size / 2**20:.1f} MB")


def checksums(wheel: str) -> dict[str, int]:
    """The files of a wheel with the checksum of each."""
    with ZipFile(wheel) as archive:
        return {each.filename: each.CRC for each in archive.infolist() if not each.is_dir()}


if __name__ == "__main__":
    main(*sys.argv[1:])
