"""The title of a conversation, after its first exchange."""

from jobs.runner import job, report
from webapp.conversations import titles
from webapp.memories.store import tombstones
from webapp.prompts import service as prompts


@job("title")
def generate_title(conversation_id: int) -> bool:
    """Title a conversation that has none; returns whether it did. The title itself is not kept with the job."""
    title = titles.title_conversation(conversation_id, prompts.active("titles").text, tombstones.watch)
    if title:
        report("title", {"title": title, "conversation_id": conversation_id})
    return bool(title)
