"""The learnt decision: its vetoes, its reasons, its determinism, and that nothing is lost."""

from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from hippocampe import Hippocampe, Scope
from hippocampe.language.statement import parse
from hippocampe.updates.alignment import align
from hippocampe.updates.decide import Decision, Verdict, decide
from hippocampe.updates.evidence import evidence_of
from hippocampe.updates.learnt import OUTCOMES, load_model
from hippocampe.updates.weighing import Weighed, conclude, lost_words, weigh, worth_weighing

SCOPE = Scope(space="s")
THRESHOLDS = {"merge": 0.7, "careful": 0.8, "review": 0.2, "read": 0.03}


def concluded(
    old: str, new: str, shares: Mapping[str, float], *, was_read: bool = True
) -> tuple[Verdict, str]:
    aligned = align(parse(old), parse(new))
    shares = {"separate": 1 - sum(shares.values()), **shares}
    share = np.array([shares.get(outcome, 0.0) for outcome in OUTCOMES], np.float32)
    decision = conclude(
        aligned, evidence_of(aligned, 0.6), share, decide(new, old), THRESHOLDS, read=was_read
    )
    return decision.verdict, decision.reason


@pytest.mark.parametrize(
    ("old", "new", "listed"),
    [
        ("The trail is 3 miles", "The trail is 5 km", True),
        ("Le sentier fait 3 miles", "Le sentier fait 5 km", True),
        ("The trail is 3 miles", "The trail is 4 miles", False),
        ("My seat is 14A", "My seat is 22F", False),
        ("The trail is 3 miles", "The trail is now 5 km", False),
        ("I jog twice a week, 3 times in May", "I run 2 km a week", False),
    ],
)
def test_an_amount_in_another_unit_is_listed(old: str, new: str, *, listed: bool) -> None:
    verdict, reason = concluded(old, new, {"update": 0.9})
    assert verdict is (Verdict.UNSURE if listed else Verdict.UPDATED)
    assert reason.startswith("another unit") == listed


@pytest.mark.parametrize(
    ("old", "new", "more"),
    [
        ("Our dog is called Pacha", "we got a second dog, a spaniel", True),
        ("le chien c'est Pacha", "on a pris un deuxième chien, un épagneul", True),
        ("Our dog is called Pacha", "we got a second dog instead", False),
        ("I see Dr Hale, a dentist", "I see another dentist now", False),
        ("my second dog is called Pacha", "my second dog is called Rex now", False),
    ],
)
def test_one_more_replaces_nothing(old: str, new: str, *, more: bool) -> None:
    verdict, reason = concluded(old, new, {"update": 0.9})
    assert verdict is (Verdict.UNSURE if more else Verdict.UPDATED)
    assert reason.startswith("one more") == more


@pytest.mark.parametrize(
    ("old", "new", "another"),
    [
        ("Box 244 weighs 244 kilos in hall 244", "Box 245 weighs 245 kilos in hall 245", True),
        ("Le carton 24 pèse 24 kilos", "Le carton 25 pèse 25 kilos", True),
        ("Box 244 weighs 244 kilos", "Box 244 weighs 245 kilos", False),
        ("The meeting at 15 is in Pau", "The meeting at 16 is in Pau", False),
    ],
)
def test_things_of_two_numbers_are_two(old: str, new: str, *, another: bool) -> None:
    verdict, reason = concluded(old, new, {"update": 0.9})
    assert verdict is (Verdict.UNSURE if another else Verdict.UPDATED)
    assert reason.startswith("another number") == another


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Tom answers the supplier mails", "Ann answers the customer mails"),
        ("C'est Tom qui relit la partie réseau", "Ann relit la partie stockage"),
    ],
)
def test_another_matter_of_another_person_asks_nobody(
    hippo: Hippocampe, reading: None, old: str, new: str
) -> None:
    hippo.remember(old, scope=SCOPE)
    assert hippo.remember(new, scope=SCOPE).action == "inserted"
    assert hippo.reviews(scope=SCOPE) == []


@pytest.mark.parametrize(
    ("old", "new", "claimed"),
    [
        ("The delivery is on the 9th", "The supplier says the delivery is on the 12th", True),
        ("La livraison est le 9", "Le fournisseur dit que la livraison est le 12", True),
        ("Karim lives in Lyon", "According to Sonia, Karim lives in Lille", True),
        ("Karim habite à Lyon", "D'après Sonia, Karim habite à Lille", True),
        ("The dose is 5 mg", "The doctor has said that the dose is 10 mg", True),
        ("La dose est de 5 mg", "Le médecin m'a dit que la dose est de 10 mg", True),
        ("Sonia says the soup is salty", "Sonia says the soup is fine", False),
        ("Karim eats no eggs", "Karim says he eats eggs again", False),
        ("Karim ne mange pas d'œufs", "Karim dit qu'il mange à nouveau des œufs", False),
        ("The delivery is on the 9th", "I say the delivery is on the 12th", False),
        ("I weigh 92 kilos", "The scale said 86 kilos", False),
        ("J'attends une réponse de la crèche", "La crèche a dit oui", False),
        # What follows says why.
        ("Ada has piano on Mondays", "dropped the piano, Ada says it was dull", False),
        ("Nan has lunch delivered", "cancelled the lunch, she said it was cold", False),
    ],
)
def test_the_claim_of_somebody_else_replaces_nothing(old: str, new: str, *, claimed: bool) -> None:
    reason = concluded(old, new, {"update": 0.95})[1]
    assert reason.startswith("another's claim") == claimed


