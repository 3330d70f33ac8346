"""The sentences that could stand in a report, and how well each fits the facet it was found for."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from wellread.answers import Evidence
from wellread.ask.retrieve.reported_speech import is_theirs
from wellread.ask.write.candidate_sentences import Option, is_sentence, options_of
from wellread.ask.write.sentence_score import features_of, promising, score
from wellread.kb import KnowledgeBase
from wellread.questions import Analysis
from wellread.reports import Facet
from wellread.research.facets import ABOUT, subject_stems, topic_of
from wellread.research.pool import Pool, evidence_of
from wellread.text.english_common import COMMON_WORDS
from wellread.text.parsed import parse
from wellread.types import Hit

READ, READ_BESIDE = 120, 24  # nearest passages that are read: of the question, of a facet
ROUGHLY = 240  # sentences of one query that are looked at more closely
OF_A_DOCUMENT = 3  # of these, from one document
EMBEDDED, EMBEDDED_BESIDE = 64, 12  # sentences whose meaning is compared: of the question, a facet
NAMING = ("side", "entity", "bridge")  # kinds of facets that are called by a name
NEAR = 0.5  # cosine, from which a passage is about the question whatever its words
FITTING, NAMED = 0.3, 0.5  # cosine, or share of the terms, of a sentence that fits what is asked
TELLING_WORDS = 3  # of a sentence of a document that is told as a whole
SHORT = 10  # words that count on top of a sentence's length, so that short ones win nothing by it
LONGEST = 45  # words of a sentence


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """A sentence, the facets that it was found for, the best first, and its score for them, 0-1."""

    option: Option
    facets: tuple[str, ...]
    score: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidates:
    """Everything that a report could be made of.

    Attributes:
        evidence: the passages that were read closely; ``Option.evidence`` is a place in it.
        options: all their sentences, in order.
        ranked: those that fit a facet, the best first.
    """

    evidence: tuple[Evidence, ...]
    options: tuple[Option, ...]
    ranked: tuple[Candidate, ...]


def candidates_of(
    kb: KnowledgeBase, analysis: Analysis, facets: Sequence[Facet], pool: Pool
) -> Candidates:
    """The sentences of the pool's best passages, scored for the facets that found them.

    Raises:
        ModelError: the embedder could not be run or reached.
        StoreError: the catalogue cannot be read.
    """
    groups = _groups(analysis, facets)
    topic = topic_of(analysis)
    near = {
        text: _nearest(kb, pool, group, text, READ if text == topic else READ_BESIDE)
        for text, group in groups.items()
    }
    chosen = dict.fromkeys(known for held in near.values() for known in held)
    evidence = evidence_of(kb, [pool.hits[known] for known in chosen])
    places = {known: at for at, known in enumerate(chosen)}
    options = options_of(evidence, analysis.voices)
    by_piece: dict[int, list[Option]] = defaultdict(list)
    for option in options:
        by_piece[option.evidence].append(option)
    best: dict[tuple[int, int], Candidate] = {}
    for text, group in groups.items():
        held = {places[known]: value for known, value in near[text].items()}
        asked = replace(analysis, question=text, subject="")
        sentences = [option for place in held for option in by_piece[place]]
        if text:
            most = EMBEDDED if text == topic else EMBEDDED_BESIDE
            rated = _scored(kb, asked, _near(evidence, held), sentences, most)
        else:
            rated = _central(pool, evidence, sentences)
        for option, value in rated:
            piece = evidence[option.evidence]
            hit = piece.hit
            found = pool.ranks[hit.passage.id]
            own = sorted(
                (rank, one.id)
                for one in group
                if (rank := found.get(one.id))
                and is_said_by(one, piece, option)
                and (
                    not text or (is_about(one, text, hit) and stays_with(one, topic, piece, option))
                )
            )
            if not own:
                continue
            made = Candidate(option=option, facets=tuple(known for _, known in own), score=value)
            known = best.get((option.evidence, option.place))
            best[option.evidence, option.place] = _joined(known, made) if known else made
    ranked = sorted(
        best.values(), key=lambda one: (-one.score, one.option.evidence, one.option.place)
    )
    return Candidates(evidence=tuple(evidence), options=tuple(options), ranked=tuple(ranked))


def is_about(facet: Facet, text: str, hit: Hit) -> bool:
    """Whether a passage is about what a facet looks for: it holds the words or comes near.

    What a facet adds to the question ("the zeppelin") is looked for by its words alone: the meaning
    of the whole is near to much that does not name it.

    Args:
        text: what is asked of the passage.
    """
    held = parse(f"{hit.passage.context}\n{hit.passage.text}").stem_set
    if facet.kind in NAMING:
        wanted = frozenset(parse(facet.title.rpartition(" · ")[2]).topic_stems)
        return len(wanted & held) >= (1.0 if facet.kind == "side" else ABOUT) * len(wanted)
    wanted = subject_stems(text)
    return len(wanted & held) >= ABOUT * len(wanted) or (hit.similarity or 0.0) >= NEAR


def is_said_by(facet: Facet, piece: Evidence, option: Option) -> bool:
    """Whether one of the facet's speakers says the sentence, where it is limited to some.

    A passage in which one of them speaks holds the words of others too.
    """
    speakers = facet.filters.speakers
    return not speakers or is_theirs(piece, option.speaker, option.text, speakers)


def stays_with(facet: Facet, topic: str, piece: Evidence, option: Option) -> bool:
    """Whether a sentence that a bridge led to still has to do with the question.

    On a page on the name that led there it has; elsewhere the name alone says little, since a
    person is named for much that was not asked about. Then the passage holds the question's words,
    and the sentence's own paragraph or item of a list one of them: the item beside it tells of
    something else.
    """
    if facet.kind != "bridge":
        return True
    hit = piece.hit
    wanted = subject_stems(topic)
    if parse(hit.document.title).stem_set >= parse(facet.title).stem_set:
        return True
    held = parse(f"{hit.passage.context}\n{hit.passage.text}").stem_set
    if len(wanted & held) < ABOUT * len(wanted):
        return False
    begin, end = option.span.start - piece.span.start, option.span.end - piece.span.start
    begin = piece.text.rfind("\n", 0, begin) + 1
    end = piece.text.find("\n", end)
    around = piece.text[begin : end if end >= 0 else len(piece.text)]
    return not wanted or bool(wanted & parse(around).stem_set)


def _joined(one: Candidate, other: Candidate) -> Candidate:
    """The same sentence, found for facets of two queries."""
    first, second = (one, other) if one.score >= other.score else (other, one)
    return replace(first, facets=tuple(dict.fromkeys((*first.facets, *second.facets))))


def _groups(analysis: Analysis, facets: Sequence[Facet]) -> dict[str, list[Facet]]:
    """What is asked of the passages, to the facets that ask it; "" of parts told as a whole."""
    groups: dict[str, list[Facet]] = defaultdict(list)
    for facet in facets:
        if facet.passages and facet.query == facet.title:
            groups[""].append(facet)
        elif facet.query == analysis.searched:
            groups[topic_of(analysis)].append(facet)
        else:
            groups[facet.query].append(facet)
    return groups


def _nearest(
    kb: KnowledgeBase, pool: Pool, facets: Iterable[Facet], text: str, most: int
) -> Mapping[str, float]:
    """The passages found for some facets, the nearest to ``text`` first, each with its nearness."""
    names = {one.id for one in facets}
    if not text:
        own = (known for known in pool.hits if names & pool.ranks[known].keys())
        return dict.fromkeys(own, 1.0)
    near = pool.nearness(kb, text, names)
    order = sorted(near, key=lambda known: (-near[known], known))
    return {known: near[known] for known in order[:most]}


def _near(evidence: Sequence[Evidence], held: Mapping[int, float]) -> list[Evidence]:
    """The evidence with nearness in place of each hit's score."""
    return [
        replace(piece, hit=replace(piece.hit, score=held.get(at, 0.0)))
        for at, piece in enumerate(evidence)
    ]


