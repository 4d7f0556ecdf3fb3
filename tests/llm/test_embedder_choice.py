"""The embedders of a process: an older choice's connections are closed once nobody needs them."""

import pytest

from tests.llm.helpers import settings_for
from webapp.llm.embedder_choice import MOST_KEPT, Embeddings
from webapp.llm.embeddings import OpenAIEmbedder
from webapp.llm.minilm import LocalEmbedder
from webapp.llm.settings import ModelSettings


@pytest.fixture
def chosen() -> list[ModelSettings]:
    return []


@pytest.fixture
def made(chosen: list[ModelSettings]) -> Embeddings:
    return Embeddings(LocalEmbedder(), choose=lambda: chosen[-1])


def test_what_gave_way_is_closed_when_its_last_user_is_done(server, made, chosen) -> None:
    chosen.append(settings_for(server))
    first = made.now()
    assert isinstance(first, OpenAIEmbedder)
    first.embed_passages(["bees"])
    client = first._client.get()
    for number in range(MOST_KEPT):
        chosen.append(settings_for(server, api_key=f"key {number}"))
        made.now()
    assert not client.is_closed()
    first.embed_passages(["whoever asked before stays with it"])
    del first
    assert client.is_closed()
    made.close()
