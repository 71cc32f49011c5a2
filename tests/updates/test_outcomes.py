"""The event after which an older statement no longer holds: found, got, begun again, or turned into its contrary."""

import pytest

from hippocampe import Hippocampe, Scope
from hippocampe.language.statement import parse
from hippocampe.updates.decide import Verdict, decide
from hippocampe.updates.outcomes import outcome

# (old, new): the event ends what the old one tells.
ENDS = [
    ("Je cherche un stage", "J'ai trouvé un stage chez Decathlon"),
    ("Ma sœur cherche un appartement", "Ma sœur a trouvé un appartement"),
    ("On cherche une nounou", "On a trouvé une nounou, elle s'appelle Rosa"),
    ("J'attends mon colis Zalando", "Le colis Zalando est arrivé"),
    ("J'attends mes résultats", "J'ai reçu mes résultats"),
    ("Je loue un studio à Lille", "J'ai acheté un studio à Lille"),
    ("On loue une maison à Dax", "On vient d'acheter une maison à Dax"),
    ("Je loue mon appartement", "J'ai acheté l'appartement que je louais"),
    ("Je n'ai pas de voiture", "J'ai acheté une voiture"),
    ("Je ne sais pas nager", "J'ai appris à nager"),
    ("Nous n'avons pas de chien", "On a adopté un chien"),
    ("I'm looking for an internship", "I landed an internship at Adobe"),
    ("Paul is looking for a flat in Leeds", "Paul has found a flat in Leeds"),
    ("I'm waiting for my Amazon parcel", "The Amazon parcel arrived"),
    ("I'm waiting for my blood test results", "I got my blood test results"),
    ("We rent a flat in Bristol", "We bought the flat we were renting in Bristol"),
    ("We rent a house in Bath", "We just bought a house in Bath"),
    ("I don't have a car", "I bought a car"),
    ("I don't have a driver's license", "I got my driver's license"),
    ("I can't swim", "I learned to swim this summer"),
    ("Je cherche un nouveau canapé", "J'ai acheté un canapé"),
    ("Je cherche un stage à Lyon", "J'ai trouvé un stage chez Orange"),
    ("I'm looking for a job in Boston", "I found a job at Fidelity"),
    ("La chaudière est en panne", "La chaudière est réparée depuis hier"),
    ("I'm looking for a new desk", "I bought a desk"),
    # A thing that was put elsewhere.
    ("The router is in the hallway", "We moved the router to the living room"),
    ("My spare keys are in the drawer", "I've put the spare keys back in the cupboard"),
    ("La box est dans l'entrée", "On a mis la box dans le salon"),
    ("Mes clés de rechange sont au bureau", "J'ai ramené mes clés de rechange à la maison"),
    # A birth; at another time than expected.
    ("My sister is pregnant", "My sister gave birth to a girl"),
    ("Ma sœur est enceinte", "Ma sœur a accouché d'une petite Zoé"),
    ("Ida is expecting a baby in May", "Ida gave birth to a girl"),
    ("Ida attend un bébé pour mai", "Ida a accouché d'une petite Nour"),
    ("My uncle is in hospital", "My uncle came home from hospital"),
    ("Mon oncle est à l'hôpital", "Mon oncle est rentré chez lui hier"),
    ("I'm waiting for my results on Monday", "I got my results"),
    ("J'attends mes résultats lundi", "J'ai reçu mes résultats"),
    ("Ma sœur attend des jumeaux", "Ma sœur a eu ses jumeaux"),
    # A quarrel.
    ("Ida hates her stepfather", "Ida made peace with her stepfather"),
    ("Mia détestait son frère", "Mia s'est réconciliée avec son frère"),
    ("Luc est fâché avec son frère", "Luc s'est rabiboché avec son frère"),
    # Another amount, whose unit is not repeated.
    ("Our rent is 1200 pounds", "Our rent has gone up to 1350"),
    ("Le loyer est de 800 euros", "Le loyer est monté à 850"),
    # What had ended begins again.
    ("J'ai arrêté le café", "Je rebois du café"),
    ("J'ai arrêté de boire", "J'ai recommencé à boire"),
    ("Je ne bois pas de café", "Je me suis remise au café"),
    ("J'ai arrêté le sport", "Je me suis remis au sport"),
    ("Paul ne joue plus au tennis", "Paul rejoue au tennis depuis mars"),
    ("I quit drinking coffee", "I'm drinking coffee again"),
    ("Paul doesn't play tennis anymore", "Paul took up tennis again"),
    # The contrary.
    ("Zoé est malade", "Zoé est guérie"),
    ("Je suis locataire", "Je suis devenu propriétaire"),
    ("Tutoie-moi", "Vouvoie-moi plutôt"),
    ("On garde la vieille Kangoo", "On vend la vieille Kangoo"),
    ("Je vis avec ma sœur", "Je vis seul maintenant"),
    ("Zoe is sick", "Zoe has recovered"),
    # What somebody had is sold, lost or stolen.
    ("J'ai une Clio", "Je viens de vendre ma Clio"),
    ("J'ai un vélo cargo", "Mon vélo cargo a été volé"),
    ("On a une caravane", "On a vendu la caravane à un voisin"),
    ("Nora possède une trottinette", "Nora a perdu sa trottinette dans le train"),
    ("I have a Clio", "sold the Clio"),
    ("I have a Clio", "Yesterday I sold my Clio"),
    ("J'ai une Clio", "Hier, j'ai vendu ma Clio"),
    ("I have an electric guitar", "I gave my electric guitar to my nephew"),
    ("J'ai une trottinette", "J'ai donné ma trottinette à ma nièce"),
    ("J'ai un kayak", "On a offert le kayak à Karim"),
    ("I have a cargo bike", "My cargo bike was stolen"),
    ("Nora owns a scooter", "Nora has lost her scooter"),
    # What had not happened yet.
    ("Le contrat n'est pas encore signé", "Le contrat est signé"),
    ("Le contrat n'est pas encore signé", "Le contrat a été signé le 4 juin"),
    ("The contract is not signed yet", "The contract was signed on 4 June"),
    ("The visa has not arrived yet", "The visa arrived on Tuesday"),
    # A habit that is no more; the old one tells how often it was.
    ("Je cours tous les matins", "Je ne cours plus"),
    ("Je bois du café tous les matins", "J'ai arrêté le café"),
    ("On commande des pizzas le vendredi", "On ne commande plus de pizzas"),
    ("I run every morning", "I stopped running"),
    ("I drink coffee every morning", "I've given up coffee"),
    # One thing for another.
    ("Tom a une Fiat", "Tom a échangé sa Fiat contre un van"),
    ("J'ai un iPhone 12", "Je viens d'acheter un Pixel 9 pour remplacer mon iPhone 12"),
    ("I drive a Corolla", "I traded the Corolla in for a Model 3"),
    ("I have an iPad", "I bought a Surface to replace my iPad"),
    # Another one of what has a name.
    ("We're staying at the Hotel Imperial", "We changed hotels, we're at the Metropole now"),
    ("My insurance is with Aviva", "I switched insurance, I'm with Zurich"),
    ("On loge à l'hôtel Bellevue", "On a changé d'hôtel, on est au Splendid"),
    ("Je suis inscrit au club de Sète", "J'ai changé de club, je joue à Agde"),
    # A prefix says the contrary of a state.
    ("The shed is locked", "The shed is unlocked now"),
    ("Le portail est bloqué", "Le portail est débloqué"),
    # Another amount, or another time, with what follows it.
    ("Le mariage est le 8 juin", "Le mariage a été reporté au 21 septembre à cause de la salle"),
    ("La réunion est à 10h", "La réunion est décalée à 11h, Paul a un train"),
    ("The wedding is on 8 June", "The wedding was pushed back to 21 September, the venue flooded"),
    ("The class is on Tuesday", "The class moved to Thursday, the room is taken"),
    ("The pass is $14 a week", "The city council raised the pass to $16"),
    ("Le délai est de 30 jours", "Le fournisseur a prolongé le délai à 45 jours"),
    ("Le loyer est de 720 euros", "Le loyer passe à 745 euros au 1er janvier"),
    ("Le délai est de 30 jours", "Le délai est prolongé à 45 jours"),
    ("The timeout is 30 seconds", "The timeout was raised to 60 seconds"),
    ("The pass is $14 a week", "The pass went up to $16"),
    ("I'm a tenant", "I'm a homeowner now"),
    ("I live with my boyfriend", "I've been living alone since May"),
]

