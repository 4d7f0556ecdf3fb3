"""The virtual environment `.venv`: made, found broken and made again."""

import glob
import shutil
import sys

from .shell import PYTHON, VENV, SetupError, apt_install, find_program, run, say, succeeds

MINIMUM = (3, 11)


def ensure_venv() -> None:
    """Make sure `.venv` holds a working Python of this very version, with pip."""
    if sys.version_info < MINIMUM:
        raise SetupError(
            f"Commonplace needs Python {MINIMUM[0]}.{MINIMUM[1]} or newer and found {sys.version.split()[0]}. "
            "Install a newer one and say which: make run PYTHON=python3.12"
        )
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    right_version = f"import sys, pip; sys.exit('%d.%d' % sys.version_info[:2] != '{version}')"
    if PYTHON.exists() and succeeds([PYTHON, "-c", right_version]):
        return
    if VENV.exists():
        say("the virtual environment is broken or of another Python version: making it anew")
        shutil.rmtree(VENV)
    say("making the virtual environment")
    if not _make_venv(version):
        shutil.rmtree(VENV, ignore_errors=True)
        raise SetupError(
            "Python's venv module is incomplete here, and neither pip nor root was found to make up for it. Once:\n"
            f"    sudo apt-get install python{version}-venv\nThen run the same command again."
        )


def _make_venv(version: str) -> bool:
    if not succeeds([sys.executable, "-c", "import ensurepip; ensurepip.version()"]):
        # Debian splits ensurepip off into python3-venv.
        if apt_install([f"python{version}-venv"], "Python's venv module is incomplete"):
            return run([sys.executable, "-m", "venv", VENV])
        return _make_without_ensurepip()
    return run([sys.executable, "-m", "venv", VENV])


def _make_without_ensurepip() -> bool:
    """Make the environment with a pip from elsewhere: the system's, a virtualenv, or a wheel Debian left."""
    if succeeds([sys.executable, "-m", "virtualenv", VENV]):
        return True
    if (virtualenv := find_program("virtualenv")) and succeeds([virtualenv, "-p", sys.executable, VENV]):
        return True
    if not run([sys.executable, "-m", "venv", "--without-pip", VENV]):
        return False
    if succeeds([sys.executable, "-m", "pip", "--python", PYTHON, "install", "-q", "pip"]):
        return True
    wheels = sorted(glob.glob("/usr/share/python-wheels/pip-*.whl"))
    return bool(wheels) and succeeds([PYTHON, f"{wheels[-1]}/pip", "install", "-q", "--no-index", wheels[-1]])
