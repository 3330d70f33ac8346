"""Gaps about the same thing, put together; and the words that the material lacks for them.

Deterministic: gaps are taken in the order in which they were filed. Each joins the cluster that it
is most like, or begins one. Half of the likeness is meaning (the cosine to the cluster's mean),
half is words: the share of the stems of each that the other has, rare ones counting more. A cluster
is called by its first gap, so that its id stays when others join.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from weakref import WeakKeyDictionary

import numpy as np
import yaml
from numpy.typing import NDArray

from wellread.ask.retrieve.search import search
from wellread.errors import UnknownNameError
from wellread.kb import KnowledgeBase
from wellread.store.schema.stored_values import Gap, GapStatus
from wellread.text.parsed import parse
from wellread.types import Document, Filters

JOIN = 0.5  # least likeness at which a gap joins a cluster
TAG = "c"  # with which the id of a cluster begins
LEDGER = 100  # gaps from which a word that some of them share counts as rare or not
RARE = 3  # passages: a word that more of them hold is not missing
TERMS = 5  # that a cluster is called by, at most
LOOKED_UP = 12  # words of a cluster that are looked up in the material, at most
SHARED = 0.5  # of a cluster's questions, which a word has to stand in to name it


@dataclass(frozen=True, slots=True, kw_only=True)
class GapCluster:
    """Gaps about the same thing, the ones asked most first.

    Attributes:
        missing: words of the questions that the material does not hold, or holds rarely.
        terms: the words that its questions share.
    """

    id: str
    gaps: tuple[Gap, ...]
    terms: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()

    @property
    def status(self) -> GapStatus:
        """Open while one of them is; else planned while one of them is."""
        held = {gap.status for gap in self.gaps}
        return "open" if "open" in held else "planned" if "planned" in held else "closed"

    @property
    def asked(self) -> int:
        """How often its questions were asked, all in all."""
        return sum(gap.asked for gap in self.gaps)

    @property
    def latest(self) -> datetime:
        """When one of them was last asked."""
        return max(gap.filed_at for gap in self.gaps)

    @property
    def name(self) -> str:
        """What it is called by: what is missing, else what its questions share."""
        return ", ".join(self.missing or self.terms) or self.gaps[0].question

    @property
    def scope(self) -> tuple[str, ...]:
        """The collections that its questions were asked of; none when one was asked of all."""
        scopes = [gap.scope for gap in self.gaps]
        return tuple(sorted({name for one in scopes for name in one})) if all(scopes) else ()


_Made = tuple[tuple[tuple[int, str], ...], tuple[tuple[int, ...], ...]]
_kept: WeakKeyDictionary[KnowledgeBase, _Made] = WeakKeyDictionary()


def clusters_of(kb: KnowledgeBase) -> list[GapCluster]:
    """All clusters, the ones asked most first; their words are not looked up yet.

    Closed gaps are in them too, so that a cluster keeps its id when its first gap is closed.
    """
    gaps = sorted(kb.catalogue.gaps(), key=lambda gap: gap.id)
    by_id = {gap.id: gap for gap in gaps}
    made_of = tuple((gap.id, gap.question) for gap in gaps)
    kept = _kept.get(kb)
    if kept is None or kept[0] != made_of:
        kept = (made_of, _grouped(gaps, _vectors(kb, gaps)))
        _kept[kb] = kept
    made = [_cluster([by_id[known] for known in ids]) for ids in kept[1]]
    return sorted(made, key=lambda one: (-one.asked, one.gaps[0].id))


def cluster_named(kb: KnowledgeBase, name: str) -> GapCluster:
    """The cluster of this id, or the one that holds the gap of this number."""
    for one in clusters_of(kb):
        if name == one.id or any(name == str(gap.id) for gap in one.gaps):
            return with_missing(kb, one)
    raise UnknownNameError(f"there is no gap {name!r}", hint="wellread gaps lists them")


def with_missing(kb: KnowledgeBase, cluster: GapCluster) -> GapCluster:
    """The cluster with the words that its questions share, and those that the material lacks."""
    words = _words(cluster.gaps)[:LOOKED_UP]
    stamp = _stamp(kb)
    counts = {word: _spread(kb, stamp, word, cluster.scope) for word in words}
    lacking = sorted((word for word in words if counts[word] <= RARE), key=counts.__getitem__)
    return replace(cluster, terms=tuple(words[:TERMS]), missing=tuple(lacking[:TERMS]))


def _cluster(gaps: Sequence[Gap]) -> GapCluster:
    first = min(gap.id for gap in gaps)
    ordered = tuple(sorted(gaps, key=lambda gap: (-gap.asked, gap.id)))
    return GapCluster(id=f"{TAG}{first}", gaps=ordered)


def _words(gaps: Sequence[Gap]) -> list[str]:
    """The topical words that many of the questions have, as they are written, in their order."""
    spread = Counter(stem for gap in gaps for stem in set(parse(gap.question).topic_stems))
    enough = SHARED * len(gaps)
    written: dict[str, str] = {}
    for gap in gaps:
        own = set(parse(gap.question).topic_stems)
        for word in parse(gap.question).words:
            stems = parse(word).stem_set & own
            wanted = [stem for stem in stems if spread[stem] >= enough]
            if wanted and not stems & written.keys():
                written.update(dict.fromkeys(stems, word))
    return list(dict.fromkeys(written.values()))


# --- what the material holds ---------------------------------------------------------------------


def _stamp(kb: KnowledgeBase) -> str:
    """Another one when the material has changed."""
    stamps = kb.catalogue.vocabulary.stamps()
    return "/".join(f"{name} {stamp}" for name, stamp in stamps.items())


_spreads: WeakKeyDictionary[object, tuple[str, dict[tuple[str, tuple[str, ...]], int]]] = (
    WeakKeyDictionary()
)


def _spread(kb: KnowledgeBase, stamp: str, word: str, scope: tuple[str, ...]) -> int:
    """How many passages hold a word, counted to just above what is rare."""
    kept = _spreads.get(kb.common)
    if kept is None or kept[0] != stamp:
        kept = _spreads[kb.common] = (stamp, {})
    known = kept[1].get((word, scope))
    if known is None:
        found = kb.live().index.search_text(word, Filters(collections=scope), RARE + 1)
        known = kept[1][word, scope] = len(found)
    return known


# --- putting them together -----------------------------------------------------------------------


def _vectors(kb: KnowledgeBase, gaps: Sequence[Gap]) -> dict[int, NDArray[np.float32]]:
    """Gap id to the embedding of its question; those that are new are made and kept."""
    embedder = kb.embedder
    ledger = kb.catalogue.gap_ledger
    found = {
        known: np.frombuffer(blob, dtype=np.float32)
        for known, blob in ledger.vectors(embedder.identity).items()
    }
    new = [gap for gap in gaps if gap.id not in found]
    if new:
        made = embedder.embed([gap.question for gap in new], "query").astype(np.float32)
        rows = {
            gap.id: (gap.question, vector.tobytes()) for gap, vector in zip(new, made, strict=True)
        }
        ledger.embedded(rows, embedder.identity)
        found |= {gap.id: vector for gap, vector in zip(new, made, strict=True)}
    return found


@dataclass(slots=True)
class _Group:
    """``core``: the stems of at least half of its questions."""

    ids: list[int] = field(default_factory=list)
    spread: Counter[str] = field(default_factory=Counter)
    core: frozenset[str] = frozenset()

    def join(self, gap_id: int, stems: frozenset[str]) -> None:
        """Take in a gap."""
        self.ids.append(gap_id)
        self.spread.update(stems)
        enough = SHARED * len(self.ids)
        self.core = frozenset(stem for stem, count in self.spread.items() if count >= enough)


def _grouped(
    gaps: Sequence[Gap], vectors: Mapping[int, NDArray[np.float32]]
) -> tuple[tuple[int, ...], ...]:
    """The ids of the gaps of each cluster."""
    if not gaps:
        return ()
    stems = {gap.id: frozenset(parse(gap.question).topic_stems) for gap in gaps}
    spread = Counter(stem for own in stems.values() for stem in own)
    weight = {stem: math.log1p(max(len(gaps), LEDGER) / count) for stem, count in spread.items()}
    groups: list[_Group] = []
    holding: dict[str, list[int]] = {}  # stem to the groups that have it
    means = np.zeros((len(gaps), len(vectors[gaps[0].id])), dtype=np.float32)
    for gap in gaps:
        own, vector = stems[gap.id], _unit(vectors[gap.id])
        near = sorted({place for stem in own for place in holding.get(stem, ())})
        place = _best(own, vector, near, groups, means, weight)
        if place is None:
            place = len(groups)
            groups.append(_Group())
        for stem in own - groups[place].spread.keys():
            holding.setdefault(stem, []).append(place)
        groups[place].join(gap.id, own)
        means[place] += vector
    return tuple(tuple(group.ids) for group in groups)


def _best(
    own: frozenset[str],
    vector: NDArray[np.float32],
    near: Sequence[int],
    groups: Sequence[_Group],
    means: NDArray[np.float32],
    weight: Mapping[str, float],
) -> int | None:
    """The group that a gap is most like, of those that share a word with it; None: none enough."""
    if not near:
        return None
    cosines = means[near] @ vector / np.maximum(np.linalg.norm(means[near], axis=1), 1e-9)
    words = [_shared(own, groups[place].core, weight) for place in near]
    alike = (cosines + np.array(words, dtype=np.float32)) / 2
    best = int(np.argmax(alike))
    return near[best] if alike[best] >= JOIN else None


def _shared(own: frozenset[str], core: frozenset[str], weight: Mapping[str, float]) -> float:
    """The share of a gap's words that a group has, and of the group's that the gap has; their mean.

    By weight, so that a name counts for more than a common word.
    """
    held = math.fsum(weight[stem] for stem in own & core)
    if not held:
        return 0.0
    wholes = (math.fsum(weight[stem] for stem in stems) for stems in (own, core))
    return sum(held / whole for whole in wholes) / 2


def _unit(vector: NDArray[np.float32]) -> NDArray[np.float32]:
    length = float(np.linalg.norm(vector))
    return vector / length if length else vector


NEAREST = 5  # entries that the type and the taxonomy are taken from
AGREED = 2  # of them that have to have a value, unless the very nearest has it
OTHER_TYPE = "topic"
LONGEST_ID = 60
TO_WRITE = "To be written."
_APART = re.compile(r"[^a-z0-9]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class EntrySuggestion:
    """An entry to write.

    Attributes:
        collection: where it belongs: where the nearest entries are; empty when nothing is near.
        taxonomy: dimension to values.
        near: titles of the entries that it was modelled on.
        markdown: the file.
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
        """What the file is called."""
        return f"{self.id}.md"


