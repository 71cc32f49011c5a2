"""The chat as a real process: over pipes, and in a terminal."""

import codecs
import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import termios
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from time import monotonic, sleep
from typing import Any

import pytest

import children
from hippocampe import Config, Hippocampe, Injection, Recollection, Scope
from hippocampe.cli.show import chat as show
from hippocampe.cli.show.layout import lines
from hippocampe.cli.terminal import out
from hippocampe.companion import Reply, Usage
from hippocampe.presentation.reader import Reader
from hippocampe.types import Considered, Memory, Signal, Trace
from model_server import Answer, Call, ModelRequest, ModelServer

PATIENCE = 60
"""Seconds until what does not come is a failure; much more than anything takes."""
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
HERE = Scope(user="dev", channel="chat")
CTRL_C, CTRL_D = b"\x03", b"\x04"


class Script:
    """What the model answers the companion; background jobs find nothing to keep."""

    def __init__(self) -> None:
        self._answers: deque[Answer] = deque()

    def call(self, name: str, **arguments: Any) -> None:
        self._answers.append(Answer(calls=(Call(name, arguments),)))

    def respond(self, message: str, expression: str = "happy") -> None:
        self.call("respond", expression=expression, message=message)

    def add(self, answer: Answer) -> None:
        self._answers.append(answer)

    def __call__(self, request: ModelRequest) -> Answer:
        if request.model == "background":
            return Answer(calls=(Call("answer", {"statements": []}),))
        return self._answers.popleft()


@pytest.fixture
def script(server: ModelServer) -> Script:
    server.brain = script = Script()
    return script


@pytest.fixture
def environment(folder: Path, server: ModelServer) -> dict[str, str]:
    return os.environ | {
        "HIPPOCAMPE_FOLDER": str(folder),
        "HIPPOCAMPE_MODEL": "openai-chat:scripted",
        "HIPPOCAMPE_BACKGROUND_MODEL": "openai-chat:background",
        "HIPPOCAMPE_USER": "dev",
        "LC_ALL": "C.UTF-8",
        "TERM": "xterm",
        "COLUMNS": "80",
    }


@pytest.fixture
def hippo_of(folder: Path, hashed: None) -> Callable[[], Hippocampe]:
    return lambda: Hippocampe.open(Config(folder, embedder="hashed:64", background=False))


@pytest.fixture
def english(hippo_of: Callable[[], Hippocampe]) -> None:
    with hippo_of() as hippo:
        hippo.update_settings(scope=HERE, language="en", hook_timeout_ms=10_000)


Talk = Callable[..., "subprocess.CompletedProcess[str]"]


@pytest.fixture
def talk(environment: dict[str, str], script: Script) -> Talk:
    """Run the chat over pipes."""

    def run(*lines: str, more: tuple[str, ...] = (), **variables: str) -> Any:
        return children.run(
            *("-c", children.PROGRAM, "chat", "--embedder", "hashed:64", *more),
            input="\n".join(lines),
            encoding="utf-8",
            env=environment | variables,
        )

    return run


