"""Detect secrets in text by their format, and by check digits where they exist.

Passwords, keys and card numbers must not become memories. Each kind has one pattern and, where the
format alone is too common (a run of digits), a validator for the match. Numbers that only look
similar (phones, dates, orders, barcodes, identifiers, commits) must not be masked.

Check digits are computed here because python-stdnum is LGPL.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final, Literal

from hippocampe.language.lexicon import load_all

SecretKind = Literal[
    "password", "API key", "private key", "token", "card number", "card code", "IBAN",
    "social security number",
]  # fmt: skip


@dataclass(frozen=True, slots=True)
class Secret:
    """Location of a secret in a text.

    Attributes:
        kind: Kind of secret; not translated.
        start: Offset of the first character.
        end: Offset after the last character.
    """

    kind: SecretKind
    start: int
    end: int


_WORDS: Final = load_all("secrets")


def _any(role: str) -> str:
    found: str | list[str] = _WORDS[role]
    named = "|".join(found.split() if isinstance(found, str) else found)
    return f"(?:{named})".replace(" ", r"\s+")


# "mon mot de passe Netflix est …", "the wifi password is …", "mdp : …": a name, a few words, a
# verb or a sign, then the value.
_COPULA = rf"(?:\s*(?:=>|->|[:=])\s*|\s+{_any('is')}\s+(?:{_any('now')}\s+)?(?:[:=]\s*)?)"
_BETWEEN = rf"(?:[ \t]+(?!{_any('verbs')}\b)[\w@.'’-]{{1,30}}){{0,5}}?"
_QUOTED = r"[\"'«“‘`]\s?(?P<quoted>[^\"'»”’`\n]{3,80})\s?[\"'»”’`]"
_VALUE = rf"(?:{_QUOTED}|(?P<bare>[^\s\"'«»“”`\[<]\S{{3,127}}))"
_PASSWORD = re.compile(
    rf"(?<![\w-]){_any('passwords')}(?![\w-]){_BETWEEN}(?P<copula>{_COPULA}){_VALUE}", re.IGNORECASE
)
_PIN = re.compile(rf"(?<!\w){_any('pins')}\s+(?P<bare>\d{{4,8}})(?!\w)", re.IGNORECASE)
_CARD_CODE = re.compile(
    rf"(?<!\w){_any('card_codes')}(?:\s*[:=]\s*|\s+{_any('is')}\s+|\s+)(?P<bare>\d{{3,4}})(?!\w)",
    re.IGNORECASE,
)
_NAMED_KEY = re.compile(
    rf"(?<![A-Za-z]){_any('keys')}(?![\w-]){_BETWEEN}{_COPULA}{_VALUE}", re.IGNORECASE
)
_ENDS = re.compile(rf"\s*(?:$|[.,;:!?)\n]|{_any('follow')}\b)")
_ORDINARY: Final = frozenset(_WORDS["ordinary"].split())
"""Words after "my password is …" that describe the password instead of giving it."""


def _is_password(match: re.Match[str]) -> bool:
    value = match["quoted"] or match["bare"].rstrip(".,;:!?)")
    if value.startswith("[secret:"):
        return False
    if match["quoted"] or re.search(r"[\d_@#$%&*+=!?-]|[a-z][A-Z]", value):
        return len(value) >= 4 and not value.endswith(("()", "(")) and "://" not in value
    # A plain word is a password only at the end of a clause: "is soleil." but not "is very old".
    rest = match.string[match.end() : match.end() + 40]
    stops = match["bare"] != value or _ENDS.match(rest)
    return bool(stops) and len(value) >= 4 and value.lower() not in _ORDINARY


def _is_mixed(match: re.Match[str]) -> bool:
    value = match["quoted"] or match["bare"]
    return len(value) >= 12 and bool(re.search(r"\d", value)) and "://" not in value


_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?"
    r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
_JWT = re.compile(r"(?<![\w.-])eyJ[\w-]{8,}\.[\w-]{8,}\.[\w-]{8,}")
_BEARER = re.compile(r"(?<!\w)(?:bearer|basic)\s+(?P<bare>[\w.~+/-]{16,}=*)", re.IGNORECASE)
_API_KEY = re.compile(
    r"(?<![\w-])(?:"
    r"sk-(?=[\w-]*\d)[A-Za-z0-9][\w-]{18,}[A-Za-z0-9]"  # OpenAI, Anthropic and similar
    r"|[sr]k_(?:live|test)_[A-Za-z0-9]{16,}"  # Stripe
    r"|gh[pousr]_[A-Za-z0-9]{30,}|github_pat_\w{22,}|glpat-[\w-]{20,}"
    r"|(?:AKIA|ASIA)[A-Z0-9]{16}"  # AWS
    r"|xox[abeoprs]-[\w-]{10,}|xapp-[\w-]{20,}"  # Slack
    r"|AIza[\w-]{35}|ya29\.[\w-]{20,}"  # Google
    r"|hf_[A-Za-z0-9]{30,}|npm_[A-Za-z0-9]{36}|pypi-[\w-]{50,}|gsk_[A-Za-z0-9]{40,}"
    r"|xai-[A-Za-z0-9]{40,}|SG\.[\w-]{16,}\.[\w-]{30,}|dop_v1_[0-9a-f]{64}"
    r"|AGE-SECRET-KEY-1[A-Z0-9]{50,}"
    r")(?![\w-])"
)
_URL_PASSWORD = re.compile(r"[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,80}:(?P<bare>[^\s/@]{3,80})@")


def _is_key(match: re.Match[str]) -> bool:
    key = match[0]
    if not key.startswith("sk-"):
        return True
    # "sk-learn-pipeline-2-steps" is a name: a key has a long run of letters and digits.
    run = max(re.split("[-_]", key), key=len)
    return len(run) >= 16 and bool(re.search(r"\d", run)) and bool(re.search("[A-Za-z]", run))


def _has_digit(match: re.Match[str]) -> bool:
    return bool(re.search(r"\d", match["bare"])) or match["bare"].endswith("=")


_GAP = "[ \u00a0\u202f-]"
# Either the groups printed on cards, or one run of digits with arbitrary gaps. The lookahead allows
# overlapping matches: "12 4111 1111 1111 1111".
_CARD = re.compile(
    rf"(?<![\w.+])(?=(?P<bare>\d{{4}}({_GAP})\d{{4}}\2\d{{4}}\2\d{{4}}(?:\2\d{{3}})?"
    rf"|\d{{4}}({_GAP})\d{{6}}\3\d{{4,5}}"
    rf"|\d(?:{_GAP}?\d){{12,18}}(?!{_GAP}?\d))(?![\w]))"
)
_NOT_A_CARD = re.compile(
    rf"{_any('not_cards')}\W{{0,3}}(?:\w{{1,8}}\W{{1,3}}){{0,2}}$", re.IGNORECASE
)


def _is_card(match: re.Match[str]) -> bool:
    number = re.sub(r"\D", "", match["bare"])
    if not _issued(number) or not _luhn(number):
        return False
    return not _NOT_A_CARD.search(match.string[max(0, match.start() - 40) : match.start()])


def _issued(number: str) -> bool:
    """Return whether a card network issues this prefix with this length (ISO/IEC 7812)."""
    size, two, three, four = len(number), int(number[:2]), int(number[:3]), int(number[:4])
    return (
        (number[0] == "4" and size in (13, 16, 19))  # Visa
        or (size == 16 and (51 <= two <= 55 or 2221 <= four <= 2720))  # Mastercard
        or (size == 15 and two in (34, 37))  # American Express
        or (size == 14 and (two in (36, 38, 39) or 300 <= three <= 305))  # Diners
        or (16 <= size <= 19 and (four == 6011 or two == 65 or 644 <= three <= 649))  # Discover
        or (16 <= size <= 19 and (two == 62 or 3528 <= four <= 3589))  # UnionPay, JCB
        or (16 <= size <= 19 and four in (5018, 5020, 5038, 5893, 6304, 6759, 6761, 6762, 6763))
    )


def _luhn(number: str) -> bool:
    doubled = [int(digit) * (1 + i % 2) for i, digit in enumerate(reversed(number))]
    return sum(digit - 9 * (digit > 9) for digit in doubled) % 10 == 0


# IBAN length: country codes (SWIFT IBAN registry).
_IBAN_COUNTRIES = (
    "15:NO 16:BE 18:DK,FI,FO,GL,NL 19:MK,SI 20:AT,BA,EE,KZ,LT,LU,XK 21:CH,HR,LI,LV "
    "22:BG,BH,CR,DE,GB,GE,IE,ME,RS,VA 23:AE,GI,IL,IQ,TL 24:AD,CZ,ES,MD,PK,RO,SA,SE,SK,TN,VG "
    "25:LY,PT,ST 26:IS,TR 27:FR,GR,IT,MC,MR,SM 28:AL,AZ,BY,CY,DO,GT,HU,LB,PL,SV "
    "29:BR,EG,PS,QA,UA 30:JO,KW,MU 31:MT,SC 32:LC"
)
_IBAN_LENGTHS = {
    country: int(length)
    for length, countries in (entry.split(":") for entry in _IBAN_COUNTRIES.split())
    for country in countries.split(",")
}
_IBAN = re.compile(
    rf"(?<!\w)(?=[A-Za-z]{{2}}\d\d)(?P<bare>[A-Za-z0-9](?:{_GAP}?[A-Za-z0-9]){{14,40}})"
)


def _iban(match: re.Match[str]) -> tuple[int, int] | None:
    """Return the span of a valid IBAN, cut at its country's length.

    The pattern also matches the words that follow the number.
    """
    text, start = match.string, match.start()
    end, code = start, ""
    length = _IBAN_LENGTHS.get(text[start : start + 2].upper(), 0)
    while len(code) < length and end < match.end():
        code += text[end].upper() if text[end].isalnum() else ""
        end += 1
    if not length or len(code) < length or (end < len(text) and text[end].isalnum()):
        return None
    number = "".join(str(int(character, 36)) for character in code[4:] + code[:4])
    return (start, end) if int(number) % 97 == 1 else None


_SOCIAL_SECURITY = re.compile(
    r"(?<!\w)(?P<number>[1-478]G?\d\dG?(?:0[1-9]|1[0-2]|[2-9]\d)G?(?:\d\d|2[ABab])G?\d{3}G?\d{3})"
    r"G?(?P<key>\d\d)(?!\w)".replace("G", "[ .\u00a0\u202f-]")
)


def _is_social_security(match: re.Match[str]) -> bool:
    """Return whether the key is 97 - number mod 97, with Corsica (2A, 2B) read as 19, 18 (INSEE)."""
    number = re.sub(r"[^\dAB]", "", match["number"].upper()).replace("2A", "19").replace("2B", "18")
    return int(match["key"]) == 97 - int(number) % 97


_ALWAYS: Callable[[re.Match[str]], bool] = bool
# Most reliable first: on overlap, the first match wins.
_PATTERNS: tuple[tuple[SecretKind, re.Pattern[str], Callable[[re.Match[str]], bool]], ...] = (
    ("private key", _PRIVATE_KEY, _ALWAYS),
    ("token", _JWT, _ALWAYS),
    ("API key", _API_KEY, _is_key),
    ("token", _BEARER, _has_digit),
    ("social security number", _SOCIAL_SECURITY, _is_social_security),
    ("card number", _CARD, _is_card),
    ("card code", _CARD_CODE, _ALWAYS),
    ("password", _URL_PASSWORD, _ALWAYS),
    ("API key", _NAMED_KEY, _is_mixed),
    ("password", _PASSWORD, _is_password),
    ("password", _PIN, _ALWAYS),
)


def find_secrets(text: str) -> list[Secret]:
    """Find the secrets in a text. A span covers the value only, not the words before it.

    Args:
        text: Text of any language and length.

    Returns:
        The secrets by position, without overlaps.
    """
    found: list[Secret] = []
    for secret in _candidates(text):
        # Only the neighbours by position can overlap.
        place = bisect_left(found, secret.start, key=lambda each: each.start)
        neighbours = found[max(0, place - 1) : place + 1]
        if all(secret.end <= other.start or other.end <= secret.start for other in neighbours):
            found.insert(place, secret)
    return found


def _candidates(text: str) -> Iterator[Secret]:
    for match in _IBAN.finditer(text):
        if span := _iban(match):
            yield Secret("IBAN", *span)
    for kind, pattern, is_secret in _PATTERNS:
        position = 0
        while match := pattern.search(text, position):
            # Text that is not a secret may contain the words that announce one: "pin system: password is …".
            position = match.start() + 1
            if is_secret(match):
                position = max(position, match.end())
                yield Secret(kind, *_value_span(match))


def _value_span(match: re.Match[str]) -> tuple[int, int]:
    groups = match.re.groupindex
    group = "quoted" if "quoted" in groups and match["quoted"] else "bare"
    start, end = match.span(group) if group in groups else match.span()
    if match.re in (_PASSWORD, _NAMED_KEY) and group == "bare":
        end = start + len(match[group].rstrip(".,;:)"))
    return start, end


def mask(text: str) -> str:
    """Replace each secret by a placeholder such as ``[secret: card number]``.

    Idempotent. The placeholder is the same in every language.
    """
    pieces: list[str] = []
    done = 0
    for secret in find_secrets(text):
        pieces += text[done : secret.start], f"[secret: {secret.kind}]"
        done = secret.end
    return "".join(pieces) + text[done:]
