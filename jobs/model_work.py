"""The jobs that call the language model: titles, memories, summaries, portraits, digests, reports, scheduled turns."""

from dataclasses import asdict
from typing import Any

from jobs.runner import follow_with, job, report
from webapp.background.queues import enqueue
from webapp.conversations import titles
from webapp.db.base import now
from webapp.digests import generation as digests
from webapp.journeys.report_job import make_report
from webapp.llm.errors import ModelError
from webapp.memories.learning import duplicates, examiner, extraction, requests
from webapp.memories.portrait import generation as portraits
from webapp.memories.portrait.service import spaces_to_portray
from webapp.memories.portrait.subjects import Members, Person
from webapp.memories.review.proposals import archive_expired
from webapp.memories.store import tombstones
from webapp.prompts import service as prompts
from webapp.providers.catalogue import has_background_model
from webapp.schedules import runs
from webapp.summaries import overviews, service as summaries
from webapp.transfer import import_learning

tidy_memories = job("tidy")(duplicates.tidy)
learn = job("learn")(import_learning.run)
make_overview = job("overview")(overviews.make_overview)
send_scheduled = job("scheduled_turn")(runs.run)


@job("title")
def generate_title(conversation_id: int) -> bool:
    """Title a conversation that has none; returns whether it did. The title itself is not kept with the job."""
    title = titles.title_conversation(conversation_id, prompts.active("titles").text, tombstones.watch)
    if title:
        report("title", {"title": title, "conversation_id": conversation_id})
    return bool(title)


@job("extract")
def extract_memories(conversation_id: int, from_start: bool = False, after: int = 0) -> dict[str, Any]:
    """Read what is new in a conversation, or all of it, for memories, as far as one job goes; title it if untitled."""
    result = extraction.extract(conversation_id, from_start, after, on_start=lambda: report("extraction_start", {}))
    requests.queue_rest(conversation_id, result, from_start)
    if result.title:
        report("title", {"title": result.title, "conversation_id": conversation_id})
    outcome = {"change_set_id": result.change_set_id, **result.counts, "summary_triggered": result.summary_due}
    report("extraction_complete", outcome)
    if result.summary_due:
        follow_with("journey_report", conversation_id=conversation_id)
    return outcome


@job("exam")
def examine_model(model: str) -> bool:
    """Ask a model a part of the exam of those that write memories; return whether there is more."""
    return examiner.examine(model)


@job("tidying")
def request_tidying() -> int:
    """Archive what waited too long, and queue tidying and portraits where memories changed; return how many people."""
    archive_expired(now())
    people = duplicates.recently_changed_users() if has_background_model() else []
    for user_id in people:
        enqueue("tidy", user_id=user_id)
        enqueue("portrait", user_id=user_id)
    for space_id in spaces_to_portray() if has_background_model() else ():
        enqueue("portrait", space_id=space_id)
    return len(people)


@job("portrait")
def write_portrait(user_id: int | None = None, space_id: int | None = None) -> int | None:
    """Write the portrait of a user or a space anew, if the memories it is made from have changed since."""
    if user_id is not None:
        return portraits.make_portrait(Person(user_id))
    return portraits.make_portrait(Members(space_id)) if space_id is not None else None


@job("summary")
def summarise(conversation_id: int) -> dict[str, int] | None:
    """Close the oldest open messages of a conversation, and continue if there are many more."""
    try:
        chunk = summaries.summarise(conversation_id)
    except ModelError:
        # The summary took the place of this turn's extraction; if it fails, the extraction runs after all.
        follow_with("extract", conversation_id=conversation_id)
        raise
    if chunk is None:
        return None
    result = {"chunk_id": chunk.chunk_id, "start": chunk.start, "end": chunk.end}
    report("summary_complete", {"conversation_id": conversation_id, "range": [chunk.start, chunk.end]})
    if chunk.has_more:
        enqueue("summary", conversation_id=conversation_id)
    return result


@job("overviews")
def request_overviews() -> int:
    """Queue the overviews that are due, for everybody; returns the number of conversations."""
    owed = overviews.conversations_awaiting_overview() if has_background_model() else []
    for conversation_id in owed:
        enqueue("overview", conversation_id=conversation_id)
    return len(owed)


@job("digest")
def generate_digest(conversation_id: int) -> dict[str, int | bool | None]:
    """Make the digest of a conversation."""
    return asdict(digests.generate(conversation_id))


@job("digests")
def request_digests(
    user_id: int | None = None, only_needing: bool = True, include_empty: bool = False, clamp: int = -1
) -> dict[str, list[int] | list[str]]:
    """Queue the digests that are needed: for everybody, as every night, or for one user."""
    if not has_background_model():
        return {"conversation_ids": [], "job_ids": []}
    return digests.queue_digests(user_id, only_needing=only_needing, include_empty=include_empty, clamp=clamp)


@job("journey_report")
def make_journey_report(conversation_id: int) -> bool:
    """Set the summary of a conversation as a PDF, unless the one there is says the same."""
    result = make_report(conversation_id)
    if result:
        report("summary_complete", {"conversation_id": conversation_id, "report": True})
    return result
