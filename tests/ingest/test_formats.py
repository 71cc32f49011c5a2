"""Reading real talk: every shape of export, and what is wrong in it."""

import json
import tracemalloc
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hippocampe.errors import HippocampeError, InvalidInput, UnreadableFile
from hippocampe.ingest.formats import document
from hippocampe.ingest.formats.record import Problem, Statement, TalkMessage
from hippocampe.ingest.formats.registry import FORMATS, open_file, read_file

LRM, NNBSP, NBSP = "\u200e", "\u202f", "\u00a0"


def detect_format(path: Path) -> str:
    return open_file(path)[0][0]


def write(folder: Path, name: str, text: str | bytes) -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def read(path: Path, **options: str) -> tuple[list[TalkMessage], list[Problem]]:
    got = list(read_file(path, **options))
    messages = [one for one in got if isinstance(one, TalkMessage)]
    return messages, [one for one in got if isinstance(one, Problem)]


def said(messages: list[TalkMessage]) -> list[tuple[str, str]]:
    return [(message.author, message.content) for message in messages]


def utc(*parts: int) -> datetime:
    return datetime(*parts, tzinfo=UTC)


@pytest.mark.parametrize("page", ["README.md", "docs/quickstart.md"])
def test_a_page_names_every_format(page: str) -> None:
    text = (Path(__file__).parents[2] / page).read_text(encoding="utf-8")
    assert [each.title for each in FORMATS.values() if each.title not in text] == []


# --- WhatsApp ---------------------------------------------------------------------------------

ANDROID_FR = f"""\
17/01/2026 à 10:20 - Les messages et les appels sont chiffrés de bout en bout.
17/01/2026 à 10:21 - Mickael a créé le groupe « Vacances : été »
17/01/2026 à 10:22 - Mickael a ajouté David
17/01/2026 à 10:23 - David: je pars en Grèce demain
avec ma sœur

et le chien : Rex
17/01/2026 à 10:24 - Mickael: <Médias omis>
17/01/2026 à 10:24 - Mickael: IMG-20260117-WA0002.jpg (fichier joint)
la vue du balcon
17/01/2026 à 10:25 - Mickael: Ce message a été supprimé
17/01/2026 à 10:26 - Mickael: n'oublie pas ton passeport <Ce message a été modifié>
17/01/2026 à 10:27 - ~{NNBSP}Léa{NBSP}B.: 14:30 - 15:00 ça va ?
"""


def test_whatsapp_android_in_french(tmp_path: Path) -> None:
    path = write(tmp_path, "Discussion WhatsApp avec Vacances.txt", ANDROID_FR)

    messages, problems = read(path)

    assert detect_format(path) == "whatsapp"
    assert problems == []
    assert said(messages) == [
        ("David", "je pars en Grèce demain\navec ma sœur\n\net le chien : Rex"),
        ("Mickael", "la vue du balcon"),
        ("Mickael", "n'oublie pas ton passeport"),
        ("Léa B.", "14:30 - 15:00 ça va ?"),
    ]
    assert {message.channel for message in messages} == {"Vacances"}
    assert messages[0].at == utc(2026, 1, 17, 9, 23)
    assert messages[0].role is None


def test_what_android_left_out_is_no_message_whatever_it_was(tmp_path: Path) -> None:
    kinds = ["View once voice message omitted", "Video note omitted", "Message vocal éphémère omis"]
    lines = [f"17/01/2026, 10:2{number} - Ana: <{kind}>" for number, kind in enumerate(kinds)]
    said_too = "17/01/2026, 10:30 - Ana: <3 I omitted the eggs"
    messages, problems = read(write(tmp_path, "chat.txt", "\n".join([*lines, said_too])))
    assert (said(messages), problems) == ([("Ana", "<3 I omitted the eggs")], [])


def test_times_in_the_words_of_canadian_french(tmp_path: Path) -> None:
    text = (
        f"[2026-01-17 14 h 03 min 22 s] Ève: on soupe chez mamie\n"
        f"[2026-01-17 14{NBSP}h{NBSP}04{NBSP}min{NBSP}02{NBSP}s] Luc: j'apporte la tourtière\n"
    )
    messages, problems = read(write(tmp_path, "_chat.txt", text), timezone="America/Toronto")
    assert problems == []
    assert [(each.author, each.at) for each in messages] == [
        ("Ève", utc(2026, 1, 17, 19, 3, 22)),
        ("Luc", utc(2026, 1, 17, 19, 4, 2)),
    ]


def test_whatsapp_ios_in_french(tmp_path: Path) -> None:
    text = (
        f"\ufeff{LRM}[17/01/2026 10:20:00] Les Voisins: {LRM}Les messages et appels sont chiffrés "
        "de bout en bout.\r\n"
        f"[17/01/2026 10:20:01] Les Voisins: {LRM}Ana a créé le groupe « Les Voisins »\r\n"
        f"{LRM}[17/01/2026 10:23:45] David : {LRM}image absente\r\n"
        f"[17/01/2026 10:24:00] \u202a+33{NBSP}6{NBSP}00\u202c : la clé est\nsous le pot\r\n"
        f"[17/01/2026 10:25:00] Ana: pour \u2068@David\u2069 {LRM}<pièce jointe : 01-PHOTO.jpg>\r\n"
        f"[17/01/2026 10:26:00] Ana: Rapport.pdf • {LRM}3 pages {LRM}document omis\r\n"
        f"[17/01/2026 10:27:00] David: {LRM}Vous avez supprimé ce message.\r\n"
        f"[17/01/2026 10:28:00] David: {LRM}Appel vocal manqué\r\n"
        "[17/01/2026 10:29:00] David: elle a quitté Paris hier\r\n"
    )

    messages, problems = read(write(tmp_path, "_chat.txt", text))

    assert problems == []
    assert said(messages) == [
        ("+33 6 00", "la clé est\nsous le pot"),
        ("Ana", "pour @David"),
        ("David", "elle a quitté Paris hier"),
    ]
    assert messages[0].at == utc(2026, 1, 17, 9, 24)


def test_whatsapp_american(tmp_path: Path) -> None:
    text = (
        "1/7/26, 12:05 AM - Messages and calls are end-to-end encrypted.\n"
        '1/7/26, 12:05 AM - Amy created group "Trip: Rome"\n'
        f"1/7/26, 12:05{NNBSP}AM - Amy: happy birthday\n"
        "1/8/26, 12:10 PM - Bob: thanks!\n"
        "1/8/26, 1:15 p.m. - Bob: <Media omitted>\n"
        f"1/9/26, 11:59{NNBSP}p.{NBSP}m. - Amy: see you <This message was edited>\n"
    )

    messages, problems = read(
        write(tmp_path, "WhatsApp Chat with Amy (1).txt", text), timezone="America/New_York"
    )

    assert problems == []
    assert [(one.content, one.at) for one in messages] == [
        ("happy birthday", utc(2026, 1, 7, 5, 5)),
        ("thanks!", utc(2026, 1, 8, 17, 10)),
        ("see you", utc(2026, 1, 10, 4, 59)),
    ]
    assert {message.channel for message in messages} == {"Amy"}


@pytest.mark.parametrize(
    ("dates", "expected"),
    [
        (["03/04/2026", "17/04/2026"], (2026, 4, 3)),
        (["03/04/2026", "04/17/2026"], (2026, 3, 4)),
        (["05/03/2026", "01/04/2026"], (2026, 3, 5)),
        (["03/05/2026", "04/01/2026"], (2026, 3, 5)),
        (["01/02/2026", "02/02/2026", "03/02/2026"], (2026, 2, 1)),
        (["01/02/2026", "01/03/2026", "01/04/2026"], (2026, 1, 2)),
        (["01/02/2026"], (2026, 2, 1)),
        (["2026-02-01"], (2026, 2, 1)),
        (["01.02.26"], (2026, 2, 1)),
        (["1. 2. 2026."], (2026, 2, 1)),
    ],
)
def test_whatsapp_order_of_day_and_month(
    tmp_path: Path, dates: list[str], expected: tuple[int, int, int]
) -> None:
    text = "".join(f"{date}, 12:00 - Zoé: bonjour {n}\n" for n, date in enumerate(dates))

    messages, problems = read(write(tmp_path, "chat.txt", text), timezone="UTC")

    assert problems == []
    assert messages[0].at == utc(*expected, 12)


