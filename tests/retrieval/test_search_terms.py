"""Queries in the manner of a search box: names of topics, alone or several, without a sentence."""

import pytest

from hippocampe import Hippocampe, Scope
from hippocampe.language.search_terms import search_terms
from hippocampe.types import Settings

ENOUGH = Settings().auto_retrieve_min_score
TEAM = {
    "Payments go through Stripe": ["PSP"],
    "Secrets are kept in HashiCorp Vault": ["HCV"],
    "Background jobs run on RabbitMQ": ["MQ"],
    "Sessions are cached in Redis for thirty minutes": [],
    "Errors are returned as problem documents": ["error handling"],
    "Les traces sont collectées avec OpenTelemetry": ["otel"],
    "Inès ne boit que du thé vert en réunion": [],
    "The design system is called Nimbus": [],
    "Product search is served by Elasticsearch": [],
    "We deploy to production on Tuesdays": [],
}


@pytest.mark.parametrize(
    ("query", "terms"),
    [
        ("Redis and RabbitMQ", ("Redis", "RabbitMQ")),
        ("vélo et train", ("vélo", "train")),
        ("Zoé, Paul & Anna", ("Zoé", "Paul", "Anna")),
        ("WIFI PASSWORD", ("WIFI PASSWORD",)),
        ("redis and redis", ("redis",)),
        ("thanks, that works", ()),
        ("thanks love", ()),
        ("on the bus, 5 mins", ()),
        ("omw, 10 mins", ()),
        ("parking, 15€", ()),
        ("gare, 18h30", ()),
        ("gym, rent", ("gym", "rent")),
        ("ha, nice one", ()),
        ("merci beaucoup, bonne nuit", ()),
        ("Does Redis run?", ()),
        ("c'est quoi", ()),
        ("the anniversary of Zoé", ()),
        ("one, two, three, four, five", ()),
        ("https://example.org/wiki/Redis", ()),
        ("", ()),
    ],
)
def test_terms(query: str, terms: tuple[str, ...]) -> None:
    assert search_terms(query) == terms


@pytest.fixture
def team(hippo: Hippocampe, scope: Scope) -> Hippocampe:
    for content, names in TEAM.items():
        hippo.remember(content, scope=scope, subjects=names)
    return hippo


@pytest.mark.parametrize(
    ("query", "wanted"),
    [
        ("HCV", {"Secrets are kept in HashiCorp Vault"}),
        # A name that a text holds inside another word is still a name of it.
        ("which MQ do we use", {"Background jobs run on RabbitMQ"}),
        ("PAYMENTS PROVIDER", {"Payments go through Stripe"}),
        (
            "Redis and RabbitMQ",
            {"Sessions are cached in Redis for thirty minutes", "Background jobs run on RabbitMQ"},
        ),
        (
            "stripe payments and error handling",
            {"Payments go through Stripe", "Errors are returned as problem documents"},
        ),
        ("thé vert", {"Inès ne boit que du thé vert en réunion"}),
        ("thé", {"Inès ne boit que du thé vert en réunion"}),
        ("weather tomorrow", set()),
        ("good evening", set()),
    ],
)
def test_what_terms_find(team: Hippocampe, scope: Scope, query: str, wanted: set[str]) -> None:
    found = team.recall(query, scope=scope, min_score=ENOUGH)
    assert {item.content for item in found} == wanted


def test_several_topics_are_explained_within_the_limit(team: Hippocampe, scope: Scope) -> None:
    found = team.recall("Redis and RabbitMQ", scope=scope, limit=2, explain=True)
    assert len(found) == 2
    assert all(item.why for item in found)
    assert found[0].score >= found[1].score
