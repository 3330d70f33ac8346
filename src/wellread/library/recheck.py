"""Stored answers checked again, against the sources as they are now.

Where a source has another version, the quotation is looked for in it; what is still said is cited
at its new place. A sentence of which no source says the quoted words any more is not checked, and
the answer stale.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from wellread.errors import UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.asking.answer_rows import BLANK
from wellread.store.schema.stored_values import StoredAnswer
from wellread.text.parsed import parse
from wellread.types import Document, DocumentFacts, Passage, Span
from wellread.values.answers import (
    CATALOGUE,
    Answer,
    Citation,
    Sentence,
    Verdict,
    VerdictName,
)
from wellread.values.locators import Marks, link_to

Standing = Literal["same", "still_said", "changed", "gone"]
STANDINGS: Mapping[Standing, str] = {
    "same": "the source has not changed",
    "still_said": "the source has changed and still says it",
    "changed": "the source has changed and says it no more",
    "gone": "the source is not there any more",
}
COUNTED = "it was counted from the whole catalogue as it was then; ask again to count anew"


@dataclass(frozen=True, slots=True, kw_only=True)
class CitationCheck:
    """What became of a cited source."""

    id: int
    title: str
    standing: Standing

    @property
    def reason(self) -> str:
        """The standing, in words."""
        return STANDINGS[self.standing]


@dataclass(frozen=True, slots=True, kw_only=True)
class SentenceCheck:
    """A sentence with the verdict that it had, and the one that it has now."""

    text: str
    before: VerdictName
    now: Verdict


@dataclass(frozen=True, slots=True, kw_only=True)
class Rechecked:
    """A stored answer as it stands now.

    Attributes:
        stale: something that it rests on is gone, or does not say it any more.
        notes: what the check could not tell, in words.
    """

    answer: Answer
    stale: bool
    citations: tuple[CitationCheck, ...]
    sentences: tuple[SentenceCheck, ...]
    notes: tuple[str, ...] = ()


NEWEST = "last"


def stored_answer(kb: KnowledgeBase, answer_id: str, owner: str) -> tuple[StoredAnswer, Answer]:
    """The owner's answer of that id and the facts about it."""
    return _there(kb.catalogue.sessions.answer(answer_id, owner), answer_id)


def named_answer(kb: KnowledgeBase, given: str, owner: str) -> tuple[StoredAnswer, Answer]:
    """The owner's answer whose id begins so, as lists show it; "last" is the newest one."""
    known = given
    if given == NEWEST:
        known = next((one.id for one in kb.catalogue.sessions.answers(owner, limit=1)), "")
    found = kb.catalogue.sessions.answer_beginning(known, owner) if known else None
    return _there(found, given)


def _there(found: tuple[StoredAnswer, Answer] | None, given: str) -> tuple[StoredAnswer, Answer]:
    if found is None:
        raise UnknownNameError(f"there is no answer {given!r}", hint="see 'wellread answers'")
    return found


def verify_again(kb: KnowledgeBase, answer_id: str, owner: str = "") -> Rechecked:
    """Check a stored answer against the sources as they are now, and keep what came of it."""
    stored, answer = stored_answer(kb, answer_id, owner)
    ids = {citation.document_id for citation in answer.citations}
    live = kb.catalogue.live_versions(ids)
    same = all(live.get(one.document_id) == one.version for one in answer.citations)
    documents = {} if same else {known: kb.catalogue.document(known) for known in live}
    anchors = {one.id: _anchor(one, live, documents) for one in answer.citations}
    of_citation = {one.id: documents.get(one.document_id) for one in answer.citations}
    sentences = tuple(
        _now(
            sentence,
            answer,
            {anchors[known][0] for known in sentence.citations},
            [of_citation[known] for known in sentence.citations],
        )
        for sentence in answer.sentences
    )
    facts = {} if same else kb.catalogue.facts(live)
    citations = tuple(
        _anew(one, anchors[one.id][1], facts, documents, sentences)
        if anchors[one.id][0] != "same"
        else one
        for one in answer.citations
    )
    now = replace(answer, citations=citations, sentences=sentences)
    stale = any(standing in ("changed", "gone") for standing, _ in anchors.values())
    # Whether what a table was counted from is still the same cannot be told from its rows.
    settled = answer.table is None and all(one.verdict.name.supports for one in sentences)
    stale = stale or (stored.stale and not settled)
    if now != answer or stale != stored.stale:
        kb.catalogue.sessions.rewrite(now, stale=stale)
    return Rechecked(
        answer=now,
        stale=stale,
        citations=tuple(
            CitationCheck(id=one.id, title=one.title, standing=anchors[one.id][0])
            for one in citations
        ),
        sentences=tuple(
            SentenceCheck(text=after.text, before=before.verdict.name, now=after.verdict)
            for before, after in zip(answer.sentences, sentences, strict=True)
        ),
        notes=(COUNTED,) if answer.answered_by == CATALOGUE else (),
    )


