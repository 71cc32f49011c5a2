"""Detect secrets in text by their format, and by check digits where they exist.

Passwords, keys and card numbers must not become memories. Each kind has one pattern and, where the
format alone is too common (a run of digits), a validator for the match. Numbers that only look
similar (phones, dates, orders, barcodes, identifiers, commits) must not be masked.

Check digits are computed here because python-stdnum is LGPL.
"""

import re
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Literal, NamedTuple

from hippocampe.language.lexicon import any_of, load_all, table_of
from hippocampe.language.text import STOP_WORDS, fold
from hippocampe.language.text_cache import text_cache

SecretKind = Literal[
    "password", "API key", "private key", "token", "card number", "card code", "IBAN",
    "social security number", "recovery phrase",
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


MASKED: Final = "[secret: "
"""The beginning of the placeholder of a masked secret."""
_WORDS: Final = load_all("secrets")
_UNIONS: Final = load_all("words")["union"].split()
_UNITS: Final = table_of("units")


def _any(role: str) -> str:
    return any_of(_WORDS[role]).replace(" ", r"\s+")


# "mon mot de passe Netflix est …", "the wifi password is …", "mdp : …": a name, a few words, a
# verb or a sign, then the value.
_SIGN = r"\s*(?:=>|->|[:=：])\s*"
_IS = rf",?\s+(?:{_any('now')}\s+)?{_any('is')}\s+(?:{_any('now')}\s+)?(?:[:=]\s*)?"
_COPULA = rf"(?:{_SIGN}|{_IS})"
# "The gate code? It's 4412B.", but not "do you like the code? 2024 was hard".
_ASKED = rf"(?P<asked>\s*\?)(?:{_IS}|\s+)"
_ENDS_THERE = r"(?(asked)(?=\s*(?:[.,;!)\n]|$)))"
# "my password's …", "my password - …", "I changed my password to …": before what no word looks like, so not before
# the verb in "the password to enter is …".
_LOOKS_LIKE_NO_WORD = r"(?=[\"'«“‘`]|\S*(?:[\d_@#$%&*+=!?-]|(?-i:[a-z][A-Z])))"
_WEAK_COPULA = rf"(?:['’]s\s+|\s+[-–]\s+|\?\s+(?:(?:{_any('is')}|{_any('is_perhaps')})\s+)?|,?\s+{_any('is_perhaps')}\s+){_LOOKS_LIKE_NO_WORD}"
_ARTICLE = rf"(?:{_any('before_code')}\s+)?"
_BETWEEN = rf"(?:[ \t]+(?!{_any('verbs')}\b)[\w@.'’-]{{1,30}}){{0,5}}?"
_QUOTED = r"[\"'«“‘`]\s?(?P<quoted>[^\"'»”’`\n]{3,80})\s?[\"'»”’`]"
_VALUE = rf"(?:{_QUOTED}|(?P<bare>[^\s\"'«»“”`\[<]\S{{3,127}}))"
# A "password manager" is no password.
_PASSWORDS = rf"(?<![\w-]){_any('passwords')}(?![\w-]|\s+{_any('of_passwords')}\b)"
_NAME = re.compile(_any("passwords"), re.IGNORECASE)
_ABOUT_PASSWORDS = re.compile(rf"(?i){_any('for_passwords')}\s*$")
_PASSWORD = re.compile(rf"(?i){_PASSWORDS}{_BETWEEN}(?:{_COPULA}|(?P<weak>{_WEAK_COPULA})){_VALUE}")
_PASSPHRASE = re.compile(
    rf"(?i)(?<![\w-]){_any('passphrases')}(?![\w-]){_BETWEEN}{_COPULA}"
    r"(?P<bare>[^\W\d_]{2,20}(?:[ -][^\W\d_]{2,20}){2,9})(?=\s*(?:[.,;:!?)\n]|$))",
)
# "password: correct horse battery staple": four words or more, none of them a word that sentences are made of.
_WORDS_AFTER_SIGN = re.compile(
    rf"(?i){_PASSWORDS}{_BETWEEN}{_SIGN}(?P<bare>[^\W\d_]{{2,20}}(?:[ -][^\W\d_]{{2,20}}){{3,9}})(?=\s*(?:[.,;:!?)\n]|$))",
)
# "my password is blue horse": two or three words to the end of the clause that describe no password.
_WORDS_AFTER_IS = re.compile(
    rf"(?i){_PASSWORDS}{_BETWEEN}{_IS}(?P<bare>[^\W\d_]{{3,20}}(?:[ -][^\W\d_]{{3,20}}){{1,2}})(?=\s*(?:[.,;:!?)\n]|$))",
)
# A setting, in a file of the environment, JSON, YAML, a command line, a table or an address: DB_PASSWORD=…, "apiKey": "…",
# --token=…, **password**: …, ?key=…
_SETTING = re.compile(
    rf"(?i)(?P<name>{_any('settings')})[\"'*`_]{{0,3}}(?P<sign>\s*[:=：|]\s*)[\"']?"
    r"(?P<bare>[^\s\"'`,;<>\[\]{}()|]{4,200})(?![(\[])",
)
# What may stand in front of the name in a word.
_BEGINNING = re.compile(r"(?<!\w)[\w.-]{0,40}$")
_PARAMETER = re.compile(
    rf"(?i)(?<=[?&])(?P<name>{_any('settings')}|{_any('parameters')})(?P<sign>=)(?P<bare>[^\s\"'&#]{{4,200}})",
)
_WEBHOOK = re.compile(
    r"https://(?:hooks\.slack\.com/services|(?:\w+\.)?discord(?:app)?\.com/api/webhooks)/(?P<bare>[\w/-]{20,})"
)
_NUMBERS: Final[Mapping[str, str]] = load_all("words")["numbers"]


def _numbers(least: int, most: int) -> str:
    """The words for the numbers between two."""
    found = (names for value, names in _NUMBERS.items() if least <= int(value) <= most)
    return rf"(?:{'|'.join(' '.join(found).replace('zero', 'z[eé]ro').split())})(?!\w)"


# "one two three four", "douze trente-quatre": atomic, as "two hundred and five lines" has no shorter number.
_NEXT_NUMBER = rf"(?:[ \t]*[,-][ \t]*|[ \t]+(?:(?:{'|'.join(_UNIONS)})[ \t]+)?)"
_DIGIT_WORDS = rf"(?>{_numbers(0, 9)}(?:{_NEXT_NUMBER}{_numbers(0, 9)}){{2,11}})"
_NUMBER_WORDS = (
    rf"(?>{_numbers(0, 1000)}(?:{_NEXT_NUMBER}{_numbers(0, 1000)}){{2,11}}"
    rf"|{_numbers(10, 50)}{_NEXT_NUMBER}{_numbers(10, 90)})"
)
# "le 4 8 2 1": read out digit by digit.
_DIGITS = rf"\d(?:[ -]\d){{3,7}}|{_NUMBER_WORDS}"
_PIN = re.compile(
    rf"(?i)(?<!\w){_any('pins')}(?:{_COPULA}|{_ASKED}|['’]s\s+)?\s*{_ARTICLE}(?P<bare>(?:{_DIGITS}|(?=(?:\S{{0,8}}?\d){{3}})[A-Z]?\d{{2,8}}[A-Z]?\d{{0,4}})[#*]?)(?![\w.,:/-]*\w){_ENDS_THERE}",
)
# "mon code est 4821", "the code to the garage is 12B45", but no postcode and no error code.
_CODE = re.compile(
    rf"(?i)(?<![\w-])(?:{_any('whose')}\s+)(?:[\w'’-]{{1,20}}\s+)?{_any('codes')}"
    rf"(?P<of>(?:\s+(?!{_any('verbs')}\b)[\w'’-]{{1,20}}){{0,6}}?)(?:{_COPULA}|{_ASKED}){_ARTICLE}"
    rf"(?P<bare>{_DIGITS}|(?=(?:\S{{0,8}}?\d){{3}})(?:[A-Z]?\d{{2,8}}[A-Z]?\d{{0,4}}))(?![\w%€$£/:-]|[.,]\d|\s+{_any('counted')}\b){_ENDS_THERE}",
)
# "the bike lock is 3819", "garage 4471#": what a code opens, without the word "code".
_LINKING = rf"{_any('linking')}(?:\s+|(?<=['’]))"
_WHICH = rf"(?:\s+{_LINKING}(?:[^\W\d][\w'’-]*\s+){{0,3}}?[^\W\d][\w'’-]*)?"
_TYPED = rf"(?:[A-Z]?\d{{3,8}}[A-Z]?|\d\d(?:-\d\d){{2,3}}|\d(?:[ -]\d){{3,7}}|{_DIGIT_WORDS})[#*]?"
_CODES = re.compile(_TYPED, re.IGNORECASE)
_OPENED_BY = re.compile(
    rf"(?i)(?<![\w-])(?:(?P<lock>{_any('locks')})|{_any('locked')}){_WHICH}"
    rf"(?:(?P<sign>{_SIGN}|\s+[-–]\s+)|(?P<said>{_COPULA}|['’]s\s+|,?\s+{_any('opens_with')}\s+)|\s+){_ARTICLE}"
    # "9021 off, 9022 on"
    rf"(?P<bare>{_TYPED}(?:(?:\s+[^\W\d]+){{0,2}}(?:\s*[,/]|\s+(?:{'|'.join(_UNIONS)}))\s*{_TYPED})?)(?![\w%€$£/:-]|[.,]\d|\s\d)",
)
# "type 4471 at the gate", "4471 opens the gate"
_OPENS = re.compile(
    rf"(?i)(?<![\w€$£.,:/-])(?:(?P<typed>{_any('typing')})\s+)?{_ARTICLE}(?P<bare>{_TYPED})"
    rf"\s+(?(typed){_LINKING}|{_any('opening')}\s+)(?:[^\W\d]+['’\s]\s*){{0,3}}?(?:{_any('locks')}|{_any('locked')})(?!\w)",
)
# "… and the garage 7788", after a first code.
_ANOTHER = re.compile(
    rf"(?i)(?:\s*[,;]|\s+(?:{'|'.join(_UNIONS)}))(?:[ \t]+[^\W\d_][^\s\d,;.!?]*){{1,6}}?"
    rf"(?:{_COPULA}|[ \t]+){_ARTICLE}(?P<bare>[A-Z]?\d{{3,8}}[A-Z]?[#*]?)(?![\w%€$£/:-]|[.,]\d|\s\d)",
)
_DEPENDS = re.compile(rf"(?i)\w\s+{_LINKING}(?:[^\W\d]+['’\s]\s*){{0,2}}$")
_CODE_NAME = re.compile(rf"(?i)(?<!\w){_any('codes')}(?!\w)")
_ROUND = re.compile(r"\d+[05]0|(?:[01]\d|2[0-3])[0-5][05]|(?:19|20)\d\d")
"""A price, a size, a time of day or a year."""
_NEXT_WORD = re.compile(r"[ \t]*([^\W\d_]*)")
_PUBLIC_CODE = re.compile(rf"(?i)(?<!\w){_any('public_codes')}(?!\w)")
# "hunter2 is my password", "j'utilise hunter2 comme mot de passe".
_PASSWORD_AFTER = re.compile(
    rf"(?i)(?<![\w-])(?P<bare>(?=\S{{0,59}}\d)(?=\S{{0,59}}[^\W\d_])[^\s\"'«»“”`\[<,;]{{5,60}})\s+{_any('as')}\s+"
    rf"(?:[\w'’-]{{1,15}}\s+){{0,2}}?{_PASSWORDS}",
)
# "le mot de passe Soleil42! marche": without a verb, only a value that no word looks like.
_PASSWORD_BESIDE = re.compile(
    rf"(?i){_PASSWORDS}\s+"
    # "mdp netflix azerty123": after a word between, only a longer value that begins as no number does.
    rf"(?:(?!{_any('verbs')}\b)[^\W\d_]{{2,20}}\s+(?!\S+@\S+\.)(?=[^\W\d_][^\s,;]{{7}}))?"
    r"(?P<bare>(?=[^\s,;]{0,59}\d)(?=[^\s,;]{0,59}[^\W\d_])(?=[^\s,;]{0,59}[A-Z#$%&*+=!@_-]|[^\s,;]{8})[^\s\"'«»“”`\[<,;()]{6,60})",
)
# What no word looks like: letters and digits.
_MIXED = r"(?=[^\s,;]{0,59}\d)(?=[^\s,;]{0,59}[^\W\d_])[^\s\"'«»“”`\[<,;()/.]"
# "voici mes identifiants : paul / Soleil123": a name, then the password.
_CREDENTIALS = re.compile(
    rf"(?i)(?<![\w-]){_any('credentials')}(?![\w-]){_BETWEEN}{_COPULA}[\w.@+-]{{2,60}}(?:\s*[/|,;:]\s*|\s+{_any('follow')}\s+|\s+)"
    rf"(?P<bare>{_MIXED}{{6,60}})",
)
# "wifi: chaton2024".
_WIFI = re.compile(
    rf"(?i)(?<![\w-]){_any('networks')}{_WHICH}{_COPULA}(?P<bare>(?=[^\W\d_]){_MIXED}{{8,60}})",
)
# "netflix: anna@example.org / sunny-Goat9": an address, then the password.
_ACCOUNT = re.compile(
    rf"(?<![\w.@+-])(?P<who>[\w.+-]{{1,60}})@[\w-]+(?:\.[\w-]+)+\s*[/|:]\s*(?P<bare>(?!@|(?P=who)){_MIXED}{{6,60}})(?![\w/@]|\.\w)"
)
_QUESTION = re.compile(r"[^.!?\n]{1,300}\?")
# The answer to a question for a password: "Walnut88", "it's Walnut88!", or a code alone.
_ANSWER = re.compile(
    rf"(?<!\S)(?P<bare>{_MIXED}{{6,60}})(?!\S)|^\s*(?P<code>{_DIGITS}|\d{{3,8}})\s*[.!]?\s*$"
)
_LONGEST_ANSWER: Final = 80
_SEED = re.compile(
    rf"(?i)(?<![\w-]){_any('phrases')}(?![\w-]){_BETWEEN}{_COPULA}[\"'«“‘`]?\s?"
    r"(?P<bare>(?:\d{1,2}[.)]?\s*)?[^\W\d_]{3,10}(?:[\s,]+(?:\d{1,2}[.)]?\s*)?[^\W\d_]{3,10}){11,23})(?!\w)",
)
_RECOVERY_CODES = re.compile(
    rf"(?i)(?<![\w-]){_any('recovery_codes')}(?![\w-]){_BETWEEN}{_COPULA}"
    r"(?P<bare>(?=[\w-]*\d)[A-Za-z0-9]{3,10}(?:-[A-Za-z0-9]{3,10}){0,5}"
    r"(?:[\s,;]+(?=[\w-]*\d)[A-Za-z0-9]{3,10}(?:-[A-Za-z0-9]{3,10}){0,5}){0,15})(?!\w)",
)
_CARD_CODE = re.compile(
    rf"(?i)(?<!\w){_any('card_codes')}(?:\s*[:=]\s*|\s+{_any('is')}\s+|\s+)(?P<bare>\d{{3,4}})(?!\w)",
)
_NAMED_KEY = re.compile(rf"(?i)(?<![A-Za-z]){_any('keys')}(?![\w-]){_BETWEEN}{_COPULA}{_VALUE}")
# "my api key 4fGh…", "le token est 4fGh…": without a sign, only what looks like no name.
_KEY_BESIDE = re.compile(
    rf"(?i)(?<![A-Za-z])(?:{_any('keys')}|{_any('tokens')})(?:\s+[^\W\d_]{{1,15}}){{0,2}}?(?:{_COPULA}|\s+)(?P<bare>[A-Za-z0-9_-]{{16,}})(?!\w)",
)
_ENDS = re.compile(rf"\s*(?:$|[.,;:!?)\n]|{_any('follow')}\b)")
_ORDINARY: Final = frozenset(_WORDS["ordinary"].split())
"""Words after "my password is …" that describe the password instead of giving it."""
_COMPUTED: Final = re.compile(r"\$\{?\w+\}?$|%\w+%$|[\w.]+[\[(]")
"""A value that a program looks up: `$PASSWORD`, `os.environ["PASSWORD"]`."""
_DESCRIBES: Final = re.compile(_any("describing"), re.IGNORECASE)
"""Endings of words that describe a password."""
_WORDED: Final = re.compile(_any("worded"), re.IGNORECASE)
"""Names of what may be a word, unlike a code or a key."""
_COUNTED: Final = re.compile(_any("counted"), re.IGNORECASE)


def _before(match: re.Match[str], length: int) -> str:
    """The characters in front of a match."""
    return match.string[max(0, match.start() - length) : match.start()]


def _is_password(match: re.Match[str]) -> bool:
    value = match["quoted"] or match["bare"].rstrip(".,;:!?)")
    # "the wifi code is password: …": the value comes after the second name.
    if value.startswith(MASKED.rstrip()) or _NAME.fullmatch(value) or _is_about_passwords(match):
        return False
    if _COMPUTED.match(value):
        return False
    if match["quoted"] or re.search(r"[\d_@#$%&*+=!?-]|[a-z][A-Z]", value):
        return len(value) >= 4 and not value.endswith(("()", "(")) and "://" not in value
    # A plain word is a password only at the end of a clause: "is soleil." but not "is very old". A code is no word.
    if match["weak"] or not _WORDED.search(match[0]) or _DESCRIBES.fullmatch(value):
        return False
    rest = match.string[match.end() : match.end() + 40]
    stops = match["bare"] != value or _ENDS.match(rest) is not None
    ordinary = {value.lower(), value.lower().removesuffix("s")} & _ORDINARY
    return stops and len(value) >= 4 and not ordinary


def _is_words(match: re.Match[str]) -> bool:
    words = fold(match["bare"].replace("-", " ")).split()
    return bool(_WORDED.search(match[0])) and not any(
        word in STOP_WORDS or _COUNTED.fullmatch(word) for word in words
    )


def _is_worded(match: re.Match[str]) -> bool:
    words = match["bare"].lower().replace("-", " ").split()
    return _is_words(match) and not any(
        word in _ORDINARY or _DESCRIBES.fullmatch(word) for word in words
    )


def _is_set(match: re.Match[str]) -> bool:
    name, value = match["name"], match["bare"].rstrip(".,;:!?)*")
    before = _before(match, 42)
    # "apiKey" and "API_KEY" name a key, "monkey" and "bypass" do not.
    if before[-1:].isalpha() and not (before[-1:].islower() and name[0].isupper()):
        return False
    if not _BEGINNING.search(before):
        return False
    if value.lower() in _ORDINARY or "://" in value or _COMPUTED.match(value):
        return False
    if not _WORDED.search(name):
        return len(value) >= 12 and bool(re.search(r"\d", value) and re.search(r"[^\W\d]", value))
    return len(value) >= 4 and (match["sign"] == "=" or bool(re.search(r"[\d_@#$%&*+!?]", value)))


def _is_private_code(match: re.Match[str]) -> bool:
    public = _PUBLIC_CODE.search(match[0][: match.start("bare") - match.start()])
    return not public and _is_code(match)


def _is_code(match: re.Match[str]) -> bool:
    """Return whether a number in words is none of things, as in "I pin three hundred and four photos"."""
    return bool(re.search(r"\d", match["bare"])) or not _measures(match)


def _measures(match: re.Match[str]) -> bool:
    """Return whether a noun or a unit follows a number."""
    following = _NEXT_WORD.match(match.string, match.end("bare"))
    word = fold(following[1]) if following else ""
    return bool(word and word not in STOP_WORDS) or word in _UNITS


def _opens(match: re.Match[str]) -> bool:
    """Return whether a number is the code of a lock or a door, not its size, price, year, time or address."""
    if _measures(match):
        return False
    value, lock, sign, said = match.group("bare", "lock", "sign", "said")
    if not value.isdigit():
        return True
    before = _before(match, 60)
    if _DEPENDS.search(before) and not _CODE_NAME.search(before):
        return False
    if lock and said:
        return True
    least = 3 if lock and sign else 4
    return bool(lock or sign or said) and len(value) >= least and not _ROUND.fullmatch(value)


def _is_opening(match: re.Match[str]) -> bool:
    """Return whether a number that opens something is no year, and the number of nothing else: "case 4471 opens …"."""
    before = _before(match, 30).rstrip(" ")
    word = fold(re.split(r"[^\w]", before)[-1])
    alone = not word or word in STOP_WORDS
    return bool(match["typed"]) or (alone and not _ROUND.fullmatch(match["bare"]))


def _is_beside(match: re.Match[str]) -> bool:
    return "://" not in match["bare"] and not _is_about_passwords(match)


def _is_about_passwords(match: re.Match[str]) -> bool:
    return bool(_ABOUT_PASSWORDS.search(_before(match, 40)))


def _is_mixed(match: re.Match[str]) -> bool:
    value = match["quoted"] or match["bare"]
    return len(value) >= 12 and bool(re.search(r"\d", value)) and "://" not in value


_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----.*?"
    r"(?:-----END [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----|\Z)",
    re.DOTALL,
)
_PUTTY_KEY = re.compile(r"PuTTY-User-Key-File-\d:.*?(?:Private-MAC: *[0-9a-f]+|\Z)", re.DOTALL)
_BARE_KEY = re.compile(  # WireGuard, Bitcoin (BIP-32, WIF), Ethereum
    rf"(?<![\w/+])(?:PrivateKey\s*=\s*(?P<bare>[A-Za-z0-9+/]{{43}}=)|xprv[a-km-zA-HJ-NP-Z1-9]{{100,}}"
    rf"|(?:{_any('private_keys')}){_BETWEEN}(?:{_COPULA}|\s+)(?P<quoted>(?:0x)?[0-9a-fA-F]{{64}}|[5KL][a-km-zA-HJ-NP-Z1-9]{{50,51}}))(?!\w)"
    rf"|(?<!\w)(?:0x)?[0-9a-fA-F]{{64}}(?=\s+{_any('as')}\s+(?:{_any('private_keys')}))",
)
# With or without a signature (an encrypted one has five parts).
_JWT = re.compile(
    r"(?<![\w.-])eyJ[\w-]{8,}\.(?:eyJ[\w-]{8,}\.|[\w-]*\.[\w-]{8,})[\w-]*(?:\.[\w-]+){0,2}"
)
_BEARER = re.compile(r"(?i)(?<!\w)(?:bearer|basic)\s+(?P<bare>[\w.~+/-]{16,}=*)")
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
    r"|AGE-SECRET-KEY-1[A-Z0-9]{50,}|hc_[\w-]{30,}"
    # Models and search: Replicate, Perplexity, NVIDIA, Cerebras, Together, Tavily, Pinecone, LangSmith, Gemini.
    r"|r8_[A-Za-z0-9]{30,}|pplx-[A-Za-z0-9]{40,}|nvapi-[\w-]{40,}|csk-[a-z0-9]{40,}|tgp_v1_[\w-]{30,}"
    r"|tvly-[\w-]{20,}|pcsk_[\w]{40,}|lsv2_(?:pt|sk)_[0-9a-f]{32}_[0-9a-f]{10}|AQ\.Ab8[\w-]{30,}"
    # Code and clouds: GitLab, Docker, DigitalOcean, Databricks, Vault, Terraform, Grafana, Sentry, Supabase,
    # Netlify, Atlassian, Postman, New Relic, PlanetScale, Heroku, Fly, Doppler.
    r"|gl[a-z]{2,4}-[\w-]{20,}|dckr_(?:pat|oat)_[\w-]{20,}|d[o][or]_v1_[0-9a-f]{64}|dapi[0-9a-f]{32}"
    r"|hv[sbr]\.[\w-]{24,}|[A-Za-z0-9]{14}\.atlasv1\.[\w-]{60,}|gl(?:sa)?c?_[A-Za-z0-9_+/=]{32,}"
    r"|sntry[su]_[\w+/=-]{40,}|sb(?:p|_secret)_[\w-]{30,}|nf[pcoub]_[A-Za-z0-9]{36,}|ATATT3[\w=-]{50,}"
    r"|PMAK-[0-9a-f]{24}-[0-9a-f]{34}|NRAK-[A-Z0-9]{27}|pscale_(?:tkn|pw|oauth)_[\w-]{32,}|HRKU-[\w-]{30,}"
    r"|f[mo][12]_[\w+/=-]{40,}|dp\.[a-z]{2}\.[A-Za-z0-9.]{40,}"
    # Business and messages: Stripe, Shopify, Square, Linear, Notion, Airtable, Figma, PostHog, Resend, Twilio,
    # Mailgun, Mailchimp, Discord, Telegram.
    r"|whsec_[A-Za-z0-9+/=]{24,}|shp[a-z]{2}_[0-9a-fA-F]{32}|sq0(?:atp|csp)-[\w-]{22,}"
    r"|lin_(?:api|oauth)_[A-Za-z0-9]{32,}|ntn_[A-Za-z0-9]{40,}|pat[A-Za-z0-9]{14}\.[0-9a-f]{64}"
    r"|fig[dor]_[\w-]{40,}|ph[cx]_[A-Za-z0-9]{32,}|re_[A-Za-z0-9]{6,10}_[A-Za-z0-9]{20,}|SK[0-9a-f]{32}"
    r"|key-[0-9a-f]{32}|[0-9a-f]{32}-us\d{1,2}|[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,40}|\d{8,10}:AA[\w-]{32,}"
    # Search, voice, mail and servers, whose keys are hexadecimal: Firecrawl, ElevenLabs, Brevo, Mailgun, Pulumi,
    # Buildkite, Sourcegraph, RubyGems, HubSpot, Fireworks; and client secrets of Google.
    r"|fc-[0-9a-f]{32}|sk_[0-9a-f]{48}|xkeysib-[0-9a-f]{64}-\w{16}|[0-9a-f]{32}-[0-9a-f]{8}-[0-9a-f]{8}|pul-[0-9a-f]{40}"
    r"|bkua_[0-9a-f]{40}|sgp_[\w]{40,}|rubygems_[0-9a-f]{48}|pat-[a-z]{2}\d-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}"
    r"|fw_[A-Za-z0-9]{24}|GOCSPX-[\w-]{28}"
    r")(?![\w-])"
)
# Keys of other providers have a short name in front, and far more letters than an identifier: "jina_4fGh…".
_OTHER_KEY = re.compile(
    r"(?<![\w/.+=-])[A-Za-z]\w{0,9}[_-](?=[\w-]{0,60}?(?<![A-Za-z0-9])(?P<run>[A-Za-z0-9]{24,}))[\w-]{32,}(?![\w-])"
)
_COOKIE = re.compile(
    r"(?i)(?<!\w)cookie:\s*(?P<bare>(?=[^\n]{0,400}=[^\s;]{12})[\w.%-]{1,80}=[^\s;]*(?:;\s*[\w.%-]{1,80}=[^\s;]+)*)",
)
# Connection strings of Azure.
_ACCOUNT_KEY = re.compile(
    r"(?i)(?<!\w)(?:AccountKey|SharedAccessKey|SharedAccessSignature)=(?P<bare>[^\s;\"']{16,})",
)
_LOGIN = re.compile(r"(?<!\S)(?:-u|--user)\s+[\w.@-]{1,60}:(?P<bare>[^\s\"'\[]{3,80})")
_URL_PASSWORD = re.compile(r"[a-z][a-z0-9+.-]{1,20}://[^\s/:@]{0,80}:(?P<bare>[^\s/@]{3,80})@")