@pytest.mark.parametrize(
    ("old", "new", "why"),
    [
        ("Owen is a roofer", "Owen and I split up", "one of the two"),
        ("Léa est menuisière", "Léa et moi on s'est séparés", "one of the two"),
        ("I live with Owen", "Owen and I split up", "update"),
        ("My boyfriend is called Owen", "Owen and I split up", "update"),
        ("Sara drives a Golf", "Sara's Golf is at the garage", "where it is"),
        ("Sara roule en Golf", "La Golf de Sara est au garage", "where it is"),
        ("We're waiting for the parcel", "The parcel is at the post office", "update"),
        ("We pay the agency 24 pounds", "We changed agency, it's Bluebird now", "the amount stays"),
        ("On paie l'agence 24 euros", "On a changé d'agence, c'est Azaé", "the amount stays"),
        ("We pay Kev 300 pounds a day", "Kev left", "update"),
        ("I'm on the 7.15 train, gets me in for 8", "I get the 7.40 these days", "update"),
        ("We're going to Nice in May", "Nice is cancelled, we're going to Wales instead", "update"),
        ("On va à Nice en mai", "Nice est annulé, on ira en Bretagne", "update"),
        ("Our solicitor is Mr Flint", "Mr Flint has the lease", "the role stays"),
        ("Mr Flint has the lease", "Our solicitor is called Mr Flint", "the role stays"),
        ("Dr Amin is my dentist", "Dr Amin sees nobody on Fridays", "the role stays"),
        ("Notre comptable c'est Hervé", "Hervé part en cure en mai", "the role stays"),
        ("Hervé a les factures", "notre comptable s'appelle Hervé", "the role stays"),
        ("Our solicitor is Mr Flint", "Mr Flint is no longer our solicitor", "update"),
        ("Mon chef s'appelle Hervé", "C'est Inès qui signe, Hervé est à Lyon", "update"),
        ("Ned is his own boss", "Ned is self-employed", "update"),
        ("I went to school in Leeds", "My school was in Leeds", "update"),
        ("J'ai grandi à Nantes", "Mon enfance était à Nantes", "update"),
        ("Ned sings bass", "Ned had a baby", "what happened beside"),
        ("Ned sings bass", "Ned is back from sick leave", "what happened beside"),
        ("Inès chante alto", "Inès a eu la grippe", "what happened beside"),
        ("Inès chante alto", "Inès est rentrée de vacances", "what happened beside"),
        ("Inès est enceinte", "Inès a eu une fille", "update"),
        ("Inès vit à Dublin", "Inès est rentrée d'Irlande, elle est à Tours", "update"),
        ("Ned walks to the office", "Ned has walked", "perhaps once"),
        ("Inès paye le 5", "Inès a payé", "perhaps once"),
        ("Inès doit payer le 5", "Inès a payé", "update"),
        ("Rose married a sailor", "Rose died in Hull", "what happened beside"),
        ("Guy a fait la guerre au 70e RI", "Guy est mort à Verdun", "what happened beside"),
        ("Rose died in Hull", "Correction: Rose died in Leeds", "update"),
        ("Rose was suspended in May", "Rose was taken back again", "update"),
        ("judo is on Thursdays", "judo is off on Thursday", "off this time"),
        ("My lunch ratio is 1:10", "My breakfast ratio is 1:8 now", "another meal"),
        ("Je prends 2 gélules au déjeuner", "Je prends 3 gélules au dîner", "another meal"),
        ("I take 2 pills at lunch", "I take 3 pills at lunch", "update"),
        ("Je prends 2 gélules au déjeuner", "Je prends 3 gélules au déjeuner", "update"),
        ("The hens lay 4 eggs a day", "We have 4 hens", "another number"),
        ("Les poules pondent 4 œufs par jour", "J'ai 4 poules", "another number"),
        ("Le T3 est loué 780 €", "Le T3 est loué depuis le 1er", "the amount stays"),
        ("The pool is open on Mondays", "The pool is closed on Monday", "off this time"),
        ("La piscine est ouverte le lundi", "La piscine est fermée lundi", "off this time"),
    ],
)
def test_another_fact_about_the_same_stays(old: str, new: str, why: str) -> None:
    assert concluded(old, new, {"update": 0.95})[1].startswith(why)


def test_an_acronym_with_its_article_may_be_no_home() -> None:
    for old, new in (
        ("I live in Bath", "I've moved to the RUH, same job"),
        ("J'habite à Pau", "J'ai déménagé au CHU"),
    ):
        assert decide(new, old).verdict is Verdict.UNSURE
    assert decide("I moved to the UK", "I live in Spain").verdict is Verdict.UPDATED


@pytest.mark.parametrize(
    ("old", "new", "one"),
    [
        ("Two goats graze there, Biquette and Cornelius", "Cornelius died", True),
        ("On a deux chèvres, Biquette et Cornélius", "Cornélius est mort", True),
        ("Inès et Malo prennent le car de 8h", "Malo ne prend plus le car", True),
        ("Ma sœur est prof et mon frère éboueur", "Mon frère a pris sa retraite", True),
        ("My sister teaches and my brother drives a van", "My brother has retired", True),
        ("Inès et Malo prennent le car de 8h", "Malo et Inès ne prennent plus le car", False),
        ("Inès et Malo sont ensemble", "Malo a quitté Inès", False),
        ("Inès vit à Metz et Nancy", "Inès vit à Toul", False),
        ("We're off to Rome and Naples", "We're off to Rome, in fact", False),
    ],
)
def test_news_of_one_of_two_leaves_what_is_told_of_both(old: str, new: str, *, one: bool) -> None:
    reason = concluded(old, new, {"update": 0.95})[1]
    assert reason.startswith("one of two") == one


