"""Finds past questions similar to a new one, with the experts' feedback on their answers.

The nearest passages of past questions are candidates, but questions are compared with questions,
since a passage contains the answer too. A past follow-up is first rewritten to stand alone.
Feedback expires when a cited source changes: it is shown as expired, and no prompt contains it.
Past questions come with the sources (``qa`` documents), or were asked and rated here
(``rated_questions.py``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import date
from functools import cache, lru_cache
from typing import Literal

from wellread.ask.retrieve.rated_questions import (
    RatedAnswer,
    flagged_sentences,
    judgement,
    past_question,
    question_lines,
    rated_answers,
)
from wellread.ask.retrieve.search import search
from wellread.ask.understand.question_parts import expected_answer
from wellread.ask.understand.rewrite import Turn, make_standalone
from wellread.ask.understand.vocabulary import vocabulary_of
from wellread.kb import KnowledgeBase
from wellread.store.catalogue.documents.collection_records import StoredPastQuestion
from wellread.store.catalogue.feedback_records import corrects
from wellread.text.english import (
    AROUND_A_QUESTION,
    AUXILIARIES,
    BE,
    BETWEEN_SIDES,
    DETERMINERS,
    OF_THE_MOMENT,
    PREPOSITIONS,
    STOP_WORDS,
    SYNONYMS,
)
from wellread.text.parsed import parse, stem
from wellread.text.periods import RELATIVE, expressions_of
from wellread.types import DocumentFacts, Filters, PastQuestion

MIN_SAME = 0.8  # cosine of two questions that mean the same
_PIVOTS = PREPOSITIONS | BETWEEN_SIDES
_BEFORE_A_NAME = DETERMINERS | {"my", "their", "his", "its", "your", "our", "this", "that"}
_ASKING = frozenset({"who", "whose", "when", "where", "why"})
_PAST_OR_COMING = frozenset({"was", "were", "did", "had", "will"})
_POLAR = BE | AUXILIARIES | {"has", "have", "had"}
_SOME_DAY = date(2001, 5, 16)  # only whether a period is relative matters, not when it is


def is_same_question(asked: str, past: str, similarity: float) -> bool:
    """Whether the two questions mean the same; ``similarity`` is their cosine.

    Embeddings do not separate synonyms from opposites or related words (red and blue), so synonyms
    come from a word list.
    """
    if similarity < MIN_SAME:
        return False
    new, old = _read(asked), _read(past)
    if new.exact != old.exact or new.of_the_moment or _differ_in_kind(new, old):
        return False
    if Counter(word for word, _ in new.words) != Counter(word for word, _ in old.words):
        return False
    if new.dangling and old.dangling and new.dangling != old.dangling:
        return False
    same_order = all(
        word == same_word and (pivot == same_pivot or not pivot or not same_pivot)
        for (word, pivot), (same_word, same_pivot) in zip(new.words, old.words, strict=True)
    )
    return same_order or _by_pivot(new) == _by_pivot(old)


@dataclass(frozen=True, slots=True)
class _Reading:
    """The features of a question that are compared.

    ``words`` are its meaningful words in order, each with the preposition before it; ``dangling``
    are prepositions that nothing follows ("turn it off"); ``exact`` are negations, amounts and
    tense; ``of_the_moment``: its answer may be another one tomorrow.
    """

    kind: str
    asking: frozenset[str]
    polar: bool
    words: tuple[tuple[str, str], ...]
    dangling: frozenset[str]
    exact: tuple[object, ...]
    of_the_moment: bool


@lru_cache(maxsize=1_000)
def _read(question: str) -> _Reading:
    text = parse(question)
    plain = [token.plain for token in text.tokens]
    words: list[tuple[str, str]] = []
    dangling: set[str] = set()
    pivot = ""
    for word in plain:
        if word in _PIVOTS:
            pivot = word
            dangling.add(pivot)
        elif word not in STOP_WORDS and word not in AROUND_A_QUESTION:
            words.append((_synonyms().get(stem(word), stem(word)), pivot))
            dangling.discard(pivot)
        elif word not in _BEFORE_A_NAME:
            pivot = ""
    is_relative = any(period.form in RELATIVE for period in expressions_of(question, _SOME_DAY))
    return _Reading(
        kind=expected_answer(question),
        asking=_ASKING.intersection(plain),
        polar=bool(plain) and plain[0] in _POLAR,
        words=tuple(words),
        dangling=frozenset(dangling),
        exact=(
            text.negations,
            frozenset((amount.value, amount.unit) for amount in text.quantities if amount.unit),
            _PAST_OR_COMING.isdisjoint(plain),
        ),
        of_the_moment=is_relative or not OF_THE_MOMENT.isdisjoint(plain),
    )


def _by_pivot(reading: _Reading) -> dict[str, list[str]]:
    """The words by the preposition before them (empty: none), in order."""
    words_by_pivot: dict[str, list[str]] = {}
    for word, pivot in reading.words:
        words_by_pivot.setdefault(pivot, []).append(word)
    return words_by_pivot


@cache
def _synonyms() -> dict[str, str]:
    """Map the stem of each word with synonyms to that of their representative."""
    return {stem(word): stem(group[0]) for group in SYNONYMS for word in group}


def _differ_in_kind(one: _Reading, other: _Reading) -> bool:
    """Whether the two ask for things of different kinds.

    "Can I ...?" and "What ... cost?" name no kind: they may be "How do I ...?" and "How much ...?".
    """
    if one.asking - other.asking and other.asking - one.asking:
        return True
    if one.kind == other.kind:
        return False
    kinds = {one.kind, other.kind}
    plain = one if one.kind == "other" else other
    return plain.kind != "other" or not ("way" in kinds or ("number" in kinds and not plain.polar))


Comparison = Literal["lt", "lte", "eq"]

CANDIDATES = 64  # nearest passages of past questions whose questions are compared


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarityCriteria:
    """The criteria that past questions must meet.

    Attributes:
        threshold: the lowest cosine of the two questions.
        rating: the number that an expert's score is compared with; None: any score or none.
        language: the language of the past question; empty: any.
        collections: the collections to take past questions from; empty: all.
        owner: whose questions count among those asked here; None: everybody's.
    """

    threshold: float = 0.8
    most: int = 3
    rating: int | None = None
    comparison: Comparison = "lt"
    language: str = ""
    collections: tuple[str, ...] = ()
    owner: str | None = None

    def accepts(self, score: int | None) -> bool:
        """Whether an expert's score meets the rating."""
        if self.rating is None or score is None:
            return self.rating is None
        if self.comparison == "eq":
            return score == self.rating
        return score < self.rating + (self.comparison == "lte")


