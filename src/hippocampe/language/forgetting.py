"""Recognise a request to forget, and what it names: "forget that I play the tuba". Pure.

The wordings are data: `language/*/forgetting.toml`. Figures of speech ("forget it"), reproaches ("you forget
that …") and the opposite ("don't forget") are no requests.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import Final

from hippocampe.language.grammar import grammar, plain_stem
from hippocampe.language.lexicon import any_of, languages, load, load_all, words_of
from hippocampe.language.person import is_about_speaker
from hippocampe.language.subjects import subjects_of
from hippocampe.language.text import APOSTROPHE, STOP_WORDS, cut, fold, sentences, words

MAX_READ: Final = 2_000
"""Characters of a message that are read: a longer one is a text, not a request."""
MAX_TOPIC: Final = 300
MAX_UNSURE_WORDS: Final = 6
"""Maximum words of a topic without a clause or a possessive; longer ones are not topics."""
MAX_AGREEMENT_WORDS: Final = 8
MAX_APART: Final = 4
"""Maximum other words between two words of a wish."""
_CLAUSE_END: Final = re.compile(r"(?<=[.!?…;:,])\s+|\n+")
_REQUESTS: Final = re.compile(rf"{any_of(load_all('questions')['requests'])}\b")
_DETERMINERS: Final = words_of("determiners") | words_of("articles") | words_of("possessives")
_OBJECTS: Final = words_of("determiners") | words_of("coordinators") | words_of("persons")
_JOINS: Final = words_of("coordinators") | words_of("union")
_WORD: Final = re.compile(r"[^\W_]+")
_QUOTES: Final = '«“"`'
_ELIDED: Final = re.compile(rf"{any_of(load_all('forgetting')['elided'])}", re.IGNORECASE)
# A run of blanks takes cubic time.
_BLANKS: Final = re.compile(r"\s+")
_VALUE: Final = re.compile(r"\d.*", re.DOTALL)
_ASIDES: Final = re.compile(
    rf"\s+(?=(?i:{any_of(load_all('forgetting')['asides'])})\b)",
)
"""The places within a sentence where a request may begin: people dictate without marks."""


@dataclass(frozen=True, slots=True)
class ForgetRequest:
    """A request to forget.

    Attributes:
        topic: What to forget, as written; empty for what the speaker said just before.
        sure: Whether the request is unambiguous; "forget the dinner" may mean "never mind".
        asked: Whether it asks the listener, also if it is not sure: "please forget the dinner".
        rest: The message without the request.
        own: Whether it means only what the speaker said: "forget what I said about Rachel".
        said: How it names what was said: "everything I told you today", without or beside a topic.
        whole: Whether it means all that is known of the speaker: "forget me", "delete my data".
    """

    topic: str
    sure: bool
    rest: str
    asked: bool = False
    own: bool = False
    said: str = ""
    whole: bool = False


def read_request(message: str) -> ForgetRequest | None:
    """The request to forget in a message; None if it has none."""
    if len(message) > MAX_READ:
        return None
    folded = fold(message)
    if not any(verb in folded for verb in _stems()):
        return None
    message = _BLANKS.sub(lambda found: "\n" if "\n" in found[0] else " ", message)
    text = APOSTROPHE.sub("'", message)
    for start, verb, impersonal, language in _starts(text):
        found = _forms(language).read(text, verb, text[:start])
        # "It is best to forget the past" is said of life.
        if found is not None and (found[0].sure or not impersonal):
            request, begin, end = found
            sure = request.sure and not impersonal
            asked = sure or (start < verb and not impersonal) or _forms(language).is_polite(text)
            request = replace(request, sure=sure, asked=asked)
            rest = f"{message[: min(start, begin)]} {message[end:]}"
            rest = " ".join(rest.split()).strip(" ,;")
            request = _forms(language).named(replace(request, rest=rest))
            if not request.topic:
                return request
            if not STOP_WORDS.issuperset(words(request.topic)):
                return request
            return replace(request, whole=True) if is_about_speaker(request.topic) else None
    behind = (_forms(language).read_behind(text) for language in languages())
    return next((request for request in behind if request is not None), None)


def _starts(text: str) -> list[tuple[int, int, bool, str]]:
    """The places where a request may begin: its clause, its verb, whether it names no listener, and the language."""
    ends = (*_CLAUSE_END.finditer(text), *_ASIDES.finditer(text))
    clauses = {0, *(found.end() for found in ends)}
    starts = [(start, start, False, language) for start in clauses for language in languages()]
    starts += [(*at, each) for each in languages() for at in _forms(each).wished(text)]
    return sorted(starts)


def topics_in(topic: str) -> list[str]:
    """The things that a topic names, each with its own determiner: "my salary and my phone number"."""
    return next((found for each in languages() if (found := _forms(each).divided(topic))), [topic])


def shortened(topic: str) -> str:
    """The topic without a statement behind it that no mark separates: "I smoke my mum doesn't know"; empty if it has none."""
    found = min((_forms(each).first_thing(topic) for each in languages()), key=len)
    return found if len(found) < len(topic) else ""


def agrees(message: str) -> bool:
    """Return whether a message says yes, and nothing against it: "oui, vas-y", "yes please"."""
    text = APOSTROPHE.sub("'", cut(message, MAX_READ)).strip()
    said = text.lower().split()
    if not said or len(said) > MAX_AGREEMENT_WORDS or "?" in text:
        return False
    return any(_forms(language).agrees(text) for language in languages())


@cache
def _stems() -> tuple[str, ...]:
    """Beginnings of the verbs: most messages have none, and are not read further."""
    return tuple(
        dict.fromkeys(
            stem
            for language in languages()
            for stem in load(language, "forgetting")["stems"].split()
        )
    )


@cache
def _forms(language: str) -> "_Forms":
    return _Forms(language)


class _Forms:
    """The wordings of one language."""

    def __init__(self, language: str) -> None:
        data = load(language, "forgetting")
        of = {role: any_of(listed) for role, listed in data.items() if not isinstance(listed, str)}
        clause, auxiliary = (
            any_of(map(re.escape, listed))
            for listed in (
                data["clauses"].split(),
                words_of("grammar.auxiliary", language=language),
            )
        )
        before = rf"{of['before']}[\s,!.:]+"
        polite = rf"{before}|{of['asks']}\s*"
        kinds = "|".join(
            f"(?P<{each}>{of[each]})" for each in ("verbs", "removes", "refuses", "mutes")
        )
        plain = "|".join(of[each] for each in ("verbs", "removes", "refuses"))
        self._verb = re.compile(
            rf"(?i)(?:{polite}|@?\w+\s?,\s+){{0,6}}(?:{kinds})\b\s*(?:,?\s*{of['adverbs']},?\s+)?"
        )
        self._forgotten = re.compile(rf"(?i)(?:{before}){{0,6}}(?P<topic>{of['forgotten']})\b")
        # "The trip to Corsica, you can forget it".
        pronoun = rf"\s*{of['pronouns']}"
        removed = rf"{of['removes']}{pronoun}\s*{of['memory']}"
        behind = rf"(?:{of['behind']}|{removed})"
        after = rf"(?:[\s,]+{of['after']}){{0,4}}[\s.!?…;,]{{0,20}}"
        reported = "".join(rf"(?<!\b{each})" for each in data["reported"])
        # "What I told you about the job, drop it".
        self._back = re.compile(
            rf"(?i){reported}[\s,;.!]+(?:{behind}|{of['drops']}|(?:{polite}){{0,6}}(?:{plain})(?:{pronoun})?){after}$"
        )
        # "The row with Ann, please forget it", "I lied about my age so forget that".
        self._behind = re.compile(
            rf"(?i){reported}(?:\s*[,;.!…]\s*|\s+)(?:{before}){{0,6}}(?:{behind}|{of['so']}\s+(?:{of['verbs']}){pronoun}){after}$"
        )
        self._saying = re.compile(rf"(?is){of['saying']}")
        self._telling = re.compile(
            rf"(?is)\b{of['told']}(?: {of['times']})*\s*{of['told_of']}?\s*(?P<topic>\S.*)$"
        )
        self._lead = re.compile(rf"(?i)^(?:{before}){{1,6}}")
        self._trail = re.compile(rf"(?i)(?:[\s,;]+(?:{of['before']}|{of['so']}))+\W*$")
        self._condition = re.compile(rf"(?i){of['conditions']}\b")
        self._turn = re.compile(rf"(?is)[,.;!?]\s.*|\s+{of['turns']}\b.*")
        self._pronoun = re.compile(rf"(?i){of['pronouns']}$")
        self._person = re.compile(rf"(?i){of['people']}")
        self._unwanted = re.compile(rf"(?i)[\s,;]*{of['unwanted']}[\s.!]*")
        self._points = re.compile(rf"(?i){of['points']}(?:\s|$)")
        self._memory = re.compile(rf"(?i)\s*{of['memory']}\b")
        self._details = re.compile(rf"(?i){of['details']}")
        about = rf"(?:\s*{of['about']}\s*(?P<topic>\S.*))"
        self._said = re.compile(rf"(?is){of['said']}(?:{about})?$")
        self._known = re.compile(rf"(?is){of['known']}{about}$")
        # A name opens a clause too, also in lower case before a verb.
        subject = rf"(?:(?<=')|(?i:{clause})(?:(?<=')|\b)|[A-ZÀ-Þ]|(?i:\w+ {auxiliary}\b))"
        # "…, I haven't told my mum yet" goes on with another thing.
        self._aside = re.compile(rf"(?is),\s+(?:{clause})(?:(?<=')|\b).*$")
        self._whole = re.compile(rf"(?i){of['whole']}")
        self._union = re.compile(rf",?\s+{any_of(words_of('union', language=language))}\s+")
        self._language = language
        self._correction = re.compile(rf"(?i),?\s+{of['corrections']}\b")
        self._that = re.compile(rf"(?s)(?i:{of['that']})\s*(?P<topic>{subject}.*)$")
        self._bare = re.compile(rf"(?is)(?P<topic>{of['speakers']}\b.*)$")
        self._own = re.compile(rf"(?i)(?P<topic>{of['own']}\s[^,]*)")
        self._asked = re.compile(rf"(?i)(?P<topic>{of['asked']}\s\S[^,]*)")
        self._keeps = re.compile(rf"(?i){of['keeps']}")
        self._about = re.compile(rf"(?i){of['about']}\s+")
        self._vague = re.compile(rf"(?i)(?<=\w)\s+{of['vague']}$")
        self._idiom = re.compile(rf"(?is){of['idioms']}\W*$")
        self._after = re.compile(rf"(?i){after}$")
        # "Ann she doesn't want people to know" goes on with another statement.
        self._second = re.compile(rf"(?i)(?<=\w\w)\s+{of['subjects']}\b")
        # "Forget what I owe my brother its paid" goes on with the reason.
        self._reason = re.compile(rf"(?is)(?<=\w\w),?\s+{of['reasons']}\b.*$")
        self._links = re.compile(rf"(?i)\b{of['of']}")
        self._owned = re.compile(rf"(?i)\b{of['own']} \w+")
        self._agrees = re.compile(rf"(?i){of['agreements']}(?!\w)")
        self._refusals = frozenset(data["refusals"].split())
        self._any_verb = re.compile(rf"(?i)\b(?:{plain})\b")
        self._nobody = re.compile(rf"(?i)\b{of['nobody']}")
        self._polite, self._others, self._impersonal, self._blocks = (
            frozenset(data[role].split()) for role in ("polite", "others", "impersonal", "blocks")
        )
        self._listener, self._wishes = (
            frozenset(data[role].split()) | self._polite for role in ("listener", "wishes")
        )

    def wished(self, text: str) -> Iterator[tuple[int, int, bool]]:
        """The verbs that a wish governs: where the wish and the verb begin, and whether it names no listener.

        "Would you be so kind as to forget" wishes, and "it would be best to forget"; "could you tell her to forget"
        is said of another person, and "how could you forget" is no wish.
        """
        for verb in self._any_verb.finditer(text):
            lead = text[_sentence_start(text, verb.start()) : verb.start()]
            wish = self._wish(self._nobody.sub(lambda found: " " * len(found[0]), lead))
            if wish:
                yield verb.start() - len(lead) + wish[0], verb.start(), not wish[1]

    def _wish(self, lead: str) -> tuple[int, bool] | None:
        """The wish in front of a verb: where it begins, and whether it names the listener; None for no wish."""
        said: set[str] = set()
        start, apart = len(lead), 0
        for found in reversed(list(_WORD.finditer(lead))):
            word = fold(found[0])
            known = word in self._wishes | self._listener | self._others
            wishes, listener = (
                not each.isdisjoint(said) for each in (self._wishes, self._listener)
            )
            goes_on = known or word in STOP_WORDS if listener else apart < MAX_APART
            if wishes and ("," in lead[found.end() : start] or word in _JOINS or not goes_on):
                break
            if word in self._blocks or (word in self._others and not listener):
                return None
            said.add(word)
            start, apart = (found.start(), 0) if known else (start, apart + 1)
        listener = not self._listener.isdisjoint(said)
        if self._wishes.isdisjoint(said) or not (listener or self._impersonal & said):
            return None
        return len(lead[:start].rstrip()), listener

    def is_polite(self, text: str) -> bool:
        """Return whether a text says please."""
        return not self._polite.isdisjoint(words(text))

    def read(self, text: str, start: int, before: str) -> tuple[ForgetRequest, int, int] | None:
        """The request that begins at a clause, without its rest, and where what it means begins and it ends.

        Args:
            text: The message.
            start: Where its verb or what is in front of that begins.
            before: The message in front of the request: "forget that" may mean it.
        """
        if found := self._forgotten.match(text, start):
            end = _sentence_end(text, found.end())
            return _request(found["topic"], sure=True, whole=True), start, end
        verb = self._verb.match(text, start)
        # "Forget it" without its object: "forget, I'll find out".
        if verb is None or (
            text.startswith(",", verb.end()) and not self._after.match(text, verb.end())
        ):
            return None
        end = _sentence_end(text, verb.end())
        if correction := self._correction.search(text, verb.end(), end):
            # "Forget that I ran 8 km, it was 6 actually" goes on with what to remember.
            end = correction.start()
        stop, end = self._other_request(text, verb.end(), end)
        named, unwanted = text[verb.end() : stop], self._unwanted.search(text, verb.end())
        # "Delete those files, I don't want them kept" is not meant of memory.
        if unwanted and (unwanted.start() > end or not self._own.match(named)):
            unwanted = None
        if unwanted:
            named, end = text[verb.end() : unwanted.start()], unwanted.end()
        if any(quote in named for quote in _QUOTES):
            return None
        # Without the politeness after it.
        named = self._after.sub("", self._back.sub("", named)).strip().strip(" ,;.!?…")
        remembered = unwanted is not None or self._memory.search(named) is not None
        # "Delete that I was in prison" and "delete my number" may be meant of memory, "delete that file" is not.
        unsure = bool(verb["removes"]) and not remembered
        topic = self._memory.sub("", named).strip()
        if pointed := self._of_pointer(verb, topic, remembered, before):
            begin = max(before.rfind(pointed.topic), 0)
            return pointed, _sentence_start(text, begin), end
        request = self._of_memory(verb, named, unsure)
        if request is None and (not unsure or self._details.fullmatch(named)):
            request = self._of_topic(verb, topic, remembered)
        return None if request is None else (request, start, end)

    def _of_memory(self, verb: re.Match[str], named: str, unsure: bool) -> ForgetRequest | None:
        """The request to forget everything, or what was said or is known: "everything you know about me"."""
        whole = self._memory.sub("", named).strip()
        if not verb["refuses"] and self._whole.fullmatch(whole):
            return _request(whole.lstrip("-"), sure=True, whole=True)
        if found := self._said.match(named):
            own = is_about_speaker(named[: found.start("topic")])
            said = named[: found.start("topic")] if found["topic"] else named
            return _request(found["topic"] or "", sure=True, own=own, said=said)
        if found := self._known.match(named):
            return _request(found["topic"], sure=not unsure)
        if unsure and (found := self._that.match(named)):
            return _request(self._aside.sub("", found["topic"]), sure=False)
        return None

    def _of_pointer(
        self, verb: re.Match[str], named: str, remembered: bool, before: str
    ) -> ForgetRequest | None:
        """The request to forget what is in front of it: "the row with Ann, please forget it"."""
        pointed = not named or self._pronoun.match(named) or self._saying.fullmatch(named)
        other_verb = verb["mutes"] or verb["removes"] or self._keeps.search(verb["refuses"] or "")
        if not pointed or (other_verb and not remembered):
            return None
        return self._of_telling(before) or _unsure(self._pointed(named, before))

    def _of_telling(self, before: str) -> ForgetRequest | None:
        """The request to forget what a text says was told: "I told you I smoke", "what I said about the job"."""
        if (telling := self._telling.search(before)) is None:
            return None
        topic = self._vague.sub("", self._turn.sub("", telling["topic"]).strip(" ,;.!?…"))
        said = telling[0][: telling.start("topic") - telling.start()]
        request = _request(topic, sure=True, own=True, said=said)
        return None if STOP_WORDS.issuperset(words(topic)) else request

    def _of_topic(self, verb: re.Match[str], named: str, remembered: bool) -> ForgetRequest | None:
        """The request to forget a statement or a topic: "that I smoke", "my old flat"."""
        if not named or self._idiom.match(named):
            return None
        about = self._about.match(named)
        topic = named[about.end() :] if about else named
        forms = (self._that, self._bare, self._own, self._asked)
        if found := next((match for form in forms if (match := form.match(topic))), None):
            other_verb = verb["mutes"] or verb["removes"]
            may_mean_another = about or other_verb or self._keeps.search(verb["refuses"] or "")
            sure = remembered or not may_mean_another
            topic = self._aside.sub("", found["topic"])
            topic = topic if self._that.match(named) else self._reason.sub("", topic)
            return _request(self._vague.sub("", topic), sure=sure)
        # "Forget Max, it's over", but not "forget the dinner, we'll order a pizza".
        if self._vague.search(self._reason.sub("", topic)):
            topic = self._reason.sub("", topic)
        topic = self._vague.sub("", self._aside.sub("", topic) if topic[:1].isupper() else topic)
        if verb["refuses"] or "," in topic or len(topic.split()) > MAX_UNSURE_WORDS:
            return None
        return _request(topic, sure=remembered)

    def _other_request(self, text: str, start: int, end: int) -> tuple[int, int]:
        """The end of the named thing, and the beginning of another request after it: "… and tell me a joke"."""
        for union in self._union.finditer(text, start, end):
            after = text[union.end() : end]
            if _REQUESTS.match(fold(after)):
                return union.start(), union.end()
            named = text[start : union.start()]
            # "That I smoke and play the tuba" is one statement.
            states = any(form.match(named) for form in (self._that, self._bare, self._asked))
            if not states and self._orders(after):
                return union.start(), union.end()
        return end, end

    def _orders(self, text: str) -> bool:
        """Return whether a text begins with an order: "remember that I love cats", "garde le reste"."""
        first, second, *_ = (*words(text), "", "")
        verb = plain_stem(first, self._language) in grammar(self._language).verbs
        return verb and second in _OBJECTS and not text[:1].isupper()

    def read_behind(self, text: str) -> ForgetRequest | None:
        """The request at the end of a message, behind what it names: "I told you I smoke, forget that"."""
        back = self._back.search(text)
        if back and (request := self._of_telling(text[: back.start()])):
            return request
        behind = self._behind.search(text)
        return _unsure(self._last_said(text[: behind.start()])) if behind else None

    def _last_said(self, text: str) -> str:
        """The last sentences of a text that say something."""
        told = ""
        for sentence in reversed(sentences(text)):
            told = f"{sentence} {told}".strip()
            if not STOP_WORDS.issuperset(words(told)):
                break
        told = self._trail.sub("", self._lead.sub("", told))
        return "" if self._condition.match(told) else told

    def named(self, request: ForgetRequest) -> ForgetRequest:
        """The request whose topic points at the rest of the message ("that story"), with what that names."""
        if not self._points.match(request.topic) or not request.topic:
            return request
        value = _VALUE.search(request.rest)
        named = value[0] if value else " ".join(subjects_of(request.rest))
        return replace(request, topic=named, sure=False) if named else request

    def _pointed(self, pronoun: str, before: str) -> str:
        """The words that a pronoun refers to, of a text in front of it; empty for none."""
        if value := _VALUE.search(before):
            return value[0]
        people = self._owned.findall(before)[-1:] or subjects_of(before)
        of_person = self._person.match(pronoun)
        return " ".join(people) if of_person and people else self._last_said(before)

    def first_thing(self, topic: str) -> str:
        """The topic up to a second subject."""
        return self._second.split(topic, maxsplit=1)[0]

    def divided(self, topic: str) -> list[str]:
        """The things that a topic names one after the other; none if it is of one, or may be."""
        things = self._union.split(topic)
        apart = all(
            self._asked.match(each) or (_is_determined(each) and not self._links.search(each))
            for each in things
        )
        return things if apart and len(things) > 1 else []

    def agrees(self, text: str) -> bool:
        said = {word.strip(".,!;") for word in text.lower().split()}
        return bool(self._agrees.match(text)) and said.isdisjoint(self._refusals)


def _is_determined(topic: str) -> bool:
    """Return whether a topic begins with a determiner: "the trip", "l'entretien"."""
    return not _DETERMINERS.isdisjoint(words(topic)[:1]) or _ELIDED.match(topic) is not None


def _sentence_end(text: str, start: int) -> int:
    found = re.search(r"[.!?…;](?=\s|$)|\n", text[start:])
    return start + found.end() if found else len(text)


def _unsure(topic: str) -> ForgetRequest | None:
    """The request for a topic that may be meant; None for one that says nothing."""
    return None if STOP_WORDS.issuperset(words(topic)) else _request(topic, sure=False)


def _sentence_start(text: str, end: int) -> int:
    found = list(re.finditer(r"[.!?…;](?=\s)|\n", text[:end]))
    return found[-1].end() if found else 0


def _request(
    topic: str, *, sure: bool, own: bool = False, said: str = "", whole: bool = False
) -> ForgetRequest:
    shorter = cut(" ".join(topic.split()).strip(" ,;.!?…"), MAX_TOPIC)
    return ForgetRequest(shorter, sure, "", sure, own, said, whole)
