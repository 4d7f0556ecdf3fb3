"""Fixtures of the tests of the administration."""

import pytest


@pytest.fixture
def browser(login, make_user):
    """The signed-in browser of an admin, Ada."""
    return login(make_user(name="Ada", is_admin=True))
