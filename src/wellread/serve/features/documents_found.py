"""Documents and recordings: lists of them, one whole, a transcript turn by turn."""

from __future__ import annotations

from collections.abc import Callable
from operator import attrgetter
from typing import Annotated, Any

from fastapi import Query, Request
from rich.console import Console
from rich.table import Table
from rich.text import Text

from wellread.library.named_things import WholeDocument, listed, whole
from wellread.library.recordings import (
    Cue,
    Recording,
    Recordings,
    Transcript,
    Turn,
    recordings,
    transcript,
)
from wellread.serve.features.feature import (
    FeatureRouter,
    ListQuery,
    Scope,
)
from wellread.serve.guards.route_rules import Kb, note_opened
from wellread.serve.terminal import (
    SHORT_ID,
    day_words,
    fold,
    right,
    table,
)
from wellread.serve.terminal import whole as as_wide
from wellread.serve.views import (
    FACES,
    Shape,
    address_of,
    document_view,
    opened_at,
    source_link,
)
from wellread.store.catalogue.documents.entity_graph import EntityMentions
from wellread.store.catalogue.documents.listings import DocumentPage, ListedDocument
from wellread.text.periods import seconds_of
from wellread.text.words import harmless
from wellread.types import DocumentFacts
from wellread.values.locators import format_time

router = FeatureRouter()
MOST_SIMILAR = 50
LONGEST_QUOTE = 240
LONGEST_CELL = 120
MOST_SPEAKERS = 4
MOST_TROUBLED = 200

# --- documents and recordings ----------------------------------------------------------------


def _addresses(path: str) -> dict[str, Any]:
    """Where the document at ``path`` is opened: at its source, and in the viewer."""
    document: Callable[[Any], DocumentFacts] = attrgetter(path)
    return {
        "url": (str, lambda value: address_of(document(value))),
        "view_url": (str, lambda value: document_view(document(value).id)),
    }


FACES.show(
    ListedDocument,
    """document_id=facts.id collection=facts.collection uri=facts.uri kind=facts.kind
    title=facts.title url view_url source_type=facts.source_type language=facts.language
    authors=facts.authors published_at=facts.published_at added_at media_url=facts.media_url
    summary taxonomy characters=facts.characters passages""",
    **_addresses("facts"),
)
FACES.show(EntityMentions, "*node mentions", mentions=(int, lambda named: len(named.places)))
FACES.show(
    Recording,
    """document_id=document.facts.id collection=document.facts.collection kind=document.facts.kind
    title=document.facts.title url view_url media_url=document.facts.media_url
    language=document.facts.language published_at=document.facts.published_at duration speakers
    segments=document.passages""",
    **_addresses("document.facts"),
)
FACES.show(Cue, "source_span=span begin finish")


class SpokenTurn(
    Shape,
    line="""speaker=turn.speaker begin=turn.begin finish=turn.finish text=turn.text
    locator=turn.locator.label place=turn.locator link view_url source_span=turn.span
    passage_id=turn.passage_id cues=turn.cues""",
    link=(str, lambda said: source_link(said.document, said.turn.locator, said.turn.text)),
    view_url=(str, lambda said: opened_at(said.document, said.turn.span)),
):
    """What one speaker says without a break; ``begin`` and ``finish`` in seconds."""

    turn: Turn
    document: DocumentFacts


FACES.show(
    Transcript,
    "*recording total turns",
    turns=(
        tuple[SpokenTurn, ...],
        lambda whole: [
            SpokenTurn(turn=turn, document=whole.recording.document.facts) for turn in whole.turns
        ],
    ),
)


class DocumentsBody(Shape):
    """A page of a list, and how long the whole of it is."""

    total: int
    offset: int
    documents: tuple[ListedDocument, ...]


class RecordingsBody(Shape):
    """A page of a list, and how long the whole of it is."""

    total: int
    offset: int
    videos: tuple[Recording, ...]


def _abstract(found: WholeDocument) -> str | None:
    return found.document.summary if found.document.kind == "paper" else None


class WholeDocumentBody(
    Shape,
    line="""*document.listed version=document.listed.facts.version speakers=document.speakers
    abstract entities=document.entities text""",
    abstract=(
        str | None,
        lambda one: (
            one.document.document.summary if one.document.document.kind == "paper" else None
        ),
    ),
    text=(str | None, lambda one: one.document.document.text if one.with_text else None),
):
    """A document with its ``text`` (null when it was not asked for) and whom it names.

    Attributes:
        abstract: of a paper, empty where it has none; else null.
    """

    document: WholeDocument
    with_text: bool = True


def documents_body(page: DocumentPage, offset: int) -> DocumentsBody:
    """A page of documents."""
    return DocumentsBody(total=page.total, offset=offset, documents=page.documents)


def recordings_body(found: Recordings, offset: int) -> RecordingsBody:
    """A page of recordings."""
    return RecordingsBody(total=found.total, offset=offset, videos=found.recordings)