# (old, new): another thing, another person, a part, or nothing that happened.
GOES_ON = [
    ("I don't have a doctor", "havent got a doctor yet"),
    ("Ida attend un colis", "Ida a accouché"),
    ("Ida is expecting in August", "Ida came to the rehearsal"),
    ("Ida attend son tour", "Ida est arrivée à la répétition"),
    ("Ida hates her stepfather", "Ida made peace with her neighbour"),
    ("Mia déteste son frère", "Mia s'est réconciliée avec sa voisine"),
    ("The pool is open on Mondays", "The pool is closed on Monday"),
    ("La piscine est ouverte le lundi", "La piscine est fermée lundi"),
    ("Je travaille à l'hôpital", "Je suis rentrée tard hier"),
    ("Ida works at the hospital", "Ida came home"),
    ("The doc is not up to date", "I got a doc"),
    ("La doc est pas à jour", "J'ai adopté la doc"),
    ("My sister is pregnant", "My sister's dog gave birth"),
    ("Ma sœur est enceinte", "La chienne de ma sœur a accouché"),
    ("Je ne bois plus de café", "Paul s'est remis au café"),
    ("My sister is pregnant", "My friend gave birth"),
    ("My sister is pregnant", "My sister gave me a book"),
    ("Ma sœur est enceinte", "Ma cousine a accouché"),
    ("Ma sœur est enceinte", "Ma sœur va accoucher en mai"),
    ("Je cherche un appartement", "J'ai trouvé un appartement pour mon frère"),
    ("Je cherche un appartement", "Paul a trouvé un appartement"),
    ("Ma sœur cherche un appartement", "J'ai trouvé un appartement"),
    ("Je cherche un appartement", "Je trouve les appartements chers"),
    ("Je cherche un appartement", "J'espère trouver un appartement"),
    ("Je cherche un appartement", "Je n'ai pas trouvé d'appartement"),
    ("Je loue un studio à Lille", "J'ai acheté un studio à Lyon"),
    ("Je n'ai pas de voiture", "J'ai acheté un siège de voiture"),
    ("J'ai arrêté le café", "Je rebois du café le dimanche"),
    ("J'ai arrêté de fumer", "J'ai rêvé que je refumais"),
    ("J'ai arrêté la boxe", "Je suis à la retraite"),
    ("Le tram A ne circule plus", "La circulation du tram B a repris"),
    ("I'm looking for an apartment", "I found an apartment for my brother"),
    ("I'm looking for an apartment", "My coworker found an apartment"),
    ("I'm looking for a job", "I got fired from my job"),
    ("I'm waiting for a call from Tom", "Tom got a call"),
    ("I don't have a car", "I bought a car seat"),
    ("I don't have a car", "I got in a car crash"),
    ("I'm looking for a dog", "I bought a dog bed"),
    ("I'm looking for a gift for Ann", "I found a gift for Tom"),
    ("Je cherche un studio à Lille", "J'ai trouvé un studio à Pau"),
    ("Je cherche un studio à Lille", "J'ai trouvé un studio trop cher"),
    ("I'm looking for a flat in Leeds", "I found a flat but it's too expensive"),
    ("Je cherche mes clés", "J'ai trouvé les clés de Paul"),
    ("I'm looking for my keys", "I found Paul's keys"),
    ("The team has 6 people", "The other team grew to 9 people"),
    ("Je cherche un chien", "J'ai acheté une laisse pour chien"),
    ("I don't have a car", "Should I say that I bought a car?"),
    ("I quit smoking", "I dreamed I was smoking again"),
    ("My mother stopped smoking", "My mother is back from Rome"),
    ("The museum is open", "The museum is closed in winter"),
    ("I live with my boyfriend", "I live alone on weekdays"),
    ("Paul lives with Tom", "Tom lives alone"),
    ("Zoe is sick", "Tom has recovered"),
    ("Je cours le lundi et le jeudi", "Je ne cours plus le jeudi"),
    ("Je cours tous les matins", "Je ne cours plus que le dimanche"),
    ("J'aime le café le matin", "J'ai arrêté le café"),
    ("I run every morning", "I want to stop running"),
    ("Tom runs every day", "Tom quit"),
    ("The hotel in Sète has a pool", "We changed hotels, we're at the Metropole now"),
    # Another thing, a part of it, another owner's, for a day, or not yet.
    ("The router is in the hallway", "We moved the TV to the living room"),
    ("The drill is in the shed", "I put the drill bits in the garage"),
    ("My bike is in the garage", "Tom moved his bike to the shed"),
    ("Le vin est à la cave", "J'ai mis une bouteille de vin au frigo"),
    ("The wine is in the cellar", "I put the wine in the fridge for tonight"),
    ("La box est dans l'entrée", "On va mettre la box dans le salon"),
    ("The router was in the hallway", "We moved the router to the living room"),
    ("My school is Elm Park", "I changed the school website to Drupal"),
    ("My bank is Chase", "I changed banks in 2010, I was with Ally"),
    ("Our favourite hotel is the Imperial", "We changed hotels, we're at the Metropole now"),
    ("Mon école est Jules Ferry", "Ma fille a changé d'école, elle est à Pasteur"),
    ("Mon assurance auto est à la MAAF", "J'ai changé d'assurance, je suis chez AXA"),
    ("Ma voiture est une Clio", "J'ai changé les pneus de ma voiture chez Norauto"),
    ("My tent is red", "My intent is red"),
    ("The gate is locked", "The gate is unlocked in winter"),
    ("Emma plays tennis on Saturdays", "Emma no longer plays tennis with Tom"),
    ("Tom a une Fiat", "Ma sœur a échangé sa Fiat contre un van"),
    ("J'ai une guitare", "J'ai remplacé les cordes de ma guitare par des neuves"),
    ("I have an iPad", "I'm saving up for a Surface to replace my iPad"),
    ("Karen is the lead of Atlas", "Borea has a new lead, Yusuf"),
    ("My cat is Biscuit", "We have a new cat, Crumb"),
    ("My neighbour is Ann", "My new neighbour is Tom"),
    ("The server is slow", "The new server is fast"),
    (
        "Le téléphone professionnel de Sarah est un iPhone 13",
        "Sarah a un nouveau téléphone, un Pixel 8",
    ),
    ("Ma voiture est une Clio", "Ma sœur a une nouvelle voiture, une Dacia"),
    ("La réunion est à 10h", "La réunion est décalée à 11h aujourd'hui"),
    ("Le yoga est le mardi", "Le yoga passe au jeudi pendant les vacances"),
    ("La réunion du lundi est à 10h", "La réunion du mardi est décalée à 11h"),
    ("La réunion est le 8 juin", "Le pot après la réunion est reporté au 21 juin"),
    ("Le délai est de 30 jours", "Le délai est prolongé à 45 jours pour les pros"),
    ("The meeting is on Monday", "The meeting with Acme was moved to Friday"),
    ("Standup is at 9:30", "Standup is moved to 10:15 tomorrow"),
    ("We have two cars", "We traded one car for a bike"),
    ("J'ai un vélo", "J'ai vendu la selle de mon vélo"),
    ("J'ai un vélo", "J'ai vendu le vélo de mon fils"),
    ("J'ai un vélo et une voiture", "J'ai vendu mon vélo"),
    ("J'ai deux vélos", "J'ai vendu mon vélo"),
    ("Le chien a une balle", "Le chien a perdu une dent"),
    ("I have a Kindle", "I lost the Kindle charger"),
    ("I have cats", "I lost the cat"),
    ("I have a boat", "I sold a boat in 2010"),
    ("I have a boat", "I gave my boat a good scrub"),
    ("I have a boat", "I gave my boat to Greg for the weekend"),
    ("J'ai un bateau", "J'ai donné mon bateau à réparer"),
    ("J'ai un bateau", "J'ai donné mon bateau à Karim pour le mois de mai"),
    ("I have a bike", "Maybe I lost my bike"),
    ("I have a phone", "I lost my phone, then found it again"),
    ("I have a house", "The neighbours sold the house"),
    # Another end of it.
    ("The bus back is at 6 pm", "The bus back takes off late and arrives at 8 pm"),
    ("Mon cours est à 18 h", "Mon cours passe à la salle 3 et finit à 19 h"),
    ("Our rent is 1200 pounds", "Our rent went up to 3 instalments"),
    ("Owen a un voilier", "Owen vend son voilier"),
    ("I have a boat", "Nobody sold my boat"),
    ("Nadia has a Clio", "Sold the Clio"),
    ("Nadia has a Clio", "Tom sold the Clio"),
    ("The kitchen is not painted yet", "The kitchen ceiling is painted"),
    ("The shop is not open yet", "The shop is open on Sundays"),
    ("La boutique n'est pas encore ouverte", "La boutique est ouverte le dimanche"),
    ("Le loyer est de 720 euros", "Le loyer du garage passe à 80 euros"),
    ("Our rent is $1,450", "The garage rent went up to $90"),
    ("My plan is 20 euros", "My brother's plan went up to 25 euros"),
    ("The train ticket is 40 euros", "The train ticket went up by 5 euros"),
]


@pytest.mark.parametrize(("old", "new"), ENDS)
def test_an_event_ends_a_state(old: str, new: str) -> None:
    decision = decide(new, old)
    assert decision.verdict is Verdict.UPDATED, decision
    assert decision.rule == "outcome"


@pytest.mark.parametrize(("old", "new"), GOES_ON)
def test_what_ends_nothing_replaces_nothing(old: str, new: str) -> None:
    assert outcome(parse(new), parse(old)) is None


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Je dois rappeler Mme Dufour", "J'ai rappelé Mme Dufour"),
        ("I have to call the plumber", "I called the plumber"),
    ],
)
def test_what_was_to_be_done_is_done(hippo: Hippocampe, old: str, new: str) -> None:
    scope = Scope(space="tasks", user="dev")
    todo = hippo.remember(old, scope=scope).memory
    assert todo.id in hippo.remember(new, scope=scope).replaced


def test_what_is_to_be_done_daily_stays(hippo: Hippocampe) -> None:
    scope = Scope(space="tasks", user="dev")
    hippo.remember("I must feed the cat every day", scope=scope)
    assert not hippo.remember("I fed the cat", scope=scope).replaced
