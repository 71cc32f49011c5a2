"""A message that asks to forget: what it hides, whose it is, and when it waits for a yes."""

import time
from typing import Any

import pytest

from conftest import FakeClock, Opener
from hippocampe import Hippocampe, Recollection, Scope
from hippocampe.curation import requested
from hippocampe.errors import IndexUnavailable
from hippocampe.retrieval import requested as requests
from hippocampe.types import MAX_LABEL_CHARACTERS, Forgetting, Injection

ANA = Scope(user="ana", channel="lobby")
DAVID = Scope(user="david", channel="lobby")
EVERYWHERE = ("memory", "summary", "turn", "live")


@pytest.fixture
def hippo(open_hippo: Opener) -> Hippocampe:
    memory = open_hippo()
    memory.update_settings(scope=ANA, hook_timeout_ms=10_000, language="en")
    return memory


def contents(hippo: Hippocampe, query: str, scope: Scope = ANA) -> set[str]:
    found = hippo.recall(query, scope=scope, collections=EVERYWHERE, limit=50, mode="text")
    return {item.content.split("\n")[0] for item in found}


def say(hippo: Hippocampe, message: str, scope: Scope = ANA, reply: str = "D'accord.") -> Injection:
    injection = hippo.before_turn(message, scope=scope)
    hippo.after_turn(message, reply, scope=scope)
    return injection


def asked(injection: Injection) -> Forgetting:
    assert injection.forgetting is not None
    return injection.forgetting


@pytest.fixture
def tuba(hippo: Hippocampe) -> Hippocampe:
    """Two players: what each said of the tuba in one room, in both languages."""
    hippo.remember("Ana joue du tuba", scope=ANA)
    hippo.remember("I play the tuba", scope=DAVID)
    hippo.remember("Ana joue au tennis le mardi", scope=ANA)
    hippo.after_turn("Je joue du tuba depuis mes douze ans", "Bel instrument !", scope=ANA)
    hippo.after_turn("I've been practising the tuba all weekend", "Nice!", scope=DAVID)
    hippo.observe("j'ai un concert de tuba samedi", scope=ANA)
    return hippo


KEPT = {"I play the tuba", "I've been practising the tuba all weekend"}


@pytest.mark.parametrize(
    "message",
    [
        "Forget that I play the tuba",
        "oublie que je joue du tuba",
        "Tu peux oublier que je joue du tuba ?",
    ],
)
def test_what_the_user_said_goes_and_what_others_said_stays(tuba: Hippocampe, message: str) -> None:
    injection = say(tuba, message)
    assert not asked(injection).waits
    assert {item.kind for item in asked(injection).items} == {"memory", "turn", "live"}
    assert contents(tuba, "tuba") == KEPT
    assert {each.content for each in tuba.search_text("tuba", scope=Scope())} <= KEPT
    assert contents(tuba, "tennis") == {"Ana joue au tennis le mardi"}
    injected = {item.content for item in tuba.before_turn("Je joue de quoi ?", scope=ANA).items}
    assert not any("tuba" in content for content in injected - KEPT)
    assert tuba.verify().ok


def test_the_text_says_what_memory_does(tuba: Hippocampe) -> None:
    text = tuba.before_turn("Please forget that I play the tuba", scope=ANA).text
    assert "[Memory: a request to forget]" in text
    assert "Forgotten right after this answer" in text
    tuba.update_settings(scope=ANA, language="fr")
    assert "une demande d’oubli" in tuba.before_turn("oublie que je joue du tuba", scope=ANA).text


@pytest.mark.parametrize("language", ["fr", "en"])
def test_what_is_found_too_late_is_said_too(
    tuba: Hippocampe, monkeypatch: pytest.MonkeyPatch, language: str
) -> None:
    plan = requests.plan

    def slow(*given: Any, replies: bool = True) -> Forgetting | None:
        time.sleep(0 if replies else 1)
        return plan(*given, replies=replies)

    monkeypatch.setattr(requests, "plan", slow)
    tuba.update_settings(scope=ANA, hook_timeout_ms=50, language=language)
    injection = say(tuba, "oublie que je joue du tuba")
    assert injection.trace.missing == ("search late",)
    assert asked(injection) == Forgetting("je joue du tuba", (), waits=True)
    assert ("pas été trouvé à temps" if language == "fr" else "not found in time") in injection.text
    assert contents(tuba, "tuba") == KEPT


