"""Conversations that were chosen, taken out at once."""

import io
import zipfile

import pytest

from testkit.people import browser_client, post_form
from webapp.conversations.messages import add_past
from webapp.conversations.schemas import NewConversation
from webapp.conversations.service import create_conversation
from webapp.db.base import now, write_transaction
from webapp.transfer import conversation_download


def _make(app, person, *titles):
    with app.app_context(), write_transaction():
        ids = []
        for title in titles:
            row = create_conversation(person.user_id, NewConversation(title=title))
            add_past(row, [("user", f"Ask about {title}", now()), ("assistant", f"Told of {title}", now())])
            ids.append(row.conversation_id)
        return ids


def test_one_is_a_file_and_several_are_a_zip(app, user):
    bees, tea = _make(app, user, "Bees", "Bees")
    browser = browser_client(app, user)
    assert 'action="/exports/chosen"' in browser.get(f"/c/{bees}").text
    assert 'formaction="/exports/chosen"' in browser.get("/organise").text
    one = post_form(browser, "/exports/chosen", page="/organise", id=bees)
    assert one.status_code == 200 and "Bees.md" in one.headers["Content-Disposition"]
    assert one.mimetype == "text/markdown" and "Told of Bees" in one.text
    both = post_form(browser, "/exports/chosen", page="/organise", id=[bees, tea, bees, "x"])
    with both, zipfile.ZipFile(io.BytesIO(both.data)) as archive:
        assert len(archive.namelist()) == 2
        assert all(b"Told of Bees" in archive.read(name) for name in archive.namelist())


@pytest.mark.parametrize("in_memory", [conversation_download.IN_MEMORY, 1])
def test_many_are_written_to_the_disk_and_too_many_are_refused(app, user, monkeypatch, in_memory):
    ids = _make(app, user, "Bees", "Tea", "Rain")
    browser = browser_client(app, user)
    monkeypatch.setattr(conversation_download, "IN_MEMORY", in_memory)
    whole = post_form(browser, "/exports/chosen", page="/organise", id=ids)
    with whole, zipfile.ZipFile(io.BytesIO(whole.data)) as archive:
        assert len(archive.namelist()) == 3 and archive.testzip() is None
    monkeypatch.setattr(conversation_download, "MOST_BYTES", 100)
    assert post_form(browser, "/exports/chosen", page="/organise", id=ids).status_code == 303
    assert "too many for one file" in browser.get("/organise").text


def test_nothing_chosen_says_so_and_what_is_anothers_stays_theirs(app, user, make_user):
    (hers,) = _make(app, make_user(), "Secret")
    (his,) = _make(app, user, "Bees")
    browser = browser_client(app, user)
    assert post_form(browser, "/exports/chosen", page="/organise").status_code == 303
    assert "Select at least one" in browser.get("/organise").text
    assert post_form(browser, "/exports/chosen", page="/organise", id=hers).status_code == 404
    mixed = post_form(browser, "/exports/chosen", page="/organise", id=[his, hers])
    assert "Told of Bees" in mixed.text and "Secret" not in mixed.text
