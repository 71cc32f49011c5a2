"""Two users of one space: what one says of themselves does not answer the other's "my"."""

from dataclasses import replace

import pytest

from hippocampe import Hippocampe, Scope
from hippocampe.cli.show.layout import reader, reasons
from hippocampe.retrieval.reading import names_of
from hippocampe.retrieval.relatives import with_names_of_relatives
from hippocampe.retrieval.request import RecallRequest
from hippocampe.types import Recollection

ALEX, BEA = Scope(user="alex", channel="desk"), Scope(user="bea", channel="garden")
SAID = {
    "Mon chien s'appelle Pistache": "comment s'appelle mon chien ?",
    "J'ai une allergie aux noisettes": "à quoi ai-je une allergie ? je ne sais plus",
    "Je m'appelle Béatrice Langlois": "comment je m'appelle ?",
    "My bicycle is locked behind the bakery": "where is my bicycle locked?",
    "I have an appointment with the dentist on Monday": "when do I have an appointment?",
}


def demoted(item: Recollection) -> bool:
    added = {signal.name: signal.contribution for signal in item.why}
    return added.get("of_other", 0.0) < -3


def searched(hippo: Hippocampe, message: str, scope: Scope) -> list[str]:
    """What a search gives for a message."""
    considered = hippo.before_turn(message, scope=scope).trace.considered
    return [
        each.recollection.content
        for each in considered
        if each.path == "search" and each.outcome == "injected"
    ]


def ask(hippo: Hippocampe, question: str, scope: Scope, kind: str = "memory") -> Recollection:
    return hippo.recall(question, scope=scope, collections=[kind], explain=True)[0]


@pytest.mark.parametrize(("fact", "question"), SAID.items())
def test_what_another_user_says_of_themselves_is_no_answer(
    hippo: Hippocampe, fact: str, question: str
) -> None:
    hippo.remember(fact, scope=BEA)
    own, other = ask(hippo, question, BEA), ask(hippo, question, ALEX)
    assert own.score >= 0.5 > 0.3 > other.score
    assert demoted(other)
    assert not demoted(own)
    nobody = ask(hippo, question, Scope())
    assert nobody.score >= 0.5


@pytest.mark.parametrize(("fact", "question"), SAID.items())
def test_users_may_have_names_without_words(hippo: Hippocampe, fact: str, question: str) -> None:
    hippo.remember(fact, scope=Scope(user="🐙"))
    own, other = (ask(hippo, question, Scope(user=user)) for user in ("🐙", "🦊"))
    assert own.score >= 0.5 > 0.3 > other.score
    assert demoted(other)


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    "users",
    [
        ("ana@example.org", "ben@example.org"),
        ("u-1001", "u-1002"),
        ("2f1c9d1e-5a5a-4000-8000-0a1b2c3d4e5f", "5b7d2e0c-5a5a-4000-8000-1f2e3d4c5b6a"),
        ("ليلى", "يوسف"),
        ("🐙", "🦊"),
    ],
)
def test_the_reader_takes_no_two_users_for_one(hippo: Hippocampe, users: tuple[str, str]) -> None:
    ana, ben = (Scope(user=each) for each in users)
    for told in ("J'habite à Nantes", "Je suis allergique aux noix"):
        hippo.remember(told, scope=ana)
    hippo.remember("My sister is called Nadia", scope=ben)
    assert hippo.recall("where do I live?", scope=ana)[0].score >= 0.5
    assert all(each.score < 0.5 for each in hippo.recall("where do I live?", scope=ben))


def test_names_that_the_reader_sees() -> None:
    named = ["Eva", "ana.bell@example.org", "tom2", "ADA", "ada"]
    unnamed = ["u-1", "kit@one.org", "kit@two.org", "u-2"]
    assert names_of([*named, *unnamed, None], ["does u-2 live with Adam?"]) == {
        "Eva": "Eva",
        "ana.bell@example.org": "ana bell",
        "tom2": "tom",
        "ADA": "ADA",
        "ada": "ada",
        "u-1": "David",
        "kit@one.org": "Noah",
        "kit@two.org": "Maud",
        "u-2": "u-2",
    }


