"""What happened once leaves what holds as it is: a dose that was taken, a piano that was sold, an office left at six, a price that rose by 5 euros."""

import pytest

from hippocampe import Hippocampe, Scope

# (old, new): the old one still holds.
ONCE = [
    ("Je dois prendre mon traitement", "J'ai pris mon traitement"),
    ("Lucas doit sortir le chien le matin", "Lucas a sorti le chien"),
    ("Je cours 5 km tous les matins", "J'ai couru 12 km aujourd'hui"),
    ("Je fais du vélo le dimanche", "J'ai vendu mon vélo"),
    ("Je joue au tennis", "J'ai perdu au tennis"),
    ("Je travaille chez Orange", "J'ai quitté Orange à 18h aujourd'hui"),
    ("J'ai une maison à Nice", "J'ai quitté la maison à 8h"),
    ("Je fais les marchés le samedi matin", "je fais pas de marché samedi"),
    ("judo is on Thursdays", "judo is off on Thursday"),
    ("la piscine est ouverte le lundi", "la piscine est fermée lundi"),
    ("La chorale répète le jeudi à 20h", "la répétition est annulée jeudi"),
    ("Ma sœur habite à Metz", "Ma sœur est en vacances à Metz"),
    ("L'utilisateur a un budget de 900 euros", "L'utilisateur a dépassé son budget"),
    ("Je prends de la metformine", "J'ai pris ma metformine ce matin"),
    ("L'arrivée au gîte est à 15h", "Le départ du gîte est passé à 10h"),
    ("I must take my pills", "I took my pills"),
    ("I take the 42 bus to work", "I took the 42 bus this morning"),
    ("Check-out is at 11 am", "Check-in moved to 4 pm"),
    ("I have to walk the dog every day", "I walked the dog"),
    ("Tom plays the drums", "Tom sold his drums"),
    ("I work at Google", "I left Google at 6 pm today"),
    ("The choir rehearses every Thursday at 8", "no rehearsal this Thursday"),
    ("My sister lives in Leeds", "My sister is visiting Leeds"),
    ("The train ticket is 40 euros", "The train ticket went up by 5 euros"),
]

# (old, new): the old one is over.
OVER = [
    ("Je dois rendre le rapport le lundi 4 mai", "J'ai rendu le rapport"),
    ("Je dois toujours appeler le plombier", "J'ai appelé le plombier"),
    ("Je dois acheter mes médicaments", "J'ai acheté mes médicaments"),
    ("Je fais du tennis le mardi", "J'ai arrêté le tennis"),
    ("J'ai une trompette", "J'ai vendu ma trompette"),
    ("J'ai une 206 garée rue des Lilas", "J'ai vendu la 206"),
    ("Je fais les marchés le samedi matin", "je fais plus les marchés le samedi"),
    (
        "Le devis de la cuisine s'élève à 8 900 €",
        "Le montant du devis de la cuisine est de 9 640 €",
    ),
    ("Firmine reçoit un panier chaque semaine", "Firmine a cédé son panier à une voisine"),
    ("I have to return the books on Monday", "I returned the books"),
    ("I run every morning", "I stopped running"),
    ("I work at Google", "I left Google in May"),
    ("I own a trumpet", "I sold my trumpet"),
    ("I have a 206 parked behind the bakery", "I sold the 206"),
    ("Zoé is getting a puppy", "Zoé got her puppy"),
    ("The site is up", "The site is down"),
    ("I do evening classes in pottery", "I binned the pottery course, I couldn't stand the cold"),
]


@pytest.mark.parametrize(("old", "new"), ONCE)
def test_what_happened_once_replaces_nothing(hippo: Hippocampe, old: str, new: str) -> None:
    mine = Scope(user="cam")
    hippo.remember(old, scope=mine)
    assert hippo.remember(new, scope=mine).action == "inserted"


@pytest.mark.parametrize(("old", "new"), OVER)
def test_what_is_over_is_replaced(hippo: Hippocampe, old: str, new: str) -> None:
    mine = Scope(user="cam")
    hippo.remember(old, scope=mine)
    assert hippo.remember(new, scope=mine).action == "updated"


def test_a_habit_that_was_kept_asks_nobody(hippo: Hippocampe) -> None:
    mine = Scope(user="cam")
    hippo.remember("Je dois prendre mon traitement chaque soir", scope=mine)
    hippo.remember("J'ai pris mon traitement", scope=mine)
    assert hippo.reviews(scope=mine) == []
