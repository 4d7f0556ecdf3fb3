"""Pages and fragments of memory: what each shows, to whom, and that others see nothing of it."""

import html
import re
from datetime import timedelta
from itertools import product

import pytest
from sqlalchemy import select, update

from testkit.people import api_client, browser_client, post_form
from tests.memories.conversing import add_memory, answers, converse, make_memories, memories_of, operation, say
from tests.spaces.helpers import join
from tests.support.queries import change_row, execute
from webapp.conversations.models import Message
from webapp.db.base import db, now, write_transaction
from webapp.legacies.fact_list import CATEGORIES as LEGACY_CATEGORIES
from webapp.memories import service
from webapp.memories.history import revisions
from webapp.memories.models import Memory
from webapp.memories.prompt.always_used import context_memories
from webapp.memories.rules.statements import _CATEGORIES, KEYS
from webapp.memories.showing import facets, texts
from webapp.memories.store import forgetting
from webapp.memories.store.outside_proposals import OutsideStatement, propose

HTMX = {"HX-Request": "true"}
SECRET = "Keeps bees on the roof"


@pytest.fixture
def remember(app):
    """`remember(person, "content", **fields)`: the id of a memory written by hand."""

    return lambda person, content=SECRET, **fields: add_memory(app, person, content, **fields)


@pytest.fixture
def learn(app, model):
    """`learn(person, *said)`: a conversation in which each of these was said and became a memory; its id."""

    def make(person, *said, title="A talk") -> int:
        conversation_id = converse(app, person.user_id, *said, title=title)
        answers(model, *(operation(text, message_number=number) for number, text in enumerate(said, 1)))
        make_memories(app, conversation_id)
        return conversation_id

    return make


def test_what_one_has_is_listed_and_found(browser, user, learn):
    learn(user, SECRET)
    for path in ("memory", "memories/list", "memories/panel", "find?q=bees"):
        found = browser.get(f"/{path}", headers={} if path == "memory" else HTMX).text
        assert "on the roof" in found.replace("<mark>", "").replace("</mark>", ""), path


def panel_beside(browser, path: str) -> str:
    """What the panel of a page fetches when it comes into sight."""
    page = browser.get(path).text
    panel = page[page.index('id="panel"') :]
    place = re.search(r'id="memory-rest" href="/memory"\s+hx-get="([^"]+)"', panel)[1]
    return browser.get(html.unescape(place), headers=HTMX).text


def test_what_is_remembered_or_undone_after_a_page_stopped_watching_is_news_to_it(browser, user, learn):
    """A worker died, and the sweep had the work done minutes later; or another tab undid it."""
    talk = learn(user, "I am allergic to peanuts")
    page = browser.get(f"/c/{talk}").text
    reply, state = re.findall(r'id="remembered-(\d+)" data-state="([^"]+)"', page)[-1]

    def news(**query):
        return browser.get(f"/c/{talk}/news", query_string={"shown": reply, **query}, headers=HTMX)

    late = news(remembered=reply)
    assert f'hx-target="#remembered-{reply}"' in late.text and "Remembered: I am allergic" in late.text
    assert late.headers["HX-Trigger"] == "conversations:changed, memories:changed"
    assert [news(**query).status_code for query in ({"remembered": f"{reply} {state}"}, {})] == [204, 204]
    post_form(browser, f"/memories/changes/{state.partition('.')[0]}/undo")
    assert "Undone" in news(remembered=f"{reply} {state}").text
    undone = re.search(r'data-state="([^"]+)"', news(remembered=f"{reply} {state}").text)[1]
    assert news(remembered=f"{reply} {undone}").status_code == 204
    assert news(remembered=["", "x", f"{'9' * 30} ", f"{reply} é"]).status_code == 204


def test_what_is_forgotten_leaves_the_line_under_an_earlier_reply_too(app, browser, user, make_user, learn):
    talk, others = learn(user, "I am allergic to peanuts"), learn(make_user(), "I keep bees")
    say(app, talk, "Thank you")
    shown = re.findall(r'id="remembered-(\d+)" data-state="([^"]*)"', browser.get(f"/c/{talk}").text)
    with app.app_context(), write_transaction():
        theirs = db.session.scalars(select(Message.message_id).where(Message.conversation_id == others)).all()
        forgetting.forget(user.user_id, [memories_of(app, user.user_id)[0].memory_id])
    query = {"shown": shown[-1][0], "remembered": [*map(" ".join, shown), *map(str, theirs)]}
    fresh = browser.get(f"/c/{talk}/news", query_string=query, headers=HTMX).text
    assert re.findall(r'<hx-partial hx-target="#remembered-(\d+)"', fresh) == [shown[0][0]]
    assert "peanuts" not in fresh and "bees" not in fresh


