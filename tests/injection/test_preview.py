"""What a turn would inject: the same as the turn, with nothing changed, now and at earlier times."""

from datetime import datetime

import pytest

from conftest import FakeClock, Opener
from hippocampe import Config, Hippocampe, Injection, Scope

HERE = Scope(user="dev", channel="lobby")
AWAY = Scope(space="away", user="dev", channel="lobby")


@pytest.fixture
def hippo(hashed: None, open_hippo: Opener) -> Hippocampe:
    hippo = open_hippo(embedder="hashed:64")
    hippo.update_settings(scope=HERE, hook_timeout_ms=10_000)
    return hippo


def contents(injection: Injection) -> set[str]:
    return {item.content for item in injection.items}


def considered(injection: Injection) -> list[tuple[str, str]]:
    return [(each.recollection.id, each.outcome) for each in injection.trace.considered]


def test_it_is_what_the_turn_then_injects(hippo: Hippocampe) -> None:
    hippo.remember("On garde PostgreSQL", scope=HERE, type="decision")
    hippo.after_turn("Où est le tuba ?", "Dans la grange.", scope=Scope(channel="phone"))
    seen = hippo.preview("où est le tuba ?", scope=HERE)
    given = hippo.before_turn("où est le tuba ?", scope=HERE)
    assert seen.text == given.text != ""
    assert considered(seen) == considered(given)
    repeated = hippo.preview("où est le tuba ?", scope=HERE)
    assert not repeated.text
    assert "already_known" in {outcome for _, outcome in considered(repeated)}


def test_nothing_changes(hippo: Hippocampe) -> None:
    kept = hippo.remember("On garde PostgreSQL", scope=HERE, type="decision").memory
    hippo.update_settings(scope=HERE, coalesce_ms=2_000)
    for at in (None, hippo.now()):
        assert hippo.preview("on garde quoi ?", scope=HERE, at=at).text
        assert hippo.preview("on garde quoi ?", scope=HERE, at=at).text
    hippo.flush()
    assert hippo.retrievals(scope=HERE) == []
    assert hippo.get(kept.id, scope=HERE).access_count == 0
    assert hippo.before_turn("on garde quoi ?", scope=HERE).text


def test_other_processes_hear_of_turns_alone(hippo: Hippocampe) -> None:
    kept = hippo.remember("On garde PostgreSQL", scope=HERE, type="decision").memory
    told: list[tuple[str, list[str]]] = []
    channels = hippo._turns.channels  # pyright: ignore[reportPrivateUsage]
    channels.tell = lambda scope, what, items: told.append((what, [id for _, id in items]))
    assert hippo.preview("on garde quoi ?", scope=HERE).text
    hippo.try_settings(scope=HERE)
    assert told == []
    assert hippo.before_turn("on garde quoi ?", scope=HERE).text
    assert told == [("given", [kept.id])]
    hippo.try_settings(scope=HERE)
    assert len(told) == 1


def test_what_a_turn_skips_is_skipped(hippo: Hippocampe) -> None:
    hippo.remember("On garde PostgreSQL", scope=HERE, type="decision")
    assert hippo.preview("on garde quoi ?", scope=HERE, role="system").trace.skipped
    hippo.update_settings(scope=HERE, auto_retrieve_enabled=False)
    assert hippo.preview("on garde quoi ?", scope=HERE).trace.skipped == "switched off"


class TestReplay:
    def test_a_logged_turn_is_rebuilt_although_memories_changed(
        self, hippo: Hippocampe, clock: FakeClock
    ) -> None:
        kept = hippo.remember("On garde PostgreSQL", scope=HERE, type="decision").memory
        hippo.after_turn("Où est le tuba ?", "Dans la grange.", scope=Scope(channel="phone"))
        given = hippo.before_turn("on garde PostgreSQL ? où est le tuba ?", scope=HERE)
        again = hippo.replay(given.id, scope=HERE)
        for one, other in zip(again.trace.considered, given.trace.considered, strict=True):
            reasons = {each.name: each.contribution for each in one.recollection.why}
            assert len(reasons) > 20
            assert reasons == pytest.approx(
                {each.name: each.contribution for each in other.recollection.why}, abs=0.05
            )
        clock.advance(days=3)
        hippo.remember("On garde SQLite", scope=HERE, type="decision", replaces=[kept.id])
        again = hippo.replay(given.id, scope=HERE)
        assert (again.text, again.tokens) == (given.text, given.tokens)
        assert contents(again) == contents(given) != set()
        assert considered(again) == considered(given)


class TestThen:
    def test_what_was_known_at_a_time(self, hippo: Hippocampe, clock: FakeClock) -> None:
        times: list[datetime] = []

        def pause() -> None:
            clock.advance(days=1)
            times.append(clock.now)
            clock.advance(days=1)

        pause()
        lyon = hippo.remember("Décision : Zoé habite à Lyon", scope=HERE, type="decision").memory
        shed = hippo.remember("Décision : le tuba est vendu", scope=HERE, type="decision").memory
        hippo.remember("Décision : le code est 12", scope=HERE, type="decision", ttl="3d")
        hippo.remember("Décision : Owen rame", scope=AWAY, type="decision")
        pause()
        brest = hippo.remember(
            "Décision : Zoé habite à Brest", scope=HERE, type="decision", replaces=[lyon.id]
        ).memory
        hippo.delete(shed.id, scope=HERE, reason="faux")
        hippo.expire(scope=HERE)
        pause()
        hippo.remember("Décision : le ferry part à midi", scope=HERE, type="decision")

        def then(at: datetime) -> set[str]:
            return contents(hippo.preview("quelle décision ?", scope=HERE, at=at))

        assert then(times[0]) == set()
        assert then(times[1]) == {
            "Décision : Zoé habite à Lyon",
            "Décision : le tuba est vendu",
            "Décision : le code est 12",
        }
        assert then(times[2]) == {brest.content}
        assert "Lyon" in hippo.preview("Zoé habite à ?", scope=HERE, at=times[1].isoformat()).text

    def test_times_are_relative_to_it(self, hippo: Hippocampe, clock: FakeClock) -> None:
        hippo.remember("On garde PostgreSQL", scope=HERE, type="decision")
        clock.advance(days=1)
        then = clock.now
        clock.advance(days=300)
        assert "hier" in hippo.preview("on garde quoi ?", scope=HERE, at=then).text

    def test_talk_of_later_is_not_known(self, hippo: Hippocampe, clock: FakeClock) -> None:
        other = Scope(user="dev", channel="phone")
        hippo.after_turn("Le tuba est dans la grange", "D'accord.", scope=other)
        clock.advance(hours=2)
        then = clock.now
        clock.advance(hours=2)
        hippo.after_turn("Le tuba est dans la cave", "D'accord.", scope=other)
        hippo.observe("Le tuba est dans la cuisine", scope=Scope(user="zoe", channel="lobby"))
        found = hippo.preview("le tuba est dans la", scope=HERE, at=then).trace.considered
        said = " ".join(each.recollection.content for each in found)
        assert "grange" in said and "cave" not in said and "cuisine" not in said

    def test_beside_the_owner(self, hippo: Hippocampe, clock: FakeClock, hashed: None) -> None:
        hippo.remember("On garde PostgreSQL", scope=HERE, type="decision")
        hippo.flush()
        config = Config(folder=hippo.config.folder, background=False)
        with Hippocampe.open(config, read_only=True, clock=clock) as beside:
            for at in (None, hippo.now()):
                assert beside.preview("on garde quoi ?", scope=HERE, at=at).text
