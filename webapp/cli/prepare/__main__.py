"""`python3 -m webapp.cli.prepare run|test|assets`: set up for running, for testing, or only the browser assets."""

import fcntl
import os
import sys
from concurrent.futures import ThreadPoolExecutor

from webapp.environment import LaunchError, env_file, fill

from .assets import assets_are_built, build_assets, install_chromium, path_with_node
from .machine import find_chromium, install_system_packages
from .packages import install_deferred, install_requirements
from .shell import ROOT, SetupError
from .venv import ensure_venv


def prepare(purpose: str) -> None:
    """Run the steps that a purpose needs; a step that is up to date costs next to nothing."""
    for_tests = purpose == "test"
    with ThreadPoolExecutor() as executor:
        # apt takes as long as all else together, most of which can do without what it installs.
        system = None if purpose == "assets" else install_system_packages(executor, for_tests=for_tests)
        ensure_venv()
        # npm mostly waits for the network, so it runs beside the packages; Node may be one of those, and comes first.
        building = None if assets_are_built() else executor.submit(build_assets, path_with_node())
        install_requirements(development=for_tests)
        if system:
            system.result()
        install_deferred(development=for_tests)
        if for_tests and not find_chromium():
            install_chromium(path_with_node())
        if building:
            building.result()


def main() -> int:
    """Run one set-up at a time in this clone; 1 after saying what is missing, 130 when interrupted."""
    purpose = sys.argv[1] if len(sys.argv) > 1 else "run"
    if purpose not in ("run", "test", "assets"):
        print(f"prepare: {purpose} is not one of run, test, assets", file=sys.stderr)
        return 2
    if not os.access(ROOT, os.W_OK):
        print(
            f"setup: {ROOT} is not writable. Clone the repository into a folder you own, then try again.",
            file=sys.stderr,
        )
        return 1
    lock = os.open(ROOT, os.O_RDONLY)
    fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        fill(os.environ, env_file(os.environ))
        prepare(purpose)
    except (LaunchError, SetupError) as error:
        print(f"setup: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("setup: interrupted; run the same command again to continue", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