def test_an_empty_list_says_where_the_other_memories_are(browser, client, remember, user):
    number = remember(user)
    over = {"is_archived": False, "valid_to": "2020-01-01T00:00:00Z"}
    for change, show in (({"is_archived": True}, "archived"), (over, "past")):
        assert client.put(f"/api/memories/{number}", json=change).status_code == 200
        page = browser.get("/memories/list", headers=HTMX).text
        assert f'href="/memory?show={show}"' in page and "Nothing remembered" not in page
    client.delete(f"/api/memories/{number}")
    assert "Nothing remembered yet" in browser.get("/memory").text


def test_the_panel_stands_beside_a_conversation_and_says_what_it_is_for(browser, user, learn):
    assert "Nothing remembered yet" in panel_beside(browser, "/")
    talk = learn(user, "I am <allergic> to peanuts", title="Trip & <Lisbon>")
    page = browser.get(f"/c/{talk}").text
    assert f'data-conversation="{talk}"' in page
    panel = panel_beside(browser, f"/c/{talk}")
    assert "I am &lt;allergic&gt; to peanuts" in panel and "Trip &amp; &lt;Lisbon&gt;" in panel
    assert '<hx-partial hx-target="[data-memory-count]" hx-swap="textContent">1</hx-partial>' in panel
    body = re.search(r'hx-get="(/memories/\d+\?part=body)"', panel)[1]
    opened = browser.get(body, headers=HTMX).text
    assert re.search(rf'href="/c/{talk}\?at=\d+&amp;said=0-26"', opened)
    assert "Remembered: I am &lt;allergic&gt; to peanuts" in page
    foot = panel.partition("memory-log")[2]
    assert "Remembered:" in foot and "peanuts" in foot, "its foot names what was remembered of what it shows"
    narrowed = browser.get("/memories/panel?part=rest&q=moss", headers=HTMX).text.partition("memory-log")[2]
    assert "peanuts" not in narrowed and "1 new" in narrowed.replace("+1", "1 new")
    assert 'id="panel"' not in browser.get(f"/c/{talk}", headers=HTMX).text
    browser.set_cookie("panel", "closed")
    assert 'data-panel="closed"' in browser.get(f"/c/{talk}").text


def test_edit_in_place_makes_a_revision(browser, user, remember):
    id = remember(user, "I live in Lisbon")
    form = browser.get(f"/memories/{id}/edit", headers=HTMX).text
    assert f'data-esc="/memories/{id}"' in form
    answer = post_form(browser, f"/memories/{id}/edit", headers=HTMX, content=" I live in  Porto ", revision=1)
    assert "Saved as revision 2" in answer.text and "I live in Porto" in answer.text
    assert answer.headers["HX-Trigger"] == "memories:changed, memories:corrected"
    past = browser.get(f"/memories/{id}").text.partition("</article>")[0]
    assert past.index("I live in Lisbon") > past.index('class="revision-text">I live in Porto'), "in the card"
    assert "Restored as revision 3" in post_form(browser, f"/memories/{id}/restore", headers=HTMX, revision=1).text
    refused = post_form(browser, f"/memories/{id}/edit", headers=HTMX, content="I live in Faro", revision=2)
    assert refused.status_code == 422 and "was changed in the meantime" in refused.text
    assert "I live in Lisbon" in refused.text and "I live in Faro" in refused.text, "with both in sight"


def test_what_cannot_be_kept_is_said_beside_the_field(app, browser, user, remember):
    id = remember(user, "As it was")
    refused = {"": "The memory", "x" * 501: "The memory must", "My password is hunter2hunter2": "looks like a secret"}
    for (content, said), path in product(refused.items(), (f"/memories/{id}/edit", "/memories")):
        answer = post_form(browser, path, headers=HTMX, content=content, memory_type="fact")
        assert answer.status_code == 422 and said in answer.text and content[:100] in answer.text, (path, said)
        assert 'maxlength="500"' in answer.text, path
        assert "<!doctype" in post_form(browser, path, content=content, memory_type="fact").text, (path, said)
    assert [row.content for row in memories_of(app, user.user_id)] == ["As it was"]


