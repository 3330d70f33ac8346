"""Has recordings that lie without a transcript transcribed: by a server or by a model in a folder.

Any server with ``POST /v1/audio/transcriptions`` does (speaches, whisper.cpp, vLLM, OpenAI). The
reply, Whisper's verbose JSON, is read by the loader for speech, so that it has times.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import os
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import httpx
from tinytag import TinyTag, TinyTagException

from wellread.config import TranscriptionSettings
from wellread.errors import SourceError
from wellread.ingest.loaders.base import Source
from wellread.ingest.pipeline.kinds import identity_of, kind_of
from wellread.ingest.pipeline.parse import Parsed, ParseRequest
from wellread.ingest.sources.discover import Found, FoundEntry, FoundFile
from wellread.store.schema.stored_values import SourceRecord
from wellread.values.locators import RECORDINGS

EXTENSIONS = (*RECORDINGS, ".mov", ".mkv")  # the last two play in no browser
TRANSCRIPTS = (".vtt", ".srt", ".sbv", ".json", ".md")  # endings that a transcript may have
SPEECH = "speech"  # the loader of what the server replies
AT_ONCE = 2  # recordings that a server is sent at the same time
LOOK_SECONDS = 0.5  # how soon a stopped run leaves a recording
NOBODY = (
    "a recording: put its transcript beside it under the same name (.vtt, .srt, .json), or name "
    "what writes one (transcription.base_url)"
)

Parse = Callable[[ParseRequest, bytes], Future[Parsed]]


def is_recording(item: Found) -> bool:
    """Whether the source is a file of sound or film."""
    name = item.name if isinstance(item, FoundEntry) else ""
    path = item.path if isinstance(item, FoundFile) else Path(name)
    return path.suffix.lower() in EXTENSIONS


def transcript_beside(recording: Path) -> Path | None:
    """The transcript in the same folder that is named like the recording; None without one."""
    for ending in TRANSCRIPTS:
        for path in (recording.with_suffix(ending), Path(f"{recording}{ending}")):
            with suppress(OSError):
                source = Source(uri="", name=path.name, data=path.read_bytes(), collection="")
                if kind_of(source) in ("captions", SPEECH, "markdown-transcript"):
                    return path
    return None


def seconds_of(recording: Path) -> float | None:
    """The length that the file's header tells; None where it tells none."""
    with suppress(TinyTagException, OSError):
        return TinyTag.get(recording, tags=False).duration
    return None


