"""What a report shows of each facet: the extracts of its passages that answer best.

The passages found for a facet are read as those of a question are (``ask/write/extracts.py``). No
extract is shown twice, and none that says what an earlier one says; the question as a whole comes
last, so that it gets what no narrower facet tells.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from wellread.answers import Evidence
from wellread.ask.retrieve.ranking import overlap
from wellread.ask.write.extract_score import MARKED
from wellread.ask.write.extract_windows import Window, windows_of
from wellread.ask.write.extracts import Extract, Extracts, extract_of, nearest_of
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.reports import Facet, FacetKind
from wellread.research.facets import ABOUT, subject_stems, topic_of
from wellread.research.pool import Pool, evidence_of
from wellread.text.english_common import COMMON_WORDS
from wellread.text.parsed import parse
from wellread.types import Hit

PASSAGES = 24  # nearest ones of a facet that are looked at
SHOWN = 3  # extracts of a facet
OF_A_DOCUMENT = 2  # extracts of one document in a report
SAME = 0.55  # share of words in common, from which an extract says nothing new
NAMING = ("side", "entity", "bridge")  # kinds of facets that are called by a name
NEAR = 0.5  # cosine, from which a passage is about the question whatever its words
LATER: Mapping[FacetKind, int] = {"bridge": 1, "question": 2}
TELLING_WORDS = 3  # that a sentence of a part told as a whole shares with the rest of it
SHORT = 10  # words that count on top of a sentence's length, so that short ones win nothing by it


@dataclass(frozen=True, slots=True, kw_only=True)
class Sections:
    """What a report is made of.

    Attributes:
        evidence: the passages that were looked at, each under a key of its own.
        read: facet id to its passages, the nearest first.
        shown: facet id to its extracts, the best first; only of facets that have some.
        sure: facet id to how likely its passages answer, 0-1.
    """

    evidence: tuple[Evidence, ...] = ()
    read: Mapping[str, tuple[Evidence, ...]]
    shown: Mapping[str, tuple[Extract, ...]]
    sure: Mapping[str, float] = field(default_factory=dict)

    @property
    def extracts(self) -> list[Extract]:
        """All extracts."""
        return [extract for own in self.shown.values() for extract in own]

    @property
    def best(self) -> list[Extract]:
        """The best extract of each facet, those of the surest facets first."""
        order = sorted(self.shown, key=lambda facet: -self.sure.get(facet, 0.0))
        return [self.shown[facet][0] for facet in order]


NOTHING = Sections(read={}, shown={})


def sections_of(
    kb: KnowledgeBase, analysis: Analysis, facets: Sequence[Facet], pool: Pool, sentences: int
) -> Sections:
    """The extracts of the pool's passages, each under the facet that it tells of.

    Args:
        sentences: most that are marked in all of them.

    Raises:
        ModelError: the embedder could not be run or reached.
        StoreError: the catalogue cannot be read.
    """
    near = {facet.id: _near(kb, analysis, facet, pool) for facet in facets}
    passages = dict.fromkeys(known for held in near.values() for known in held)
    evidence = evidence_of(kb, [pool.hits[known] for known in passages])
    pieces = dict(zip(passages, evidence, strict=True))
    read = {known: tuple(pieces[one] for one in held) for known, held in near.items()}
    shown: dict[str, tuple[Extract, ...]] = {}
    sure: dict[str, float] = {}
    taken: list[Extract] = []
    whole = [facet for facet in facets if _is_part(facet)]
    most = max(2, sentences // len(whole)) if whole else 0
    for part, marked in _central(read, whole, most):
        extracts = (extract_of(kb, read[part][w.piece], w, at) for w, at in marked)
        shown[part] = tuple(one.marked_alone() for one in extracts)  # their windows overlap
    for facet in sorted(facets, key=lambda facet: LATER.get(facet.kind, 0)):
        room = min(SHOWN, sentences // MARKED - len(taken))
        if facet in whole or room < 1:
            continue
        told = _told(kb, analysis, facet, read[facet.id])
        sure[facet.id] = told.confidence
        found = list(_first(told.shown, taken, room))
        if found:
            taken += found
            shown[facet.id] = tuple(found)
    in_order = {facet.id: shown[facet.id] for facet in facets if facet.id in shown}
    return Sections(evidence=tuple(evidence), read=read, shown=in_order, sure=sure)


def _is_part(facet: Facet) -> bool:
    """Whether it is a part of a document that is told as a whole."""
    return bool(facet.passages) and facet.query == facet.title


def _asked(analysis: Analysis, facet: Facet) -> str:
    """What is asked of a facet's passages."""
    return topic_of(analysis) if facet.query == analysis.searched else facet.query


def _near(kb: KnowledgeBase, analysis: Analysis, facet: Facet, pool: Pool) -> list[str]:
    """The passages that were found for a facet and are about it, the nearest first."""
    if _is_part(facet):
        return [known for known in pool.hits if facet.id in pool.ranks[known]]
    text = _asked(analysis, facet)
    near = pool.nearness(kb, text, {facet.id})
    held = [known for known in near if is_about(facet, text, topic_of(analysis), pool.hits[known])]
    return sorted(held, key=lambda known: (-near[known], known))[:PASSAGES]


