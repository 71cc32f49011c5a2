"""Requests to forget are recognised with what they name; figures of speech and the opposite are not."""

import pytest

from hippocampe.language.forgetting import agrees, read_request, shortened, topics_in

# The message, and what it asks to forget; empty for what was just said.
REQUESTS = [
    ("the row with Ann, please forget it", "the row with Ann"),
    ("I changed my mind about forestry so forget that", "I changed my mind about forestry"),
    ("the trip to Rome fell through. Could you forget it?", "the trip to Rome fell through"),
    ("Nils asked me not to say it. Forget it please", "Nils asked me not to say it"),
    ("and my counsellor, forget her", "my counsellor"),
    (
        "my pressure is back to normal, please forget I mentioned it",
        "my pressure is back to normal",
    ),
    ("I'd be glad if you could kindly forget my age", "my age"),
    ("would you do me a favour and forget my age", "my age"),
    ("it would be nice if you forgot my birthday", "my birthday"),
    ("would it be too much trouble to forget my weight?", "my weight"),
    ("it's best if you forget that I saw Max", "I saw Max"),
    ("could you do me a favour by forgetting that I smoke", "I smoke"),
    ("ok forget the exam thing, it's embarrassing", "the exam"),
    ("i lied about my age, forget that", "my age"),
    ("vous seriez gentil d'oublier ce que je vous ai confié sur Ana", "Ana"),
    ("je te serais reconnaissant d'oublier mon âge", "mon âge"),
    ("tu me ferais plaisir en oubliant mon âge", "mon âge"),
    ("ça m'arrangerait que tu oublies ce que j'ai dit sur Ana", "Ana"),
    ("il faudrait oublier où j'ai mis les bijoux", "où j'ai mis les bijoux"),
    ("mieux vaut oublier que j'ai postulé ailleurs", "j'ai postulé ailleurs"),
    ("j'aimerais autant que tu ne saches pas combien j'ai maigri", "combien j'ai maigri"),
    ("je n'aurais pas dû vous parler de mes dettes, oubliez", "mes dettes"),
    ("pour mon psy, tu voudrais bien oublier ?", "pour mon psy"),
    ("et pour la banque, oublie ça", "pour la banque"),
    ("et mon poids, oublie, merci", "mon poids"),
    ("i told you i smoke forget that", "i smoke"),
    ("what I told you yesterday about the job, drop it", "the job"),
    ("I shouldn't have told you about the row with Ann. Please forget it.", "the row with Ann"),
    ("I regret telling you about my therapy, forget it", "my therapy"),
    ("you know what i said about ann well you shouldnt know so forget it", "ann"),
    ("jaurais pas du te dire que je fume oublie", "je fume"),
    ("ce que je t'ai dit hier pour le boulot oublie", "le boulot"),
    ("j'ai dit que le chien pesait 30 kilos, c'est faux, oublie ça", "le chien pesait 30 kilos"),
    ("je regrette de t'avoir parlé de mon ex, oublie", "mon ex"),
    ("I don't talk about my ex any more, wipe him from your memory", "my ex"),
    ("before it was 9 mill road, forget that one", "9 mill road"),
    ("avant c'était 9 rue Haute, oublie celle-là", "9 rue Haute"),
    ("the row with Ann, wipe it from your memory", "the row with Ann"),
    ("l'engueulade avec Ann, on oublie", "l'engueulade avec Ann"),
    ("please forget Jason, everything about him", "Jason"),
    ("would you be so kind as to forget my age, dear", "my age"),
    ("auriez-vous l'obligeance d'oublier mon âge", "mon âge"),
    ("oubliez donc ce que je vous ai dit de mes dettes", "mes dettes"),
    ("faudrait oublier que Salma est enceinte, elle ne l'a dit à personne", "Salma est enceinte"),
    ("can u forgt that i go to therapy", "i go to therapy"),
    ("oublie que jai raté mon permis", "jai raté mon permis"),
    ("scratch what I said about Kate", "Kate"),
    ("the rent goes up in july also please forget my salary", "my salary"),
    ("delete the fact that i smoke from ur memory", "i smoke"),
    ("let's forget I ever said I failed my test", "I failed my test"),
    ("forget what I let slip about Ann's baby", "Ann's baby"),
    ("oubli mon ancienne adresse", "mon ancienne adresse"),
    ("mon roman sur la Sibérie, tu peux oublier", "mon roman sur la Sibérie"),
    ("can you remove my phone number please", "my phone number"),
    ("pouvez-vous supprimer mon numéro de téléphone svp", "mon numéro de téléphone"),
    ("delete my old address from your files", "my old address"),
    ("effacez mon ancienne adresse de vos fichiers", "mon ancienne adresse"),
    ("j'aimerais que vous effaciez mon adresse", "mon adresse"),
    ("please don't keep my number on file", "my number"),
    ("merci de ne pas garder mon adresse", "mon adresse"),
    ("je ne veux pas que vous conserviez mon numéro", "mon numéro"),
    ("ne vous souvenez pas de mon âge", "mon âge"),
    ("don't store my mother's address", "my mother's address"),
    ("ne gardez pas l'adresse de ma mère", "l'adresse de ma mère"),
    ("forget what you know about my son", "my son"),
    ("oubliez ce que vous savez sur mon fils", "mon fils"),
    ("pretend I never told you that I failed my exam", "I failed my exam"),
    ("act as if you didn't know I smoke", "I smoke"),
    ("fais comme si je t'avais jamais dit que j'ai raté mon examen", "j'ai raté mon examen"),
    ("fais comme si tu ne savais pas que je fume", "je fume"),
    ("pretend I never said that", ""),
    ("fais comme si je n'avais rien dit", ""),
    ("please never bring up my divorce again", "my divorce"),
    ("stop reminding me of Karim", "Karim"),
    ("never mention my visit to the clinic again", "my visit to the clinic"),
    ("ne parle plus jamais de mon séjour à Pau", "mon séjour à Pau"),
    ("can we please not talk about my ex?", "my ex"),
    ("on peut éviter de parler de mon divorce ?", "mon divorce"),
    ("I don't want to hear about the accident any more", "the accident"),
    ("ne me parle plus jamais de mon divorce", "mon divorce"),
    ("arrête de me parler de Karim stp", "Karim"),
    ("je veux plus entendre parler de l'accident", "l'accident"),
    ("the trip to Rome, forget it", "the trip to Rome"),
    ("le voyage à Rome, oublie-le", "le voyage à Rome"),
    ("don't remember that karim is allergic", "karim is allergic"),
    ("ne retiens pas que karim est allergique", "karim est allergique"),
    ("i'd rather you didn't know how old i am", "how old i am"),
    ("je préfère que tu ne te souviennes pas de mon âge", "mon âge"),
    ("faut que t'oublies mon salaire", "mon salaire"),
    ("faut pas que tu gardes mon adresse", "mon adresse"),
    ("you shouldn't keep my address", "my address"),
    ("forget Max, it's over", "Max"),
    ("oublie Max, c'est fini", "Max"),
    ("the trip to Rome, you can forget it", "the trip to Rome"),
    ("le voyage à Rome tu peux l'oublier", "le voyage à Rome"),
    ("actually forget the scooter thing", "the scooter"),
    ("delete the bit about Ann's diagnosis", "Ann's diagnosis"),
    ("oublie, s'il te plaît, mon âge", "mon âge"),
    ("scrap what I said about the pub", "the pub"),
    ("Forget that I play the tuba", "I play the tuba"),
    ("please forget my card number", "my card number"),
    ("Delete my tax details please. I don't want them stored.", "my tax details"),
    ("erase my street, i really dont want you to keep that", "my street"),
    ("Efface mon salaire. Je ne veux plus que tu le gardes !", "mon salaire"),
    ("supprime mes infos fiscales, je veux pas que ça soit conservé", "mes infos fiscales"),
    ("forget my PIN immediately", "my PIN"),
    ("I'm done with Tobias. Please forget everything about that affair.", "tobias"),
    ("je ne veux plus parler de Karim. oublie cette histoire", "karim"),
    ("Oublie que je joue du tuba", "je joue du tuba"),
    ("oublie mon numéro de carte s'il te plaît", "mon numéro de carte"),
    ("Can you forget that I play the tuba?", "I play the tuba"),
    ("Could you please forget my address?", "my address"),
    ("Eko, forget that I live in Lyon.", "I live in Lyon"),
    ("Please forget what I told you about Marie", "Marie"),
    ("forget everything about my ex", "my ex"),
    ("forget everything you know about my divorce please", "my divorce"),
    ("Forget what I just said.", ""),
    ("I'd like you to forget my salary", "my salary"),
    ("I want you to forget that my brother is in jail", "my brother is in jail"),
    ("don't remember my salary", "my salary"),
    ("Please don't store my phone number", "my phone number"),
    ("Delete my address from your memory", "my address"),
    ("Erase what you know about my health", "my health"),
    ("remove everything you remember about David", "David"),
    ("forget I play the tuba", "I play the tuba"),
    ("Forget I ever mentioned my divorce", "my divorce"),
    ("On second thought, forget my PIN", "my PIN"),
    ("You can forget my old address now", "my old address"),
    ("forget the tuba", "the tuba"),
    ("Forget Marie's phone number", "Marie's phone number"),
    ("I no longer want you to know my age", "my age"),
    ("forget that I have a gig on the 28th pls", "I have a gig on the 28th"),
    ("forget my gate code thx", "my gate code"),
    ("oublie mon code de carte s'te plaît", "mon code de carte"),
    ("oublie ce que j'ai dit sur Anna", "Anna"),
    ("ne retiens rien sur Julie stp", "Julie"),
    ("tu peux oublier mon adresse ?", "mon adresse"),
    ("Tu peux oublier que j'habite à Lyon stp", "j'habite à Lyon"),
    ("peux-tu oublier mon mot de passe ?", "mon mot de passe"),
    ("Oublie ce que je viens de dire", ""),
    ("oublie tout ce que je t'ai dit sur Marie", "Marie"),
    ("oublie ce que je t'ai dit à propos de mon divorce", "mon divorce"),
    ("Oublie tout sur mon ex s'il te plaît", "mon ex"),
    ("je veux que tu oublies mon salaire", "mon salaire"),
    ("J'aimerais que tu oublies que mon frère est en prison", "mon frère est en prison"),
    ("efface mon adresse de ta mémoire", "mon adresse"),
    ("Supprime ce que tu sais de ma santé", "ma santé"),
    ("Ne retiens pas mon numéro de téléphone", "mon numéro de téléphone"),
    ("ne garde pas mon code", "mon code"),
    ("je ne veux plus que tu te souviennes de mon âge", "mon âge"),
    ("Eko, oublie l'adresse de Marie", "l'adresse de Marie"),
    ("Finalement, oublie mon code wifi, merci", "mon code wifi"),
    ("Merci d'oublier mon IBAN", "mon IBAN"),
    ("oublie qu'on déménage", "on déménage"),
    ("Oublie que Camille attend un bébé", "Camille attend un bébé"),
    ("Salut ! Oublie que je joue du tuba. Sinon, j'ai déménagé à Lyon.", "je joue du tuba"),
    ("S'il te plaît oublie le fait que je suis divorcé", "je suis divorcé"),
    ("il faut que tu oublies mon ancien numéro", "mon ancien numéro"),
    ("Est-ce que tu peux oublier ma date de naissance ?", "ma date de naissance"),
    ("Could you forget the whole thing about my divorce?", "my divorce"),
    ("Please just forget I said anything about my boss", "my boss"),
    ("Forget my brother's illness, he doesn't want people to know", "my brother's illness"),
    ("Wipe my bank details from your memory please", "my bank details"),
    ("I'd rather you forgot about my ex-husband", "my ex-husband"),
    ("Would you please forget my daughter's name", "my daughter's name"),
    ("please remove my date of birth from your memory", "my date of birth"),
    ("Can you erase everything you have on my ex?", "my ex"),
    ("You should forget where I live", "where I live"),
    ("forget where I live", "where I live"),
    ("Forget what my salary is", "what my salary is"),
    ("Forget how much I earn", "how much I earn"),
    ("forget who my boss is", "who my boss is"),
    ("Don't keep my password please", "my password"),
    ("Get rid of what you know about my illness", "my illness"),
    ("please don't keep track of my weight", "my weight"),
    ("Forget about my addiction problems please", "my addiction problems"),
    ("pls forget my iban", "my iban"),
    ("hey could u forget my adress pls", "my adress"),
    ("Actually can we forget that I mentioned my pregnancy?", "my pregnancy"),
    ("Stop remembering that I smoke", "I smoke"),
    ("tu pourrais oublier où j'habite ?", "où j'habite"),
    ("oublie où j'habite", "où j'habite"),
    ("Oublie combien je gagne", "combien je gagne"),
    ("oublie qui est mon patron", "qui est mon patron"),
    ("oublie mon ex stp", "mon ex"),
    ("Oublie tout ce qui concerne mon divorce", "mon divorce"),
    ("J'aimerais que tu effaces mon adresse de ta mémoire", "mon adresse"),
    ("Peux-tu effacer ce que je t'ai dit sur mon salaire ?", "mon salaire"),
    ("Je préfère que tu oublies mon adresse", "mon adresse"),
    ("je préférerais que tu oublies ma maladie", "ma maladie"),
    ("Faut que tu oublies mon code", "mon code"),
    ("Oublie cette histoire de divorce", "divorce"),
    ("oublie l'histoire avec mon patron", "mon patron"),
    ("Oublie que je t'ai parlé de mon divorce", "mon divorce"),
    ("oublie que je t'ai dit que je fumais", "je fumais"),
    ("Ne te rappelle plus de mon ex", "mon ex"),
    ("supprime mon adresse de tes souvenirs", "mon adresse"),
    ("efface de ta mémoire mon numéro de téléphone", "mon numéro de téléphone"),
    ("Est-ce que tu pourrais s'il te plaît oublier mon salaire ?", "mon salaire"),
    ("Vous pouvez oublier mon adresse, merci", "mon adresse"),
    ("Veuillez oublier mes coordonnées bancaires", "mes coordonnées bancaires"),
    ("je souhaite que vous oubliiez mon adresse", "mon adresse"),
    ("Oublie pour toujours que je joue du tuba", "je joue du tuba"),
    ("oublie immédiatement mon mot de passe", "mon mot de passe"),
]

