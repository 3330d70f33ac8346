"""Documents and recordings: lists of them, one whole, and a transcript turn by turn."""

from __future__ import annotations

from datetime import datetime

from pydantic import Field
from rich.console import Console
from rich.table import Table
from rich.text import Text

from wellread.library.named_things import WholeDocument
from wellread.library.recordings import Recording, Recordings, Transcript, Turn
from wellread.serve.features.bodies import Body, PlaceBody, SpanBody, document_view, view_url
from wellread.serve.features.entity_views import EntityRefBody
from wellread.serve.terminal import SHORT_ID, day_words, fold, right, table, whole
from wellread.store.catalogue.documents.listings import DocumentPage, ListedDocument
from wellread.text.words import harmless
from wellread.types import DocumentFacts, Kind
from wellread.values.locators import Marks, format_time, link_to

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
