"""What an expert put right is the answer when the same question is asked again.

The expert's words come first, sentence by sentence, each on the place that they rest on; one that
does not stand there word for word is shown as partly supported, on the expert's word. Where an
expert put single sentences right, those of the answer that they had nothing against follow. It
comes before anything is searched or written, so no model can contradict it. What it rests on has to
be inside the limits of the question.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from wellread.answers import BEFORE, Checked, Claim, Evidence, Verdict, VerdictName
from wellread.ask.retrieve.learned.flagged_sentences import flagged_sentences
from wellread.ask.retrieve.learned.rated_questions import RatedAnswer
from wellread.ask.retrieve.past_questions import corrections
from wellread.ask.verify.answered_before import METHOD, Before
from wellread.ask.verify.check_claims import NUMBER, checked
from wellread.ask.verify.confidence import of_correction
from wellread.ask.write.drafting import Written
from wellread.identity import sentence_hash
from wellread.kb import KnowledgeBase
from wellread.locators import Marks
from wellread.questions import Analysis
from wellread.store.catalogue.asking.redaction import BLANK
from wellread.store.catalogue.learning.expiry import places_quoted
from wellread.store.schema.feedback_values import BetterCitation
from wellread.text.parsed import parse
from wellread.types import Filters, Hit

CORRECTION = "what an expert put right of the answer to the same question"
GOOD = 50  # of 100, from which a rated sentence of the answer stays beside the corrected ones


@dataclass(frozen=True, slots=True, kw_only=True)
class _Said:
    """A sentence to be said, and the places that it rests on; ``own``: the expert's words."""

    text: str
    places: tuple[BetterCitation, ...]
    own: bool = True


def corrected(kb: KnowledgeBase, analysis: Analysis, asked: str = "") -> Before | None:
    """The last word of an expert on the same question that still holds; None without one.

    Args:
        asked: the question before words were read in another spelling, as past ones are kept.

    Raises:
        FingerprintError, StoreError, ModelError: a part of the home cannot be used.
    """
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
    evidence = _evidence(kb, analysis, [place for one in said for place in one.places])
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
        sure=of_correction(
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


def _evidence(
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
