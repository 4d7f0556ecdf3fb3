"""Usage: what replies and background work took, who sees it, what it costs, and limits."""

import re
import threading
from datetime import timedelta
from functools import partial

import pytest
from hypothesis import given, strategies as st

from testkit.people import api_client, post_form
from tests.support.interleaving import at_once
from tests.support.queries import count_queries, listener, scalars
from webapp.db.base import db, now, reads_only, write_transaction
from webapp.errors import Unavailable
from webapp.i18n.numbers import round_count
from webapp.llm.complete import Completion
from webapp.llm.usage import Usage
from webapp.providers import catalogue
from webapp.schedules import runs
from webapp.usage import records, service
from webapp.usage.models import UsageRecord
from webapp.usage.records import cost
from webapp.usage.schemas import QuotaFields


@pytest.fixture(autouse=True)
def _fresh():
    service.forget()
    yield
    service.forget()


def _spend(app, user, tokens=1_000, *, model="gpt-4o-mini", kind="chat", days_ago=0, **more):
    with app.app_context(), write_transaction():
        db.session.add(
            UsageRecord(
                user_id=user.user_id,
                kind=kind,
                model=model,
                input_tokens=tokens,
                output_tokens=100,
                created_at=now() - timedelta(days=days_ago),
                **more,
            )
        )


def _talk(client):
    sent = client.post("/api/chat/stream", json={"message": "Hello there"})
    assert sent.status_code == 200 and sent.text
    return sent


def test_a_reply_is_counted_as_the_server_reports_it(app, client, model, run_jobs):
    _talk(client)
    run_jobs()
    report = client.get("/api/usage?by=model").get_json()
    assert report["total"]["chat_input_tokens"] > 0 and report["total"]["chat_output_tokens"] > 0
    assert report["total"]["calls"] >= 1
    assert report["usage"][0]["label"]


def test_people_read_round_numbers_and_the_exact_ones_on_hover(app, client, login, user):
    """The page said "175,376"; what programs read stays exact."""
    _spend(app, user, 175_276)
    assert '<td><span title="175,376">175,000</span></td>' in login(user).get("/usage").text
    german = login(user).get("/usage", headers={"Accept-Language": "de"}).text
    assert '<td><span title="175.376">175.000</span></td>' in german
    assert client.get("/api/usage").get_json()["total"]["chat_input_tokens"] == 175_276
    assert "175276" in login(user).get("/usage.csv").text


@pytest.mark.parametrize(
    ("value", "shown"),
    [(0, 0), (9_999, 9_999), (10_049, 10_000), (12_350, 12_400), (175_376, 175_000), (1_234_567, 1_230_000)],
)
def test_counts_are_rounded_to_three_digits(value, shown):
    assert round_count(value) == shown


def test_usage_is_grouped_by_day_model_and_conversation(app, client, user):
    _spend(app, user, 1_000)
    _spend(app, user, 500, model="gpt-4o", days_ago=1)
    _spend(app, user, 200, kind="memory_operations", days_ago=1)
    _spend(app, user, 9_999, days_ago=60)
    days = client.get("/api/usage").get_json()
    assert [line["chat_input_tokens"] for line in days["usage"]] == [500, 1_000]
    assert days["usage"][0]["background_input_tokens"] == 200
    models = client.get("/api/usage?by=model").get_json()["usage"]
    assert {line["label"] for line in models} == {"gpt-4o", "gpt-4o-mini"}
    assert days["total"]["dollars"] == pytest.approx(sum(line["dollars"] for line in models), abs=1e-5)
    first = (now() - timedelta(days=1)).date().isoformat()
    assert client.get(f"/api/usage?from={first}&to={first}").get_json()["total"]["chat_input_tokens"] == 500


def test_bad_questions_are_422(client):
    days = ("from=2026-02-30", "from=2026-05-02&to=2026-05-01", "from=2001-01-01", "to=9999-12-31", "to=0001-01-01")
    for query in ("by=planet", *days):
        assert (query, client.get(f"/api/usage?{query}").status_code) == (query, 422)


