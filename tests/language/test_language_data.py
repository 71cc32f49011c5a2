"""The data of the languages: the same files and roles in every folder, and no word lists in code."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import hippocampe
from hippocampe.language import lexicon

SOURCE = Path(hippocampe.__file__).parent
FOLDERS = [SOURCE / "language" / language for language in lexicon.languages()]
FILES = {path.name for path in FOLDERS[0].glob("*.toml")}
# Tables from one word of the language to what it stands for: their keys are words, not roles.
OF_WORDS = {
    *("reading.spellings", "reading.glued", "reading.numbers", "reading.ordinals", "reading.units"),
    *("reading.kin", "reading.changes"),
    *("words.elided", "words.clitics", "words.contracted", "words.irregular", "questions.idioms"),
    *("questions.memory.macros", "questions.memory.spellings", "questions.memory.rewritten"),
    *("time.capital_months", "time.feasts", "time.amounts", "relations.macros"),
    *("relations.attributes.names", "relations.relations"),
}


def roles(data: dict[str, Any], name: str) -> set[str]:
    """The names of all roles of a file, with the type of what fills them."""
    found: set[str] = set()
    for key, value in data.items():
        role = f"{name}.{key}"
        if isinstance(value, dict) and role not in OF_WORDS:
            found |= roles(value, role)
        else:
            found.add(f"{role}: {type(value).__name__}")
    return found


def test_a_language_is_a_folder() -> None:
    assert {"fr", "en"} <= set(lexicon.languages())
    assert {"words.toml", "time.toml", "relations.toml"} <= FILES


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_language_has_the_same_files(folder: Path) -> None:
    assert {path.name for path in folder.iterdir()} == {*FILES, "fence.txt"}


@pytest.mark.parametrize("file", sorted(name.removesuffix(".toml") for name in FILES))
def test_every_language_has_the_same_roles(file: str) -> None:
    first, *others = (roles(dict(lexicon.load(each, file)), file) for each in lexicon.languages())
    for other in others:
        assert other == first


def test_twelve_months_and_seven_days() -> None:
    for language in lexicon.languages():
        time = lexicon.load(language, "time")
        assert len(time["months"]) == 12
        assert len(time["weekdays"].split()) == 7


def test_wordings_are_of_known_relations() -> None:
    known = lexicon.relation_schema()
    for language in lexicon.languages():
        said = lexicon.load(language, "relations")
        assert set(said["relations"]) <= set(known["relations"])
        assert set(said["attributes"]["names"]) <= set(known["attributes"])


def test_lists_and_words_of_a_role_are_joined() -> None:
    for language in lexicon.languages():
        assert lexicon.words_of("stop", language=language) <= lexicon.words_of("stop")
    assert {"janvier", "january"} <= {
        name.lower() for names in lexicon.load_all("time")["months"] for name in names.split()
    }


ESPERANTO = {
    "words.toml": {"telling": '"kaj estas mia via kun por sed"', "letters": '"ĉĝĥĵŝŭ"'},
    "time.toml": {
        "months": (
            '["januaro", "februaro", "marto", "aprilo", "majo", "junio", "julio", "augusto",'
            ' "septembro", "oktobro", "novembro", "decembro"]'
        ),
        "weekdays": '"lundo mardo merkredo ĵaudo vendredo sabato dimanĉo"',
    },
    "relations.toml": {"states": '["(loĝas) en {value}"]'},
}
SCRIPT = """
from datetime import UTC, datetime
from hippocampe.updates.decide import decide
from hippocampe.language.detect import guess_language
from hippocampe.language.temporal.window import parse_window
print(guess_language("la hundo kaj la kato estas kun mi"), guess_language("the dog and the cat"))
print(parse_window("in majo 2024", now=datetime(2026, 1, 17, tzinfo=UTC), timezone="UTC").start.date())
print(decide("Zamenhof loĝas en Varsovio", "Zamenhof loĝas en Bialistoko").verdict)
"""


def test_a_third_language_is_one_more_folder(tmp_path: Path) -> None:
    copy = tmp_path / "hippocampe"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("__pycache__", "sample"))
    folder = shutil.copytree(copy / "language" / "en", copy / "language" / "eo")
    for file, replaced in ESPERANTO.items():
        text = (folder / file).read_text(encoding="utf-8")
        for role, value in replaced.items():
            pattern = rf'^{role} = (?:"""[^"]*"""|"[^"]*"|\[[^]]*\])'
            text, found = re.subn(pattern, f"{role} = {value}", text, count=1, flags=re.M)
            assert found == 1, role
        (folder / file).write_text(text, encoding="utf-8")
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | {"PYTHONPATH": str(tmp_path)},
        check=True,
        capture_output=True,
        text=True,
    )
    assert run.stdout.split() == ["eo", "en", "2024-05-01", "updated"]


# A word of any of the languages that means little elsewhere: recognises a word list.
WORDS = {
    word
    for role in ("stop", "articles", "persons", "possessives", "quantities", "speakers")
    for word in lexicon.words_of(role)
    if len(word) > 1
} | {
    word.lower()
    for role in ("months", "weekdays")
    for names in (lexicon.load_all("time")[role],)
    for word in re.findall(r"\w+", names if isinstance(names, str) else " ".join(names))
}
MAX_WORDS = 5


def listed(node: ast.AST) -> list[str]:
    """The words of a collection of strings, of a string that is split, or of alternatives."""
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
        text = node.func.value
        if node.func.attr == "split" and isinstance(text, ast.Constant):
            return str(text.value).split()
    if isinstance(node, ast.Set | ast.Tuple | ast.List):
        parts = [each.value for each in node.elts if isinstance(each, ast.Constant)]
        return [each for each in parts if isinstance(each, str) and each.isalpha()]
    if isinstance(node, ast.Dict):
        keys = [each.value for each in node.keys if isinstance(each, ast.Constant)]
        return [each for each in keys if isinstance(each, str)]
    if isinstance(node, ast.Constant) and isinstance(node.value, str) and "|" in node.value:
        return re.findall(r"(?<![\\<{])\b[a-zà-ÿ]{2,}\b", node.value)
    return []


def word_lists(source: str) -> list[tuple[int, list[str]]]:
    """The line and the words of each literal that holds more than a few words of a language."""
    tree = ast.parse(source)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    found = [
        (getattr(node, "lineno", 0), sorted({word.lower() for word in listed(node)} & WORDS))
        for node in ast.walk(tree)
        if id(node) not in prose
    ]
    return [(line, words) for line, words in found if len(words) > MAX_WORDS]


@pytest.mark.parametrize(
    "source",
    [
        'X = frozenset("le la les un une des".split())',
        'X = ("on", "the", "in", "at", "with", "for")',
        'X = re.compile(r"\\b(?:two|three|four|five|six|seven)\\b")',
    ],
)
def test_a_word_list_is_seen(source: str) -> None:
    assert word_lists(source)


def test_code_contains_no_word_list() -> None:
    """Words of a language belong into its folder; prose (docstrings, messages) is no list."""
    sources = {path: path.read_text(encoding="utf-8") for path in SOURCE.rglob("*.py")}
    assert sources
    found = {str(path.relative_to(SOURCE)): word_lists(text) for path, text in sources.items()}
    assert {path: lists for path, lists in found.items() if lists} == {}
