"""While the embedder is away replies and search go on with words, and the pages say so, until it is back."""

import pytest

from testkit.waiting import wait_for_reply
from webapp.retrieval import query_vectors

HTMX = {"HX-Request": "true"}
TALK = [("user", "I adopted a greyhound called Comet"), ("assistant", "Welcome, Comet!")]
QUESTION = "What is my greyhound called?"
BY_WORDS = "Only exact words were searched"


@pytest.fixture
def vectors(app):
    """The query vectors of the process, as if no other test had asked for any."""
    with app.app_context():
        made = query_vectors.query_vectors()
    made._failures = 0
    made._cache.clear()
    yield made
    made._failures = 0
    made._cache.clear()


@pytest.fixture
def ask(client, model):
    """Ask in a new conversation; the id of the reply."""

    def one() -> int:
        conversation_id = client.post("/api/conversations", json={}).json["conversation_id"]
        model.script(match=QUESTION[:20], reply="Comet.")
        started = client.post(f"/api/conversations/{conversation_id}/messages", json={"content": QUESTION})
        wait_for_reply(client, started.json["response_id"])
        return started.json["response_id"]

    return one


def test_receipt_and_search_say_that_only_words_were_looked_for(ask, user, model, tell, run_jobs, vectors, browser):
    assert BY_WORDS not in browser.get(f"/messages/{ask()}/used").text, "with nothing to be found nothing is said"
    tell(user, TALK)
    run_jobs()
    model.script(path="embeddings", fault={"http_status": 503})
    reply = ask()
    for page in (f"/messages/{reply}/used", "/find?q=greyhound"):
        for headers in ({}, HTMX):
            assert BY_WORDS in browser.get(page, headers=headers).text, page
    assert "greyhound" in browser.get(f"/messages/{reply}/used").text, "words still find it"
    model.reset()
    vectors._failures = 0
    assert BY_WORDS not in browser.get("/find?q=greyhounds", headers=HTMX).text
    assert BY_WORDS not in browser.get(f"/messages/{ask()}/used", headers=HTMX).text
    assert BY_WORDS in browser.get(f"/messages/{reply}/used", headers=HTMX).text, "a receipt tells how it was then"


def test_a_receipt_says_so_where_words_found_nothing(client, ask, login, user, model, tell, run_jobs, vectors):
    tell(user, [("user", "The bakery opens at seven"), ("assistant", "Early birds.")])
    run_jobs()
    model.script(path="embeddings", fault={"http_status": 503})
    reply = ask()
    steps = client.get(f"/api/messages/{reply}/pipeline_steps").json["pipeline_steps"]
    looked = next(step["data"] for step in steps if step["name"] == "retrieval")
    assert (looked["found"], looked["is_away"]) == (0, True)
    assert BY_WORDS in login(user).get(f"/messages/{reply}/used").text


def test_the_administration_says_that_the_embedder_is_away(model, vectors, admin_browser):
    assert "Not responding." not in admin_browser.get("/admin").text
    model.script(path="embeddings", fault={"http_status": 503})
    for number in range(query_vectors.FAILURES):
        admin_browser.get(f"/find?q=word{number}")
    assert "Not responding." in admin_browser.get("/admin").text
