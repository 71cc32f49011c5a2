"""Secrets are found, and what merely looks like one is left alone. Every secret here is made up."""

from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from hippocampe.language import secrets
from hippocampe.language.secrets import answer_to, find_secrets, key_in, kinds_named, mask

LETTERS = "aB3dE5gH7jK9mN1pQ2rS4tU6vW8xY0zA"  # joined at run time, so that no scanner stops here
HEXADECIMAL = "9f86d081884c7d659a2feaa0c55ad015"
KEY_BLOCK = (
    "-----BEGIN RSA PRIVATE KEY-----\nMIIEowIBAAKCAQEA7\nqwerty\n-----END RSA PRIVATE KEY-----"
)
JWT = "eyJhbGciOiJIUzI1NiJ9." + "eyJzdWIiOiIxMjM0NTY3ODkwIn0." + "dBjftJeZ4CVPmB92K27uhbUJU1p1"

# Joined at run time too.
KEYS = [
    ("sk-or-v1-", HEXADECIMAL * 2), ("xai-", LETTERS * 2), ("pplx-", LETTERS * 2), ("nvapi-", LETTERS * 2),
    ("r8_", LETTERS), ("gsk_", LETTERS * 2), ("tvly-", LETTERS), ("csk-", HEXADECIMAL * 2), ("tgp_v1_", LETTERS),
    ("pcsk_", LETTERS * 2), ("figd_", LETTERS * 2), ("shpat_", HEXADECIMAL), ("dapi", HEXADECIMAL),
    ("hvs.", LETTERS), ("whsec_", LETTERS), ("ntn_", LETTERS * 2), ("123456789:AA", LETTERS, "1"),
    ("SK", HEXADECIMAL), ("sbp_", LETTERS), ("glsa_", LETTERS, "_12ab34cd"), ("dckr_pat_", LETTERS),
    ("PMAK-", HEXADECIMAL[:24], "-", HEXADECIMAL, "ab"), ("lin_api_", LETTERS + "12"), ("key-", HEXADECIMAL),
    ("fc-", HEXADECIMAL), ("sk_", HEXADECIMAL, HEXADECIMAL[:16]), ("pul-", HEXADECIMAL, HEXADECIMAL[:8]), ("fw_", LETTERS[:24]),
    ("xkeysib-", HEXADECIMAL * 2, "-", LETTERS[:16]), ("GOCSPX-", LETTERS[:28]),
    # Of providers that are not listed.
    ("jina_", LETTERS * 2), ("vcp_", LETTERS * 2), ("tskey-auth-", LETTERS, "-", LETTERS), ("acme_live_", LETTERS * 2),
    ("MTk4NjIyNDgzNDcxOTI1MjQ4.", "Cl2FMQ.", "ZnCjm1XVW7vRze4b7Cq4se7kKWs"),
]  # fmt: skip