def _is_key(match: re.Match[str]) -> bool:
    key = match[0]
    if not key.startswith("sk-"):
        return True
    return _has_random_run(key)


def _is_other_key(match: re.Match[str]) -> bool:
    """Return whether letters of both cases and digits alternate, unlike in a name or a hash: "sha512-…" is public."""
    kinds = ("[a-z]", "[A-Z]", r"\d(?!\d)")
    return not match[0].startswith("sha") and all(
        len(re.findall(kind, match["run"])) >= 3 for kind in kinds
    )


def _is_random(match: re.Match[str]) -> bool:
    return _has_random_run(match["bare"])


def _has_random_run(key: str) -> bool:
    """Return whether a long run of letters and digits is in a key, unlike in a name: "sk-learn-pipeline-2-steps"."""
    run = max(re.split("[-_.]", key), key=len)
    return len(run) >= 16 and bool(re.search(r"\d", run)) and bool(re.search("[A-Za-z]", run))


def _has_digit(match: re.Match[str]) -> bool:
    return bool(re.search(r"\d", match["bare"])) or match["bare"].endswith("=")


_GAP = "[ \u00a0\u202f-]"
# Either the groups printed on cards, or one run of digits with arbitrary gaps. The lookahead allows
# overlapping matches: "12 4111 1111 1111 1111".
_CARD = re.compile(
    rf"(?<![\w.+])(?=(?P<bare>\d{{4}}({_GAP}{{1,2}}|\.|, ?|/)\d{{4}}\2\d{{4}}\2\d{{4}}(?:\2\d{{3}})?"
    rf"|\d{{4}}({_GAP})\d{{6}}\3\d{{4,5}}"
    rf"|\d(?:{_GAP}?\d){{12,18}}(?!{_GAP}?\d))(?![\w]))"
)
_NOT_A_CARD = re.compile(rf"(?i){_any('not_cards')}\W{{0,3}}(?:\w{{1,8}}\W{{1,3}}){{0,2}}$")

