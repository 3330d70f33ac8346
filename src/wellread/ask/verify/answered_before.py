"""Reuses an expert's work on the same question: a well-rated past answer, or a correction.

A well-rated answer is reused while its sources support it: each sentence is searched for in the
cited documents. While these are unchanged since the rating, a sentence that they do not contain
verbatim counts as partly supported, because the expert accepted it; once one has changed or is
missing, every sentence must occur verbatim.

A correction is looked up before any search or writing, so no model can contradict it. Each of its
sentences is cited to its own place; if only single sentences were corrected, the answer's other
sentences that the expert accepted follow. All places must be within the question's limits.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from wellread.ask.retrieve.past_questions import SimilarQuestion, asked_before, corrections
from wellread.ask.retrieve.ranking import pack
from wellread.ask.retrieve.rated_questions import RatedAnswer, flagged_sentences
from wellread.ask.retrieve.search import SOURCE_KINDS, search
from wellread.ask.verify.check_claims import NUMBER, check_claims, full_text, missing_amounts
from wellread.ask.verify.confidence import VerifiedDraft, confidence_of_expert
from wellread.ask.write.parse_draft import Draft
from wellread.identity import sentence_hash
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.asking.answer_removal import BLANK
from wellread.store.catalogue.feedback_records import places_quoted
from wellread.store.schema.stored_values import BetterCitation
from wellread.text.parsed import parse
from wellread.types import Filters, Hit, PastQuestion, Span
from wellread.values.answers import BEFORE, Checked, Claim, Evidence, Verdict, VerdictName
from wellread.values.locators import Marks
from wellread.values.question import Analysis

MAX_PASSAGES = 8  # from the past answer's sources
METHOD = "expert"
RECORD = "past"  # the key of the past question itself


def find_past_answer(kb: KnowledgeBase, analysis: Analysis) -> VerifiedDraft | None:
    """The best-rated past answer to the same question that is still supported, if any.

    Always None when a model writes: its prompt includes past answers instead.
    """
    least = kb.settings.features.verified_rating
    if kb.model is not None:
        return None
    similar_questions = asked_before(kb, analysis.question, analysis.filters.collections, least)
    for similar in sorted(similar_questions, key=lambda question: -(question.past.score or 0)):
        sentences = accepted_sentences(similar.past, least)
        evidence = _evidence(kb, analysis.filters, similar) if sentences else []
        supported = _supported_sentences(similar, sentences, evidence) if evidence else []
        if supported:
            rating = similar.past.score or 0
            record = _question_as_evidence(kb, similar)
            *others, last = supported
            keys = (*last.claim.keys, *(piece.key for piece in record))
            checked = [*others, replace(last, claim=replace(last.claim, keys=keys))]
            question = " ".join(similar.past.question.split())
            note = f"answered before, rated {rating} of 100 by an expert: “{question}”"
            return _draft(kb, checked, [*evidence, *record], note, rating=rating)
    return None


def _draft(
    kb: KnowledgeBase,
    checked: Sequence[Checked],
    evidence: Sequence[Evidence],
    note: str,
    *,
    rating: int | None = None,
    own: frozenset[str] = frozenset(),
) -> VerifiedDraft:
    claims = tuple(item.claim for item in checked)
    return VerifiedDraft(
        written=Draft(text=" ".join(claim.text for claim in claims), claims=claims, by=BEFORE),
        checked=checked,
        evidence=evidence,
        sure=confidence_of_expert(
            rating,
            fully_supported=all(item.verdict.name.whole for item in checked),
            threshold=kb.settings.qa.confidence_threshold,
        ),
        note=note,
        own=own,
    )


def accepted_sentences(past: PastQuestion, least: int) -> list[str]:
    """The sentences of the past answer that the expert accepted.

    Empty when one is harmful, or when the first one, which introduces the others, is wrong.
    """
    if any(sentence.harmful for sentence in past.sentences):
        return []
    sentences = [sentence.text.content for sentence in parse(past.answer).sentences]
    accepted = [
        not judged.content_issue and (judged.score is None or judged.score >= least)
        for judged in past.sentences
    ]
    accepted += [True] * (len(sentences) - len(accepted))
    texts = [text for text, is_good in zip(sentences, accepted, strict=False) if is_good]
    return texts if accepted[:1] == [True] else []


def _evidence(kb: KnowledgeBase, filters: Filters, similar: SimilarQuestion) -> list[Evidence]:
    """The passages of the past answer's sources that are most similar to it."""
    sources = similar.sources
    if similar.rated is not None and not sources:
        return []
    if filters.document_ids:
        sources = tuple(source for source in sources if source in filters.document_ids)
        if not sources and similar.sources:
            return []
    limits = replace(
        filters,
        collections=filters.collections or similar.collections,
        document_ids=sources or filters.document_ids,
        kinds=tuple(kind for kind in filters.kinds if kind != "qa") or SOURCE_KINDS,
    )
    text = f"{similar.past.question}\n{similar.past.answer}"
    return pack(kb, search(kb, text, limits, limit=MAX_PASSAGES))


