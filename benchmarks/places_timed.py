"""Places in recordings: captions, and the JSON of speech-to-text tools."""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import webvtt

from benchmarks.place_words import TIME_SLACK, Cue, Found, bare, beginning
from wellread.types import Locator

_TAG = re.compile(r"<[^<>]*>")
_VOICE = re.compile(r"<v(?:\.[\w.-]+)*\s+([^<>]+)>")
_NAME_PREFIX = re.compile(r"(?:>>\s*)?([A-Z][\w.'’ -]{0,40}):\s")


def in_captions(path: Path, quote: str, locator: Locator, _: str) -> Found:
    """The cue in which the quotation begins starts at the time, and its speaker is named."""
    return in_cues(_cues(path), quote, locator)


def in_cues(cues: Sequence[Cue], quote: str, locator: Locator) -> Found:
    """The same for cues of any format."""
    if locator.begin is None:
        return {"minute": "no time"}
    places: list[int] = []
    joined = ""
    for number, cue in enumerate(cues):
        piece = bare(cue[2])
        joined += piece
        places += [number] * len(piece)
    wanted = beginning(quote)
    starts = [match.start() for match in re.finditer(re.escape(wanted), joined)]
    if not starts:
        return {"minute": "not in the captions"}
    found = [cues[places[start]] for start in starts]
    near = [cue for cue in found if abs(cue[0] - locator.begin) <= TIME_SLACK]
    if not near:
        said = ", ".join(f"{cue[0]:.1f}" for cue in found)
        return {"minute": f"said at {said} s, the locator has {locator.begin:.1f} s"}
    speaker = near[0][1]
    if not speaker:
        return {"minute": ""}
    same = bare(speaker) == bare(locator.speaker or "")
    wrong = "" if same else f"said by {speaker!r}, the locator has {locator.speaker!r}"
    return {"minute": "", "speaker": wrong}


def _cues(path: Path) -> list[Cue]:
    """Start in seconds, speaker (the last one named, so far), and words of each cue."""
    parsed = {
        ".vtt": webvtt.WebVTT.read,
        ".srt": webvtt.WebVTT.from_srt,
        ".sbv": webvtt.WebVTT.from_sbv,
    }[path.suffix.lower()](str(path))
    cues: list[Cue] = []
    speaker = ""
    prefixes = [_NAME_PREFIX.match(_words(caption.raw_text)) for caption in parsed.captions]
    names = Counter(found.group(1) for found in prefixes if found)
    for caption in parsed.captions:
        raw = caption.raw_text
        voice = _VOICE.search(raw)
        words = _words(raw)
        named = _NAME_PREFIX.match(words)
        if voice:
            speaker = voice.group(1).strip()
        elif named and names[named.group(1)] > 1:  # a single "I say:" names nobody
            speaker = named.group(1).strip()
            words = words[named.end() :]
        hours, minutes, seconds = caption.start.replace(",", ".").split(":")
        cues.append((int(hours) * 3600 + int(minutes) * 60 + float(seconds), speaker, words))
    return cues


def _words(raw: str) -> str:
    return html.unescape(_TAG.sub(" ", raw))


def in_speech(path: Path, quote: str, locator: Locator, _: str) -> Found:
    """The word with which the quotation begins is said at the time, by the speaker."""
    return in_cues(_said(json.loads(path.read_text(encoding="utf-8"))), quote, locator)


def _said(talk: dict[str, object]) -> list[Cue]:
    """Segments of Whisper, or utterances of AssemblyAI (in milliseconds)."""
    pieces, second = talk.get("segments"), 1.0
    if pieces is None:
        pieces, second = talk["utterances"], 1000.0
    assert isinstance(pieces, list)
    return [
        (one["start"] / second, str(one.get("speaker") or ""), str(one["text"])) for one in pieces
    ]