@pytest.mark.parametrize(
    "message",
    ["oublie tout ce que tu sais sur moi", "supprime mes données", "forget me", "delete my data"],
)
def test_all_that_is_known_of_a_user_takes_erase(tuba: Hippocampe, message: str) -> None:
    before = contents(tuba, "tuba tennis")
    injection = say(tuba, message)
    assert asked(injection).whole
    assert "`erase`" in injection.text
    assert "tuba" not in injection.text
    assert say(tuba, "yes please").forgetting is None
    assert contents(tuba, "tuba tennis") == before


@pytest.mark.parametrize(
    ("message", "said"),
    [
        ("oublie ce que je t'ai dit hier", "ce que je t'ai dit hier"),
        ("forget everything I told you yesterday", "everything I told you yesterday"),
    ],
)
def test_the_time_that_was_named_is_shown(tuba: Hippocampe, message: str, said: str) -> None:
    assert f": {said}\n" in tuba.before_turn(message, scope=ANA).text


def test_without_the_index_the_turn_has_what_the_store_has(
    tuba: Hippocampe, monkeypatch: pytest.MonkeyPatch
) -> None:
    def down(*_: object, **__: object) -> None:
        raise IndexUnavailable("the disk was taken out")

    monkeypatch.setattr(tuba._context.corpus.index, "nearest", down)
    injection = tuba.before_turn("Forget that I play the tuba", scope=ANA)
    assert injection.trace.skipped is None
    assert injection.trace.missing == ("index down",)
    assert "Ana joue du tuba" in injection.text
    assert tuba.stats(scope=ANA).outages == {"index": 1}


def test_restore_brings_it_back(tuba: Hippocampe) -> None:
    hidden = asked(say(tuba, "oublie que je joue du tuba")).items
    for item in hidden:
        assert isinstance(tuba.restore(item.id, scope=ANA), Recollection) == (item.kind != "memory")
    assert contents(tuba, "tuba") >= {"Ana joue du tuba", "j'ai un concert de tuba samedi"}
    assert tuba.verify().ok


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (
            "Mon numéro de carte c'est 4111 1111 1111 1111",
            "oublie mon numéro de carte s'il te plaît",
        ),
        ("my visa is 4111 1111 1111 1111", "please forget my card number"),
        ("ma CB : 4111 1111 1111 1111", "Forget my card number."),
        ("le code du wifi est Tournesol22", "oublie mon code wifi"),
        ("my phone PIN is 4821", "Could you forget my PIN?"),
    ],
)
def test_a_secret_is_named_by_its_kind(hippo: Hippocampe, told: str, message: str) -> None:
    say(hippo, told)
    say(hippo, "my bank card is 5555 5555 5555 4444; the PIN is 9876", DAVID)
    say(hippo, "J'adore les cartes postales anciennes")
    [item] = asked(say(hippo, message)).items
    assert item.kind == "turn"
    assert "[secret: " in item.content
    kept = [each.content for each in hippo.messages(scope=ANA, working=True) if each.role == "user"]
    assert [each[:7] for each in kept] == ["my bank", "J'adore"]


@pytest.mark.parametrize("yes", ["oui, vas-y", "yes please"])
def test_much_waits_for_a_yes(hippo: Hippocampe, yes: str) -> None:
    for day in ("lundi", "mardi", "mercredi", "jeudi", "vendredi", "samedi"):
        say(hippo, f"J'ai répété au tuba {day}")
    say(hippo, "Je joue du tuba")
    injection = say(hippo, "Oublie tout ce que je t'ai dit sur le tuba", reply="Vraiment tout ?")
    assert asked(injection).waits
    assert "J'ai répété au tuba" in injection.text
    assert len(contents(hippo, "tuba")) == 8
    say(hippo, yes, DAVID)
    assert len(contents(hippo, "tuba")) == 8
    assert not asked(say(hippo, yes)).waits
    assert contents(hippo, "tuba") == set()
    # Once confirmed, a yes means something else.
    assert say(hippo, yes).forgetting is None


