"""Checks stored answers again, against the current sources.

In a changed source, the quotation is searched for in the new version; if found, it is cited at its
new place. A sentence whose quotations no longer occur in any source becomes "not checked", and the
answer stale.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

from wellread.errors import UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.asking.answer_removal import BLANK
from wellread.store.schema.stored_values import StoredAnswer
from wellread.text.parsed import parse
from wellread.types import Document, DocumentFacts, Span
from wellread.values.answers import CATALOGUE, Answer, Citation, Sentence, Verdict, VerdictName
from wellread.values.locators import Marks, link_to

Standing = Literal["same", "still_said", "changed", "gone"]
STANDINGS: Mapping[Standing, str] = {
    "same": "the source has not changed",
    "still_said": "the source has changed but still says so",
    "changed": "the source has changed and no longer says so",
    "gone": "the source no longer exists",
}
COUNTED_NOTE = "it was counted from the catalogue at that time; ask again to count now"


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationCheck:
    """The current state of a cited source."""

    id: int
    title: str
    standing: Standing

    @property
    def reason(self) -> str:
        """The explanation of the standing."""
        return STANDINGS[self.standing]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceCheck:
    """A sentence with its earlier and its current verdict."""

    text: str
    before: VerdictName
    now: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Rechecked:
    """The result of checking a stored answer.

    Attributes:
        stale: a source of the answer is gone or no longer says so.
        notes: limits of the check, as text.
    """

    answer: Answer
    stale: bool
    citations: tuple[CitationCheck, ...]
    sentences: tuple[SentenceCheck, ...]
    notes: tuple[str, ...] = ()


class _Anchor(NamedTuple):
    """The current state of a cited source, and the span at which it still says so."""

    standing: Standing
    span: Span | None


NEWEST = "last"  # the name of the newest answer on the command line


def stored_answer(kb: KnowledgeBase, answer_id: str, owner: str) -> tuple[StoredAnswer, Answer]:
    """The owner's answer with this id, and its record."""
    stored = kb.catalogue.sessions.answer(answer_id, owner)
    if stored is None:
        detail = f"there is no answer {answer_id!r}"
        raise UnknownNameError(detail, hint="list them: wellread answers")
    return stored


def named_answer(kb: KnowledgeBase, name: str, owner: str) -> tuple[StoredAnswer, Answer]:
    """The owner's answer whose id starts with ``name``; "last" is the newest."""
    prefix = name
    if name == NEWEST:
        prefix = next((newest.id for newest in kb.catalogue.sessions.answers(owner, limit=1)), "")
    stored = kb.catalogue.sessions.answer_by_prefix(prefix, owner) if prefix else None
    return stored or stored_answer(kb, name, owner)


def verify_again(kb: KnowledgeBase, answer_id: str, owner: str = "") -> Rechecked:
    """Check a stored answer against the current sources and store the result."""
    stored, answer = stored_answer(kb, answer_id, owner)
    live = kb.catalogue.live_versions({citation.document_id for citation in answer.citations})
    unchanged = all(live.get(cited.document_id) == cited.version for cited in answer.citations)
    documents = {} if unchanged else {name: kb.catalogue.document(name) for name in live}
    facts = {} if unchanged else kb.catalogue.facts(live)
    anchors = {
        citation.id: _anchor(citation, live, documents.get(citation.document_id))
        for citation in answer.citations
    }
    sources = {citation.id: documents.get(citation.document_id) for citation in answer.citations}
    sentences = tuple(
        _recheck_sentence(
            sentence,
            answer,
            {anchors[number].standing for number in sentence.citations},
            [sources[number] for number in sentence.citations],
        )
        for sentence in answer.sentences
    )
    citations = tuple(
        citation
        if anchors[citation.id].standing == "same"
        else _recheck_citation(
            citation,
            anchors[citation.id].span,
            facts.get(citation.document_id),
            sources[citation.id],
            sentences,
        )
        for citation in answer.citations
    )
    updated = replace(answer, citations=citations, sentences=sentences)
    stale = any(anchor.standing in ("changed", "gone") for anchor in anchors.values())
    # The rows of a table do not show whether the counted documents have changed.
    settled = answer.table is None and all(sentence.verdict.name.supports for sentence in sentences)
    stale = stale or (stored.stale and not settled)
    if updated != answer or stale != stored.stale:
        kb.catalogue.sessions.rewrite(updated, stale=stale)
    return Rechecked(
        answer=updated,
        stale=stale,
        citations=tuple(
            CitationCheck(id=cited.id, title=cited.title, standing=anchors[cited.id].standing)
            for cited in citations
        ),
        sentences=tuple(
            SentenceCheck(text=after.text, before=before.verdict.name, now=after.verdict)
            for before, after in zip(answer.sentences, sentences, strict=True)
        ),
        notes=(COUNTED_NOTE,) if answer.answered_by == CATALOGUE else (),
    )


