"""Whose words a sentence reports, and the passages cut down to the words of that person.

"Ana argued that the test is slow" is borne out by what Ana says. That somebody else in the same
passage says so proves nothing, unless they report her.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from wellread.answers import Evidence
from wellread.ask.understand.planted_orders import without_orders
from wellread.models.reader import Excerpt
from wellread.text.english import SAYING
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans
from wellread.types import Span

LEAST_LEFT = 2  # content words; a report with fewer is checked as it stands
SHORTEST_PART = 3  # letters of a first or last name by which a person is called

_SAYING = "|".join(sorted(SAYING, key=len, reverse=True))


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """What a sentence, or a part of it, says that somebody said.

    Attributes:
        speakers: whose words it reports, by the names in the marks; empty: nobody's.
        text: what was said, without "Ana argued that".
    """

    speakers: frozenset[str]
    text: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A run of a piece of evidence: the whole piece, or what one person says in it.

    Attributes:
        span: of the piece's text.
    """

    piece: Evidence
    span: Span

    @property
    def text(self) -> str:
        """The run's text; orders planted in it bear nothing out, they are blank."""
        return self.span.of(without_orders(self.piece.text))

    def in_document(self, span: Span) -> Span:
        """``span`` of the run's text as one of the document's."""
        moved = self.piece.span.start + self.span.start
        return Span(start=moved + span.start, end=moved + span.end)

    def excerpt(self) -> Excerpt:
        """What a reader is given."""
        return Excerpt(text=self.text, title=about(self.piece))


def whole(pieces: Iterable[Evidence]) -> list[Part]:
    """Each piece as one run."""
    return [Part(piece=piece, span=Span(start=0, end=len(piece.text))) for piece in pieces]


def about(piece: Evidence) -> str:
    """What is known of a piece beside its text: title, headings, date, who speaks."""
    document = piece.hit.document
    told = [document.title, *piece.locator.heading, *piece.hit.passage.speakers]
    if document.published_at is not None:
        told.append(f"{document.published_at:%B} {document.published_at.day}")
        told.append(str(document.published_at.year))
    return without_orders(" ".join(told))


def reports(claim: str, known: Iterable[str]) -> list[Report]:
    """What ``claim`` reports of the words of ``known`` people; alone itself when of none."""
    called = _called(known)
    plain = [Report(speakers=frozenset(), text=claim)]
    if not any(name in claim for name in called):
        return plain
    pattern = _pattern(called)
    found = list(pattern.finditer(claim))
    if not found:
        return plain
    who = [_speakers(match.group(), called) for match in found]
    if len(set(who)) == 1:
        said = _without(claim, [match.span() for match in found])
        return [Report(speakers=who[0], text=said)]
    # "Ana said this, but Ben said that": a clause for each, from one name to the next.
    ends = [match.start() for match in found[1:]] + [len(claim)]
    clauses = []
    for match, speakers, end in zip(found, who, ends, strict=True):
        start = 0 if match is found[0] else match.start()
        clause = claim[start:end]
        place = (match.start() - start, match.end() - start)
        clauses.append(Report(speakers=speakers, text=_without(clause, [place])))
    return clauses


def parts_of(pieces: Sequence[Evidence], speakers: frozenset[str]) -> list[Part]:
    """What ``speakers`` say in ``pieces``, and what others there report of them by name.

    A piece in which nobody speaks (an article) is taken whole.
    """
    names = {name.casefold() for name in speakers}
    parts = []
    for piece in pieces:
        if not piece.turns:
            parts.append(Part(piece=piece, span=Span(start=0, end=len(piece.text))))
        first = piece.span.start
        for turn in piece.turns:
            span = Span(start=turn.span.start - first, end=turn.span.end - first)
            if turn.speaker.casefold() in names:
                parts.append(Part(piece=piece, span=span))
            else:
                parts += _reporting(piece, span, speakers)
    return parts


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


def _reporting(piece: Evidence, turn: Span, speakers: frozenset[str]) -> list[Part]:
    """The sentences of somebody's turn that report the words of ``speakers``."""
    text = turn.of(piece.text)
    pattern = _pattern(_called(speakers))
    return [
        Part(piece=piece, span=Span(start=turn.start + span.start, end=turn.start + span.end))
        for span in sentence_spans(text)
        if pattern.search(span.of(text))
    ]


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


def _speakers(phrase: str, called: Mapping[str, set[str]]) -> frozenset[str]:
    """Everybody whom ``phrase`` names; a longer name hides the shorter ones inside it."""
    left, found = phrase, set[str]()
    for name in sorted(called, key=len, reverse=True):
        pattern = rf"(?<!\w){re.escape(name)}(?!\w)"
        if re.search(pattern, left):
            found |= called[name]
            left = re.sub(pattern, " ", left)
    return frozenset(found)


def _without(text: str, places: Sequence[tuple[int, int]]) -> str:
    """``text`` without ``places``, or as it is when too little is left to check."""
    left, end = [], 0
    for start, stop in places:
        left.append(text[end:start])
        end = stop
    left.append(text[end:])
    said = " ".join(part.strip() for part in left if part.strip()).lstrip(" ,;:")
    return said if len(parse(said).stems) >= LEAST_LEFT else text
