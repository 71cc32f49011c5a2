"""What a message asks, among what it tells."""

import pytest

from hippocampe.language.questions import (
    asked_in,
    asks,
    asks_anything,
    in_full,
    is_about_told,
    is_telling,
    listing,
    only_asks,
    refers,
    said_once,
    stated_in,
)


@pytest.mark.parametrize(
    ("message", "asked"),
    [
        ("Salut ! Il part où David ?", ["Il part où David ?"]),
        ("hey, good morning!\nwhere does Nora live", ["where does Nora live"]),
        ("I'm back from the market. Where does Nora live?", ["Where does Nora live?"]),
        ("Qui arrose le basilic ? Je pars ce soir.", ["Qui arrose le basilic ?"]),
        ("Longue journée. Bon sinon, tom sera là lundi ?", ["tom sera là lundi ?"]),
        ("Ça va ? Moi bien. Tom vit où", ["Tom vit où"]),
        ("Bonne nuit. Comment on joint M. Leduc ?", ["Comment on joint M. Leduc ?"]),
        ("Back soon. Where does Mr. Osei live?", ["Where does Mr. Osei live?"]),
        ("Who waters the basil? Where is it?", ["Who waters the basil?", "Where is it?"]),
    ],
)
def test_what_is_told_around_a_question_is_left_out(message: str, asked: list[str]) -> None:
    assert list(asked_in(message)) == asked


def test_what_asks_nothing_stays_whole() -> None:
    assert asked_in("J'ai vu Nora. On a bu un café.")[0] == "J'ai vu Nora. On a bu un café."
    for message in ("Où habite Nora ?", "Salut ! Merci beaucoup !", "ok", "", "😀"):
        assert asked_in(message) == (message,)


def test_what_a_message_repeats_is_said_once() -> None:
    assert said_once("Pip found a feather\nPip found a feather") == "Pip found a feather"
    assert said_once("Hi! Where is it? Where is it?") == "Hi!\nWhere is it?"
    assert said_once("Where is it?  Here.") == "Where is it?  Here."


def test_quotation_marks_around_a_whole_question_are_left_out() -> None:
    assert said_once('"where is it"?') == "where is it?"
    assert said_once("« Où est-ce ? »") == "Où est-ce ?"
    for message in ('who said "hello"', '"yes" or "no"?', '"Nora left"', '""', "it's 5", ""):
        assert said_once(message) == message


def test_a_long_message_is_searched_for_its_last_questions() -> None:
    message = " ".join(f"Who waters the plant number {n}?" for n in range(100))
    assert asked_in(message) == tuple(f"Who waters the plant number {n}?" for n in (98, 99))


EN_DICTATED = (
    "um so i booked the car in at the garage on the nineteenth it's a silver octavia and i lent my drill to phil and he's bringing it"
    " back on sunday and also um i weigh eighty two kilos now and my locker is "
)
FR_DICTATED = (
    "alors euh j'ai emmené la voiture au garage elle sera prête vendredi en fin de journée et puis j'ai prêté ma tente à yann et du coup"
    " faut que je reprenne le sport et il me faut des chaussures taille quarante et j'ai le casier "
)


@pytest.mark.parametrize(
    ("message", "asked"),
    [
        (EN_DICTATED + "nine and oh by the way when is the match", "when is the match"),
        (EN_DICTATED + "nine and um while i remember who has the key", "who has the key"),
        (FR_DICTATED + "neuf et euh quand est le match", "quand est le match"),
        (FR_DICTATED + "neuf et au fait elle voulait quoi mamie", "elle voulait quoi mamie"),
    ],
)
def test_a_question_is_found_in_what_is_dictated(message: str, asked: str) -> None:
    assert asked_in(message)[-1].endswith(asked)
    assert len(asked_in(message)[-1]) < 60
    assert not only_asks(message)


def test_fillers_may_stand_before_a_question() -> None:
    for message in ("um so who has the keys", "uh by the way where is it", "euh genre il est où"):
        assert asks_anything(message)
    for message in ("um so i'm tired", "ER visit on Monday", "euh voilà je suis là"):
        assert not asks_anything(message)


