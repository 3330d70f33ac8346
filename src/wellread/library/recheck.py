"""Stored answers checked again, against the sources as they are now.

A sentence whose sources are the same keeps its verdict. Where a source has another version, the
quotation is looked for in it and the sentence gets a verdict anew, by a model where there is one;
what is still said is cited at its new place. An answer stays stale when something that it rests on
is gone or says it no more.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Literal

from wellread.ask.verify.check_claims import NUMBER, checked
from wellread.ask.verify.judge import judged_now
from wellread.errors import UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.asking.answer_rows import BLANK
from wellread.store.schema.stored_values import StoredAnswer
from wellread.text.parsed import parse
from wellread.types import Document, DocumentFacts, Hit, Passage, Span
from wellread.values.answers import (
    CATALOGUE,
    Answer,
    Checked,
    Citation,
    Claim,
    Evidence,
    Sentence,
    Verdict,
    VerdictName,
)
from wellread.values.locators import Marks, link_to

Standing = Literal["same", "still_said", "reworded", "changed", "gone"]
STANDINGS: Mapping[Standing, str] = {
    "same": "the source has not changed",
    "still_said": "the source has changed and still says it",
    "reworded": "the source has changed and says it in other words",
    "changed": "the source has changed and says it no more",
    "gone": "the source is not there any more",
}
COUNTED = "it was counted from the whole catalogue as it was then; ask again to count anew"
LOOKED = 4  # passages of a changed source, the nearest by words, that a sentence is checked against


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
    sources = {} if same else _sources(kb, live)
    anchors = {one.id: _anchor(one, live, sources) for one in answer.citations}
    changed = {
        place: sentence
        for place, sentence in enumerate(answer.sentences)
        if any(anchors[known].standing != "same" for known in sentence.citations)
    }
    judged = _judged(kb, changed, answer, anchors, sources)
    sentences = tuple(
        replace(sentence, verdict=judged[place].verdict) if place in judged else sentence
        for place, sentence in enumerate(answer.sentences)
    )
    for place, found in judged.items():
        for known in answer.sentences[place].citations:
            anchors[known] = _elsewhere(anchors[known], found)
    citations = tuple(_anew(one, anchors[one.id], sources, sentences) for one in answer.citations)
    now = replace(answer, citations=citations, sentences=sentences)
    stale = _stale(answer, now, anchors.values())
    # Whether what a table was counted from is still the same cannot be told from its rows.
    settled = answer.table is None and all(one.verdict.name.supports for one in sentences)
    stale = stale or (stored.stale and not settled)
    if now != answer or stale != stored.stale:
        kb.catalogue.sessions.rewrite(now, stale=stale)
    return Rechecked(
        answer=now,
        stale=stale,
        citations=tuple(
            CitationCheck(id=one.id, title=one.title, standing=anchors[one.id].standing)
            for one in citations
        ),
        sentences=tuple(
            SentenceCheck(text=after.text, before=before.verdict.name, now=after.verdict)
            for before, after in zip(answer.sentences, sentences, strict=True)
        ),
        notes=(COUNTED,) if answer.answered_by == CATALOGUE else (),
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class _Source:
    """A cited document as it is now."""

    facts: DocumentFacts
    document: Document
    passages: tuple[Passage, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Anchor:
    """What became of a citation, and where its document bears the answer out now, if it does."""

    document_id: str
    standing: Standing
    span: Span | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class _Judged:
    """A sentence's verdict, and the document whose span bears it out."""

    verdict: Verdict
    document_id: str = ""


def _sources(kb: KnowledgeBase, live: Mapping[str, str]) -> dict[str, _Source]:
    facts = kb.catalogue.facts(live)
    found = {}
    for known, there in facts.items():
        document = kb.catalogue.document(known)
        if document is not None:
            passages = tuple(kb.catalogue.passages_of([known]))
            found[known] = _Source(facts=there, document=document, passages=passages)
    return found


def _anchor(citation: Citation, live: Mapping[str, str], sources: Mapping[str, _Source]) -> _Anchor:
    known = citation.document_id
    if live.get(known) == citation.version:
        return _Anchor(document_id=known, standing="same", span=citation.source_span)
    source = sources.get(known)
    if source is None:
        return _Anchor(document_id=known, standing="gone")
    span = quoted_at(citation.quote, source.document.text, citation.source_span.start)
    if span is None:
        return _Anchor(document_id=known, standing="changed")
    return _Anchor(document_id=known, standing="still_said", span=span)


