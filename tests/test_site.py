"""The documentation site builds without a warning, and has search and the API."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[1]


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    shutil.copy(ROOT / "zensical.toml", tmp_path)
    shutil.copytree(ROOT / "docs", tmp_path / "docs")
    (tmp_path / "src").symlink_to(ROOT / "src")
    done = subprocess.run(
        [sys.executable, "-m", "zensical", "build", "--strict"],
        cwd=tmp_path,
        capture_output=True,
        encoding="utf-8",
        timeout=150,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    site = tmp_path / "site"
    assert "remember" in (site / "api" / "index.html").read_text(encoding="utf-8")
    found = json.dumps(json.loads((site / "search.json").read_text(encoding="utf-8")))
    assert "Move in from another memory" in found
    assert "Store one durable statement" in found
