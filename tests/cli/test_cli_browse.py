"""The commands that list, and those that take metadata or an exchange."""

# ruff: noqa: F811 - fixtures are imported by name
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from test_cli import HOSTILE, Run, run, said  # noqa: F401

from hippocampe import Hippocampe


def contents(answer: Any) -> list[str]:
    return [memory["content"] for memory in answer.json["items"]]


class TestList:
    def test_filters(self, run: Run, said: Callable[..., str]) -> None:
        said("Zoé vend son tuba", "--type", "decision", "--user", "ana", "--subject", "tuba")
        said("le four est vide", "--channel", "salon", "--importance", "1")
        said("je sais lire", "--collection", "self", "--category", "capability")
        assert len(contents(run("list", "--json"))) == 3
        assert contents(run("list", "--json", "--type", "decision")) == ["Zoé vend son tuba"]
        assert contents(run("list", "--json", "--subject", "Tuba")) == ["Zoé vend son tuba"]
        assert contents(run("list", "--json", "--of-user", "ana")) == ["Zoé vend son tuba"]
        assert contents(run("list", "--json", "--of-channel", "salon")) == ["le four est vide"]
        assert contents(run("list", "--json", "--collection", "self")) == ["je sais lire"]
        assert contents(run("list", "--json", "--category", "capability")) == ["je sais lire"]
        assert contents(run("list", "--json", "--until", "2020-01-01")) == []
        assert contents(run("list", "--json", "--order", "importance"))[0] == "le four est vide"
        refused = run("list", "--order", "best")
        assert (refused.code, "newest" in refused.err) == (1, True)

    def test_pages(self, run: Run, said: Callable[..., str]) -> None:
        for thing in ("tuba", "four", "canoë"):
            said(f"le {thing} est là")
        shown = run("list", "--limit", "2")
        cursor = re.search(r"^There are more: add --cursor (\S+)$", shown.out, re.MULTILINE)
        assert cursor is not None
        last = run("list", "--limit", "2", "--cursor", cursor[1])
        assert "le tuba est là" in last.out
        assert "cursor" not in last.out
        assert run("list", "--json", "--limit", "2").json["next_cursor"] == cursor[1]
        assert run("list", "--order", "oldest", "--cursor", cursor[1]).code == 1

    def test_a_table_for_people(self, run: Run, said: Callable[..., str]) -> None:
        assert run("list").out == "Nothing found.\n"
        id = said(HOSTILE, "--metadata", "note=\u202ea")
        shown = run("list").out
        assert "\u202e" not in shown
        assert "note=\\u202ea" in shown
        assert "state" not in shown
        run("delete", id)
        assert re.search(r"fact +forgotten +", run("list", "--state", "all").out)
        assert run("list").out == "Nothing found.\n"


class TestReading:
    @pytest.mark.parametrize("command", ["list", "spaces", "users", "subjects"])
    def test_beside_the_owner_and_without_creating_data(
        self, run: Run, folder: Path, tmp_path: Path, command: str
    ) -> None:
        with Hippocampe.open(folder):
            assert run(command).code == 0
        missing = run(command, "--folder", str(tmp_path / "none"))
        assert (missing.code, (tmp_path / "none").exists()) == (1, False)


class TestMetadata:
    def test_it_is_typed_shown_and_filtered(self, run: Run, said: Callable[..., str]) -> None:
        typed = ("source=crm", "row=3", 'code="3"', "zip=01234", "paid=true", "rate=NaN")
        pairs = [part for each in typed for part in ("--metadata", each)]
        id = said("Zoé joue du tuba", *pairs)
        said("le four est vide")
        kept = {"source": "crm", "row": 3, "code": "3", "zip": "01234", "paid": True, "rate": "NaN"}
        assert run("get", id, "--json").json["metadata"] == kept
        assert re.search(
            r'metadata +source=crm, row=3, code="3", zip=01234, paid=true', run("get", id).out
        )
        assert "metadata" not in run("get", said("le hamac sèche")).out
        assert 'source=crm, row=3, code="3"' in run("list").out
        assert contents(run("list", "--json", *pairs)) == ["Zoé joue du tuba"]
        assert contents(run("list", "--json", "--metadata", "code=3")) == []
        found = run("recall", "tuba ou four", "--metadata", "row=3", "--json").json
        assert [item["content"] for item in found] == ["Zoé joue du tuba"]

    def test_it_is_edited_as_a_whole(self, run: Run, said: Callable[..., str]) -> None:
        id = said("Zoé joue du tuba", "--metadata", '{"source": "crm", "row": 3}')
        edited = run("edit", id, "--metadata", "row=4", "--json").json
        assert edited["metadata"] == {"row": 4}
        assert run("edit", id, "--metadata", "{}", "--json").json["metadata"] == {}

    @pytest.mark.parametrize("typed", ["source", "{source", ""])
    def test_what_is_not_understood(self, run: Run, typed: str) -> None:
        assert run("remember", "Zoé joue du tuba", "--metadata", typed).code == 2


