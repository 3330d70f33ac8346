"""The sections of a report: the extracts that answer best, or what a language model writes.

The passages found for a facet are read as those of a question are (``ask/write/extracts.py``). No
extract is shown twice, and none that says what an earlier one says; the question as a whole comes
last, so that it gets what no narrower facet tells. A model writes a section from its own evidence
alone, the summary from sentences that were checked. A judge sees what it writes (``judge.py``):
what cites nothing is removed and counted, and so is what is unsupported where ``citations.strict``
says so; the rest is shown with its mark. A section of which nothing is left is empty.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import AsyncIterator, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from anyio import to_thread

from wellread.ask.deliver.prune_draft import Deliverable, pruned
from wellread.ask.retrieve.ranking import overlap
from wellread.ask.verify.check_claims import checked as check_claims
from wellread.ask.verify.judge import NO_QUESTION, Opinion, Ruling, opinion_on, ruling_by
from wellread.ask.write.drafting import usage_of
from wellread.ask.write.extract_score import Window, windows_of
from wellread.ask.write.extracts import Extract, extract_of, nearest_of, places_of
from wellread.ask.write.parse_draft import parse_draft
from wellread.ask.write.prompts import Guard, pieces_of, said_in, wordings
from wellread.codec import from_plain, to_plain
from wellread.identity import tagged_hash
from wellread.kb import KnowledgeBase
from wellread.models.base import Prompt
from wellread.models.prompts import fence_of, fenced, template
from wellread.research.model_rounds import PACKAGE, Heard, ask_in_turn
from wellread.research.planning import ABOUT, subject_stems, telling_words, topic_of
from wellread.research.run_state import Pool, RunState, evidence_of
from wellread.text.parsed import parse
from wellread.types import Hit
from wellread.values.answers import EXTRACTIVE, NOBODY, Checked, Claim, Evidence, Usage
from wellread.values.question import Analysis
from wellread.values.reports import Facet, FacetKind, ProgressEvent, StopReason

PASSAGES = 40  # nearest ones of a facet that are looked at
PIECES = 8  # of evidence that a model writes one section from
SHOWN = 3  # extracts of a facet
WIDE = ("question", "period")  # kinds of facets of which many places are told, each in a sentence
PLACES, OF_A_FACET = 60, 12  # at most: of a report, and of such a facet
OF_A_DOCUMENT = 2  # extracts of one document in a report
SAME = 0.55  # share of words in common, from which an extract says nothing new
SAME_SENTENCE = 0.8  # of a sentence alone: many documents tell of like things in like words
NAMING = ("side", "entity", "bridge")  # kinds of facets that are called by a name
NEAR = 0.5  # cosine, from which a passage is about the question whatever its words
LATER: Mapping[FacetKind, int] = {"bridge": 1, "question": 2}
TELLING_WORDS = 3  # that a sentence of a part told as a whole shares with the rest of it
SHORT = 10  # words that count on top of a sentence's length, so that short ones win nothing by it
LEAST_SENTENCES, MOST_SENTENCES = 2, 8  # that a model writes of a section
LEAST_SUMMARY, MOST_SUMMARY = 3, 5
NOT_FOUND = "NOT FOUND"


@dataclass(frozen=True, slots=True, kw_only=True)
class SectionDraft:
    """A section, or the summary, each sentence with its verdict.

    Attributes:
        text: Markdown without citation markers; empty: nothing of it is borne out.
        extracts: what is shown in place of a text, where no model wrote; ``checked`` holds their
            marked sentences.
        checked: its sentences in order, with verdict and evidence keys; each stands in ``text``
            behind the one before it.
        by: the model's name, ``extractive``, or ``none`` for an empty one that nobody wrote.
        fallback: why another than the configured model wrote it; empty when none did.
        removed: sentences that cited nothing or, where the settings are strict, are unsupported.
        unknown_keys: evidence keys that the model made up.
        withheld: sentences and lines that must not be shown.
        stopped: the run's limit that kept the model from being asked.
    """

    text: str = ""
    extracts: tuple[Extract, ...] = ()
    checked: tuple[Checked, ...] = ()
    by: str = NOBODY
    fallback: str = ""
    removed: int = 0
    unknown_keys: int = 0
    withheld: int = 0
    usage: Usage = field(default_factory=Usage)
    stopped: StopReason | None = None


@dataclass(slots=True, kw_only=True)
class Sections:
    """What a report is made of.

    Attributes:
        evidence: the passages that were looked at, each under a key of its own.
        read: facet id to its passages, the nearest first.
        shown: facet id to its extracts, the best first; only of facets that have some.
        sure: facet id to how likely its passages answer, 0-1.
        drafts: facet id to its section. ``summary``: where a model wrote it.
    """

    evidence: Sequence[Evidence] = ()
    read: Mapping[str, Sequence[Evidence]] = field(default_factory=dict)
    shown: Mapping[str, tuple[Extract, ...]] = field(default_factory=dict)
    sure: Mapping[str, float] = field(default_factory=dict)
    drafts: dict[str, SectionDraft] = field(default_factory=dict)
    summary: SectionDraft | None = None

    @property
    def best(self) -> list[Extract]:
        """The best extract of each facet, those of the surest facets first."""
        order = sorted(self.shown, key=lambda facet: -self.sure.get(facet, 0.0))
        return [self.shown[facet][0] for facet in order]


def sections_of(state: RunState, analysis: Analysis) -> Sections:
    """The extracts of the passages read, each under the facet that it tells of."""
    kb, facets, pool = state.kb, state.facets, state.pool
    most = kb.settings.research.sentences
    near = {facet.id: _near(kb, analysis, facet, pool) for facet in facets}
    passages = list(dict.fromkeys(name for names in near.values() for name in names))
    evidence = evidence_of(kb, [pool.hits[name] for name in passages])
    pieces = dict(zip(passages, evidence, strict=True))
    read = {facet: [pieces[name] for name in names] for facet, names in near.items()}
    shown: dict[str, tuple[Extract, ...]] = {}
    sure: dict[str, float] = {}
    taken: list[Extract] = []
    whole = [facet for facet in facets if _is_part(facet)]
    share = min(OF_A_FACET, PLACES // max(1, sum(facet.kind in WIDE for facet in facets)))
    for part, marked in _central(read, whole, max(2, most // len(whole)) if whole else 0):
        extracts = (extract_of(kb, read[part][w.piece], w, at) for w, at in marked)
        shown[part] = tuple(each.marked_alone() for each in extracts)  # their windows overlap
    for facet in sorted(facets, key=lambda facet: LATER.get(facet.kind, 0)):
        wide = facet.kind in WIDE
        room = min(share if wide else SHOWN, PLACES - len(taken))
        if facet in whole or room < 1:
            continue
        voices, asked = facet.filters.speakers or analysis.voices, _asked(analysis, facet)
        told = nearest_of(kb, asked, read[facet.id], voices)
        usable = bool(voices or told.near)
        sure[facet.id] = told.confidence if usable else 0.0
        new = list(_new(told.shown if usable else (), taken, 1 if wide else room))
        if usable and wide:
            further = places_of(kb, asked, read[facet.id], voices)
            left, before = room - len(new), [*taken, *new]
            new += _new(further, before, left, of_a_document=1, same=SAME_SENTENCE)
        if new:
            taken += new
            shown[facet.id] = tuple(new)
    in_order = {facet.id: shown[facet.id] for facet in facets if facet.id in shown}
    drafts = {facet: draft_of(extracts) for facet, extracts in in_order.items()}
    return Sections(evidence=evidence, read=read, shown=in_order, sure=sure, drafts=drafts)


def draft_of(extracts: Sequence[Extract]) -> SectionDraft:
    """A section that shows ``extracts``."""
    checked = tuple(
        Checked(
            claim=Claim(text=extract.of(span), keys=(extract.piece.key,), source=span),
            verdict=extract.verdict(span),
        )
        for extract in extracts
        for span in sorted(extract.marked, key=lambda span: span.start)
    )
    return SectionDraft(extracts=tuple(extracts), checked=checked, by=EXTRACTIVE)


def _is_part(facet: Facet) -> bool:
    """Whether it is a part of a document that is told as a whole."""
    return bool(facet.passages) and facet.query == facet.title


def _asked(analysis: Analysis, facet: Facet) -> str:
    """What is asked of a facet's passages."""
    return topic_of(analysis) if facet.query == analysis.searched else facet.query


