"""Loads transcripts with times: captions (WebVTT, SRT, SBV) and JSON of speech-to-text tools.

The cues of a turn are joined to a paragraph and keep their times as marks. Times are read as other
programs write them too: without hours or fractions, with a comma or a dot. The segments of
speech-to-text tools become cues too; if single words have times, a cue is one sentence of a
speaker.
"""

from __future__ import annotations

import html
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import pairwise
from typing import Any, Literal, NamedTuple

from babel import Locale

from wellread.errors import SourceError
from wellread.ingest.loaders.base import Built, EmptyError, LoaderLimits, Source, TextBuilder
from wellread.ingest.loaders.front_matter import (
    FrontMatter,
    date_in_name,
    parse_moment,
    refuse_readers,
    scalar,
    strings,
    web_address,
)
from wellread.ingest.loaders.plain import PARAGRAPH, decode, one_line, parse_json, title_from_name
from wellread.ingest.loaders.text.html_visible import without_scripts
from wellread.ingest.loaders.text.markdown_files import LABEL_WORDS, seconds
from wellread.ingest.loaders.text.records import (
    TURN_BEGINS,
    TURN_SPEAKERS,
    TURN_TEXTS,
    SpeechForm,
    first_value,
    normalise_names,
    objects,
    speech_form,
    turns_in,
)
from wellread.types import Document

MIN_PAUSE_SECONDS = 4.0  # silence before a new paragraph
MIN_PARAGRAPH_CUES = 10  # cues without a speaker after which a paragraph ends with a sentence
MAX_ODD_SHARE = 0.25  # of the times; more that cannot be read mean that the file is no captions
MIN_REPEATED_WORDS = 3
MIN_ROLLING_SHARE = 0.3  # captions scroll if more of the neighbouring cues repeat words

Form = Literal["vtt", "srt", "sbv"]

