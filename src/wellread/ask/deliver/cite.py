"""Turns the checked draft into the delivered text, with citation markers after each sentence.

Rejected sentences are removed first, with headings and lead-ins that introduce nothing else.

A citation has the spans in answer and source, a quotation, its locator and a link. Its marker
(``citations.style``) is one pair of square brackets without another inside, so that programs find
it in a stored answer of any style.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from wellread.ask.retrieve.rated_questions import flagged_sentences
from wellread.ask.retrieve.search import text_of
from wellread.ask.verify.check_claims import Rival
from wellread.ask.write.extracts import Extract
from wellread.config import Style
from wellread.kb import KnowledgeBase
from wellread.text.characters import visible
from wellread.text.parsed import parse
from wellread.text.sentences import BETWEEN_CELLS, shorten
from wellread.types import DocumentFacts, Span
from wellread.values.answers import (
    CATALOGUE,
    EXTRACTIVE,
    NOBODY,
    Answer,
    Checked,
    Citation,
    Confidence,
    Conflict,
    Evidence,
    Sentence,
    Verdict,
    VerdictName,
    View,
)
from wellread.values.locators import Marks, format_time, link_to

NOT_SURE = Confidence(score=0.0, band="none", reasoning="nothing was assessed")
_INSIDE = str.maketrans({"[": "(", "]": ")"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """A quotable place: the document's facts and marks, a quotation and its span."""

    facts: DocumentFacts
    marks: Marks
    quote: str
    span: Span
    relevance: float = 1.0
    why: str = ""

    def citation(self, answer: Span, verdict: VerdictName) -> Citation:
        """Build the citation, still without a number, for a span of the answer's text."""
        facts = self.facts
        locator = self.marks.locate(self.span)
        url = facts.url or facts.uri
        return Citation(
            id=0,
            document_id=facts.id,
            version=facts.version,
            title=facts.title,
            url=url,
            link=link_to(url, locator, self.quote, media_url=facts.media_url),
            kind=facts.kind,
            source_type=facts.source_type,
            published_at=facts.published_at,
            relevance=self.relevance,
            locator=locator,
            quote=self.quote,
            answer_span=answer,
            source_span=self.span,
            verdict=verdict,
            why=self.why,
        )


def sources_of(
    kb: KnowledgeBase,
    places: Sequence[tuple[Evidence, Span]],
    why: Mapping[str, str] = MappingProxyType({}),
) -> list[Source]:
    """Make a source of each span of a piece's document; ``why``: reasons by evidence key."""
    marks = kb.catalogue.marks_over([(piece.hit.document.id, span) for piece, span in places])
    return [
        Source(
            facts=piece.hit.document,
            marks=Marks(document_marks),
            quote=text_of(piece, span),
            span=span,
            relevance=round(piece.hit.score, 4),
            why=why.get(piece.key, ""),
        )
        for (piece, span), document_marks in zip(places, marks, strict=True)
    ]


