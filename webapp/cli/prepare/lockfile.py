"""requirements.lock: each package with the SHA-256 of its files, so that what is installed is what was tested."""

import os
import re

from .shell import ROOT

LOCK = ROOT / "requirements.lock"
_BLOCK = re.compile(r"(?m)^(?=[A-Za-z0-9])")


def wants_hashes() -> bool:
    """Return whether hashes are checked; REQUIRE_HASHES=0 is for a package index that serves files built elsewhere."""
    return LOCK.is_file() and os.environ.get("REQUIRE_HASHES") != "0"


def locked_packages() -> dict[str, str]:
    """Return what the lock says of each package, by its normal name."""
    blocks = [block for block in _BLOCK.split(LOCK.read_text()) if block[:1].isalnum()]
    return {normal(re.split(r"[=\s;]", block, maxsplit=1)[0]): block for block in blocks}


def normal(name: str) -> str:
    """Return the one spelling of a package's name."""
    return re.sub(r"[-_.]+", "-", name).lower()
