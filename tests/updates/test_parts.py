"""What a statement tells beside another fact, a question or small talk is compared by itself."""

import pytest

from hippocampe import Hippocampe, Scope
from hippocampe.language.statement import parse

HOME = Scope("home", user="lea")

pytestmark = pytest.mark.usefixtures("reading")


def told(hippo: Hippocampe, *statements: str) -> list[str]:
    """The actions of `remember` on each of the statements."""
    return [hippo.remember(each, scope=HOME).action for each in statements]


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("I got a dog. We moved to Nice.", ["I got a dog", "We moved to Nice"]),
        ("I got a dog. It barks.", ["I got a dog. It barks"]),
        ("J'ai un chien. On a déménagé à Nice.", ["J'ai un chien", "On a déménagé à Nice"]),
        ("J'ai un chien. Il aboie.", ["J'ai un chien. Il aboie"]),
        ("We moved to Nice. How was your day?", ["We moved to Nice"]),
        ("Merci beaucoup ! On a déménagé. Bonne nuit.", ["On a déménagé"]),
        ("I got a dog. Ana sold her car.", ["I got a dog", "Ana sold her car"]),
        ("I met Ana. My sister knows him.", ["I met Ana", "My sister knows him"]),
        ("Je nage. Nora dit qu'elle court.", ["Je nage", "Nora dit qu'elle court"]),
        ("J'ai vu Luc. Nora lui écrit.", ["J'ai vu Luc", "Nora lui écrit"]),
        ("J'ai un vélo. Rendu à lui hier soir.", ["J'ai un vélo. Rendu à lui hier soir"]),
        ("I got a bike. Gave it back to Ana.", ["I got a bike. Gave it back to Ana"]),
        ("I swim. Off to Rome in May with Ana.", ["I swim", "Off to Rome in May with Ana"]),
        ("I swim. On Friday.", ["I swim. On Friday"]),
        (
            "Je nage. Depuis mai c'est Luc qui signe.",
            ["Je nage", "Depuis mai c'est Luc qui signe"],
        ),
        ("Is it far? yes", ["Is it far? yes"]),
        ("Favourite colour? Blue.", ["Favourite colour: Blue"]),
        ("Code du portail ? Le 7714.", ["Code du portail: Le 7714"]),
        ("Who is it? Ana.", ["Who is it? Ana"]),
        ("Guess what? We moved to Nice.", ["We moved to Nice"]),
    ],
)
def test_a_statement_has_a_part_for_each_fact(text: str, parts: list[str]) -> None:
    assert [each.text for each in parse(text).parts] == parts


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I live in Lyon.", "We got a dog named Rex. I live in Pau now."),
        ("I live in Lyon.", "I live in Pau now. How was your day?"),
        ("We got a dog named Rex. I live in Lyon.", "I live in Pau now."),
        ("The rehearsal is on Monday.", "It rained all day. The rehearsal was moved to Tuesday."),
        ("J'habite à Lyon.", "On a un chien, Rex. J'habite à Pau maintenant."),
        ("J'habite à Lyon.", "J'habite à Pau maintenant. Et toi, ta journée ?"),
        ("On a un chien, Rex. J'habite à Lyon.", "J'habite à Pau maintenant."),
        ("Leo lives in Hull.", "I got a dog. Leo moved to York with his wife."),
        ("Léo habite à Lille.", "On a un chien. Léo a déménagé à Metz avec sa femme."),
        (
            "Je rêve d'aller au Pérou.",
            "Le module de paiement de la boutique a encore un bug depuis la mise à jour. "
            "Le Pérou ne me dit plus rien.",
        ),
        ("La répétition est lundi.", "Je suis crevée. La répétition a été déplacée à mardi."),
        ("Favourite colour? Blue.", "Favourite colour? Green."),
        ("Plat préféré ? Les lasagnes.", "Plat préféré ? La paella."),
    ],
)
def test_a_part_replaces_a_part(hippo: Hippocampe, old: str, new: str) -> None:
    assert told(hippo, old, new) == ["inserted", "updated"]


def test_what_a_replaced_statement_tells_besides_is_still_found(hippo: Hippocampe) -> None:
    told(hippo, "We got a dog named Rex. I live in Lyon.", "I live in Pau now.")
    found = hippo.recall("what is the dog called?", scope=HOME)
    assert any("Rex" in each.content for each in found)


@pytest.mark.parametrize(
    ("old", "new", "question"),
    [
        (
            "We got a dog named Rex. I live in Lyon.",
            "I don't know if I told you, but we moved to Pau. How was your day?",
            "where do I live?",
        ),
        (
            "On a un chien, Rex. J'habite à Lyon.",
            "Je ne sais pas si je te l'ai dit, mais j'ai déménagé à Pau. Et toi, ta journée ?",
            "j'habite où ?",
        ),
    ],
)
def test_what_replaces_a_part_answers_first(
    hippo: Hippocampe, old: str, new: str, question: str
) -> None:
    assert told(hippo, old, new) == ["inserted", "updated"]
    assert hippo.recall(question, scope=HOME)[0].content == new


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("My garden is all gravel.", "It rained all morning. My garage is full of boxes."),
        ("A day ticket costs 180 crowns.", "As of today, a season ticket costs 900 crowns."),
        ("Un billet coûte 12 euros.", "Finalement, l'abonnement coûte 90 euros."),
        (
            "Kylian ne travaille pas le mercredi.",
            "Il se trouve que Kylian télétravaille le vendredi.",
        ),
    ],
)
def test_words_around_another_fact_replace_nothing(hippo: Hippocampe, old: str, new: str) -> None:
    assert told(hippo, old, new) == ["inserted", "inserted"]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("I live in Lyon and work at the mill.", "We got a dog named Rex. I live in Lyon."),
        ("J'habite à Lyon et je travaille au moulin.", "On a un chien, Rex. J'habite à Lyon."),
    ],
)
def test_what_is_repeated_beside_news_keeps_the_rest(
    hippo: Hippocampe, one: str, other: str
) -> None:
    assert told(hippo, one, other) == ["inserted", "inserted"]