def test_a_relative_clause_before_a_full_stop_asks_nothing() -> None:
    for told in (
        "She paid me sixty pounds, which is more than I asked for.",
        "Then nursery, where Miss Farrow told me about the trip.",
        "J'ai pensé à papa, qui plantait des jonquilles partout.",
        "Cher journal, quelle journée.",
    ):
        assert not asks_anything(told)
        assert stated_in(told) == told
    for asking in (
        "hot drink for Priya, what do I make",
        "Salut Sam, où habite Nora ?",
        "ok, where's Nora...",
    ):
        assert asks_anything(asking)
        assert not stated_in(asking)


def test_what_a_speaker_adds_about_themselves_is_left_out() -> None:
    for message, asked in (
        ("Owen se marie quand déjà, j'ai peur d'avoir loupé un truc", "Owen se marie quand déjà"),
        ("who comes on Friday, I need to buy chairs", "who comes on Friday"),
        ("if I leave at 8, when do I arrive?", "if I leave at 8, when do I arrive?"),
        ("where is Nora, the neighbour?", "where is Nora, the neighbour?"),
    ):
        assert asked_in(message) == (asked,)


def test_a_question_refers_to_somebody() -> None:
    for question in (
        "Elle habite où ?",
        "on lui apporte quoi ?",
        "What does he eat?",
    ):
        assert refers(question)
    for question in ("Quelle heure est-il ?", "Est-ce qu'il y a du lait ?", "Where do I live?"):
        assert not refers(question)


def test_advice_is_about_what_is_told() -> None:
    for question in ("What would you suggest?", "Tu me conseilles quoi ?", "How do I set this up?"):
        assert is_about_told(question)
    for question in ("Where does Nora live?", "Qui a les clés ce soir ?", "Who comes this week?"):
        assert not is_about_told(question)
    for message in (
        "I'm cooking for Lena, any idea?",
        "des idées pour le dîner ?",
        "il pleut, ok ?",
    ):
        assert is_telling(message)
    assert not is_telling("who cooks for Lena?")


def test_a_question_stands_before_or_after_a_pasted_text() -> None:
    pasted = "\n".join(f"The boat number {n} is in the harbour." for n in range(200))
    question = "Where is the boat of Nora?"
    assert asked_in(f"{question}\n{pasted}") == asked_in(f"{pasted}\n{question}") == (question,)


@pytest.mark.parametrize(
    "question",
    [
        "c koi le code du local",
        "c'est quand le contrôle de svt",
        "elle arrive à quelle heure ta tante",
        "on a pris quelle peinture pour l'entrée",
        "avec qui Noé fait de l'escrime",
        "je commence quand chez Bolloré",
        "la répète c'est tous les combien",
        "elles sont où les clés du van",
        "Noé fait quoi comme instrument",
        "qu'est ce que je dois rapporter",
        "qu'a dit le prof hier",
        "rappelle-moi à quelle heure on joue",
        "Noé habite où mdr",
        "je bosse ou moi",
        "tu commences quand toi",
        "il arrive quand lol",
        "whats the code for the hall",
        "when are we on",
        "wait is it Friday or Monday",
        "remind me when we play",
        "did Noé pass",
        "can't you come earlier",
        "will Ida call",
    ],
)
def test_a_question_needs_no_mark(question: str) -> None:
    assert only_asks(question)
    assert not stated_in(question)


@pytest.mark.parametrize(
    ("telling", "asking"),
    [
        ("Can you remember that I hate fennel?", "Can you remember what I hate?"),
        ("did you know I'm allergic to wasps", "do you know my allergies"),
        ("Could you keep in mind we leave on Monday?", "Could you remind me when we leave?"),
        ("Tu peux retenir que Noé arrive lundi ?", "Tu peux me rappeler quand Noé arrive ?"),
        ("est-ce que je t'ai dit qu'Ida déménage ?", "qu'est-ce que je t'ai dit sur Ida ?"),
        ("tu sais que je suis végane ?", "tu sais ce que je mange ?"),
    ],
)
def test_a_question_to_somebody_may_tell_something(telling: str, asking: str) -> None:
    assert not only_asks(telling)
    assert only_asks(asking)


