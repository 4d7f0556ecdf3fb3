"""What tests do with whole files: upload and import one, and download an export."""

import io
from typing import Any

from testkit.people import ApiClient


def upload(client: ApiClient, content: bytes, name: str = "export.zip", **fields: Any) -> Any:
    data = {"file": (io.BytesIO(content), name), **fields}
    return client.post("/api/imports", data=data, content_type="multipart/form-data")


def bring(client: ApiClient, run_jobs: Any, content: bytes, name: str = "export.zip", **wishes: Any) -> Any:
    """Upload, look, start and run; the import as it stands then."""
    made = upload(client, content, name)
    assert made.status_code == 202, made.text
    run_jobs()
    place = f"/api/imports/{made.get_json()['import_id']}"
    ready = client.get(place).get_json()
    assert ready["status"] == "ready", ready
    assert client.post(f"{place}/start", json=wishes).status_code == 202
    run_jobs()
    return client.get(place).get_json()


def download_export(client: ApiClient, run_jobs: Any, **fields: Any) -> tuple[Any, Any]:
    """An export when it is done, and its file."""
    made = client.post("/api/exports", json=fields)
    assert made.status_code == 202, made.text
    run_jobs()
    place = f"/api/exports/{made.get_json()['export_id']}"
    shown = client.get(place).get_json()
    assert shown["status"] == "ready", shown
    with client.get(f"{place}/download") as file:
        assert file.data and file.content_type.count("charset") <= 1
        return shown, file


def list_talks(client: ApiClient) -> Any:
    return client.get("/api/conversations?limit=100").get_json()["conversations"]


def lines_of(client: ApiClient, conversation_id: int) -> list[tuple[str, str]]:
    rows = client.get(f"/api/conversations/{conversation_id}?limit=100").get_json()["messages"]
    return [(row["role"], row["content"]) for row in rows]
