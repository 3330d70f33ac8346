"""Recordings without a transcript: a server transcribes them, a transcript beside them wins."""

from __future__ import annotations

import json
import sys
import threading
import wave
from collections.abc import Callable, Iterator
from email import message_from_bytes
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

import pytest
from tests.ingest.conftest import statuses

from wellread.ingest.pipeline.job_log import Progress
from wellread.ingest.run import add, sync
from wellread.kb import KnowledgeBase, open_kb
from wellread.testing.embedding import ReadableEmbedder

SAID: dict[str, Any] = {
    "task": "transcribe",
    "language": "english",
    "segments": [
        {"id": 0, "start": 0.0, "end": 4.5, "text": " The pump was replaced in May."},
        {"id": 1, "start": 4.5, "end": 9.0, "text": " Nobody has tested it since."},
    ],
}


class Server(BaseHTTPRequestHandler):
    """Answers as servers of OpenAI's form do; what it was asked is kept in ``asked``."""

    asked: ClassVar[list[dict[str, Any]]] = []
    reply: ClassVar[tuple[int, Any]] = (200, SAID)
    gate: ClassVar[threading.Event] = threading.Event()
    address: ClassVar[str] = ""

    def log_message(self, *_: Any) -> None: ...

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["content-length"]))
        head = f"content-type: {self.headers['content-type']}\r\n\r\n".encode()
        fields = {
            str(part.get_param("name", header="content-disposition")): part.get_payload(decode=True)
            for part in message_from_bytes(head + body).walk()
            if not part.is_multipart()
        }
        self.asked.append({**fields, "path": self.path, "key": self.headers["authorization"]})
        self.gate.wait(30)
        status, reply = self.reply
        data = json.dumps(reply).encode()
        self.send_response(status)
        self.send_header("content-length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)


@pytest.fixture
def server() -> Iterator[type[Server]]:
    Server.asked.clear()
    Server.reply = 200, SAID
    Server.gate.set()
    running = ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=running.serve_forever).start()
    Server.address = f"http://127.0.0.1:{running.server_port}/v1/"
    yield Server
    Server.gate.set()
    running.shutdown()
    running.server_close()


Opened = Callable[..., KnowledgeBase]


