"""`commonplace sync`: the files of a folder as documents of a space."""

import hashlib
import json
import os
from collections.abc import Iterator, Sequence
from fnmatch import fnmatch
from pathlib import Path
from typing import TypedDict

import click

from webapp.cli.client import output
from webapp.cli.client.config import FAILED, REFUSED, UNKNOWN, USAGE, ClientError
from webapp.cli.client.http import Server, as_json, server

UNACCEPTABLE = (413, 415, 422)
"""A file that is too large, of an unknown kind, or without text is left out; the others go on."""
STATE = ".commonplace-sync.json"
IGNORE = ".commonplaceignore"


class Synced(TypedDict):
    """A file as it was sent last: the SHA-256 of its bytes, and its document."""

    digest: str
    document_id: int


@click.command("sync")
@click.argument("folder", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--space", required=True, metavar="NAME", help="The space, by its name or id.")
@click.option("--dry-run", is_flag=True, help="Show what would be done, and change nothing.")
@click.option("-y", "--yes", is_flag=True, help="Remove all documents if the folder is empty.")
@as_json
def sync(folder: Path, space: str, dry_run: bool, yes: bool, as_json: bool) -> None:
    """Make the documents of a space match the files of FOLDER: add, replace and remove what changed.

    A document is called like its path, and takes the place of one with the same name. Hidden files and what a
    .commonplaceignore names (a pattern a line, as *.tmp or drafts/) are left out. Of documents without a file those are
    removed that were added from here, which .commonplace-sync.json lists.
    """
    api = server()
    sync_of = _Sync(api, folder, _space_id(api, space))
    if not sync_of.files and sync_of.synced and not (yes or dry_run):
        raise ClientError("The folder is empty. Use --yes to remove all of its documents.", USAGE)
    results: dict[str, list[str]] = {"added": [], "replaced": [], "removed": [], "refused": []}
    for action, name, why in sync_of.run(dry_run):
        results[action].append(name)
        if not as_json:
            output.say(f"{action}\t{name}" + (f"\t{why}" if why else ""))
    if as_json:
        output.dump(results)
    elif not any(results.values()):
        output.note("Nothing has changed.")


class _Sync:
    def __init__(self, api: Server, folder: Path, space_id: int) -> None:
        self._api, self._folder, self._space_id = api, folder, space_id
        self._path = folder / STATE
        self._states: dict[str, dict[str, Synced]] = _read(self._path)
        self.synced = self._states.setdefault(f"{api.url}#{space_id}", {})
        self.files = _files(folder)

    def run(self, dry_run: bool) -> Iterator[tuple[str, str, str]]:
        """Carry out the changes, yielding each: the action, the name of a document, and why it was refused."""
        rows = self._api.rows(f"/api/spaces/{self._space_id}/documents", "documents")
        documents = {row["document_id"]: row["title"] for row in rows}
        by_title = {title: document_id for document_id, title in documents.items()}
        for name in self.files:
            try:
                with (self._folder / name).open("rb") as file:
                    digest = hashlib.file_digest(file, "sha256").hexdigest()
            except OSError as error:
                yield "refused", name, f"It cannot be read: {error.strerror}."
                continue
            entry = self.synced.get(name)
            if entry is not None and entry["digest"] == digest and entry["document_id"] in documents:
                continue
            old = entry["document_id"] if entry and entry["document_id"] in documents else by_title.get(name)
            try:
                new_id = 0 if dry_run else self._add(name)
            except ClientError as error:
                if error.status not in UNACCEPTABLE:
                    raise
                yield "refused", name, error.format_message()
                continue
            yield "replaced" if old else "added", name, ""
            if not dry_run:
                self._remove(old)
                self.synced[name] = {"digest": digest, "document_id": new_id}
                self._save()
        for name in sorted(set(self.synced) - set(self.files)):
            yield "removed", name, ""
            if not dry_run:
                stale_id = self.synced[name]["document_id"]
                self._remove(stale_id if stale_id in documents else None)
                del self.synced[name]
                self._save()

    def _add(self, name: str) -> int:
        path = self._folder / name
        with path.open("rb") as file:
            sent = self._api.upload("/api/files", path.name, file, path.stat().st_size, {})
        try:
            body = {"file_id": sent["file_id"], "title": name}
            document = self._api.post(f"/api/spaces/{self._space_id}/documents/files", body)
        finally:  # the document keeps its own
            self._api.delete(f"/api/files/{sent['file_id']}")
        return int(document["document_id"])

    def _remove(self, document_id: int | None) -> None:
        if document_id is not None:
            self._api.delete(f"/api/spaces/{self._space_id}/documents/{document_id}")

    def _save(self) -> None:
        """Save the progress, from which an interrupted sync resumes."""
        temporary = self._path.with_suffix(".tmp")
        try:
            temporary.write_text(json.dumps(self._states, ensure_ascii=False, indent=1, sort_keys=True), "utf-8")
            os.replace(temporary, self._path)
        except OSError as error:
            raise ClientError(f"{self._path} cannot be written: {error.strerror}.", FAILED) from None


def _space_id(api: Server, name: str) -> int:
    spaces = [row for row in api.rows("/api/spaces", "spaces") if name in (str(row["space_id"]), row["name"])]
    if not spaces:
        raise ClientError(f"There is no space called {name}.", UNKNOWN)
    if len(spaces) > 1:
        raise ClientError(f"Several spaces are called {name}. Give its id.", USAGE)
    return int(spaces[0]["space_id"])


def _files(folder: Path) -> list[str]:
    """Return the files to sync, as paths within the folder; links out of it are not followed."""
    ignore = folder / IGNORE
    lines = ignore.read_text("utf-8", "replace").splitlines() if ignore.is_file() else []
    patterns = [line.strip() for line in lines if line.strip() and not line.startswith("#")]
    files = []
    for root, folders, names in os.walk(folder):
        relative = Path(root).relative_to(folder)
        folders[:] = sorted(
            folder_name
            for folder_name in folders
            if not _is_ignored((relative / folder_name).as_posix() + "/", patterns)
        )
        paths = ((relative / name).as_posix() for name in sorted(names) if not (Path(root) / name).is_symlink())
        files += [path for path in paths if not _is_ignored(path, patterns)]
    return files


def _is_ignored(path: str, patterns: Sequence[str]) -> bool:
    name = path.rstrip("/").rpartition("/")[2] + ("/" if path.endswith("/") else "")
    return name.startswith(".") or any(fnmatch(path, pattern) or fnmatch(name, pattern) for pattern in patterns)


def _read(path: Path) -> dict[str, dict[str, Synced]]:
    if not path.exists():
        return {}
    try:
        return {str(place): dict(files) for place, files in json.loads(path.read_text("utf-8")).items()}
    except (OSError, ValueError, AttributeError, TypeError):
        raise ClientError(f"{path} cannot be read. Mend or delete it.", REFUSED) from None