_CALLED_A_CARD = re.compile(
    rf"(?i)(?<!\w){_any('cards')}(?:\s+[\w'’-]{{1,12}}){{0,3}}?{_COPULA}?\W{{0,4}}$"
)


def _is_card(match: re.Match[str]) -> bool:
    number = re.sub(r"\D", "", match["bare"])
    if not _issued(number) or _NOT_A_CARD.search(_before(match, 40)):
        return False
    # A number that is said to be a card's may have a wrong digit.
    return _luhn(number) or bool(_CALLED_A_CARD.search(_before(match, 60)))


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
_IBAN = re.compile(
    r"(?<!\w)(?=[A-Za-z]{2}\d\d)(?P<bare>"
    + "|".join(
        rf"(?ai:{countries.replace(',', '|')})(?:{_GAP}?[A-Za-z0-9]){{{int(length) - 2}}}"
        for length, countries in (entry.split(":") for entry in _IBAN_COUNTRIES.split())
    )
    + r")(?![^\W_])"
)


def _is_iban(match: re.Match[str]) -> bool:
    code = re.sub(_GAP, "", match["bare"])
    return int("".join(str(int(character, 36)) for character in code[4:] + code[:4])) % 97 == 1


_SOCIAL_SECURITY = re.compile(
    r"(?<!\w)(?P<number>[1-478]G?\d\dG?(?:0[1-9]|1[0-2]|[2-9]\d)G?(?:\d\d|2[ABab])G?\d{3}G?\d{3})"
    r"G?(?P<key>\d\d)(?!\w)".replace("G", "[ .\u00a0\u202f-]")
)