# Kind, text, the part that is secret.
SECRETS = [
    ("password", "le mot de passe pour entrer sur le site c'est Barbapapa", "Barbapapa"),
    ("password", 'le mdp pour aller sur le blog est "marmotte"', "marmotte"),
    ("password", "the password to enter the site is Rhubarb", "Rhubarb"),
    ("password", "I changed my password to RhubarbPie", "RhubarbPie"),
    ("password", "password: correct horse battery staple", "correct horse battery staple"),
    ("password", "my wifi password is blue horse", "blue horse"),
    ("password", "the password for Netflix is blue horse, don't tell", "blue horse"),
    ("password", "le mot de passe du wifi c'est cheval bleu", "cheval bleu"),
    ("password", "mon mot de passe est grand cheval bleu", "grand cheval bleu"),
    ("password", "mdp du wifi : soleil vert lune rouge.", "soleil vert lune rouge"),
    ("password", "The wifi password changed, it is now red-fox-3", "red-fox-3"),
    ("password", "The gate code changed and it was 4471 before", "4471"),
    ("password", "the wifi password changed, and it's red-fox-3 now", "red-fox-3"),
    ("password", "Le mot de passe du wifi a changé, et c'est renard-3", "renard-3"),
    ("password", "DB_PASSWORD=correcthorse9", "correcthorse9"),
    ("password", "dbPassword: Banana42", "Banana42"),
    ("password", "ADMIN_PASS=Banana42", "Banana42"),
    ("password", "--password=Banana42", "Banana42"),
    ("password", '{"password": "Tr0ub4dor&3"}', "Tr0ub4dor&3"),
    ("password", "| password | Banana42 |", "Banana42"),
    ("password", "**password**: Banana42", "Banana42"),
    ("password", "mot de passe：Banana42", "Banana42"),
    ("password", "JWT_SECRET=abcd1234efgh5678", "abcd1234efgh5678"),
    ("password", "mon code pin c'est le 4821", "4821"),
    ("password", "Code du portail ? 4412B", "4412B"),
    ("password", "Le code du portail ? C'est 4412B.", "4412B"),
    ("password", "le code de la porte a changé, 98B76", "98B76"),
    ("password", "The code for the shed? It's 4412", "4412"),
    ("password", "the gate code has changed, 98B76", "98B76"),
    ("password", "le digicode c'est le 4821B", "4821B"),
    ("password", "I changed my password to Banana42", "Banana42"),
    ("password", "j'ai changé mon mot de passe, maintenant c'est Banana42", "Banana42"),
    ("password", "my pin's 4821", "4821"),
    ("password", "my password's Banana42", "Banana42"),
    ("password", "password? it's hunter2", "hunter2"),
    ("password", "my gmail password - Banana42", "Banana42"),
    (
        "recovery phrase",
        "my passphrase is correct horse battery staple",
        "correct horse battery staple",
    ),
    ("token", "https://x.org/a?token=abcd1234efgh5678&b=1", "abcd1234efgh5678"),
    (
        "token",
        "https://hooks.slack.com/services/T000/B000/abcdefghijklmnop",
        "T000/B000/abcdefghijklmnop",
    ),
    ("private key", "0x" + "4c08" * 16 + " is my private key", "0x" + "4c08" * 16),
    ("password", "mon mot de passe est Soleil42!", "Soleil42!"),
    ("password", "code portail 7315", "7315"),
    ("password", "le code de la porte est le 7 3 1 5", "7 3 1 5"),
    ("password", "the gate code is 7 3 1 5", "7 3 1 5"),
    ("password", "my new password will be Walnut88", "Walnut88"),
    ("password", "mon mot de passe va être Walnut88", "Walnut88"),
    ("password", "mes identifiants de connexion : ana / Walnut88", "Walnut88"),
    ("password", "here are my credentials: ana@mail.org / Walnut88", "Walnut88"),
    ("password", "wifi: walnut2019", "walnut2019"),
    ("password", "Wi-Fi : Walnut2019!", "Walnut2019!"),
    ("password", "le code du wifi est password: Tr0ub4dor&3x", "Tr0ub4dor&3x"),
    ("password", "Mon mot de passe est soleil.", "soleil"),
    ("password", "mon mot de passe c'est lapin-bleu", "lapin-bleu"),
    ("password", "le mot de passe du wifi : Ordizan#2020", "Ordizan#2020"),
    ("password", "mot de passe Netflix = azerty99", "azerty99"),
    ("password", "mdp: tR0ub4dor&3", "tR0ub4dor&3"),
    ("password", "le mdp de la box est « Grèce été 2026 » je crois", "Grèce été 2026 "),
    ("password", "my password is hunter2", "hunter2"),
    ("password", "the wifi password is correct-horse, ok?", "correct-horse"),
    ("password", "PASSWORD=Sup3rS3cret", "Sup3rS3cret"),
    ("password", 'password: "open sesame"', "open sesame"),
    ("password", "my password for the bank was Tulip_77", "Tulip_77"),
    ("password", "mon code PIN est 4821", "4821"),
    ("password", "code pin 4821", "4821"),
    ("password", "my PIN is 4821.", "4821"),
    ("password", "postgresql://dev:s3same@db.example.org/eko", "s3same"),
    # What a code opens, without the word "code".
    ("password", "the bike lock is 3819", "3819"),
    ("password", "le cadenas du vélo c'est 3819", "3819"),
    ("password", "the suitcase lock is set to 381", "381"),
    ("password", "mon antivol est réglé sur 381", "381"),
    ("password", "the lock on Ana's bike is 3-8-1-9", "3-8-1-9"),
    ("password", "bike lock: 381", "381"),
    ("password", "cadenas 3819", "3819"),
    ("password", "garage 4471#", "4471#"),
    ("password", "portail du fond 4471*", "4471*"),
    ("password", "for the garage it's 4471", "4471"),
    ("password", "pour le portail c'est 4471", "4471"),
    ("password", "the gate is 4471 at night", "4471"),
    ("password", "le coffre c'est 3819 je crois", "3819"),
    ("password", "the safe opens with 22-08-41", "22-08-41"),
    ("password", "le coffre s'ouvre avec 22-08-41", "22-08-41"),
    ("password", "you open the gate with 4471", "4471"),
    ("password", "type 4471 at the gate", "4471"),
    ("password", "il faut taper le 4471 à l'interphone", "4471"),
    ("password", "4471 opens the garage door", "4471"),
    ("password", "4471 ouvre le portail", "4471"),
    ("password", "le 4471 ouvre la barrière", "4471"),
    ("password", "combination for the shed lock: 12-24-36", "12-24-36"),
    ("password", "PIN for the bike lock is 381", "381"),
    ("password", "code pour le cadenas : 381", "381"),
    ("password", "la serrure du local c'est 5527", "5527"),
    ("password", "wifi du gîte : Marmotte74", "Marmotte74"),
    ("password", "the wifi at the lodge is Marmotte74", "Marmotte74"),
    ("password", "netflix: anna@example.org / sunny-Goat9", "sunny-Goat9"),
    ("password", "compte spotify anna@example.org : sunny-Goat9.", "sunny-Goat9"),
    ("API key", "sk-" + LETTERS + LETTERS[:16], None),
    ("API key", "sk-proj-" + LETTERS + "_" + LETTERS, None),
    ("API key", "sk-ant-api03-" + LETTERS + "-" + LETTERS, None),
    ("API key", "sk-" + HEXADECIMAL, None),
    ("API key", "sk_live_" + LETTERS, None),
    ("API key", "ghp_" + LETTERS + "a1b2", None),
    ("API key", "github_pat_" + LETTERS, None),
    ("API key", "glpat-" + LETTERS[:20], None),
    ("API key", "AKIA" + "IOSFODNN7EXAMPLE", None),
    ("API key", "xoxb-" + "123456789012-" + LETTERS, None),
    ("API key", "AIza" + LETTERS + "a1B", None),
    ("API key", "hf_" + LETTERS, None),
    ("API key", "npm_" + LETTERS + "a1B2", None),
    ("API key", "my api key is " + HEXADECIMAL, HEXADECIMAL),
    ("API key", "ma clé d'API : " + LETTERS, LETTERS),
    ("API key", "client_secret=" + LETTERS, LETTERS),
    ("API key", 'export API_TOKEN="' + LETTERS + '"', LETTERS),
    ("token", "Authorization: Bearer " + LETTERS, LETTERS),
    ("token", "authorization: basic ZGV2OnMzc2FtZXNlc2FtZQ==", "ZGV2OnMzc2FtZXNlc2FtZQ=="),
    ("token", JWT, None),
    # Numbers in words.
    ("password", "my pin is one two three four", "one two three four"),
    ("password", "my phone pin is twelve, thirty-four", "twelve, thirty-four"),
    ("password", "the entry code is nine eight zero two", "nine eight zero two"),
    ("password", "Nora's code is eleven sixteen.", "eleven sixteen"),
    ("password", "the bike lock is three eight one nine", "three eight one nine"),
    ("password", "type four four seven one at the gate", "four four seven one"),
    ("password", "your verification code is 482913", "482913"),
    ("password", "mon code est douze trente-quatre", "douze trente-quatre"),
    ("password", "le code de la porte est quarante-deux quinze", "quarante-deux quinze"),
    ("password", "mon code pin, c'est zéro un deux trois", "zéro un deux trois"),
    ("password", "code de l'alarme : quatre-vingt-douze dix-sept", "quatre-vingt-douze dix-sept"),
    ("password", "le cadenas c'est trois huit un neuf", "trois huit un neuf"),
    ("password", "tape quatre quatre sept un au portail", "quatre quatre sept un"),
    # Beside their names, without a verb or a sign.
    ("API key", "the api key " + LETTERS, LETTERS),
    ("API key", "voici le jeton " + LETTERS, LETTERS),
    ("API key", "le token est " + HEXADECIMAL, HEXADECIMAL),
    ("token", "Cookie: a=b; sid=" + HEXADECIMAL, "a=b; sid=" + HEXADECIMAL),
    ("token", "Set-Cookie: sid=" + HEXADECIMAL + "; HttpOnly", "sid=" + HEXADECIMAL),
    ("private key", KEY_BLOCK, None),
    ("private key", "-----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXk", None),
    ("password", "mon code est 4821", "4821"),
    ("password", "Mon code c'est 4821.", "4821"),
    ("password", "le code de mon téléphone est 482159", "482159"),
    ("password", "le code de la porte est 12B45", "12B45"),
    ("password", "mon code de déverrouillage : 4821", "4821"),
    ("password", "le digicode c'est 4821A", "4821A"),
    ("password", "code d'entrée 12B45", "12B45"),
    ("password", "La combinaison du coffre est 12-34-56", "12-34-56"),
    ("password", "combinaison coffre-fort : 12-34-56", "12-34-56"),
    ("password", "code porte: 4821", "4821"),
    ("password", "code alarme : 4821", "4821"),
    ("password", "motdepasse: soleil", "soleil"),
    ("password", "digicode: A2B4", "A2B4"),
    ("password", "my code is 4821", "4821"),
    ("password", "the code to my phone is 4821", "4821"),
    ("password", "my phone PIN is 482159", "482159"),
    ("password", "the door code is 4821#", "4821#"),
    ("password", "Camille's code is 4821", "4821"),
    ("password", "le code de l'alarme, c'est 4821", "4821"),
    ("password", "notre code est 55321", "55321"),
    ("password", "le code du wifi est soleil123", "soleil123"),
    ("password", "la clé wifi c'est TournesolBleu", "TournesolBleu"),
    ("password", "le wifi : clé wpa = abcdef1234", "abcdef1234"),
    ("password", "the wifi code is sunflower22", "sunflower22"),
    ("password", "our wifi key is BlueHorse99", "BlueHorse99"),
    ("password", "le mot de passe, c'est lapin22", "lapin22"),
    ("password", "the network password has been changed to Tulip_77", "Tulip_77"),
    ("password", "mon mot de passe a été changé en Tulipe77", "Tulipe77"),
    ("password", "j'utilise hunter2 comme mot de passe", "hunter2"),
    ("password", "I use hunter2 as my password", "hunter2"),
    ("password", "le mot de passe Soleil42! marche pour tout", "Soleil42!"),
    ("password", "mdp netflix azerty123", "azerty123"),
    ("password", "hunter22 is my password", "hunter22"),
    (
        "recovery phrase",
        "my seed phrase is witch collapse practice feed shame open despair creek road again ice least",
        "witch collapse practice feed shame open despair creek road again ice least",
    ),
    (
        "recovery phrase",
        "ma phrase de récupération : abandon ability able about above absent absorb abstract absurd abuse access accident",
        "abandon ability able about above absent absorb abstract absurd abuse access accident",
    ),
    ("recovery phrase", "recovery codes: ab12-cd34 ef56-gh78", "ab12-cd34 ef56-gh78"),
    ("recovery phrase", "mes codes de secours sont 1234-5678, 9876-5432", "1234-5678, 9876-5432"),
    ("social security number", "mon numéro de sécu est 1 85 05 78 006 084", "1 85 05 78 006 084"),
    (
        "social security number",
        "numéro de sécurité sociale : 2 69 05 49 588 157 80",
        "2 69 05 49 588 157 80",
    ),
    ("social security number", "my SSN is 219-09-9999", "219-09-9999"),
    ("social security number", "my social security number is 219 09 9999", "219 09 9999"),
    ("social security number", "219-09-9999", "219-09-9999"),
    ("social security number", "my national insurance number is AB123456C", "AB123456C"),
    ("social security number", "AB 12 34 56 C", "AB 12 34 56 C"),
    ("card number", "ma carte bleue c'est 4970 1234 5678 9012", "4970 1234 5678 9012"),
    ("card number", "4111.1111.1111.1111", "4111.1111.1111.1111"),
    ("card number", "mon numéro de carte est 41 11 11 11 11 11 11 11", "41 11 11 11 11 11 11 11"),
    ("card number", "my card number is 4111, 1111, 1111, 1111", "4111, 1111, 1111, 1111"),
    (
        "private key",
        "PrivateKey = yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=",
        "yAnz5TF+lXXJte14tji3zlMNq+hd2rYUIgJBgB3fBmk=",
    ),
    (
        "token",
        "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxMjM0NTY3ODkwIn0.",
        "eyJhbGciOiJub25lIn0.eyJzdWIiOiIxMjM0NTY3ODkwIn0.",
    ),
    ("password", "Server=db;User Id=ana;Password=Tulip_77;", "Tulip_77"),
    ("password", "redis://:s3same@localhost", "s3same"),
    ("password", "curl -u ana:s3same1 https://x.org", "s3same1"),
    ("password", "mongodb+srv://ana:s3same@c0.mongodb.net/x", "s3same"),
    ("private key", "ma clé privée est 0x" + HEXADECIMAL * 2, "0x" + HEXADECIMAL * 2),
    ("API key", "AccountKey=" + LETTERS * 2 + "==", LETTERS * 2 + "=="),
    *(("API key", "".join(parts), None) for parts in KEYS),
    ("card number", "4111 1111 1111 1111", None),
    ("card number", "4111-1111-1111-1111", None),
    ("card number", "4111\u00a01111\u00a01111\u00a01111", None),
    ("card number", "4111111111111111", None),
    ("card number", "ma carte : 5555 5555 5555 4444 12/28", "5555 5555 5555 4444"),
    ("card number", "3782 822463 10005", None),
    ("card number", "378282246310005", None),
    ("card number", "3056 930902 5904", None),
    ("card number", "6011111111111117", None),
    ("card number", "2223003122003222", None),
    ("card number", "12 4111 1111 1111 1111", "4111 1111 1111 1111"),
    ("card code", "cvv: 123", "123"),
    ("card code", "le cryptogramme est 123", "123"),
    ("IBAN", "FR14 2004 1010 0505 0001 3M02 606", None),
    ("IBAN", "FR1420041010050500013M02606", None),
    ("IBAN", "fr14 2004 1010 0505 0001 3m02 606 merci", "fr14 2004 1010 0505 0001 3m02 606"),
    ("IBAN", "DE89 3704 0044 0532 0130 00.", "DE89 3704 0044 0532 0130 00"),
    ("IBAN", "mon IBAN GB82 WEST 1234 5698 7654 32", "GB82 WEST 1234 5698 7654 32"),
    ("social security number", "1 85 05 78 006 084 91", None),
    ("social security number", "185057800608491", None),
    ("social security number", "2 69 05 2A 588 157 17", None),
]

