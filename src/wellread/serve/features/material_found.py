"""Passages that were found or listed, a passage among its neighbours, and past questions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Literal

from pydantic import Field
from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from wellread.ask.aggregate.catalogue_request import CatalogueRequest
from wellread.ask.aggregate.execute import worked_out
from wellread.ask.aggregate.queries.result import AggregateResult
from wellread.ask.retrieve.flagged_sentences import FlaggedSentences, flagged_sentences
from wellread.ask.retrieve.past_questions import (
    Comparison,
    Like,
    SimilarQuestion,
    formatted,
    like,
    similar_questions,
)
from wellread.ask.retrieve.rated_questions import without_flagged
from wellread.ask.retrieve.search import SearchMode
from wellread.errors import RequestError
from wellread.kb import KnowledgeBase
from wellread.library.document_lists import WholeDocument, topics
from wellread.library.recordings import Recording, Recordings, Transcript, Turn
from wellread.library.searches import Result, Results, Surroundings, find, newest
from wellread.library.uploads import uploaded_file
from wellread.locators import Marks, format_time, link_to
from wellread.serve.features.entities_shown import EntityRefBody
from wellread.serve.features.timelines_shown import TopicBody, topic_body
from wellread.serve.features.views import (
    Body,
    PlaceBody,
    RankBody,
    SourceBody,
    SpanBody,
    document_view,
    view_url,
)
from wellread.serve.terminal import (
    INDENT,
    SHORT_ID,
    day_words,
    fold,
    linked,
    print_link,
    right,
    shortened,
    table,
    whole,
)
from wellread.store.catalogue.documents.listings import DocumentPage, ListedDocument
from wellread.text.words import harmless
from wellread.types import DocumentFacts, Filters, Kind

LONGEST_QUOTE = 240


class ResultBody(SourceBody):
    """A passage; ``quote`` is all of it, or what the speaker asked for says in it.

    ``score``, ``similarity`` and ``ranks`` are of a search; a list has none.
    """

    passage_id: str
    collection: str
    authors: tuple[str, ...]
    speakers: tuple[str, ...]
    score: float | None
    similarity: float | None
    ranks: tuple[RankBody, ...]


class LimitsBody(Body):
    """What a search was limited to, names as the documents have them."""

    collections: tuple[str, ...]
    kinds: tuple[Kind, ...]
    speakers: tuple[str, ...]
    authors: tuple[str, ...]
    languages: tuple[str, ...]
    source_types: tuple[str, ...]
    taxonomy: tuple[str, ...]
    published_from: datetime | None
    published_to: datetime | None


class ResultsBody(Body):
    """What was found, best first; without a query, what is there, newest first.

    ``total`` is the length of a whole list; null for a search, which ranks and does not count.
    """

    query: str
    mode: Literal["hybrid", "text", "vector"] | None
    limits: LimitsBody
    notes: tuple[str, ...] = Field(description="which words were searched for in another spelling")
    total: int | None
    results: tuple[ResultBody, ...]


class SurroundingsBody(Body):
    """A passage among those around it; it is number ``ordinal`` (from 0) of ``passages``."""

    document_id: str
    title: str
    passage_id: str
    ordinal: int
    passages: int
    before: tuple[ResultBody, ...]
    passage: ResultBody
    after: tuple[ResultBody, ...]


def found_body(
    kb: KnowledgeBase, query: str, limits: Filters, mode: SearchMode, page: tuple[int, int]
) -> ResultsBody:
    """What was found, or without a query listed; ``page``: limit and offset.

    Raises:
        UnknownCollectionError, UnknownNameError: a limit names what is not there.
    """
    if query.strip():
        return ranked_body(kb, query, limits, mode, page)
    limit, offset = page
    return results_body(newest(kb, limits, limit=limit, offset=offset), None)


def ranked_body(
    kb: KnowledgeBase, query: str, limits: Filters, mode: SearchMode, page: tuple[int, int]
) -> ResultsBody:
    """What was found; ``page``: limit and offset.

    Raises:
        RequestError: the query is empty.
        UnknownCollectionError, UnknownNameError: a limit names what is not there.
    """
    limit, offset = page
    found = find(kb, query, limits, mode=mode, limit=offset + limit)
    return results_body(replace(found, results=found.results[offset:]), mode)


def results_body(found: Results, mode: SearchMode | None) -> ResultsBody:
    """What a search found (by ``mode``), or a list has."""
    ranked = found.total is None
    limits = found.filters
    return ResultsBody.of(
        found,
        mode=mode if ranked else None,
        limits=LimitsBody.of(
            limits, taxonomy=[f"{name}={value}" for name, value in limits.taxonomy]
        ),
        results=[result_body(one, ranked=ranked) for one in found.results],
    )


def result_body(result: Result, *, ranked: bool = False) -> ResultBody:
    """A passage; with its score and places when it was ``ranked``."""
    hit = result.hit
    return ResultBody.at(
        hit.document,
        result.span,
        result.text,
        result.locator,
        hit,
        passage_id=hit.passage.id,
        speakers=hit.passage.speakers,
        score=hit.score if ranked else None,
    )


def surroundings_body(found: Surroundings) -> SurroundingsBody:
    """A passage among those around it."""
    bodies = [result_body(one) for one in found.results]
    middle = next(place for place, body in enumerate(bodies) if body.passage_id == found.passage_id)
    return SurroundingsBody.of(
        found,
        document_id=found.document.id,
        title=found.document.title,
        before=bodies[:middle],
        passage=bodies[middle],
        after=bodies[middle + 1 :],
    )


def print_results(console: Console, body: ResultsBody) -> None:
    """What a search found with its place in each ranked list, or a list newest first."""
    for note in body.notes:
        console.print(Text(harmless(note), style="dim"))
    if not body.results:
        what = f"found for “{harmless(body.query)}”" if body.query else "there within these limits"
        console.print(Text(f"Nothing {what}.", style="yellow"))
        return
    for number, result in enumerate(body.results, start=1):
        facts = [result.passage_id[:SHORT_ID]]
        if result.score is not None:
            places = ", ".join(f"{place.name} #{place.rank}" for place in result.ranks)
            facts.insert(0, f"{result.score:.3f} ({places})")
        print_source(console, f"{number}.", result, *facts)
    if body.total is not None and body.total > len(body.results):
        what = "passages" if body.limits.speakers else "documents"
        more = f"… the newest of {body.total:,} {what}; words rank them by what they say"
        console.print(Text(more, style="dim"))


def print_surroundings(console: Console, body: SurroundingsBody) -> None:
    """The passage in full, and those around it dimmed."""
    head = Text(harmless(body.title), style="bold")
    head.append(f"  passage {body.ordinal + 1:,} of {body.passages:,}", style="dim")
    console.print(head, soft_wrap=True)
    for result in body.before:
        _print_whole(console, result, "dim")
    _print_whole(console, body.passage, "")
    for result in body.after:
        _print_whole(console, result, "dim")
    print_link(console, body.passage.link)


def print_source(console: Console, mark: str, source: SourceBody, *facts: str) -> None:
    """A quoted place: title and locator with the link, facts about it, and its first words."""
    head = Text.assemble((f"{mark} ", "bold cyan"))
    title = f"{source.title}, {source.locator}" if source.locator else source.title
    head.append(harmless(title), style=linked(source.link))
    day = [f"{source.published_at:%Y-%m-%d}"] if source.published_at else []
    head.append(f"  {', '.join((source.kind, *day, *facts))}", style="dim")
    console.print(head)
    quote = Text(f"“{shortened(source.quote, LONGEST_QUOTE)}”")
    console.print(Padding(quote, (0, 0, 0, INDENT)))
    print_link(console, source.link)


def _print_whole(console: Console, result: ResultBody, style: str) -> None:
    place = f"{harmless(result.locator)}  " if result.locator else ""
    console.print()
    line = Text.assemble((place, "bold cyan" if not style else "cyan"))
    line.append(result.passage_id[:SHORT_ID], style="dim")
    console.print(line, soft_wrap=True)
    console.print(Text(harmless(result.quote), style=style))


class SentenceJudgementBody(Body):
    """An expert's word on one sentence of the answer."""

    score: int | None
    explanation: str
    harmful: bool
    content_issue: bool