def _near(kb: KnowledgeBase, analysis: Analysis, facet: Facet, pool: Pool) -> list[str]:
    """The passages that were found for a facet and are about it, the nearest first."""
    if _is_part(facet):
        return [name for name in pool.hits if facet.id in pool.ranks[name]]
    text, topic = _asked(analysis, facet), topic_of(analysis)
    near = pool.nearness(kb, text, facet.id)
    about = [name for name in near if is_about(facet, text, topic, pool.hits[name])]
    return sorted(about, key=lambda name: (-near[name], name))[:PASSAGES]


def is_about(facet: Facet, text: str, topic: str, hit: Hit) -> bool:
    """Whether a passage is about what a facet looks for: it holds the words or comes near.

    What a facet adds to the question ("the zeppelin") is looked for by its words alone: the meaning
    of the whole is near to much that does not name it. Where a bridge led, a page on the name is
    about it; another passage that names it holds the question's words too.

    Args:
        text: what is asked of the passage; ``topic``: of the report.
    """
    stems = parse(f"{hit.passage.context}\n{hit.passage.text}").stem_set
    if facet.kind not in NAMING:
        return _holds(subject_stems(text), stems) or (hit.similarity or 0.0) >= NEAR
    name = frozenset(parse(facet.title.rpartition(" · ")[2]).topic_stems)
    named = len(name & stems) >= (1.0 if facet.kind == "side" else ABOUT) * len(name)
    own = facet.kind != "bridge" or parse(hit.document.title).stem_set >= name
    return named and (own or _holds(subject_stems(topic), stems))


