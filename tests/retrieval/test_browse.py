"""Listing memories page by page, metadata, and the spaces, users and subjects there are."""

import json
from itertools import chain, count
from pathlib import Path
from typing import Any

import pytest

from conftest import FakeClock, Opener
from hippocampe import Hippocampe, Scope
from hippocampe.errors import InvalidInput
from hippocampe.types import Counts, Memory, Metadata, Order

HERE = Scope(user="dev", channel="lobby")
THINGS = ("tuba", "canoë", "four", "violon", "hamac", "sabre", "rideau", "moulin", "phare")


@pytest.fixture
def hippo(hashed: None, open_hippo: Opener) -> Hippocampe:
    return open_hippo(embedder="hashed:32")


def remember(hippo: Hippocampe, content: str, scope: Scope = HERE, **more: Any) -> Memory:
    return hippo.remember(content, scope=scope, **more).memory


def contents(hippo: Hippocampe, **filters: Any) -> list[str]:
    return [memory.content for memory in hippo.memories(scope=HERE, **filters).items]


class TestMetadata:
    def test_it_is_kept_in_every_view(self, hippo: Hippocampe) -> None:
        given: Metadata = {"source": "crm", "row": 3, "rate": 0.1, "paid": True, "note": None}
        memory = remember(hippo, "Zoé joue du tuba", metadata=given)
        assert memory.metadata == given
        assert hippo.get(memory.id, scope=HERE) == memory
        assert hippo.recent(scope=HERE)[0].metadata == given
        assert hippo.recall("tuba", scope=HERE)[0].memory == hippo.get(memory.id, scope=HERE)
        assert remember(hippo, "Le four est vide").metadata == {}

    def test_a_correction_keeps_what_is_not_given(self, hippo: Hippocampe) -> None:
        old = remember(hippo, "Zoé joue du tuba", metadata={"source": "crm", "row": 3})
        new = remember(hippo, "Zoé joue du cor", replaces=[old.id], metadata={"row": 4})
        assert new.metadata == {"source": "crm", "row": 4}
        versions = hippo.history(new.id, scope=HERE).versions
        assert [version.metadata["row"] for version in versions] == [3, 4]
        same = remember(hippo, "zoé joue du COR", metadata={"seen": True})
        assert (same.id, same.metadata) == (new.id, new.metadata | {"seen": True})

    def test_an_edit_replaces_all_pairs_or_none(self, hippo: Hippocampe) -> None:
        id = remember(hippo, "Zoé joue du tuba", metadata={"source": "crm", "row": 3}).id
        edited = hippo.edit(id, scope=HERE, content="Zoé joue du cor")
        assert edited.metadata == {"source": "crm", "row": 3}
        assert hippo.edit(id, scope=HERE, metadata={"row": 4}).metadata == {"row": 4}
        assert hippo.edit(id, scope=HERE, metadata={}).metadata == {}
        assert hippo.get(id, scope=HERE).metadata == {}

    def test_secrets_are_masked_or_refused(self, open_hippo: Opener, hippo: Hippocampe) -> None:
        secrets: Metadata = {"card": "4111 1111 1111 1111", "password": "hunter2", "shop": "nord"}
        id = remember(hippo, "Zoé a payé", metadata=secrets).id
        kept = hippo.get(id, scope=HERE).metadata
        assert kept == {
            "card": "[secret: card number]",
            "password": "[secret: password]",
            "shop": "nord",
        }
        edited = hippo.edit(id, scope=HERE, metadata={"card": "4111 1111 1111 1111"})
        assert edited.metadata == {"card": "[secret: card number]"}
        assert hippo.verify(absent=["4111 1111", "hunter2"]).ok

    @pytest.mark.parametrize(
        ("given", "says"),
        [
            ([("source", "crm")], "must be a mapping"),
            ("source", "must be a mapping"),
            ({3: "crm"}, "key must be text"),
            ({" ": "crm"}, "key is empty"),
            ({"k" * 201: "crm"}, "key is 201"),
            ({"source": ["crm"]}, "give a text"),
            ({"source": {"name": "crm"}}, "give a text"),
            ({"source": b"crm"}, "give a text"),
            ({"rate": float("nan")}, "finite"),
            ({"rate": float("inf")}, "finite"),
            ({"row": 2**63}, "64 bits"),
            ({"source": "a\ud800"}, "lone surrogate"),
            ({str(number): number for number in range(33)}, "33 keys"),
            ({"text": "é" * 2_100}, "4,096"),
        ],
    )
    def test_what_cannot_be_kept_is_refused(self, hippo: Hippocampe, given: Any, says: str) -> None:
        kept = remember(hippo, "Le four est vide", metadata={"row": 1})
        for act in (
            lambda: remember(hippo, "Zoé joue du tuba", metadata=given),
            lambda: hippo.edit(kept.id, scope=HERE, metadata=given),
            lambda: hippo.memories(scope=HERE, metadata=given),
            lambda: hippo.recall("four", scope=HERE, metadata=given),
        ):
            with pytest.raises(InvalidInput, match=says):
                act()
        assert hippo.memories(scope=HERE).items == (kept,)

    def test_a_filter_compares_value_and_type(self, hippo: Hippocampe) -> None:
        values = [1, True, "1", 1.0, 0, False, "", None, "True", 0.1, 2**63 - 1, 'à "l\'os" \\ \n']
        for number, value in enumerate(values):
            remember(hippo, f"sujet{number} parle", metadata={'clé "n"': value, "all": True})
        remember(hippo, "rien de plus")
        for number, value in enumerate(values):
            wanted = [f"sujet{number} parle"]
            asked: Metadata = {'clé "n"': value}
            assert contents(hippo, metadata=asked) == wanted
            assert contents(hippo, metadata=asked | {"all": True}) == wanted
            assert contents(hippo, metadata=asked | {"all": False}) == []
            found = hippo.recall("parle", scope=HERE, metadata=asked)
            assert [item.content for item in found] == wanted
        assert contents(hippo, metadata={"clé": 1}) == []
        assert len(contents(hippo, metadata={"all": True})) == len(values)
        assert len(contents(hippo, metadata={})) == len(values) + 1

    def test_recall_finds_a_match_that_ranks_last(self, hippo: Hippocampe) -> None:
        remember(hippo, "le tuba, un instrument parmi bien d'autres choses", metadata={"row": 7})
        for number in range(120):
            remember(hippo, f"le tuba {number}", scope=Scope(user="dev"))
        remember(hippo, "le tuba ailleurs", scope=Scope(space="other"), metadata={"row": 7})
        modes: tuple[Any, ...] = ("hybrid", "semantic", "text")
        for mode in modes:
            assert len(hippo.recall("le tuba", scope=HERE, mode=mode, limit=100)) == 100, mode
            (found,) = hippo.recall(
                "le tuba",
                scope=HERE,
                mode=mode,
                metadata={"row": 7},
                collections=["memory", "turn"],
            )
            assert found.content.startswith("le tuba, un instrument"), mode
            assert hippo.recall("le tuba", scope=HERE, mode=mode, metadata={"row": 8}) == [], mode

    def test_recall_follows_no_edge_out_of_the_filter(self, hippo: Hippocampe) -> None:
        tuba = remember(hippo, "Zoé joue du tuba", metadata={"row": 1})
        train = remember(hippo, "Le train part à huit heures", metadata={"row": 2})
        hippo.associate(tuba.id, train.id, "part_of", scope=HERE)
        found = hippo.recall("tuba", scope=HERE, metadata={"row": 1})
        assert [item.id for item in found] == [tuba.id]

    def test_an_export_brings_it_back(self, hippo: Hippocampe, tmp_path: Path) -> None:
        given: Metadata = {"source": "été", "row": 3, "paid": True}
        remember(hippo, "Zoé joue du tuba", metadata=given)
        hippo.export_to(tmp_path / "copy.jsonl", scope=HERE)
        copy = Scope(space="copy")
        assert hippo.import_from(tmp_path / "copy.jsonl", scope=copy).problems == ()
        (back,) = hippo.memories(scope=copy, metadata=given).items
        assert back.metadata == given

    def test_an_import_checks_and_masks_it(self, hippo: Hippocampe, tmp_path: Path) -> None:
        for thing in THINGS[:4]:
            remember(hippo, f"le {thing} est vendu", metadata={"thing": thing})
        path = tmp_path / "copy.jsonl"
        hippo.export_to(path, scope=HERE)
        head, *rows = map(json.loads, path.read_text().splitlines())
        rows[0]["metadata"] = {"card": "4111 1111 1111 1111"}
        rows[1]["metadata"] = {"nested": {}}
        del rows[2]["metadata"]
        kept = [row for row in rows if row["record"] == "memory"]
        path.write_text("\n".join(map(json.dumps, [head, *kept])))
        copy = Scope(space="copy")
        done = hippo.import_from(path, scope=copy)
        assert [line for line, _ in done.problems] == [3]
        found = hippo.memories(scope=copy, order="oldest").items
        assert [memory.metadata for memory in found] == [
            {"card": "[secret: card number]"},
            {},
            {"thing": "violon"},
        ]

    def test_an_erasure_takes_it_away(self, hippo: Hippocampe) -> None:
        id = remember(hippo, "Le contrat est signé", metadata={"client": "Zéphyrine"}).id
        assert hippo.verify(absent=["Zéphyrine"]).present.keys() == {"Zéphyrine"}
        hippo.edit(id, scope=HERE, content="Le contrat est rompu")
        assert hippo.erase(subject="Zéphyrine", scope=HERE).ids == (id,)
        assert hippo.verify(absent=["Zéphyrine"]).ok


