"""Starting the children in order, watching them, and stopping them in order."""

import contextlib
import os
import selectors
import signal
import socket
import sys
import time
from functools import partial

from webapp.environment import BOOT_ERROR, LaunchError

from .child import Child
from .plan import Plan
from .probe import accepts_connections, ask, describe_servers, parse_answer
from .processes import children as own_children, kill_all_children

STARTUP_TICK = 0.02  # Seconds between two looks while starting up; a signal ends the wait early in any case.
TICK = 1.0
STARTUP_FAILURES = 3
ASK_INTERVAL = 1.0  # Each answer is a line of the log.
WARNING_INTERVAL = 15.0
INTERRUPT_PATIENCE = 5.0  # Seconds that a child has after Ctrl-C: replies are stored as they are, and jobs begin again.


class Supervisor:
    """Runs a plan until it is asked to stop."""

    def __init__(self, plan: Plan, environment: dict[str, str]) -> None:
        self.plan = plan
        self.environment = {**environment, **plan.environment}
        self.children = [Child(spec) for spec in plan.specs]
        self.is_ready = False
        self.stop_requests = 0
        self._is_interrupted = False
        self._is_ending = False
        self._selector = selectors.DefaultSelector()
        self._start_read, self._start_write = os.pipe()
        host, port = plan.listener.getsockname()[:2]
        self._address = ({"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host), port)  # noqa: S104
        self._question: socket.socket | None = None
        self._answer = bytearray()  # what has come of the answer to it
        self._ask_again_at = 0.0
        self._warn_at = time.monotonic() + WARNING_INTERVAL
        self._trouble = ""  # why the web said last that it is not ready
        self._colour = sys.stdout.isatty() and "NO_COLOR" not in os.environ
        self._width = max(len(spec.name) for spec in plan.specs)

    def run(self) -> int:
        """Start everything and keep it running; returns the exit code once all of it has ended."""
        self._listen_for_signals()
        try:
            while not self.stop_requests:
                self._start_ready_programs()
                self._wait(TICK if self.is_ready else STARTUP_TICK)
                self._watch_children()
                if not self.is_ready:
                    self._ask_whether_ready()
            return 0
        except LaunchError as error:
            self._say(str(error))
            return 1
        finally:
            self._stop_everything()

    # Starting

    def _start_ready_programs(self) -> None:
        for child in self.children:
            due = child.start_again_at is not None and time.monotonic() >= child.start_again_at
            if child.done or child.is_running or not due or not all(map(self._is_there, child.spec.needs)):
                continue
            environment = self.environment
            fds: tuple[int, ...] = (self.plan.listener.fileno(),) if child.spec.name == "web" else ()
            if child.spec.awaits:
                fds += (self._start_read,)
                environment = {**environment, "START_FD": str(self._start_read)}
            descriptor = child.start(environment, fds)
            self._selector.register(descriptor, selectors.EVENT_READ, partial(self._pass_on, child))

    def _is_there(self, name: str) -> bool:
        child = next(child for child in self.children if child.spec.name == name)
        if child.spec.once:
            return child.done
        if name == "web":
            return self.is_ready  # Once it was; whether it is at the moment does not matter to the others.
        return child.is_running and (name != "redis" or accepts_connections(self.plan.redis_socket or ""))

    def _ask_whether_ready(self) -> None:
        """Ask the web; if it is only just starting, the question waits in the listener's queue."""
        now = time.monotonic()
        if now >= self._warn_at:
            self._warn_at = now + WARNING_INTERVAL
            self._say(f"still not ready: {self._trouble or 'the web has not answered'}")
        is_running = any(child.is_running for child in self.children if child.spec.name == "web")
        if is_running and self._question is None and now >= self._ask_again_at:
            self._ask_again_at = now + ASK_INTERVAL
            self._question = question = ask(self._address, "/readyz")
            if question is not None:
                self._selector.register(question, selectors.EVENT_READ, partial(self._read_answer, question))

    def _read_answer(self, question: socket.socket) -> None:
        """Take in what has arrived; at the end, begin, or say what is missing."""
        with contextlib.suppress(OSError):
            if data := question.recv(65_536):
                self._answer += data
                return
        self._selector.unregister(question)
        question.close()
        status, text = parse_answer(bytes(self._answer))
        self._question, self._answer = None, bytearray()
        if status == 200:
            self.is_ready = True
            self._announce()
        elif text[:500] not in ("", self._trouble):
            self._trouble = text[:500]
            self._say(f"not ready yet: {self._trouble}")

    def _announce(self) -> None:
        for note in self.plan.notes:
            self._say(note)
        if line := describe_servers(os.environ, self.plan.url):
            self._say(line)
        self._say(f"Commonplace is ready: {self.plan.url}  (Ctrl-C stops it)")

    # Watching

    def _wait(self, seconds: float) -> None:
        for key, _ in self._selector.select(seconds):
            key.data()

    def _pass_on(self, child: Child) -> None:
        lines = child.read_lines()
        if lines is None:
            assert child.process is not None and child.process.stdout is not None
            self._selector.unregister(child.process.stdout)
            return
        self._show(child, lines)

    def _show(self, child: Child, lines: list[str]) -> None:
        if child.spec.quiet:
            child.held_back.extend(lines)
            return
        for line in lines:
            self._print(child.spec.name, line)

    def _watch_children(self) -> None:
        for child in self.children:
            if (code := child.collect()) is not None:
                self._close_output(child)
                child.forget()
                if not self.stop_requests and not self._is_ending:
                    self._handle_exit(child, code)
        pids = {child.process.pid for child in self.children if child.process is not None}
        for pid in set(own_children()) - pids:
            # An orphan: the process that would have looked after it is gone.
            with contextlib.suppress(ProcessLookupError, ChildProcessError):
                os.kill(pid, signal.SIGKILL)
                os.waitpid(pid, os.WNOHANG)

    def _handle_exit(self, child: Child, code: int) -> None:
        name = child.spec.name
        while child.held_back:
            self._print(name, child.held_back.popleft())
        if child.spec.once:
            if code:
                raise LaunchError(f"{name} failed ({_describe(code)}); its output is above. Nothing was started.")
            child.done = True
            if any(other.spec.awaits == name for other in self.children):
                self._open_gate()
            return
        pause = child.plan_restart()
        if not self.is_ready and (code == BOOT_ERROR or child.failures >= STARTUP_FAILURES):
            raise LaunchError(f"{name} does not start ({_describe(code)}); its output is above.")
        self._say(f"{name} stopped unexpectedly ({_describe(code)}); restarting in {pause:g} s")

    def _open_gate(self) -> None:
        if self._start_write >= 0:
            os.close(self._start_write)
            self._start_write = -1

    def _close_output(self, child: Child) -> None:
        """Print what a process said last, even if a grandchild still holds its output open."""
        assert child.process is not None and child.process.stdout is not None
        with contextlib.suppress(KeyError, ValueError):
            self._selector.get_key(child.process.stdout)
            while lines := child.read_lines():
                self._show(child, lines)
            self._selector.unregister(child.process.stdout)

    # Ending

    def _stop_everything(self) -> None:
        patient_until = max(self.stop_requests, 1)  # With one more request than this we stop waiting.
        self._is_ending = True
        self._open_gate()  # a process waiting there would not notice that it should stop
        if any(child.is_running for child in self.children):
            self._say("stopping" + (" (Ctrl-C again to stop at once)" if sys.stdin.isatty() else ""))
        for order in sorted({child.spec.order for child in self.children}):
            group = [child for child in self.children if child.spec.order == order and child.is_running]
            for child in group:
                child.ask_to_end(signal.SIGINT if self._is_interrupted and child.spec.name == "web" else signal.SIGTERM)
            patience = max((child.spec.patience for child in group), default=0)
            end = time.monotonic() + (min(patience, INTERRUPT_PATIENCE) if self._is_interrupted else patience)
            while any(child.is_running for child in group) and self.stop_requests <= patient_until:
                if time.monotonic() > end:
                    late = ", ".join(child.spec.name for child in group if child.is_running)
                    self._say(f"{late} did not stop in time and was killed")
                    break
                self._wait(0.05)
                self._watch_children()
            for child in group:
                child.kill()
        self._watch_children()
        kill_all_children()
        self.plan.listener.close()
        for path in filter(None, (self.plan.redis_socket, self.plan.environment.get("EMBEDDER_SOCKET"))):
            with contextlib.suppress(OSError):
                os.unlink(path)
            with contextlib.suppress(OSError):
                os.rmdir(os.path.dirname(path))  # fails for VAR_DIR, which is never empty
        self._say("stopped")

    # Signals and output

    def _listen_for_signals(self) -> None:
        self._waker, writer = socket.socketpair()
        self._waker.setblocking(False)
        writer.setblocking(False)
        signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
        self._wake_writer = writer
        self._selector.register(self._waker, selectors.EVENT_READ, partial(self._waker.recv, 4096))
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._on_stop)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def _on_stop(self, number: int, _frame: object) -> None:
        self.stop_requests += 1
        self._is_interrupted |= number == signal.SIGINT

    def _say(self, text: str) -> None:
        self._print("", text)

    def _print(self, name: str, text: str) -> None:
        label = f"{name:<{self._width}} |"
        if self._colour:
            label = f"\033[2m{label}\033[0m"
        try:
            print(label if name else "*", text, flush=True)
        except OSError:
            # The terminal is gone or the reader of a pipe has left: go on without a word.
            sys.stdout = open(os.devnull, "w")  # noqa: SIM115


def _describe(code: int) -> str:
    if code >= 0:
        return f"exit code {code}"
    with contextlib.suppress(ValueError):
        return signal.Signals(-code).name
    return f"signal {-code}"