def _holds(wanted: frozenset[str], stems: frozenset[str]) -> bool:
    return len(wanted & stems) >= ABOUT * len(wanted)


def _new(
    extracts: Iterable[Extract],
    taken: Sequence[Extract],
    room: int,
    *,
    of_a_document: int = OF_A_DOCUMENT,
    same: float = SAME,
) -> Iterator[Extract]:
    """The first extracts that say something new, few of one document."""
    documents = Counter(extract.piece.hit.document.id for extract in taken)
    said = [_stems(extract) for extract in taken]
    for extract in extracts:
        document, stems = extract.piece.hit.document.id, _stems(extract)
        if not room:
            break
        new = all(overlap(stems, old) < same for old in said)
        if documents[document] < of_a_document and new:
            documents[document] += 1
            said.append(stems)
            room -= 1
            yield extract


def _stems(extract: Extract) -> frozenset[str]:
    return parse(" ".join(map(extract.of, extract.marked))).stem_set


Marks = list[tuple[Window, list[int]]]


def _central(
    read: Mapping[str, Sequence[Evidence]], parts: Sequence[Facet], most: int
) -> Iterator[tuple[str, Marks]]:
    """Of each part the sentences that hold most of what it goes back to, in their windows.

    A word is worth how often its part has it, and more the fewer parts do; a sentence the sum of
    its words over the root of its length (after Nenkova and Vanderwende, "The Impact of Frequency
    on Summarization", 2005, with parts in place of documents). A part that goes back to nothing is
    told by how it begins.
    """
    sentences: dict[str, dict[Any, tuple[Window, int]]] = {part.id: {} for part in parts}
    for part in parts:
        for number, piece in enumerate(read[part.id]):
            for window in windows_of(number, piece, part.filters.speakers):
                for at, span in enumerate(window.sentences):
                    sentences[part.id][number, span] = (window, at)
    counts = {
        part: Counter(word for w, at in own.values() for word in telling_words(w.texts[at]))
        for part, own in sentences.items()
    }
    spread = Counter(word for words in counts.values() for word in words)

    def worth(part: str, text: str) -> float:
        words = {word for word in telling_words(text) if counts[part][word] > 1}
        words = {word for word in words if spread[word] < len(counts) or len(counts) == 1}
        if len(words) < TELLING_WORDS:
            return 0.0
        rare = (counts[part][word] * math.log((1 + len(counts)) / spread[word]) for word in words)
        return sum(rare) / math.sqrt(len(text.split()) + SHORT)

    for name, own in sentences.items():
        telling = {key: (w, at) for key, (w, at) in own.items() if w.telling[at]}
        value = {key: worth(name, w.texts[at]) for key, (w, at) in telling.items()}
        best = [key for key in sorted(value, key=lambda key: -value[key])[:most] if value[key]]
        marks: dict[int, tuple[Window, list[int]]] = {}
        for key in sorted(best or list(telling)[:1], key=lambda key: (key[0], key[1].start)):
            window, at = telling[key]
            marks.setdefault(id(window), (window, []))[1].append(at)
        if marks:
            yield name, list(marks.values())