class TestMemories:
    def test_filters(self, hippo: Hippocampe) -> None:
        remember(hippo, "Zoé vend son tuba", type="decision", subjects=["Tuba", "été"])
        remember(hippo, "le hamac sèche", Scope(user="ana", channel="phone"), type="event")
        remember(hippo, "je sais lire", collection="self", category="capability")
        remember(hippo, "ailleurs", Scope(space="other"))
        assert contents(hippo) == ["je sais lire", "le hamac sèche", "Zoé vend son tuba"]
        assert contents(hippo, collection="self") == ["je sais lire"]
        assert contents(hippo, category="capability") == ["je sais lire"]
        assert contents(hippo, types=["decision", "event"]) == contents(hippo, collection="memory")
        assert contents(hippo, types=[]) == []
        assert contents(hippo, subjects=["tuba"]) == ["Zoé vend son tuba"]
        assert contents(hippo, subjects=["ETE", "rien"]) == ["Zoé vend son tuba"]
        assert contents(hippo, user="ana") == ["le hamac sèche"]
        assert contents(hippo, channel="phone") == ["le hamac sèche"]
        assert contents(hippo, user="ana", channel="lobby") == []

    def test_times_are_those_of_learning(self, hippo: Hippocampe, clock: FakeClock) -> None:
        first = remember(hippo, "le four est vide", occurred_at="2020-01-01T00:00:00+00:00")
        clock.advance(days=1)
        second = remember(hippo, "le hamac sèche")
        assert contents(hippo, since=second.created_at) == ["le hamac sèche"]
        assert contents(hippo, until=second.created_at) == ["le four est vide"]
        assert contents(hippo, since=first.created_at, order="oldest") == [
            "le four est vide",
            "le hamac sèche",
        ]

    def test_states(self, hippo: Hippocampe, clock: FakeClock) -> None:
        old = remember(hippo, "Zoé joue du tuba")
        remember(hippo, "Zoé joue du cor", replaces=[old.id])
        remember(hippo, "le four chauffe", ttl="1h")
        gone = remember(hippo, "le hamac sèche")
        hippo.delete(gone.id, scope=HERE, reason="vendu")
        clock.advance(hours=2)
        states = {
            "current": ["Zoé joue du cor"],
            "superseded": ["Zoé joue du tuba"],
            "forgotten": ["le hamac sèche", "le four chauffe"],
        }
        for _ in range(2):
            for state, wanted in states.items():
                assert contents(hippo, state=state) == wanted
            assert sorted(contents(hippo, state="all")) == sorted(chain(*states.values()))
            hippo.expire(scope=HERE)

    def test_importance_comes_first_then_the_newest(self, hippo: Hippocampe) -> None:
        for number, importance in enumerate((0.5, 0.9, 0.5, 0.1)):
            remember(hippo, f"{THINGS[number]} est là", importance=importance)
        shown = [content.split()[0] for content in contents(hippo, order="importance")]
        assert shown == ["canoë", "four", "tuba", "violon"]

    def test_the_most_often_recalled_comes_first_then_the_newest(self, hippo: Hippocampe) -> None:
        for thing in THINGS[:4]:
            remember(hippo, f"{thing} est là")
        for asked in ("canoë", "canoë", "violon"):
            hippo.recall(asked, scope=HERE, limit=1)
        hippo.flush()
        shown = [content.split()[0] for content in contents(hippo, order="used")]
        assert shown == ["canoë", "violon", "four", "tuba"]

    def test_only_those_from_an_importance_on(self, hippo: Hippocampe) -> None:
        for number, importance in enumerate((0.5, 0.9, 0.8, 0.1)):
            remember(hippo, f"{THINGS[number]} est là", importance=importance)
        shown = contents(hippo, min_importance=0.8, order="importance")
        assert shown == ["canoë est là", "four est là"]
        assert len(contents(hippo, min_importance=0)) == 4
        first = hippo.memories(scope=HERE, min_importance=0.5, limit=1)
        with pytest.raises(InvalidInput, match="another query"):
            hippo.memories(scope=HERE, min_importance=0.6, limit=1, cursor=first.next_cursor)
        for wrong in (-0.1, 1.1, "0.5", True):
            with pytest.raises(InvalidInput, match="min_importance"):
                hippo.memories(scope=HERE, min_importance=wrong)  # type: ignore[arg-type]

    def test_numbered_pages_with_the_number_of_all(self, hippo: Hippocampe) -> None:
        for thing in THINGS[:4]:
            remember(hippo, f"le {thing} est là")
        whole = hippo.memories(scope=HERE)
        assert whole.total is None
        page = hippo.memories(scope=HERE, limit=2, skip=1, count=True)
        assert (page.items, page.total) == (whole.items[1:3], 4)
        after = hippo.memories(scope=HERE, cursor=page.next_cursor)
        assert after.items == whole.items[3:]
        assert hippo.memories(scope=HERE, skip=9, count=True).items == ()
        for wrong in (-1, 0.5, True):
            with pytest.raises(InvalidInput, match="skip"):
                hippo.memories(scope=HERE, skip=wrong)  # type: ignore[arg-type]
        hippo.delete(whole.items[3].id, scope=HERE, reason="sold")
        remember(hippo, "la barque est là", replaces=[whole.items[0].id])
        later = hippo.memories(scope=HERE, state="forgotten", count=True)
        assert later.total == 1
        assert later.states == {"current": 3, "superseded": 1, "forgotten": 1, "all": 5}

    def test_words_of_the_text_or_of_the_key(self, hippo: Hippocampe) -> None:
        remember(hippo, "Le canoë a 100 % de bois")
        remember(hippo, "Le four est là")
        hippo.set_fact("canoë_couleur", "rouge", scope=HERE)
        gone = remember(hippo, "Le tuba est là")
        hippo.delete(gone.id, scope=HERE, reason="vendu")
        assert set(contents(hippo, words="canoë")) == {"rouge", "Le canoë a 100 % de bois"}
        remember(hippo, "Émilie a une éolienne")
        assert contents(hippo, words="émilie ÉOLIENNE") == ["Émilie a une éolienne"]
        assert contents(hippo, words="LE bois") == ["Le canoë a 100 % de bois"]
        assert contents(hippo, words="%") == ["Le canoë a 100 % de bois"]
        assert contents(hippo, words="tuba") == []
        assert contents(hippo, words="tuba", state="forgotten") == ["Le tuba est là"]

    @pytest.mark.parametrize("order", ["newest", "oldest", "importance", "used"])
    def test_pages_neither_repeat_nor_skip(self, hippo: Hippocampe, order: Order) -> None:
        for number, thing in enumerate(THINGS):
            remember(hippo, f"le {thing} est là", importance=number % 3 / 3)
        whole = hippo.memories(scope=HERE, order=order)
        assert whole.next_cursor is None
        page = hippo.memories(scope=HERE, order=order, limit=2)
        seen = list(page.items)
        for step in count():
            # One goes that was shown, one comes at either end.
            hippo.delete(seen[-1].id, scope=HERE, reason="vendu")
            remember(hippo, f"nouveau {step} {'x' * step}", importance=step % 2)
            if page.next_cursor is None:
                break
            page = hippo.memories(scope=HERE, order=order, limit=2 + step, cursor=page.next_cursor)
            seen += page.items
        old = [memory.id for memory in seen if memory.content.startswith("le ")]
        assert old == [memory.id for memory in whole.items]
        assert len(seen) == len({memory.id for memory in seen})

    def test_the_last_page_says_so(self, hippo: Hippocampe) -> None:
        assert hippo.memories(scope=HERE) == hippo.memories(scope=HERE, limit=1)
        for thing in THINGS[:4]:
            remember(hippo, f"le {thing} est là")
        first = hippo.memories(scope=HERE, limit=2)
        second = hippo.memories(scope=HERE, limit=2, cursor=first.next_cursor)
        assert (len(second.items), second.next_cursor) == (2, None)

    @pytest.mark.parametrize(
        "other",
        [
            {"order": "oldest"},
            {"state": "all"},
            {"types": ["fact"]},
            {"words": "là"},
            {"subjects": ["tuba"]},
            {"user": "dev"},
            {"metadata": {"row": 1}},
            {"since": "2020-01-01T00:00:00+00:00"},
            {"scope": Scope(space="other")},
        ],
    )
    def test_a_cursor_of_another_query_is_refused(
        self, hippo: Hippocampe, other: dict[str, Any]
    ) -> None:
        for thing in THINGS[:3]:
            remember(hippo, f"le {thing} est là")
        cursor = hippo.memories(scope=HERE, limit=1).next_cursor
        with pytest.raises(InvalidInput, match="another query"):
            hippo.memories(**{"scope": HERE, "cursor": cursor} | other)
        elsewhere = Scope(user="ana", channel="phone")
        assert hippo.memories(scope=elsewhere, cursor=cursor).items

    @pytest.mark.parametrize(
        ("given", "says"),
        [
            ({"cursor": "é"}, "cannot be read"),
            ({"cursor": ""}, "cannot be read"),
            ({"cursor": "bm90IGpzb24="}, "cannot be read"),
            ({"cursor": "WzEsIDIsIDNd"}, "another query"),
            ({"cursor": 3}, "must be text"),
            ({"state": "lost"}, "choose from current"),
            ({"order": "best"}, "choose from newest"),
            ({"collection": "turn"}, "choose from memory"),
            ({"types": ["rumour"]}, "choose from identity"),
            ({"types": "fact"}, "must be a list"),
            ({"subjects": "tuba"}, "must be a list"),
            ({"user": 3}, "user must be text"),
            ({"channel": ""}, "channel"),
            ({"category": 3}, "choose from"),
            ({"limit": 0}, "1 to 1000"),
            ({"since": "hier"}, "ISO 8601"),
            (
                {"since": "2020-01-02T00:00:00+00:00", "until": "2020-01-01T00:00:00+00:00"},
                "before until",
            ),
        ],
    )
    def test_what_cannot_be_used_is_refused(
        self, hippo: Hippocampe, given: dict[str, Any], says: str
    ) -> None:
        with pytest.raises(InvalidInput, match=says):
            hippo.memories(**{"scope": HERE} | given)