def test_own_for_people_and_everybodys_for_admins(app, client, user, api, make_user):
    _spend(app, user)
    stranger, admin = api(make_user()), api(make_user(is_admin=True))
    assert stranger.get("/api/usage").get_json()["usage"] == []
    assert client.get("/api/usage?by=user").status_code == 403
    (line,) = admin.get("/api/usage?by=user").get_json()["usage"]
    assert (line["key"], line["label"]) == (str(user.user_id), user.name)


def test_limits_are_said_before_and_kept_at_their_end(app, client, user, login, admin_browser):
    form = {"day_tokens": "1500", "month_tokens": "", "day_dollars": "", "month_dollars": ""}
    assert post_form(admin_browser, "/admin/usage/quotas", page="/admin/usage", **form).status_code == 303
    _spend(app, user, 1_200)
    state = client.get("/api/usage").get_json()["quotas"][0]
    assert (state["tokens"], state["tokens_used"]) == (1_500, 1_300)
    assert "close to the limit" in login(user).get("/usage").text
    _spend(app, user, 200)
    refused = client.post("/api/chat/stream", json={"message": "One more"})
    assert refused.status_code == 429 and int(refused.headers["Retry-After"]) > 0
    assert "not sent" in refused.get_json()["detail"]
    assert client.get("/api/conversations").get_json()["conversations"] == []


def test_admins_set_limits_over_the_api(app, client, user, api, make_user):
    admin = api(make_user(is_admin=True))
    mine = f"/api/users/{user.user_id}/quotas"
    assert admin.get("/api/quotas").get_json() == admin.get(mine).get_json() == {"quotas": []}
    everybodys = {"quotas": [{"period": "day", "tokens": 5_000, "dollars": None}]}
    own = {"quotas": [{"period": "month", "tokens": None, "dollars": 2.5}]}
    assert admin.put("/api/quotas", json=everybodys).get_json() == everybodys == admin.get("/api/quotas").get_json()
    assert client.get("/api/usage").get_json()["quotas"][0]["tokens"] == 5_000
    assert admin.put(mine, json=own).get_json() == own == admin.get(mine).get_json()
    assert client.get("/api/usage").get_json()["quotas"][0]["dollars"] == 2.5
    assert admin.get("/api/quotas").get_json() == everybodys
    assert admin.put(mine, json={"quotas": []}).get_json() == {"quotas": []}
    assert client.get("/api/usage").get_json()["quotas"][0]["tokens"] == 5_000


def test_limits_that_mean_nothing_are_refused_and_change_nothing(api, make_user):
    admin = api(make_user(is_admin=True))
    held = {"quotas": [{"period": "day", "tokens": 9, "dollars": None}]}
    admin.put("/api/quotas", json=held)
    odd = [{"period": "week", "tokens": 5}, {"period": "day", "tokens": -1}, {"period": "day", "euros": 5}]
    twice = [{"period": "day", "tokens": 1}, {"period": "day", "tokens": 2}]
    for quotas in (*([quota] for quota in odd), twice, None):
        refused = admin.put("/api/quotas", json={"quotas": quotas})
        assert (quotas, refused.status_code, refused.content_type) == (quotas, 422, "application/problem+json")
        assert admin.get("/api/quotas").get_json() == held
    assert admin.get("/api/users/999999/quotas").status_code == 404
    assert admin.put("/api/users/999999/quotas", json=held).status_code == 404