class SimilarQuestionBody(Body):
    """A past question; ``expired`` says why its feedback counts no more, and is empty else.

    It came in a document, or is an answer given here (``answer_id``), which an expert may have put
    right (``correction``).
    """

    document_id: str
    answer_id: str
    correction: str
    collection: str
    similarity: float
    question: str
    flow: tuple[str, ...]
    answer: str
    score: int | None
    feedback: tuple[SentenceJudgementBody, ...]
    citation_url: str
    expert_citation_url: str
    language: str
    expired: str


class SimilarBody(Body):
    """The past questions, the most similar first; ``prompt`` is what a model is shown of them."""

    question: str
    results: tuple[SimilarQuestionBody, ...]
    prompt: str


def wanted_like(
    kb: KnowledgeBase,
    collections: tuple[str, ...],
    *,
    rating: tuple[int | None, Comparison],
    language: str,
    threshold: float | None,
    limit: int | None,
) -> Like:
    """Which past questions are wanted; what is not given is as in the settings."""
    usual = like(kb, collections)
    score, comparison = rating
    return Like(
        threshold=usual.threshold if threshold is None else threshold,
        most=limit or usual.most,
        rating=usual.rating if score is None else score,
        comparison=usual.comparison if score is None else comparison,
        language=language.strip().lower(),
        collections=usual.collections,
    )


