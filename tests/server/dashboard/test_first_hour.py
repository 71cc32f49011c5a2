"""The first hour in a browser: a chat is dropped on the page, previewed, imported, read; an exchange is looked at."""

import io
import json
import sqlite3
import time
import zipfile
from pathlib import Path
from typing import Any

import httpx
import pytest
from playwright.sync_api import Page, expect

from browsing import PHONE, Reader, check_accessible, check_fits, settle, shoot
from hippocampe import Hippocampe, Scope
from served import served
from server.dashboard.test_frame import token_of

CHAT = """12/01/2026, 10:23 - Nina: Le voilier est amarré à Trentemoult
12/01/2026, 10:24 - Owen: Et la clé est sous le pot bleu
13/01/2026, 09:00 - Nina: Merci <script>alert(1)</script>
"""
DROP = """([name, text]) => {
  const data = new DataTransfer();
  data.items.add(new File([text], name));
  for (const type of ["dragover", "drop"]) document.body.dispatchEvent(
    new DragEvent(type, { dataTransfer: data, bubbles: true, cancelable: true }));
}"""
LOBBY = Scope(user="nina", channel="lobby")


def import_shown(page: Page) -> None:
    """Import the file whose preview is shown."""
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_role("link", name="Read the conversation").click()
    settle(page)


def test_a_chat_is_dropped_previewed_imported_and_read(reader: Reader, memory: Hippocampe) -> None:
    page = reader.open("/overview")
    page.get_by_role("link", name="Choose a file").click()
    settle(page)
    check_accessible(page)
    page.evaluate(DROP, ["notes.txt", "no chat at all"])
    page.locator(".toast").wait_for()
    assert "cannot tell the format of notes.txt" in page.locator(".toast").inner_text()
    reader.forgive("422")
    page.evaluate(DROP, ["WhatsApp Chat with Nina.txt", CHAT])
    shown = page.locator("#import-state")
    shown.wait_for()
    for each in ("WhatsApp", "3 messages", "Nina 2, Owen 1", "12 Jan", "13 Jan", "Trentemoult"):
        assert each in shown.inner_text(), each
    assert memory.conversations(scope=Scope()) == []
    check_accessible(page)
    shoot(page, "import-preview")
    import_shown(page)
    # What came in is there at once: by channel, by day, by person, by words.
    expect(page.locator(".said")).to_have_count(3)
    assert [each.inner_text() for each in page.locator(".day").all()] == [
        "Tuesday 13 January 2026",
        "Monday 12 January 2026",
    ]
    page.get_by_role("link", name="Monday 12 January 2026").click()
    expect(page.locator(".said").first).to_contain_text("Trentemoult")
    expect(page.locator(".said")).to_have_count(2)
    assert "day=2026-01-12" in page.url
    page.get_by_label("Person").select_option("Owen")
    page.get_by_role("button", name="Search", exact=True).click()
    expect(page.locator(".said")).to_have_count(1)
    page.go_back()
    expect(page.locator(".said")).to_have_count(2)
    page.goto("/conversations?q=voilier")
    expect(page.locator(".said")).to_have_count(1)
    check_accessible(page)
    page.locator("[data-key=open]").last.click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Exchange")
    page.get_by_role("link", name="Next").click()
    expect(page.locator(".messages")).to_contain_text("pot bleu")
    # The overview counts it, and leads to it.
    page.goto("/overview")
    tile = page.locator('.figures a[href="/conversations"]')
    assert tile.locator(".big").inner_text() == "3"
    # The same file again brings nothing.
    page.goto("/data")
    page.locator("input[type=file]").set_input_files(
        {"name": "WhatsApp Chat with Nina.txt", "mimeType": "text/plain", "buffer": CHAT.encode()}
    )
    page.get_by_role("button", name="Import", exact=True).click()
    page.get_by_text("3 were stored already.").wait_for()


