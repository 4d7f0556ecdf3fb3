"""Installing files of requirements: with uv, in a sixth of pip's time, else with pip.

uv does not read pip's configuration: what it has a word for is handed on; anything else, or a failure of uv, is pip's.
"""

import ast
import os
import subprocess
import tempfile
from functools import cache

from .shell import PYTHON, VENV, run, say, succeeds

PIP = [PYTHON, "-m", "pip", "install", "-q", "--disable-pip-version-check"]
UV_VERSION = "0.13.9"
UV = VENV / "bin" / "uv"
OPTIONS = {"find-links": "--find-links", "constraint": "--constraint", "trusted-host": "--allow-insecure-host"}
VARIABLES = {"index-url": "UV_DEFAULT_INDEX", "extra-index-url": "UV_INDEX", "cert": "SSL_CERT_FILE"}
"""What pip may be told, each with several values, and uv's word for it: an address may hold a password, which a list of
processes would show."""
IGNORED_OPTIONS = {
    *("disable-pip-version-check", "default-timeout", "timeout", "retries", "cache-dir", "no-cache-dir", "no-color"),
    *("progress-bar", "quiet", "verbose", "no-input", "root-user-action", "require-virtualenv"),
    *("break-system-packages", "use-feature", "prefer-binary"),
}
"""What changes nothing of what gets installed here."""


def install_file(text: str, *options: str) -> bool:
    """Install what a requirements file with this text names; the options are of uv and pip alike."""
    with tempfile.NamedTemporaryFile("w", suffix=".txt") as file:
        file.write(text)
        file.flush()
        arguments = [*options, "-r", file.name]
        return _install_with_uv(arguments) or run([*PIP, *arguments])


def _install_with_uv(arguments: list[str]) -> bool:
    configuration = pip_configuration()
    if set(configuration) - OPTIONS.keys() - VARIABLES.keys() - IGNORED_OPTIONS or not has_uv():
        return False
    # pip takes the best version of all indexes, too; what is locked is held to its hash, wherever it comes from.
    command = [UV, "pip", "install", "-q", "--no-config", "--python", PYTHON, "--index-strategy", "unsafe-best-match"]
    # Copied, for what is linked to the cache would be changed there by whoever edits a package to look into it.
    command += ["--link-mode", "copy", "--compile-bytecode", *_options(configuration, arguments), *arguments]
    if run(command, env=_environment(configuration)):
        return True
    say("uv could not install this; trying pip")
    return False


@cache
def has_uv() -> bool:
    """Return whether uv runs, installed if need be but never compiled, which would take a Rust toolchain."""
    if not UV.exists() and not succeeds([*PIP, "--only-binary=:all:", f"uv=={UV_VERSION}"]):
        return False
    return succeeds([UV, "--version"])


@cache
def pip_configuration() -> dict[str, str]:
    """Return pip's configuration, from files and the environment; the last value counts."""
    result = subprocess.run([str(PYTHON), "-m", "pip", "config", "list"], capture_output=True, text=True, check=False)
    sections: dict[str, dict[str, str]] = {"global": {}, "install": {}, ":env:": {}}
    for line in result.stdout.splitlines():
        key, equals, value = line.partition("=")
        section, _, name = key.rpartition(".")
        if equals and section in sections:
            sections[section][name] = str(ast.literal_eval(value))
    return {name: value for section in sections.values() for name, value in section.items()}


def _options(configuration: dict[str, str], arguments: list[str]) -> list[str]:
    options = [(option, each) for name, option in OPTIONS.items() for each in configuration.get(name, "").split()]
    if "--require-hashes" in arguments:  # every version is given then, and uv would ask for hashes of these too
        options = [(option, each) for option, each in options if option != "--constraint"]
    return [word for pair in options for word in pair]


def _environment(configuration: dict[str, str]) -> dict[str, str]:
    # Without system certificates, uv trusts only the authorities it carries, not those that a company has added.
    words = {variable: " ".join(configuration.get(name, "").split()) for name, variable in VARIABLES.items()}
    return {"UV_SYSTEM_CERTS": "1"} | {name: value for name, value in words.items() if value and name not in os.environ}
