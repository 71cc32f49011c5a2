"""Which questions are open: about the talk or the person at large, and which name something."""

from datetime import UTC, datetime

import pytest

from hippocampe.language import open_questions
from hippocampe.language.temporal.window import parse_window

NOW = datetime(2026, 1, 17, 10, 23, tzinfo=UTC)

ABOUT_TALK = """\
on a parlé de quoi ?
On a parlé de quoi avant ?
de quoi on a parlé ?
de quoi a-t-on parlé hier ?
De quoi avons-nous parlé la dernière fois ?
on parlait de quoi déjà ?
on a parle de koi
de quoi on parlait hier soir
qu'est-ce qu'on a dit hier ?
quest ce quon a dit
Qu'est-ce qu'on s'était dit la semaine dernière ?
qu'avons-nous dit ?
C'était quoi notre dernière conversation ?
tu te souviens de notre dernière conversation ?
Tu te souviens de ce qu'on s'est dit ?
Salut ! Tu peux me rappeler ce qu'on a dit hier ?
résume nos échanges
Résume-moi notre discussion s'il te plaît
rappelle-moi ce qu'on disait
rappelle moi de quoi on parlait stp
on en était où ?
Où en étions-nous ?
où en était-on déjà ?
quoi de neuf depuis hier ?
qu'est-ce qui a changé depuis lundi ?
je t'ai dit quoi la dernière fois ?
qu'est-ce que je t'ai raconté récemment ?
tu m'as dit quoi il y a 3 semaines ?
Quels sujets avons-nous abordés ?
fais-moi un récap de nos échanges
fais un résumé de ce qu'on a dit ce matin
qu'est-ce que j'ai raté ?
j'ai manqué quoi ?
Ils ont parlé de quoi ?
il s'est passé quoi ici ?
de quoi parlait notre dernière discussion ?
que t'ai-je dit hier ?
on a discuté de quoi lundi dernier ?
redis-moi ce qu'on avait convenu
dis, tu sais de quoi on a parlé ?
eko, on a parlé de quoi ?
what did we talk about?
What were we talking about?
what have we discussed so far?
what did we discuss yesterday?
what did I tell you last week?
what did you say last time?
remind me what we said
can you remind me what we talked about?
summarize our conversation
Please summarise our last chat
recap please
give me a quick recap
catch me up
where were we?
Where did we leave off?
what's new?
what changed since Monday?
whats new since yesterday
what did I miss?
what was our last conversation about?
do you remember our last conversation?
do you remember what we talked about?
tell me what we discussed earlier
what have I told you so far?
any news?
what happened here while I was away?
what are they talking about?
wat did we talk abt
what was said earlier today?
hey eko, what did we talk about 3 days ago?
what topics did we cover?
bring me up to speed
refresh my memory
What was discussed in the last hour?
"""

ABOUT_PERSON = """\
que sais-tu de moi ?
tu sais quoi sur moi ?
Qu'est-ce que tu sais de moi ?
quest ce que tu sais sur moi
tu te souviens de moi ?
Tu te rappelles de moi ?
te souviens-tu de moi ?
tu me connais ?
qui suis-je ?
je suis qui ?
tu sais qui je suis ?
parle-moi de moi
dis-moi tout ce que tu sais de moi
que retiens-tu de moi ?
tu as retenu quoi sur moi ?
Qu'as-tu appris sur moi ?
que connais-tu de moi ?
résume ce que tu sais de moi
tu te souviens de quoi ?
tu sais des choses sur moi ?
comment je m'appelle ?
c'est quoi mon prénom ?
Bonjour, peux-tu me dire ce que tu sais de moi ?
Quelles sont tes infos sur moi ?
t'as quoi en mémoire ?
what do you know about me?
What do you remember about me?
do you know me?
do you remember me?
who am I?
do you know who I am?
tell me about me
tell me about myself
tell me what you know about me
what have you learned about me?
what's my name?
whats my name
do you remember my name?
describe me
what can you tell me about myself?
do you know anything about me?
tell me everything you know about me
hi! what do you remember?
what do u know about me
what else do you know about me?
could you list what you know about me?
What memories do you have of me?
"""

