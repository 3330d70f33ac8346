"""Writes the sections of a research report: extracts per facet, or text by a language model.

Extracts for a facet (a subtopic) are chosen as for a question (``ask/write/extracts.py``). No
extract is shown twice or repeats an earlier one; the question as a whole comes last and gets what
no narrower facet has used. A model writes a section only from that section's evidence, and the
summary from what the sections cite. A judge model checks the text (``check_claims.py``): sentences
without citations are removed and counted, and so are unsupported ones if ``citations.strict`` is
set; other sentences are shown with their verdict. A section may end up empty.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

from anyio import to_thread

from wellread.ask.deliver.cite import is_deliverable, prune
from wellread.ask.retrieve.ranking import overlap
from wellread.ask.verify.check_claims import Opinion, Ruling, apply_opinion, ask_judge, check_claims
from wellread.ask.write.extract_score import Window, windows_of
from wellread.ask.write.extracts import Extract, extract_of, nearest_extracts, nearest_sentences
from wellread.ask.write.parse_draft import parse_draft
from wellread.ask.write.prompts import Guard, source_texts, template_pieces, wordings
from wellread.codec import from_plain, to_plain
from wellread.identity import tagged_hash
from wellread.kb import KnowledgeBase
from wellread.models.base import Prompt
from wellread.models.prompts import fence_of, fenced, template
from wellread.research.model_rounds import PACKAGE, ModelReply, ask_models
from wellread.research.planning import MIN_SUBJECT_SHARE, subject_stems, topic_of, topic_words
from wellread.research.run_state import Pool, RunState, evidence_of
from wellread.text.parsed import parse
from wellread.types import Hit, Span
from wellread.values.answers import EXTRACTIVE, NOBODY, Checked, Claim, Evidence
from wellread.values.question import Analysis
from wellread.values.reports import Facet, FacetKind, ProgressEvent

MAX_PASSAGES = 40  # nearest passages considered for a facet
MAX_EVIDENCE = 8  # evidence passages per written section
MAX_EXTRACTS = 3  # extracts per facet
WIDE_KINDS = ("question", "period")  # kinds of facets shown as many single-sentence extracts
MAX_REPORT_EXTRACTS = 60
MAX_WIDE_EXTRACTS = 12  # extracts per facet of a wide kind
MAX_DOCUMENT_EXTRACTS = 2  # extracts per document in a report
MIN_REPETITION_OVERLAP = 0.55  # an extract that shares so many words repeats an earlier one
MIN_SENTENCE_OVERLAP = 0.8  # so does a single sentence; these are often worded alike
NAMED_KINDS = ("side", "entity", "bridge")  # kinds of facets whose title is a name
MIN_COSINE = 0.5  # cosine from which a passage is relevant whatever its words
ORDER: Mapping[FacetKind, int] = {"bridge": 1, "question": 2}  # these choose after all others
MIN_TOPIC_WORDS = 3  # topic words that a central sentence shares with the rest of its document part
LENGTH_OFFSET = 10  # words added to a sentence's length, so that short sentences get no advantage
MIN_SENTENCES, MAX_SENTENCES = 2, 8  # sentences per written section
MAX_SUMMARY_EVIDENCE = 16  # passages that the summary is written from
NOT_FOUND = "NOT FOUND"


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionDraft:
    """A section or the summary, with a verdict for each sentence.

    Attributes:
        text: Markdown without citation markers; empty if nothing is supported.
        extracts: shown in place of ``text`` when no model wrote the section; ``checked`` holds
            their marked sentences.
        checked: the sentences in the order of ``text``, with verdicts and evidence keys.
        by: the model's name, ``extractive``, or ``none`` for an empty section.
        fallback: why the configured model did not write it; empty if it did.
        removed: number of sentences removed as uncited or, with strict settings, unsupported.
        unknown_keys: number of evidence keys invented by the model.
    """

    text: str = ""
    extracts: tuple[Extract, ...] = ()
    checked: tuple[Checked, ...] = ()
    by: str = NOBODY
    fallback: str = ""
    removed: int = 0
    unknown_keys: int = 0


@dataclass(slots=True, kw_only=True)
class Sections:
    """The evidence, extracts and drafts of a report.

    Attributes:
        evidence: all passages considered, each with its own key.
        passages: passages by facet id, nearest first.
        extracts: extracts by facet id, best first; facets without extracts are missing.
        confidence: by facet id, the probability that its passages answer it.
        drafts: sections by facet id. ``summary``: the summary, if a model wrote one.
    """

    evidence: Sequence[Evidence] = ()
    passages: Mapping[str, Sequence[Evidence]] = field(default_factory=dict)
    extracts: Mapping[str, tuple[Extract, ...]] = field(default_factory=dict)
    confidence: dict[str, float] = field(default_factory=dict)
    drafts: dict[str, SectionDraft] = field(default_factory=dict)
    summary: SectionDraft | None = None

    @property
    def best(self) -> list[Extract]:
        """The best extract of each facet, most certain facets first."""
        order = sorted(self.extracts, key=lambda facet: -self.confidence.get(facet, 0.0))
        return [self.extracts[facet][0] for facet in order]


def sections_of(state: RunState, analysis: Analysis) -> Sections:
    """Choose extracts from the passages for each facet."""
    kb, facets, pool = state.kb, state.facets, state.pool
    passage_ids = {facet.id: _relevant_passages(kb, analysis, facet, pool) for facet in facets}
    distinct_ids = list(dict.fromkeys(key for ids in passage_ids.values() for key in ids))
    evidence = evidence_of(kb, [pool.hits[passage_id] for passage_id in distinct_ids])
    by_passage = dict(zip(distinct_ids, evidence, strict=True))
    passages = {facet: [by_passage[key] for key in ids] for facet, ids in passage_ids.items()}
    # Parts of a document are summarized; their passages need not answer a question.
    parts = [facet for facet in facets if facet.passages]
    chosen = _part_extracts(kb, parts, passages)
    others = [facet for facet in facets if not facet.passages]
    sections = Sections(evidence=evidence, passages=passages)
    chosen |= _facet_extracts(kb, analysis, others, sections)
    sections.extracts = {facet.id: chosen[facet.id] for facet in facets if facet.id in chosen}
    sections.drafts = {facet: draft_of(shown) for facet, shown in sections.extracts.items()}
    return sections


def _part_extracts(
    kb: KnowledgeBase, parts: Sequence[Facet], passages: Mapping[str, Sequence[Evidence]]
) -> dict[str, tuple[Extract, ...]]:
    extracts: dict[str, tuple[Extract, ...]] = {}
    limit = max(2, kb.settings.research.sentences // len(parts)) if parts else 0
    for part, marked in _central_sentences(passages, parts, limit):
        extracts[part] = tuple(  # only their marked sentences, since whole windows overlap
            extract_of(kb, passages[part][window.piece], window, sentences).only_marked()
            for window, sentences in marked
        )
    return extracts


def _facet_extracts(
    kb: KnowledgeBase, analysis: Analysis, facets: Sequence[Facet], sections: Sections
) -> dict[str, tuple[Extract, ...]]:
    """Return the extracts by facet id, and store the confidence of each facet."""
    extracts: dict[str, tuple[Extract, ...]] = {}
    used: list[Extract] = []
    wide_count = sum(facet.kind in WIDE_KINDS for facet in facets)
    wide_limit = min(MAX_WIDE_EXTRACTS, MAX_REPORT_EXTRACTS // max(1, wide_count))
    for facet in sorted(facets, key=lambda facet: ORDER.get(facet.kind, 0)):
        is_wide = facet.kind in WIDE_KINDS
        limit = min(wide_limit if is_wide else MAX_EXTRACTS, MAX_REPORT_EXTRACTS - len(used))
        if limit < 1:
            continue
        voices = facet.filters.speakers or analysis.voices
        question = _facet_question(analysis, facet)
        passages = sections.passages[facet.id]
        nearest = nearest_extracts(kb, question, passages, voices)
        if not voices and not nearest.near:
            continue
        sections.confidence[facet.id] = nearest.confidence
        # A wide facet gets one long extract, then single sentences.
        fresh = list(_without_repetition(nearest.shown, used, 1 if is_wide else limit))
        if is_wide:
            more = nearest_sentences(kb, question, passages, voices)
            room, before = limit - len(fresh), [*used, *fresh]
            fresh += _without_repetition(
                more, before, room, max_per_document=1, overlap_limit=MIN_SENTENCE_OVERLAP
            )
        if fresh:
            used += fresh
            extracts[facet.id] = tuple(fresh)
    return extracts


def draft_of(extracts: Sequence[Extract]) -> SectionDraft:
    """Return a section that shows ``extracts``."""
    checked = tuple(
        Checked(
            claim=Claim(text=extract.of(span), keys=(extract.piece.key,), source=span),
            verdict=extract.verdict(span),
        )
        for extract in extracts
        for span in sorted(extract.marked, key=lambda span: span.start)
    )
    return SectionDraft(extracts=tuple(extracts), checked=checked, by=EXTRACTIVE)


def _facet_question(analysis: Analysis, facet: Facet) -> str:
    return topic_of(analysis) if facet.query == analysis.searched else facet.query


def _relevant_passages(
    kb: KnowledgeBase, analysis: Analysis, facet: Facet, pool: Pool
) -> list[str]:
    if facet.passages:
        return [passage_id for passage_id in pool.hits if facet.id in pool.ranks[passage_id]]
    text, topic = _facet_question(analysis, facet), topic_of(analysis)
    nearness = pool.nearness(kb, text, facet.id)
    relevant = [key for key in nearness if is_about(facet, text, topic, pool.hits[key])]
    return sorted(relevant, key=lambda key: (-nearness[key], key))[:MAX_PASSAGES]


def is_about(facet: Facet, text: str, topic: str, hit: Hit) -> bool:
    """Whether a passage is relevant to a facet: it has the facet's words, or is close in meaning.

    For a facet with a name ("the zeppelin") only words count, because many passages that are close
    in meaning do not name it. For a bridge facet, a document titled with the name is relevant; any
    other passage must also contain words of the question.

    Args:
        text: the question of the facet.
        topic: the topic of the report.
    """
    stems = parse(f"{hit.passage.context}\n{hit.passage.text}").stem_set
    if facet.kind not in NAMED_KINDS:
        return _has_most(subject_stems(text), stems) or (hit.similarity or 0.0) >= MIN_COSINE
    name = frozenset(parse(facet.title.rpartition(" · ")[2]).topic_stems)
    named = len(name & stems) >= (1.0 if facet.kind == "side" else MIN_SUBJECT_SHARE) * len(name)
    is_titled = facet.kind != "bridge" or parse(hit.document.title).stem_set >= name
    return named and (is_titled or _has_most(subject_stems(topic), stems))


def _has_most(required: frozenset[str], stems: frozenset[str]) -> bool:
    return len(required & stems) >= MIN_SUBJECT_SHARE * len(required)


def _without_repetition(
    extracts: Iterable[Extract],
    chosen: Sequence[Extract],
    limit: int,
    *,
    max_per_document: int = MAX_DOCUMENT_EXTRACTS,
    overlap_limit: float = MIN_REPETITION_OVERLAP,
) -> Iterator[Extract]:
    """Yield the first extracts that are not repetitions, with a limit per document."""
    documents = Counter(extract.piece.hit.document.id for extract in chosen)
    earlier = [_stems(extract) for extract in chosen]
    for extract in extracts:
        document, stems = extract.piece.hit.document.id, _stems(extract)
        if not limit:
            break
        is_new = all(overlap(stems, old) < overlap_limit for old in earlier)
        if documents[document] < max_per_document and is_new:
            documents[document] += 1
            earlier.append(stems)
            limit -= 1
            yield extract


def _stems(extract: Extract) -> frozenset[str]:
    return parse(" ".join(map(extract.of, extract.marked))).stem_set


MarkedSentences = list[tuple[Window, list[int]]]


class _Place(NamedTuple):
    window: Window
    number: int  # of the sentence in the window, from 0

    @property
    def text(self) -> str:
        return self.window.texts[self.number]


def _central_sentences(
    passages: Mapping[str, Sequence[Evidence]], parts: Sequence[Facet], limit: int
) -> Iterator[tuple[str, MarkedSentences]]:
    """For each document part, its most central sentences, with their windows.

    A word scores higher the more often its part uses it and the fewer parts use it. A sentence
    scores the sum of its words divided by the square root of its length (after Nenkova and
    Vanderwende, "The Impact of Frequency on Summarization", 2005, with parts in place of
    documents). A part without such words is represented by its first sentence.
    """
    # Overlapping windows contain the same sentences, so these are keyed by passage and span.
    sentences: dict[str, dict[tuple[int, Span], _Place]] = {part.id: {} for part in parts}
    for part in parts:
        for number, piece in enumerate(passages[part.id]):
            for window in windows_of(number, piece, part.filters.speakers):
                for index, span in enumerate(window.sentences):
                    sentences[part.id][number, span] = _Place(window, index)
    counts = {
        part: Counter(word for place in places.values() for word in topic_words(place.text))
        for part, places in sentences.items()
    }
    spread = Counter(word for words in counts.values() for word in words)

    def centrality(part: str, text: str) -> float:
        words = {word for word in topic_words(text) if counts[part][word] > 1}
        words = {word for word in words if spread[word] < len(counts) or len(counts) == 1}
        if len(words) < MIN_TOPIC_WORDS:
            return 0.0
        rare = (counts[part][word] * math.log((1 + len(counts)) / spread[word]) for word in words)
        return sum(rare) / math.sqrt(len(text.split()) + LENGTH_OFFSET)

    for part_id, places in sentences.items():
        informative = {
            key: place for key, place in places.items() if place.window.telling[place.number]
        }
        values = {key: centrality(part_id, place.text) for key, place in informative.items()}
        best = [key for key in sorted(values, key=lambda key: -values[key])[:limit] if values[key]]
        marked: dict[int, tuple[Window, list[int]]] = {}  # by the identity of the window
        for key in sorted(best or list(informative)[:1], key=lambda key: (key[0], key[1].start)):
            window, index = informative[key]
            marked.setdefault(id(window), (window, []))[1].append(index)
        if marked:
            yield part_id, list(marked.values())


# --- sections written by a model -----------------------------------------------------------------


async def write_report(
    state: RunState, question: str, analysis: Analysis, sections: Sections
) -> AsyncIterator[ProgressEvent]:
    """Write every section that has evidence, then the summary, and store them in ``sections``.

    If no model could be called, the extracts stay and the draft gives the reason. A section without
    a supported sentence counts as not found. The summary is written like a section, from what the
    sections cite.
    """
    for facet in state.facets:
        chosen = [extract.piece for extract in sections.extracts.get(facet.id, ())]
        pieces = {piece.key: piece for piece in (*chosen, *sections.passages[facet.id])}
        if not pieces:
            continue
        # For a speaker's facet, only the words of that speaker are relevant.
        speakers = facet.filters.speakers or analysis.filters.speakers
        filters = replace(analysis.filters, speakers=speakers)
        # The section is about one facet, so it need not treat the sides of the whole question.
        facet_analysis = replace(analysis, question=facet.query, sides=(), filters=filters)
        evidence = list(pieces.values())[:MAX_EVIDENCE]
        draft = await write_section(state, question, facet, facet_analysis, evidence)
        action, removed = f"{draft.by} wrote “{facet.title}”", draft.removed
        if draft.by == NOBODY:
            action = f"extracts were chosen for “{facet.title}”"
            extracted = sections.drafts.get(facet.id, SectionDraft())
            draft = replace(extracted, fallback=draft.fallback)
        sections.drafts[facet.id] = draft
        count = len(draft.checked)
        text = f"{action}: {count} sentences, {removed} removed"
        yield ProgressEvent(
            round=state.rounds, stage="write", text=text, facet=facet.id, found=count
        )
    cited = {
        key
        for draft in sections.drafts.values()
        for item in draft.checked
        for key in item.claim.keys
    }
    evidence = [piece for piece in sections.evidence if piece.key in cited][:MAX_SUMMARY_EVIDENCE]
    if evidence:
        topic = Facet(id="", kind="question", title=question, query=question)
        sections.summary = await write_section(state, question, topic, analysis, evidence)


async def write_section(
    state: RunState, question: str, facet: Facet, analysis: Analysis, evidence: Sequence[Evidence]
) -> SectionDraft:
    """Write the section on ``facet`` from ``evidence`` only; without a model, give the reason.

    Args:
        question: the question of the whole report.
        analysis: the analysis of the section's topic.
    """
    fence = fence_of(question, facet.title, *(piece.text for piece in evidence))
    prompt = Prompt(
        system=template("section_system.md", PACKAGE).render(
            fence=fence,
            least=MIN_SENTENCES,
            most=MAX_SENTENCES,
            wording=wordings()[analysis.type],
            voices=[_line(name, fence) for name in analysis.voices],
        ),
        user=template("section_user.md", PACKAGE).render(
            fence=fence,
            pieces=template_pieces(evidence, fence),
            question=_line(question, fence),
            topic=_line(facet.title, fence),
        ),
    )
    guard = Guard(prompt.system, fence, [question, facet.title, *source_texts(evidence)])
    judged = replace(analysis, question=f"{question}\n{facet.title}")
    reply = await ask_models(state, lambda _: prompt)  # the same with and without tools
    if not reply.text.strip():
        return SectionDraft(fallback=_fallback_reason(state.kb, reply))
    draft = parse_draft(reply.text, {piece.key for piece in evidence}, guard, evidence=evidence)
    result = SectionDraft(by=reply.by, fallback=reply.reason, unknown_keys=draft.unknown_keys)
    if draft.text.strip(" .*_").upper() == NOT_FOUND:
        return result
    checked = await to_thread.run_sync(check_claims, draft.claims, evidence, analysis.voices)
    ruling = await _judge(state, judged, evidence, checked, reply.by)
    strict, voices = state.kb.settings.citations.strict, bool(analysis.voices)
    deliverable = [
        item
        for item in ruling.checked
        if is_deliverable(item, strict=strict, required=True, voices=voices)
    ]
    text, remaining = prune(draft.text, ruling.checked, deliverable)
    stated = tuple(item for item in remaining if not item.verdict.states_nothing)
    return replace(
        result,
        text=text if stated else "",
        checked=stated,
        removed=len(checked) - len(remaining),
        fallback="; ".join(filter(None, (result.fallback, ruling.failure))),
    )


def _line(text: str, fence: str) -> str:
    return " ".join(fenced(text, fence).split())


async def _judge(
    state: RunState,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    checked: Sequence[Checked],
    by: str,
) -> Ruling:
    """Return the sentences with the judge's verdicts; the reply is recorded in the journal."""

    async def ask() -> Any:
        return to_plain(await ask_judge(state.kb, analysis, evidence, checked, by=by))

    if state.stop():
        return Ruling(checked=checked)
    texts = [piece.text for piece in evidence]
    key = tagged_hash("judge", *(item.claim.text for item in checked), *texts)
    opinion = from_plain(Opinion, await state.once(key, ask))
    if opinion.by or opinion.usage.cost:
        state.spend(opinion.usage)
    return apply_opinion(opinion, analysis, evidence, checked)


def _fallback_reason(kb: KnowledgeBase, reply: ModelReply) -> str:
    if "model" not in kb.models.names():
        return ""
    reasons = [reply.reason]
    if reply.stopped and not reply.by:
        reasons.append(f"no model was asked: {reply.stopped.replace('_', ' ')}")
    elif reply.by:
        reasons.append(f"{reply.by} gave an empty reply")
    return "; ".join(filter(None, reasons))