def _is_social_security(match: re.Match[str]) -> bool:
    """Return whether the key is 97 - number mod 97, with Corsica (2A, 2B) read as 19, 18 (INSEE)."""
    number = re.sub(r"[^\dAB]", "", match["number"].upper()).replace("2A", "19").replace("2B", "18")
    is_key = int(match["key"]) == 97 - int(number) % 97
    return is_key and not _NOT_A_CARD.search(_before(match, 40))


# Announced, with any grouping, or in the form that only such numbers have: 219-09-9999, QQ 12 34 56 C.
_ANNOUNCED = rf"(?<!\w){_any('social_security')}{_BETWEEN}(?:{_COPULA}|\s*(?:n[°o]\.?)?\s+)"
_US_SOCIAL_SECURITY = re.compile(r"(?<![\w.+/-])(?P<bare>\d{3}-\d\d-\d{4})(?![\w-])")
_ANNOUNCED_US = re.compile(rf"(?i){_ANNOUNCED}(?P<bare>\d{{3}}[ .-]?\d\d[ .-]?\d{{4}})(?![\w-])")
_UK_SOCIAL_SECURITY = re.compile(
    r"(?<!\w)(?!BG|GB|KN|NK|NT|TN|ZZ)[A-CEGHJ-PR-TW-Z][A-CEGHJ-NPR-TW-Z](?P<gap>[ -]?)\d\d(?P=gap)\d\d(?P=gap)\d\d(?P=gap)[A-D](?!\w)"
)
_ANNOUNCED_UK = re.compile(rf"(?i){_ANNOUNCED}(?P<bare>[A-Z]{{2}} ?\d\d ?\d\d ?\d\d ?[A-D])(?!\w)")
# Without its key, or with a digit wrong.
_ANNOUNCED_SOCIAL_SECURITY = re.compile(
    rf"{_ANNOUNCED}(?P<bare>[1-478]G?\d\dG?\d\dG?(?:\d\d|2[AB])G?\d{{3}}G?\d{{3}}(?:G?\d\d)?)(?!\w)".replace(
        "G", "[ .\u00a0\u202f-]"
    ),
    re.IGNORECASE,
)


