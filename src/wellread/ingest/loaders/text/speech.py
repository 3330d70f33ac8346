"""The JSON of speech-to-text tools: Whisper and its kin, AssemblyAI, Deepgram, AWS Transcribe.

Whatever a tool calls them, its pieces become cues, and the cues one transcript as captions do.
Where a tool gives times for single words, a cue is a sentence of one speaker.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from wellread.errors import SourceError
from wellread.ingest.loaders.base import LoaderLimits, Source
from wellread.ingest.loaders.front_matter import moment, scalar, web_address
from wellread.ingest.loaders.plain import json_of, one_line, title_from_name
from wellread.ingest.loaders.text.record_keys import SpeechForm, speech_form
from wellread.ingest.loaders.text.transcripts import LONG_PAUSE, SENTENCE_END, Cue, write_cues
from wellread.types import Document

LONGEST_CUE = 40  # words; speech without punctuation still gets times
MILLISECONDS = 0.001

Node = Mapping[str, Any]

_NUMBERED = re.compile(r"(?:speaker|spk)?[ _-]*0*(\d{1,3})", re.IGNORECASE)
_LETTERED = re.compile(r"(?:speaker[ _-]*)?([A-Z])")
_ENGLISH_NAMES = {  # Whisper writes languages out when asked for all details
    "english": "en", "german": "de", "french": "fr", "spanish": "es", "italian": "it",
    "portuguese": "pt", "dutch": "nl", "polish": "pl", "russian": "ru", "ukrainian": "uk",
    "chinese": "zh", "japanese": "ja", "korean": "ko", "arabic": "ar", "turkish": "tr",
    "swedish": "sv", "norwegian": "no", "danish": "da", "finnish": "fi", "czech": "cs",
    "greek": "el", "hebrew": "he", "hindi": "hi", "hungarian": "hu", "romanian": "ro",
    "indonesian": "id", "vietnamese": "vi", "thai": "th", "catalan": "ca",
}  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class _Word:
    """One spoken word with its punctuation. Times in seconds; None where the tool gives none."""

    text: str
    begin: float | None
    finish: float | None
    speaker: str | None = None


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the seam's
    """One transcript."""
    tree = json_of(source)
    if not isinstance(tree, dict):
        raise SourceError(source.uri, "not a transcript: the file holds no JSON object")
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
        raise SourceError(source.uri, "no text: nothing was said")
    text, marks = write_cues(sorted(cues, key=lambda cue: cue.begin))
    yield Document(
        collection=source.collection,
        uri=source.uri,
        kind="transcript",
        title=one_line(scalar(tree.get("title"))) or title_from_name(source.name),
        text=text,
        marks=marks,
        source_type=form,
        language=_language(tree, form),
        published_at=moment(tree.get("recorded_at") or tree.get("date")),
        media_url=_media(tree),
    )


def _language(tree: Node, form: SpeechForm) -> str:
    results = tree.get("results")
    within: Node = results if isinstance(results, dict) else {}
    result = tree.get("result")
    channels = _objects(within.get("channels")) if form == "deepgram" else []
    named = (
        scalar(tree.get("language"))
        or scalar(tree.get("language_code"))
        or scalar(within.get("language_code"))
        or (scalar(result.get("language")) if isinstance(result, dict) else "")
        or (scalar(channels[0].get("detected_language")) if channels else "")
    ).lower()
    return _ENGLISH_NAMES.get(named, named.replace("_", "-"))


def _media(tree: Node) -> str:
    names = ("media_url", "audio_url", "video_url", "source_url", "url")
    return next((found for name in names if (found := web_address(scalar(tree.get(name))))), "")


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
    turned = 0  # with speaker turns on, the tool marks a change and gives no names
    for segment in _objects(tree.get("transcription")):
        offsets = segment["offsets"]
        begin, finish = (
            _seconds(offsets["from"], MILLISECONDS),
            _seconds(offsets["to"], MILLISECONDS),
        )
        speaker = _speaker(segment.get("speaker"))
        cue = _cue(scalar(segment["text"]), _known(begin), finish, speaker)
        yield Cue(
            begin=cue.begin,
            finish=cue.finish,
            lines=cue.lines,
            speaker=cue.speaker,
            fresh=bool(turned),
        )
        turned = bool(segment.get("speaker_turn_next"))


def _assemblyai(tree: Node) -> Iterator[Cue]:
    utterances = _objects(tree.get("utterances"))
    if not utterances:
        yield from _sentences(_words(tree.get("words"), ("text",), MILLISECONDS), None)
    for said in utterances:
        speaker = _speaker(said.get("speaker"))
        words = _words(said.get("words"), ("text",), MILLISECONDS)
        if words:
            yield from _sentences(words, speaker)
        else:
            begin = _known(_seconds(said["start"], MILLISECONDS))
            yield _cue(
                scalar(said["text"]), begin, _seconds(said.get("end"), MILLISECONDS), speaker
            )


def _deepgram(tree: Node) -> Iterator[Cue]:
    results = tree["results"]
    utterances = _objects(results.get("utterances"))
    for said in utterances:
        speaker = _speaker(said.get("speaker"))
        words = _words(said.get("words"), ("punctuated_word", "word"), 1.0)
        if words:
            yield from _sentences(words, speaker)
        else:
            begin = _known(_seconds(said["start"]))
            yield _cue(scalar(said["transcript"]), begin, _seconds(said.get("end")), speaker)
    if utterances:
        return
    channels = _objects(results.get("channels"))
    for number, channel in enumerate(channels):
        # Without other speakers, each channel of a call is one of them.
        caller = f"Speaker {number}" if len(channels) > 1 else None
        for best in _objects(channel.get("alternatives"))[:1]:
            paragraphs = best.get("paragraphs")
            listed = _objects(paragraphs.get("paragraphs")) if isinstance(paragraphs, dict) else []
            words = _words(best.get("words"), ("punctuated_word", "word"), 1.0)
            if any(_objects(one.get("sentences")) for one in listed):
                yield from _paragraphs(listed, caller)
            elif words:
                yield from _sentences(words, caller)


def _paragraphs(listed: Sequence[Node], caller: str | None) -> Iterator[Cue]:
    for paragraph in listed:
        speaker = _speaker(paragraph.get("speaker")) or caller
        for said in _objects(paragraph.get("sentences")):
            begin = _known(_seconds(said["start"]))
            yield _cue(scalar(said["text"]), begin, _seconds(said.get("end")), speaker)


def _aws(tree: Node) -> Iterator[Cue]:
    results = tree["results"]
    items = _objects(results.get("items"))
    if items:
        yield from _sentences(_aws_words(items, _aws_speakers(results)), None)
        return
    for said in _objects(results.get("audio_segments")):
        speaker = _speaker(said.get("speaker_label"))
        begin = _known(_seconds(said["start_time"]))
        yield _cue(scalar(said["transcript"]), begin, _seconds(said.get("end_time")), speaker)


def _aws_words(items: Iterable[Node], speakers: Mapping[str, str]) -> list[_Word]:
    """Punctuation is an item of its own, without a time."""
    found: list[_Word] = []
    for item in items:
        best = next(iter(_objects(item.get("alternatives"))), {})
        text = scalar(best.get("content"))
        if item.get("type") == "punctuation" and found:
            last = found[-1]
            found[-1] = _Word(
                text=last.text + text, begin=last.begin, finish=last.finish, speaker=last.speaker
            )
            continue
        begin = scalar(item.get("start_time"))
        found.append(
            _Word(
                text=text,
                begin=_seconds(begin or None),
                finish=_seconds(item.get("end_time")),
                speaker=_speaker(item.get("speaker_label") or speakers.get(begin)),
            )
        )
    return found


def _aws_speakers(results: Node) -> dict[str, str]:
    """Speakers by the time at which one of their words begins."""
    labels = results.get("speaker_labels")
    if not isinstance(labels, dict):
        return {}
    return {
        scalar(item.get("start_time")): scalar(item.get("speaker_label"))
        for segment in _objects(labels.get("segments"))
        for item in _objects(segment.get("items"))
    }


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


def _words(value: object, names: Sequence[str], unit: float) -> list[_Word]:
    return [
        _Word(
            text=text,
            begin=_seconds(one.get("start"), unit),
            finish=_seconds(one.get("end"), unit),
            speaker=_speaker(one.get("speaker")),
        )
        for one in _objects(value)
        if (text := next((found for name in names if (found := scalar(one.get(name)))), ""))
    ]


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


def _known(seconds: float | None) -> float:
    if seconds is None:
        raise ValueError("a piece without a time")
    return seconds


def _speaker(label: object) -> str | None:
    """A name as it is; what a tool numbers or letters becomes ``Speaker 1``."""
    text = one_line(scalar(label))
    found = _NUMBERED.fullmatch(text) or _LETTERED.fullmatch(text)
    return f"Speaker {found.group(1)}" if found else text or None