def test_replies_that_begin_together_overrun_no_limit(app, client, user, model, monkeypatch):
    with app.app_context(), write_transaction():
        service.set_quotas(user.user_id, [QuotaFields(period="day", tokens=20_000)])
    held = model.hold_reply()
    talks = [client.post("/api/conversations", json={}).get_json()["conversation_id"] for _ in range(4)]

    def ask(talk):
        return api_client(app, user).post(f"/api/conversations/{talk}/messages", json={"content": "Hello"})

    answers = sorted(at_once(*[partial(ask, talk) for talk in talks]), key=lambda answer: answer.status_code)
    assert [answer.status_code for answer in answers] == [202, 429, 429, 429]
    assert "is being written" in answers[1].get_json()["detail"] and answers[1].headers["Retry-After"] == "10"
    monkeypatch.setattr(runs, "_begin", lambda _run_id: service.require_room(user.user_id))
    with app.app_context(), pytest.raises(Unavailable):  # a schedule's waits, as while no turns are taken
        runs.run(1)
    held.release()
    assert client.get(f"/api/messages/{answers[0].get_json()['message']['id']}/response?wait=20").status_code == 200
    with app.app_context(), count_queries() as sent:
        assert ask(talks[0]).status_code == 202
    locks = [re.findall(r"FROM (\w+)", statement)[0] for statement in sent if "FOR UPDATE" in statement]
    assert locks[:2] in ([], ["conversations", "users"]), "as a job does that writes something of theirs"


def test_who_comes_near_a_limit_is_told_at_the_message_field(app, client, user, run_jobs, browser):
    with app.app_context(), write_transaction():
        service.set_quotas(None, [QuotaFields(period="day", tokens=100_000), QuotaFields(period="month", dollars=50)])
    talk = client.post("/api/conversations", json={}).get_json()["conversation_id"]

    def send_hello() -> str:
        partial = {"HX-Request": "true"}
        answer = post_form(browser, f"/c/{talk}/messages", f"/c/{talk}", headers=partial, content="Hello")
        assert answer.status_code == 200
        said_there = client.get(f"/api/conversations/{talk}/messages").get_json()["messages"]
        asked = [line for line in said_there if line["role"] == "user"]
        client.get(f"/api/messages/{asked[-1]['message_id']}/response?wait=20")  # nothing is left running
        return str(answer.text)

    assert "of your limit" not in send_hello() + browser.get(f"/c/{talk}").text
    _spend(app, user, 83_000)
    near = send_hello()
    assert 'hx-target="#composer-limit"' in near and "% of your limit for today." in near
    assert "% of your limit for today." in browser.get("/").text
    assert "You are close to the limit." in browser.get("/usage").text
    _spend(app, user, 17_000)
    reply = client.get(f"/api/conversations/{talk}/messages").get_json()["messages"][-1]["message_id"]
    run_jobs()  # else its viewers would wait half a minute for them
    ended = browser.get(f"/turns/{reply}/events").text
    assert "You have reached your limit for today; you can continue" in ended, "what the reply cost is said as it ends"


def test_a_limit_of_nothing_is_used_up_for_answers_anew_and_edits_too(app, client, user, login):
    _talk(client)
    (talk,) = client.get("/api/conversations").get_json()["conversations"]
    asked, reply = client.get(f"/api/conversations/{talk['conversation_id']}").get_json()["messages"]
    with app.app_context(), write_transaction():
        service.set_quotas(user.user_id, [service.QuotaFields(period="day", tokens=0)])
    assert client.post("/api/chat/stream", json={"message": "Hello"}).status_code == 429
    assert "You have reached your limit for today; you can continue" in login(user).get("/").text
    assert "You have reached the limit." in login(user).get("/usage").text
    service.forget()
    assert client.post(f"/api/chat/turns/{reply['message_id']}/regenerate", json={}).status_code == 429
    assert client.post(f"/api/messages/{asked['message_id']}/edit", json={"content": "Again"}).status_code == 429
    assert client.post("/api/chat/stream", json={"message": "Hello"}).status_code == 429
    assert "You have reached your limit for today; you can continue" in login(user).get("/").text
    assert "You have reached the limit." in login(user).get("/usage").text


def test_own_limits_take_the_place_of_everybodys(app, client, user):
    with app.app_context(), write_transaction():
        service.set_quotas(None, [service.QuotaFields(period="day", tokens=0)])
        service.set_quotas(user.user_id, [service.QuotaFields(period="month", dollars=5.0)])
    _spend(app, user)
    assert _talk(client)
    assert client.get("/api/usage").get_json()["quotas"][0]["period"] == "month"