def _supported_sentences(
    similar: SimilarQuestion,
    sentences: Sequence[str],
    evidence: Sequence[Evidence],
) -> list[Checked]:
    """The sentences still supported; empty when all must be and one is not."""
    results = check_claims([Claim(text=text, keys=()) for text in sentences], evidence)
    if similar.expired or not similar.sources:
        return list(results) if all(item.verdict.name.whole for item in results) else []
    # If a number is missing, the expert must have used another source.
    texts = [full_text(piece) for piece in evidence]
    return [
        item if item.verdict.name.whole else _as_partly_supported(item, evidence)
        for item in results
        if item.verdict.name.whole or not missing_amounts(item.claim.text, texts)
    ]


def _as_partly_supported(item: Checked, evidence: Sequence[Evidence]) -> Checked:
    words = parse(item.claim.text).stem_set
    nearest = max(evidence, key=lambda piece: len(words & piece.parsed.stem_set))
    verdict = Verdict(
        name=VerdictName.PARTIAL,
        method=METHOD,
        score=item.verdict.score,
        key=nearest.key,
        source=nearest.span,
        reason="an expert rated it as correct, and the source has not changed since",
    )
    return replace(item, claim=replace(item.claim, keys=(nearest.key,)), verdict=verdict)


def _question_as_evidence(kb: KnowledgeBase, similar: SimilarQuestion) -> list[Evidence]:
    """The past question itself as evidence, if it is a document that can be cited."""
    document = similar.document
    if document is None:
        return []
    limits = Filters(collections=(document.collection,), document_ids=(document.id,))
    hits = search(kb, similar.past.question, limits, limit=1)
    return [replace(piece, key=RECORD) for piece in pack(kb, hits)]


# --- corrections ---------------------------------------------------------------------------------

CORRECTION = "an expert's correction of the answer to the same question"
MIN_KEPT_RATING = 50  # of 100; sentences rated lower are dropped from a corrected answer


@dataclass(frozen=True, slots=True, kw_only=True)
class _CitedSentence:
    """A sentence of a correction and its supporting places; ``own``: the expert wrote it."""

    text: str
    places: tuple[BetterCitation, ...]
    own: bool = True


def find_correction(
    kb: KnowledgeBase, analysis: Analysis, original_text: str = ""
) -> VerifiedDraft | None:
    """The latest correction for the same question that is still supported, if any."""
    if not kb.settings.features.corrections:
        return None
    for question in dict.fromkeys((analysis.question, original_text or analysis.question)):
        for rated in corrections(kb, question, analysis.filters.collections):
            answer = _correction_answer(kb, analysis, rated)
            if answer is not None:
                return answer
    return None


def _correction_answer(
    kb: KnowledgeBase, analysis: Analysis, rated: RatedAnswer
) -> VerifiedDraft | None:
    sentences = [*_corrected_sentences(rated), *_accepted_sentences(rated)]
    places = [place for sentence in sentences for place in sentence.places]
    evidence = _as_evidence(kb, analysis, places)
    supported = [line for line in sentences if any(place in evidence for place in line.places)]
    own_texts = [sentence.text for sentence in supported if sentence.own]
    if not own_texts:
        return None
    pieces = list({piece.key: piece for piece in evidence.values()}.values())
    claims = []
    for sentence in supported:
        keys = dict.fromkeys(evidence[place].key for place in sentence.places if place in evidence)
        claims.append(Claim(text=sentence.text, keys=tuple(keys)))
    items = check_claims(claims, pieces)
    cited = [
        _cite_own_place(claim, item, pieces) for claim, item in zip(claims, items, strict=True)
    ]
    feedback = rated.given
    who = f"an expert ({feedback.author})" if feedback.author else "an expert"
    rating = f", rated {feedback.score:g} of 100" if feedback.score is not None else ""
    question = " ".join(feedback.question.split())
    note = f"{who} corrected the answer to “{question}”{rating}, {feedback.updated_at:%Y-%m-%d}"
    return _draft(kb, cited, pieces, note, own=_unflagged(kb, rated, own_texts))


def _corrected_sentences(rated: RatedAnswer) -> list[_CitedSentence]:
    """The expert's sentences: the correction of the whole answer, else of single sentences."""
    feedback, answer = rated.given, rated.answer
    default = feedback.citations or tuple(places_quoted(answer))
    if feedback.correction:
        texts = _sentences(feedback.correction)
        return [_CitedSentence(text=text, places=default) for text in texts]
    corrected = []
    for sentence in feedback.sentences:
        cited = answer.sentences[sentence.sentence : sentence.sentence + 1]
        numbers = cited[0].citations if cited else ()
        places = feedback.citations or tuple(places_quoted(answer, numbers)) or default
        if sentence.citation is not None:
            places = (sentence.citation,)
        corrected += [
            _CitedSentence(text=text, places=places) for text in _sentences(sentence.correction)
        ]
    return corrected