@dataclass(slots=True)
class CitedText:
    """Builds a text with citation markers, its sentences and its citations."""

    kb: KnowledgeBase
    text: str = ""
    sentences: list[Sentence] = field(default_factory=list)
    citations: list[Citation] = field(default_factory=list)

    def answer(self, by: str = NOBODY, sure: Confidence = NOT_SURE) -> Answer:
        """The text as an answer that has no id, question and owner yet."""
        return Answer(
            id="",
            question="",
            text=self.text,
            citations=tuple(self.citations),
            sentences=tuple(self.sentences),
            confidence=sure,
            answered_by=by,
        )

    def say(self, text: str, verdict: Verdict, sources: Iterable[Source]) -> None:
        """Add a sentence, with a marker for each of its sources."""
        span = Span(start=len(self.text), end=len(self.text) + len(text))
        self.text += text
        numbers = []
        for source in sources:
            citation = self.numbered(source.citation(span, verdict.name))
            numbers.append(citation.id)
            self.text += self._marker(citation)
        self.sentences.append(
            Sentence(text=text, span=span, verdict=verdict, citations=tuple(numbers))
        )

    def show_all(self, extracts: Sequence[Extract], prefix: str = "") -> None:
        """Add extracts in order, one per paragraph; ``prefix``: the start of each line ("> ")."""
        places = [
            (
                extract.piece.hit.document.id,
                Span(start=extract.parts[0].start, end=extract.parts[-1].end),
            )
            for extract in extracts
        ]
        marks = self.kb.catalogue.marks_over(places)
        for extract, document_marks in zip(extracts, marks, strict=True):
            self.text += "\n\n" if self.text and not self.text.endswith("\n") else ""
            self._show(extract, Marks(document_marks), prefix)

    def _show(self, extract: Extract, marks: Marks, prefix: str) -> None:
        """Add an extract under its heading, with one marker after it."""
        hit, place = extract.piece.hit, extract.cited
        quote = extract.text[extract.place(place) :][: place.end - place.start]
        score = round(hit.score, 4)
        source = Source(facts=hit.document, marks=marks, quote=quote, span=place, relevance=score)
        begin = len(self.text)
        unset = Span(start=begin, end=begin)
        citation = self.numbered(source.citation(unset, VerdictName.QUOTED))
        pieces = list(_pieces_of(extract, marks))
        last = next((span for _, span in reversed(pieces) if span is not None), None)
        self.text += prefix
        for line, row in extract.told:
            place = Span(start=len(self.text), end=len(self.text) + len(line))
            verdict = extract.verdict(row, VerdictName.SUPPORTED, "table")
            said = Sentence(text=line, span=place, verdict=verdict, citations=(citation.id,))
            self.sentences.append(replace(said, marked=True, within=True))
            self.text += f"{line}\n{prefix.rstrip()}\n{prefix}"
        for text, span in pieces:
            if span is None:
                self.text += text.replace("\n", f"\n{prefix}")
                continue
            self.sentences.append(
                Sentence(
                    text=text,
                    span=Span(start=len(self.text), end=len(self.text) + len(text)),
                    verdict=extract.verdict(span),
                    citations=(citation.id,),
                    marked=span in extract.marked,
                    within=span != last,
                )
            )
            self.text += text
        if citation.answer_span == unset:  # else an earlier extract cites the same place
            answer_span = Span(start=begin, end=len(self.text))
            self.citations[citation.id - 1] = replace(citation, answer_span=answer_span)
        self.text += self._marker(citation)

    def append(self, answer: Answer) -> None:
        """Add the text of an answer, with its markers renumbered for this text."""
        citations = {citation.id: citation for citation in answer.citations}
        done = 0
        for sentence in answer.sentences:
            self.text += answer.text[done : sentence.span.start]
            span = Span(start=len(self.text), end=len(self.text) + len(sentence.text))
            self.text += sentence.text
            done = sentence.span.end
            numbers = []
            for number in sentence.citations:
                marker = self._marker(citations[number])
                cited = self.numbered(replace(citations[number], answer_span=span))
                if not sentence.within:
                    done += len(marker) if answer.text.startswith(marker, done) else 0
                    self.text += self._marker(cited)
                numbers.append(cited.id)
            self.sentences.append(replace(sentence, span=span, citations=tuple(numbers)))
        self.text += answer.text[done:]

    def numbered(self, cited: Citation) -> Citation:
        """``cited`` with its number in this text; citations of one source span share a number."""
        for earlier in self.citations:
            if (earlier.document_id, earlier.source_span) == (cited.document_id, cited.source_span):
                return earlier
        numbered = replace(cited, id=len(self.citations) + 1)
        self.citations.append(numbered)
        return numbered

    def _marker(self, citation: Citation) -> str:
        return f" {styled_marker(self.kb, citation, self.kb.settings.citations.style)}"


