"""The log of the server as a stream, and what is kept out of it."""

import logging
from typing import Any

import httpx

from browsing import PHONE, Reader, check_accessible, check_fits, shoot
from hippocampe import Hippocampe, Scope
from hippocampe.server.http.logs import LogLine, LogTail, request

log = logging.getLogger("hippocampe")


def lines_of(tail: LogTail, after: int = 0) -> list[LogLine]:
    return [line for line in tail.after(after) if line.logger == "hippocampe"]


def test_the_latest_lines_are_kept_without_the_words_of_errors() -> None:
    tail = LogTail(most=3)
    tail.attach()
    try:
        for number in range(4):
            log.info("line %d", number)
        try:
            raise ValueError("what ana wrote")
        except ValueError:
            log.exception("a turn failed")
        log.debug("a detail")
    finally:
        tail.detach()
    log.warning("too late")
    kept = lines_of(tail)
    assert [line.text for line in kept] == ["line 2", "line 3", "a turn failed (ValueError)"]
    assert [line.level for line in kept] == ["info", "info", "error"]
    assert lines_of(tail, kept[-2].number) == [kept[-1]]
    assert tail.ended.is_set()


def test_requests_that_pages_repeat_are_left_out() -> None:
    tail = LogTail()
    tail.attach()
    try:
        for route, status in (("/digest", 200), ("none", 404), ("/memory", 200)):
            request("id", "GET", route, status, 0.01, "no key")
    finally:
        tail.detach()
    assert [line.text.split()[2:4] for line in tail.after(0)] == [
        ["none", "404"],
        ["/memory", "200"],
    ]


def test_a_stream_begins_with_what_is_kept(client: httpx.Client) -> None:
    log.warning("embedder failed")
    with client.stream("GET", "/logs/stream") as response:
        assert response.headers["content-type"].startswith("text/event-stream")
        lines = response.iter_lines()
        data = next(line for line in lines if "embedder failed" in line)
        assert '"level": "warning"' in data


def test_a_key_sees_lines_of_its_space_and_its_requests(connect: Any, memory: Hippocampe) -> None:
    client: httpx.Client = connect("admin", "home")
    (key,) = memory.keys()
    client.get("/readyz")
    log.warning("of nobody")
    log.warning("space 'away' has spent 3")
    log.warning("space 'home' has spent 2")
    log.warning("GET / 200, key %s", key.id)
    with client.stream("GET", "/logs/stream") as response:
        seen = ""
        for line in response.iter_lines():
            seen += line
            if key.id in line:
                break
    assert "home" in seen and "away" not in seen and "nobody" not in seen


def test_the_log_ends_for_a_key_that_was_revoked(connect: Any, memory: Hippocampe) -> None:
    client: httpx.Client = connect("admin", "home")
    (key,) = memory.keys()
    log.warning("space 'home' has spent 2")
    with client.stream("GET", "/logs/stream") as response:
        lines = response.iter_lines()
        assert next(line for line in lines if "has spent 2" in line)
        memory.revoke_key(key.id)
        log.warning("space 'home' has spent 3")
        assert not any("has spent 3" in line for line in lines)


def test_the_log_is_filtered_paused_and_copied(reader: Reader, memory: Hippocampe) -> None:
    memory.remember("rien", scope=Scope())
    page = reader.open("/logs")
    page.locator("#log-state", has_text="live").wait_for()
    log.info("a part works again")
    log.error("<b>embedder</b> failed")
    lines = page.locator("#log-lines li")
    page.locator("#log-lines", has_text="<b>embedder</b> failed").wait_for()
    check_accessible(page)
    check_fits(page)
    page.locator("#log-level").select_option("error")
    assert lines.count() == 1
    page.locator("#log-level").select_option("info")
    page.locator("#log-filter").fill("WORKS")
    assert lines.all_inner_texts()[0].split("\n")[-1] == "a part works again"
    page.get_by_role("button", name="Copy").click()
    page.locator("#toasts", has_text="Copied").wait_for()
    assert "hippocampe: a part works again" in page.evaluate("navigator.clipboard.readText()")
    page.locator("#log-filter").fill("")
    page.get_by_role("button", name="Pause").click()
    before = lines.count()
    log.warning("while it pauses")
    page.locator("#log-state", has_text="paused +1").wait_for()
    assert lines.count() == before
    page.get_by_role("button", name="Go on").click()
    page.locator("#log-lines", has_text="while it pauses").wait_for()
    shoot(page, "logs")
    phone = reader.open("/logs", language="fr", theme="dark", size=PHONE)
    phone.locator("#log-lines", has_text="while it pauses").wait_for()
    check_fits(phone)
    shoot(phone, "logs-fr-dark-phone")
