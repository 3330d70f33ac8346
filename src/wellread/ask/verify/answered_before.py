"""What an expert judged is given to the same question again: a good answer, or a correction.

An answer that was rated well is given while its source still says so: each sentence is looked for
in the documents that its citations name. While these have not changed since the expert read them,
what stands there in other words is shown as partly supported, on the expert's word; once one has
changed, or is not there, each sentence has to stand there word for word.

What an expert put right comes before anything is searched or written, so no model can contradict
it: sentence by sentence, each on the place that it rests on; where single sentences were put right,
those of the answer that the expert had nothing against follow. What it rests on has to be inside
the limits of the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from wellread.ask.retrieve.past_questions import SimilarQuestion, asked_before, corrections
from wellread.ask.retrieve.ranking import pack
from wellread.ask.retrieve.rated_questions import RatedAnswer, flagged_sentences
from wellread.ask.retrieve.relax import SOURCE_KINDS
from wellread.ask.retrieve.search import search
from wellread.ask.verify.check_claims import NUMBER, checked, missing_amounts, told
from wellread.ask.verify.confidence import of_expert
from wellread.ask.write.drafting import Written
from wellread.identity import sentence_hash
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.asking.answer_rows import BLANK
from wellread.store.catalogue.feedback_records import places_quoted
from wellread.store.schema.stored_values import BetterCitation
from wellread.text.parsed import parse
from wellread.types import Filters, Hit, PastQuestion
from wellread.values.answers import (
    BEFORE,
    Checked,
    Claim,
    Confidence,
    Evidence,
    Verdict,
    VerdictName,
)
from wellread.values.locators import Marks
from wellread.values.question import Analysis

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
    """
    least = kb.settings.features.verified_rating
    if kb.model is not None:
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


# --- what an expert put right --------------------------------------------------------------------

CORRECTION = "what an expert put right of the answer to the same question"
GOOD = 50  # of 100, from which a rated sentence of the answer stays beside the corrected ones


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """A sentence to be said, and the places that it rests on; ``own``: the expert's words."""

    text: str
    places: tuple[BetterCitation, ...]
    own: bool = True


def corrected(kb: KnowledgeBase, analysis: Analysis, asked: str = "") -> Before | None:
    """The last word of an expert on the same question that still holds; None without one."""
    if not kb.settings.features.corrections:
        return None
    for question in dict.fromkeys((analysis.question, asked or analysis.question)):
        for rated in corrections(kb, question, analysis.filters.collections):
            made = _made(kb, analysis, rated)
            if made is not None:
                return made
    return None


def _made(kb: KnowledgeBase, analysis: Analysis, rated: RatedAnswer) -> Before | None:
    said = [*_put_right(rated), *_kept(rated)]
    evidence = _as_evidence(kb, analysis, [place for one in said for place in one.places])
    fit = [one for one in said if any(place in evidence for place in one.places)]
    if not any(one.own for one in fit):
        return None
    claims = [
        Claim(
            text=one.text,
            keys=tuple(
                dict.fromkeys(evidence[place].key for place in one.places if place in evidence)
            ),
        )
        for one in fit
    ]
    pieces = list({piece.key: piece for piece in evidence.values()}.values())
    found = checked(claims, pieces)
    held = [_on_its_place(claim, item, pieces) for claim, item in zip(claims, found, strict=True)]
    return Before(
        written=Written(
            text=" ".join(item.claim.text for item in held),
            claims=tuple(item.claim for item in held),
            by=BEFORE,
        ),
        checked=held,
        evidence=pieces,
        sure=of_expert(
            None,
            whole=all(item.verdict.name.whole for item in held),
            threshold=kb.settings.qa.confidence_threshold,
        ),
        note=_note(rated),
        own=_own_words(kb, rated, [one.text for one in fit if one.own]),
    )


def _put_right(rated: RatedAnswer) -> list[_Said]:
    """The expert's sentences: those for the whole answer, else those for single sentences of it."""
    given, answer = rated.given, rated.answer
    usual = given.citations or tuple(places_quoted(answer))
    if given.correction:
        return [_Said(text=text, places=usual) for text in _sentences(given.correction)]
    said = []
    for one in given.sentences:
        if not one.correction:
            continue
        numbers = (
            answer.sentences[one.sentence].citations if one.sentence < len(answer.sentences) else ()
        )
        places = given.citations or tuple(places_quoted(answer, numbers)) or usual
        if one.citation is not None:
            places = (one.citation,)
        said += [_Said(text=text, places=places) for text in _sentences(one.correction)]
    return said


