"""Past questions like the new one, with what experts said about their answers.

The nearest passages of past questions are candidates; what counts is question against question,
since a passage holds the answer too. A past follow-up is compared in words that need no earlier
turn. A judgement expires when a source that it rests on has changed since: it is shown as
expired, and no prompt holds it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Literal

from wellread.ask.retrieve.same_question import differs, same
from wellread.ask.retrieve.search import search
from wellread.ask.understand.followups.rewrite import standalone
from wellread.ask.understand.followups.turns import Turn
from wellread.ask.understand.vocabulary import Vocabulary, vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.listings import StoredPastQuestion
from wellread.types import DocumentFacts, Filters, PastQuestion, SentenceFeedback

Comparison = Literal["lt", "lte", "eq"]

CANDIDATES = 64  # past questions, nearest by passage, that are compared word for word
ANSWER_CHARACTERS = 400


@dataclass(frozen=True, slots=True, kw_only=True)
class Like:
    """Which past questions are wanted.

    Attributes:
        threshold: least cosine of the two questions.
        rating: what an expert's score is compared with; None takes every score, also none.
        language: of the past question; empty takes every one.
        collections: a hard border; none means all.
    """

    threshold: float = 0.8
    most: int = 3
    rating: int | None = None
    comparison: Comparison = "lt"
    language: str = ""
    collections: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarQuestion:
    """A past question like the new one.

    Attributes:
        similarity: cosine of the two questions.
        expired: why its feedback counts no more, in words; empty while it does.
        sources: the documents that its citations name, as far as they are there.
    """

    document: DocumentFacts
    past: PastQuestion
    similarity: float
    expired: str = ""
    sources: tuple[str, ...] = ()


def like(kb: KnowledgeBase, collections: tuple[str, ...] = ()) -> Like:
    """What the settings ask for."""
    features = kb.settings.features
    return Like(
        threshold=features.similar_threshold,
        most=features.similar_most,
        rating=features.similar_rating,
        comparison=features.similar_comparison,
        collections=collections,
    )


def similar_questions(kb: KnowledgeBase, question: str, wanted: Like) -> list[SimilarQuestion]:
    """The past questions that have an answer and feedback, the most similar first.

    Those that are expired come on top of ``wanted.most``.

    Raises:
        UnknownCollectionError: ``wanted.collections`` names one that does not exist.
        FingerprintError, StoreError, ModelError: a part of the home cannot be used.
    """
    if wanted.most == 0 or not question.strip():
        return []
    near = _near(kb, question, wanted)
    found: list[SimilarQuestion] = []
    room = wanted.most
    for one in _compared(kb, question, near):
        if one.similarity < wanted.threshold or not room:
            break
        found.append(one)
        room -= not one.expired
    return found


def asked_before(
    kb: KnowledgeBase, question: str, collections: tuple[str, ...], rating: int
) -> list[SimilarQuestion]:
    """The past questions that mean the same and whose answers experts rated ``rating`` or more.

    The best comes first, those that are expired too.

    Raises:
        UnknownCollectionError, FingerprintError, StoreError, ModelError: as
            ``similar_questions``.
    """
    if not question.strip():
        return []
    near = [
        one
        for one in _near(kb, question, Like(collections=collections))
        if (one.stored.past.score or 0) >= rating and not differs(question, one.alone)
    ]
    asked = {one.document.id: one.alone for one in near}
    return [
        one
        for one in _compared(kb, question, near)
        if same(question, asked[one.document.id], one.similarity)
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Near:
    """A past question near a new one; ``alone`` is it in words that need no earlier turn."""

    document: DocumentFacts
    stored: StoredPastQuestion
    alone: str


def _near(kb: KnowledgeBase, question: str, wanted: Like) -> list[_Near]:
    """Those that have an answer and the wanted rating, by the nearest passages."""
    limits = Filters(
        collections=wanted.collections,
        kinds=("qa",),
        languages=(wanted.language,) if wanted.language else (),
    )
    facts = {
        hit.document.id: hit.document for hit in search(kb, question, limits, limit=CANDIDATES)
    }
    stored = {
        known: one
        for known, one in kb.catalogue.past_questions.of(facts).items()
        if _usable(one.past) and _rated(one.past, wanted)
    }
    words = vocabulary_of(kb, wanted.collections) if stored else None
    return [
        _Near(document=facts[known], stored=one, alone=_alone(one.past, words))
        for known, one in stored.items()
        if words is not None
    ]


def _compared(kb: KnowledgeBase, question: str, near: Sequence[_Near]) -> Iterator[SimilarQuestion]:
    """Question against question, the most similar first."""
    if not near:
        return
    vectors = kb.embedder.embed([question, *(one.alone for one in near)], "query")
    cosines = (vectors[1:] @ vectors[0]).tolist()
    scored = zip(cosines, near, strict=True)
    for similarity, one in sorted(scored, key=lambda each: (-each[0], each[1].document.id)):
        expired, sources = _standing(kb, one.document.collection, one.stored)
        yield SimilarQuestion(
            document=one.document,
            past=one.stored.past,
            similarity=round(similarity, 4),
            expired=expired,
            sources=sources,
        )


def verified_similar(kb: KnowledgeBase, question: str, collections: tuple[str, ...]) -> str:
    """What a prompt shows of past questions like this one; empty when there is none.

    Raises:
        UnknownCollectionError, FingerprintError, StoreError, ModelError: as
            ``similar_questions``.
    """
    if not kb.settings.features.similar_questions:
        return ""
    return formatted(similar_questions(kb, question, like(kb, collections)))


def formatted(found: Iterable[SimilarQuestion]) -> str:
    """The past questions as a prompt shows them; expired ones are left out. No hits: empty."""
    return "\n\n".join("\n".join(_lines(one.past)) for one in found if not one.expired)


def _lines(past: PastQuestion) -> list[str]:
    # Every field on a line of its own: a field cannot pose as the next one.
    lines = [f"Q: {_flat(past.question)}"]
    if past.flow:
        lines.append(f"Flow: {' | '.join(map(_flat, past.flow))}")
    lines.append(f"A: {_cut(_flat(past.answer))}")
    if past.score is not None:
        lines.append(f"Score: {past.score}/100")
    judged = [
        f"- Sentence {number}: {said}"
        for number, sentence in enumerate(past.sentences, 1)
        if (said := _judgement(sentence))
    ]
    if judged:
        lines += ["Feedback:", *judged]
    link = past.expert_citation_url or past.citation_url
    if link:
        lines.append(f"Citation: {_flat(link)}")
    return lines


def _judgement(sentence: SentenceFeedback) -> str:
    parts = [f"{sentence.score}/100"] if sentence.score is not None else []
    parts += [_flat(sentence.explanation)] if sentence.explanation.strip() else []
    parts += ["harmful: true"] if sentence.harmful else []
    parts += ["content issue: true"] if sentence.content_issue else []
    return "; ".join(parts)


def _cut(text: str) -> str:
    """At most about 400 characters, whole words, with an ellipsis when something is missing."""
    if len(text) <= ANSWER_CHARACTERS:
        return text
    head = text[:ANSWER_CHARACTERS]
    whole = head.rsplit(" ", 1)[0] if text[ANSWER_CHARACTERS] != " " else head
    return whole.rstrip(" ,;:") + "…"


def _flat(text: str) -> str:
    return " ".join(text.split())


def _usable(past: PastQuestion) -> bool:
    """Whether there is an answer, and an expert's word on it."""
    judged = past.score is not None or any(_judgement(sentence) for sentence in past.sentences)
    return bool(past.answer.strip()) and judged