@pytest.mark.parametrize(
    ("old", "new", "added"),
    [
        ("Only admins can delete projects", "Since release 5 owners may delete projects too", True),
        (
            "Seuls les admins peuvent supprimer des projets",
            "Depuis la version 5 les propriétaires peuvent aussi supprimer des projets",
            True,
        ),
        ("I drink tea", "I drink coffee as well", True),
        ("La soupe est bonne", "La soupe est aussi salée que la mer", False),
        ("The soup is good", "The soup is too salty now", False),
        ("Hugo plays the oboe", "Hugo plays the oboe and also the flute", False),
    ],
)
def test_what_holds_too_stays_beside(old: str, new: str, *, added: bool) -> None:
    reason = concluded(old, new, {"update": 0.95})[1]
    assert reason.startswith("an addition") == added


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "Selma is training for the Berlin marathon",
            "Selma has pulled out of the Berlin marathon",
        ),
        (
            "Le code du digicode est au dos du badge",
            "Le digicode a changé de code, au dos du badge",
        ),
    ],
)
def test_what_says_that_it_changed_needs_no_care(old: str, new: str) -> None:
    assert concluded(old, new, {"update": 0.75})[0] is Verdict.UPDATED
    # It must be the change that is likely.
    assert concluded(old, new, {"same": 0.75})[0] is Verdict.UNSURE


@pytest.mark.parametrize(
    ("old", "new", "other"),
    [
        ("Je ne bois pas d'alcool", "Je ne bois jamais d'alcool", "Je ne sers pas d'alcool"),
        ("Tom is not at home on Mondays", "Tom is never at home on Mondays", None),
    ],
)
def test_another_word_of_denial_is_no_other_word(old: str, new: str, other: str | None) -> None:
    assert concluded(old, new, {"update": 0.75})[0] is Verdict.UPDATED
    if other:
        assert concluded(old, other, {"update": 0.75})[0] is Verdict.UNSURE


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("We want to adopt a rabbit", "We have adopted a rabbit"),
        ("On veut adopter un lapin", "Ça y est, on a adopté un lapin"),
        ("Nina won't eat beetroot", "Nina eats beetroot now"),
        ("Nina ne mangera pas de betterave", "Nina mange de la betterave maintenant"),
        ("Il reste 12 bocaux à la cave", "Il ne reste plus que 5 bocaux à la cave"),
        ("Il reste 12 bocaux à la cave", "Il ne reste que 5 bocaux à la cave"),
        ("Baptiste adore le metal", "Baptiste s'est lassé du metal"),
        ("Paul loves sushi", "Paul got tired of sushi"),
        ("Le mot de passe du wifi est ici", "nouveau mot de passe wifi : là"),
    ],
)
def test_what_was_wanted_is_done_and_what_was_refused_or_left_is_less(old: str, new: str) -> None:
    assert concluded(old, new, {"update": 0.75})[0] is Verdict.UPDATED


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("We have two cars", "We sold the car"),
        ("I have cats", "I lost the cat"),
        ("J'ai deux vélos", "J'ai vendu mon vélo"),
        ("Lou has a flat in Nice", "Lou sold her flat in Paris"),
        ("Lou a un studio à Nice", "Lou a vendu son studio à Paris"),
        ("i have a clio", "tom sold the clio"),
        ("j'ai une clio", "tom a vendu la clio"),
    ],
)
def test_another_one_may_be_left(old: str, new: str) -> None:
    assert concluded(old, new, {"update": 0.97})[0] is Verdict.UNSURE


@pytest.mark.parametrize(
    ("old", "new", "listed"),
    [
        ("I want to run a marathon", "I ran a marathon in May", True),
        ("Je veux courir un marathon", "J'ai couru un marathon en mai", True),
        ("I want to run a marathon", "I ran a race in May", False),
        ("Je veux courir un marathon", "Paul a couru un marathon en mai", False),
    ],
)
def test_a_wish_that_came_true_is_asked_about(
    hippo: Hippocampe, old: str, new: str, *, listed: bool
) -> None:
    hippo.remember(old, scope=SCOPE)
    assert not hippo.remember(new, scope=SCOPE).replaced
    assert bool(hippo.reviews(scope=SCOPE)) is listed


def test_what_is_wanted_again_and_again_is_not_done_once() -> None:
    old, new = "Il veut aller courir le matin", "Il est allé courir ce matin"
    assert concluded(old, new, {"update": 0.75})[0] is not Verdict.UPDATED


def test_a_likely_update_replaces_and_names_both_values() -> None:
    verdict, reason = concluded(
        "La piscine ferme à 19 h", "La piscine ferme à 21 h", {"update": 0.8}
    )
    assert verdict is Verdict.UPDATED
    assert "19:00" in reason
    assert "21:00" in reason
    assert "80%" in reason


def test_what_is_not_sure_is_listed_and_the_unlikely_is_not() -> None:
    old, new = "La piscine ferme à 19 h", "La piscine ferme à 21 h"
    assert concluded(old, new, {"update": 0.5})[0] is Verdict.UNSURE
    assert concluded(old, new, {"update": 0.1})[0] in (Verdict.RELATED, Verdict.APART)


def test_saying_the_same_needs_most_of_the_share() -> None:
    shares = {"update": 0.3, "same": 0.35, "detail": 0.2}
    assert concluded("La piscine ferme tard", "La piscine ferme à 21 h", shares)[0] is (
        Verdict.UPDATED
    )


@pytest.mark.parametrize(
    ("old", "new", "shares", "verdict"),
    [
        ("Ma couleur est le vert", "Ma couleur est le bleu", {"update": 0.9}, Verdict.UPDATED),
        ("Ma couleur est le vert", "Ma couleur est le bleu", {"same": 0.9}, Verdict.UNSURE),
        ("Marc achète un vélo", "Marc vend un vélo", {"update": 0.75}, Verdict.UNSURE),
        ("Rex dort chez Ana", "Rex dort chez Bob", {"same": 0.9}, Verdict.UPDATED),
    ],
)
def test_one_word_for_another_never_says_the_same(
    old: str, new: str, shares: Mapping[str, float], verdict: Verdict
) -> None:
    assert concluded(old, new, shares)[0] is verdict


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Greta owns a boat", "Greta has a boat"),
        ("Greta possède un bateau", "Greta a un bateau"),
        ("My mum plays bridge", "My mother plays bridge"),
        ("Mon père joue aux boules", "Mon papa joue aux boules"),
    ],
)
def test_another_word_for_having_or_for_a_relative_says_the_same(old: str, new: str) -> None:
    assert concluded(old, new, {"same": 0.9})[0] in (Verdict.REINFORCED, Verdict.UPDATED)


