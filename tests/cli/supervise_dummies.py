"""Run as a program by test_supervisor: supervises the dummy processes that a JSON argument describes."""

import json
import os
import sys

from webapp.cli.launch.plan import Plan, Spec, open_port
from webapp.cli.launch.processes import adopt_orphans
from webapp.cli.launch.supervisor import Supervisor

# Answers every request on the socket given as its first argument: in two pieces, and with STATUSES first.
WEB = """
import os, socket, sys
listener = socket.socket(fileno=int(sys.argv[1]))
print("web is", os.getpid(), flush=True)
statuses = os.environ["STATUSES"].split()
while True:
    visitor, _ = listener.accept()
    visitor.recv(4096)
    visitor.sendall(f"HTTP/1.0 {statuses.pop(0) if statuses else 200} So\\r\\n\\r\\n".encode())
    visitor.sendall(b"no database" if statuses else b"ready")
    visitor.close()
"""


def main() -> int:
    """Supervise a dummy web and whatever specs the argument lists."""
    listener = open_port("127.0.0.1", 0)
    specs = [Spec(**{**spec, "needs": tuple(spec.get("needs", ()))}) for spec in json.loads(sys.argv[1])]
    if not any(spec.name == "web" for spec in specs):
        specs.append(Spec("web", [sys.executable, "-c", WEB, str(listener.fileno())], order=0))
    adopt_orphans()
    environment = {name: os.environ.get(name, "") for name in ("EMBEDDER_SOCKET", "STATUSES")}
    plan = Plan(specs, environment, f"http://localhost:{listener.getsockname()[1]}", listener, None, ["a note"])
    return Supervisor(plan, {"PATH": "/usr/bin:/bin"}).run()


if __name__ == "__main__":
    sys.exit(main())
