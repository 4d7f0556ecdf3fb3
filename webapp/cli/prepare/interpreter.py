"""Exit status 0 if this interpreter is a good one to run on; the Makefile asks the candidates one after the other.

pyenv and a plain `./configure` build Python without profile-guided optimisation; distributions, conda and uv build it
with. The product then takes about a tenth less computing: docs/benchmarks.md. What runs this may be any Python 3, with
no package installed.
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