def test_a_refusal_keeps_everything(hippo: Hippocampe) -> None:
    hippo.remember("Ana joue au tennis le mardi", scope=ANA)
    assert asked(say(hippo, "oublie le tennis")).waits
    say(hippo, "non, garde-le")
    assert say(hippo, "oui").forgetting is None
    assert "Ana joue au tennis le mardi" in contents(hippo, "tennis")


def test_a_yes_comes_soon(hippo: Hippocampe, clock: FakeClock) -> None:
    hippo.remember("Ana joue au tennis le mardi", scope=ANA)
    say(hippo, "forget the tennis")
    clock.advance(hours=2)
    assert say(hippo, "yes").forgetting is None


def test_an_unknown_thing_that_may_mean_never_mind_asks_for_nothing(hippo: Hippocampe) -> None:
    assert say(hippo, "oublie le dîner").forgetting is None
    assert say(hippo, "forget the milk").forgetting is None


@pytest.mark.parametrize(
    "message",
    [
        "Forget what I just said", "oublie ce que je viens de dire", "pretend I never said that",
        "fais comme si je n'avais rien dit",
    ],
)  # fmt: skip
def test_what_was_just_said(hippo: Hippocampe, message: str) -> None:
    say(hippo, "Je collectionne les timbres")
    turn = hippo.after_turn("Mon frère a perdu son travail", "Désolé.", scope=ANA)
    say(hippo, "Il pleut à Brest", DAVID)
    [source] = hippo.search_text("frère", scope=ANA)
    hippo.remember("Le frère d'Ana a perdu son travail", scope=ANA, evidence=[source.id])
    assert turn in {item.id for item in asked(say(hippo, message)).items}
    assert contents(hippo, "frère travail") == set()
    assert contents(hippo, "timbres Brest") == {"Je collectionne les timbres", "Il pleut à Brest"}


def test_the_turn_of_the_evidence_goes(hippo: Hippocampe) -> None:
    say(hippo, "J'en fais depuis mes douze ans, du gros cuivre")
    [source, *_] = hippo.messages(scope=ANA)
    hippo.remember("Ana joue du tuba", scope=ANA, evidence=[source.id])
    items = asked(say(hippo, "oublie que je joue du tuba")).items
    assert ("evidence",) in {item.matched for item in items}
    assert contents(hippo, "cuivre") == set()


def test_the_rest_of_the_message_stays(hippo: Hippocampe) -> None:
    hippo.remember("Ana joue du tuba", scope=ANA)
    say(hippo, "Oublie que je joue du tuba. Sinon, j'ai déménagé à Lyon.", reply="Plus de tuba !")
    assert contents(hippo, "Lyon") == {"Sinon, j'ai déménagé à Lyon."}
    assert contents(hippo, "tuba") == set()


SOFA = [
    ("Forget everything about the sofa", "The sofa is red", "The new sofa is blue"),
    ("Oublie tout sur le canapé", "Le canapé est rouge", "Le nouveau canapé est bleu"),
]


@pytest.mark.parametrize(("message", "before", "since"), SOFA)
def test_a_repeated_request_hides_nothing_said_since(
    hippo: Hippocampe, clock: FakeClock, message: str, before: str, since: str
) -> None:
    old = hippo.remember(before, scope=ANA).memory
    first = hippo.after_turn(message, "ok", scope=ANA, external_id="e1")
    clock.advance(minutes=5)
    hippo.remember(since, scope=ANA)
    hippo.restore(old.id, scope=ANA)
    assert hippo.after_turn(message, "ok", scope=ANA, external_id="e1") == first
    assert {each.content for each in hippo.recent(scope=ANA)} == {before, since}


@pytest.mark.parametrize(("message", "before", "since"), SOFA)
def test_a_repeated_request_completes_an_interrupted_one(
    hippo: Hippocampe,
    clock: FakeClock,
    monkeypatch: pytest.MonkeyPatch,
    message: str,
    before: str,
    since: str,
) -> None:
    hippo.remember(before, scope=ANA)
    with monkeypatch.context() as patched, pytest.raises(ZeroDivisionError):
        patched.setattr(requested, "hide_found", lambda *_: 1 / 0)
        hippo.after_turn(message, "ok", scope=ANA, external_id="e1")
    clock.advance(minutes=5)
    hippo.remember(since, scope=ANA)
    hippo.after_turn(message, "ok", scope=ANA, external_id="e1")
    assert {each.content for each in hippo.recent(scope=ANA)} == {since}