# --- written by a model --------------------------------------------------------------------------


async def write_report(
    state: RunState, question: str, analysis: Analysis, sections: Sections
) -> AsyncIterator[ProgressEvent]:
    """Write every section that has evidence, then the summary; they are left with ``sections``.

    Where no model could be asked, what was chosen stays, and the draft says why. A section of which
    nothing is borne out is "not found".
    """
    for facet in state.facets:
        chosen = [extract.piece for extract in sections.shown.get(facet.id, ())]
        pieces = {piece.key: piece for piece in (*chosen, *sections.read[facet.id])}
        if not pieces:
            continue
        # Of a speaker's facet the words of that speaker alone are asked for.
        speakers = facet.filters.speakers or analysis.filters.speakers
        filters = replace(analysis.filters, speakers=speakers)
        asked = replace(analysis, question=facet.query, sides=(), filters=filters)
        made = await write_section(state, question, facet, asked, list(pieces.values())[:PIECES])
        told = f"{made.by} wrote “{facet.title}”"
        draft = made
        if made.by in (EXTRACTIVE, NOBODY):
            told = f"passages were chosen for “{facet.title}”"
            draft = sections.drafts.get(facet.id, SectionDraft())
            draft = replace(draft, fallback=made.fallback)
        sections.drafts[facet.id] = draft
        found = len(draft.checked)
        text = f"{told}: {found} sentences, {made.removed} removed"
        yield ProgressEvent(
            round=state.rounds, stage="write", text=text, facet=facet.id, found=found
        )
    told_of = [
        (facet.title, sections.drafts[facet.id].checked)
        for facet in state.facets
        if facet.id in sections.drafts and sections.drafts[facet.id].checked
    ]
    sections.summary = await write_summary(state, question, told_of, sections.evidence)


async def write_section(
    state: RunState,
    question: str,
    facet: Facet,
    analysis: Analysis,
    evidence: Sequence[Evidence],
) -> SectionDraft:
    """The section on ``facet``, from ``evidence`` alone; where no model writes it, it says why.

    Args:
        question: of the report as a whole.
        analysis: of what the section is about.
    """
    if not evidence:
        return SectionDraft()
    fence = fence_of(question, facet.title, *(piece.text for piece in evidence))
    prompt = Prompt(
        system=template("section_system.md", PACKAGE).render(
            fence=fence,
            least=LEAST_SENTENCES,
            most=MOST_SENTENCES,
            wording=wordings()[analysis.type],
            voices=[_line(name, fence) for name in analysis.voices],
        ),
        user=template("section_user.md", PACKAGE).render(
            fence=fence,
            pieces=pieces_of(evidence, fence),
            question=_line(question, fence),
            topic=_line(facet.title, fence),
        ),
    )
    heard = await ask_in_turn(state, f"section:{facet.id}", lambda _: prompt)
    if not heard.text.strip():
        return SectionDraft(fallback=_why(state.kb, heard), stopped=heard.stopped)
    guard = Guard(prompt.system, fence, [question, facet.title, *said_in(evidence)])
    about = replace(analysis, question=f"{question}\n{facet.title}")
    return await _kept(state, heard, guard, about, evidence)


