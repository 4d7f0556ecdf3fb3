"""Reading by other programs: found by the same searches and scopes as everywhere else, short, and in the audit."""

from collections.abc import Iterable, Iterator
from typing import Any

from webapp.accounts.service import user_settings
from webapp.audit.actions import Action
from webapp.audit.service import record
from webapp.audit.setup import READ_INTERVAL
from webapp.db.base import db
from webapp.errors import Forbidden, NotFound
from webapp.http.validation import parse_id, utc_text
from webapp.http.views import absolute_url
from webapp.mcp_server import access, schemas
from webapp.memories import service as memories
from webapp.memories.models import Memory
from webapp.memories.prompt.always_used import AlwaysUsed, context_memories
from webapp.memories.prompt.profile import get_profile
from webapp.memories.schemas import MemoryQuery
from webapp.memories.showing.texts import count_noun
from webapp.retrieval import service as retrieval
from webapp.retrieval.hydration import load_passages
from webapp.retrieval.lookup import Question, retrieve
from webapp.retrieval.passages import KINDS, FoundPassage
from webapp.spaces.schemas import SpaceOut, SpaceQuery
from webapp.spaces.service import list_spaces, require_member, view_space

TITLE, TEXT, WHOLE = 120, 500, 20_000
"""The most characters of a title, of a passage in a context, and of a fetched text."""
MAX_FOUND, MAX_PINNED, MAX_KNOWN, MAX_SPACES = 10, 20, 40, 50
PROFILE, SPACES = "commonplace://profile", "commonplace://spaces"
_READ = {PROFILE: "the profile", SPACES: "the list of spaces"}
CANDIDATES_FACTOR = 5
"""How many times as many results are looked for if some may be out of bounds."""
_WAIT = 2.0


def search(user_id: int, args: schemas.Search) -> dict[str, Any]:
    """Return `{results: [{id, title, url}]}`, as ChatGPT expects it."""
    require_memory(user_id)
    wide = args.limit * CANDIDATES_FACTOR if access.is_limited() else args.limit
    found = access.readable_passages(user_id, retrieval.search(user_id, args.query, limit=wide).items)[: args.limit]
    _note(user_id, found)
    return {"results": [{"id": _name(item), "title": _title(item), "url": _url(item)} for item in found]}


def fetch(user_id: int, args: schemas.Fetch) -> dict[str, Any]:
    """Return `{id, title, text, url, metadata}`. Raises NotFound for what is gone or somebody else's."""
    require_memory(user_id)
    kind, _, number = args.id.partition("-")
    passage_id = parse_id(number)
    item = None
    if kind in KINDS and passage_id:
        item = load_passages([(kind, passage_id)], access.scope(user_id)).get((kind, passage_id))
    if item is None:
        raise NotFound("There is nothing with this id. It may have been forgotten.")
    _note(user_id, [item])
    about = {"kind": item.kind, "at": utc_text(item.at), "source": item.source(item.at.date()), "said_by": item.role}
    return {
        "id": _name(item),
        "title": _title(item),
        "text": item.content[:WHOLE],
        "url": _url(item),
        "metadata": {name: value for name, value in about.items() if value},
    }


def list_memories(user_id: int, args: schemas.ListMemories) -> dict[str, Any]:
    """Return a page of memories in use."""
    require_memory(user_id)
    if args.space_id is not None:
        access.require_space(args.space_id)
    query = MemoryQuery(
        space_id=args.space_id, memory_type=args.kind, limit=args.limit, cursor=args.cursor, needs_review=False
    )
    page = memories.list_memories(user_id, query)
    rows = [row for row in page.items if access.may_see(row.space_id)]
    _note_count(user_id, len(rows))
    return {"memories": [memory_of(row) for row in rows], "next_cursor": page.next_cursor}


def get_context(user_id: int, args: schemas.GetContext) -> dict[str, Any]:
    """Return what a prompt for this task would be given: profile, pinned, and what is found. Raises NotFound."""
    require_memory(user_id)
    if args.space_id is not None:
        access.require_space(args.space_id)
        require_member(user_id, args.space_id)
    question = Question(user_id=user_id, text=args.task, space_id=args.space_id)
    found = access.readable_passages(user_id, retrieve(question, _WAIT).items)[:MAX_FOUND]
    pinned = memories.list_memories(user_id, MemoryQuery(is_pinned=True, needs_review=False, limit=MAX_PINNED)).items
    pinned = [row for row in pinned if access.may_see(row.space_id)]
    shown = {row.memory_id for row in pinned}
    found = [item for item in found if item.kind != "memory" or item.id not in shown]
    shown |= {item.id for item in found if item.kind == "memory"}
    known = [item for item in _memories_of(user_id, args.space_id) if item["memory_id"] not in shown][:MAX_KNOWN]
    if not (pinned or known or found):
        known = _latest(user_id, args.space_id)
    _note(user_id, found, len(pinned) + len(known))
    return {
        "profile": profile(user_id),
        "pinned": [memory_of(row) for row in pinned],
        "known": known,
        "found": [
            {"id": _name(item), "text": item.content[:TEXT], "source": item.source(item.at.date())} for item in found
        ],
    }


