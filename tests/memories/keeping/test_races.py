"""Forgetting at any moment of a turn and of each of its jobs: wherever it falls, the words are nowhere afterwards.

Whoever stores what a model told asks again, in the transaction that stores it, whether that may still be told.
"""

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from flask import Flask

from testkit.people import make_person
from tests.memories.keeping.test_no_trace import cells
from webapp.chat.context.assembly import assemble
from webapp.chat.redaction import PromptMemories
from webapp.chat.turns.finish import Outcome, finish_turn
from webapp.conversations import messages, titles
from webapp.conversations.models import Conversation, Message
from webapp.conversations.schemas import NewConversation
from webapp.conversations.service import create_conversation
from webapp.db.base import add_row, db, now, write_transaction
from webapp.digests import generation
from webapp.memories.models import MemoryEvidence
from webapp.memories.schemas import MemoryFields
from webapp.memories.service import create_memory
from webapp.memories.store import forgetting, tombstones
from webapp.summaries import service as summaries

SAID = "I really am allergic to walnuts"
CONTENT = "Allergic to walnuts since childhood"
WORD = "walnut"
REPLIES = [
    f"Noted. {CONTENT}. Shall we go on?",
    f"You told me: {SAID}.",
    f"As someone {CONTENT.lower()}, take the soup.",
    "Being allergic to walnuts since childhood is hard.",
]
STEPS = ("begun", "assembled", "told", "finished")
JOBS: dict[str, Callable[[int], Any]] = {
    "title": lambda number: titles.title_conversation(number, "Title it.", tombstones.watch),
    "summary": summaries.summarise,
    "digest": generation.generate,
}
MOMENTS = ("before", "asked", "answered", "after")


class Somebody:
    """One user with one memory, said in an old conversation, and the knife that cuts in at a moment of the talk."""

    def __init__(self, app: Flask) -> None:
        self.app = app
        self.user_id = make_person(app).user_id
        with write_transaction():
            self.old = create_conversation(self.user_id, NewConversation(title="Old")).conversation_id
            row = add_row(
                Message(conversation_id=self.old, role="user", content=f"Mind you, {SAID}.", created_at=now())
            )
            memory = create_memory(self.user_id, MemoryFields(memory_type="fact", content=CONTENT, is_pinned=True))
            self.memory_id = memory.memory_id
            start = row.content.index(SAID)
            place = {"message_id": row.message_id, "start": start, "end": start + len(SAID), "said_at": now()}
            db.session.add(MemoryEvidence(memory_id=self.memory_id, quote=SAID, **place))
        self.forgotten = False

    def forget(self) -> None:
        """Forget the memory, once."""
        if self.forgotten:
            return
        self.forgotten = True
        with self.app.app_context(), write_transaction():
            forgetting.forget(self.user_id, [self.memory_id])

    def talk(self, moment: str, reply: str) -> int:
        """A turn in a new conversation, with the forgetting at one of STEPS; the conversation."""
        with write_transaction():
            conversation = create_conversation(self.user_id, NewConversation())
            number = conversation.conversation_id
            _, row = messages.add_exchange(conversation, "What should I eat?", parent_id=None)
            turn_id = row.message_id
        self._reach("begun", moment)
        made = assemble(turn_id, self.app.extensions["settings"])
        if moment == "begun":
            assert WORD not in str(made.messages)
            reply = "Soup."  # it cannot know
        self._reach("assembled", moment)
        db.session.rollback()
        calls = [{"tool_name": "search_memories", "input": {}, "output": {"memories": [{"content": CONTENT}]}}]
        self._reach("told", moment)
        told = {"receipt": made.receipt, "seen": made.seen, "tool_calls": calls if reply != "Soup." else []}
        with write_transaction():
            done = finish_turn(turn_id, Outcome("complete", reply, steps=[made.step], **told))
        assert done is not None
        assert (done.rewritten is not None) == (moment in ("assembled", "told"))
        assert WORD not in (done.rewritten or "")
        self._reach("finished", moment)
        return number

    def _reach(self, step: str, moment: str) -> None:
        if step == moment:
            db.session.rollback()
            self.forget()

    def work(self, job: str, moment: str, number: int) -> int:
        """One of JOBS on a conversation, with the forgetting at one of MOMENTS; how many calls it took."""
        model = Between(self, moment)
        with pytest.MonkeyPatch.context() as patched:
            patched.setitem(self.app.extensions, "completions", model)
            if moment == "before":
                self.forget()
            db.session.rollback()
            JOBS[job](number)
            db.session.rollback()
        if moment == "after":
            self.forget()
        return model.calls

    def assert_gone(self) -> None:
        """The words are in no table but the message in which the user said them."""
        assert self.forgotten
        left = {
            (table, column)
            for table, column, value, row in cells(self.app)
            if WORD in str(value).lower() and not (table == "messages" and row["role"] == "user")
        }
        assert left == set()