def test_the_own_fact_of_the_asker_comes_first(hippo: Hippocampe) -> None:
    hippo.remember("Mon chien s'appelle Pistache", scope=BEA)
    hippo.remember("J'ai adopté un chien, il s'appelle Filou", scope=ALEX)
    found = ask(hippo, "comment s'appelle mon chien ?", ALEX)
    assert (found.author, found.score >= 0.5) == ("alex", True)


@pytest.mark.parametrize(
    "question",
    ["comment s'appelle le chien de bea ?", "dis-moi comment s'appelle le chien ?"],
)
def test_a_question_about_another_is_answered(hippo: Hippocampe, question: str) -> None:
    hippo.remember("Mon chien s'appelle Pistache", scope=BEA)
    found = ask(hippo, question, ALEX)
    assert found.score >= 0.5
    assert "of_other" not in {signal.name for signal in found.why}


@pytest.mark.parametrize(
    "fact",
    [
        "J'ai prêté mon vélo à Alex",
        "Mon vélo et celui de Sacha sont dans la cave",
        "Le vélo d'Alex est chez le réparateur",
        "j'ai rangé ton vélo dans la cave",
    ],
)
def test_what_concerns_the_asker_may_answer(hippo: Hippocampe, fact: str) -> None:
    hippo.remember("alex = Sacha", scope=BEA)
    hippo.remember(fact, scope=BEA)
    found = hippo.recall("où est mon vélo ?", scope=ALEX, explain=True)
    assert not demoted(next(item for item in found if item.content == fact))


@pytest.mark.parametrize(
    ("question", "fact", "answers"),
    [
        ("qui a ma perceuse ?", "J'ai la perceuse chez moi, je la rends samedi", True),
        ("qui a ma perceuse ?", "J'ai prêté ma perceuse à Tom", False),
        ("qui est mon dentiste ?", "J'ai un dentiste très doux", False),
        ("who has my drill?", "I've got the drill at my place", True),
        ("who has my drill?", "I keep my drill in the shed", False),
        ("who is my dentist?", "I have a very gentle dentist", False),
    ],
)
def test_another_user_may_be_who_has_something(
    hippo: Hippocampe, question: str, fact: str, *, answers: bool
) -> None:
    hippo.remember("Alex a une perceuse, a drill", scope=ALEX)
    hippo.remember(fact, scope=BEA)
    found = hippo.recall(question, scope=ALEX, explain=True)
    item = next(each for each in found if each.content == fact)
    of_other = {signal.name: signal.value for signal in item.why}["of_other"]
    assert of_other == (0.0 if answers else 1.0)