def similar_body(
    kb: KnowledgeBase,
    question: str,
    wanted: Like,
    may_edit: Callable[[str], bool] = lambda _: True,
) -> SimilarBody:
    """What is asked for; experts' explanations only of collections that the asker may edit.

    Raises:
        RequestError: the question is empty.
        UnknownCollectionError: a collection that does not exist.
    """
    if not question.strip():
        raise RequestError("the question is empty", hint="give the question to compare with")
    near = similar_questions(kb, question, wanted)
    flagged = partial(flagged_sentences, kb)
    found = [
        one if all(map(may_edit, one.collections or ("",))) else _unexplained(one) for one in near
    ]
    return SimilarBody.of(
        question=question,
        results=[_similar_question(one, flagged(one.collections)) for one in found],
        prompt=formatted(found, flagged),
    )


def _unexplained(one: SimilarQuestion) -> SimilarQuestion:
    judged = tuple(replace(each, explanation="") for each in one.past.sentences)
    return replace(one, past=replace(one.past, sentences=judged))


def _similar_question(one: SimilarQuestion, flagged: FlaggedSentences) -> SimilarQuestionBody:
    document, rated = one.document, one.rated
    return SimilarQuestionBody.of(
        one,
        one.past,
        document_id=document.id if document else "",
        answer_id=rated.given.answer_id if rated else "",
        collection=next(iter(one.collections), ""),
        language=document.language if document else "",
        answer=without_flagged(one.past.answer, flagged),
        correction=without_flagged(one.correction, flagged),
        feedback=one.past.sentences,
    )


def print_similar(console: Console, body: SimilarBody) -> None:
    """Each past question with its answer and what was said of its sentences."""
    if not body.results:
        console.print(Text("No past question is like this one.", style="yellow"))
    for number, one in enumerate(body.results):
        if number:
            console.print()
        score = f", rated {one.score}/100" if one.score is not None else ""
        head = Text(harmless(one.question), style="bold")
        head.append(f"  {one.similarity:.2f}{score}", style="dim")
        console.print(head)
        console.print(Text(harmless(one.answer)))
        for sentence in one.feedback:
            said = [f"{sentence.score}/100"] if sentence.score is not None else []
            said += [harmless(sentence.explanation)] if sentence.explanation else []
            said += ["harmful"] if sentence.harmful else []
            said += ["content issue"] if sentence.content_issue else []
            if said:
                console.print(Text(f"  - {'; '.join(said)}"))
        link = one.expert_citation_url or one.citation_url
        if link:
            console.print(Text(f"  {harmless(link)}", style="dim"), soft_wrap=True)
        if one.correction and not one.expired:
            console.print(Text(f"Corrected: {harmless(one.correction)}", style="green"))
        if one.expired:
            console.print(Text(f"Expired: {harmless(one.expired)}", style="yellow"))


