"""The documents name files, settings and commands that exist, and say what the code says."""

import re
from pathlib import Path

import click
import pytest

from webapp.http.views import UPLOADS
from webapp.templating import asset

ROOT = Path(__file__).resolve().parent.parent
DOCUMENTS = [
    *(f"{name}.md" for name in ("README", "CONTRIBUTING", "SECURITY", "CHANGELOG")),
    *(str(path.relative_to(ROOT)) for path in sorted((ROOT / "docs").rglob("*.md"))),
]
FOLDERS = ("webapp", "tests", "docs", "jobs", "templates", "static", "migrations")
TARGETS = set(re.findall(r"(?m)^([a-z-]+):", (ROOT / "Makefile").read_text()))


@pytest.mark.parametrize("name", DOCUMENTS)
def test_links_lead_somewhere(name):
    document = ROOT / name
    targets = re.findall(r"\]\((?!https?:)([^)#]+)", document.read_text())
    assert [target for target in targets if not (document.parent / target).exists()] == []


@pytest.mark.parametrize("name", DOCUMENTS)
def test_paths_and_commands_exist(name):
    codes = re.findall(r"`([^`\n]+)`", (ROOT / name).read_text())
    paths = [code.partition(":")[0] for code in codes if re.match(rf"({'|'.join(FOLDERS)})/[^<]*$", code)]
    assert [path for path in paths if not any(ROOT.glob(path.rstrip("/")))] == []
    named = {match[1] for code in codes if (match := re.match(r"make ([a-z-]+)", code))}
    assert named <= TARGETS


def test_each_decision_has_a_number_of_its_own():
    numbers = [path.name[:4] for path in sorted((ROOT / "docs" / "adr").glob("*.md"))]
    assert numbers == [f"{number:04}" for number in range(1, len(numbers) + 1)]


def test_commands_of_flask_exist(app):
    said = "\n".join((ROOT / name).read_text() for name in [*DOCUMENTS, "Procfile"])
    named = re.findall(r"flask --app wsgi ((?:[a-z-]+ ?)+(?:\\?\|[a-z-]+)*)", said)
    assert len(named) > 10
    unknown = []
    for line in named:
        words = line.split()
        command = app.cli.get_command(click.Context(app.cli), words[0])
        verbs = words[1].replace("\\", "").split("|") if len(words) > 1 else []
        known = getattr(command, "commands", {})
        if command is None or not set(verbs) <= set(known):
            unknown.append(line)
    assert unknown == []


def test_settings_named_for_operators_are_in_the_example():
    example = set(re.findall(r"(?m)^# ([A-Z][A-Z0-9_]+)=", (ROOT / ".env.example").read_text()))
    for name in ("production", "security", "recall", "journeys", "files"):
        named = set(re.findall(r"`([A-Z][A-Z0-9]*_[A-Z0-9_]+)(?:=[^`]*)?`", (ROOT / "docs" / f"{name}.md").read_text()))
        assert named <= example, name


def test_the_proxy_that_is_shown_lets_files_in_and_finds_the_assets(app):
    text = (ROOT / "docs" / "production.md").read_text()
    locations = dict(re.findall(r"location ~ (\S+) \{\s+client_max_body_size (\w+);", text))
    for path, setting in UPLOADS.items():
        (size,) = (found for pattern, found in locations.items() if re.search(pattern, path))
        bytes_of = {"m": 1024**2, "g": 1024**3}
        assert int(size[:-1]) * bytes_of[size[-1]] >= app.config[setting], path
    with app.test_request_context():
        address = asset("css/tokens.css")
    # Whatever nginx would take from the folder itself has to lie there under the address that pages name.
    folders = re.findall(r"location (/\S*) \{\s+(?:alias|root)", text)
    assert [folder for folder in folders if address.startswith(folder)] == []
