"""The prompts say how memory works and nothing of who the companion is."""

import re
from importlib.resources import files

import pytest

from hippocampe import Settings
from hippocampe.companion import agent, capability, memory_tools, tools
from hippocampe.companion.memory_tools import NAMES
from hippocampe.language.i18n import languages

MODES = ("agentic", "systematic", "hybrid")
IDENTITY = {
    "fr": r"\btu (es|vis|viens|t'appelles|aimes|habites)\b(?! pas sûr)|\bton nom\b|\bta personnalité\b|"
    r"\b(créature|robot|assistant|assistante|compagnon|amie?|curieu\w*|enjoué\w*|timide|gentille?)\b",
    "en": r"\byou (are|were|live|like|love)\b|\byour (name|personality|character|creator)\b|"
    r"\b(creature|robot|assistant|companion|friend\w*|curious|playful|shy|kind|helpful)\b",
}
ALLOWED = ("where you are", "what you like", "où tu es, d'où tu viens", "ce que tu aimes")
"""What the categories of `self` mean: questions, not answers."""


def texts(language: str) -> dict[str, str]:
    folder = files("hippocampe.language") / language
    found = [*(folder / "prompts" / "companion").iterdir(), folder / "tools.toml"]
    return {each.name: each.read_text(encoding="utf-8") for each in found}


@pytest.mark.parametrize("language", languages())
def test_no_prompt_says_who_the_companion_is(language: str) -> None:
    for name, text in texts(language).items():
        for allowed in ALLOWED:
            text = text.replace(allowed, "")
        assert not re.search(IDENTITY[language], text, re.IGNORECASE), name
        for known in (*Settings().companion_names, "hippocampe"):
            assert known not in text.lower().replace("<hippocampe-memory>", ""), name


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize(
    "said", ["Tu es une créature curieuse.", "You are a helpful assistant.", "Your name is Eko."]
)
def test_the_check_finds_identities(language: str, said: str) -> None:
    assert re.search("|".join(IDENTITY.values()), said, re.IGNORECASE)


@pytest.mark.parametrize("language", languages())
def test_every_tool_is_described(language: str) -> None:
    wordings = memory_tools.wordings(language)
    assert wordings.keys() == NAMES | {"respond", "argument"}
    assert len(NAMES) == 10
    for tool in memory_tools.COMPANION_TOOLS:
        arguments = wordings[tool.name].keys() - {"description"}
        assert arguments <= tool.parameters.keys()
        text = tools.description(tool.name, language)
        assert all(f"`{name}`" in text for name in arguments)


@pytest.mark.parametrize("language", languages())
def test_the_prompt_names_every_tool_but_the_rarest(language: str) -> None:
    text = agent.instructions("hybrid", language)
    named = set(re.findall(r"`(\w+)`", text))
    assert NAMES - {"delete_memory"} <= named
    assert "respond" in named


@pytest.mark.parametrize("language", languages())
@pytest.mark.parametrize("mode", MODES)
def test_prompts_are_short(language: str, mode: str) -> None:
    assert 200 < len(agent.instructions(mode, language)) < 2_500


@pytest.mark.parametrize("language", languages())
def test_an_agent_of_a_host_is_told_of_its_tools_only(language: str) -> None:
    text = capability.instructions(Settings(language=language), tools=True)
    named = {each for each in re.findall(r"`(\w+)`", text) if "_" in each or each == "respond"}
    assert named <= NAMES