def test_pin_and_archive(browser, user, remember):
    id = remember(user)
    assert "Pinned" in post_form(browser, f"/memories/{id}/pin", headers=HTMX, on=1).text
    assert "Archived" in post_form(browser, f"/memories/{id}/archive", headers=HTMX, on=1).text
    assert f"Archived: {SECRET}" in browser.get("/memories/changes").text
    assert SECRET not in browser.get("/memories/list", headers=HTMX).text
    assert SECRET in browser.get("/memories/list?show=archived", headers=HTMX).text
    assert post_form(browser, f"/memories/{id}/archive", on=0).location == f"/memories/{id}"
    assert SECRET in browser.get("/memories/list?show=pinned", headers=HTMX).text
    post_form(browser, f"/memories/{id}/still-true", headers=HTMX, answer="yes")
    assert f'<span class="change-what"><bdi>{SECRET}</bdi></span>' in browser.get("/memories/changes").text


def test_forgetting_asks_then_reports(app, browser, user, learn):
    talk = learn(user, "I keep bees", title="Roof")
    row = memories_of(app, user.user_id)[0]
    question = browser.get(f"/memories/{row.memory_id}/forget", headers=HTMX).text
    assert "Will be deleted: the memory, 1 quote" in question and "Stays: your own message" in question
    report = post_form(browser, f"/memories/{row.memory_id}/forget", headers=HTMX).text
    assert "Removed: 1 memory, 1 quote" in report
    assert re.search(r'href="/messages/\d+">your message', report)
    assert "Used" in browser.get(f"/c/{talk}").text
    assert browser.get(f"/memories/{row.memory_id}").status_code == 404


def test_without_a_script_every_step_is_a_page(app, browser, user, remember):
    id = remember(user)
    of_one, of_all = ("", "/edit", "/forget"), ("memories/new", "memory", "find?q=bees")
    of_all += ("memories/review", "memories/changes", "memories/health")
    for path in (*(f"/memories/{id}{part}" for part in of_one), *(f"/{part}" for part in of_all)):
        page = browser.get(path)
        assert page.status_code == 200 and "<!doctype html>" in page.text, path
    assert post_form(browser, "/memories", content="By hand", memory_type="preference").location == "/memory"
    assert "Forgotten" in post_form(browser, f"/memories/{id}/forget").text
    assert [row.content for row in memories_of(app, user.user_id)] == ["By hand"]


def test_filters_and_search(browser, user, remember, learn):
    remember(user, "I prefer tea", category="drinks")
    talk = learn(user, "I own a boat")

    def list_texts(query):
        part = browser.get(f"/memories/list?{query}", headers=HTMX).text
        return [text for text in ("I prefer tea", "I own a boat") if text in part]

    assert list_texts("") == ["I prefer tea", "I own a boat"]
    assert list_texts("q=boat") == ["I own a boat"]
    assert list_texts("category=drinks") == ["I prefer tea"]
    assert list_texts("memory_type=project") == []
    assert list_texts(f"here=1&conversation={talk}") == ["I own a boat"]
    assert "No memory mentions “zebra”" in browser.get("/memories/list?q=zebra", headers=HTMX).text
    for odd in ("memory_type=spell", "show=all", "limit=-1", "category=" + "x" * 500, "q=%00", "here=maybe"):
        assert browser.get(f"/memories/list?{odd}", headers=HTMX).status_code == 200, odd


def test_the_list_pages_without_gaps_or_repetitions(browser, user, remember):
    expected = [remember(user, f"Fact number {number}") for number in range(7)][::-1]
    found, path = [], "/memories/list?limit=3"
    while path:
        part = browser.get(path, headers=HTMX).text
        found += [int(id) for id in re.findall(r'<article class="mem[^"]*" id="memory-(\d+)"', part)]
        more = re.search(r'hx-get="(/memories/list\?[^"]+)"', part)
        path = more[1].replace("&amp;", "&") if more else None
    assert found == expected


def test_undo_and_honest_refusal(app, browser, user, learn):
    learn(user, "I own a boat", "I own a bike", title="Things")
    log = browser.get("/memories/changes", headers=HTMX).text
    assert "<bdi>After “Things”</bdi>" in log, "what follows a title in other letters stays behind it"
    assert "Remembered: I own a boat, I own a bike" in log
    change = int(re.search(r'id="change-(\d+)"', log)[1])
    boat = memories_of(app, user.user_id)[0]
    post_form(browser, f"/memories/{boat.memory_id}/edit", content="I own a yacht")
    refused = post_form(browser, f"/memories/changes/{change}/undo", headers=HTMX).text
    assert "Not undone" in refused
    assert re.search(r"I own a yacht</a>” has since changed", refused)
    assert len(memories_of(app, user.user_id)) == 2
    post_form(browser, f"/memories/{boat.memory_id}/forget")
    assert "Not undone" not in post_form(browser, f"/memories/changes/{change}/undo", headers=HTMX).text
    assert memories_of(app, user.user_id) == []
    assert "Undone" in post_form(browser, f"/memories/changes/{change}/undo", headers=HTMX).text


