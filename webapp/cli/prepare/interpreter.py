"""Exit status 0 if this interpreter was built with profile-guided optimisation, which saves a tenth of the computing.

The Makefile asks any Python 3 it finds, with no package installed.
"""

import importlib.util
import os
import sys
import sysconfig

DISTRIBUTION = "/usr/bin/"  # Debian optimises in its own build rules, of which `CONFIG_ARGS` tells nothing


def is_good() -> bool:
    """Return whether this Python is recent, optimised, and has what a virtual environment and mysqlclient take."""
    return sys.version_info >= (3, 11) and _is_optimised() and _is_complete()


def _is_optimised() -> bool:
    if os.path.realpath(getattr(sys, "_base_executable", sys.executable)).startswith(DISTRIBUTION):
        return True
    return "--enable-optimizations" in str(sysconfig.get_config_var("CONFIG_ARGS"))


def _is_complete() -> bool:
    # Debian keeps ensurepip in python3-venv and Python.h in python3-dev, which only an administrator can install.
    headers = os.path.join(sysconfig.get_path("include"), "Python.h")
    return importlib.util.find_spec("ensurepip") is not None and os.path.exists(headers)


if __name__ == "__main__":
    sys.exit(not is_good())