def test_a_pair_that_was_not_read_is_listed() -> None:
    old, new = "La piscine ferme à 19 h", "La piscine ferme à 21 h"
    assert concluded(old, new, {"update": 0.99}, was_read=False)[0] is Verdict.UNSURE


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Le club se réunit le lundi", "Le club se réunit le mardi ?"),
        ("Le club se réunit le lundi", "Je crois que le club se réunit le mardi"),
        ("The club meets on Mondays", "Apparently the club meets on Tuesdays"),
        ("The club meets on Mondays", "Bad news. The club may no longer meet on Mondays."),
        ("The call with Acme is at 9", "The call with Acme ends at 10"),
        ("Mon cours de yoga est à 18 h", "Le cours de yoga se finit à 19 h"),
        ("Rehearsals start at 7", "Rehearsals are at the library now"),
        ("Le club est dans la grange", "Le club est à 19 h maintenant"),
        ("Noé a fini Germinal", "Noé lit Germinal"),
        ("Noah has finished Emma", "Noah is reading Emma"),
    ],
)
def test_however_likely_these_are_listed(old: str, new: str) -> None:
    assert concluded(old, new, {"update": 0.99})[0] is Verdict.UNSURE


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Noé lit Germinal", "Noé a fini Germinal"),
        ("Noah is reading Emma", "Noah has finished Emma"),
        ("Le bar a fermé", "Le bar est ouvert"),
        ("The bar has closed", "The bar is open"),
        # What was planned is denied.
        ("We'll sell the boat", "We're not selling the boat"),
        ("On va vendre le bateau", "On ne vend plus le bateau"),
        ("Noé a arrêté de fumer", "Noé ne fume plus"),
        ("Noah has stopped smoking", "Noah no longer smokes"),
        (
            "Les travaux ont fini par s'arrêter",
            "Les travaux reprennent lundi avec une autre équipe",
        ),
    ],
)
def test_an_end_or_another_matter_replaces(old: str, new: str) -> None:
    assert concluded(old, new, {"update": 0.99})[0] is Verdict.UPDATED


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("Rehearsal is on Tuesdays at 7:30 in the hall", "Rehearsal is on Tuesdays", "reinforced"),
        ("On répète le mardi à 20 h au gymnase", "On répète le mardi", "reinforced"),
        ("The guests are Ida, Ivo and Noé", "The guests are Ida and Ivo", "updated"),
        (
            "Mes sports sont le judo, le ski et la voile",
            "Mes sports sont le judo et le ski",
            "updated",
        ),
        ("We paint the hall blue or green", "We paint the hall blue", "updated"),
        ("Perhaps we meet at 8 in the hall", "We meet at 8", "updated"),
    ],
)
def test_what_says_less_repeats_unless_it_is_a_list(old: str, new: str, verdict: str) -> None:
    assert concluded(old, new, {"update": 0.99})[0] == verdict


