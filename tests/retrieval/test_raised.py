"""A message that plans a meal is given what people cannot eat."""

from collections.abc import Sequence

import pytest

from hippocampe import Hippocampe, Scope
from hippocampe.language.follow_ups import is_plan
from hippocampe.retrieval.query import analyse
from hippocampe.retrieval.raised import raised_by
from hippocampe.retrieval.recall import LIKELY

ENGLISH = ("My mum doesn't eat beef", "I'm coeliac", "My car is blue", "I love ramen")
FRENCH = ("Ma mère ne mange pas de porc", "Je suis coeliaque", "Ma voiture est bleue")


def given(hippo: Hippocampe, told: Sequence[str], message: str) -> list[str]:
    for statement in told:
        hippo.remember(statement, scope=Scope(user="ada", channel="home"))
    turn = hippo.before_turn(message, scope=Scope(user="ravi", channel="home"))
    found = sorted((each.recollection for each in turn.trace.considered), key=lambda x: -x.score)
    return [each.content for each in found if each.score >= LIKELY]


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (ENGLISH, "i'm making a stew on sunday"),
        (ENGLISH, "gonna get dumplings for us"),
        (ENGLISH, "barbecue on saturday!"),
        (ENGLISH, "gonna order thai"),
        (ENGLISH, "i'm taking ada to a restaurant on friday, any ideas?"),
        (ENGLISH, "what shall we do for lunch on friday?"),
        (FRENCH, "jfais une quiche ce soir"),
        (FRENCH, "on commande un couscous ?"),
        (FRENCH, "on mange quoi demain soir"),
        (FRENCH, "je commande libanais ce soir"),
        (FRENCH, "vais faire une omelette"),
        (FRENCH, "on va au resto samedi"),
    ],
)
def test_the_plan_of_a_meal_gets_the_diets(
    hippo: Hippocampe, reading: None, told: Sequence[str], message: str
) -> None:
    found = given(hippo, told, message)
    assert set(told[:2]) <= set(found)
    assert told[2] not in found


@pytest.mark.parametrize(
    ("told", "message"),
    [
        (ENGLISH, "how do i cook rice"),
        (ENGLISH, "we're going to the cinema tonight"),
        (ENGLISH, "i had a huge pizza yesterday"),
        (FRENCH, "comment on cuit le riz ?"),
        (FRENCH, "je vais au cinéma ce soir"),
        (FRENCH, "j'ai mangé une pizza hier"),
    ],
)
def test_another_message_gets_none(
    hippo: Hippocampe, reading: None, told: Sequence[str], message: str
) -> None:
    assert not given(hippo, told, message)


def test_what_bears_on_the_message_itself_comes_first(hippo: Hippocampe, reading: None) -> None:
    told = (*ENGLISH, "Lena hates mushrooms", "Tom is lactose intolerant", "I can't stand olives")
    assert given(hippo, told, "mushroom risotto with Lena tonight")[0] == "Lena hates mushrooms"


@pytest.mark.parametrize(
    ("text", "raises"),
    [
        ("i eat whatever you make", False),
        ("i'm going to a restaurant with my boss", False),
        ("hi everyone, hot coffee", False),
        ("i'm going to order curtains tonight", False),
        ("we're meeting the chinese client tomorrow", False),
        ("salut tout le monde, un bon café", False),
        ("on commande des rideaux ce soir", False),
        ("we're eating at ours on friday", True),
        ("je viens dîner samedi", False),
        ("on mange quoi samedi ?", True),
    ],
)
def test_who_is_served_a_meal_serves_nobody(hippo: Hippocampe, text: str, raises: bool) -> None:
    corpus = hippo._context.corpus
    query = analyse(corpus, text, Scope(user="ada"), corpus.store.now())
    assert (raised_by(corpus.vocabulary, query) is not None) is raises


@pytest.mark.parametrize(
    ("text", "plans"),
    [
        ("gonna order noodles for us", True),
        ("pizza tonight?", True),
        ("on fait quoi à manger ?", True),
        ("who cooks tonight?", False),
        ("i'm making myself a curry", False),
        ("je fais des crêpes pour moi ce soir", False),
        ("il a mangé hier soir", False),
        ("le gâteau est prêt", False),
    ],
)
def test_a_plan_is_of_the_speaker_or_of_a_time(text: str, plans: bool) -> None:
    assert is_plan(text) is plans