class TestCounts:
    def test_spaces_users_and_subjects(self, run: Run, said: Callable[..., str]) -> None:
        assert run("subjects").out == "There are none.\n"
        said("Zoé joue du tuba", "--user", "ana", "--subject", "tuba")
        run("after-turn", "le four ?", "vide", "--space", "talk", "--user", "dev")
        assert run("spaces", "--json").json == {
            "talk": {"memories": 0, "messages": 2},
            "default": {"memories": 1, "messages": 0},
        }
        assert re.search(r"^0 +2 +talk *\n1 +0 +default", run("spaces").out, re.MULTILINE)
        assert run("users", "--json").json == {"ana": {"memories": 1, "messages": 0}}
        assert re.search(r"^0 +1 +dev", run("users", "--space", "talk").out, re.MULTILINE)
        assert run("subjects", "--json").json["tuba"] == 1
        assert re.search(r"^1 +tuba", run("subjects").out, re.MULTILINE)


class TestAfterTurn:
    def exchange(self, run: Run) -> list[tuple[str, str]]:
        return [(each["author"], each["content"]) for each in run("messages", "--json").json]

    def test_arguments(self, run: Run) -> None:
        options = ("--user", "ana", "--assistant", "eko", "--at", "2026-01-05T10:00")
        stored = run("after-turn", "le four ?", "vide", *options, "--json")
        assert self.exchange(run) == [("ana", "le four ?"), ("eko", "vide")]
        (found,) = run("recall", "le four", "--json").json
        assert found["id"] == stored.json["turn"]
        assert found["at"].startswith("2026-01-05")
        assert run("after-turn", "et le hamac ?").out.startswith("stored as turn ")

    def test_standard_input(self, run: Run) -> None:
        run("after-turn", "le four ?", "-", "--user", "ana", typing="vide\n")
        run("after-turn", "-", "rangé", "--user", "ana", typing="et le hamac ?")
        both = json.dumps({"message": 'la "clé" ?', "reply": "là"})
        run("after-turn", "-", "--user", "ana", typing=both)
        run("after-turn", "-", "--user", "ana", typing='{"message": "merci"}')
        assert [said for _, said in self.exchange(run)] == [
            *("le four ?", "vide", "et le hamac ?", "rangé", 'la "clé" ?', "là", "merci"),
        ]

    @pytest.mark.parametrize(
        "typing", ["le four ?", "[]", '{"reply": "vide"}', '{"message": "a", "role": "user"}']
    )
    def test_what_is_no_exchange_is_refused(self, run: Run, typing: str) -> None:
        refused = run("after-turn", "-", typing=typing)
        assert refused.code == 1
        assert '{"message"' in refused.err
        assert run("messages", "--json").json == []

    def test_standard_input_is_read_once(self, run: Run, folder: Path) -> None:
        assert run("after-turn", "-", "-", typing="le four ?").code == 2


class TestConversations:
    def test_channels_exchanges_and_one_of_them(self, run: Run, tmp_path: Path) -> None:
        (tmp_path / "David.txt").write_text(
            "12/01/2026, 10:23 - Nina: Le voilier est amarré à Trentemoult\n"
            "14/01/2026, 10:24 - Owen: Je joue du tuba\n",
            "utf-8",
        )
        assert run("conversations").out == "There are no messages.\n"
        run("import", str(tmp_path / "David.txt"))
        assert re.search(
            r"\nDavid +2 +2026-01-12 10:23 +2026-01-14 10:24", run("conversations").out
        )
        read = run("conversations", "read", "--of-channel", "David").out
        assert re.search(r"2026-01-14 10:24 +David +Owen: Je joue du tuba", read)
        assert read.index("Owen: Je joue") < read.index("Nina: Le voilier")
        for typed in (
            ("--of-user", "Owen"),
            ("--query", "tuba"),
            ("--since", "2026-01-13", "--until", "2026-01-15"),
        ):
            (found,) = run("conversations", "read", *typed, "--json").json
            assert found["author"] == "Owen"
        run("remember", "Owen joue du tuba", "--evidence", found["messages"][0]["id"])
        shown = run("conversations", "show", found["id"]).out
        assert "Owen: Je joue du tuba" in shown
        assert re.search(r"Learnt from it\n(.+\n){2}fact +just now +Owen joue du tuba", shown)
        assert re.search(r"before: [0-9a-f-]{36}\n", shown)
        assert run("conversations", "show", "x").code == 3