class Between:
    """A model that tells what it is shown, with something happening just before it is asked or just after it answered
    for the first time."""

    def __init__(self, somebody: Somebody, moment: str) -> None:
        self._somebody, self._moment, self.calls = somebody, moment, 0

    def complete_structured(self, asked: Any, shape: Any, name: str, **_: Any) -> Any:
        """An answer in the shape, in which the words stand if they stand in what is asked."""
        if self._moment == "asked" and not self.calls:
            self._somebody.forget()
        told = "Has been allergic to walnuts since childhood." if WORD in str(asked).lower() else "Food."
        answer = {
            "conversation_title": {"title": told},
            "conversation_summary": {"summary": told},
            "conversation_digest": {"main_topics": [told], "action": [told], "typical_observation": told},
        }[name]
        if self._moment == "answered" and not self.calls:
            self._somebody.forget()
        self.calls += 1
        return shape.model_validate(answer), SimpleNamespace(model="test", prompt_tokens=1, completion_tokens=1)


def fill(number: int, reply: str) -> None:
    """An exchange, and more of the conversation than may be open, so that its beginning is summarised."""
    said = ["What should I eat?", reply, *(f"Small talk {count}." for count in range(30))]
    with write_transaction():
        row = db.session.get(Conversation, number)
        for count, text in enumerate(said):
            role = "assistant" if count % 2 else "user"
            db.session.add(Message(conversation_id=number, role=role, content=text, created_at=now()))
        row.message_count += len(said)
        row.summary_due = True


def slow_unless(is_quick: bool, *values: str) -> Any:
    return pytest.param(*values, marks=() if is_quick else pytest.mark.slow)


@pytest.mark.parametrize(
    ("step", "reply"),
    [slow_unless(n == m, step, reply) for n, step in enumerate(STEPS) for m, reply in enumerate(REPLIES)],
)
def test_forgotten_at_any_step_of_a_turn_it_is_not_in_the_reply(app, step, reply):
    with app.app_context():
        somebody = Somebody(app)
        somebody.talk(step, reply)
        somebody.assert_gone()


def test_what_only_a_tool_found_is_forgotten_with_its_memory(app):
    """The model looked it up, so it was not in the prompt; then it, or the person, forgot it."""
    with app.app_context():
        somebody = Somebody(app)
        with write_transaction():
            conversation = create_conversation(somebody.user_id, NewConversation())
            _, row = messages.add_exchange(conversation, "Forget what I may not eat", parent_id=None)
            turn_id = row.message_id
        found = [{"memory_id": somebody.memory_id, "memory_type": "fact", "content": CONTENT}]
        somebody.forget()
        calls = [
            {"tool_name": "search_memories", "input": {"query": "eat"}, "output": {"memories": found}},
            {"tool_name": "Diary_look", "input": {}, "output": {"text": f"Today: {CONTENT}."}},
            {"tool_name": "forget", "input": {}, "output": {"status": "forgotten", "memories": 1}},
        ]
        with write_transaction():
            finish_turn(turn_id, Outcome("complete", "Done.", tool_calls=calls, seen=PromptMemories((), 0)))
        somebody.assert_gone()
        kept = db.session.get(Message, turn_id).tool_calls
        assert [call["tool_name"] for call in kept] == ["search_memories", "Diary_look", "forget"]
        assert kept[0]["input"] == {"query": "eat"} and kept[2] == calls[2]


@pytest.mark.parametrize(
    ("job", "moment", "reply"),
    [
        slow_unless((n + m) % 2 == k, job, moment, reply)
        for n, job in enumerate(sorted(JOBS))
        for m, moment in enumerate(MOMENTS)
        for k, reply in enumerate(REPLIES[:2])
    ],
)
def test_forgotten_at_any_moment_of_a_job_it_is_not_in_what_the_job_makes(app, job, moment, reply):
    with app.app_context():
        somebody = Somebody(app)
        with write_transaction():
            number = create_conversation(somebody.user_id, NewConversation()).conversation_id
        fill(number, reply)
        calls = somebody.work(job, moment, number)
        assert calls == (2 if moment in ("asked", "answered") else 1)
        somebody.assert_gone()
