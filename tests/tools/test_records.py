"""Records of calls: what they show, in which order, and what was heard from outside."""

from webapp.chat.turns.progress import Progress
from webapp.conversations.tool_records import arguments_line, outside_texts, sources_of

CALLS = [
    {"tool_name": "web_search", "output": {"text": "found", "sources": [{"url": "https://a.org/", "title": "A"}] * 2}},
    {"tool_name": "read_page", "output": {"text": "read", "sources": [{"url": "https://www.b.org/", "title": ""}]}},
    {"tool_name": "x", "output": {"sources": [{"url": "javascript:alert(1)"}, {"url": "http://[::1"}, {}]}},
    {"tool_name": "remember", "output": {"status": "remembered", "memory_id": 1}},
    {"tool_name": "y", "output": None},
]


def test_sources_are_named_once_those_that_were_read_first() -> None:
    assert [(source.url, source.host) for source in sources_of(CALLS)] == [
        ("https://www.b.org/", "b.org"),
        ("https://a.org/", "a.org"),
    ]
    assert sources_of(None) == []


def test_what_was_heard_is_text_from_outside() -> None:
    assert outside_texts(CALLS) == ["found", "read"]


def test_what_was_given_in_a_line() -> None:
    assert arguments_line({"query": "grey\n herons"}) == "grey herons"
    assert arguments_line({"where": "pond", "many": 3, "empty": ""}) == "where: pond · many: 3"
    assert arguments_line(None) == ""


def test_what_goes_out_again_is_counted_where_nobody_reports_it() -> None:
    progress = Progress()
    progress.asked_again(1_000, [{"role": "tool", "content": "word " * 100}])
    first = progress.asked_again_tokens
    progress.asked_again(1_000, [{"role": "tool", "content": "word " * 100}])
    assert 1_100 < first < 1_300 and progress.asked_again_tokens > 2 * first