@pytest.mark.parametrize(
    "statement",
    [
        "c'est Ida qui les garde",
        "on prend le bus ou le train",
        "c'est lui ou moi",
        "je choisis toi ou moi",
        "je souffle quand le bébé dort",
        "la ville où j'habite est calme",
        "je sais pas quoi faire",
        "je sais plus à quelle heure il passe",
        "n'importe quel jour me va",
        "c'est quand même cher",
        "quand il pleut, la répète est annulée",
        "quand je cours je prends des gels",
        "when it rains, training is off",
        "when I am in Hull I stay at Ida's",
        "did 12k on Sunday",
        "had a scan today",
        "remind me to call Ida",
        "rappelle-moi d'appeler Ida",
        "can't make Thursday",
        "will pick up the kids at 4",
        "have moved to Hull",
        "was wondering about the dress",
    ],
)
def test_a_statement_may_open_like_a_question(statement: str) -> None:
    assert not only_asks(statement)
    assert stated_in(statement) == statement


@pytest.mark.parametrize(
    ("message", "stated"),
    [
        ("T'as vu ? La répète est décalée à 18h", "La répète est décalée à 18h"),
        ("Salut ! On joue le 3. C'est quoi le code ?", "On joue le 3."),
        ("Band or DJ? We said DJ, it's Marlon", "We said DJ, it's Marlon"),
        ("Long day! Noé is ill. When is the concert?", "Noé is ill."),
        ("Hello! How are you?", ""),
        ("Will it rain? Probably not", ""),
        ("On joue demain ? Mouais bof", ""),
    ],
)
def test_what_a_message_states_is_told_from_what_it_asks(message: str, stated: str) -> None:
    assert stated_in(message) == stated


@pytest.mark.parametrize(
    ("counting", "listed"),
    [
        ("combien de livres j'ai lus ?", "quels livres j'ai lus ?"),
        ("combien j'ai lu de livres ?", "quels livres j'ai lu ?"),
        ("how many books did I read?", "which books did I read?"),
        ("How many times did I swim?", None),
        ("combien de temps je cours ?", None),
        ("do we know how many chairs the church has?", None),
        ("how many calories are in an apple?", None),
        ("which books did I read?", None),
    ],
)
def test_what_is_counted_is_asked_for_one_by_one(counting: str, listed: str | None) -> None:
    assert listing(counting) == listed


@pytest.mark.parametrize(
    ("typed", "full"),
    [
        ("jpese combien deja", "je pese combien deja"),
        ("Jsuis libre mardi ?", "je suis libre mardi ?"),
        ("jte dois combien", "je te dois combien"),
        ("ki a les clés, g mis ou le double", "qui a les clés, j'ai mis ou le double"),
        ("kel jour on part, et qd on rentre ?", "quel jour on part, et quand on rentre ?"),
        ("whats the code", "what is the code"),
        ("can I borrow someones bike", "can I borrow someone's bike"),
        (
            "il faut 250 g farine ? combien de g de sel ?",
            "il faut 250 g farine ? combien de g de sel ?",
        ),
        ("jquery ou react ?", "jquery ou react ?"),
        ("jpensais faire des crêpes", "jpensais faire des crêpes"),
        ("j'ai un js et un jpeg, un jeu", "j'ai un js et un jpeg, un jeu"),
    ],
)
def test_what_is_typed_in_haste_is_written_out(typed: str, full: str) -> None:
    assert in_full(typed) == full


@pytest.mark.parametrize(
    ("question", "expected"),
    [
        ("who has my drill?", True),
        ("who did the dishes?", True),
        ("who do I report to?", False),
        ("who did she marry?", False),
        ("qui a ma perceuse ?", True),
        ("à qui est ce vélo ?", True),
        ("à qui je rends compte ?", False),
        ("avec qui est-ce qu'on part ?", False),
    ],
)
def test_who_does_it_is_asked_of_a_doer_only(question: str, expected: bool) -> None:
    assert ("who" in asks(question)) is expected
