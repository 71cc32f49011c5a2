"""The names of subjects, as people write them, without words that only look like names."""

from hippocampe import Hippocampe, Scope
from hippocampe.language.subject_names import as_written, subject_names

ME = Scope(user="owen")


def test_subjects_have_capitals_and_accents_and_none_is_junk(hippo: Hippocampe) -> None:
    for text, tags in (
        ("Élise habite à Rennes", ["élise"]),
        ("Camille part avec Élise", ["camille", "voyage"]),
        ("Camille a signé avec Mme Rouaud", []),
        ("Mme Picaud est la concierge du 14", []),
        ("Ask Owen how his first week at Halyard went", []),
        ("Le four chauffe à 170 °C", ["four"]),
        ("Owen Hartley is from Bristol", []),
        ("Marmite runs on the Raspberry Pi, says Owen", []),
        ("Le Phare Noir is where Owen dines", ["le phare noir"]),
        ("Fiona is Owen's sister", ["fiona"]),
    ):
        hippo.remember(text, scope=ME, subjects=tags)
    found = hippo.graph(scope=ME)
    labels = [node.label for node in found.nodes if node.type == "subject"]
    assert {"Élise", "Camille", "voyage", "Mme Rouaud", "Mme Picaud", "Owen", "Halyard"} <= set(
        labels
    )
    assert {"Raspberry Pi", "Fiona", "four", "Rennes"} <= set(labels)
    assert len(labels) == len(set(labels))
    junk = {"mme", "ask", "c", "hartley", "pi", "raspberry", "noir", "phare"}
    assert junk.isdisjoint(each.casefold() for each in labels)
    ids = {node.id for node in found.nodes}
    assert all({edge.source, edge.target} <= ids for edge in found.edges)


def test_a_title_is_no_subject_and_a_tag_always_is() -> None:
    texts = [
        ("Mme Rouaud vient", (), ("mme", "rouaud")),
        ("Mme Picaud dort", (), ("mme", "picaud")),
    ]
    assert subject_names(texts) == {"rouaud": "Mme Rouaud", "picaud": "Mme Picaud"}
    assert subject_names([("on en parle", ("Mme",), ("mme",))]) == {"mme": "Mme"}


def test_names_are_given_as_people_write_them() -> None:
    memories = [
        ("La sœur s'appelle Élise", ["élise"]),
        ("Marmite runs on the Raspberry Pi", []),
        ("la voile est pliée", ["semi-marathon"]),
    ]
    names = ["elise", "pi", "semi-marathon", "nowhere"]
    assert as_written(names, memories) == {
        "elise": "Élise",
        "pi": "pi",
        "semi-marathon": "semi-marathon",
        "nowhere": "nowhere",
    }