@pytest.mark.parametrize(
    "clock", ["10:23", "10.23", "10 h 23", "10:23:00", "10:23 AM", "10:23 a. m."]
)
def test_whatsapp_clocks(tmp_path: Path, clock: str) -> None:
    path = write(tmp_path, "chat.txt", f"2026-01-17 {clock} - Zoé: coucou\n")

    messages, _ = read(path, timezone="UTC")

    assert [message.at for message in messages] == [utc(2026, 1, 17, 10, 23)]


def test_whatsapp_text_that_looks_like_another_shape_is_not_a_header(tmp_path: Path) -> None:
    text = (
        "17/01/2026, 10:23 - Zoé: je te recopie\n"
        "[16/01/2026 09:00:00] Paul: rendez-vous mardi\n"
        "17/01/2026 piscine\n"
    )

    messages, _ = read(write(tmp_path, "chat.txt", text))

    assert len(messages) == 1
    assert messages[0].content.endswith("mardi\n17/01/2026 piscine")


def test_whatsapp_words_of_people_are_kept(tmp_path: Path) -> None:
    spoken = ["il a créé le groupe « Ski »", "he left", "le document est absent", "image"]
    text = "".join(f"17/01/2026, 10:23 - Zoé: {one}\n" for one in spoken)

    messages, _ = read(write(tmp_path, "chat.txt", text))

    assert [message.content for message in messages] == spoken


def test_whatsapp_broken_lines(tmp_path: Path) -> None:
    text = (
        "à la suite d'un message\n".encode() + b"17/01/2026, 10:23 - Ana: premier\n"
        b"suite \xff\xfe\n"
        b"vraie suite\n"
        b"17/01/2026, 10:24 - Ana: cass\xe9\n"
        b"suite du message perdu\n"
        b"31/02/2026, 10:25 - Ana: jour inconnu\n"
        b"17/01/2026, 10:26 - Ana: " + b"x" * 1_100_000 + b"\n"
        b"17/01/2026, 10:27 - Ana: dernier\n"
    )

    messages, problems = read(write(tmp_path, "chat.txt", text))

    assert [message.content for message in messages] == ["premier\nvraie suite", "dernier"]
    assert sorted(problem.line for problem in problems) == [1, 3, 5, 7, 8]


def test_whatsapp_archive_is_named_after_itself(tmp_path: Path) -> None:
    path = tmp_path / "WhatsApp Chat - Les Voisins.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("00000001-PHOTO.jpg", b"\xff\xd8")
        archive.writestr("_chat.txt", "[17/01/2026 10:23:45] Ana: bonjour")
        archive.writestr("__MACOSX/_chat.txt", "rien")

    messages, problems = read(path)

    assert problems == []
    assert [(one.channel, one.content) for one in messages] == [("Les Voisins", "bonjour")]


def test_whatsapp_longer_export_keeps_the_ids(tmp_path: Path) -> None:
    short = "17/01/2026, 10:23 - Ana: ok\n" * 3
    first, _ = read(write(tmp_path, "Discussion WhatsApp avec Ana.txt", short))
    later, _ = read(
        write(tmp_path, "Discussion WhatsApp avec Ana (2).txt", short + short + ANDROID_FR),
        timezone="UTC",
    )

    ids = [message.external_id for message in later]
    assert ids[:3] == [message.external_id for message in first]
    assert len(set(ids)) == len(ids)


# --- JSON Lines -------------------------------------------------------------------------------


def test_jsonl_full_and_least_forms(tmp_path: Path) -> None:
    full = {
        "content": "Mickael est blessé",
        "author": "David",
        "role": "user",
        "channel": "lobby",
        "at": "2026-01-17T10:23:00+02:00",
        "space": "eko",
        "external_id": 42,
        "reply_to": "41",
    }
    least = {"content": "ah bon ?", "author": "Zoé", "at": "2026-07-17 10:23"}
    text = "\ufeff" + json.dumps(full) + "\r\n\r\n" + json.dumps(least, ensure_ascii=False)
    path = write(tmp_path, "talk.jsonl", text)

    messages, problems = read(path)

    assert detect_format(path) == "jsonl"
    assert problems == []
    assert messages[0] == TalkMessage(
        content="Mickael est blessé",
        author="David",
        role="user",
        channel="lobby",
        at=utc(2026, 1, 17, 8, 23),
        space="eko",
        external_id="42",
        reply_to="41",
    )
    assert messages[1].at == utc(2026, 7, 17, 8, 23)
    assert messages[1].external_id


@pytest.mark.parametrize(
    "line",
    [
        b"{",
        b"[1]",
        b'"text"',
        b'{"author": "a"}',
        b'{"content": "c"}',
        b'{"content": " ", "author": "a"}',
        b'{"content": 3, "author": "a"}',
        b'{"content": "c", "author": "a", "role": "system"}',
        b'{"content": "c", "author": "a", "at": "hier"}',
        b'{"content": "c", "author": "a", "at": 12}',
        b'{"content": "c", "author": "a", "at": "0001-01-01T00:00:00+23:00"}',
        b'{"content": "c", "author": "a", "space": ""}',
        b'{"content": "c", "author": "a", "space": "x\\ny"}',
        b'{"content": "c", "author": "a", "external_id": []}',
        b'{"content": "caf\xe9", "author": "a"}',
        b'{"content": ' + b"9" * 5000 + b', "author": "a"}',
        b"[" * 200_000,
        b'{"author": "a", "content": "' + b"x" * 1_100_000 + b'"}',
    ],
)
def test_jsonl_broken_line_is_reported_and_the_rest_goes_in(tmp_path: Path, line: bytes) -> None:
    good = b'{"content": "bonjour", "author": "Zo\xc3\xa9"}'
    path = write(tmp_path, "talk.jsonl", b"\n".join([line, good, line, good]))

    messages, problems = read(path, format="jsonl")

    assert said(messages) == [("Zoé", "bonjour")] * 2
    assert [problem.line for problem in problems] == [1, 3]


def test_jsonl_labels_and_text_become_storable(tmp_path: Path) -> None:
    raw = {"content": "a\0b\ud83d", "author": " Zoé\u200e\n D. ", "channel": "été " + "x" * 300}

    messages, problems = read(write(tmp_path, "t.jsonl", json.dumps(raw)))

    assert problems == []
    assert (messages[0].content, messages[0].author) == ("ab\ufffd", "Zoé D.")
    assert messages[0].channel == "été " + "x" * 196


def test_reasons_never_repeat_what_was_said(tmp_path: Path) -> None:
    bad = [
        {"content": "mon secret", "author": 3},
        {"content": "mon secret", "author": "a", "at": "mon secret"},
        {"content": "mon secret", "author": "a", "role": "mon secret"},
        {"content": "mon secret", "author": "a", "space": "mon\nsecret"},
    ]
    path = write(tmp_path, "t.jsonl", "\n".join(map(json.dumps, bad)) + '\n{"mon secret')

    _, problems = read(path, format="jsonl")

    assert len(problems) == 5
    assert not any("secret" in problem.reason for problem in problems)


# --- ChatGPT ----------------------------------------------------------------------------------


def node(identifier: str, parent: str | None, **message: object) -> dict[str, object]:
    raw = {"id": identifier, "create_time": 1768641780.5, **message} if message else None
    return {"id": identifier, "parent": parent, "children": [], "message": raw}


def speech(role: str, *parts: object, kind: str = "text") -> dict[str, object]:
    return {"author": {"role": role}, "content": {"content_type": kind, "parts": list(parts)}}


def chatgpt_conversation() -> dict[str, object]:
    nodes = [
        node("root", None),
        node("system", "root", **speech("system", "tu es utile")),
        node("ask", "system", **speech("user", "où part David ?")),
        node("old", "ask", **speech("assistant", "à Rome")),
        node("thought", "ask", **speech("assistant", "hum", kind="thoughts")),
        node("call", "thought", **speech("assistant", "search()"), recipient="browser"),
        node("tool", "call", **speech("tool", "résultats")),
        node("new", "tool", **speech("assistant", "en Grèce", "demain")),
        node(
            "image",
            "new",
            **{
                **speech("user", {"asset_pointer": "x"}, "et ça ?", kind="multimodal_text"),
                "create_time": None,
            },
        ),
        node(
            "hidden",
            "image",
            **speech("user", "profil"),
            metadata={"is_visually_hidden_from_conversation": True},
        ),
    ]
    return {
        "title": "Voyage de David",
        "create_time": 1768641700,
        "current_node": "hidden",
        "mapping": {str(one["id"]): one for one in nodes},
    }