async def write_summary(
    state: RunState,
    question: str,
    sections: Sequence[tuple[str, Sequence[Checked]]],
    evidence: Sequence[Evidence],
) -> SectionDraft:
    """The summary in three to five sentences, from the sentences of the sections alone.

    It is empty when no model writes it, or too little of what it writes is borne out; it says why.

    Args:
        sections: the title of each and its supported sentences.
        evidence: of the whole report; a sentence is checked against what the sections cite.
    """
    given = [item for _, checked in sections for item in checked]
    if not given:
        return SectionDraft()
    fence = fence_of(question, *(item.claim.text for item in given))
    prompt = _summary_prompt(question, sections, fence)
    heard = await ask_in_turn(state, "summary", lambda _: prompt)
    if not heard.text.strip():
        return SectionDraft(fallback=_why(state.kb, heard), stopped=heard.stopped)
    cited = {key for item in given for key in item.claim.keys}
    pieces = [piece for piece in evidence if piece.key in cited]
    free = [question, *(title for title, _ in sections), *said_in(pieces)]
    guard = Guard(prompt.system, fence, [*free, *(item.claim.text for item in given)])
    made = await _kept(state, heard, guard, replace(NO_QUESTION, question=question), pieces)
    if len(made.checked) >= min(LEAST_SUMMARY, len(given)):
        text, kept = pruned(made.text, made.checked, made.checked[:MOST_SUMMARY])
        return replace(made, text=text, checked=tuple(kept))
    written = len(made.checked) + made.removed
    reason = f"only {len(made.checked)} of {written} sentences of {heard.by} were supported"
    fallback = "; ".join([*heard.reasons, reason])
    return replace(made, text="", checked=(), by=NOBODY, fallback=fallback)


def _summary_prompt(
    question: str, sections: Sequence[tuple[str, Sequence[Checked]]], fence: str
) -> Prompt:
    shown = [
        {
            "title": _line(title, fence),
            "sentences": [
                f"{_line(item.claim.text, fence)} {''.join(f'[{key}]' for key in item.claim.keys)}"
                for item in checked
            ],
        }
        for title, checked in sections
        if checked
    ]
    return Prompt(
        system=template("summary_system.md", PACKAGE).render(
            fence=fence, least=LEAST_SUMMARY, most=MOST_SUMMARY
        ),
        user=template("summary_user.md", PACKAGE).render(
            fence=fence, sections=shown, question=_line(question, fence)
        ),
    )


def _line(text: str, fence: str) -> str:
    return " ".join(fenced(text, fence).split())


async def _kept(
    state: RunState, heard: Heard, guard: Guard, analysis: Analysis, evidence: Sequence[Evidence]
) -> SectionDraft:
    """What of a reply may be shown, after a judge has seen it."""
    draft = parse_draft(heard.text, {piece.key for piece in evidence}, guard, evidence=evidence)
    said = SectionDraft(
        by=heard.by,
        fallback=heard.told,
        unknown_keys=draft.unknown_keys,
        withheld=draft.withheld,
        usage=usage_of(heard.usage),
    )
    if draft.text.strip(" .*_").upper() == NOT_FOUND:
        return said
    checked = await to_thread.run_sync(check_claims, draft.claims, evidence, analysis.voices)
    ruling = await _judged(state, analysis, evidence, checked, heard.by)
    strict, voices = state.kb.settings.citations.strict, bool(analysis.voices)
    shown = Deliverable(strict=strict, required=True, voices=voices)
    fit = [item for item in ruling.checked if shown.holds(item)]
    text, kept = pruned(draft.text, ruling.checked, fit)
    stated = [item for item in kept if not item.verdict.states_nothing]
    said = replace(
        said,
        removed=len(checked) - len(kept),
        fallback="; ".join(filter(None, (said.fallback, ruling.failure))),
        usage=said.usage + ruling.usage,
    )
    return replace(said, text=text, checked=tuple(stated)) if stated else said


async def _judged(
    state: RunState,
    analysis: Analysis,
    evidence: Sequence[Evidence],
    checked: Sequence[Checked],
    by: str,
) -> Ruling:
    """The sentences after a judge has seen them; the call is a step of the run's journal."""

    async def ask() -> Any:
        return to_plain(await opinion_on(state.kb, analysis, evidence, checked, by=by))

    if state.stop():
        return Ruling(checked=checked)
    key = tagged_hash("judge", *(item.claim.text for item in checked))
    opinion = from_plain(Opinion, await state.once(f"judge:{key}", ask))
    if opinion.by or opinion.usage.cost:
        state.spend(opinion.usage)
    return ruling_by(opinion, analysis, evidence, checked)


def _why(kb: KnowledgeBase, heard: Heard) -> str:
    """Why the configured model did not write; empty where none is configured."""
    if "model" not in kb.models.names():
        return ""
    reasons = list(heard.reasons)
    if heard.stopped:
        reasons.append(f"no model was asked: {heard.stopped.replace('_', ' ')}")
    elif heard.by:
        reasons.append(f"{heard.by} gave an empty reply")
    return "; ".join(reasons)