def _is_us_number(match: re.Match[str]) -> bool:
    number = re.sub(r"\D", "", match["bare"])
    unissued = re.match(r"000|666|9|...00|.*0000$", number)
    return not (unissued or _NOT_A_CARD.search(_before(match, 40)))


class _Row(NamedTuple):
    """A kind of secret: its pattern, what else a match must be, and the search in `_STARTS` for where it may begin."""

    kind: SecretKind
    pattern: re.Pattern[str]
    is_secret: Callable[[re.Match[str]], bool] = bool
    start: str | None = None


# Most reliable first: on overlap, the first match wins.
_PATTERNS: tuple[_Row, ...] = (
    _Row("IBAN", _IBAN, _is_iban),
    _Row("private key", _PRIVATE_KEY),
    _Row("private key", _PUTTY_KEY),
    _Row("private key", _BARE_KEY),
    _Row("token", _JWT),
    _Row("API key", _API_KEY, _is_key),
    _Row("API key", _OTHER_KEY, _is_other_key),
    _Row("API key", _ACCOUNT_KEY, start="name"),
    _Row("token", _BEARER, _has_digit, "name"),
    _Row("token", _COOKIE, _has_digit, "name"),
    _Row("social security number", _SOCIAL_SECURITY, _is_social_security),
    _Row("social security number", _ANNOUNCED_SOCIAL_SECURITY, start="name"),
    _Row("social security number", _ANNOUNCED_UK, start="name"),
    _Row("social security number", _UK_SOCIAL_SECURITY),
    _Row("card number", _CARD, _is_card),
    _Row("social security number", _ANNOUNCED_US, _is_us_number, "name"),
    _Row("social security number", _US_SOCIAL_SECURITY, _is_us_number),
    _Row("card code", _CARD_CODE, start="name"),
    _Row("recovery phrase", _SEED, start="name"),
    _Row("recovery phrase", _RECOVERY_CODES, start="name"),
    _Row("password", _URL_PASSWORD),
    _Row("password", _LOGIN),
    _Row("API key", _NAMED_KEY, _is_mixed, "name"),
    _Row("token", _PARAMETER, _is_set),
    _Row("token", _WEBHOOK),
    _Row("API key", _KEY_BESIDE, _is_random, "name"),
    _Row("recovery phrase", _PASSPHRASE, start="name"),
    _Row("password", _WORDS_AFTER_SIGN, _is_words, "name"),
    _Row("password", _WORDS_AFTER_IS, _is_worded, "name"),
    _Row("password", _PIN, _is_code, "name"),
    _Row("password", _PASSWORD, _is_password, "name"),
    _Row("password", _SETTING, _is_set, "setting"),
    _Row("password", _CODE, _is_private_code, "code"),
    _Row("password", _PASSWORD_AFTER, _is_beside),
    _Row("password", _PASSWORD_BESIDE, _is_beside, "name"),
    _Row("password", _CREDENTIALS, start="name"),
    _Row("password", _WIFI, start="name"),
    _Row("password", _ACCOUNT),
    _Row("password", _OPENED_BY, _opens, "name"),
    _Row("password", _OPENS, _is_opening, "opening"),
)
# Where patterns may begin. One search finds it for all that begin with a name, in lower case, since ignoring case takes
# three times as long; each pattern is then tried at these places alone.
_BEGINNINGS = "|".join(
    _any(role)
    for role in (
        *(
            "social_security",
            "card_codes",
            "phrases",
            "recovery_codes",
            "passphrases",
            "passwords",
            "pins",
        ),
        *("credentials", "networks", "locks", "locked", "keys", "tokens"),
    )
)
_STARTS: Final[Mapping[str, re.Pattern[str]]] = {
    "name": re.compile(
        rf"(?<![a-z])(?=\w)(?=accountkey|shared|bearer|basic|cookie:|{_BEGINNINGS})"
    ),
    "code": re.compile(rf"(?<!\w)(?=\w)(?={_any('whose')}\s)"),
    "setting": re.compile(rf"{_any('settings')}(?=[\"'*`_]{{0,3}}\s*[:=：|])"),
    "opening": re.compile(
        rf"(?<![\w€$£.,:/-])(?=\w)(?=[a-z]?\d|{_any('typing')}|{_any('before_code')}|{_numbers(0, 9)})"
    ),
}