CHATGPT_SAID = [
    ("user", "où part David ?"),
    ("ChatGPT", "en Grèce\ndemain"),
    ("user", "et ça ?"),
]


def test_chatgpt_reads_the_visible_branch(tmp_path: Path) -> None:
    path = write(tmp_path, "conversations.json", json.dumps([chatgpt_conversation()]))

    messages, problems = read(path)

    assert detect_format(path) == "chatgpt"
    assert problems == []
    assert said(messages) == CHATGPT_SAID
    assert [message.role for message in messages] == ["user", "assistant", "user"]
    assert [message.external_id for message in messages] == ["ask", "new", "image"]
    assert {message.channel for message in messages} == {"Voyage de David"}
    assert {message.at for message in messages} == {
        datetime(2026, 1, 17, 9, 23, 0, 500_000, tzinfo=UTC)
    }


def test_chatgpt_archive_in_parts(tmp_path: Path) -> None:
    path = tmp_path / "export.zip"
    other = {**chatgpt_conversation(), "title": None, "current_node": None}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("user.json", "{}")
        archive.writestr("chat.html", "<html>")
        archive.writestr("a/conversations-001.json", json.dumps([other, 3]))
        archive.writestr("a/conversations-000.json", json.dumps([chatgpt_conversation()]))

    messages, problems = read(path)

    assert detect_format(path) == "chatgpt"
    assert said(messages[:3]) == CHATGPT_SAID
    assert {message.channel for message in messages[3:]} == {"ChatGPT"}
    assert [problem.line for problem in problems] == [2]
    assert problems[0].reason.startswith("a/conversations-001.json: ")


def test_chatgpt_loops_and_broken_records(tmp_path: Path) -> None:
    loop = {"mapping": {"a": {**node("a", "b", **speech("user", "salut")), "parent": "a"}}}
    loop["current_node"] = "a"
    broken_time = chatgpt_conversation()
    broken_time["mapping"]["ask"]["message"]["create_time"] = "hier"
    records = [loop, None, {"mapping": []}, broken_time]

    messages, problems = read(write(tmp_path, "c.json", json.dumps(records)), format="chatgpt")

    assert [message.content for message in messages] == ["salut", "en Grèce\ndemain", "et ça ?"]
    assert [problem.line for problem in problems] == [2, 3, 4]


# --- Claude -----------------------------------------------------------------------------------


def claude_message(identifier: str, sender: str, **more: object) -> dict[str, object]:
    return {"uuid": identifier, "sender": sender, "created_at": "2026-01-17T09:23:00Z", **more}


def test_claude_text_and_blocks(tmp_path: Path) -> None:
    conversation = {
        "uuid": "c1",
        "name": "Ski",
        "created_at": "2026-01-17T09:00:00Z",
        "chat_messages": [
            claude_message("m1", "human", text="qui est blessé ?"),
            claude_message(
                "m2",
                "assistant",
                text="This block is not supported",
                content=[
                    {"type": "thinking", "thinking": "voyons"},
                    {"type": "text", "text": "Mickael, à l'épaule."},
                    {"type": "tool_use", "name": "search", "input": {}},
                    {"type": "text", "text": "Depuis le ski."},
                ],
            ),
            claude_message("m3", "human", text="", content=[]),
            {**claude_message("m4", "human", text="merci"), "created_at": None},
            claude_message("m5", "human", text="hein ?", created_at="bientôt"),
        ],
    }
    path = write(tmp_path, "conversations.json", json.dumps([conversation], indent=1))

    messages, problems = read(path)

    assert detect_format(path) == "claude"
    assert said(messages) == [
        ("user", "qui est blessé ?"),
        ("Claude", "Mickael, à l'épaule.\nDepuis le ski."),
        ("user", "merci"),
    ]
    assert {(one.channel, one.at) for one in messages} == {("Ski", utc(2026, 1, 17, 9, 23))}
    assert [problem.line for problem in problems] == [1]


def test_claude_leaves_abandoned_branches_out(tmp_path: Path) -> None:
    root = "00000000-0000-4000-8000-000000000000"
    conversation = {
        "name": "",
        "chat_messages": [
            claude_message("m1", "human", text="bonjour", parent_message_uuid=root),
            claude_message("m2", "assistant", text="ancienne", parent_message_uuid="m1"),
            claude_message("m3", "assistant", text="nouvelle", parent_message_uuid="m1"),
        ],
    }
    path = tmp_path / "data.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("users.json", "[]")
        archive.writestr("conversations.json", json.dumps([conversation]))

    messages, _ = read(path)

    assert said(messages) == [("user", "bonjour"), ("Claude", "nouvelle")]
    assert {message.channel for message in messages} == {"Claude"}


def test_claude_has_what_was_spoken_and_what_was_pasted(tmp_path: Path) -> None:
    spoken = [{"type": "voice_note", "title": "Voice", "text": "ma mère arrive mardi"}]
    pasted = {"file_name": "", "file_type": "txt", "extracted_content": "Train 6607 at 9:12"}
    named = {"file_name": "lease.pdf", "file_type": "pdf", "extracted_content": "The tenant pays"}
    empty = [{"type": "text", "text": ""}]
    conversation = {
        "name": "Visite",
        "chat_messages": [
            claude_message("m1", "human", text="", content=spoken),
            claude_message("m2", "human", text="", content=empty, attachments=[pasted, named]),
            claude_message(
                "m3", "human", text="voici", attachments=[{**pasted, "file_name": None}]
            ),
            claude_message("m4", "human", text="lis ça", attachments=[named, None]),
        ],
    }
    messages, problems = read(write(tmp_path, "conversations.json", json.dumps([conversation])))
    assert problems == []
    assert said(messages) == [
        ("user", "ma mère arrive mardi"),
        ("user", "Train 6607 at 9:12"),
        ("user", "voici\nTrain 6607 at 9:12"),
        ("user", "lis ça"),
    ]


# --- Telegram ---------------------------------------------------------------------------------


def telegram_chat(**more: object) -> dict[str, object]:
    return {
        "name": "Les cousins",
        "type": "private_group",
        "id": 77,
        "messages": [
            {"id": 1, "type": "service", "action": "create_group", "text": ""},
            {
                "id": 2,
                "type": "message",
                "date": "2026-01-17T10:23:00",
                "date_unixtime": "1768641780",
                "from": "David",
                "from_id": "user5",
                "text": ["voir ", {"type": "link", "text": "https://exemple.fr"}, " svp"],
            },
            {
                "id": 3,
                "type": "message",
                "date": "2026-01-17T10:24:00",
                "from": None,
                "from_id": "user6",
                "text": "d'accord",
                "reply_to_message_id": 2,
            },
            {"id": 4, "type": "message", "date_unixtime": "1768641780", "from": "A", "text": ""},
            {"id": 5, "type": "message", "date_unixtime": "x", "from": "A", "text": "perdu"},
        ],
        **more,
    }


def test_telegram_single_chat(tmp_path: Path) -> None:
    path = write(tmp_path, "result.json", json.dumps(telegram_chat(), indent=1))

    messages, problems = read(path)

    assert detect_format(path) == "telegram"
    assert said(messages) == [("David", "voir https://exemple.fr svp"), ("user6", "d'accord")]
    assert [message.at for message in messages] == [
        utc(2026, 1, 17, 9, 23),
        utc(2026, 1, 17, 9, 24),
    ]
    assert messages[0].external_id == messages[1].reply_to == "telegram:77:2"
    assert {message.channel for message in messages} == {"Les cousins"}
    assert [problem.line for problem in problems] == [5]


def test_telegram_whole_account_in_any_order_of_keys(tmp_path: Path) -> None:
    unnamed = telegram_chat(name=None, id=78)
    account = {
        "chats": {"list": [telegram_chat(), unnamed, 3], "about": ""},
        "left_chats": {"about": "", "list": []},
        "personal_information": {"name": "Ana", "messages": [1]},
    }
    path = write(tmp_path, "result.json", json.dumps(account, sort_keys=True))

    messages, problems = read(path)

    assert [message.channel for message in messages] == ["Les cousins"] * 2 + ["Telegram 78"] * 2
    assert len({message.external_id for message in messages}) == 4
    assert [problem.line for problem in problems] == [5, 10]