class TestCounts:
    def test_spaces(self, hippo: Hippocampe) -> None:
        assert hippo.spaces() == {}
        remember(hippo, "Zoé joue du tuba")
        hippo.after_turn("Le four ?", "Vide.", scope=Scope(space="talk"))
        gone = remember(hippo, "le hamac sèche", Scope(space="past"))
        hippo.delete(gone.id, scope=Scope(space="past"), reason="vendu")
        spaces = hippo.spaces()
        assert spaces == {"talk": Counts(0, 2), "default": Counts(1, 0), "past": Counts(0, 0)}
        assert list(spaces) == ["talk", "default", "past"]

    def test_users(self, hippo: Hippocampe) -> None:
        remember(hippo, "Zoé joue du tuba", Scope(user="ana"))
        remember(hippo, "personne ne sait", Scope())
        hippo.after_turn("Le four ?", "Vide.", scope=Scope(user="dev"))
        hippo.observe("le hamac sèche", scope=Scope(user="dev", channel="lobby"))
        remember(hippo, "ailleurs", Scope(space="other", user="bea"))
        users = hippo.users(scope=HERE)
        assert list(users.items()) == [("dev", Counts(0, 2)), ("ana", Counts(1, 0))]

    def test_subjects_are_those_that_a_filter_takes(self, hippo: Hippocampe) -> None:
        remember(hippo, "le tuba de Zoé est vendu", subjects=["été"])
        remember(hippo, "le four est froid", subjects=["ÉTÉ", "cuisine"])
        gone = remember(hippo, "le hamac sèche", subjects=["jardin"])
        hippo.delete(gone.id, scope=HERE, reason="vendu")
        remember(hippo, "ailleurs", Scope(space="other"), subjects=["bois"])
        subjects = hippo.subjects(scope=HERE)
        assert next(iter(subjects.items())) == ("ete", 2)
        assert "jardin" not in subjects
        remember(hippo, "I like tea")
        assert hippo.subjects(scope=HERE) == subjects
        for name, many in subjects.items():
            assert len(contents(hippo, subjects=[name])) == many


