"""An administrator."""

from collections.abc import Callable

import pytest

from testkit.people import ApiClient, Person


@pytest.fixture
def boss(make_user: Callable[..., Person]) -> Person:
    """An admin."""
    return make_user(is_admin=True)


@pytest.fixture
def admin(api: Callable[[Person], ApiClient], boss: Person) -> ApiClient:
    """The client of an admin."""
    return api(boss)