def test_pages_and_table(app, client, user, browser, admin_browser):
    """Cells are no formulas."""
    _spend(app, user, is_estimated=True)
    _spend(app, user, model="=cmd()")
    page = browser.get("/usage?by=model").text
    assert "gpt-4o-mini" in page and "≈" in page
    table = browser.get("/usage.csv?by=model")
    assert table.mimetype == "text/csv" and "gpt-4o-mini" in table.text and "'=cmd()" in table.text
    everybody = admin_browser.get("/admin/usage?by=user").text
    assert user.name in everybody and "/admin/usage.csv?by=user" in everybody
    assert user.name in admin_browser.get("/admin/usage.csv?by=user").text


def test_background_work_has_the_price_of_the_model_that_did_it(
    app, client, api, make_user, model, run_jobs, monkeypatch
):
    monkeypatch.setattr(catalogue, "environment_sets_models", lambda _settings: False)
    catalogue.catalogue.forget()
    offer = {"model": "other-chat", "is_default": True, "input_price": 1e6, "output_price": 0.0}
    body = {"name": "Other", "base_url": f"{model.base_url}/", "api_key": "sk-other", "models": [offer]}
    admin = api(make_user(is_admin=True))
    made = admin.post("/api/connections", json=body)
    assert made.status_code == 201, made.text
    _talk(client)
    run_jobs()
    total = client.get("/api/usage?by=model").get_json()["total"]
    # What was spent stays what it was when the model is gone.
    admin.delete(f"/api/connections/{made.get_json()['connection_id']}")
    catalogue.catalogue.forget()
    assert client.get("/api/usage?by=model").get_json()["total"] == total
    catalogue.catalogue.forget()
    assert total["background_input_tokens"] > 0
    assert total["dollars"] == pytest.approx(total["chat_input_tokens"] + total["background_input_tokens"])


@pytest.mark.parametrize("unusable", [{"reply": '{"statements": [{"mess', "finish_reason": "length"}, {"reply": "no"}])
def test_an_answer_that_is_of_no_use_is_counted_too(app, client, user, model, run_jobs, unusable):
    model.script(match="memory_operations", **unusable)
    _talk(client)
    run_jobs(failures=True)
    rows = scalars(app, db.select(UsageRecord).filter_by(user_id=user.user_id, kind="memory_operations"))
    calls = [call for call in model.calls() if call["schema"] == "memory_operations"]
    assert calls and sum(row.input_tokens for row in rows) >= len(calls)


def test_a_writer_that_comes_between_does_not_keep_a_call_from_being_counted(app, user, client, monkeypatch):
    talk = client.post("/api/conversations").get_json()["conversation_id"]
    writer = threading.Thread(target=_spend, args=(app, user))

    def write(_connection, _cursor, statement, *_more):
        if statement.startswith("SELECT") and not writer.ident:
            writer.start()
            writer.join(2)

    monkeypatch.setattr(records, "context", lambda: {"conversation_id": talk})
    with app.app_context(), reads_only(), listener(db.engine, "after_cursor_execute", write):
        records.record_background("titles", Completion("A title", "m", Usage(10, 5)), None)
    writer.join()
    monkeypatch.setattr(records, "context", lambda: {"conversation_id": talk + 1, "user_id": user.user_id})
    with app.app_context():  # nor does a conversation that is deleted meanwhile
        records.record_background("titles", Completion("A title", "m", Usage(10, 5)), None)
    assert client.get("/api/usage").get_json()["total"]["calls"] == 3


def test_prices():
    assert cost("gpt-4o-mini", (1_000_000, 0, 0)) == pytest.approx(0.15)
    assert cost("gpt-4o-mini", (1_000_000, 1_000_000, 0)) < 0.15
    assert cost("nobody-knows-this", (1_000, 0, 1_000)) is None
    assert cost("nobody-knows-this", (1_000_000, 0, 1_000_000), (2.0, 3.0)) == pytest.approx(5.0)


@given(st.integers(0, 10**7), st.integers(0, 10**7), st.integers(0, 10**7))
def test_more_tokens_never_cost_less(given_tokens, cached, made):
    tokens = (given_tokens, min(cached, given_tokens), made)
    assert 0 <= cost("gpt-4o", tokens) <= cost("gpt-4o", (tokens[0] + 1_000, tokens[1], tokens[2]))


