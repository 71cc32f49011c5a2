"""A question about a relative is searched for by their name."""

from collections.abc import Sequence
from datetime import datetime

import pytest

from hippocampe import Hippocampe, Scope
from hippocampe.engine.corpus import Corpus
from hippocampe.language.difference import proper_names
from hippocampe.language.kin import Relative, relatives_in, with_name
from hippocampe.language.named_things import things_in
from hippocampe.language.statement import parse
from hippocampe.language.subjects import proper_names_in
from hippocampe.retrieval import relatives
from hippocampe.retrieval.request import RecallRequest

ENGLISH = (
    ("priya", "Priya's sister is called Anjali"),
    ("priya", "Anjali lives in Leeds"),
    ("tom", "My sister is called Beth"),
    ("tom", "Beth lives in York"),
    ("rose", "Rose is Tom's mum"),
    ("rose", "Rose lives in Cardiff"),
    ("rose", "Tom works at the Black Swan"),
)
FRENCH = (
    ("camille", "La sœur de Camille s'appelle Jeanne"),
    ("camille", "Jeanne habite à Nantes"),
    ("bastien", "Lucie, la sœur de Bastien, habite à Bordeaux"),
    ("odile", "Odile est la mère de Bastien"),
    ("odile", "Odile habite à Albi"),
    ("bastien", "Bastien est chauffeur routier chez Geodis"),
)


@pytest.mark.parametrize(
    ("told", "user", "question", "answer"),
    [
        (ENGLISH, "tom", "where does my sister live?", "Beth lives in York"),
        (ENGLISH, "priya", "where does my sister live?", "Anjali lives in Leeds"),
        (ENGLISH, "priya", "where does tom's sister live?", "Beth lives in York"),
        (ENGLISH, "tom", "where does my mum live", "Rose lives in Cardiff"),
        (ENGLISH, "rose", "where does my son work?", "Tom works at the Black Swan"),
        (FRENCH, "camille", "où habite ma soeur ?", "Jeanne habite à Nantes"),
        (FRENCH, "bastien", "où habite ma soeur ?", FRENCH[2][1]),
        (FRENCH, "camille", "où habite la mère de Bastien ?", "Odile habite à Albi"),
        (FRENCH, "odile", "où travaille mon fils ?", FRENCH[5][1]),
    ],
)
def test_the_relative_of_the_asker_answers(
    hippo: Hippocampe, told: Sequence[tuple[str, str]], user: str, question: str, answer: str
) -> None:
    for teller, statement in told:
        hippo.remember(statement, scope=Scope(user=teller, channel="home"))
    turn = hippo.before_turn(question, scope=Scope(user=user, channel="home"))
    searched = [each for each in turn.trace.considered if each.path == "search"]
    best, *others = sorted((each.recollection for each in searched), key=lambda item: -item.score)
    assert best.content == answer
    assert best.score > max(0.5, *(each.score for each in others))


@pytest.mark.parametrize(
    ("told", "question", "answer"),
    [
        (
            ("My boss is called Martin", "Martin is back from Japan on Monday", "I work nights"),
            "when is ravi's boss back",
            1,
        ),
        (
            ("My sister Rachel is a nurse", "Rachel was born on 3 June", "My desk is new"),
            "whens ravis sisters birthday",
            1,
        ),
        (
            ("Ma soeur s'appelle Inès", "Inès se marie le 20 juin", "Je pars le 3 mai"),
            "elle se marie quand la soeur de ravi",
            1,
        ),
    ],
)
def test_whose_relative_is_meant_is_known_though_no_text_names_them(
    hippo: Hippocampe, told: Sequence[str], question: str, answer: int
) -> None:
    for statement in told:
        hippo.remember(statement, scope=Scope(user="ravi", channel="home"))
    turn = hippo.before_turn(question, scope=Scope(user="ada", channel="home"))
    searched = [each for each in turn.trace.considered if each.path == "search"]
    best = max((each.recollection for each in searched), key=lambda item: item.score)
    assert best.content == told[answer]
    assert best.score > 0.5


def test_a_son_is_found_though_it_is_a_function_word_in_french(hippo: Hippocampe) -> None:
    ada = Scope(user="ada", channel="home")
    for statement in ("Tom was born on 3 May 1988", "Our son Milo was born in June 2019"):
        hippo.remember(statement, scope=ada)
    best, other = hippo.recall("when was my son born?", scope=ada)
    assert best.content.startswith("Our son Milo")
    assert other.score < 0.2


