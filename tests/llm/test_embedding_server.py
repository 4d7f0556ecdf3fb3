"""One process makes the vectors of a packaged model for all others: the same ones, questions first, and it may die."""

import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from testkit.processes import wait_until
from webapp.llm.embedding_server import AFTER_PASSAGES, AFTER_QUERIES, BATCH, EmbeddingServer, PriorityLock
from webapp.llm.encoders import LocalEmbedder
from webapp.llm.errors import ModelError, ModelSilent
from webapp.llm.packaged_models import SharedEmbedder, packaged_embedder

DIM = 3


class Model:
    """Vectors of a text's length; waits for `gate` before passages."""

    def __init__(self) -> None:
        self.batches: list[list[str]] = []
        self.gate = threading.Event()
        self.gate.set()
        self.begun = threading.Event()

    def embed_query(self, text: str) -> np.ndarray:
        return np.full(DIM, len(text), np.float32)

    def embed_passages(self, texts: list[str]) -> np.ndarray:
        self.begun.set()
        assert self.gate.wait(20)
        self.batches.append(texts)
        return np.array([[len(text)] * DIM for text in texts], np.float32)


class Clock:
    at = 0.0

    def __call__(self) -> float:
        return self.at


@contextmanager
def run_process(command: list[str]) -> Iterator[subprocess.Popen[bytes]]:
    """A process that does not outlive the block."""
    with subprocess.Popen(command) as process:
        try:
            yield process
        finally:
            process.kill()


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def model() -> Model:
    return Model()


@pytest.fixture
def server(model: Model, clock: Clock, tmp_path: Path) -> Iterator[EmbeddingServer]:
    """A server in this process, listening on `tmp_path/socket`."""
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(tmp_path / "socket"))
    listener.listen()
    server = EmbeddingServer({"small": model}.get, clock)
    thread = threading.Thread(target=server.serve, args=(listener,), daemon=True)
    thread.start()
    yield server
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join(10)


@pytest.fixture
def ask(server: EmbeddingServer, tmp_path: Path) -> Iterator[SharedEmbedder]:
    with closing(SharedEmbedder("small", DIM, str(tmp_path / "socket"))) as embedder:
        yield embedder


def test_the_vectors_are_those_of_the_model(tmp_path):
    path = str(tmp_path / "socket")
    command = [sys.executable, "-m", "webapp.llm.embedding_server", path]
    own = LocalEmbedder()
    texts = ["I live in Porto", "", "日本語 🥜", "x" * 9_000, "a\ud800b", *map(str, range(2 * BATCH))]
    shared = packaged_embedder("local", path)
    assert isinstance(shared, SharedEmbedder) and shared.model == own.model
    with closing(shared), run_process(command) as process:
        made = shared.embed_passages(texts)
        assert np.allclose(made, own.embed_passages(texts), atol=1e-5)
        assert np.allclose(shared.embed_query("Where do I live?"), own.embed_query("Where do I live?"), atol=1e-5)
        assert shared.embed_passages([]).shape == (0, own.dim)
        assert os.stat(path).st_mode & 0o077 == 0
        process.send_signal(signal.SIGTERM)
        assert process.wait(20) == 0
        with pytest.raises(ModelError):
            shared.embed_query("And now?", timeout=0.2)
    with closing(shared), run_process(command):  # where the last one left its socket
        assert np.allclose(shared.embed_query("And now?", timeout=20), own.embed_query("And now?"), atol=1e-5)


def test_it_takes_the_place_of_no_file(tmp_path):
    (kept := tmp_path / "kept").write_text("mine")
    for said, path in {"required: socket": [], "in use": [kept], "No such file": [tmp_path / "no" / "x"]}.items():
        command = [sys.executable, "-m", "webapp.llm.embedding_server", *path]
        ended = subprocess.run(command, check=False, capture_output=True, text=True, timeout=60)
        assert (ended.returncode, said in ended.stderr, kept.read_text()) == (2, True, "mine"), ended.stderr


