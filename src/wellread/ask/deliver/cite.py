"""The draft as it goes out: without what was not kept, and with citations behind each sentence.

A citation has spans both ways, a quotation, its place and a link. Its marker (``citations.style``)
is one pair of square brackets without another inside, so that whoever reads a stored answer finds
it again whatever the style was.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType

from wellread.ask.retrieve.relax import text_of
from wellread.ask.understand.question_parts import sides_of
from wellread.ask.verify.judge import Rival
from wellread.ask.write.extract_score import BETWEEN_CELLS
from wellread.ask.write.extracts import Extract
from wellread.config import Style
from wellread.kb import KnowledgeBase
from wellread.text.parsed import parse
from wellread.text.sentences import shortened
from wellread.text.words import visible
from wellread.types import DocumentFacts, Mark, Span
from wellread.values.answers import (
    CATALOGUE,
    EXTRACTIVE,
    Answer,
    Checked,
    Citation,
    Conflict,
    Evidence,
    Sentence,
    Verdict,
    VerdictName,
    View,
)
from wellread.values.locators import Marks, format_time, link_to

MarksOver = Callable[[Sequence[tuple[str, Span]]], Sequence[Sequence[Mark]]]
"""The marks that each (document id, span) needs to be located."""

_INSIDE = str.maketrans({"[": "(", "]": ")"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """What is cited of a document: its facts, a quotation and its place."""

    facts: DocumentFacts
    marks: Marks
    quote: str
    span: Span
    relevance: float = 1.0
    why: str = ""

    def citation(self, number: int, answer: Span, verdict: VerdictName) -> Citation:
        """The citation of the source for ``answer``, a span of the answer's text."""
        facts = self.facts
        locator = self.marks.locate(self.span)
        url = facts.url or facts.uri
        return Citation(
            id=number,
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


@dataclass(frozen=True, slots=True)
class Sources:
    """The marks over each piece of evidence, by key, to locate citations by; why some matter."""

    marks: dict[str, Marks]
    why: Mapping[str, str] = field(default_factory=dict)

    def of(self, piece: Evidence, span: Span) -> Source:
        """``span``, of the piece's document, as a source."""
        return Source(
            facts=piece.hit.document,
            marks=self.marks[piece.key],
            quote=text_of(piece, span),
            span=span,
            relevance=round(piece.hit.score, 4),
            why=self.why.get(piece.key, ""),
        )


def sources_of(marks_over: MarksOver, pieces: Sequence[Evidence]) -> Sources:
    """``pieces`` ready to be cited, in one look-up of their marks."""
    marks = marks_over([(piece.hit.document.id, piece.span) for piece in pieces])
    return Sources({piece.key: Marks(found) for piece, found in zip(pieces, marks, strict=True)})


@dataclass(slots=True)
class CitedText:
    """A text with its markers under construction, and what stands behind them."""

    kb: KnowledgeBase
    text: str = ""
    sentences: list[Sentence] = field(default_factory=list)
    citations: list[Citation] = field(default_factory=list)

    def say(self, text: str, verdict: Verdict, sources: Iterable[Source]) -> None:
        """Add a sentence, with a marker for each source that it rests on."""
        span = Span(start=len(self.text), end=len(self.text) + len(text))
        self.text += text
        numbers = []
        for source in sources:
            citation = self.numbered(source.citation(0, span, verdict.name))
            numbers.append(citation.id)
            self.text += f" {styled(self.kb, citation, self.kb.settings.citations.style)}"
        self.sentences.append(
            Sentence(text=text, span=span, verdict=verdict, citations=tuple(numbers))
        )

    def show_all(self, extracts: Sequence[Extract], prefix: str = "") -> None:
        """Add extracts in order, a paragraph each."""
        places = [
            (one.piece.hit.document.id, Span(start=one.parts[0].start, end=one.parts[-1].end))
            for one in extracts
        ]
        marks = self.kb.catalogue.marks_over(places)
        for extract, held in zip(extracts, marks, strict=True):
            self.text += "\n\n" if self.text and not self.text.endswith("\n") else ""
            self.show(extract, Marks(held), prefix)

    def show(self, extract: Extract, marks: Marks, prefix: str = "") -> None:
        """Add an extract under its heading, with one marker behind it.

        Args:
            marks: of its document, over all of the extract.
            prefix: what each of its lines begins with ("> ").
        """
        hit, place = extract.piece.hit, extract.cited
        quote = extract.text[extract.place(place) :][: place.end - place.start]
        score = round(hit.score, 4)
        source = Source(facts=hit.document, marks=marks, quote=quote, span=place, relevance=score)
        begin = len(self.text)
        nowhere = Span(start=begin, end=begin)
        citation = self.numbered(source.citation(0, nowhere, VerdictName.QUOTED))
        pieces = list(_pieces_of(extract, marks))
        last = next((span for _, span in reversed(pieces) if span is not None), None)
        self.text += prefix
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
        if citation.answer_span == nowhere:
            whole = Span(start=begin, end=len(self.text))
            self.citations[citation.id - 1] = replace(citation, answer_span=whole)
        self.text += f" {styled(self.kb, citation, self.kb.settings.citations.style)}"

    def numbered(self, cited: Citation) -> Citation:
        """``cited`` as it is numbered on this page: as the one before of the same source span."""
        for known in self.citations:
            if (known.document_id, known.source_span) == (cited.document_id, cited.source_span):
                return known
        made = replace(cited, id=len(self.citations) + 1)
        self.citations.append(made)
        return made


def cite(
    kb: KnowledgeBase,
    draft: str,
    checked: Sequence[Checked],
    evidence: Sequence[Evidence],
    why: Mapping[str, str],
) -> CitedText:
    """Add a marker after each claim of ``draft`` for every source span that it rests on.

    A claim that is not found in the draft is skipped: only delivered text gets a verdict.
    """
    page = CitedText(kb)
    add_draft(page, draft, checked, evidence, why)
    return page


def cite_extracts(
    kb: KnowledgeBase, extracts: Sequence[Extract], text: str = "", prefix: str = ""
) -> CitedText:
    """The extracts in order, a paragraph each, behind ``text``."""
    page = CitedText(kb, text=text)
    page.show_all(extracts, prefix)
    return page


def _pieces_of(extract: Extract, marks: Marks) -> Iterator[tuple[str, Span | None]]:
    """The extract as Markdown, piece by piece: its sentences with their spans, and what is between.

    It begins with its headings or who speaks; a change of speaker, and a heading in it, is a label;
    the first row of a table gets the line below it that Markdown wants. What only one line parts
    like cells is no table ("P(a | b)").
    """
    done, begun, speaker, table, headed = 0, False, "", False, False
    cells = [extract.of(span).count(BETWEEN_CELLS) for span in extract.sentences]
    for span, before, own, after in zip(
        extract.sentences, [0, *cells], cells, [*cells[1:], 0], strict=False
    ):
        at = extract.place(span)
        text = extract.text[at : at + span.end - span.start]
        between, done = extract.text[done:at], at + len(text)
        row = bool(own) and own in (before, after)
        who = marks.locate(span).speaker or ""
        if marks.heading(span)[-1:] == (text,) and span not in extract.marked:
            if begun:
                yield f"{'' if headed else chr(10) * 2}**{plain(text)}**\n\n", None
            headed = begun
            continue
        if not begun or (who and who != speaker):
            label = plain(who or " › ".join(marks.heading(span)))
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
            yield "\n" + BETWEEN_CELLS.join(["---"] * (own + 1)), None
        begun, speaker, table, headed = True, who, row, False


def plain(label: str) -> str:
    """A heading as it stands between the stars of a label: without marks of its own."""
    return " ".join(label.replace("*", "").split()).rstrip(":")


def add_draft(
    page: CitedText,
    draft: str,
    checked: Sequence[Checked],
    evidence: Sequence[Evidence],
    why: Mapping[str, str] = MappingProxyType({}),
) -> None:
    """Add ``draft`` to a page as ``cite`` does; what was cited before keeps its number."""
    by_key = {piece.key: piece for piece in evidence}
    found = sources_of(page.kb.catalogue.marks_over, list(by_key.values()))
    sources = replace(found, why=why)
    place = 0
    for item in checked:
        start = draft.find(item.claim.text, place)
        if start < 0:
            continue
        page.text += draft[place:start]
        place = start + len(item.claim.text)
        rests_on = [sources.of(piece, span) for piece, span in _rests_on(item, by_key)]
        page.say(item.claim.text, item.verdict, rests_on)
    page.text += draft[place:]


def _rests_on(item: Checked, by_key: dict[str, Evidence]) -> list[tuple[Evidence, Span]]:
    """The evidence that the claim cites, each with the span to open.

    The best span is the verdict's; other cited evidence opens as a whole. Where people speak, it
    is what one of them says: a citation has one speaker.
    """
    verdict = item.verdict
    found: list[tuple[Evidence, Span]] = []
    if verdict.key in by_key and verdict.source is not None:
        found.append((by_key[verdict.key], verdict.source))
    for key in item.claim.keys:
        if key in by_key and key != verdict.key:
            found.append((by_key[key], by_key[key].span))
    return [(piece, of_one_speaker(piece, span, item.claim.text)) for piece, span in found]


def of_one_speaker(piece: Evidence, span: Span, claim: str) -> Span:
    """``span``, cut down to the turn that shares most with ``claim`` where several speak in it."""
    parts = [
        Span(start=max(turn.span.start, span.start), end=min(turn.span.end, span.end))
        for turn in piece.turns
        if turn.span.overlaps(span)
    ]
    if not parts:
        return span
    wanted = parse(claim).stem_set
    best = max(parts, key=lambda part: len(wanted & parse(text_of(piece, part)).stem_set))
    text = text_of(piece, best)
    start = best.start + len(text) - len(text.lstrip())
    return Span(start=start, end=start + len(text.strip()))


def rivals_told(
    page: CitedText, rivals: Sequence[Rival], evidence: Sequence[Evidence]
) -> tuple[Conflict, ...]:
    """Each passage that gives another value, beside the one that a delivered sentence rests on.

    Both quotations are citations of the page.
    """
    by_key = {piece.key: piece for piece in evidence}
    named = {key for rival in rivals for key, _ in (rival.own, rival.other)}
    sources = sources_of(page.kb.catalogue.marks_over, [by_key[key] for key in sorted(named)])
    found = []
    for rival in rivals:
        own = next(
            (one for one in page.sentences if (one.verdict.key, one.verdict.source) == rival.own),
            None,
        )
        if own is None:
            continue
        views = []
        for key, span in (rival.own, rival.other):
            source = sources.of(by_key[key], span)
            cited = page.numbered(source.citation(0, own.span, VerdictName.QUOTED))
            views.append(View(text=source.quote, citations=(cited.id,)))
        found.append(Conflict(about=rival.about, views=tuple(views), reason=rival.reason))
    return tuple(found)


# --- markers ---------------------------------------------------------------------------------


def marker(citation: Citation, style: Style, entity_id: str = "") -> str:
    """The marker of ``citation``; a form that it has no place for becomes the plain title."""
    if style == "number":
        return f"[{citation.id}]"
    page, begin = citation.locator.page, citation.locator.begin
    by_kind = style in ("auto", "entity")
    if by_kind and citation.kind == "entity" and entity_id:
        return f"[Source: {flat(entity_id)}]"
    title = flat(citation.title)
    if page is not None and (style == "page" or (by_kind and citation.kind == "paper")):
        return f"[{title}, p. {page}]"
    if begin is not None and (style == "time" or (by_kind and citation.kind == "transcript")):
        return f"[{title} @ {format_time(begin)}]"
    return f"[{title}]"


def styled(kb: KnowledgeBase, citation: Citation, style: Style) -> str:
    """``marker``, with the entity's id read from the catalogue where the style shows it."""
    if citation.kind != "entity" or style not in ("auto", "entity"):
        return marker(citation, style)
    document = kb.catalogue.document(citation.document_id)
    entity = document.entity if document else None
    return marker(citation, style, entity.entity_id if entity else "")


def flat(text: str) -> str:
    """``text`` as it stands in a marker: on one line, without square brackets."""
    return " ".join(text.translate(_INSIDE).split())


# --- why a cited source matters, in one sentence -------------------------------------------------

MOST_WORDS = 6  # of the question, that are named
LONGEST = 200  # characters of a sentence of the answer


def relevances(answer: Answer) -> Mapping[int, str]:
    """For each citation of ``answer``, by its number, why the source matters to the question."""
    question = answer.standalone or answer.question
    sides = sides_of(question) if answer.type == "comparative" else ()
    rests: dict[int, str] = {}
    for sentence in answer.sentences:
        for number in sentence.citations:
            rests.setdefault(number, shortened(" ".join(sentence.text.split()), LONGEST))
    found = {}
    for citation in answer.citations:
        if answer.answered_by == CATALOGUE:
            first = "one of the documents that the result rests on"
        elif citation.why:
            first = citation.why.rstrip(" .")
        elif answer.answered_by == EXTRACTIVE or citation.id not in rests:
            first = shared(question, citation) or "quoted as it stands"
        else:
            first = f"the answer rests on it for “{rests[citation.id]}”"
        found[citation.id] = "; ".join(
            filter(None, (first, _side(sides, citation), _dated(citation)))
        )
    return found


def shared(asked: str, citation: Citation, what: str = "question") -> str:
    """Which words of ``asked`` the quotation or the title holds, in words; empty without one."""
    held = _stems(citation)
    wanted = [
        word
        for word in dict.fromkeys(parse(asked).words)
        if (own := frozenset(parse(word).topic_stems)) and own <= held
    ]
    more = len(wanted) - MOST_WORDS
    named = ", ".join(f"“{visible(word)}”" for word in wanted[:MOST_WORDS])
    tail = f" and {more} more words" if more > 0 else ""
    return f"holds {named}{tail} of the {what}" if wanted else ""


def _side(sides: Sequence[str], citation: Citation) -> str:
    """The side of a comparison whose words the source holds, where it is one of them alone."""
    held = _stems(citation)
    about = [side for side in sides if (own := parse(side).stem_set) and own <= held]
    return f"tells of the side “{about[0]}”" if len(about) == 1 else ""


def _dated(citation: Citation) -> str:
    return f"published {citation.published_at:%Y-%m-%d}" if citation.published_at else ""


def _stems(citation: Citation) -> frozenset[str]:
    return frozenset(parse(f"{citation.title} {citation.quote}").stem_set)