def test_a_relative_of_whom_no_name_is_known_changes_nothing(hippo: Hippocampe) -> None:
    tom = Scope(user="tom", channel="home")
    hippo.remember("My sister lives in York", scope=tom)
    hippo.remember("Priya's sister is called Anjali", scope=Scope(user="priya", channel="home"))
    assert hippo.recall("where does my sister live?", scope=tom)[0].content.endswith("York")


@pytest.mark.parametrize(
    ("told", "question", "answer"),
    [
        (
            (
                "My boss is called Priya",
                "Priya is on leave until Monday",
                "Tom is ill until Friday",
            ),
            "when is my boss back?",
            1,
        ),
        (
            (
                "Tom has a cat named Marmite",
                "Marmite takes half a tablet daily",
                "Ada takes vitamins",
            ),
            "what medicine does my cat take?",
            1,
        ),
        (
            (
                "my dentist is Dr Morel",
                "Dr Morel only works on Tuesdays",
                "my gym opens on Mondays",
            ),
            "which day can I see my dentist?",
            1,
        ),
        (
            (
                "J'ai un bateau qui s'appelle Zéphyr",
                "Zéphyr est à Sète",
                "La caravane est chez Paul",
            ),
            "il est où mon bateau ?",
            1,
        ),
        (
            ("Mon chef s'appelle Karim", "Karim part en congé le 12 juillet", "Paul part le 3 mai"),
            "mon chef il part quand ?",
            1,
        ),
        (
            (
                "The plumber is Mr Diaz",
                "Mr Diaz charges 60 euros an hour",
                "The painter comes on Friday",
            ),
            "how much does the plumber charge?",
            1,
        ),
        (
            (
                "ma prof de piano c'est Mme Roux",
                "Mme Roux est absente mardi",
                "mon prof de yoga est là mardi",
            ),
            "ma prof de piano est là mardi ?",
            1,
        ),
        (
            ("My dentist is called Dr Morel", "Dr Morel works on Tuesdays", "I work on Mondays"),
            "who is my dentist?",
            0,
        ),
    ],
)
def test_what_the_asker_has_is_known_by_its_name(
    hippo: Hippocampe, told: Sequence[str], question: str, answer: int
) -> None:
    tom = Scope(user="tom", channel="home")
    for statement in told:
        hippo.remember(statement, scope=tom)
    best, *others = hippo.recall(question, scope=tom)
    assert best.content == told[answer]
    assert best.score > max(0.5, *(each.score for each in others))


@pytest.mark.parametrize(
    ("told", "question", "answer"),
    [
        (
            ("Notre plombier est Luc Hamel.", "le plombier a dit que la chaudière est à changer"),
            "il a dit quoi le plombier ?",
            1,
        ),
        (
            ("Ma kiné s'appelle Flore Aubin.", "la kiné a déplacé mon rendez-vous au 9 mars"),
            "c'est quand mon rendez-vous chez la kiné ?",
            1,
        ),
        (
            ("Our plumber is Neil Hart.", "the plumber said the boiler has to be replaced"),
            "what did our plumber say?",
            1,
        ),
    ],
)
def test_what_is_told_without_the_name_is_found_beside_who_it_is(
    hippo: Hippocampe, told: Sequence[str], question: str, answer: int
) -> None:
    tom = Scope(user="tom", channel="home")
    hippo.update_settings(scope=tom, hook_timeout_ms=10_000)
    hippo.remember(told[0], scope=tom)
    hippo.after_turn(told[1], "OK.", scope=tom)
    elsewhere = Scope(user="tom", channel="kitchen")
    items = hippo.before_turn(question, scope=elsewhere).items
    assert any(each.content.startswith(told[answer]) for each in items)


