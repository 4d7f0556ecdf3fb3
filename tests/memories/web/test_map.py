"""The picture of people and things: whose memories are in it, where its names lead, and how much a page holds."""

import random
import re
from collections.abc import Callable
from itertools import zip_longest
from typing import Any
from urllib.parse import quote

import pytest
from flask import Flask
from sqlalchemy import insert

from testkit.people import Person
from tests.support.queries import count_queries
from webapp.conversations.models import Conversation, Message
from webapp.db.base import add_row, db, now, write_transaction
from webapp.memories.models import Memory, MemoryEvidence
from webapp.memories.showing.map_layout import NARROW
from webapp.memories.showing.name_map import MAX_CARDS, MAX_NAMES, map_of, name_page
from webapp.memories.store.journal import statement_hash

PAGE = "/memories/map"


@pytest.fixture
def remember(app: Flask, user: Person) -> Callable[..., int]:
    """`remember(content, …)`: a memory with these fields; its id."""

    def make(content: str, **fields: Any) -> int:
        with app.app_context(), write_transaction():
            row = Memory(**{"user_id": user.user_id, "memory_type": "fact", "content": content} | fields)
            row.statement_hash = statement_hash(content)
            add_row(row)
            return row.memory_id

    return make


def labels(app: Flask, person: Person) -> dict[str, int]:
    with app.app_context():
        return {entry.label: entry.count for entry in map_of(person.user_id, "en").entries}


def test_names_are_sized_by_mentions_and_joined_by_shared_memories(app, user, remember):
    remember("Lives with Anna")
    remember("Met Tom and Anna")
    remember("Works with Tom and Anna")
    remember("Was in Rome")
    with app.app_context():
        found = map_of(user.user_id, "en")
        assert map_of(user.user_id, "en") == found, "the same memories, the same picture"
    assert [(entry.label, entry.count) for entry in found.entries] == [("Anna", 3), ("Tom", 2), ("Rome", 1)]
    assert [(name.label, shared) for name, shared in found.entries[0].beside] == [("Tom", 2)]
    for picture in found.pictures.values():
        [line] = picture.lines
        anna, tom, rome = picture.dots
        assert anna.radius > tom.radius > rome.radius
        assert {(line.x1, line.y1), (line.x2, line.y2)} == {(anna.x, anna.y), (tom.x, tom.y)}


def test_only_what_is_ones_own_in_use_and_lasts(app, user, make_user, remember):
    other = make_user()
    with app.app_context(), write_transaction():
        passing = add_row(Conversation(user_id=user.user_id, is_temporary=True))
        number = passing.conversation_id
    remember("Met Tom")
    remember("Met Archie", is_archived=True)
    remember("Met Dora", needs_review=True)
    remember("Met Sven", space_id=1, visibility="shared")
    remember("Met Edda", valid_to=now())
    remember("Met Tessa", source_conversation_id=number)
    remember("Answer in French", memory_type="instruction")
    remember("Met Olga", user_id=other.user_id)
    remember("The password is Swordfish")
    assert labels(app, user) == {"Tom": 1}
    assert labels(app, other) == {"Olga": 1}


def test_a_name_leads_to_all_that_is_known_with_quotes(app, user, remember, browser):
    numbers = [remember(f"Walk {number} with Anna & <Tom>") for number in range(MAX_CARDS + 3)]
    remember("Walk with Rex")
    with app.app_context(), write_transaction():
        talk = add_row(Conversation(user_id=user.user_id, title="About walks"))
        said = add_row(
            Message(conversation_id=talk.conversation_id, role="user", content="me and anna walk", status="complete")
        )
        quote = {"message_id": said.message_id, "quote": "me and anna", "start": 0, "end": 11, "said_at": now()}
        db.session.add(MemoryEvidence(memory_id=numbers[-1], **quote))
    page = browser.get(PAGE).text
    assert f'href="{PAGE}?name=anna"' in page and "Anna: 33 memories" in page and "<Tom>" not in page
    first = browser.get(f"{PAGE}?name=anna").text
    assert "33 memories mention this." in first and "Rex" not in first
    assert "me and anna" in first and "About walks" in first and "&lt;Tom&gt;" in first
    assert f'href="{PAGE}?name=tom"' in first, "what is mentioned with it"
    second = browser.get(f"{PAGE}?name=anna&start={MAX_CARDS}").text
    listed = [re.findall(r'href="/memories/(\d+)"', text) for text in (first, second)]
    assert [int(number) for text in listed for number in text] == numbers[::-1]
    assert f"start={MAX_CARDS}" in first and "start=" not in second