def _rated(past: PastQuestion, wanted: Like) -> bool:
    if wanted.rating is None:
        return True
    if past.score is None:
        return False
    if wanted.comparison == "eq":
        return past.score == wanted.rating
    return past.score < wanted.rating + (wanted.comparison == "lte")


def _alone(past: PastQuestion, known: Vocabulary) -> str:
    """The past question in words that need no earlier turn."""
    turns: Sequence[Turn] = [Turn(question=turn) for turn in past.flow]
    return standalone(past.question, turns, known, date.today()).text if turns else past.question


def _standing(
    kb: KnowledgeBase, collection: str, stored: StoredPastQuestion
) -> tuple[str, tuple[str, ...]]:
    """Which source of the answer or of its correction has changed since the feedback came, and
    all that are there.

    A source that came later, or that is not in the collection, tells nothing.
    """
    links = dict.fromkeys((stored.past.expert_citation_url, stored.past.citation_url))
    sources = [
        source
        for link in filter(None, links)
        for source in kb.catalogue.past_questions.cited(collection, link)
    ]
    changed = ""
    for source in sources:
        if not changed and source.updated_at > max(source.added_at, stored.updated_at):
            day = source.updated_at.date().isoformat()
            changed = f"{source.title} has changed since the feedback ({day})"
    return changed, tuple(dict.fromkeys(source.id for source in sources))