@pytest.mark.parametrize(
    ("old", "new", "replaced"),
    [
        ("The guests are Ida, Ivo and Noé", "The guests are Ida, Ivo, Noé and Basile", True),
        (
            "Mes sports sont le judo et la voile",
            "Mes sports sont le judo, la voile et le ski",
            True,
        ),
        # It says that the value changed.
        ("We pay 12 euros a month for the box", "We now pay 15 euros a month for the box", True),
        ("The heating at the hut is on", "The heating at the hut is off", True),
        ("I get on the bus at the hut", "I get off the bus at the hut", False),
        ("The tank behind the barn is empty", "The tank behind the barn is full", True),
        ("La cuve du fond est vide", "La cuve du fond est pleine", True),
        # What had not been done is done, by somebody.
        ("The leak in flat 3 is not repaired", "The plumber has repaired the leak in flat 3", True),
        ("La fuite du T3 n'est pas réparée", "Le plombier a réparé la fuite du T3", True),
        ("Le chauffage du refuge est allumé", "Le chauffage du refuge est éteint", True),
        ("The vault is locked", "The vault is unlocked", True),
        ("The lamp at the hut is broken", "The lamp at the hut is repaired", True),
        ("La lampe du refuge est cassée", "La lampe du refuge est réparée", True),
        # It only denies the old one.
        ("Ivo is on a low-salt diet", "Ivo is no longer on a low-salt diet", True),
        ("Les alertes sont activées", "Les alertes sont désactivées", True),
        # Another order, another word, and more about the subject.
        ("The hut has a lock", "The hut has a stove", False),
        ("Le refuge a un poêle", "Le refuge a un toit", False),
        (
            "The guests of Ivo are Ida and Noé",
            "The cousins of the guests of Ivo are Ida and Noé",
            False,
        ),
    ],
)
def test_a_longer_list_and_a_contrary_need_less_care(old: str, new: str, *, replaced: bool) -> None:
    verdict, _ = concluded(old, new, {"update": 0.75})
    assert verdict is (Verdict.UPDATED if replaced else Verdict.UNSURE)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("We paint the hut red or blue", "We paint the hut blue"),
        ("On peint le refuge en rouge ou en bleu", "On peint le refuge en bleu"),
        ("The vault is locked", "The vault is unlocked"),
        ("Le coffre est verrouillé", "Le coffre est déverrouillé"),
        ("Our cat Milo is on a diet", "Milo is off his diet"),
        ("Notre vieux portail est ouvert le soir", "Le soir notre portail reste fermé"),
    ],
)
def test_a_choice_made_and_a_contrary_never_say_the_same(old: str, new: str) -> None:
    assert concluded(old, new, {"same": 0.95})[0] is Verdict.UPDATED


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("The boat costs 2 400 euros", "The boat costs 2 600 euros"),
        ("Le bateau coûte 2 400 euros", "Le bateau coûte 2 600 euros"),
    ],
)
def test_two_amounts_with_one_first_word_differ(old: str, new: str) -> None:
    aligned = align(parse(old), parse(new))
    assert len(aligned.open_old) == len(aligned.open_new) == 1
    assert concluded(old, new, {"same": 0.95})[0] is not Verdict.REINFORCED


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("I'm vegan", "My doctor wants me to eat more iron. I'm no longer vegan."),
        ("Je suis végan", "Le médecin voudrait plus de fer. Je ne suis plus végan."),
    ],
)
def test_a_wish_in_another_sentence_is_no_doubt(old: str, new: str) -> None:
    assert concluded(old, new, {"update": 0.99})[0] is Verdict.UPDATED


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ("Noé fait du judo", "Noé arrête le judo, il veut faire du tir", Verdict.UPDATED),
        ("Noé does judo", "Noé quit judo, he wants to try archery", Verdict.UPDATED),
        ("Noé fait du judo", "Noé veut grimper, il arrêtera peut-être le judo", Verdict.UNSURE),
        ("Noé fait du judo", "Noé arrête le judo, si le club ferme", Verdict.UNSURE),
        ("Noé fait du judo", "On dit que Noé a arrêté le judo", Verdict.UNSURE),
        ("Noé fait du judo", "Noé va arrêter le judo", Verdict.UNSURE),
        # His father knows, and the words for a guess are no guess here.
        ("Noé fait du judo", "Noé arrête le judo, dit son père", Verdict.UPDATED),
        ("Noé joue en ligne", "Noé a supprimé son compte, il joue dehors", Verdict.UPDATED),
        ("The class was cancelled", "There will be no class, it is called off", Verdict.UPDATED),
        ("Noé does judo", "Noé wants to climb, he will quit judo", Verdict.UNSURE),
        ("Noé does judo", "Noé quits judo, if the club closes", Verdict.UNSURE),
        ("Noé does judo", "Noé quit judo, they say", Verdict.UNSURE),
        # What was checked is sure, and a word with the stem of "serait" is no doubt.
        ("The train is at 9", "I've checked, the train is at 10", Verdict.UPDATED),
        ("Le train est à 9h", "Je pars à 10h par le train", Verdict.UPDATED),
        ("La serre fait 3 m", "La serre fait 4 m", Verdict.UPDATED),
        ("Le train est à 9h", "Pas sûr, le train est à 10h", Verdict.UNSURE),
        ("The train is at 9", "I need to check, the train is at 10", Verdict.UNSURE),
        # What one could not do is no guess.
        ("I go to judo", "I binned judo, I couldn't keep up", Verdict.UPDATED),
    ],
)
def test_a_doubt_is_about_what_is_said(old: str, new: str, verdict: Verdict) -> None:
    assert concluded(old, new, {"update": 0.99})[0] is verdict


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Je suis allergique au pollen", "Ma sœur est allergique au pollen"),
        ("j'habite à Nantes", "j'habite au troisième étage"),
        ("Marc fume", "Marc ne fume plus à la maison"),
        ("Zoé a 3 enfants et un chien", "Zoé a 4 enfants"),
        ("my sister lives in York", "I live in Leeds"),
        ("je mesure 1m80", "mon fils mesure 1m20"),
        ("Gwen has a dog called Max", "Gwen took Max to the vet"),
        ("Gwen is vegetarian", "Gwen bought the oat milk"),
        ("I love curry", "I burned the curry"),
        ("J'aime les fraises", "J'ai écrasé les fraises"),
    ],
)
def test_another_person_a_part_or_an_event_replaces_nothing(
    hippo: Hippocampe, reading: None, old: str, new: str
) -> None:
    first = hippo.remember(old, scope=SCOPE)
    assert hippo.remember(new, scope=SCOPE).action == "inserted"
    assert hippo.get(first.memory.id, scope=SCOPE).current


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "Noé aime les films",
            "Noé aime surtout les films muets de moins de dix minutes, en salle",
        ),
        ("Nora likes trains", "Nora likes trains, slow ones most of all, and takes one each week"),
    ],
)
def test_a_taste_told_at_length_adds_to_it(old: str, new: str) -> None:
    assert concluded(old, new, {"detail": 0.95})[0] is Verdict.UPDATED


def test_a_correction_that_may_be_an_addition_is_listed(hippo: Hippocampe, reading: None) -> None:
    first = hippo.remember("I drive a Volvo", scope=SCOPE)
    second = hippo.remember("I drive a Tesla", scope=SCOPE)
    assert second.action == "inserted"
    (review,) = hippo.reviews(scope=SCOPE)
    assert {review.memory.id, review.other.id} == {first.memory.id, second.memory.id}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("je roule en Clio", "je roule en Zoe maintenant"),
        ("j'habite à Lyon", "je vis à Brest maintenant"),
        ("la réunion d'équipe est le lundi", "la réunion d'équipe passe au mercredi"),
        ("Ana is a plumber", "Ana works as an electrician now"),
        # Both codes are masked.
        ("The allotment gate code is 2580", "the new gate code at the allotment is 7781"),
        (
            "Le code du portail de la résidence est 2580",
            "le nouveau code de la résidence pour le portail est 7781",
        ),
    ],
)
def test_a_plain_correction_replaces(hippo: Hippocampe, reading: None, old: str, new: str) -> None:
    first = hippo.remember(old, scope=SCOPE)
    assert hippo.remember(new, scope=SCOPE).replaced == (first.memory.id,)


