"""One person asks for a great deal at once; another for something small: a line to import, an e-mail, a reply.

Their message has 2 MB, their file 2,000 conversations, and another unpacks to 200 times its size.
"""

from __future__ import annotations

import io
import threading
import time
import uuid
import zipfile

from redis import Redis
from sqlalchemy import text

from bench.client import Client
from bench.report import percentile, table, verdict
from bench.stack import Stack, add_person, run_stack
from testkit.exports import claude_conversation, pack
from webapp.background.job_specs import JobRequest, Queue, push, rq_queue

LINE_SECONDS = 5.0
"""Within this time a line is imported."""
SLOWER = 2.0
"""How many times longer a reply may take to its first word, at most."""
TURNS = 9


def main() -> bool:
    """Print it for MariaDB; returns whether the other person was served in time."""
    with run_stack(database="mariadb", worker=True, schedule=True) as stack:
        other = Client(stack.url, add_person(stack.environment, "other@example.com"))
        usual = [_first_word(other) for _ in range(TURNS)]
        busy = _ask_for_much(stack)
        imported: list[float] = []
        words: list[float] = []
        for number in range(TURNS):
            began = time.monotonic()
            _import_line(other, f"I keep {number + 2} bees on the roof.")
            imported.append(time.monotonic() - began)
            words.append(_first_word(other))
        mailed = _mail(stack)
        left = _unfinished_work(stack)
        busy.join()
    rows = [
        ("usual, first word", percentile(usual, 50), max(usual)),
        ("meanwhile, first word", percentile(words, 50), max(words)),
        ("meanwhile, a line imported", percentile(imported, 50), max(imported)),
        ("meanwhile, an e-mail taken up", mailed, mailed),
    ]
    table("One person asks for much, another for little, mariadb (s)", ("", "p50", "most"), rows)
    print(f"\nOf the first person's work, {left} was still unfinished after that.")
    in_time = verdict(f"a line is imported within {LINE_SECONDS:.0f} s", max(imported) <= LINE_SECONDS)
    is_slow = percentile(words, 50) > SLOWER * percentile(usual, 50)
    return verdict(f"a first word takes at most {SLOWER:.0f} times as long", not is_slow) and in_time


def _ask_for_much(stack: Stack) -> threading.Thread:
    talks = [claude_conversation() | {"uuid": f"talk-{number}", "name": f"Talk {number}"} for number in range(2_000)]
    bomb = io.BytesIO()
    with zipfile.ZipFile(bomb, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("conversations.json", b"[" + b'{"name": "' + b"x" * 450_000_000 + b'"}]')
    large = stack.client.upload("/api/imports", "export.zip", pack({"conversations.json": talks})).body["import_id"]
    _wait(stack.client, large, "ready")
    stack.client.ask("POST", f"/api/imports/{large}/start", {})
    stack.client.upload("/api/imports", "export.zip", bomb.getvalue())
    message = "The boat was painted in the harbour by the seven brothers. " * 34_000
    talking = threading.Thread(target=_say, args=(stack.client, message), daemon=True)
    talking.start()
    return talking


def _say(client: Client, message: str) -> None:
    for _ in client.stream("/api/chat/stream", {"message": message}, ""):
        pass


def _first_word(client: Client) -> float:
    began = time.monotonic()
    for name, _data in client.stream("/api/chat/stream", {"message": f"Hello {uuid.uuid4()}"}, ""):
        if name == "delta":
            break
    return time.monotonic() - began


def _import_line(client: Client, line: str) -> None:
    number = client.ask("POST", "/api/imports", {"text": line})["import_id"]
    _wait(client, number, "ready")
    client.ask("POST", f"/api/imports/{number}/start", {})
    _wait(client, number, "done")


def _wait(client: Client, number: int, status: str) -> None:
    found = client.wait(f"/api/imports/{number}", status, "failed", "cancelled")
    if found["status"] != status:
        raise RuntimeError(found["error"])


def _mail(stack: Stack) -> float:
    """Seconds until an e-mail has been taken up; its row is gone, so that nothing is sent."""
    with Redis.from_url(stack.servers.redis_url) as client:
        began = time.monotonic()
        job_id = push(client, JobRequest("mail", {"mail_id": 0}))
        while (job := rq_queue(client, Queue.UPKEEP).fetch_job(job_id or "")) is not None and not job.is_finished:
            time.sleep(0.05)
        return time.monotonic() - began


def _unfinished_work(stack: Stack) -> str:
    with stack.connect() as connection:
        imports = connection.scalar(text("SELECT COUNT(*) FROM imports WHERE status IN ('reading', 'running')"))
        talks = connection.scalar(text("SELECT COUNT(*) FROM conversations WHERE index_due"))
    return f"{imports} imports and the vectors of {talks} conversations"