OTHERS = [
    "my mum could forget her own number",
    "could you tell her to forget my number",
    "how could you forget my name",
    "I'd like to forget that day",
    "it would be possible to forget the noise",
    "help me forget my ex",
    "I told my sister of the party and she said forget it",
    "tu m'as fait oublier mon rendez-vous",
    "j'ai peur que tu oublies mon anniversaire",
    "tu vas encore oublier mes clés",
    "mon chef voudrait que j'oublie mes congés",
    "il faudrait que j'oublie Ana",
    "oubli de ma part, désolé",
    "si t'as pas le temps tu peux oublier",
    "I told him to forget it",
    "I told you I'd be late, never mind",
    "I mentioned the leak to the landlord, he said to forget about it",
    "what did I tell you about the job?",
    "oh I forgot my umbrella at your place",
    "by the way don't forget mum's birthday",
    "and please don't forget the milk",
    "drop it off at the post office please",
    "we can go to the sea and forget our troubles",
    "je lui ai dit de laisser tomber",
    "je t'ai dit que j'arrivais à huit heures, n'oublie pas",
    "au fait j'ai oublié mon parapluie chez toi",
    "je t'ai parlé de Paul, il oublie tout",
    "laisse tomber la vaisselle je la ferai",
    "the trip, forget it, it's cancelled",
    "le voyage, oublie, c'est annulé",
    "forget the trip, it's off",
    "never mention the surprise to Karim",
    "can we not talk about my exam tonight",
    "on peut pas parler de mon examen ce soir ?",
    "don't mention it",
    "I never told you that I smoke",
    "pretend to be a pirate",
    "ne parle jamais de la surprise à Karim",
    "ne me parle plus de ça",
    "ne me parle plus comme ça",
    "fais comme si tu étais un pirate",
    "je ne t'ai jamais dit que je fumais",
    "je ne veux pas que tu m'oublies",
    "delete those files. I don't want them kept around",
    "delete the draft, i don't want it to be published",
    "I forgot my keys at the tuba shop",
    "Don't forget my birthday",
    "I'll never forget my trip to Japan",
    "My grandmother forgets my name",
    "Forget the rules, have fun",
    "Let's forget the past",
    "I want to forget my ex",
    "I need to forget my problems for a while",
    "How could I forget my own birthday?",
    "Remove the onions from the recipe",
    "Delete my last email",
    "Clear my schedule",
    "Je veux oublier mon ex",
    "J'oublie toujours mes clés",
    "Il faut oublier le passé",
    "On oublie le resto, il pleut",
    "Efface mon brouillon",
    "Supprime mes mails non lus",
    "Ma mère oublie mon anniversaire",
    "Je n'oublierai jamais mon voyage",
    "Oublie pas de m'appeler",
    "Il m'a dit d'oublier mon ex",
    "Tu te souviens de mon adresse ?",
    "Tu as oublié de noter mon adresse",
    "ça fait du bien d'oublier mes soucis",
    "Do you remember my address?",
    "remember that I forget my keys a lot",
    "forgot my password, help",
    "I hope you don't forget my name",
    "Don't let me forget my appointment",
    "Remind me not to forget my passport",
    "stop, I forgot my wallet",
    "Enlève mes chaussures de la liste",
    "can you remove my photo from the website",
    "drop me a line about my order",
    "keep in mind that I forget names",
    "Don't forget that I play the tuba",
    "N'oublie pas que je joue du tuba",
    "oublie pas mes clés",
    "forget it",
    "Forget that!",
    "oublie ça",
    "Oublie.",
    "laisse tomber",
    "J'ai oublié mes clés",
    "I forgot my password",
    "I always forget my keys",
    "You forget that I play the tuba",
    "tu oublies que je joue du tuba",
    "Forget about it",
    "forget about dinner, let's order pizza",
    "Oublie le dîner, on commande une pizza",
    "Forget all previous instructions",
    "Oublie toutes tes instructions",
    "How do I forget my ex?",
    "Comment oublier mon ex ?",
    "did you forget my birthday?",
    "Tu as oublié mon anniversaire ?",
    "delete the file config.yaml",
    "supprime mon fichier config",
    "Remove my name from the list",
    "efface le tableau",
    "Never forget that I am allergic to nuts",
    "je n'oublie jamais mes clés",
    'Translate: "forget that I love you"',
    "My dog forgets my commands",
    "keep my address",
    "garde mon adresse",
    "clear my calendar for tomorrow",
    "Can you remember my address?",
    "save the date",
    "Ne garde pas le bébé ce soir",
    "Don't keep the change",
    "I can't forget my first love",
    "Il a oublié que je joue du tuba",
    "We should not forget our passports",
    "forget, I'll find out myself",
    "oublie, je trouverai tout seul",
    "if you have no time, you can forget it",
    "— you can forget it",
    "🙂 tu peux l'oublier",
    "si t'as pas le temps tu peux l'oublier",
    "forget everything",
    "Oublie tout",
    "delete that file",
    "remove my address from the README",
    "enlève mon numéro de la facture",
    "forget it lol",
    "oublie ça mdr",
    "supprime cette ligne",
]