@pytest.mark.parametrize("entry", ["went to the gym with Anna", "footing avec Anna"])
def test_entries_of_two_days_are_two(hippo: Hippocampe, entry: str) -> None:
    first, second = f"2026-03-02: {entry}", f"[2026-03-09] {entry}"
    assert told(hippo, first, second, second) == ["inserted", "inserted", "reinforced"]


@pytest.mark.parametrize(
    ("plain", "dated"),
    [
        ("My rent is 800 euros", "2026-03-02: my rent is 800 euros"),
        ("J'ai un vélo", "02/03 : j'ai un vélo"),
    ],
)
def test_a_repetition_with_its_date_is_kept(hippo: Hippocampe, plain: str, dated: str) -> None:
    assert told(hippo, plain, dated) == ["inserted", "updated"]


def test_an_entry_of_an_earlier_day_replaces_nothing(hippo: Hippocampe) -> None:
    later, earlier = "2020-06-01: I live in Pau", "2020-03-01: I live in Lyon"
    assert told(hippo, later, earlier) == ["inserted", "inserted"]
    assert len(hippo.reviews(scope=HOME)) == 1


def test_a_name_that_is_a_pronoun_makes_no_other_parts(hippo: Hippocampe) -> None:
    one, other = "J'ai un chien. Elle vit avec moi.", "J'ai un chat. Elle vit avec moi."
    assert told(hippo, "Elle = Anna", one, other, one)[-1] == "reinforced"


@pytest.mark.parametrize(
    ("text", "facts"),
    [
        ("We live in Pau and I got a cat.", ["We live in Pau", "I got a cat"]),
        ("Je vis à Pau et j'ai un chat.", ["Je vis à Pau", "j'ai un chat"]),
        ("I swim. Ana lives in Lyon and Ben left.", ["I swim", "Ana lives in Lyon", "Ben left"]),
        ("My sister and my brother live in Leeds.", ["My sister and my brother live in Leeds"]),
        ("I got a cat and she sleeps all day.", ["I got a cat and she sleeps all day"]),
        ("sold the red car and Ana moved to Hull", ["sold the red car", "Ana moved to Hull"]),
        ("I hope Ana comes and Ben drives.", ["I hope Ana comes and Ben drives"]),
        ("Ann and my brother live in Leeds.", ["Ann and my brother live in Leeds"]),
        ("I may leave and Ana may stay.", ["I may leave and Ana may stay"]),
        ("I sold the car and the bike.", ["I sold the car and the bike"]),
    ],
)
def test_a_sentence_has_the_facts_that_it_joins(text: str, facts: list[str]) -> None:
    assert [each.text for each in parse(text).facts] == facts


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("we moved to Pau in May and I got a cat called Inky", "we live in Bayonne now"),
        ("On a déménagé à Pau et j'ai adopté un chat, Inky", "on habite à Bayonne maintenant"),
        ("I'm a nurse at St Mary's and my shift starts at 7", "my shift starts at 8 now"),
        ("my sister lives in Leeds and my brother lives in Hull", "my brother moved to York"),
    ],
)
def test_a_fact_that_is_joined_to_another_one_is_corrected(
    hippo: Hippocampe, old: str, new: str
) -> None:
    assert told(hippo, old, new) == ["inserted", "updated"]
    assert old in [item.content for item in hippo.recall(old, scope=HOME)]


@pytest.mark.parametrize(
    ("old", "new", "reason"),
    [
        ("We moved to Pau", "we live in Bayonne now and I got a dog", "home: pau → bayonne"),
        ("my rent is 700", "my rent is 750 now and my boss gave me a raise", "rent: 700 → 750"),
        (
            "Je bosse chez Lidl",
            "ma mère est malade et je bosse chez Aldi maintenant",
            "employer: lidl → aldi",
        ),
    ],
)
def test_a_fact_that_another_one_is_joined_to_corrects(
    hippo: Hippocampe, old: str, new: str, reason: str
) -> None:
    hippo.remember(old, scope=HOME)
    found = hippo.remember(new, scope=HOME)
    assert (found.action, found.reason) == ("updated", reason)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "The tortoise is called Admiral",
            "the tortoise has a cold and a hedgehog called Button has moved in",
        ),
        ("my boss is called Trudy", "my boyfriend snores and Trudy's boss is called Nnamdi"),
    ],
)
def test_facts_that_are_joined_replace_nothing_that_none_of_them_bears_on(
    hippo: Hippocampe, old: str, new: str
) -> None:
    assert told(hippo, old, new) == ["inserted", "inserted"]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("i owe Greg forty quid", "sent Greg his forty quid last night"),
        ("je dois 50 euros à Malik", "j'ai rendu ses 50 euros à Malik"),
    ],
)
def test_a_full_stop_changes_no_decision(hippo: Hippocampe, old: str, new: str) -> None:
    def reason(stop: str) -> str:
        scope = Scope(f"with {stop}", user="lea")
        hippo.remember(f"{old}{stop}", scope=scope)
        return hippo.remember(f"{new}{stop}", scope=scope).reason

    assert reason(".") == reason("")


def test_a_statement_is_parsed_without_its_full_stop() -> None:
    assert parse("We moved to Pau.").text == "We moved to Pau"
    assert parse("The bus leaves at 7 p.m.").text == "The bus leaves at 7 p.m."