INNOCENT = [
    "Do you like the code? 2024 was a hard year",
    "Le code est bon ? 300 tests passent",
    "The wifi password changed, it is annoying", "I lost the password and it's on the fridge", "The password changed, it is long",
    "Le mot de passe du wifi a changé et c'est pénible",
    "my password is working fine", "the password is taped underneath", "the password is case sensitive",
    "my password is eight characters", "the password is upstairs, on the fridge", "my password is getting old",
    "le mot de passe est marqué dessous", "le mot de passe du wifi est derrière la box", "le mot de passe est vraiment nul",
    "the pin is bent", "ma clé wifi est cassée", "the door code is broken", "my password is ridiculous",
    "le mdp est partagé", "le numéro de dossier : 185057800608491", "max_tokens=4096", "bypass: yes",
    "monkey: banana42isgood99", "my secret: I love chocolate", "le secret : trois oeufs et 200g de farine",
    'password = os.environ["PASSWORD"]', "PASSWORD=$DB_PASSWORD", "sort_key=created_at_2024_desc",
    "we changed the password to something longer", "the password? it's on the fridge",
    "my password's strength is good", "password: str", "next_token = page 12",
    # talked about, not given
    "j'ai oublié mon mot de passe", "mon mot de passe est oublié", "le mot de passe est trop court",
    "le mot de passe est obligatoire.", "my password is very old", "the password is wrong",
    "Password is required", "password: required", "change ton mot de passe demain",
    "le mot de passe, c'est important de le changer", "the pin is stuck in the map",
    "mot de passe : voir le gestionnaire de Mickael", "my password is stored in the safe",
    "the API key is missing", "il faut une clé API pour ça", "un jeton de présence",
    "sk-learn-pipeline-with-2-steps", "ghp_short", "a bearer of good news and things",
    "the bearer understandings of yesterday", "basic understanding-of-things",
    # numbers of other sorts
    "appelle le 06 12 34 56 78", "+33 6 12 34 56 78", "+1 (555) 010-9999", "0033 6 12 34 56 78",
    "06 12 34 56 78 06 98 76 54 32", "le 2026-01-17T10:23:00+01:00", "17/01 10:23",
    "2026-01-17 10:23:00.123456", "1768641780000", "1768641780", "commande 4111111111111111",
    "commande n° 402-1234567-8901234", "order number: 4111 1111 1111 1111",
    "SIRET 732 829 320 00074", "siret 36252187900034", "ISBN 978-2-07-036822-8",
    "EAN 4006381333931", "4111 1111 1111 1112", "1234 5678 9012 3456", "9999999999999995",
    "123e4567-e89b-12d3-a456-426614174000", "018f4e6c-7a3b-7c1d-9e2f-0123456789ab",
    "da39a3ee5e6b4b0d3255bfef95601890afd80709", "commit 9f86d08", "sha256: " + HEXADECIMAL,
    "FR14 2004 1010 0505 0001 3M02 607", "FR76 est le début d'un IBAN", "DE89 mille",
    "1 85 05 78 006 084 92", "192.168.1.1:8080", "48.8566, 2.3522", "3.14159265358979323846",
    "https://example.org/a/b:c@d", "git@github.com:owner/name.git", "v1.2.3-rc.4+build.5",
    "Mickael s'est cassé l'épaule le 10 janvier 2026", "", " ", "[secret: password]",
    # codes and words of other sorts
    'le code postal est 69003',
    'my zip code is 90210',
    'mon code promo est 2024',
    'le code erreur est 5004',
    'the error code is 5004',
    'the paint code is 7016',
    'the engine code is 4471',
    'le code RAL est 7016',
    'le code défaut est 0420',
    'le code réservation est 4411',
    'the area code is 4155',
    'le code de la route est 2024',
    'the code is 200 lines long',
    'le code fait 4000 lignes',
    'my code is 2000 lines',
    'the code was 1500 lines before',
    'code 2024',
    'le code source est sur GitHub',
    'the password is important to remember',
    'mon numéro est le 0612345678',
    'ma carte de fidélité 4970 1234 5678 9012',
    'the combination is great',
    'la combinaison est parfaite',
    'my seed is growing well in the garden this week with lots of water and sun daily here',
    'les 12 mots que je préfère sont doux',
    'le wifi est lent',
    'the wifi is slow today',
    'la clé de la voiture est dans le tiroir',
    'my locker is 4821',
    'le jeton est perdu',
    'la sécu est lente',
    'ticket 123-45-678',
    'part 219-09-99990',
    'the meeting code is 482159',
    'room code is 4821',
    'QR code is 1234',
    'le code APE est 6201Z',
    'notre code client est 482193',
    'mon code barre est 4006381333931',
    "J'ai 12 mots pour toi",
    'le vol AB123456 part à 8h',
    'Le code Hammurabi',
    'le code est 3,50 euros',
    'le code sera 2025-01-01',
    'the code is 12:30',
    'my code is 4.5 stars',
    'the dress code is 2020 style',
    'recovery is slow',
    'mes codes de récupération sont perdus',
    'I use Python3 as my language',
    'password123 is a weak password',
    'mot de passe oublié',
    'mot de passe 2FA',
    'I set an alarm as my password reminder',
    'le code de procédure 2010',
    'mon ancien code était 12 lignes',
    'phrase de récupération oubliée',
    '0612345678',
    'my card is blue',
    'ma carte expire en 2028',
    'the wifi key is under the router',
    'le code wifi est sur la box',
    'la clé wifi est sous le modem',
    'code du wifi à demander à Camille',
    'my password manager is 1Password',
    'reset the password with ada@mail2.com',
    'the password reset 2026-11-27T10:00',
    'I prefer 1Password as my password manager',
    'the alarm code is changed every month',
    'le digicode est cassé',
    'access code is required',
    'phone pin is lost',
    'the safe combination is secret',
    'the login details are in the safe',
    'FR20231234',
    'the entry code is on the fridge',
    "code d'accès : voir Camille",
    "le code porte sur 1234 articles",
    "la combinaison de ski est bleue",
    "la combinaison du coffre est secrète",
    "le digicode est en panne",
    "le code garage est sur le frigo",
    "mon mot de passe est [secret: password]", 'password: "[secret: card number]"',
    "my password will be long", "wifi: 802.11ac", "wifi : lent", "wifi: excellent", "le code a 4 points",
    "mes identifiants : voir Camille", "the logins are in the safe", "code 1 2 3", "code porte cassé",
    # sizes, prices, years, times, addresses and numbers of what a code may open
    "the lock costs 38 euros", "the lock costs 380", "le cadenas coûte 3819", "the lock is 3819 grams",
    "the gate is 3 m wide", "the gate is 3212 mm wide", "le portail mesure 3412", "le coffre est 451 litres",
    "la porte 12", "porte 1204", "gate 14", "the gate is B12", "unlock 4471", "port 4471 is open", "canal lock 12",
    "the alarm is at 7:30", "the alarm is 0730", "alarm: 0645", "alarme réglée sur 7h15", "the alarm rings at 0645",
    "le portail c'est 1200", "le portail c'est 1234 euros", "the garage is 4471 Oak Street", "roof: 2015, garage: 2019",
    "le garage : 04 50 12 34 56", "alarm: 555-0100", "the alarm company is 4471",
    "the alarm company's extension is 4471", "the price of the lock is 3819", "le prix du cadenas est 3819",
    "le poste de l'alarme est 4471", "it is safe: 4471 people crossed", "the road is safe, 4471 cars a day",
    "le portail s'ouvre avec 2 télécommandes", "the lock opens with a key", "j'ai fait 4471 pas dans le garage",
    "fais 30 minutes au portail", "the score is 4471", "le score est 3819", "the shop sold 4471 on the door",
    "in 2019 opens the door to anybody", "the case 4471 opens the door to appeals", "the gate is 4471 km away",
    "l'affaire 3819 ouvre la porte à d'autres recours", "on github anna@example.org / anna-dev42",
    "anna@example.org / 0612345678", "anna@example.org / @anna75", "anna@example.org / bob1@example.org",
    "anna@example.org / www.site1.org", "le wifi de la maison : voir Camille", "the wifi at the lodge is slow",
    # Quantities and times in words.
    "I have two cats and three dogs", "j'ai deux chats et trois chiens", "my code is two hundred and five lines long",
    "le code fait deux cent cinquante lignes", "mon code est deux à trois fois plus court", "I pin three hundred and four photos",
    "the alarm is at seven thirty five", "the alarm rings at six, seven and eight", "un deux trois soleil",
    "take one at eight, two at twelve and one at ten", "prends deux comprimés à huit heures et un à vingt heures",
    "le code postal est soixante-neuf mille trois", "the zip code is nine zero two one zero", "le cadenas coûte vingt-cinq euros",
    "la porte s'ouvre à huit heures trente-cinq", "the combination is two parts gin, one part lime",
    "the gate is three, four or five metres wide", "my pin collection is four hundred and ten pins",
    # Identifiers, hashes and public keys.
    "chatcmpl-" + LETTERS[:29], "call_" + LETTERS[:24], "integrity sha512-" + LETTERS * 2, "app-" + HEXADECIMAL * 2,
    "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAA" + LETTERS, "https://x.org/d/" + LETTERS + "ab12/edit",
    "my cat_photos_from_the_Holiday_In_2024_With_Anna_And_Tom_001", "the token limit is 128000",
    "chunk_ThisIsALongCamelCaseNameOfSomethingVersion2", "token 018f4e6c-7a3b-7c1d-9e2f-0123456789ab",
    "the api key rotation-policy-2024-document", "cookie: butter=good",
    "wifi: https://example.org/help2", "credentials: see page 12", "les identifiants sont ana et tom",
    # Beside a code, and after the name of a password.
    "password: minimum twelve different characters", "the garage is 1800 and the gate 1900",
    *Path(__file__).with_name("innocent.txt").read_text("utf-8").splitlines(),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "text", "value"), SECRETS)
