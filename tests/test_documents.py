"""The documents a newcomer reads name files that exist, and commands that make knows."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = ["README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/architecture.md", "docs/glossary.md"]
FOLDERS = ("webapp", "tests", "docs", "jobs", "templates", "static", "migrations")
TARGETS = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text()))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name: str) -> None:
    document = ROOT / name
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text())
    assert [target for target in targets if not (document.parent / target).exists()] == []


@pytest.mark.parametrize("name", ["README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_paths_and_commands_exist(name: str) -> None:
    codes = re.findall(r"`([^`\n]+)`", (ROOT / name).read_text())
    paths = [code for code in codes if code.startswith(tuple(f"{folder}/" for folder in FOLDERS)) and "<" not in code]
    assert [path for path in paths if not (ROOT / path).exists()] == []
    named = {match[1] for code in codes if (match := re.match(r"make ([a-z-]+)", code))}
    assert named <= TARGETS
