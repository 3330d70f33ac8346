"""Every run is a job: its record, cancelling and resuming, and jobs whose process was killed."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.doubles import forked

from wellread.ask.retrieve.search import search
from wellread.errors import ModelError
from wellread.ingest import run
from wellread.ingest.integrity.verify import verify
from wellread.ingest.pipeline.job_log import Progress, end_dead_jobs
from wellread.ingest.run import add, sync
from wellread.kb import KnowledgeBase, open_kb
from wellread.models.base import Purpose
from wellread.store.catalogue.run_logs import Job
from wellread.testing.embedding import ReadableEmbedder
from wellread.types import Filters


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "papers"
    made.mkdir()
    for number in range(12):
        (made / f"{number:02d}.txt").write_text(f"Lantern number{number} hangs at the quay.\n")
    return made


def test_a_run_leaves_a_record_with_a_line_per_source(kb: KnowledgeBase, folder: Path) -> None:
    (folder / "bad.vtt").write_text("WEBVTT\n\nno cue")
    (folder / "picture.png").write_bytes(b"\x89PNG\r\n\x1a\n\x00")
    report = add(kb, [str(folder)], collection="lanterns")
    (job,) = kb.catalogue.jobs.newest()
    assert job.id == report.job_id
    assert (job.action, job.collection, job.inputs) == ("add", "lanterns", (str(folder),))
    assert (job.state, job.total, job.done) == ("done", 14, 14)
    assert (job.passages, job.vectors) == (12, 12)
    assert job.finished_at is not None
    assert job.finished_at >= job.started_at
    items = kb.catalogue.jobs.items(job.id)
    assert {item.uri for item in items} == {row.uri for row in report.rows}
    assert kb.catalogue.jobs.counts(job.id) == {"added": 12, "failed": 1, "skipped": 1}
    (failed,) = kb.catalogue.jobs.items(job.id, "failed")
    assert failed.uri.endswith("bad.vtt")
    assert failed.reason
    assert sum(item.passages for item in items) == 12
    assert all(item.seconds > 0 for item in items if item.status == "added")


def test_a_cancelled_run_keeps_what_it_wrote_and_can_be_taken_up(
    kb: KnowledgeBase, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run, "WINDOW_PASSAGES", 1)
    monkeypatch.setattr("wellread.ingest.pipeline.job_log.SECONDS_BETWEEN", 0.0)

    def cancel(progress: Progress) -> None:
        if progress.passages_written >= 3:
            (job,) = kb.catalogue.jobs.newest(state="running")
            assert kb.catalogue.jobs.cancel(job.id)

    report = add(kb, [str(folder)], on_progress=cancel)
    assert report.cancelled
    (job,) = kb.catalogue.jobs.newest()
    assert job.state == "cancelled"
    held = len(kb.catalogue.documents("default"))
    assert 3 <= held < 12
    assert verify(kb).problems == ()
    assert not kb.catalogue.jobs.cancel(job.id)  # it has ended
    again = add(kb, job.inputs)
    assert again.counts()["unchanged"] == held
    assert again.counts()["added"] == 12 - held
    assert kb.catalogue.vectors.passages_pending() == 0


class Waiting(ReadableEmbedder):
    """Looks at the home while the first passages are being embedded."""

    def __init__(self, home: Path) -> None:
        super().__init__()
        self.home = home
        self.seen: list[tuple[int, int]] = []

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        if purpose == "passage" and not self.seen:
            with open_kb(self.home, embedder=ReadableEmbedder()) as other:
                hits = search(other, "lantern number3", Filters())
                owed = other.catalogue.vectors.passages_pending()
                self.seen.append((len(hits), owed))
        return super().embed(texts, purpose)


def test_text_is_found_before_its_vectors_are_there(tmp_path: Path, folder: Path) -> None:
    embedder = Waiting(tmp_path / "home")
    with open_kb(tmp_path / "home", embedder=embedder) as kb:
        add(kb, [str(folder)])
        assert embedder.seen == [(10, 12)]  # ten of twelve is the most a search shows
        assert kb.catalogue.vectors.passages_pending() == 0
        assert verify(kb).problems == ()


class Broken(ReadableEmbedder):
    """Cannot embed passages."""

    def embed(self, texts: Sequence[str], purpose: Purpose) -> NDArray[np.float32]:
        if purpose == "passage":
            raise ModelError("the server is down")
        return super().embed(texts, purpose)


def test_a_failed_run_says_why_and_the_next_one_pays_its_debts(
    tmp_path: Path, folder: Path
) -> None:
    with open_kb(tmp_path / "home", embedder=Broken()) as kb:
        with pytest.raises(ModelError, match="down"):
            add(kb, [str(folder)])
        (job,) = kb.catalogue.jobs.newest()
        assert (job.state, "down" in job.reason) == ("failed", True)
        assert kb.catalogue.vectors.passages_pending() == 12
        assert len(search(kb, "lantern number3", Filters())) == 10
    with open_kb(tmp_path / "home", embedder=ReadableEmbedder()) as kb:
        assert sync(kb, [str(folder)]).counts()["unchanged"] == 12
        assert kb.catalogue.vectors.passages_pending() == 0
        hits = search(kb, "number3", Filters())
        assert all(hit.similarity is not None for hit in hits)


def test_a_killed_job_is_seen_as_interrupted(kb: KnowledgeBase, tmp_path: Path) -> None:
    code = (
        "import os, pathlib, sys\n"
        "from wellread.ingest.pipeline.job_log import job_log\n"
        "from wellread.kb import open_kb\n"
        "from wellread.testing.embedding import ReadableEmbedder\n"
        "kb = open_kb(pathlib.Path(sys.argv[1]), embedder=ReadableEmbedder())\n"
        "with job_log(kb, 'add', 'default', ['papers']):\n"
        "    os.kill(os.getpid(), 9)\n"
    )
    assert forked.run(code, str(tmp_path / "home")).returncode == -9
    (job,) = kb.catalogue.jobs.newest()
    assert job.state == "running"
    assert [each.id for each in end_dead_jobs(kb)] == [job.id]
    (job,) = kb.catalogue.jobs.newest()
    assert job.state == "interrupted"
    assert end_dead_jobs(kb) == []


def test_a_job_that_was_just_recorded_is_not_taken_for_dead(
    kb: KnowledgeBase, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    jobs, dead = kb.catalogue.jobs, []
    start = jobs.start

    def looked_at_once(*given: Any) -> Job:
        job = start(*given)
        dead.extend(end_dead_jobs(kb))
        return job

    monkeypatch.setattr(jobs, "start", looked_at_once)
    assert not add(kb, [str(folder)]).cancelled
    assert dead == []


def test_a_job_that_runs_is_not_taken_for_dead(kb: KnowledgeBase, folder: Path) -> None:
    seen: list[int] = []
    add(kb, [str(folder)], on_progress=lambda _: seen.append(len(end_dead_jobs(kb))))
    assert set(seen) == {0}
    assert kb.catalogue.jobs.newest()[0].state == "done"