def test_secret_found(kind: str, text: str, value: str | None) -> None:
    value = value or text
    assert [(secret.kind, text[secret.start : secret.end]) for secret in find_secrets(text)] == [
        (kind, value)
    ]


@pytest.mark.parametrize(
    ("question", "text", "values"),
    [
        ("Quel est ton mot de passe ?", "Walnut88!", ["Walnut88!"]),
        ("Sure. What is your password? I won't keep it.", "it's Walnut88", ["Walnut88"]),
        ("Quel est le code du portail ?", "7315", ["7315"]),
        ("What is the gate code?", "7 3 1 5", ["7 3 1 5"]),
        ("Quel est ton mot de passe ?", "je ne sais plus", []),
        ("Did you change the password?", "yes, on Monday", []),
        ("Combien de tasses ?", "7315", []),
        ("Your password is safe.", "Walnut88", []),
    ],
)
def test_the_answer_to_a_question_for_a_password(
    question: str, text: str, values: list[str]
) -> None:
    assert list(answer_to(question, text)) == values


@pytest.mark.parametrize(
    ("text", "kinds"),
    [
        ("my card number", {"card number"}), ("mon numéro de carte", {"card number"}),
        ("mon code wifi", {"password"}), ("my PIN", {"password"}), ("mon RIB", {"IBAN"}),
        ("mon numéro de sécu", {"social security number"}), ("my seed phrase", {"recovery phrase"}),
        ("je joue du tuba", set()), ("I play the tuba", set()),
    ],
)  # fmt: skip
def test_kinds_that_a_text_names(text: str, kinds: set[str]) -> None:
    assert kinds_named(text) == kinds


