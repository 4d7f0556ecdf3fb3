"""`flask memories …`."""

from sqlalchemy import select

from tests.memories.conversing import answers, converse, memories_of, operation
from tests.support.queries import scalars
from webapp.audit.models import AuditEvent
from webapp.db.base import db, write_transaction
from webapp.memories.models import Memory, MemoryTombstone
from webapp.memories.store import forgetting


def run(app, *arguments: str) -> tuple[int, str]:
    result = app.test_cli_runner().invoke(args=["memories", *arguments])
    return result.exit_code, result.output


def test_reextract_show_and_forget_user(app, user, make_user, model, monkeypatch):
    talk = converse(app, user.user_id, "I prefer green tea")
    answers(model, operation("I prefer green tea", "Prefers green tea."), times=None)
    assert run(app, "reextract", "--email", user.email) == (0, f"conversation {talk}: 1 added\n")
    assert run(app, "reextract", "--email", user.email, "--conversation", str(talk))[0] == 0
    (row,) = memories_of(app, user.user_id)
    admin = make_user(is_admin=True)
    shown = run(app, "show", "--email", user.email, "--as", admin.email)
    assert shown == (0, f"{row.memory_id}\tfact\t-\tPrefers green tea.\n")
    with app.app_context():
        (look,) = db.session.scalars(select(AuditEvent).where(AuditEvent.action == "admin_looked"))
        assert (look.actor_id, look.user_id, look.what) == (admin.user_id, user.user_id, "memories")
    assert run(app, "show", "--email", user.email, "--as", user.email)[0] == 1
    with app.app_context(), write_transaction():
        db.session.add(Memory(user_id=user.user_id, memory_type="fact", content="Sails", statement_hash="0" * 64))
    monkeypatch.setattr(forgetting, "BATCH", 1)
    with forgetting.pre_forget.connected_to(lambda _, texts, **__: 1 / ("Sails" not in texts)):
        assert run(app, "forget-user", "--email", user.email, "--yes")[0] == 1
    assert [memory.content for memory in memories_of(app, user.user_id)] == ["Sails"]  # stopped, and taken up again
    assert run(app, "forget-user", "--email", user.email, "--yes") == (0, "1 memories forgotten\n")
    assert memories_of(app, user.user_id) == []
    assert len(scalars(app, select(MemoryTombstone))) >= 2
    # Read again, nothing of it comes back.
    assert run(app, "reextract", "--email", user.email) == (0, f"conversation {talk}: nothing new\n")


def test_unknown_users_and_conversations_are_said_to_be_unknown(app, user):
    assert run(app, "reextract", "--email", "nobody@example.org")[0] == 1
    for number, code in (("99", 1), ("9" * 20, 2)):
        assert run(app, "reextract", "--email", user.email, "--conversation", number)[0] == code