NOT_OPEN = """\
salut !
bonjour, ça va ?
coucou toi
merci beaucoup
où habite David ?
on a parlé de quoi avec Paul ?
qu'est-ce qu'on avait dit sur PostgreSQL il y a 3 semaines ?
Salut, tu te souviens de ce qu'on a dit hier sur PostgreSQL?
tu te souviens de mon vélo ?
rappelle-moi d'acheter du pain
résume cet article
tu sais quoi ? j'ai gagné au tennis
tu sais quoi
on a bien parlé hier
c'est ce qu'on avait dit
je t'ai dit que David part en Grèce
je me souviens de toi
tu connais Ordizan ?
que sais-tu de la Grèce ?
que sait-on sur les baleines ?
parle-moi de Toulouse
qui est David ?
j'ai mal au dos
on va utiliser MySQL à la place
En fait j'ai changé d'avis
je suis fatigué
je suis mickael
de quoi a-t-on besoin pour la tarte ?
quoi de prévu pour le dîner ?
tu dis quoi d'un ciné ?
il fait quoi comme métier ?
raconte-moi une blague
dis-moi quelle heure il est
on en parle demain
oui
Le chat dort
hi!
hello there
good morning
thanks a lot
where does David live?
what did we say about PostgreSQL?
what did Paul say?
what do you know about Greece?
do you remember my bike?
do you know Paris?
remember to buy milk
remind me to call Ana
you know what? I won
I told you that Ana moved
we talked a lot yesterday
I remember you
what are you doing tonight?
who is David?
who am I talking to?
tell me a joke
tell me about Toulouse
summarize this article about whales
what is the capital of Peru?
my back hurts
I am tired
what do you think?
can you talk?
let's talk tomorrow
what does this word say?
what should we cook?
where is the station?
we should use MySQL instead
any news from Ana?
what's new in Python 3.13?
what happened to my bike?
give me a summary of the report
"""


def parse(text: str) -> open_questions.OpenQuestion | None:
    window = parse_window(text, now=NOW, timezone="Europe/Paris")
    named = window.text if window else ""
    return open_questions.parse(text, named_time=named, companions=["Éko"])


@pytest.mark.parametrize("text", ABOUT_TALK.splitlines())
def test_what_was_said_is_asked_for(text: str) -> None:
    assert parse(text) == open_questions.OpenQuestion("talk", frozenset())


@pytest.mark.parametrize("text", ABOUT_PERSON.splitlines())
def test_what_is_known_of_the_person_is_asked_for(text: str) -> None:
    assert parse(text) == open_questions.OpenQuestion("person", frozenset())


@pytest.mark.parametrize("text", NOT_OPEN.splitlines())
def test_what_names_a_topic_or_asks_nothing_is_not_open(text: str) -> None:
    asked = parse(text)
    assert asked is None or not asked.is_open


@pytest.mark.parametrize("text", [*ABOUT_TALK.splitlines(), *ABOUT_PERSON.splitlines()])
def test_case_accents_and_signs_do_not_matter(text: str) -> None:
    assert parse(text.upper().replace("?", "") + " !!") == parse(text)


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("qu'est-ce qu'on avait dit sur PostgreSQL il y a 3 semaines ?", {"postgresql"}),
        ("Salut, tu te souviens de ce qu'on a dit hier sur la serre ?", {"serre"}),
        ("on a parlé de quoi avec Paul lundi dernier ?", {"paul"}),
        ("what did we say about the boiler last March?", {"boiler"}),
        ("remind me what we said yesterday about Ana's wedding", {"ana", "wedding"}),
    ],
)
def test_the_topic_is_what_is_left_without_the_time(text: str, topic: set[str]) -> None:
    assert parse(text) == open_questions.OpenQuestion("talk", frozenset(topic))


@pytest.mark.parametrize(
    ("text", "topic"),
    [
        ("Qu'est-ce qu'on avait dit sur les panneaux solaires ?", "les panneaux solaires ?"),
        ("tu te souviens du devis pour le toit ?", "devis pour le toit ?"),
        ("on avait parlé de quoi pour le garage ?", "le garage ?"),
        ("rappelle-moi ce que je t'avais dit sur l'Espagne", "l'Espagne ?"),
        ("tu te rappelles où on va à Pâques ?", "où on va à Pâques ?"),
        ("le garage, on en avait dit quoi ?", "le garage ?"),
        ("on en était où avec le café ?", "le café ?"),
        ("what did we decide about the boiler?", "the boiler ?"),
        ("do you remember when Paul's birthday is?", "when Paul's birthday is ?"),
        ("remind me what I told you about Spain", "Spain ?"),
        ("where were we with the coffee thing?", "the coffee thing ?"),
        ("qu'est-ce que Nora a dit du toit ?", "toit ?"),
        ("nora t'a dit quoi sur le toit ?", "le toit ?"),
        ("what did the new vet say about the paw?", "the paw ?"),
        ("qu'est-ce que je vais dire à Nora pour Noël ?", None),
        ("what should I say to Nora about Easter?", None),
        ("what did Nora say?", None),
        ("what did we decide?", None),
        ("on a parlé de quoi ?", None),
        ("je t'ai dit que David part en Grèce", None),
        ("on a décidé de vendre la voiture", None),
        ("I told you that Ana moved", None),
        ("I decided to quit my job", None),
        ("where does Ana live?", None),
        ("Je me souviens de la maison de Pau", None),
    ],
)
def test_what_a_message_asks_to_recall(text: str, topic: str | None) -> None:
    assert open_questions.recalled(text) == topic


