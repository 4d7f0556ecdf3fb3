"""JSON endpoints of search and of receipts."""

from webapp.accounts.auth import current_user_id
from webapp.conversations.service import get_conversation
from webapp.http.json_api import api_blueprint
from webapp.http.validation import Id
from webapp.retrieval import receipts, service
from webapp.retrieval.schemas import Receipt, SearchHit, SearchQuery, SearchResults, Verdict, VerdictDone
from webapp.spaces.service import require_member

blueprint = api_blueprint("retrieval_api", __name__, tag="Search", access="user")


@blueprint.get("/search")
def search(query: SearchQuery) -> SearchResults:
    """Search memories, messages, summaries and documents by words and meaning."""
    if query.space_id is not None:
        require_member(current_user_id(), query.space_id)
    if query.conversation_id is not None:
        get_conversation(current_user_id(), query.conversation_id)
    results = service.search(
        current_user_id(),
        query.q,
        kinds=query.selected_kinds,
        **query.model_dump(include={"space_id", "conversation_id", "since", "until", "speaker", "limit"}),
    )
    return SearchResults(
        results=[SearchHit.of(item, query.q) for item in results.items],
        with_meaning=results.with_meaning,
        indexed=results.indexed,
    )


@blueprint.get("/messages/<int:message_id>/receipt")
def get_receipt(message_id: Id) -> Receipt:
    """Return what a reply was given: memories and passages retrieved and injected, with revision, score and reason."""
    return Receipt(message_id=message_id, items=receipts.receipt_of(current_user_id(), message_id))


@blueprint.post("/messages/<int:message_id>/receipt/feedback")
def judge(message_id: Id, body: Verdict) -> VerdictDone:
    """Say that something on the receipt is wrong, outdated, not relevant here, or to be forgotten."""
    return receipts.judge(current_user_id(), message_id, body)
