"""The chat page in a browser: talk beside what memory gave, learnt and cost."""

import pytest
from playwright.sync_api import Locator, Page, expect

from browsing import PHONE, Reader, check_accessible, check_fits
from conftest import Opener
from hippocampe import Hippocampe, Scope
from hippocampe.errors import IndexUnavailable
from model_server import ModelServer

MODEL = "openai-chat:scripted"
HERE = Scope(user="nina", channel="lobby")
WATCHED = """() => {
    window.seen = [];
    const talk = document.getElementById("talk");
    new MutationObserver(() => {
        const text = talk.querySelector(".exchange:not(:has(.did)) .bubble:not(.mine, .wait)")?.textContent;
        if (text && text !== window.seen.at(-1)) window.seen.push(text);
    }).observe(talk, { childList: true, subtree: true, characterData: true });
}"""
"""Keeps what is shown of an answer before its exchange is whole."""


def send(page: Page, message: str) -> Locator:
    """Say something; the exchange, once it is there."""
    shown = page.locator(".exchange:has(.did), .exchange:has([role=alert])")
    before = shown.count()
    page.locator("[name=message]").fill(message)
    page.locator("[name=message]").press("Enter")
    expect(shown).to_have_count(before + 1, timeout=60_000)
    return shown.last


class TestWithoutAModel:
    def test_it_names_three_ways_to_get_one(self, reader: Reader, memory: Hippocampe) -> None:
        page = reader.open("/chat?user=nina")
        ways = page.locator(".ways-to li")
        expect(ways).to_have_count(3)
        expect(ways.nth(1)).to_contain_text("Ollama")
        expect(ways.nth(1)).to_contain_text("OPENAI_BASE_URL=http://127.0.0.1:11434/v1")
        for way in ways.all():
            expect(way).to_contain_text("serve --folder")
            expect(way).to_contain_text(str(memory.config.folder))
        check_accessible(page)

    def test_memory_is_tried_alone(self, reader: Reader, memory: Hippocampe) -> None:
        memory.remember("Nina garde la clef du phare", scope=HERE)
        page = reader.open("/chat?user=nina")
        first = send(page, "I live in Nantes")
        expect(first.locator(".did")).to_contain_text("always given 1", ignore_case=True)
        expect(first.locator(".did")).to_contain_text("Nina garde la clef du phare")
        route, kind = (first.locator(f".place .{each}").bounding_box() for each in ("tag", "kind"))
        assert route and kind
        assert route["y"] + route["height"] <= kind["y"]
        second = send(page, "I live in Toulouse now")
        learnt = second.get_by_role("listitem").filter(has_text="I live in Toulouse now").last
        expect(learnt).to_contain_text("was: I live in Nantes")
        asked = send(page, "where do I live?")
        expect(asked.locator(".did")).to_contain_text("I live in Toulouse now")
        expect(asked.locator("ins")).to_have_count(0)
        asked.get_by_role("link", name="why").click()
        page.wait_for_url("**/retrievals/*")
        (kept,) = [
            each
            for each in memory.recent(10, scope=HERE)
            if each.current and "live in" in each.content
        ]
        assert kept.content == "I live in Toulouse now"

    @pytest.mark.parametrize(
        ("language", "told", "else_said"),
        [
            ("en", "late or down, and left out", "nothing reaches the relevance"),
            ("fr", "en retard ou en panne", "rien n’atteint la pertinence"),
        ],
    )
    def test_it_says_what_a_turn_did_without(
        self,
        reader: Reader,
        memory: Hippocampe,
        monkeypatch: pytest.MonkeyPatch,
        language: str,
        told: str,
        else_said: str,
    ) -> None:
        page = reader.open("/chat?user=nina", language=language)
        expect(send(page, "où est la clef du phare ?").locator(".did")).to_contain_text(
            else_said, ignore_case=True
        )
        index = memory._context.corpus.index  # pyright: ignore[reportPrivateUsage]

        def down(*_: object, **__: object) -> None:
            raise IndexUnavailable("the disk was taken out")

        monkeypatch.setattr(index, "search", down)
        did = send(page, "où est la clef du grenier ?").locator(".did")
        expect(did).to_contain_text(told)
        expect(did).not_to_contain_text(else_said, ignore_case=True)
        page.goto("/playground")
        page.get_by_label("Message").fill("où est la clef de la cave ?")
        page.locator("form button.primary").click()
        expect(page.locator(".result")).to_contain_text(told)
        check_accessible(page)

    @pytest.mark.parametrize(("language", "memories"), [("en", "Memories"), ("fr", "Souvenirs")])
    def test_it_says_where_the_talk_is_afterwards(
        self, reader: Reader, memory: Hippocampe, language: str, memories: str
    ) -> None:
        page = reader.open("/chat?user=nina", language=language)
        send(page, "Nina repairs old clocks")
        page.reload()
        page.locator("main").get_by_role("link", name=memories).click()
        expect(page.locator("#found")).to_contain_text("Nina repairs old clocks")

    def test_it_forgets_when_asked(self, reader: Reader, memory: Hippocampe) -> None:
        page = reader.open("/chat?user=nina")
        send(page, "je joue du tuba")
        (kept,) = memory.recent(10, scope=HERE)
        asked = send(page, "oublie que je joue du tuba")
        expect(asked.locator(".did")).to_contain_text("je joue du tuba")
        assert memory.get(kept.id, scope=HERE).forgotten_at is not None

    def test_it_fits_and_a_reader_says_nothing(self, reader: Reader) -> None:
        page = reader.open("/chat", role="write", language="fr", theme="dark", size=PHONE)
        page.get_by_label("Message").fill("J’habite à Nantes")
        page.get_by_role("button", name="Envoyer").click()
        expect(page.locator(".did")).to_have_count(1)
        check_fits(page)
        check_accessible(page)
        page = reader.open("/chat", role="read")
        expect(page.get_by_role("button", name="Send")).to_have_count(0)
        expect(page.get_by_text("try memory alone")).to_have_count(0)
        expect(page.get_by_text("What you state is kept")).to_have_count(0)