def test_a_folder_of_another_program_says_what_to_do(tmp_path: Path) -> None:
    write(tmp_path, "users.json", json.dumps([{"id": "U1", "name": "nora"}]))
    (tmp_path / "general").mkdir()
    said = [{"type": "message", "user": "U1", "text": "bonjour", "ts": "1767600000.000100"}]
    write(tmp_path / "general", "2026-01-05.json", json.dumps(said))
    with pytest.raises(UnreadableFile, match="no export of .*Telegram.* Convert .* to JSON Lines"):
        read(tmp_path)


# --- Signal ----------------------------------------------------------------------------------


SIGNAL_CHAT = """[2026-01-05 10:00:00] Me: Salut Nora
[2026-01-05 10:01:00] Nora: J'ai déménagé à Pau
la semaine dernière
(- Me: 👍 -)
[2026-01-05 10:02:00] Me:

> J'ai déménagé à Pau
> la semaine dernière

Bravo !  ![photo 1.jpg](./media/photo%201.jpg)
[2026-01-05 10:03:00] Nora:   ![photo](./media/photo.jpg)
[2026-01-05 10:04:00] Nora: (This message was deleted)
[2026-01-05 10:05:00] Me: Outgoing voice call (accepted, 2m 3s)
[2026-01-05 10:06:00] No-Sender: à samedi : 10 h
""".replace("\n", "  \n")


def test_signal_chats_are_conversations(tmp_path: Path) -> None:
    for name in ("Nora", "Les cousins"):
        (tmp_path / "signal" / name).mkdir(parents=True)
        write(tmp_path / "signal" / name, "chat.md", SIGNAL_CHAT)
        write(tmp_path / "signal" / name, "index.html", "<!DOCTYPE html><html></html>")
    messages, problems = read(tmp_path / "signal")
    assert problems == []
    assert said(messages)[:4] == [
        ("user", "Salut Nora"),
        ("Nora", "J'ai déménagé à Pau\nla semaine dernière"),
        ("user", "Bravo !"),
        ("?", "à samedi : 10 h"),
    ]
    assert [(each.role, each.channel) for each in messages[3:6]] == [
        (None, "Les cousins"),
        ("user", "Nora"),
        (None, "Nora"),
    ]
    assert messages[0].at == utc(2026, 1, 5, 9, 0)
    assert len({each.external_id for each in messages}) == 8
    # A note that quotes a chat is a note.
    assert detect_format(write(tmp_path, "chat.md", f"Hier :\n{SIGNAL_CHAT}")) == "markdown"


def test_the_json_of_a_signal_chat_has_the_messages_of_its_text(tmp_path: Path) -> None:
    folder = tmp_path / "signal" / "Nora"
    folder.mkdir(parents=True)
    write(
        folder,
        "chat.md",
        "[2026-01-05 10:00:00] Me: Salut Nora\n[2026-01-05 10:01:02] Nora: > Salut\n\nÀ Pau\n\nbientôt\n",
    )
    more = {"quote": "", "sticker": None, "reactions": [], "attachments": []}
    rows = [
        {"date": "2026-01-05T10:00:00.250000", "sender": "Me", "body": "Salut Nora", **more},
        {
            "date": "2026-01-05T10:01:02",
            "sender": "Nora",
            "body": "À Pau\n\nbientôt",
            **more,
            "quote": "> Salut\n\n",
        },
        {"date": "2026-01-05T10:02:00", "sender": "Nora", "body": "", **more, "deleted": True},
        {
            "date": "2026-01-05T10:03:00",
            "sender": "Nora",
            "body": "Incoming call",
            **more,
            "call": True,
        },
    ]
    lines = "\n".join(json.dumps(each, ensure_ascii=False) for each in rows)
    data = write(folder, "data.json", f"{lines}\n")
    both = read(tmp_path / "signal")
    assert detect_format(data) == "signal"
    assert read(data) == both
    assert said(both[0]) == [("user", "Salut Nora"), ("Nora", "À Pau\n\nbientôt")]


# --- Discord ----------------------------------------------------------------------------------


def discord_channel(**more: object) -> dict[str, object]:
    david = {"id": "5", "name": "dav1d", "nickname": "David", "isBot": False}
    return {
        "guild": {"id": "77", "name": "Les cousins", "iconUrl": ""},
        "channel": {"id": "78", "type": "GuildTextChat", "category": "Salons", "name": "général"},
        "dateRange": {"after": None, "before": None},
        "messages": [
            {
                "id": "1",
                "type": "GuildMemberJoin",
                "timestamp": "x",
                "content": "",
                "author": david,
            },
            {
                "id": "2",
                "type": "Default",
                "timestamp": "2026-01-17T10:23:00.12+01:00",
                "content": "qui vient samedi ?",
                "author": david,
            },
            {
                "id": "3",
                "type": "Reply",
                "timestamp": "2026-01-17T10:24:00+01:00",
                "content": "moi",
                "author": {"id": "6", "name": "ana", "nickname": None},
                "reference": {"messageId": "2", "channelId": "78", "guildId": "77"},
            },
            {"id": "4", "type": "Default", "timestamp": "", "content": "", "author": david},
            {"id": "5", "type": "Default", "timestamp": "x", "content": "perdu", "author": david},
        ],
        "messageCount": 5,
        **more,
    }


def test_a_forwarded_message_of_discord_is_said_by_somebody_else(tmp_path: Path) -> None:
    noor = {"id": "5", "name": "noor", "nickname": "Noor"}
    passed_on = {"timestamp": "2026-01-01T00:00:00+00:00", "content": "le loyer est dû le 3"}
    elsewhere = {"type": "Forward", "messageId": "9", "channelId": "1"}
    forwarding = {
        "id": "2",
        "type": "Default",
        "timestamp": "2026-01-17T10:23:00+01:00",
        "author": noor,
        "reference": elsewhere,
        "forwardedMessage": passed_on,
    }
    chat = discord_channel(
        messages=[{**forwarding, "content": ""}, {**forwarding, "id": "3", "content": "see this"}]
    )
    messages, problems = read(write(tmp_path, "general [78].json", json.dumps(chat)))
    assert problems == []
    assert said(messages) == [
        ("?", "le loyer est dû le 3"),
        ("Noor", "see this\n?: le loyer est dû le 3"),
    ]
    assert [each.reply_to for each in messages] == [None, None]


def test_discord_channel(tmp_path: Path) -> None:
    path = write(tmp_path, "cousins - général [78].json", json.dumps(discord_channel(), indent=2))

    messages, problems = read(path)

    assert detect_format(path) == "discord"
    assert said(messages) == [("David", "qui vient samedi ?"), ("ana", "moi")]
    assert messages[1].at == utc(2026, 1, 17, 9, 24)
    assert messages[0].external_id == messages[1].reply_to == "discord:2"
    assert {message.channel for message in messages} == {"Les cousins #général"}
    assert [problem.line for problem in problems] == [5]


@pytest.mark.parametrize("program", ["discord", "telegram"])
def test_people_of_one_name_are_told_apart_in_all_files_of_an_import(
    tmp_path: Path, program: str
) -> None:
    def discord(id: int, account: str) -> dict[str, object]:
        author = {"id": account, "name": f"sam{account}", "nickname": "Sam"}
        said = {"id": str(id), "timestamp": "2026-01-17T10:23:00+01:00", "content": account}
        return {"type": "Default", "author": author, **said}

    def telegram(id: int, account: str) -> dict[str, object]:
        said = {"id": id, "from": "Sam", "from_id": f"user{account}", "text": account}
        return {"type": "message", "date_unixtime": "1700000000", **said}

    for number, accounts in enumerate(("12", "21")):
        if program == "discord":
            messages = [discord(10 * number + at, each) for at, each in enumerate(accounts)]
            chat = discord_channel(messages=messages, channel={"id": str(number), "name": "a"})
            name = f"cousins - {number} [1234{number}].json"
        else:
            messages = [telegram(at, each) for at, each in enumerate(accounts)]
            chat = {"name": str(number), "type": "saved", "id": number, "messages": messages}
            name = f"{number}/result.json"
        (tmp_path / name).parent.mkdir(exist_ok=True)
        write(tmp_path, name, json.dumps(chat))
    second = "Sam (sam2)" if program == "discord" else "Sam (user2)"
    said = [
        (each.content, each.author) for each in read_file(tmp_path) if isinstance(each, TalkMessage)
    ]
    assert said == [("1", "Sam"), ("2", second), ("2", second), ("1", "Sam")]