class Terminal:
    """A chat, or another command, in a terminal of 60 columns."""

    def __init__(self, environment: dict[str, str], *command: str) -> None:
        self._own, other = pty.openpty()
        fcntl.ioctl(other, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
        self.process = children.start(
            *("-c", children.PROGRAM, *(command or ("chat", "--embedder", "hashed:64"))),
            stdin=other,
            stdout=other,
            stderr=other,
            env={name: value for name, value in environment.items() if name != "COLUMNS"}
            | {"LC_ALL": "fr_FR.UTF-8"},
            # Its own session, whose terminal sends it Ctrl-C.
            start_new_session=True,
        )
        os.close(other)
        self._decoder = codecs.getincrementaldecoder("utf-8")()
        self._seen = ""

    def until(self, text: str) -> str:
        """What is shown up to a text, without what controls the terminal."""
        ends = monotonic() + PATIENCE
        while text not in self._seen:
            assert select.select([self._own], [], [], max(0, ends - monotonic()))[0], self._seen
            try:
                self._seen += self._decoder.decode(os.read(self._own, 65_536))
            except OSError:
                raise AssertionError(f"the chat ended: {self._seen}") from None
        shown, _, self._seen = self._seen.partition(text)
        return ESCAPES.sub("", shown).replace("\r", "")

    def rest(self) -> str:
        """What is shown until the chat ends."""
        with suppress(OSError):
            while select.select([self._own], [], [], PATIENCE)[0]:
                self._seen += self._decoder.decode(os.read(self._own, 65_536))
        return ESCAPES.sub("", self._seen).replace("\r", "")

    def type(self, line: str) -> None:
        self.press(line.encode() + b"\n")

    def press(self, key: bytes) -> None:
        os.write(self._own, key)

    def interrupt(self) -> None:
        """Press Ctrl-C at a prompt. Readline misses one that comes between its prompt and its wait."""
        sleep(0.5)
        self.press(CTRL_C)

    def exit(self) -> int:
        return self.process.wait(PATIENCE)

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self._own)


@pytest.fixture
def terminal(environment: dict[str, str], script: Script) -> Iterator[Terminal]:
    shown = Terminal(environment)
    yield shown
    shown.close()


FRENCH = Reader(language="fr", timezone="Europe/Paris", now=datetime(2026, 5, 1, tzinfo=UTC))


def test_the_reasons_of_what_was_given_are_in_the_language(
    capsys: pytest.CaptureFixture[str],
) -> None:
    signals = (Signal("phrase", 1.0, 1, 1.25), Signal("date_asked", 1.0, None, 0.5))
    found = Recollection("1", "memory", "Nina part\nle 3 mai", 0.8)
    trace = Trace([Considered(replace(found, why=signals), "search", "injected")])
    injection = Injection("1", "…", (found,), 9, 4.0, trace)
    usage = Usage(turns=2, injected_tokens=24)
    reply = Reply("happy", "Le 3 mai.", injected=(found,), usage=usage, injection=injection)
    out(show.why(reply, FRENCH))
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "0.80 trouvé  souvenir · Nina part le 3 mai",
        "             pourquoi : les mêmes mots (+1.2); donne une date (+0.5)",
        "12 tokens · 4,0 ms",
    ]
    out(show.after(reply, FRENCH))
    assert capsys.readouterr().out.splitlines() == [
        "  ‹ Nina part le 3 mai · les mêmes mots",
        "  happy · 0 token (dont 24 de mémoire)",
    ]


def test_what_was_given_is_shown_by_part(capsys: pytest.CaptureFixture[str]) -> None:
    at = FRENCH.now
    town = Memory("2", "default", "Pau", key="ville", user="nina", created_at=at, updated_at=at)
    found = Recollection("1", "memory", "Nina part le 3 mai", 0.8)
    always = Recollection("2", "memory", "Pau", 0.0, memory=town)
    trace = Trace(
        [Considered(always, "identity", "injected"), Considered(found, "search", "injected")]
    )
    injection = Injection("1", "…", (always, found), 9, 4.0, trace)
    usage = Usage(turns=1, injected_tokens=12)
    reply = Reply("happy", "Le 3 mai.", injected=injection.items, usage=usage, injection=injection)
    out(show.why(reply, FRENCH))
    assert [line.rstrip() for line in capsys.readouterr().out.splitlines()] == [
        "trouvés",
        "0.80 trouvé  souvenir · Nina part le 3 mai",
        "donnés d’office",
        "qui est qui  souvenir (nina) · ville : Pau",
        "12 tokens · 4,0 ms",
    ]


def test_changes_show_keys_and_what_they_replace(capsys: pytest.CaptureFixture[str]) -> None:
    at = FRENCH.now
    old = Memory("1", "default", "le jeudi", key="marché", created_at=at, updated_at=at)
    new = Memory("2", "default", "le samedi", key="marché", created_at=at, updated_at=at)
    out(lines(*show.changed([new], {"2": (old,)}, FRENCH)))
    assert capsys.readouterr().out.splitlines() == [
        "  + [fait] marché : le samedi",
        "    remplace : le jeudi",
    ]