_ROLES: Final[Mapping[SecretKind, str]] = {
    "password": "passwords",
    "API key": "keys",
    "private key": "private_keys",
    "token": "tokens",
    "card number": "cards",
    "card code": "card_codes",
    "IBAN": "accounts",
    "social security number": "social_security",
    "recovery phrase": "phrases",
}
_NAMES: Final[dict[SecretKind, re.Pattern[str]]] = {
    kind: re.compile(rf"(?i)(?<![\w-]){_any(role)}(?![\w-])") for kind, role in _ROLES.items()
}


def find_secrets(text: str) -> list[Secret]:
    """Find the secrets in a text. A span covers the value only, not the words before it.

    Args:
        text: Text of any language and length.

    Returns:
        The secrets by position, without overlaps.
    """
    return list(_found(text))


@text_cache(64)
def _found(text: str) -> tuple[Secret, ...]:
    """The secrets of a text; the steps of one write ask for the same ones, which take long for a long text."""
    found: list[Secret] = []
    for secret in _candidates(text):
        # Only the neighbours by position can overlap.
        place = bisect_left(found, secret.start, key=lambda each: each.start)
        neighbours = found[max(0, place - 1) : place + 1]
        if all(secret.end <= other.start or other.end <= secret.start for other in neighbours):
            found.insert(place, secret)
    return tuple(found)


