"""``/api/jobs`` over a real run."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fastapi.testclient import TestClient

from wellread.ingest.run import add
from wellread.kb import KnowledgeBase, open_kb
from wellread.serve.http.app import create_app
from wellread.testing.embedding import ReadableEmbedder


@pytest.fixture
def kb(tmp_path: Path) -> Iterator[KnowledgeBase]:
    folder = tmp_path / "papers"
    folder.mkdir()
    for name in ("ferry", "mill"):
        (folder / f"{name}.txt").write_text(f"The {name} stands by the water.\n")
    (folder / "bad.vtt").write_text("WEBVTT\n\nno cue")
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as opened:
        add(opened, [str(folder)])
        yield opened


@pytest.fixture
def client(kb: KnowledgeBase) -> TestClient:
    return TestClient(create_app(kb), base_url="http://127.0.0.1")


def test_runs_are_listed_with_their_sources(client: TestClient) -> None:
    body = client.get("/api/jobs").json()
    assert body["waiting"] == 0
    (job,) = body["jobs"]
    assert (job["action"], job["state"], job["total"], job["vectors"]) == ("add", "done", 3, 2)
    detail = client.get(f"/api/jobs/{job['id']}").json()
    assert detail["counts"] == {"added": 2, "failed": 1}
    assert len(detail["sources"]) == 3
    failed = client.get(f"/api/jobs/{job['id']}", params={"status": "failed"}).json()["sources"]
    assert [each["uri"].rsplit("/", 1)[-1] for each in failed] == ["bad.vtt"]
    assert failed[0]["reason"]
    second = client.get(f"/api/jobs/{job['id']}", params={"limit": 1, "offset": 1}).json()
    assert second["sources"] == detail["sources"][1:2]


def test_only_a_running_job_can_be_cancelled(client: TestClient, kb: KnowledgeBase) -> None:
    (ended,) = kb.catalogue.jobs.newest()
    assert client.post(f"/api/jobs/{ended.id}/cancel").status_code == 404
    running = kb.catalogue.jobs.start("add", "default", ["x"], ("another-machine", 1))
    assert client.post(f"/api/jobs/{running.id}/cancel").json()["id"] == running.id
    again = kb.catalogue.jobs.get(running.id)
    assert again is not None
    assert again.cancel


def test_wrong_requests_are_refused(client: TestClient) -> None:
    assert client.get("/api/jobs/nothing").status_code == 404
    assert client.get("/api/jobs", params={"limit": 0}).status_code == 400
    assert client.get("/api/jobs/job_", params={"status": "odd"}).status_code == 400