class TestPipes:
    def test_a_conversation(
        self, talk: Talk, script: Script, english: None, hippo_of: Callable[[], Hippocampe]
    ) -> None:
        script.call("search_memories", query="dev")
        script.call("store_memory", content="Dev broke a shoulder", subjects=["dev", "injury"])
        script.respond("Oh no!\nWhen was that?", "sad")
        script.respond("Get well soon. [bold]Zoé[/bold] \x1b[31m")
        done = talk("I broke my shoulder", "", "last week")
        assert done.returncode == 0, done.stderr
        greeting, *shown = done.stdout.splitlines()
        assert greeting == "openai-chat:scripted. /help lists the commands, Ctrl-D leaves."
        assert [re.sub(r"[\d,]+ tokens", "N tokens", line) for line in shown] == [
            "  · search_memories dev",
            "  · store_memory Dev broke a shoulder, dev injury",
            "eko › Oh no!",
            "When was that?",
            "  + [fact] Dev broke a shoulder",
            "  sad · N tokens",
            r"eko › Get well soon. [bold]Zoé[/bold] \u001b[31m",
            "  ‹ Dev broke a shoulder · close in meaning",
            "  happy · N tokens (79 of memory)",
        ]
        assert done.stderr == ""
        with hippo_of() as hippo:
            said = [(each.author, each.content) for each in hippo.messages(scope=HERE)]
        assert said[0] == ("dev", "I broke my shoulder")
        assert said[2] == ("dev", "last week")

    def test_in_french(self, talk: Talk, script: Script) -> None:
        done = talk("/help", "/why", "/memories", "/danse", "/forget", LC_ALL="fr_FR.UTF-8")
        assert done.stdout.splitlines() == [
            "openai-chat:scripted. /help donne les commandes, Ctrl-D quitte.",
            *done.stdout.splitlines()[1:8],
            "Pas encore de réponse.",
            "Aucun résultat.",
            "/danse n’existe pas : voir /help.",
            "Dites ce qu’il faut oublier : /forget SUJET",
        ]
        assert "les souvenirs récents" in done.stdout

    def test_deep(
        self, talk: Talk, script: Script, english: None, hippo_of: Callable[[], Hippocampe]
    ) -> None:
        with hippo_of() as hippo:
            hippo.remember("Nina plays the tuba in Ordizan", scope=HERE)
        script.call("search", query="tuba")
        script.call("keep", kept=[{"id": "r1", "reason": "says who plays"}], summary="Nina does.")
        done = talk("/deep who plays the tuba?", "/deep")
        assert done.returncode == 0, done.stderr
        assert "  tuba\nNina does.\n· Nina plays the tuba in Ordizan\n  says who plays\n" in (
            done.stdout
        )
        assert "Say what to look for: /deep QUESTION" in done.stdout

    def test_memories_why_self_and_forget(
        self, talk: Talk, script: Script, english: None, hippo_of: Callable[[], Hippocampe]
    ) -> None:
        with hippo_of() as hippo:
            hippo.remember("Nina plays the tuba in Ordizan", scope=HERE)
            hippo.remember("Owen repairs clocks", scope=HERE)
            hippo.remember(
                "I can see the lobby", scope=Scope(), collection="self", category="capability"
            )
        script.respond("The tuba, in Ordizan.")
        done = talk(
            "/memories tuba",
            "does Nina play the tuba in Ordizan?",
            "/why",
            "/self",
            "/forget the tuba of Nina",
            "n",
            "/forget the tuba of Nina",
            "y",
            "/memories",
        )
        shown = done.stdout
        assert done.returncode == 0, done.stderr
        found, _, rest = shown.partition("eko ›")
        assert "[fact] Nina plays the tuba in Ordizan" in found
        why, _, rest = rest.partition("Capabilities (1)\n  I can see the lobby\n")
        assert re.search(r"[01]\.\d\d \w+ +memory \(dev\) · Nina plays the tuba in Ordizan", why)
        assert re.search(r"\d+ tokens · [\d.]+ ms", why)
        refused, _, done_ = rest.partition("Nothing was changed.")
        assert "[memory] Nina plays the tuba in Ordizan" in refused
        assert "Forgotten: " in done_
        assert "Nina plays" not in done_.partition("Forgotten: ")[2]
        assert "[fact] Owen repairs clocks" in done_

    def test_why_has_what_tools_found(
        self, talk: Talk, script: Script, english: None, hippo_of: Callable[[], Hippocampe]
    ) -> None:
        with hippo_of() as hippo:
            hippo.remember("Nina plays the tuba in Ordizan", scope=HERE)
        script.call("search_memories", query="tuba")
        script.call("search_goals", query="tuba")
        script.respond("Nina does.")
        done = talk("does she play?", "/why", more=("--mode", "agentic"))
        assert done.returncode == 0, done.stderr
        found, _, nothing = done.stdout.partition("\n· search_memories tuba\n")[2].partition(
            "· search_goals tuba\n"
        )
        assert re.match(r"[01]\.\d\d +memory \(dev\) · Nina plays the tuba in Ordizan", found)
        assert nothing == "Nothing found.\n"

    def test_an_error_of_the_model_is_one_line_and_the_chat_goes_on(
        self, talk: Talk, script: Script, hippo_of: Callable[[], Hippocampe]
    ) -> None:
        script.add(Answer("no", status=401))
        script.respond("Oui.")
        done = talk("tu es là ?", "et là ?")
        assert done.returncode == 0
        assert done.stderr == (
            "error: the provider refused the key for 'scripted': check the key in the environment.\n"
        )
        assert "eko › Oui." in done.stdout
        with hippo_of() as hippo:
            assert [each.content for each in hippo.messages(scope=HERE)] == [
                "tu es là ?",
                "et là ?",
                "Oui.",
            ]

    def test_the_mode_is_a_setting_of_the_space(
        self, talk: Talk, script: Script, hippo_of: Callable[[], Hippocampe]
    ) -> None:
        assert talk(more=("--mode", "agentic", "--space", "work")).returncode == 0
        with hippo_of() as hippo:
            assert hippo.settings(scope=Scope(space="work")).companion_mode == "agentic"
        wrong = talk(more=("--mode", "psychic"))
        assert wrong.returncode == 1
        assert "companion_mode" in wrong.stderr

    def test_without_a_model_it_says_how_to_get_one(self, talk: Talk, folder: Path) -> None:
        done = talk("salut", HIPPOCAMPE_MODEL="", LC_ALL="fr_FR.UTF-8", COLUMNS="200")
        assert (done.returncode, done.stdout) == (1, "")
        said, *ways = done.stderr.splitlines()
        assert said.endswith("Il y a trois façons d’en avoir un :")
        assert [line[:2] for line in ways if not line.startswith("   ")] == ["1.", "2.", "3."]
        assert "OPENAI_BASE_URL=http://127.0.0.1:11434/v1" in done.stderr
        assert not folder.exists()

    def test_a_request_that_may_mean_never_mind_waits_for_a_yes(
        self, talk: Talk, english: None
    ) -> None:
        done = talk("I booked a barn dance", "forget the barn dance", more=("--without-model",))
        assert "  − [memory] I booked a barn dance\n" in done.stdout
        assert done.stdout.splitlines()[-1] == "Answer yes if this is what to forget."

    def test_memory_alone(
        self, talk: Talk, english: None, hippo_of: Callable[[], Hippocampe]
    ) -> None:
        done = talk(
            "I live in Lyon",
            "I live in Lyon",
            "I moved to Toulouse",
            "where do I live?",
            "where do I live?",
            "hello!",
            "/deep where?",
            "forget that I moved to Toulouse",
            more=("--without-model",),
        )
        assert done.returncode == 0, done.stderr
        learnt, _, rest = done.stdout.partition("it replaces: I live in Lyon\n")
        assert "  + [fact] I live in Lyon\n" in learnt
        assert "  = known already: I live in Lyon\n" in learnt
        asked, _, forgotten = rest.partition("Only a language model can search in several steps.")
        found = re.findall(r"[01]\.\d\d found +memory \(dev\) · (.+?) *\n", asked)
        # What was given before is given again: no model has seen it.
        assert found == ["I moved to Toulouse"] * 2
        assert "hello" not in asked
        assert forgotten.splitlines()[-2:] == [
            "  − [memory] I moved to Toulouse",
            "Forgotten: 1.",
        ]
        with hippo_of() as hippo:
            assert hippo.memories(scope=HERE).items == ()

    def test_without_a_key_it_says_which_one(self, talk: Talk) -> None:
        done = talk(
            "salut", OPENAI_API_KEY="", HIPPOCAMPE_MODEL="anthropic:x", ANTHROPIC_API_KEY=""
        )
        assert done.returncode == 1
        assert done.stderr == (
            "error: the model 'anthropic:x' has no key: set ANTHROPIC_API_KEY, the key of its "
            "provider.\n"
        )