LONGEST_CELL = 120


class CatalogueRowBody(Body):
    """A row, and the ids of the documents that it rests on."""

    cells: tuple[str, ...]
    documents: tuple[str, ...]


class CatalogueResponse(Body):
    """The result in a sentence, as rows, and how it was worked out."""

    kind: str
    sentence: str
    number: int | None = Field(description="what was counted; of a list its whole length")
    columns: tuple[str, ...]
    rows: tuple[CatalogueRowBody, ...]
    absent: bool = Field(description="whether nothing of what was asked for is there")
    method: str
    notes: tuple[str, ...]


def catalogue_body(kb: KnowledgeBase, asked: CatalogueRequest) -> CatalogueResponse:
    """The result of the query.

    Raises:
        RequestError: a field cannot be as it is given; the message begins with its name.
        UnknownCollectionError: a collection that does not exist.
    """
    return worked_out_body(worked_out(kb, asked))


def worked_out_body(result: AggregateResult) -> CatalogueResponse:
    """A result of the catalogue."""
    return CatalogueResponse.of(
        result,
        rows=[CatalogueRowBody.of(row, documents=row.document_ids) for row in result.rows],
        notes=(*result.notes, *result.failures),
    )


def print_catalogue(console: Console, body: CatalogueResponse) -> None:
    """The sentence, the rows as a table, and how they came about."""
    console.print(harmless(body.sentence), markup=False)
    if body.rows:
        rows = ([" ".join(cell.split())[:LONGEST_CELL] for cell in row.cells] for row in body.rows)
        console.print(table(body.columns, rows, header_style="bold"))
    for line in (*body.notes, body.method):
        if line:
            console.print(harmless(line), style="dim", markup=False)


MOST_SPEAKERS = 4


class DocumentBody(Body):
    """A document on a list."""

    document_id: str
    collection: str
    uri: str
    kind: Kind
    title: str
    url: str
    view_url: str
    source_type: str
    language: str
    authors: tuple[str, ...]
    published_at: datetime | None
    added_at: datetime
    media_url: str
    summary: str
    taxonomy: dict[str, tuple[str, ...]]
    characters: int
    passages: int


class DocumentsBody(Body):
    """A page of a list, and how long the whole of it is."""

    total: int
    offset: int
    documents: tuple[DocumentBody, ...]


class NamedEntityBody(EntityRefBody):
    """An entity, and how often the document names it."""

    mentions: int


class FindingBody(Body):
    """A sentence in which a paper states what it found, verbatim, and where it stands."""

    quote: str
    locator: str
    place: PlaceBody
    link: str
    view_url: str
    source_span: SpanBody


class WholeDocumentBody(DocumentBody):
    """A document with its ``text`` (null when it was not asked for) and whom it names."""

    version: str
    speakers: tuple[str, ...]
    abstract: str | None = Field(description="of a paper, empty where it has none; else null")
    key_findings: tuple[FindingBody, ...] = Field(
        description="of a paper: sentences of its abstract, conclusion and results, verbatim"
    )
    entities: tuple[NamedEntityBody, ...]
    text: str | None


class RecordingBody(Body):
    """A transcript, or another document with a recording; ``duration`` in seconds."""

    document_id: str
    collection: str
    kind: Kind
    title: str
    url: str
    view_url: str
    media_url: str
    language: str
    published_at: datetime | None
    duration: float | None
    speakers: tuple[str, ...]
    segments: int


class RecordingsBody(Body):
    """A page of a list, and how long the whole of it is."""

    total: int
    offset: int
    videos: tuple[RecordingBody, ...]


class CueBody(Body):
    """A part of a turn with its own time, in seconds."""

    source_span: SpanBody
    begin: float
    finish: float | None


class TurnBody(Body):
    """What one speaker says without a break; ``begin`` and ``finish`` in seconds."""

    speaker: str
    begin: float | None
    finish: float | None
    text: str
    locator: str
    place: PlaceBody
    link: str
    view_url: str
    source_span: SpanBody
    passage_id: str
    cues: tuple[CueBody, ...]