def _anchor(citation: Citation, live: Mapping[str, str], document: Document | None) -> _Anchor:
    if live.get(citation.document_id) == citation.version:
        return _Anchor("same", citation.source_span)
    if document is None:
        return _Anchor("gone", None)
    span = find_quotation(citation.quote, document.text, citation.source_span.start)
    return _Anchor("changed", None) if span is None else _Anchor("still_said", span)


def _recheck_sentence(
    sentence: Sentence,
    answer: Answer,
    standings: Set[Standing],
    documents: Iterable[Document | None],
) -> Sentence:
    """The sentence, with its verdict if a source still says so; otherwise not checked.

    Its numbers must occur in the sources too, since the quotations may not include them.
    """
    if standings <= {"same"}:
        return sentence
    name, method, reason = VerdictName.NOT_CHECKED, "changed", STANDINGS["changed"]
    if BLANK in sentence.text:
        name, method, reason = VerdictName.UNSUPPORTED, "removed", "its source no longer says so"
    elif standings == {"gone"}:
        method, reason = "gone", STANDINGS["gone"]
    elif answer.answered_by == CATALOGUE:
        method, reason = CATALOGUE, COUNTED_NOTE
    elif standings & {"same", "still_said"}:
        numbers = [parse(document.text).numbers for document in documents if document]
        if parse(sentence.text).numbers <= frozenset().union(*numbers):
            return sentence
    verdict = Verdict(name=name, method=method, score=0.0, reason=reason)
    return replace(sentence, verdict=verdict)


def _recheck_citation(
    citation: Citation,
    span: Span | None,
    current: DocumentFacts | None,
    document: Document | None,
    sentences: Iterable[Sentence],
) -> Citation:
    """The citation with its verdict and its place in the current source."""
    citing = (sentence.verdict.name for sentence in sentences if citation.id in sentence.citations)
    verdict = min(citing, key=lambda name: name.rank, default=citation.verdict)
    if span is None or document is None or current is None:
        return replace(citation, verdict=verdict)
    locator, quote = Marks(document.marks).locate(span), span.of(document.text)
    url = current.url or current.uri
    return replace(
        citation,
        version=current.version,
        title=current.title,
        url=url,
        link=link_to(url, locator, quote, media_url=current.media_url),
        published_at=current.published_at,
        locator=locator,
        quote=quote,
        source_span=span,
        verdict=verdict,
    )


def find_quotation(quote: str, text: str, position: int) -> Span | None:
    """The occurrence of ``quote`` closest to ``position``, ignoring white space and case.

    None when the quotation is empty or does not occur.
    """
    parts = [re.escape(part) for part in quote.split()]
    if not parts:
        return None
    matches = re.finditer(r"\s+".join(parts), text, re.IGNORECASE)
    spans = [Span(start=match.start(), end=match.end()) for match in matches]
    return min(spans, key=lambda span: abs(span.start - position), default=None)