@pytest.mark.parametrize(
    ("user", "old", "new"),
    [
        ("A", "j'habite à Lyon", "je vis à Brest maintenant"),
        ("Will", "I live in York", "I will live in Leeds from now on, I moved yesterday"),
    ],
)
def test_a_user_with_the_name_of_a_word(
    hippo: Hippocampe, reading: None, user: str, old: str, new: str
) -> None:
    scope = Scope(space="s", user=user)
    first = hippo.remember(old, scope=scope)
    assert hippo.remember(new, scope=scope).replaced == (first.memory.id,)


READ = [
    # Negated, and ended.
    ("Je ne peux pas chercher sur le web", "Je peux chercher sur le web"),
    ("J'aime le thé", "J'aime pas le thé"),
    ("Léa a un chien", "Léa n'a plus de chien"),
    ("Léa parle à Marc", "Léa ne parle plus à Marc depuis mars"),
    ("Sam has a car", "Sam doesn't have a car"),
    ("Sam can't swim", "Sam can swim"),
    ("Emma apprend le japonais", "Emma a arrêté d'apprendre le japonais en mai"),
    ("I play golf", "I've given up playing golf"),
    ("Emma has quit running", "Emma runs"),
    # With more detail.
    ("Mickael s'est cassé l'épaule", "Mickael s'est cassé l'épaule le 10 janvier 2026"),
    ("Léa a un fils", "Léa a un fils et une fille"),
    ("Léa part en Grèce", "Léa part en Grèce en février avec Marc"),
    ("Alice plays the piano", "Alice plays the piano every Sunday with her father"),
    ("Sam has a son", "Sam has a son, Peter"),
    ("Sam adopted a cat", "Sam adopted a cat named Felix"),
]


@pytest.mark.parametrize(("old", "new"), READ)
def test_a_negation_an_end_or_a_detail_replaces(
    hippo: Hippocampe, reading: None, old: str, new: str
) -> None:
    first = hippo.remember(old, scope=SCOPE)
    assert hippo.remember(new, scope=SCOPE).replaced == (first.memory.id,)


@pytest.mark.parametrize(
    ("plan", "fact"),
    [
        ("Camille veut courir le semi-marathon en 1h55", "Le record de Camille est 1h58"),
        (
            "Camille plans to run the half-marathon in 1:55",
            "Camille's personal best in the half-marathon is 1:58",
        ),
        ("Camille wants to run the half-marathon in 1:55", "Camille's record is 1:58"),
        ("J'aimerais habiter à Lyon", "J'habite à Pau"),
        ("I'd like to live in Leeds", "I live in York"),
    ],
)
def test_a_fact_does_not_replace_a_plan(
    hippo: Hippocampe, reading: None, plan: str, fact: str
) -> None:
    hippo.remember(plan, scope=SCOPE)
    assert hippo.remember(fact, scope=SCOPE).action == "inserted"


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Sam eats meat", "Sam rarely eats meat"),
        ("il faut vacciner le chien", "le chien est vacciné"),
        ("called mum", "call mum"),
        ("Emma got a B in history", "Emma got an A in history"),
    ],
)
def test_other_words_are_never_a_repetition(old: str, new: str) -> None:
    assert concluded(old, new, {"same": 0.9})[0] is Verdict.UPDATED


def test_the_decision_is_deterministic() -> None:
    old, new = parse("Le marché est le mardi"), parse("Le marché est désormais le jeudi")
    rule = decide(new.text, old.text)
    (first, second) = weigh([Weighed(old, 0.8, rule)] * 2, new, load_model(), unread)
    assert first == second
    (alone,) = weigh([Weighed(old, 0.8, rule)], new, load_model(), unread)
    assert (alone.verdict, alone.reason) == (first.verdict, first.reason)


def unread(pairs: Sequence[tuple[str, str]]) -> None:
    """No reader is there."""


def test_what_may_merge_is_read_and_the_reader_counts() -> None:
    old, new = parse("Le marché est le mardi"), parse("Le marché est désormais le jeudi")
    rule = Decision(Verdict.RELATED, "weighed", "no rule")
    asked: list[Sequence[tuple[str, str]]] = []

    def merging(column: int) -> float:
        def answer(pairs: Sequence[tuple[str, str]]) -> np.ndarray:
            asked.append(pairs)
            return np.eye(len(OUTCOMES), dtype=np.float32)[[column]] * 12

        (decision,) = weigh([Weighed(old, 0.8, rule)], new, load_model(), answer)
        return decision.probability or 0.0

    update, separate = merging(OUTCOMES.index("update")), merging(OUTCOMES.index("separate"))
    assert update > separate
    assert asked == [[("Le marché est le mardi", "Le marché est désormais le jeudi")]] * 2


@pytest.mark.parametrize(
    ("old", "new", "lost"),
    [
        ("Zoé joue du tuba", "Zoé joue du violon", []),
        ("Zoé joue du tuba à Metz", "Zoé joue du violon", ["metz"]),
        ("le loyer est de 500 €", "le loyer est de 600 €", []),
        ("le loyer est de 500 €", "le loyer a changé", ["500 euro"]),
    ],
)
def test_words_that_an_update_loses(old: str, new: str, lost: list[str]) -> None:
    assert lost_words(parse(old), parse(new)) == lost


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "On se retrouve au bar pour l'anniversaire de Léa",
            "finalement l'anniv de Léa c'est chez elle",
        ),
        ("I get up at six to feed the hens", "now the hens get their feed at eight, I sleep in"),
    ],
)
def test_a_correction_in_other_words_is_noticed(
    hippo: Hippocampe, reading: None, old: str, new: str
) -> None:
    first = hippo.remember(old, scope=SCOPE)
    second = hippo.remember(new, scope=SCOPE)
    listed = [{each.memory.id, each.other.id} for each in hippo.reviews(scope=SCOPE)]
    asked = {first.memory.id, second.memory.id} in listed
    assert second.replaced == (first.memory.id,) or asked