@pytest.mark.parametrize("key", KEYS[:10])
def test_a_key_is_found_in_an_identifier(key: tuple[str, ...]) -> None:
    assert key_in(f"session {''.join(key)}") == "API key"
    assert key_in(JWT) == "token"


@pytest.mark.parametrize(
    "identifier",
    [
        "123e4567-e89b-12d3-a456-426614174000", "018f4e6c7a3b7c1d9e2f0123456789ab", "ana.martin@example.org",
        "msg_01XFDUDYJgAACzvnptvVoYEL", "chatcmpl-B9MBs8CjcvOU2jLn4n570S5qMJKcT", "4111111111111111", "+33612345678",
        "wamid.HBgLMTY1MDM4Nzk0MzkVAgARGBI5QTNDQTVCM0Q0Q0Q2RTY3RTcA", "glass-collectors-of-the-north-of-france",
        "resp_67ccd2bed1ec8190b14f964abc0542670bb6a6b452d3795b", "<CAF_zeP=4Qx8aB3d@mail.gmail.com>", "sk-learn-2-users",
        "thread_aB3dE5gH7jK9mN1pQ2rS4tU6", "2026-01-17T10:23:00+01:00/lobby", "!roomid:matrix.example.org", HEXADECIMAL,
    ],
)  # fmt: skip
def test_an_identifier_is_no_key(identifier: str) -> None:
    assert key_in(identifier) is None