def _accepted_sentences(rated: RatedAnswer) -> list[_CitedSentence]:
    """The sentences of the answer that the expert accepted, if only others were corrected."""
    feedback, answer = rated.given, rated.answer
    if feedback.correction:
        return []
    rejected = {
        sentence.sentence
        for sentence in feedback.sentences
        if sentence.correction
        or sentence.harmful
        or sentence.content_issue
        or (sentence.score is not None and sentence.score < MIN_KEPT_RATING)
    }
    return [
        _CitedSentence(
            text=" ".join(sentence.text.split()),
            places=tuple(places_quoted(answer, sentence.citations)),
            own=False,
        )
        for index, sentence in enumerate(answer.sentences)
        if index not in rejected
        and sentence.verdict.name != VerdictName.UNSUPPORTED
        and sentence.citations
        and BLANK not in sentence.text
    ]


def _sentences(text: str) -> list[str]:
    """The sentences of a correction, without those that were blanked with a removed source."""
    sentences = (" ".join(sentence.text.content.split()) for sentence in parse(text).sentences)
    return [sentence for sentence in sentences if BLANK not in sentence]


def _as_evidence(
    kb: KnowledgeBase, analysis: Analysis, places: Sequence[BetterCitation]
) -> dict[BetterCitation, Evidence]:
    """Turn the places that still exist within the question's limits into pieces of evidence."""
    unique = list(dict.fromkeys(places))
    current = zip(unique, kb.catalogue.expiry.now(unique), strict=True)
    spots = {old: (new.document_id, new.span) for old, new in current if new is not None}
    ids = {document_id for document_id, _ in spots.values()}
    limits = analysis.filters
    ids &= set(limits.document_ids) or ids
    if not ids:
        return {}
    narrowed = replace(limits, document_ids=tuple(sorted(ids)))
    page = kb.catalogue.listings.documents(narrowed, len(ids))
    facts = kb.catalogue.facts({document.facts.id for document in page.documents})
    pieces: dict[tuple[str, Span], Evidence] = {}
    allowed = [spot for spot in dict.fromkeys(spots.values()) if spot[0] in facts]
    passage_ids = kb.catalogue.listings.covering([(name, span.start) for name, span in allowed])
    passages = kb.catalogue.live_passages(filter(None, passage_ids))
    speakers = {name.casefold() for name in limits.speakers}
    for number, (spot, passage_id, marks, text) in enumerate(
        zip(
            allowed,
            passage_ids,
            kb.catalogue.marks_over(allowed),
            kb.catalogue.texts(allowed),
            strict=True,
        ),
        1,
    ):
        passage, document_marks = passages.get(passage_id), Marks(marks)
        turns = document_marks.turns(spot[1])
        turn_speakers = {turn.speaker.casefold() for turn in turns}
        if passage is not None and not (speakers and speakers.isdisjoint(turn_speakers)):
            pieces[spot] = Evidence(
                key=f"e{number}",
                hit=Hit(passage=passage, document=facts[spot[0]], score=1.0),
                text=text,
                span=spot[1],
                locator=document_marks.locate(spot[1]),
                turns=turns,
                tables=document_marks.tables(spot[1]),
            )
    return {old: pieces[spot] for old, spot in spots.items() if spot in pieces}


def _cite_own_place(claim: Claim, item: Checked, evidence: Sequence[Evidence]) -> Checked:
    """Cite for the sentence the place that the expert gave, whatever was found elsewhere."""
    pieces = [piece for piece in evidence if piece.key in claim.keys]
    verdict = item.verdict
    piece = next((piece for piece in pieces if piece.key == verdict.key), pieces[0])
    if not (verdict.name.whole and verdict.key in claim.keys):
        reason = "an expert wrote it so, and the place that they cited has not changed since"
        if verdict.method == NUMBER:
            reason = f"{reason}; {verdict.reason}"
        verdict = Verdict(
            name=VerdictName.PARTIAL, method=METHOD, score=verdict.score, reason=reason
        )
    return Checked(claim=claim, verdict=replace(verdict, key=piece.key, source=piece.span))


def _unflagged(kb: KnowledgeBase, rated: RatedAnswer, texts: Sequence[str]) -> frozenset[str]:
    """The expert's sentences that nobody flagged.

    A correction often repeats the flagged sentence with additions. So flags by the same expert
    apply only to identical sentences; flags by others also apply to sentences that contain them.
    """
    flagged = flagged_sentences(kb, rated.collections)
    others = flagged.without(
        {sentence.content for sentence in rated.given.sentences if sentence.harmful}
    )
    return frozenset(
        text
        for text in texts
        if sentence_hash(text) not in flagged.words and not others.holds(text)
    )
