"""`/v1/embeddings`: the vectors that this site makes of texts, in OpenAI's wire format."""

import base64
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import BaseModel, Field, PlainValidator

from webapp.accounts.auth import current_user_id
from webapp.chat.api import limit_turns
from webapp.db.base import db
from webapp.errors import Invalid, NotFound
from webapp.gateway import requests
from webapp.http.validation import Line, check_storable
from webapp.http.views import PageBlueprint, ViewResult
from webapp.i18n.marks import say
from webapp.providers.clients import embedder
from webapp.text.tokens import estimate_tokens
from webapp.usage.service import require_room

blueprint = PageBlueprint("embeddings", __name__, url_prefix="/v1", access="user")

MAX_TEXTS = 256
MAX_CHARACTERS = 32_000
"""Of one text: about the 8,000 tokens that OpenAI takes; the models here read less of it."""


def _texts(value: Any) -> list[str]:
    items = [value] if isinstance(value, str) else value
    if not isinstance(items, list) or not items or not all(isinstance(text, str) and text for text in items):
        raise ValueError("input must be a text or a list of texts; tokens are not read here")
    if len(items) > MAX_TEXTS or any(len(text) > MAX_CHARACTERS for text in items):
        raise ValueError(f"input can have at most {MAX_TEXTS} texts of {MAX_CHARACTERS:,} characters")
    return [check_storable(text) for text in items]


class EmbeddingRequest(BaseModel):
    """A request for vectors. What is not named here is taken and has no effect."""

    model: Line = Field("default", max_length=240, description="“default” or the name of the model that the site uses.")
    input: Annotated[list[str], PlainValidator(_texts, json_schema_input_type=str | list[str])]
    encoding_format: Literal["float", "base64"] = "float"
    dimensions: int | None = Field(None, ge=1, description="Only the length that the model's vectors have.")


@blueprint.post("/embeddings")
@limit_turns
def create() -> ViewResult:
    """Return a vector of unit length for each text, by the model with which this site searches."""
    body = requests.read_body(EmbeddingRequest)
    require_room(current_user_id())
    db.session.rollback()  # no connection is held while the vectors are made
    made_by = embedder()
    if body.model not in ("default", made_by.model):
        raise NotFound(say("The model of this site for vectors is called %(name)s.", name=made_by.model))
    vectors = np.asarray(made_by.embed_passages(body.input), np.float32)
    if body.dimensions not in (None, vectors.shape[1]):
        raise Invalid.field("dimensions", say("can only be %(length)s", length=vectors.shape[1]))
    tokens = sum(map(estimate_tokens, body.input))
    return {
        "object": "list",
        "model": made_by.model,
        "data": [
            {"object": "embedding", "index": index, "embedding": _encode(vector, body.encoding_format)}
            for index, vector in enumerate(vectors)
        ],
        "usage": {"prompt_tokens": tokens, "total_tokens": tokens},
    }


def _encode(vector: Any, form: str) -> Any:
    return vector.tolist() if form == "float" else base64.b64encode(vector.astype("<f4").tobytes()).decode()