LOSSLESS = [
    ("Gontran fait du judo et de l'aviron", "Gontran a arrêté l'aviron"),
    ("Eudes habite à Toulon", "Il paraît qu'Eudes a quitté Toulon"),
    ("The museum is free", "I think the museum is not free any more"),
]


@pytest.mark.parametrize(("old", "new"), LOSSLESS)
def test_what_changes_in_part_or_is_doubted_loses_nothing(
    hippo: Hippocampe, old: str, new: str
) -> None:
    first = hippo.remember(old, scope=SCOPE)
    second = hippo.remember(new, scope=SCOPE)
    assert second.action == "inserted"
    current = {memory.id for memory in hippo.recent(scope=SCOPE)}
    assert {first.memory.id, second.memory.id} <= current
    pairs = [{each.memory.id, each.other.id} for each in hippo.reviews(scope=SCOPE)]
    assert {first.memory.id, second.memory.id} in pairs


def test_a_correction_in_the_other_language_counts(hippo: Hippocampe) -> None:
    first = hippo.remember("Le vol de Léa pour Oslo part à 7 h 40.", scope=SCOPE)
    second = hippo.remember("Léa's flight to Oslo now leaves at 9:15.", scope=SCOPE)
    listed = [{each.memory.id, each.other.id} for each in hippo.reviews(scope=SCOPE)]
    asked = {first.memory.id, second.memory.id} in listed
    assert second.replaced == (first.memory.id,) or asked


def test_statements_that_are_far_are_weighed_only_with_a_common_keyword() -> None:
    new = {"covid", "fini", "test"}
    assert worth_weighing("g le covid", new, 0.18)
    assert worth_weighing("on part en Grèce", new, 0.4)
    assert not worth_weighing("on part en Grèce", new, 0.2)
    assert not worth_weighing("g le covid", new, 0.14)


def test_a_correction_that_is_far_is_seen_by_its_common_word(hippo: Hippocampe) -> None:
    old, new = "g le covid", "test négatif, c fini le covid pour moi"
    first, second = hippo._context.corpus.vocabulary.embedder.embed([old, new])
    assert first @ second < 0.35
    stored = hippo.remember(old, scope=SCOPE).memory
    corrected = hippo.remember(new, scope=SCOPE)
    pending = [review.other.id for review in hippo.reviews(scope=SCOPE)]
    assert stored.id in (*corrected.replaced, *pending)


def test_what_shares_a_word_is_weighed_before_what_is_only_near(
    hippo: Hippocampe, reading: None
) -> None:
    shops = ("boulanger est rue des Lilas", "traiteur est rue des Lilas", "boucher est rue du Four")
    for shop in shops:
        hippo.remember(f"Notre {shop}", scope=SCOPE)
    hippo.remember("Yann est serveur au Wallace", scope=SCOPE)
    told = hippo.remember("Yann est maintenant cuisinier au Bistrot des Halles", scope=SCOPE)
    assert told.action == "updated"


@pytest.mark.parametrize("bare", ["👍", "::", "...", "?", "Zéphyrine"])
def test_a_statement_without_words_stops_nothing(hippo: Hippocampe, bare: str) -> None:
    for each in (bare, "ok", "it is", f"{bare} {bare}", "le la les", bare):
        hippo.remember(each, scope=SCOPE)
    rule = decide("Le marché est le jeudi", bare)
    market = parse("Le marché est le jeudi")
    assert weigh([Weighed(parse(bare), 0.8, rule)], market, load_model(), unread) == [rule]
    assert weigh([Weighed(market, 0.8, rule)], parse(bare), load_model(), unread) == [rule]


@pytest.mark.parametrize("other", ["Camille a 34 ans", "Camille joue du violoncelle"])
def test_two_names_for_one_person_ask_nothing_about_her(hippo: Hippocampe, other: str) -> None:
    rule = decide(other, "cam = Camille")
    weighed = [Weighed(parse("cam = Camille"), 0.8, rule)]
    assert weigh(weighed, parse(other), load_model(), unread) == [rule]
    for each in ("cam = Camille", other, "Camille se fait appeler cam"):
        hippo.remember(each, scope=SCOPE)
    assert hippo.reviews(scope=SCOPE) == []


def test_a_new_statement_asks_about_one_old_one_at_most(hippo: Hippocampe) -> None:
    """Many are alike, because they are about the same people; the model weighs the nearest only."""
    waiting = 0
    for each in (
        "Camille prête son hachoir à manivelle à Owen",
        "Owen garde Pistache pendant les vacances de Camille",
        "Camille et Owen dînent au Phare Noir avec Margaret",
        "Owen a rendu le hachoir de Camille",
        "Margaret a oublié son écharpe verte chez Camille",
        "Camille garde les clés de la cave d'Owen",
        "Camille prend sa douche chez Owen",
    ):
        hippo.remember(each, scope=SCOPE)
        # A pair of a replaced memory moves on to it, and is not one more.
        before, waiting = waiting, len(hippo.reviews(scope=SCOPE))
        assert waiting <= before + 1


@pytest.mark.parametrize(
    ("over", "holds", "new"),
    [
        (
            "Je prends le bus 12 pour aller au boulot",
            "Je travaille chez Orange",
            "J'y vais à vélo maintenant, au boulot",
        ),
        (
            "My car is in the garage for repairs",
            "My car is a red Clio",
            "Got the car back this morning",
        ),
    ],
)
def test_an_update_replaces_one_fact(
    hippo: Hippocampe, reading: None, over: str, holds: str, new: str
) -> None:
    old, other = (hippo.remember(each, scope=SCOPE).memory for each in (over, holds))
    stored = hippo.remember(new, scope=SCOPE)
    assert stored.replaced == (old.id,)
    [pair] = hippo.reviews(scope=SCOPE)
    assert {pair.memory.id, pair.other.id} == {stored.memory.id, other.id}