@pytest.mark.parametrize(
    "text",
    [
        "qu'est-ce qui se dit dans le lobby ?",
        "quoi de neuf au lobby ?",
        "résume-moi le lobby",
        "what are people saying in the lobby?",
        "what did I miss in the lobby?",
        "any news from the lobby?",
    ],
)
def test_the_talk_of_a_room_is_asked_for(text: str) -> None:
    asked = open_questions.parse(text, rooms=["garden shed", "lobby"])
    assert asked == open_questions.OpenQuestion("talk", frozenset(), "lobby")
    other = open_questions.parse(text.replace("lobby", "cellar"), rooms=["lobby"])
    assert other is None or not other.is_open


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("je suis mickael", "mickael"),
        ("Salut, moi c'est Zoé !", "zoe"),
        ("je m'appelle Jean Dupont", "jean dupont"),
        ("C'est moi, Inès", "ines"),
        ("I'm Ana", "ana"),
        ("hello, my name is Owen", "owen"),
        ("this is Camille", "camille"),
        ("Mickael aime le ski", None),
        ("je suis désolé pour le retard d'hier soir", None),
        ("où est David ?", None),
        ("", None),
    ],
)
def test_who_introduces_themselves(text: str, name: str | None) -> None:
    assert open_questions.introduced(text) == name


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("je suis malade", None),
        ("je suis en retard", None),
        ("JE SUIS MALADE", None),
        ("je suis à Paris", None),
        ("I'm back", None),
        ("I'm allergic to nuts", None),
        ("this is great", None),
        ("it's late", None),
        ("je suis mickael", "mickael"),
        ("I'm jean dupont", "jean dupont"),
        ("je suis Jean Dupont", "jean dupont"),
        ("je m'appelle zoé", "zoe"),
        ("mon prénom est inès", "ines"),
        ("my name is owen", "owen"),
        ("call me al", "al"),
    ],
)
def test_a_name_has_a_capital_or_is_known_or_is_told_as_one(text: str, name: str | None) -> None:
    known = {"mickael", "jean dupont"}
    assert open_questions.introduced(text, is_known=known.__contains__) == name


@pytest.mark.parametrize("text", ["", "?", "🙂", "a" * 1_000_000, "on nous vous " * 30_000])
def test_nothing_is_made_of_nothing_and_of_floods(text: str) -> None:
    assert open_questions.parse(text) is None
    assert not open_questions.speaks_of_memory(text)
    assert open_questions.introduced(text) is None
    assert open_questions.recalled(text) is None


def test_the_quick_look_misses_no_question() -> None:
    for text in (ABOUT_TALK + ABOUT_PERSON + NOT_OPEN).splitlines():
        assert open_questions.speaks_of_memory(text) or open_questions.parse(text) is None, text


@pytest.mark.parametrize(
    ("text", "planned", "of"),
    [
        ("what did I do last week?", False, ""),
        ("What have I been up to this week?", False, ""),
        ("hey, what did Nora do yesterday?", False, "nora"),
        ("what do I have on Thursday?", True, ""),
        ("am I free tomorrow?", True, ""),
        ("what is Nora doing on Monday?", True, "nora"),
        ("J'ai fait quoi la semaine dernière ?", False, ""),
        ("rappelle-moi ce que j'ai fait lundi", False, ""),
        ("Nora a fait quoi hier ?", False, "nora"),
        ("On fait quoi samedi ?", True, ""),
        ("J'ai quoi de prévu jeudi ?", True, ""),
        ("Nora fait quoi lundi ?", True, "nora"),
        ("what is everyone doing on Friday?", True, ""),
        ("tout le monde fait quoi samedi ?", True, ""),
    ],
)
def test_all_events_of_a_time_are_asked_for(text: str, planned: bool, of: str) -> None:
    expected = open_questions.OpenQuestion("events", frozenset(), planned=planned, of=of)
    assert parse(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "what did I do with the keys yesterday?",
        "what did she do yesterday?",
        "what did I do?",
        "elle a fait quoi hier ?",
        "on fait quoi comme dessert samedi ?",
        "qui est allergique à quoi déjà ? je cuisine ce soir",
        "j'ai fait un gâteau hier",
    ],
)
def test_a_question_about_one_event_is_not_about_all(text: str) -> None:
    asked = parse(text)
    assert asked is None or asked.about != "events"