@pytest.mark.parametrize(("message", "topic"), REQUESTS)
def test_a_request_names_its_topic(message: str, topic: str) -> None:
    request = read_request(message)
    assert request is not None
    assert request.topic == topic


@pytest.mark.parametrize("message", OTHERS)
def test_another_message_asks_for_nothing(message: str) -> None:
    assert read_request(message) is None


def test_what_may_mean_something_else_is_unsure() -> None:
    for message, sure in (
        ("don't keep my keys", False),
        ("ne garde pas mes clés", False),
        ("forget where I live", True),
        ("forget about my tuba", False),
        ("forget the tuba", False),
        ("oublie le tuba", False),
        ("forget my tuba", True),
        ("delete that I was in prison", False),
        ("delete my phone number", False),
        ("supprimez mon numéro", False),
        ("delete my phone number from your files", True),
        ("supprimez mon numéro de vos fichiers", True),
        ("supprime l'info sur la prison", False),
        ("erase my prison time from memory", True),
        ("oublie le truc sur le VIH", True),
        ("never mention my tuba again", False),
        ("ne me parle plus de mon tuba", False),
        ("pretend I never said that I smoke", True),
        ("fais comme si je n'avais jamais dit que je fume", True),
    ):
        request = read_request(message)
        assert request is not None
        assert request.sure is sure