def suggest_entry(kb: KnowledgeBase, cluster: GapCluster) -> EntrySuggestion:
    """What to write for a cluster."""
    waiting = [gap for gap in cluster.gaps if gap.status != "closed"] or list(cluster.gaps)
    questions = tuple(gap.question for gap in waiting)
    title = _title(questions, cluster.missing or cluster.terms)
    near = _nearest(kb, cluster, questions)
    types = Counter(one.entity.entity_type for one in near if one.entity)
    kind = next((name for name, _ in types.most_common() if name), OTHER_TYPE)
    known = _APART.sub("-", title.casefold()).strip("-")[:LONGEST_ID].strip("-")
    taxonomy = _taxonomy(near)
    made_id = known or f"gap-{cluster.id}"
    fields: dict[str, str | tuple[str, ...]] = {"id": made_id, "type": kind, "title": title}
    return EntrySuggestion(
        id=made_id,
        title=title,
        type=kind,
        collection=near[0].collection if near else next(iter(cluster.scope), ""),
        taxonomy=taxonomy,
        questions=questions,
        near=tuple(one.title for one in near),
        markdown=_markdown({**fields, **taxonomy}, questions, cluster),
    )


def _title(questions: Sequence[str], terms: Sequence[str]) -> str:
    """The name or phrase of the questions that holds most of the terms; else the terms."""
    wanted = {stem for term in terms for stem in parse(term).stem_set}
    found: Counter[str] = Counter()
    for question in questions:
        text = parse(question)
        phrases = (phrase.span.of(question) for phrase in text.phrases)
        for name in dict.fromkeys((*text.names, *phrases)):
            held = len(wanted & parse(name).stem_set)
            if held:
                found[name.strip()] += held
    best = max(found, key=lambda name: (found[name], len(name)), default=" ".join(terms))
    title = " ".join((best or questions[0].rstrip("?")).split())
    return title[:1].upper() + title[1:]