def is_about(facet: Facet, text: str, topic: str, hit: Hit) -> bool:
    """Whether a passage is about what a facet looks for: it holds the words or comes near.

    What a facet adds to the question ("the zeppelin") is looked for by its words alone: the meaning
    of the whole is near to much that does not name it. Where a bridge led, a page on the name is
    about it; another passage that names it holds the question's words too.

    Args:
        text: what is asked of the passage; ``topic``: of the report.
    """
    held = parse(f"{hit.passage.context}\n{hit.passage.text}").stem_set
    if facet.kind in NAMING:
        name = frozenset(parse(facet.title.rpartition(" · ")[2]).topic_stems)
        named = len(name & held) >= (1.0 if facet.kind == "side" else ABOUT) * len(name)
        own = facet.kind != "bridge" or parse(hit.document.title).stem_set >= name
        return named and (own or _holds(subject_stems(topic), held))
    return _holds(subject_stems(text), held) or (hit.similarity or 0.0) >= NEAR


def _holds(wanted: frozenset[str], held: frozenset[str]) -> bool:
    return len(wanted & held) >= ABOUT * len(wanted)


def _told(
    kb: KnowledgeBase, analysis: Analysis, facet: Facet, read: Sequence[Evidence]
) -> Extracts:
    """The extracts of a facet's passages, best first; of its speakers' words where it has some."""
    voices = facet.filters.speakers or analysis.voices
    found = nearest_of(kb, _asked(analysis, facet), read, voices)
    return found if voices or found.near else Extracts()


def _first(extracts: Iterable[Extract], taken: Sequence[Extract], room: int) -> Iterator[Extract]:
    """The first extracts that say something new, few of one document."""
    documents = Counter(extract.piece.hit.document.id for extract in taken)
    said = [_stems(extract) for extract in taken]
    for extract in extracts:
        document, stems = extract.piece.hit.document.id, _stems(extract)
        if not room:
            break
        if documents[document] < OF_A_DOCUMENT and all(overlap(stems, old) < SAME for old in said):
            documents[document] += 1
            said.append(stems)
            room -= 1
            yield extract


def _stems(extract: Extract) -> frozenset[str]:
    return parse(" ".join(map(extract.of, extract.marked))).stem_set


# --- a document as a whole -------------------------------------------------------------------

Marks = list[tuple[Window, tuple[int, ...]]]


def _central(
    read: Mapping[str, Sequence[Evidence]], parts: Sequence[Facet], most: int
) -> Iterator[tuple[str, Marks]]:
    """Of each part the sentences that hold most of what it goes back to, in their windows.

    A word is worth how often its part has it, and more the fewer parts do; a sentence the sum of
    its words over the root of its length (after Nenkova and Vanderwende, "The Impact of Frequency
    on Summarization", 2005, with parts in place of documents). A part that goes back to nothing is
    told by how it begins.
    """
    windows = {
        part.id: [
            window
            for number, piece in enumerate(read[part.id])
            for window in windows_of(number, piece, part.filters.speakers)
        ]
        for part in parts
    }
    counts = {known: Counter(_words(held)) for known, held in windows.items()}
    spread = Counter(word for held in counts.values() for word in held)

    def worth(part: str, text: str) -> float:
        own = {word for word in _telling(text) if counts[part][word] > 1}
        telling = {word for word in own if spread[word] < len(counts) or len(counts) == 1}
        if len(telling) < TELLING_WORDS:
            return 0.0
        rare = (counts[part][word] * math.log((1 + len(counts)) / spread[word]) for word in telling)
        return sum(rare) / math.sqrt(len(text.split()) + SHORT)

    for part, held in windows.items():
        sentences = {
            (window.piece, window.sentences[at]): (window, at, worth(part, window.texts[at]))
            for window in held
            for at, telling in enumerate(window.telling)
            if telling
        }
        best = sorted(sentences.values(), key=lambda each: -each[2])[:most]
        best = [each for each in best if each[2]] or list(sentences.values())[:1]
        marks: dict[int, tuple[Window, list[int]]] = {}
        for window, at, _ in sorted(
            best, key=lambda each: (each[0].piece, each[0].sentences[0].start)
        ):
            marks.setdefault(id(window), (window, []))[1].append(at)
        if marks:
            yield part, [(window, tuple(sorted(places))) for window, places in marks.values()]


def _words(windows: Iterable[Window]) -> Iterator[str]:
    """The words of the sentences, each sentence once."""
    texts = {
        (window.piece, span): text
        for window in windows
        for span, text in zip(window.sentences, window.texts, strict=True)
    }
    for text in texts.values():
        yield from _telling(text)


def _telling(text: str) -> list[str]:
    words = (word.lower() for word in parse(text).words)
    return [word for word in words if len(word) > 2 and word.isalpha() and word not in COMMON_WORDS]
