"""What a JSON file holds, told by its keys: a feed, records, or recorded speech."""

from __future__ import annotations

import json
import re
from typing import Any, Literal

from wellread.ingest.loaders.text.question_records import plain_name

JsonKind = Literal["feed", "records", "speech", ""]
SpeechForm = Literal["whisper", "whisper.cpp", "assemblyai", "deepgram", "aws", ""]

FIRST_BYTES = 1 << 16
_WORDS = frozenset({"text", "content", "body", "question"})
_FEED = "jsonfeed.org/version/"
# Keys that make it worth while to parse the whole file.
_SPOKEN = re.compile(
    rb'"(?:segments|transcription|utterances|words|channels|items|audio_segments)"\s*:\s*[\[{]'
)


def kind_of_json(data: bytes) -> JsonKind:
    """The kind of a JSON file; empty when it is none that is read.

    Only the first object of a list is parsed, and the whole of an object only when some key in
    it promises a feed or speech.
    """
    start = data[:FIRST_BYTES].lstrip(b"\xef\xbb\xbf \t\r\n")[:1]
    if start == b"[":
        return "records" if is_record(_first_of_list(data)) else ""
    if start != b"{" or not _SPOKEN.search(data):
        return ""
    tree = tree_of(data)
    if is_feed(tree):
        return "feed"
    return "speech" if speech_form(tree) else ""


def is_record(entry: object) -> bool:
    """Whether ``entry`` is an object with words in it, as a list of records begins with."""
    return isinstance(entry, dict) and any(plain_name(str(name)) in _WORDS for name in entry)


def tree_of(data: bytes) -> dict[str, Any]:
    """The object that ``data`` is; empty when it is none."""
    try:
        tree = json.loads(data.decode("utf-8-sig"))
    except (ValueError, RecursionError):
        return {}
    return tree if isinstance(tree, dict) else {}


def is_feed(tree: dict[str, Any]) -> bool:
    """Whether it is a JSON Feed (jsonfeed.org), version 1 or 1.1."""
    return _FEED in str(tree.get("version", ""))[:100] and isinstance(tree.get("items"), list)


def speech_form(tree: dict[str, Any]) -> SpeechForm:
    """Which tool wrote the transcript; empty when it is none."""
    if _first(tree.get("segments"), "text", "start") or _first(
        tree.get("segments"), "text", "words"
    ):
        return "whisper"
    if _first(tree.get("transcription"), "text", "offsets"):
        return "whisper.cpp"
    said = _first(tree.get("utterances"), "text", "start") or _first(
        tree.get("words"), "text", "end"
    )
    if said:
        return "assemblyai"
    results = tree.get("results")
    if not isinstance(results, dict):
        return ""
    if _first(results.get("channels"), "alternatives") or _first(
        results.get("utterances"), "transcript", "start"
    ):
        return "deepgram"
    spoken = _first(results.get("items"), "alternatives", "type")
    return "aws" if spoken or _first(results.get("audio_segments"), "transcript") else ""


def _first(value: object, *keys: str) -> bool:
    """Whether ``value`` is a list whose first entry is an object with these keys."""
    entry = value[0] if isinstance(value, list) and value else None
    return isinstance(entry, dict) and all(key in entry for key in keys)


def _first_of_list(data: bytes) -> dict[str, Any]:
    """The first entry of a list of objects; the rest is not parsed."""
    for size in (FIRST_BYTES, len(data)):
        text = data[:size].decode("utf-8-sig", errors="replace")
        inside = text.partition("[")[2].lstrip()
        if not inside.startswith("{"):
            return {}
        try:
            entry, _ = json.JSONDecoder().raw_decode(inside)
        except (ValueError, RecursionError):
            continue
        return entry if isinstance(entry, dict) else {}
    return {}