def test_an_exchange_with_what_became_of_it(reader: Reader, memory: Hippocampe) -> None:
    id = memory.after_turn("Le voilier est à Nantes", "Bien noté", scope=LOBBY)
    (message, _) = memory.messages(scope=LOBBY)
    learnt = memory.remember("Nina a un voilier", scope=LOBBY, evidence=[message.id]).memory
    given = memory.before_turn("où est le voilier à Nantes ?", scope=Scope(user="rose"))
    page = reader.open("/memory?q=voilier+Nantes", language="fr", theme="dark", size=PHONE)
    # A turn that is found leads to its exchange.
    page.locator(f'table.memories a[href="/conversations/{id}"]').click()
    expect(page.locator(".messages li")).to_have_count(2)
    check_fits(page)
    check_accessible(page)
    shoot(page, "exchange")
    assert page.locator(f'a[href="/retrievals/{given.id}"]').count() == 1
    page.locator(f'a[href="/memory/{learnt.id}"]').click()
    page.locator(f'.talk a[href="/conversations/{id}"]').click()
    expect(page.locator(".messages")).to_contain_text("Bien noté")


def test_a_file_of_another_space_cannot_be_imported(
    client: httpx.Client, memory: Hippocampe
) -> None:
    right = {"X-CSRF-Token": token_of(client), "HX-Request": "true"}
    sent = client.post("/data/preview?name=../../a.txt", content=CHAT.encode(), headers=right)
    assert sent.status_code == 200
    assert "/a.txt" not in sent.text
    token = sent.text.split("/data/import/")[1].split('"')[0]
    client.cookies.set("hippocampe_space", "other")
    refused = client.post(f"/data/import/{token}", headers=right)
    assert (refused.status_code, "choose it again" in refused.text) == (404, True)
    client.cookies.delete("hippocampe_space")
    assert client.post(f"/data/discard/{token}", headers=right).headers["hx-redirect"] == "/data"
    assert client.post(f"/data/import/{token}", headers=right).status_code == 404
    assert memory.conversations(scope=Scope()) == []


def test_memories_of_another_program_are_shown_before_they_come_in(
    client: httpx.Client, memory: Hippocampe
) -> None:
    items = [
        {"id": "1", "memory": "Nina a un voilier", "created_at": "2025-06-01T18:00:00+02:00"},
        {"id": "2", "memory": "Nina habite à Nantes", "created_at": "2025-06-02T18:00:00+02:00"},
    ]
    shown = preview_then_import(client, "mem0.json", json.dumps(items).encode())
    assert "mem0" in shown
    assert "2 souvenirs" in shown
    assert "Premiers souvenirs" in shown
    assert "1 juin 2025" in shown
    assert {each.content for each in memory.recent(scope=Scope())} == {
        each["memory"] for each in items
    }
    assert "Déjà gardé" not in shown
    right = {"X-CSRF-Token": token_of(client), "HX-Request": "true"}
    body = json.dumps(items).encode()
    again = client.post("/data/preview?name=mem0.json", content=body, headers=right)
    assert "<dt>Déjà gardé</dt><dd>2</dd>" in again.text
    token = again.text.split("/data/import/")[1].split('"')[0]
    client.post(f"/data/discard/{token}", headers=right)


@pytest.mark.parametrize(
    ("one", "other", "merged"),
    [
        (
            "Nora paints lighthouses",
            "The ferry leaves at noon",
            "Nora paints lighthouses and the ferry leaves at noon",
        ),
        (
            "Nora habite à Nantes",
            "Nora peint des phares",
            "Nora habite à Nantes et peint des phares",
        ),
    ],
)
def test_a_merged_text_may_supersede_the_other_memory_by_itself(
    client: httpx.Client, memory: Hippocampe, one: str, other: str, merged: str
) -> None:
    older = memory.remember(one, scope=Scope()).memory
    newer = memory.remember(other, scope=Scope()).memory
    memory.associate(newer.id, older.id, "related_to", scope=Scope(), review=True)
    right = {"X-CSRF-Token": token_of(client), "HX-Request": "true"}
    pair = {"pair": f"{older.id}.{newer.id}", "content": merged}
    assert client.post("/reviews/merge", data=pair, headers=right).status_code == 200
    assert memory.get(older.id, scope=Scope()).superseded_by == newer.id
    undo = {"pair": pair["pair"], "decision": "replace", "text": newer.content}
    assert client.post("/reviews/undo", params=undo, headers=right).status_code == 200
    [waiting] = memory.reviews(scope=Scope())
    assert {waiting.memory.content, waiting.other.content} == {older.content, newer.content}