@pytest.mark.parametrize("text", INNOCENT)
def test_no_secret(text: str) -> None:
    assert find_secrets(text) == []
    assert mask(text) == text


@pytest.mark.parametrize(("kind", "text", "value"), SECRETS)
def test_mask_hides_the_value_and_keeps_the_rest(kind: str, text: str, value: str | None) -> None:
    masked = mask(f"David dit : {text} et voilà" if value is None else text)
    assert (value or text) not in masked
    assert f"[secret: {kind}]" in masked
    assert mask(masked) == masked


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        ("alarm is 9021 off, 9022 on", "alarm is {0} off, {0} on"),
        (
            "l'alarme c'est 9021 pour éteindre et 9022 pour allumer",
            "l'alarme c'est {0} pour éteindre et {0} pour allumer",
        ),
        ("garage 4471#, back gate 8820*", "garage {0}, back gate {0}"),
        ("the gate is 4512 and the garage 7788", "the gate is {0} and the garage {0}"),
        (
            "le code du portail est 4512 et celui du garage 7788",
            "le code du portail est {0} et celui du garage {0}",
        ),
        (
            "my PIN is 4512, Anna's 7788 and the alarm is 9034.",
            "my PIN is {0}, Anna's {0} and the alarm is {0}.",
        ),
        ("my PIN is 4512 and I was born in 1985", "my PIN is {0} and I was born in 1985"),
        ("the gate is 4512 and bus 7788 leaves at 8", "the gate is {0} and bus 7788 leaves at 8"),
        ("mon code est 4512 et il y a 7788 habitants", "mon code est {0} et il y a 7788 habitants"),
    ],
)
def test_two_codes_are_two_secrets(text: str, masked: str) -> None:
    assert mask(text) == masked.format("[secret: password]")


