"""Checks any text, sentence by sentence: somebody else's answer, a draft, a report.

For each sentence the passages that come nearest are looked for. Without a model it is said whether
the sentence is quoted, which number stands nowhere, and which sentence comes nearest; with one the
sentences are judged. ``check`` looks in a knowledge base, ``check_texts`` in texts given with it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from wellread.ask.deliver.cite import MarksOver, Sources, sources_of
from wellread.ask.retrieve.ranking import pack
from wellread.ask.retrieve.search import search
from wellread.ask.verify.check_claims import NUMBER, against, plain, quoting
from wellread.ask.verify.judge import STATES_NOTHING, judge_of, judged_now
from wellread.ask.write.parse_draft import parse_draft
from wellread.cancellation import stop_if_cancelled
from wellread.errors import RequestError
from wellread.identity import tagged_hash
from wellread.kb import KnowledgeBase
from wellread.text.parsed import parse
from wellread.text.sentences import sentence_spans
from wellread.types import DocumentFacts, Filters, Hit, Locator, Mark, Passage, Span
from wellread.values.answers import (
    NOTHING,
    Checked,
    Citation,
    Claim,
    Evidence,
    Sentence,
    Verdict,
    VerdictName,
)

_YEAR = r"(?:1[6-9]|20)\d\d[a-z]?"
_WORK = rf"[^()\[\];]{{2,80}}?,?\s+(?:{_YEAR}|n\.\s?d\.)(?:,\s*(?:pp?\.|S\.)?\s*[\d–-]+)?"
_MARKERS = (
    # [1], [1, 2], [1–3], [^1], [[1]], [1](https://…), [p. 5], [Smith 2020]
    r"\[{1,2}\^?\d{1,3}(?:\s*[,;–-]\s*\d{1,3})*\]{1,2}(?:\((?:#|https?://)[^()\s]*\))?",
    rf"\[{_WORK}(?:;\s*{_WORK})*\]",
    # 【1†source】
    r"【[^【】\n]{1,100}】",
    # (Smith 2020), (Smith et al., 2020; Jones, 2019, p. 5), (see Smith 2020)
    rf"\((?:(?:see|cf\.|e\.g\.,?)\s+)?(?-i:(?=[A-ZÄÖÜÉ])){_WORK}(?:;\s*{_WORK})*\)",
    # (Source: …), [Source: …], [citation needed]
    r"[\[(](?:sources?|refs?\.?|references?)\s*:\s*[^\[\]()\n]{1,200}[\])]",
    r"\[citation needed\]",
    # ¹²
    r"[⁰¹²³⁴-⁹]{1,3}(?=[\s.,;:)]|$)",
    r"<sup>[^<]{1,20}</sup>",
)
_MARKER = re.compile("|".join(f"(?:{each})" for each in _MARKERS), re.IGNORECASE)
_REFERENCES = re.compile(
    r"(?im)^[ \t]*(?:#{1,6}[ \t]*|\*\*)?(?:references|sources|bibliography|works cited|citations|"
    r"footnotes)(?:\*\*)?[ \t]*:?(?:\*\*)?[ \t]*$"
)
_LISTED = re.compile(r"[ \t]*(?:[-*+•][ \t]|\d{1,3}[.)][ \t]|\[\^?\d{1,3}\]|https?://)")


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignSentence:
    """A sentence, without its markers, and where it stands in the text."""

    text: str
    span: Span

    @property
    def claims(self) -> bool:
        """Whether it says something that can be checked: no question, no lead-in, some content."""
        return not self.text.rstrip("\"”»’') ").endswith(("?", ":")) and bool(
            parse(self.text).stems
        )


def sentences_of(text: str) -> list[ForeignSentence]:
    """The sentences of a Markdown or plain text, in order. Headings, tables' heads and a list of
    references at the end are none.
    """
    blanked = _MARKER.sub(lambda found: " " * len(found.group()), _before_references(text))
    found: list[ForeignSentence] = []
    place = 0
    for claim in parse_draft(blanked.replace("\r", " "), ()).claims:
        start = blanked.replace("\r", " ").find(claim.text, place)
        if start < 0:
            continue
        place = start + len(claim.text)
        shown = re.sub(r"\s+([.,;:!?])", r"\1", " ".join(claim.text.split()))
        span = Span(start=start, end=start + len(claim.text.rstrip()))
        found.append(ForeignSentence(text=plain(shown), span=span))
    return found


def _before_references(text: str) -> str:
    """``text`` up to the heading of a list of references that ends it."""
    for heading in _REFERENCES.finditer(text):
        below = [line for line in text[heading.end() :].splitlines() if line.strip()]
        if below and all(_LISTED.match(line) for line in below):
            return text[: heading.start()]
    return text


LOOKED = 6  # passages for each sentence
MOST_SENTENCES = 500
NOTHING_SAID = Verdict(
    name=VerdictName.NOT_CHECKED, method=NOTHING, score=0.0, reason=STATES_NOTHING
)
AT_ONCE, TOGETHER = 20, 30_000  # sentences and characters of passages that are judged in one call
PIECE = 1_500  # characters of a given text that are one passage


@dataclass(frozen=True, slots=True, kw_only=True)
class GivenText:
    """A source that is given with the text to check."""

    text: str
    title: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedText:
    """A text with a verdict for each of its sentences.

    Attributes:
        sentences: their spans are of ``text`` as it was given, markers and all.
        citations: for each sentence the passage that bears it out or comes nearest.
    """

    text: str
    sentences: tuple[Sentence, ...]
    citations: tuple[Citation, ...]

    def counts(self) -> dict[VerdictName, int]:
        """How many sentences have each verdict."""
        found = Counter(sentence.verdict.name for sentence in self.sentences)
        return {name: found[name] for name in VerdictName if name != VerdictName.UNCITED}

    def borne_out(self, *, strict: bool = False) -> bool:
        """Whether no sentence is found unsupported and no number is missing; where it is
        ``strict``, whether every sentence that says something is quoted or supported.
        """
        said = [one.verdict for one in self.sentences if not one.verdict.states_nothing]
        if strict:
            return all(verdict.name.whole for verdict in said)
        return all(
            verdict.name != VerdictName.UNSUPPORTED and verdict.method != NUMBER for verdict in said
        )


def check(kb: KnowledgeBase, text: str, *, filters: Filters | None = None) -> CheckedText:
    """Check ``text`` against the material of ``kb``.

    Raises:
        RequestError: there is no sentence in it, or more than 500.
        UnknownCollectionError: ``filters`` names a collection that does not exist.
        FingerprintError, StoreError, ModelError: a part of the home cannot be used.
    """
    sentences = _sentences(text)
    known: dict[str, Evidence] = {}
    candidates = []
    for sentence in sentences:
        stop_if_cancelled()
        looked = filters or Filters()
        hits = search(kb, sentence.text, looked, limit=LOOKED) if sentence.claims else []
        candidates.append([_known(known, piece) for piece in pack(kb, hits)])
    verdicts = _verdicts(kb, sentences, candidates)
    return _told(text, sentences, verdicts, list(known.values()), kb.catalogue.marks_over)


def check_texts(kb: KnowledgeBase, text: str, sources: Iterable[GivenText]) -> CheckedText:
    """Check ``text`` against ``sources`` alone; nothing is stored.

    Args:
        kb: whose model judges, where it has one.

    Raises:
        RequestError: there is no sentence in ``text``, more than 500, or no word in ``sources``.
    """
    sentences = _sentences(text)
    pieces = [piece for at, source in enumerate(sources) for piece in _pieces(at, source)]
    if not pieces:
        raise RequestError("there is no text to check against", hint="give sources with words")
    numbered = [replace(piece, key=f"e{at}") for at, piece in enumerate(pieces, 1)]
    candidates = [_nearest(sentence, numbered) for sentence in sentences]
    verdicts = _verdicts(kb, sentences, candidates)
    return _told(text, sentences, verdicts, numbered, _no_marks)


def _verdicts(
    kb: KnowledgeBase,
    sentences: Sequence[ForeignSentence],
    candidates: Sequence[Sequence[Evidence]],
) -> list[Verdict]:
    """What is said of each sentence by its ``candidates``; those that claim nothing have none."""
    found: list[Checked] = []
    for sentence, pieces in zip(sentences, candidates, strict=True):
        keys = tuple(piece.key for piece in pieces)
        claim = Claim(text=sentence.text, keys=keys)
        verdict = quoting(sentence.text, pieces) or against(sentence.text, pieces)
        found.append(Checked(claim=claim, verdict=verdict if sentence.claims else NOTHING_SAID))
    if not judge_of(kb):
        return [item.verdict for item in found]
    for run in _judged_together(found, candidates):
        stop_if_cancelled()
        pieces = list({one.key: one for at in run for one in candidates[at]}.values())
        ruling = judged_now(kb, pieces, [found[at] for at in run])
        for at, item in zip(run, ruling.checked, strict=True):
            found[at] = item
        if ruling.failure:
            for at in run:
                verdict = found[at].verdict
                reason = f"{verdict.reason}; {ruling.failure}"
                found[at] = replace(found[at], verdict=replace(verdict, reason=reason))
            break
    return [item.verdict for item in found]


def _judged_together(
    found: Sequence[Checked], candidates: Sequence[Sequence[Evidence]]
) -> Iterator[list[int]]:
    """The places of the sentences to be judged, in runs whose passages one call can hold."""
    run: list[int] = []
    held: dict[str, int] = {}
    for at, item in enumerate(found):
        if item.verdict.states_nothing or item.verdict.name == VerdictName.QUOTED:
            continue
        new = {one.key: len(one.text) for one in candidates[at]}
        if run and (len(run) == AT_ONCE or sum((held | new).values()) > TOGETHER):
            yield run
            run, held = [], {}
        run.append(at)
        held |= new
    if run:
        yield run


def _nearest(sentence: ForeignSentence, pieces: Sequence[Evidence]) -> list[Evidence]:
    """The passages of given texts that share most words with a sentence."""
    wanted = parse(sentence.text).stem_set
    order = sorted(pieces, key=lambda piece: -len(wanted & piece.parsed.stem_set))
    return order[:LOOKED] if sentence.claims else []


def _sentences(text: str) -> list[ForeignSentence]:
    found = sentences_of(text)
    if not found:
        raise RequestError("there is no sentence to check", hint="give a text with sentences")
    if len(found) > MOST_SENTENCES:
        raise RequestError(
            f"{len(found)} sentences are too many; {MOST_SENTENCES} are checked at once",
            hint="check it in parts",
        )
    return found


def _known(known: dict[str, Evidence], piece: Evidence) -> Evidence:
    """``piece`` under a key that is its own among all sentences' candidates."""
    held = known.get(piece.hit.passage.id)
    if held is None or held.span != piece.span:
        held = replace(piece, key=f"e{len(known) + 1}")
        known[piece.hit.passage.id] = held
    return held


