"""An answer as it goes out and as a terminal shows it, with what can be told beside it.

Beside it stand the text around its quotations, the coverage of what it was looked for in, and past
questions with expert feedback: a model is told of those in its prompt; without one the reader sees
them, and is told that a near one need not be the same.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from markdown_it.token import Token
from rich.console import Console
from rich.markdown import Markdown
from rich.padding import Padding
from rich.text import Text
from rich.theme import Theme

from wellread.ask.aggregate.execute import CatalogueRequest, worked_out
from wellread.ask.aggregate.read.result import AggregateResult, Row
from wellread.ask.deliver.cite import relevances
from wellread.ask.retrieve.past_questions import SimilarQuestion, like, same, similar_questions
from wellread.ask.retrieve.rated_questions import flagged_sentences, shown_text
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.errors import UnknownCollectionError
from wellread.kb import KnowledgeBase
from wellread.kb.language_models import dollars
from wellread.library.searches import Result
from wellread.serve.terminal import INDENT, linked, print_link, shortened, table
from wellread.serve.views import FACES, Shape, show_quoted, source_link
from wellread.text.sentences import sentence_spans
from wellread.text.words import harmless
from wellread.types import Filters, Span
from wellread.values.answer_blocks import CLOSE, MARK, OPEN, tokens_of
from wellread.values.answers import (
    EXTRACTIVE,
    NOBODY,
    Answer,
    Citation,
    Conflict,
    Event,
    Evidence,
    Sentence,
    SentenceEvent,
    StepEvent,
    TokenEvent,
    VerdictName,
)

LONGEST_CELL = 120
LONGEST_QUOTE = 240

show_quoted(Evidence, "hit.document", "key score=hit.score")


class Cited(
    Shape,
    line="""*citation id number=citation.id relevance score=citation.relevance
    answer_span=citation.answer_span verdict=citation.verdict""",
    id=(str, lambda cited: str(cited.citation.id)),
):
    """Answer span → source span, with the quote and the verdict.

    ``id`` is ``number`` as a string; sentences, views of a conflict and the markers ``[1]`` have
    the number.

    Attributes:
        relevance: why the source matters, in words; ``score`` is of the search that found it.
    """

    citation: Citation
    relevance: str


class PastBeside(Shape):
    """A past question like the new one, with its answer and what an expert put right of it.

    It is an answer given here (``answerId``), or came in a document (``documentId``).

    Attributes:
        answer: at most about 400 characters.
        correction: what the expert put right, or says is wrong with it.
        score: the expert's, of 100.
        similarity: cosine of the two questions.
        verified: whether it is the same question, and not expired.
        expired: why its feedback counts no more; empty while it does.
    """

    question: str
    answer: str
    correction: str
    score: int | None
    similarity: float
    verified: bool
    expired: str
    answer_id: str
    document_id: str
    link: str


def _cited(reply: Any) -> list[Cited]:
    why = relevances(reply.answer)
    return [Cited(citation=one, relevance=why[one.id]) for one in reply.answer.citations]


class AskResponse(
    Shape,
    line="""id=answer.id question=answer.question answer=answer.text citations
    confidence=answer.confidence data_gaps=answer.data_gaps conflicts=answer.conflicts
    related=answer.related suggestions=answer.suggestions notes=answer.notes limits=answer.limits
    table=answer.table session_id=answer.session_id standalone=answer.standalone type=answer.type
    mode=answer.mode cached=answer.cached answered_by=answer.answered_by fallback=answer.fallback
    hallucinated_citations=answer.hallucinated_citations
    repaired_citations=answer.repaired_citations dropped_sentences=answer.dropped_sentences
    sentences=answer.sentences usage=answer.usage steps=answer.steps similar""",
    citations=(tuple[Cited, ...], _cited),
):
    """The answer and its proof. ``answeredBy`` is ``none`` when the material has no answer.

    Attributes:
        similar: past questions like it, beside a new answer that no model wrote.
        standalone: the question as a follow-up was understood; or empty.
        cached: whether an answer given before was given again.
        answered_by: a writer; ``catalogue`` counted; ``none`` declined.
    """

    answer: Answer
    similar: tuple[PastBeside, ...] = ()


def answer_body(answer: Answer, similar: Sequence[PastBeside] = ()) -> AskResponse:
    """The whole answer; ``similar``: past questions to show beside it."""
    return AskResponse(answer=answer, similar=tuple(similar))


def event_body(event: Event, similar: Sequence[PastBeside] = ()) -> tuple[str, object]:
    """The name and the data of a server-sent event; ``similar`` goes with the final one."""
    match event:
        case StepEvent(step=step):
            return "step", step
        case TokenEvent():
            return "token", event
        case SentenceEvent(sentence=sentence):
            return "sentence", sentence
    return "final", answer_body(event.answer, similar)


# --- past questions beside it ----------------------------------------------------------------


def past_beside(kb: KnowledgeBase, answer: Answer) -> tuple[PastBeside, ...]:
    """The past questions like that of ``answer``; none where a model, a count or an expert
    answered.

    Only the borders of collections can be kept to, so an asker who set another limit is shown none.
    """
    unwritten = answer.answered_by == EXTRACTIVE or (answer.answered_by == NOBODY and not kb.model)
    if not answer.id:  # nothing was asked
        return ()
    given = [one for one in answer.limits if one.origin == "asker"]
    bordered = all(one.kind == "collection" for one in given)
    if not (kb.settings.features.similar_questions and unwritten and bordered):
        return ()
    question = answer.standalone or answer.question
    wanted = like(kb, tuple(one.value for one in given))
    own = len(kb.catalogue.feedback.of_answers([answer.id]).get(answer.id, ()))
    # An answer that was judged is like itself; it takes nobody's place.
    wider = replace(wanted, most=wanted.most and wanted.most + own)
    try:
        found = similar_questions(kb, question, wider)
    except UnknownCollectionError:  # it was removed since the answer was given, with all in it
        return ()
    bodies: list[PastBeside] = []
    room = wanted.most
    for one in found:
        if one.rated is not None and one.rated.given.answer_id == answer.id:
            continue
        if not room:
            break
        bodies.append(_beside(kb, question, one))
        room -= not one.expired
    return tuple(bodies)


def _beside(kb: KnowledgeBase, question: str, one: SimilarQuestion) -> PastBeside:
    past, flagged = one.past, flagged_sentences(kb, one.collections)
    asked = one.alone or past.question
    agrees = same(question, asked, one.similarity)
    judged = (each for each in past.sentences if each.harmful or each.content_issue)
    wrong = " ".join(each.explanation for each in judged if each.explanation)
    return PastBeside.of(
        one,
        past,
        answer=shown_text(past.answer, flagged, past.sentences),
        correction=shown_text(one.correction or wrong, flagged),
        verified=agrees and not one.expired,
        answer_id=one.rated.given.answer_id if one.rated else "",
        document_id=one.document.id if one.document else "",
        link=past.expert_citation_url or past.citation_url,
    )


def print_past(console: Console, found: Sequence[PastBeside]) -> None:
    """A short block: each past question, whether it is the same one, and its answer."""
    if not found:
        return
    console.print()
    for one in found:
        head = Text.assemble(("Asked before: ", "bold"), harmless(one.question))
        head.append(f" ({standing(one)})", style="dim")
        console.print(head)
        console.print(Padding(Text(harmless(one.answer)), (0, 0, 0, INDENT)))
        if one.correction:
            said = Text(f"Corrected: {harmless(one.correction)}")
            console.print(Padding(said, (0, 0, 0, INDENT)))
        print_link(console, one.link)


def standing(one: PastBeside) -> str:
    """In words: whether it is the same question, whether its feedback counts, and the rating."""
    parts = ["verified: the same question" if one.verified else "similar, not verified"]
    parts += [f"expired: {one.expired}"] if one.expired else []
    parts += [f"rated {one.score} of 100"] if one.score is not None else []
    return "; ".join(parts)


# --- its surroundings and what it was looked for in ------------------------------------------

REACH = 600  # characters on either side of a quotation that are looked at
NEIGHBOURS = 2  # sentences on either side that are shown
MOST_DIMENSIONS, MOST_PAIRS, MOST_ROWS = 6, 3, 100


class QuoteContext(Shape):
    """The sentences before and after the quotation of citation ``number``."""

    number: int
    before: str
    after: str


def quote_contexts(kb: KnowledgeBase, answer: Answer) -> tuple[QuoteContext, ...]:
    """What stands around each quotation; of a source that has changed since, nothing."""
    live = kb.catalogue.live_versions([one.document_id for one in answer.citations])
    cited = [one for one in answer.citations if live.get(one.document_id) == one.version]
    facts = kb.catalogue.facts({one.document_id for one in cited}) if cited else {}
    places: list[tuple[str, Span]] = []
    for one in cited:
        span, size = one.source_span, facts[one.document_id].characters
        places.append((one.document_id, Span(start=max(0, span.start - REACH), end=span.start)))
        places.append((one.document_id, Span(start=span.end, end=min(size, span.end + REACH))))
    texts = kb.catalogue.texts(places) if places else []
    pairs = zip(cited, texts[::2], texts[1::2], strict=True)
    return tuple(
        QuoteContext(number=one.id, before=_last(before), after=_first(after))
        for one, before, after in pairs
    )


def _last(text: str) -> str:
    spans = sentence_spans(text)[-NEIGHBOURS:]
    cut = len(text) >= REACH and len(spans) < NEIGHBOURS  # it begins in the middle of a sentence
    told = " ".join(span.of(text) for span in spans)
    return f"… {told.partition(' ')[2]}" if cut and spans else told


def _first(text: str) -> str:
    spans = sentence_spans(text)[:NEIGHBOURS]
    cut = len(text) >= REACH and bool(spans) and spans[-1].end >= len(text.rstrip())
    told = " ".join(span.of(text) for span in spans)
    return f"{told.rpartition(' ')[0]} …" if cut else told


def scope_coverage(kb: KnowledgeBase, filters: Filters) -> tuple[AggregateResult, ...]:
    """The coverage of the taxonomy within ``filters``: each dimension, then pairs of them.

    Without a taxonomy, how the documents divide over collections, kinds and years.
    """
    held = vocabulary_of(kb, filters.collections).dimensions
    dimensions = sorted(held)[:MOST_DIMENSIONS]
    asked: list[tuple[str, ...]] = [(one,) for one in dimensions]
    asked += list(combinations(dimensions, 2))[:MOST_PAIRS]
    fields = [CatalogueRequest(form="coverage", by=by, limit=MOST_ROWS) for by in asked or [()]]
    return tuple(worked_out(kb, one, filters) for one in fields)


def print_coverage(console: Console, bodies: Sequence[AggregateResult]) -> None:
    """Each part of the coverage under one heading."""
    console.print()
    console.print(Text("Coverage of what the question could be answered from", style="bold"))
    for body in bodies:
        print_catalogue(console, body)


# --- on a terminal ---------------------------------------------------------------------------

LONGEST_QUOTE = 240
CITED, MARKED = "cited", "marked"  # the styles of a marker, and of what answers in a quotation

_BANDS = {"high": "green", "medium": "yellow", "low": "red", "none": "red"}
_STYLES = {f"markdown.{CITED}": "bold cyan", f"markdown.{MARKED}": "bold"}
_MARKER = re.compile(r"\[\d+(?:, ?\d+)*\]")
_MARKS = re.compile(rf"({MARK.pattern}|{_MARKER.pattern})")


def print_answer(
    console: Console,
    answer: Answer,
    *,
    seconds: float,
    detailed: bool,
    contexts: Sequence[QuoteContext] = (),
) -> None:
    """The answer with a sign per sentence, then sources, confidence, gaps and notes.

    Args:
        detailed: also every step with its seconds.
        contexts: what stands around the quotations, which are then shown whole.
    """
    around = {one.number: one for one in contexts}
    if answer.standalone:
        console.print(Text(f"Understood as: {harmless(answer.standalone)}", style="italic"))
    if answer.answered_by == NOBODY:
        near = "No clear answer in this material"
        told = near if answer.citations else "No answer in this material"
        console.print(Text(told, style="bold yellow"))
    _print_text(console, answer)
    if answer.answered_by != NOBODY:
        _print_checks(console, answer.sentences)
    if answer.citations:
        console.print()
        console.print(Text("Sources", style="bold"))
        for citation in answer.citations:
            _print_citation(console, citation, around.get(citation.id))
    console.print()
    console.print(_confidence(answer))
    _print_list(console, "Missing", answer.data_gaps)
    _print_list(console, "Sources disagree", [_disagreement(each) for each in answer.conflicts])
    _print_list(
        console, "Related", ["; ".join(one.title for one in answer.related)][: len(answer.related)]
    )
    _print_list(console, "Ask next", answer.suggestions)
    _print_list(console, "Note", _notes(answer))
    console.print(Text(_byline(answer, seconds), style="dim"))
    if detailed:
        for step in answer.steps:
            line = f"  {step.name:<14}{step.seconds:>9.3f} s{step.found:>7,} found"
            console.print(Text(line, style="dim"))


def _print_text(console: Console, answer: Answer) -> None:
    """The delivered text, its Markdown drawn, the sign of each sentence after it."""
    page = Markdown("")
    page.inlines = page.inlines | {CITED, MARKED, *VerdictName}
    page.parsed = [_signed(token, answer.sentences) for token in tokens_of(answer)]
    styles = {f"markdown.{name}": name.style for name in VerdictName}
    with console.use_theme(Theme({**styles, **_STYLES})):
        lines = console.render_lines(page, pad=False)
    begun = False
    for line in lines:  # without the blanks that fill them, and those at the top
        shown = Text.assemble(*((piece.text, piece.style or "") for piece in line))
        shown.rstrip()
        begun = begun or bool(shown)
        if begun:
            console.print(shown, soft_wrap=True)


def _signed(token: Token, sentences: Sequence[Sentence]) -> Token:
    """The token with signs in place of the marks of sentences, and its markers in colour."""
    if token.children is not None:
        children = [piece for child in token.children for piece in _pieces(child, sentences)]
        return replace(token, children=children)
    return replace(token, content="".join(text for text, _ in _told(token.content, sentences)))


def _pieces(token: Token, sentences: Sequence[Sentence]) -> Iterator[Token]:
    if not token.content:
        yield token
    for text, style in _told(token.content, sentences):
        if style:
            yield Token("style_open", style, 1)
        yield Token("text", "", 0, content=text) if style else replace(token, content=text)
        if style:
            yield Token("style_close", style, -1)


def _told(content: str, sentences: Sequence[Sentence]) -> Iterator[tuple[str, str]]:
    """The text in pieces, each with the name of its style or none."""
    style = ""
    for piece in filter(None, _MARKS.split(content)):
        if piece[0] == CLOSE:
            style, sentence = "", sentences[int(piece.strip(CLOSE)) - 1]
            if not sentence.within:
                yield f" {sentence.verdict.name.symbol}", sentence.verdict.name
        elif piece[0] == OPEN:
            style = MARKED if sentences[int(piece.strip(OPEN)) - 1].marked else ""
        else:
            yield piece, CITED if _MARKER.fullmatch(piece) else style


def print_evidence(console: Console, pieces: Sequence[Evidence]) -> None:
    """The passages that an answer could rest on."""
    if not pieces:
        console.print(Text("Nothing in this material is near the question.", style="yellow"))
    for number, piece in enumerate(pieces, start=1):
        print_source(console, f"[{number}]", piece, f"{piece.hit.score:.2f}")


def _disagreement(conflict: Conflict) -> str:
    views = "; ".join(
        f"“{view.text}” {' '.join(f'[{known}]' for known in view.citations)}".rstrip()
        for view in conflict.views
    )
    said = f"{conflict.about}: {views}" if views else conflict.about
    return f"{said} ({conflict.reason})" if conflict.reason else said


def _print_checks(console: Console, sentences: Sequence[Sentence]) -> None:
    """How many sentences have which verdict, and the reason of each that is not borne out."""
    if not sentences:
        return
    counts = Counter(sentence.verdict.name for sentence in sentences)
    line = Text.assemble(("\nChecked: ", "dim"))
    for place, name in enumerate(name for name in VerdictName if counts[name]):
        line.append(", " if place else "", style="dim")
        line.append(name.symbol, style=name.style)
        line.append(f" {counts[name]} {name.label}", style="dim")
    console.print(line)
    for sentence in sentences:
        if not sentence.verdict.name.whole and sentence.verdict.reason:
            name = sentence.verdict.name
            note = Text.assemble((f"{name.symbol} ", name.style))
            note.append(f"“{shortened(sentence.text, 60)}”: {harmless(sentence.verdict.reason)}")
            console.print(Padding(note, (0, 0, 0, 2)))


def _print_citation(
    console: Console, citation: Citation, context: QuoteContext | None = None
) -> None:
    head = Text.assemble((f"[{citation.id}] ", "bold cyan"))
    head.append(_titled(citation.title, citation.locator.label), style=linked(citation.link))
    if context is None:
        head.append(f" — “{shortened(citation.quote, LONGEST_QUOTE)}” ")
    head.append(
        citation.verdict.symbol if context is None else f" {citation.verdict.symbol}",
        style=citation.verdict.style,
    )
    console.print(head)
    if context is not None:
        console.print(Padding(_in_context(citation, context), (0, 0, 0, INDENT)))
    print_link(console, citation.link)


def _in_context(citation: Citation, context: QuoteContext) -> Text:
    """The quotation set off among the sentences around it."""
    before, quote, after = (
        harmless(" ".join(part.split())) for part in (context.before, citation.quote, context.after)
    )
    parts = [(before, "dim"), (f"“{quote}”", "bold"), (after, "dim")]
    return Text(" ").join(Text(words, style=style) for words, style in parts if words)


def _titled(title: str, locator: str) -> str:
    return harmless(f"{title}, {locator}" if locator else title)


def _confidence(answer: Answer) -> Text:
    confidence = answer.confidence
    line = Text("Confidence ")
    line.append(f"{confidence.score:.0%} ({confidence.band})", style=_BANDS[confidence.band])
    if confidence.reasoning:
        line.append(f": {harmless(confidence.reasoning)}")
    return line


def _notes(answer: Answer) -> list[str]:
    notes = list(answer.notes)
    if answer.fallback:
        notes.insert(0, f"written by {answer.answered_by}: {answer.fallback}")
    if answer.hallucinated_citations:
        notes.append(f"{answer.hallucinated_citations} citations of unknown sources were removed")
    return notes


def _byline(answer: Answer, seconds: float) -> str:
    who = "Declined" if answer.answered_by == NOBODY else f"Answered by {answer.answered_by}"
    tokens = answer.usage.input_tokens + answer.usage.output_tokens
    spent = f", {tokens:,} tokens" if tokens else ""
    spent += f", {dollars(answer.usage.cost)}" if answer.usage.cost else ""
    again = ", as before" if answer.cached else ""
    found = answer.usage.clusters
    stories = f", {found} cluster{'' if found == 1 else 's'} retrieved" if found else ""
    return harmless(f"{who} in {seconds:.2f} s ({answer.mode}{stories}{spent}{again})")


def _print_list(console: Console, name: str, lines: Sequence[str]) -> None:
    for line in lines:
        console.print(Text.assemble((f"{name}: ", "bold"), harmless(line)))


# --- quoted places, and what is counted and listed by fields ---------------------------------

FACES.show(Row, "cells documents=document_ids")
FACES.show(
    AggregateResult,
    "kind sentence number columns rows absent method notes",
    notes=(tuple[str, ...], lambda result: [*result.notes, *result.failures]),
)


def print_catalogue(console: Console, result: AggregateResult) -> None:
    """The sentence, the rows as a table, and how they came about."""
    console.print(harmless(result.sentence), markup=False)
    if result.rows:
        rows = (
            [" ".join(cell.split())[:LONGEST_CELL] for cell in row.cells] for row in result.rows
        )
        console.print(table(result.columns, rows, header_style="bold"))
    for line in (*result.notes, *result.failures, result.method):
        if line:
            console.print(harmless(line), style="dim", markup=False)


def print_source(console: Console, mark: str, source: Result | Evidence, *facts: str) -> None:
    """A quoted place: title and locator with the link, facts about it, and its first words."""
    document, place = source.hit.document, source.locator.label
    link = source_link(document, source.locator, source.text)
    head = Text.assemble((f"{mark} ", "bold cyan"))
    head.append(harmless(f"{document.title}, {place}" if place else document.title), linked(link))
    day = [f"{document.published_at:%Y-%m-%d}"] if document.published_at else []
    head.append(f"  {', '.join((document.kind, *day, *facts))}", style="dim")
    console.print(head)
    quote = Text(f"“{shortened(source.text, LONGEST_QUOTE)}”")
    console.print(Padding(quote, (0, 0, 0, INDENT)))
    print_link(console, link)