def test_mask_in_a_sentence() -> None:
    text = "carte 4111 1111 1111 1111, cvv 123, mot de passe : Lapin2020. À demain !"
    assert mask(text) == (
        "carte [secret: card number], cvv [secret: card code], "
        "mot de passe : [secret: password]. À demain !"
    )


def test_secrets_come_in_order_and_apart() -> None:
    text = f"api key: {'ghp_' + LETTERS} puis 4111111111111111 puis mdp=Lapin2020"
    found = find_secrets(text)
    assert [secret.kind for secret in found] == ["API key", "card number", "password"]
    assert all(one.end <= other.start for one, other in pairwise(found))


@given(st.text())
def test_any_text_passes(text: str) -> None:
    assert mask(mask(text)) == mask(text)


PIECES = (
    "mot de passe mdp password is est : = « » \" ' [ ] 4111 1111 4111111111111111 FR14 2004 DE89 "
    "bearer api key token sk- ghp_ eyJ -----BEGIN PRIVATE KEY----- 123 cvv pin code Lapin2020 "
    "postgres:// a:b@ 185057800608491 [secret:"
)


@given(
    st.lists(st.sampled_from(PIECES.split()), max_size=14), st.sampled_from([" ", "", "-", "\n"])
)
def test_any_mix_of_its_words_passes(pieces: list[str], glue: str) -> None:
    text = glue.join(pieces)
    found = find_secrets(text)
    assert all(0 <= secret.start < secret.end <= len(text) for secret in found)
    assert all(one.end <= other.start for one, other in pairwise(found))


