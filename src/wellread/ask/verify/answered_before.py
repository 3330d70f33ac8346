"""A past answer that an expert rated well, given again to a question that means the same.

It is given while its source still says so: each sentence is looked for in the documents that its
citations name. While these have not changed since the expert read them, what stands there in other
words is shown as partly supported, on the expert's word; once one has changed, or is not there,
each sentence has to stand there word for word.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from wellread.answers import (
    BEFORE,
    Checked,
    Claim,
    Confidence,
    Evidence,
    Verdict,
    VerdictName,
)
from wellread.ask.retrieve.past_questions import SimilarQuestion, asked_before
from wellread.ask.retrieve.ranking import pack
from wellread.ask.retrieve.relax import SOURCE_KINDS
from wellread.ask.retrieve.search import search
from wellread.ask.verify.check_claims import checked, missing_amounts, told
from wellread.ask.verify.confidence import of_expert
from wellread.ask.write.drafting import Written
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.text.parsed import parse
from wellread.types import Filters, PastQuestion

PASSAGES = 8  # of its sources that are read
METHOD = "expert"
RECORD = "past"  # the key of the past question itself


@dataclass(frozen=True, slots=True, kw_only=True)
class Before:
    """The past answer, checked, with the evidence that it rests on and what to say of it.

    ``own``: sentences by which an expert puts right what they flagged as harmful themselves.
    """

    written: Written
    checked: Sequence[Checked]
    evidence: list[Evidence]
    sure: Confidence
    note: str
    own: frozenset[str] = frozenset()


def answered_before(kb: KnowledgeBase, analysis: Analysis) -> Before | None:
    """The best rated past answer to the same question that still holds; None without one.

    Where a model writes, it is told of past answers instead.

    Raises:
        UnknownCollectionError, FingerprintError, StoreError, ModelError: as ``search``.
    """
    least = kb.settings.features.verified_rating
    if least is None or kb.model is not None:
        return None
    found = asked_before(kb, analysis.question, analysis.filters.collections, least)
    for similar in sorted(found, key=lambda one: -(one.past.score or 0)):
        sentences = sentences_of(similar.past, least)
        evidence = _evidence(kb, analysis.filters, similar) if sentences else []
        held = _held(similar, sentences, evidence) if evidence else []
        if held:
            return _before(kb, similar, held, evidence)
    return None


def sentences_of(past: PastQuestion, least: int) -> list[str]:
    """The sentences of the past answer that the expert has nothing against.

    None are left when one is harmful or the first one, which the others follow, is wrong.
    """
    if any(sentence.harmful for sentence in past.sentences):
        return []
    told = [sentence.text.content for sentence in parse(past.answer).sentences]
    good = [
        not judged.content_issue and (judged.score is None or judged.score >= least)
        for judged in past.sentences
    ]
    good += [True] * (len(told) - len(good))
    kept = [text for text, fine in zip(told, good, strict=False) if fine]
    return kept if good[:1] == [True] else []


def _evidence(kb: KnowledgeBase, filters: Filters, similar: SimilarQuestion) -> list[Evidence]:
    """What the sources of the past answer say that is nearest to it."""
    named = similar.sources
    if similar.rated is not None and not named:
        return []
    if filters.document_ids:
        named = tuple(known for known in named if known in filters.document_ids)
        if not named and similar.sources:
            return []
    limits = replace(
        filters,
        collections=filters.collections or similar.collections,
        document_ids=named or filters.document_ids,
        kinds=tuple(kind for kind in filters.kinds if kind != "qa") or SOURCE_KINDS,
    )
    text = f"{similar.past.question}\n{similar.past.answer}"
    return pack(kb, search(kb, text, limits, limit=PASSAGES))


def _held(
    similar: SimilarQuestion,
    sentences: Sequence[str],
    evidence: Sequence[Evidence],
) -> list[Checked]:
    """The sentences that hold; none where all have to and one does not."""
    found = checked([Claim(text=text, keys=()) for text in sentences], evidence)
    if similar.expired or not similar.sources:
        return list(found) if all(one.verdict.name.whole for one in found) else []
    # Where a number stands nowhere, the expert read another source than this.
    texts = [told(piece) for piece in evidence]
    return [
        one if one.verdict.name.whole else _on_the_experts_word(one, evidence)
        for one in found
        if one.verdict.name.whole or not missing_amounts(one.claim.text, texts)
    ]


def _on_the_experts_word(item: Checked, evidence: Sequence[Evidence]) -> Checked:
    words = parse(item.claim.text).stem_set
    nearest = max(evidence, key=lambda piece: len(words & piece.parsed.stem_set))
    verdict = Verdict(
        name=VerdictName.PARTIAL,
        method=METHOD,
        score=item.verdict.score,
        key=nearest.key,
        source=nearest.span,
        reason="an expert found it right, and the source has not changed since",
    )
    return replace(item, claim=replace(item.claim, keys=(nearest.key,)), verdict=verdict)


def _before(
    kb: KnowledgeBase,
    similar: SimilarQuestion,
    held: Sequence[Checked],
    evidence: Sequence[Evidence],
) -> Before:
    past = similar.past
    rating = past.score or 0
    record = _record(kb, similar)
    *others, last = held
    keys = (*last.claim.keys, *(piece.key for piece in record))
    held = [*others, replace(last, claim=replace(last.claim, keys=keys))]
    claims = tuple(one.claim for one in held)
    return Before(
        written=Written(text=" ".join(claim.text for claim in claims), claims=claims, by=BEFORE),
        checked=held,
        evidence=[*evidence, *record],
        sure=of_expert(
            rating,
            whole=all(one.verdict.name.whole for one in held),
            threshold=kb.settings.qa.confidence_threshold,
        ),
        note=f"answered before, rated {rating} of 100 by an expert: “{_line(past.question)}”",
    )


def _record(kb: KnowledgeBase, similar: SimilarQuestion) -> list[Evidence]:
    """The past question itself, where it is a document that can be cited."""
    document = similar.document
    if document is None:
        return []
    limits = Filters(collections=(document.collection,), document_ids=(document.id,))
    hits = search(kb, similar.past.question, limits, limit=1)
    return [replace(piece, key=RECORD) for piece in pack(kb, hits)]


def _line(text: str) -> str:
    return " ".join(text.split())