def test_a_space_exported_as_markdown_comes_back_in(
    client: httpx.Client, memory: Hippocampe
) -> None:
    told = {
        memory.remember(each, scope=LOBBY).memory.content
        for each in ("Rose a un vélo", "Owen pêche")
    }
    archive = client.get("/api/export?space=default&format=okf").content
    client.cookies.set("hippocampe_space", "other")
    shown = preview_then_import(client, "space.zip", archive)
    assert "2 souvenirs" in shown
    found = memory.recent(scope=Scope(space="other"))
    assert {(each.content, each.user) for each in found} == {(each, "nina") for each in told}


def preview_then_import(client: httpx.Client, name: str, content: bytes) -> str:
    """Upload a file, import it once nothing of it was stored, and return the preview."""
    right = {"X-CSRF-Token": token_of(client), "HX-Request": "true"}
    before = client.get("/api/memory/stats").json()
    sent = client.post(f"/data/preview?name={name}", content=content, headers=right)
    assert client.get("/api/memory/stats").json() == before
    token = sent.text.split("/data/import/")[1].split('"')[0]
    client.post(f"/data/import/{token}", headers=right)
    ends = time.monotonic() + 60
    while "Voir les souvenirs" not in client.get(f"/data/import/{token}", headers=right).text:
        assert time.monotonic() < ends
        time.sleep(0.05)
    return sent.text


def test_export_and_backup_by_role(
    connect: Any, client: httpx.Client, memory: Hippocampe, tmp_path: Path
) -> None:
    memory.remember("Owen a un voilier", scope=Scope())
    memory.remember("Rose a un vélo", scope=Scope(space="home"))
    page = client.get("/data").text
    assert 'href="/api/export?space=default"' in page
    lines = client.get("/api/export?space=default").text.splitlines()
    assert "voilier" in json.loads(lines[1])["content"]
    assert 'href="/api/export?space=default&amp;format=okf"' in page
    packed = client.get("/api/export?space=default&format=okf")
    assert packed.headers["content-disposition"].endswith('filename="hippocampe-default.zip"')
    with zipfile.ZipFile(io.BytesIO(packed.content)) as archive:
        assert any("voilier" in name for name in archive.namelist())
    copy = tmp_path / "hippocampe.db"
    sent = client.get("/data/backup")
    assert sent.headers["content-disposition"].startswith("attachment; filename=")
    copy.write_bytes(sent.content)
    with sqlite3.connect(copy) as database:
        found = database.execute("SELECT content FROM memory ORDER BY content").fetchall()
    database.close()
    assert found == [("Owen a un voilier",), ("Rose a un vélo",)]
    keyed: httpx.Client = connect("admin", "home")
    assert "/data/backup" not in keyed.get("/data").text
    assert keyed.get("/data/backup").status_code == 403


def test_lines_to_copy_have_plain_spaces(client: httpx.Client) -> None:
    page = client.get("/connect", headers={"Accept-Language": "fr"}).text
    assert page.count("Où habite David ?") >= 3
    assert "xa0" not in page


@pytest.mark.parametrize(
    ("language", "warning"),
    [("en", "This sample is removed"), ("fr", "Cet exemple est supprimé")],
)
def test_a_sample_says_that_its_folder_is_removed(
    client: httpx.Client, memory: Hippocampe, language: str, warning: str
) -> None:
    asked = {"Accept-Language": language}
    lasting = client.get("/connect", headers=asked).text
    assert warning not in lasting
    again = "hippocampe serve --folder"
    assert again in lasting
    with served(memory, loopback=True, temporary=True) as url:
        page = httpx.get(f"{url}/connect", headers=asked, timeout=30).text
    assert warning in page
    # The proxy is started on a memory that stays.
    assert again not in page
    assert "hippocampe serve --port" in page


@pytest.mark.parametrize("role", ["read", "write"])
def test_who_may_not_import_is_offered_nothing(connect: Any, role: str) -> None:
    reading: httpx.Client = connect(role, "home")
    for path in ("/overview", "/conversations"):
        assert 'href="/data"' not in reading.get(path).text
    assert reading.get("/data").status_code == 403


def test_a_key_that_may_only_read_sees_what_it_may_use(reader: Reader, memory: Hippocampe) -> None:
    home = Scope(space="home")
    memory.remember("Rose a un vélo", scope=home)
    page = reader.open("/memory", role="read", space="home")
    rail = page.get_by_role("navigation", name="Sections")
    for name in ("Logs", "Import and export", "Keys and audit"):
        assert rail.get_by_role("link", name=name).count() == 0
    assert page.locator("main [data-key=edit], main [data-key=delete]").count() == 0
    assert page.get_by_role("button", name="Forget").count() == 0
    for path in ("/logs", "/data", "/access"):
        page.goto(path)
        expect(page.get_by_role("heading", level=1)).to_have_text("This is not allowed.")
        # The menu leads out.
        assert rail.get_by_role("link", name="Conversations").is_visible()
    reader.forgive("403")
    check_accessible(page)


