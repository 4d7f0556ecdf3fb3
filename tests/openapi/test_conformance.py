"""Every operation does what its description says, whatever it is sent: found by Schemathesis from the description."""

import os
import random
import sys
from collections import Counter

import pytest
import schemathesis
from hypothesis import HealthCheck, Phase, settings
from schemathesis.checks import CHECKS
from schemathesis.core.parameters import ParameterLocation
from schemathesis.generation.meta import TestPhase
from schemathesis.specs.openapi.checks import (
    allow_header_conformance,
    ignored_auth,
    negative_data_rejection,
    positive_data_acceptance,
    unsupported_method,
    use_after_free,
)

from tests.openapi.useful import BODIES, Stocked, bent, body_of
from webapp import create_app
from webapp.config import Settings
from webapp.openapi.docs import openapi_document

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
METHODS = ("get", "post", "put", "patch", "delete")
# Not tried with ids that exist:
NOT_FOR_REAL = {
    "/api/files/{file_id}/content",  # sent as it lies on the disk: Schemathesis leaves it open, which is an error here
    "/api/exports/{export_id}/download",  # likewise
    "/api/tool-servers/{server_id}/test",  # asks another machine
}
ALSO_NAMES = {"/api/journeys/import"}

SCHEMA = schemathesis.openapi.from_dict(
    openapi_document(create_app(Settings(secret_key="only describes, never serves")))
)
OPERATIONS = sum(1 for path in SCHEMA.raw_schema["paths"].values() for method in path if method in METHODS)
# `make fuzz` asks for a number of cases in all; each operation gets its share, and other cases each time.
SLOW = "--slow" in sys.argv
CASES = int(os.environ.get("FUZZ_CASES") or 0)
SHARE = -(-CASES // OPERATIONS) if CASES else 5
SCHEMA.config.generation.update(max_examples=SHARE)
SCHEMA.config.phases.coverage.unexpected_methods = {"put", "patch"}  # one of each is as wrong as all eight
REJECTS = SCHEMA.config.checks.negative_data_rejection
REJECTS.expected_statuses = [*REJECTS.expected_statuses, "413"]  # a text may be too long for any body
OF_A_KIND = 1
"""How many cases are tried that are wrong, or right, in the same way: `--slow` tries each value of each parameter."""
FOR_REAL = 3
"""How many cases are tried again with ids that exist; `--slow` tries all of them again."""


@pytest.fixture
def existing(app, make_user):
    """An admin with one of everything; what exists, by path parameter."""
    return Stocked(app, make_user(is_admin=True), make_user(), make_user())


def _is_mended_by_the_token(case):
    """Whether a request was meant to be wrong in its headers alone, among which the true token takes its place."""
    wrong = [place for place, part in case.meta.components.items() if part.mode.is_negative]
    return wrong == [ParameterLocation.HEADER]


def _kind(case):
    """What a case of Schemathesis's coverage is to show, and where; None for any other."""
    shown = case.meta.phase.data if case.meta.phase.name is TestPhase.COVERAGE else None
    return shown and (case.operation.label, shown.scenario, shown.parameter_location)


OF_KINDS = Counter()


@SCHEMA.hook
def filter_case(_context, case):
    """Leave out what is wrong, or right, as another case is, before Hypothesis takes it for an example."""
    kind = _kind(case)
    OF_KINDS[kind] += 1
    return kind is None or CASES > 0 or SLOW or OF_KINDS[kind] <= OF_A_KIND


@pytest.fixture
def case_counts():
    """How many cases this operation has had that are not tried as often as others: one at least."""
    counts = Counter()
    yield counts
    assert counts["with ids that exist"]


@SCHEMA.parametrize()
@settings(
    derandomize=not CASES,
    database=None,
    max_examples=SHARE,
    phases=list(Phase) if CASES or SLOW else [Phase.explicit],
    suppress_health_check=list(HealthCheck),
)
def test_anything_is_answered_as_described(case, existing, app, case_counts):
    wishes = {"app": app, "headers": existing.headers(case.operation.definition.raw["security"])}
    shared = [allow_header_conformance] if case.operation.path in ALSO_NAMES else []
    if _is_mended_by_the_token(case):
        shared.append(negative_data_rejection)
    case.call_and_validate(**wishes, excluded_checks=[*NOT_HELD, *shared])
    case_counts["with ids that exist"] += 1
    if case_counts["with ids that exist"] > FOR_REAL and not (CASES or SLOW):
        return
    if case.path_parameters and case.operation.path not in NOT_FOR_REAL:
        choice = random.Random(str(case.path_parameters))
        # A new kind of id that Existing knows nothing of is tried as generated only.
        case.path_parameters = {
            name: choice.choice(existing.values(name) or [value]) for name, value in case.path_parameters.items()
        }
        case.call_and_validate(**wishes, excluded_checks=NOT_HELD_FOR_REAL_IDS)
    if (body := body_of(existing, case.operation.label)) and (CASES or not case_counts["useful"]):
        case_counts["useful"] += 1
        choice = random.Random(str(case.body))
        for sent in (body, bent(body, case.body, choice)):
            path = {name: choice.choice(existing.values(name)) for name in case.path_parameters or ()}
            again = case.operation.Case(path_parameters=path, body=sent, media_type="application/json")
            again.call_and_validate(**wishes, excluded_checks=NOT_HELD_FOR_REAL_IDS)


def test_what_is_useful_belongs_to_operations_that_there_are():
    known = {f"{method.upper()} {path}" for path, of in SCHEMA.raw_schema["paths"].items() for method in of}
    assert set(BODIES) <= known


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