@pytest.mark.usefixtures("reading")
def test_talk_of_another_user_is_no_answer_either(hippo: Hippocampe) -> None:
    hippo.after_turn("J'ai mal au dos depuis lundi", "Je le note.", scope=BEA)
    hippo.after_turn("Il neige sur le col depuis lundi", "Je vois ça.", scope=BEA)
    hippo.update_settings(scope=BEA, live_rooms=[BEA.channel])
    hippo.observe("j'ai mal au genou depuis mardi", scope=BEA)
    back = "depuis quand ai-je mal au dos ? je ne sais plus"
    assert ask(hippo, back, BEA, "turn").score >= 0.5 > 0.3 > ask(hippo, back, ALEX, "turn").score
    found = hippo.recall(back, scope=ALEX, collections=["turn"])
    [of_bea] = [item.score for item in found if "mal au dos" in item.content]
    assert of_bea < 0.1
    # The reply's "je" is the companion's.
    assert not demoted(ask(hippo, "et moi, depuis quand il neige sur le col ?", ALEX, "turn"))
    assert demoted(ask(hippo, "depuis quand ai-je mal au genou ?", ALEX, "live"))


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("fact", "own", "of_teller"),
    [
        ("Mon médecin est le docteur Prigent", "c'est qui mon médecin ?", "c'est qui le médecin de Bea ?"),
        ("My laptop charger is at Jussieu", "where is my charger?", "where is Bea's charger?"),
    ],
)  # fmt: skip
def test_what_another_user_has_is_given_only_if_asked_for(
    hippo: Hippocampe, fact: str, own: str, of_teller: str
) -> None:
    hippo.remember(fact, scope=BEA)
    assert fact not in hippo.before_turn(own, scope=ALEX).text
    assert fact in hippo.before_turn(of_teller, scope=ALEX).text
    assert fact in hippo.before_turn(own, scope=BEA).text


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("of_alex", "of_bea", "question"),
    [
        ("My rent is 560 euros", "Mon loyer est de 520 euros", "combien alex paie de loyer ?"),
        ("Ma mère s'appelle Odile", "Ma mère s'appelle Fatiha", "c'est quoi le nom de la mère d'alex ?"),
        ("I finish at 5", "I finish at 11 on weeknights", "when does alex finish?"),
        ("Mon fromage préféré est le roquefort", "My favourite cheese is Comté", "what's alex's favourite cheese"),
    ],
)  # fmt: skip
def test_a_question_about_a_user_needs_no_capital(
    hippo: Hippocampe, of_alex: str, of_bea: str, question: str
) -> None:
    hippo.remember(of_alex, scope=ALEX)
    hippo.remember(of_bea, scope=BEA)
    assert searched(hippo, question, BEA) == [of_alex]


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("fact", "for_all", "for_one"),
    [
        ("Je suis allergique aux arachides", "je fais un curry pour nous deux", "je fais un curry pour moi"),
        ("I can't eat gluten", "I'm making pasta for both of us", "I'm making pasta for myself"),
        ("I'm vegan", "i'm cooking for everyone tonight", "i'm cooking for myself tonight"),
        ("Je suis végane", "je fais un curry pour tout le monde", "je fais un curry pour moi"),
    ],
)  # fmt: skip
def test_what_another_user_says_bears_on_what_one_does_for_both(
    hippo: Hippocampe, fact: str, for_all: str, for_one: str
) -> None:
    hippo.remember(fact, scope=BEA)
    hippo.remember("Mon vélo est à la cave", scope=ALEX)

    def score(message: str, channel: str) -> float:
        scope = Scope(user="alex", channel=channel)
        considered = hippo.before_turn(message, scope=scope).trace.considered
        return next(x.recollection.score for x in considered if x.recollection.content == fact)

    assert score(for_all, "one") >= 0.2 > score(for_one, "two")


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("of_alex", "of_bea", "question"),
    [
        ("I report to Helen", "My boss is Carl", "who do I report to?"),
        ("I report to Helen", "My boss is Carl", "who's my boss"),
        ("Je rends compte à Hélène", "Mon chef est Charles", "c'est qui mon chef"),
    ],
)
def test_a_boss_is_told_in_other_words_than_asked(
    hippo: Hippocampe, of_alex: str, of_bea: str, question: str
) -> None:
    hippo.remember(of_alex, scope=ALEX)
    hippo.remember(of_bea, scope=BEA)
    assert searched(hippo, question, ALEX) == [of_alex]
    assert searched(hippo, question, BEA) == [of_bea]


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("fact", "plan", "state"),
    [
        ("I'm vegan", "we're cooking a curry tonight", "we're knackered"),
        ("I'm vegan", "what are we eating tonight?", "what time are we leaving on sunday?"),
        ("Je suis végane", "on fait des crêpes dimanche midi", "on est crevés"),
        ("Je suis végane", "on mange quoi ce soir ?", "on part à quelle heure ce soir ?"),
        ("I can't eat gluten", "I'm making pasta tonight", "I'm back at 8 tonight"),
        ("Je suis végane", "je fais un risotto ce soir", "je finis à quelle heure ce soir"),
    ],
)
def test_what_another_user_says_bears_on_what_is_planned(
    hippo: Hippocampe, fact: str, plan: str, state: str
) -> None:
    hippo.update_settings(scope=ALEX, hook_timeout_ms=10_000)
    hippo.remember(fact, scope=BEA)
    hippo.remember("Mon vélo est à la cave", scope=ALEX)
    assert fact not in searched(hippo, state, ALEX)
    assert fact in searched(hippo, plan, ALEX)


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("fact", "own", "of_teller"),
    [
        ("I'm a size 12 in dresses", "what size dress am i", "what size dress is bea"),
        ("je fais du 38 en chaussons", "je fais du combien en chaussons ?", "bea fait du combien en chaussons ?"),
        ("Je termine à 6h15 la nuit", "je finis à quelle heure demain", "bea finit à quelle heure ?"),
    ],
)  # fmt: skip
def test_a_number_or_time_of_another_user_is_not_that_of_the_asker(
    hippo: Hippocampe, fact: str, own: str, of_teller: str
) -> None:
    hippo.remember(fact, scope=BEA)
    hippo.remember("Je bois du thé, tea", scope=Scope(user="priya"))
    for question in (own, of_teller.replace("bea", "priya")):
        assert searched(hippo, question, ALEX) == []
    assert searched(hippo, of_teller, ALEX) == [fact]


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("fact", "of_other", "of_named"),
    [
        ("Bea wears a small glove", "heading to the shop, what size gloves does priya take", "heading to the shop, what size gloves does bea take"),
        ("Bea's going to Lisbon by train on the 21st", "and priya is going when", "and bea is going when"),
        ("Bea paie 620 euros pour sa chambre", "et priya paie combien pour sa chambre", "et bea paie combien pour sa chambre"),
    ],
)  # fmt: skip
def test_a_number_or_time_of_one_user_is_not_that_of_another(
    hippo: Hippocampe, fact: str, of_other: str, of_named: str
) -> None:
    for user in ("bea", "priya"):
        hippo.remember("Je bois du thé, tea", scope=Scope(user=user))
    hippo.remember(fact, scope=ALEX)
    assert searched(hippo, of_other, replace(ALEX, channel="yard")) == []
    assert searched(hippo, of_named, ALEX) == [fact]


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("finish", "start"),
    [
        ("I finish at 5.30", "what time do i start tomorrow?"),
        ("Je finis à 17h30", "je commence à quelle heure demain ?"),
    ],
)
def test_one_end_of_something_does_not_tell_the_other(
    hippo: Hippocampe, finish: str, start: str
) -> None:
    hippo.remember(finish, scope=ALEX)
    assert searched(hippo, start, ALEX) == []


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("fact", "asked", "of_another"),
    [
        ("la classe 2 a piscine le lundi", "elle a piscine quand la classe 2 ?", "elle a piscine quand la classe 4 ?"),
        ("group 2 swims on Mondays at 4", "when does group 2 swim?", "when does group 5 swim?"),
        ("les groupes 2 et 5 nagent le lundi", "il nage quand le groupe 5 ?", "il nage quand le groupe 3 ?"),
    ],
)  # fmt: skip
def test_a_thing_of_another_number_is_no_answer(
    hippo: Hippocampe, fact: str, asked: str, of_another: str
) -> None:
    hippo.remember(fact, scope=ALEX)
    assert searched(hippo, asked, ALEX) == [fact]
    assert searched(hippo, of_another, replace(ALEX, channel="yard")) == []


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("fact", "own", "of_third", "of_teller"),
    [
        ("My daughter Isla is allergic to penicillin", "what's my daughter allergic to?", "what is priya's daughter allergic to?", "what is bea's daughter allergic to?"),
        ("Mon fils Adam est allergique aux arachides", "mon fils est allergique à quoi ?", "le fils de priya est allergique à quoi ?", "le fils de bea est allergique à quoi ?"),
    ],
)  # fmt: skip
def test_a_child_may_be_that_of_both_who_are_alone(
    hippo: Hippocampe, fact: str, own: str, of_third: str, of_teller: str
) -> None:
    mother = "Ma mère s'appelle Fatiha"
    hippo.remember(fact, scope=BEA)
    hippo.remember(mother, scope=BEA)
    assert searched(hippo, own, ALEX) == [fact]
    assert searched(hippo, "ma mère s'appelle comment ?", ALEX) == []
    hippo.remember("I can't eat gluten", scope=Scope(user="priya"))
    for question in (own, of_third):
        assert searched(hippo, question, replace(ALEX, channel=question)) == []
    assert searched(hippo, of_teller, replace(ALEX, channel="yard")) == [fact]


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("told", "own"),
    [
        ("my daughter swims on Mondays", "what's my daughter allergic to?"),
        ("ma fille nage le lundi", "ma fille est allergique à quoi ?"),
    ],
)
def test_the_asker_may_have_another_child(hippo: Hippocampe, told: str, own: str) -> None:
    fact = "My daughter Isla is allergic to penicillin"
    hippo.remember(fact, scope=BEA)
    hippo.remember(told, scope=ALEX)
    assert fact not in searched(hippo, own, ALEX)


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("fact", "question"),
    [
        ("I live in Leeds", "and you eko where do you live"),
        ("J'habite à Quimper", "et toi eko t'habites ou"),
    ],
)
def test_where_a_user_lives_is_not_where_the_companion_does(
    hippo: Hippocampe, fact: str, question: str
) -> None:
    hippo.remember(fact, scope=ALEX)
    assert searched(hippo, question, ALEX) == []
    assert searched(hippo, question.replace("eko", "alex"), BEA) == [fact]


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("fact", "own"),
    [
        ("I work at the library on Mondays", "where do i work again lol"),
        ("Je commence à 8h30", "je commence à quelle heure demain ?"),
        ("Ma mère s'appelle Fatiha", "comment s'appelle ma mère ?"),
        ("My brother Sami lives in Bristol", "where does my brother live"),
    ],
)
def test_the_same_of_another_user_is_never_given(hippo: Hippocampe, fact: str, own: str) -> None:
    hippo.remember(fact, scope=BEA)
    considered = hippo.before_turn(own, scope=ALEX).trace.considered
    assert max(each.recollection.score for each in considered) < 0.03
    assert fact in hippo.before_turn(own, scope=BEA).text


