"""Every operation does what its description says, whatever it is sent: found by Schemathesis from the description."""

from __future__ import annotations

import random

import pytest
import schemathesis
from hypothesis import HealthCheck, settings
from schemathesis.checks import CHECKS
from schemathesis.specs.openapi.checks import (
    allow_header_conformance,
    ignored_auth,
    negative_data_rejection,
    positive_data_acceptance,
    unsupported_method,
    use_after_free,
)

from webapp import create_app
from webapp.accounts.schemas import NewToken
from webapp.accounts.tokens import create_token
from webapp.config import Settings
from webapp.conversations.models import Conversation, Message
from webapp.database import db, write_transaction
from webapp.openapi.docs import published

pytestmark = pytest.mark.once  # about what is said on HTTP, not about what is asked of the database

# Not promised by a description alone:
NOT_HELD = [
    positive_data_acceptance,  # an id that fits the model need not exist; a password that fits may be the wrong one
    ignored_auth,  # tests/accounts proves who may do what, with real tokens
    use_after_free,
]
# Ids that exist are put in after a request was made, so whether it was meant to be wrong is not known any more.
NOT_HELD_FOR_REAL_IDS = [*NOT_HELD, negative_data_rejection, unsupported_method]


# A path that is also a journey's of that name: OPTIONS truly allows what the journey's operations do.
ALSO_NAMES = {"/api/journeys/import"}

SCHEMA = schemathesis.openapi.from_dict(published(create_app(Settings(secret_key="only describes, never serves"))))
SCHEMA.config.generation.update(max_examples=5)


@pytest.fixture
def existing(app, make_user):
    """An admin with a conversation, a message and its reply; what exists, by path parameter."""
    person = make_user(is_admin=True)
    other = make_user()
    with app.app_context(), write_transaction():
        conversation = Conversation(user_id=person.user_id, title="Trip to Lisbon")
        db.session.add(conversation)
        db.session.flush()
        messages = [
            Message(conversation_id=conversation.conversation_id, role=role, content=text, status="complete")
            for role, text in (("user", "What should I pack?"), ("assistant", "Light layers."))
        ]
        for message in messages:
            db.session.add(message)
            db.session.flush()
        token, _ = create_token(person.user_id, NewToken(name="to be revoked"))
        asked, reply = (message.message_id for message in messages)
        return person, {
            "conversation_id": [conversation.conversation_id],
            "message_id": [asked, reply],
            "version_id": [asked, reply],
            "turn_id": [reply],
            "token_id": [token.token_id],
            "user_id": [other.user_id],
        }


@SCHEMA.parametrize()
@settings(deadline=None, derandomize=True, database=None, suppress_health_check=list(HealthCheck))
def test_anything_is_answered_as_described(case, existing, app):
    person, ids = existing
    wishes = {"app": app, "headers": {"Authorization": f"Bearer {person.token}"}}
    shared = [allow_header_conformance] if case.operation.path in ALSO_NAMES else []
    case.call_and_validate(**wishes, excluded_checks=[*NOT_HELD, *shared])
    if case.path_parameters:
        choice = random.Random(str(case.path_parameters))
        # A new kind of id without an entry above is tried as generated only.
        case.path_parameters = {
            name: choice.choice(ids.get(name, [value])) for name, value in case.path_parameters.items()
        }
        case.call_and_validate(**wishes, excluded_checks=NOT_HELD_FOR_REAL_IDS)


def test_no_check_is_excluded_by_mistake():
    assert set(CHECKS.get_all_names()) - {check.__name__ for check in NOT_HELD} >= {
        "not_a_server_error",
        "status_code_conformance",
        "content_type_conformance",
        "response_headers_conformance",
        "response_schema_conformance",
        "negative_data_rejection",
        "missing_required_header",
        "unsupported_method",
    }
