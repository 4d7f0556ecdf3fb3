"""Pages that replies name: which file is meant, which words are marked, and what stays as it is."""

import json
from pathlib import Path

import pytest

from tests.files.test_files import _send, pdf
from tests.files.test_pictures import ask
from webapp.files.citations import Citable, link_citations, split_around

BEES, WASPS = Citable(1, "bees.pdf", 60), Citable(2, "wasps & co.pdf", 9)


def links(html: str, *files: Citable) -> list[str]:
    """The addresses of the links in what comes of some HTML."""
    found = link_citations(html, files or (BEES, WASPS), lambda file, page, words: f"/{file.file_id}/{page}/{words}")
    return [part.partition('"')[0] for part in found.split('<a class="page-link" href="')[1:]]


@pytest.mark.parametrize(("html", "expected"), json.loads(Path(__file__).with_name("citations.json").read_text()))
def test_a_page_that_is_named_is_a_link(html, expected):
    assert links(html) == expected


def test_where_there_is_one_file_its_name_need_not_be_said():
    assert links("<p>See page 3.</p>", BEES) == ["/1/3/"]


def test_nothing_in_an_address_can_break_out():
    assert '"><script>' not in link_citations(
        "<p>“&quot;&gt;&lt;script&gt;alert” (bees.pdf, page 1)</p>", [BEES], lambda *parts: f"/{parts[2]}"
    )


def test_words_are_found_across_white_space():
    assert split_around("They  Dance\nin the dark.", "dance in") == ("They  ", "Dance\nin", " the dark.")
    assert split_around("They sleep.", "dance") == ("They sleep.", "", "")


def test_a_link_under_the_reply_opens_the_page(client, model, browser):
    file = _send(client, pdf("Nothing.", "Bees dance in the dark."), "bees.pdf").get_json()
    model.script(match="How", reply="They “dance in the dark” (bees.pdf, page 2), **not** on page 9.")
    reply = ask(client, "How do they talk?", file["file_id"])
    page = browser.get(f"/c/{reply['conversation_id']}").text
    place = f"/files/{file['file_id']}?page=2&amp;words=dance+in+the+dark"
    assert f'<a class="page-link" href="{place}">page 2</a>' in page
    opened = browser.get(place.replace("&amp;", "&")).text
    assert f"/files/{file['file_id']}/picture?page=2&amp;words=dance+in+the+dark" in opened
    assert "<mark>dance in the dark</mark>" in opened