@pytest.mark.usefixtures("reading")
@pytest.mark.parametrize(
    ("told_by", "known"),
    [
        (ALEX, "Bea is my sister"),
        (BEA, "alex est mon frère"),
        (ALEX, "Ma copine s'appelle Béa"),
        (Scope(user="carl"), "Alex is Bea's dad"),
    ],
)
def test_relatives_have_relatives_in_common(hippo: Hippocampe, told_by: Scope, known: str) -> None:
    fact, question = "My mum's birthday is 3 May", "when's my mum's birthday?"
    hippo.remember(fact, scope=BEA)
    hippo.remember("Bea is a friend of Alex", scope=ALEX)
    assert fact not in hippo.before_turn(question, scope=ALEX).text
    hippo.remember(known, scope=told_by)
    assert fact in hippo.before_turn(question, scope=replace(ALEX, channel="yard")).text


@pytest.mark.usefixtures("reading")
def test_what_another_user_did_may_answer(hippo: Hippocampe) -> None:
    hippo.remember("J'ai mis les clés sur le crochet", scope=BEA)
    assert "crochet" in hippo.before_turn("où sont mes clés ?", scope=ALEX).text


def test_a_person_is_told_why(hippo: Hippocampe) -> None:
    hippo.remember("Mon chien s'appelle Pistache", scope=BEA)
    (found,) = hippo.recall("comment s'appelle mon chien ?", scope=ALEX, explain=True)
    assert reasons(found, reader()).endswith("but someone else says it of themselves (-10.0)")
    (own,) = hippo.recall("comment s'appelle mon chien ?", scope=BEA, explain=True)
    assert "someone else" not in reasons(own, reader())


