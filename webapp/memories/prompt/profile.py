"""The profile: who the user is, as current facts say."""

from sqlalchemy import select

from webapp.db.base import db, now
from webapp.memories.models import Memory
from webapp.memories.schemas import MemoryFields, ProfileChanges, ProfileOut
from webapp.memories.service import create_memory
from webapp.memories.store import versions
from webapp.memories.store.journal import record_changes

KEYS = {"name": "identity/name", "preferred_name": "identity/preferred_name", "birthday": "identity/birthday"}
SOURCES = {"user": "user_input", "extraction": "llm_extraction", "tool": "llm_extraction", "import": "system"}
"""The documented sources of a profile, by the origin of its newest fact."""
_SENTENCES = {
    "name": "The user's name is {}.",
    "preferred_name": "The user prefers to be called {}.",
    "birthday": "The user's birthday is {}.",
}


def get_profile(user_id: int) -> ProfileOut:
    rows = _facts(user_id)
    newest = max(rows.values(), key=lambda row: row.updated_at, default=None)
    if newest is None:
        return ProfileOut()
    origin = "user" if newest.edited_by_user else newest.origin
    return ProfileOut(**_values(rows), updated_at=newest.updated_at, source=SOURCES[origin])


def profile_values(user_id: int) -> dict[str, str]:
    """Return the known fields of the user's profile."""
    return _values(_facts(user_id))


def update_profile(user_id: int, changes: ProfileChanges) -> ProfileOut:
    """Change the given fields only; cleared values are closed, not forgotten. Raises Invalid for a secret."""
    versions.begin_change(user_id)
    present = _facts(user_id)
    for field in sorted(changes.model_fields_set):
        value, row = getattr(changes, field), present.get(KEYS[field])
        if value is None:
            continue  # as documented: an unknown value does not overwrite a known one
        if not value:
            if row is not None:
                row.valid_to, row.edited_by_user = now(), True
                record_changes(user_id, "profile", [row], {"retracted": 1})
        elif row is None or row.fact_value != value:
            fields = MemoryFields(
                memory_type="fact",
                content=_SENTENCES[field].format(value),
                fact_key=KEYS[field],
                fact_value=value,
                importance=0.9,
            )
            create_memory(user_id, fields, cause="profile")
    return get_profile(user_id)


def _values(rows: dict[str, Memory]) -> dict[str, str]:
    return {field: rows[key].fact_value or rows[key].content for field, key in KEYS.items() if key in rows}


def _facts(user_id: int) -> dict[str, Memory]:
    rows = db.session.scalars(
        select(Memory).where(
            Memory.user_id == user_id,
            Memory.space_slot == 0,
            Memory.current_slot.in_([f"identity:{key}" for key in KEYS.values()]),
        )
    )
    return {row.fact_key: row for row in rows if row.fact_key}