def _bars(page, series):
    return re.findall(rf'<rect class="chart-{series}" x="([\d.]+)" width="16"\s+y="([\d.]+)" height="([\d.]+)"', page)


def test_thirty_days_are_drawn_by_what_they_were_spent_on(app, client, user, login):
    _spend(app, user, 900)
    _spend(app, user, 400, kind="memory_operations")
    _spend(app, user, 300, kind="schedule")
    _spend(app, user, 1_900, days_ago=29)
    _spend(app, user, 9_999, days_ago=30)
    page = login(user).get("/usage").text
    assert page.count('class="chart-hit"') == 2 * 30, "a column for each day, of tokens and of cost"
    chat, memory, schedules = (_bars(page, series) for series in ("chat", "memory", "schedules"))
    assert [size for _x, _y, size in chat] == ["100.0", "50.0"], "of two thousand, with what was written"
    assert [float(size) for _x, _y, size in memory + schedules] == [25, 20]
    assert {x for x, _y, _size in memory} == {x for x, _y, _size in schedules} == {chat[1][0]}
    assert '<th scope="col">Schedules</th>' in page and "<td>1,000</td><td>500</td><td>400</td>" in page
    line = client.get("/api/usage").get_json()["usage"][-1]
    assert (line["schedule_input_tokens"], line["schedule_output_tokens"]) == (300, 100)
    assert "schedule_input_tokens" in login(user).get("/usage.csv").text


def test_without_schedules_or_prices_nothing_is_drawn_of_them(app, user, login):
    _spend(app, user, model="nobody-knows-this")
    page = login(user).get("/usage").text
    assert "Schedules</th>" not in page and "Cost a day" not in page and "Tokens a day" in page


def test_a_limit_for_a_day_is_a_line_across_it(app, user, login, make_user):
    with app.app_context(), write_transaction():
        service.set_quotas(None, [QuotaFields(period="day", tokens=1_000), QuotaFields(period="month", tokens=50_000)])
    _spend(app, user, 1_900)
    page = login(user).get("/usage").text
    assert re.search(r'<line class="chart-limit" x1="0" x2="600" y1="50.0" y2="50.0">', page)
    assert "not in sight" not in page and page.count('class="chart-over"') == 1, "of the two, the day's is used up"
    with app.app_context(), write_transaction():
        service.set_quotas(None, [QuotaFields(period="day", tokens=1_000_000)])
    page = login(user).get("/usage").text
    assert 'x2="600" y1' in page and "(not in sight)" in page
    everybody = login(make_user(is_admin=True)).get("/admin/usage").text
    assert "chart-limit" not in everybody, "what all use together has no limit"


def test_pages_of_usage_are_for_those_whose_it_is(app, user, login, make_user, admin_browser):
    _spend(app, user, 123_456)
    assert "Nothing used yet" in login(make_user()).get("/usage").text
    assert "Nothing used yet" in admin_browser.get("/usage").text, "an admin sees everybody's on a page of its own"
    assert "123,556" in login(user).get("/usage").text and "123,556" in admin_browser.get("/admin/usage").text


@pytest.mark.parametrize(("path", "sent"), [("/usage", 5), ("/usage?by=conversation", 6), ("/admin/usage?by=user", 5)])
def test_statements_of_a_page_do_not_grow_with_what_was_used(app, make_user, login, path, sent, monkeypatch):
    monkeypatch.setattr(catalogue, "CACHE_SECONDS", 3_600.0)
    admin = make_user(is_admin=True)
    browser = login(admin)
    counted = []
    for size in (5, 200):
        for number in range(size):
            _spend(app, admin, model=f"m-{number % 3}", days_ago=number % 29)
        assert browser.get(path).status_code == 200
        with app.app_context(), count_queries() as statements:
            assert browser.get(path).status_code == 200
        counted.append(sum(statement.startswith("SELECT") for statement in statements))
    assert counted == [sent, sent]