def test_the_panel_says_that_something_waits_and_lists_it_nowhere(app, browser, user, learn, model):
    talk = learn(user, "I may like tea")
    row = memories_of(app, user.user_id)[0]
    with app.app_context(), write_transaction():
        service.get_memory(user.user_id, row.memory_id).needs_review = True
    panel = panel_beside(browser, f"/c/{talk}")
    assert "1 to review" in panel and 'href="/memories/review"' in panel
    assert 'id="memory-list"' in panel and f'id="memory-{row.memory_id}"' not in panel
    assert badge_of(panel) == "0"
    wrong = post_form(browser, f"/memories/{row.memory_id}/review", headers=HTMX, decision="sing")
    assert wrong.status_code == 422 and "Choose one of the answers" in wrong.text
    early = post_form(browser, f"/memories/{row.memory_id}/review", headers=HTMX, decision="until", until="1066-10-14")
    assert "between 1970 and 2038" in early.text
    kept = post_form(browser, f"/memories/{row.memory_id}/review", headers=HTMX, decision="accept")
    assert "I may like tea" in kept.text
    assert not memories_of(app, user.user_id)[0].needs_review


def test_the_switches(app, browser, client, user, learn):
    temporary = browser.get(f"/c/{converse(app, user.user_id, 'My name is Nobody', is_temporary=True)}").text
    assert "Temporary conversation." in temporary and 'class="temporary-tag"' in temporary
    assert "Extract memories" not in temporary
    talk = learn(user, "I own a boat")
    off = post_form(browser, f"/c/{talk}/memory", headers=HTMX, on=0).text
    assert "Off in this conversation" in off
    assert "Extract memories" not in off
    assert post_form(browser, f"/c/{talk}/memory/extract", headers=HTMX).status_code == 409
    assert "Off in this conversation" not in post_form(browser, f"/c/{talk}/memory", headers=HTMX, on=1).text
    assert "Memory is off" in post_form(browser, "/memories/switch", headers=HTMX, on=0, conversation=talk).text
    assert "Memory is off." in browser.get("/memory").text
    assert post_form(browser, "/memories/switch", on=1).location == "/memory"
    page = browser.get("/memory").text
    assert 'role="switch"' not in page and 'href="/settings"' in page and "Memory is off." not in page


def test_extraction_by_the_button_tells_how_it_went(app, browser, user, model, run_jobs):
    talk = converse(app, user.user_id, "I own a boat")
    model.script(match="memory_operations", fault={"http_status": 503})

    def begin() -> str:
        begun = post_form(browser, f"/c/{talk}/memory/extract", headers=HTMX).text
        return re.search(r'hx-get="(/c/\d+/memory/extract/[^"]+)"', begun)[1]

    state = begin()
    assert begin() == state, "pressed twice, it is read once"
    assert "Reading the conversation" in browser.get(state, headers=HTMX).text
    run_jobs(failures=True)
    assert "The model does not answer." in browser.get(state, headers=HTMX).text
    answers(model, operation("I own a boat"))
    state = begin()
    run_jobs()
    done = browser.get(state, headers=HTMX)
    assert "Memories: +1." in done.text
    assert done.headers["HX-Trigger"] == "memories:changed, memories:corrected"
    say(app, talk, "I sold it")
    model.script(match="memory_operations", fault={"http_status": 401})
    state = begin()
    run_jobs()
    for place, why in ((state, "did not accept the API key"), (f"/c/{talk}/memory/extract/unknown", "")):
        failed = browser.get(place, headers=HTMX).text
        assert re.search(f"tried again.*{why}", failed), "what happened, then why"


def test_deleting_a_conversation_says_what_rests_on_it(app, browser, user, learn):
    empty = converse(app, user.user_id, "Hello")
    assert browser.get(f"/c/{empty}/delete", headers=HTMX).status_code == 204
    talk = learn(user, "I own a boat", title="Sea")
    question = browser.get(f"/c/{talk}/delete", headers=HTMX).text
    assert "1 memory rests on what you said in it" in question
    assert "I own a boat" in question
    answer = post_form(browser, f"/c/{talk}/delete-with-memories", headers=HTMX)
    assert "Deleted, and 1 memory forgotten" in answer.text
    assert memories_of(app, user.user_id) == []
    assert browser.get(f"/c/{talk}").status_code == 404
    post_form(browser, f"/c/{talk}/undelete", headers=HTMX)
    assert browser.get(f"/c/{talk}").status_code == 200


