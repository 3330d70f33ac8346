"""The entry that somebody should write to close a cluster of gaps, as a Markdown file.

Its front matter is that of a commons: id, type, title, and the values of the taxonomy that the
nearest entries have. The questions stand in comments, which no loader reads: an entry that only
repeats them must not be taken for an answer to them.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import yaml

from wellread.ask.retrieve.search import search
from wellread.kb import KnowledgeBase
from wellread.learning.gaps.gap_clusters import GapCluster
from wellread.text.parsed import parse
from wellread.types import Document, Filters

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
    """What to write for a cluster.

    Raises:
        StoreError, FingerprintError, ModelError: a part of the home cannot be used.
    """
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
