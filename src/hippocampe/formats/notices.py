"""What WhatsApp itself writes into an export, in French and English: notices and stand-ins."""

import re

LEFT_TO_RIGHT = "\u200e"
"""The mark with which iOS starts what WhatsApp wrote, not a person."""

_BIDI_MARKS = re.compile("[\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff]")

# A notice has no author, but the name of a group that it quotes may hold a colon.
_QUOTING_NOTICE = re.compile(
    r"(?:\b(?:a|avez) (?:créé|changé|modifié|remplacé)\b"
    r"|\b(?:created|changed)\b.* (?:group|subject|description|community)\b).*[\"«“‘']",
    re.IGNORECASE,
)

_ENCRYPTION = re.compile(
    r"les messages et (?:les )?appels sont chiffrés"
    r"|les messages (?:envoyés|de cette|dans ce).{0,60}chiffrés de bout en bout"
    r"|messages and calls are end-to-end encrypted"
    r"|messages (?:to|you send to) this (?:chat|group).{0,60}end-to-end encrypt",
    re.IGNORECASE,
)

# Only searched in what iOS marked as written by WhatsApp, so it may be wide.
_NOTICE = re.compile(
    r"chiffrés de bout en bout|end-to-end encrypt"
    r"|code de sécurité|security code"
    r"|\b(?:a|ai|avez|ont|est|êtes|été) (?:été )?(?:créé|ajouté|retiré|supprimé|quitté|rejoint"
    r"|changé|modifié|remplacé|épinglé|activé|désactivé|devenue?|maintenant)"
    r"|\b(?:created|added|removed|left|joined|changed|pinned|turned (?:on|off))\b"
    r"|now an admin|désormais admin"
    r"|\b(?:appel|call)\b.*(?:manqué|vocal|vidéo|réponse|no answer|\bmin\b|\bsec\b)"
    r"|\b(?:missed|voice|video|silenced)\b.*\bcall\b|^appel (?:vocal|vidéo)",
    re.IGNORECASE,
)

_OMITTED = (
    r"(?:m[ée]dias?|images?|photos?|vid[ée]os?|audios?|gifs?|stickers?|autocollants?|documents?"
    r"|(?:message|note) vidéo|video (?:note|message)|contact card"
    r"|(?:fiche|carte)s? (?:de )?contact|message vocal|voice message)"
    r" (?:omitted|omis(?:e|es)?|absente?s?|retirée?s?)"
)
_DELETED = (
    r"(?:this message was deleted|you deleted this message|this message was deleted by admin .*"
    r"|ce message a été supprimé|vous avez supprimé ce message|message supprimé"
    r"|ce message a été supprimé par .*)\.?"
)
_WAITING = (
    r"waiting for this message\. this may take a while\.?"
    r"|en attente de ce message\. cela peut prendre (?:un moment|un certain temps)\.?"
)
# The whole first line is one of these, perhaps after the name of a document.
_STAND_IN = re.compile(
    rf"<{_OMITTED}>|(?:\S.*\.\w{{2,5}} (?:• .* )?)?{_OMITTED}|{_DELETED}|{_WAITING}"
    r"|\S.*\.\w{2,5}(?: • .*)? \((?:file attached|fichier joint)\)",
    re.IGNORECASE,
)
# At the end of any line, after a caption.
_ATTACHED = re.compile(r"\s*<(?:attached|pièce jointe|fichier joint)\s?: ?[^<>]*>$", re.IGNORECASE)
_EDITED = re.compile(
    r"\s*<(?:this message was edited|ce message a été modifié)\.?>$", re.IGNORECASE
)


def without_marks(text: str) -> str:
    """Drop the invisible marks of writing direction."""
    return _BIDI_MARKS.sub("", text)


def quotes_a_name(author: str) -> bool:
    """Whether what stands before a colon is the start of a notice, not the name of someone."""
    return _QUOTING_NOTICE.search(author) is not None


def is_notice(body: str) -> bool:
    """Whether a message that has an author was written by WhatsApp all the same."""
    said = without_marks(body)
    if _ENCRYPTION.match(said):
        return True
    return body.startswith(LEFT_TO_RIGHT) and _NOTICE.search(said) is not None


def spoken(body: list[str]) -> str:
    """Return what was said: no stand-in for a file or a deleted message, no mark of an edit."""
    texts = [without_marks(line) for line in body]
    if _STAND_IN.fullmatch(_EDITED.sub("", texts[0]).strip()):
        del texts[0]
    return _EDITED.sub("", "\n".join(_ATTACHED.sub("", text) for text in texts).strip()).strip()