def _anchor(
    citation: Citation, live: Mapping[str, str], documents: Mapping[str, Document | None]
) -> tuple[Standing, Span | None]:
    """What became of a citation, and where its document says it now, if it does."""
    known = citation.document_id
    if live.get(known) == citation.version:
        return "same", citation.source_span
    document = documents.get(known)
    if document is None:
        return "gone", None
    span = quoted_at(citation.quote, document.text, citation.source_span.start)
    return ("changed", None) if span is None else ("still_said", span)


def _now(
    sentence: Sentence,
    answer: Answer,
    standings: Set[Standing],
    documents: Iterable[Document | None],
) -> Sentence:
    """The sentence with its verdict as long as a source still says it; else it is not checked.

    Its numbers stand in its sources too: the words that were quoted may not be those with them.
    """
    if standings <= {"same"}:
        return sentence
    name, method, reason = VerdictName.NOT_CHECKED, "changed", STANDINGS["changed"]
    if BLANK in sentence.text:
        name, method, reason = VerdictName.UNSUPPORTED, "removed", "its source says it no more"
    elif standings == {"gone"}:
        method, reason = "gone", STANDINGS["gone"]
    elif answer.answered_by == CATALOGUE:
        method, reason = CATALOGUE, COUNTED
    elif standings & {"same", "still_said"}:
        numbers = [parse(one.text).numbers for one in documents if one is not None]
        if parse(sentence.text).numbers <= frozenset().union(*numbers):
            return sentence
    verdict = Verdict(name=name, method=method, score=0.0, reason=reason)
    return replace(sentence, verdict=verdict)


def _anew(
    citation: Citation,
    span: Span | None,
    facts: Mapping[str, DocumentFacts],
    documents: Mapping[str, Document | None],
    sentences: Iterable[Sentence],
) -> Citation:
    """The citation with its verdict, at its place in the source as it is now."""
    citing = (one.verdict.name for one in sentences if citation.id in one.citations)
    verdict = min(citing, key=lambda name: name.rank, default=citation.verdict)
    document, there = documents.get(citation.document_id), facts.get(citation.document_id)
    if span is None or document is None or there is None:
        return replace(citation, verdict=verdict)
    locator, quote = Marks(document.marks).locate(span), span.of(document.text)
    url = there.url or there.uri
    return replace(
        citation,
        version=there.version,
        title=there.title,
        url=url,
        link=link_to(url, locator, quote, media_url=there.media_url),
        published_at=there.published_at,
        locator=locator,
        quote=quote,
        source_span=span,
        verdict=verdict,
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class SaidNow:
    """A cited place in the version that is there now.

    Attributes:
        changed_at: when this version was read.
        span: the place; None where nothing shares a word with the quotation.
        still: the quotation stands there word for word; otherwise the span is the nearest passage.
    """

    changed_at: datetime
    span: Span | None
    still: bool


def said_now(
    citation: Citation, document: Document, passages: Sequence[Passage], changed_at: datetime
) -> SaidNow:
    """Look for what was cited in ``document``, the version that is there now."""
    span = quoted_at(citation.quote, document.text, citation.source_span.start)
    if span is not None:
        return SaidNow(changed_at=changed_at, span=span, still=True)
    said = set(parse(citation.quote).stems)
    nearest = (
        one.span
        for one in nearest_by_words(citation.quote, passages, 1)
        if said.intersection(parse(one.text).stems)
    )
    return SaidNow(changed_at=changed_at, span=next(nearest, None), still=False)


def quoted_at(quote: str, text: str, near: int) -> Span | None:
    """Where ``text`` has the quotation, but for white space and case; the place nearest to before.

    None when it is empty or stands nowhere.
    """
    parts = [re.escape(part) for part in quote.split()]
    if not parts:
        return None
    places = re.finditer(r"\s+".join(parts), text, re.IGNORECASE)
    spans = [Span(start=place.start(), end=place.end()) for place in places]
    return min(spans, key=lambda span: abs(span.start - near), default=None)


def nearest_by_words(text: str, passages: Sequence[Passage], most: int) -> list[Passage]:
    """The ``most`` passages that share most words with ``text``."""
    said = set(parse(text).stems)
    shared = {one.id: len(said.intersection(parse(one.text).stems)) for one in passages}
    return sorted(passages, key=lambda one: -shared[one.id])[:most]
