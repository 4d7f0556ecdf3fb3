"""`python -m webapp.cli.launch`: everything on this machine, until Ctrl-C."""

import fcntl
import os
import sys
from pathlib import Path

from webapp.environment import LOCK, ROOT, LaunchError, env_file, fill, pid_in, record

from .plan import make_plan
from .privacy import keep_private
from .processes import adopt_orphans, follow_parent
from .supervisor import Supervisor


def main() -> int:
    """Run Commonplace; returns 0 after an ordinary end, 1 after saying why it could not be started."""
    environment = dict(os.environ)
    if "MAKELEVEL" in environment:
        follow_parent()  # If make is killed, so are we.
    for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS", "PYTHONPATH"):
        environment.pop(name, None)
    adopt_orphans()
    try:
        fill(environment, env_file(environment))
        var, lock = _open_var(ROOT / (environment.get("VAR_DIR") or "var"))
        plan = make_plan(environment, var)
        record(lock, {**environment, **plan.environment})
    except LaunchError as error:
        print(error, file=sys.stderr)
        return 1
    try:
        return Supervisor(plan, environment).run()
    finally:
        record(lock, {})  # it may hold keys


def _open_var(var: Path) -> tuple[Path, int]:
    """Create the data folder, readable by its owner only, and lock it until we end; returns the open lock, too."""
    try:
        keep_private(var)
        lock = os.open(var / LOCK, os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise LaunchError(f"{var} cannot be written to ({error.strerror}). Choose another with VAR_DIR.") from None
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise LaunchError(
            f"Commonplace is already running with the data in {var} (process {pid_in(lock) or 'unknown'}). "
            "Stop it first, or choose another folder with VAR_DIR and another port with PORT."
        ) from None
    record(lock, {})
    return var.resolve(), lock  # It stays open, and so ours, as long as this process lives.


if __name__ == "__main__":
    sys.exit(main())
