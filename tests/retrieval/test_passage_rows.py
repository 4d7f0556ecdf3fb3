"""Rows into blocks of passages: all of them, in blocks of a bounded size, and none twice."""

from collections import Counter

import numpy as np
import pytest
from flask import Flask

from tests.conversations.rows import add_conversation
from webapp.conversations.models import Message
from webapp.db.base import add_row, db, write_transaction
from webapp.memories.models import Memory
from webapp.memories.schemas import MemoryFields
from webapp.memories.service import create_memory
from webapp.retrieval import passage_rows
from webapp.retrieval.models import ConversationChunk, MessageEmbedding
from webapp.retrieval.vectors import Block
from webapp.spaces.models import SpaceMember
from webapp.spaces.schemas import NewSpace
from webapp.spaces.service import create_space
from webapp.text.message_pieces import pieces_of

SIZE = 3
COUNTS = [0, SIZE, 2 * SIZE + 1]
VECTOR = np.ones(4, np.float32).tobytes()


@pytest.fixture(autouse=True)
def _small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passage_rows, "BLOCK", SIZE)


def add_chunks(app: Flask, user_id: int, count: int) -> list[int]:
    """Summaries of one conversation, each with a vector; their ids."""
    of = {"conversation_id": add_conversation(app, user_id), "user_id": user_id}
    of |= {"embedding": VECTOR, "embedding_model": "m"}
    with app.app_context(), write_transaction():
        rows = [
            ConversationChunk(**of, content=f"Summary {n}.", message_range_start=n + 1, message_range_end=n + 1)
            for n in range(count)
        ]
        db.session.add_all(rows)
        db.session.flush()
        return [row.chunk_id for row in rows]


def ids_in(blocks: list[Block], kind: str) -> list[int]:
    return [passage.id for block in blocks for passage in block.passages if passage.kind == kind]


@pytest.mark.parametrize("count", COUNTS)
def test_summaries_come_in_blocks_and_none_twice(app, user, make_user, count):
    ids = add_chunks(app, user.user_id, count)
    add_chunks(app, make_user().user_id, 2)
    with app.app_context():
        blocks = list(passage_rows.load_user(user.user_id))
    assert ids_in(blocks, "chunk") == ids
    assert all(len(block.passages) <= SIZE for block in blocks)
    vectors = [place for block in blocks for places in block.vectors.values() for place, _ in places]
    assert sorted(vectors) == sorted(passage.place for block in blocks for passage in block.passages)


@pytest.mark.parametrize("count", COUNTS)
def test_memories_come_in_blocks_and_none_twice(app, user, make_user, count):
    other = make_user()
    with app.app_context(), write_transaction():
        space_id = create_space(other.user_id, NewSpace(kind="project", name="Boats")).space_id
        add_row(SpaceMember(space_id=space_id, user_id=user.user_id, role="member", status="active"))
        rows = []
        inside = {"memory_type": "fact", "space_id": space_id, "visibility": "shared"}
        for number in range(count):
            own = MemoryFields(memory_type="fact", content=f"Owns boat {number}")
            shared = MemoryFields(content=f"Sails boat {number}", **inside)
            rows.append((create_memory(user.user_id, own), create_memory(other.user_id, shared)))
        own_ids, shared_ids = [row.memory_id for row, _ in rows], [row.memory_id for _, row in rows]
    with app.app_context():
        assert ids_in(list(passage_rows.load_user(user.user_id)), "memory") == own_ids
        assert [row.memory_id for row in passage_rows.changed_memories(user.user_id, own_ids)] == own_ids
        blocks = list(passage_rows.load_space(user.user_id, space_id))
        assert ids_in(blocks, "memory") == shared_ids
        assert [len(block.passages) for block in blocks][:-1] == [SIZE] * (len(blocks) - 1)
        assert db.session.query(Memory).count() == 2 * count


@pytest.mark.parametrize("count", COUNTS)
def test_all_pieces_of_a_message_are_in_one_block(app, user, count):
    """Also of the first and the last of a block, and with the vector of each piece."""
    conversation_id = add_conversation(app, user.user_id)
    text = "\n\n".join(f"Paragraph {number} about tides. " * 12 for number in range(12))
    spans = pieces_of(text)
    assert len(spans) > SIZE
    with app.app_context(), write_transaction():
        said = {"conversation_id": conversation_id, "role": "user", "content": text, "status": "complete"}
        rows = [Message(**said) for _ in range(count)]
        db.session.add_all(rows)
        db.session.flush()
        vector = {"user_id": user.user_id, "model": "m", "embedding": VECTOR}
        for row in rows:
            for number, (start, end) in enumerate(spans):
                piece = {"message_id": row.message_id, "piece": number, "from_char": start, "to_char": end}
                db.session.add(MessageEmbedding(**piece, **vector))
        ids = [row.message_id for row in rows]
    with app.app_context():
        blocks = [block for block in passage_rows.load_user(user.user_id) if block.passages]
    assert list(dict.fromkeys(ids_in(blocks, "message"))) == ids
    for block in blocks:
        pieces = Counter(passage.id for passage in block.passages)
        assert len(pieces) <= SIZE and set(pieces.values()) == {len(spans)}
        assert sum(map(len, block.vectors.values())) == len(block.passages)
