"""A PDF of sixty pages: page 41 is answered with its page, later turns keep the prefix, the cost was told before."""

import io
import json
import random
import re
from os.path import commonprefix
from typing import Any

from flask.testing import FlaskClient

from fakemodel.testing import ServerHandle
from testkit.people import ApiClient, post_form
from tests.files.test_files import pdf
from webapp.db.base import db
from webapp.usage.models import UsageRecord

NEEDLE = "The ferry Adelheid sank on 4 March 1911 with a cargo of walnuts."
QUESTION = "When did the ferry Adelheid sink, and what was her cargo?"
TELLING = (
    "river keeper village winter harvest ledger boat miller church letter road bridge cattle merchant autumn grain "
    "council fire garden stone market school rain orchard journey debt barrel tower wagon singer"
)
WORDS = TELLING.split()


def sixty_pages() -> bytes:
    """A chronicle in plain prose, a little more than five thousand tokens of it."""
    chance = random.Random(41)

    def sentence() -> str:
        words = [chance.choice(("the", "a", "of", "and", "in", "was", *WORDS)) for _ in range(chance.randint(7, 12))]
        return " ".join(words).capitalize() + "."

    pages = [" ".join(sentence() for _ in range(5)) for _ in range(60)]
    pages[40] = f"{sentence()} {NEEDLE} {sentence()}"
    return pdf(*pages)


def _prompts(model: ServerHandle) -> list[list[dict[str, Any]]]:
    return [call["messages"] for call in model.calls() if call["path"] == "chat" and call["stream"]]


def _say(client: ApiClient, talk: int, content: str, **more: Any) -> int:
    """Send a message and wait for the reply; the tokens that the server counted."""
    sent = client.post(f"/api/conversations/{talk}/messages", json={"content": content, **more})
    assert sent.status_code == 202, sent.text
    answer = client.get(f"/api/messages/{sent.get_json()['message']['message_id']}/response?wait=30").get_json()
    assert answer["status"] == "complete"
    with client.application.app_context():
        return (
            db.session.scalars(db.select(UsageRecord.input_tokens).order_by(UsageRecord.usage_id.desc())).first() or 0
        )


def _talk(client: ApiClient) -> int:
    return int(client.post("/api/conversations", json={"title": "T"}).get_json()["conversation_id"])


def _attach(browser: FlaskClient) -> tuple[int, int]:
    """Upload it in the composer; its id, and the tokens that are shown there before anything is sent."""
    chip = post_form(browser, "/files", file=[(io.BytesIO(sixty_pages()), "chronicle.pdf")]).text
    assert "60 pages" in chip
    number, tokens = re.search(r'name="file_ids" value="(\d+)"', chip), re.search(r"([\d,]+) tokens", chip)
    assert number and tokens
    return int(number[1]), int(tokens[1].replace(",", ""))


def test_page_41_is_answered_with_its_page_and_later_turns_keep_the_prefix(client, model, browser):
    model.script(match="ferry", reply=f"“{NEEDLE}” (chronicle.pdf, page 41)", times=None)
    model.script(match="ferry", reply="No idea.", times=1)
    _say(client, _talk(client), "Shorten this: " + " ".join(WORDS * 12))  # how a model counts shows in unlike texts
    without = _say(client, _talk(client), QUESTION)
    file_id, shown = _attach(browser)
    talk = _talk(client)
    cost = _say(client, talk, QUESTION, file_ids=[file_id]) - without
    assert abs(shown - cost) <= 0.03 * cost, (shown, cost)
    _say(client, talk, "Who told of it?")
    _say(client, talk, "And what became of the walnuts?")
    first, second, third = map(json.dumps, _prompts(model)[-3:])
    marked = re.search(r'<page n="41">([^<]*)</page>', _prompts(model)[-1][1]["content"])
    assert marked and NEEDLE in " ".join(marked[1].split())
    assert first.count("Adelheid sank") == 1  # text goes once
    for before, after in ((first, second), (second, third)):
        assert len(commonprefix([before, after])) >= 0.95 * len(after)
    page = browser.get(f"/c/{talk}").text
    link = re.search(rf'href="(/files/{file_id}\?page=41[^"]*)"', page)
    assert link
    opened = browser.get(link[1].replace("&amp;", "&")).text
    assert "<mark" in opened or "words=" in opened
