"""Suggestions shown beside an answer, and replies to input that is not a question.

Suggestions come from the hits of the question's own search and from the graph around them, which
costs a few small reads and no embedding. A source cannot get itself suggested by its wording: an
entity must be linked to one that the question names or the answer cites, a story must contain a
cited item, a document must be among the hits. Suggested questions are headings or past questions.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from itertools import chain, islice, zip_longest
from typing import Any

from wellread.ask.deliver.reply import RELATED, RELATED_SIMILARITY
from wellread.identity import random_id
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.entity_nodes import EntityNode
from wellread.store.catalogue.documents.relation_network import Neighbour
from wellread.text.characters import visible
from wellread.text.english import BESIDE_A_COURTESY, GREETINGS, PARTINGS, PLEASED, POINTING, THANKS
from wellread.text.parsed import parse
from wellread.text.tokens import tokens_of
from wellread.types import DocumentFacts, Filters, Hit
from wellread.values.answers import NOBODY, Answer, Confidence, Question, Related
from wellread.values.question import Analysis

MAX_SUBJECTS = 3  # entities whose links are followed
MAX_LINKS = 12  # links considered per subject; a hub may have hundreds
MAX_CITED_ITEMS = 3  # whose stories are suggested
MIN_RATING = 70  # of 100, for a past question to be suggested
MAX_SUGGESTIONS = 3
SUGGESTION_WORDS = range(4, 21)  # length of a suggested question
MIN_SAME_SHARE = 0.75  # of the shorter question's stems in two questions that count as the same


def suggest_related(
    kb: KnowledgeBase, analysis: Analysis, hits: Sequence[Hit], reply: Answer
) -> Answer:
    """Add up to five related items and suggested questions to ``reply``.

    Both are empty when ``features.suggest_related`` is off; without ``features.graph_aware`` no
    entities are suggested.
    """
    if not kb.settings.features.suggest_related:
        return replace(reply, related=())
    ids = dict.fromkeys(citation.document_id for citation in reply.citations)
    cited = {hit.document.id: hit.document for hit in hits if hit.document.id in ids}
    missing = ids.keys() - cited.keys()
    cited |= kb.catalogue.facts(missing) if missing else {}
    near_hits: dict[str, Hit] = {}
    for hit in hits:
        if hit.document.id not in cited and (hit.similarity or 0.0) >= RELATED_SIMILARITY:
            near_hits.setdefault(hit.document.id, hit)
    use_graph = kb.settings.features.graph_aware
    subjects = _subjects(kb, analysis, list(cited.values())) if use_graph else []
    entities = _entities(kb, analysis, hits, subjects, cited)
    documents = [*reply.related, *map(_document, near_hits.values())]
    # The three kinds take turns, so that none displaces the others.
    mixed = chain.from_iterable(zip_longest(entities, _stories(kb, reply), documents))
    seen = {document.title.casefold() for document in cited.values()}
    related: dict[str, Related] = {}
    for item in filter(None, mixed):
        if item.title.casefold() not in seen:
            related.setdefault(item.title.casefold(), item)
    return replace(
        reply,
        related=tuple(related.values())[:RELATED],
        suggestions=_suggestions(kb, analysis.question, list(near_hits.values())),
    )


def _subjects(
    kb: KnowledgeBase, analysis: Analysis, cited: Sequence[DocumentFacts]
) -> list[EntityNode]:
    """The entities that the question names, then those that the answer cites."""
    graph = kb.catalogue.graph
    entities: dict[tuple[str, str], EntityNode] = {}
    for entity in analysis.entities:
        node = graph.entity(entity.collection, entity.entity_id)
        if node is not None:
            entities.setdefault((node.collection, node.id), node)
    # Only entity documents: an answer that cites a newsletter does not call for other newsletters.
    for document in (source for source in cited if source.kind == "entity"):
        if len(entities) >= MAX_SUBJECTS:
            break
        for node in graph.resolve([document.collection], document.title):
            if document.id in node.documents:
                entities.setdefault((node.collection, node.id), node)
    return list(entities.values())[:MAX_SUBJECTS]


def _entities(
    kb: KnowledgeBase,
    analysis: Analysis,
    hits: Sequence[Hit],
    subjects: Sequence[EntityNode],
    cited: Mapping[str, DocumentFacts],
) -> Iterator[Related]:
    """The existing entities linked to the subjects, the most informative links first.

    A relation with few links is more informative than one with hundreds; within a relation,
    entities among the hits come first. If the question has limits, only entities among the hits are
    taken, since the hits obey the limits.
    """
    seen = {hit.document.id for hit in hits}
    limited = replace(analysis.filters, collections=()) != Filters() or analysis.constraints
    for subject in subjects:
        groups: dict[tuple[str, str], list[tuple[EntityNode, Neighbour]]] = {}
        for neighbour in kb.catalogue.graph.neighbours([subject.collection], subject.id):
            node = neighbour.node
            if node is None or node in subjects:
                continue
            if not (limited and seen.isdisjoint(node.documents)):
                groups.setdefault((neighbour.relation, neighbour.direction), []).append(
                    (node, neighbour)
                )
        for group in groups.values():
            group.sort(key=lambda link: seen.isdisjoint(link[0].documents))
        by_size = sorted(groups.values(), key=len)
        turns = chain.from_iterable(zip_longest(*(group[:MAX_LINKS] for group in by_size)))
        for node, neighbour in islice(filter(None, turns), MAX_LINKS):
            if not cited.keys() & set(node.documents):
                yield Related(
                    kind="entity",
                    title=_one_line(node.title),
                    id=node.id,
                    collection=node.collection,
                    url=node.url,
                    reason=f"linked: {_one_line(_describe_link(subject, neighbour))}",
                )


def _describe_link(subject: EntityNode, neighbour: Neighbour) -> str:
    relation = neighbour.relation.replace("_", " ")
    if relation.startswith("← "):
        return f"{neighbour.name} {relation.removeprefix('← ')} {subject.title}"
    return f"{subject.title} {relation} {neighbour.name}"


def _suggestions(kb: KnowledgeBase, question_text: str, near: Sequence[Hit]) -> tuple[str, ...]:
    """Questions among the well-rated past questions and the headings of the nearest hits.

    Follow-ups and questions similar to an earlier one are left out.
    """
    document_ids = [hit.document.id for hit in near if hit.document.kind == "qa"]
    stored = kb.catalogue.past_questions.of(document_ids) if document_ids else {}
    past = {
        document_id: entry.past.question
        for document_id, entry in stored.items()
        if not entry.past.flow and (entry.past.score is None or entry.past.score >= MIN_RATING)
    }
    seen = [parse(question_text).stem_set]
    suggestions: list[str] = []
    for hit in near:
        for question in (past.get(hit.document.id, ""), *reversed(_headings(hit))):
            stems = parse(question).stem_set
            new = all(
                len(stems & other) < MIN_SAME_SHARE * min(len(stems), len(other)) for other in seen
            )
            if new and _is_question(question) and len(suggestions) < MAX_SUGGESTIONS:
                seen.append(stems)
                suggestions.append(_one_line(question))
    return tuple(suggestions)


def _is_question(text: str) -> bool:
    """Whether ``text`` is a complete question without words that refer to earlier text."""
    words = text.casefold().rstrip("?").split()
    return text.endswith("?") and len(words) in SUGGESTION_WORDS and not {*words} & {*POINTING}


def _headings(hit: Hit) -> list[str]:
    """The heading path of the passage, without the title."""
    first = hit.passage.context.partition("\n")[0]
    path = first.removeprefix(hit.document.title).removeprefix(" — ")
    return [_one_line(line) for line in path.split(" › ") if line.strip()]


def _stories(kb: KnowledgeBase, reply: Answer) -> Iterator[Related]:
    """The stories of the cited items that have more items than are cited."""
    spans = [
        (citation.document_id, citation.source_span)
        for citation in reply.citations
        if citation.kind == "article"
    ][:MAX_CITED_ITEMS]
    places = kb.catalogue.stories.places({document_id for document_id, _ in spans}) if spans else {}
    ids = dict.fromkeys(
        place.story_id
        for document_id, span in spans
        for place in places.get(document_id, ())
        if place.span.overlaps(span)
    )
    cited = len({document_id for document_id, _ in spans})
    for story in kb.catalogue.stories.with_text(list(ids)) if ids else ():
        if story.title and story.items > cited:
            yield Related(
                kind="story",
                title=_one_line(story.title),
                id=story.id,
                collection=story.collection,
                reason=f"the story that the cited items belong to, {story.items} items",
            )


def _document(hit: Hit) -> Related:
    document, heading = hit.document, " › ".join(_headings(hit))
    return Related(
        kind="document",
        title=_one_line(document.title),
        id=document.id,
        collection=document.collection,
        url=document.url or document.uri,
        reason=f"near the question, under “{heading}”" if heading else "near the question",
    )


def _one_line(text: str) -> str:
    """A title on one line, without hidden characters or Markdown images and links."""
    return " ".join(visible(text).split()).replace("![", "[").replace("](", "] (")


GREETED = "Hello. What would you like to know from the sources?"


def small_talk_reply(question: Question, *, programs: bool = False) -> Answer | None:
    """The reply to a greeting or thanks; None for a question. It is not stored and has no id."""
    reply = _courtesy_reply(question.text) or (_program_reply(question.text) if programs else "")
    if not reply:
        return None
    return Answer(
        id="",
        question=" ".join(question.text.split()),
        text=reply,
        citations=(),
        sentences=(),
        confidence=Confidence(score=0.0, band="none", reasoning="nothing was asked"),
        answered_by=NOBODY,
        owner=question.owner,
        session_id=question.session_id or random_id("ses"),
    )


@cache
def _fixed_replies() -> dict[str, Any]:
    text = (files(__package__) / "no_questions.json").read_text(encoding="utf-8")
    replies: dict[str, Any] = json.loads(text)
    return replies


def _program_reply(text: str) -> str:
    """The fixed reply to a known automatic prompt of a chat client; empty for a question."""
    begins = " ".join(text.split()).casefold()
    replies: dict[str, str] = _fixed_replies()["programs"]
    return next((reply for beginning, reply in replies.items() if begins.startswith(beginning)), "")


def _courtesy_reply(text: str) -> str:
    if " ".join(text.split()).casefold().strip(" !.,?！。") in _fixed_replies()["greetings"]:
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