def _candidates(text: str) -> Iterator[Secret]:
    # With the letters that only ignoring case equates, each one letter long.
    lowered = text.replace("İ", "i").replace("ı", "i").replace("ſ", "s").lower()
    places = {
        name: [place.start() for place in search.finditer(lowered)]
        for name, search in _STARTS.items()
    }
    for kind, pattern, is_secret, start in _PATTERNS:
        ahead = None if start is None else iter(places[start])
        position = 0
        while match := _next(pattern, text, position, ahead):
            # Text that is not a secret may contain the words that announce one: "pin system: password is …".
            position = match.start() + 1
            if is_secret(match):
                position = max(position, match.end())
                start, end = _value_span(match)
                # Each of two codes, as a reply may repeat one of them.
                codes = _CODES.finditer(text, start, end) if pattern is _OPENED_BY else ()
                spans = [code.span() for code in codes] or [(start, end)]
                yield from (Secret(kind, *span) for span in spans)
                if kind == "password":
                    yield from _codes_after(text, *spans[-1])


def _next(
    pattern: re.Pattern[str], text: str, position: int, places: Iterator[int] | None
) -> re.Match[str] | None:
    """The next match from a position, in all of the text or at places alone."""
    if places is None:
        return pattern.search(text, position)
    for place in places:
        if place >= position and (match := pattern.match(text, place)):
            return match
    return None


