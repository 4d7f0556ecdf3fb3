"""The jobs of people's data: vectors, documents, imports, exports, deletion, and what is sent to others."""

from jobs.runner import is_last_try, job
from webapp.background.queues import enqueue
from webapp.files import scans
from webapp.journeys.relevance import embed_points
from webapp.push import delivery as notifications
from webapp.retrieval import vector_jobs
from webapp.schedules import mails
from webapp.spaces import documents
from webapp.transfer import account_erasure, export_jobs, import_jobs, import_undo, preview
from webapp.webhooks import delivery


@job("index")
def index(user_id: int) -> dict[str, int]:
    """Make the vectors that are owed to a user."""
    result = vector_jobs.index_user(user_id)
    if result.has_more:
        enqueue("index", user_id=user_id)
    return {"messages": result.messages, "chunks": result.chunks, "memories": result.memories}


@job("index_document")
def index_document(document_id: int) -> int:
    """Split a document and make its missing vectors; for a long one, in several jobs, one after another."""
    result = documents.index_document(document_id, last_try=is_last_try())
    if result.has_more:
        enqueue("index_document", document_id=document_id)
    return result.vectors


read_scans = job("read_scans")(scans.read_scans)
embed_journey_points = job("point_vectors")(embed_points)
look_at_import = job("look_at_import")(preview.inspect_upload)
run_import = job("import")(import_jobs.run)
undo_import = job("undo_import")(import_undo.run)
make_export = job("export")(export_jobs.make)
delete_account = job("delete_account")(account_erasure.delete_account)
deliver = job("deliver")(delivery.deliver)
notify_browsers = job("push")(notifications.notify)
mail_end = job("schedule_mail")(mails.send)
