"""Our own cases of the kinds of question that PrecisionMemBench asks, and that this package fails most.

    python benchmarks/foreign/kinds.py [--out FILE]

A case passes if what scores at least the default threshold of the product is what is wanted, no more and no less: names
of things as codes, capitals, typing errors, several topics at once, questions that nothing answers, and an old value beside
the new one. None of its beliefs or questions is of the benchmark.
"""

import argparse
import sys
import tempfile
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))
import common
from hippocampe import Config, Hippocampe, Scope
from hippocampe.types import Settings

ENOUGH = Settings().auto_retrieve_min_score
SPACE = Scope(space="team")
BELIEFS = {
    "ci": ("Our continuous integration runs on Jenkins", ["CI", "jenkins"]),
    "pay": ("Payments go through Stripe", ["PSP", "stripe"]),
    "db": ("The staging database is PostgreSQL 15", ["pg", "postgres"]),
    "iac": ("Infrastructure is described in Terraform modules", ["TF", "terraform", "iac"]),
    "mobile": ("The mobile app is written in React Native", ["RN", "react native"]),
    "ds": ("The design system is called Nimbus", ["DS", "nimbus"]),
    "oncall": ("The on-call rotation changes every Monday at nine", ["oncall", "pager"]),
    "editor": ("I prefer Visual Studio Code for front-end work", ["VSC", "vscode"]),
    "vault": ("Secrets are kept in HashiCorp Vault", ["HCV", "vault"]),
    "a11y": ("Accessibility follows WCAG 2.2 level AA", ["a11y", "wcag"]),
    "i18n": ("Translations use ICU message syntax", ["i18n", "icu"]),
    "otel": ("Traces are collected with OpenTelemetry", ["otel", "o11y"]),
    "log": ("Logs are structured as JSON with a request id", ["logging", "logs"]),
    "err": ("Errors are returned as RFC 9457 problem documents", ["error handling", "errors"]),
    "review": ("Pull requests need two approvals before merging", ["PR", "code review"]),
    "style": ("Python code is formatted with Black at 100 columns", ["formatting", "black"]),
    "queue": ("Background jobs run on RabbitMQ", ["MQ", "rabbit"]),
    "cache": ("Sessions are cached in Redis for thirty minutes", ["redis", "session cache"]),
    "deploy": ("We deploy to production on Tuesdays and Thursdays", ["deploy", "release"]),
    "gpu": ("Training jobs use two A100 cards", ["GPU", "training"]),
    "tea": ("Ines drinks only green tea at meetings", ["ines", "tea"]),
    "lang": ("Answer me in short bullet points", ["answer style", "tone"]),
    "monorepo": ("All services live in one monorepo built with Bazel", ["monorepo", "bazel"]),
    "search": ("Product search is served by Elasticsearch", ["ES", "elastic"]),
    "cdn": ("Static files are served from Fastly", ["CDN", "fastly"]),
}
"""By id: the text, and the names given with it."""
LATER = {
    "db": ("The staging database is now PostgreSQL 17", "Which database is on staging?"),
    "queue": ("We moved background jobs to NATS", "What do background jobs run on?"),
    "oncall": (
        "The on-call rotation changes every Wednesday",
        "When does the on-call rotation change?",
    ),
}
"""By the id of an old value: the new one, and a question that only the new one answers."""
CASES = (
    ("code", "How do we do a11y?", ["a11y"]),
    ("code", "what's our TF setup", ["iac"]),
    ("code", "who is the PSP?", ["pay"]),
    ("code", "RN version?", ["mobile"]),
    ("code", "is otel on?", ["otel"]),
    ("code", "rules for a PR", ["review"]),
    ("code", "which MQ do we use", ["queue"]),
    ("code", "ES cluster", ["search"]),
    ("code", "restart the CI", ["ci"]),
    ("code", "HCV", ["vault"]),
    ("code", "i18n format", ["i18n"]),
    ("code", "pg staging", ["db"]),
    ("caps", "WHERE ARE OUR SECRETS KEPT?", ["vault"]),
    ("caps", "WHICH DAYS DO WE DEPLOY?", ["deploy"]),
    ("caps", "WHAT DOES INES DRINK AT MEETINGS?", ["tea"]),
    ("caps", "PAYMENTS PROVIDER", ["pay"]),
    ("caps", "HOW ARE ERRORS RETURNED?", ["err"]),
    ("caps", "ON-CALL ROTATION", ["oncall"]),
    ("typo", "wich databse is used on stagging?", ["db"]),
    ("typo", "how are secrts stored", ["vault"]),
    ("typo", "terrafrom modules", ["iac"]),
    ("typo", "kubernets or rabitmq for background jobs?", ["queue"]),
    ("typo", "acessibility level", ["a11y"]),
    ("typo", "pull reqests approvals", ["review"]),
    ("typo", "elasticserch", ["search"]),
    ("typo", "what does inez drink at meetngs", ["tea"]),
    ("many", "How do we handle logs and errors?", ["log", "err"]),
    ("many", "React Native and accessibility", ["mobile", "a11y"]),
    ("many", "Redis and RabbitMQ", ["cache", "queue"]),
    ("many", "What do I need to know about terraform and vault?", ["iac", "vault"]),
    ("many", "stripe payments and error handling", ["pay", "err"]),
    ("many", "code review and formatting rules", ["review", "style"]),
    ("many", "traces and logs", ["otel", "log"]),
    ("many", "CI and deploys", ["ci", "deploy"]),
    ("none", "What is the capital of Peru?", []),
    ("none", "hello there", []),
    ("none", "write a haiku about autumn", []),
    ("none", "Do we have a mascot?", []),
    ("none", "thanks, that works", []),
    ("none", "convert 30 miles to km", []),
    ("none", "What is Bruno's phone number?", []),
    ("plain", "Where are our secrets kept?", ["vault"]),
    ("plain", "which database is on staging", ["db"]),
    ("plain", "what does Ines drink", ["tea"]),
    ("plain", "how are background jobs run", ["queue"]),
)


def asked(hippo: Hippocampe, question: str) -> set[str]:
    """The ids of what is given for a question."""
    found = hippo.recall(question, scope=SPACE, limit=20, min_score=ENOUGH)
    return {str(each.memory.metadata["id"]) for each in found if each.memory}


def measure(hippo: Hippocampe) -> dict[str, str]:
    """The share of the cases of each kind that pass."""
    passed: Counter[str] = Counter()
    total: Counter[str] = Counter()

    def count(kind: str, question: str, found: set[str], wanted: set[str]) -> None:
        total[kind] += 1
        passed[kind] += found == wanted
        if found != wanted:
            print(f"{kind}: {question!r} gave {sorted(found)}, not {sorted(wanted)}")

    for id, (text, names) in BELIEFS.items():
        hippo.remember(text, scope=SPACE, subjects=names, metadata={"id": id})
    for kind, question, wanted in CASES:
        count(kind, question, asked(hippo, question), set(wanted))
    for id, (text, question) in LATER.items():
        hippo.remember(text, scope=SPACE, metadata={"id": f"{id}, new"})
        count("old beside new", question, asked(hippo, question), {f"{id}, new"})
    return {kind: f"{passed[kind]} of {total[kind]}" for kind in total} | {
        "all": f"{passed.total()} of {total.total()}"
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        Hippocampe.open(Config(Path(folder), background=False), join=False) as hippo,
    ):
        result = measure(hippo)
    print(result)
    if given.out:
        common.save(given.out, "kinds", {"threshold": ENOUGH, "passed": result})


if __name__ == "__main__":
    main()
