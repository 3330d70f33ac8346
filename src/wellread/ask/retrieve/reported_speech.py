"""Whose words the sentences of a passage are: the speaker's, or those of somebody it reports."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace

from wellread.answers import Evidence
from wellread.text.english import SAYING
from wellread.text.sentences import sentence_spans
from wellread.types import Span

SHORTEST_PART = 3  # letters of a first or last name by which a person is called

_SAYING = "|".join(sorted(SAYING, key=len, reverse=True))


def is_theirs(piece: Evidence, speaker: str, text: str, voices: Iterable[str]) -> bool:
    """Whether ``text`` is said by one of ``voices`` or, where nobody speaks, reported of them."""
    if piece.turns:
        return speaker.casefold() in {voice.casefold() for voice in voices}
    return told_of(text, voices)


def heard(pieces: Sequence[Evidence], voices: Sequence[str]) -> list[Evidence]:
    """Each piece with the words of ``voices`` alone, where it has any; all without ``voices``.

    What is left of a piece need not stand together in its document: it is to be weighed, not cited.
    """
    if not voices:
        return list(pieces)
    found = []
    for piece in pieces:
        told = [
            span.of(piece.text)
            for speaker, span in sentences_of(piece)
            if is_theirs(piece, speaker, span.of(piece.text), voices)
        ]
        if told:
            found.append(replace(piece, text=" ".join(told), turns=()))
    return found


def text_of(piece: Evidence, span: Span) -> str:
    """The text of ``span``, of the piece's document."""
    return piece.text[span.start - piece.span.start : span.end - piece.span.start]


def sentences_of(piece: Evidence) -> Iterator[tuple[str, Span]]:
    """Each sentence of the piece's text with its speaker; none goes on from one to another."""
    first = piece.span.start
    turns = [(each.speaker, each.span.start - first, each.span.end - first) for each in piece.turns]
    for speaker, start, end in turns or [("", 0, len(piece.text))]:
        for span in sentence_spans(piece.text[start:end]):
            yield speaker, Span(start=start + span.start, end=start + span.end)


def told_of(sentence: str, speakers: Iterable[str]) -> bool:
    """Whether ``sentence`` reports the words of one of ``speakers`` by name."""
    called = _called(speakers)
    return any(name in sentence for name in called) and bool(_pattern(called).search(sentence))


def _called(known: Iterable[str]) -> dict[str, set[str]]:
    """What people may be called (whole name, first, last) to whom that may be."""
    called: dict[str, set[str]] = {}
    for name in known:
        parts = name.split()
        for each in {name, *(parts[:1] + parts[-1:])}:
            if len(each) >= SHORTEST_PART or each == name:
                called.setdefault(each, set()).add(name)
    return called


def _pattern(called: Mapping[str, object]) -> re.Pattern[str]:
    one = "|".join(re.escape(name) for name in sorted(called, key=len, reverse=True))
    who = rf"(?<!\w)(?:{one})(?:(?:\s*,\s*|\s*,?\s+and\s+)(?:{one}))*(?!\w)"
    between = r"(?:\s*,[^,.]{1,60},)?\s+(?:\w+ly\s+|also\s+|then\s+|has\s+|had\s+|both\s+){0,2}"
    after = r"(?:\s+(?:out\s+)?(?:that|how|why|whether))?\s*[:,]?\s*"
    return re.compile(
        rf"(?:As\s+|as\s+)?{who}{between}(?:{_SAYING})\b{after}"
        rf"|(?:[Aa]ccording\s+to|[Ff]or)\s+{who}\s*,\s*"
        rf"|,?\s*[Aa]ccording\s+to\s+{who}"
        rf"|[Ii]n\s+(?:{who})['’]s?\s+(?:view|opinion|words|eyes)\s*,?\s*"
        rf"|^\W*{who}\s*:\s*"
        rf"|[,”\"]\s*(?:{_SAYING})\s+{who}"
    )
