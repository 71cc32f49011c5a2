"""Whether a question is open: about the talk or the person at large, and not about anything named.

"On a parlé de quoi ?" resembles nothing that was said, so a search by likeness answers it badly;
what is recent and important answers it. Pure.
"""

import re
from typing import Final, Literal

from hippocampe.text import fold, words

Openness = Literal["talk", "person"]
"""What an open question is about: what was said, or who one is to the other."""

_TALK: Final = re.compile(
    r"\b(?:(?:on|nous|vous) (?:\w+ )?(?:parl|dis|discut|rac|evoqu|echang)\w*"
    r"|(?:qu'est[ -]ce qu\w*|de quoi|quoi|que|ce) ?(?:on|nous|t'?ai|t'?avais|je t)\b.*"
    r"\b(?:dit|dite|parle|parlait|raconte|discute|evoque)"
    r"|(?:notre|nos|la|cette|derniere) (?:derniere )?(?:conversation|discussion|echange)s?"
    r"|(?:resume|recapitule|rappelle)\w*(?:[ -]moi)?|quoi de (?:neuf|beau)|ou en (?:est|etait)"
    r"|what (?:did|have|had|were|was) (?:we|you and i|i) .*(?:talk|say|said|discuss|tell|told|chat)\w*"
    r"|we (?:talk|discuss|chat|spoke|speak)\w*|our (?:last |latest )?(?:conversation|discussion|chat)s?"
    r"|(?:summari[sz]e|recap|remind me)|catch me up|what'?s new|where (?:were|did) we)\b"
)
_PERSON: Final = re.compile(
    r"\b(?:(?:que|quoi|qu'est[ -]ce que|ce que) ?(?:sais|connais|tu sais|tu connais|tu te rappelles"
    r"|tu te souviens|tu as retenu|te souviens)\b.*|tu (?:sais|connais) (?:quoi|qui)"
    r"|(?:sais|connais|souviens|rappelles)[ -]tu|tu (?:te |t'en )?(?:souviens|rappelles?)|tu me (?:connais|remets)"
    r"|tu te souviens|qui (?:suis[ -]je|je suis)|(?:parle|dis)[ -]moi de moi|me connais[ -]tu"
    r"|what (?:do|did|can) you (?:know|remember|recall)|what you (?:know|remember)"
    r"|do you (?:know|remember|recall)|who am i|tell me (?:about|what)|remember me)\b"
)
_SAYS_NOTHING: Final = frozenset(
    # What is left of an open question once its turn of phrase is read.
    """a about again ago ai aime al all alors already am an and anything apres are as as-tu at au
    aussi autre avais avait avant avec avez avions avons avoir beau before bien bonjour bonsoir but
    can chat chatted chose choses comme comment connais connaissait conversation conversations could
    coucou c ca ce cette cool d dans de deja depuis dernier derniere derniers des did dire dis discut
    discute discuter discussed discussion discussions dit dite do does du echange echanges eh eko en
    ensemble est et etait etais etions etre eu everything evoque exactement excuse fait fois from ensuite
    going had hai has have hello hey hi hier i if in is it j jusque juste know l la last latest le
    les lors m ma mais me mentioned merci mes moi moment mon mot my neuf new nos not notre nous
    now o ok on os ou our oui par parle parler parles parlait parlions passe peu peux please plait
    point pour pourrais pouvez previous previously quand que quel quelle quelles quels qu qui quoi
    raconte raconter raconte rapide rappel rappelle rappeler recap recapitule recall recemment recently remember
    remind resume resumer retenu s sais said say savais savoir se sera si so sois soit sommes somme souviens
    sont speak spoke sujet sujets suis summarize summarise summary sur t talk talked talking te tell tes that the
    thing things this time to toi told ton topic topics tout toute tu tus un une up us vas veux viens vite
    voila vois vous was we well were what when where which who with would y yes yet you your
    already bit briefly catch chats each far general short some together us whatever yesterday
    """.split()
)


def sounds_open(text: str) -> bool:
    """Whether a text has the turn of phrase of an open question; `openness` reads on."""
    return _about(text) is not None


def _about(text: str) -> Openness | None:
    folded = " ".join(fold(text).split())
    if _TALK.search(folded):
        return "talk"
    return "person" if _PERSON.search(folded) else None


def openness(text: str, *, named_time: str = "") -> Openness | None:
    """What an open question is about; None for one that names what it wants, or is none.

    Args:
        text: What was said.
        named_time: The part of it that names a time, which makes no question less open.
    """
    asked = text.replace(named_time, " ", 1) if named_time else text
    about = _about(asked)
    if about is None or not _SAYS_NOTHING.issuperset(words(asked)):
        return None
    return about
