"""No regular expression of the product takes more than linear work, whatever the text: one message stops nobody else.

How that is found out, so that a busy machine cannot make it fail, is described in `tests/support/slow_inputs.py`.
"""

import re

import pytest

from tests.support import slow_inputs
from tests.support.patterns import Found, patterns
from tests.support.slow_inputs import LINEAR, digest, slow, takes_long


def test_no_pattern_is_worse_than_linear(pytestconfig):
    known = set() if pytestconfig.getoption("--slow") else set(LINEAR.read_text().split())
    found = [*patterns("webapp"), *patterns("jobs")]
    new = [each for each in found if digest(each) not in known]
    assert not known or [each.where for each in new if takes_long(each)] == [], "run tests.support.slow_inputs"
    assert list(slow(new)) == []
    assert len(found) > 250


@pytest.mark.parametrize(("text", "anchored"), [(r"\s+$", False), (r"[ \t]*\|?[ \t]*x", True), (r"(\w+)*!", True)])
def test_a_bad_one_is_found(text, anchored, monkeypatch):
    monkeypatch.setattr(slow_inputs, "MUCH", 0.25)
    assert list(slow([Found("here", re.compile(text), anchored)])) != []


@pytest.mark.parametrize("text", [r"(?<!\s)\s+$", r"<[^<>]*>", r"\s+", r"a{1,20}b"])
def test_a_good_one_is_not(text):
    assert list(slow([Found("here", re.compile(text), False)])) == []


def test_patterns_are_found_wherever_they_are():
    found = {each.where.partition(":")[0]: each for each in patterns("fakemodel")}
    assert "fakemodel.tasks._SENTENCES[][]" in found, "within what a module holds"
    assert "fakemodel.tasks" in found, "inside a function"
    assert not found["fakemodel.tasks._WANTED"].anchored
    assert found["fakemodel.tasks.request._EXCHANGE"].anchored, "it is only used to match"