def test_what_a_user_says_of_themselves_is_about_them(hippo: Hippocampe) -> None:
    hippo.remember("Béa et Alex partagent un atelier", scope=BEA)
    hippo.remember("Mon chien s'appelle Pistache", scope=BEA)
    hippo.remember("Mon chien s'appelle Filou", scope=ALEX)
    found = ask(hippo, "comment s'appelle le chien de Bea ?", ALEX)
    assert found.author == "bea"


def test_a_task_brings_nothing(hippo: Hippocampe) -> None:
    hippo.remember("Mon chien s'appelle Pistache", scope=BEA)
    found = ask(hippo, "traduis « mon chien s'appelle Pistache » en italien", BEA)
    assert found.score < 0.1
    assert reasons(found, reader()).endswith("but the message asks nothing of memory (-10.0)")


@pytest.mark.parametrize(
    ("fact", "question"),
    [
        ("Nico est du groupe sanguin AB positif", "quel est le groupe sanguin de Samir ?"),
        ("Paul fête son anniversaire le 23 novembre", "c'est quand l'anniversaire de Zoé ?"),
        (
            "l'anniversaire de Samir est le 30 août",
            "c'est quand l'anniversaire de ma mère ?",
        ),
    ],
)
def test_the_value_of_somebody_else_is_no_answer(
    hippo: Hippocampe, fact: str, question: str
) -> None:
    hippo.remember(fact, scope=BEA)
    hippo.remember("Zoé et Samir adorent ma mère", scope=BEA)
    assert all(item.score < 0.5 for item in hippo.recall(question, scope=BEA))


