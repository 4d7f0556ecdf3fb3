"""`/v1/embeddings`: the site's own vectors, for OpenAI's client too."""

import numpy as np
import openai
from flask.testing import FlaskClient

from testkit.people import ApiClient
from tests.gateway.test_completions import official  # noqa: F401
from webapp.gateway.embeddings_api import MOST_TEXTS
from webapp.providers.clients import embedder


def test_the_official_client_gets_the_vectors_that_the_site_makes(
    official: openai.OpenAI,  # noqa: F811
    client: ApiClient,
) -> None:
    texts = ["Keeps bees on the roof", "Honey from the hive", "Quarterly tax return"]
    made = official.embeddings.create(model="default", input=texts)  # as base64, as it asks for by itself
    vectors = np.array([item.embedding for item in made.data])
    plain = client.post("/v1/embeddings", json={"input": texts[0], "encoding_format": "float"}).get_json()
    assert np.allclose(vectors[0], plain["data"][0]["embedding"], atol=1e-6)
    assert np.allclose(np.linalg.norm(vectors, axis=1), 1, atol=1e-3)
    assert [item.index for item in made.data] == [0, 1, 2] and made.usage.total_tokens > 0
    assert plain["model"] == made.model


def test_the_model_may_be_named(app, client: ApiClient) -> None:
    with app.app_context():
        name = embedder().model
    assert client.post("/v1/embeddings", json={"model": name, "input": "a"}).status_code == 200
    refused = client.post("/v1/embeddings", json={"model": "text-embedding-9", "input": "a"})
    assert refused.status_code == 404 and name in refused.get_json()["error"]["message"]


def test_what_is_not_read_is_named(client: ApiClient) -> None:
    odd = ["", [], [1, 2], ["a"] * (MOST_TEXTS + 1), "a" * 40_000]
    more = [{"input": "a", "encoding_format": "hex"}, {"input": "a", "dimensions": 3}]
    for body in ({}, *({"input": text} for text in odd), *more):
        refused = client.post("/v1/embeddings", json=body)
        assert refused.status_code == 400 and refused.get_json()["error"]["message"], body


def test_a_token_is_needed(anonymous: FlaskClient) -> None:
    assert anonymous.post("/v1/embeddings", json={"input": "a"}).status_code == 401