@dataclass(frozen=True, slots=True, kw_only=True)
class SimilarQuestion:
    """A past question similar to the new one.

    Attributes:
        similarity: cosine of the two questions.
        expired: why its feedback no longer counts; empty while it does.
        sources: the ids of the existing documents that it cites.
        alone: the question, rewritten to stand alone.
        document: the document that contains it; None when it was asked here.
        rated: the answer that was given here; None when a document contains it.
    """

    past: PastQuestion
    similarity: float
    expired: str = ""
    sources: tuple[str, ...] = ()
    alone: str = ""
    document: DocumentFacts | None = None
    rated: RatedAnswer | None = None

    @property
    def id(self) -> str:
        """The id of the document that contains it, else of the feedback."""
        if self.document is not None:
            return self.document.id
        return self.rated.given.id if self.rated else ""

    @property
    def collections(self) -> tuple[str, ...]:
        """The collections that its statements come from."""
        if self.document is not None:
            return (self.document.collection,)
        return self.rated.collections if self.rated else ()

    @property
    def correction(self) -> str:
        """The expert's replacement for the answer or for sentences of it."""
        if self.rated is None:
            return ""
        given = self.rated.given
        return given.correction or " ".join(
            sentence.correction for sentence in given.sentences if sentence.correction
        )


def default_criteria(kb: KnowledgeBase, collections: tuple[str, ...] = ()) -> SimilarityCriteria:
    """The criteria that the settings define."""
    threshold = kb.settings.features.similar_threshold
    return SimilarityCriteria(threshold=threshold, collections=collections)


def similar_questions(
    kb: KnowledgeBase, question: str, criteria: SimilarityCriteria
) -> list[SimilarQuestion]:
    """The past questions that have an answer and feedback, the most similar first.

    Expired ones do not count towards ``criteria.most``.
    """
    similar: list[SimilarQuestion] = []
    room = criteria.most
    for candidate in _past_questions(kb, question, criteria) if room else ():
        if candidate.similarity < criteria.threshold or not room:
            break
        similar.append(candidate)
        room -= not candidate.expired
    return similar


def asked_before(
    kb: KnowledgeBase, question: str, collections: tuple[str, ...], rating: int
) -> list[SimilarQuestion]:
    """The past questions that mean the same, with answers that experts rated at least ``rating``.

    The most similar comes first; those that are expired are included.
    """
    criteria = SimilarityCriteria(threshold=MIN_SAME, collections=collections)
    return [
        past
        for past in _past_questions(kb, question, criteria)
        if is_same_question(question, past.alone, past.similarity)
        and _is_rated_well(kb, past, rating)
    ]


def corrections(
    kb: KnowledgeBase, question: str, collections: tuple[str, ...]
) -> list[RatedAnswer]:
    """The answers to the same question that experts corrected, the latest first; none expired."""
    matches = [
        rated
        for rated in rated_answers(kb, question, MIN_SAME, collections)
        if corrects(rated.given)
        and not rated.given.expired
        and is_same_question(question, rated.given.question, rated.similarity)
    ]
    return sorted(matches, key=lambda rated: (rated.given.updated_at, rated.given.id), reverse=True)