def test_health_offers_the_way_out(app, browser, user, learn):
    with app.app_context(), write_transaction():
        propose(user.user_id, [OutsideStatement(SECRET)], cause="import")
    assert "Nothing to tidy" in browser.get("/memories/health").text, "what waits for review is asked about elsewhere"
    execute(app, update(Memory).values(needs_review=False))
    assert "No source left" not in browser.get("/memories/health").text
    memory_id = memories_of(app, user.user_id)[0].memory_id
    brought = browser.get(f"/memories/{memory_id}?part=body", headers=HTMX).text
    assert "From an import or another program" in brought and "are gone" not in brought, "it needs no source"
    learn(user, "I own a boat", "I play the cello")
    rows = memories_of(app, user.user_id)[1:]
    with app.app_context(), write_transaction():
        revisions.drop_evidence(revisions.MemoryEvidence.memory_id == rows[0].memory_id)
    page = browser.get("/memories/health").text
    assert "No source left" in page
    opened = browser.get(f"/memories/{rows[0].memory_id}?part=body", headers=HTMX).text
    assert "The words it came from are gone" in opened
    kept = post_form(browser, f"/memories/health/keep/{rows[1].memory_id}", others=str(rows[0].memory_id))
    assert kept.location == "/memories/health"
    assert [row.is_archived for row in memories_of(app, user.user_id)[1:]] == [True, False]


def test_duplicates_can_all_be_kept(app, browser, user, remember):
    first, second = remember(user, "I own a boat"), remember(user, "I own a bike")
    execute(app, update(Memory).values(content="I own a boat"))
    page = browser.get("/memories/health").text
    assert page.count("Keep this one") == 2 and page.count("Keep both") == 1 and "0 quotes" not in page
    post_form(browser, f"/memories/health/keep/{second}", others=str(first), all="1")
    assert "Nothing to tidy" in browser.get("/memories/health").text
    assert [row.is_archived for row in memories_of(app, user.user_id)] == [False, False]


def test_search_finds_memories_and_words_and_leads_to_them(browser, user, learn, remember):
    talk = learn(user, "I own a wooden boat")
    remember(user, "Boats need paint")
    page = browser.get("/find?q=boat", headers=HTMX).text
    assert re.search(rf'role="option"\s+id="result-1"[^>]*hx-get="/c/{talk}\?at=\d+"', page)
    assert "<mark>Boats</mark> need paint" in page
    only = browser.get("/find?q=boat&kind=memory", headers=HTMX).text
    assert "/c/" not in only
    assert "Nothing found for “&lt;zyx&gt;”" in browser.get("/find?q=<zyx>&kind=conversation", headers=HTMX).text
    assert "Type a word" in browser.get("/find", headers=HTMX).text


def test_a_panel_that_was_not_looked_at_yet_follows_the_conversation(browser, user, learn):
    learn(user, "I own a boat")
    other = learn(user, "I own a bike")
    moved = browser.get(f"/memories/panel?part=moved&conversation={other}", headers=HTMX).text
    assert 'hx-target="#memory-here"' in moved and f"/c/{other}/memory/extract" in moved
    assert 'hx-target="#used-here"' in moved and f"/c/{other}/used" in moved
    assert "I own a" not in moved


def test_what_was_for_a_time_is_asked_about_a_few_at_a_time_and_leaves_the_prompt(app, browser, client, user):
    kind, over = {"memory_type": "fact"}, f"{now() - timedelta(days=2):%Y-%m-%d}"
    ids = [
        client.post("/api/memories", json=kind | {"content": f"Planning trip number {n}"}).json["memory_id"]
        for n in range(6)
    ]
    client.post("/api/memories", json=kind | {"content": "Lives in Lisbon"})

    def context_texts() -> set[str]:
        return {item.content for item in context_memories(user.user_id)}

    with app.app_context():
        assert len(context_texts()) == 7
        with write_transaction():
            db.session.execute(update(Memory).values(updated_at=now() - timedelta(days=120)))
        for number in ids:
            assert client.put(f"/api/memories/{number}", json={"until": over}).json["until"] == over
        assert context_texts() == {"Lives in Lisbon"}
    page = browser.get("/memories/health").text
    assert page.count(">Still true</button>") == 4, "a few at a time"
    assert "Still true" in post_form(browser, f"/memories/{ids[0]}/still-true", headers=HTMX, answer="yes").text
    assert "No longer true" in post_form(browser, f"/memories/{ids[1]}/still-true", headers=HTMX, answer="no").text
    with app.app_context():
        assert context_texts() == {"Planning trip number 0", "Lives in Lisbon"}
        assert db.session.get(Memory, ids[1]).valid_to is not None
        assert db.session.get(Memory, ids[2]).valid_to is None, "what was not answered is still remembered"
    assert browser.get("/memories/health").text.count(">Still true</button>") == 4


