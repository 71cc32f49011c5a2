"""Every page in both themes, both languages, wide and on a phone.

With `SHOTS=FOLDER`, a picture of each is kept there, to be looked at.
"""

import os
from itertools import product
from pathlib import Path
from urllib.parse import quote

import pytest

from browsing import PHONE, WIDE, Reader, check_fits, check_targets, settle, shoot
from conftest import FakeClock, Opener
from hippocampe import Hippocampe, Scope
from hippocampe.server.dashboard.menu import MENU

LONG = "Un énoncé qui ne finit pas, avec une-très-longue-suite-de-lettres-" + "sans-espace" * 12
TEXT = "Une phrase assez longue, qui se répète sans fin. " * 200
NAMES = ("n" * 200, "<b>gras</b>", "أحمد", "👪 famille")
LONGEST = 6_000
"""Pixels of a page whose texts are clamped; a text of 10,000 characters alone takes as many on a phone."""
EVERY = list(product(("en", "fr"), ("light", "dark"), (WIDE, PHONE)))
HARDEST = [("fr", "dark", PHONE)]


@pytest.fixture
def memory(hashed: None, open_hippo: Opener, clock: FakeClock, tmp_path: Path) -> Hippocampe:
    """A memory with something on every page, and with words that are too long."""
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "Profil.md").write_text("---\ntags: [hippocampe]\n---\nOwen vit à Nantes.\n", "utf-8")
    hippo = open_hippo(embedder="hashed:64", notes_folder=vault)
    for day in range(3):
        scope = Scope(user=f"owen_{'o' * 30 * day}", channel=f"lobby_{'y' * 30 * day}")
        hippo.after_turn("Le voilier est à Nantes", "Bien noté", scope=scope)
        hippo.remember(f"{LONG} {day}", scope=scope, subjects=["voilier", "s" * 60])
        hippo.set_fact("boisson" + "_de_tous_les_jours" * 2 * day, f"le thé {day}", scope=scope)
        hippo.remember("Je sais compter", scope=scope, collection="self", category="capability")
        hippo.before_turn("où est le voilier ?", scope=scope)
        hippo.record_usage(
            scope=scope, model="m", purpose="chat", input_tokens=900, output_tokens=90, price=0.01
        )
        clock.advance(days=1)
    for name in NAMES:
        hippo.remember(f"مرحبا {name}", scope=Scope(user=name, channel=name), subjects=[name])
    for number in range(2):
        hippo.remember(f"{TEXT}{number}", scope=Scope(user="nina"))
    here = Scope(user="nina", channel="lobby")
    hippo.observe("On se voit à 18 h au port.", scope=here)
    hippo.remember("Nina paints her small wooden boat", scope=here)
    hippo.remember("Nina sells her small wooden boat", scope=here)
    hippo.flush()
    return hippo


@pytest.mark.parametrize(("language", "theme", "size"), EVERY if "SHOTS" in os.environ else HARDEST)
def test_every_page_fits(
    reader: Reader, memory: Hippocampe, language: str, theme: str, size: tuple[int, int]
) -> None:
    one = memory.recent(20, scope=Scope())[-1].id
    given = memory.retrievals(scope=Scope())[0].id
    said = memory.exchanges(scope=Scope())[0].id
    paths = {each.name: f"/{each.name}" for each in MENU} | {
        "search": f"/memory?q={quote('voilier à Nantes')}",
        "one": f"/memory/{one}",
        "why": f"/retrievals/{given}",
        "exchange": f"/conversations/{said}",
        "tried": "/playground?message=voilier&user=nina&channel=lobby",
        "login": "/login",
    }
    page = reader.open("/login", language=language, theme=theme, size=size)
    for name, path in paths.items():
        page.goto(path)
        if name in ("brain", "graph", "logs"):  # they go on loading
            page.wait_for_load_state("load")
        else:
            settle(page)
        check_fits(page)
        check_targets(page)
        if name in ("overview", "reviews", "facts", "people", "subjects", "graph"):
            assert page.evaluate("document.body.scrollHeight") < LONGEST, name
        shoot(page, f"{name}-{language}-{theme}-{size[0]}")


def test_a_long_name_in_the_timeline_fits_the_narrowest_phone(
    reader: Reader, memory: Hippocampe
) -> None:
    check_fits(reader.open("/timeline", language="fr", size=(360, 800)))
