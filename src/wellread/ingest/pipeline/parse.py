"""Parses one source into documents and cuts them into passages; runs in a worker process.

The worker reads the file itself, so that its bytes need not be sent between processes, and cuts
the passages: at the structure first, then by size, and not inside a sentence unless that alone is
too long. A change of the cuts requires raising ``kb.CHUNKING_VERSION``, so that an old index does
not mix with new passages.
"""

from __future__ import annotations

import hashlib
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from wellread.codec import storable
from wellread.errors import SourceError
from wellread.identity import document_id, passage_id, tagged_hash, version_of
from wellread.ingest.loaders.base import ENTRIES, EmptyError, LoaderLimits, Source, changed_ns
from wellread.ingest.pipeline import kinds
from wellread.models.word_pieces import count_tokens
from wellread.text.sentences import sentence_spans, shorten
from wellread.types import Document, Passage, Span
from wellread.values.locators import Marks

if TYPE_CHECKING:
    from wellread.ingest.settings.mapping import SourceRules


_UNSEEN = re.compile(r"[\x00-\x20\x7f-\xa0\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")
_SCRIPTS = re.compile(r"(?:javascript|vbscript|livescript|data|blob|filesystem|view-source|about):")
_FILE = "file:"


def safe_addresses(document: Document, source_uri: str) -> Document:
    """Remove executable addresses from the document, and give it a URI within its own source."""
    uri = document.uri
    normalised = _normalised(uri)
    is_foreign = normalised.startswith(_FILE) and not uri.startswith(source_uri)
    if is_foreign or _SCRIPTS.match(normalised):
        uri = f"{source_uri}#{tagged_hash('adr', uri)}"
    return replace(
        document, uri=uri, url=_safe_link(document.url), media_url=_safe_link(document.media_url)
    )


def _normalised(address: str) -> str:
    """Normalise an address as browsers do before reading its scheme: no white space, lower case."""
    return _UNSEEN.sub("", address).casefold()


def _safe_link(address: str) -> str:
    return "" if _SCRIPTS.match(_normalised(address)) else address


MIN_SECTION_SHARE = 0.25  # of the passage size; a smaller section is joined with the next one
MIN_PASSAGE_SHARE = 0.5  # of the passage size, from which a passage may end with a paragraph

MAX_HEADER_CHARS = 200  # of the column names above a passage that begins inside a table

CountTokens = Callable[[str], int]
Confine = Callable[[str, int], None]


@dataclass(frozen=True, slots=True)
class _Unit:
    """A sentence, with the facts that decide whether a passage may end before it."""

    span: Span
    tokens: int
    section: tuple[str, ...]
    opens_paragraph: bool


def split(document: Document, size: int, count_tokens: CountTokens) -> list[Passage]:
    """Return the passages of ``document``, in order, each of at most about ``size`` word pieces.

    Passages do not overlap, and together they contain every sentence of the text.
    """
    return cut_text(document, size, count_tokens).passages()


def _units(text: str, marks: Marks, size: int, count_tokens: CountTokens) -> Iterator[_Unit]:
    end = 0
    for sentence in sentence_spans(text):
        opens = "\n\n" in text[end : sentence.start] or end == 0
        for piece in _pieces(text, sentence, size, count_tokens):
            yield _Unit(
                span=piece,
                tokens=count_tokens(piece.of(text)),
                section=marks.heading(piece),
                opens_paragraph=opens,
            )
            opens = False
        end = sentence.end


