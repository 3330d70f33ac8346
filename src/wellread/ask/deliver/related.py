"""What stands beside an answer: related material, and questions of the material itself; and the
replies to what is no question.

All of it comes from what the question's own search found and from the graph around it, so that it
costs a few small reads and no vector. A source cannot get in by its words: an entity has to be
linked to one that the question names or the answer cites, a story has to hold a cited item, a
document has to be found for the question. No question is made up: one stands in a heading, or was
asked before.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from importlib.resources import files
from itertools import chain, islice, zip_longest
from typing import Any

from wellread.ask.deliver.reply import RELATED, RELATED_SIMILARITY, Reply
from wellread.identity import random_id
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.entity_nodes import EntityNode
from wellread.store.catalogue.documents.relation_network import Neighbour
from wellread.text.english import POINTING
from wellread.text.english_followups import (
    BESIDE_A_COURTESY,
    GREETINGS,
    PARTINGS,
    PLEASED,
    THANKS,
)
from wellread.text.parsed import parse
from wellread.text.tokens import tokens_of
from wellread.text.words import visible
from wellread.types import DocumentFacts, Filters, Hit
from wellread.values.answers import NOBODY, Answer, Confidence, Question, Related
from wellread.values.question import Analysis

SUBJECTS = 3  # entities whose links are followed
LOOKED_AT = 12  # links of an entity; a hub's are not read to their end
TOLD_FROM = 3  # cited items whose stories are looked up
WELL_RATED = 70  # of 100, from which a past question is worth asking again
MOST = 3  # questions
WORDS = range(4, 21)  # of a question that can be asked as it is
SAME = 0.75  # share of the shorter one's stems in common from which two questions are one


@dataclass(frozen=True, slots=True, kw_only=True)
class Linked:
    """An entity with its link to a subject, in words."""

    node: EntityNode
    reads: str


def beside(kb: KnowledgeBase, analysis: Analysis, hits: Sequence[Hit], reply: Reply) -> Reply:
    """``reply`` with up to five things to explore, and questions that the material can answer.

    Nothing of that when ``features.suggest_related`` is off; without ``features.graph_aware`` no
    entity and nothing that leads over one.
    """
    if not kb.settings.features.suggest_related:
        return replace(reply, related=())
    cited = _cited(kb, hits, reply)
    near = _near(hits, cited)
    aware = kb.settings.features.graph_aware
    subjects = _subjects(kb, analysis, list(cited.values())) if aware else []
    links = _links(kb, analysis, hits, subjects)
    entities = _entities(links, subjects, cited)
    stories = _stories(kb, reply)
    documents = [*reply.related, *map(_document, near)]
    # The first of each, then the second of each: one sort does not push out the others.
    mixed = chain.from_iterable(zip_longest(entities, stories, documents))
    related = _distinct(
        (one for one in mixed if one is not None), {known.title for known in cited.values()}
    )
    return replace(
        reply,
        related=tuple(related[:RELATED]),
        suggestions=_suggestions(kb, analysis.question, near),
    )


# --- what is around --------------------------------------------------------------------------


def _cited(kb: KnowledgeBase, hits: Sequence[Hit], reply: Reply) -> dict[str, DocumentFacts]:
    """The documents that the answer cites; nearly all of them are among the hits."""
    ids = dict.fromkeys(citation.document_id for citation in reply.citations)
    found = {hit.document.id: hit.document for hit in hits if hit.document.id in ids}
    missing = ids.keys() - found.keys()
    return found | (kb.catalogue.facts(missing) if missing else {})


def _near(hits: Sequence[Hit], cited: Mapping[str, DocumentFacts]) -> list[Hit]:
    """The best passage of each document that was found near the question and is not cited."""
    found: dict[str, Hit] = {}
    for hit in hits:
        if hit.document.id not in cited and (hit.similarity or 0.0) >= RELATED_SIMILARITY:
            found.setdefault(hit.document.id, hit)
    return list(found.values())


def _subjects(
    kb: KnowledgeBase, analysis: Analysis, cited: Sequence[DocumentFacts]
) -> list[EntityNode]:
    """The entities that the question names, then those that the answer cites."""
    graph = kb.catalogue.graph
    found: dict[tuple[str, str], EntityNode] = {}
    for entity in analysis.entities:
        node = graph.entity(entity.collection, entity.entity_id)
        if node is not None:
            found.setdefault((node.collection, node.id), node)
    # Not the items that a graph links as well: who cites a newsletter asks for no other ones.
    for document in (one for one in cited if one.kind == "entity"):
        if len(found) >= SUBJECTS:
            break
        for node in graph.resolve([document.collection], document.title):
            if document.id in node.documents:
                found.setdefault((node.collection, node.id), node)
    return list(found.values())[:SUBJECTS]


def _links(
    kb: KnowledgeBase, analysis: Analysis, hits: Sequence[Hit], subjects: Sequence[EntityNode]
) -> list[Linked]:
    """What the subjects are linked to and that is there, the most telling links first.

    A relation with few links says more than one with hundreds; within one, what the search found
    as well comes first. Where the question is limited, only that is taken, since it keeps the
    limits.
    """
    seen = {hit.document.id for hit in hits}
    limited = replace(analysis.filters, collections=()) != Filters() or analysis.constraints
    found: list[Linked] = []
    for subject in subjects:
        groups: dict[tuple[str, str], list[tuple[EntityNode, Neighbour]]] = {}
        for one in kb.catalogue.graph.neighbours([subject.collection], subject.id):
            node = one.node
            if node is None or node in subjects:
                continue
            if not (limited and seen.isdisjoint(node.documents)):
                groups.setdefault((one.relation, one.direction), []).append((node, one))
        for group in groups.values():
            group.sort(key=lambda link: seen.isdisjoint(link[0].documents))
        by_size = sorted(groups.values(), key=len)
        turns = chain.from_iterable(zip_longest(*(group[:LOOKED_AT] for group in by_size)))
        for node, one in islice(filter(None, turns), LOOKED_AT):
            found.append(Linked(node=node, reads=_reads(subject, one)))
    return found


def _reads(subject: EntityNode, one: Neighbour) -> str:
    """A link in words, from the side that has a name for it."""
    relation = one.relation.replace("_", " ")
    if relation.startswith("← "):
        return f"{one.name} {relation.removeprefix('← ')} {subject.title}"
    return f"{subject.title} {relation} {one.name}"


def _past(kb: KnowledgeBase, near: Sequence[Hit]) -> Mapping[str, str]:
    """Of the documents found, those that are past questions: id to the question, if it is a
    good one to ask again (well rated, and not a follow-up).
    """
    asked = [hit.document.id for hit in near if hit.document.kind == "qa"]
    if not asked:
        return {}
    stored = kb.catalogue.past_questions.of(asked)
    return {
        known: one.past.question
        for known, one in stored.items()
        if not one.past.flow and (one.past.score is None or one.past.score >= WELL_RATED)
    }


def _suggestions(kb: KnowledgeBase, asked: str, near: Sequence[Hit]) -> tuple[str, ...]:
    """Past questions and headings of what is near that are questions, none the same as another."""
    past = _past(kb, near)
    taken = [parse(asked).stem_set]
    found: list[str] = []
    for hit in near:
        for question in (past.get(hit.document.id, ""), *reversed(_headings(hit))):
            stems = parse(question).stem_set
            new = all(len(stems & other) < SAME * min(len(stems), len(other)) for other in taken)
            if new and _is_question(question) and len(found) < MOST:
                taken.append(stems)
                found.append(_flat(question))
    return tuple(found)


def _is_question(text: str) -> bool:
    """Whether it can be asked as it is: a whole question that points at nothing before it."""
    words = text.casefold().rstrip("?").split()
    return text.endswith("?") and len(words) in WORDS and not {*words} & {*POINTING}


def _headings(hit: Hit) -> list[str]:
    """The heading path of the passage, without the title."""
    first = hit.passage.context.partition("\n")[0]
    path = first.removeprefix(hit.document.title).removeprefix(" — ")
    return [_flat(line) for line in path.split(" › ") if line.strip()]


# --- related ---------------------------------------------------------------------------------


def _entities(
    links: Sequence[Linked], subjects: Sequence[EntityNode], cited: Mapping[str, DocumentFacts]
) -> Iterator[Related]:
    named = {(node.collection, node.id) for node in subjects}
    for link in links:
        node = link.node
        if (node.collection, node.id) not in named and not set(node.documents) & set(cited):
            yield Related(
                kind="entity",
                title=_flat(node.title),
                id=node.id,
                collection=node.collection,
                url=node.url,
                reason=f"linked: {_flat(link.reads)}",
            )


def _stories(kb: KnowledgeBase, reply: Reply) -> Iterator[Related]:
    """The stories of the cited items, where they have more to tell than what is cited."""
    spans = [
        (citation.document_id, citation.source_span)
        for citation in reply.citations
        if citation.kind == "article"
    ][:TOLD_FROM]
    places = kb.catalogue.stories.places({known for known, _ in spans}) if spans else {}
    ids = dict.fromkeys(
        place.story_id
        for known, span in spans
        for place in places.get(known, ())
        if place.span.overlaps(span)
    )
    cited = len({known for known, _ in spans})
    for story in kb.catalogue.stories.told(list(ids)) if ids else ():
        if story.title and story.items > cited:
            yield Related(
                kind="story",
                title=_flat(story.title),
                id=story.id,
                collection=story.collection,
                reason=f"the story that the answer tells from, {story.items} items",
            )


def _document(hit: Hit) -> Related:
    document, heading = hit.document, " › ".join(_headings(hit))
    return Related(
        kind="document",
        title=_flat(document.title),
        id=document.id,
        collection=document.collection,
        url=document.url or document.uri,
        reason=f"near the question, under “{heading}”" if heading else "near the question",
    )


def _distinct(related: Iterator[Related], cited: set[str]) -> list[Related]:
    """One of each title, and none that the answer cites by the same name."""
    seen = {title.casefold() for title in cited}
    found: list[Related] = []
    for one in related:
        if one.title.casefold() not in seen:
            seen.add(one.title.casefold())
            found.append(one)
    return found


def _flat(text: str) -> str:
    """A title on one line, without hidden characters, and never an image or a link."""
    return " ".join(visible(text).split()).replace("![", "[").replace("](", "] (")


GREETED = "Hello. What would you like to know from the sources?"


def to_no_question(question: Question, *, programs: bool = False) -> Answer | None:
    """The reply to a courtesy; None to a question. It has no id, since it is kept nowhere."""
    said = _courtesy(question.text) or (_program(question.text) if programs else "")
    if not said:
        return None
    return Answer(
        id="",
        question=" ".join(question.text.split()),
        text=said,
        citations=(),
        sentences=(),
        confidence=Confidence(score=0.0, band="none", reasoning="nothing was asked"),
        answered_by=NOBODY,
        owner=question.owner,
        session_id=question.session_id or random_id("ses"),
    )


@cache
def _known() -> dict[str, Any]:
    text = (files(__package__) / "no_questions.json").read_text(encoding="utf-8")
    known: dict[str, Any] = json.loads(text)
    return known


def _program(text: str) -> str:
    """What the program gets whose prompt begins so; empty for a question."""
    begins = " ".join(text.split()).casefold()
    replies: dict[str, str] = _known()["programs"]
    return next((said for known, said in replies.items() if begins.startswith(known)), "")


def _courtesy(text: str) -> str:
    if " ".join(text.split()).casefold().strip(" !.,?！。") in _known()["greetings"]:
        return GREETED
    words = {token.plain for token in tokens_of(text)}
    if not words <= THANKS | GREETINGS | PARTINGS | PLEASED | BESIDE_A_COURTESY:
        return ""
    if words & THANKS:
        return "You are welcome. Is there anything else that you would like to know?"
    if words & PARTINGS:
        return "Goodbye."
    if words & GREETINGS:
        return GREETED
    return "Good. What else would you like to know?" if words & PLEASED else ""