def test_discord_direct_messages_in_any_order_of_keys(tmp_path: Path) -> None:
    chat = discord_channel(
        guild={"id": "0", "name": "Direct Messages"},
        channel={"id": "79", "type": "DirectTextChat", "name": "ana"},
    )
    keys = sorted(chat, reverse=True)
    path = write(tmp_path, "x.json", json.dumps({key: chat[key] for key in keys}))
    assert {message.channel for message in read(path)[0]} == {"ana"}


@pytest.mark.parametrize(
    "talk",
    [
        [{"role": "user", "content": "salut"}, {"role": "assistant", "content": "bonjour"}],
        {"room": "x", "messages": [{"content": "salut", "by": "Ana"}]},
    ],
)
def test_talk_of_an_unknown_program_is_no_memory_of_chatgpt(tmp_path: Path, talk: object) -> None:
    with pytest.raises(InvalidInput, match="cannot tell the format"):
        detect_format(write(tmp_path, "talk.json", json.dumps(talk)))


# --- every format -----------------------------------------------------------------------------


def samples(folder: Path) -> Iterator[tuple[str, Path]]:
    claude = {"name": "x", "chat_messages": [claude_message("m", "human", text="salut")]}
    jsonl = json.dumps({"content": "salut", "author": "Ana"})
    yield "whatsapp", write(folder, "chat.txt", ANDROID_FR)
    yield "jsonl", write(folder, "talk.jsonl", jsonl)
    yield "chatgpt", write(folder, "chatgpt.json", json.dumps([chatgpt_conversation()]))
    yield "claude", write(folder, "claude.json", json.dumps([claude]))
    yield "telegram", write(folder, "result.json", json.dumps(telegram_chat()))
    yield "discord", write(folder, "discord.json", json.dumps(discord_channel()))


def test_reading_twice_gives_the_same_ids(tmp_path: Path) -> None:
    for name, path in samples(tmp_path):
        first, second = read(path)[0], read(path, format=name)[0]
        assert first == second
        assert all(message.external_id for message in first)


@pytest.mark.parametrize("rows", [3, 3_000])
def test_a_quotation_mark_that_stays_open_costs_one_row(tmp_path: Path, rows: int) -> None:
    after = "".join(f"2024-01-01,Tom,I counted {number} swallows today\n" for number in range(rows))
    table = f'date,author,message\n2024-01-01,Zoé,"two\nlines"\n2024-01-01,Zoé,"a 5 inch screen\n{after}'
    messages, [problem] = read(write(tmp_path, "x.csv", table), timezone="UTC")
    assert len(messages) == rows + 1
    assert (problem.line, problem.reason.startswith("a cell has no closing")) == (4, True)


def test_a_word_in_quotation_marks_begins_a_cell(tmp_path: Path) -> None:
    table = 'message,author\n"Tom" is a cat,Zoé\n"Tom is ""small""",Zoé\n'
    messages, problems = read(write(tmp_path, "x.csv", table))
    assert problems == []
    assert [each.content for each in messages] == ["Tom is a cat", 'Tom is "small"']


def test_a_cell_longer_than_a_table_can_have_is_a_problem(tmp_path: Path) -> None:
    table = f"message,author\n{'long ' * 40_000},Zoé\nhello,Tom\n"
    [message], [problem] = read(write(tmp_path, "x.csv", table))
    assert (message.content, problem.line) == ("hello", 2)


def test_ids_are_derived_where_the_file_has_none(tmp_path: Path) -> None:
    spoken = {"sender": "human", "text": "salut", "created_at": "2026-01-17T09:23:00Z"}
    records = [{"name": "x", "chat_messages": [spoken, spoken]}]

    messages, _ = read(write(tmp_path, "c.json", json.dumps(records)))

    assert len({message.external_id for message in messages}) == 2


@pytest.mark.parametrize("text", ["we go to Nantes. ", "on part à Nantes. "])
def test_a_long_first_line_is_one_of_json_lines(tmp_path: Path, text: str) -> None:
    file = tmp_path / "talk.jsonl"
    written = [{"author": "paul", "content": text * 17_000}, {"author": "ana", "content": text}]
    file.write_text("".join(json.dumps(each, ensure_ascii=False) + "\n" for each in written))
    formats, records = open_file(file)
    assert formats == ("jsonl",)
    assert [each.author for each in records if isinstance(each, TalkMessage)] == ["paul", "ana"]


@pytest.mark.parametrize("format", ["chatgpt", "claude", "telegram", "discord"])
def test_cut_document_is_refused_before_any_message(tmp_path: Path, format: str) -> None:
    whole = dict(samples(tmp_path))[format].read_bytes()
    for size in range(1, len(whole), 7):
        path = write(tmp_path, "cut.json", whole[:size])
        with pytest.raises(UnreadableFile, match="stops before its end"):
            next(read_file(path, format=format))


@pytest.mark.parametrize("format", ["chatgpt", "claude", "telegram", "discord"])
def test_damaged_document_is_refused(tmp_path: Path, format: str) -> None:
    whole = dict(samples(tmp_path))[format].read_text(encoding="utf-8")
    path = write(tmp_path, "bad.json", "[ \n" * 3 + "x" + " " * 100)
    with pytest.raises(UnreadableFile, match="line 4 is not valid JSON"):
        list(read_file(path, format=format))
    for damaged in (whole.replace('":', '"', 1), whole + "x", "[" * 200_000):
        with pytest.raises(UnreadableFile):
            list(read_file(write(tmp_path, "bad.json", damaged), format=format))


def test_document_larger_than_what_is_held(tmp_path: Path) -> None:
    long = "é" * 90_000
    records = [
        {
            "name": f"n{n}",
            "chat_messages": [claude_message(f"{n}-{m}", "human", text=long) for m in range(n)],
        }
        for n in range(12)
    ]
    path = write(tmp_path, "c.json", json.dumps(records, ensure_ascii=False))

    messages, problems = read(path)

    assert problems == []
    assert len(messages) == sum(range(12))
    assert {message.content for message in messages} == {long}


@pytest.mark.parametrize("encoding", ["utf-16", "utf-8-sig"])
def test_what_windows_saved_is_read_as_before(tmp_path: Path, encoding: str) -> None:
    chat = "".join(f"17/01/2026, 10:{n:02d} - Zoé: déjà vu {'😀' * n}\n" for n in range(60))
    talk = json.dumps({"content": "ça va ? 😀", "author": "Zoé"}, ensure_ascii=False)
    for name, text in (("chat.txt", chat * 20), ("talk.jsonl", talk)):
        expected = read(write(tmp_path, name, text))
        assert len(expected[0]) == (1 if name == "talk.jsonl" else 1200)
        (tmp_path / name).write_bytes(text.encode(encoding))
        assert read(tmp_path / name) == expected
    with zipfile.ZipFile(tmp_path / "WhatsApp Chat - Zoé.zip", "w") as archive:
        archive.writestr("_chat.txt", chat.encode(encoding))
    assert len(read(tmp_path / "WhatsApp Chat - Zoé.zip")[0]) == 60


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("chat.txt", "17/01/2026, 10:00 - Zoé: déjà là\n"),
        ("talk.jsonl", '{"content": "déjà là", "author": "Zoé"}\n'),
        ("claude.json", '[{"chat_messages": [{"sender": "human", "text": "déjà là"}]}]'),
        ("notes.md", "- déjà là\n"),
        ("jotted.txt", "- déjà là\n"),
    ],
)
def test_the_older_encoding_of_windows_is_read(tmp_path: Path, name: str, text: str) -> None:
    [item] = read_file(write(tmp_path, name, text.encode("cp1252")))
    assert not isinstance(item, Problem)
    assert item.content == "déjà là"


def test_unknown_empty_missing_and_unusual_files(tmp_path: Path) -> None:
    for content in ("", " \n", "bonjour\n", "{}", "[]", '{"a": ["mapping"]}', b"\x00\xff"):
        with pytest.raises(InvalidInput):
            detect_format(write(tmp_path, "x", content))
    with pytest.raises(UnreadableFile):
        detect_format(tmp_path / "absent.txt")
    with pytest.raises(UnreadableFile):
        detect_format(tmp_path)
    with pytest.raises(UnreadableFile):
        list(read_file(write(tmp_path, "x", "bonjour\n"), format="whatsapp"))
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as archive:
        archive.writestr("photo.jpg", b"")
    with pytest.raises(UnreadableFile, match="no export"):
        detect_format(tmp_path / "x.zip")