def test_many_at_once_from_the_compact_list(app, browser, client, user, make_user, api):
    kind = {"memory_type": "fact"}
    ids = [client.post("/api/memories", json=kind | {"content": f"Owns boat {n}"}).json["memory_id"] for n in range(4)]
    page = browser.get("/memory?view=rows").text
    assert page.count('name="ids"') == 4 and "Fact" in page
    assert post_form(browser, "/memories/many", ids=ids[:2], action="archive").status_code == 303
    assert post_form(browser, "/memories/many", ids=ids[2:], action="pin").status_code == 303
    rows = {row.memory_id: row for row in memories_of(app, user.user_id)}
    assert [bool(rows[number].is_archived) for number in ids] == [True, True, False, False]
    assert [bool(rows[number].is_pinned) for number in ids] == [False, False, True, True]
    for action, field in (("unpin", "is_pinned"), ("unarchive", "is_archived")):  # one notice undoes each as a whole
        chosen = [number for number in ids if getattr(rows[number], field)]
        done = post_form(browser, "/memories/many", ids=chosen, action=action)
        *_, undo = re.findall(r'action="(/memories/changes/\d+/undo[^"]*)"', browser.get(done.location).text)
        assert post_form(browser, html.unescape(undo)).location == "/memory"
        assert post_form(browser, html.unescape(undo)).status_code == 409
    rows = {row.memory_id: row for row in memories_of(app, user.user_id)}
    assert [bool(rows[number].is_archived) for number in ids] == [True, True, False, False]
    assert [bool(rows[number].is_pinned) for number in ids] == [False, False, True, True]
    asked = post_form(browser, "/memories/many", ids=ids[2:], action="forget")
    assert asked.status_code == 200 and "Forget 2 memories for good?" in asked.text
    assert len(memories_of(app, user.user_id)) == 4, "nothing is forgotten before it was asked"
    gone = [*ids[2:], 2**31 - 1]
    assert post_form(browser, "/memories/many", ids=gone, action="forget", confirm=1).status_code == 303
    assert [row.memory_id for row in memories_of(app, user.user_id)] == ids[:2]
    theirs = api(make_user()).post("/api/memories", json=kind | {"content": "Owns a barge"}).json["memory_id"]
    forget, keep = {"ids": [theirs], "action": "forget", "confirm": 1}, {"decision": "accept"}
    for path, fields in (("many", forget), ("many", {"action": "pin"}), ("review", keep)):
        answer = post_form(browser, f"/memories/{path}", **fields)
        assert "Select at least one memory." in browser.get(answer.location).text
    assert post_form(browser, "/memories/many", ids=ids[:1], action="sell").status_code == 422


def test_several_in_review_are_decided_together_and_counted_in_the_navigation(
    app, browser, client, user, model, remember
):
    talk = converse(app, user.user_id, "maybe I like jazz. maybe I like chess. maybe I like moss.")
    answers(
        model,
        *(operation(f"maybe I like {what}", f"Likes {what}.", confidence=0.5) for what in ("jazz", "chess", "moss")),
    )
    make_memories(app, talk)
    waiting = [row.memory_id for row in memories_of(app, user.user_id) if row.needs_review]
    assert len(waiting) == 3
    assert "3 to review" in browser.get("/memory").text
    page = browser.get("/memory?show=review&view=rows").text
    assert page.count('name="ids"') == 3 and 'formaction="/memories/review"' in page
    assert post_form(browser, "/memories/review", ids=waiting[:2], decision="accept").status_code == 303
    assert post_form(browser, "/memories/review", ids=waiting[2:], decision="reject").status_code == 303
    assert [row.needs_review for row in memories_of(app, user.user_id)] == [False, False]
    assert post_form(browser, "/memories/review", ids=waiting[:1], decision="both").status_code == 422
    # What was said in two places waits twice; that one goes with the other stops nothing.
    space_id = client.post("/api/spaces", json={"kind": "project", "name": "Garden"}).json["space_id"]
    ids = [remember(user), remember(user, space_id=space_id), remember(user, "Likes chalk")]
    execute(app, update(Memory).where(Memory.memory_id.in_(ids)).values(needs_review=True))
    assert post_form(browser, "/memories/review", ids=ids, decision="reject").status_code == 303
    assert [row.memory_id for row in memories_of(app, user.user_id)] == waiting[:2]
    assert "3 memories forgotten." in browser.get("/memories/review").text