def _judged(
    kb: KnowledgeBase,
    changed: Mapping[int, Sentence],
    answer: Answer,
    anchors: Mapping[int, _Anchor],
    sources: Mapping[str, _Source],
) -> dict[int, _Judged]:
    """The verdicts of the sentences of which a source is not the same, by their places."""
    found: dict[int, _Judged] = {}
    waiting: dict[int, Checked] = {}
    evidence: list[Evidence] = []
    for place, sentence in changed.items():
        mine = [anchors[known] for known in sentence.citations]
        there = [one for one in mine if one.document_id in sources]
        if BLANK in sentence.text:
            verdict = _none(VerdictName.UNSUPPORTED, "removed", "its source says it no more")
        elif not there:
            verdict = _none(VerdictName.NOT_CHECKED, "gone", STANDINGS["gone"])
        elif answer.answered_by == CATALOGUE:
            verdict = _none(VerdictName.NOT_CHECKED, CATALOGUE, COUNTED)
        else:
            pieces = _evidence(sentence, there, sources, len(evidence))
            evidence += pieces
            claim = Claim(text=sentence.text, keys=tuple(piece.key for piece in pieces))
            (waiting[place],) = checked([claim], pieces)
            continue
        found[place] = _Judged(verdict=verdict)
    ruling = judged_now(kb, evidence, list(waiting.values()))
    by_key = {piece.key: piece.hit.document.id for piece in evidence}
    for place, item in zip(waiting, ruling.checked, strict=True):
        document = by_key.get(item.verdict.key, "")
        found[place] = _Judged(verdict=item.verdict, document_id=document)
    return found


def _none(name: VerdictName, method: str, reason: str) -> Verdict:
    return Verdict(name=name, method=method, score=0.0, reason=reason)


def _evidence(
    sentence: Sentence, anchors: Sequence[_Anchor], sources: Mapping[str, _Source], before: int
) -> list[Evidence]:
    """The passages of the sentence's sources that it may rest on now.

    Those that hold what was cited; of a source that does not say it any more, the nearest ones.

    Args:
        before: how many passages have a key already.
    """
    wanted: dict[str, Passage] = {}
    for one in anchors:
        passages = sources[one.document_id].passages
        span = one.span
        if span is not None:
            holding = [passage for passage in passages if passage.span.overlaps(span)]
        else:
            holding = nearest_by_words(sentence.text, passages, LOOKED)
        wanted |= {passage.id: passage for passage in holding}
    marks = {known: Marks(source.document.marks) for known, source in sources.items()}
    return [
        Evidence(
            key=f"e{number}",
            hit=Hit(passage=passage, document=sources[passage.document_id].facts, score=1.0),
            text=passage.text,
            span=passage.span,
            locator=marks[passage.document_id].locate(passage.span),
            turns=marks[passage.document_id].turns(passage.span),
        )
        for number, passage in enumerate(wanted.values(), before + 1)
    ]


def _elsewhere(anchor: _Anchor, found: _Judged) -> _Anchor:
    """A source that says the sentence in other words is cited where it does."""
    number = found.verdict.method == NUMBER
    borne_out = found.verdict.name.supports and not number and found.verdict.source
    if anchor.standing != "changed" or not borne_out or found.document_id != anchor.document_id:
        return anchor
    return replace(anchor, standing="reworded", span=found.verdict.source)


def _anew(
    citation: Citation,
    anchor: _Anchor,
    sources: Mapping[str, _Source],
    sentences: Iterable[Sentence],
) -> Citation:
    """The citation with its verdict, at its place in the source as it is now."""
    citing = (one.verdict.name for one in sentences if citation.id in one.citations)
    verdict = min(citing, key=lambda name: name.rank, default=citation.verdict)
    if anchor.standing == "same":
        return citation
    if anchor.span is None:
        return replace(citation, verdict=verdict)
    source = sources[anchor.document_id]
    facts = source.facts
    locator = Marks(source.document.marks).locate(anchor.span)
    quote = anchor.span.of(source.document.text)
    url = facts.url or facts.uri
    return replace(
        citation,
        version=facts.version,
        title=facts.title,
        url=url,
        link=link_to(url, locator, quote, media_url=facts.media_url),
        published_at=facts.published_at,
        locator=locator,
        quote=quote,
        source_span=anchor.span,
        verdict=verdict,
    )


def _stale(before: Answer, now: Answer, anchors: Iterable[_Anchor]) -> bool:
    """Whether a source is gone or changed, or a sentence is borne out less than it was."""
    worse = any(
        not after.verdict.name.whole and after.verdict.name.rank > first.verdict.name.rank
        for first, after in zip(before.sentences, now.sentences, strict=True)
    )
    return worse or any(one.standing in ("changed", "gone") for one in anchors)


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
