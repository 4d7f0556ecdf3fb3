"""Two tabs with one form: the second to save is told, keeps the words typed, and may save over the first."""

import re

import pytest

from testkit.people import post_form
from tests.conversations.rows import add_conversation

POINT = {"count": "1", "p0.title": "Hive", "p0.description": "d", "p0.elicitation_goals": "One"}
POINT |= {"p0.completion_criteria": "Two", "p0.suggested_questions": "Why?"}
JOURNEY = {"title": "Bees", "description": "d", "do": "save", **POINT}
SCHEDULE = {"at": "2031-01-02T09:00", "timezone": "UTC"}


@pytest.mark.parametrize(
    ("made", "page", "place", "fields", "name"),
    [
        ("/prompts/new", "/prompts/{}", "/prompts/{}", {"name": "tea"}, "content"),
        ("/schedules/new", "/schedules/{}", "/schedules/{}", SCHEDULE, "prompt"),
        ("/spaces", "/spaces/{}/settings", "/spaces/{}", {"kind": "project", "name": "Bees"}, "instructions"),
        ("", "/settings/personalisation", "/settings/personalisation", {}, "custom_instructions"),
        ("", "/c/{}/digest?edit=1", "/c/{}/digest", {}, "main_topics"),
        ("/journeys/new", "/journeys/{}/edit", "/journeys/{}/edit", JOURNEY, "system_prompt"),
    ],
)
def test_what_another_tab_saved_is_not_undone_unseen(app, user, browser, made, page, place, fields, name):
    if "/c/" in page:
        conversation_id = add_conversation(app, user.user_id)
        page, place = page.format(conversation_id), place.format(conversation_id)
    elif made:
        answer = post_form(browser, made, **fields, **{name: "one"})
        assert answer.status_code == 303, answer.text
        listed = answer.location + browser.get(answer.location).text
        found = re.search(page.replace("{}", r"(\d+|bees)").replace("/settings", ""), listed.replace("/new", ""))
        page, place = page.format(found[1]), place.format(found[1])

    def version_in(text):
        return re.search(r'name="version" value="(\w+)"', text)[1]

    def save(text, version):
        return post_form(browser, place, **fields, **{name: text, "version": version})

    opened = version_in(browser.get(page).text)
    assert save("two", opened).status_code == 303
    refused = save("three\r\nfour", opened)
    assert refused.status_code in (409, 422) and "was changed elsewhere" in refused.text and "three" in refused.text
    assert fields is JOURNEY or ">two</pre>" in refused.text
    assert "two</textarea>" in browser.get(page).text
    assert save("three", version_in(refused.text)).status_code == 303
    assert "three</textarea>" in browser.get(page).text