def test_proposals_are_shown_as_waiting_and_what_is_forgotten_offers_no_undo(app, browser, user):
    with app.app_context(), write_transaction():
        made = propose(user.user_id, [OutsideStatement("Keeps goats"), OutsideStatement("Likes moss")], cause="import")
    page = browser.get("/memories/changes").text
    assert "To review: Keeps goats, Likes moss" in page and "Remembered" not in page
    opened = browser.get(f"/memories/changes/{made.change_set_id}", headers=HTMX).text
    assert opened.count("waiting for you") == 2 and "Undo</button>" in opened
    ids = [row.memory_id for row in memories_of(app, user.user_id)]
    with app.app_context(), write_transaction():
        gone = forgetting.forget(user.user_id, ids[:1], cause="tool").change_set_id
    assert "1 forgotten" in browser.get("/memories/changes").text
    assert "Undo</button>" not in browser.get(f"/memories/changes/{gone}", headers=HTMX).text


def badge_of(fragment: str) -> str:
    return re.search(r'hx-target="\[data-memory-count\]"\s+hx-swap="textContent">([^<]*)<', fragment)[1]


def test_the_badge_counts_what_its_panel_lists(app, browser, client, user, make_user, remember):
    """Those of the space it arrives at, others' shared ones too, and no others; not what waits for a decision."""
    space_id = client.post("/api/spaces", json={"kind": "project", "name": "Garden"}).json["space_id"]
    other = make_user()
    join(client, space_id, api_client(app, other))
    remember(user), remember(user, "Likes moss")
    doubtful = remember(user, "Grows beans", space_id=space_id)
    theirs = browser_client(app, other)
    place = re.search(r'href="(/memories/new[^"]*)', panel_beside(theirs, f"/?into={space_id}"))[1]
    fields = dict(re.findall(r'type="hidden" name="(space_id)" value="(\d+)"', theirs.get(place).text))
    for content in ("Dislikes weeding", "Waters on Mondays"):
        post_form(theirs, "/memories", content=content, memory_type="fact", **fields)
    edit = f"/memories/{memories_of(app, other.user_id)[-1].memory_id}/edit"
    assert '<option value="shared">' in theirs.get(edit).text
    post_form(theirs, edit, visibility="shared")
    execute(app, update(Memory).where(Memory.memory_id == doubtful).values(needs_review=True))
    talk = client.post("/api/conversations", json={"title": "Beds", "space_id": space_id}).json["conversation_id"]
    for path, number in {
        "/": 2,
        f"/c/{talk}": 1,
        f"/?into={space_id}": 1,
        f"/memories/panel?conversation={talk}": 1,
        f"/memories/panel?conversation={talk}&space=": 2,
        f"/memories/panel?space={space_id}": 1,
    }.items():
        if path.startswith("/memories"):
            shown = browser.get(path, headers=HTMX).text
        else:
            shown = panel_beside(browser, path)
        listed = re.findall(r'id="memory-(\d+)"', shown.partition("memory-list")[2])
        assert (len(listed), badge_of(shown)) == (number, str(number)), path


def facets_of(page: str) -> dict[str, tuple[str, bool]]:
    """By name: how many a part of the memory page has, and whether it is chosen."""
    parts = re.findall(
        r'<a class="mem-facet"([^>]*)><span[^>]*>([^<]*)</span>(?: <span class="mem-facet-count">([^<]*)</span>)?', page
    )
    return {html.unescape(name): (count, "aria-current" in attributes) for attributes, name, count in parts}


def test_a_category_of_the_products_own_is_named_in_the_readers_language(browser, client, user, remember):
    remember(user, "Is allergic to peanuts", category="health")
    remember(user, "Likes jazz", category="late_evening_music")
    client.put("/api/account", json={"settings": {"language": "de"}})
    assert {"Gesundheit", "Late evening music"} <= set(facets_of(browser.get("/memory").text))
    filed = {*(key.split("/")[0] for key in KEYS.values()), *_CATEGORIES.values(), *LEGACY_CATEGORIES}
    assert filed == set(texts.CATEGORIES)


