"""LangChain's agents and LangGraph's store, with their packages and a scripted model."""

from collections.abc import Callable

from hippocampe import Scope
from hosting import Host, check_prefix
from model_server import Answer, Call, ModelRequest

Find = Callable[[str], Host]
THREAD = """
from langchain_core.tools import tool
from langgraph.checkpoint.memory import InMemorySaver


@tool
def weather(city: str) -> str:
    "The weather of a city."
    return f"rain at {city}"


agent = create_agent(
    ChatOpenAI(model="scripted", stream_usage=False),
    system_prompt="Be brief.",
    tools=[weather],
    middleware=[LongTermMemory(hippo, scope=lambda runtime: Scope(user="paul"))],
    checkpointer=InMemorySaver(),
)
config = {"configurable": {"thread_id": "kitchen"}}
for text in ("What do I drink in the morning?", "And at Nantes?", "Thanks"):
    state = agent.invoke({"messages": [{"role": "user", "content": text}]}, config)
assert not any("hippocampe-memory" in str(each.content) for each in state["messages"])

import asyncio

state = asyncio.run(agent.ainvoke({"messages": [("user", "Bye")]}, config))
hippo.close()
"""


def brain(request: ModelRequest) -> Answer:
    """A model that looks at the weather for one question."""
    if "Nantes" in request.asked and not request.results:
        return Answer(calls=(Call("weather", {"city": "Nantes"}),))
    return Answer(f"Answer to {request.asked.splitlines()[-1]}")


def test_an_agent_remembers(host: Find) -> None:
    found = host("agents")
    found.server.brain = brain
    shown = found.page("langchain.md", THREAD)
    assert shown.splitlines() == [
        "Answer to What do I drink in the morning?",
        "boat 9",
    ]
    first, *thread = found.server.requests
    assert "Paul drinks green tea" in first.asked
    assert first.asked.endswith("What do I drink in the morning?")
    said = [
        each.content for each in found.memory.messages(scope=Scope()) if each.channel == "kitchen"
    ]
    assert said[:2] == [
        "What do I drink in the morning?",
        "Answer to What do I drink in the morning?",
    ]
    assert len([each for each in said if each == "Bye"]) == 1
    assert found.memory.search_text("rain at Nantes", scope=Scope())
    check_prefix([each.body for each in thread])


STORE = """
import asyncio, json, random, sys
from langgraph.store.base import GetOp, ListNamespacesOp, MatchCondition, PutOp, SearchOp
from langgraph.store.memory import InMemoryStore
from hippocampe import AsyncHippocampe, Hippocampe
from hippocampe.integrations.langgraph import HippocampeStore

hippo = Hippocampe.open("./data")
ours, theirs = HippocampeStore(AsyncHippocampe(hippo)), InMemoryStore()
chance = random.Random(7)
namespaces = [("users", "paul"), ("users", "inès"), ("users", "paul", "notes"), ("docs",)]
values = [
    {"text": "Paul habite à Nantes", "n": 1},
    {"text": "Paul habite à Lyon", "n": 2},
    {"text": "Paul habite à Lyon", "n": 2},
    {"text": "He said: \\"no\\"\\n\\ttwice \\u0001 \\u2028", "n": 3.5, "deep": {"a": [1, None, True]}},
]
filters = [None, {"n": 2}, {"n": {"$gte": 2, "$lt": 3}}, {"deep": {"a": [1, None, True]}}, {"n": {"$ne": 1}}]
conditions = [None, (MatchCondition("prefix", ("users", "*")),), (MatchCondition("suffix", ("notes",)),)]


def operation():
    namespace, key = chance.choice(namespaces), chance.choice("abc")
    kind = chance.randrange(6)
    if kind < 3:
        return PutOp(namespace, key, chance.choice([*values, None]))
    if kind == 3:
        return GetOp(namespace, key)
    if kind == 4:
        return SearchOp(namespace[: chance.randrange(3)], chance.choice(filters), limit=chance.choice([2, 50]))
    return ListNamespacesOp(chance.choice(conditions), max_depth=chance.choice([None, 1, 2]), limit=10)


def plain(result, limited):
    if isinstance(result, list):
        if limited:
            return len(result)
        return sorted(json.dumps(plain(each, False), ensure_ascii=False) for each in result)
    return {"key": result.key, "value": result.value, "namespace": result.namespace} if hasattr(result, "key") else result


for _ in range(60):
    ops = [operation() for _ in range(chance.randrange(1, 4))]
    # Their list has namespaces that are empty again.
    found, wanted = ours.batch(ops), theirs.batch(ops)
    for op, one, other in zip(ops, found, wanted):
        if isinstance(op, ListNamespacesOp):
            used = {each.namespace for each in theirs.search((), limit=1000)}
            continue
        limited = isinstance(op, SearchOp) and op.limit == 2
        assert plain(one, limited) == plain(other, limited), (op, one, other)

held = theirs.search((), limit=1000)
assert sorted(ours.list_namespaces()) == sorted({each.namespace for each in held})
assert set(ours.list_namespaces(prefix=("users",), max_depth=2)) == {
    each.namespace[:2] for each in held if each.namespace[0] == "users"
}
ours.put(("tea",), "paul", {"text": "Paul drinks green tea"})
first = ours.get(("tea",), "paul")
ours.put(("tea",), "paul", {"text": "Paul drinks coffee, not tea"})
again = asyncio.run(ours.aget(("tea",), "paul"))
assert again.value == {"text": "Paul drinks coffee, not tea"}
assert again.created_at == first.created_at < again.updated_at
ours.put(("tea",), "secret", {"text": "tea at noon"}, index=False)
best, *rest = ours.search(("tea",), query="tea", limit=5)
assert (best.key, best.score > 0) == ("paul", True)
assert [(each.key, each.score) for each in rest] == [("secret", None)]
try:
    ours.put(("tea",), "paul", {"text": "x"}, ttl=5)
except NotImplementedError:
    pass
else:
    raise AssertionError("a time to live is refused")
secrets = {
    "card": 4111111111111111,
    "n": 1,
    "text": 'Mon mot de passe est "noyer88!x", my password is "walnut88!x"',
    "login": {"password": 12345678, "user": "paul"},
    "notes": ["le port de Nantes", "mdp : n0yer99"],
}
ours.put(("safe",), "paul", secrets)
held = ours.get(("safe",), "paul").value
assert (held["n"], held["login"]["user"], held["notes"][0]) == (1, "paul", "le port de Nantes")
assert held["text"] == "Mon mot de passe est '[secret: password]', my password is '[secret: password]'"
assert not any(str(each) in json.dumps(held) for each in (4111111111111111, 12345678, "88!x", "n0yer99"))
assert ours.search(("safe",), filter={"n": 1})[0].key == "paul"
hippo.close()
"""


def test_the_store_answers_as_that_of_langgraph(host: Find) -> None:
    host("agents").run(STORE)