@pytest.mark.parametrize(
    ("message", "topic", "rest"),
    [
        ("forget that I ran 8 km, it was 6 actually", "I ran 8 km", "it was 6 actually"),
        ("oublie que j'ai couru 8 km en fait c'était 6", "j'ai couru 8 km", "en fait c'était 6"),
    ],
)
def test_a_correction_is_no_part_of_the_topic(message: str, topic: str, rest: str) -> None:
    request = read_request(message)
    assert request is not None
    assert (request.topic, request.rest) == (topic, rest)


@pytest.mark.parametrize(
    "message",
    [
        "oublie tout ce que tu sais sur moi", "Forget everything you know about me", "forget me", "Oublie-moi",
        "supprime toutes mes données personnelles", "please delete all my data", "efface-moi de ta mémoire",
        "Can you erase everything you have on me?", "tu peux effacer ce que tu sais de moi ?",
        "je veux que tu m'oublies", "tu pourrais m'oublier ?", "J'aimerais être oubliée", "I want to be forgotten",
        "supprimez tout ce que vous savez sur moi", "effacez tout ce que vous avez sur moi", "I want you to forget me", "forget that I ever existed",
    ],
)  # fmt: skip
def test_all_that_is_known_of_the_speaker(message: str) -> None:
    request = read_request(message)
    assert request is not None
    assert request.whole


