"""Every call of the background model is paid for, within the daily budget of its space."""

import logging

import pytest

from conftest import MODEL, FakeClock, Opener
from hippocampe import BudgetSpent, Hippocampe, InvalidAnswer, ModelUnavailable, Scope
from model_server import Answer, Call, ModelRequest, ModelServer

HERE = Scope(user="dev", channel="desk")
PRICED = "openai-chat:gpt-4o-mini"


def nothing(request: ModelRequest) -> Answer:
    return Answer(calls=(Call("answer", {"statements": []}),))


def told(hippo: Hippocampe) -> str:
    return hippo.after_turn("J'habite à Pau depuis mars", "Belle ville.", scope=HERE)


def test_an_answer_that_cannot_be_used_is_paid_for(server: ModelServer, open_hippo: Opener) -> None:
    hippo = open_hippo(model=PRICED)
    turn = told(hippo)
    server.brain = lambda request: Answer("Je ne sais pas.")
    with pytest.raises(InvalidAnswer, match="requested form"):
        hippo.extract(turn, scope=HERE)
    [call] = hippo.usage(scope=HERE)
    assert (len(server.requests), call.purpose, call.model) == (2, "extract", "gpt-4o-mini")
    assert min(call.input_tokens, call.output_tokens) > 0
    assert call.price


def test_the_budget_ends_a_model_that_never_answers(
    server: ModelServer, open_hippo: Opener
) -> None:
    hippo = open_hippo(model=PRICED)
    hippo.update_settings(scope=HERE, daily_budget=0.0005)
    turn = told(hippo)
    server.brain = lambda request: Answer("Je ne sais pas. " * 100)
    for _ in range(3):
        with pytest.raises((InvalidAnswer, BudgetSpent)):
            hippo.extract(turn, scope=HERE)
    with pytest.raises(BudgetSpent, match="background calls may use 80 %"):
        hippo.extract(turn, scope=HERE)


def test_a_spent_budget_is_said_and_is_whole_again_at_midnight(
    server: ModelServer,
    open_hippo: Opener,
    clock: FakeClock,
    caplog: pytest.LogCaptureFixture,
) -> None:
    hippo = open_hippo(model=MODEL)
    hippo.update_settings(scope=HERE, daily_budget=1.0, timezone="America/Montreal")
    hippo.record_usage(
        scope=HERE, model="m", purpose="chat", input_tokens=1, output_tokens=1, price=0.85
    )
    server.brain = nothing
    told(hippo)
    with caplog.at_level(logging.WARNING, "hippocampe"):
        [run] = hippo.run_jobs(scope=HERE)
    assert (run.state, server.requests) == ("failed", [])
    assert "BudgetSpent" in (run.error or "")
    assert "budget of space default" in caplog.text
    # Midnight in Paris, and in UTC, is evening in Montreal.
    clock.advance(hours=15)
    [run] = hippo.run_jobs(scope=HERE)
    assert run.state == "failed"
    clock.advance(hours=5)
    [run] = hippo.run_jobs(scope=HERE)
    assert run.state == "done"


def test_the_fallback_model_takes_over_in_the_background(
    server: ModelServer, open_hippo: Opener
) -> None:
    hippo = open_hippo(
        background_model="openai-chat:first", fallback_model="anthropic:claude-second"
    )
    server.brain = lambda request: (
        Answer("down", status=500) if request.model == "first" else nothing(request)
    )
    hippo.extract(told(hippo), scope=HERE)
    [call] = hippo.usage(scope=HERE)
    assert call.model == "claude-second"


def test_an_answer_is_bounded(server: ModelServer, open_hippo: Opener) -> None:
    hippo = open_hippo(model=MODEL)
    server.brain = nothing
    hippo.extract(told(hippo), scope=HERE)
    [request] = server.requests
    assert request.max_tokens == 8_000


def test_a_request_that_the_model_refuses_does_not_stop_the_others(
    server: ModelServer, open_hippo: Opener, clock: FakeClock
) -> None:
    hippo = open_hippo(model=MODEL)

    def brain(request: ModelRequest) -> Answer:
        refused = "dragon" in request.asked
        return Answer("no", status=400) if refused else nothing(request)

    server.brain = brain
    hippo.after_turn("Mon dragon habite à Pau", "Ah.", scope=HERE)
    told(hippo)
    states = {run.state for run in hippo.run_jobs(scope=HERE)}
    assert states == {"failed", "done"}
    for _ in range(5):
        clock.advance(hours=2)
        hippo.run_jobs(scope=HERE)
    [parked] = hippo.jobs(scope=HERE, states=["parked"])
    assert "refused the request (status 400)" in (parked.error or "")
    assert "dragon" not in (parked.error or "")


def test_talk_that_is_too_long_for_the_model_is_read_in_halves(
    server: ModelServer, open_hippo: Opener
) -> None:
    hippo = open_hippo(model=MODEL)

    def brain(request: ModelRequest) -> Answer:
        if len(request.asked) > 1_500:
            code = "context_length_exceeded"
            return Answer(f"{code}: maximum context length is 2048 tokens.", status=400)
        return nothing(request)

    server.brain = brain
    for number in range(30):
        said = f"le poulailler numéro {number} a besoin de paille et de grain"
        hippo.observe(said, scope=Scope(user="ana", channel="lobby"))
    assert hippo.digest(scope=HERE).messages == 30


@pytest.mark.parametrize(
    ("status", "says"),
    [(401, "key"), (404, "no model"), (429, "too many requests"), (500, "status 500")],
)
def test_a_model_that_is_down_says_why(
    server: ModelServer, open_hippo: Opener, status: int, says: str
) -> None:
    hippo = open_hippo(model=MODEL)
    server.brain = lambda request: Answer("no", status=status, retry_after=0.01)
    with pytest.raises(ModelUnavailable, match=says):
        hippo.extract(told(hippo), scope=HERE)
    assert hippo.usage(scope=HERE) == []