def _latest(user_id: int, space_id: int | None) -> list[dict[str, Any]]:
    """Return the memories, of a space if named, that changed last, for a task that nothing fits."""
    query = MemoryQuery(space_id=space_id, needs_review=False, limit=MAX_PINNED)
    rows = memories.list_memories(user_id, query).items
    return [{"memory_id": row.memory_id, "content": row.content} for row in rows if access.may_see(row.space_id)]


def _memories_of(user_id: int, space_id: int | None) -> Iterator[dict[str, Any]]:
    """Return what prompts in a space, or none, always hold; for a token that may not look there, in its own spaces."""
    places = [space_id] if access.may_see(space_id) else [space.space_id for space in _spaces(user_id)]
    always_used = AlwaysUsed.read(user_id)
    for place in places:
        for item in always_used.instructions(0, place, everywhere=access.may_see(None)):
            yield {"memory_id": item.id, "content": item.content}
        for known in always_used.items() if place is None else context_memories(user_id, place):
            yield {
                "memory_id": known.id,
                "content": known.content,
                **({"by": known.author} if known.author else {}),
            }


def resources(user_id: int) -> list[dict[str, Any]]:
    """Return the profile, the list of spaces, and each of them."""
    return [
        _resource(PROFILE, "Profile", "Who the user is, as far as it is known."),
        _resource(SPACES, "Spaces", "The user's spaces with their ids."),
        *(
            _resource(f"{SPACES}/{space.space_id}", space.name, f"A {space.kind} of the user's.")
            for space in _spaces(user_id)
        ),
    ]


def resource_templates() -> list[dict[str, Any]]:
    """Return the URIs of the resources that have a number, as templates."""
    about = _resource(f"{SPACES}/{{space_id}}", "A space", "One of the user's spaces, by its id.")
    return [{"uriTemplate": about.pop("uri"), **about}]


def _spaces(user_id: int) -> list[SpaceOut]:
    found = list_spaces(user_id, SpaceQuery(limit=MAX_SPACES)).items
    return [space for space in found if access.may_see(space.space_id)]


def resource(user_id: int, uri: str) -> Any:
    """Return the contents of a resource. Raises NotFound."""
    require_memory(user_id)
    space_id = parse_id(uri.removeprefix(f"{SPACES}/")) if uri.startswith(f"{SPACES}/") else None
    if uri == PROFILE:
        found: Any = profile(user_id)
    elif uri == SPACES:
        found = [{"space_id": space.space_id, "kind": space.kind, "name": space.name} for space in _spaces(user_id)]
    elif space_id is not None:
        access.require_space(space_id)
        require_member(user_id, space_id)
        found = view_space(user_id, space_id).model_dump(mode="json", exclude={"invited_by"})
    else:
        raise NotFound("There is no such resource.")
    record(user_id, Action.MEMORIES_READ, _READ.get(uri, f"space {space_id}"), once_in=READ_INTERVAL)
    return found


def profile(user_id: int) -> dict[str, str]:
    """Return what is known about who the user is; empty for a token that may not look outside spaces."""
    if not access.may_see(None):
        return {}
    known = get_profile(user_id)
    fields = {"name": known.name, "preferred_name": known.preferred_name, "birthday": known.birthday}
    return {name: value for name, value in fields.items() if value}


def memory_of(row: Memory) -> dict[str, Any]:
    """Return a memory as other programs see it."""
    return {
        "memory_id": row.memory_id,
        "content": row.content,
        "kind": row.memory_type,
        "changed_at": utc_text(row.updated_at),
        **({"space_id": row.space_id} if row.space_id else {}),
    }


def require_memory(user_id: int) -> None:
    """Raise Forbidden if memory is switched off: then it is off for other programs too."""
    if not user_settings(user_id).memory_enabled:
        db.session.rollback()
        raise Forbidden("The user has switched memory off.")


def _note(user_id: int, items: Iterable[FoundPassage], more: int = 0) -> None:
    kinds = [item.kind == "memory" for item in items]
    _note_count(user_id, sum(kinds) + more, len(kinds) - sum(kinds))


def _note_count(user_id: int, known: int, passages: int = 0) -> None:
    parts = [count_noun(known, "memory", "memories")] if known or not passages else []
    if passages:
        parts.append(count_noun(passages, "passage"))
    record(user_id, Action.MEMORIES_READ, ", ".join(parts), once_in=READ_INTERVAL)


def _name(item: FoundPassage) -> str:
    return f"{item.kind}-{item.id}"


def _title(item: FoundPassage) -> str:
    text = " ".join(item.content.split())
    return text if len(text) <= TITLE else text[: TITLE - 1] + "…"


def _url(item: FoundPassage) -> str:
    if item.kind != "memory" and item.conversation_id:
        return absolute_url(f"/c/{item.conversation_id}") + (f"#m-{item.message_id}" if item.message_id else "")
    return absolute_url("/memory")


def _resource(uri: str, name: str, description: str) -> dict[str, Any]:
    return {"uri": uri, "name": name, "description": description, "mimeType": "application/json"}