def test_changes_newest_first(hippo: Hippocampe) -> None:
    red = remember(hippo, "Le tuba est rouge", subjects=["tuba"])
    tea = remember(hippo, "Rose boit du thé", Scope(user="rose"), type="preference")
    blue = hippo.remember("Le tuba est bleu", scope=HERE, replaces=[red.id]).memory
    hippo.delete(tea.id, scope=HERE, reason="faux")

    def shown(**filters: Any) -> list[tuple[str, str]]:
        return [(each.kind, each.memory.id) for each in hippo.changes(scope=HERE, **filters)]

    every = shown()
    assert every[0] == ("forgotten", tea.id)
    assert set(every[1:3]) == {("replaced", red.id), ("learnt", blue.id)}
    assert every[3:] == [("learnt", tea.id), ("learnt", red.id)]
    assert shown(limit=2, skip=1) == every[1:3]
    assert shown(kinds=["forgotten"]) == every[:1]
    assert shown(kinds=[]) == []
    assert shown(types=["preference"]) == [every[0], every[3]]
    assert shown(user="rose") == [every[0], every[3]]
    assert shown(subjects=["tuba"]) == [each for each in every if each[1] != tea.id]
    assert shown(until=tea.created_at) == every[4:]
    (change,) = hippo.changes(scope=HERE, kinds=["replaced"])
    assert change.by == hippo.get(blue.id, scope=HERE)
    assert hippo.changes(scope=Scope(space="other")) == []
    for wrong in ({"kinds": ["lost"]}, {"types": ["lost"]}, {"skip": -1}):
        with pytest.raises(InvalidInput):
            hippo.changes(scope=HERE, **wrong)  # type: ignore[arg-type]