_STAMP = r"(?:\d+:)?\d{1,3}:\d{1,2}(?:[.,]\d{1,3})?"
_TIMING = re.compile(rf"\s*({_STAMP})\s*(?:-->|,)\s*({_STAMP})(?:\s|$)")
_TIMING_LIKE = re.compile(r"\s*\d[^\s>]*\s*-->|\d+:\d{2}:[^\s,]+,\d+:\d{2}:\S+\s*$")
_BESIDE_CUES = re.compile(r"(?:NOTE|STYLE|REGION)(?:\s|$)")
_BESIDE = {  # facts of a recording, and the names that programs give them, the best first
    "title": ("title", "fulltitle"),
    "date": ("date", "upload_date", "release_date"),
    "url": ("webpage_url", "original_url", "url"),
    "author": ("uploader", "channel", "author"),
    "language": ("language",),
}
_HEADER = re.compile(r"(?:NOTE\s+)?(?P<name>[A-Za-z_ ]{2,20}?)\s*:\s*(?P<value>.+)$")
_VOICE = re.compile(r"<v(?:\.[\w.-]+)*[ \t]+([^<>\n]{1,120})>")
_TAG = re.compile(r"</?[A-Za-z][^<>\n]*>|<\d[\d:.]*>|\{\\[^{}\n]*\}")
_PREFIX = re.compile(r"(?:>>+|-)?\s*(?P<name>[^\W\d_][\w.'’ -]{0,40}?)\s*:\s+(?=\S)")
_CHANGE = re.compile(r">>+\s*")
SENTENCE_END = re.compile(r"[.!?…][\"'”’)\]]*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cue:
    """One stretch of speech; ``fresh`` means that the file marks a change of speaker."""

    begin: float
    finish: float
    lines: tuple[str, ...]
    speaker: str | None = None
    fresh: bool = False

    @property
    def text(self) -> str:
        """The text in one line."""
        return " ".join(" ".join(self.lines).split())


def load(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the loader interface
    """Load a caption file as one transcript.

    Its metadata comes from ``NOTE name: value`` lines, from ``NAME.info.json`` beside the file, as
    download programs write it, and from the file's name.
    """
    text = decode(source)
    form = _form(source.name, text)
    cues = _parse_cues(source, form, text)
    if not cues:
        raise EmptyError(source.uri, "no text: the file has no captions")
    built = write_cues(_add_speakers(_drop_repeats(cues)))
    if not built[0].strip():
        raise EmptyError(source.uri, "no text: every caption is empty")
    notes = _facts(text) if form == "vtt" else {}
    refuse_readers(notes, source.uri)
    facts = {**_facts_beside(source), **notes}
    published_at = parse_moment(facts.get("date", "").replace("/", "-"))
    published_at = published_at or date_in_name(source.name)
    yield source.document(
        built,
        kind="transcript",
        title=facts.get("title") or title_from_name(source.name),
        source_type=form,
        language=facts.get("language", "").lower(),
        authors=strings([name.strip() for name in facts.get("author", "").split(",")]),
        published_at=published_at,
        media_url=web_address(facts.get("url", "")),
    )


def _form(name: str, text: str) -> Form:
    if text.startswith("WEBVTT") or name.lower().endswith(".vtt"):
        return "vtt"
    return "sbv" if name.lower().endswith(".sbv") else "srt"


def _parse_cues(source: Source, form: Form, text: str) -> list[Cue]:
    """Return the cues in order; a few whose times cannot be read are left out and remarked.

    Raises:
        SourceError: the file has no times, or too many that cannot be read.
    """
    lines = [*text.split("\n"), ""]
    if form == "vtt" and not lines[0].startswith("WEBVTT"):
        raise SourceError(source.uri, "not WebVTT: the first line is not WEBVTT")
    timed = [number for number, line in enumerate(lines) if _TIMING_LIKE.match(line)]
    if form != "vtt" and not timed:
        raise SourceError(source.uri, f"not {form.upper()}: no line with times")
    cues: list[Cue] = []
    odd: list[int] = []
    for number, below in zip(timed, [*timed[1:], len(lines)], strict=False):
        timing = _TIMING.match(lines[number])
        if timing is None:
            odd.append(number)
            continue
        begin, finish = (seconds(stamp.replace(",", ".")) for stamp in timing.groups())
        spoken = without_scripts("\n".join(_cue_lines(lines[number + 1 : below], form)))
        cues += _split_voices(spoken, begin, max(begin, finish))
    if len(odd) > MAX_ODD_SHARE * len(timed):
        found = lines[odd[0]].strip()[:60]
        raise SourceError(source.uri, f"malformed time on line {odd[0] + 1}: {found}")
    if odd:
        source.remark(
            f"{len(odd)} of {len(timed)} captions left out: malformed time on line {odd[0] + 1}"
        )
    return cues


def _cue_lines(lines: Sequence[str], form: Form) -> list[str]:
    """Return the words of a cue; ``lines`` are those up to the next time, or to the end.

    Blank lines before the words are skipped. The identifier above the next time, and notes and
    styles after the words, are left out.
    """
    is_number = "".join(lines[-1:]).strip().isdecimal()
    is_identifier = is_number or (len(lines) > 1 and not lines[-2].strip())
    kept = lines[:-1] if is_identifier else lines
    paragraphs = [part.strip("\n") for part in re.split(r"\n\s*\n", "\n".join(kept))]
    spoken = [part for part in paragraphs if part.strip() and not _BESIDE_CUES.match(part)]
    return spoken[:1] if form == "vtt" else spoken


def _split_voices(raw: str, begin: float, finish: float) -> Iterator[Cue]:
    """Split one caption at its voice tags; without tags it is one cue."""
    parts = _VOICE.split(raw)  # text, name, text, name, text ...
    speakers = [None, *parts[1::2]]
    for speaker, text in zip(speakers, parts[::2], strict=True):
        lines = (html.unescape(_TAG.sub("", line)).strip() for line in text.split("\n"))
        filled = tuple(line for line in lines if line)
        if filled:
            name = " ".join(html.unescape(speaker).split()) if speaker else None
            yield Cue(begin=begin, finish=finish, lines=filled, speaker=name, fresh=bool(name))


def _facts(text: str) -> dict[str, str]:
    """Return the ``Name: value`` lines in the header and the notes before the first cue."""
    head = text.partition("-->")[0]
    matches = [_HEADER.match(line.strip()) for line in head.split("\n")[1:]]
    # The first value of a name wins.
    return {note["name"].lower().strip(): note["value"].strip() for note in matches[::-1] if note}


def _facts_beside(source: Source) -> dict[str, str]:
    """Return what ``NAME.info.json`` says of the recording ``NAME.vtt`` or ``NAME.en.vtt``."""
    stem = source.name
    while source.path and "." in stem:
        stem = stem.rpartition(".")[0]
        beside = source.path.with_name(f"{stem}.info.json")
        if not beside.is_file() or beside.is_symlink():
            continue
        try:
            fields = FrontMatter(fields=json.loads(beside.read_bytes()), body="")
            found = {name: fields.text_of(*sources) for name, sources in _BESIDE.items()}
        except (OSError, ValueError, AttributeError, RecursionError) as error:
            source.remark(f"{beside.name} cannot be read: {type(error).__name__}")
            continue
        return {name: value for name, value in found.items() if value}
    return {}


def _drop_repeats(cues: list[Cue]) -> list[Cue]:
    """Remove what cues repeat of the cue before, if many do (captions that scroll)."""
    shared = [_repeated_words(a.lines, b.lines) for a, b in pairwise(cues)]
    repeats = sum(count > 0 for count in shared)
    if repeats < 2 or repeats < MIN_ROLLING_SHARE * len(shared):
        return cues
    return [
        replace(cue, lines=(" ".join(words[count:]),)) if count else cue
        for count, cue in zip([0, *shared], cues, strict=True)
        if count < len(words := cue.text.split())
    ]


def _repeated_words(before: tuple[str, ...], after: tuple[str, ...]) -> int:
    """Return the number of words at the start of ``after`` that repeat the end of ``before``.

    These are entire lines, or at least ``MIN_REPEATED_WORDS``: people do repeat a word or two.
    """
    longest = min(len(before), len(after))
    lines = next((n for n in range(longest, 0, -1) if before[-n:] == after[:n]), 0)
    first, second = (" ".join(cue).casefold().split() for cue in (before, after))
    counts = range(min(len(first), len(second)), MIN_REPEATED_WORDS - 1, -1)
    words = next((n for n in counts if first[-n:] == second[:n]), 0)
    return max(words, len(" ".join(after[:lines]).split()))


def _add_speakers(cues: list[Cue]) -> list[Cue]:
    """Set speakers from ``Name: `` prefixes if there are no voice tags."""
    if any(cue.speaker for cue in cues):
        return cues
    prefixes = [_PREFIX.match(cue.text) for cue in cues]
    counts = Counter(match["name"] for match in prefixes if match)
    names = {name for name, count in counts.items() if _is_speaker(name, count)}
    labelled: list[Cue] = []
    current: str | None = None
    for cue, match in zip(cues, prefixes, strict=True):
        text, fresh = cue.text, False
        if match and match["name"] in names:
            current, text, fresh = match["name"], text[match.end() :], True
        elif change := _CHANGE.match(text):
            current, text, fresh = None, text[change.end() :], True
        speaker = current.title() if current and current.isupper() and len(current) > 3 else current
        labelled.append(replace(cue, lines=(text,), speaker=speaker, fresh=fresh))
    return labelled


def _is_speaker(name: str, count: int) -> bool:
    words = name.split()
    if len(words) > 4 or any(word.lower() in LABEL_WORDS for word in words):
        return False
    capitals = sum(word[0].isupper() for word in words)
    return capitals == len(words) and (count > 1 or len(words) > 1)


def write_cues(cues: Sequence[Cue]) -> Built:
    """Return the text of all cues with marks; turns and long pauses start paragraphs."""
    builder = TextBuilder()
    before: Cue | None = None
    cue_count = 0  # cues in the open paragraph
    for cue in cues:
        if not cue.text:
            continue
        new_turn = (
            before is None or cue.speaker != before.speaker or (cue.fresh and not cue.speaker)
        )
        new_paragraph = new_turn
        if before is not None:
            after_pause = cue.begin - before.finish > MIN_PAUSE_SECONDS
            is_full = cue_count >= MIN_PARAGRAPH_CUES and SENTENCE_END.search(before.text)
            new_paragraph = new_turn or after_pause or bool(is_full and cue.speaker is None)
            builder.add(PARAGRAPH if new_paragraph else " ")
        if new_turn:
            builder.speaker(cue.speaker)
        builder.time(cue.begin, cue.finish)
        builder.add(cue.text)
        cue_count = 1 if new_paragraph else cue_count + 1
        before = cue
    return builder.build()


MAX_CUE_WORDS = 40  # limits cues of speech without punctuation, so that it gets times too
MILLISECONDS = 0.001
MAX_SPOKEN_PER_SECOND = 40  # characters
UNITS = (1e-7, 1 / 16_000, MILLISECONDS, 1.0)  # ticks of .NET, samples of 16 kHz, ...

Node = Mapping[str, Any]

_NUMBERED = re.compile(r"(?:speaker|spk)?[ _-]*0*(\d{1,3})", re.IGNORECASE)
_LETTERED = re.compile(r"(?:speaker[ _-]*)?([A-Z])")


class _Word(NamedTuple):
    """One spoken word with punctuation; times in seconds, None if the tool gives none."""

    text: str
    begin: float | None
    finish: float | None
    speaker: str | None


def load_speech(source: Source, limits: LoaderLimits) -> Iterator[Document]:  # noqa: ARG001 the loader interface
    """Load the JSON of a speech-to-text tool as one transcript."""
    tree = parse_json(source)
    if isinstance(tree, list):
        tree = {"turns": tree}
    if not isinstance(tree, dict):
        raise SourceError(source.uri, "not a transcript: the file is not a JSON object")
    refuse_readers(tree, source.uri, deep=False)
    form = speech_form(tree)
    if not form:
        raise SourceError(source.uri, "not a transcript of a known speech-to-text tool")
    try:
        cues = [cue for cue in _READERS[form](tree) if cue.text]
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError) as error:
        raise SourceError(
            source.uri, f"malformed {form} transcript: {type(error).__name__}: {error}"[:200]
        ) from error
    if not cues:
        raise EmptyError(source.uri, "no text: the transcript has no words")
    fields = FrontMatter(fields=tree, body="")
    begins = (first_value(normalise_names(turn), TURN_BEGINS) for turn in turns_in(tree))
    yield source.document(
        write_cues(sorted(cues, key=lambda cue: cue.begin)),
        kind="transcript",
        title=one_line(fields.text_of("title")) or title_from_name(source.name),
        source_type=form,
        language=_language(tree, form),
        published_at=parse_moment(tree.get("recorded_at") or tree.get("date"))
        or next(map(_date, begins), None)
        or date_in_name(source.name),
        media_url=fields.link("media_url", "audio_url", "video_url", "source_url", "url"),
    )


def _language(tree: Node, form: SpeechForm) -> str:
    """Return the language code; verbose output of Whisper gives the language's name instead."""
    results, result = _object(tree.get("results")), _object(tree.get("result"))
    channels = objects(results.get("channels")) if form == "deepgram" else []
    language = (
        scalar(tree.get("language"))
        or scalar(tree.get("language_code"))
        or scalar(results.get("language_code"))
        or scalar(result.get("language"))
        or (scalar(channels[0].get("detected_language")) if channels else "")
    ).lower()
    codes = {name.lower(): code for code, name in Locale("en").languages.items()}
    return str(codes.get(language, language)).replace("_", "-")


# --- one reader for each tool ----------------------------------------------------------------


def _whisper(tree: Node) -> Iterator[Cue]:
    """Yield the cues of OpenAI's verbose JSON, faster-whisper and WhisperX (with speakers)."""
    for segment in objects(tree.get("segments")):
        speaker = _speaker(segment.get("speaker"))
        words = _parse_words(segment.get("words"), ("word", "text"), 1.0)
        begin, finish = _seconds(segment.get("start")), _seconds(segment.get("end"))
        if begin is None:
            begin = next((word.begin for word in words if word.begin is not None), None)
        voices = {word.speaker for word in words if word.speaker}
        if len(voices) > 1 or begin is None:
            yield from _sentence_cues(words, speaker)
        else:
            yield _cue(scalar(segment["text"]), begin, finish, speaker or next(iter(voices), None))


def _whisper_cpp(tree: Node) -> Iterator[Cue]:
    turned = False  # the tool can mark a change of speaker, but gives no names
    for segment in objects(tree.get("transcription")):
        times = {"start": segment["offsets"]["from"], "end": segment["offsets"]["to"]}
        for cue in _cues({**segment, **times}, "text", unit=MILLISECONDS):
            yield replace(cue, fresh=turned)
        turned = bool(segment.get("speaker_turn_next"))


def _assemblyai(tree: Node) -> Iterator[Cue]:
    utterances = objects(tree.get("utterances"))
    if not utterances:
        yield from _sentence_cues(_parse_words(tree.get("words"), ("text",), MILLISECONDS), None)
    for utterance in utterances:
        yield from _cues(utterance, "text", ("text",), MILLISECONDS)


def _deepgram(tree: Node) -> Iterator[Cue]:
    results, names = tree["results"], ("punctuated_word", "word")
    utterances = objects(results.get("utterances"))
    for part in utterances:
        yield from _cues(part, "transcript", names)
    channels = objects(results.get("channels")) if not utterances else []
    for number, channel in enumerate(channels):
        # Without speaker labels, each channel of a call is a speaker.
        caller = f"Speaker {number}" if len(channels) > 1 else None
        for best in objects(channel.get("alternatives"))[:1]:
            paragraphs = objects(_object(best.get("paragraphs")).get("paragraphs"))
            words = _parse_words(best.get("words"), names, 1.0)
            if not any(objects(part.get("sentences")) for part in paragraphs):
                yield from _sentence_cues(words, caller)
                continue
            for paragraph in paragraphs:
                speaker = paragraph.get("speaker")
                speaker = caller if _speaker(speaker) is None else speaker
                for part in objects(paragraph.get("sentences")):
                    yield from _cues({**part, "speaker": speaker}, "text")


def _aws(tree: Node) -> Iterator[Cue]:
    results = tree["results"]
    labels = _object(results.get("speaker_labels"))
    speakers = {
        scalar(item.get("start_time")): scalar(item.get("speaker_label"))
        for segment in objects(labels.get("segments"))
        for item in objects(segment.get("items"))
    }
    words: list[_Word] = []
    for item in objects(results.get("items")):
        best = next(iter(objects(item.get("alternatives"))), {})
        text = scalar(best.get("content"))
        if item.get("type") == "punctuation" and words:  # a separate item without a time
            words[-1] = words[-1]._replace(text=words[-1].text + text)
            continue
        begin, finish = scalar(item.get("start_time")), _seconds(item.get("end_time"))
        speaker = _speaker(item.get("speaker_label") or speakers.get(begin))
        words.append(_Word(text, _seconds(begin or None), finish, speaker))
    yield from _sentence_cues(words, None)
    for segment in objects(results.get("audio_segments")) if not words else ():
        times = {"start": segment["start_time"], "end": segment.get("end_time")}
        speaker = segment.get("speaker_label")
        yield from _cues({**segment, **times, "speaker": speaker}, "transcript")


def _meeting(tree: Node) -> Iterator[Cue]:
    """Yield the cues of a meeting program's file: a list of texts with speakers and times."""
    turns = [normalise_names(turn) for turn in turns_in(tree)]
    people = {
        scalar(person.get("id") or person.get("speaker_id")): scalar(
            person.get("speaker_name") or person.get("name")
        )
        for holder in (tree, _object(tree.get("speech")))
        for person in objects(holder.get("speakers"))
    }
    texts = [scalar(first_value(turn, TURN_TEXTS)) for turn in turns]
    given = [first_value(turn, TURN_BEGINS) for turn in turns]
    begins = [_moment(value) for value in given]
    origin = begins[0] if any(map(_date, given)) else 0.0  # dates count from the first turn
    is_counted = all(isinstance(value, int) for value in given)
    unit = _unit(sum(map(len, texts)), begins[-1] - begins[0]) if is_counted else 1.0
    for turn, text, begin in zip(turns, texts, begins, strict=True):
        label = first_value(turn, TURN_SPEAKERS)
        if isinstance(label, dict):
            label = label.get("display_name") or label.get("name")
        speaker = _speaker(people.get(scalar(label)) or label)
        yield _cue(text, round(max(begin - origin, 0.0) * unit, 3), None, speaker)


def _date(value: object) -> datetime | None:
    return parse_moment(value) if "-" in scalar(value) else None


def _unit(characters: int, span: float) -> float:
    """Return the smallest unit, in seconds, in which so much can have been said in ``span``."""
    fits = (unit for unit in UNITS if characters <= span * unit * MAX_SPOKEN_PER_SECOND)
    return next(fits, 1.0)


def _moment(value: object) -> float:
    """Return seconds from a number or a clock (``00:01:02.5``), or the epoch's from a date."""
    text = scalar(value)
    if moment := _date(text):
        return moment.timestamp()
    if ":" in text:
        return seconds(text)
    return _seconds(text.removesuffix("s") or None) or 0.0


_READERS: Mapping[SpeechForm, Callable[[Node], Iterator[Cue]]] = {
    "whisper": _whisper,
    "whisper.cpp": _whisper_cpp,
    "assemblyai": _assemblyai,
    "deepgram": _deepgram,
    "aws": _aws,
    "meeting": _meeting,
}


# --- what they share -------------------------------------------------------------------------


def _object(value: object) -> Node:
    return value if isinstance(value, dict) else {}


def _parse_words(value: object, names: Sequence[str], unit: float) -> list[_Word]:
    return [
        _Word(
            text,
            _seconds(item.get("start"), unit),
            _seconds(item.get("end"), unit),
            _speaker(item.get("speaker")),
        )
        for item in objects(value)
        if (text := next((content for name in names if (content := scalar(item.get(name)))), ""))
    ]


def _cues(segment: Node, text: str, names: Sequence[str] = (), unit: float = 1.0) -> Iterator[Cue]:
    """Yield a segment's cues: from its words (texts under ``names``), else from its ``text``."""
    speaker = _speaker(segment.get("speaker"))
    if words := _parse_words(segment.get("words"), names, unit):
        yield from _sentence_cues(words, speaker)
        return
    begin = _seconds(segment["start"], unit)
    if begin is None:
        raise ValueError("a segment without a time")
    yield _cue(scalar(segment[text]), begin, _seconds(segment.get("end"), unit), speaker)


def _sentence_cues(words: Sequence[_Word], speaker: str | None) -> Iterator[Cue]:
    """Join words to sentences, which also end at a new speaker or a long pause."""
    open_words: list[_Word] = []
    latest = 0.0  # a word without a time gets the time of the previous word
    begin = finish = 0.0
    current: str | None = None
    for word in words:
        start = latest if word.begin is None else word.begin
        said_by = word.speaker or speaker
        if open_words and (
            said_by != current
            or start - finish > MIN_PAUSE_SECONDS
            or len(open_words) >= MAX_CUE_WORDS
            or SENTENCE_END.search(open_words[-1].text)
        ):
            yield _cue(" ".join(spoken.text for spoken in open_words), begin, finish, current)
            open_words = []
        if not open_words:
            begin, current = start, said_by
        open_words.append(word)
        finish = latest = start if word.finish is None else word.finish
    if open_words:
        yield _cue(" ".join(spoken.text for spoken in open_words), begin, finish, current)


def _cue(text: str, begin: float, finish: float | None, speaker: str | None) -> Cue:
    return Cue(
        begin=begin,
        finish=begin if finish is None else max(begin, finish),
        lines=(one_line(text),),
        speaker=speaker,
    )


def _seconds(value: object, unit: float = 1.0) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError(f"not a time: {value!r:.40}")
    seconds = round(float(value) * unit, 3)
    if not 0 <= seconds < float("inf"):
        raise ValueError(f"not a time: {value!r:.40}")
    return seconds


def _speaker(label: object) -> str | None:
    """Return the speaker's name; numbers and letters of tools become ``Speaker 1``."""
    text = one_line(scalar(label))
    match = _NUMBERED.fullmatch(text) or _LETTERED.fullmatch(text)
    return f"Speaker {match.group(1)}" if match else text or None
