"""The vectors of a long document are made by several jobs, so that what is more urgent comes between."""

from collections.abc import Callable
from typing import Any

import pytest

from testkit.people import ApiClient
from webapp.background import time_slices


def test_a_long_document_lets_others_go_first(
    client: ApiClient, run_jobs: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time_slices, "SECONDS", 0)
    monkeypatch.setattr(time_slices, "FEW", 3)
    place = f"/api/spaces/{client.post('/api/spaces', json={'kind': 'project', 'name': 'Mill'}).get_json()['space_id']}"
    content = "\n\n".join(f"Hive {n} stands behind the mill. " + "The bees fly to the limes. " * 40 for n in range(5))
    number = client.post(f"{place}/documents", json={"title": "Bees", "content": content}).get_json()["document_id"]
    jobs = [job for job in run_jobs() if job.meta["name"] == "index_document"]
    made = [job.return_value() for job in jobs]
    read = client.get(f"{place}/documents/{number}").get_json()
    assert read["status"] == "ready" and read["chunks_done"] == read["chunks_total"] == sum(made) > 3
    assert made[0] == 3 and max(made) == 3
