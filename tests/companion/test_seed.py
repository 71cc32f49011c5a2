"""The seed file, and what is known of `self` and `goal` over time."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from conftest import FakeClock
from hippocampe import Hippocampe, InvalidInput, Memory, Scope, UnreadableFile
from hippocampe.companion import seed
from hippocampe.companion.self_knowledge import (
    KINDS,
    by_category,
    counts_over_time,
    own_statements,
    period_ends,
)

SEED = """
[[self]]
category = "context"
content = "Je suis dans Organizer"
subjects = ["organizer"]
importance = 0.9

[[self]]
category = "limitation"
content = "Je ne peux pas lire les notes"

[[goal]]
category = "capability_request"
content = "J'aimerais chercher sur le web"
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "self.toml"
    path.write_text(SEED, encoding="utf-8")
    return path


def contents(hippo: Hippocampe, space: str = "default") -> list[str]:
    return sorted(each.content for each in own_statements(hippo, space=space))


class TestLoad:
    def test_it_plants_statements_without_a_user(self, hippo: Hippocampe, file: Path) -> None:
        planted = seed.load(hippo, file).planted
        assert [(each.collection, each.category, each.content) for each in planted] == [
            ("self", "context", "Je suis dans Organizer"),
            ("self", "limitation", "Je ne peux pas lire les notes"),
            ("goal", "capability_request", "J'aimerais chercher sur le web"),
        ]
        assert {(each.user, each.channel, each.source) for each in planted} == {
            (None, None, "seed")
        }
        assert (planted[0].subjects, planted[0].importance) == (("organizer",), 0.9)
        assert planted[2].type == "goal"

    def test_a_space_is_seeded_once(self, hippo: Hippocampe, file: Path, clock: FakeClock) -> None:
        (first, *others) = seed.load(hippo, file).planted
        for memory in (first, *others):
            hippo.delete(memory.id, scope=Scope(), reason="test")
        clock.advance(days=3)
        file.write_text('[[self]]\ncategory = "context"\ncontent = "Je suis ailleurs"')
        again = seed.load(hippo, file)
        assert (again.planted, again.before) == ((), first.created_at)
        assert contents(hippo) == []

    def test_each_space_has_its_own_seed(self, hippo: Hippocampe, file: Path) -> None:
        seed.load(hippo, file)
        assert len(seed.load(hippo, file, space="work").planted) == 3
        assert contents(hippo, "work") == contents(hippo)

    @pytest.mark.parametrize(
        ("entry", "reason"),
        [
            ('category = "hobby"\ncontent = "a"', r"\[\[goal\]\] number 2: category must be one"),
            ('content = "a"', "category must be one of capability_request, connection"),
            ('category = ["connection"]\ncontent = "a"', "category must be one of"),
            ('category = "connection"\ncontent = "  "', "content is empty"),
            ('category = "connection"', "content is empty"),
            ('category = "connection"\ncontent = 3', "content must be text"),
            ('category = "connection"\ncontent = "a"\nttl = "7d"', "key 'ttl' is unknown"),
            ('category = "connection"\ncontent = "a"\nimportance = 2', "from 0 to 1"),
            ('category = "connection"\ncontent = "a"\nimportance = true', "from 0 to 1"),
            ('category = "connection"\ncontent = "a"\nsubjects = "b"', "subjects must be a list"),
        ],
    )
    def test_nothing_is_stored_if_an_entry_is_wrong(
        self, hippo: Hippocampe, file: Path, entry: str, reason: str
    ) -> None:
        file.write_text(f"{SEED}\n[[goal]]\n{entry}\n", encoding="utf-8")
        with pytest.raises(InvalidInput, match=reason) as raised:
            seed.load(hippo, file)
        assert "Nothing was stored." in str(raised.value)
        assert contents(hippo) == []

    @pytest.mark.parametrize(
        ("text", "error"),
        [
            ("", InvalidInput),
            ("[self]\ncategory = 1", InvalidInput),
            ("self = [1]", InvalidInput),
            ("[[memory]]\ncontent = 'a'", InvalidInput),
            ("[[self]", UnreadableFile),
        ],
    )
    def test_a_file_that_is_no_seed(
        self, hippo: Hippocampe, file: Path, text: str, error: type[Exception]
    ) -> None:
        file.write_text(text)
        with pytest.raises(error):
            seed.load(hippo, file)

    def test_a_file_that_is_missing(self, hippo: Hippocampe, tmp_path: Path) -> None:
        with pytest.raises(UnreadableFile):
            seed.load(hippo, tmp_path / "none.toml")


def test_statements_are_grouped_by_category(hippo: Hippocampe, file: Path) -> None:
    seed.load(hippo, file)
    hippo.remember("Dev joue du tuba", scope=Scope(user="dev"))
    groups = by_category(own_statements(hippo))
    assert tuple(groups) == KINDS
    counts = {kind: len(group) for kind, group in groups.items() if group}
    assert counts == {
        ("self", "context"): 1,
        ("self", "limitation"): 1,
        ("goal", "capability_request"): 1,
    }


class TestCounts:
    def test_they_follow_what_was_current(self, hippo: Hippocampe, clock: FakeClock) -> None:
        def state(content: str, **more: Any) -> Memory:
            return hippo.remember(
                content, scope=Scope(), collection="self", category="limitation", **more
            ).memory

        before = clock()
        first = state("Je ne peux pas lire les notes")
        state("Je ne peux pas jouer de musique", ttl="2d")
        clock.advance(days=1)
        one = clock()
        hippo.delete(first.id, scope=Scope(), reason="appris")
        clock.advance(days=1, hours=1)
        two = clock()
        counts = counts_over_time(own_statements(hippo, state="all"), [before, one, two])
        assert counts["self", "limitation"] == (0, 2, 0)
        assert counts["self", "capability"] == (0, 0, 0)

    def test_a_corrected_statement_counts_once(self, hippo: Hippocampe, clock: FakeClock) -> None:
        first = hippo.remember(
            "Je vis dans le Lobby", scope=Scope(), collection="self", category="context"
        ).memory
        clock.advance(days=1)
        one = clock()
        hippo.remember("Je vis dans le jardin", scope=Scope(), replaces=[first.id])
        counts = counts_over_time(own_statements(hippo, state="all"), [one, clock()])
        assert counts["self", "context"] == (1, 1)

    def test_days_end_at_midnight_there(self) -> None:
        # Clocks go forward on 29 March 2026: that day has 23 hours.
        now = datetime(2026, 3, 30, 9, tzinfo=UTC)
        ends = period_ends(now, "Europe/Paris", "day", 4)
        assert ends == [
            datetime(2026, 3, 27, 23, tzinfo=UTC),
            datetime(2026, 3, 28, 23, tzinfo=UTC),
            datetime(2026, 3, 29, 22, tzinfo=UTC),
            now,
        ]

    def test_weeks_end_on_sunday(self) -> None:
        now = datetime(2026, 1, 17, 9, tzinfo=UTC)
        assert period_ends(now, "UTC", "week", 3) == [
            datetime(2026, 1, 5, tzinfo=UTC),
            datetime(2026, 1, 12, tzinfo=UTC),
            now,
        ]
        assert period_ends(now, "UTC", "week", 0) == []