def test_a_message_with_a_role_needs_no_author(tmp_path: Path) -> None:
    talk = (
        '{"role": "user", "content": "Je range le grenier"}',
        '{"role": "assistant", "content": "Bon courage", "author": null}',
        '{"content": "Who is it?"}',
    )
    messages, problems = read(write(tmp_path, "talk.jsonl", "\n".join(talk)), format="jsonl")
    assert said(messages) == [("user", "Je range le grenier"), ("assistant", "Bon courage")]
    assert [problem.reason for problem in problems] == ["author is missing or is not text"]


@pytest.mark.parametrize("format", ["jsonl", "whatsapp"])
def test_empty_file_of_a_named_format_holds_nothing(tmp_path: Path, format: str) -> None:
    assert read(write(tmp_path, "x", ""), format=format) == ([], [])


@pytest.mark.parametrize(
    "options", [{"format": "msn"}, {"timezone": "Paris"}, {"timezone": "../x"}]
)
def test_unknown_options_are_refused_at_once(tmp_path: Path, options: dict[str, str]) -> None:
    with pytest.raises(InvalidInput):
        read_file(write(tmp_path, "chat.txt", ANDROID_FR), **options)


def test_damaged_archive_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "x.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", json.dumps([chatgpt_conversation()]))
    whole = path.read_bytes()
    damaged = whole[:60] + bytes(byte ^ 0x55 for byte in whole[60:200]) + whole[200:]
    for content in (whole[:100], whole[:-30], damaged):
        with pytest.raises(UnreadableFile):
            list(read_file(write(tmp_path, "y.zip", content), format="chatgpt"))


# --- fuzz -------------------------------------------------------------------------------------

PIECES = st.sampled_from(
    [
        b"17/01/2026, 10:23 - Ana: ",
        b"[1/17/26, 10:23:00 PM] Bob: ",
        b"0/0/0 99:99 - x: ",
        b"\n",
        b'{"content": "a", "author": "b"}',
        b'{"content": "a", "author": "b", "at": "',
        b'[{"mapping": {"a": {"message": {"author": {"role": "user"}, "content": {"parts": ["x"]',
        b'[{"chat_messages": [{"sender": "human", "text": "x"',
        b'{"chats": {"list": [{"messages": [{"type": "message", "text": ["x"], "from": "y"',
        b"}",
        b"]",
        b"}}}]}}",
        b'"date": "9999-12-31T23:59:59-12:00"',
        b'"created_at": 1e999',
        b",",
        b"PK\x03\x04",
        b"\xff\xfe",
        b"\\ud800",
        b'{"results": [{"memory": "x", "id": "1", "created_at": 1e999}',
        b'{"edges": [{"fact": "x", "invalid_at": "9999-12-31T23:59:59-12:00", "metadata": {"a": NaN}}',
        b'[{"conversations_memory": "- x", "project_memories": {"\\ud800": "y"}}]',
        b'{"type": "entity", "name": "n", "observations": ["x", 5]}',
        b'{"blocks": [{"label": "human", "value": "a: b"}], "in_context_message_ids": []}',
        b"---\ntags: [a]\n---\n- [2025-13-01] - x",
    ]
)


@settings(max_examples=300)
@given(
    content=st.one_of(
        st.binary(max_size=300), st.lists(PIECES | st.binary(max_size=8)).map(b"".join)
    ),
    format=st.sampled_from([None, *FORMATS]),
)
def test_any_bytes_give_messages_problems_or_an_error_of_ours(
    content: bytes, format: str | None
) -> None:
    with TemporaryDirectory() as folder:
        path = write(Path(folder), "x", content)
        try:
            got = list(read_file(path, format=format))
        except HippocampeError:
            return
        for one in got:
            if isinstance(one, TalkMessage):
                assert one.content.strip()
                assert one.external_id
                assert one.at is None or one.at.tzinfo is UTC
                one.content.encode()
            elif isinstance(one, Statement):
                assert one.content.strip()
                assert one.format in FORMATS
                one.content.encode()
            else:
                assert one.line >= 1


WORDS = st.text(st.sampled_from('aé œ:-[]{}"«»0123/,\u202f😀'), min_size=1, max_size=20).filter(
    lambda text: bool(text.strip())
)
BROKEN_JSON = st.sampled_from([b"{", b"[]", b"nul", b'{"content": "\xff"}', b'{"author": "a"}'])


@settings(max_examples=100)
@given(lines=st.lists(WORDS | BROKEN_JSON, max_size=12))
def test_jsonl_gives_exactly_the_good_lines(lines: list[str | bytes]) -> None:
    lines = ["é", *lines]
    raw = [
        line
        if isinstance(line, bytes)
        else json.dumps({"content": line, "author": "Ana"}, ensure_ascii=False).encode()
        for line in lines
    ]
    with TemporaryDirectory() as folder:
        messages, problems = read(write(Path(folder), "x", b"\n".join(raw)), format="jsonl")

    assert [one.content for one in messages] == [one for one in lines if isinstance(one, str)]
    assert [one.line for one in problems] == [
        number for number, one in enumerate(lines, start=1) if isinstance(one, bytes)
    ]


BROKEN_CHAT = st.sampled_from([b"17/01/2026, 10:23 - Ana: \xe9", b"31/02/2026, 10:23 - Ana: x"])


@settings(max_examples=100)
@given(lines=st.lists(WORDS | BROKEN_CHAT, max_size=12))
def test_whatsapp_gives_exactly_the_good_messages(lines: list[str | bytes]) -> None:
    lines = ["é", *lines]
    raw = [
        line if isinstance(line, bytes) else f"17/01/2026, 10:23 - Ana: {line}".encode()
        for line in lines
    ]
    with TemporaryDirectory() as folder:
        messages, problems = read(write(Path(folder), "x", b"\n".join(raw)), format="whatsapp")

    assert [one.content for one in messages] == [
        one.strip() for one in lines if isinstance(one, str)
    ]
    assert [one.line for one in problems] == [
        number for number, one in enumerate(lines, start=1) if isinstance(one, bytes)
    ]


# --- Files that want to exhaust the reader ------------------------------------------------------


def zipped(path: Path, **members: bytes) -> Path:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return path


LINE = "17/01/2026, 10:23 - David: je pars demain\n"


def test_an_archive_that_expands_is_refused_before_it_is_read(tmp_path: Path) -> None:
    bomb = zipped(tmp_path / "chat.zip", **{"_chat.txt": LINE.encode() + b" " * 50_000_000})
    assert bomb.stat().st_size < 100_000
    with pytest.raises(UnreadableFile, match="would expand to 50,000,042 bytes"):
        read(bomb)
    # Many small members count together.
    parts = {f"conversations-{number}.json": b"[]" + b" " * 999_998 for number in range(20)}
    with pytest.raises(UnreadableFile, match="would expand to 20,000,000 bytes"):
        read(zipped(tmp_path / "parts.zip", **parts))


def test_an_archive_that_lies_about_its_size_gives_no_more_than_it_declares(tmp_path: Path) -> None:
    content = LINE.encode() + b"\n" * 50_000_000
    path = zipped(tmp_path / "chat.zip", **{"_chat.txt": content})
    declared, forged = len(content).to_bytes(4, "little"), len(LINE).to_bytes(4, "little")
    path.write_bytes(path.read_bytes().replace(declared, forged))
    with pytest.raises(UnreadableFile, match="Bad CRC-32"):
        read(path)


def test_repetitive_talk_in_an_archive_is_read(tmp_path: Path) -> None:
    path = zipped(tmp_path / "chat.zip", **{"_chat.txt": LINE.encode() * 20_000})
    assert path.stat().st_size * 200 < len(LINE) * 20_000
    assert len(read(path)[0]) == 20_000


def test_an_archive_has_the_name_of_one(tmp_path: Path) -> None:
    inner = zipped(tmp_path / "inner.zip", **{"_chat.txt": LINE.encode()}).read_bytes()
    with pytest.raises(HippocampeError):
        read(zipped(tmp_path / "named.zip", **{"_chat.txt": inner}))


