"""The machine's own requirements, and the one apt line for Debian 12 and 13, and Ubuntu 24.04 and later.

A program counts as there when it runs: packages are split, and a file may only point to a snap.
"""

import ctypes.util
import os
import platform
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future
from dataclasses import dataclass
from pathlib import Path

from . import packages, venv
from .database import data_directory_template
from .shell import VENV, SetupError, apt_command, apt_install, find_program, succeeds

HEADLESS = "chromium-headless-shell"
"""Debian's Chromium without windows: the same source, engine and version, and a sixth less computing for our tests."""
CHROMIUMS = (HEADLESS, "chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
OUR_CHROMIUM = VENV / "bin" / HEADLESS
"""Installed from npm where the system has none that runs: Ubuntu's is a snap, which no container runs."""

FONTS = Path("/usr/share/fonts")


@dataclass(frozen=True)
class PackageNeed:
    """Debian packages, and a trial that tells whether they are needed: empty if all is well, else what went wrong."""

    packages: tuple[str, ...]
    trial: Callable[[], str]


def install_system_packages(executor: Executor, *, for_tests: bool) -> Future[None]:
    """Install by apt what is missing: what a virtual environment takes, and in the future that is returned the rest.

    Raises SetupError with the one line to type, at once where apt cannot be used. Nothing installed gets started.
    """
    missing = [need for need in _list_needs(for_tests=for_tests) if need.trial()]
    first = [need for need in missing if need.trial == venv.try_venv or apt_command() is None]
    _install(first, for_tests=for_tests)
    return executor.submit(_install, [need for need in missing if need not in first], for_tests=for_tests)


def _install(needs: Sequence[PackageNeed], *, for_tests: bool) -> None:
    names = [name for need in needs for name in need.packages]
    if names and not apt_install(names, "for the tests" if for_tests else "to run"):
        raise SetupError(
            f"{'The tests need' if for_tests else 'Commonplace needs'} what is not on this machine. Once:\n"
            f"    sudo apt-get install {' '.join(names)}\nThen run the same command again."
        )
    faults = [(" ".join(need.packages), fault) for need in needs if (fault := need.trial())]
    if faults:
        raise SetupError("\n".join(f"{names} is installed, yet {fault}" for names, fault in faults))


def _list_needs(*, for_tests: bool) -> Iterator[PackageNeed]:
    yield PackageNeed((f"python{venv.VERSION}-venv",), venv.try_venv)
    if for_tests or packages.wants_mysql():
        yield PackageNeed(packages.MYSQL_HEADERS, packages.try_mysqlclient)
    if not for_tests:
        return
    if not os.environ.get("TEST_DATABASE_URL"):
        yield PackageNeed(("mariadb-server-core", "mariadb-client-core"), _try_mariadb)
    yield PackageNeed((HEADLESS if _is_debian() else "libnss3",), _try_chromium)
    yield PackageNeed(("fonts-noto-color-emoji",), _try_emoji)
    yield PackageNeed(("poppler-utils",), lambda: _try_program("pdftotext", "-v"))
    yield PackageNeed(("curl",), lambda: _try_program("curl", "--version"))


def _try_program(name: str, argument: str) -> str:
    program = find_program(name)
    return "" if program and succeeds([program, argument]) else f"{name} does not run."


def _try_mariadb() -> str:
    try:
        data_directory_template()
    except SetupError as error:
        return str(error)
    return ""


def _try_chromium() -> str:
    can_run_ours = not _is_debian() and ctypes.util.find_library("nss3")
    return "" if can_run_ours or find_chromium() else "no Chromium can run."


def _is_debian() -> bool:
    try:
        return platform.freedesktop_os_release().get("ID") == "debian"
    except OSError:
        return False


def find_chromium() -> str | None:
    """Return the Chromium that CHROMIUM names, else the first that runs, of those on the PATH and ours."""
    candidates = [os.environ.get("CHROMIUM"), *map(find_program, CHROMIUMS), str(OUR_CHROMIUM)]
    return next((path for path in candidates if path and succeeds([path, "--version"])), None)


def _try_emoji() -> str:
    has_font = FONTS.is_dir() and any(FONTS.rglob("NotoColorEmoji*"))
    return "" if has_font else f"no NotoColorEmoji font is below {FONTS}."