def _pieces(text: str, sentence: Span, size: int, count_tokens: CountTokens) -> Iterator[Span]:
    """Yield the sentence, or pieces of it if it alone is larger than a passage."""
    # A word piece has at least one character, so a short sentence needs no counting here.
    if len(sentence) <= size or count_tokens(sentence.of(text)) <= size:
        yield sentence
        return
    start = sentence.start
    while start < sentence.end:
        cut = min(start + size * 3, sentence.end)
        while cut - start > 1 and count_tokens(text[start:cut]) > size:
            cut = start + (cut - start) // 2
        if cut < sentence.end:
            space = text.rfind(" ", start + (cut - start) // 2, cut)
            cut = space + 1 if space > start else cut
        yield Span(start=start, end=cut)
        start = cut


def _group(units: list[_Unit], size: int) -> list[Span]:
    groups: list[list[_Unit]] = []
    current: list[_Unit] = []
    tokens = 0
    for unit in units:
        new_section = bool(current) and unit.section != current[-1].section
        if current and (
            tokens + unit.tokens > size or (new_section and tokens >= size * MIN_SECTION_SHARE)
        ):
            moved = [] if new_section else _units_for_next(current, tokens, size, unit)
            if moved:
                current = current[: -len(moved)]
            groups.append(current)
            current, tokens = moved, sum(moved_unit.tokens for moved_unit in moved)
        current.append(unit)
        tokens += unit.tokens
    if current:
        groups.append(current)
    return [Span(start=group[0].span.start, end=group[-1].span.end) for group in groups]


def _units_for_next(current: list[_Unit], tokens: int, size: int, following: _Unit) -> list[_Unit]:
    """Return the last, unfinished paragraph of ``current`` if the rest is large enough."""
    if following.opens_paragraph:
        return []
    moved_tokens = 0
    for index in range(len(current) - 1, 0, -1):
        moved_tokens += current[index].tokens
        if tokens - moved_tokens < size * MIN_PASSAGE_SHARE:
            return []
        if current[index].opens_paragraph:
            # The moved units must leave room for the sentence that did not fit.
            return current[index:] if moved_tokens + following.tokens <= size else []
    return []


def _context(title: str, marks: Marks, span: Span) -> str:
    heading = " › ".join(part for part in marks.heading(span) if part != title)
    lines = [" — ".join(part for part in (title, heading) if part)]
    lines.append(shorten(" | ".join(marks.columns(span)), MAX_HEADER_CHARS))
    speakers = marks.speakers(span)
    if speakers:
        lines.append(", ".join(speakers))
    return "\n".join(line for line in lines if line)


ParseStatus = Literal["parsed", "unchanged", "skipped", "failed"]
OCR = "+ocr"  # ends the recorded loader of PDF files that are read with text recognition
TOO_MUCH_MEMORY = "needs more memory than a file of its type and size may use (sources.max_memory)"
EXCLUDED = "excluded by the collection's settings"


@dataclass(frozen=True, slots=True, kw_only=True)
class ParseRequest:
    """One source to read.

    Attributes:
        known_digest, known_loader: from an earlier run; equal bytes are not parsed again.
        rules: the collection's rules for the source (``SourceRules.to_plain``); or empty.
        named: whether a person named the file itself, so that any text is read.
    """

    uri: str
    name: str
    collection: str
    path: str = ""
    max_bytes: int = 0
    known_digest: str = ""
    known_loader: str = ""
    limits: LoaderLimits = field(default_factory=LoaderLimits)
    tokens: int = 200
    rules: Mapping[str, Any] = field(default_factory=dict)
    named: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Cut:
    """The position of a passage in its document, with its context and speakers."""

    span: Span
    context: str = ""
    speakers: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class ParsedDocument:
    """A document and the positions of its passages."""

    document: Document
    version: str
    cuts: tuple[Cut, ...] = ()

    @property
    def id(self) -> str:
        """The document's id."""
        return document_id(self.document.collection, self.document.uri)

    def passages(self) -> list[Passage]:
        """Return the passages in reading order."""
        text = self.document.text
        doc_id, version = self.id, self.version
        return [
            Passage(
                id=passage_id(doc_id, version, cut.span),
                document_id=doc_id,
                version=version,
                span=cut.span,
                text=cut.span.of(text),
                context=cut.context,
                speakers=cut.speakers,
            )
            for cut in self.cuts
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """The result of parsing; ``reason`` says why a source was skipped or failed, or is a remark.

    Attributes:
        size, mtime_ns: size and time of change of the file (0 if its bytes came with the request).
        empty: the source was not parsed because it contains no text.
    """

    status: ParseStatus
    digest: str = ""
    loader: str = ""
    reason: str = ""
    size: int = 0
    mtime_ns: int = 0
    documents: tuple[ParsedDocument, ...] = ()
    seconds: float = 0.0
    memory: int = 0
    empty: bool = False


def parse(request: ParseRequest, data: bytes | None, confine: Confine | None = None) -> Parsed:
    """Read, load and cut one source; a failure is a ``failed`` result, never an exception.

    Args:
        data: the source's bytes, if they came with the request.
        confine: limits this process before anything is loaded; called with the loader's name
            and the number of bytes.
    """
    try:
        return _parse(request, data, confine)
    except SourceError as error:
        empty = isinstance(error, EmptyError)
        return Parsed(status="failed", reason=storable(error.reason), empty=empty)
    except MemoryError:
        return Parsed(status="failed", reason=TOO_MUCH_MEMORY)
    except RecursionError:
        return Parsed(status="failed", reason="cannot be parsed: nested too deeply")


def _parse(request: ParseRequest, data: bytes | None, confine: Confine | None) -> Parsed:
    size = mtime_ns = 0
    if data is None:
        data, size, mtime_ns = _read(request)
    source = Source(
        uri=request.uri,
        name=request.name,
        data=data,
        collection=request.collection,
        path=Path(request.path) if request.path else None,
    )
    digest = hashlib.blake2b(data, digest_size=16).hexdigest()
    rules = _rules_of(request.rules)
    name = kinds.loader_name(source, rules, named=request.named)
    if not name:
        return Parsed(
            status="skipped",
            reason=EXCLUDED
            if rules and rules.rule.skip
            else kinds.UNSUPPORTED
            if data.strip()
            else "no text",
            digest=digest,
            loader=no_loader(rules),
            size=size,
            mtime_ns=mtime_ns,
            empty=not data.strip(),
        )
    with_ocr = OCR if request.limits.ocr and name == "pdf" else ""
    identity = kinds.identity_of(name, rules) + with_ocr
    is_unchanged = (request.known_digest, request.known_loader) == (digest, identity)
    if confine and not is_unchanged:
        confine(f"{name}{with_ocr}", len(data))
    # Cleaned before cutting and hashing, whatever loader and settings produced the text.
    loaded: tuple[Document, ...] = ()
    if not is_unchanged:
        loaded = storable(tuple(kinds.load(source, request.limits, rules, named=request.named)))
    documents = [safe_addresses(document, request.uri) for document in loaded]
    return Parsed(
        status="unchanged" if is_unchanged else "parsed",
        digest=digest,
        loader=identity,
        reason="; ".join(source.remarks),
        size=size,
        mtime_ns=mtime_ns,
        documents=tuple(cut_text(document, request.tokens) for document in documents),
    )


def _rules_of(plain: Mapping[str, Any]) -> SourceRules | None:
    """Return the collection's rules for the source; imported late, as the library is slow."""
    if not plain:
        return None
    from wellread.ingest.settings.mapping import SourceRules  # noqa: PLC0415

    return SourceRules.from_plain(plain)


def cut_text(document: Document, size: int, count: CountTokens = count_tokens) -> ParsedDocument:
    """Cut the document into passages of about ``size`` word pieces."""
    marks, title = Marks(document.marks), document.title
    spans = _group(list(_units(document.text, marks, size, count)), size)
    return ParsedDocument(
        document=document,
        version=version_of(document.text, document.marks),
        cuts=tuple(
            Cut(span=span, context=_context(title, marks, span), speakers=marks.speakers(span))
            for span in spans
        ),
    )


def is_current(loader: str, rules: SourceRules | None = None) -> bool:
    """Whether a source read or skipped as ``loader`` would have the same result today."""
    current = (kinds.identity_of(name, rules) for name in (*kinds.loaders(), ENTRIES))
    return loader == no_loader(rules) or loader in current


def no_loader(rules: SourceRules | None = None) -> str:
    """Return the value recorded as loader of a skipped source: a hash of the existing loaders."""
    identities = " ".join(sorted(entry.identity for entry in kinds.loaders().values()))
    return tagged_hash("none", identities, rules.identity if rules else "")


def _read(request: ParseRequest) -> tuple[bytes, int, int]:
    """Return the file's bytes, size and time of change; raise if it changed meanwhile."""
    try:
        with open(request.path, "rb") as file:
            before = os.fstat(file.fileno())
            if request.max_bytes and before.st_size > request.max_bytes:
                raise SourceError(
                    request.uri,
                    f"too large: {before.st_size:,} bytes, the limit is "
                    f"{request.max_bytes:,} (sources.max_bytes)",
                )
            data = file.read(before.st_size + 1)
            after = os.fstat(file.fileno())
    except FileNotFoundError as error:
        raise SourceError(request.uri, "was removed before it was read") from error
    except OSError as error:
        raise SourceError(request.uri, f"cannot be read: {error.strerror}") from error
    changed = (before.st_size, changed_ns(before)) != (after.st_size, changed_ns(after))
    if changed or len(data) != after.st_size:
        raise SourceError(request.uri, "changed while it was read; add it again")
    return data, after.st_size, changed_ns(after)
