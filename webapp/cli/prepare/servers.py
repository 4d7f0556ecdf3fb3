"""What the tests need beside Python packages: a MariaDB server, a Chromium and a font with colour emoji."""

import os
from pathlib import Path

from .shell import SetupError, apt_install, find_program

EMOJI_FONT = "fonts-noto-color-emoji"


def install_test_servers() -> None:
    """Install by apt what is missing, or say exactly what to install. Nothing that is installed gets started."""
    missing = _missing()
    if missing and not apt_install(missing, "for the tests"):
        raise SetupError(
            f"The tests need {' '.join(missing)}. Once:\n    sudo apt-get install {' '.join(missing)}\n"
            "Then run the same command again."
        )
    if still := _missing():
        raise SetupError(
            f"{' '.join(still)} was installed, yet what the tests need of it is not there. On Ubuntu, chromium is a "
            "snap that containers cannot run: put a Chromium on the PATH, or name it in CHROMIUM."
        )


def _missing() -> list[str]:
    needed = []
    if not os.environ.get("TEST_DATABASE_URL") and not (
        find_program("mariadbd") and find_program("mariadb-install-db")
    ):
        needed.append("mariadb-server-core")
    if not os.environ.get("CHROMIUM") and not find_program("chromium", "chromium-browser", "google-chrome"):
        needed.append("chromium")
    fonts = Path("/usr/share/fonts")
    if not fonts.is_dir() or not any(fonts.rglob("NotoColorEmoji*")):
        needed.append(EMOJI_FONT)
    return needed