class TestAbout:
    """What is known about a person or a thing."""

    @pytest.mark.parametrize(
        ("name", "own", "told", "other"),
        [
            ("Inès", "J'habite à Pau", "Le frère d'Inès joue du cor", "Le port ferme à midi"),
            ("Anne Bell", "I live in York", "Anne Bell plays the horn", "Anne-Marie rang the bell"),
            ("Élodie", "J'habite à Pau", "Le frère d'Élodie joue du cor", "Le port ferme à midi"),
            ("Жанна", "I live in York", "Жанна plays the horn", "The port closes at noon"),
        ],
    )
    def test_what_others_say_and_what_they_say_of_themselves(
        self, hippo: Hippocampe, name: str, own: str, told: str, other: str
    ) -> None:
        theirs = Scope(user=name)
        remember(hippo, other, theirs)
        remember(hippo, own, theirs, importance=0.9)
        remember(hippo, told, subjects=["musique"], importance=0.5)
        expected = [own, told]
        assert [each.content for each in hippo.about(name, scope=HERE)] == expected
        assert [each.content for each in hippo.about(name.lower(), scope=HERE)] == expected
        assert [each.content for each in hippo.about(scope=theirs)] == expected
        assert [each.content for each in hippo.about(name, scope=HERE, limit=1)] == [own]
        assert hippo.about(name, scope=Scope(space="elsewhere")) == []

    def test_all_names_of_one_person(self, hippo: Hippocampe) -> None:
        remember(hippo, "dev = Mickael")
        remember(hippo, "Mickael part en Grèce")
        assert "Mickael part en Grèce" in [each.content for each in hippo.about("dev", scope=HERE)]

    def test_a_user_called_user_is_not_everybody(self, hippo: Hippocampe) -> None:
        remember(hippo, "J'habite à Pau", Scope(user="Inès"))
        own = remember(hippo, "I live in York", Scope(user="user"))
        assert hippo.about("user", scope=HERE) == [own]

    def test_a_thing_of_several_words_without_a_subject(self, hippo: Hippocampe) -> None:
        about = remember(hippo, "Le gîte de Gavarnie coûte 80 €", subjects=["vacances"])
        remember(hippo, "Gavarnie a un gîte fermé")
        assert hippo.about("gîte de Gavarnie", scope=HERE) == [about]

    def test_the_companion_says_i_of_itself(self, hippo: Hippocampe) -> None:
        for each in ("Je surveille les allergies", "Je suis le compagnon d'Inès et dev"):
            remember(hippo, each, collection="self", category="capability")
        assert hippo.about(scope=HERE) == hippo.about("Inès", scope=HERE) == []

    def test_what_was_replaced_or_forgotten_is_left_out(self, hippo: Hippocampe) -> None:
        remember(hippo, "David habite à Ordizan")
        new = remember(hippo, "David a déménagé à Toulouse")
        gone = remember(hippo, "David joue du cor")
        hippo.delete(gone.id, scope=HERE, reason="faux")
        assert hippo.about("David", scope=HERE) == [new]

    def test_it_needs_a_name(self, hippo: Hippocampe) -> None:
        with pytest.raises(InvalidInput, match="give a name"):
            hippo.about(scope=Scope())