def test_a_question_goes_before_the_rest_of_a_document():
    turns, order = PriorityLock(), []

    def take(name: str, *, query: bool) -> None:
        with turns.hold(query=query):
            order.append(name)

    with turns.hold(query=False):
        page = threading.Thread(target=take, args=("page",), kwargs={"query": False})
        question = threading.Thread(target=take, args=("question",), kwargs={"query": True})
        page.start()
        question.start()
        while turns.waiting < 2:
            threading.Event().wait(0.005)
    page.join(20)
    question.join(20)
    assert order == ["question", "page"]


def test_passages_are_embedded_a_few_at_a_time(ask, model):
    texts = ["x" * number for number in range(1, 2 * BATCH + 2)]
    assert ask.embed_passages(texts)[:, 0].tolist() == [len(text) for text in texts]
    assert list(map(len, model.batches)) == [BATCH, BATCH, 1]


def test_a_server_that_nobody_asks_is_idle(server, ask, clock):
    def is_idle_after(seconds: float) -> bool:
        clock.at += seconds
        return server.is_idle

    assert not is_idle_after(AFTER_QUERIES), "nothing is loaded"
    ask.embed_passages(["a"])
    assert not is_idle_after(AFTER_PASSAGES - 1) and is_idle_after(1)
    ask.embed_query("a")
    assert not is_idle_after(AFTER_QUERIES - 1) and is_idle_after(1)
    with server.turns.hold(query=False):
        assert not server.is_idle, "somebody computes"


def test_an_idle_process_begins_anew_and_answers(tmp_path):
    path = str(tmp_path / "socket")
    short = (
        "import webapp.llm.embedding_server as s; s.AFTER_QUERIES = s.AFTER_PASSAGES = s.POLL_SECONDS = 0.2; s.main()"
    )
    with (
        closing(SharedEmbedder(LocalEmbedder.model, LocalEmbedder.dim, path)) as shared,
        run_process([sys.executable, "-c", short, path]) as process,
    ):
        first, loaded = shared.embed_query("a", timeout=20), Path(f"/proc/{process.pid}/maps")
        wait_until(lambda: "onnxruntime" not in loaded.read_text(), "the model unloaded", process=process)
        assert np.allclose(shared.embed_query("a", timeout=20), first)


def test_a_process_that_forks_asks_by_itself(ask):
    ask.embed_query("a")
    child = multiprocessing.get_context("fork").Process(target=_ask_in_a_fork, args=(ask,))
    child.start()
    child.join(20)
    assert child.exitcode == 0
    assert ask.embed_query("abc").tolist() == [3.0] * DIM


def _ask_in_a_fork(ask: SharedEmbedder) -> None:
    assert ask.embed_query("ab").tolist() == [2.0] * DIM
    os._exit(0)


@pytest.mark.parametrize("request_", [b"\0\0\0\2[]", b"\xff" * 4, b"\0\0\0\4{no}", b"\0\0\0\x10half of"])
def test_a_bad_request_costs_only_itself(ask, tmp_path, request_):
    with socket.socket(socket.AF_UNIX) as other:
        other.connect(str(tmp_path / "socket"))
        other.sendall(request_)
        other.shutdown(socket.SHUT_WR)
        assert other.recv(1) == b""
    assert ask.embed_query("ab").tolist() == [2.0] * DIM


def test_an_unknown_model_and_a_late_answer_are_errors(server, ask, model, tmp_path):
    with closing(SharedEmbedder("large", DIM, str(tmp_path / "socket"))) as unknown, pytest.raises(ModelError):
        unknown.embed_query("a")
    with closing(SharedEmbedder("small", DIM + 1, str(tmp_path / "socket"))) as other, pytest.raises(ModelError):
        other.embed_query("a")
    model.gate.clear()
    reading = threading.Thread(target=ask.embed_passages, args=(["a"],))
    reading.start()
    assert model.begun.wait(20)
    with pytest.raises(ModelSilent):
        ask.embed_query("late", timeout=0.05)
    model.gate.set()
    reading.join(20)
    assert ask.embed_query("ab").tolist() == [2.0] * DIM
