"""Digests: of one conversation, and of all that need one."""

from dataclasses import asdict

from jobs.runner import job
from webapp.digests import generation
from webapp.providers.catalogue import has_worker


@job("digest")
def generate_digest(conversation_id: int) -> dict[str, int | bool | None]:
    """Make the digest of a conversation."""
    return asdict(generation.generate(conversation_id))


@job("digests")
def request_digests(
    user_id: int | None = None, only_needing: bool = True, include_empty: bool = False, clamp: int = -1
) -> dict[str, list[int] | list[str]]:
    """Queue the digests that are needed: for everybody, as every night, or for one user."""
    if not has_worker():
        return {"conversation_ids": [], "job_ids": []}
    return generation.queue_digests(user_id, only_needing=only_needing, include_empty=include_empty, clamp=clamp)