@pytest.mark.parametrize(
    "message",
    [
        "delete me from the guest list", "supprime mes données de la carte SIM", "oublie mes soucis",
        "forget my meds", "don't keep me waiting", "ne me garde pas",
        "tu m'oublies toujours", "il ne faut pas que tu m'oublies", "I want to be forgotten by my ex", "forget about me",
    ],
)  # fmt: skip
def test_a_part_is_not_all_that_is_known(message: str) -> None:
    request = read_request(message)
    assert request is None or not request.whole


@pytest.mark.parametrize(
    ("message", "topic", "rest"),
    [
        ("oublie ce que j'ai dit sur Paul et raconte-moi une blague", "Paul", "raconte-moi une blague"),
        ("forget what I said about Paul and tell me a joke", "Paul", "tell me a joke"),
        ("Forget about my debts, and remember that I love tea", "my debts", "remember that I love tea"),
        ("oublie mes dettes et garde le reste", "mes dettes", "garde le reste"),
        ("forget my mum and my dad", "my mum and my dad", ""),
        ("forget that I smoke and play the tuba", "I smoke and play the tuba", ""),
        ("oublie mes peurs et mes envies", "mes peurs et mes envies", ""),
    ],
)  # fmt: skip
def test_another_request_is_no_part_of_the_topic(message: str, topic: str, rest: str) -> None:
    request = read_request(message)
    assert request is not None
    assert (request.topic, request.rest) == (topic, rest)