@pytest.mark.parametrize(
    ("one", "other", "new"),
    [
        ("I pay 12 euros for Spotify", "My Spotify is 12 euros a month", "I cancelled Spotify"),
        ("Je cours trois fois par semaine", "Je cours tous les matins", "Je ne cours plus du tout"),
    ],
)
def test_an_update_replaces_all_that_tell_the_fact(
    hippo: Hippocampe, reading: None, one: str, other: str, new: str
) -> None:
    hippo.remember(one, scope=SCOPE)
    hippo.remember(other, scope=SCOPE)
    hippo.remember(new, scope=SCOPE)
    assert [each.content for each in hippo.recent(scope=SCOPE)] == [new]


def test_of_several_doubtful_pairs_the_likeliest_is_listed(hippo: Hippocampe) -> None:
    for old in ("Le vol d'Ines pour Brest part à 8 h", "Le train d'Ines pour Brest part à 9 h"):
        hippo.remember(old, scope=SCOPE)
    before = len(hippo.reviews(scope=SCOPE))
    new = hippo.remember("Je crois que le vol d'Ines pour Brest part à 7 h", scope=SCOPE).memory
    listed = [
        each for each in hippo.reviews(scope=SCOPE) if new.id in (each.memory.id, each.other.id)
    ]
    assert len(listed) == len(hippo.reviews(scope=SCOPE)) - before == 1


@pytest.mark.parametrize("outcome", ["same", "update"])
@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Nadia m'a trahi", "j'ai trahi Nadia"),
        ("Nadia m'a prêté 40 euros", "j'ai prêté 30 euros à Nadia"),
        ("Ruth owes me 30", "I owe Ruth 30"),
        ("my horse kicked me", "I kicked my horse"),
    ],
)
def test_swapped_roles_never_merge(old: str, new: str, outcome: str) -> None:
    verdict, reason = concluded(old, new, {outcome: 0.99})
    assert verdict is Verdict.UNSURE
    assert reason.startswith("roles swapped")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Zoé a raté son train à Brest", "À Brest, Zoé a manqué son train"),
        ("The pool in Leeds is free on Fridays", "On Fridays the pool in Leeds costs nothing"),
        ("Noé nage trois fois par semaine", "Trois fois par semaine, Noé va nager"),
    ],
)
def test_a_time_or_a_place_may_come_first(old: str, new: str) -> None:
    assert concluded(old, new, {"same": 0.99})[0] in (Verdict.UPDATED, Verdict.REINFORCED)


@pytest.mark.parametrize(
    ("past", "present"),
    [("j'ai eu une moto", "j'ai une moto"), ("I have been unwell", "I am unwell")],
)
def test_another_tense_is_no_repetition(past: str, present: str) -> None:
    assert concluded(past, present, {"same": 0.95}) == (Verdict.UPDATED, "update, 95%")
    assert concluded(present, past, {"same": 0.95})[0] is Verdict.RELATED
    assert concluded(present, present, {"same": 0.95})[0] is Verdict.REINFORCED


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Ma nièce a 9 ans", "Mon neveu a 9 ans"),
        ("My aunt is vegan", "My uncle is vegan"),
        # "Oe" and "Ue" are as near as two spellings of one word.
        ("Inès Oe. likes lentils on Sundays", "Inès Ue. likes lentils on Sundays"),
        ("Wei Li est infirmière de nuit", "Wei Ng est infirmière de nuit"),
        ("Notre client Marc Petit paie tard", "Notre client Marc Leroy paie tard"),
    ],
)
def test_what_is_told_of_two_people_is_neither_merged_nor_asked(old: str, new: str) -> None:
    for share in (0.5, 0.95):
        assert concluded(old, new, {"update": share})[0] is Verdict.RELATED


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Dr Patel is my GP", "Dr Hughes is my GP now"),
        ("Mme Roche est ma kiné", "Mme Vidal est ma kiné maintenant"),
        ("Mr Stone teaches maths", "Mr Wood took over maths from Mr Stone"),
        ("Hugo Petit gère la paie", "Hugo Blanc a repris la paie de Hugo Petit"),
    ],
)
def test_a_title_is_no_name_and_a_successor_names_both(old: str, new: str) -> None:
    assert concluded(old, new, {"update": 0.95})[0] is Verdict.UPDATED


def test_somebody_named_in_full_is_who_was_named_before() -> None:
    for old, new in (("Wei is a nurse", "Wei Li is a nurse"), ("Wei Li is ill", "Wei is ill")):
        assert concluded(old, new, {"update": 0.95})[0] is Verdict.UPDATED


def test_a_reason_without_a_contrast_has_none() -> None:
    _, reason = concluded("La piscine ferme tard", "La piscine ferme tard", {"update": 0.5})
    assert reason == "perhaps update, 50%"


DEGREES = pytest.mark.parametrize(
    ("old", "new"),
    [("Léa dort mal", "Léa dort très mal"), ("Tom sleeps badly", "Tom sleeps very badly")],
)


@DEGREES
@pytest.mark.xfail(strict=True, reason="the decision is unsure, and lists the two for review")
def test_another_degree_is_no_repetition(hippo: Hippocampe, old: str, new: str) -> None:
    hippo.remember(old, scope=SCOPE)
    written = hippo.remember(new, scope=SCOPE)
    assert (written.action, written.memory.content) == ("updated", new)


@DEGREES
def test_another_degree_is_not_lost(hippo: Hippocampe, old: str, new: str) -> None:
    hippo.remember(old, scope=SCOPE)
    written = hippo.remember(new, scope=SCOPE)
    assert written.action in ("updated", "inserted")
    assert written.memory.content == new
