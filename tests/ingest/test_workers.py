"""Parser processes: what they answer, and what happens to those that misbehave."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from wellread.ingest.pipeline import workers
from wellread.ingest.pipeline.parse import ParseRequest, is_current, no_loader, parse
from wellread.ingest.pipeline.workers import WorkerPool, end_idle

TEXT = b"# Ferry\n\nThe ferry Osprey carries ninety passengers.\n"


def request(name: str = "ferry.md", **fields: Any) -> ParseRequest:
    return ParseRequest(uri=f"file:///{name}", name=name, collection="c", **fields)


def test_a_worker_starts_without_what_only_others_need() -> None:
    code = (
        "import sys; from wellread.ingest.pipeline.worker import parse, ParseRequest;"
        "parse(ParseRequest(uri='u', name='a.md', collection='c'), b'# A\\n\\nWords.\\n');"
        "print(' '.join(sys.modules))"
    )
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in ran.stdout.split()}
    heavy = "lancedb onnxruntime fastapi sqlalchemy pyarrow pydantic trafilatura typer httpx"
    assert loaded & set(heavy.split()) == set()


def test_a_worker_answers_as_parsing_here_does() -> None:
    with WorkerPool(seconds=60, memory=0, workers=1) as pool:
        there = pool.submit(request(), TEXT).result()
    here = parse(request(), TEXT)
    assert there.status == "parsed"
    assert there.documents == here.documents
    assert (there.digest, there.loader) == (here.digest, here.loader)
    (document,) = there.documents
    assert [each.text for each in document.passages()] == [document.document.text]


def test_equal_bytes_are_not_parsed_again() -> None:
    first = parse(request(), TEXT)
    known = request(known_digest=first.digest, known_loader=first.loader)
    assert parse(known, TEXT).status == "unchanged"
    older = request(known_digest=first.digest, known_loader="markdown/0")
    assert parse(older, TEXT).status == "parsed"


def test_an_unknown_kind_is_skipped_and_remembered_until_loaders_change() -> None:
    parsed = parse(request("picture.png"), b"\x89PNG\r\n\x1a\n\x00")
    assert (parsed.status, parsed.loader) == ("skipped", no_loader())
    assert is_current(parsed.loader)
    assert not is_current("none_of_an_older_release")


def test_a_source_that_takes_too_long_fails_and_the_next_one_is_parsed(tmp_path: Path) -> None:
    slow = tmp_path / "slow.md"
    os.mkfifo(slow)  # opening it waits for a writer that never comes
    with WorkerPool(seconds=0.5, memory=0, workers=1) as pool:
        failed = pool.submit(request("slow.md", path=str(slow))).result()
    assert failed.status == "failed"
    assert "longer than 0.5 seconds" in failed.reason
    assert "sources.max_seconds" in failed.reason
    with WorkerPool(seconds=60, memory=0, workers=1) as pool:
        assert pool.submit(request(), TEXT).result().status == "parsed"


def test_a_source_that_takes_too_much_memory_fails() -> None:
    words = b"word " * 4_000_000
    with WorkerPool(seconds=60, memory=300, workers=1) as pool:
        failed = pool.submit(request("large.txt"), words).result()
        assert failed.status == "failed"
        assert "memory" in failed.reason
        assert pool.submit(request(), TEXT).result().status == "parsed"


def test_a_worker_that_was_killed_is_reported_and_replaced(tmp_path: Path) -> None:
    slow = tmp_path / "slow.md"
    os.mkfifo(slow)
    end_idle()
    with WorkerPool(seconds=60, memory=0, workers=1) as pool:
        future = pool.submit(request("slow.md", path=str(slow)))
        deadline = time.monotonic() + 300
        while not (pids := _children()) and time.monotonic() < deadline:
            time.sleep(0.05)
        os.kill(pids[0], 9)
        failed = future.result()
        assert failed.status == "failed"
        assert "crashed" in failed.reason
        assert "signal 9" in failed.reason
        assert pool.submit(request(), TEXT).result().status == "parsed"


def _children() -> list[int]:
    command = ["pgrep", "-P", str(os.getpid()), "-f", "wellread.ingest.pipeline.worker"]
    found = subprocess.run(command, capture_output=True, text=True, check=False).stdout
    return [int(line) for line in found.split()]


def test_a_file_that_changes_while_it_is_read_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "growing.md"
    path.write_bytes(TEXT)
    real = os.fstat
    looks: list[int] = []

    def fstat(descriptor: int) -> os.stat_result:
        looks.append(descriptor)
        if len(looks) == 2:
            with path.open("ab") as file:
                file.write(b"More.")
        return real(descriptor)

    monkeypatch.setattr("wellread.ingest.pipeline.parse.os.fstat", fstat)
    parsed = parse(request(path=str(path)), None)
    assert parsed.status == "failed"
    assert parsed.reason == "changed while it was read; add it again"
    assert stat.S_ISREG(path.stat().st_mode)


def test_idle_workers_are_kept_for_the_next_run_and_end_when_told() -> None:
    end_idle()
    for _ in range(2):
        with WorkerPool(seconds=60, memory=0, workers=1) as pool:
            pool.submit(request(), TEXT).result()
        assert len(workers._idle) == 1
    (worker,) = workers._idle
    end_idle()
    assert workers._idle == []
    assert not worker.alive