class TranscriptBody(RecordingBody):
    """A recording with its turns: all of them (``total``), or those that were asked for."""

    total: int
    turns: tuple[TurnBody, ...]


def documents_body(page: DocumentPage, offset: int) -> DocumentsBody:
    """A page of documents."""
    documents = [DocumentBody.of(one, one.facts, **_named(one)) for one in page.documents]
    return DocumentsBody.of(total=page.total, offset=offset, documents=documents)


def whole_document_body(found: WholeDocument, *, text: bool = True) -> WholeDocumentBody:
    """One document, with its text or without."""
    return WholeDocumentBody.of(
        found.listed,
        found.listed.facts,
        **_named(found.listed),
        speakers=found.speakers,
        abstract=found.document.summary if found.document.kind == "paper" else None,
        key_findings=_findings(found),
        entities=[
            NamedEntityBody.of(
                one.node,
                view_url=document_view(one.node.document_id),
                mentions=len(one.places),
            )
            for one in found.entities
        ],
        text=found.document.text if text else None,
    )


def _findings(found: WholeDocument) -> list[FindingBody]:
    facts, document = found.listed.facts, found.document
    marks, url = Marks(document.marks), facts.url or facts.uri
    bodies = []
    for span in found.findings:
        place, quote = marks.locate(span), span.of(document.text)
        body = FindingBody.of(
            place,
            quote=quote,
            locator=place.label,
            place=place,
            link=link_to(url, place, quote),
            view_url=view_url(facts.id, facts.version, span),
            source_span=span,
        )
        bodies.append(body)
    return bodies


def recordings_body(found: Recordings, offset: int) -> RecordingsBody:
    """A page of recordings."""
    videos = [
        RecordingBody.of(one, one.document.facts, **_recorded(one)) for one in found.recordings
    ]
    return RecordingsBody.of(total=found.total, offset=offset, videos=videos)


def transcript_body(found: Transcript) -> TranscriptBody:
    """A transcript with its turns."""
    facts = found.recording.document.facts
    return TranscriptBody.of(
        found.recording,
        facts,
        **_recorded(found.recording),
        total=found.total,
        turns=[_turn(facts, turn) for turn in found.turns],
    )


def _placed(facts: DocumentFacts) -> dict[str, object]:
    return {
        "document_id": facts.id,
        "url": facts.url or facts.uri,
        "view_url": document_view(facts.id),
    }


def _named(listed: ListedDocument) -> dict[str, object]:
    return {**_placed(listed.facts), "taxonomy": dict(listed.taxonomy)}


def _recorded(recording: Recording) -> dict[str, object]:
    return {**_placed(recording.document.facts), "segments": recording.document.passages}


def _turn(facts: DocumentFacts, turn: Turn) -> TurnBody:
    url = facts.url or facts.uri
    return TurnBody.of(
        turn,
        locator=turn.locator.label,
        place=turn.locator,
        link=link_to(url, turn.locator, turn.text, media_url=facts.media_url),
        view_url=view_url(facts.id, facts.version, turn.span),
        source_span=turn.span,
        cues=[CueBody.of(cue, source_span=cue.span) for cue in turn.cues],
    )


def print_documents(console: Console, body: DocumentsBody) -> None:
    """A line for each document, and how many there are."""
    columns = (
        whole("date", "dim"),
        whole("kind"),
        fold("collection"),
        fold("title"),
        right("passages"),
        whole("id", "dim"),
    )
    rows = []
    for one in body.documents:
        title = Text(harmless(one.title))
        if one.authors:
            title.append(f"  {harmless(', '.join(one.authors))}", style="dim")
        known = (one.collection, title, f"{one.passages:,}", one.document_id[:SHORT_ID])
        rows.append((day_words(one.published_at), one.kind, *known))
    _print_page(console, table(columns, rows), body.offset, body.total, "documents")


