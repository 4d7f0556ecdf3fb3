"""A great many conversations, messages and memories of one user, written by the database itself."""

from __future__ import annotations

from sqlalchemy import text

from webapp.database import db, write_transaction

MOST_MEMORIES = 100_000
"""What is promised of memories is promised up to here."""
TRACED = 40
"""The newest replies that have receipts and change sets, and the newest memories that have quotes."""
TITLE = "The long one"


def fill(user_id: int, start: int, size: int) -> int:
    """Bring a user of an otherwise empty database from `start` to `size` conversations, memories (to MOST_MEMORIES)
    and messages in one conversation, whose id is returned. The newest have quotes, receipts and change sets.

    The caller has an application context, on MariaDB or SQLite.
    """
    with write_transaction():
        if start == 0:
            _run(
                "INSERT INTO conversations (user_id, title, title_source, message_count, created_at, updated_at)"
                " VALUES (:user, :title, 'user', 0, '2024-01-01', '2030-01-01')",
                user=user_id,
                title=TITLE,
            )
        long_one = db.session.scalar(
            text("SELECT conversation_id FROM conversations WHERE title = :title"), {"title": TITLE}
        )
        _conversations(user_id, start, size)
        _messages(long_one, start, size)
        first, last = min(start, MOST_MEMORIES), min(size, MOST_MEMORIES)
        if last > first:
            _memories(user_id, first, last)
            _evidence(last, size)
        _traces(user_id, long_one, last, size)
    if not _is_sqlite():  # which has no statistics in a running installation either
        db.session.execute(text("ANALYZE TABLE conversations, messages, memories, memory_evidence, turn_receipts"))
    db.session.rollback()
    return long_one


def _conversations(user_id: int, start: int, size: int) -> None:
    _insert(
        "conversations (user_id, title, title_source, message_count, created_at, updated_at)",
        f":user, {_joined('Conversation ', 'seq')}, 'user', 2, '2024-01-01', {_instant()}",
        start,
        size,
        user=user_id,
    )


def _messages(conversation_id: int, start: int, size: int) -> None:
    """Question and answer by turns; the id of a message is its number."""
    said = _joined("Message ", "seq", ": about **Lisbon**, the weather and what to pack.\n\n- a coat\n- shoes\n")
    _insert(
        "messages (message_id, conversation_id, role, content, status, parent_id, reply_to_id, created_at)",
        f"seq, :long, CASE seq % 2 WHEN 1 THEN 'user' ELSE 'assistant' END, {said}, 'complete',"
        f" CASE WHEN seq > 1 THEN seq - 1 END, CASE seq % 2 WHEN 0 THEN seq - 1 END, {_instant()}",
        start,
        size,
        long=conversation_id,
    )
    _run(
        "UPDATE conversations SET message_count = :size, updated_at = updated_at WHERE conversation_id = :long",
        size=size,
        long=conversation_id,
    )


def _memories(user_id: int, start: int, size: int) -> None:
    kind = "CASE seq % 5 WHEN 0 THEN 'preference' WHEN 1 THEN 'entity' WHEN 2 THEN 'project' ELSE 'fact' END"
    said = _joined("Fact number ", "seq", " about the user")
    values = (
        ":user",
        kind,
        _joined("topic ", "seq % 40"),
        said,
        _joined("hash ", "seq"),
        "'extraction'",
        "CASE WHEN seq % 50 = 0 THEN 1 ELSE 0 END",
        "'2024-01-01'",
        _instant(),
    )
    _insert(
        "memories (memory_id, user_id, memory_type, category, content, statement_hash, origin, needs_review,"
        " created_at, updated_at)",
        f"seq, {', '.join(values)}",
        start,
        size,
        user=user_id,
    )


def _evidence(memories: int, messages: int) -> None:
    """A quote for each of the newest memories, from the newest questions."""
    _insert(
        f"memory_evidence (memory_id, message_id, quote, {_name('start')}, {_name('end')}, said_at)",
        f"seq, {messages} - 1 - 2 * ({memories} - seq), 'about Lisbon', 0, 12, '2024-01-01'",
        memories - TRACED,
        memories,
    )
    _run(f"UPDATE memories SET evidence_count = 1 WHERE memory_id > {memories - TRACED}")


def _traces(user_id: int, conversation_id: int, memories: int, messages: int) -> None:
    """For each of the newest replies five passages that it saw and the memory that was learned from it."""
    for rank in range(5):
        _insert(
            f"turn_receipts (message_id, kind, passage_id, revision, stage, {_name('rank')}, score, reason, injected)",
            f"seq * 2, 'memory', {memories} - seq % 10 - {rank}, 1, 'search', {rank}, 0.5, 'about Lisbon', 1",
            messages // 2 - TRACED,
            messages // 2,
        )
    _insert(
        "memory_change_sets (user_id, cause, conversation_id, through_message_id, counts, reasons, changes,"
        " created_at)",
        ":user, 'extraction', :long, seq * 2 - 1, '{\"added\": 1}', '{}', "
        + _joined('[{"memory_id": ', f"{memories} - seq % {TRACED}", ', "before": null, "after": 1}]')
        + ", '2024-01-01'",
        messages // 2 - TRACED,
        messages // 2,
        user=user_id,
        long=conversation_id,
    )


def _insert(into: str, values: str, start: int, size: int, **parameters: object) -> None:
    """One row for each number from start + 1 to size, known as seq."""
    source = f"seq_{start + 1}_to_{size}"
    numbers = ""
    if _is_sqlite():
        source = "numbers"
        numbers = (
            f" WITH RECURSIVE numbers(seq) AS (SELECT {start + 1} UNION ALL SELECT seq + 1 FROM numbers"
            f" WHERE seq < {size})"
        )
    _run(f"INSERT INTO {into}{numbers} SELECT {values} FROM {source}", **parameters)


def _run(statement: str, **parameters: object) -> None:
    db.session.execute(text(statement), parameters)


def _instant() -> str:
    """The beginning of 2024, and as many seconds as the number of the row."""
    return "datetime('2024-01-01', '+' || seq || ' seconds')" if _is_sqlite() else "'2024-01-01' + INTERVAL seq SECOND"


def _joined(*parts: str) -> str:
    """Text and, in every second place, SQL, as one string."""
    pieces = [part if at % 2 else "'" + part + "'" for at, part in enumerate(parts)]
    return " || ".join(f"({piece})" for piece in pieces) if _is_sqlite() else f"CONCAT({', '.join(pieces)})"


def _name(column: str) -> str:
    """A column whose name is a word of SQL."""
    return f'"{column}"' if _is_sqlite() else f"`{column}`"


def _is_sqlite() -> bool:
    return db.engine.dialect.name == "sqlite"