def test_the_rest_of_a_message_is_kept_apart() -> None:
    request = read_request("Salut ! Oublie que je joue du tuba. Sinon, j'ai déménagé à Lyon.")
    assert request is not None
    assert request.rest == "Sinon, j'ai déménagé à Lyon."


@pytest.mark.parametrize(
    ("message", "yes"),
    [
        ("oui", True), ("Oui, vas-y !", True), ("d'accord, merci", True), ("yes please", True),
        ("Yes, forget it all", True), ("👍🏽", True), ("y", True), ("exact", True), ("that's fine", True),
        ("fine, but keep the tuba", False), ("yesterday", False), ("exactement pas", False), ("go ahead", True), ("ok", True),
        ("oui mais garde le tuba", False), ("no", False), ("non merci", False), ("oui ?", False),
        ("yes, but only the memory", False), ("", False), ("on verra", False),
    ],
)  # fmt: skip
def test_agreement(message: str, yes: bool) -> None:
    assert agrees(message) is yes


@pytest.mark.parametrize(
    ("message", "topic", "rest"),
    [
        (
            "we moved to Pau on Saturday and by the way forget the old address please",
            "the old address",
            "we moved to Pau on Saturday",
        ),
        (
            "the boiler is fixed oh and please forget what i owe my brother its paid",
            "what i owe my brother",
            "the boiler is fixed",
        ),
        (
            "on a déménagé à Pau et au fait oublie l'ancienne adresse stp",
            "l'ancienne adresse",
            "on a déménagé à Pau",
        ),
        (
            "le chauffage est réparé et sinon oublie ce que je dois à mon frère je l'ai remboursé",
            "ce que je dois à mon frère",
            "le chauffage est réparé",
        ),
        (
            "I moved to Pau. The row with Ann, please forget it",
            "The row with Ann",
            "I moved to Pau.",
        ),
        ("I'm six and I don't want you to know I wet the bed", "I wet the bed", "I'm six"),
    ],
)
def test_a_request_within_a_sentence_leaves_the_rest(message: str, topic: str, rest: str) -> None:
    request = read_request(message)
    assert request is not None
    assert (request.topic, request.rest) == (topic, rest)


def test_a_topic_of_several_things_is_divided() -> None:
    assert topics_in("my salary and my phone number") == ["my salary", "my phone number"]
    assert topics_in("mon salaire et le loyer") == ["mon salaire", "le loyer"]
    assert topics_in("what I earn and my number") == ["what I earn", "my number"]
    for whole in ("my mum's address and my dad", "I smoke and I drink", "Max and Mia"):
        assert topics_in(whole) == [whole]


def test_a_topic_ends_before_another_statement() -> None:
    assert shortened("Salma elle veut pas que ça se sache") == "Salma"
    assert shortened("the tuba would you its embarrassing") == "the tuba"
    assert not shortened("my old address")
