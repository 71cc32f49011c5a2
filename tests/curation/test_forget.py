"""Hiding and removing: receipts, what comes back, and what is physically nowhere."""

import gc
import signal
import sqlite3
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from children import child
from conftest import FakeClock, Opener
from hippocampe import Hippocampe, Recollection, Scope
from hippocampe.curation.erase import ERASING
from hippocampe.errors import InvalidInput, NotFound, StoreBusy, StoreFull
from hippocampe.index.edge import EdgeIndex
from hippocampe.retrieval import about
from hippocampe.store import audits, meta
from hippocampe.store.store import Store

EVERYWHERE = ("memory", "self", "goal", "summary", "turn", "live")


def found(hippo: Hippocampe, query: str, scope: Scope) -> set[str]:
    items = hippo.recall(query, scope=scope, mode="text", collections=EVERYWHERE, limit=100)
    return {item.content for item in items}


@pytest.fixture
def told(hippo: Hippocampe, scope: Scope) -> Hippocampe:
    hippo.remember("Mickael a acheté un canapé vert", scope=scope, subjects=["mickael"])
    hippo.set_fact("couleur_du_canape", "vert bouteille", scope=scope)
    hippo.after_turn("Le canapé est arrivé !", "Superbe canapé.", scope=scope)
    hippo.observe("on livre le canapé demain", scope=scope)
    hippo.remember("Camille élève des abeilles", scope=scope, subjects=["camille"])
    hippo.after_turn("Les abeilles dorment", "Au printemps alors.", scope=scope)
    return hippo


# Forgetting


def test_a_dry_run_says_and_changes_nothing(told: Hippocampe, scope: Scope) -> None:
    before = told.stats(scope=scope)
    receipt = told.forget("le canapé", scope=scope, dry_run=True)
    assert receipt.dry_run
    assert {"memory": 1, "fact": 1, "turn": 1, "live": 1}.items() <= receipt.counts.items()
    assert len(receipt.ids) == len(receipt.items) == sum(receipt.counts.values())
    assert told.stats(scope=scope) == before
    assert len(found(told, "canapé", scope)) >= 3


def test_a_topic_is_hidden_everywhere(told: Hippocampe, scope: Scope) -> None:
    dry = told.forget("le canapé", scope=scope, dry_run=True)
    receipt = told.forget("le canapé", scope=scope)
    assert (receipt.counts, set(receipt.ids)) == (dry.counts, set(dry.ids))
    assert found(told, "canapé", scope) == set()
    assert told.facts(scope=scope) == {}
    assert told.search_text("canapé", scope=Scope()) == []
    assert "Camille élève des abeilles" in found(told, "abeilles", scope)
    assert told.verify().ok
    assert told.forget("le canapé", scope=scope).ids == ()


def test_the_words_of_a_forgotten_turn_are_hidden(told: Hippocampe, scope: Scope) -> None:
    told.forget("le canapé", scope=scope)
    shown = {message.content for message in told.search_text("canapé", scope=scope)}
    assert "Le canapé est arrivé !" not in shown


