"""The documentation site builds without a warning, and has search and the API."""

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
    recall = page.partition('id="hippocampe.Hippocampe.recall"')[2].partition("<h3")[0]
    text = re.sub(r"<[^>]+>|\s+", "", recall)
    assert "recall(query:str,*,scope:Scope" in text
    assert "context" not in text.partition("->")[0]
    assert "querystrThequestion,oranywords." in text
