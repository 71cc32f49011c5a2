"""The documentation site builds without a warning, and has search and the API."""

import inspect
import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import hippocampe
import hippocampe.companion
import hippocampe.testing
from hippocampe.verbs import VERBS

ROOT = Path(__file__).parents[1]


def test_the_site_builds_without_a_warning(tmp_path: Path) -> None:
    for name in ("zensical.toml", "site_verbs.py"):
        shutil.copy(ROOT / name, tmp_path)
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
    # A docstring that does not fit its signature is no error for the builder.
    assert "griffe:" not in done.stdout + done.stderr
    site = tmp_path / "site"
    check_api((site / "api" / "index.html").read_text(encoding="utf-8"))
    found = json.dumps(json.loads((site / "search.json").read_text(encoding="utf-8")))
    assert "Move in from another memory" in found
    assert "Store one durable statement" in found


def check_api(page: str) -> None:
    """Check that the page of the API has every public name, and the verbs as they are called."""
    shown = re.findall(r'<h\d id="(hippocampe\.[\w.]+)"', page)
    assert len(shown) == len(set(shown))
    assert {f"hippocampe.Hippocampe.{verb}" for verb in VERBS} <= {*shown}
    assert not {f"hippocampe.AsyncHippocampe.{verb}" for verb in VERBS} & {*shown}
    for module in (hippocampe, hippocampe.companion, hippocampe.testing):
        assert {*module.__all__} <= {name.rpartition(".")[2] for name in shown}
    for verb in VERBS:
        section = page.partition(f'id="hippocampe.Hippocampe.{verb}"')[2].partition("<h3")[0]
        called = re.sub(r"<[^>]+>|\s+", "", section).partition(f"{verb}(")[2].partition("-&gt;")[0]
        taken = inspect.signature(getattr(hippocampe.Hippocampe, verb)).parameters
        assert re.findall(r"(?:^|,\*{0,2})(\w+):", called) == [*taken][1:], verb