class RecordingReader:
    """Transcribes the recordings of a run, in threads, and has the transcripts parsed.

    Args:
        parse: parses the bytes of a transcript.
    """

    def __init__(self, settings: TranscriptionSettings, parse: Parse) -> None:
        self._settings = settings
        self._parse = parse
        self._stopping = threading.Event()
        self._is_folder = bool(settings.model) and Path(settings.model).expanduser().is_dir()
        self._model: Any = None
        at_once = 1 if self._is_folder else AT_ONCE
        self._threads = ThreadPoolExecutor(at_once, thread_name_prefix="transcribe")

    @property
    def able(self) -> bool:
        """Whether the settings name what transcribes."""
        return self._is_folder or bool(self._settings.base_url)

    def told(self, items: Iterable[Found]) -> str:
        """How many recordings are to be transcribed, how long they are and what that costs."""
        paths = [item.path for item in items if isinstance(item, FoundFile)] if self.able else []
        lengths = [seconds_of(path) for path in paths if not transcript_beside(path)]
        if not lengths:
            return ""
        seconds = sum(filter(None, lengths))
        text = f"{len(lengths):,} recording{'s' if len(lengths) > 1 else ''} to transcribe"
        text += f", {timedelta(seconds=round(seconds))}" if seconds else ""
        text += f" and {lengths.count(None)} of unknown length" if None in lengths else ""
        price = self._settings.price
        return f"{text}, about ${seconds / 60 * price:.2f}" if price and seconds else text

    def submit(self, request: ParseRequest, record: SourceRecord | None) -> Future[Parsed]:
        """Read one recording; a bad one is a ``failed`` result, never an exception."""
        return self._threads.submit(self._read, request, record)

    def close(self) -> None:
        """Leave the recordings at work, and cancel those that wait."""
        self._stopping.set()
        self._threads.shutdown(wait=True, cancel_futures=True)

    def _read(self, request: ParseRequest, record: SourceRecord | None) -> Parsed:
        path = Path(request.path)
        if beside := transcript_beside(path):
            reason = f"its transcript is read: {beside.name}"
            return Parsed(status="skipped", reason=reason, empty=True)
        if not self.able:
            return Parsed(status="skipped", reason=NOBODY)
        try:
            digest = self._digest(path, request.max_bytes)
            is_read = record is not None and record.status != "failed"
            known = (record.digest, record.loader) if record and is_read else None
            if known == (digest, identity_of(SPEECH)):
                return Parsed(status="unchanged", digest=digest, loader=identity_of(SPEECH))
            by_server = not self._is_folder
            written = asyncio.run(self._by_server(path)) if by_server else self._by_model(path)
        except OSError as error:
            return Parsed(status="failed", reason=f"cannot be read: {error.strerror}")
        except SourceError as error:
            return Parsed(status="failed", reason=error.reason)
        named = replace(request, path="", name=f"{Path(request.name).stem}.json")
        return replace(self._parse(named, written).result(), digest=digest)

    def _digest(self, path: Path, most: int) -> str:
        size = path.stat().st_size
        if size > most:
            reason = f"too large: {size:,} bytes, the limit is {most:,} (sources.max_bytes)"
            raise SourceError(str(path), reason)
        with path.open("rb") as file:
            return hashlib.file_digest(file, lambda: hashlib.blake2b(digest_size=16)).hexdigest()

    async def _by_server(self, path: Path) -> bytes:
        settings = self._settings
        address = f"{settings.base_url.rstrip('/')}/audio/transcriptions"
        key = os.environ.get(settings.api_key_env, "") if settings.api_key_env else ""
        headers = {"Authorization": f"Bearer {key}"} if key else {}
        fields = {"model": settings.model, "response_format": "verbose_json"}
        limits = httpx.Timeout(settings.timeout, connect=10)
        with path.open("rb") as file:
            async with httpx.AsyncClient(timeout=limits, headers=headers) as client:
                sent = client.post(address, data=fields, files={"file": (path.name, file)})
                posting = asyncio.create_task(sent)
                while not posting.done():
                    await asyncio.wait([posting], timeout=LOOK_SECONDS)
                    if self._stopping.is_set():
                        posting.cancel()
                        raise SourceError(str(path), "was not transcribed: the run was stopped")
                return _reply(str(path), address, posting)

    def _by_model(self, path: Path) -> bytes:
        if self._model is None:
            try:
                from faster_whisper import WhisperModel  # noqa: PLC0415 - an extra
            except ImportError as error:
                reason = "needs faster-whisper: pip install 'wellread[speech]'"
                raise SourceError(str(path), reason) from error
        try:
            if self._model is None:
                folder = str(Path(self._settings.model).expanduser())
                self._model = WhisperModel(folder, local_files_only=True)
            segments, about = self._model.transcribe(str(path))
            spoken = [
                {"start": one.start, "end": one.end, "text": one.text}
                for one in self._until_stopped(str(path), segments)
            ]
        except SourceError:
            raise
        except Exception as error:  # the library and its decoders raise what they like
            reason = f"cannot be transcribed: {type(error).__name__}: {error}"
            raise SourceError(str(path), " ".join(reason.split())[:200]) from error
        return json.dumps({"language": about.language, "segments": spoken}).encode()

    def _until_stopped(self, uri: str, segments: Iterable[Any]) -> Iterator[Any]:
        for segment in segments:
            if self._stopping.is_set():
                raise SourceError(uri, "was not transcribed: the run was stopped")
            yield segment


def _reply(uri: str, address: str, posted: asyncio.Task[httpx.Response]) -> bytes:
    """The body of a server's reply, checked to be a transcript with times."""
    try:
        reply = posted.result()
        reply.raise_for_status()
        segments = reply.json()["segments"]
    except httpx.HTTPStatusError as error:
        said = " ".join(error.response.text.split())[:120]
        reason = f"{address} answered {error.response.status_code}: {said}"
        raise SourceError(uri, reason) from error
    except httpx.HTTPError as error:
        reason = f"{address} does not answer: {error or type(error).__name__}"
        raise SourceError(uri, reason) from error
    except (ValueError, KeyError, TypeError) as error:
        reason = f"{address} gave no transcript with times (verbose_json)"
        raise SourceError(uri, reason) from error
    if not segments:
        raise SourceError(uri, "no speech was heard")
    return reply.content