def _kept(rated: RatedAnswer) -> list[_Said]:
    """The sentences of the answer that the expert has nothing against, where others were put
    right.
    """
    given, answer = rated.given, rated.answer
    if given.correction:
        return []
    against = {
        one.sentence
        for one in given.sentences
        if one.correction
        or one.harmful
        or one.content_issue
        or (one.score is not None and one.score < GOOD)
    }
    return [
        _Said(
            text=" ".join(sentence.text.split()),
            places=tuple(places_quoted(answer, sentence.citations)),
            own=False,
        )
        for place, sentence in enumerate(answer.sentences)
        if place not in against
        and sentence.verdict.name != VerdictName.UNSUPPORTED
        and sentence.citations
        and BLANK not in sentence.text
    ]


def _sentences(text: str) -> list[str]:
    """The sentences of a correction, without those of which words were removed with a source."""
    told = (" ".join(one.text.content.split()) for one in parse(text).sentences)
    return [one for one in told if BLANK not in one]


def _as_evidence(
    kb: KnowledgeBase, analysis: Analysis, places: Sequence[BetterCitation]
) -> dict[BetterCitation, Evidence]:
    """Each place as a piece of evidence: those that are there, inside the question's limits."""
    asked = list(dict.fromkeys(places))
    now = {
        place: found
        for place, found in zip(asked, kb.catalogue.expiry.now(asked), strict=True)
        if found is not None
    }
    inside = _inside(kb, analysis.filters, {one.document_id for one in now.values()})
    held = {old: new for old, new in now.items() if new.document_id in inside}
    spots = list(dict.fromkeys((new.document_id, new.span) for new in held.values()))
    ids = kb.catalogue.listings.covering([(known, span.start) for known, span in spots])
    passages = kb.catalogue.live_passages(filter(None, ids))
    facts = kb.catalogue.facts({known for known, _ in spots})
    marks = kb.catalogue.marks_over(spots)
    texts = kb.catalogue.texts(spots)
    speakers = {name.casefold() for name in analysis.filters.speakers}
    pieces: dict[object, Evidence] = {}
    for number, (spot, known, found, text) in enumerate(
        zip(spots, ids, marks, texts, strict=True), 1
    ):
        document, span = spot
        passage, placed = passages.get(known), Marks(found)
        if passage is None or document not in facts:
            continue
        turns = placed.turns(span)
        if speakers and not speakers & {turn.speaker.casefold() for turn in turns}:
            continue
        pieces[spot] = Evidence(
            key=f"e{number}",
            hit=Hit(passage=passage, document=facts[document], score=1.0),
            text=text,
            span=span,
            locator=placed.locate(span),
            turns=turns,
        )
    return {
        old: piece
        for old, new in held.items()
        if (piece := pieces.get((new.document_id, new.span))) is not None
    }


def _inside(kb: KnowledgeBase, filters: Filters, documents: set[str]) -> set[str]:
    """Those of the documents that meet the limits that the asker set."""
    wanted = sorted(documents & set(filters.document_ids) if filters.document_ids else documents)
    if not wanted:
        return set()
    limits = replace(filters, document_ids=tuple(wanted))
    page = kb.catalogue.listings.documents(limits, len(wanted))
    return {one.facts.id for one in page.documents}


def _on_its_place(claim: Claim, item: Checked, evidence: Sequence[Evidence]) -> Checked:
    """The sentence, cited to the place that the expert gave, whatever was found elsewhere."""
    own = [piece for piece in evidence if piece.key in claim.keys]
    borne_out = item.verdict.name.whole and item.verdict.key in claim.keys
    piece = next((one for one in own if one.key == item.verdict.key), own[0])
    verdict = item.verdict
    if not borne_out:
        verdict = Verdict(
            name=VerdictName.PARTIAL,
            method=METHOD,
            score=verdict.score,
            reason=_reason(verdict),
        )
    return Checked(
        claim=claim, verdict=replace(verdict, key=piece.key, source=piece.span), repaired=False
    )


def _reason(verdict: Verdict) -> str:
    said = "an expert put it so, and the place that they gave has not changed since"
    why = verdict.reason if verdict.method == NUMBER else ""
    return f"{said}; {why}" if why else said


def _own_words(kb: KnowledgeBase, rated: RatedAnswer, texts: Sequence[str]) -> frozenset[str]:
    """Those of the expert's sentences that nobody flagged.

    What puts a sentence right often says it again, with more. So those that the same expert flagged
    count only where they are the same; what others flagged counts inside too.
    """
    flagged = flagged_sentences(kb, rated.collections)
    others = flagged.without({one.content for one in rated.given.sentences if one.harmful})
    return frozenset(
        text
        for text in texts
        if sentence_hash(text) not in flagged.hashes and not others.holds(text)
    )


def _note(rated: RatedAnswer) -> str:
    given = rated.given
    who = f"an expert ({given.author})" if given.author else "an expert"
    rating = f", rated {given.score:g} of 100" if given.score is not None else ""
    asked = " ".join(given.question.split())
    return f"{who} corrected the answer to “{asked}”{rating}, {given.updated_at:%Y-%m-%d}"