@pytest.mark.parametrize("external_id", ["1", "é" * MAX_LABEL_CHARACTERS])
def test_a_repeated_exchange_is_stored_once(hippo: Hippocampe, external_id: str) -> None:
    message = "Forget that I play the tuba. Also, I moved to Lyon."
    first = hippo.after_turn(message, "Ok.", scope=ANA, external_id=external_id)
    assert hippo.after_turn(message, "Ok.", scope=ANA, external_id=external_id) == first
    assert len(hippo.messages(scope=ANA)) == 3


def test_a_request_without_a_user(hippo: Hippocampe) -> None:
    scope = Scope()
    hippo.remember("I play the tuba", scope=scope)
    say(hippo, "forget that I play the tuba", scope)
    assert contents(hippo, "tuba", scope) == set()


@pytest.mark.parametrize(
    ("message", "content", "other"),
    [
        ("oublie que mon frère habite à Nice", "mon frère habite à Nice", "ma sœur habite à Nice"),
        ("forget that I owe Ann 300 euros", "I owe Ann 300 euros", "I owe Bob 20 euros"),
        ("forget that I smoke weed", "I smoke weed", "I don't smoke"),
        ("oublie que Marc m'a trompée", "Marc m'a trompée", "Marc aime le foot"),
        (
            "oublie que je suis enceinte, je l'ai pas encore dit à ma mère",
            "je suis enceinte",
            "j'ai un chat",
        ),
        ("oublie mon vélo", "mon vélo est volé", "le vélo de ma cousine est volé"),
        ("forget my boat", "my boat leaks", "my uncle's boat leaks"),
        (
            "oublie ce que j'ai dit de l'asthme de mon frère",
            "mon frère a de l'asthme",
            "j'ai de l'asthme",
        ),
        ("forget my brother's asthma", "my brother has asthma", "I have asthma"),
        ("forget that I have asthma", "I have asthma", "my brother has asthma"),
        ("oublie mon père", "mon père est malade", "mon beau-père est malade"),
        ("forget my dad", "my dad is ill", "my step-dad is ill"),
        ("oublie que Tom n'aime pas le judo", "Tom n'aime pas le judo", "Tom aime le judo"),
        ("forget that Tom likes judo", "Tom likes judo", "Tom doesn't like judo"),
    ],
)
def test_what_is_of_another_person_or_number_stays(
    hippo: Hippocampe, message: str, content: str, other: str
) -> None:
    # Others spoke here and elsewhere: it makes no difference.
    for space in ("", "elsewhere"):
        hippo.after_turn("bonjour", "oui", scope=Scope(space, "ana", "lobby") if space else ANA)
    for each in (content, other):
        hippo.remember(each, scope=ANA)
    found = asked(hippo.before_turn(message, scope=ANA))
    assert [item.content for item in found.items] == [content]
    assert not found.waits


@pytest.mark.parametrize(
    ("message", "content"),
    [
        ("forget my operation", "my sister drove me to the operation"),
        ("oublie mon opération", "ma sœur m'a conduite à l'opération"),
    ],
)
def test_what_may_be_of_another_person_waits_for_a_yes(
    hippo: Hippocampe, message: str, content: str
) -> None:
    hippo.remember(content, scope=ANA)
    found = asked(say(hippo, message))
    assert found.waits
    assert "unclear" in found.items[0].matched
    say(hippo, "oui")
    assert not contents(hippo, "operation opération")


@pytest.mark.parametrize(
    ("message", "called", "other", "by_david"),
    [
        ("forget my ex", "my ex is called Jason", "Jason kept the dog", "Jason plays chess"),
        ("oublie mon ex", "mon ex s'appelle Julien", "Julien a gardé le chien", "Julien chante"),
        ("never mention my ex again", "my ex is called Jason", "Jason kept the dog", "Jason sings"),
        (
            "ne me parle plus jamais de mon ex",
            "mon ex s'appelle Julien",
            "Julien a gardé le chien",
            "Julien chante",
        ),
    ],
)
def test_what_is_told_by_the_name_of_somebody_waits_for_a_yes(
    hippo: Hippocampe, message: str, called: str, other: str, by_david: str
) -> None:
    for each in (called, other):
        hippo.remember(each, scope=ANA)
    hippo.remember(by_david, scope=DAVID)
    found = asked(hippo.before_turn(message, scope=ANA))
    assert [item.content for item in found.items] == [called, other]
    assert found.waits