def test_the_page_counts_what_each_part_lists(app, browser, client, user, make_user, remember, monkeypatch):
    """Also beside another choice, and with what others share in a space; nothing is shown that lists nothing."""
    space_id = client.post("/api/spaces", json={"kind": "project", "name": "Garden"}).json["space_id"]
    other = make_user()
    join(client, space_id, api_client(app, other))
    remember(user, "Likes tea", category="drinks", is_pinned=True)
    remember(user, "Likes coffee", category="drinks")
    remember(user, "Grows beans", space_id=space_id)
    gone = remember(user, "Owns a boat", category="things")
    remember(other, "Waters on Mondays", space_id=space_id, visibility="shared")
    remember(other, "Dislikes weeding", space_id=space_id)
    change_row(app, Memory, gone, is_archived=True)
    change_row(app, Memory, remember(user, "Likes jazz", memory_type="preference"), needs_review=True)
    parts = facets_of(browser.get("/memory").text)
    assert parts["In use"] == ("3", True) and parts["Pinned"] == ("1", False) and parts["To review"] == ("1", False)
    assert parts["Fact"] == ("3", False) and parts["Drinks"] == ("2", False) and parts["Garden"] == ("2", False)
    assert parts["Archived"] == ("", False) and "Things" not in parts and "Preference" not in parts
    chosen = facets_of(browser.get("/memory?category=drinks").text)
    assert chosen["Drinks"] == ("", True) and chosen["Pinned"] == ("1", False) and "Garden" not in chosen
    inside = facets_of(browser.get(f"/memory?space={space_id}").text)
    assert inside["In use"] == ("2", True) and inside["Fact"] == ("2", False)
    archived = facets_of(browser.get("/memory?show=archived").text)
    assert archived["Archived"] == ("", True) and archived["Things"] == ("1", False)
    searched = facets_of(browser.get("/memory?q=tea").text)
    assert searched["Fact"][0] == "" and searched["In use"][0] == ""
    monkeypatch.setattr(facets, "MAX_COUNT", 1)
    long = facets_of(browser.get("/memory").text)
    assert long["In use"] == ("", True) and long["Drinks"] == ("", False) and long["Fact"] == ("", False), "not counted"


def test_a_row_names_only_what_sets_it_apart(browser, user, remember):
    remember(user, "Likes tea")
    page = browser.get("/memory").text
    row = page[page.index("Likes tea") :].partition("</summary>")[0]
    assert "fact" not in row and "<time" not in row and "<q" not in row
    opened = browser.get(re.search(r'hx-get="(/memories/\d+\?part=body)"', page)[1], headers=HTMX).text
    assert "Fact · personal" in opened and "Added by you" in opened
    old, new = (
        remember(user, f"Lives in {city}", fact_key="identity/location", fact_value=city) for city in ("Leeds", "York")
    )
    for memory_id, title, other in ((old, "Later values", "Lives in York"), (new, "Earlier values", "Lives in Leeds")):
        page = browser.get(f"/memories/{memory_id}").text
        assert other in page.partition(title)[2] and page.count(" values</p>") == 1, title


def test_what_contradicts_another_is_left_when_several_are_kept(app, browser, user, remember):
    held, against, alone = (remember(user, text) for text in ("Likes tea", "Hates tea", "Likes chalk"))
    with app.app_context(), write_transaction():
        waits = update(Memory).where(Memory.memory_id.in_([against, alone])).values(needs_review=True)
        db.session.execute(waits)
        db.session.execute(update(Memory).where(Memory.memory_id == against).values(contradicts_id=held))
    assert post_form(browser, "/memories/review", ids=[against, alone], decision="accept").status_code == 303
    assert "1 memory kept. 1 left as they were: they contradict another." in browser.get("/memories/review").text
    states = {row.memory_id: (row.needs_review, row.valid_to is None) for row in memories_of(app, user.user_id)}
    assert states == {held: (False, True), against: (True, True), alone: (False, True)}
    assert post_form(browser, "/memories/review", ids=[alone, held, 2**31 - 1], decision="reject").status_code == 303
    assert "0 memories forgotten. 3 had been settled already." in browser.get("/memories/review").text, "in another tab"


def test_of_two_that_wait_with_one_key_one_is_kept_and_the_other_asked_about(app, browser, user):
    fields = {"key": "identity/location"}
    with app.app_context(), write_transaction():
        cities = [OutsideStatement(f"Lives in {city}", value=city, **fields) for city in ("York", "Leeds")]
        propose(user.user_id, cities, cause="import")
    ids = [row.memory_id for row in memories_of(app, user.user_id)]
    assert post_form(browser, "/memories/review", ids=ids, decision="accept").status_code == 303
    page = browser.get("/memories/review").text
    assert "1 memory kept. 1 left as they were: they contradict another." in page and "These two disagree" in page
    states = [(row.needs_review, row.valid_to is None) for row in memories_of(app, user.user_id)]
    assert states == [(False, True), (True, True)]
