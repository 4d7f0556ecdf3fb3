"""Pages of turns: sending, the HTML stream, stop, retry, versions, and who may do what."""

import json
import re

import pytest
from sqlalchemy import delete, select

from testkit.people import post_form
from tests.conversations.test_paging import queries
from tests.spaces.helpers import make_space
from tests.support.queries import change_row, execute, scalar
from webapp.chat.frames import image_host
from webapp.chat.models import PipelineStep
from webapp.chat.start_pages import INTRODUCTION, LEGACY_STARTERS, MEMORY, starters
from webapp.conversations import messages
from webapp.conversations.models import Message
from webapp.conversations.schemas import NewConversation
from webapp.conversations.service import create_conversation
from webapp.db.base import write_transaction
from webapp.http.validation import MAX_TEXT_BYTES

HTMX = {"HX-Request": "true"}


def ids(html: str) -> list[int]:
    """The messages of a page, in order."""
    return [int(id) for id in re.findall(r'<article class="message[^>]* id="m-(\d+)"', html)]


def first_exchange(browser, words="Hello", **options) -> tuple[str, int, int]:
    """A first exchange without scripts: the conversation's path, the ids of the message and of the reply."""
    answer = post_form(browser, "/conversations", content=words, **options)
    assert answer.status_code == 303
    path = answer.location.partition("#")[0]
    first, second = ids(browser.get(path).text)[-2:]
    return path, first, second


def test_without_scripts_the_answer_waits_for_the_reply(browser, model):
    """The first words are the title until another comes."""
    model.script(reply="Good day, **you**.")
    path, _, reply = first_exchange(browser, "How do I get from Lisbon to Porto by train tomorrow?")
    page = browser.get(path).text
    assert "Good day, <strong>you</strong>." in page and "How do I get from Lisbon…" in page
    assert "data-streaming" not in page and "<noscript><meta" not in page
    again = post_form(browser, f"{path}/messages", content="And again")
    assert again.status_code == 303
    assert len(ids(browser.get(path).text)) == 4


@pytest.fixture(autouse=True)
def _no_worker_to_wait_for(monkeypatch):
    """No jobs run here, so a stream would stay open for them as long as it may."""
    monkeypatch.setattr("webapp.chat.turns.follow.JOBS_SECONDS", 0.5)


def test_htmx_gets_the_bubbles_at_once(browser, model):
    model.script(reply=["slowly "] * 50, token_delay=0.1)
    answer = post_form(browser, "/conversations", headers=HTMX, content="First")
    assert re.fullmatch(r"/c/\d+", answer.headers["HX-Push-Url"])
    assert answer.headers["HX-Trigger"] == "conversations:changed"
    reply = ids(answer.text)[-1]
    assert f'hx-sse:connect="/turns/{reply}/events"' in answer.text
    stop = f"{answer.headers['HX-Push-Url']}/stop"
    assert f'hx-post="{stop}"' in answer.text
    assert post_form(browser, stop, headers=HTMX).status_code == 204
    stream = browser.get(f"/turns/{reply}/events").text
    assert "You stopped this reply." in stream
    assert stream.rstrip().endswith("event: settled\ndata:") or "event: settled" in stream.rsplit("\n\n", 2)[-2]
    assert post_form(browser, stop, headers=HTMX).status_code == 204, "nothing is being written"


def test_the_stream_rebuilds_the_reply_as_it_is_stored(browser, model):
    model.script(reply=["# Title\n\n", "A *par", "agraph*.\r\n\r\n", "```py\nx = 1\n", "```\n"], token_delay=0.01)
    answer = post_form(browser, "/conversations", headers=HTMX, content="First")
    path, reply = answer.headers["HX-Push-Url"], ids(answer.text)[-1]
    events = browser.get(f"/turns/{reply}/events").text.split("\n\n")
    html = "".join(line[6:] + "\n" for event in events for line in event.split("\n") if line.startswith("data: "))
    final = html[html.index(f'hx-target="#m-{reply}" hx-swap="outerHTML"') :]
    page = browser.get(path).text
    prose = re.search(r'<div class="prose" dir="auto" hx-ignore>(.*?)</div>\n', page, re.DOTALL)[1]
    assert prose.strip().replace("\n", "") in final.replace("\n", "")
    assert 'data-status="complete"' in final
    late = browser.get(f"/turns/{reply}/events", headers={"Last-Event-ID": "0-1"}).text
    assert "event: settled" in late and f'hx-target="#m-{reply}" hx-swap="outerHTML"' in late


