"""Memories from a conversation, after its turns or at the user's request; and at night, duplicates and portraits."""

from typing import Any

from jobs.runner import follow_with, job, report
from webapp.background.queues import enqueue
from webapp.db.base import now
from webapp.memories.learning import duplicates, examiner, extraction, requests
from webapp.memories.portrait import generation
from webapp.memories.portrait.service import spaces_to_portray
from webapp.memories.portrait.subjects import Members, Person
from webapp.memories.review.proposals import archive_expired
from webapp.providers.catalogue import has_worker


@job("extract")
def extract_memories(conversation_id: int, from_start: bool = False, after: int = 0) -> dict[str, Any]:
    """Read what is new in a conversation, or all of it, for memories; title it on the way if it has no title.

    What one job does not get to is left to the next.
    """
    result = extraction.extract(conversation_id, from_start, after, on_start=lambda: report("extraction_start", {}))
    requests.goes_on(conversation_id, result, from_start)
    if result.title:
        report("title", {"title": result.title, "conversation_id": conversation_id})
    outcome = {"change_set_id": result.change_set_id, **result.counts, "summary_triggered": result.summary_due}
    report("extraction_complete", outcome)
    if result.summary_due:
        follow_with("journey_report", conversation_id=conversation_id)
    return outcome


@job("tidy")
def tidy_memories(user_id: int) -> int:
    """Set aside what says the same as another memory of a user."""
    return duplicates.tidy(user_id)


@job("exam")
def examine_model(model: str) -> bool:
    """Ask a model a part of the exam of those that write memories, and continue if there is more."""
    has_more = examiner.examine(model)
    if has_more:
        enqueue("exam", model=model)
    return has_more


@job("tidying")
def request_tidying() -> int:
    """Archive what waited too long, and queue tidying and portraits of everybody whose memories changed, and portraits
    of spaces; return how many people.
    """
    archive_expired(now())
    people = duplicates.people_to_tidy() if has_worker() else []
    for user_id in people:
        enqueue("tidy", user_id=user_id)
        enqueue("portrait", user_id=user_id)
    for space_id in spaces_to_portray() if has_worker() else ():
        enqueue("portrait", space_id=space_id)
    return len(people)


@job("portrait")
def write_portrait(user_id: int | None = None, space_id: int | None = None) -> int | None:
    """Write the portrait of a user or a space anew, if the memories it is made from have changed since."""
    if user_id is not None:
        return generation.make_portrait(Person(user_id))
    return generation.make_portrait(Members(space_id)) if space_id is not None else None