def _codes_after(text: str, start: int, end: int) -> Iterator[Secret]:
    """The codes of other things that follow a code in its sentence, with as many digits."""
    first = text[start:end]
    while _CODES.fullmatch(first) and (match := _ANOTHER.match(text, end)):
        start, end = match.span("bare")
        code = text[start:end]
        if _digits(code) != _digits(first) or _ROUND.fullmatch(code) or _measures(match):
            return
        yield Secret("password", start, end)


def _digits(code: str) -> int:
    return sum(map(str.isdigit, code))


def _value_span(match: re.Match[str]) -> tuple[int, int]:
    groups = match.re.groupindex
    group = next((each for each in ("quoted", "bare") if each in groups and match[each]), None)
    if group is None:
        return match.span()
    start, end = match.span(group)
    if match.re in (_PASSWORD, _SETTING, _NAMED_KEY, _PASSWORD_BESIDE) and group == "bare":
        end = start + len(match[group].rstrip(".,;:)"))
    return start, end


def key_in(identifier: str) -> SecretKind | None:
    """Return the kind of the key or token in an identifier; None without one.

    Only formats of issuers with a random part count: ids of messages and sessions are random too, and have digits like
    those of a card.
    """
    if any(_has_random_run(match[0]) for match in _API_KEY.finditer(identifier)):
        return "API key"
    return "token" if _JWT.search(identifier) else None


def kinds_named(text: str) -> frozenset[SecretKind]:
    """Return the kinds of secrets that a text names: "my card number", "mon code wifi"."""
    return frozenset(kind for kind, names in _NAMES.items() if names.search(text))


def may_answer(text: str) -> bool:
    """Return whether a message may be a secret that was asked for: a few words, with one that looks like none."""
    return len(text) <= _LONGEST_ANSWER and bool(_ANSWER.search(text))


def answer_to(question: str, text: str) -> dict[str, SecretKind]:
    """Return the secrets of a message that answers a question for one: "Walnut88" after "What is your password?"."""
    asked = any(_NAME.search(each) for each in _QUESTION.findall(question))
    if not asked or not may_answer(text):
        return {}
    found = (each["bare"] or each["code"] for each in _ANSWER.finditer(text))
    return {value.rstrip(".:"): "password" for value in found}


def values_in(texts: Iterable[str]) -> dict[str, SecretKind]:
    """Return the secrets of texts, each with its kind."""
    return {text[each.start : each.end]: each.kind for text in texts for each in find_secrets(text)}


def mask(text: str) -> str:
    """Replace each secret by a placeholder such as ``[secret: card number]``.

    Idempotent. The placeholder is the same in every language.
    """
    pieces: list[str] = []
    done = 0
    for secret in find_secrets(text):
        pieces += text[done : secret.start], f"{MASKED}{secret.kind}]"
        done = secret.end
    return "".join(pieces) + text[done:]


def mask_values(text: str, known: Mapping[str, SecretKind]) -> str:
    """Replace the secrets of other texts where this one repeats them, with no word that tells them."""
    for value, kind in known.items():
        text = re.sub(rf"(?<!\w){re.escape(value)}(?!\w)", f"{MASKED}{kind}]", text)
    return text