class TestWithAModel:
    @pytest.fixture
    def memory(self, hashed: None, open_hippo: Opener, server: ModelServer) -> Hippocampe:
        return open_hippo(embedder="hashed:64", model=MODEL, model_timeout=10.0)

    def test_an_answer_beside_what_memory_did(
        self, reader: Reader, memory: Hippocampe, server: ModelServer
    ) -> None:
        memory.remember("Nina garde la clef du phare", scope=HERE, type="decision")
        server.call("store_memory", content="Nina boit du thé vert", subjects=["nina"])
        server.call("respond", expression="happy", message="Noté, du thé vert.")
        page = reader.open("/chat?user=nina")
        expect(page.locator(".ways-to")).to_have_count(0)
        page.evaluate(WATCHED)
        exchange = send(page, "je me suis mise au thé vert")
        seen = page.evaluate("window.seen")
        assert seen[-1] == "Noté, du thé vert."  # it stood there before what memory did
        expect(exchange.locator(".said")).to_contain_text("Noté, du thé vert.")
        did = exchange.locator(".did")
        expect(did).to_contain_text("Nina garde la clef du phare")
        expect(did.locator("ins").first).to_have_text("Nina boit du thé vert")
        expect(did.locator(".cost")).to_contain_text("tokens")
        expect(did.locator(".cost")).to_contain_text("added by memory")
        check_accessible(page)
        page.reload()
        page.get_by_text("2 earlier messages").click()
        expect(page.locator(".earlier")).to_contain_text("Noté, du thé vert.")

    def test_a_model_that_fails_loses_nothing(
        self, reader: Reader, memory: Hippocampe, server: ModelServer
    ) -> None:
        server.fail(401, "no")
        page = reader.open("/chat?user=nina")
        exchange = send(page, "le phare est fermé")
        expect(exchange.get_by_role("alert")).to_contain_text("refused the key")
        said = memory.messages(scope=Scope(user="nina", channel="chat"))
        assert [each.content for each in said] == ["le phare est fermé"]