@pytest.fixture
def opened(tmp_path: Path, server: type[Server]) -> Iterator[Opened]:
    kbs: list[KnowledgeBase] = []

    def open_with(**more: Any) -> KnowledgeBase:
        values = {"base_url": server.address, **more}
        home = tmp_path / "home"
        kbs.append(open_kb(home, embedder=ReadableEmbedder(), overrides={"transcription": values}))
        return kbs[-1]

    yield open_with
    for kb in kbs:
        kb.close()


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    path = tmp_path / "talks" / "Pump meeting.wav"
    path.parent.mkdir()
    with wave.open(str(path), "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(1)
        file.setframerate(1000)
        file.writeframes(bytes(90_000))
    return path


def test_a_recording_becomes_a_transcript_with_times(
    opened: Opened, server: type[Server], talk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SPEECH_KEY", "sesame")
    kb = opened(model="tiny", api_key_env="SPEECH_KEY", price=0.006)
    told: list[Progress] = []
    report = add(kb, [str(talk.parent)], on_progress=told.append)
    assert statuses(report) == {"Pump%20meeting.wav": "added"}
    (asked,) = server.asked
    assert (asked["path"], asked["key"]) == ("/v1/audio/transcriptions", "Bearer sesame")
    assert (asked["model"], asked["response_format"]) == (b"tiny", b"verbose_json")
    assert asked["file"] == talk.read_bytes()
    (document,) = kb.catalogue.documents("default")
    assert (document.title, document.kind) == ("Pump meeting", "transcript")
    assert document.language == "en"
    assert document.uri == talk.as_uri()
    assert "1 recording to transcribe, 0:01:30, about $0.01" in report.notes
    assert told[0].current == report.notes[0]
    # Neither an unchanged recording nor one that was only touched is paid for again.
    assert statuses(sync(kb, [str(talk.parent)])) == {"Pump%20meeting.wav": "unchanged"}
    talk.touch()
    assert statuses(sync(kb, [str(talk.parent)])) == {"Pump%20meeting.wav": "unchanged"}
    assert len(server.asked) == 1


def test_a_transcript_beside_the_recording_wins(
    opened: Opened, server: type[Server], talk: Path
) -> None:
    beside = talk.with_suffix(".vtt")
    beside.write_text("WEBVTT\n\n00:01.000 --> 00:03.000\nThe pump is new.\n", encoding="utf-8")
    talk.with_suffix(".json").write_text('{"title": "Pump meeting"}', encoding="utf-8")
    report = add(opened(), [str(talk), str(beside)])
    assert statuses(report) == {"Pump%20meeting.wav": "skipped", "Pump%20meeting.vtt": "added"}
    assert "its transcript is read: Pump meeting.vtt" in [row.reason for row in report.rows]
    assert not server.asked


def test_without_a_server_the_report_says_what_would_read_it(opened: Opened, talk: Path) -> None:
    (row,) = add(opened(base_url=""), [str(talk)]).rows
    assert row.status == "skipped"
    assert "transcription.base_url" in row.reason
    # As soon as there is one, the recording is read.
    assert statuses(sync(opened(), [str(talk)])) == {"Pump%20meeting.wav": "added"}


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ((413, {"error": "file too big"}), "answered 413"),
        ((200, {"text": "The pump was replaced."}), "no transcript with times"),
        ((200, {"segments": []}), "no speech was heard"),
    ],
)
def test_a_bad_reply_is_a_reason_and_the_next_run_asks_again(
    opened: Opened, server: type[Server], talk: Path, reply: tuple[int, Any], reason: str
) -> None:
    kb = opened()
    server.reply = reply
    (row,) = add(kb, [str(talk)]).rows
    assert row.status == "failed"
    assert reason in row.reason
    server.reply = 200, SAID
    assert statuses(add(kb, [str(talk)])) == {"Pump%20meeting.wav": "added"}


def test_a_server_that_is_away_is_named(opened: Opened, talk: Path) -> None:
    (row,) = add(opened(base_url="http://127.0.0.1:9/v1"), [str(talk)]).rows
    assert row.reason.startswith("http://127.0.0.1:9/v1/audio/transcriptions does not answer")


def test_a_stopped_run_leaves_a_recording_at_work(
    opened: Opened, server: type[Server], talk: Path
) -> None:
    kb = opened()
    server.gate.clear()

    def stop(_: Progress) -> None:
        for job in kb.catalogue.jobs.newest(1, "running"):
            kb.catalogue.jobs.cancel(job.id)

    assert add(kb, [str(talk)], on_progress=stop).cancelled
    assert not kb.catalogue.documents("default")


class Model:
    """Speaks as ``faster_whisper.WhisperModel`` does."""

    def __init__(self, folder: str, *, local_files_only: bool) -> None:
        assert local_files_only
        if not (Path(folder) / "model.bin").exists():
            raise RuntimeError("Unable to open file 'model.bin'")

    def transcribe(self, _path: str) -> tuple[Iterator[Any], Any]:
        segments = (SimpleNamespace(**segment) for segment in SAID["segments"])
        return segments, SimpleNamespace(language="en")


def test_a_folder_with_a_model_transcribes_here_and_its_errors_are_told(
    opened: Opened, talk: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "faster_whisper", None)
    kb = opened(model=str(tmp_path))
    (row,) = add(kb, [str(talk)]).rows
    assert "pip install 'wellread[speech]'" in row.reason
    monkeypatch.setitem(sys.modules, "faster_whisper", SimpleNamespace(WhisperModel=Model))
    (row,) = add(kb, [str(talk)]).rows
    assert row.reason == "cannot be transcribed: RuntimeError: Unable to open file 'model.bin'"
    (tmp_path / "model.bin").touch()
    assert statuses(add(kb, [str(talk)])) == {"Pump%20meeting.wav": "added"}