@pytest.mark.parametrize(
    "content", ["", "   \n ", "x" * (MAX_TEXT_BYTES + 1), "\ud800".encode("utf-8", "surrogatepass")]
)
def test_what_cannot_be_sent_is_explained_beside_the_composer(browser, model, content):
    refused = post_form(browser, "/conversations", headers=HTMX, content=content)
    if isinstance(content, bytes):
        assert refused.status_code in (200, 422)
        return
    assert refused.status_code == 422
    assert "field-error" in refused.text and "The message" in refused.text
    page = post_form(browser, "/conversations", content=content)
    assert page.status_code == 422 and 'id="composer"' in page.text
    assert content.strip() in page.text
    assert model.calls() == []


@pytest.mark.parametrize("reason", ["Out of memory", "Out of memory."])
def test_the_reason_of_a_model_server_is_quoted_in_a_sentence(browser, model, reason):
    model.script(fault={"http_status": 400, "body": {"error": {"message": reason}}})
    page = browser.get(first_exchange(browser)[0]).text
    assert "The model server says: “Out of memory”. Your message has been kept" in page


def test_a_failed_reply_offers_retry_has_nothing_to_copy_and_names_no_sources(browser, model):
    model.script(fault={"http_status": 401, "body": {"error": {"message": "no"}}})
    path, _, reply = first_exchange(browser)
    page = browser.get(path).text
    assert "Your message has been kept but not answered." in page and f'action="/turns/{reply}/retry"' in page
    article = page[page.index(f'id="m-{reply}"') : page.index("</article>", page.index(f'id="m-{reply}"'))]
    assert "data-copy-message" not in article and "data-source" not in article and "traces" not in article
    model.reset()
    model.script(reply="Now it works.")
    assert post_form(browser, f"/turns/{reply}/retry").status_code == 303
    assert "Now it works." in browser.get(path).text


def test_edit_version_restore_with_scripts_and_without(browser, model):
    model.script(reply="About cats.", match="cats")
    model.script(reply="About dogs.", match="dogs")
    path, message, _ = first_exchange(browser, "Tell me of cats")
    assert "Tell me of cats</textarea>" in browser.get(f"/messages/{message}/edit").text
    refused = post_form(browser, f"/messages/{message}/edit", content="  ")
    assert refused.status_code == 422 and "The message" in refused.text
    assert post_form(browser, f"/messages/{message}/edit", content="Tell me of dogs").status_code == 303
    page = browser.get(path).text
    assert "About dogs." in page and "About cats." not in page and "2/2" in page
    now = ids(page)[0]
    beside = browser.get(f"/messages/{now}/versions").text
    assert "Tell me of cats" in beside and "Tell me of dogs" in beside
    assert beside.count("Switch to this version") == 1 and "In the conversation now" in beside
    switched = post_form(browser, f"/messages/{now}/versions/{message}/restore", headers=HTMX).text
    assert "Tell me of cats" in switched and "About cats." in switched and "dogs" not in switched
    assert f'data-switched="{message}"' in switched
    back = post_form(browser, f"/messages/{message}/versions/{now}/restore", headers=HTMX).text
    assert "About dogs." in back and "About cats." not in back
    assert post_form(browser, f"/messages/{now}/versions/{message}/restore").status_code == 303
    assert "About cats." in browser.get(path).text


def test_what_the_composer_marks_is_kept_and_follows_an_edit(app, browser, model):
    model.script(reply="I see.")

    def pasted_texts() -> list[str]:
        rows = select(Message).where(Message.role == "user").order_by(Message.message_id.desc())
        row = scalar(app, rows)
        return [row.content[start:end] for start, end, origin in row.provenance if origin == "pasted"]

    spans = json.dumps([{"start": 6, "end": 22, "origin": "pasted"}])
    said = "Look: I live in Leeds. ok"
    posted = post_form(browser, "/conversations", content=said, spans=spans)
    message = ids(browser.get(posted.location).text)[0]
    assert pasted_texts() == ["I live in Leeds."]
    post_form(browser, f"/messages/{message}/edit", content="Look at this: I live in Leeds. ok", spans="")
    assert pasted_texts() == ["I live in Leeds."], "also without scripts"
    for wrong in (
        "[",
        '[{"start": -1, "end": 2, "origin": "pasted"}]',
        '[{"start": 5, "end": 2, "origin": "pasted"}]',
        '[{"start": 0, "end": 2, "origin": "mine"}]',
        "{}",
    ):
        assert post_form(browser, "/conversations", content=said, spans=wrong).status_code == 422