def _scored(
    kb: KnowledgeBase,
    asked: Analysis,
    evidence: Sequence[Evidence],
    options: Sequence[Option],
    most: int,
) -> list[tuple[Option, float]]:
    """The ``most`` sentences nearest to what is asked, each with how likely it answers."""
    readable = [one for one in options if one.readable and len(one.text.split()) <= LONGEST]
    features = features_of(asked, evidence, readable)
    order = promising(readable, features, most=len(readable))
    taken: Counter[str] = Counter()
    places: list[int] = []
    for place in order:
        document = evidence[readable[place].evidence].hit.document.id
        if taken[document] < OF_A_DOCUMENT and len(places) < ROUGHLY:
            taken[document] += 1
            places.append(place)
    scored = score(asked, evidence, readable, features, places[:most], kb.lexical)
    wanted = subject_stems(asked.question)
    # The best sentence of a document that is about it may be about something else.
    return [
        (one.option, one.score)
        for one in scored
        if one.similarity >= FITTING
        or (one.features.terms >= NAMED and (not wanted or wanted & one.option.stems))
    ]


def _central(
    pool: Pool, evidence: Sequence[Evidence], options: Sequence[Option]
) -> list[tuple[Option, float]]:
    """The sentences of each part of a document that hold most of what that part goes back to.

    A word is worth how often its part has it, and more the fewer parts do; a sentence the sum of
    its words over the root of its length (after Nenkova and Vanderwende, "The Impact of Frequency
    on Summarization", 2005, with parts in place of documents).
    """
    parts = [min(pool.ranks[piece.hit.passage.id], default="") for piece in evidence]
    words = [
        [
            word.lower()
            for word in parse(one.text).words
            if len(word) > 2 and word.isalpha() and word.lower() not in COMMON_WORDS
        ]
        for one in options
    ]
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    for one, held in zip(options, words, strict=True):
        counts[parts[one.evidence]].update(held)
    spread = Counter(word for held in counts.values() for word in held)
    found = []
    for one, held in zip(options, words, strict=True):
        own = counts[parts[one.evidence]]
        telling = {word for word in held if own[word] > 1 and spread[word] < len(counts)}
        if one.readable and is_sentence(one) and len(telling) >= TELLING_WORDS:
            worth = sum(own[word] * math.log((1 + len(counts)) / spread[word]) for word in telling)
            found.append((one, worth / math.sqrt(len(one.text.split()) + SHORT)))
    highest = max((value for _, value in found), default=1.0) or 1.0
    told = {parts[one.evidence] for one, _ in found}
    first: dict[str, Option] = {}
    for one in options:  # a part that goes back to nothing is told by how it begins
        if parts[one.evidence] not in told and one.readable and is_sentence(one):
            first.setdefault(parts[one.evidence], one)
    return [
        *((one, value / highest) for one, value in found),
        *((one, 1.0) for one in first.values()),
    ]
