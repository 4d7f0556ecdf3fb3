"""`commonplace sync`: a folder's files as documents of a space, against the live server."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

import pytest

from testkit.people import ApiClient, Person
from tests.cli.client.test_commands import Shell, error
from tests.support.live import LiveServer
from webapp.cli.client.sync import IGNORE, STATE


@pytest.fixture
def shell(live_server: LiveServer, user: Person, tmp_path: Path) -> Shell:
    return Shell(tmp_path, live_server.url, user.token)


@pytest.fixture
def space(client: ApiClient) -> int:
    return client.post("/api/spaces", json={"kind": "project", "name": "House"}).json["space_id"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "papers"
    write(made / "roof.md", "The roof was tiled in 2019.")
    write(made / "garden" / "bees.txt", "The hive stands by the mill.")
    return made


def write(path: Path, text: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)


def documents(client: ApiClient, space: int) -> dict[str, int]:
    rows = client.get(f"/api/spaces/{space}/documents").json["documents"]
    assert len({row["title"] for row in rows}) == len(rows), "each once"
    return {row["title"]: row["document_id"] for row in rows}


def text(client: ApiClient, space: int, document_id: int) -> str:
    return client.get(f"/api/spaces/{space}/documents/{document_id}").json["content"].strip()


def test_what_changed_is_added_replaced_and_removed(shell, client, space, folder):
    by_hand = client.post(f"/api/spaces/{space}/documents", json={"title": "By hand", "content": "Stays."}).json
    seen = shell("sync", folder, "--space", "House", "--dry-run")
    assert seen.returncode == 0 and set(documents(client, space)) == {"By hand"} and not (folder / STATE).exists()
    assert seen.stdout.splitlines() == ["added\troof.md", "added\tgarden/bees.txt"]
    assert shell.json("sync", folder, "--space", "House")["added"] == ["roof.md", "garden/bees.txt"]
    first = documents(client, space)
    assert set(first) == {"By hand", "roof.md", "garden/bees.txt"}
    assert text(client, space, first["garden/bees.txt"]) == "The hive stands by the mill."
    assert client.get("/api/files").json["files"] == [], "what was uploaded is a document, not a file besides"
    again = shell("sync", folder, "--space", space)
    assert (again.returncode, again.stdout) == (0, "")
    write(folder / "roof.md", "The roof was tiled in 2024.")
    (folder / "garden" / "bees.txt").unlink()
    assert shell("sync", folder, "--space", "House").stdout.splitlines() == [
        "replaced\troof.md",
        "removed\tgarden/bees.txt",
    ]
    now = documents(client, space)
    assert set(now) == {"By hand", "roof.md"} and now["By hand"] == by_hand["document_id"]
    assert text(client, space, now["roof.md"]) == "The roof was tiled in 2024."


def test_hidden_and_ignored_files_and_links_stay_out(shell, client, space, folder):
    write(folder / IGNORE, "# what nobody needs\n*.tmp\ndrafts/\n\nold/*.txt\n")
    for name in (".secret", "a.tmp", "garden/b.tmp", "drafts/c.txt", "old/d.txt", ".git/config"):
        write(folder / name, "words")
    write(folder / "old" / "kept.md", "words")
    (folder / "link.txt").symlink_to("/etc/hostname")
    assert sorted(shell.json("sync", folder, "--space", "House")["added"]) == [
        "garden/bees.txt", "old/kept.md", "roof.md",
    ]  # fmt: skip


def test_an_interrupted_one_goes_on_and_a_lost_state_doubles_nothing(shell, client, space, folder):
    shell("sync", folder, "--space", "House")
    first = documents(client, space)
    client.delete(f"/api/spaces/{space}/documents/{first['roof.md']}")
    assert shell.json("sync", folder, "--space", "House")["added"] == ["roof.md"], "deleted there, still here"
    (folder / STATE).unlink()
    found = shell.json("sync", folder, "--space", "House")
    assert found["replaced"] == ["roof.md", "garden/bees.txt"] and set(documents(client, space)) == set(first)
    state: dict[str, Any] = json.loads((folder / STATE).read_text())
    (files,) = state.values()
    assert {name: known["document_id"] for name, known in files.items()} == documents(client, space)


def test_an_empty_folder_removes_nothing_unless_it_is_meant(shell, client, space, folder):
    shell("sync", folder, "--space", "House")
    (folder / "roof.md").unlink()
    (folder / "garden" / "bees.txt").unlink()
    assert "The folder is empty" in error(shell("sync", folder, "--space", "House"), 2)
    assert len(documents(client, space)) == 2
    assert shell("sync", folder, "--space", "House", "--yes").returncode == 0
    assert documents(client, space) == {}


def test_what_cannot_be_read_is_said_and_the_rest_goes_on(shell, client, space, folder):
    (folder / "a.bin").write_bytes(bytes(range(256)) * 20)
    done = shell("sync", folder, "--space", "House")
    assert done.returncode == 0 and done.stdout.startswith("refused\ta.bin\t")
    assert set(documents(client, space)) == {"roof.md", "garden/bees.txt"}


def test_a_file_of_somebody_else_is_said_and_one_of_the_same_name_is_replaced(
    shell, client, space, folder, monkeypatch
):
    client.post(f"/api/spaces/{space}/documents", json={"title": "roof.md", "content": "By hand."})
    digest_of = hashlib.file_digest

    def refuse(file, algorithm):
        if file.name.endswith("bees.txt"):
            raise PermissionError(13, "Permission denied")
        return digest_of(file, algorithm)

    monkeypatch.setattr(hashlib, "file_digest", refuse)
    assert shell("sync", folder, "--space", "House").stdout.splitlines() == [
        "replaced\troof.md",
        "refused\tgarden/bees.txt\tIt cannot be read: Permission denied.",
    ]
    assert text(client, space, documents(client, space)["roof.md"]) == "The roof was tiled in 2019."


def test_unknown_spaces_strangers_and_a_broken_state_are_refused(
    shell, client, space, folder, make_user, live_server, tmp_path
):
    assert "no space called Boat" in error(shell("sync", folder, "--space", "Boat"), 4)
    client.post("/api/spaces", json={"kind": "project", "name": "House"})
    assert "Give its id" in error(shell("sync", folder, "--space", "House"), 2)
    stranger = Shell(tmp_path, live_server.url, make_user().token)
    assert error(stranger("sync", folder, "--space", space), 4)
    (folder / STATE).write_text("[1")
    assert "Mend or delete it" in error(shell("sync", folder, "--space", space), 3)
    assert documents(client, space) == {}