@router.get("/api/documents")
def documents(kb: Kb, asked: Annotated[ListQuery, Query()]) -> DocumentsBody:
    """The documents that meet the limits, a page of them."""
    page = listed(kb, asked.filters(), limit=asked.limit, offset=asked.offset, order=asked.order)
    return documents_body(page, asked.offset)


# An id, a title, or an address with slashes.
@router.get("/api/documents/{name:path}")
def document(
    kb: Kb, request: Request, name: str, scope: Scope, text: bool = True
) -> WholeDocumentBody:
    """The document with this id, title or address."""
    found = whole(kb, name, scope)
    note_opened(request, found.listed.facts.id)
    return WholeDocumentBody(document=found, with_text=text)


@router.get("/api/videos")
def videos(kb: Kb, asked: Annotated[ListQuery, Query()]) -> RecordingsBody:
    """Transcripts, and what else has a recording, a page of them."""
    found = recordings(
        kb, asked.filters(), limit=asked.limit, offset=asked.offset, order=asked.order
    )
    return recordings_body(found, asked.offset)


@router.get("/api/videos/{name:path}/transcript")
def whole_transcript(
    kb: Kb,
    request: Request,
    name: str,
    scope: Scope,
    speaker: str = "",
    from_: Annotated[str, Query(alias="from")] = "",
    to: str = "",
) -> Transcript:
    """The recording turn by turn, or the turns of one speaker or some time.

    Times are seconds, ``MM:SS`` or ``H:MM:SS``.
    """
    found = transcript(
        kb,
        name,
        collections=scope,
        speaker=speaker,
        since=seconds_of(from_) if from_ else None,
        until=seconds_of(to) if to else None,
    )
    note_opened(request, found.recording.document.facts.id)
    return found


def print_documents(console: Console, body: DocumentsBody) -> None:
    """A line for each document, and how many there are."""
    columns = (
        as_wide("date", "dim"),
        as_wide("kind"),
        fold("collection"),
        fold("title"),
        right("passages"),
        as_wide("id", "dim"),
    )
    rows = []
    for one in body.documents:
        facts = one.facts
        title = Text(harmless(facts.title))
        if facts.authors:
            title.append(f"  {harmless(', '.join(facts.authors))}", style="dim")
        known = (facts.collection, title, f"{one.passages:,}", facts.id[:SHORT_ID])
        rows.append((day_words(facts.published_at), facts.kind, *known))
    _print_page(console, table(columns, rows), body.offset, body.total, "documents")


def print_whole_document(console: Console, body: WholeDocumentBody) -> None:
    """Title and facts, whom it names, and the text."""
    found = body.document
    facts = found.listed.facts
    console.print(Text(harmless(facts.title), style="bold"), soft_wrap=True)
    line = " · ".join((facts.id, facts.kind, facts.collection, day_words(facts.published_at)))
    console.print(Text(harmless(line), style="dim"), soft_wrap=True)
    names = ", ".join(each.node.title for each in found.entities)
    for told in (", ".join(facts.authors), facts.url or facts.uri, names):
        if told:
            console.print(Text(harmless(told), style="dim"), soft_wrap=True)
    console.print()
    console.print(Text(harmless(found.document.text)), soft_wrap=True)


def print_recordings(console: Console, body: RecordingsBody) -> None:
    """A line for each recording, and how many there are."""
    columns = (
        as_wide("date", "dim"),
        right("length"),
        fold("title"),
        fold("who speaks", "cyan"),
        right("segments"),
        as_wide("id", "dim"),
    )
    rows = []
    for one in body.videos:
        facts, more = one.document.facts, len(one.speakers) - MOST_SPEAKERS
        who = ", ".join(one.speakers[:MOST_SPEAKERS]) + (f" and {more} more" if more > 0 else "")
        length = "" if one.duration is None else format_time(one.duration)
        known = (who, f"{one.document.passages:,}", facts.id[:SHORT_ID])
        rows.append((day_words(facts.published_at), length, facts.title, *known))
    _print_page(console, table(columns, rows), body.offset, body.total, "recordings")


def print_transcript(console: Console, found: Transcript) -> None:
    """Title and facts, then every turn with its time and speaker."""
    document = found.recording.document.facts
    console.print(Text(harmless(document.title), style="bold"), soft_wrap=True)
    facts = [document.id, day_words(document.published_at)]
    if found.recording.duration is not None:
        facts.append(format_time(found.recording.duration))
    facts.append(f"{len(found.turns):,} of {found.total:,} turns")
    console.print(Text(" · ".join(facts), style="dim"), soft_wrap=True)
    if document.media_url:
        console.print(Text(harmless(document.media_url), style="dim"), soft_wrap=True)
    if not found.turns:
        console.print(Text("Nothing is said there.", style="yellow"))
    for turn in found.turns:
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