class TestTerminal:
    def test_an_answer_is_streamed_and_wrapped_between_words(
        self, terminal: Terminal, script: Script
    ) -> None:
        terminal.until("dev › ")
        script.call("search_memories", query="ski")
        script.respond("Repose-toi bien, et surtout ne va pas skier avant que cela guérisse !")
        terminal.type("je me suis cassé l'épaule")
        assert "réfléchit…" in terminal.until("search_memories ski")
        shown = terminal.until("dev › ")
        answer = shown[shown.index("eko › ") :].splitlines()
        assert answer[0].rstrip() == "eko › Repose-toi bien, et surtout ne va pas skier avant que"
        assert answer[1] == "cela guérisse !"
        assert answer[2].startswith("  happy · ")
        terminal.press(CTRL_D)
        # The prompt of the shell begins on a line of its own.
        assert terminal.rest().endswith("\n")
        assert terminal.exit() == 0

    def test_ctrl_c_cancels_an_answer_and_a_second_one_leaves(
        self, terminal: Terminal, script: Script, server: ModelServer
    ) -> None:
        terminal.until("dev › ")
        script.add(Answer(delay=PATIENCE))
        terminal.type("tu dors ?")
        terminal.until("réfléchit…")
        ends = monotonic() + PATIENCE
        while not server.requests and monotonic() < ends:
            sleep(0.02)
        terminal.press(CTRL_C)
        terminal.until("Annulé ; votre message est gardé.")
        terminal.until("Ctrl-C encore une fois pour quitter.")
        terminal.until("dev › ")
        script.respond("Non.")
        terminal.type("et là ?")
        terminal.until("Non.")
        terminal.until("dev › ")
        terminal.interrupt()
        terminal.until("Ctrl-C encore une fois pour quitter.")
        terminal.until("dev › ")
        terminal.interrupt()
        assert terminal.rest() == "\n"
        assert terminal.exit() == 0

    def test_the_shell_gets_a_line_of_its_own_after_a_server(
        self, environment: dict[str, str]
    ) -> None:
        server = Terminal(environment, "serve", "--embedder", "hashed:64", "--port", "0")
        try:
            server.until("Ctrl-C l’arrête.")
            server.press(CTRL_C)
            assert server.rest().endswith("^C\n")
            assert server.exit() == 0
        finally:
            server.close()

    def test_an_error_is_broken_between_words(self, environment: dict[str, str]) -> None:
        path = "/nowhere/" + "a-long-name/" * 5
        refused = Terminal(environment, "import", path)
        try:
            said = refused.rest().splitlines()
            assert path.rstrip("/") in "\n".join(said)
            assert said[0].startswith("erreur : ")
            assert all(len(line) <= 60 or "/" in line for line in said)
        finally:
            refused.close()

    def test_quit(self, terminal: Terminal) -> None:
        terminal.until("dev › ")
        terminal.type("/quit")
        assert terminal.exit() == 0