def _told(
    text: str,
    sentences: Sequence[ForeignSentence],
    verdicts: Sequence[Verdict],
    evidence: Sequence[Evidence],
    marks: MarksOver,
) -> CheckedText:
    by_key = {piece.key: piece for piece in evidence}
    used = dict.fromkeys(verdict.key for verdict in verdicts if verdict.key in by_key)
    page = _Page(sources_of(marks, [by_key[key] for key in used]), by_key)
    told = tuple(
        Sentence(
            text=sentence.span.of(text),
            span=sentence.span,
            verdict=verdict,
            citations=page.cited(verdict, sentence.span),
        )
        for sentence, verdict in zip(sentences, verdicts, strict=True)
    )
    return CheckedText(text=text, sentences=told, citations=tuple(page.citations))


@dataclass(slots=True)
class _Page:
    """The citations so far, numbered from 1."""

    sources: Sources
    by_key: Mapping[str, Evidence]
    citations: list[Citation] = field(default_factory=list)

    def cited(self, verdict: Verdict, span: Span) -> tuple[int, ...]:
        """The ids of what ``verdict`` rests on."""
        piece = self.by_key.get(verdict.key)
        if piece is None or verdict.source is None:
            return ()
        number = len(self.citations) + 1
        source = self.sources.of(piece, verdict.source)
        self.citations.append(source.citation(number, span, verdict.name))
        return (number,)