def test_a_version_that_ended_before_its_time_says_so_beside_the_others(app, browser, model):
    model.script(reply="Half a", times=1)
    path, _, reply = first_exchange(browser)
    change_row(app, Message, reply, status="stopped")
    model.reset()
    model.script(reply="A whole one.")
    post_form(browser, f"/turns/{reply}/regenerate")
    beside = browser.get(f"/messages/{ids(browser.get(path).text)[-1]}/versions").text
    assert beside.count("You stopped this reply.") == 1


def test_a_reply_made_again_keeps_the_earlier_one_and_its_instruction(browser, model):
    model.script(reply="A long way to say it.", times=1)
    path, _, reply = first_exchange(browser, "Say it")
    model.reset()
    model.script(reply="Short.")
    post_form(browser, f"/turns/{reply}/regenerate", instruction="Make it shorter.")
    page = browser.get(path).text
    assert "Short." in page and "A long way" not in page
    call = next(call for call in model.calls() if call.get("stream"))
    assert "[For this reply the user asks: Make it shorter.]" in call["messages"][-1]["content"]
    assert call["messages"][-1]["content"].endswith("Say it")
    versions = browser.get(f"/messages/{ids(page)[-1]}/versions").text
    assert "“Make it shorter.”" in versions and "A long way to say it." in versions


def test_a_branch_goes_on_from_a_message(browser, model):
    model.script(reply="First answer.", times=1)
    path, question, reply = first_exchange(browser, "First question")
    model.reset()
    model.script(reply="Second answer.")
    post_form(browser, f"{path}/messages", content="Second question")
    answer = post_form(browser, f"/messages/{reply}/branch")
    assert answer.status_code == 303
    page = browser.get(answer.location).text
    assert "First answer." in page and "Second question" not in page and "(branch)" in page
    model.reset()
    model.script(reply="Elsewhere.")
    post_form(browser, f"{answer.location}/messages", content="Another second question")
    assert [m["content"] for m in model.calls()[0]["messages"] if m["role"] == "assistant"] == ["First answer."]
    assert "Second answer." in browser.get(path).text and "Elsewhere." not in browser.get(path).text


@pytest.mark.parametrize(("reason", "said"), [("length", "length limit"), ("content_filter", "content filter")])
def test_a_reply_that_was_cut_says_so_and_goes_on(browser, model, reason, said):
    model.script(reply="The first half", finish_reason=reason, times=1)
    path, _, reply = first_exchange(browser)
    page = browser.get(path).text
    assert said in page and f'action="/turns/{reply}/continue"' in page
    model.reset()
    model.script(reply=" and the second.")
    assert post_form(browser, f"/turns/{reply}/continue").status_code == 303
    page = browser.get(path).text
    assert "and the second." in page and "/continue" not in page
    assert post_form(browser, f"/turns/{reply}/continue").status_code == 409


@pytest.mark.parametrize("status", ["stopped", "interrupted"])
def test_a_reply_that_was_stopped_or_interrupted_goes_on_where_it_ended(app, browser, model, status):
    model.script(reply="The first half", times=1)
    path, _, reply = first_exchange(browser)
    for words, is_offered in (("The first half", True), ("", False)):
        change_row(app, Message, reply, status=status, content=words)
        page = browser.get(path).text
        assert (f'action="/turns/{reply}/continue"' in page) is is_offered
        assert f'action="/turns/{reply}/retry"' in page
    assert post_form(browser, f"/turns/{reply}/continue").status_code == 409
    change_row(app, Message, reply, content="The first half")
    model.reset()
    model.script(reply=" and the second.")
    german = {"Accept-Language": "de"}
    assert post_form(browser, f"/turns/{reply}/continue", headers=german).status_code == 303
    told = model.calls()[0]["messages"]
    assert any(part["role"] == "assistant" and "The first half" in part["content"] for part in told)
    assert "Mach genau da weiter, wo du aufgehört hast." in told[-1]["content"]
    page = browser.get(path).text
    assert "and the second." in page and "/continue" not in page