def print_recordings(console: Console, body: RecordingsBody) -> None:
    """A line for each recording, and how many there are."""
    columns = (
        whole("date", "dim"),
        right("length"),
        fold("title"),
        fold("who speaks", "cyan"),
        right("segments"),
        whole("id", "dim"),
    )
    rows = []
    for one in body.videos:
        more = len(one.speakers) - MOST_SPEAKERS
        who = ", ".join(one.speakers[:MOST_SPEAKERS]) + (f" and {more} more" if more > 0 else "")
        length = "" if one.duration is None else format_time(one.duration)
        known = (who, f"{one.segments:,}", one.document_id[:SHORT_ID])
        rows.append((day_words(one.published_at), length, one.title, *known))
    _print_page(console, table(columns, rows), body.offset, body.total, "recordings")


def print_transcript(console: Console, body: TranscriptBody) -> None:
    """Title and facts, then every turn with its time and speaker."""
    console.print(Text(harmless(body.title), style="bold"), soft_wrap=True)
    facts = [body.document_id, day_words(body.published_at)]
    if body.duration is not None:
        facts.append(format_time(body.duration))
    facts.append(f"{len(body.turns):,} of {body.total:,} turns")
    console.print(Text(" · ".join(facts), style="dim"), soft_wrap=True)
    if body.media_url:
        console.print(Text(harmless(body.media_url), style="dim"), soft_wrap=True)
    if not body.turns:
        console.print(Text("Nothing is said there.", style="yellow"))
    for turn in body.turns:
        head = Text()
        if turn.begin is not None:
            head.append(f"{format_time(turn.begin)}  ", style="dim")
        head.append(harmless(turn.speaker), style="bold cyan")
        console.print()
        if head.plain:
            console.print(head, soft_wrap=True)
        console.print(Text(harmless(turn.text)))


def _print_page(console: Console, page: Table, offset: int, total: int, what: str) -> None:
    """A page of a list, and which part of the list it is."""
    shown = page.row_count
    if not shown:
        reason = (
            f"there are {total:,}, fewer than the offset" if total else "none within these limits"
        )
        console.print(Text(f"No {what}: {reason}.", style="yellow"))
        return
    console.print(page)
    if offset or shown < total:
        part = f"{offset + 1:,} to {offset + shown:,} of {total:,} {what} (--limit, --offset)"
    else:
        part = f"{total:,} {what if total != 1 else what.removesuffix('s')}"
    console.print(Text(part, style="dim"))


DocumentState = Literal["ready", "words ready"]
MOST_TROUBLED = 200


class LibraryDocumentBody(DocumentBody):
    """A document with its state: ``words ready`` is found by its words, and not yet by meaning.

    ``source`` is how it is named to remove it; ``uploaded``: its file lies in the home.
    """

    state: DocumentState
    source: str
    uploaded: bool


class TroubledSourceBody(Body):
    """A source that yielded nothing, and why."""

    collection: str
    uri: str
    status: str
    reason: str


class LibraryBody(Body):
    """Collections, a page of their documents, and what could not be read."""

    collections: tuple[TopicBody, ...]
    total: int
    offset: int
    documents: tuple[LibraryDocumentBody, ...]
    troubled: tuple[TroubledSourceBody, ...]


def library_body(
    kb: KnowledgeBase, page: DocumentPage, offset: int, collections: Sequence[str]
) -> LibraryBody:
    """The library, or some collections of it.

    Raises:
        UnknownCollectionError: ``collections`` names one that does not exist.
        StoreError: the catalogue cannot be read.
    """
    listed = documents_body(page, offset)
    owing = kb.catalogue.vectors.owing(one.document_id for one in listed.documents)
    sources = kb.catalogue.known_sources(one.uri for one in listed.documents)
    documents = [
        LibraryDocumentBody.of(
            one,
            state="words ready" if one.document_id in owing else "ready",
            source=one.uri if (one.collection, one.uri) in sources else one.document_id,
            uploaded=uploaded_file(kb, one.uri) is not None,
        )
        for one in listed.documents
    ]
    return LibraryBody.of(
        collections=[topic_body(one) for one in topics(kb, collections, entities=0)],
        total=listed.total,
        offset=offset,
        documents=documents,
        troubled=kb.catalogue.troubled_sources(collections, MOST_TROUBLED),
    )