def _pieces_of(extract: Extract, marks: Marks) -> Iterator[tuple[str, Span | None]]:
    """Yield the extract as Markdown pieces: sentences with their spans, and the text between.

    It begins with its headings or its speaker. A change of speaker and an inner heading become
    labels. The first row of a table is followed by Markdown's divider line; a single line with a
    bar is not a table ("P(a | b)").
    """
    done, begun, speaker, table, headed = 0, False, "", False, False
    cells = [extract.of(span).count(BETWEEN_CELLS) for span in extract.sentences]
    for span, before, own_cells, after in zip(
        extract.sentences, [0, *cells], cells, [*cells[1:], 0], strict=False
    ):
        at = extract.place(span)
        text = extract.text[at : at + span.end - span.start]
        between, done = extract.text[done:at], at + len(text)
        row = bool(own_cells) and own_cells in (before, after)
        who = marks.locate(span).speaker or ""
        if marks.heading(span)[-1:] == (text,) and span not in extract.marked:
            if begun:
                yield f"{'' if headed else chr(10) * 2}**{plain_label(text)}**\n\n", None
            headed = begun
            continue
        if not begun or (who and who != speaker):
            label = plain_label(who or " › ".join(marks.heading(span)))
            alone = row or bool(between.strip())
            yield "\n\n" if begun else "", None
            yield f"**{label}:**{f'{chr(10)}{chr(10)}' if alone else ' '}" if label else "", None
            between = between.lstrip()
        elif headed:
            between = between.lstrip("\n")
        elif row and not table:
            between = "\n\n"
        yield between, None
        yield text, span
        if row and not table:
            yield "\n" + BETWEEN_CELLS.join(["---"] * (own_cells + 1)), None
        begun, speaker, table, headed = True, who, row, False


def plain_label(label: str) -> str:
    """A heading without stars of its own, for use in a bold label."""
    return " ".join(label.replace("*", "").split()).rstrip(":")