def test_what_only_an_administrator_can_mend_is_said_to_one_only(app, login, make_user, model):
    model.script(fault={"http_status": 401, "body": {"error": {"message": "no"}}})
    admin, user = login(make_user(is_admin=True)), login(make_user())
    said = {}
    for name, who in (("admin", admin), ("user", user)):
        path, _, _ = first_exchange(who)
        said[name] = who.get(path).text
    assert "OPENAI_API_KEY" in said["admin"]
    assert "OPENAI" not in said["user"] and "Please tell your administrator." in said["user"]


def test_a_prompt_is_shown_by_its_shares(app, browser, model):
    model.script(reply="Here.")
    _, _, reply = first_exchange(browser)
    for place in (f"/messages/{reply}/prompt", f"/messages/{reply}/used"):
        page = browser.get(place).text
        bars = re.findall(r'<rect class="share-(\w+)" x="([\d.]+)" width="([\d.]+)"', page)
        assert [name for name, _, _ in bars][0 :: len(bars) - 1] == ["instructions", "messages"], place
        assert sum(float(width) for _, _, width in bars) == pytest.approx(100, abs=0.1)
        assert all(f'<li class="share-{name}">' in page for name, _, _ in bars)
    execute(app, delete(PipelineStep))
    for place in (f"/messages/{reply}/prompt", f"/messages/{reply}/used"):
        assert 'class="share-' not in browser.get(place).text


def test_a_long_conversation_is_shown_from_its_end(app, browser, user, model):
    with app.app_context(), write_transaction():
        row = create_conversation(user.user_id, NewConversation(title="Long"))
        parent = None
        for number in range(50):
            question, reply = messages.add_exchange(row, f"Question {number}", parent_id=parent)
            reply.status, reply.content, parent = "complete", f"Answer {number}", reply.message_id
        conversation_id = row.conversation_id
    page = browser.get(f"/c/{conversation_id}").text
    shown = ids(page)
    assert len(shown) == 24 and "Answer 49" in page and "Answer 37" not in page
    while more := re.search(r'hx-get="(/c/\d+\?before=\d+)"', page):
        page = browser.get(more[1], headers=HTMX).text
        shown = ids(page) + shown
    assert len(shown) == 100 and shown == sorted(set(shown))
    middle = shown[30]
    assert browser.get(f"/messages/{middle}").location == f"/c/{conversation_id}?at={middle}"
    page = browser.get(f"/c/{conversation_id}?at={middle}").text
    assert f'data-at="{middle}"' in page and middle in ids(page) and len(ids(page)) == 34


def news(browser, path, shown, **query):
    return browser.get(f"{path}/news", query_string={"shown": shown, **query}, headers=HTMX)


def test_a_page_that_shows_everything_gets_no_news_at_little_cost_and_a_title_given_elsewhere_is_news(
    app, browser, model
):
    path, _, reply = first_exchange(browser)
    news(browser, path, reply)
    with queries(app) as sent:
        answer = news(browser, path, reply, title="Hello", remembered=f"{reply} ")
    assert (answer.status_code, answer.data) == (204, b"")
    assert len([statement for statement in sent if "conversations" in statement or "messages" in statement]) == 3
    assert len(sent) <= 5, sent
    post_form(browser, f"{path}/title", title="Tea & cake")
    answer = news(browser, path, reply, title="New conversation")
    assert "Tea &amp; cake" in answer.text and not ids(answer.text)
    assert news(browser, path, reply, title="Tea & cake").status_code == 204
    assert news(browser, path, reply).status_code == 204, "it is being edited there"


def test_news_are_what_came_after_the_last_message_shown_to_its_owner(anonymous, browser, login, make_user, model):
    path, first, reply = first_exchange(browser)
    post_form(browser, f"{path}/messages", content="And again")
    answer = news(browser, path, reply)
    assert ids(answer.text) == ids(browser.get(path).text)[2:]
    assert 'hx-swap="beforeend"' in answer.text
    assert answer.headers["HX-Trigger"] == "conversations:changed, memories:changed"
    for odd in ("", "0", "x", first + 10_000):
        assert ids(news(browser, path, odd).text)[:2] == [first, reply], "all of it, drawn anew"
    post_form(browser, f"/messages/{first}/edit", content="Something else")
    answer = news(browser, path, reply)
    assert 'hx-swap="innerMorph"' in answer.text and ids(answer.text) == ids(browser.get(path).text)
    assert news(login(make_user()), path, reply).status_code == 404
    assert news(anonymous, path, reply).status_code == 401
    assert browser.get(f"{path}/news").location == path
    assert browser.post(f"{path}/news").status_code == 405