def test_archives_within_each_other_share_the_limit_of_the_outer_one(tmp_path: Path) -> None:
    inner = zipped(tmp_path / "inner.zip", **{"_chat.txt": LINE.encode() * 60_000}).read_bytes()
    outer = zipped(tmp_path / "outer.zip", **{"a.zip": inner, "b.zip": inner})
    messages, [problem] = read(outer)
    assert len(messages) == 60_000
    assert problem.reason.startswith("cannot import b.zip: it would expand to 2,520,000 bytes")


def test_an_archive_in_an_archive_that_is_too_large_is_not_copied(tmp_path: Path) -> None:
    inner = zipped(tmp_path / "inner.zip", **{"_chat.txt": LINE.encode()}).read_bytes()
    large = {"a.zip": inner, "b.zip": inner + b" " * 5_000_000}
    messages, [problem] = read(zipped(tmp_path / "outer.zip", **large))
    assert len(messages) == 1
    assert problem.reason.startswith("cannot import b.zip: it would expand to 5,000,")


def test_only_two_archives_within_each_other_are_opened(tmp_path: Path) -> None:
    files = {"_chat.txt": LINE.encode()}
    for depth in range(4):
        path = zipped(tmp_path / f"{depth}.zip", **files)
        files = {f"{depth}.zip": path.read_bytes()}
        if depth < 3:
            assert len(read(path)[0]) == 1
        else:
            with pytest.raises(UnreadableFile, match="no export"):
                read(path)


def test_an_archive_with_a_huge_directory_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "many.zip", "w") as archive:
        for number in range(150):
            archive.writestr(f"{number:03}" + "x" * 60_000, b"")
    with pytest.raises(UnreadableFile, match="the list of its members"):
        read(tmp_path / "many.zip")


def test_a_file_of_empty_lines_is_given_up(tmp_path: Path) -> None:
    for start in ("", LINE, '{"content": "a", "author": "dev"}\n'):
        path = write(tmp_path, "chat.txt", start + "\n \r\n" * 100_000)
        with pytest.raises(UnreadableFile, match="in a row are empty"):
            read(path, format="jsonl" if "{" in start else "whatsapp")


def test_a_file_that_is_no_talk_is_given_up(tmp_path: Path) -> None:
    path = write(tmp_path, "talk.jsonl", "no JSON\n" * 50_000)
    with pytest.raises(UnreadableFile, match="10,000 parts of it in a row"):
        read(path, format="jsonl")


def test_a_line_without_an_end_is_never_loaded_whole(tmp_path: Path) -> None:
    path = write(tmp_path, "talk.jsonl", '{"content": "' + "a" * 30_000_000)
    tracemalloc.start()
    messages, problems = read(path, format="jsonl")
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert messages == []
    assert problems == [Problem(1, "the line is longer than 1,000,000 bytes")]
    assert most < 10_000_000


@pytest.mark.parametrize(
    ("format", "text", "reason"),
    [
        ("chatgpt", '[{"mapping": {"a": [' + "[]," * 20_000, "too many values"),
        ("chatgpt", "[" * 300_000, "not valid JSON"),
        ("claude", '[{"chat_messages": ' + "[" * 300_000, "not valid JSON"),
        ("telegram", '{"messages": [' + "{}," * 12_000 + "{}]}", "10,000 parts of it"),
        ("telegram", '{"chats": {"list": [' + '{"id": 1},' * 100_001, "100,000 chats"),
    ],
)
def test_json_that_is_deep_or_dense_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, format: str, text: str, reason: str
) -> None:
    if reason == "too many values":
        monkeypatch.setattr(document, "MAX_RECORD_VALUES", 30_000)
    path = write(tmp_path, "export.json", text)
    with pytest.raises(UnreadableFile, match=reason):
        read(path, format=format)


@pytest.mark.parametrize(
    "body",
    [
        "a" + " " * 900_000 + "x",
        "a.aa " * 180_000,
        "." * 900_000,
        "<attached: " * 80_000,
        "\u200e" + "a.pdf • " * 100_000,
    ],
)
def test_a_long_line_of_whatsapp_is_read_in_one_pass(tmp_path: Path, body: str) -> None:
    """Patterns that try each space or full stop of a line with all others would take hours."""
    path = write(tmp_path, "chat.txt", f"17/01/2026, 10:23 - David: {body}\n{LINE}")
    assert read(path, format="whatsapp")[0][-1].content == "je pars demain"


def test_ids_of_another_type_end_no_import(tmp_path: Path) -> None:
    message = {
        "uuid": ["a"],
        "sender": "human",
        "text": "Bonjour",
        "created_at": "2025-06-01T16:00:00Z",
    }
    for parent in (["u0"], {"a": 1}, 5, None):
        one = message | {"uuid": "u1", "parent_message_uuid": parent}
        path = write(tmp_path, "claude.json", json.dumps([{"chat_messages": [one]}]))
        assert said(read(path, format="claude")[0]) == [("user", "Bonjour")]


def test_the_error_of_a_damaged_archive_is_short(tmp_path: Path) -> None:
    path = zipped(tmp_path / "a.zip", **{"x" * 9_000 + "/_chat.txt": LINE.encode()})
    # The name in the directory is not that of the member.
    path.write_bytes(path.read_bytes().replace(b"x/_chat", b"y/_chat", 1))
    with pytest.raises(UnreadableFile) as caught:
        read(path)
    assert len(str(caught.value)) < 500


def test_marks_of_chatgpt_for_its_page_are_left_out(tmp_path: Path) -> None:
    cited = "\ue200cite\ue202turn0search1\ue202turn0news2\ue201"
    named = '\ue200entity\ue202["city","Bordeaux","city in France"]\ue201'
    said = f"Le pont de {named} ouvre à 9 h {cited}. The bridge opens at nine【3†source】."
    talk = chatgpt_conversation()
    talk["mapping"]["ask"]["message"]["content"]["parts"] = [said]
    messages, problems = read(write(tmp_path, "c.json", json.dumps([talk])))
    assert problems == []
    assert messages[0].content == "Le pont de Bordeaux ouvre à 9 h. The bridge opens at nine."


def test_what_could_be_viewed_once_on_android_is_no_message(tmp_path: Path) -> None:
    talk = "14/05/2025, 09:00 - Nora: null\n14/05/2025, 09:01 - Nora: le phare ouvre à midi\n"
    messages, problems = read(write(tmp_path, "chat.txt", talk), format="whatsapp")
    assert said(messages) == [("Nora", "le phare ouvre à midi")]
    assert problems == []


def test_a_backup_is_no_export(tmp_path: Path) -> None:
    path = write(tmp_path, "20250601.db", b"SQLite format 3\0" + bytes(4_000))
    with pytest.raises(InvalidInput, match="To restore a backup"):
        detect_format(path)


def test_a_web_page_is_no_export(tmp_path: Path) -> None:
    page = "<!DOCTYPE html>\n<html><style>\n* { margin: 0 }\n</style><body>Le phare</body></html>\n"
    for content in (page, f"\n{page.removeprefix('<!DOCTYPE html>')}"):
        with pytest.raises(InvalidInput, match="choose JSON"):
            detect_format(write(tmp_path, "messages.html", content))


def test_a_forwarded_message_names_its_author(tmp_path: Path) -> None:
    chat = telegram_chat()
    said_by = {"type": "message", "date": "2025-05-14T09:00:00", "from": "Nora", "from_id": "user1"}
    chat["messages"] = [
        {"id": 1, **said_by, "forwarded_from": "Tarek", "text": "le phare ouvre à midi"},
        {"id": 2, **said_by, "forwarded_from": "Nora", "text": "mon rappel"},
        {"id": 3, **said_by, "forwarded_from": None, "text": "j'habite à Metz"},
        {"id": 4, **said_by, "forwarded_from": None, "forwarded_from_id": "user8", "text": "hello"},
        {"id": 5, **said_by, "text": "bonjour"},
    ]
    messages, problems = read(write(tmp_path, "result.json", json.dumps(chat)))
    assert problems == []
    assert said(messages) == [
        ("Tarek", "le phare ouvre à midi"),
        ("Nora", "mon rappel"),
        ("?", "j'habite à Metz"),
        ("user8", "hello"),
        ("Nora", "bonjour"),
    ]


