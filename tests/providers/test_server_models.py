"""Which of the models a server lists can be offered, and which is to be the default."""

import json
from pathlib import Path

import pytest

from webapp.llm.settings import ModelSettings
from webapp.providers.downloads import MODELS, fitting_models, programs
from webapp.providers.schemas import server_url
from webapp.providers.server_models import (
    MAX_FIRST_OFFERED,
    MAX_OFFERED,
    PROVIDERS,
    ListedModel,
    budget,
    can_chat,
    choices_of,
    is_slow,
    models_from_listing,
    provider_at,
)

pytestmark = pytest.mark.once


@pytest.mark.parametrize("name", ["text-embedding-3-small", "whisper-1", "bge-m3", "gpt-image-1", "tts-1-hd"])
def test_what_cannot_chat_is_not_offered(name):
    assert not can_chat(name)
    assert choices_of([ListedModel(name)]) == []


def test_the_largest_is_the_default_and_then_the_newest():
    rows = [ListedModel("qwen3:1.7b"), ListedModel("a-14b"), ListedModel("z", created=5), ListedModel("y", created=9)]
    assert [choice.name for choice in choices_of(rows)] == ["a-14b", "qwen3:1.7b", "y", "z"]
    assert [choice.is_default for choice in choices_of(rows)] == [True, False, False, False]


def test_what_a_provider_prefers_comes_before_a_dated_copy_of_it():
    rows = [ListedModel(name) for name in ("gpt-4o-2024-08-06", "gpt-4o", "o3", "gpt-5-2025-08-07", "gpt-5")]
    found = choices_of(rows, PROVIDERS["openai"].prefers)
    assert [choice.name for choice in found if choice.is_offered] == ["gpt-5", "gpt-4o", "o3"]
    assert found[0].is_default
    assert {choice.name for choice in found if not choice.is_offered} == {"gpt-4o-2024-08-06", "gpt-5-2025-08-07"}


def test_of_many_models_a_few_are_ticked():
    found = choices_of([ListedModel(f"model-{number:02}") for number in range(MAX_FIRST_OFFERED + 1)])
    assert sum(choice.is_offered for choice in found) == MAX_OFFERED
    assert len(found) == MAX_FIRST_OFFERED + 1


def test_a_provider_is_known_by_its_address_and_puts_the_key_where_it_wants_it():
    whole = "https://api.anthropic.com/v1/chat/completions/"  # as in a provider's example of a request
    assert ModelSettings(base_url=whole).endpoint()[0] == server_url(whole)
    found = provider_at(server_url(whole))
    assert found is not None
    assert found.headers_with("k1")["x-api-key"] == "k1"
    assert provider_at("https://elsewhere.example/v1") is None


def test_models_to_fetch_fit_into_memory_and_speak_the_language():
    for memory in (1.0, 4.0, 8.0, 64.0):
        found = fitting_models(memory, "de")
        assert 1 <= len(found) <= 3
        assert all(model.memory <= memory for model in found) or memory < 2
    assert all("ar" in model.languages for model in fitting_models(64.0, "ar"))
    assert len({model.name for model in MODELS}) == len(MODELS)
    assert {program.name for program in programs("Darwin")} == {"Ollama", "llama.cpp", "LM Studio"}


@pytest.mark.cases("window", "speed", "used")
def test_a_slow_model_gets_no_longer_prompts_than_it_can_read(window, speed, used):
    assert budget(window, speed) == used
    assert is_slow(speed) == (speed is not None and speed < 100)


@pytest.mark.parametrize("listing", json.loads(Path(__file__).with_name("listings.json").read_text()))
def test_a_list_of_models_is_read_in_any_shape(listing):
    assert [model.name for model in models_from_listing(listing)] == ["a/b:c", "d"]


@pytest.mark.parametrize(
    "listing",
    [{}, "text", None, {"data": {"a": 1}}, {"object": "error"}, {"detail": [{"msg": "no"}]}, {"error": [{"id": "a"}]}],
)
def test_anything_else_is_no_list_of_models(listing):
    with pytest.raises(TypeError):
        models_from_listing(listing)
    assert models_from_listing({"object": "list", "data": None}) == []
