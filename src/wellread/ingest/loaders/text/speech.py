"""The JSON of speech-to-text tools: Whisper and its kin, AssemblyAI, Deepgram, AWS Transcribe.

Whatever a tool calls them, its pieces become cues, and the cues one transcript as captions do.
Where a tool gives times for single words, a cue is a sentence of one speaker.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from babel import Locale

from wellread.errors import SourceError
from wellread.ingest.loaders.base import EmptyError, LoaderLimits, Source
from wellread.ingest.loaders.front_matter import FrontMatter, moment, refuse_readers, scalar
from wellread.ingest.loaders.plain import json_of, one_line, title_from_name
from wellread.ingest.loaders.text.record_keys import SpeechForm, speech_form
from wellread.ingest.loaders.text.transcripts import LONG_PAUSE, SENTENCE_END, Cue, write_cues
from wellread.types import Document

LONGEST_CUE = 40  # words; speech without punctuation still gets times
MILLISECONDS = 0.001

Node = Mapping[str, Any]

_NUMBERED = re.compile(r"(?:speaker|spk)?[ _-]*0*(\d{1,3})", re.IGNORECASE)
_LETTERED = re.compile(r"(?:speaker[ _-]*)?([A-Z])")


class _Word(NamedTuple):
    """One spoken word with its punctuation. Times in seconds; None where the tool gives none."""

    text: str
    begin: float | None
    finish: float | None
    speaker: str | None


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the seam's
    """One transcript."""
    tree = json_of(source)
    if not isinstance(tree, dict):
        raise SourceError(source.uri, "not a transcript: the file holds no JSON object")
    refuse_readers(tree, source.uri, deep=False)
    form = speech_form(tree)
    if not form:
        raise SourceError(source.uri, "not a transcript of a speech-to-text tool that is known")
    try:
        cues = [cue for cue in _READERS[form](tree) if cue.text]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise SourceError(
            source.uri, f"malformed {form} transcript: {type(error).__name__}: {error}"[:200]
        ) from error
    if not cues:
        raise EmptyError(source.uri, "no text: nothing was said")
    given = FrontMatter(fields=tree, body="")
    yield source.document(
        write_cues(sorted(cues, key=lambda cue: cue.begin)),
        kind="transcript",
        title=one_line(given.words("title")) or title_from_name(source.name),
        source_type=form,
        language=_language(tree, form),
        published_at=moment(tree.get("recorded_at") or tree.get("date")),
        media_url=given.link("media_url", "audio_url", "video_url", "source_url", "url"),
    )


def _language(tree: Node, form: SpeechForm) -> str:
    """The code of the language, which Whisper writes out when asked for all details."""
    results, result = _object(tree.get("results")), _object(tree.get("result"))
    channels = _objects(results.get("channels")) if form == "deepgram" else []
    named = (
        scalar(tree.get("language"))
        or scalar(tree.get("language_code"))
        or scalar(results.get("language_code"))
        or scalar(result.get("language"))
        or (scalar(channels[0].get("detected_language")) if channels else "")
    ).lower()
    codes = {name.lower(): code for code, name in Locale("en").languages.items()}
    return str(codes.get(named, named)).replace("_", "-")


# --- one reader for each tool ----------------------------------------------------------------


def _whisper(tree: Node) -> Iterator[Cue]:
    """OpenAI's verbose JSON, faster-whisper, and WhisperX with speakers of segments or words."""
    for segment in _objects(tree.get("segments")):
        speaker = _speaker(segment.get("speaker"))
        words = _words(segment.get("words"), ("word", "text"), 1.0)
        begin, finish = _seconds(segment.get("start")), _seconds(segment.get("end"))
        if begin is None:
            begin = next((word.begin for word in words if word.begin is not None), None)
        said = {word.speaker for word in words if word.speaker}
        if len(said) > 1 or begin is None:
            yield from _sentences(words, speaker)
        else:
            yield _cue(scalar(segment["text"]), begin, finish, speaker or next(iter(said), None))


def _whisper_cpp(tree: Node) -> Iterator[Cue]:
    turned = False  # with speaker turns on, the tool marks a change and gives no names
    for segment in _objects(tree.get("transcription")):
        times = {"start": segment["offsets"]["from"], "end": segment["offsets"]["to"]}
        for cue in _said({**segment, **times}, "text", unit=MILLISECONDS):
            yield replace(cue, fresh=turned)
        turned = bool(segment.get("speaker_turn_next"))


def _assemblyai(tree: Node) -> Iterator[Cue]:
    utterances = _objects(tree.get("utterances"))
    if not utterances:
        yield from _sentences(_words(tree.get("words"), ("text",), MILLISECONDS), None)
    for one in utterances:
        yield from _said(one, "text", ("text",), MILLISECONDS)