def test_people_of_one_name_are_told_apart_by_their_ids(tmp_path: Path) -> None:
    chat = telegram_chat()
    of = {"type": "message", "date": "2025-05-14T09:00:00", "from": "Sam"}
    chat["messages"] = [
        {"id": 1, **of, "from_id": "user1", "text": "j'habite à Pau"},
        {"id": 2, **of, "from_id": "user2", "text": "moi à Metz"},
        {"id": 3, **of, "from_id": "user1", "from": "Sammy", "text": "depuis mai"},
        {"id": 4, **of, "from_id": "user1", "text": "bonjour"},
    ]
    messages, problems = read(write(tmp_path, "result.json", json.dumps(chat)))
    assert problems == []
    assert [each.author for each in messages] == ["Sam", "Sam (user2)", "Sammy", "Sam"]

    by = {"type": "Default", "timestamp": "2026-01-17T10:23:00+01:00", "content": "moi"}
    people = [
        {"id": id, "name": name, "nickname": "Sam"} for id, name in (("5", "sam.b"), ("6", "sam_c"))
    ]
    said_by = [{"id": str(n), **by, "author": author} for n, author in enumerate(people, start=2)]
    messages, problems = read(
        write(tmp_path, "general [78].json", json.dumps(discord_channel(messages=said_by)))
    )
    assert problems == []
    assert [each.author for each in messages] == ["Sam", "Sam (sam_c)"]


FRENCH_TABLE = (
    "Date;Expéditeur;Message\r\n"
    '02/01/2024 9:05;Zoé;"Déménagé à Pau; près du gave\r\ndeux lignes"\r\n'
    ";;\r\n"
    "31/01/2024;Tom;La clé est sous le paillasson\r\n"
    "40/01/2024;Tom;demain\r\n"
)


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "cp1252", "utf-16"])
def test_a_table_of_talk_is_read_in_each_encoding_of_excel(tmp_path: Path, encoding: str) -> None:
    messages, problems = read(
        write(tmp_path, "x.csv", FRENCH_TABLE.encode(encoding)), timezone="UTC"
    )
    assert said(messages) == [
        ("Zoé", "Déménagé à Pau; près du gave\ndeux lignes"),
        ("Tom", "La clé est sous le paillasson"),
    ]
    assert [each.at for each in messages] == [
        datetime(2024, 1, 2, 9, 5, tzinfo=UTC),
        datetime(2024, 1, 31, tzinfo=UTC),
    ]
    assert [problem.line for problem in problems] == [6]


def test_a_table_without_authors_has_statements(tmp_path: Path) -> None:
    table = (
        "name,note,user_id,tags,created_at,city\n"
        'Camille,lives in Lille,lea,"home, north",1/31/2024 9:05,\n'
        "Tom,Tom plays the tuba,,,2/1/2024,Pau\n"
        "Ines,has a boat,,,yesterday,\n"
    )
    lives, plays, problem = read_file(write(tmp_path, "x.csv", table), timezone="UTC")
    assert isinstance(lives, Statement)
    assert (lives.content, lives.user) == ("Camille lives in Lille", "lea")
    assert lives.subjects == ("Camille", "home", "north", "lea")
    assert (lives.at, lives.metadata) == (datetime(2024, 1, 31, 9, 5, tzinfo=UTC), {})
    assert isinstance(plays, Statement)
    assert (plays.content, plays.metadata) == ("Tom plays the tuba", {"city": "Pau"})
    assert plays.at == datetime(2024, 2, 1, tzinfo=UTC)
    assert isinstance(problem, Problem)
    assert problem.line == 4


@pytest.mark.parametrize(
    ("written", "at"),
    [
        ("3 mars 2024", datetime(2024, 3, 3, tzinfo=UTC)),
        ("dimanche 3 mars 2024 à 14h30", datetime(2024, 3, 3, 14, 30, tzinfo=UTC)),
        ("1er févr. 2024 9:05", datetime(2024, 2, 1, 9, 5, tzinfo=UTC)),
        ("March 3, 2024", datetime(2024, 3, 3, tzinfo=UTC)),
        ("Mar 3, 2024, 2:30 PM", datetime(2024, 3, 3, 14, 30, tzinfo=UTC)),
        ("3 March 2024 at 12:05:09 am", datetime(2024, 3, 3, 0, 5, 9, tzinfo=UTC)),
        ("Sun, 03 Mar 2024 14:30:00 +0100", datetime(2024, 3, 3, 13, 30, tzinfo=UTC)),
        ("3 Mar 2024 14:30 GMT", datetime(2024, 3, 3, 14, 30, tzinfo=UTC)),
        ("3 mars", None),
        ("mars 2024", None),
        ("30 février 2024", None),
        ("3 mars 2024 à 25h10", None),
        ("le colis du 3 mars 2024", None),
    ],
)
def test_dates_in_words_and_of_mails_are_read_in_a_table(
    tmp_path: Path, written: str, at: datetime | None
) -> None:
    table = f'date,author,message\n"{written}",Tom,hello\n'
    messages, problems = read(write(tmp_path, "x.csv", table), timezone="UTC")
    assert [each.at for each in messages] == ([at] if at else [])
    assert len(problems) == (at is None)


def test_the_order_of_a_date_is_not_guessed(tmp_path: Path) -> None:
    table = "message,author,date\nhello,Tom,01/02/2024\n"
    assert read(write(tmp_path, "x.csv", table))[0] == []
    [message], _ = read(write(tmp_path, "x.csv", table.replace(",", ";")), timezone="UTC")
    assert message.at == datetime(2024, 2, 1, tzinfo=UTC)


def test_a_table_without_a_text_says_so(tmp_path: Path) -> None:
    with pytest.raises(UnreadableFile, match="names no column with a text"):
        read(write(tmp_path, "x.csv", "a,b\n1,2\n"))


# --- Archives within a folder or an archive -----------------------------------------------------


def test_an_export_in_an_archive_of_another_archive_is_read(tmp_path: Path) -> None:
    asked = node("a", None, **speech("user", "mon vélo est bleu"))
    chat = json.dumps([{"title": "Vélo", "mapping": {"a": asked}}])
    inner = zipped(tmp_path / "inner.zip", **{"conversations-000.json": chat.encode()})
    tables = {"Financial/Charges.csv": b"date,amount,note\n2026-01-01,20,Plus\n"}
    online = {"Online/Talk.zip": inner.read_bytes(), "Online/Files.zip": b"PK\5\6" + b"\0" * 18}
    outer = zipped(tmp_path / "portal.zip", **tables, **online)
    messages, problems = read(outer)
    assert said(messages) == [("user", "mon vélo est bleu")]
    assert ["Charges.csv" in each.reason for each in problems] == [True]


def test_a_folder_of_archives_is_read_and_a_broken_one_reported(tmp_path: Path) -> None:
    folder = tmp_path / "chats"
    folder.mkdir()
    for name in ("Nora", "Inès"):
        line = LINE.replace("David", name).encode()
        zipped(folder / f"WhatsApp Chat - {name}.zip", **{"_chat.txt": line})
    (folder / "cut.zip").write_bytes(b"PK\3\4 cut")
    messages, problems = read(folder)
    assert {(each.channel, each.author) for each in messages} == {
        ("Nora", "Nora"),
        ("Inès", "Inès"),
    }
    assert [each.reason for each in problems] == ["cannot import cut.zip: File is not a zip file."]


def test_an_archive_beside_an_export_or_a_note_stays_closed(tmp_path: Path) -> None:
    sent = zipped(tmp_path / "sent.zip", **{"_chat.txt": LINE.encode()}).read_bytes()
    for name, text in (("_chat.txt", LINE), ("Jardin.md", "- la serre est ouverte")):
        found = list(read_file(zipped(tmp_path / "x.zip", **{name: text.encode(), "s.zip": sent})))
        assert [each.reason for each in found if isinstance(each, Problem)] == [
            "left out: s.zip. Files beside an export or beside notes may have been sent or attached: "
            "import them separately."
        ]
        assert len(found) == 2


def test_a_folder_of_web_pages_says_what_to_choose(tmp_path: Path) -> None:
    (tmp_path / "ChatExport").mkdir()
    write(tmp_path / "ChatExport", "messages.html", "<!DOCTYPE html>\n<html></html>")
    with pytest.raises(InvalidInput, match="choose JSON"):
        read(tmp_path / "ChatExport")