@pytest.mark.parametrize(
    ("message", "value", "other"),
    [
        ("forget my dentist's name", "my dentist is Dr Legrand", "I see my dentist on Friday"),
        (
            "oublie le nom de ma dentiste",
            "ma dentiste est Mme Legrand",
            "je vois ma dentiste jeudi",
        ),
    ],
)
def test_what_does_not_tell_the_value_stays(
    hippo: Hippocampe, message: str, value: str, other: str
) -> None:
    for each in (value, other):
        hippo.remember(each, scope=ANA)
    found = asked(hippo.before_turn(message, scope=ANA))
    assert [item.content for item in found.items] == [value]


def test_only_what_the_user_said_of_somebody(hippo: Hippocampe) -> None:
    hippo.remember("Rachel is allergic to nuts", scope=DAVID)
    hippo.remember("Rachel is my sister", scope=ANA)
    found = asked(hippo.before_turn("forget what I said about Rachel", scope=ANA))
    assert [item.content for item in found.items] == ["Rachel is my sister"]
    found = asked(hippo.before_turn("forget what you know about Rachel", scope=ANA))
    assert len(found.items) == 2


def test_all_that_the_user_said_that_day(hippo: Hippocampe, clock: FakeClock) -> None:
    hippo.after_turn("I hate my job", "Oh.", scope=ANA)
    clock.advance(days=1)
    for each in ("my brother is in rehab", "I owe 3000 euros"):
        hippo.after_turn(each, "Oh.", scope=ANA)
        clock.advance(minutes=1)
    hippo.after_turn("I like cheese", "Good.", scope=DAVID)
    hippo.remember("Ana is pregnant", scope=ANA)
    say(hippo, "forget everything I told you today", scope=ANA)
    assert contents(hippo, "job brother euros cheese pregnant") == {
        "I hate my job",
        "I like cheese",
    }


def test_a_value_that_was_corrected(hippo: Hippocampe) -> None:
    hippo.remember("I live in Lens", scope=ANA)
    hippo.remember("I moved to Lille", scope=ANA)
    found = asked(say(hippo, "forget that I lived in Lens"))
    assert [item.content for item in found.items] == ["I live in Lens"]
    states = {m.content: m.forgotten_at for m in hippo.memories(scope=ANA, state="all").items}
    assert states["I live in Lens"]
    assert states["I moved to Lille"] is None


def test_talk_beside_a_forgotten_summary_stays(hippo: Hippocampe) -> None:
    hippo.update_settings(scope=ANA, recent_messages=1)
    for each in (
        "My brother Kevin is in rehab",
        "I am allergic to nuts",
        "the garage code changes",
    ):
        hippo.after_turn(each, "ok", scope=ANA)
    hippo.compact(scope=ANA)
    found = asked(hippo.before_turn("forget that Kevin is in rehab", scope=ANA))
    assert "I am allergic to nuts" not in {item.content.split("\n")[0] for item in found.items}


@pytest.mark.usefixtures("reading")
def test_what_is_only_read_waits_for_a_yes(hippo: Hippocampe) -> None:
    for each in ("I owe 3000 euros to the bank", "I like cats", "I play the tuba"):
        hippo.remember(each, scope=ANA)
    found = asked(say(hippo, "forget my debts"))
    assert found.waits
    assert [item.content for item in found.items] == ["I owe 3000 euros to the bank"]
    say(hippo, "yes please")
    assert "I owe 3000 euros to the bank" not in contents(hippo, "euros")


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("told", "request_"),
    [
        (
            "I split up with Tobias last spring, it was ugly",
            "I'm done with Tobias. Please forget everything about that affair.",
        ),
        (
            "Karim m'a quittée au printemps, c'était affreux",
            "je ne veux plus parler de Karim. oublie cette histoire s'il te plaît",
        ),
        (
            "My taxes: I have two late returns and a fine",
            "Delete my tax details please. I don't want them stored.",
        ),
        (
            "Mes soucis de santé : du diabète et trop de tension",
            "supprime mes infos médicales, je ne veux pas que ce soit gardé",
        ),
    ],
)
def test_talk_in_other_words_waits_for_a_yes(hippo: Hippocampe, told: str, request_: str) -> None:
    hippo.after_turn(told, "Je vois.", scope=ANA)
    hippo.after_turn("j'ai acheté des pommes", "Miam.", scope=ANA)
    found = asked(say(hippo, request_))
    assert found.waits
    assert [item.content.split("\n")[0] for item in found.items] == [told]
    say(hippo, "yes please")
    assert all(told not in each for each in contents(hippo, told))