def _deepgram(tree: Node) -> Iterator[Cue]:
    results, names = tree["results"], ("punctuated_word", "word")
    utterances = _objects(results.get("utterances"))
    for one in utterances:
        yield from _said(one, "transcript", names)
    channels = _objects(results.get("channels")) if not utterances else []
    for number, channel in enumerate(channels):
        # Without other speakers, each channel of a call is one of them.
        caller = f"Speaker {number}" if len(channels) > 1 else None
        for best in _objects(channel.get("alternatives"))[:1]:
            paragraphs = _objects(_object(best.get("paragraphs")).get("paragraphs"))
            words = _words(best.get("words"), names, 1.0)
            if not any(_objects(one.get("sentences")) for one in paragraphs):
                yield from _sentences(words, caller)
                continue
            for paragraph in paragraphs:
                speaker = paragraph.get("speaker")
                speaker = caller if _speaker(speaker) is None else speaker
                for one in _objects(paragraph.get("sentences")):
                    yield from _said({**one, "speaker": speaker}, "text")


def _aws(tree: Node) -> Iterator[Cue]:
    results = tree["results"]
    labels = _object(results.get("speaker_labels"))
    speakers = {
        scalar(item.get("start_time")): scalar(item.get("speaker_label"))
        for segment in _objects(labels.get("segments"))
        for item in _objects(segment.get("items"))
    }
    words: list[_Word] = []
    for item in _objects(results.get("items")):
        best = next(iter(_objects(item.get("alternatives"))), {})
        text = scalar(best.get("content"))
        if item.get("type") == "punctuation" and words:  # an item of its own, without a time
            words[-1] = words[-1]._replace(text=words[-1].text + text)
            continue
        begin, finish = scalar(item.get("start_time")), _seconds(item.get("end_time"))
        speaker = _speaker(item.get("speaker_label") or speakers.get(begin))
        words.append(_Word(text, _seconds(begin or None), finish, speaker))
    yield from _sentences(words, None)
    for one in _objects(results.get("audio_segments")) if not words else ():
        times = {"start": one["start_time"], "end": one.get("end_time")}
        yield from _said({**one, **times, "speaker": one.get("speaker_label")}, "transcript")


_READERS: Mapping[SpeechForm, Callable[[Node], Iterator[Cue]]] = {
    "whisper": _whisper,
    "whisper.cpp": _whisper_cpp,
    "assemblyai": _assemblyai,
    "deepgram": _deepgram,
    "aws": _aws,
}


# --- what they share -------------------------------------------------------------------------


def _objects(value: object) -> list[Node]:
    """The objects of a list; none when it is no list."""
    return [one for one in value if isinstance(one, dict)] if isinstance(value, list) else []


def _object(value: object) -> Node:
    return value if isinstance(value, dict) else {}


def _words(value: object, names: Sequence[str], unit: float) -> list[_Word]:
    return [
        _Word(
            text,
            _seconds(one.get("start"), unit),
            _seconds(one.get("end"), unit),
            _speaker(one.get("speaker")),
        )
        for one in _objects(value)
        if (text := next((found for name in names if (found := scalar(one.get(name)))), ""))
    ]


def _said(piece: Node, text: str, names: Sequence[str] = (), unit: float = 1.0) -> Iterator[Cue]:
    """What one piece says, by ``names`` of its words' texts or as a whole, under ``text``."""
    speaker = _speaker(piece.get("speaker"))
    if words := _words(piece.get("words"), names, unit):
        yield from _sentences(words, speaker)
        return
    begin = _seconds(piece["start"], unit)
    if begin is None:
        raise ValueError("a piece without a time")
    yield _cue(scalar(piece[text]), begin, _seconds(piece.get("end"), unit), speaker)


def _sentences(words: Sequence[_Word], speaker: str | None) -> Iterator[Cue]:
    """Words joined to sentences; a new speaker and a long pause end one too."""
    open_words: list[_Word] = []
    at = 0.0  # a word without a time is said when the one before is
    begin = finish = 0.0
    who: str | None = None
    for word in words:
        start = at if word.begin is None else word.begin
        said_by = word.speaker or speaker
        if open_words and (
            said_by != who
            or start - finish > LONG_PAUSE
            or len(open_words) >= LONGEST_CUE
            or SENTENCE_END.search(open_words[-1].text)
        ):
            yield _cue(" ".join(one.text for one in open_words), begin, finish, who)
            open_words = []
        if not open_words:
            begin, who = start, said_by
        open_words.append(word)
        finish = at = start if word.finish is None else word.finish
    if open_words:
        yield _cue(" ".join(one.text for one in open_words), begin, finish, who)


def _cue(text: str, begin: float, finish: float | None, speaker: str | None) -> Cue:
    return Cue(
        begin=begin,
        finish=begin if finish is None else max(begin, finish),
        lines=(one_line(text),),
        speaker=speaker,
    )


def _seconds(value: object, unit: float = 1.0) -> float | None:
    """A time, from a number or the text of one.

    Raises:
        ValueError: it is not a time.
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"not a time: {value!r:.40}")
    seconds = round(float(value) * unit, 3)
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"not a time: {value!r:.40}")
    return seconds


def _speaker(label: object) -> str | None:
    """A name as it is; what a tool numbers or letters becomes ``Speaker 1``."""
    text = one_line(scalar(label))
    found = _NUMBERED.fullmatch(text) or _LETTERED.fullmatch(text)
    return f"Speaker {found.group(1)}" if found else text or None
