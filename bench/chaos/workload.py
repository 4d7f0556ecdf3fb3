"""People's work meanwhile: chat, note memories and have some forgotten; they record what was acknowledged."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from bench.client import AWAY, Client

WORDS = [f"w{number} " for number in range(60)]
"""What the model answers, a word at a time."""
REPLY = "".join(WORDS)
TOKEN_DELAY = 0.03


@dataclass
class Said:
    """A message that was acknowledged, and what has been seen of the reply."""

    text: str
    conversation_id: int
    message_id: int
    reply_id: int
    seen: str = ""
    is_done: bool = False


@dataclass
class Ledger:
    """A ledger of what was acknowledged, and answers that must not occur; filled by several threads."""

    said: list[Said] = field(default_factory=list)
    noted: dict[int, str] = field(default_factory=dict)
    forgotten: dict[int, str] = field(default_factory=dict)
    doubtful: set[int] = field(default_factory=set)
    """Memories for which forgetting was requested but never confirmed: they may be gone or not."""
    wrong: list[str] = field(default_factory=list)
    refused: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def judge(self, what: str, status: int) -> bool:
        """Return whether a request was accepted; 503 and 429 are honest refusals, any other failure of the server is
        wrong.
        """
        if status < 300:
            return True
        with self.lock:
            self.refused += 1
            if status not in (429, 503):
                self.wrong.append(f"{what} was answered {status}")
        return False


@contextmanager
def at_work(people: Sequence[People], patience: float = 90) -> Iterator[None]:
    """Have people do what they do; at the end of the block, wait until they have ended."""
    for person in people:
        person.start()
    try:
        yield
    finally:
        for person in people:
            person.is_over.set()
        for person in people:
            person.join(patience)


class People(threading.Thread):
    """One person's behaviour, from a seed, until told to stop."""

    def __init__(self, number: int, client: Client, ledger: Ledger, seed: int) -> None:
        super().__init__(name=f"person-{number}", daemon=True)
        self.number, self.client, self.ledger = number, client, ledger
        self.random = random.Random(seed)
        self.is_over = threading.Event()
        self._count = 0
        self._conversation: int | None = None
        self._mine: list[int] = []

    def run(self) -> None:
        """Do one thing after another; if the server does not answer, try again a little later."""
        while not self.is_over.is_set():
            self._count += 1
            act = self.random.choices((self._chat, self._note, self._forget), (6, 3, 1))[0]
            try:
                act()
            except AWAY:
                time.sleep(0.2)
            except Exception as error:  # noqa: BLE001  # a person who stumbles would hide what comes after
                with self.ledger.lock:
                    self.ledger.wrong.append(f"{act.__name__}: {type(error).__name__} {error}")
                return

    def _key(self) -> str:
        return f"p{self.number}n{self._count}{self.random.randrange(10**9)}"

    def _chat(self) -> None:
        text = f"message {self._key()}"
        body: dict[str, Any] = {"message": text}
        if self._conversation is not None and self.random.random() < 0.7:
            body["conversation_id"] = self._conversation
        said: Said | None = None
        for name, data in self.client.stream("/api/chat/stream", body, self._key()):
            if name == "status":
                if not self.ledger.judge("a message", data):
                    return
            elif name == "turn":
                said = Said(text, data["conversation_id"], data["user_message_id"], data["assistant_message_id"])
                self._conversation = said.conversation_id
                with self.ledger.lock:
                    self.ledger.said.append(said)
            elif name == "delta" and said is not None:
                said.seen += data["text"]
            elif name == "done" and said is not None:
                said.is_done = True
                return
            elif name == "error":
                return

    def _note(self) -> None:
        content = f"Keeps a zebra{self._key()} in the garden"
        answer = self.client.call("POST", "/api/memories", {"memory_type": "fact", "content": content}, self._key())
        if self.ledger.judge("a memory", answer.status):
            with self.ledger.lock:
                self.ledger.noted[answer.body["memory_id"]] = content
            self._mine.append(answer.body["memory_id"])

    def _forget(self) -> None:
        if not self._mine:
            return
        memory_id = self._mine.pop()
        try:
            answer = self.client.call("DELETE", f"/api/memories/{memory_id}")
        except AWAY:
            with self.ledger.lock:
                self.ledger.doubtful.add(memory_id)
            self._mine.append(memory_id)  # to be requested again
            raise
        if answer.status == 404 or self.ledger.judge("forgetting", answer.status):
            with self.ledger.lock:  # 404: an earlier attempt succeeded, and its answer was lost
                self.ledger.forgotten[memory_id] = self.ledger.noted.pop(memory_id)