def test_an_answer_that_repeats_what_is_forgotten(hippo: Hippocampe, clock: FakeClock) -> None:
    hippo.remember("Ma soeur Rachel vient du 12 au 15 septembre", scope=ANA)
    question = "la soeur d'Ana vient quand ?"
    for reply in ("Du 12 au 15 septembre.", "Je ne sais pas."):
        assert hippo.before_turn(question, scope=DAVID).items or reply.startswith("Je")
        clock.advance(seconds=5)
        hippo.after_turn(question, reply, scope=DAVID)
        clock.advance(hours=1)
    hippo.flush()
    say(hippo, "oublie ce que j'ai dit sur Rachel")
    assert contents(hippo, question) == {question}
    (left,) = hippo.recall(question, scope=ANA, collections=("turn",))
    assert "Je ne sais pas." in left.content


def test_an_earlier_request_is_not_what_is_forgotten(hippo: Hippocampe) -> None:
    hippo.remember("Ramona va chez le vétérinaire mardi", scope=ANA)
    hippo.after_turn("oublie le vétérinaire de Bob", "De qui ?", scope=ANA)
    assert "Ramona va chez le vétérinaire mardi" in contents(hippo, "vétérinaire")
    waiting = asked(say(hippo, "oublie le vétérinaire"))
    assert next(item.kind for item in waiting.items) == "memory"
    say(hippo, "oui")
    assert not contents(hippo, "vétérinaire")


@pytest.mark.parametrize(
    ("message", "reply"),
    [
        ("J’ai fini mon puzzle \ud83e\udde9 \ud83c", "Bravo \ud83d"),
        ("I finished my jigsaw \ud83e\udde9 \ud83c", "Well done \ud83d"),
        ("Oublie que je joue de la harpe \ud83c", "D’accord \ud83d"),
        ("Forget that I play the harp \ud83c", "Done \ud83d"),
    ],
)
def test_half_an_emoji_does_not_lose_the_exchange(
    hippo: Hippocampe, message: str, reply: str
) -> None:
    hippo.after_turn(message, reply, scope=ANA, tool_results=["pièce \udf0a"])
    whole = message.replace("\ud83e\udde9", "\U0001f9e9").replace("\ud83c", "\ufffd")
    written = [each.content for each in hippo.messages(scope=ANA)]
    assert written == [whole, reply.replace("\ud83d", "\ufffd"), "pièce \ufffd"]


@pytest.mark.parametrize(
    ("message", "former", "current"),
    [
        ("forget my old address", "I live at 2 Mill Road", "I live at 14 Alder Lane now"),
        ("please forget the old address", "I live at 2 Mill Road", "I live at 14 Alder Lane now"),
        (
            "oublie mon ancienne adresse",
            "J'habite au 9 rue Haute",
            "J'habite maintenant au 22 rue des Lilas",
        ),
    ],
)
def test_what_was_before_goes_and_what_holds_stays(
    hippo: Hippocampe, message: str, former: str, current: str
) -> None:
    hippo.remember(former, scope=ANA)
    assert hippo.remember(current, scope=ANA).replaced
    found = asked(say(hippo, message))
    assert [item.content for item in found.items] == [former]
    say(hippo, "oui")
    states = {m.content: m.forgotten_at for m in hippo.memories(scope=ANA, state="all").items}
    assert states[former]
    assert states[current] is None


def test_a_yes_forgets_what_was_asked_about(hippo: Hippocampe) -> None:
    hippo.remember("My phone number is 07700 900123", scope=ANA)
    hippo.after_turn("je me suis engueulé avec Bernard, j'ai failli partir", "Oh.", scope=ANA)
    found = asked(say(hippo, "l'engueulade avec Bernard, on oublie"))
    assert found.waits
    say(hippo, "oui")
    assert not contents(hippo, "Bernard")
    assert contents(hippo, "phone number")


