"""What admins may do to accounts, where the page cannot lead to."""

import itertools

import pytest

from webapp.accounts import service
from webapp.accounts.passwords import password_problem
from webapp.accounts.schemas import UserChanges
from webapp.admin import users
from webapp.errors import Conflict


def test_passwords_are_long_and_acceptable():
    letters = itertools.cycle(users._ALPHABET)
    assert users.generate_password(lambda _: next(letters)) == "abcde-fghjk-mnpqr-stuvw"
    made = {users.generate_password() for _ in range(50)}
    assert len(made) == 50
    assert not any(password_problem(password, "somebody@example.org") for password in made)


def test_the_last_admin_stays_when_two_unmake_each_other(app_context, make_user):
    ada, bob = make_user(is_admin=True), make_user(is_admin=True)
    users.change(ada.user_id, bob.user_id, UserChanges(is_admin=False))
    # Bob's request was admitted before he lost his rights.
    with pytest.raises(Conflict):
        users.change(bob.user_id, ada.user_id, UserChanges(is_admin=False))
    with pytest.raises(Conflict):
        users.change(bob.user_id, ada.user_id, UserChanges(is_active=False))
    with pytest.raises(Conflict):
        users.delete(bob.user_id, ada.user_id, ada.email)
    assert service.get_user(ada.user_id).is_admin


def test_holdings_count_what_is_theirs(app_context, make_user):
    person = make_user()
    make_user()
    assert users.count_holdings(person.user_id) == {"conversations": 0, "tokens": 1}