def test_a_text_full_of_secrets_is_masked_in_one_pass() -> None:
    """A comparison of each secret with all others would take minutes."""
    text = "cvv 123 pin 1234 " * 20_000
    assert mask(text) == "cvv [secret: card code] pin [secret: password] " * 20_000


@pytest.mark.parametrize("before", ["pin 1234 system: ", "pin system: x ", "api key a b c: "])
def test_what_is_no_secret_hides_none_behind_it(before: str) -> None:
    masked = mask(f"{before}\u202epassword is abc1!")
    assert masked.endswith("password is [secret: password]")
    assert mask(masked) == masked


FRENCH_IBAN = "FR76 3000 6000 0112 3456 7890 189"
GERMAN_IBAN = "DE89 3704 0044 0532 0130 00"


@pytest.mark.parametrize(
    ("text", "masked"),
    [
        (f"Mon IBAN est {FRENCH_IBAN} et {GERMAN_IBAN}", "Mon IBAN est {0} et {0}"),
        (f"{FRENCH_IBAN} {GERMAN_IBAN}", "{0} {0}"),
        (f"Ref AB12 {FRENCH_IBAN}", "Ref AB12 {0}"),
    ],
)
def test_an_iban_hides_none_behind_it(text: str, masked: str) -> None:
    assert mask(text) == masked.format("[secret: IBAN]")


NAMES = [
    "PASSWORD",
    "pa\u017f\u017fword",
    "mot de passe",
    "wIfI",
    "my code",
    "le code",
    "Anna's code",
    "padlock",
    "api_key",
    "NI number",
]
PIECES = [
    *NAMES,
    *(text for _, text, _ in SECRETS),
    *"=:_-. \n'\"|\u0130\u0131\u212a",
    "4821",
    "Banana42",
    " is ",
    " est ",
    "x" * 41,
]


@given(st.lists(st.sampled_from(PIECES), max_size=12))
def test_patterns_are_tried_wherever_they_match(pieces: list[str]) -> None:
    text = "".join(pieces)
    found = find_secrets(text)
    secrets._found.cache_clear()
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(secrets, "_PATTERNS", [row._replace(start=None) for row in secrets._PATTERNS])
        assert find_secrets(text) == found
    secrets._found.cache_clear()