def test_what_a_digest_took_meanwhile_is_hidden_too(
    told: Hippocampe, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    find = about.find

    def then_digested(*given: Any, **more: Any) -> Any:
        items = find(*given, **more)
        assert told.digest(scope=scope).messages == 1
        return items

    monkeypatch.setattr(about, "find", then_digested)
    told.forget("canapé", scope=scope)
    assert not any("canapé" in each for each in found(told, "canapé livre demain", scope))
    assert told.verify().ok


def test_what_was_forgotten_comes_back(told: Hippocampe, scope: Scope) -> None:
    receipt = told.forget("le canapé", scope=scope)
    memories = [item for item in receipt.items if item.memory]
    assert {told.get(item.id, scope=scope).forgotten_reason for item in memories} == {
        "forgotten: le canapé"
    }
    for item in memories:
        told.restore(item.id, scope=scope)
    assert "Mickael a acheté un canapé vert" in found(told, "canapé", scope)
    assert set(told.facts(scope=scope)) == {"couleur_du_canape"}
    assert told.verify().ok


def test_a_forgotten_turn_comes_back(told: Hippocampe, scope: Scope) -> None:
    before = found(told, "canapé", scope)
    receipt = told.forget("le canapé", scope=scope)
    turns = [item for item in receipt.items if item.kind == "turn"]
    assert turns
    for item in turns:
        with pytest.raises(NotFound):
            told.restore(item.id, scope=Scope(space="ailleurs"))
        back = told.restore(item.id, scope=scope)
        assert (back.id, back.content) == (item.id, item.content)
        with pytest.raises(InvalidInput, match="not forgotten"):
            told.restore(item.id, scope=scope)
    assert found(told, "canapé", scope) == before & {item.content for item in turns}
    shown = {message.content for message in told.search_text("canapé", scope=scope)}
    assert "Le canapé est arrivé !" in shown
    assert told.verify().ok


def test_forgetting_stays_in_its_space(told: Hippocampe, scope: Scope) -> None:
    there = Scope(space="ailleurs")
    assert told.forget("le canapé", scope=there).ids == ()
    assert len(found(told, "canapé", scope)) >= 3


def test_a_topic_nobody_spoke_of(told: Hippocampe, scope: Scope) -> None:
    assert told.forget("la thermodynamique des trous noirs", scope=scope).ids == ()


@pytest.mark.parametrize(
    ("said", "word"),
    [("J'ai eu une amende pour excès de vitesse", "amende"), ("I failed my swimming exam", "exam")],
)
def test_a_turn_is_deleted_by_its_id_and_restored(
    hippo: Hippocampe, scope: Scope, said: str, word: str
) -> None:
    kept = hippo.after_turn("On mange des lasagnes ce soir", "Bon appétit !", scope=scope)
    turn = hippo.after_turn(said, "Oh !", scope=scope)
    deleted = hippo.delete(turn, scope=scope, reason="said by mistake")
    assert isinstance(deleted, Recollection)
    assert (deleted.id, deleted.kind) == (turn, "turn")
    assert not hippo.search_text(word, scope=scope)
    found = hippo.recall(said, scope=scope, collections=["turn"])
    assert [each.id for each in found] == [kept]
    assert hippo.audit(scope=scope)[0].action == "delete_turn"
    with pytest.raises(NotFound, match="forgotten already"):
        hippo.delete(turn, scope=scope, reason="again")
    hippo.restore(turn, scope=scope)
    assert hippo.search_text(word, scope=scope)
    assert hippo.recall(said, scope=scope, collections=["turn"])[0].id == turn
    with pytest.raises(NotFound):
        hippo.delete(turn, scope=Scope(space="ailleurs"), reason="elsewhere")


# Expiring


def test_what_is_over_is_hidden_and_kept(hippo: Hippocampe, scope: Scope, clock: FakeClock) -> None:
    short = hippo.remember("Owen dort chez Camille", scope=scope, ttl="1h").memory
    hippo.remember("Owen a un voilier", scope=scope, ttl="7d")
    elsewhere = Scope(space="ailleurs")
    hippo.remember("Nora dort chez Iris", scope=elsewhere, ttl="1h")
    assert hippo.expire(scope=scope).ids == ()
    clock.advance(hours=2)
    receipt = hippo.expire(scope=scope)
    assert (receipt.ids, receipt.counts) == ((short.id,), {"memory": 1})
    hidden = hippo.get(short.id, scope=scope)
    assert (hidden.forgotten_reason, hidden.forgotten_at) == ("expired", short.expires_at)
    assert hippo.expire(scope=scope).ids == ()
    assert hippo.expire(scope=elsewhere).counts == {"memory": 1}
    assert hippo.verify().ok


# Erasing


def test_an_erasure_that_fails_changes_nothing(
    told: Hippocampe, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    before, seen = told.stats(scope=scope), found(told, "Mickael", scope)
    assert seen

    def full(*_: object) -> None:
        raise StoreFull("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(audits, "add", full)
        with pytest.raises(StoreFull):
            told.erase(subject="Mickael", scope=scope)
    assert told.stats(scope=scope) == before
    assert found(told, "Mickael", scope) == seen
    assert told.verify().ok
    told.erase(subject="Mickael", scope=scope)
    assert found(told, "Mickael", scope) == set()


def test_keys_tags_and_reasons_tell_a_subject_too(hippo: Hippocampe, scope: Scope) -> None:
    hippo.set_fact("sieste_de_filou", "après le repas", scope=scope)
    tagged = hippo.remember("Il dort toute la journée", scope=scope, subjects=["Filou le Chat"])
    kept = hippo.remember("Camille élève des abeilles", scope=scope)
    other = hippo.remember("Camille lit le soir", scope=scope)
    hippo.associate(
        kept.memory.id, other.memory.id, "related_to", scope=scope, reason="vu avec Filou"
    )
    gone = hippo.remember("Camille range le garage", scope=scope)
    hippo.delete(gone.memory.id, scope=scope, reason="à cause de Filou")
    receipt = hippo.erase(subject="Filou", scope=scope)
    assert receipt.counts["memory"] == 2
    assert tagged.memory.id in receipt.ids
    _, edges = hippo.neighbours(kept.memory.id, scope=scope)
    ends = {kept.memory.id, other.memory.id}
    assert [e.reason for e in edges if {e.source_id, e.target_id} == ends] == [None]
    assert hippo.get(gone.memory.id, scope=scope).forgotten_reason is None
    assert hippo.verify(absent=["Filou"]).ok
    hippo.remember("Mon_projet avance bien", scope=scope)
    assert hippo.erase(subject="mon_projet", scope=scope).counts["memory"] == 1


def test_a_subject_is_no_common_word(hippo: Hippocampe, scope: Scope) -> None:
    common = (
        *("La rose du jardin a gelé", "le vin rose est au frais", "l'eau est claire"),
        "la vitesse max est 100",
    )
    for said in common:
        hippo.remember(said, scope=scope)
        hippo.after_turn(f"tu sais, {said[0].lower()}{said[1:]}", "D'accord.", scope=scope)
    hers = [
        hippo.remember("Rose est ma voisine", scope=scope).memory.id,
        hippo.remember("elle peint la nuit", scope=scope, subjects=["rose"]).memory.id,
        hippo.remember("rosie = rose", scope=scope).memory.id,
    ]
    turn = hippo.after_turn("j'ai vu ROSE hier", "Comment va-t-elle ?", scope=scope)
    for asked in ("Rose", "rose"):
        planned = hippo.erase(subject=asked, scope=scope, dry_run=True)
        assert {item.id: item.matched for item in planned.items if item.kind != "message"} == {
            hers[0]: ("name",),
            hers[1]: ("tag",),
            hers[2]: ("alias",),
            turn: ("name",),
        }
    assert planned.counts == {"memory": 3, "turn": 1, "message": 2}
    for asked in ("Max", "Claire"):
        assert hippo.erase(subject=asked, scope=scope, dry_run=True).ids == ()
    hippo.erase(subject="Rose", scope=scope)
    assert {memory.content for memory in hippo.recent(scope=scope)} == set(common)


def test_a_receipt_lists_what_goes_and_why(
    hippo: Hippocampe, scope: Scope, clock: FakeClock
) -> None:
    old = hippo.remember("Zéphyrine habite à Pau", scope=scope, subjects=["zephyrine"]).memory
    letter = hippo.remember("La rivière monte", scope=scope, source="lettre de Zéphyrine").memory
    fact = hippo.set_fact("chat_de_zephyrine", "Filou", scope=scope).memory
    clock.advance(hours=1)
    turn = hippo.after_turn("Salut Zéphyrine", "Bonjour !", scope=scope)
    receipt = hippo.erase(subject="Zéphyrine", scope=scope, dry_run=True)
    said = {message.content: message for message in hippo.messages(scope=scope)}
    assert [(item.id, item.content, item.at, item.matched) for item in receipt.items] == [
        (old.id, old.content, old.created_at, ("name", "tag")),
        (letter.id, letter.content, letter.created_at, ("source",)),
        (fact.id, fact.content, fact.created_at, ("key",)),
        (turn, "Salut Zéphyrine\nassistant: Bonjour !", said["Bonjour !"].at, ("name",)),
        *(
            (message.id, message.content, message.at, matched)
            for message, matched in (
                (said["Salut Zéphyrine"], ("name",)),
                (said["Bonjour !"], ("turn",)),
            )
        ),
    ]
    assert hippo.erase(subject="Zéphyrine", scope=scope).items == receipt.items


def test_what_forgetting_matched(told: Hippocampe, scope: Scope) -> None:
    receipt = told.forget("le canapé", scope=scope, dry_run=True)
    assert all(len(set(item.matched)) == len(item.matched) for item in receipt.items)
    matched = {item.content: set(item.matched) for item in receipt.items}
    assert "words" in matched["on livre le canapé demain"]
    assert "key" in matched["vert bouteille"]
    assert all(found <= {"meaning", "words", "key"} for found in matched.values())


def test_a_setting_that_names_an_erased_subject_is_reported(
    hippo: Hippocampe, scope: Scope
) -> None:
    hippo.update_settings(scope=scope, companion_names=["eko", "Zéphyrine"])
    hippo.remember("Zéphyrine habite à Pau", scope=scope)
    assert hippo.erase(subject="zephyrine", scope=scope).settings == ("companion_names",)
    assert hippo.settings(scope=scope).companion_names == ("eko", "Zéphyrine")
    checked = hippo.verify(absent=["Zéphyrine", "Pau"])
    assert not checked.ok
    places = checked.present["Zéphyrine"]
    assert places[0] == "setting companion_names of space default"
    assert "hippocampe.db" in places[1]
    assert "Pau" not in checked.present
    hippo.update_settings(scope=scope, companion_names=["eko"])
    assert hippo.erase(subject="zephyrine", scope=scope).settings == ()
    assert hippo.verify(absent=["Zéphyrine"]).ok


def test_json_escaped_by_earlier_versions_is_found(hippo: Hippocampe, folder: Path) -> None:
    (folder / "old.db").write_bytes(rb'["Z\u00e9phyrine"]')
    for form in ("Zéphyrine", "zéphyrine", "ZÉPHYRINE"):
        assert hippo.verify(absent=[form]).present == {form: ("old.db",)}


def test_what_a_killed_backup_left_is_erased(hippo: Hippocampe, scope: Scope, folder: Path) -> None:
    hippo.remember("Zéphyrine habite à Pau", scope=scope)
    copy = hippo.backup()
    copy.rename(copy.with_suffix(".partial"))
    copy.with_suffix(".partial-journal").write_text("Zéphyrine")
    hippo.erase(subject="Zéphyrine", scope=scope)
    assert hippo.verify(absent=["Zéphyrine"]).ok
    assert list((folder / "backups").iterdir()) == []


@pytest.mark.parametrize("damage", [b"Z\xc3\xa9phyrine, no database", None])
def test_a_damaged_backup_keeps_nothing_from_being_erased(
    hippo: Hippocampe,
    scope: Scope,
    folder: Path,
    caplog: pytest.LogCaptureFixture,
    damage: bytes | None,
) -> None:
    hippo.remember("Zéphyrine habite à Pau", scope=scope)
    copy = hippo.backup()
    sound = copy.read_bytes()
    (folder / "backups" / "sound.db").write_bytes(sound)
    copy.write_bytes(sound[: len(sound) // 2] if damage is None else damage)
    copy.with_name(f"{copy.name}-wal").write_text("Zéphyrine")
    (folder / "backups" / "folder.db").mkdir()
    hippo.erase(subject="Zéphyrine", scope=scope)
    assert hippo.verify(absent=["Zéphyrine"]).ok
    assert {each.name for each in (folder / "backups").iterdir()} == {"sound.db", "folder.db"}
    assert caplog.text.count("is damaged, so that nothing can be erased from it") == 1


def test_a_backup_that_another_program_reads_is_named(
    hippo: Hippocampe, scope: Scope, folder: Path
) -> None:
    hippo.remember("Zephyrine lives in Pau", scope=scope)
    copy = hippo.backup()
    with closing(sqlite3.connect(copy, isolation_level=None)) as reader:
        reader.execute("BEGIN")
        reader.execute("SELECT content FROM memory").fetchone()
        with pytest.raises(StoreBusy, match=f"nothing was erased: .* the backup {copy}"):
            hippo.erase(subject="Zephyrine", scope=scope)
        assert hippo.recent(scope=scope)
    hippo.erase(subject="Zephyrine", scope=scope)
    assert hippo.verify(absent=["Zephyrine"]).ok


def test_words_erased_while_a_text_is_embedded_are_stored_with_it(
    open_hippo: Opener, scope: Scope
) -> None:
    hippo = open_hippo()
    context = hippo._context
    old = hippo.remember("Zéphyrine cultive des topinambours", scope=scope).memory
    lexicon = context.corpus.vocabulary
    content = "Camille cuit des topinambours avec Zéphyrine"
    before = lexicon.vectors_of(ids := lexicon.ids(["topinambours", "zephyrine"]))[ids]
    first, second = context.corpus.vocabulary.prepare([content, "les topinambours"])
    hippo.erase(id=old.id, scope=scope)
    assert lexicon.unknown(["topinambours", "zephyrine"]) == ["topinambours", "zephyrine"]
    with context.writer.change() as change:
        stored = [change.embedded(each).words.tolist() for each in (second, first)]
    assert stored == [lexicon.ids(each.words).tolist() for each in (second, first)]
    assert [len(words) for words in stored] == [len(second.words), len(first.words)]
    after = lexicon.vectors_of(ids := lexicon.ids(["topinambours", "zephyrine"]))[ids]
    assert (before == after).all()


def generations(folder: Path) -> set[str]:
    return {f"{path.parent.name}/{path.name}" for path in (folder / "index").glob("*/*/*")}


def test_only_the_kinds_that_held_it_are_built_again(
    told: Hippocampe, scope: Scope, folder: Path
) -> None:
    hippo = told
    before = generations(folder)
    id = hippo.messages(scope=scope)[0].id
    assert hippo.erase(id=id, scope=scope).counts["turn"] == 1
    assert {name.split("/")[0] for name in before - generations(folder)} == {"turn"}
    assert hippo.verify().ok


@pytest.mark.parametrize("removed", ["delete", "delete_fact", "forget", "erase"])
def test_no_channel_repeats_a_reminder_of_what_was_removed(
    hippo: Hippocampe, scope: Scope, removed: str
) -> None:
    boat = hippo.set_fact("boat", "Le bateau de Zoé est à Pau", scope=scope).memory
    given = hippo.before_turn("Où est le bateau de Zoé ?", scope=scope)
    hippo.channels.channel(scope).remind("one", given.text, given.tokens, hippo.now())
    assert "bateau de Zoé est à Pau" in hippo.channels.channel(scope).reminders["one"].text
    if removed == "delete":
        hippo.delete(boat.id, scope=scope, reason="faux")
    elif removed == "delete_fact":
        hippo.delete_fact("boat", scope=scope)
    elif removed == "forget":
        hippo.forget("le bateau de Zoé", scope=scope)
    else:
        hippo.erase(id=boat.id, scope=scope)
    assert not hippo.channels.channel(scope).reminders


def test_an_erasure_says_what_takes_its_time(told: Hippocampe, scope: Scope) -> None:
    said = list[tuple[str, int, int]]()
    id = told.recent(1, scope=scope)[0].id
    told.erase(id=id, scope=scope, progress=lambda *each: said.append(each))
    left = len(told.recent(100, scope=scope))
    assert said == [("indexing memory", left, left)]


def test_others_write_while_the_index_is_built_again(
    told: Hippocampe, scope: Scope, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hippo = told
    build, written = EdgeIndex.build, list[str]()

    def building(*given: Any, **named: Any) -> int:
        with ThreadPoolExecutor(1) as other:
            done = other.submit(hippo.remember, "Owen répare une horloge", scope=scope)
            written.append(done.result(timeout=60).memory.id)
        return build(*given, **named)

    monkeypatch.setattr(EdgeIndex, "build", staticmethod(building))
    hippo.erase(subject="Camille", scope=scope)
    assert written
    assert "Owen répare une horloge" in found(hippo, "horloge", scope)
    assert found(hippo, "Camille", scope) == set()
    assert hippo.verify(absent=["Camille"]).ok


def holders(word: str) -> list[str]:
    """The objects of this process with a text that contains a word."""
    gc.collect()
    # No comprehension: the cell of its variable would be one of them.
    found: list[str] = []
    for each in gc.get_objects():
        if _contains(each, word):
            found.append(type(each).__name__)
    return found


def _contains(holder: object, word: str) -> bool:
    """Return whether an object has such a text, itself or in parts that the collector does not know."""
    for part in gc.get_referents(holder):
        match part:
            case str():
                if word in part.lower():
                    return True
            case tuple() | dict():
                if not gc.is_tracked(part) and _contains(part, word):
                    return True
            case _:
                pass
    return False


def test_erased_texts_leave_the_memory_of_the_process(
    hashed: None, open_hippo: Opener, scope: Scope
) -> None:
    hippo = open_hippo(embedder="hashed:64")
    # Not a constant, which the code of this test would hold.
    word = "".join(reversed("anglibroz"))
    hippo.remember(f"My cat {word.title()} sleeps in Lyon", scope=scope, subjects=[word])
    hippo.remember(f"My cat {word.title()} sleeps in Paris now", scope=scope)
    hippo.remember(f"I am called {word.title()}", scope=scope, type="identity", importance=1)
    hippo.remember(f"dev = {word.title()}", scope=scope)
    hippo.set_fact("cat", word, scope=scope)
    hippo.recall(f"where is {word}?", scope=scope, subjects=[word])
    hippo.search_text(word, scope=scope)
    hippo.about(word, scope=scope)
    for message in ("hello", f"where is {word.title()}'s cat?"):
        hippo.before_turn(message, scope=scope)
        hippo.after_turn(message, f"{word} sleeps", scope=scope)
    assert len(holders(word)) > 20
    hippo.erase(whole_space=True, scope=scope)
    assert holders(word) == []


NAME = "Zéphyrine"
FORMS = ("Zéphyrine", "zephyrine", "ZÉPHYRINE", "Zephyrine")


def fill(hippo: Hippocampe, scope: Scope, clock: FakeClock) -> None:
    """A name in every place that holds words."""
    her = Scope(user="zephyrine", channel="lobby")
    hippo.remember("Zéphyrine habite à Pau", scope=scope, subjects=["zephyrine"])
    hippo.remember("La rivière monte", scope=scope, source="lettre de Zéphyrine")
    hippo.remember("Zéphyrine a déménagé à Tarbes", scope=scope)
    hippo.remember("zeph = Zéphyrine", scope=scope)
    hippo.set_fact("voisine", "Zéphyrine", scope=scope)
    gone = hippo.remember("Zéphyrine chante faux", scope=scope).memory
    hippo.delete(gone.id, scope=scope, reason="pas gentil")
    edited = hippo.remember("Zéphyrine danse", scope=scope).memory
    hippo.backup()
    clock.advance(minutes=1)
    hippo.edit(edited.id, scope=scope, content="la voisine danse", subjects=[])
    hippo.after_turn("Salut Zéphyrine", "Bonjour Zéphyrine !", scope=her)
    hippo.observe("Zéphyrine arrive", scope=her)
    hippo.remember("Camille élève des abeilles", scope=scope)
    hippo.after_turn("Les abeilles dorment", "Au printemps.", scope=scope)
    hippo.remember("Zéphyrine est une fée", scope=Scope(space="ailleurs"))
    hippo.flush()
    hippo.backup()
    hippo.recall("Zéphyrine", scope=scope, collections=EVERYWHERE)


def used(path: Path) -> bytes:
    """The content of a file without its blocks of zeros, which are most of an index."""
    zeros = bytes(65536)
    with path.open("rb") as file:
        return b"".join(
            block for block in iter(lambda: file.read(len(zeros)), b"") if block != zeros
        )


def bytes_hold(folder: Path, forms: tuple[str, ...]) -> list[str]:
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return [
        f"{path.relative_to(folder)}: {form}"
        for path, content in ((path, used(path)) for path in files)
        for form in forms
        if form.encode() in content
    ]


def test_a_subject_is_erased_from_every_file(
    hippo: Hippocampe, scope: Scope, folder: Path, clock: FakeClock
) -> None:
    fill(hippo, scope, clock)
    hippo.erase(scope=Scope(space="ailleurs"), subject=NAME)
    assert not hippo.verify(absent=[NAME]).ok
    dry = hippo.erase(scope=scope, subject=NAME, dry_run=True)
    assert not hippo.verify(absent=[NAME]).ok
    receipt = hippo.erase(scope=scope, subject=NAME)
    assert receipt.counts == dry.counts
    assert receipt.counts["memory"] >= 5
    assert receipt.counts["turn"] == 1
    assert receipt.counts["message"] == 3
    checked = hippo.verify(absent=list(FORMS))
    assert checked.ok, checked
    assert bytes_hold(folder, FORMS) == []
    assert found(hippo, "abeilles", scope) == {
        "Camille élève des abeilles",
        "Les abeilles dorment\nassistant: Au printemps.",
    }
    hippo.close()
    assert bytes_hold(folder, FORMS) == []


def test_erasing_survives_reopening(
    open_hippo: Opener, scope: Scope, folder: Path, clock: FakeClock
) -> None:
    hippo = open_hippo()
    fill(hippo, scope, clock)
    for space in ("default", "ailleurs"):
        hippo.erase(scope=Scope(space=space), subject=NAME)
    hippo.close()
    again = open_hippo()
    assert again.verify(absent=list(FORMS)).ok
    assert again.remember("Camille élève des abeilles", scope=scope).action == "reinforced"
    assert found(again, "abeilles", scope) >= {"Camille élève des abeilles"}


KILLED = """
import os, signal
from hippocampe.engine import generations
from hippocampe.store import audits, outbox
from hippocampe.store.store import Store
def die(*_, **__):
    os.kill(os.getpid(), signal.SIGKILL)
hippo = Hippocampe.open(Config(folder, background=False))
setattr(*{"backup": (Store, "scrub"), "rows": (audits, "add"),
          "index": (generations, "new_generation"), "pages": (outbox, "remove")}[sys.argv[2]], die)
hippo.erase(subject=sys.argv[3], scope=scope)
"""


@pytest.mark.parametrize("at", ["backup", "rows", "index", "pages"])
def test_an_erasure_that_is_killed_is_finished_or_asked_for_again(
    open_hippo: Opener, scope: Scope, folder: Path, clock: FakeClock, at: str
) -> None:
    hippo = open_hippo()
    fill(hippo, scope, clock)
    hippo.erase(scope=Scope(space="ailleurs"), subject=NAME)
    hippo.close()
    with child(KILLED, folder, at, NAME) as killed:
        assert killed.wait() == -signal.SIGKILL
    again = open_hippo()
    if at in ("backup", "rows"):
        assert "Zéphyrine a déménagé à Tarbes" in found(again, NAME, scope)
        again.erase(scope=scope, subject=NAME)
    assert again.verify(absent=list(FORMS)).ok
    again.close()
    assert bytes_hold(folder, FORMS) == []


def test_an_erasure_that_cannot_be_finished_keeps_nobody_out(
    open_hippo: Opener,
    scope: Scope,
    folder: Path,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    hippo = open_hippo()
    fill(hippo, scope, clock)
    hippo.erase(scope=Scope(space="ailleurs"), subject=NAME)

    scrub = Store.scrub

    def full(store: Store) -> None:
        if store.folder == folder:
            raise StoreFull("the disk is full")
        scrub(store)

    with monkeypatch.context() as patched:
        patched.setattr(Store, "scrub", full)
        with pytest.raises(StoreFull):
            hippo.erase(scope=scope, subject=NAME)
    hippo.close()
    with monkeypatch.context() as patched:
        patched.setattr(Store, "scrub", full)
        again = open_hippo()
        assert "Camille élève des abeilles" in found(again, "abeilles", scope)
    assert "the erasure is not finished" in caplog.text
    again.close()
    assert open_hippo().verify(absent=list(FORMS)).ok
    assert bytes_hold(folder, FORMS) == []


def test_an_erasure_that_was_not_finished_is_by_the_next_of_the_same_id(
    hippo: Hippocampe, scope: Scope, monkeypatch: pytest.MonkeyPatch
) -> None:
    id = hippo.remember("Zéphyrine élève des abeilles", scope=scope).memory.id

    def full(_: Store) -> None:
        raise StoreFull("the disk is full")

    with monkeypatch.context() as patched:
        patched.setattr(Store, "scrub", full)
        with pytest.raises(StoreFull, match="erased, and not found any more"):
            hippo.erase(id=id, scope=scope)
    with pytest.raises(NotFound, match="or it is erased already"):
        hippo.erase(id=id, scope=scope)
    with hippo._context.corpus.store.read() as connection:  # pyright: ignore[reportPrivateUsage]
        assert not meta.get(connection, ERASING)
    assert hippo.verify(absent=["Zéphyrine"]).ok


def test_a_memory_is_erased_with_its_versions(
    hippo: Hippocampe, scope: Scope, folder: Path
) -> None:
    old = hippo.remember("Zéphyrine habite à Pau", scope=scope).memory
    new = hippo.remember("Zéphyrine a déménagé à Tarbes", scope=scope).memory
    kept = hippo.remember("Camille élève des abeilles", scope=scope).memory
    hippo.associate(kept.id, new.id, "related_to", scope=scope)
    receipt = hippo.erase(scope=scope, id=new.id)
    assert set(receipt.ids) == {old.id, new.id}
    for id in receipt.ids:
        with pytest.raises(NotFound):
            hippo.get(id, scope=scope)
    assert hippo.history(kept.id, scope=scope).associations == ()
    assert bytes_hold(folder, (*FORMS, "Tarbes", "tarbes")) == []
    assert hippo.verify().ok


def test_a_user_with_the_name_of_an_erased_subject_is_reported(
    hippo: Hippocampe, scope: Scope
) -> None:
    her = Scope(user="zephyrine", channel="lobby")
    hippo.after_turn("I live in Quimper", "ok", scope=her)
    hippo.remember("Zéphyrine has a boat", scope=scope)
    assert hippo.erase(subject="Zéphyrine", scope=scope).users == ("zephyrine",)
    hippo.erase(user="zephyrine", scope=scope)
    assert hippo.erase(subject="Zéphyrine", scope=scope).users == ()


@pytest.mark.parametrize("by", ["id", "user", "whole_space"])
def test_the_words_of_an_edited_text_are_erased(
    hippo: Hippocampe, scope: Scope, folder: Path, by: str
) -> None:
    memory = hippo.remember("my flat is Kroz77", scope=scope, subjects=["Vaxholm"]).memory
    hippo.edit(memory.id, scope=scope, content="my flat is big", subjects=[])
    there = Scope(space="jardin")
    hippo.remember("my boat is big", scope=there)
    values = {"id": memory.id, "user": "dev", "whole_space": True}
    hippo.erase(scope=scope, **{by: values[by]})
    assert bytes_hold(folder, ("kroz77", "Kroz77", "vaxholm", "Vaxholm")) == []
    assert found(hippo, "big", there) == {"my boat is big"}
    assert hippo.verify().ok


def test_a_turn_is_erased_by_the_id_of_a_message(
    hippo: Hippocampe, scope: Scope, folder: Path, clock: FakeClock
) -> None:
    for said in ("un", "Zéphyrine ronfle", "trois"):
        hippo.after_turn(said, "bien", scope=scope)
        clock.advance(minutes=1)
    (message,) = hippo.search_text("ronfle", scope=scope)
    receipt = hippo.erase(scope=scope, id=message.id)
    assert receipt.counts == {"memory": 0, "turn": 1, "message": 2}
    assert [m.content for m in hippo.messages(scope=scope) if m.role == "user"] == ["un", "trois"]
    assert bytes_hold(folder, (*FORMS, "ronfle")) == []
    assert hippo.verify().ok


def test_a_user_is_erased(hippo: Hippocampe, scope: Scope, folder: Path, clock: FakeClock) -> None:
    her = Scope(user="zephyrine", channel="lobby")
    hippo.remember("je collectionne les cloches", scope=her)
    hippo.after_turn("j'ai une cloche neuve", "Bravo.", scope=her)
    hippo.observe("ding dong", scope=her)
    hippo.remember("Camille élève des abeilles", scope=scope)
    receipt = hippo.erase(scope=scope, user="zephyrine")
    assert receipt.counts == {"memory": 1, "turn": 1, "message": 3}
    assert bytes_hold(folder, ("zephyrine", "cloche", "ding dong")) == []
    assert found(hippo, "abeilles", scope) == {"Camille élève des abeilles"}
    assert hippo.verify().ok


def test_a_space_is_erased(hippo: Hippocampe, scope: Scope, folder: Path, clock: FakeClock) -> None:
    fill(hippo, scope, clock)
    there = Scope(space="jardin")
    hippo.remember("Nora plante des tulipes", scope=there)
    hippo.erase(scope=Scope(space="ailleurs"), whole_space=True)
    hippo.erase(scope=scope, whole_space=True)
    counted = hippo.stats(scope=scope)
    assert (counted.memories, counted.messages, counted.turns, counted.live) == ({}, 0, 0, 0)
    assert (counted.superseded, counted.forgotten, counted.reviews) == (0, 0, 0)
    assert bytes_hold(folder, (*FORMS, "abeilles")) == []
    assert found(hippo, "tulipes", there) == {"Nora plante des tulipes"}
    assert hippo.verify().ok
    hippo.remember("Camille élève des abeilles", scope=scope)
    assert found(hippo, "abeilles", scope) == {"Camille élève des abeilles"}


def test_nothing_of_another_space_is_erased(hippo: Hippocampe, scope: Scope) -> None:
    memory = hippo.remember("Camille élève des abeilles", scope=scope, subjects=["camille"]).memory
    there = Scope(space="ailleurs")
    with pytest.raises(NotFound):
        hippo.erase(scope=there, id=memory.id)
    for what in ({"user": "dev"}, {"subject": "camille"}, {"whole_space": True}):
        assert hippo.erase(scope=there, **what).ids == ()
    assert hippo.get(memory.id, scope=scope) == memory
    assert found(hippo, "abeilles", scope) == {memory.content}


@pytest.mark.parametrize(
    "what",
    [{}, {"user": "dev", "subject": "x"}, {"id": "x", "whole_space": True}, {"subject": "!"}],
)
def test_what_to_erase_is_said_exactly_once(
    told: Hippocampe, scope: Scope, what: dict[str, object]
) -> None:
    before = told.stats(scope=scope)
    with pytest.raises(InvalidInput):
        told.erase(scope=scope, **what)
    assert told.stats(scope=scope) == before


def test_a_backup_still_opens_after_an_erasure(
    open_hippo: Opener, scope: Scope, folder: Path, tmp_path: Path, clock: FakeClock
) -> None:
    hippo = open_hippo()
    fill(hippo, scope, clock)
    hippo.erase(scope=scope, subject=NAME)
    hippo.erase(scope=Scope(space="ailleurs"), subject=NAME)
    restored = tmp_path / "restored"
    restored.mkdir()
    newest = max((folder / "backups").glob("*.db"))
    newest.rename(restored / "hippocampe.db")
    again = open_hippo(restored)
    assert again.verify(absent=list(FORMS)).ok
    assert "Camille élève des abeilles" in found(again, "abeilles", scope)


def test_a_reason_keeps_no_secret(hippo: Hippocampe, scope: Scope, folder: Path) -> None:
    told = "mon mot de passe est Kraken99zz!"
    memory = hippo.remember(told, scope=scope).memory
    hippo.forget(told, scope=scope)
    (hidden,) = hippo.memories(scope=scope, state="forgotten").items
    assert hidden.forgotten_reason == "forgotten: mon mot de passe est [secret: password]"
    hippo.restore(memory.id, scope=scope)
    other = hippo.remember("Camille élève des abeilles", scope=scope).memory
    hippo.associate(memory.id, other.id, "related_to", scope=scope, reason=told)
    hippo.delete(memory.id, scope=scope, reason=told)
    hippo.set_fact("wifi_password", "Kraken99zz", scope=scope)
    assert hippo.facts(scope=scope)["wifi_password"].content == "[secret: password]"
    hidden = hippo.remember("Le portail grince", scope=scope, metadata={"digicode": "4821"}).memory
    assert hidden.metadata == {"digicode": "[secret: password]"}
    assert bytes_hold(folder, ("Kraken99zz", "kraken99zz")) == []


@pytest.mark.parametrize(
    ("topic", "own", "others"),
    [
        ("my old address", "I'm vegan, I live at 14 Alder Lane", "I live at 3 Mill Street"),
        ("mon adresse", "Je prends un pain, j'habite au 8 quai Voltaire", "J'habite rue Haute"),
        ("my mother's address", "deliver to my mother, 17 Mill Street", "I live at 14 Alder Lane"),
        ("l'adresse de ma mère", "livrez chez ma mère, 17 impasse du Moulin", "J'habite rue Haute"),
        ("my phone number", "you can call me at 07700 900431", "call me at 07700 900999"),
    ],
)
def test_a_kind_of_value_of_the_user_is_found_without_its_name_and_a_person_decides(
    hippo: Hippocampe, topic: str, own: str, others: str
) -> None:
    priya, tom = Scope(user="priya", channel="shop"), Scope(user="tom", channel="shop")
    hippo.after_turn(own, "ok", scope=priya)
    hippo.after_turn("It rains again", "ok", scope=priya)
    hippo.after_turn(others, "ok", scope=tom)
    [item] = hippo.forget(topic, scope=priya, dry_run=True).items
    assert item.content.startswith(own)
    assert about.UNCLEAR in item.matched


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("topic", "told"),
    [
        ("my debts", "I owe 3000 euros to the bank"),
        ("l'engueulade avec le chef", "je me suis engueulé avec le chef pour le planning"),
    ],
)
def test_the_reader_finds_a_topic_in_other_words(
    hippo: Hippocampe, scope: Scope, topic: str, told: str
) -> None:
    for each in (told, "my savings are 2300 euros", "I like cats", "Je joue du tuba"):
        hippo.remember(each, scope=scope)
    assert [each.content for each in hippo.forget(topic, scope=scope).items] == [told]


def test_each_thing_of_a_topic_is_forgotten(hippo: Hippocampe, scope: Scope) -> None:
    for each in ("My savings are 2300 euros", "My loan is 41,000 pounds", "I like cats"):
        hippo.remember(each, scope=scope)
    receipt = hippo.forget("my savings and the loan", scope=scope)
    assert {each.content for each in receipt.items} == {
        "My savings are 2300 euros",
        "My loan is 41,000 pounds",
    }