def test_the_page_says_what_will_be_there_and_survives_odd_addresses(client, remember, browser):
    assert re.search('No people or things yet<.*"/memories/new"', browser.get(PAGE).text, re.S)
    tom = remember("Met Tom")
    for odd in ("name=Tom", "name=x", "name=%00", "name=tom&start=99", "name=tom&start=-1", "name=tom&start=x"):
        answer = browser.get(f"{PAGE}?{odd}")
        assert answer.status_code == (200 if odd in ("name=tom&start=-1", "name=tom&start=x") else 404), odd
    assert browser.get(f"{PAGE}?name={'x' * 9_000}").status_code in (404, 414)
    assert browser.get(f"{PAGE}?start=5&name=").status_code == 200
    client.delete(f"/api/memories/{tom}")
    assert "Tom" not in browser.get(PAGE).text and browser.get(f"{PAGE}?name=tom").status_code == 404


def test_an_arabic_reader_sees_names_of_both_scripts(client, user, login):
    for text in ("سارة أخته", "سارة طبيبة", "يعمل مع سارة في Siemens"):
        kind = "fact" if text.startswith("ي") else "entity"
        client.post("/api/memories", json={"memory_type": kind, "content": text})
    page = login(user).get(PAGE, headers={"Accept-Language": "ar"}).text
    assert 'dir="rtl"' in page and "<bdi>سارة</bdi>" in page and "<bdi>Siemens</bdi>" in page
    assert f'href="{PAGE}?name={quote("سارة")}"' in page


@pytest.mark.once
def test_of_two_thousand_a_page_is_small_and_takes_few_statements(app, user, browser):
    fill(app, user, 2_000)
    for address, most in ((PAGE, 5), (f"{PAGE}?name=anarastenvor", 7)):
        browser.get(address)
        with app.app_context(), count_queries() as queries:
            answer = browser.get(address)
        assert answer.status_code == 200 and len(answer.data) < 150_000
        assert sum(query.startswith("SELECT") for query in queries) <= most, queries
    page = browser.get(PAGE).text
    assert len(re.findall('class="map-count"', page)) == MAX_NAMES
    assert len(re.findall("<title>", page)) == 1 + MAX_NAMES + NARROW.name_limit
    with app.app_context():
        assert len(name_page(user.user_id, "en", "anarastenvor").cards) == MAX_CARDS


def test_the_longest_names_of_all_fit(user, login, remember):
    letters = "".join(map(chr, range(ord("А"), ord("А") + 32)))
    names = [
        letter + (letters[number:] + letters[:number]).lower() + "абвгдея" for number, letter in enumerate(letters)
    ]
    names += ["Щ" + name[1:] for name in names[:10]]
    for first in range(0, 40, 10):
        remember("знает " + " и ".join(names[first : first + 13]))
    answer = login(user).get(PAGE)
    assert len(re.findall('class="map-count"', answer.text)) == MAX_NAMES
    assert len(answer.data) < 150_000


def fill(app: Flask, person: Person, count: int) -> None:
    """Memories that name up to three of some hundred, a few of them often."""
    maker = random.Random(1)
    parts = ("ra", "sten", "vor", "lo", "mi", "den", "pin", "tus", "bel", "mar")
    known = [f"Ana{one}{two}{three}" for one in parts for two in parts for three in parts]
    words = ("likes", "to visit", "and works", "with", "every", "second week", "in old houses", "near lakes")
    rows = []
    for number in range(count):
        names = [known[min(12 * int(maker.paretovariate(0.7)), 999)] for _ in range(maker.randint(0, 3))]
        pairs = zip_longest(maker.sample(words, 6), names, fillvalue="")
        rows.append(
            {
                "user_id": person.user_id,
                "memory_type": maker.choice(("fact", "entity", "preference")),
                "content": " ".join(" ".join(word for pair in pairs for word in pair).split()),
                "statement_hash": str(number),
            }
        )
    with app.app_context(), write_transaction():
        db.session.execute(insert(Memory), rows)