def _past_questions(
    kb: KnowledgeBase, question: str, criteria: SimilarityCriteria
) -> list[SimilarQuestion]:
    """The past questions of sources and those asked here, the most similar first."""
    if not question.strip():
        return []
    similar = [*_from_sources(kb, question, criteria), *_asked_here(kb, question, criteria)]
    return sorted(similar, key=lambda past: (-past.similarity, past.id))


def _from_sources(
    kb: KnowledgeBase, question: str, criteria: SimilarityCriteria
) -> Iterator[SimilarQuestion]:
    """The past questions of the nearest passages, each compared with ``question``."""
    limits = Filters(
        collections=criteria.collections,
        kinds=("qa",),
        languages=(criteria.language,) if criteria.language else (),
    )
    hits = search(kb, question, limits, limit=CANDIDATES)
    documents = {hit.document.id: hit.document for hit in hits}
    stored = {
        document_id: entry
        for document_id, entry in kb.catalogue.past_questions.of(documents).items()
        if _has_expert_verdict(entry.past) and criteria.accepts(entry.past.score)
    }
    if not stored:
        return
    vocabulary = vocabulary_of(kb, criteria.collections)
    alone = []
    for past in (entry.past for entry in stored.values()):
        turns = [Turn(question=turn) for turn in past.flow]
        rewritten = make_standalone(past.question, turns, vocabulary, date.today())
        alone.append(rewritten.text if turns else past.question)
    vectors = kb.embedder.embed([question, *alone], "query")
    cosines = (vectors[1:] @ vectors[0]).tolist()
    for (document_id, entry), text, similarity in zip(stored.items(), alone, cosines, strict=True):
        expired, sources = _source_state(kb, documents[document_id].collection, entry)
        yield SimilarQuestion(
            document=documents[document_id],
            past=entry.past,
            similarity=round(similarity, 4),
            expired=expired,
            sources=sources,
            alone=text,
        )


def _asked_here(
    kb: KnowledgeBase, question: str, criteria: SimilarityCriteria
) -> Iterator[SimilarQuestion]:
    """Past questions that were asked here, the most similar first."""
    for rated in rated_answers(kb, question, criteria.threshold, criteria.collections):
        if criteria.owner not in (None, rated.answer.owner):
            continue
        past = past_question(rated)
        is_judged = corrects(rated.given) or _has_expert_verdict(past)
        languages = {document.language for document in rated.documents}
        fits_language = not criteria.language or criteria.language in languages
        if is_judged and criteria.accepts(past.score) and fits_language:
            yield SimilarQuestion(
                past=past,
                similarity=rated.similarity,
                expired=rated.given.expired,
                sources=tuple(document.id for document in rated.documents),
                alone=past.question,
                rated=rated,
            )


def _is_rated_well(kb: KnowledgeBase, similar: SimilarQuestion, rating: int) -> bool:
    """Whether every rating of the answer is good and nobody corrected it."""
    if similar.rated is None:
        return (similar.past.score or 0) >= rating
    answer_id = similar.rated.given.answer_id
    all_feedback = kb.catalogue.feedback.of_answers([answer_id])[answer_id]
    valid = [feedback for feedback in all_feedback if not feedback.expired]
    scores = [feedback.score for feedback in valid if feedback.score is not None]
    return bool(scores) and min(scores) >= rating and not any(map(corrects, valid))


def verified_similar(kb: KnowledgeBase, question: str, collections: tuple[str, ...]) -> str:
    """Prompt text about similar past questions; empty when there are none."""
    if not kb.settings.features.similar_questions:
        return ""
    return formatted(kb, similar_questions(kb, question, default_criteria(kb, collections)))


def formatted(kb: KnowledgeBase, similar: Iterable[SimilarQuestion]) -> str:
    """Prompt text about these past questions, without expired ones."""
    return "\n\n".join(
        "\n".join(
            question_lines(past.past, past.correction, flagged_sentences(kb, past.collections))
        )
        for past in similar
        if not past.expired
    )


def _has_expert_verdict(past: PastQuestion) -> bool:
    """Whether the question has an answer and an expert's verdict on it."""
    is_judged = past.score is not None or any(judgement(sentence) for sentence in past.sentences)
    return bool(past.answer.strip()) and is_judged


def _source_state(
    kb: KnowledgeBase, collection: str, stored: StoredPastQuestion
) -> tuple[str, tuple[str, ...]]:
    """A note on a source that changed since the feedback, and the ids of all that still exist.

    Sources that came later or lie outside the collection are ignored.
    """
    links = dict.fromkeys((stored.past.expert_citation_url, stored.past.citation_url))
    sources = [
        source
        for link in filter(None, links)
        for source in kb.catalogue.past_questions.cited(collection, link)
    ]
    changed = (
        f"{source.title} has changed since the feedback ({source.updated_at.date().isoformat()})"
        for source in sources
        if source.updated_at > max(source.added_at, stored.updated_at)
    )
    return next(changed, ""), tuple(dict.fromkeys(source.id for source in sources))