@pytest.mark.parametrize(
    ("statement", "owner", "kind", "name"),
    [
        ("Our cat Marmite sleeps all day", "", "cat", "marmite"),
        ("Marmite is our cat", "", "cat", "marmite"),
        ("My car is called Titine", "", "car", "titine"),
        ("User has a cat named Marmite", "", "cat", "marmite"),
        ("Tom has a little boat called Zephyr", "tom", "boat", "zephyr"),
        ("Tom's boss is Priya Nair", "tom", "boss", "priya nair"),
        ("Our plumber is Mr Diaz", "", "plumber", "mr diaz"),
        ("The cat is called Moka", None, "cat", "moka"),
        ("Mrs Roux is my piano teacher", "", "piano teacher", "mrs roux"),
        ("Ma prof de piano c'est Mme Roux", "", "prof piano", "mme roux"),
        ("Le chat de Tom s'appelle Moka", "tom", "chat", "moka"),
        ("notre bateau, le Zéphyr, est à Sète", "", "bateau", "zephyr"),
    ],
)
def test_a_statement_names_a_thing(statement: str, owner: str | None, kind: str, name: str) -> None:
    (found,) = (each for each in things_in(statement, proper_names_in(statement)) if each.name)
    assert (found.owner, found.kind, found.name) == (owner, frozenset(kind.split()), name)


@pytest.mark.parametrize(
    "statement",
    [
        "My dog bit Tom's neighbour",
        "La couleur de notre bateau est Bordeaux",
        "The cat sleeps in Paris",
        "The winner is Tom",
        "Albatros, les maquettes sont prêtes",
        "My drill is Tom's",
        "Le client d'Albatros est notre mairie",
        "Je cherche un chat pour Tom",
    ],
)
def test_a_name_near_a_thing_is_not_its_name(statement: str) -> None:
    assert not any(each.name for each in things_in(statement, proper_names_in(statement)))


def test_what_another_user_has_is_another_one(hippo: Hippocampe) -> None:
    hippo.remember("My boss is called Priya", scope=Scope(user="tom", channel="home"))
    hippo.remember("Priya is on leave until Monday", scope=Scope(user="tom", channel="home"))
    of_tom, of_ada = (
        hippo.recall("when is my boss back?", scope=Scope(user=user, channel="home"))[0].score
        for user in ("tom", "ada")
    )
    assert of_ada < 0.5 < of_tom


@pytest.mark.parametrize(
    ("statement", "owner", "kin", "name"),
    [
        ("Tom's sister is called Beth", "tom", "sister", "beth"),
        ("Beth is my big sister", None, "sister", "beth"),
        ("Tom's sister lives in Leeds", "tom", "sister", None),
        ("Odile est la mère d'Élise", "elise", "mother", "odile"),
        ("ma sœur Lucie habite à Bordeaux", None, "sister", "lucie"),
        ("ma sœur est à Paris", None, "sister", None),
        ("I have a sister called Beth", None, "sister", "beth"),
        ("Tom a une sœur qui s'appelle Lucie", "tom", "sister", "lucie"),
    ],
)
def test_a_statement_names_a_relative(
    statement: str, owner: str | None, kin: str, name: str | None
) -> None:
    parsed = parse(statement)
    (found,) = relatives_in(statement, proper_names(parsed))
    assert (found.owner, found.kin, found.name) == (owner, kin, name)


@pytest.mark.parametrize(
    "statement",
    [
        "Ma belle-mère s'appelle Ida",
        "Ma belle mère s'appelle Ida",
        "Mon grand-père s'appelle Ian",
        "Mon grand père s'appelle Ian",
        "La copine de mon fils s'appelle Ella",
        "Le frère de ma femme s'appelle Ian",
        "La sœur de la copine d'Élise s'appelle Ana",
        "My mother in law is called Ida",
        "My mother-in-law Ida lives in York",
        "My step-brother is called Ian",
        "My ex-wife is called Kim",
        "My ex wife is called Kim",
        "My wife's brother is called Ian",
        "Ian is my wife's brother",
        "Rex is my son's dog",
    ],
)
def test_the_relative_of_a_relative_gives_them_no_name(statement: str) -> None:
    parsed = parse(statement)
    names = {*proper_names(parsed), "ida", "ian", "rex", "ana", "ella", "kim"}
    assert [each.name for each in relatives_in(statement, names) if each.name] == []


@pytest.mark.parametrize(
    "statement",
    [
        "Le nom de ma mère est Odile",
        "The name of my mother is Odile",
        "Odile est la mère de Bastien",
        "Bastien's mother is Odile",
        "Odile, ma mère, habite à Albi",
    ],
)
def test_a_relative_keeps_their_name(statement: str) -> None:
    (found,) = relatives_in(statement, {"odile", "bastien"})
    assert found.name == "odile"


