"""Groups gaps (unanswered questions) by topic, and suggests an entry to write for each group.

Clustering is deterministic: each gap, in the order of filing, joins the most similar cluster or
starts a new one. Half of the similarity is meaning (the cosine to the cluster's mean vector), half
is words (shared stems, weighted by rarity). The id of a cluster comes from its first gap, so it
does not change when other gaps join.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import pairwise
from textwrap import shorten

import numpy as np
import yaml
from numpy.typing import NDArray

from wellread.ask.retrieve.search import search
from wellread.errors import UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.store.schema.stored_values import Gap, GapStatus
from wellread.text.english import PREPOSITIONS
from wellread.text.parsed import parse
from wellread.types import Document, Filters, Hit, Span

MIN_SIMILARITY = 0.5  # below it a gap starts a new cluster
ID_PREFIX = "c"
MIN_GAPS = 100  # with fewer gaps, words are weighted as if there were this many
MAX_TERMS = 5  # words in the name of a cluster
MIN_QUESTION_SHARE = 0.5  # share of a cluster's questions that contain a word of its name


@dataclass(frozen=True, slots=True, kw_only=True)
class GapCluster:
    """Gaps about the same topic, most asked first; the id comes from the first one filed."""

    id: str
    gaps: tuple[Gap, ...]

    @property
    def status(self) -> GapStatus:
        """``open`` if any gap is open, else ``planned`` if any gap is planned, else ``closed``."""
        statuses = {gap.status for gap in self.gaps}
        return "open" if "open" in statuses else "planned" if "planned" in statuses else "closed"

    @property
    def asked(self) -> int:
        """How often the questions were asked in total."""
        return sum(gap.asked for gap in self.gaps)

    @property
    def latest(self) -> datetime:
        """When a question of the cluster was last asked."""
        return max(gap.filed_at for gap in self.gaps)

    @property
    def terms(self) -> tuple[str, ...]:
        """The topical words that many of the questions share, as first written, in order."""
        spread = Counter(stem for gap in self.gaps for stem in set(parse(gap.question).topic_stems))
        word_of_stem: dict[str, str] = {}
        for gap in self.gaps:
            topic_stems = set(parse(gap.question).topic_stems)
            for word in parse(gap.question).words:
                stems = parse(word).stem_set & topic_stems
                frequent = any(
                    spread[stem] >= MIN_QUESTION_SHARE * len(self.gaps) for stem in stems
                )
                if frequent and not stems & word_of_stem.keys():
                    word_of_stem.update(dict.fromkeys(stems, word))
        return tuple(dict.fromkeys(word_of_stem.values()))[:MAX_TERMS]

    @property
    def name(self) -> str:
        """The subject of its questions."""
        return shared_subject([gap.question for gap in self.gaps], self.terms)

    @property
    def scope(self) -> tuple[str, ...]:
        """The collections of the questions; empty when a question was asked of all collections."""
        scopes = [gap.scope for gap in self.gaps]
        return tuple(sorted({name for names in scopes for name in names})) if all(scopes) else ()


def clusters_of(kb: KnowledgeBase) -> list[GapCluster]:
    """All clusters, the most asked first.

    Closed gaps are included, so that a cluster keeps its id when its first gap is closed.
    """
    gaps = sorted(kb.catalogue.gaps(), key=lambda gap: gap.id)
    by_id = {gap.id: gap for gap in gaps}
    groups = _group_gaps(gaps, _question_vectors(kb, gaps))
    clusters = [_cluster([by_id[gap_id] for gap_id in ids]) for ids in groups]
    return sorted(clusters, key=lambda cluster: (-cluster.asked, cluster.gaps[0].id))


def find_cluster(kb: KnowledgeBase, name: str) -> GapCluster:
    """The cluster with this id, or the cluster that contains the gap with this number."""
    for cluster in clusters_of(kb):
        if name == cluster.id or any(name == str(gap.id) for gap in cluster.gaps):
            return cluster
    raise UnknownNameError(f"there is no gap {name!r}", hint="wellread gaps lists them")


def _cluster(gaps: Sequence[Gap]) -> GapCluster:
    first = min(gap.id for gap in gaps)
    ordered = tuple(sorted(gaps, key=lambda gap: (-gap.asked, gap.id)))
    return GapCluster(id=f"{ID_PREFIX}{first}", gaps=ordered)


# --- clustering ----------------------------------------------------------------------------------


def _question_vectors(kb: KnowledgeBase, gaps: Sequence[Gap]) -> dict[int, NDArray[np.float32]]:
    """The embeddings of the questions, by gap id; missing ones are computed and stored."""
    embedder = kb.embedder
    ledger = kb.catalogue.gap_ledger
    vectors = {
        gap_id: np.frombuffer(blob, dtype=np.float32)
        for gap_id, blob in ledger.vectors(embedder.identity).items()
    }
    new = [gap for gap in gaps if gap.id not in vectors]
    if new:
        fresh = embedder.embed([gap.question for gap in new], "query").astype(np.float32)
        rows = {
            gap.id: (gap.question, vector.tobytes()) for gap, vector in zip(new, fresh, strict=True)
        }
        ledger.store_vectors(rows, embedder.identity)
        vectors |= {gap.id: vector for gap, vector in zip(new, fresh, strict=True)}
    return vectors


@dataclass(slots=True)
class _Group:
    """A cluster being built; ``core`` holds the stems of at least half of its questions."""

    ids: list[int] = field(default_factory=list)
    spread: Counter[str] = field(default_factory=Counter)
    core: frozenset[str] = frozenset()

    def join(self, gap_id: int, stems: frozenset[str]) -> None:
        """Add a gap."""
        self.ids.append(gap_id)
        self.spread.update(stems)
        min_gaps = MIN_QUESTION_SHARE * len(self.ids)
        self.core = frozenset(stem for stem, count in self.spread.items() if count >= min_gaps)


def _group_gaps(
    gaps: Sequence[Gap], vectors: Mapping[int, NDArray[np.float32]]
) -> tuple[tuple[int, ...], ...]:
    if not gaps:
        return ()
    stems = {gap.id: frozenset(parse(gap.question).topic_stems) for gap in gaps}
    spread = Counter(stem for gap_stems in stems.values() for stem in gap_stems)
    weight = {stem: math.log1p(max(len(gaps), MIN_GAPS) / count) for stem, count in spread.items()}
    groups: list[_Group] = []
    groups_of_stem: dict[str, list[int]] = {}
    means = np.zeros((len(gaps), len(vectors[gaps[0].id])), dtype=np.float32)
    for gap in gaps:
        gap_stems, vector = stems[gap.id], vectors[gap.id]
        vector = vector / (float(np.linalg.norm(vector)) or 1.0)
        candidates = sorted({index for stem in gap_stems for index in groups_of_stem.get(stem, ())})
        index = _best_group(gap_stems, vector, candidates, groups, means, weight)
        if index is None:
            index = len(groups)
            groups.append(_Group())
        for stem in gap_stems - groups[index].spread.keys():
            groups_of_stem.setdefault(stem, []).append(index)
        groups[index].join(gap.id, gap_stems)
        means[index] += vector
    return tuple(tuple(group.ids) for group in groups)


def _best_group(
    gap_stems: frozenset[str],
    vector: NDArray[np.float32],
    candidates: Sequence[int],
    groups: Sequence[_Group],
    means: NDArray[np.float32],
    weight: Mapping[str, float],
) -> int | None:
    """The most similar of the ``candidates``; None when none is similar enough."""
    if not candidates:
        return None
    group_means = means[candidates]
    cosines = group_means @ vector / np.maximum(np.linalg.norm(group_means, axis=1), 1e-9)
    overlaps = [_word_overlap(gap_stems, groups[index].core, weight) for index in candidates]
    similarity = (cosines + np.array(overlaps, dtype=np.float32)) / 2
    best = int(np.argmax(similarity))
    return candidates[best] if similarity[best] >= MIN_SIMILARITY else None


def _word_overlap(
    gap_stems: frozenset[str], core: frozenset[str], weight: Mapping[str, float]
) -> float:
    """The mean of two shares: the gap's words that the group has, and the group's the gap has.

    Shares are weighted, so that a name counts more than a common word.
    """
    shared_weight = math.fsum(weight[stem] for stem in gap_stems & core)
    if not shared_weight:
        return 0.0
    totals = (math.fsum(weight[stem] for stem in stems) for stems in (gap_stems, core))
    return sum(shared_weight / total for total in totals) / 2


MIN_SUBJECT_SHARE = 0.5  # of a question's topical words, for a phrase to be its subject
NEAR_SIMILARITY = 0.5  # cosine; a farther entry must have the words of the subject
MAX_TITLE_CHARS = 80
NEAREST_ENTRIES = 5  # entries that give a suggestion its type and taxonomy
MIN_AGREEING = 2  # entries that share a value, unless the nearest entry has it
MAX_ID_CHARS = 60
PLACEHOLDER = "To be written."
_NOT_ID_CHARS = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class EntrySuggestion:
    """A suggested entry that would answer the questions of a cluster.

    Attributes:
        collection: the collection of the nearest entry, else of the questions; may be empty.
        taxonomy: the values by dimension.
        near: titles of the near entries, from which type and taxonomy are taken; without one,
            both are left to whoever writes it.
        markdown: the text of the file.
    """

    id: str
    title: str
    type: str
    collection: str
    taxonomy: Mapping[str, tuple[str, ...]]
    questions: tuple[str, ...]
    near: tuple[str, ...]
    markdown: str

    @property
    def file_name(self) -> str:
        """The name of the file."""
        return f"{self.id}.md"


def suggest_entry(kb: KnowledgeBase, cluster: GapCluster) -> EntrySuggestion:
    """Suggest an entry for a cluster, with its file as Markdown."""
    gaps = [gap for gap in cluster.gaps if gap.status != "closed"] or list(cluster.gaps)
    questions = tuple(gap.question for gap in gaps)
    title = shared_subject(questions, cluster.terms)
    nearest = _nearest(kb, cluster, questions)
    types = Counter(document.entity.entity_type for document in nearest if document.entity)
    kind = next((name for name, _ in types.most_common() if name), "")
    slug = _NOT_ID_CHARS.sub("-", title.casefold()).strip("-")[:MAX_ID_CHARS].strip("-")
    taxonomy = _taxonomy(nearest)
    entry_id = slug or f"gap-{cluster.id}"
    fields: dict[str, str | tuple[str, ...]] = {"id": entry_id, "type": kind, "title": title}
    return EntrySuggestion(
        id=entry_id,
        title=title,
        type=kind,
        collection=nearest[0].collection if nearest else next(iter(cluster.scope), ""),
        taxonomy=taxonomy,
        questions=questions,
        near=tuple(document.title for document in nearest),
        markdown=_markdown({**fields, **taxonomy}, questions, cluster),
    )


def shared_subject(questions: Sequence[str], terms: Sequence[str]) -> str:
    """Of the subjects of the questions, the one with most of the words that they share."""
    term_stems = {stem for term in terms for stem in parse(term).stem_set}
    weights: Counter[str] = Counter()
    for subject in map(subject_of, questions):
        weights[subject] += 1 + len(term_stems & parse(subject).stem_set)
    best = max(weights, key=lambda subject: weights[subject])  # of equals, the first asked
    return best[:1].upper() + best[1:]


def subject_of(question: str) -> str:
    """What a question is about, in its own words and order.

    It is the noun phrase or name with most of the question's topical words, together with the
    phrase that a preposition joins to it. If that leaves out most of them, it is the stretch from
    the first topical word to the last; a question without any is its own subject.
    """
    text = parse(question)
    topic = frozenset(text.topic_stems)
    spans = [phrase.bare for phrase in text.phrases]
    joined = [
        Span(start=first.start, end=second.end)
        for first, second in pairwise(spans)
        if question[first.end : second.start].strip().casefold() in PREPOSITIONS
    ]
    names = (name for name in text.names if name[:1].isalpha())
    candidates = [*names, *(span.of(question) for span in (*joined, *spans))]
    best = max(candidates, key=lambda part: len(topic & parse(part).stem_set), default="")
    if len(topic & parse(best).stem_set) < MIN_SUBJECT_SHARE * len(topic):
        topical = [token for token in text.tokens if topic & parse(token.written).stem_set]
        best = question[topical[0].start : topical[-1].start + len(topical[-1].written)]
    subject = " ".join((best or question).split()).rstrip(" ?!.")
    return shorten(subject, MAX_TITLE_CHARS, placeholder="…") or question


def _nearest(kb: KnowledgeBase, cluster: GapCluster, questions: Sequence[str]) -> list[Document]:
    """The entries near to the questions, nearest first; documents of any kind when none is."""
    text = " ".join(questions[:NEAREST_ENTRIES])
    collection_names = set(kb.catalogue.collection_names())
    scope = tuple(name for name in cluster.scope if name in collection_names)
    for kinds in (("entity",), ()):
        filters = Filters(collections=scope, kinds=kinds)
        hits = [
            hit
            for hit in search(kb, text, filters, limit=3 * NEAREST_ENTRIES)
            if _is_near(hit, questions)
        ]
        ids = list(dict.fromkeys(hit.document.id for hit in hits))[:NEAREST_ENTRIES]
        if ids:
            documents = (kb.catalogue.document(document_id) for document_id in ids)
            return [document for document in documents if document is not None]
    return []


def _is_near(hit: Hit, questions: Sequence[str]) -> bool:
    """Whether a passage means nearly the same as the questions, or has most words of a subject."""
    if (hit.similarity or 0.0) >= NEAR_SIMILARITY:
        return True
    words = parse(f"{hit.document.title} {hit.passage.text}").stem_set
    subjects = (parse(subject_of(question)).stem_set for question in questions)
    return any(len(stems & words) > MIN_SUBJECT_SHARE * len(stems) for stems in subjects)


def _taxonomy(nearest: Sequence[Document]) -> dict[str, tuple[str, ...]]:
    """For each dimension, the values that several nearby documents or the nearest one have."""
    counts: dict[str, Counter[str]] = {}
    for document in nearest:
        for dimension, values in document.taxonomy.items():
            counts.setdefault(dimension, Counter()).update(values)
    nearest_values = nearest[0].taxonomy if nearest else {}
    taxonomy = {
        dimension: tuple(
            value
            for value, count in sorted(values.items(), key=lambda item: (-item[1], item[0]))
            if count >= MIN_AGREEING or value in nearest_values.get(dimension, ())
        )
        for dimension, values in sorted(counts.items())
        if dimension != "type"
    }
    return {dimension: values for dimension, values in taxonomy.items() if values}


def _markdown(
    fields: Mapping[str, str | tuple[str, ...]], questions: Sequence[str], cluster: GapCluster
) -> str:
    plain = {name: list(item) if isinstance(item, tuple) else item for name, item in fields.items()}
    matter = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=1_000)
    question_lines = [
        f"#   {gap.asked} × {gap.question}" for gap in cluster.gaps if gap.question in questions
    ]
    lines = ["# It should answer:", *question_lines]
    comments = "\n".join(" ".join(line.splitlines()) for line in lines)
    return f"---\n{matter}{comments}\n---\n\n{PLACEHOLDER}\n"
