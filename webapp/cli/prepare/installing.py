"""Installing files of requirements: with uv, which takes a sixth of pip's time, else with pip.

uv does not read pip's configuration, on which a package index behind a company's wall depends. What uv has a word for
is handed on; where pip is told anything else, or uv fails for whatever reason, pip installs.
"""

import ast
import os
import subprocess
import tempfile

from .shell import PYTHON, VENV, run, say

PIP = [PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
UV_VERSION = "0.13.9"
UV = VENV / "bin" / "uv"
HANDED_ON = {
    "index-url": "--default-index",
    "extra-index-url": "--index",
    "find-links": "--find-links",
    "constraint": "--constraint",
    "trusted-host": "--allow-insecure-host",
}
"""What pip may be told, and uv's option for it; each may hold several values."""
OF_NO_MATTER = {
    *("disable-pip-version-check", "default-timeout", "timeout", "retries", "cache-dir", "no-cache-dir", "no-color"),
    *("progress-bar", "quiet", "verbose", "no-input", "root-user-action", "require-virtualenv", "cert"),
    *("break-system-packages", "use-feature", "prefer-binary"),
}
"""What changes nothing of what gets installed, or what uv is told in its environment."""


def install_file(text: str, *options: str, uv: bool = True) -> bool:
    """Install what a file of requirements with this text would name; the options are those that uv and pip share.

    Without `uv`, pip's own options may be among them.
    """
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(text)
        file.flush()
        arguments = [*options, "-r", file.name]
        return (uv and _install_with_uv(arguments)) or run([*PIP, *arguments])


def _install_with_uv(arguments: list[str]) -> bool:
    told = _pip_configuration()
    if "--require-hashes" in arguments:
        told.pop("constraint", None)  # every version is given, and uv would ask for hashes of these too
    configured = _options_for_uv(told)
    if configured is None or not _has_uv():
        return False
    # pip takes the best version of all indexes, too; what is locked is held to its hash, wherever it comes from.
    command = [UV, "pip", "install", "-q", "--no-config", "--python", PYTHON, "--index-strategy", "unsafe-best-match"]
    # Copied, for what is linked to the cache would be changed there by whoever edits a package to look into it.
    command += ["--link-mode", "copy", "--compile-bytecode", *configured, *arguments]
    if run(command, env=_environment_for_uv(told)):
        return True
    say("uv could not install this; trying pip")
    return False


def _has_uv() -> bool:
    """Whether uv runs, after installing it if need be; it is never compiled, which would take a Rust toolchain."""
    if not UV.exists() and not _silently([*PIP, "--only-binary=:all:", f"uv=={UV_VERSION}"]):
        return False
    return _silently([UV, "--version"])


def _silently(command: list[object]) -> bool:
    return subprocess.run([str(word) for word in command], capture_output=True, check=False).returncode == 0


def _pip_configuration() -> dict[str, str]:
    """What pip is told when it installs, in files and in the environment: the later in its order counts."""
    asked = [str(PYTHON), "-m", "pip", "config", "list"]
    done = subprocess.run(asked, capture_output=True, text=True, check=False)
    sections: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in done.stdout.splitlines():
        key, equals, value = line.partition("=")
        section, _, name = key.rpartition(".")
        if equals and section in sections:
            sections[section][name] = str(ast.literal_eval(value))
    return {name: value for section in sections.values() for name, value in section.items()}


def _options_for_uv(told: dict[str, str]) -> list[str] | None:
    """The same in uv's words, or None where uv has none for something."""
    if set(told) - set(HANDED_ON) - OF_NO_MATTER:
        return None
    return [
        word for name, option in HANDED_ON.items() for each in told.get(name, "").split() for word in (option, each)
    ]


def _environment_for_uv(told: dict[str, str]) -> dict[str, str]:
    certificates = told.get("cert", "")
    if certificates and "SSL_CERT_FILE" not in os.environ:
        return {"SSL_CERT_FILE": certificates}
    # Without it, uv trusts only the authorities it carries, and not those that a company has added to the machine.
    return {"UV_SYSTEM_CERTS": "1"}