@pytest.mark.parametrize(
    ("told", "question", "wrong"),
    [
        (
            (
                "Ma belle-mère s'appelle Ida",
                "Ida est née le 3 mars 1955",
                "Ma mère est née le 9 août 1960",
            ),
            "quand est née ma mère ?",
            "Ida",
        ),
        (
            (
                "La copine de mon fils s'appelle Ella",
                "Ella étudie le droit",
                "Mon fils étudie la chimie",
            ),
            "qu'étudie mon fils ?",
            "Ella",
        ),
        (
            (
                "My wife's brother is called Ian",
                "Ian works at the zoo",
                "My brother works at the bakery",
            ),
            "Where does my brother work?",
            "Ian",
        ),
    ],
)
def test_a_question_about_a_relative_is_not_answered_with_another(
    hippo: Hippocampe, told: Sequence[str], question: str, wrong: str
) -> None:
    tom = Scope(user="tom", channel="home")
    for statement in told:
        hippo.remember(statement, scope=tom)
    best = hippo.recall(question, scope=tom)[0]
    assert wrong not in best.content


@pytest.mark.parametrize(
    ("question", "name", "said"),
    [
        ("where does my sister live?", "Beth", "where does Beth live?"),
        ("tom's mum, her phone?", "Rose", "Rose, her phone?"),
        ("le numéro de la mère d'Élise ?", "Odile", "le numéro de Odile ?"),
        ("my sister didn't call?", "Beth", "my sister didn't call? (Beth)"),
        ("il a quel âge, notre fils ?", "Milo", "il a quel âge, Milo ?"),
        ("quel âge a notre fils ?", "Milo", "quel âge a Milo ?"),
        ("c'est quoi le prénom du mari d'Élise ?", "Yvon", "c'est quoi le prénom de Yvon ?"),
        ("on a dit quoi au frère d'Élise ?", "Yvon", "on a dit quoi à Yvon ?"),
    ],
)
def test_a_name_takes_the_place_of_the_relative(question: str, name: str, said: str) -> None:
    (asked,) = relatives_in(question, {"tom", "elise"})
    assert with_name(question, asked.span, name) == said


@pytest.mark.parametrize(
    ("told", "question"),
    [
        (ENGLISH, "where does my sister live? " * 300),
        (FRENCH, "où habite ma soeur ? " * 300),
        (ENGLISH, " ".join(f"where is {who}'s {kin}" for who in ("tom", "priya", "rose", "beth") for kin in ("mum", "dad", "son", "wife"))),
    ],
)  # fmt: skip
def test_few_of_the_relatives_in_a_pasted_text_are_looked_up(
    hippo: Hippocampe, monkeypatch: pytest.MonkeyPatch, told: Sequence[tuple[str, str]], question: str
) -> None:  # fmt: skip
    for user, statement in told:
        hippo.remember(statement, scope=Scope(user=user, channel="home"))
    looked_up: list[str] = []
    names_of = relatives._names_of

    def spy(corpus: Corpus, relative: Relative, request: RecallRequest, now: datetime) -> list[str]:
        looked_up.append(relative.kin)
        return names_of(corpus, relative, request, now)

    monkeypatch.setattr(relatives, "_names_of", spy)
    hippo.recall(question, scope=Scope(user="nobody", channel="home"))
    assert 0 < len(looked_up) <= relatives.MOST_RELATIVES


@pytest.mark.parametrize(
    ("told", "question", "answer"),
    [
        (("My boss is Ingrid", "My thesis manager is Omar"), "when is my boss back", "Ingrid"),
        (("Mon responsable s'appelle Loïc", "Ma directrice de thèse est Mme Aubry"), "mon chef rentre quand", "Loïc"),
        (("Mon responsable s'appelle Loïc", "Ma directrice de thèse est Mme Aubry"), "elle rentre quand ma directrice", "Mme Aubry"),
    ],
)  # fmt: skip
def test_what_is_no_more_than_a_boss_is_the_boss(
    hippo: Hippocampe, told: Sequence[str], question: str, answer: str
) -> None:
    scope = Scope(user="zoe", channel="home")
    for statement in told:
        hippo.remember(statement, scope=scope)
    corpus = hippo._context.corpus
    found = relatives.with_names_of_relatives(
        corpus, question, RecallRequest(scope), corpus.store.now()
    )
    assert [answer in each for each in found] == [True]
