"""The data of the languages: the same files and roles in every folder, and no word lists in code."""

import ast
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from babel import Locale

import hippocampe
from hippocampe.language import lexicon

SOURCE = Path(hippocampe.__file__).parent
FOLDERS = [SOURCE / "language" / language for language in lexicon.languages()]
FILES = {path.name for path in FOLDERS[0].glob("*.toml")}


def test_a_language_is_a_folder() -> None:
    assert {"fr", "en"} <= set(lexicon.languages())
    assert {"language.toml", "words.toml", "time.toml", "relations.toml"} <= FILES


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_every_language_has_the_same_files(folder: Path) -> None:
    reference, found = (
        {path.relative_to(each).as_posix() for path in each.rglob("*") if path.is_file()}
        for each in (FOLDERS[0], folder)
    )
    assert found == reference


def test_the_guide_names_every_file() -> None:
    guide = (SOURCE.parents[1] / "docs" / "how-to.md").read_text("utf-8")
    section = guide.partition("## Add a language\n")[2].partition("\n## ")[0]
    names = set(re.findall(r"`([\w.]+/?)`", section))
    inside = {f"{each.name}/" if each.is_dir() else each.name for each in FOLDERS[0].iterdir()}
    assert inside - {"__pycache__/"} <= names


@pytest.mark.parametrize("file", sorted(name.removesuffix(".toml") for name in FILES))
def test_every_language_has_the_same_roles(file: str) -> None:
    first, *others = (set(lexicon.roles(lexicon.load(e, file), file)) for e in lexicon.languages())
    for other in others:
        assert other == first


@pytest.mark.parametrize("language", lexicon.languages())
def test_the_code_of_a_language_has_formats_of_dates_and_numbers(language: str) -> None:
    assert Locale.parse(language).language == language
    assert lexicon.load(language, "language")["name"]


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


SPANISH = {
    "language.toml": {"name": '"Español"', "stemmer": '"spanish"'},
    "words.toml": {"telling": '"el los que y en es con por"', "letters": '"ñ¿¡"'},
    "time.toml": {
        "months": (
            '["enero", "febrero", "marzo", "abril", "mayo", "junio", "julio", "agosto",'
            ' "septiembre", "octubre", "noviembre", "diciembre"]'
        ),
        "weekdays": '"lunes martes miercoles jueves viernes sabado domingo"',
    },
    "relations.toml": {"states": '["vive en {value}"]'},
}
SCRIPT = """
import sys
from datetime import UTC, datetime
from starlette.testclient import TestClient
from hippocampe import Config, Hippocampe, Scope
from hippocampe.index.bm25 import terms_of
from hippocampe.language.detect import guess_language
from hippocampe.language.humanize import day
from hippocampe.language.temporal.window import parse_window
from hippocampe.server.app import create_app
now, scope = datetime(2026, 1, 17, tzinfo=UTC), Scope(user="ana", channel="lobby")
print(guess_language("los gatos que viven en Lugo"), guess_language("the dog and the cat"))
print(parse_window("in mayo 2024", now=now, timezone="UTC").start.date())
print(day(now, timezone="UTC", language="es"))
print(bool({*terms_of("gatos")} & {*terms_of("gato")}))
with Hippocampe.open(Config(sys.argv[1], background=False)) as hippo:
    # A busy machine needs more than the deadline of a turn.
    hippo.update_settings(auto_retrieve_min_score=0.3, hook_timeout_ms=10_000, scope=scope)
    print(hippo.update_settings(language="es", scope=scope).language)
    hippo.remember("Zamenhof vive en Varsovia", scope=scope)
    print(hippo.remember("Zamenhof vive en Lugo", scope=scope).action)
    print(hippo.recall("Zamenhof, ¿dónde vive?", scope=scope)[0].content)
    print(hippo.before_turn("Zamenhof, ¿dónde vive?", scope=scope).text)
    app = create_app(hippo, loopback=True)
    with TestClient(app, "http://127.0.0.1", client=("127.0.0.1", 50_000)) as client:
        spanish = {"Accept-Language": "es"}
        print(client.get("/overview", headers=spanish).raise_for_status().text)
        changes = client.get("/openapi.json").json()["components"]["schemas"]["UpdateSettings"]
        print(changes["properties"]["language"]["anyOf"][0]["enum"])
"""


@pytest.fixture(scope="module")
def spanish(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the package with a third language: the English folder, with a few words replaced."""
    copy = tmp_path_factory.mktemp("source") / "hippocampe"
    # With its compiled modules, which stay valid.
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("sample"))
    folder = shutil.copytree(copy / "language" / "en", copy / "language" / "es")
    for file, replaced in SPANISH.items():
        text = (folder / file).read_text(encoding="utf-8")
        for role, value in replaced.items():
            pattern = rf'^{role} = (?:"""[^"]*"""|"[^"]*"|\[[^]]*\])'
            text, found = re.subn(pattern, f"{role} = {value}", text, count=1, flags=re.M)
            assert found == 1, role
        (folder / file).write_text(text, encoding="utf-8")
    (folder / "fence.txt").write_text("Son datos.\nFin de los datos.\n", encoding="utf-8")
    catalogue = folder / "messages.po"
    text = catalogue.read_text(encoding="utf-8")
    for english, translation in (
        ("Memory: facts you know", "Memoria: lo que sabes"),
        ("Overview", "Resumen"),
    ):
        untranslated = f'msgid "{english}"\nmsgstr "'
        assert untranslated in text
        text = text.replace(untranslated, untranslated + translation)
    catalogue.write_text(text, encoding="utf-8")
    return copy


def run(package: Path, script: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", script, *arguments],
        env=os.environ | {"PYTHONPATH": str(package.parent)},
        check=False,
        capture_output=True,
        text=True,
    )


def test_a_third_language_is_one_more_folder(spanish: Path, tmp_path: Path) -> None:
    done = run(spanish, SCRIPT, str(tmp_path))
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[:5] == ["es en", "2024-05-01", "17 de enero de 2026", "True", "es"]
    assert lines[5:7] == ["updated", "Zamenhof vive en Lugo"]
    injection = "\n".join(lines[7 : lines.index("</hippocampe-memory>")])
    assert injection.startswith("<hippocampe-memory>\nSon datos.\n")
    assert "Memoria: lo que sabes" in injection
    assert 'lang="es"' in done.stdout
    assert "<h1>Resumen</h1>" in done.stdout
    assert lines[-1] == str(sorted([*lexicon.languages(), "es"]))


@pytest.mark.parametrize(
    ("lost", "named"),
    [
        ("prompts/companion/answer.md", "language 'es' has no prompts/companion/answer.md"),
        ("words.toml: letters", "language 'es': words.toml has no letters (str)"),
        ("time.toml: months", "language 'es': time.toml has no months (list)"),
    ],
)
def test_an_incomplete_language_is_named(
    spanish: Path, tmp_path: Path, lost: str, named: str
) -> None:
    copy = shutil.copytree(spanish, tmp_path / "hippocampe")
    file, _, role = lost.partition(": ")
    path = copy / "language" / "es" / file
    if role:
        text = path.read_text(encoding="utf-8")
        path.write_text(re.sub(rf"^{role} =", f"no_{role} =", text, flags=re.M), "utf-8")
    else:
        path.unlink()
    done = run(copy, "import hippocampe.language.detect, hippocampe.language.calendar")
    assert f"UnreadableFile: {named}" in done.stderr


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