def test_what_is_remembered_is_asked_for_once_there_is_something():
    assert starters(is_legacy=False, has_memory=False)[0] == INTRODUCTION
    assert starters(is_legacy=False, has_memory=True)[0] == MEMORY
    assert starters(is_legacy=True, has_memory=True) == LEGACY_STARTERS


def titles(page: str) -> list[str]:
    """What the starters of a page are called."""
    return re.findall(r'class="starter-title">([^<]+)<', page)


@pytest.mark.parametrize("headers", [{}, HTMX], ids=["page", "htmx"])
def test_the_start_page_shows_one_row_and_nothing_of_memory(headers, user, login, client):
    browser = login(user)
    before = browser.get("/", headers=headers).text
    assert titles(before) == ["Tell me about yourself", "Think something through", "Work on a text", "Take a journey"]
    assert 'href="/journeys"' in before
    content = "Is allergic to peanuts"
    assert client.post("/api/memories", json={"memory_type": "fact", "content": content}).status_code == 201
    shown = browser.get("/", headers=headers).text
    assert titles(shown)[0] == "What do you know about me?" and len(titles(shown)) == 4
    assert "peanuts" not in shown
    assert shown.index('id="composer"') < shown.index('class="starters"')


def test_a_legacy_has_starters_of_its_own_and_no_journeys(user, login, client):
    space_id = make_space(client)
    shown = login(user).get(f"/?into={space_id}", headers=HTMX).text
    assert titles(shown) == [card.title for card in LEGACY_STARTERS]
    assert "/journeys" not in shown


def test_without_scripts_a_starter_is_a_link_that_fills_the_composer(user, login):
    browser = login(user)
    place = re.findall(r'class="starter" href="([^"]+)"', browser.get("/").text)[1]
    assert ">Help me think something through: </textarea>" in browser.get(place).text


def test_the_frame_of_diagrams_has_no_origin_and_no_network_for_visitors_either(app, user, login):
    for browser in (app.test_client(), login(user)):
        answer = browser.get("/diagrams")
        policy = answer.headers["Content-Security-Policy"]
        assert answer.status_code == 200
        assert policy.startswith("sandbox allow-scripts; default-src 'none'; script-src 'self';")
        assert "allow-same-origin" not in policy and "connect-src" not in policy and "frame-ancestors 'self'" in policy
        assert answer.headers["X-Frame-Options"] == "SAMEORIGIN"


def test_the_frame_of_an_image_asks_its_host_and_no_other(app, user, login):
    for browser in (app.test_client(), login(user)):
        answer = browser.get("/image?src=https://img.example:8443/a.png?x=%22%3E%3Cscript%3E")
        policy = answer.headers["Content-Security-Policy"]
        assert "img-src https://img.example:8443;" in policy and policy.startswith("sandbox; default-src 'none'")
        assert "frame-ancestors 'self'" in policy and answer.headers["Referrer-Policy"] == "no-referrer"
        assert answer.status_code == 200 and "<script>" not in answer.get_data(as_text=True)
    for refused in (
        "javascript:alert(1)",
        "",
        "/static/x.png",
        "https://a b/",
        "data:image/png;base64,AA",
        "https://;x",
    ):
        assert browser.get("/image", query_string={"src": refused}).status_code == 422


@pytest.mark.parametrize(
    ("address", "host"),
    [
        ("https://a.b/c", "https://a.b"),
        ("http://a.b:80/c", "http://a.b:80"),
        ("https://bücher.example/c", "https://xn--bcher-kva.example"),
        ("https://a.b@evil.example/c", "https://evil.example"),
        ("https://a.b;script-src *", None),
        ("https://a.b:port/", None),
        ("https://" + "a" * 3_000, None),
    ],
)
def test_the_host_of_an_address(address, host):
    assert image_host(address) == host