THIRD = {
    "Camille lives in Lille": ("where do I live?", "I moved to Nantes"),
    "Théo travaille chez Airbus": ("je travaille où ?", "J'ai commencé chez Thales"),
}


@pytest.mark.parametrize(("other", "asked"), THIRD.items())
def test_a_fact_about_a_third_person_is_no_answer(
    hippo: Hippocampe, other: str, asked: tuple[str, str]
) -> None:
    question, own = asked
    hippo.remember(other, scope=ALEX)
    hippo.remember(own, scope=ALEX)
    found = hippo.recall(question, scope=ALEX, explain=True)
    assert found[0].content == own
    (third,) = (item for item in found if item.content == other)
    assert third.score < 0.3
    assert demoted(third)


@pytest.mark.parametrize(
    ("fact", "question"),
    [
        ("Camille lives in Lille", "where does my sister Camille live?"),
        ("Camille lives in Lille", "where does my friend live?"),
        ("Alex lives in Nantes", "where do I live?"),
        ("Rex is three years old", "how old is my dog?"),
        ("Nantes is where I live", "where do I live?"),
    ],
)
def test_what_is_about_the_asker_or_a_relative_may_answer(
    hippo: Hippocampe, fact: str, question: str
) -> None:
    hippo.remember(fact, scope=ALEX)
    assert not demoted(ask(hippo, question, ALEX))


def test_the_asker_is_known_by_name_without_a_capital(hippo: Hippocampe) -> None:
    for fact in ("Nora works at Thales", "Camille lives in Lille", "Nora moved to Nantes"):
        hippo.remember(fact, scope=Scope(user="nora"))
    found = hippo.recall("where does nora live?", scope=Scope(user="nora"))
    assert found[0].content == "Nora moved to Nantes"


@pytest.mark.parametrize(
    ("told", "question"),
    [
        ("My shift ends at 7 in the morning", "what time does my wife finish work"),
        ("Je finis à 7h du matin", "ma femme finit à quelle heure"),
    ],
)
def test_the_partner_may_be_the_other_of_two(hippo: Hippocampe, told: str, question: str) -> None:
    hippo.remember("I drive a van", scope=ALEX)
    hippo.remember(told, scope=BEA)
    assert searched(hippo, question, ALEX) == [told]


@pytest.mark.parametrize(
    ("other", "question"),
    [
        ((ALEX, "My wife Nora is a nurse"), "what time does my wife finish work"),
        ((BEA, "My flatmate Alex snores"), "what time does my wife finish work"),
        ((Scope(user="cleo"), "I work for the town"), "what time does my wife finish work"),
        ((ALEX, "Ma femme est infirmière"), "ma femme finit à quelle heure"),
    ],
)
def test_the_other_of_two_is_no_partner_if_another_is_told(
    hippo: Hippocampe, other: tuple[Scope, str], question: str
) -> None:
    hippo.remember("I drive a van", scope=ALEX)
    hippo.remember("My shift ends at 7 in the morning", scope=BEA)
    scope, statement = other
    hippo.remember(statement, scope=scope)
    corpus, request = hippo._context.corpus, RecallRequest(ALEX)
    named = with_names_of_relatives(corpus, question, request, corpus.store.now())
    assert not any("Bea" in each for each in named)
