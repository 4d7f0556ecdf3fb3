"""The virtual environment `.venv`: made, found broken and made again."""

import glob
import shutil
import sys

from .shell import PYTHON, VENV, SetupError, run, say, succeeds

MINIMUM = (3, 11)
WHEELS = "/usr/share/python-wheels/pip-*.whl"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"


def ensure_venv() -> None:
    """Make sure `.venv` holds a working Python of this very version, with pip."""
    if sys.version_info < MINIMUM:
        raise SetupError(
            f"Commonplace needs Python {MINIMUM[0]}.{MINIMUM[1]} or newer and found {sys.version.split()[0]}. "
            "Install a newer one and name it: make run PYTHON=python3.12"
        )
    if _is_usable():
        return
    if VENV.exists():
        say("the virtual environment is broken or of another Python version: creating it again")
        shutil.rmtree(VENV)
    say("creating the virtual environment")
    has_new_venv = run([sys.executable, "-m", "venv", VENV]) if _has_ensurepip() else _make_without_ensurepip()
    if not has_new_venv:
        shutil.rmtree(VENV, ignore_errors=True)
        raise SetupError(
            "Python's venv module is incomplete here, and no pip was found to make up for it. Once:\n"
            f"    sudo apt-get install python{VERSION}-venv\nThen run the same command again."
        )


def try_venv() -> str:
    """Return what is missing for a virtual environment; empty if nothing."""
    if _is_usable() or _has_ensurepip() or _pip_wheels() or succeeds([sys.executable, "-m", "pip", "--version"]):
        return ""
    return "Python's venv module is incomplete."


def _is_usable() -> bool:
    right_version = f"import sys, pip; sys.exit('%d.%d' % sys.version_info[:2] != '{VERSION}')"
    return PYTHON.exists() and succeeds([PYTHON, "-c", right_version])


def _has_ensurepip() -> bool:
    # Debian splits ensurepip off into python3-venv.
    return succeeds([sys.executable, "-c", "import ensurepip; ensurepip.version()"])


def _pip_wheels() -> list[str]:
    return sorted(glob.glob(WHEELS))


def _make_without_ensurepip() -> bool:
    """Make the environment with a pip from elsewhere: the system's, or a wheel Debian left."""
    if not run([sys.executable, "-m", "venv", "--without-pip", VENV]):
        return False
    if succeeds([sys.executable, "-m", "pip", "--python", PYTHON, "install", "-q", "pip"]):
        return True
    wheels = _pip_wheels()
    return bool(wheels) and succeeds([PYTHON, f"{wheels[-1]}/pip", "install", "-q", "--no-index", wheels[-1]])
