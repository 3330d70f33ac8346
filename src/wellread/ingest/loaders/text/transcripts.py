"""Transcripts with times: captions (WebVTT, SRT, SBV), and the JSON of speech-to-text tools.

The cues of one turn are joined into a paragraph; each keeps its time as a mark. The parser of
webvtt-py skips what it cannot read, so every timing line is checked here first. The pieces of a
tool become cues too; where it gives times for single words, a cue is a sentence of one speaker.
"""

from __future__ import annotations

import html
import io
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from babel import Locale
from webvtt import WebVTT
from webvtt.errors import MalformedCaptionError, MalformedFileError

from wellread.errors import SourceError
from wellread.ingest.loaders.base import Built, EmptyError, LoaderLimits, Source, TextBuilder
from wellread.ingest.loaders.front_matter import (
    FrontMatter,
    date_in_name,
    moment,
    refuse_readers,
    scalar,
    strings,
    web_address,
)
from wellread.ingest.loaders.plain import PARAGRAPH, decode, json_of, one_line, title_from_name
from wellread.ingest.loaders.text.html_blocks import without_scripts
from wellread.ingest.loaders.text.markdown_files import LABEL_WORDS, seconds
from wellread.ingest.loaders.text.records import SpeechForm, speech_form
from wellread.types import Document

LONG_PAUSE = 4.0  # seconds without speech after which a new paragraph begins
PARAGRAPH_CUES = 10  # where no speaker is named, a paragraph ends at a sentence after so many
ROLLING_SHARE = 0.3  # of neighbouring cues that repeat a line: captions that scroll up

Form = Literal["vtt", "srt", "sbv"]

_TIMINGS: Mapping[Form, re.Pattern[str]] = {
    "vtt": re.compile(
        r"\s*(?:\d+:)?\d{1,2}:\d{2}\.\d{3}\s*-->\s*(?:\d+:)?\d{1,2}:\d{2}\.\d{3}(?:\s|$)"
    ),
    "srt": re.compile(
        r"\s*\d+:\d{1,2}:\d{2}([,.])\d{1,3}\s*-->\s*\d+:\d{1,2}:\d{2}\1\d{1,3}(?:\s|$)"
    ),
    "sbv": re.compile(r"\d+:\d{2}:\d{2}\.\d{1,3},\d+:\d{2}:\d{2}\.\d{1,3}\s*$"),
}
_SBV_TIMING_LIKE = re.compile(r"\d+:\d{2}:[^\s,]+,\d+:\d{2}:\S+\s*$")
_HEADER = re.compile(r"(?:NOTE\s+)?(?P<name>[A-Za-z_ ]{2,20}?)\s*:\s*(?P<value>.+)$")
_VOICE = re.compile(r"<v(?:\.[\w.-]+)*[ \t]+([^<>\n]{1,120})>")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]*>|<\d[\d:.]*>")
_PREFIX = re.compile(r"(?:>>+|-)?\s*(?P<name>[^\W\d_][\w.'’ -]{0,40}?)\s*:\s+(?=\S)")
_CHANGE = re.compile(r">>+\s*")
SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """One stretch of speech. ``fresh``: the file marks a change of speaker here."""

    begin: float
    finish: float
    lines: tuple[str, ...]
    speaker: str | None = None
    fresh: bool = False

    @property
    def text(self) -> str:
        """The words in one line."""
        return " ".join(" ".join(self.lines).split())


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the seam's
    """One transcript; title, date, url and language from ``NOTE name: value`` lines."""
    text = decode(source)
    form = _form(source.name, text)
    _check(source.uri, form, text.split("\n"))
    cues = _read(source.uri, form, text)
    if not cues:
        raise EmptyError(source.uri, "no text: the file has no captions")
    built = write_cues(_with_speakers(_without_repeats(cues)))
    if not built[0].strip():
        raise EmptyError(source.uri, "no text: every caption is empty")
    facts = _facts(text) if form == "vtt" else {}
    refuse_readers(facts, source.uri)
    yield source.document(
        built,
        kind="transcript",
        title=facts.get("title") or title_from_name(source.name),
        source_type=form,
        language=facts.get("language", "").lower(),
        authors=strings([name.strip() for name in facts.get("author", "").split(",")]),
        published_at=moment(facts.get("date", "").replace("/", "-")) or date_in_name(source.name),
        media_url=web_address(facts.get("url", "")),
    )


def _form(name: str, text: str) -> Form:
    if text.startswith("WEBVTT") or name.lower().endswith(".vtt"):
        return "vtt"
    return "sbv" if name.lower().endswith(".sbv") else "srt"


def _check(uri: str, form: Form, lines: Sequence[str]) -> None:
    """Refuse a malformed timing line, or one that stands where speech should be."""
    if form == "vtt" and not lines[0].startswith("WEBVTT"):
        raise SourceError(uri, "not WebVTT: the first line is not WEBVTT")
    pattern, seen, before = _TIMINGS[form], False, False
    for number, line in enumerate(lines, 1):
        timing = bool(_SBV_TIMING_LIKE.match(line)) if form == "sbv" else "-->" in line
        if timing and not pattern.match(line):
            raise SourceError(uri, f"malformed time on line {number}: {line.strip()[:60]}")
        if timing and before:
            raise SourceError(uri, f"malformed cue: a second time follows on line {number}")
        before = timing
        seen = seen or timing
    if form != "vtt" and not seen:
        raise SourceError(uri, f"not {form.upper()}: no line with times")