def _nearest(kb: KnowledgeBase, cluster: GapCluster, questions: Sequence[str]) -> list[Document]:
    """The entries nearest to the questions; where there are no entries, documents."""
    text = " ".join(questions[:NEAREST])
    known = set(kb.catalogue.collection_names())
    scope = tuple(name for name in cluster.scope if name in known)
    for kinds in (("entity",), ()):
        filters = Filters(collections=scope, kinds=kinds)
        hits = search(kb, text, filters, limit=3 * NEAREST)
        ids = list(dict.fromkeys(hit.document.id for hit in hits))[:NEAREST]
        if ids:
            there = (kb.catalogue.document(known_id) for known_id in ids)
            return [one for one in there if one is not None]
    return []


def _taxonomy(near: Sequence[Document]) -> dict[str, tuple[str, ...]]:
    """For each dimension the values that several of the nearest have, or the nearest itself."""
    counts: dict[str, Counter[str]] = {}
    for one in near:
        for dimension, values in one.taxonomy.items():
            counts.setdefault(dimension, Counter()).update(values)
    first = near[0].taxonomy if near else {}
    found = {
        dimension: tuple(
            value
            for value, count in sorted(values.items(), key=lambda each: (-each[1], each[0]))
            if count >= AGREED or value in first.get(dimension, ())
        )
        for dimension, values in sorted(counts.items())
        if dimension != "type"
    }
    return {dimension: values for dimension, values in found.items() if values}


def _markdown(
    fields: Mapping[str, str | tuple[str, ...]], questions: Sequence[str], cluster: GapCluster
) -> str:
    plain = {name: list(one) if isinstance(one, tuple) else one for name, one in fields.items()}
    matter = yaml.safe_dump(plain, sort_keys=False, allow_unicode=True, width=1_000)
    asked = [
        f"#   {gap.asked} × {gap.question}" for gap in cluster.gaps if gap.question in questions
    ]
    lines = ["# It should answer:", *asked]
    if cluster.missing:
        lines.append(f"# Words that the material lacks: {', '.join(cluster.missing)}")
    comments = "\n".join(" ".join(line.splitlines()) for line in lines)
    return f"---\n{matter}{comments}\n---\n\n{TO_WRITE}\n"