def _no_marks(spans: Sequence[tuple[str, Span]]) -> list[tuple[Mark, ...]]:
    return [()] * len(spans)


def _pieces(at: int, source: GivenText) -> list[Evidence]:
    """``source`` in passages of whole sentences."""
    title = source.title or f"Source {at + 1}"
    facts = DocumentFacts(
        id=tagged_hash("txt", str(at), title, source.text),
        version=tagged_hash("ver", source.text),
        collection="",
        uri="",
        kind="page",
        title=title,
        characters=len(source.text),
    )
    return [
        Evidence(
            key="",
            hit=Hit(
                passage=Passage(
                    id=tagged_hash("psg", facts.id, str(span.start)),
                    document_id=facts.id,
                    version=facts.version,
                    span=span,
                    text=span.of(source.text),
                ),
                document=facts,
                score=0.0,
            ),
            text=span.of(source.text),
            span=span,
            locator=Locator(label=""),
        )
        for span in _runs(source.text)
    ]


def _runs(text: str) -> list[Span]:
    """Runs of whole sentences of at most ``PIECE`` characters; a longer sentence is one."""
    runs: list[Span] = []
    for span in sentence_spans(text):
        if runs and span.end - runs[-1].start <= PIECE:
            runs[-1] = Span(start=runs[-1].start, end=span.end)
        else:
            runs.append(span)
    return runs
