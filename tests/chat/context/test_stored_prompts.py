"""A stored prompt names what it held; its reader sees what that says now."""

from webapp.chat import service
from webapp.chat.context.stored_prompts import unmask
from webapp.chat.models import PipelineStep
from webapp.conversations.models import Conversation, Message
from webapp.db.base import db, now
from webapp.retrieval.models import ConversationChunk


def _conversation(user_id: int) -> Conversation:
    row = Conversation(user_id=user_id, title="Boats")
    db.session.add(row)
    db.session.flush()
    return row


def _chunk(conversation: Conversation, content: str, start: int = 1) -> int:
    row = ConversationChunk(
        conversation_id=conversation.conversation_id,
        user_id=conversation.user_id,
        content=content,
        message_range_start=start,
        message_range_end=start + 1,
    )
    db.session.add(row)
    db.session.flush()
    return row.chunk_id


def test_marks_are_filled_in_with_what_they_say_now(app_context, user):
    """A mark in somebody's words stays as it is."""
    conversation = _conversation(user.user_id)
    asked = Message(conversation_id=conversation.conversation_id, role="user", content="Hello <there>")
    db.session.add(asked)
    boats, mark = _chunk(conversation, "They spoke of <boats>."), _chunk(conversation, "[[memory 7 revision 1]]", 3)
    prompt = [
        {"role": "system", "content": f"- [[summary {boats}]]\n- [[summary 999]]\n- [[memory 7 revision 1]]"},
        {"role": "user", "message_id": asked.message_id, "content": "<reference>\n[[document 5]]\n</reference>\n\n"},
        {"role": "assistant", "message_id": 999_999},
        {"role": "system", "content": f"[[summary {mark}]]"},
        {"role": "system", "content": "Know: [[filled {{CONVERSATION_MEMORY}}]]"},
    ]
    shown = unmask(user.user_id, conversation, prompt)
    assert [message["content"] for message in shown] == [
        "- They spoke of &lt;boats>.\n- [deleted]\n- [forgotten]",
        "<reference>\n[deleted]\n</reference>\n\nHello <there>",
        "[deleted]",
        "[[memory 7 revision 1]]",
        "Know: Conversation memory not available.",
    ]
    assert prompt[2] == {"role": "assistant", "message_id": 999_999}


def test_a_shortened_message_is_shown_as_it_was_sent(app_context, user):
    conversation = _conversation(user.user_id)
    asked = Message(conversation_id=conversation.conversation_id, role="user", content="word " * 4_000)
    reply = Message(conversation_id=conversation.conversation_id, role="assistant", content="Yes.")
    db.session.add_all([asked, reply])
    db.session.flush()
    stored = [{"role": "user", "message_id": asked.message_id, "shortened_to": 50}]
    db.session.add(
        PipelineStep(message_id=reply.message_id, ordinal=1, name="context", data={"prompt": stored}, created_at=now())
    )
    db.session.flush()
    (step,) = service.pipeline_steps(user.user_id, reply.message_id)
    (shown,) = step.data["prompt"]
    assert "characters left out" in shown["content"]
    assert len(shown["content"]) < 500
    assert "shortened_to" not in shown