def add_draft(
    page: CitedText,
    draft: str,
    checked: Sequence[Checked],
    evidence: Sequence[Evidence],
    why: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Add ``draft``, with a marker after each claim for every source span that supports it.

    A claim that does not occur in the draft is skipped: only delivered text gets a verdict.
    """
    by_key = {piece.key: piece for piece in evidence}
    spans = [_supporting_spans(item, by_key) for item in checked]
    sources = iter(sources_of(page.kb, [place for places in spans for place in places], why))
    place = 0
    for item, places in zip(checked, spans, strict=True):
        claim_sources = [next(sources) for _ in places]
        start = draft.find(item.claim.text, place)
        if start >= 0:
            page.text += draft[place:start]
            place = start + len(item.claim.text)
            page.say(item.claim.text, item.verdict, claim_sources)
    page.text += draft[place:]


def _supporting_spans(item: Checked, by_key: dict[str, Evidence]) -> list[tuple[Evidence, Span]]:
    """The pieces that support the claim, each with the span to show when its citation is opened.

    The verdict's span comes first; of other cited pieces all text is shown. In spoken material each
    span is cut down to one speaker.
    """
    verdict = item.verdict
    spans: list[tuple[Evidence, Span]] = []
    if verdict.key in by_key and verdict.source is not None:
        spans.append((by_key[verdict.key], verdict.source))
    for key in item.claim.keys:
        if key in by_key and key != verdict.key:
            spans.append((by_key[key], by_key[key].span))
    return [(piece, restrict_to_speaker(piece, span, item.claim.text)) for piece, span in spans]


def restrict_to_speaker(piece: Evidence, span: Span, claim: str) -> Span:
    """Cut ``span`` down to the speaker turn that shares most words with ``claim``."""
    parts = [
        Span(start=max(turn.span.start, span.start), end=min(turn.span.end, span.end))
        for turn in piece.turns
        if turn.span.overlaps(span)
    ]
    if not parts:
        return span
    claim_stems = parse(claim).stem_set
    best = max(parts, key=lambda part: len(claim_stems & parse(text_of(piece, part)).stem_set))
    text = text_of(piece, best)
    start = best.start + len(text) - len(text.lstrip())
    return Span(start=start, end=start + len(text.strip()))


def add_conflicting_passages(
    page: CitedText, rivals: Sequence[Rival], evidence: Sequence[Evidence]
) -> tuple[Conflict, ...]:
    """Add each passage that contradicts a delivered sentence's source, as conflicts.

    Both quotations become citations of the page.
    """
    by_key = {piece.key: piece for piece in evidence}
    by_source = {(item.verdict.key, item.verdict.source): item for item in reversed(page.sentences)}
    conflicts = []
    for rival in rivals:
        sentence = by_source.get(rival.own)
        if sentence is None:
            continue
        places = [(by_key[key], span) for key, span in (rival.own, rival.other)]
        views = []
        for source in sources_of(page.kb, places):
            cited = page.numbered(source.citation(sentence.span, VerdictName.QUOTED))
            views.append(View(text=source.quote, citations=(cited.id,)))
        conflicts.append(Conflict(about=rival.about, views=tuple(views), reason=rival.reason))
    return tuple(conflicts)


# --- markers ---------------------------------------------------------------------------------


def marker(citation: Citation, style: Style, entity_id: str = "") -> str:
    """The marker of ``citation``; the plain title when it lacks the page or time for its style."""
    if style == "number":
        return f"[{citation.id}]"
    page, begin = citation.locator.page, citation.locator.begin
    by_kind = style in ("auto", "entity")
    if by_kind and citation.kind == "entity" and entity_id:
        return f"[Source: {flatten_label(entity_id)}]"
    title = flatten_label(citation.title)
    if page is not None and (style == "page" or (by_kind and citation.kind == "paper")):
        return f"[{title}, p. {page}]"
    if begin is not None and (style == "time" or (by_kind and citation.kind == "transcript")):
        return f"[{title} @ {format_time(begin)}]"
    return f"[{title}]"


def styled_marker(kb: KnowledgeBase, citation: Citation, style: Style) -> str:
    """``marker``, with the entity's id from the catalogue if the style shows it."""
    if citation.kind != "entity" or style not in ("auto", "entity"):
        return marker(citation, style)
    document = kb.catalogue.document(citation.document_id)
    entity = document.entity if document else None
    return marker(citation, style, entity.entity_id if entity else "")


def flatten_label(text: str) -> str:
    """``text`` for use in a marker: on one line, without square brackets."""
    return " ".join(text.translate(_INSIDE).split())


# --- why a cited source matters, in one sentence -------------------------------------------------

MAX_WORDS = 6  # shared words that are listed
MAX_QUOTE = 200  # characters of a quoted sentence of the answer


def relevances(answer: Answer) -> Mapping[int, str]:
    """Explain for each citation, by number, why its source matters to the question."""
    question = answer.standalone or answer.question
    first_use: dict[int, str] = {}
    for sentence in answer.sentences:
        for number in sentence.citations:
            first_use.setdefault(number, shorten(" ".join(sentence.text.split()), MAX_QUOTE))
    reasons = {}
    for citation in answer.citations:
        if answer.answered_by == CATALOGUE:
            reason = "one of the documents that the result is based on"
        elif citation.why:
            reason = citation.why.rstrip(" .")
        elif answer.answered_by == EXTRACTIVE or citation.id not in first_use:
            reason = shared_words(question, citation) or "quoted verbatim"
        else:
            reason = f"the source for “{first_use[citation.id]}”"
        reasons[citation.id] = reason
    return reasons


def shared_words(question: str, citation: Citation) -> str:
    """Name the words of the question that the quotation or title contains; empty without one."""
    source_stems = parse(f"{citation.title} {citation.quote}").stem_set
    matching = [
        word
        for word in dict.fromkeys(parse(question).words)
        if (word_stems := frozenset(parse(word).topic_stems)) and word_stems <= source_stems
    ]
    more = len(matching) - MAX_WORDS
    listing = ", ".join(f"“{visible(word)}”" for word in matching[:MAX_WORDS])
    tail = f" and {more} more words" if more > 0 else ""
    return f"contains {listing}{tail} of the question" if matching else ""


_HEADING = re.compile(r"\s{0,3}(#{1,6})(?:\s|\Z)|\s*(?:\*\*[^*\n]+\*\*:?|__[^_\n]+__:?)\s*\Z")
_MARKS = re.compile(r"[\s>*+•‣▪\-_|:.)\]\[\d]*")
_ITEM = re.compile(r"\s*(?:[-*+•‣▪]|\d{1,3}[.)])\s|\s*\|")


def is_deliverable(item: Checked, *, strict: bool, required: bool, voices: bool) -> bool:
    """Whether a sentence may be delivered; one that states nothing always may.

    ``required`` rejects sentences without a citation, ``voices`` those that the requested speakers
    did not say, and ``strict`` all that are unsupported or without a citation.
    """
    verdict = item.verdict
    if verdict.states_nothing:
        return True
    if not (item.claim.keys or (verdict.key and verdict.source)):
        return not (strict or required)
    return verdict.name != VerdictName.UNSUPPORTED or not (strict or voices)


def drop_flagged(
    kb: KnowledgeBase,
    items: Sequence[Checked],
    evidence: Sequence[Evidence],
    own: Collection[str] = (),
) -> list[Checked]:
    """The sentences that repeat no harmful sentence, alone or together with neighbours.

    Args:
        evidence: the cited pieces; a sentence without citations counts as citing all of them.
        own: sentences by which an expert corrects what they flagged themselves.
    """
    collection_by_key = {piece.key: piece.hit.document.collection for piece in evidence}
    texts = [item.claim.text for item in items]
    all_collections = frozenset(collection_by_key.values())
    scopes = []
    for item in items:
        keys = [key for key in (*item.claim.keys, item.verdict.key) if key in collection_by_key]
        scopes.append(frozenset(collection_by_key[key] for key in keys) or all_collections)
    harmful = {names: flagged_sentences(kb, names).places(texts) for names in dict.fromkeys(scopes)}
    return [
        item
        for at, item in enumerate(items)
        if at not in harmful[scopes[at]] or item.claim.text in own
    ]


def prune(
    text: str, checked: Sequence[Checked], kept: Sequence[Checked]
) -> tuple[str, list[Checked]]:
    """Reduce ``text`` to the claims ``kept``; also return the claims still in it.

    A heading is removed when its section is empty, and a claim that introduces a list ("Two things
    changed:") when no item of the list is left.
    """
    if len(kept) == len(checked):
        return text, list(kept)
    kept_ids = {id(item) for item in kept}
    lines = text.split("\n")
    starts = [0]
    for line in lines:
        starts.append(starts[-1] + len(line) + 1)
    new_lines, owners = list(lines), list[list[int]]([] for _ in lines)
    places, end = [], 0
    for item in checked:
        start = text.find(item.claim.text, end)
        if start >= 0:
            end = start + len(item.claim.text)
            places.append((item, start, end))
    for item, start, end in reversed(places):
        number = bisect_right(starts, start) - 1
        if id(item) in kept_ids:
            owners[number].append(id(item))
        elif end < starts[number + 1]:
            new_lines[number] = _cut(new_lines[number], start - starts[number], end - start)
    for number in reversed(range(len(lines))):
        under = _governed(lines, new_lines, number)
        has_lost = any(lines[other].strip() and not new_lines[other] for other in under)
        if new_lines[number] and has_lost and not any(new_lines[other].strip() for other in under):
            new_lines[number] = ""
            kept_ids.difference_update(owners[number])
    remaining = [
        new
        for old, new in zip(lines, new_lines, strict=True)
        if new or not old.strip()  # keep the draft's own blank lines
    ]
    body = re.sub(r"\n{3,}", "\n\n", "\n".join(remaining)).strip()
    return body, [item for item in kept if id(item) in kept_ids]


def _cut(line: str, start: int, length: int) -> str:
    """Cut a claim out of a line; empty when only list marks and brackets are left."""
    rest = (line[:start] + line[start + length :].lstrip(" ")).rstrip()
    return "" if _MARKS.fullmatch(rest) else rest


def _governed(lines: Sequence[str], new_lines: Sequence[str], number: int) -> list[int]:
    """The indexes of the lines below a heading up to the next one, or of a lead-in's items."""
    level = _level(new_lines[number])
    following = range(number + 1, len(lines))
    if level is not None:
        higher = (at for at in following if (_level(new_lines[at]) or level + 1) <= level)
        return list(range(number + 1, next(higher, len(lines))))
    if not lines[number].rstrip().endswith(":"):
        return []
    items: list[int] = []
    for at in following:
        line = lines[at]
        if not line.strip() and not items:
            continue
        if not _ITEM.match(line) and not (items and line.startswith((" ", "\t"))):
            break
        items.append(at)
    return items


def _level(line: str) -> int | None:
    """The level of a heading, 1-7 (a bold line is 7); None when the line is not a heading."""
    heading = _HEADING.match(line)
    if heading is None:
        return None
    return len(heading.group(1)) if heading.group(1) else 7