def _read(uri: str, form: Form, text: str) -> list[Cue]:
    # A paragraph of blank lines in front of an SRT file is common, and refused by the parser.
    buffer = io.StringIO(text if form == "vtt" else text.strip())
    try:
        captions = WebVTT.from_buffer(buffer, format=form).captions
    except (MalformedFileError, MalformedCaptionError) as error:
        raise SourceError(uri, f"not {form.upper()}: {error}") from error
    found: list[Cue] = []
    for caption in captions:
        begin, finish = seconds(caption.start), seconds(caption.end)
        found += _voices(without_scripts(caption.raw_text), begin, max(begin, finish))
    return found


def _voices(raw: str, begin: float, finish: float) -> Iterator[Cue]:
    """The parts of one caption, by voice tag; without any, the whole of it."""
    pieces = _VOICE.split(raw)  # text, name, text, name, text ...
    speakers = [None, *pieces[1::2]]
    for speaker, piece in zip(speakers, pieces[::2], strict=True):
        lines = (html.unescape(_TAG.sub("", line)).strip() for line in piece.split("\n"))
        kept = tuple(line for line in lines if line)
        if kept:
            name = " ".join(html.unescape(speaker).split()) if speaker else None
            yield Cue(begin=begin, finish=finish, lines=kept, speaker=name, fresh=bool(name))


def _facts(text: str) -> dict[str, str]:
    """``Name: value`` lines of the header and of the notes in front of the first cue."""
    head = text.partition("-->")[0]
    found = [_HEADER.match(line.strip()) for line in head.split("\n")[1:]]
    # The first of a name counts.
    return {one["name"].lower().strip(): one["value"].strip() for one in found[::-1] if one}


def _without_repeats(cues: list[Cue]) -> list[Cue]:
    """Drop what scrolling captions show a second time; other captions stay as they are."""
    shared = [_overlap(a.lines, b.lines) for a, b in pairwise(cues)]
    repeats = sum(overlap > 0 for overlap in shared)
    if repeats < 2 or repeats < ROLLING_SHARE * len(shared):
        return cues
    return [
        replace(cue, lines=cue.lines[overlap:])
        for overlap, cue in zip([0, *shared], cues, strict=True)
        if overlap < len(cue.lines)
    ]


def _overlap(before: tuple[str, ...], after: tuple[str, ...]) -> int:
    """How many first lines of ``after`` are the last lines of ``before``."""
    longest = min(len(before), len(after))
    return next((n for n in range(longest, 0, -1) if before[-n:] == after[:n]), 0)


def _with_speakers(cues: list[Cue]) -> list[Cue]:
    """Take speakers from ``Name: `` prefixes where no voice tags name them."""
    if any(cue.speaker for cue in cues):
        return cues
    prefixes = [_PREFIX.match(cue.text) for cue in cues]
    counts = Counter(match["name"] for match in prefixes if match)
    names = {name for name, count in counts.items() if _is_speaker(name, count)}
    found: list[Cue] = []
    current: str | None = None
    for cue, match in zip(cues, prefixes, strict=True):
        text, fresh = cue.text, False
        if match and match["name"] in names:
            current, text, fresh = match["name"], text[match.end() :], True
        elif change := _CHANGE.match(text):
            current, text, fresh = None, text[change.end() :], True
        found.append(replace(cue, lines=(text,), speaker=_cased(current), fresh=fresh))
    return found


def _is_speaker(name: str, count: int) -> bool:
    words = name.split()
    if len(words) > 4 or any(word.lower() in LABEL_WORDS for word in words):
        return False
    capitals = sum(word[0].isupper() for word in words)
    return capitals == len(words) and (count > 1 or len(words) > 1)


def _cased(name: str | None) -> str | None:
    """Broadcast captions shout names; ``JANE DOE`` becomes ``Jane Doe``."""
    return name.title() if name and name.isupper() and len(name) > 3 else name


def write_cues(cues: Sequence[Cue]) -> Built:
    """The text of all cues and its marks: turns, and what long pauses part, are paragraphs."""
    builder = TextBuilder()
    before: Cue | None = None
    run = 0  # cues in the open paragraph
    for cue in cues:
        if not cue.text:
            continue
        turn = before is None or cue.speaker != before.speaker or (cue.fresh and not cue.speaker)
        apart = turn
        if before is not None:
            pause = cue.begin - before.finish > LONG_PAUSE
            full = run >= PARAGRAPH_CUES and SENTENCE_END.search(before.text)
            apart = turn or pause or bool(full and cue.speaker is None)
            builder.add(PARAGRAPH if apart else " ")
        if turn:
            builder.speaker(cue.speaker)
        builder.time(cue.begin, cue.finish)
        builder.add(cue.text)
        run = 1 if apart else run + 1
        before = cue
    return builder.build()


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


def load_speech(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the seam's
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
    """A time, from a number or the text of one."""
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