def test_what_is_said_beside_a_confirmed_request_stays(hippo: Hippocampe) -> None:
    hippo.remember("I live at 2 Mill Road", scope=ANA)
    message = "the boiler is fixed and by the way forget the old address please"
    assert asked(say(hippo, message)).waits
    say(hippo, "yes please")
    assert contents(hippo, "boiler address") == {"the boiler is fixed"}


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("message", "content", "other"),
    [
        ("forget my debts", "I owe my brother 400 pounds", "I earn 2,350 a month"),
        ("oublie mon salaire", "Je gagne 2350 euros par mois", "Je dois 400 euros à mon frère"),
        (
            "forget that I failed my driving test",
            "I failed my driving test in March",
            "My driving lessons are on Tuesdays",
        ),
        ("oublie que je fume", "Je fume en cachette", "J'aime le saumon fumé"),
    ],
)
def test_what_only_resembles_the_topic_stays(
    hippo: Hippocampe, message: str, content: str, other: str
) -> None:
    for each in (content, other, "I like cats"):
        hippo.remember(each, scope=ANA)
    found = asked(hippo.before_turn(message, scope=ANA))
    assert [item.content for item in found.items] == [content]


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("told", "request_"),
    [
        ("Nils fancies Ewa from work", "nils asked me not to say he fancies ewa. forget it please"),
        ("Biscuit had an operation", "Biscuit's operation went fine, so you can forget about it"),
        ("Marcel m'a invitée samedi", "Marcel m'a invitée mais je n'y vais pas, tu peux l'oublier"),
        ("Je lis un roman sur la Sibérie", "le roman sur la Sibérie, je l'ai rendu, donc oublie"),
    ],
)
def test_a_request_behind_what_it_means_waits_for_a_yes(
    hippo: Hippocampe, told: str, request_: str
) -> None:
    for each in (told, "I like cats", "Je joue du tuba"):
        hippo.remember(each, scope=ANA)
    found = asked(say(hippo, request_))
    assert found.waits
    assert [item.content for item in found.items] == [told]
    say(hippo, "yes")
    assert told not in {each.content for each in hippo.memories(scope=ANA).items}


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    "message",
    ["the shop is closed, forget it", "le train est annulé, oublie la plage", "forget it"],
)
def test_never_mind_is_no_request(hippo: Hippocampe, message: str) -> None:
    for each in ("Gabin a huit ans et adore les trains", "I have a job in the museum shop"):
        hippo.remember(each, scope=ANA)
    assert hippo.before_turn(message, scope=ANA).forgetting is None


def test_only_what_was_told_at_the_named_time(hippo: Hippocampe, clock: FakeClock) -> None:
    hippo.after_turn("my job is killing me", "Oh.", scope=ANA)
    clock.advance(days=5)
    hippo.after_turn("they offered me a job in Rome", "Wow.", scope=ANA)
    clock.advance(days=1)
    found = asked(hippo.before_turn("what I told you yesterday about the job, drop it", scope=ANA))
    assert [each.content.split("\n")[0] for each in found.items] == [
        "they offered me a job in Rome"
    ]


def test_a_relative_without_a_pronoun_is_the_users(hippo: Hippocampe) -> None:
    hippo.remember("My mum's phone number is 07700 900456", scope=DAVID)
    hippo.remember("Le numéro de ma mère est le 06 98 76 54 32", scope=ANA)
    found = asked(hippo.before_turn("oublie le numéro de maman", scope=ANA))
    assert [item.content for item in found.items] == ["Le numéro de ma mère est le 06 98 76 54 32"]


def test_a_long_text_waits_for_a_yes(hippo: Hippocampe) -> None:
    told = " and then ".join(
        f"we saw the {each} and it was fine" for each in "sea park zoo".split()
    )
    hippo.after_turn(f"{told} and i play the tuba in june {told} {told}", "Oh.", scope=ANA)
    injection = hippo.before_turn("forget that I play the tuba", scope=ANA)
    assert asked(injection).waits
    assert "i play the tuba in june" in injection.text
