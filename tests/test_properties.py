"""Whatever is done, in whatever order: spaces stay apart, history stays, store and index agree."""

import shutil
import tempfile
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from conftest import FakeClock
from hashed import install
from hippocampe import Config, Hippocampe, Scope
from hippocampe.errors import InvalidInput, NotFound

SPACES = ("un", "deux")
PEOPLE = st.sampled_from(["David", "Camille", "Mickael"])
PLACES = st.sampled_from(["Pau", "Ordizan", "Toulouse"])
EVERYWHERE = ("memory", "summary", "turn", "live")


class Machine(RuleBasedStateMachine):
    """Every content ends with the name of its space, so that a leak shows."""

    root: Path

    @initialize()
    def open(self) -> None:
        self.folder = Path(tempfile.mkdtemp(dir=self.root))
        self.clock = FakeClock()
        self.ids: dict[str, list[str]] = {space: [] for space in SPACES}
        self.erased: set[str] = set()
        self.hippo = self.opened()
        for space in SPACES:
            # So that a few exchanges are compacted, and memories fade while the clock moves.
            chosen = {"recent_messages": 1, "decay_half_life_days": 1, "prune_below": 0.1}
            self.hippo.update_settings(scope=Scope(space=space), **chosen)

    def opened(self) -> Hippocampe:
        config = Config(folder=self.folder, embedder="hashed:16", background=False)
        return Hippocampe.open(config, clock=self.clock)

    def teardown(self) -> None:
        if hasattr(self, "hippo"):
            self.hippo.close()
            shutil.rmtree(self.folder)

    def some(self, data: st.DataObject, space: str) -> str | None:
        return data.draw(st.sampled_from(self.ids[space])) if self.ids[space] else None

    @rule(
        space=st.sampled_from(SPACES),
        who=PEOPLE,
        where=PLACES,
        moved=st.booleans(),
        ttl=st.sampled_from([None, "1h", "2d"]),
        key=st.sampled_from([None, None, "maison"]),
    )
    def remember(
        self, space: str, who: str, where: str, moved: bool, ttl: str | None, key: str | None
    ) -> None:
        said = f"{who} {'a déménagé' if moved else 'habite'} à {where} ({space})"
        done = self.hippo.remember(said, scope=Scope(space=space), ttl=ttl, key=key)
        self.ids[space].append(done.memory.id)
        for old in done.replaced:
            kept = self.hippo.history(done.memory.id, scope=Scope(space=space)).versions
            assert old in {version.id for version in kept}
            assert self.hippo.get(old, scope=Scope(space=space)).superseded_by == done.memory.id

    @rule(space=st.sampled_from(SPACES), where=PLACES)
    def talk(self, space: str, where: str) -> None:
        scope = Scope(space=space, user="dev", channel="lobby")
        self.hippo.after_turn(f"on va à {where} ({space}) ?", "oui", scope=scope)
        assert self.hippo.observe(f"vus à {where} ({space})", scope=scope)

    @rule(space=st.sampled_from(SPACES))
    def digest(self, space: str) -> None:
        done = self.hippo.digest(scope=Scope(space=space))
        assert done.turns == done.messages
        assert not self.hippo.stats(scope=Scope(space=space)).live

    @rule(space=st.sampled_from(SPACES))
    def compact(self, space: str) -> None:
        done = self.hippo.compact(scope=Scope(space=space, channel="lobby"))
        assert all(f"({space})" in each.content for each in done.summaries)
        assert bool(done.messages) == bool(done.summaries)

    @rule(space=st.sampled_from(SPACES))
    def run_jobs(self, space: str) -> None:
        for run in self.hippo.run_jobs(scope=Scope(space=space)):
            assert (run.space, run.state) == (space, "done")

    @rule(
        space=st.sampled_from(SPACES), data=st.data(), verb=st.sampled_from(["delete", "restore"])
    )
    def turn_over(self, space: str, data: st.DataObject, verb: str) -> None:
        id = self.some(data, space)
        if id is None:
            return
        scope = Scope(space=space)
        try:
            if verb == "delete":
                self.hippo.delete(id, scope=scope, reason="essai")
            else:
                assert self.hippo.restore(id, scope=scope).current
        except (NotFound, InvalidInput):
            return

    @rule(space=st.sampled_from(SPACES), data=st.data(), where=PLACES)
    def edit(self, space: str, data: st.DataObject, where: str) -> None:
        id = self.some(data, space)
        try:
            if id is not None:
                said = f"quelqu'un campe à {where} ({space})"
                self.hippo.edit(id, scope=Scope(space=space), content=said)
        except NotFound:
            return

    @rule(space=st.sampled_from(SPACES), where=PLACES)
    def forget(self, space: str, where: str) -> None:
        self.hippo.forget(where, scope=Scope(space=space))

    @rule(space=st.sampled_from(SPACES), data=st.data())
    def erase(self, space: str, data: st.DataObject) -> None:
        id = self.some(data, space)
        if id is not None and id not in self.erased:
            gone = set(self.hippo.erase(scope=Scope(space=space), id=id).ids)
            self.erased |= gone
            self.ids[space] = [each for each in self.ids[space] if each not in gone]

    @rule(hours=st.sampled_from([1, 30]))
    def wait(self, hours: int) -> None:
        self.clock.advance(hours=hours)
        for space in SPACES:
            self.hippo.expire(scope=Scope(space=space))

    @rule()
    def reopen(self) -> None:
        self.hippo.close()
        self.hippo = self.opened()

    @rule()
    def reindex(self) -> None:
        self.hippo.reindex()

    @rule(space=st.sampled_from(SPACES), where=PLACES, mode=st.sampled_from(["hybrid", "text"]))
    def recall(self, space: str, where: str, mode: str) -> None:
        now = self.clock.now
        for item in self.hippo.recall(
            f"qui est à {where} ?", scope=Scope(space=space), mode=mode, collections=EVERYWHERE
        ):
            assert f"({space})" in item.content
            if item.memory is not None:
                assert item.memory.current
                assert item.memory.expires_at is None or item.memory.expires_at > now - timedelta(
                    seconds=1
                )

    @precondition(lambda self: hasattr(self, "hippo"))
    @invariant()
    def store_and_index_agree(self) -> None:
        checked = self.hippo.verify()
        assert checked.ok, checked

    @precondition(lambda self: hasattr(self, "hippo"))
    @invariant()
    def nothing_is_lost(self) -> None:
        for space in SPACES:
            for id in self.ids[space]:
                history = self.hippo.history(id, scope=Scope(space=space))
                assert id in {version.id for version in history.versions}
                for version in history.versions:
                    if version.superseded_by is not None:
                        assert version.superseded_at is not None
                        assert self.hippo.get(version.superseded_by, scope=Scope(space=space))
            keyed = [m.key for m in self.hippo.facts(scope=Scope(space=space)).values()]
            assert len(keyed) == len(set(keyed))


def test_no_sequence_of_verbs_breaks_what_holds(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    install(monkeypatch.setattr)
    monkeypatch.setattr(Machine, "root", tmp_path, raising=False)
    run_state_machine_as_test(
        Machine,
        settings=settings(
            max_examples=6,
            stateful_step_count=12,
            suppress_health_check=list(HealthCheck),
        ),
    )