@pytest.mark.parametrize(
    ("language", "unknown"),
    [("en", "cannot tell the format"), ("fr", "impossible de reconnaître")],
)
def test_a_format_that_is_not_recognised_is_chosen(
    reader: Reader, memory: Hippocampe, language: str, unknown: str
) -> None:
    page = reader.open("/data", language=language)
    page.evaluate(DROP, ["jeudi.txt", "Nina aime les orages de l'été.\n"])
    expect(page.locator(".toast")).to_contain_text(unknown)
    reader.forgive("422")
    field = page.get_by_label("Format")
    expect(field).to_be_focused()
    assert "Claude (claude-memories)" in field.inner_text()
    field.select_option("Markdown")
    expect(page.locator("#import-state")).to_contain_text("Nina aime les orages")
    page.locator("#import-state [hx-post*=discard]").click()
    page.wait_for_url("**/data")
    expect(page.locator("[data-drop]")).to_be_visible()


@pytest.mark.parametrize(("language", "button"), [("en", "Make a key"), ("fr", "Créer une clé")])
def test_a_double_click_makes_one_key_and_no_key_is_lost(
    reader: Reader, memory: Hippocampe, language: str, button: str
) -> None:
    page = reader.open("/access", language=language)
    page.get_by_role("button", name=button).dblclick()
    settle(page)
    expect(page.locator("#made code")).to_have_count(1)
    # The second while the request of the first is under way.
    page.get_by_role("button", name=button).evaluate("(it) => { it.click(); it.click(); }")
    settle(page)
    expect(page.locator("#made code")).to_have_count(2)
    secrets = page.locator("#made code").all_inner_texts()
    assert len({*secrets}) == len(memory.keys()) == 2


@pytest.mark.parametrize("role", ["read", "write", "admin"])
@pytest.mark.parametrize("language", ["en", "fr"])
def test_the_ways_to_begin_are_those_that_the_key_may_go(
    reader: Reader, memory: Hippocampe, role: str, language: str
) -> None:
    page = reader.open("/overview", role=role, space="void", language=language)
    main = page.locator("main")
    expect(main.locator("a[href='/data']")).to_have_count(1 if role == "admin" else 0)
    expect(main.get_by_text("import chat.txt")).to_have_count(1 if role == "admin" else 0)
    expect(main.locator("a[href='/facts']")).to_have_count(0 if role == "read" else 1)
    expect(main.locator("a[href='/playground']")).to_have_count(1)
    expect(main.locator(".ways > li")).to_have_count({"read": 1, "write": 2, "admin": 3}[role])
    check_accessible(page)
    shoot(page, f"begin-{role}-{language}")


def test_keys_and_audit(reader: Reader, memory: Hippocampe, connect: Any) -> None:
    id = memory.remember("Owen a un voilier", scope=Scope()).memory.id
    memory.delete(id, scope=Scope(), reason="sold")
    memory.create_key(scope=Scope(space="home"), role="admin", label="elsewhere")
    page = reader.open("/access")
    assert "elsewhere" not in page.locator("main").inner_text()
    assert "a program" in page.locator("main").inner_text()
    page.get_by_label("What it is for").fill("phone")
    page.get_by_label("Role").select_option("write")
    page.get_by_role("button", name="Make a key").click()
    secret = page.locator("#made code").inner_text()
    key = memory.find_key(secret)
    assert key is not None
    assert (key.label, key.role, key.space) == ("phone", "write", "default")
    assert page.locator("#made .notice").inner_text().startswith("phone · ")
    row = page.get_by_role("row", name="phone")
    row.get_by_role("button", name="Revoke").click()
    check_accessible(page)
    page.locator("#confirm-yes").click()
    expect(row.get_by_text("revoked", exact=True)).to_be_visible()
    assert memory.find_key(secret) is None
    audited = page.locator("section", has=page.get_by_role("heading", name="Audit"))
    expect(audited).to_contain_text("revoked a key")
    assert "someone on this machine" in audited.inner_text()
    assert secret not in audited.inner_text()
